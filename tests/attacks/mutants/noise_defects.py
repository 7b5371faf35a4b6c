"""Noise that is too small, reused, seeded or put on the wrong lattice, and broken sparse vectors."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

NOISE = "tests/privacy/test_noise.py::test_"
SCALE = "tests/privacy/test_noise_scale.py"
LATTICE = "tests/privacy/test_lattice.py"
SVT = "tests/privacy/test_sparse_vector.py::test_every_query_gets_noise_of_its_own_and_twice_the_threshold_s_shift"


SCALES = (
    Mutant(
        "simulated noise 1 % small",
        "privacy.noise:SimulatedNoise.gaussian",
        "calibration.scale * self._generator.standard_normal(exact.shape)",
        "0.99 * calibration.scale * self._generator.standard_normal(exact.shape)",
        SCALE,
    ),
    Mutant(
        "simulated noise 5 % small",
        "privacy.noise:SimulatedNoise.gaussian",
        "calibration.scale * self._generator.standard_normal(exact.shape)",
        "0.95 * calibration.scale * self._generator.standard_normal(exact.shape)",
        SCALE,
    ),
    Mutant(
        "simulated noise halved",
        "privacy.noise:SimulatedNoise.gaussian",
        "calibration.scale * self._generator.standard_normal(exact.shape)",
        "0.5 * calibration.scale * self._generator.standard_normal(exact.shape)",
        "tests/privacy/test_oracle.py -k noise_released",
    ),
    Mutant(
        "exact noise 1 % small",
        "privacy.noise:_gaussian_measurement",
        "make_gaussian(_, l2_distance(T=float), calibration.scale, k=calibration.exponent)",
        "make_gaussian(_, l2_distance(T=float), 0.99 * calibration.scale, k=calibration.exponent)",
        SCALE,
    ),
    Mutant(
        "exact noise 5 % small",
        "privacy.noise:_gaussian_measurement",
        "make_gaussian(_, l2_distance(T=float), calibration.scale, k=calibration.exponent)",
        "make_gaussian(_, l2_distance(T=float), 0.95 * calibration.scale, k=calibration.exponent)",
        SCALE,
    ),
    Mutant(
        "long answers' noise 1 % small",
        "privacy.noise:ExactNoise.gaussian",
        "np.ldexp(calibration.scale, -calibration.exponent)",
        "0.99 * np.ldexp(calibration.scale, -calibration.exponent)",
        SCALE,
    ),
    Mutant(
        "long answers' noise halved",
        "privacy.noise:ExactNoise.gaussian",
        "np.ldexp(calibration.scale, -calibration.exponent)",
        "0.5 * np.ldexp(calibration.scale, -calibration.exponent)",
        SCALE,
    ),
    Mutant(
        "calibration 1 % small",
        "privacy.noise:calibrate",
        "rounded / mu",
        "0.99 * rounded / mu",
        f"{LATTICE}::test_the_charge_never_exceeds_what_was_asked_and_covers_rounding",
    ),
    Mutant(
        "calibration 5 % small",
        "privacy.noise:calibrate",
        "rounded / mu",
        "0.95 * rounded / mu",
        LATTICE,
    ),
    Mutant(
        "calibration halved",
        "privacy.noise:calibrate",
        "rounded / mu",
        "0.5 * rounded / mu",
        LATTICE,
    ),
    Mutant(
        "variance taken for deviation",
        "privacy.noise:calibrate",
        "math.sqrt(mu_squared)",
        "mu_squared",
        LATTICE,
    ),
    Mutant(
        "rounding to the lattice forgotten",
        "privacy.noise:calibrate",
        "sensitivity + math.ldexp(math.sqrt(entries), exponent)",
        "sensitivity",
        LATTICE,
    ),
    Mutant(
        "rounding counted for one entry",
        "privacy.noise:calibrate",
        "math.sqrt(entries)",
        "1.0",
        LATTICE,
    ),
    Mutant(
        "lattice too coarse",
        "privacy.noise:exponent_for",
        "math.frexp(scale)[1] - 1",
        "math.frexp(scale)[1] + 19",
        LATTICE,
    ),
    Mutant(
        "simulated Laplace noise 5 % small",
        "privacy.noise:SimulatedNoise.laplace",
        "sensitivity / epsilon",
        "0.95 * sensitivity / epsilon",
        f"{NOISE}simulated_laplace_noise_has_the_same_scale",
    ),
    Mutant(
        "exact Laplace noise 5 % small",
        "privacy.laplace:_laplace_measurement",
        "sensitivity / epsilon * (1.0 + SLACK)",
        "0.95 * sensitivity / epsilon",
        f"{NOISE}exact_laplace_noise_has_scale_moves_over_epsilon",
    ),
    Mutant(
        "OpenDP's own map not asserted",
        "privacy.noise:assert_within",
        "not loss <= charged",
        "loss < 0.0",
        f"{NOISE}noise_that_costs_more_than_the_charge_is_refused",
    ),
    Mutant(
        "wrong density in the discrete Gaussian",
        "privacy.sampling:accepted",
        "0.5 * ratio",
        "0.55 * ratio",
        "tests/privacy/test_discrete_gaussian.py",
    ),
    Mutant(
        "proposals kept past the staircase's top",
        "privacy.sampling:accepted",
        "math.log(staircase.peak)",
        "0.0 * math.log(staircase.peak)",
        "tests/privacy/test_known_answers.py -k same_bytes",
    ),
    Mutant(
        "zero drawn with both signs",
        "privacy.sampling:accepted",
        "keep &= (magnitude > 0) | ~negative",
        "",
        "tests/privacy/test_discrete_gaussian.py -k one_sign",
    ),
)

REUSED = (
    Mutant(
        "long answers share their noise",
        "privacy.noise:ExactNoise.gaussian",
        "sampling.discrete_gaussian(float(sigma), exact.size, os.urandom)",
        "sampling.discrete_gaussian(float(sigma), exact.size, np.random.default_rng(0).bytes)",
        f"{NOISE}no_noise_is_used_twice",
    ),
    Mutant(
        "simulated answers share their noise",
        "privacy.noise:SimulatedNoise.gaussian",
        "self._generator.standard_normal(exact.shape)",
        "np.random.default_rng(0).standard_normal(exact.shape)",
        f"{NOISE}no_noise_is_used_twice",
    ),
    Mutant(
        "one noise for all entries",
        "privacy.noise:SimulatedNoise.gaussian",
        "self._generator.standard_normal(exact.shape)",
        "self._generator.standard_normal()",
        f"{NOISE}no_noise_is_used_twice",
    ),
    Mutant(
        "noise can be pickled",
        "privacy.noise:_Unshared.__reduce_ex__",
        ("def __reduce_ex__(self, protocol: object) -> NoReturn:\n    ..."),
        ("def refuse(self, protocol: object) -> NoReturn:\n    ..."),
        f"{NOISE}noise_is_neither_copied_nor_pickled_nor_shown",
    ),
    Mutant(
        "private runs are seeded",
        "privacy.noise:noise_for",
        "ExactNoise()",
        "SimulatedNoise(0)",
        f"{NOISE}noise_for_chooses_by_seed_and_says_which",
    ),
    Mutant(
        "longer answers than charged are released",
        "privacy.noise:ExactNoise.gaussian",
        "exact.shape != (calibration.entries,)",
        "exact.ndim != 1",
        f"{NOISE}an_answer_of_another_length_than_charged_is_refused",
    ),
    Mutant(
        "answers that are not finite are released",
        "privacy.noise:ExactNoise.gaussian",
        "not np.isfinite(steps).all()",
        "False",
        f"{NOISE}an_answer_that_is_not_finite_is_never_released_nor_quoted",
    ),
)

SPARSE_VECTOR = (
    Mutant(
        "threshold without noise", "privacy.laplace:above_threshold", "laplace(steps, epsilon / 2)", "0", SVT
    ),
    Mutant(
        "queries without noise",
        "privacy.laplace:above_threshold",
        "_to_lattice(query, exponent) + laplace(2 * steps, epsilon / 2)",
        "_to_lattice(query, exponent)",
        SVT,
    ),
    Mutant(
        "query noise as small as the threshold's",
        "privacy.laplace:above_threshold",
        "2 * steps",
        "steps",
        SVT,
    ),
    Mutant(
        "one noise for all queries",
        "privacy.laplace:above_threshold",
        (
            "for index, query in enumerate(queries):\n"
            "    if _to_lattice(query, exponent) + _ >= threshold:\n"
            "        return index"
        ),
        (
            "same = _\n"
            "for index, query in enumerate(queries):\n"
            "    if _to_lattice(query, exponent) + same >= threshold:\n"
            "        return index"
        ),
        SVT,
    ),
    Mutant(
        "threshold drawn again for every query",
        "privacy.laplace:above_threshold",
        ("if _:\n    return index"),
        ("threshold = laplace(steps, epsilon / 2)\nif _:\n    return index"),
        SVT,
    ),
    Mutant(
        "epsilon spent twice",
        "privacy.laplace:above_threshold",
        (
            "threshold = laplace(steps, epsilon / 2)\n"
            "for index, query in enumerate(queries):\n"
            "    if _to_lattice(query, exponent) + laplace(2 * steps, epsilon / 2) >= threshold:\n"
            "        return index"
        ),
        (
            "threshold = laplace(steps, epsilon)\n"
            "for index, query in enumerate(queries):\n"
            "    if _to_lattice(query, exponent) + laplace(2 * steps, epsilon) >= threshold:\n"
            "        return index"
        ),
        SVT,
    ),
    Mutant(
        "goes on after its answer",
        "privacy.laplace:above_threshold",
        ("for index, query in enumerate(queries):\n    if _:\n        return index\nreturn None"),
        (
            "for index, query in enumerate(queries):\n"
            "    if _:\n"
            "        found = index\n"
            "return locals().get('found')"
        ),
        "tests/privacy/test_sparse_vector.py::test_queries_are_computed_one_by_one_and_no_further_than_the_answer",
    ),
    Mutant(
        "a query's rounding forgotten",
        "privacy.laplace:above_threshold",
        "math.floor(math.ldexp(sensitivity, -exponent)) + 1",
        "math.floor(math.ldexp(sensitivity, -exponent))",
        "tests/privacy/test_sparse_vector.py -k rounding_to_the_lattice",
    ),
)
