"""Does anything exact leave? Train over two neighbours that are given the same noisy answers, and compare.

A private run may depend on its records through its noisy answers alone. So: train over one data set and keep
what every drawing of noise returned; train over the other, handing out the same returns; then every byte that
leaves must be the same. What is not the same came from the records without noise. This finds exact values in
weights, attributes, messages, logs and warnings; it does not measure whether the noise is enough (an audit
does) and sees nothing of what both data sets share.

It takes any estimator. Ours draws noise at `OURS`; for another library name the functions that return what is
released, as "package.module.Class.method".
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, final
from unittest import mock

from sottovoce.audit.emitted import Parts, emitted
from sottovoce.errors import ParameterError

OURS = tuple(
    f"sottovoce.privacy.noise.{source}.{drawing}"
    for source in ("ExactNoise", "SimulatedNoise")
    for drawing in ("gaussian", "laplace", "first_above")
)


@final
@dataclass(frozen=True)
class Replayed:
    """`answers` were drawn; `exact` are the paths of parts that differ though every answer was the same.

    `unsteady` differ between two runs over one data set as well, such as names drawn at random and times:
    they say nothing about records, and nothing is said about them."""

    answers: int
    compared: int
    exact: tuple[str, ...]
    unsteady: tuple[str, ...]

    @property
    def clean(self) -> bool:
        return self.answers > 0 and not self.exact

    def __str__(self) -> str:
        found = f"{self.answers} noisy answers, {self.compared} parts compared"
        if not self.answers:
            return f"{found}: no noise was drawn at the points named, so nothing was tested"
        if self.clean:
            return f"{found}: nothing exact left"
        return f"{found}: {len(self.exact)} exact: {', '.join(self.exact)}"


def replay(run: Callable[[Any], Any], here: Any, there: Any, *, noise: Sequence[str] = OURS) -> Replayed:
    """Compare what `run` lets out over two data sets, its noisy answers being the same.

    `run(data)` trains and returns the estimator, the result or anything else. It is called three times: over
    `here`, over `here` again and over `there`, the last two with the answers of the first. Use made-up data:
    it is read without any guarantee. Which records a mini-batch holds may differ from run to run."""
    tape = Tape()
    with patched(noise, tape.record):
        first = emitted(run, deepcopy(here))
    again, _ = _played(run, here, tape, noise)
    other, complaints = _played(run, there, tape, noise)
    paths = sorted({*first, *other})
    unsteady = tuple(path for path in sorted({*first, *again}) if first.get(path) != again.get(path))
    exact = tuple(path for path in paths if path not in unsteady and first.get(path) != other.get(path))
    return Replayed(len(tape.answers), len(paths), (*complaints, *exact), unsteady)


def _played(
    run: Callable[[Any], Any], data: Any, tape: Tape, noise: Sequence[str]
) -> tuple[Parts, list[str]]:
    player = Player(tape.answers)
    with patched(noise, player.play):
        parts = emitted(run, deepcopy(data))
    return parts, player.complaints


Draw = Callable[..., Any]


@final
@dataclass
class Tape:
    """What each drawing of noise returned, in order."""

    answers: list[tuple[str, Any]] = field(default_factory=list)
    _inner: int = 0

    def record(self, name: str, draw: Draw) -> Draw:
        def recorded(*arguments: Any, **named: Any) -> Any:
            self._inner += 1
            try:
                answer = draw(*arguments, **named)
            finally:
                self._inner -= 1
            # A mechanism built on another draws within: the outer answer is what is released.
            if not self._inner:
                self.answers.append((name, deepcopy(answer)))
            return answer

        return recorded


@final
@dataclass
class Player:
    """Hands the answers out again, whatever is asked."""

    answers: list[tuple[str, Any]]
    complaints: list[str] = field(default_factory=list)
    _given: int = 0

    def play(self, name: str, draw: Draw) -> Draw:
        def played(*arguments: Any, **named: Any) -> Any:
            if self._given >= len(self.answers) or self.answers[self._given][0] != name:
                if not self.complaints:
                    self.complaints.append(f"noise: answer {self._given + 1} is asked for by {name}")
                return draw(*arguments, **named)
            self._given += 1
            return deepcopy(self.answers[self._given - 1][1])

        return played


@contextmanager
def patched(points: Sequence[str], wrap: Callable[[str, Draw], Draw]) -> Iterator[None]:
    """Every drawing of noise goes through `wrap` meanwhile."""
    with ExitStack() as stack:
        for point in points:
            owner, name = _found(point)
            stack.enter_context(mock.patch.object(owner, name, wrap(point, getattr(owner, name))))
        yield


def _found(point: str) -> tuple[Any, str]:
    *way, name = point.split(".")
    for length in range(len(way), 0, -1):
        try:
            owner: Any = importlib.import_module(".".join(way[:length]))
        except ModuleNotFoundError:
            continue
        for step in way[length:]:
            owner = getattr(owner, step, None)
        if hasattr(owner, name):
            return owner, name
    raise ParameterError('a point of noise is named by where it is found: "package.module.Class.method".')
