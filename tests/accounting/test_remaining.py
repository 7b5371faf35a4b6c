"""What a ledger says is left can be spent, run by run, and hardly more."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from sottovoce.accounting import Budget, GaussianEvent, Ledger, QueryKind, Run
from sottovoce.accounting.disk.statement import verify
from sottovoce.accounting.wording import affordable
from sottovoce.errors import BudgetExceeded
from sottovoce.report.ledger import render_ledger

CAP = Budget(3.0, 1e-5)
CURRENCIES = ({}, {"currency": "renyi", "order": 64})


def spend(run: Run) -> None:
    """Charge the run all it may spend, in one answer."""
    scale = 1.0 / math.sqrt(run.mu_squared_left)
    run.charge(
        GaussianEvent(QueryKind.GRADIENT, sensitivity=1.0, scale=scale, entries=1, step=scale * 2.0**-30)
    )


@pytest.mark.parametrize("options", CURRENCIES, ids=str)
@pytest.mark.parametrize("first", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("times", [1, 3, 10])
def test_as_many_runs_as_are_promised_are_taken(times: int, first: float, options: dict[str, object]) -> None:
    ledger = Ledger(CAP, **options)  # type: ignore[arg-type]
    spend(ledger.run(Budget(first, CAP.delta)))
    epsilon = affordable(ledger.units_left, CAP, ledger.currency, times)
    assert epsilon > 0.0
    if times == 1:
        with pytest.raises(BudgetExceeded, match=f"enough for epsilon={epsilon:g} at this delta"):
            ledger.run(Budget(epsilon * 1.02, CAP.delta))
    for _ in range(times):
        spend(ledger.run(Budget(epsilon, CAP.delta)))


def test_an_empty_ledger_promises_its_cap_and_a_spent_one_nothing() -> None:
    ledger = Ledger(CAP)
    assert affordable(ledger.units_left, CAP, ledger.currency) == 3.0
    spend(ledger.run(CAP))
    assert affordable(ledger.units_left, CAP, ledger.currency) == 0.0
    with pytest.raises(BudgetExceeded, match="too little for any run"):
        ledger.run(Budget(1e-4, CAP.delta))


def test_a_statement_tells_runs_apart_and_what_is_left(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l.db", dataset="<people>", cap=CAP)
    for name in ("adapt: <b>pricing", "adapt: <b>pricing", "audit"):
        spend(ledger.run(Budget(0.5, CAP.delta), name))
    found = verify(tmp_path / "l.db")
    (part,) = found.datasets
    assert [(run.name, run.answers) for run in found.runs] == [
        ("adapt: <b>pricing", 1),
        ("adapt: <b>pricing", 1),
        ("audit", 1),
    ]
    assert sum(run.units for run in found.runs) == part.account.spent.units
    one, three = part.affordable(1), part.affordable(3)
    assert part.remaining.startswith(
        f"one more model up to epsilon {one:g} at this delta, or three of {three:g}"
    )
    assert 0.5 < part.epsilon_spent < 1.5
    page = render_ledger(found)
    assert "<b>pricing" not in page
    assert page.count("adapt: &lt;b&gt;pricing") >= 4
    assert part.remaining in page
