"""The promise a result keeps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sottovoce.accounting.lineage import Preset, composed, composed_otherwise, relation_of
from sottovoce.accounting.relations import Relation, unit_of
from sottovoce.accounting.wording import Worded
from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.accounting import Budget


@dataclass(frozen=True, kw_only=True)
class Guarantee(Worded):
    """The preset differential-privacy promise a result keeps, never "what was spent".

    It covers all `runs` the result was computed from, see `accounting.lineage`. `cap_epsilon` and `cap_delta`
    are the cap of the ledger that was charged: it holds even if budgets were chosen after earlier results.
    Neighbours differ in one `unit`, a record or a person, of which there are n, the most that any of the runs
    had. `other_epsilon` and `other_delta` are the same promise under the other relation, None where nothing
    is known of it."""

    epsilon: float
    delta: float
    n: int
    relation: Relation = Relation.REPLACE_ONE
    simulated: bool = False
    runs: int = 1
    cap_epsilon: float | None = None
    cap_delta: float | None = None
    unit: str = "record"
    other_epsilon: float | None = None
    other_delta: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.of(self.relation))
        object.__setattr__(self, "unit", unit_of(self.unit))
        for delta in (self.delta, self.other_delta, self.cap_delta):
            if delta is not None and not 0.0 <= delta <= 1.0:
                raise ParameterError("a delta lies between 0 and 1.")
        for epsilon in (self.epsilon, self.other_epsilon, self.cap_epsilon):
            if epsilon is not None and not 0.0 <= epsilon < math.inf:
                raise ParameterError("an epsilon is a finite number that is not negative.")
        if not 1 <= self.n < 2**63 or not 1 <= self.runs < 2**31:
            raise ParameterError("a promise is about at least one record, and made by at least one run.")

    @classmethod
    def over(
        cls, lineage: tuple[Preset, ...], *, n: int, cap: Budget | None = None, simulated: bool = False
    ) -> Guarantee:
        """The promise of a result that was computed from what these runs released, on n records."""
        epsilon, delta = composed(lineage)
        other_epsilon, other_delta = composed_otherwise(lineage) or (None, None)
        return cls(
            epsilon=epsilon,
            delta=delta,
            n=n,
            relation=relation_of(lineage),
            unit=lineage[-1].unit,
            other_epsilon=other_epsilon,
            other_delta=other_delta,
            simulated=simulated,
            runs=len(lineage),
            cap_epsilon=None if cap is None else cap.epsilon,
            cap_delta=None if cap is None else cap.delta,
        )

    def fits(self, lineage: tuple[Preset, ...]) -> bool:
        """Whether this is what the runs give, but for the last digits of another machine's arithmetic.

        Under the other relation a file may state nothing, but no more than the runs give."""
        due = Guarantee.over(lineage, n=self.n)
        facts = (self.runs, self.relation, self.unit) == (due.runs, due.relation, due.unit)
        pairs: list[tuple[float | None, float | None]]
        pairs = [(self.epsilon, due.epsilon), (self.delta, due.delta)]
        if (self.other_epsilon, self.other_delta) != (None, None):
            pairs += [(self.other_epsilon, due.other_epsilon), (self.other_delta, due.other_delta)]
        return facts and all(
            stated is not None and given is not None and math.isclose(stated, given, rel_tol=0.01)
            for stated, given in pairs
        )
