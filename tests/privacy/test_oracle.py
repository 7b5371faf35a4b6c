from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting import Ledger
from sottovoce.accounting.events import QueryKind
from sottovoce.privacy.noise import SimulatedNoise
from sottovoce.privacy.oracle import Oracle
from sottovoce.queries import Preconditioner
from tests import problems
from tests.doubles import Recorder, WatchedRisk

BUDGET = sv.Budget(epsilon=1.0, delta=1e-6)


def oracle(risk: object, seed: int = 0) -> Oracle:
    return Oracle(risk, Ledger(BUDGET).run(BUDGET), SimulatedNoise(seed))  # type: ignore[arg-type]


QUERIES = {
    QueryKind.GRADIENT: lambda ask, units: ask.gradient(np.ones(5), units),
    QueryKind.GRADIENT_CHANGE: lambda ask, units: ask.gradient_change(np.ones(5), np.eye(5)[0], units),
    QueryKind.HESSIAN: lambda ask, units: ask.hessian(np.ones(5), units),
    QueryKind.GRAM: lambda ask, units: ask.gram(units),
    QueryKind.GRAM_DIAGONAL: lambda ask, units: ask.gram_diagonal(units),
    QueryKind.SCORES: lambda ask, units: ask.score_moment(np.ones(5), units),
    QueryKind.INFORMATION: lambda ask, units: ask.information(np.ones(5), units),
    QueryKind.MOMENTS: lambda ask, units: ask.moments(units),
    QueryKind.TRIALS: lambda ask, units: ask.trials(np.ones(5), np.eye(5)[:3], units),
    QueryKind.GRADIENT_NORM: lambda ask, units: ask.gradient_norm(np.ones(5), units),
    QueryKind.EIGENVALUE: lambda ask, units: ask.smallest_eigenvalue(np.ones(5), units),
    QueryKind.LINE_SEARCH: lambda ask, units: ask.backtrack(
        np.ones(5), -np.ones(5), np.array([1.0, 0.5]), np.zeros(2), units
    ),
}


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_is_charged_once_at_the_price_it_names(query: QueryKind) -> None:
    ledger = Ledger(BUDGET)
    ask = Oracle(problems.logistic(), ledger.run(BUDGET), SimulatedNoise(0))
    units = ask.units_left // 3
    QUERIES[query](ask, units)
    (grant,) = ledger.history
    assert grant.event.query is query
    assert units * (1 - 1e-9) <= grant.units <= units


@pytest.mark.parametrize("query", QUERIES)
def test_a_refused_query_never_touches_data(query: QueryKind) -> None:
    risk = WatchedRisk(problems.logistic())
    ask = oracle(risk)
    QUERIES[query](ask, ask.units_left)
    assert risk.touched == 1
    for units in (ask.units_left + 1, 10**9, 0, -5):
        with pytest.raises(sv.errors.BudgetExceeded):
            QUERIES[query](ask, units)
    assert risk.touched == 1


