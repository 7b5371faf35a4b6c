"""What crosses the line: charges, and exact answers on their way to their noise. And what must hold of them.

The attacks look where the trusted base charges and draws, and nowhere else: what a query, a loss or a
method says of itself is not asked."""

from __future__ import annotations

import hashlib
import math
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

from sottovoce.accounting import Budget, Ledger
from sottovoce.accounting.relations import Relation
from sottovoce.accounting.run import Run
from sottovoce.errors import DataError, LedgerError
from sottovoce.privacy.counting import CountOracle
from sottovoce.privacy.noise import SimulatedNoise
from sottovoce.privacy.oracle import Oracle

ROUNDED = 1.0 + 1e-12
"""For the distance of two answers, which is itself computed in floating point."""


DRAWN = ("gaussian", "search", "laplace")


class Broken(Exception):
    """The promise does not hold, and why."""


class Watch:
    """A source of noise that keeps what it is given, in order, and can answer from the tape of another."""

    simulated = True

    def __init__(self, seed: int, tape: list[Any] | None = None) -> None:
        self.seed = seed
        self._noise = SimulatedNoise(seed)
        self._given = None if tape is None else list(tape)
        self.log: list[tuple[str, Any, Any]] = []
        self.tape: list[Any] = []

    def charged(self, event: Any) -> None:
        self.log.append(("charge", repr(event), event))

    def failed(self, error: Exception) -> None:
        self.log.append(("error", f"{type(error).__name__}: {error}", None))

    def gaussian(self, exact: np.ndarray, calibration: Any) -> np.ndarray:
        """As exact noise does it: another length than charged, or what is not finite, is refused."""
        exact = np.array(exact, dtype=np.float64)
        self.log.append(("gaussian", repr(calibration), exact))
        if exact.shape != (calibration.entries,):
            raise LedgerError("another length than charged")
        if not np.isfinite(exact).all():
            raise DataError("not finite")
        return self._released(lambda: self._noise.gaussian(exact, calibration))

    def first_above(
        self, queries: Iterable[float | Fraction], sensitivity: float, epsilon: float
    ) -> int | None:
        exact = np.array([float(query) for query in queries])
        self.log.append(("search", repr((sensitivity, epsilon)), exact))
        if not np.isfinite(exact).all():
            raise DataError("not finite")
        return self._released(lambda: self._noise.first_above(exact.tolist(), sensitivity, epsilon))

    def laplace(self, sensitivity: int, epsilon: float) -> int:
        self.log.append(("laplace", repr((sensitivity, epsilon)), None))
        return self._noise.laplace(sensitivity, epsilon)

    def best(self, choose: Callable[[list[int]], int], scores: list[int], relation: Relation) -> int:
        """Whichever noise is drawn, scores may move by what it hides: by half of it where a record may raise
        one score and lower another, as it may when it is replaced."""
        before = len(self.log)
        drawn = choose(scores)
        hidden = min((_first(said) for kind, said, _ in self.log[before:] if kind == "laplace"), default=0.0)
        moves = hidden / relation.distance(diameter=2.0, norm=1.0)
        self.log.append(("selection", repr((moves,)), np.array(scores, dtype=np.float64)))
        return self._released(lambda: drawn)

    def _released(self, drawn: Callable[[], Any]) -> Any:
        if self._given is None:
            self.tape.append(drawn())
        elif self._given:
            self.tape.append(self._given.pop(0))
        else:
            raise Broken("more is asked over the neighbour")
        return np.copy(self.tape[-1]) if isinstance(self.tape[-1], np.ndarray) else self.tape[-1]


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Every run charges in the watch's sight, whoever asks for noise is given the watch, and entropy is a
    seed's: where a defect draws who is held out from entropy, neighbours must draw alike."""
    charge, noisiest = Run.charge, CountOracle._noisiest

    def charged(run: Run, event: Any) -> Any:
        grant = charge(run, event)
        watch.charged(event)
        return grant

    def chosen(oracle: CountOracle, scores: Sequence[int], epsilon: float) -> int:
        return watch.best(lambda scores: noisiest(oracle, scores, epsilon), list(scores), oracle.relation)

    with ExitStack() as patches:
        patches.enter_context(mock.patch.object(CountOracle, "_noisiest", chosen))
        patches.enter_context(mock.patch.object(Run, "charge", charged))
        patches.enter_context(mock.patch.object(random, "SystemRandom", partial(random.Random, watch.seed)))
        for name, module in list(sys.modules.items()):
            if name.startswith("sottovoce.") and "noise_for" in vars(module):
                patches.enter_context(mock.patch.object(module, "noise_for", return_value=watch))
        yield


