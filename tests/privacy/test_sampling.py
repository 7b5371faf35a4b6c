from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import sottovoce as sv
from sottovoce.privacy.noise import entropy_for
from sottovoce.privacy.sampling import draw, poisson


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 500), st.data())
def test_a_batch_is_a_set_of_the_right_size_in_order(population: int, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, population))
    indices = draw(population, size)
    assert indices.size == size
    assert np.all(np.diff(indices) > 0)
    assert indices[0] >= 0
    assert indices[-1] < population


def test_every_subset_is_equally_likely() -> None:
    """20 subsets of 3 out of 6, 4,000 draws: chi-square with 19 degrees above 75 has a chance below 1e-7."""
    entropy = entropy_for(5)
    counts = dict.fromkeys(itertools.combinations(range(6), 3), 0)
    for _ in range(4000):
        counts[tuple(int(i) for i in draw(6, 3, entropy))] += 1
    chi_square = sum((count - 200.0) ** 2 / 200.0 for count in counts.values())
    assert chi_square < 75.0


def test_each_record_is_in_a_poisson_batch_by_itself_with_its_chance() -> None:
    """3,000 batches of 3 in 7: each record's count and each pair's within 5.5 standard deviations."""
    entropy, draws, chance = entropy_for(9), 3000, 3 / 7
    held = np.zeros((draws, 7))
    for row in held:
        row[poisson(7, 3, entropy)] = 1.0
    spread = 5.5 * np.sqrt(chance * (1 - chance) / draws)
    assert np.all(np.abs(held.mean(axis=0) - chance) < spread)
    together = held.T @ held / draws
    assert np.all(np.abs(together[np.triu_indices(7, 1)] - chance**2) < spread)
    assert 7 * chance * (1 - chance) * 0.8 < held.sum(axis=1).var() < 7 * chance * (1 - chance) * 1.2


def test_ties_of_sixteen_bits_are_decided_by_the_others_and_the_chance_is_never_exceeded() -> None:
    """2^64/3 is 0x5555555555555555.555...: the word 0x5555 and 48 bits of 0x5 tie, and are not below."""
    low = (0x555555555554, 0x555555555555, 0x555555555556)
    words = iter([b"\x55\x55" * 3, b"".join((bits << 16).to_bytes(8, "little") for bits in low)])
    assert poisson(3, 1, lambda count: next(words)).tolist() == [0]
    assert poisson(5, 5).tolist() == [0, 1, 2, 3, 4]
    for expected in (0, 6):
        with pytest.raises(sv.errors.ParameterError, match="between 1 and n=5"):
            poisson(5, expected)


def test_words_past_the_last_multiple_are_thrown_away() -> None:
    """Of 2^64 words mapped to range(3) the last one would favour 0."""
    words = [2**64 - 1, 2, 1] + [0] * 61
    stream = b"".join(word.to_bytes(8, "little") for word in words)
    assert draw(3, 1, lambda count: stream[:count]).tolist() == [2]


def test_simulated_batches_repeat_and_private_ones_do_not() -> None:
    assert np.array_equal(draw(1000, 50, entropy_for(3)), draw(1000, 50, entropy_for(3)))
    assert not np.array_equal(draw(1000, 50, entropy_for(3)), draw(1000, 50, entropy_for(4)))
    assert not np.array_equal(draw(1000, 50), draw(1000, 50))


@pytest.mark.parametrize("size", [0, 11, -1])
def test_a_batch_larger_than_the_population_is_refused(size: int) -> None:
    with pytest.raises(sv.errors.ParameterError):
        draw(10, size)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_subset_is_the_risk_of_its_rows(kind: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 4)) * (rng.uniform(size=(20_000, 4)) < 0.5)
    y = rng.choice([-1, 1], 20_000)
    indices = draw(20_000, 700, entropy_for(1))
    table = sparse.csr_array(X) if kind == "sparse" else X
    whole = sv.Risk(
        sv.Records.from_arrays(table, y, labels=(-1, 1)), sv.losses.Sigmoid(), sv.regularizers.L2(0.1)
    )
    alone = sv.Risk(
        sv.Records.from_arrays(X[indices], y[indices], labels=(-1, 1)),
        sv.losses.Sigmoid(),
        sv.regularizers.L2(0.1),
    )
    part = whole.subset(indices)
    w = rng.standard_normal(4)
    assert part.n == 700
    assert part.gradient(w) == pytest.approx(alone.gradient(w), rel=1e-12)
    assert part.hessian(w) == pytest.approx(alone.hessian(w), rel=1e-12)