def test_the_charge_comes_before_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that refuses on its own must win the race against the computation."""
    risk = WatchedRisk(problems.logistic())
    ask = oracle(risk)

    def refuse(event: object) -> None:
        raise sv.errors.BudgetExceeded("refused")

    monkeypatch.setattr(type(ask._run), "charge", lambda self, event: refuse(event))
    for query in QUERIES.values():
        with pytest.raises(sv.errors.BudgetExceeded):
            query(ask, ask.units_left // 3)
    assert risk.touched == 0


@pytest.mark.parametrize("parts", [*range(1, 21), 50, 99, 100, 333, 512, 777, 999, 1000])
def test_a_budget_split_in_k_allows_exactly_k_queries(parts: int) -> None:
    risk = WatchedRisk(problems.logistic(n=20, dim=2))
    ledger = Ledger(BUDGET)
    run = ledger.run(BUDGET)
    ask = Oracle(risk, run, SimulatedNoise(0))  # type: ignore[arg-type]
    share = run.share(parts)
    for _ in range(parts):
        ask.gradient(np.zeros(2), share)
    assert risk.touched == parts
    with pytest.raises(sv.errors.BudgetExceeded):
        ask.gradient(np.zeros(2), share)
    assert risk.touched == parts
    assert len(ledger.history) == parts


@pytest.mark.parametrize(
    ("query", "sensitivity"),
    [
        (QueryKind.GRADIENT, lambda risk: risk.bounds.gradient(np.ones(5))),
        (QueryKind.GRADIENT_CHANGE, lambda risk: risk.bounds.gradient_change(np.ones(5), np.eye(5)[0])),
        (QueryKind.HESSIAN, lambda risk: risk.bounds.hessian(np.ones(5))),
        (QueryKind.GRAM, lambda risk: risk.bounds.gram()),
        (QueryKind.GRAM_DIAGONAL, lambda risk: risk.bounds.gram_diagonal()),
        (QueryKind.SCORES, lambda risk: risk.bounds.score_moment(np.ones(5))),
        (QueryKind.INFORMATION, lambda risk: risk.bounds.information(np.ones(5))),
        (QueryKind.TRIALS, lambda risk: risk.bounds.trials(np.ones(5), np.eye(5)[:3])),
        (QueryKind.GRADIENT_NORM, lambda risk: risk.bounds.gradient_norm(np.ones(5))),
        (QueryKind.EIGENVALUE, lambda risk: risk.bounds.smallest_eigenvalue(np.ones(5))),
    ],
)
def test_the_noise_released_has_the_scale_that_was_charged(query: QueryKind, sensitivity) -> None:  # type: ignore[no-untyped-def]
    """Scale >= Delta/mu by the ledger's own history, and the noise has that scale: 4,000 or more normal
    variables have a sample deviation within 6 % of the truth but for 1e-7."""
    risk = problems.logistic()
    noise = Recorder(SimulatedNoise(3))
    ledger = Ledger(BUDGET)
    ask = Oracle(risk, ledger.run(BUDGET), noise)
    units = ask.units_left // 5000
    answers = [QUERIES[query](ask, units)]
    while len(answers) * noise.tape[0].size < 4000:
        answers.append(QUERIES[query](ask, units))
    errors = np.concatenate([(a - b) for a, b in zip(noise.tape, noise.exact, strict=True)])
    charged = ledger.history[0].event
    assert charged.sensitivity >= sensitivity(risk)
    assert (charged.sensitivity / charged.scale) ** 2 <= ask.mu_squared(units)
    assert answers[0].scale == charged.scale
    assert np.std(errors) == pytest.approx(charged.scale, rel=0.06)


def test_moments_state_the_noise_of_both_halves_and_sum_squares_over_groups() -> None:
    """4,000 normal variables have a sample deviation within 6 % of the truth but for 1e-7."""
    risk = problems.logistic()
    ask = oracle(risk)
    units, exact, groups = ask.units_left // 5000, risk.moments(), np.array([0, 1, 1, 0, 2])
    sums = np.bincount(groups, exact[1])
    answers = [ask.moments(units, balance=0.7, groups=groups) for _ in range(2000)]
    first = answers[0]
    assert np.std([a.means - exact[0] for a in answers]) == pytest.approx(first.mean_scale, rel=0.06)
    assert np.std([a.squares - sums for a in answers]) == pytest.approx(first.square_scale, rel=0.06)
    ratio = first.mean_scale / first.square_scale * risk.problem.radius
    assert ratio**2 == pytest.approx(0.7, rel=1e-12)
    assert first.units <= units


@pytest.mark.parametrize("groups", [[0, 1], [0, 2, 2, 0, 3], [-1, 0, 1, 2, 3], [0.0] * 5, ["a"] * 5])
def test_groups_that_are_none_are_refused_before_a_charge(groups: list[object]) -> None:
    ask = oracle(problems.logistic())
    before = ask.units_left
    with pytest.raises(sv.errors.ParameterError, match="groups"):
        ask.moments(1000, groups=np.array(groups))
    assert ask.units_left == before


def test_a_preconditioned_oracle_asks_the_same_run_and_reshaping_costs_nothing() -> None:
    risk = problems.logistic()
    ledger = Ledger(BUDGET)
    ask = Oracle(risk, ledger.run(BUDGET), SimulatedNoise(0))
    preconditioner = Preconditioner(scale=np.full(5, 2.0), cap=0.5)
    before = ask.units_left
    inside = ask.preconditioned(preconditioner)
    assert ask.units_left == before
    for query in QUERIES.values():
        query(inside, before // 20)
    assert [grant.event.query for grant in ledger.history] == list(QUERIES)
    assert ask.units_left == inside.units_left < before
    assert inside.problem.influence == 0.5
    batched = inside.problem
    assert (batched.energy, batched.radius) == (0.5, pytest.approx(2.0 * risk.problem.radius))


def test_symmetric_answers_are_symmetric_and_isometric() -> None:
    """Diagonal noise has the stated scale, off-diagonal noise a factor sqrt2 less (1,500 matrices, 6 %)."""
    risk = problems.logistic()
    ask = oracle(risk)
    units = ask.units_left // 2000
    exact = risk.gram()
    answers = [ask.gram(units) for _ in range(1500)]
    noise = np.array([answer.value - exact for answer in answers])
    scale = answers[0].scale
    assert np.array_equal(noise, noise.transpose(0, 2, 1))
    diagonal = noise[:, np.arange(5), np.arange(5)]
    off = noise[:, *np.triu_indices(5, 1)]
    assert np.std(diagonal) == pytest.approx(scale, rel=0.06)
    assert np.std(off) == pytest.approx(scale / np.sqrt(2.0), rel=0.06)


def test_answers_are_centred_on_the_truth() -> None:
    """With almost no noise each answer is the exact one: nothing is scaled or shifted on the way."""
    risk = problems.logistic(n=4000)
    generous = sv.Budget(epsilon=20.0, delta=0.1)
    ask = Oracle(risk, Ledger(generous).run(generous), SimulatedNoise(0))
    w, units = np.ones(5), ask.units_left // 10
    assert ask.gradient(w, units).value == pytest.approx(risk.gradient(w), abs=0.02)
    assert ask.hessian(w, units).value == pytest.approx(risk.hessian(w), abs=0.02)
    steps = np.array([[0.5, 0, 0, 0, 0], [0, 2.0, 0, 0, 0]])
    expected = [(risk.value(w) - risk.value(w + p)) / np.linalg.norm(p) for p in steps]
    assert ask.trials(w, steps, units).value == pytest.approx(expected, abs=0.03)
    assert ask.gradient_norm(w, units).value == pytest.approx(np.linalg.norm(risk.gradient(w)), abs=0.02)
    eigenvalue = np.linalg.eigvalsh(risk.hessian(w))[0]
    assert ask.smallest_eigenvalue(w, units).value == pytest.approx(eigenvalue, abs=0.02)


def test_backtracking_finds_the_first_length_with_enough_decrease() -> None:
    risk = problems.logistic(n=100_000)
    generous = sv.Budget(epsilon=20.0, delta=0.1)
    ask = Oracle(risk, Ledger(generous).run(generous), SimulatedNoise(0))
    w = np.zeros(5)
    gradient = risk.gradient(w)
    lengths = np.array([64.0, 32.0, 1.0])
    required = 0.5 * lengths * float(gradient @ gradient)
    decreases = [risk.value(w) - risk.value(w - a * gradient) for a in lengths]
    required[:2] = np.array(decreases[:2]) + 0.1
    assert ask.backtrack(w, -gradient, lengths, required, ask.units_left // 2) == 2
    assert ask.backtrack(w, gradient, lengths, required, ask.units_left // 2) is None


def test_a_trial_too_short_to_measure_is_refused() -> None:
    ask = oracle(problems.logistic())
    with pytest.raises(sv.errors.ParameterError, match="short"):
        ask.trials(np.ones(5), 1e-9 * np.eye(5), 1000)


def test_weights_beyond_the_public_limit_are_pulled_back_and_answers_stay_finite() -> None:
    ask = oracle(problems.logistic())
    for w in (np.full(5, 1e200), np.full(5, np.inf), np.full(5, np.nan)):
        assert np.all(np.isfinite(ask.gradient(w, ask.units_left // 10).value))


def test_an_oracle_is_neither_pickled_nor_copied_and_shows_no_data() -> None:
    ask = oracle(problems.logistic())
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(sv.errors.SottovoceError):
            attempt(ask)
    assert "400 records" in repr(ask)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0, 25.0])
def test_the_lattice_is_fine_enough_for_every_usual_epsilon(epsilon: float) -> None:
    budget = sv.Budget(epsilon=epsilon, delta=1e-6)
    result = sv.minimize(problems.logistic(dim=20), budget=budget, simulate=0)
    assert result.stop is sv.Stop.FINISHED
