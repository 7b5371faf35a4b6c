"""One run, many canaries: what right guesses prove, and how often that is more than the truth."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.accounting.relations import Relation
from sottovoce.audit import one_run
from sottovoce.cli import app
from sottovoce.errors import ParameterError


def test_without_delta_the_chance_is_that_of_randomized_response() -> None:
    for right in (0, 1, 60, 75, 100):
        expected = float(stats.binom.sf(right - 1, 100, 0.75))
        assert one_run.chance(100, 100, right, math.log(3.0), 0.0) == pytest.approx(expected, rel=1e-12)


def test_delta_adds_what_it_can_at_most_hide() -> None:
    """Against the definition, summed one by one."""
    canaries, guesses, right, delta = 50, 30, 22, 1e-3
    share = 1.0 / (1.0 + math.exp(-0.7))
    worst = max(
        sum(float(stats.binom.pmf(right - j, guesses, share)) for j in range(1, i + 1)) / i
        for i in range(1, right + 1)
    )
    expected = float(stats.binom.sf(right - 1, guesses, share)) + 2 * canaries * delta * worst
    assert one_run.chance(canaries, guesses, right, 0.7, delta) == pytest.approx(expected, rel=1e-9)


def test_the_bound_exceeds_a_gaussian_mechanism_no_more_often_than_stated() -> None:
    """400 mechanisms of mu = 1, confidence 0.8: 80 may be overstated; over 125 has chance 1e-6 at most."""
    rng = np.random.default_rng(5)
    mu, canaries, guesses, confidence = 1.0, 200, 60, 0.8
    assert stats.binom.sf(125, 400, 0.2) < 1e-6
    bounds: dict[int, float] = {}
    over = 0
    for _ in range(400):
        tossed = rng.integers(0, 2, canaries) == 1
        weights = np.where(tossed, mu / 2.0, -mu / 2.0) + rng.normal(size=canaries)
        right = one_run.correct_guesses(weights, tossed, guesses, Relation.REPLACE_ONE)
        if right not in bounds:
            bounds[right] = one_run.mu_proved(canaries, guesses, right, confidence)
        over += bounds[right] > mu
    assert over <= 125
    assert max(bounds.values()) > 0.3


@pytest.mark.parametrize("relation", ["replace-one", "zero-out"])
def test_a_method_keeps_its_claim_and_weights_without_noise_do_not(relation: str) -> None:
    budget = sv.Budget(4.0, 1e-5, relation)
    found = one_run.audit_one_run("majorize", budget, canaries=100, simulate=0)
    assert not found.flagged
    tossed = np.arange(100) % 3 == 0
    right = one_run.correct_guesses(tossed.astype(float), tossed, 40, Relation(relation))
    assert right == 40
    assert one_run.mu_proved(100, 40, right, 0.95) > 0.8 * found.mu
    assert one_run.epsilon_proved(100, 40, right, 1e-5, 0.95) > 2.0


def test_meaningless_one_run_audits_are_refused() -> None:
    for bad in ({"canaries": 3}, {"canaries": True}, {"confidence": 0.1}):
        with pytest.raises(ParameterError):
            one_run.audit_one_run("majorize", sv.Budget(1.0, 1e-5), **bad)


def test_the_command_line_audits_by_one_run() -> None:
    command = ["audit", "--one-run", "--canaries", "100", "--epsilon", "4", "--json"]
    said = CliRunner().invoke(app, command)
    assert said.exit_code == 0, said.output
    found = json.loads(said.stdout)
    assert found["canaries"] == 100
    assert not found["flagged"]
