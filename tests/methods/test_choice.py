"""`method="auto"` decides from public facts, takes what they recommend, and says why."""

from __future__ import annotations

from dataclasses import replace

import pytest

import sottovoce as sv
from sottovoce.errors import ParameterError
from sottovoce.methods.choice import chosen
from tests import problems

BUDGET = sv.Budget(epsilon=1.0, delta=1e-5)
WISH = sv.Tolerance(gradient=0.1)


@pytest.mark.parametrize(
    ("loss", "tolerance", "changed", "name"),
    [
        ("logistic", None, {}, "adapt"),
        ("sigmoid", None, {}, "adapt"),
        ("logistic", WISH, {}, "majorize"),
        ("sigmoid", WISH, {}, "cubic"),
        ("logistic", None, {"dim": 6000}, "majorize"),
        ("logistic", None, {"dim": 3 * 1500, "outputs": 3}, "accelerate"),
        ("logistic", WISH, {"dim": 3 * 1500, "outputs": 3}, "majorize"),
        ("logistic", None, {"dim": 3 * 6000, "outputs": 3}, "majorize"),
        ("sigmoid", WISH, {"dim": 6000}, "majorize"),
        ("logistic", None, {"matrix_free": True}, "majorize"),
        ("sigmoid", WISH, {"matrix_free": True}, "majorize"),
        ("sigmoid", None, {"clipped": True}, "majorize"),
        ("sigmoid", WISH, {"clipped": True}, "cubic"),
    ],
)
def test_public_facts_decide_and_the_reason_names_the_method(
    loss: str, tolerance: sv.Tolerance | None, changed: dict[str, object], name: str
) -> None:
    problem = replace(getattr(problems, loss)().problem, **changed)
    choice = chosen("auto", problem, tolerance)
    assert choice.method.name == name
    assert choice.reason.startswith(f"{name} was chosen: ")
    assert choice.reason.count(".") == 1


def test_a_method_that_was_named_needs_no_reason() -> None:
    assert chosen("cubic", problems.logistic().problem, None).reason == ""


def test_result_plan_and_page_say_which_method_and_why(tmp_path) -> None:  # type: ignore[no-untyped-def]
    risk = problems.logistic(2000)
    result = sv.minimize(risk, budget=BUDGET, simulate=0)
    assert result.method == "adapt"
    assert result.choice.startswith("adapt was chosen")
    result.save(tmp_path / "run.json")
    assert sv.Result.load(tmp_path / "run.json").choice == result.choice
    assert result.choice in str(sv.plan(n=2000, dim=5, loss=sv.losses.Logistic(), budget=BUDGET, timed=False))
    with pytest.raises(ParameterError, match="auto"):
        sv.minimize(risk, budget=BUDGET, method="newton", simulate=0)
