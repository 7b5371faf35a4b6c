"""What a budget can buy, before any data is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, final

from sottovoce.accounting import Budget
from sottovoce.accounting.gdp import epsilon_of
from sottovoce.accounting.renyi.exchange import rho_published
from sottovoce.errors import ParameterError
from sottovoce.exports.forecast import coefficient_forecast
from sottovoce.methods.base import Method
from sottovoce.methods.choice import chosen as choose
from sottovoce.methods.forecast import QueryNoise, least
from sottovoce.planning.accuracy import AccuracyForecast
from sottovoce.planning.dry_run import DryRun
from sottovoce.planning.wishes import Wish, wish_for_accuracy, wish_for_error
from sottovoce.regularizers import L2
from sottovoce.report.notebook import plan_panel
from sottovoce.results.inference.expected import ExpectedErrors, expected_errors
from sottovoce.results.inference.measuring import require_inferable
from sottovoce.results.inference.request import Inference
from sottovoce.results.result import Tolerance
from sottovoce.training import goal_for

if TYPE_CHECKING:
    from sottovoce.data.schema import Schema
    from sottovoce.losses import Loss
    from sottovoce.problem import Problem
    from sottovoce.regularizers import Regularizer
    from sottovoce.results.inference.forecast import CoefficientForecast

_MOST_RECORDS = 2**33
"""Past this many, rounding in the sums moves an answer further than a record does: more would not help."""
_EPSILONS = (1e-4, 1000.0)


@final
@dataclass(frozen=True, kw_only=True)
class Nearest:
    """Wishes near an impossible one: each alone, the others kept, would do. None: not even the largest."""

    gradient: float
    curvature: float
    n: int | None
    epsilon: float | None

    def __str__(self) -> str:
        ways = [f"tolerance gradient={self.gradient:.2g}, curvature={max(self.curvature, 0.0):.2g}"]
        if self.n is not None:
            ways.append(f"n={self.n}")
        if self.epsilon is not None:
            ways.append(f"epsilon={self.epsilon:.2g}")
        return " or ".join(ways)


@final
@dataclass(frozen=True, kw_only=True)
class Plan:
    """A forecast from public numbers: no promise, but what the method's own prices allow.

    At most `steps` steps are taken (paper: T), `first_steps` of them in a first phase (T_1), and `passes`
    over the data are expected. `gradient` and `curvature` are the smallest tolerances the method can expect
    to reach. `minimal_n` is the least n for the wanted tolerance by the same formulas, `paper_minimal_n` that
    of Gao & Wright's theorem for this kind of method, errata repaired. `seconds` is measured on synthetic
    rows on this machine. Steps, passes and noise are of the run for the wanted tolerance; where that is out
    of reach of a method that stops at a tolerance, of the run for the smallest within reach. `accuracy` is
    what privacy is expected to cost, where two classes are told apart by the logistic loss and `adapt`."""

    n: int
    dim: int
    classes: int
    weights: int
    method: str
    calibration: str
    epsilon: float
    delta: float
    relation: str
    mu: float
    steps: int
    first_steps: int | None
    passes: int
    majorizer: str | None
    noise: tuple[QueryNoise, ...]
    gradient: float
    curvature: float
    confidence: float
    tolerance: Tolerance | None = None
    feasible: bool | None = None
    minimal_n: int | None = None
    paper_minimal_n: int | None = None
    nearest: Nearest | None = None
    seconds: float | None = None
    errors: ExpectedErrors | None = None
    coefficients: CoefficientForecast | None = None
    unit: str = "record"
    choice: str = ""
    accuracy: AccuracyForecast | None = None
    wishes: tuple[Wish, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-ready values."""
        accuracy = None if self.accuracy is None else replace(self.accuracy, fine=())
        raw = asdict(replace(self, noise=(), coefficients=None, wishes=(), accuracy=accuracy))
        if accuracy is not None:
            del raw["accuracy"]["fine"]
        raw["wishes"] = [wish.to_dict() for wish in self.wishes]
        listed = None if self.coefficients is None else [line.to_dict() for line in self.coefficients.lines]
        return {**raw, "noise": [query.to_dict() for query in self.noise], "coefficients": listed}

    def _repr_html_(self) -> str:
        return plan_panel(self)

    def __str__(self) -> str:
        first = "" if self.first_steps is None else f" ({self.first_steps} in a first phase)"
        lines = [
            f"{self.method} on n = {self.n} {self.unit}s with {self.weights} weights, "
            f"epsilon = {self.epsilon:g}, delta = {self.delta:.3g} (mu = {self.mu:.4g}), {self.relation}",
            f"at most {self.steps} steps{first}, about {self.passes} passes over the data"
            + ("" if self.seconds is None else f", about {self.seconds:.2g} seconds on this machine"),
        ]
        if self.errors is not None and (self.coefficients is None or self.errors.wanted is not None):
            lines.insert(1, f"can expect {self.errors}")
        if self.coefficients is not None:
            lines.insert(1, f"coefficient by coefficient, for records as declared:\n{self.coefficients}")
        elif self.accuracy is not None:
            lines.insert(1, str(self.accuracy))
        lines[1:1] = map(str, self.wishes)
        if self.choice:
            lines.append(self.choice)
        if self.majorizer is not None:
            lines.append(f"curvature is bounded from {self.majorizer}")
        lines += [_described(query) for query in self.noise]
        curvature = 0.0 if self.curvature <= 0.0 else -self.curvature
        reached = f"a gradient norm of {self.gradient:.3g} and a curvature of {curvature:.3g}"
        if self.calibration == "published":
            lines.append(f"can expect noisy answers within {reached}")
        else:
            lines.append(f"can expect to certify {reached}, with {100 * self.confidence:.6g} % confidence")
        if self.tolerance is not None:
            wish = f"gradient {self.tolerance.gradient:g}, curvature {self.tolerance.curvature:.3g}"
            lines.append(f"wanted: {wish}: {'possible' if self.feasible else 'out of reach'}")
            lines.append(f"n needed: {_shown(self.minimal_n)} (the paper's: {_shown(self.paper_minimal_n)})")
        if self.nearest is not None:
            lines.append(f"nearest possible: {self.nearest}")
        return "\n".join(lines)


