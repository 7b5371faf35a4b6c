from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from sottovoce.errors import BudgetExceeded, DataError, ParameterError
from sottovoce.privacy.laplace import _to_lattice, above_threshold
from sottovoce.privacy.noise import (
    BITS,
    ExactNoise,
    SimulatedNoise,
    exponent_for,
)

QUERIES = (-3.0, 1.0, -0.5, 4.0)
EPSILON, SENSITIVITY = 2.0, 1.0


def law(queries, threshold=2 * SENSITIVITY / EPSILON, query=4 * SENSITIVITY / EPSILON):
    """Probabilities of answering 0, 1, ... and None, by integration over the noisy threshold."""

    def answers(xi):
        above = stats.laplace.sf(xi - np.array(queries), scale=query)
        refused = np.cumprod(np.append(1.0, 1.0 - above))
        return np.append(refused[:-1] * above, refused[-1])

    if threshold == 0.0:
        return answers(0.0)
    corners = sorted({0.0, *queries})
    pieces = [-60.0 * threshold + min(corners), *corners, 60.0 * threshold + max(corners)]
    total = np.zeros(len(queries) + 1)
    for low, high in itertools.pairwise(pieces):
        total += integrate.quad_vec(
            lambda xi: answers(xi) * stats.laplace.pdf(xi, scale=threshold), low, high, epsabs=1e-12
        )[0]
    return total


def counts(noise, runs):
    found = [noise.first_above(iter(QUERIES), SENSITIVITY, EPSILON) for _ in range(runs)]
    return np.array([found.count(answer) for answer in (*range(len(QUERIES)), None)])


def p_value(observed, probabilities):
    return stats.chisquare(observed, probabilities * observed.sum()).pvalue


def test_the_integrated_law_is_a_law():
    assert law(QUERIES).sum() == pytest.approx(1.0, abs=1e-9)
    assert min(law(QUERIES)) > 0.03


BROKEN = {
    "no threshold noise": law(QUERIES, threshold=0.0),
    "query noise as small as the threshold's": law(QUERIES, query=2 * SENSITIVITY / EPSILON),
    "threshold noise as large as the queries'": law(QUERIES, threshold=4 * SENSITIVITY / EPSILON),
    "both scales halved": law(QUERIES, threshold=SENSITIVITY / EPSILON, query=2 * SENSITIVITY / EPSILON),
}


@pytest.mark.long
def test_simulated_answers_have_the_integrated_law_and_no_broken_one():
    observed = counts(SimulatedNoise(1), 100_000)
    assert p_value(observed, law(QUERIES)) > 1e-6
    for probabilities in BROKEN.values():
        assert p_value(observed, probabilities) < 1e-30


@pytest.mark.long
def test_exact_answers_have_the_integrated_law():
    # False alarm 1e-7; the power against each broken variant is checked below.
    observed = counts(ExactNoise(), 6_000)
    assert p_value(observed, law(QUERIES)) > 1e-7


@pytest.mark.parametrize("name", BROKEN)
def test_six_thousand_runs_tell_the_broken_variants_apart_for_certain(name):
    right = law(QUERIES)
    noncentrality = 6_000 * np.sum((BROKEN[name] - right) ** 2 / right)
    critical = stats.chi2.isf(1e-7, len(right) - 1)
    assert stats.ncx2.sf(critical, len(right) - 1, noncentrality) > 0.999


class Scripted:
    """Laplace draws from a list, with a record of what was asked."""

    def __init__(self, draws):
        self.draws, self.asked = iter(draws), []

    def __call__(self, steps, epsilon):
        self.asked.append((steps, epsilon))
        return next(self.draws)


def test_every_query_gets_noise_of_its_own_and_twice_the_threshold_s_shift():
    script = Scripted([10**12, -5, -5, -5])
    assert above_threshold([0.0, 0.0, 0.0], 1.0, 0.5, script) is None
    (steps, share), *rest = script.asked
    assert share == 0.25
    assert rest == [(2 * steps, 0.25)] * 3


def test_queries_are_computed_one_by_one_and_no_further_than_the_answer():
    computed = []

    def queries():
        for value in (-1e9, -1e9, 1e9, 1e9):
            computed.append(value)
            yield value

    assert ExactNoise().first_above(queries(), 1.0, 1.0) == 2
    assert len(computed) == 3


def test_far_queries_are_answered_as_they_are_and_an_empty_list_by_none():
    for noise in (ExactNoise(), SimulatedNoise(0)):
        assert noise.first_above([-1e6, -1e6, 1e6], 1.0, 1.0) == 2
        assert noise.first_above([-1e6, -1e6], 1.0, 1.0) is None
        assert noise.first_above([], 1.0, 1.0) is None


