"""The corrected n_min is enough and the printed one is not, by hand, by exact laws and by simulation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.errors import ParameterError
from sottovoce.methods.paper.constants import Curve
from sottovoce.methods.paper.sample_complexity import (
    Multipliers,
    SampleSize,
    Setting,
    line_search,
    mini_batch,
    short_step,
)
from sottovoce.methods.paper.sample_laws import Corrected, Printed
from sottovoce.privacy.release import packing_for
from sottovoce.problem import Problem
from sottovoce.queries import Form
from sottovoce.results.result import Tolerance

UNIT = Curve(1.0, 1.0)
# MIN_DEC = min(0.8/2 * 0.01, 2 * 0.15 * 0.125) = 0.004, so T = 125; rooms 0.01 and 0.05.
PLAIN = Setting(
    dim=4,
    curve=UNIT,
    gradient_bound=1.0,
    hessian_bound=2.0,
    gap=0.5,
    tolerance=Tolerance(gradient=0.1, curvature=0.5),
    failure=0.25,
)
NOISE = Multipliers(gradient=3.0, hessian=7.0, search=2.0)


def few_visits(dim: int, failure: float = 0.5) -> Setting:
    """Five visits, so that levels are large enough to be counted in a simulation."""
    return replace(PLAIN, dim=dim, gap=0.02, failure=failure)


def allowed(level: float, draws: int) -> int:
    """More failures than this have probability below 1e-6 if each has probability `level` at most."""
    return int(stats.binom.isf(1e-6, draws, level))


def test_short_step_terms_are_those_computed_by_hand() -> None:
    corrected, printed = short_step(PLAIN, NOISE), short_step(PLAIN, NOISE, Printed(wigner=3.0))
    assert corrected.visits == printed.visits == 125
    # level 0.25 / (2 * 125) = 0.001; chi squared with 4 degrees: e^{-x/2} (1 + x/2) = 0.001 at x = 18.466827
    assert corrected.gradient_noise == pytest.approx(2 * 3 * math.sqrt(18.466827) / 0.01, rel=1e-6)
    # 2 sqrt4 * 2 * 7 * sqrt2 (sqrt8 + sqrt(2 log 2000)) / 0.05
    assert corrected.hessian_noise == pytest.approx(
        56 * math.sqrt(2) * (2.8284271 + 3.8989493) / 0.05, rel=1e-6
    )
    assert printed.gradient_noise == pytest.approx(2.8284271 * 3 * 6.9077553 / 0.01, rel=1e-6)
    assert printed.hessian_noise == pytest.approx(3 * 2 * 2 * 7 * 6.9077553 / 0.05, rel=1e-6)
    assert corrected.records == math.ceil(corrected.hessian_noise)
    assert corrected.binding == "hessian_noise"


def test_line_search_terms_are_those_computed_by_hand() -> None:
    # MIN_DEC = min(0.3 * 0.6 * 0.01, 0.25 * t_2^2 * 0.125 / 4) = 0.0018, T = 278, i_max = floor(5.86) + 1
    corrected, printed = line_search(PLAIN, NOISE), line_search(PLAIN, NOISE, Printed())
    assert corrected.visits == 278
    level = 0.25 / (3 * 278)
    t2 = 1.5 * 0.65 + 3 * math.sqrt(0.65**2 / 4 - 1 / 18)
    leverage = max(2 * 20 / (0.6 * 0.1), 4 * 20 / (t2 * 0.25 * 0.25))
    by_paper = 16 * 2.0 * (math.log(6) + math.log(1 / level)) * leverage
    assert printed.line_search == pytest.approx(by_paper, rel=1e-12)
    assert corrected.line_search == pytest.approx(
        2 * 4 * 2.0 * math.log(2 * 6 / (3 * level)) * leverage, rel=1e-12
    )


def test_mini_batch_terms_are_those_computed_by_hand() -> None:
    corrected, printed = mini_batch(PLAIN, NOISE, 0.1), mini_batch(PLAIN, NOISE, 0.1, Printed())
    level = 0.25 / (4 * 125)
    assert printed.gradient_sampling == pytest.approx(640 * (math.log(8 / level) + 0.25) / 1e-4, rel=1e-12)
    assert printed.hessian_sampling == pytest.approx(320 * 4 * math.log(8 / level) / 25e-4, rel=1e-12)
    tail = math.sqrt(2 * math.log(1 / level))
    assert corrected.gradient_sampling == pytest.approx(10 * (2 * (1 + tail) / 0.01) ** 2, rel=1e-12)
    assert corrected.hessian_sampling == pytest.approx(10 * (2 * 2 * (2 + tail) / 0.05) ** 2, rel=1e-12)
    assert corrected.gradient_noise == pytest.approx(20 * 2 * 3 * stats.chi.isf(level, 4) / 0.01, rel=1e-9)
    assert printed.gradient_noise == pytest.approx(2 * Printed().gradient(PLAIN, 3.0, level), rel=1e-12)


def test_multipliers_spend_exactly_rho() -> None:
    short, searched = Multipliers.short_step(0.02, 125), Multipliers.line_search(0.02, 278)
    assert 125 * (0.5 / short.gradient**2 + 0.5 / short.hessian**2) == pytest.approx(0.02)
    each = 0.5 / searched.gradient**2 + 0.5 / searched.hessian**2 + 0.5 / searched.search**2
    assert 278 * each == pytest.approx(0.02)


def at(alpha: float, **changes: object) -> Setting:
    return replace(PLAIN, tolerance=Tolerance(gradient=alpha, curvature=math.sqrt(alpha)), **changes)


def slope(small: float, large: float, factor: float) -> float:
    return math.log(large / small) / math.log(factor)


@pytest.mark.parametrize("law", [Printed(), Corrected()])
def test_records_grow_as_alpha_to_the_minus_two_up_to_logarithms(law: Printed | Corrected) -> None:
    def sizes(alpha: float) -> tuple[SampleSize, SampleSize]:
        setting = at(alpha)
        return (
            short_step(setting, Multipliers.short_step(0.02, setting.short_visits), law),
            line_search(setting, Multipliers.line_search(0.02, setting.searched_visits), law),
        )

    (short, searched), (finer, finer_search) = sizes(1e-8), sizes(1e-10)
    assert slope(short.gradient_noise, finer.gradient_noise, 100) == pytest.approx(2.0, abs=0.06)
    assert slope(short.hessian_noise, finer.hessian_noise, 100) == pytest.approx(1.5, abs=0.06)
    assert slope(searched.line_search, finer_search.line_search, 100) == pytest.approx(2.0, abs=0.06)
    assert slope(short.records, finer.records, 100) == pytest.approx(2.0, abs=0.06)


def test_the_corrected_hessian_term_grows_with_d_and_with_its_root_only_for_a_known_rank() -> None:
    def hessian(dim: int, rank: int | None, law: Printed | Corrected) -> float:
        return short_step(replace(PLAIN, dim=dim, hessian_rank=rank), NOISE, law).hessian_noise

    far, farther = 10**8, 10**10
    assert slope(hessian(far, None, Corrected()), hessian(farther, None, Corrected()), 100) == pytest.approx(
        1.0, abs=0.01
    )
    assert slope(hessian(far, 1, Corrected()), hessian(farther, 1, Corrected()), 100) == pytest.approx(
        0.5, abs=0.01
    )
    assert slope(hessian(far, None, Printed()), hessian(farther, None, Printed()), 100) == pytest.approx(0.5)


@pytest.mark.parametrize("dim", [1, 4, 54])
def test_gradient_noise_at_the_corrected_size_stays_in_its_room_as_often_as_promised(dim: int) -> None:
    """50,000 draws; the quantile is exact, so too few failures would be as wrong as too many."""
    setting = few_visits(dim)
    level = setting.failure / (2 * setting.short_visits)
    scale = 2.0 * setting.gradient_bound / short_step(setting, NOISE).gradient_noise * NOISE.gradient
    norms = np.linalg.norm(scale * np.random.default_rng(3).standard_normal((50_000, dim)), axis=1)
    failures = int(np.sum(norms > setting.gradient_room))
    assert stats.binom.ppf(1e-6, 50_000, level) <= failures <= allowed(level, 50_000)


@pytest.mark.parametrize(("published", "rank"), [(True, None), (False, 1)])
def test_hessian_noise_at_the_corrected_size_stays_in_its_room_as_often_as_promised(
    published: bool, rank: int | None
) -> None:
    packing = packing_for(Form.SYMMETRIC, published=published)
    setting = replace(few_visits(20), widening=packing.widening, hessian_rank=rank)
    level = setting.failure / (2 * setting.short_visits)
    move = 2.0 * setting.hessian_bound * math.sqrt(rank or setting.dim)
    scale = move * NOISE.hessian / short_step(setting, NOISE).hessian_noise
    rng = np.random.default_rng(4)
    norms = [
        np.abs(np.linalg.eigvalsh(packing.unpack(scale * rng.standard_normal(210)))).max()
        for _ in range(2_000)
    ]
    assert sum(norm > setting.hessian_room for norm in norms) <= allowed(level, 2_000)
    assert np.median(norms) >= 0.6 * setting.hessian_room


def test_no_trial_too_small_passes_more_often_than_promised() -> None:
    """All trials short of their threshold by exactly what is tolerated: the worst case."""
    level, count, draws = 0.02, 6, 200_000
    reach = Corrected().search(PLAIN, 1.0, level) / PLAIN.search_leverage
    rng = np.random.default_rng(5)
    thresholds = rng.laplace(scale=2.0, size=(draws, 1))
    passed = np.any(-reach + rng.laplace(scale=4.0, size=(draws, count)) >= thresholds, axis=1)
    assert int(passed.sum()) <= allowed(level, draws)
    assert passed.mean() >= level / 3


def test_at_the_corrected_size_a_search_loses_at_most_half_the_decrease_asked_for() -> None:
    size = line_search(PLAIN, NOISE)
    reach = size.line_search / PLAIN.search_leverage
    share = PLAIN.search
    fallback = share.gradient_fallback(PLAIN.noise, UNIT)
    moved = 2.0 * share.longer * fallback * PLAIN.gradient_bound * PLAIN.tolerance.gradient / size.line_search
    assert reach * moved <= 0.5 * share.gradient * fallback * PLAIN.tolerance.gradient**2
    bent = share.curvature_fallback(PLAIN.noise, UNIT, -PLAIN.curvature)
    moved = 2.0 * share.longer * bent * PLAIN.gradient_bound / size.line_search
    assert reach * moved == pytest.approx(0.25 * share.curvature * PLAIN.curvature * bent**2, rel=1e-12)


def populations(rng: np.random.Generator) -> list[np.ndarray]:
    """Unit vectors: all directions, two opposite ones, and rows most of which agree."""
    sphere = rng.standard_normal((3_000, 8))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    opposite = np.zeros((3_000, 8))
    opposite[:, 0] = np.where(np.arange(3_000) % 2, 1.0, -1.0)
    lopsided = np.zeros((3_000, 8))
    lopsided[:, 0] = np.where(np.arange(3_000) % 20, 1.0, -1.0)
    return [sphere, opposite, lopsided]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_batches_of_the_corrected_size_deviate_as_seldom_as_promised(which: int) -> None:
    """Gradients are the rows, Hessians their rank-one products: bounds 1 and 1, rank 1 or not told."""
    rng, level = np.random.default_rng(6), 0.05
    rows = populations(rng)[which]
    wide = replace(PLAIN, dim=8, hessian_bound=1.0, tolerance=Tolerance(gradient=5.0, curvature=5.0))
    products = np.einsum("ni,nj->nij", rows, rows)
    for rank in (1, None):
        setting = replace(wide, hessian_rank=rank)
        gradient_batch, hessian_batch = Corrected().batch(setting, level)
        bad_gradients = bad_hessians = 0
        for _ in range(400):
            drawn = rng.choice(3_000, math.ceil(gradient_batch), replace=False)
            off = np.linalg.norm(rows[drawn].mean(axis=0) - rows.mean(axis=0))
            bad_gradients += off > setting.gradient_room / 2
            drawn = rng.choice(3_000, math.ceil(hessian_batch), replace=False)
            off = np.linalg.norm(products[drawn].mean(axis=0) - products.mean(axis=0), ord=2)
            bad_hessians += off > setting.hessian_room / 2
        assert max(bad_gradients, bad_hessians) <= allowed(level, 400)


def test_the_printed_hessian_term_misses_two_roots_of_d_and_its_noise_overflows_the_room() -> None:
    """Typical norm 2 sqrt(d) sd, sd = 2 B_H sqrt(d) sigma / n: a multiple 4 sqrt(d) / (C log) of the room."""
    setting, packing = replace(PLAIN, dim=400), packing_for(Form.SYMMETRIC, published=True)
    rng = np.random.default_rng(7)
    for law, holds in ((Printed(), False), (Corrected(), True)):
        n = short_step(setting, NOISE, law).hessian_noise
        scale = 2.0 * setting.hessian_bound * math.sqrt(setting.dim) / n * NOISE.hessian
        for _ in range(4):
            noise = packing.unpack(scale * rng.standard_normal(400 * 401 // 2))
            norm = np.abs(np.linalg.eigvalsh(noise)).max()
            assert (norm <= setting.hessian_room) is np.bool_(holds)
            if not holds:
                multiple = 4.0 * math.sqrt(400) / (2.0 * math.log(1000.0))
                assert norm / setting.hessian_room == pytest.approx(multiple, rel=0.05)


def test_in_high_dimension_the_printed_n_min_as_a_whole_is_too_small() -> None:
    setting = at(0.06, dim=900, hessian_bound=1.0, failure=0.01)
    noise = Multipliers.short_step(0.0186, setting.short_visits)
    printed = short_step(setting, noise, Printed()).records
    scale = 2.0 * math.sqrt(900) / printed * noise.hessian
    draw = np.random.default_rng(8).standard_normal(900 * 901 // 2)
    norm = np.abs(np.linalg.eigvalsh(packing_for(Form.SYMMETRIC, published=True).unpack(scale * draw))).max()
    assert norm > 1.3 * setting.hessian_room
    assert short_step(setting, noise).records > 1.3 * printed


@pytest.mark.parametrize("dim", [1, 2, 3, 10, 54, 1000])
def test_the_printed_gradient_term_misses_a_factor_two_but_its_loose_lemma_makes_up_for_it(dim: int) -> None:
    """chi > sqrt(d/2) log(1/level) at the printed size: rarer than `level` once 1/level >= e^4."""
    setting = replace(PLAIN, dim=dim)
    for level in (math.exp(-4.0), 1e-3, 1e-6, 1e-9):
        n = Printed().gradient(setting, 1.0, level)
        assert stats.chi.sf(setting.gradient_room * n / 2.0, dim) <= level
        assert Corrected().gradient(setting, 1.0, level) <= n * (1.0 + 1e-12)
    large = replace(PLAIN, dim=1000)
    n = Printed().gradient(large, 1.0, 0.3)
    assert stats.chi.sf(large.gradient_room * n / 2.0, 1000) > 0.999


def test_the_printed_batch_sizes_miss_a_factor_two_of_the_papers_own_lemmas() -> None:
    level, tail = 1e-4, math.log(2 * 4 / 1e-4)
    gradient, hessian = Printed().batch(PLAIN, level)

    def gradient_off(m: float) -> float:
        return 4 * math.sqrt(2) * PLAIN.gradient_bound * math.sqrt((tail + 0.25) / m)

    def hessian_off(m: float) -> float:
        return 4 * PLAIN.hessian_bound * math.sqrt(tail / m)

    assert gradient_off(gradient) == pytest.approx(math.sqrt(2) * PLAIN.gradient_room / 2)
    assert hessian_off(hessian) == pytest.approx(math.sqrt(2) * PLAIN.hessian_room / 2)
    assert gradient_off(2 * gradient) == pytest.approx(PLAIN.gradient_room / 2)
    assert hessian_off(2 * hessian) == pytest.approx(PLAIN.hessian_room / 2)
    assert all(
        ours <= 2 * theirs
        for ours, theirs in zip(Corrected().batch(PLAIN, level), (gradient, hessian), strict=True)
    )


def test_the_printed_batch_noise_forgets_that_sensitivities_are_over_the_batch() -> None:
    rate = 0.01
    n = mini_batch(PLAIN, NOISE, rate, Printed()).gradient_noise
    scale = 2.0 * PLAIN.gradient_bound * NOISE.gradient / (rate * n)
    assert stats.chi.sf(PLAIN.gradient_room / 2 / scale, PLAIN.dim) > 0.999
    n = mini_batch(PLAIN, NOISE, rate).gradient_noise
    scale = 2.0 * PLAIN.gradient_bound * NOISE.gradient / (rate * n)
    assert stats.chi.sf(PLAIN.gradient_room / 2 / scale, PLAIN.dim) <= 0.25 / (4 * 125) * (1 + 1e-9)


def test_the_printed_search_term_is_enough_after_all() -> None:
    """Only acceptances can hurt and their tail is e^{-t/4}: the corrected reach is below the printed one."""
    for level in (0.3, 1e-2, 1e-6, 1e-12):
        assert Corrected().search(PLAIN, 1.0, level) <= Printed().search(PLAIN, 1.0, level)


def test_a_problem_supplies_its_own_constants() -> None:
    problem = Problem.linear(
        n=1, dim=54, radius=2.0, loss=sv.losses.Sigmoid(), regularizer=sv.regularizers.L2(1e-3)
    )
    setting = Setting.of(problem, Tolerance(gradient=0.04), failure=0.05)
    assert setting.gradient_bound == problem.slope * 2.0
    assert setting.hessian_bound == pytest.approx(problem.curvature_high * 4.0)
    assert (setting.hessian_rank, setting.widening, setting.gap) == (1, 1.0, problem.value_at_zero)
    assert setting.curvature == pytest.approx(math.sqrt(problem.hessian_lipschitz * 0.04))
    twice = replace(problem, n=2)
    assert Setting.of(twice, Tolerance(gradient=0.04), failure=0.05) == setting


@pytest.mark.parametrize(
    "changes",
    [{"dim": 0}, {"gap": 0.0}, {"gradient_bound": math.inf}, {"failure": 1.0}, {"hessian_bound": math.nan}],
)
def test_meaningless_constants_are_refused(changes: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        replace(PLAIN, **changes)


def test_an_unresolved_tolerance_and_an_impossible_batch_are_refused() -> None:
    with pytest.raises(ParameterError, match="curvature"):
        replace(PLAIN, tolerance=Tolerance(gradient=0.1))
    for rate in (0.0, 1.5):
        with pytest.raises(ParameterError, match="rate"):
            mini_batch(PLAIN, NOISE, rate)