def plan(
    *,
    n: int,
    dim: int,
    loss: Loss,
    budget: Budget,
    regularizer: Regularizer | None = None,
    method: str | Method = "auto",
    radius: float = 1.0,
    classes: int = 2,
    tolerance: Tolerance | None = None,
    confidence: float = 0.99,
    calibration: str = "tight",
    target: tuple[float, float] | None = None,
    intercept: bool = False,
    nonzeros: int | None = None,
    timed: bool = True,
    inference: float | Inference = 0.0,
    effect: float | None = None,
    schema: Schema | None = None,
    accuracy: float | None = None,
    auc: float | None = None,
    without_privacy: float | None = None,
    standard_error: Mapping[str, float] | None = None,
) -> Plan:
    """Forecast a run from what is public: noise of every query, steps, and what can be certified.

    Args:
        n: How many records there are, or persons if the schema names them.
        dim: The width of a row, the intercept included.
        loss: As for the fit.
        budget: The promise.
        regularizer: None unless given.
        method: As for `minimize`.
        radius: The bound on the length of a row.
        classes: With three or more (softmax, the loss is then "logistic") each class has as many weights.
        tolerance: The plan says whether it is within reach, how many records it takes, and which wish nearby
            would do. Without one, a method that needs a tolerance is planned for the smallest that it can
            expect to reach.
        confidence: As for `minimize`.
        calibration: As for `minimize`.
        target: The declared range of a number to be predicted.
        intercept: Whether rows carry one.
        nonzeros: The most entries other than 0 in a row, where that is declared.
        timed: False skips the timing probe.
        inference: The part of the budget for standard errors: the plan says which to expect.
        effect: Per standard deviation of a column: with `inference` the plan says how many records or which
            epsilon would show it.
        schema: The plan speaks of every coefficient by itself.
        accuracy: Wanted of the model: the plan says which epsilon is expected to reach it.
        auc: As `accuracy`.
        without_privacy: What a model without privacy has of the accuracy, or area, that is wanted.
        standard_error: Wanted of columns, {"age": 0.05}: as `accuracy`.
    """
    from sottovoce.planning.timing import ProblemShape

    if not isinstance(n, int) or not isinstance(dim, int) or n < 1 or dim < 1:
        raise ParameterError("n and dim must be whole numbers of at least 1.")
    if not isinstance(budget, Budget):
        raise ParameterError(
            "budget must be a Budget, for example Budget(epsilon=1.0, delta=1e-6).", argument="budget"
        )
    if not 0.0 < confidence < 1.0:
        raise ParameterError(
            "confidence must be a number strictly between 0 and 1, for example 0.99.", argument="confidence"
        )
    if not isinstance(classes, int) or classes < 2 or (classes > 2 and loss.name != "logistic"):
        raise ParameterError(
            "classes must be 2 or, with the logistic loss (softmax), more.", argument="classes"
        )
    asked = Inference.of(inference)
    shape = ProblemShape(
        dim=dim,
        loss=loss,
        regularizer=regularizer or L2(0.0),
        radius=radius,
        classes=classes,
        target=target,
        intercept=intercept,
        nonzeros=nonzeros,
    )
    outline = shape.outline(n)
    choice = choose(method, outline.problem, tolerance)
    chosen = choice.method
    forecaster = chosen.forecaster()
    goal = goal_for(chosen, outline.problem, budget, tolerance, confidence, calibration)
    chosen.require_possible(outline.problem, goal)
    dry_run = DryRun.of(outline, chosen, goal, budget)
    here = forecaster.forecast(dry_run)
    found = Plan(
        n=n,
        dim=dim,
        classes=classes,
        weights=outline.problem.dim,
        method=chosen.name,
        choice=choice.reason,
        calibration=goal.calibration.value,
        epsilon=budget.epsilon,
        delta=budget.delta,
        relation=budget.relation.value,
        mu=here.mu,
        steps=here.costs.steps,
        first_steps=here.costs.first_steps,
        passes=here.costs.passes,
        majorizer=here.costs.majorizer,
        noise=here.costs.noise,
        gradient=here.gradient,
        curvature=here.curvature,
        confidence=confidence,
        tolerance=goal.tolerance,
        seconds=shape.seconds(n, here.costs) if timed else None,
        errors=_errors(outline.problem, here.mu, asked.share, effect, budget),
        coefficients=None
        if schema is None
        else coefficient_forecast(schema, loss.name, outline.problem, budget, asked),
        unit="record" if schema is None or schema.person is None else "person",
        accuracy=AccuracyForecast.of(n, dim, budget, asked.share)
        if (chosen.name, loss.name, classes, target) == ("adapt", "logistic", 2, None)
        else None,
    )
    found = replace(
        found,
        wishes=_wishes(
            found,
            outline.problem,
            budget,
            asked,
            schema,
            loss.name,
            {"accuracy": accuracy, "auc": auc},
            without_privacy,
            standard_error or {},
        ),
    )
    wanted = goal.tolerance
    if wanted is None:
        return found

    def reaches(records: int, epsilon: float) -> bool:
        allowed = replace(budget, epsilon=epsilon)
        return forecaster.reaches(
            DryRun.of(outline.holding(records), chosen, replace(goal, budget=allowed), allowed)
        )

    feasible = forecaster.reaches(dry_run)
    enough = least(lambda size: reaches(math.ceil(size), budget.epsilon), 1, _MOST_RECORDS)
    records = None if enough is None else math.ceil(enough)
    nearest = None
    if not feasible:
        nearest = Nearest(
            gradient=max(wanted.gradient, here.gradient),
            curvature=max(wanted.curvature or 0.0, here.curvature),
            n=records,
            epsilon=least(lambda epsilon: reaches(n, epsilon), *_EPSILONS),
        )
    return replace(
        found,
        feasible=feasible,
        minimal_n=records,
        paper_minimal_n=_papers(chosen, outline.problem, wanted, budget, confidence),
        nearest=nearest,
    )