def require_paid(log: list[tuple[str, Any, Any]]) -> None:
    """Every answer was charged before, at the scale of its noise; one charge, one answer."""
    open_charges: list[Any] = []
    for kind, said, what in log:
        if kind == "charge":
            open_charges += list(getattr(what, "parts", (what,)))
        if kind not in DRAWN:
            continue
        paid = next((event for event in open_charges if _pays(event, kind, said)), None)
        if paid is None:
            raise Broken(f"{kind} noise that no charge covers")
        if kind != "laplace":
            open_charges.remove(paid)


def _pays(event: Any, kind: str, said: str) -> bool:
    if kind == "gaussian":
        wanted = ("sensitivity", "scale", "entries")
        return all(float(getattr(event, name, math.nan)) == _number(said, name) for name in wanted)
    epsilon = getattr(event, "epsilon", None)
    return epsilon is not None and float(epsilon) == float(said.rpartition(", ")[2].rstrip(")"))


def require_close(one: list[tuple[str, Any, Any]], two: list[tuple[str, Any, Any]]) -> float:
    """The same charges and the same noise in both; the largest movement over what was charged for it."""
    if [entry[:2] for entry in one] != [entry[:2] for entry in two]:
        raise Broken("neighbours are charged or noised differently")
    worst = 0.0
    for (kind, said, here), (_, _, there) in zip(one, two, strict=True):
        if kind == "gaussian":
            worst = max(worst, _ratio(np.linalg.norm(here - there), _number(said, "sensitivity")))
        elif kind in ("search", "selection"):
            if here.shape != there.shape:
                raise Broken("neighbours are compared another number of times")
            moved = np.max(np.abs(here - there), initial=0.0)
            worst = max(worst, _ratio(moved, _first(said)))
    return worst


def _first(said: str) -> float:
    """The first number of several."""
    return float(said.strip("()").partition(",")[0])


def _number(said: str, name: str) -> float:
    """Of the field with this whole name: `exact_sensitivity` is another than `sensitivity`."""
    (found,) = re.findall(rf"(?<!\w){name}=(?:np\.float64\()?([^,)]+)", said)
    return float(found)


def _ratio(moved: Any, charged: float) -> float:
    if not charged:
        return math.inf if moved else 0.0
    return float(moved) / (charged * ROUNDED) if math.isfinite(float(moved)) else math.inf


def require_within(ratio: float) -> float:
    if not ratio <= 1.0:
        raise Broken(f"an answer moves {ratio:.6g} times what was charged")
    return ratio


def asked(
    names: list[str],
    make: Callable[[], Any],
    query: Callable[[str, Any], Any],
    relation: Relation,
    seed: int,
) -> list[tuple[str, Any, Any]]:
    """What queries about a risk charge and compute, asked of one oracle; errors are a part of it."""
    watch, budget = Watch(seed), Budget(2.0, 1e-5, relation)
    with watching(watch):
        try:
            oracle = Oracle(make(), Ledger(budget).run(budget), watch)
            units = oracle.units_left // (len(names) + 1)
        except Exception as error:
            watch.failed(error)
            return watch.log
        for name in names:
            try:
                made = query(name, oracle.problem)
                if name == "line search":
                    oracle.search(made, units)
                else:
                    oracle.ask(made, units)
            except Exception as error:
                watch.failed(error)
    return watch.log


def require_apart(pairs: Iterable[tuple[Any, Any]]) -> None:
    """No answer of one differs from the other's by more than was charged."""
    for one, two in pairs:
        require_within(require_close(one, two))


def heard(make: Callable[[], Any], watch: Watch) -> bytes:
    """All that is let out: what is returned, or the error. Broken promises pass."""
    with watching(watch):
        try:
            return repr(make()).encode()
        except Broken:
            raise
        except Exception as error:
            return f"{type(error).__name__}: {error} ({error.__context__!r})".encode()


def coupled(here: Callable[[], Any], there: Callable[[], Any], seed: int) -> str:
    """Run over one table, then over its neighbour with the same answers. A digest of what was seen."""
    one = Watch(seed)
    first = heard(here, one)
    two = Watch(seed, one.tape)
    second = heard(there, two)
    require_paid(one.log)
    require_within(require_close(one.log, two.log))
    if first != second:
        raise Broken("neighbours with the same answers are told apart by what is said")
    return digest(one.log, first)


def digest(log: list[tuple[str, Any, Any]], said: bytes = b"") -> str:
    found = hashlib.sha256(said)
    for kind, words, what in log:
        found.update(f"{kind}{words}".encode())
        if isinstance(what, np.ndarray):
            found.update(what.tobytes())
    return found.hexdigest()
