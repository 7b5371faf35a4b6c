"""What a run hands back: weights, why it stopped, what is guaranteed and certified, and the noisy trace."""

from __future__ import annotations

import enum
import hashlib
import json
import math
import os
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sottovoce.accounting.events import QueryKind
from sottovoce.accounting.guarantee import Guarantee
from sottovoce.accounting.lineage import Origin, Preset, mark, relation_of
from sottovoce.accounting.relations import Relation, filed
from sottovoce.errors import DataError, ParameterError
from sottovoce.files import finite, read_json, rebuilt, text_of, truth_of, write
from sottovoce.results.certificate import Certificate
from sottovoce.results.inference.coefficient_noise import CoefficientNoise
from sottovoce.results.inference.findings import LastAnswers, finite_vector
from sottovoce.results.inference.terms import UserTerms, named, plain_terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sottovoce.arrays import Matrix, Vector
    from sottovoce.problem import Problem
    from sottovoce.queries import Answer
    from sottovoce.results.inference.summary import Summary

FORMAT = "sottovoce-result/1"
UNLISTED = (
    "this result was saved before the runs it was computed from were listed: if it started from another "
    "result, the stated guarantee does not cover that one"
)
NO_FINDINGS = "no part of the budget was kept for standard errors: train with inference=0.3."
LARGEST = 1e300
"""Tolerances stay below this, so that products with public constants are finite."""


class Stop(enum.StrEnum):
    """Why a run ended, in words that explain themselves."""

    CERTIFIED = "gradient and curvature are within tolerance, with the stated confidence"
    WITHIN_NOISE = "the noisy gradient and curvature are within tolerance"
    FINISHED = "the planned steps were taken and the budget was spent on the best model it buys"
    STEPS_EXHAUSTED = "the planned steps were taken without reaching the tolerance"
    OUT_OF_BUDGET = "the next query would exceed the privacy budget"
    INTERRUPTED = "the run was interrupted before its planned steps were taken"
    CUT_SHORT = "the run ended short of its plan: the ledger or the lattice of its noise refused a query"


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """Largest gradient norm (paper: epsilon_g) and negative curvature (epsilon_H) to accept.

    `curvature=None` means sqrt(M * gradient), M the Lipschitz constant of the Hessian."""

    gradient: float
    curvature: float | None = None

    def __post_init__(self) -> None:
        for name in ("gradient", "curvature"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, (int, float)) and 0.0 < value < LARGEST):
                raise ParameterError(
                    f"tolerance.{name} must be a positive finite number, for example 0.03.",
                    argument=f"tolerance.{name}",
                )

    def resolved(self, problem: Problem) -> Tolerance:
        """This tolerance with the default curvature filled in from public constants."""
        if self.curvature is not None:
            return self
        return replace(self, curvature=math.sqrt(problem.hessian_lipschitz * self.gradient))