def _wishes(
    found: Plan,
    problem: Problem,
    budget: Budget,
    asked: Inference,
    schema: Schema | None,
    loss: str,
    accuracies: Mapping[str, float | None],
    without: float | None,
    errors: Mapping[str, float],
) -> tuple[Wish, ...]:
    named = {name: value for name, value in accuracies.items() if value is not None}
    if named and found.accuracy is None:
        raise ParameterError("accuracy is planned for two classes, the logistic loss and the default method.")
    if without is not None and not named:
        raise ParameterError("without_privacy goes with accuracy or auc, which are wanted beside it.")
    return (
        *(
            wish_for_accuracy(value, without, found.n, found.dim, budget, asked.share, area=name == "auc")
            for name, value in named.items()
        ),
        *(wish_for_error(*pair, schema, loss, problem, budget, asked) for pair in errors.items()),
    )


def _errors(
    problem: Problem, mu: float, share: float, effect: float | None, budget: Budget
) -> ExpectedErrors | None:
    require_inferable(problem, share)
    if effect is not None and not (share and 0.0 < effect < math.inf):
        raise ParameterError(
            "effect must be above 0 and goes with inference, the part of the budget for it.",
            argument="effect",
        )
    if not share:
        return None
    found = expected_errors(problem, mu, share, budget.relation)
    if effect is None:
        return found
    wanted = found.mu_for(effect, mu)
    epsilon = None if wanted is None else epsilon_of(wanted, budget.delta)
    return replace(found, wanted=effect, records=found.records_for(effect, problem.n), epsilon=epsilon)


def _papers(method: Method, problem: Problem, tolerance: Tolerance, budget: Budget, confidence: float) -> int:
    """n_min of the paper's theorem for this kind of method, else for short steps, at the same zCDP budget."""
    from sottovoce.methods.paper import sample_complexity as paper
    from sottovoce.methods.paper.opt import SearchedSteps
    from sottovoce.methods.paper.phases import PaperMethod

    setting = paper.Setting.of(problem, tolerance, failure=1.0 - confidence)
    rho = rho_published(budget.epsilon, budget.delta)
    if isinstance(method, SearchedSteps):
        noise = paper.Multipliers.line_search(rho, setting.searched_visits)
        return paper.line_search(setting, noise).records
    noise = paper.Multipliers.short_step(rho, setting.short_visits)
    if isinstance(method, PaperMethod) and method.batch is not None:
        return paper.mini_batch(setting, noise, method.batch.fraction).records
    return paper.short_step(setting, noise).records


def _described(query: QueryNoise) -> str:
    times = "" if query.times == 1 else f", {query.times} times"
    part = "" if query.part == 1.0 else f" of {100 * query.part:.3g} % of the records"
    return (
        f"noise of the {query.query}{part}: sd {query.scale:.3g} an entry, norm about {query.norm:.3g}, "
        f"for {100 * query.share:.3g} % of the budget{times}"
    )


def _shown(number: int | None) -> str:
    return "no number of records will do" if number is None else f"{number}"
