"""Neighbouring persons that give the same answers leave the same bytes: model files, pages, figures.

A neighbour has other rows under one key, and another number of them; under zero-out none."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce as sv
from sottovoce import evaluation
from sottovoce.data.schema import Schema
from sottovoce.report import render
from tests.attacks.test_replay_fronts import require_same

SECRET = "patient-4711"
SCHEMA = Schema.from_dict(
    {
        "person": "who",
        "columns": {name: {"type": "numeric", "low": -3, "high": 3} for name in "abc"},
        "target": {"column": "ill", "classes": ["no", "yes"]},
    }
)
SIZES = [(600, 60), pytest.param((200_000, 20_000), marks=pytest.mark.slow)]


def rows(seed: int, keys: np.ndarray) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(len(keys), 3)), columns=list("abc"))
    table["ill"] = np.where(table["a"] + rng.normal(size=len(keys)) > 0, "yes", "no")
    return table.assign(who=keys)


def table(size: tuple[int, int], mine: int) -> pd.DataFrame:
    """Everybody else's rows, and `mine` of one person at places spread over the table."""
    count, people = size
    rng = np.random.default_rng(1)
    others = np.concatenate([np.arange(people - 1), rng.integers(people - 1, size=count - people)])
    keys = np.array(
        [f"patient-{number}" for number in np.where(others == 4711, people, others)], dtype=object
    )
    held = rows(2, keys)
    if not mine:
        return held
    own = rows(mine, np.full(mine, SECRET, dtype=object))
    if mine > 1:
        own[["a", "b", "c"]] = 3.0
    places = np.linspace(0, count - 2, mine).astype(int) + 0.5
    return pd.concat([held, own.set_axis(places)]).sort_index().reset_index(drop=True)


def everything(held: pd.DataFrame, size: tuple[int, int], relation: str, folder: Path) -> list[bytes]:
    """What a fit, its page and private figures of the model say, in bytes."""
    terms: dict[str, Any] = {"delta": 1e-6, "relation": relation, "persons": size[1]}
    model = sv.fit(held, SCHEMA, epsilon=1.0, inference=sv.Inference(0.3, anyway=True), **terms, simulate=0)
    model.save(folder / "model.json")
    page, saved = render(model.result, model.card()), (folder / "model.json").read_bytes()
    (folder / "model.json").unlink()
    budget = sv.Budget(1.0, 1e-6, relation)
    figures = evaluation.evaluate(model, held, budget=budget, persons=size[1], simulate=0)
    assert SECRET.encode() not in saved
    assert SECRET not in page
    return [saved, page.encode(), repr(figures).encode(), str(model.result).encode()]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("relation", "mine"), [("replace-one", 30), ("zero-out", 0)])
def test_neighbouring_persons_leave_the_same_bytes(
    size: tuple[int, int], relation: str, mine: int, tmp_path: Path
) -> None:
    require_same(
        lambda: everything(table(size, 1), size, relation, tmp_path),
        lambda: everything(table(size, mine), size, relation, tmp_path),
        3,
    )


def test_replay_of_a_module_over_neighbouring_persons() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from tests.autodiff import models

    method = replace(sv.methods.by_name("descent-b"), steps=8)

    def trained(mine: int) -> list[bytes]:
        held = table((300, 40), mine)
        risk = sv.autodiff.TorchRisk(
            models.Linear(3),
            models.logistic,
            (held[["a", "b", "c"]].to_numpy(), np.where(held["ill"] == "yes", 1.0, -1.0)),
            gradient_clip=1.0,
            curvature_clip=1.0,
            groups=held["who"],
            persons=40,
        )
        result = sv.minimize(risk, budget=sv.Budget(2.0, 1e-5), method=method, simulate=0)
        return [str(result.to_dict()).encode(), repr(risk).encode(), risk.objective.encode()]

    require_same(lambda: trained(1), lambda: trained(30), 5)


def test_no_key_is_in_a_message_a_log_or_what_an_error_came_from(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
) -> None:
    """Missing and odd keys, too many persons, a broken row under a key: refused in words that quote none."""
    held = table((120, 20), 3)
    blank = held.assign(who=held["who"].where(held["who"] != SECRET, None))
    odd = held.assign(who=[(key,) if key == SECRET else key for key in held["who"]])
    broken = held.assign(ill=held["ill"].where(held["who"] != SECRET, SECRET))
    file = tmp_path / "claims.csv"
    blank.to_csv(file, index=False)
    terms: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
    caplog.set_level(logging.DEBUG)
    for given, more in ((blank, {}), (odd, {}), (broken, {}), (held, {"persons": 3}), (file, {})):
        with pytest.raises(sv.errors.SottovoceError) as refused:
            sv.fit(given, SCHEMA, **terms, **more)
        error: BaseException | None = refused.value
        while error is not None:
            assert "patient" not in f"{error!r} {error}"
            error = error.__context__
    assert "patient" not in caplog.text
    assert not any("patient" in str(warning.message) for warning in recwarn)


def test_rows_without_a_key_count_nothing_where_invalid_ones_do(tmp_path: Path) -> None:
    held = table((120, 20), 3)
    blank = held.assign(who=held["who"].where(held["who"] != SECRET, None))
    gone = table((120, 20), 0)
    made = [
        sv.fit(
            given,
            SCHEMA,
            epsilon=1.0,
            delta=1e-6,
            persons=20,
            reading=sv.ReadOptions(invalid="zero"),
            simulate=1,
        ).result
        for given in (blank, gone)
    ]
    assert made[0].guarantee.n == 20
    np.testing.assert_allclose(made[0].weights, made[1].weights, atol=1e-9)
