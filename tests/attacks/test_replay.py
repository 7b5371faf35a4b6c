"""Neighbours that give the same released answers give the same bytes, charges and decisions.

`python -m tests.attacks.replay` tries 10,000 pairs. Here there are 6 for each method of the paper, whose runs
are short, 3 for each other one, 30 when slow: of pairs that differ in their twelfth digit more than a quarter
tell, as the control shows, so that of 16 methods that all leaked so 72 pairs would not stay silent, and of
one 30 not but for 1 in 5,000."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce.methods.registry import METHODS
from sottovoce.planning.dry_run import Planned
from sottovoce.privacy.noise import SimulatedNoise
from sottovoce.privacy.oracle import Oracle
from tests.attacks.replay.pairs import _said, differences, methods, setting, tables
from tests.doubles import Recorder, Replay


@pytest.mark.parametrize(
    ("method", "pairs"),
    [
        *((name, 6 if METHODS[name].published else 3) for name in methods()),
        *(pytest.param(name, 30, marks=pytest.mark.slow) for name in methods()),
    ],
)
def test_neighbours_that_give_the_same_answers_give_the_same_bytes(method: str, pairs: int) -> None:
    heard = [differences(seed, method) for seed in range(pairs)]
    assert [unequal for _, unequal in heard] == [0] * pairs
    assert sum(answers for answers, _ in heard) > pairs


def test_the_replay_notices_a_run_that_looks_at_exact_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: a method whose stop depends on one exact number."""
    asked = Oracle.gradient

    def peeking(self: Oracle, w: np.ndarray, units: int):  # type: ignore[no-untyped-def]
        answer = asked(self, w, units)
        exact = float(np.linalg.norm(self._source._risk.gradient(w)))
        return Planned(answer.value, answer.scale * (1.0 + 1e-12 * exact), answer.units)

    monkeypatch.setattr(Oracle, "gradient", peeking)
    assert sum(differences(seed, "majorize")[1] > 0 for seed in range(40)) > 10


def test_the_replay_notices_different_answers() -> None:
    """Control: one answer changed in its tenth digit changes what is said."""
    draw = np.random.default_rng(3)
    chosen = setting(draw, "majorize")
    here, _ = tables(draw, chosen.kind)
    recorder = Recorder(SimulatedNoise(3))
    first = _said(chosen, here, recorder, 3)
    assert first == _said(chosen, here, Replay(recorder.tape, simulated=True), 4)
    recorder.tape[-1] = recorder.tape[-1] * (1.0 + 1e-9)
    assert first != _said(chosen, here, Replay(recorder.tape, simulated=True), 4)
