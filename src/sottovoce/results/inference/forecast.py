"""Which coefficients a run will determine, and how well, before data is read.

The expected answers of a run are made from made-up rows, a prior for phi'' and the exact scales of the noise,
noise is drawn for the Hessian a few times, and the summary's own formulas say what is determined then. No
public fact tells how correlated columns are, so there are two made-up tables, a kind one and a hard one: what
both mostly show will be determined, what both hardly ever show will not, and of the rest `plan` does not
know."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, final

import numpy as np

from sottovoce.accounting.relations import Relation
from sottovoce.queries import Moments
from sottovoce.results.inference.allotment import Allotment, curvature_ceiling, typical_curvature
from sottovoce.results.inference.coordinates import standardized
from sottovoce.results.inference.findings import LastAnswers
from sottovoce.results.inference.standard_errors import OneStep
from sottovoce.results.inference.terms import INTERCEPT, UserTerms, coded

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.problem import Problem
    from sottovoce.results.inference.request import Inference

LARGEST = 400
"""Most weights for which a forecast is made coefficient by coefficient."""
_DRAWS = 20
_SHARE = 0.2
_MOSTLY, _HARDLY = 0.8, 0.2
"""Parts of the draws in which a coefficient is determined from which it is called so, and below which not."""


@final
@dataclass(frozen=True)
class Prior:
    """What is expected of a loss: the mean of phi'', that of phi'^2 without what the model explains, and the
    phi'' of a typical record, by which the Hessian's is cut off; infinite where it is not."""

    curvature: float
    score: float
    typical: float = math.inf

    @classmethod
    def of(
        cls,
        problem: Problem,
        high: float | None = None,
        typical: float | None = None,
        weight: float = 1.0,
        rows: int = 1,
    ) -> Prior:
        """Of counts up to `high`, in units of which slopes are, by a `typical` one, a tenth of it unless
        said, and twice the variance that Poisson's has; of two classes by the `typical` share p of the
        second, a fifth unless said: phi'' is p(1 - p); of others as `allotment` and `expected` have it. Rows
        that count by a `weight` on average, of at most 1, curve as much less; where `rows` of a person
        share it their scores, which hardly depend on each other, partly cancel."""
        if high is not None:
            usual = (0.1 * high if typical is None else typical) / high
            return cls(weight * usual, 2.0 * weight * usual / high, usual)
        if problem.likelihood and problem.outputs == 1:
            share = _SHARE if typical is None else typical
            usual = share * (1.0 - share)
            return cls(weight * usual, weight * usual / rows, usual)
        bend = typical_curvature(problem)
        reach = min(problem.slope, 0.5 * problem.label_reach or 1.0)
        return cls(bend, bend if problem.likelihood else (0.5 * reach) ** 2)


class Verdict(StrEnum):
    """Whether a coefficient will be determined."""

    YES = "yes"
    PERHAPS = "perhaps"
    NO = "no"


@final
@dataclass(frozen=True)
class Scene:
    """A made-up table, what is expected of the loss on it, and what noise is multiplied by."""

    rows: Matrix
    prior: Prior
    caution: float


@final
@dataclass(frozen=True)
class ExpectedCoefficient:
    """The standard error to expect, from `low` of the kind table to `high` of the hard one, and whether there
    will be one; `privacy` is the noise's part of the variance by the kind table."""

    term: str
    low: float
    high: float
    privacy: float
    verdict: Verdict

    @property
    def error(self) -> float:
        """In the middle of the range; infinite unless it will surely be determined."""
        return math.sqrt(self.low * self.high) if self.verdict is Verdict.YES else math.inf

    def to_dict(self) -> dict[str, Any]:
        known: dict[str, float] = {}
        if self.verdict is not Verdict.NO:
            known = {"std.error.low": self.low, "privacy.share": self.privacy}
        if self.verdict is Verdict.YES:
            known["std.error.high"] = self.high
        return {"term": self.term, "determined": str(self.verdict), **known}

    def __str__(self) -> str:
        if self.verdict is Verdict.NO:
            return "not determined"
        if self.verdict is Verdict.PERHAPS:
            return f"perhaps not determined, else {self.low:.2g} or more"
        return f"{self.low:.2g} to {self.high:.2g}"


@final
@dataclass(frozen=True)
class CoefficientForecast:
    lines: tuple[ExpectedCoefficient, ...]

    @property
    def nothing(self) -> bool:
        """Whether no coefficient but intercepts will be determined."""
        return all(line.verdict is Verdict.NO for line in self.lines if not line.term.endswith(INTERCEPT))

    def __str__(self) -> str:
        width = max(len(line.term) for line in self.lines)
        return "\n".join(
            [f"{'':{width}}  standard error", *(f"{line.term:{width}}  {line}" for line in self.lines)]
        )