@dataclass(frozen=True, kw_only=True)
class TraceRow:
    """One step as released: noisy quantities only. `mu_squared` is what the step was charged.

    `gradient_noise` is the root mean square length of the noise in the gradient, and the true smallest
    eigenvalue lies at most `curvature_margin` below `curvature`, at the level of that test."""

    kind: str
    gradient_norm: float | None = None
    curvature: float | None = None
    step_length: float | None = None
    mu_squared: float = 0.0
    gradient_noise: float | None = None
    curvature_margin: float | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a method returns: the answers taken at `weights`, one of at most `tests` such points.

    `trained` says in words which risk the steps followed, where that is not the user's own; `noise` is about
    what the answers' noise left in the weights."""

    weights: Vector
    stop: Stop
    certificate: Certificate
    trace: tuple[TraceRow, ...]
    gradient: Answer[Vector] | None
    hessian: Answer[Matrix] | None
    tests: int
    trained: str = ""
    noise: CoefficientNoise = field(default_factory=CoefficientNoise)


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """A trained model with its promises. Holds noisy quantities and public constants only.

    `ledger` names the ledger that was charged and `ledger_head` seals its charges: see `Ledger.verify`.
    `lineage` lists the runs it was computed from, its own last: the guarantee covers them all. `spending` is
    the part of the run's budget that each kind of query was charged, `caveats` what is not promised, in plain
    words, `choice` why `method="auto"` took the method, `noise` about how far noise moved the weights."""

    weights: Vector
    stop: Stop
    certificate: Certificate
    guarantee: Guarantee
    trace: tuple[TraceRow, ...]
    method: str
    tolerance: Tolerance | None
    simulated: bool
    ledger: str
    version: str
    objective: str
    spending: dict[str, float]
    inference: LastAnswers | None = None
    ledger_head: str = ""
    caveats: tuple[str, ...] = ()
    lineage: tuple[Preset, ...] = ()
    choice: str = ""
    noise: CoefficientNoise = field(default_factory=CoefficientNoise)

    def __post_init__(self) -> None:
        mark(self.weights, self.origin)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        mark(self.weights, self.origin)

    @property
    def origin(self) -> Origin:
        """The runs these weights were computed from; of a file that lists none, the promise it states."""
        stated = self.guarantee
        said = tuple(caveat for caveat in self.caveats if caveat == UNLISTED)
        if self.lineage:
            return Origin(self.lineage, self.ledger, self.simulated, stated.n, said)
        name = hashlib.sha256(self.weights.tobytes() + self.ledger_head.encode()).hexdigest()
        unlisted = Preset(
            run=name,
            epsilon=stated.epsilon,
            delta=stated.delta,
            relation=stated.relation,
            unit=stated.unit,
            value_asked=True,
        )
        return Origin((unlisted,), self.ledger, self.simulated, stated.n, said)

    @property
    def privacy(self) -> dict[str, Any]:
        """What is promised, as plain values for a log, a catalogue or another tool."""
        promise = self.guarantee
        return {
            "epsilon": None if self.simulated else promise.epsilon,
            "delta": None if self.simulated else promise.delta,
            "relation": promise.relation.filed,
            "unit": promise.unit,
            "n": promise.n,
            "statement": str(promise),
            "mechanism": f"{self.mechanism}, adaptive filter",
            "method": self.method,
            "library": "sottovoce",
            "version": self.version,
            "ledger": self.ledger,
            "ledger_head": self.ledger_head,
            "simulated": self.simulated,
        }

    @property
    def mechanism(self) -> str:
        """What noise the run's answers were released with."""
        searched = QueryKind.LINE_SEARCH in self.spending
        return "Gaussian noise on a lattice" + (
            ", integer Laplace noise in line searches" if searched else ""
        )

    @property
    def coefficient_noise(self) -> Vector | None:
        """About the sd of the noise for privacy in each weight; None where `noise.reason` says why.

        Nothing is asked for it: what was added is known, how far steps shrink it is estimated."""
        return self.noise.deviations

    def __repr__(self) -> str:
        return (
            f"Result(method={self.method!r}, dim={self.weights.size}, steps={len(self.trace)}, "
            f"stop={self.stop.name}, simulated={self.simulated})"
        )

    def __str__(self) -> str:
        return "\n".join(
            (
                f"stopped: {self.stop}",
                f"guarantee: {self.guarantee}",
                f"certificate: {self.certificate}",
                *(f"caveat: {caveat}" for caveat in self.caveats),
            )
        )

    def _repr_html_(self) -> str:
        from sottovoce.report.notebook import result_panel

        return result_panel(self)

    def summary(
        self, names: Sequence[str] | None = None, *, terms: UserTerms | None = None, **options: Any
    ) -> Summary:
        """Estimates, standard errors, tests and intervals from what `inference` released; asks nothing.

        `names` are those of the columns, by default x0, x1, ...; options are those of
        `inference.summary.summarized`: level, exp, simultaneous, within."""
        from sottovoce.results.inference.summary import summarized

        if self.inference is None:
            raise ParameterError(NO_FINDINGS)
        chosen = terms or plain_terms(self.inference)
        return summarized(self.inference, chosen if names is None else named(chosen, names), **options)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-ready values; floats survive the round trip exactly."""
        return {
            "format": FORMAT,
            "version": self.version,
            "method": self.method,
            "choice": self.choice,
            "objective": self.objective,
            "weights": self.weights.tolist(),
            "stop": self.stop.name,
            "certificate": asdict(self.certificate),
            "guarantee": filed(self.guarantee),
            "tolerance": None if self.tolerance is None else asdict(self.tolerance),
            "trace": [asdict(row) for row in self.trace],
            "inference": None if self.inference is None else self.inference.to_dict(),
            "noise": self.noise.to_dict(),
            "spending": self.spending,
            "simulated": self.simulated,
            "ledger": self.ledger,
            "ledger_head": self.ledger_head,
            "caveats": list(self.caveats),
            "lineage": [filed(preset) for preset in self.lineage],
        }

    @classmethod
    def from_dict(cls, raw: object) -> Result:
        """Rebuild a result from `to_dict`; anything else is refused."""
        if not isinstance(raw, dict) or raw.get("format") != FORMAT:
            raise DataError(
                f"this is not a saved result: its format must be {FORMAT!r}. Use Result.save to write one."
            )
        try:
            weights = finite_vector(raw["weights"])
            found = raw.get("inference")
            inference = None if found is None else LastAnswers.from_dict(found)
            if inference is not None and inference.weights.size != weights.size:
                raise ValueError
            guarantee = rebuilt(Guarantee, raw["guarantee"])
            guarantee, lineage = _of_before_counts(guarantee, raw.get("lineage", []))
            simulated = truth_of(raw["simulated"])
            if guarantee.simulated is not simulated or (lineage and not guarantee.fits(lineage)):
                raise ValueError
            caveats = tuple(text_of(caveat) for caveat in raw.get("caveats", ()))
            spending = {text_of(query): finite(share) for query, share in raw["spending"].items()}
            if not all(0.0 <= share <= 1.0 + 1e-9 for share in spending.values()):
                raise ValueError
            return cls(
                weights=weights,
                stop=Stop[raw["stop"]],
                certificate=rebuilt(Certificate, raw["certificate"]),
                guarantee=guarantee,
                tolerance=None if raw["tolerance"] is None else rebuilt(Tolerance, raw["tolerance"]),
                trace=tuple(rebuilt(TraceRow, row) for row in raw["trace"]),
                inference=inference,
                spending=spending,
                method=text_of(raw["method"]),
                objective=text_of(raw["objective"]),
                simulated=simulated,
                ledger=text_of(raw["ledger"]),
                version=text_of(raw["version"]),
                ledger_head=text_of(raw.get("ledger_head", "")),
                caveats=caveats if lineage else tuple(dict.fromkeys((*caveats, UNLISTED))),
                lineage=lineage,
                choice=text_of(raw.get("choice", "")),
                noise=CoefficientNoise.from_dict(raw.get("noise"), weights.size),
            )
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise DataError(
                "this saved result is damaged: a field is missing, of a wrong type or does not fit the rest."
            ) from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write JSON to a temporary file and rename it, so nothing half-written is ever seen."""
        write(path, json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        return cls.from_dict(read_json(path, "saved result"))


def _of_before_counts(
    guarantee: Guarantee, raw: list[dict[str, Any]]
) -> tuple[Guarantee, tuple[Preset, ...]]:
    """The promise and its runs; of a file that does not say whether persons were counted, as if they were.

    Such a file may state a promise under zero-out that does not hold, which is left out."""
    lineage = tuple(rebuilt(Preset, preset) for preset in raw)
    silent = {
        preset
        for preset, told in zip(lineage, raw, strict=True)
        if "counted" not in told and preset.unit == "person" and preset.relation is Relation.REPLACE_ONE
    }
    if not silent:
        return guarantee, lineage
    lineage = tuple(replace(preset, counted=preset in silent) for preset in lineage)
    if relation_of(lineage) is Relation.REPLACE_ONE:
        guarantee = replace(guarantee, other_epsilon=None, other_delta=None)
    return guarantee, lineage
