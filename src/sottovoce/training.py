"""The front door: minimize a risk under a privacy budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sottovoce._version import VERSION
from sottovoce.accounting import Budget, Ledger
from sottovoce.errors import LedgerError, ParameterError
from sottovoce.methods.loop import Goal, Method
from sottovoce.methods.registry import by_name
from sottovoce.noise import noise_for
from sottovoce.oracle import Oracle
from sottovoce.progress import watching
from sottovoce.result import Guarantee, Result, Tolerance

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.queries import Problem
    from sottovoce.risk import Risk
    from sottovoce.softmax import SoftmaxRisk


def minimize(
    risk: Risk | SoftmaxRisk,
    *,
    budget: Budget,
    method: str | Method = "majorize",
    tolerance: Tolerance | None = None,
    start: Vector | Result | None = None,
    ledger: Ledger | None = None,
    simulate: int | None = None,
    confidence: float = 0.99,
    progress: bool = False,
) -> Result:
    """Minimize `risk` with (epsilon, delta)-differential privacy for replacing one record.

    With `tolerance` the run stops at the first point it can certify; with None it spends the whole budget on
    a good model. `start` is data-independent weights (zeros by default), or a Result charged to the same
    ledger. `ledger` charges a budget shared by several runs; without one, two calls compose: their epsilons
    and deltas add up at worst, and nothing here keeps count. `simulate` seeds the noise: reproducible, not
    private, and flagged so.

    Formal guarantee: the weights, trace, certificate and stop reason together are (epsilon, delta)-DP under
    replacement of one record by any other valid record, n, shapes, bounds and all arguments being public."""
    if not isinstance(budget, Budget):
        raise ParameterError("budget must be a Budget, for example Budget(epsilon=1.0, delta=1e-6).")
    if not (isinstance(confidence, float) and 0.0 < confidence < 1.0):
        raise ParameterError("confidence must be a number strictly between 0 and 1, for example 0.99.")
    chosen = by_name(method) if isinstance(method, str) else method
    if not isinstance(chosen, Method):
        raise ParameterError('method must be a name such as "majorize" or a method object.')
    if tolerance is not None and not isinstance(tolerance, Tolerance):
        raise ParameterError("tolerance must be a Tolerance, for example Tolerance(gradient=0.03), or None.")
    problem = risk.problem
    goal = Goal(tolerance=None if tolerance is None else tolerance.resolved(problem), confidence=confidence)
    noise = noise_for(simulate)
    weights = _starting_point(start, problem, ledger, simulated=noise.simulated)
    account = Ledger(budget) if ledger is None else ledger
    if noise.simulated and account.persistent:
        raise LedgerError("a persistent ledger takes no simulated runs. Leave the ledger out, or the seed.")
    run = account.run(budget, chosen.name)
    with watching(progress, chosen.name) as watch:
        outcome = chosen.run(Oracle(risk, run, noise), weights, goal, watch)
    return Result(
        weights=outcome.weights,
        stop=outcome.stop,
        certificate=outcome.certificate,
        guarantee=Guarantee(
            epsilon=budget.epsilon, delta=budget.delta, n=problem.n, simulated=noise.simulated
        ),
        trace=outcome.trace,
        method=chosen.name,
        tolerance=goal.tolerance,
        simulated=noise.simulated,
        ledger="" if ledger is None else ledger.identity,
        version=VERSION,
    )


def _starting_point(
    start: Vector | Result | None, problem: Problem, ledger: Ledger | None, *, simulated: bool
) -> Vector:
    if start is None:
        return np.zeros(problem.dim)
    if isinstance(start, Result):
        if start.simulated and not simulated:
            raise LedgerError("a simulated result is not private and cannot start a private run.")
        if ledger is None or start.ledger != ledger.identity:
            raise LedgerError(
                "this starting result was not charged to the ledger of this run. Train both with one ledger, "
                "so that their budgets add up: ledger = Ledger(cap); minimize(..., ledger=ledger)."
            )
        start = start.weights
    try:
        weights = np.array(start, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.full(problem.dim, np.nan)
    if weights.shape != (problem.dim,) or not np.all(np.isfinite(weights)):
        raise ParameterError(f"start must be {problem.dim} finite numbers that do not depend on the data.")
    return problem.within_limit(weights)