def forecast(
    problem: Problem,
    scenes: tuple[Scene, Scene],
    terms: UserTerms,
    asked: Inference,
    *,
    mu: float,
    relation: Relation,
) -> CoefficientForecast:
    """For a run of Gaussian privacy `mu` in all on records like those of the kind or of the hard scene."""
    ours = mu * math.sqrt(asked.share)
    (names, kind, low, part), (_, hard, high, _) = (
        _seen(_answers(problem, scene, asked, ours, relation), terms) for scene in scenes
    )
    verdicts = [
        Verdict.YES if min(known) >= _MOSTLY else Verdict.NO if max(known) < _HARDLY else Verdict.PERHAPS
        for known in zip(kind, hard, strict=True)
    ]
    least, most = np.minimum(low, high), np.maximum(low, high)
    return CoefficientForecast(
        tuple(
            ExpectedCoefficient(name, float(least[place]), float(most[place]), float(part[place]), verdict)
            for place, (name, verdict) in enumerate(zip(names, verdicts, strict=True))
        )
    )


def _seen(expected: LastAnswers, terms: UserTerms) -> tuple[tuple[str, ...], Vector, Vector, Vector]:
    """Names of the coefficients, how often they are determined, errors, and the noise's part of variances."""
    coding = coded(terms, expected)
    rng, size = np.random.default_rng(2026), expected.weights.size
    seen, errors, parts = [], [], []
    for _ in range(_DRAWS):
        noise = np.triu(rng.normal(size=(size, size)), 1) / math.sqrt(2.0)
        noise += noise.T + np.diag(rng.normal(size=size))
        drawn = replace(expected, hessian=expected.hessian + expected.hessian_scale * noise)
        estimate = OneStep.of(drawn, coding.flat, coding.spread, coding.levels)
        along = estimate.direction(coding.matrix)
        found = estimate.errors(along)[0]
        sampled = np.einsum("ij,jk,ik->i", along, estimate.sampling_covariance, along)
        seen.append(estimate.determined(along))
        errors.append(found)
        parts.append(1.0 - sampled / found**2)
    middle = np.median(errors, axis=0), np.median(parts, axis=0)
    return tuple(coding.names), np.mean(seen, axis=0), *middle


def _answers(problem: Problem, scene: Scene, asked: Inference, mu: float, relation: Relation) -> LastAnswers:
    """What `measured` would find if nothing but the noise's scale were chance."""
    rows, prior = scene.rows, scene.prior
    n, outputs, parts = problem.n, problem.outputs, Allotment.expected(problem, mu)
    squares_scale = problem.energy * relation.distance(diameter=2.0, norm=1.5) / (n * mu)
    squares_scale /= math.sqrt(parts.coordinates)
    moments = Moments(rows.mean(axis=0), (rows**2).mean(axis=0), squares_scale, squares_scale, 0)
    preconditioner = standardized(moments, problem, asked.design_for(problem, moments.means))
    z = preconditioner.to_coordinates(rows).reshape(rows.shape)
    counts = preconditioner.counts(np.linalg.norm(z, axis=1))
    gram = (z * counts[:, None]).T @ z / len(z)
    chances = np.eye(outputs) / outputs - np.full((outputs, outputs), 1.0 / outputs**2)
    shape = np.ones((1, 1)) if outputs == 1 else chances / chances[0, 0]
    moment = (z * (counts**2)[:, None]).T @ z / len(z)
    cap, weight = preconditioner.cap, problem.weight

    def scale(longest: float, diameter: float, part: float) -> float:
        return relation.distance(diameter=diameter * longest, norm=longest) / (n * mu * math.sqrt(part))

    root = math.sqrt(2.0)
    bend = curvature_ceiling(problem, prior.typical) * preconditioner.ceiling * cap**2 * weight
    bend, slope = scene.caution * bend, scene.caution * problem.slope
    return LastAnswers(
        n=n,
        outputs=outputs,
        weights=np.zeros(problem.dim),
        moved=np.zeros(problem.dim),
        basis=np.asarray(preconditioner.matrix.T),
        gradient=np.zeros(problem.dim),
        hessian=np.kron(shape, prior.curvature * gram),
        moment=np.kron(shape, prior.score * moment),
        gradient_scale=scale(slope * cap * weight, 2.0, parts.last),
        hessian_scale=scale(bend, root, parts.hessian),
        moment_scale=0.0,
        robust=asked.robust,
        likelihood=problem.likelihood,
        constant=problem.constant,
        third=0.0,
        spread=float(outputs * cap**2),
    )
