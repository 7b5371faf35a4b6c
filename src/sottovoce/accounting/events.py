"""What was done to the data, in public numbers. Events describe; a currency prices them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, final

from sottovoce.accounting.checks import nonnegative, positive, whole
from sottovoce.accounting.relations import Relation
from sottovoce.errors import ParameterError


class Draw(StrEnum):
    """How a secret batch is drawn, which decides who prices it.

    FIXED: so many records without replacement. A batch without one record holds another in its place, so
    answers move as when one is replaced. POISSON: every record by itself, with one chance; a sum, divided by
    the expected size, moves by the record that is zeroed out, and by no other. No price is known for that
    under replacement."""

    FIXED = "fixed size"
    POISSON = "Poisson"

    @classmethod
    def under(cls, relation: Relation) -> Draw:
        """The way that is cheaper under this relation."""
        return cls.FIXED if relation is Relation.REPLACE_ONE else cls.POISSON

    @property
    def accountant(self) -> str:
        """Whose theorem prices an answer."""
        if self is Draw.FIXED:
            return "Wang, Balle & Kasiviswanathan 2019, theorem 27"
        return "Mironov, Talwar & Zhang 2019, sampled Gaussian"


class QueryKind(StrEnum):
    """The query whose noisy answer is paid for."""

    GRADIENT = "gradient"
    GRADIENT_CHANGE = "gradient change"
    HESSIAN = "hessian"
    CURVATURE_PRODUCT = "curvature product"
    GRAM = "gram matrix"
    GRAM_DIAGONAL = "gram diagonal"
    MOMENTS = "column moments"
    MARGINALS = "marginals"
    SCORES = "score moment"
    INFORMATION = "information"
    RESIDUAL_BANDS = "residual bands"
    GRADIENT_BANDS = "gradient norm bands"
    TRIALS = "trial differences"
    GRADIENT_NORM = "gradient norm"
    EIGENVALUE = "smallest eigenvalue"
    LINE_SEARCH = "line search"
    VALUE = "value"
    SELECTION = "selection"
    EVALUATION = "evaluation"


@final
@dataclass(frozen=True)
class GaussianEvent:
    """`entries` numbers that move by at most `sensitivity` in l2, each with Gaussian noise of sd `scale`.

    `step` is the lattice step of exact noise; 0.0 when the noise is continuous."""

    query: QueryKind
    sensitivity: float
    scale: float
    entries: int
    step: float

    def __post_init__(self) -> None:
        _check_query(self)
        _check_gaussian(self)

    @property
    def subject(self) -> str:
        return self.query.value


@final
@dataclass(frozen=True)
class PureEvent:
    """An answer that is epsilon-differentially private with delta = 0."""

    query: QueryKind
    epsilon: float

    def __post_init__(self) -> None:
        _check_query(self)
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))

    @property
    def subject(self) -> str:
        return self.query.value


@final
@dataclass(frozen=True)
class SubsampledGaussianEvent:
    """A Gaussian answer from a fresh, secret batch of `batch` records, or of as many on average.

    `sensitivity` is that of the batch's answer when one of its records is replaced; of a Poisson batch, when
    one is zeroed out."""

    query: QueryKind
    sensitivity: float
    scale: float
    entries: int
    step: float
    batch: int
    population: int
    draw: Draw = Draw.FIXED

    def __post_init__(self) -> None:
        _check_query(self)
        _check_gaussian(self)
        _check_batch(self)
        try:
            object.__setattr__(self, "draw", Draw(self.draw))
        except ValueError:
            raise ParameterError(
                "draw must be a Draw: Draw.FIXED or Draw.POISSON.", argument="draw"
            ) from None

    @property
    def subject(self) -> str:
        return f"{self.query.value} of a {'Poisson ' if self.draw is Draw.POISSON else ''}batch"


Event: TypeAlias = GaussianEvent | PureEvent | SubsampledGaussianEvent


def _check_query(event: GaussianEvent | PureEvent | SubsampledGaussianEvent) -> None:
    try:
        object.__setattr__(event, "query", QueryKind(event.query))
    except ValueError:
        known = ", ".join(query.name for query in QueryKind)
        raise ParameterError(f"query must be a QueryKind, one of {known}.", argument="query") from None


def _check_gaussian(event: GaussianEvent | SubsampledGaussianEvent) -> None:
    object.__setattr__(event, "sensitivity", positive("sensitivity", event.sensitivity))
    object.__setattr__(event, "scale", positive("scale", event.scale))
    object.__setattr__(event, "entries", whole("entries", event.entries))
    object.__setattr__(event, "step", nonnegative("step", event.step))


def _check_batch(event: SubsampledGaussianEvent) -> None:
    batch, population = whole("batch", event.batch), whole("population", event.population)
    if batch > population:
        raise ParameterError(
            f"batch={batch} exceeds population={population}; a batch without replacement cannot."
        )
    object.__setattr__(event, "batch", batch)
    object.__setattr__(event, "population", population)
