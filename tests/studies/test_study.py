"""The contest of the benchmarks is fair, can be interrupted, and the docs show what it stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from benchmarks import baselines, contest, label_noise, study_page
from benchmarks import contenders as who
from benchmarks.sections import PAGES, marks
from benchmarks.sgd import ADD_OR_REMOVE, REPLACE, noise_scale, spent
from benchmarks.task import Task, clipped


@pytest.fixture(scope="module")
def task() -> Task:
    rng = np.random.default_rng(5)
    X = clipped(rng.standard_normal((6_000, 4)))
    y = np.where(X @ np.array([3.0, -2.0, 1.0, 0.0]) + 0.3 * rng.standard_normal(len(X)) > 0, 1, -1)
    return Task(X[:5_000], y[:5_000], X[5_000:], y[5_000:])


@pytest.mark.parametrize("promise", [REPLACE, ADD_OR_REMOVE])
def test_sgd_gets_the_least_noise_that_keeps_its_promise(promise: str) -> None:
    asked = (1e-5, 0.01, 500, promise)
    scale = noise_scale(0.5, *asked)
    assert spent(scale, *asked) <= 0.5 < spent(0.99 * scale, *asked)


def test_a_replaced_record_needs_twice_the_noise_of_a_removed_one() -> None:
    ratio = noise_scale(0.5, 1e-5, 1.0, 5, REPLACE) / noise_scale(0.5, 1e-5, 1.0, 5, ADD_OR_REMOVE)
    assert ratio == pytest.approx(2.0, rel=5e-3)


@pytest.mark.parametrize(
    "contender",
    [
        who.MAJORIZE,
        who.CUBIC,
        who.GradientDescent(grid=((20, 3.0),)),
        pytest.param(who.StochasticDescent(batch=500, rates=(2.0,), lengths=(2,)), marks=pytest.mark.slow),
        who.NoisyNewton(),
        who.OutputPerturbation(),
        who.OneRelease(),
    ],
    ids=lambda contender: contender.name,
)
def test_every_contender_learns_with_a_large_budget(contender: who.Contender, task: Task) -> None:
    cell = contest.measure(task, contender, 3.0, range(2), trials=1)
    assert max(cell["excess"]) < 0.5 * task.excess(np.zeros(task.dim))
    assert min(cell["excess"]) > -1e-9
    assert min(cell["accuracy"]) > 0.85


@dataclass(frozen=True, kw_only=True)
class Counted(who.Contender):
    fits: list[float] = field(default_factory=list)

    def settings(self, epsilon: float) -> dict[str, tuple[float, ...]]:
        return {"poor": (0.0,), "good": (1.0,)}

    def fit(self, task: Task, epsilon: float, setting: tuple[float, ...], seed: int) -> who.Fit:
        self.fits.append(setting[0])
        return setting[0] * task.best[0], 1


def test_finished_cells_are_kept_and_the_better_setting_is_reported(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contest, "RESULTS", tmp_path)
    contender = Counted(name="counted")
    contest.hold(contest.Kept("some"), task, [contender], [1.0], range(3), trials=2)
    assert contender.fits.count(0.0) == 2
    assert contender.fits.count(1.0) == 3
    contest.hold(contest.Kept("some"), task, [contender], [1.0], range(3), trials=2)
    assert len(contender.fits) == 5
    (cell,) = contest.stored("some")["cells"]
    assert cell["setting"] == "good"
    assert max(cell["excess"]) < 1e-9


def test_labels_are_flipped_where_each_kind_says(task: Task) -> None:
    chance = np.random.default_rng(0).random(task.n)
    right = task.signed @ task.best[0]
    flipped = {kind: flips(task, chance, 0.2) for kind, flips in label_noise.FLIPS.items()}
    for kind in ("at random", "surest half"):
        assert flipped[kind].mean() == pytest.approx(0.2, abs=0.03)
    assert flipped["one class"][task.y > 0].mean() == pytest.approx(0.2, abs=0.04)
    assert not flipped["one class"][task.y < 0].any()
    assert right[flipped["surest half"]].min() >= np.median(right)
    assert not any(flips(task, chance, 0.0).any() for flips in label_noise.FLIPS.values())


def test_the_docs_show_the_stored_figures() -> None:
    cells = contest.stored("study")["cells"]
    shown = {
        ("benchmarks.md", "excess"): baselines.section(),
        ("study.md", "excess"): study_page.by_epsilon(cells, "excess", 5),
        ("study.md", "accuracy"): study_page.by_epsilon(cells, "accuracy", 4),
        ("study.md", "label noise"): study_page.by_rate(contest.stored("label-noise")["cells"]),
    }
    for (page, name), lines in shown.items():
        begin, end = marks(name)
        section = (PAGES / page).read_text(encoding="utf-8").split(begin)[1].split(end)[0]
        assert section.strip().splitlines() == list(lines), f"{page}, {name}: stale"
