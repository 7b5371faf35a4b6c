"""Whatever a method passes, an answer moves by at most what was charged, or nothing is charged at all."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting.events import GaussianEvent, QueryKind
from sottovoce.privacy.noise import SimulatedNoise
from sottovoce.privacy.oracle import Oracle
from sottovoce.privacy.sensitivity import norm_above
from sottovoce.queries import Gradient
from tests import charges

DIM = 4

BUDGET = sv.Budget(1.0, 1e-6)
RENYI = {"currency": "renyi", "order": 16}
TINY, SUBNORMAL = 1.6e-162, 5e-324
NUMBERS = (
    0.0,
    -1.0,
    0.3,
    1.0,
    1e-6,
    1e-300,
    TINY,
    SUBNORMAL,
    1e160,
    1e300,
    1.7e308,
    math.nan,
    math.inf,
    -math.inf,
)
SHRINKS = (
    0.5,
    0.9,
    1.0 - 2.0**-53,
    1.0 - 2.0**-50,
    1e-300,
    0.0,
    1.0,
    1.5,
    -0.5,
    math.nan,
    True,
    "half",
    None,
)
COUNTS = (1, 2, 3, 7, 0, -1, True, 2.5, 10**7, None, np.int64(4))
PATTERNS = ([1, 1, 1, 1], [1, 0, 0, 0], [1, -1, 0.5, 0.25], [1, 0.3, 0.3, 0.3], [0, 0, 0, 1e-30])


class Bare:
    """Releases exact answers and keeps them, with what AboveThreshold was told."""

    simulated = True

    def __init__(self) -> None:
        self.exact: list[np.ndarray] = []
        self.allowed = math.nan

    def gaussian(self, exact: np.ndarray, calibration: Any) -> np.ndarray:
        self.exact.append(np.array(exact))
        return exact

    def first_above(self, queries: Any, sensitivity: float, epsilon: float) -> int | None:
        self.exact.append(np.array([float(query) for query in queries]))
        self.allowed = sensitivity
        return None

    def laplace(self, sensitivity: int, epsilon: float) -> int:
        return 0


def neighbours(rng: np.random.Generator, along: np.ndarray) -> tuple[sv.Risk, sv.Risk]:
    """Two records, one replaced; the replaced ones lie along the direction that is asked about."""
    size = np.max(np.abs(np.nan_to_num(along)), initial=0.0)
    unit = np.nan_to_num(along) / size if 0.0 < size < math.inf else rng.standard_normal(DIM)
    unit = unit / np.linalg.norm(unit) if np.linalg.norm(unit) > 0 else np.eye(DIM)[0]
    other = rng.standard_normal(DIM)
    loss = [sv.losses.Logistic(), sv.losses.Sigmoid(), sv.losses.Savage()][rng.integers(3)]
    pair = []
    for row, label in ((unit, 1), (-unit, 1) if rng.random() < 0.5 else (unit, -1)):
        records = sv.Records.from_arrays(np.stack([row, other]), [label, 1], labels=(-1, 1))
        pair.append(sv.Risk(records, loss, sv.regularizers.L2(1e-3)))
    return pair[0], pair[1]


def hostile_direction(rng: np.random.Generator) -> Any:
    size = NUMBERS[rng.integers(len(NUMBERS))] if rng.random() < 0.7 else 10.0 ** rng.uniform(-323, 300)
    with np.errstate(all="ignore"):
        vector = np.array(PATTERNS[rng.integers(len(PATTERNS))]) * size
    match rng.integers(12):
        case 0:
            return vector[:, None]
        case 1:
            return vector[:2]
        case 2:
            return vector.astype(object)
        case 3:
            return vector.tolist()
        case _:
            return vector


def hostile_units(rng: np.random.Generator, left: int) -> Any:
    usual = (left // 3, left, np.int64(left // 7), 1, 1000)
    odd = (True, 0.5, float(left), 0, -3, left + 1, 10**5000, math.nan, None, "all")
    return usual[rng.integers(5)] if rng.random() < 0.8 else odd[rng.integers(len(odd))]


def ask_something(rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """A query with hostile numbers, and the direction it is about."""
    p = hostile_direction(rng)
    flat = np.resize(np.asarray(p, dtype=np.float64).ravel(), DIM)
    w = [np.zeros(DIM), np.full(DIM, 1e-200), np.ones(DIM), np.full(DIM, SUBNORMAL), flat][rng.integers(5)]
    if rng.random() < 0.1:
        w = [np.zeros(3), np.zeros((DIM, 1)), np.array(["a"] * DIM), 0.0, np.full(DIM, 1j)][rng.integers(5)]
    size = np.max(np.abs(flat), initial=0.0)
    length = NUMBERS[rng.integers(len(NUMBERS))]
    if rng.random() < 0.6 and 0.0 < size < math.inf:
        with np.errstate(all="ignore"):
            length = float(rng.uniform(0.1, 2.0) / size)
    shrink, count = SHRINKS[rng.integers(len(SHRINKS))], COUNTS[rng.integers(len(COUNTS))]
    if rng.random() < 0.6:
        shrink, count = SHRINKS[rng.integers(4)], COUNTS[rng.integers(4)]
    lengths: Any = [
        length * factor for factor in ((1.0,), (1.0, 0.5), (0.5, 1.0), (1.0, -3.0), ())[rng.integers(5)]
    ]
    required: Any = np.full(len(lengths), (0.0, 0.1, -1e30, 1e290, math.nan, math.inf)[rng.integers(6)])
    if rng.random() < 0.1:
        required = required[:-1]
    steps: Any = (np.stack([flat, 0.5 * flat]), flat, np.zeros((0, DIM)), [p], 3.0)[rng.integers(5)]
    queries = (
        lambda ask, units: ask.backtrack(w, p, lengths, required, units),
        lambda ask, units: ask.grid(w, p, length, shrink, count, units),
        lambda ask, units: ask.trials(w, steps, units),
        lambda ask, units: ask.curvature_product(w, p, units),
        lambda ask, units: ask.gradient(w, units),
        lambda ask, units: ask.hessian(w, units),
        lambda ask, units: ask.gradient_norm(w, units),
        lambda ask, units: ask.smallest_eigenvalue(w, units),
        lambda ask, units: ask.value(w, units),
    )
    return queries[rng.choice(9, p=[0.3, 0.3, 0.1, 0.15, 0.03, 0.03, 0.03, 0.03, 0.03])], flat


def one_case(seed: int) -> str:
    rng = np.random.default_rng(seed)
    query, along = ask_something(rng)
    answers, noise = [], Bare()
    units = hostile_units(rng, sv.Ledger(BUDGET).units_cap)
    for risk in neighbours(rng, along):
        ledger = sv.Ledger(BUDGET)
        noise = Bare()
        ask = Oracle(risk, ledger.run(BUDGET), noise)  # type: ignore[arg-type]
        try:
            query(ask, units)
        except (sv.errors.ParameterError, sv.errors.BudgetExceeded):
            assert not ledger.history, f"case {seed}: refused after the charge"
            answers.append(None)
            continue
        (grant,) = ledger.history
        answers.append((noise.exact[-1], grant.event))
    if answers[0] is None or answers[1] is None:
        assert answers == [None, None], f"case {seed}: one record decides whether a query is refused"
        return "refused"
    (first, event), (second, _) = answers
    moved, allowed = float(np.linalg.norm(first - second)), noise.allowed
    if isinstance(event, GaussianEvent):
        allowed = event.sensitivity
    else:
        moved = float(np.max(np.abs(first - second)))
    assert moved <= allowed * (1.0 + 1e-12), f"case {seed}: moved {moved}, charged for {allowed}"
    return event.query.name


@pytest.mark.long
def test_no_argument_moves_an_answer_past_what_was_charged() -> None:
    """1,500 queries; each kind is answered often enough to count."""
    seen = [one_case(seed) for seed in range(1500)]
    for query in (QueryKind.LINE_SEARCH, QueryKind.TRIALS, QueryKind.CURVATURE_PRODUCT):
        assert seen.count(query.name) >= 10
    assert seen.count("refused") >= 200


@pytest.mark.slow
def test_no_argument_of_many_moves_an_answer_past_what_was_charged() -> None:
    for seed in range(1500, 60_000):
        one_case(seed)


@pytest.mark.parametrize(
    "values", [[TINY] * 4, [SUBNORMAL] * 4, [1e-200] * 3, [3e200] * 2, [1.0, TINY], [0.0]]
)
def test_a_norm_is_never_below_the_true_one(values: list[float]) -> None:
    """Squares of these underflow or overflow."""
    largest = max(values) or 1.0
    exact = math.sqrt(math.fsum((value / largest) ** 2 for value in values)) * largest
    assert exact <= norm_above(np.array(values)) <= exact * (1.0 + 2.0**-39) + 2 * SUBNORMAL


@pytest.mark.parametrize("shrink", [1.0 - k * 2.0**-53 for k in range(1, 60)] + [0.5, 0.9, 1e-200])
def test_a_grid_is_charged_for_the_sum_of_its_squares(shrink: float) -> None:
    for count in (1, 2, 3, 10, 500):
        squares = math.fsum(shrink ** (2 * i) for i in range(count))
        lengths = shrink ** np.arange(count)
        found = charges.line(sv.losses.PseudoHuber(0.5), 1.0, lengths, radius=1.0, n=1)
        assert found >= math.sqrt(squares) * (1.0 - 1e-14)
        assert found <= math.sqrt(squares) * (1.0 + 1e-10)


SIZES = (0, -1, 1001, True, 10.0, 2.5, math.nan, None, "ten", 10**30)


@pytest.mark.parametrize("size", SIZES)
def test_a_batch_has_a_whole_number_of_records(size: Any) -> None:
    ledger = sv.Ledger(BUDGET, **RENYI)  # type: ignore[arg-type]
    risk = neighbours(np.random.default_rng(0), np.ones(DIM))[0]
    ask = Oracle(risk, ledger.run(BUDGET), SimulatedNoise(0))
    with pytest.raises(sv.errors.ParameterError, match="batch"):
        ask.batched(size)


def test_a_batch_refuses_what_an_oracle_refuses_before_a_charge() -> None:
    ledger = sv.Ledger(BUDGET, **RENYI)  # type: ignore[arg-type]
    records = sv.Records.from_arrays(np.eye(DIM), [1, -1, 1, -1], labels=(-1, 1))
    ask = Oracle(sv.Risk(records, sv.losses.Sigmoid()), ledger.run(BUDGET), SimulatedNoise(0))
    part, w = ask.batched(2), np.zeros(DIM)
    wrong_units = (True, 0.5, math.nan, None, "all")
    wrong_weights = (np.zeros(3), np.zeros((DIM, 1)), 0.0, np.array(["a"] * DIM))
    for units, asked in itertools.product(wrong_units, (part.gradient, part.hessian)):
        with pytest.raises(sv.errors.ParameterError, match="units"):
            asked(w, units)
    for weights, asked in itertools.product(wrong_weights, (part.gradient, part.hessian)):
        with pytest.raises(sv.errors.ParameterError, match="real numbers"):
            asked(weights, 1000)  # type: ignore[arg-type]
    for direction in (np.zeros(DIM), np.full(DIM, math.nan), np.ones(2)):
        with pytest.raises(sv.errors.ParameterError):
            part.curvature_product(w, direction, 1000)
    assert not ledger.history


@pytest.mark.parametrize("length", [0.0, -1.0, math.nan, math.inf])
def test_a_search_goes_forward_or_is_refused_before_the_charge(length: float) -> None:
    risk, ledger = neighbours(np.random.default_rng(0), np.ones(DIM))[0], sv.Ledger(BUDGET, **RENYI)  # type: ignore[arg-type]
    ask = Oracle(risk, ledger.run(BUDGET), SimulatedNoise(0))
    with pytest.raises(sv.errors.ParameterError) as refused:
        ask.backtrack(np.zeros(DIM), np.ones(DIM), [1.0, length], np.zeros(2), 1000)
    assert refused.value.argument == "lengths"
    assert not ledger.history


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, None, True])
def test_a_price_is_asked_for_a_positive_scale(scale: Any) -> None:
    risk = neighbours(np.random.default_rng(0), np.ones(DIM))[0]
    ask = Oracle(risk, sv.Ledger(BUDGET).run(BUDGET), SimulatedNoise(0))
    with pytest.raises(sv.errors.ParameterError):
        ask.price(Gradient(np.zeros(DIM)), scale)
    with pytest.raises(sv.errors.ParameterError):
        ask.search_price(scale)
    with pytest.raises(sv.errors.ParameterError):
        ask.price("gradient please", 1.0)  # type: ignore[arg-type]


def test_a_search_too_poor_for_its_noise_is_refused_before_the_charge() -> None:
    ledger = sv.Ledger(BUDGET)
    risk = neighbours(np.random.default_rng(0), np.ones(DIM))[0]
    ask = Oracle(risk, ledger.run(BUDGET), SimulatedNoise(0))
    with pytest.raises(sv.errors.BudgetExceeded):
        ask.backtrack(np.zeros(DIM), np.ones(DIM), np.ones(1), np.zeros(1), 1)
    assert not ledger.history
