"""The front door: minimize a risk under a privacy budget."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sottovoce._version import VERSION
from sottovoce.accounting import Budget, Ledger, Relation, best_order
from sottovoce.accounting.checks import writable
from sottovoce.accounting.guarantee import Guarantee
from sottovoce.accounting.lineage import Origin, origin_of
from sottovoce.accounting.resume import Resume
from sottovoce.errors import TIGHT, Advice, BudgetExceeded, DataError, LedgerError, ParameterError
from sottovoce.machine import MEGABYTE, require_memory
from sottovoce.methods.adapt import Adapt
from sottovoce.methods.base import Goal, Method
from sottovoce.methods.choice import chosen as choose
from sottovoce.models.linear import Risk
from sottovoce.models.staged import StagedRisk
from sottovoce.models.warming import require_compiler
from sottovoce.privacy.noise import entropy_for, noise_for
from sottovoce.privacy.oracle import Oracle
from sottovoce.problem import Calibration, matrix_fits
from sottovoce.report.progress import watching
from sottovoce.results.inference.measuring import measured, require_inferable
from sottovoce.results.inference.request import Inference
from sottovoce.results.result import Result, Stop, Tolerance, TraceRow

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.models.protocol import ExactRisk
    from sottovoce.problem import Problem
    from sottovoce.results.inference.findings import LastAnswers


def minimize(
    risk: ExactRisk | StagedRisk,
    *,
    budget: Budget,
    method: str | Method = "auto",
    tolerance: Tolerance | None = None,
    start: Vector | Result | None = None,
    ledger: Ledger | None = None,
    simulate: int | None = None,
    confidence: float = 0.99,
    calibration: str = "tight",
    inference: float | Inference = 0.0,
    purpose: str = "",
    progress: bool = False,
    resume: str | Resume | None = None,
    declared: Mapping[str, str] | None = None,
) -> Result:
    """Minimize `risk` with (epsilon, delta)-differential privacy for neighbours under the budget's relation.

    A run sets its whole budget aside in the ledger until it ends, and is refused where another holds it. With
    a ledger file, answers are written down beside it as they come.

    Formal guarantee: the weights, trace, certificate and stop reason together are (epsilon, delta)-DP under
    replacement of one record by any other valid record (with relation="zero-out": by a null record, which
    counts 0 in every sum), n, shapes, bounds and all arguments being public; with a Result to start from,
    they and all that its runs released are `result.guarantee`-DP.

    Args:
        risk: What is minimized, over records that were bounded at the door.
        budget: The promise.
        method: A name or a method object. "auto" chooses from public facts alone and says why in
            `result.choice`.
        tolerance: The run stops at the first point that it can certify for this; with None it spends the
            whole budget on a good model.
        start: Data-independent weights (by default zeros, or a module's own parameters), or a Result charged
            to the same ledger; the guarantee then covers that result too, and all it started from.
            `start=result.weights` is known for what it is and treated alike, but a copy of it, weights that
            went through arithmetic, a file or a module's parameters are not: then the stated guarantee is
            false unless they come from other records.
        ledger: Charges a budget shared by several runs; without one, two calls compose: their epsilons and
            deltas add up at worst, and nothing here keeps count.
        simulate: Seeds the noise: reproducible, not private, and flagged so.
        confidence: Of what the certificate states.
        calibration: "published" uses the constants and sensitivities of Gao & Wright, for their methods and
            only where they are private; "tight" uses the smallest known.
        inference: The part of the budget kept for the end: a gradient, a Hessian and second moments of
            scores, from which `result.summary()` makes standard errors, tests and intervals. An `Inference`
            says so too, and whether they are to hold where the model does not.
        purpose: What the ledger's history says of the run.
        progress: Whether a bar shows how far training is.
        resume: Goes on with a run of a ledger file that was interrupted, by its identity, under the same
            arguments and whatever `declared` adds to them: nothing is paid or drawn twice.
            `Resume(run, further=False)` makes the best model that its answers allow.
        declared: Public facts besides the arguments that a run must have in common with the one it goes on
            with.
    """
    if not isinstance(budget, Budget):
        raise ParameterError(
            "budget must be a Budget, for example Budget(epsilon=1.0, delta=1e-6).", argument="budget"
        )
    if not (isinstance(confidence, float) and 0.0 < confidence < 1.0):
        raise ParameterError(
            "confidence must be a number strictly between 0 and 1, for example 0.99.", argument="confidence"
        )
    if not isinstance(method, str | Method):
        raise ParameterError('method must be a name such as "adapt" or a method object.', argument="method")
    if tolerance is not None and not isinstance(tolerance, Tolerance):
        raise ParameterError(
            "tolerance must be a Tolerance, for example Tolerance(gradient=0.03), or None.",
            argument="tolerance",
        )
    writable("purpose", purpose)
    problem = risk.problem
    if problem.counted and budget.relation is Relation.ZERO_OUT:
        raise ParameterError(
            "under zero-out the number of persons may not be counted: one of them would change it. Declare "
            "it, from what is public: Records.from_arrays(..., groups=keys, persons=20_000).",
            argument="persons",
            advice=(Advice("persons", "20000", "Records.from_arrays(..., groups=keys, persons=20_000)"),),
        )
    choice = choose(method, problem, tolerance)
    chosen = choice.method
    if isinstance(risk, StagedRisk) and risk.looks and not isinstance(chosen, Adapt):
        raise ParameterError(
            f"columns are chosen on the way of method 'adapt', and this run takes {chosen.name!r}. Take "
            'model="linear" or "additive", or leave method and tolerance out.'
        )
    asked = Inference.of(inference)
    require_inferable(problem, asked.share)
    goal = goal_for(chosen, problem, budget, tolerance, confidence, calibration)
    chosen.require_possible(problem, goal)
    if chosen.needs_tolerance:
        chosen.require_tolerance(goal)
    noise = noise_for(simulate)
    if ledger is not None and not isinstance(ledger, Ledger):
        raise ParameterError(
            "ledger must be a Ledger: Ledger(cap), or Ledger.open(path, dataset=...).", argument="ledger"
        )
    origin = start.origin if isinstance(start, Result) else origin_of(start)
    if origin is not None:
        _require_counted(origin, ledger, simulated=noise.simulated)
    weights = _starting_point(start, problem, risk)
    account = account_for(chosen, problem, weights, goal, budget) if ledger is None else ledger
    if noise.simulated and account.persistent:
        raise LedgerError("a persistent ledger takes no simulated runs. Leave the ledger out, or the seed.")
    if account.order is None and chosen.amplified(problem, weights, goal, budget):
        raise LedgerError(
            f"method {chosen.name!r} reads mini-batches, whose amplification has no price in a gdp ledger. "
            'Leave the ledger out, or open it with Ledger(cap, currency="renyi", order=...).'
        )
    require_memory(working_memory(problem), "this run, with its matrices of columns by columns,")
    if isinstance(risk, Risk | StagedRisk):
        require_compiler(problem.n)
    called = f"{chosen.name}: {purpose}" if purpose else chosen.name
    facts = {
        "problem": repr(problem),
        "method": repr(chosen),
        "goal": repr(goal),
        "start": hashlib.sha256(weights.tobytes()).hexdigest(),
        "inference": f"{asked.share!r} {asked.robust!r}",
        "version": VERSION,
        **(declared or {}),
    }
    run = account.start(
        budget,
        called,
        unit=problem.promised_to,
        entries=planned_entries(problem),
        declared=facts,
        resume=Resume.of(resume),
    )
    with run:
        kept = int(run.units_left * asked.share)
        run.keep(kept)
        entropy = entropy_for(simulate)

        def asking(about: ExactRisk) -> Oracle:
            return Oracle(about, run, noise, goal.calibration, entropy)

        if isinstance(risk, StagedRisk):
            settled, opening = _settled(risk, asking)
            weights = weights[: settled.problem.dim]
        else:
            settled, opening = risk, ()
        with watching(progress, chosen.name, run.mu_squared_left, chosen.pace(problem)) as watch:
            outcome = _looking(chosen, risk, asking).run(asking(settled), weights, goal, watch)
        if isinstance(risk, StagedRisk):
            settled = risk.current
        oracle = asking(settled)
        run.keep(0)
        if outcome.stop is Stop.OUT_OF_BUDGET and not run.units_spent and resume is not None:
            raise BudgetExceeded(
                "this run was interrupted before its first answer, of which no model can be made. Nothing "
                "more was charged. Go on with it: Resume(run)."
            )
        if outcome.stop is Stop.OUT_OF_BUDGET and not run.units_spent:
            raise BudgetExceeded(
                "the first query of the run was refused: nothing was charged, nothing released. Noise on "
                "a lattice carries about epsilon=25, and more for fewer columns; here it is "
                f"{budget.epsilon:g}. Lower epsilon, or look at the ledger."
            )
        findings, rows = _inferred(oracle, outcome.weights, kept, asked) if kept else (None, ())
    origin = origin or Origin((), "", simulated=False)
    earlier = origin.lineage
    name = f"simulated {len(earlier)}" if noise.simulated else run.preset.run
    lineage = (*earlier, replace(run.preset, run=name, counted=problem.counted))
    guarantee = Guarantee.over(
        lineage,
        n=max(problem.n, origin.n),
        cap=None if ledger is None else ledger.cap,
        simulated=noise.simulated,
    )
    caveats = [*problem.caveats, *filter(None, [guarantee.caveat]), *origin.said]
    if run.cut_short or outcome.stop is Stop.INTERRUPTED:
        caveats.append(
            f"the run ended short of its plan after {100.0 * run.units_spent / run.units_cap:.3g} % of its "
            "budget: this is the best model its answers allow, not the one that was planned"
        )
    return Result(
        weights=outcome.weights.copy(),
        stop=Stop.CUT_SHORT if run.cut_short else outcome.stop,
        certificate=replace(outcome.certificate, neighbours=guarantee.neighbours),
        guarantee=guarantee,
        trace=(*opening, *outcome.trace, *rows),
        inference=findings,
        spending=run.spending,
        method=chosen.name,
        choice=choice.reason,
        objective=f"{settled.objective}{outcome.trained}",
        tolerance=goal.tolerance,
        simulated=noise.simulated,
        ledger="" if ledger is None else ledger.identity,
        ledger_head="" if ledger is None else ledger.head,
        caveats=tuple(caveats),
        lineage=lineage,
        noise=outcome.noise,
        version=VERSION,
    )


def _looking(method: Method, risk: ExactRisk | StagedRisk, asking: Callable[[ExactRisk], Oracle]) -> Method:
    """The method, asking on its way what a staged risk wants to know."""
    if not isinstance(risk, StagedRisk) or not risk.looks:
        return method
    assert isinstance(method, Adapt)
    return method.looking(risk.look(asking))


def planned_entries(problem: Problem) -> int:
    """Numbers that a run may draw noise for, more than its plan does: 250 gradients and three matrices.

    It decides how much of delta the lattice of their noise is sure to find in the ledger."""
    side = problem.dim if problem.forms_matrices else problem.columns
    return 250 * problem.dim + (3 * side * (side + 1) // 2 if matrix_fits(side) else 0)


def working_memory(problem: Problem) -> int:
    """Bytes a run may fill besides its rows, from public numbers.

    Twelve matrices hold an answer, its packing, its noise and its eigenvectors: measured are 8 to 12."""
    side = problem.dim if problem.forms_matrices else problem.columns
    return 64 * MEGABYTE + (12 * 8 * side * side if matrix_fits(side) else 0)


def _settled(
    risk: StagedRisk, asking: Callable[[ExactRisk], Oracle]
) -> tuple[ExactRisk, tuple[TraceRow, ...]]:
    """The risk whose features the opening answers chose, and rows of the trace for what they cost."""
    widest = risk.problem.dim
    settled, asked = risk.settled(asking)
    if settled.problem != risk.problem or settled.problem.dim > widest:
        raise DataError("the table changed while it was read. Train on one that nobody writes to.")
    ask = asking(settled)
    return settled, tuple(TraceRow(kind=part.kind, mu_squared=ask.mu_squared(part.units)) for part in asked)


def _inferred(
    oracle: Oracle, weights: Vector, units: int, asked: Inference
) -> tuple[LastAnswers | None, tuple[TraceRow, ...]]:
    """What `units` find out for intervals around these weights, and a row of the trace; None if refused."""
    try:
        findings = measured(oracle, weights, units, asked)
    except BudgetExceeded:
        return None, ()
    return findings, (TraceRow(kind="inference", mu_squared=oracle.mu_squared(units)),)


def goal_for(
    method: Method,
    problem: Problem,
    budget: Budget,
    tolerance: Tolerance | None,
    confidence: float,
    calibration: str,
) -> Goal:
    try:
        chosen = Calibration(calibration)
    except ValueError:
        raise ParameterError('calibration must be "tight" or "published".', argument="calibration") from None
    if chosen is Calibration.PUBLISHED and not method.published:
        raise ParameterError(
            f"method {method.name!r} is not the paper's and has no published calibration. "
            'Use calibration="tight", or a method such as "2opt-ls".',
            advice=(TIGHT,),
        )
    if tolerance is not None and chosen is Calibration.PUBLISHED and tolerance.curvature is None:
        tolerance = replace(tolerance, curvature=math.sqrt(tolerance.gradient))
    resolved = None if tolerance is None else tolerance.resolved(problem)
    return Goal(tolerance=resolved, confidence=confidence, calibration=chosen, budget=budget)


def account_for(method: Method, problem: Problem, start: Vector, goal: Goal, budget: Budget) -> Ledger:
    """A ledger for this run alone, in the currency the method's queries have a price in."""
    amplified = method.amplified(problem, start, goal, budget)
    if not amplified:
        return Ledger(budget, unit=problem.promised_to)
    order = best_order(budget, amplified)
    return Ledger(budget, currency="renyi", order=order, unit=problem.promised_to)


def _require_counted(origin: Origin, ledger: Ledger | None, *, simulated: bool) -> None:
    """Whether what a run starts from was charged to the ledger that counts the run itself."""
    if origin.simulated and not simulated:
        raise LedgerError("a simulated result is not private and cannot start a private run.")
    if ledger is None or origin.ledger != ledger.identity:
        raise LedgerError(
            "this starting result was not charged to the ledger of this run. Train both with one ledger, "
            "so that their budgets add up: ledger = Ledger(cap); minimize(..., ledger=ledger). Weights that "
            "were trained on other people's records may be passed as a copy, np.array(result.weights)."
        )


def _starting_point(start: Vector | Result | None, problem: Problem, risk: ExactRisk | StagedRisk) -> Vector:
    if start is None:
        return problem.within_limit(np.zeros(problem.dim) if isinstance(risk, StagedRisk) else risk.start)
    if isinstance(start, Result):
        start = start.weights
    try:
        weights = np.array(start, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        weights = np.full(problem.dim, np.nan)
    if weights.shape != (problem.dim,) or not np.all(np.isfinite(weights)):
        raise ParameterError(
            f"start must be {problem.dim} finite numbers that do not depend on the data.", argument="start"
        )
    return problem.within_limit(weights)