def test_equality_counts_as_above():
    assert above_threshold([0.0], 1.0, 1.0, Scripted([7, 7])) == 0
    assert above_threshold([0.0], 1.0, 1.0, Scripted([8, 7])) is None


shifts = st.sampled_from([-1.0, 1.0]) | st.floats(-1.0, 1.0)
draws = st.integers(-(2**36), 2**36)


@given(
    st.lists(st.tuples(st.floats(-1e3, 1e3), shifts, draws), min_size=1, max_size=6),
    st.integers(-1, 1),
    st.floats(-12, 12).map(math.exp),
    st.floats(-12, 6).map(math.exp),
    st.sampled_from([1.0, 1e6, 2.0**53]),
)
def test_shifting_the_noise_as_the_proof_does_keeps_the_answer_for_a_neighbour(
    lanes, offset, sensitivity, epsilon, magnitude
):
    # threshold by m costs epsilon/2, the answer's own noise by 2m another epsilon/2: pure epsilon-DP.
    mine = [value * sensitivity * magnitude for value, _, _ in lanes]
    theirs = [q + shift * sensitivity for q, (_, shift, _) in zip(mine, lanes, strict=True)]
    # Adding may round beyond the sensitivity: such pairs are no neighbours.
    theirs = [b if abs(b - a) <= sensitivity else a for a, b in zip(mine, theirs, strict=True)]
    noises = [noise for _, _, noise in lanes]
    # The threshold is put where the last query only just passes or fails.
    exponent = exponent_for(sensitivity / epsilon)
    threshold = offset + (_to_lattice(mine[-1], exponent) + noises[-1])
    script = Scripted([threshold, *noises])
    answer = above_threshold(mine, sensitivity, epsilon, script)
    steps = script.asked[0][0]
    if answer is not None:
        noises[answer] += 2 * steps
    assert above_threshold(theirs, sensitivity, epsilon, Scripted([threshold + steps, *noises])) == answer


def test_rounding_to_the_lattice_never_moves_a_query_further_than_the_noise_hides():
    generator = np.random.default_rng(5)
    worst = -math.inf
    for _ in range(5_000):
        sensitivity, epsilon = np.exp(generator.uniform(-8, 8, 2))
        a = sensitivity * generator.uniform(-10, 10)
        b = math.nextafter(a + sensitivity, a)
        script = Scripted([0, 0])
        above_threshold([0.0], sensitivity, epsilon, script)
        exponent = exponent_for(sensitivity / epsilon)
        moved = _to_lattice(b, exponent) - _to_lattice(a, exponent)
        worst = max(worst, moved - script.asked[0][0])
    assert worst == 0


@given(st.floats(-40, 40).map(math.exp), st.floats(-13, 13).map(math.exp))
def test_noise_scales_are_those_of_the_paper_up_to_the_lattice(sensitivity, epsilon):
    script = Scripted([0, 0])
    above_threshold([0.0], sensitivity, epsilon, script)
    steps = script.asked[0][0]
    step = 2.0 ** (math.floor(math.log2(sensitivity / epsilon)) - BITS)
    # (Delta + g) at most, and g is at most 2^-38 of Delta / epsilon.
    assert sensitivity <= steps * step * (1 + 1e-9)
    assert steps * step <= sensitivity * (1 + 2.0**-29 / epsilon)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_parameters_that_are_not_finite_and_positive_are_refused_before_any_query(bad):
    def queries():
        raise AssertionError("computed")
        yield 0.0

    for sensitivity, epsilon in ((bad, 1.0), (1.0, bad), (1.0, 2.0**-21), (1.0, 2.0**21), (1e-300, 1.0)):
        with pytest.raises((ParameterError, BudgetExceeded)):
            SimulatedNoise(0).first_above(queries(), sensitivity, epsilon)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_query_that_is_not_finite_is_refused_without_being_quoted(bad):
    with pytest.raises(DataError) as caught:
        ExactNoise().first_above([-1e9, bad], 1e-3, 1.0)
    assert not any(character.isdigit() for character in str(caught.value))
    assert caught.value.__suppress_context__


def test_a_query_beyond_the_lattice_is_compared_all_the_same():
    """A public requirement may be enormous: 2^1023 on a lattice of 2^-48 is an integer like any other."""
    assert ExactNoise().first_above([-1.5e308, 1.5e308], 1e-3, 1.0) == 1
