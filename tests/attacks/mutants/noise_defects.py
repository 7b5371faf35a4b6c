"""Noise that is too small, reused, seeded or put on the wrong lattice, and broken sparse vectors."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

NOISE = "tests/privacy/test_noise.py::test_"
SCALE = "tests/privacy/test_noise_scale.py"
LATTICE = "tests/privacy/test_lattice.py"
SVT = "tests/privacy/test_sparse_vector.py::test_every_query_gets_noise_of_its_own_and_twice_the_threshold_s_shift"

_SIMULATED = "exact + calibration.scale * self._generator"
_OPENDP = "        calibration.scale,\n        k=calibration.exponent,"
_VECTORIZED = "np.ldexp(calibration.scale, -calibration.exponent)"
_SCALE = "scale = rounded / mu * (1.0 + SLACK)"
_ROUNDED = "(sensitivity + math.ldexp(math.sqrt(entries), exponent))"
_COMPARED = "        if _to_lattice(query, exponent) + laplace(2 * moves, epsilon / 2) >= threshold:"
_THRESHOLD = "    threshold = laplace(moves, epsilon / 2)\n"

SCALES = (
    Mutant(
        "simulated noise 1 % small",
        "privacy/noise.py",
        _SIMULATED,
        "exact + 0.99 * calibration.scale * self._generator",
        SCALE,
    ),
    Mutant(
        "simulated noise 5 % small",
        "privacy/noise.py",
        _SIMULATED,
        "exact + 0.95 * calibration.scale * self._generator",
        SCALE,
    ),
    Mutant(
        "simulated noise halved",
        "privacy/noise.py",
        _SIMULATED,
        "exact + 0.5 * calibration.scale * self._generator",
        "tests/privacy/test_oracle.py -k noise_released",
    ),
    Mutant(
        "exact noise 1 % small", "privacy/noise.py", _OPENDP, _OPENDP.replace("cal", "0.99 * cal", 1), SCALE
    ),
    Mutant(
        "exact noise 5 % small", "privacy/noise.py", _OPENDP, _OPENDP.replace("cal", "0.95 * cal", 1), SCALE
    ),
    Mutant("long answers' noise 1 % small", "privacy/noise.py", _VECTORIZED, f"0.99 * {_VECTORIZED}", SCALE),
    Mutant("long answers' noise halved", "privacy/noise.py", _VECTORIZED, f"0.5 * {_VECTORIZED}", SCALE),
    Mutant(
        "calibration 1 % small",
        "privacy/noise.py",
        _SCALE,
        _SCALE.replace("rounded", "0.99 * rounded"),
        f"{LATTICE}::test_the_charge_never_exceeds_what_was_asked_and_covers_rounding",
    ),
    Mutant(
        "calibration 5 % small",
        "privacy/noise.py",
        _SCALE,
        _SCALE.replace("rounded", "0.95 * rounded"),
        LATTICE,
    ),
    Mutant(
        "calibration halved",
        "privacy/noise.py",
        _SCALE,
        _SCALE.replace("rounded", "0.5 * rounded"),
        LATTICE,
    ),
    Mutant(
        "variance taken for deviation",
        "privacy/noise.py",
        "mu = math.sqrt(mu_squared)",
        "mu = mu_squared",
        LATTICE,
    ),
    Mutant("rounding to the lattice forgotten", "privacy/noise.py", _ROUNDED, "sensitivity", LATTICE),
    Mutant(
        "rounding counted for one entry",
        "privacy/noise.py",
        _ROUNDED,
        "(sensitivity + math.ldexp(1.0, exponent))",
        LATTICE,
    ),
    Mutant("lattice too coarse", "privacy/noise.py", "[1] - 1 - BITS", "[1] + 19 - BITS", LATTICE),
    Mutant(
        "simulated Laplace noise 5 % small",
        "privacy/noise.py",
        "laplace(0.0, moves / epsilon)",
        "laplace(0.0, 0.95 * moves / epsilon)",
        f"{NOISE}simulated_laplace_noise_has_the_same_scale",
    ),
    Mutant(
        "exact Laplace noise 5 % small",
        "privacy/noise.py",
        "scale = moves / epsilon * (1.0 + SLACK)",
        "scale = 0.95 * moves / epsilon",
        f"{NOISE}exact_laplace_noise_has_scale_moves_over_epsilon",
    ),
    Mutant(
        "OpenDP's own map not asserted",
        "privacy/noise.py",
        "if not loss <= charged:",
        "if loss < 0.0:",
        f"{NOISE}noise_that_costs_more_than_the_charge_is_refused",
    ),
    Mutant(
        "wrong density in the discrete Gaussian",
        "privacy/sampling.py",
        "- 0.5 * ratio * ratio -",
        "- 0.55 * ratio * ratio -",
        "tests/privacy/test_discrete_gaussian.py",
    ),
    Mutant(
        "zero drawn with both signs",
        "privacy/sampling.py",
        "    keep &= (magnitude > 0) | ~negative\n",
        "",
        "tests/privacy/test_discrete_gaussian.py -k one_sign",
    ),
)

REUSED = (
    Mutant(
        "long answers share their noise",
        "privacy/noise.py",
        "exact.size, os.urandom)",
        "exact.size, np.random.default_rng(0).bytes)",
        f"{NOISE}no_noise_is_used_twice",
    ),
    Mutant(
        "simulated answers share their noise",
        "privacy/noise.py",
        "self._generator.standard_normal(exact.shape)",
        "np.random.default_rng(0).standard_normal(exact.shape)",
        f"{NOISE}no_noise_is_used_twice",
    ),
    Mutant(
        "one noise for all entries",
        "privacy/noise.py",
        "self._generator.standard_normal(exact.shape)",
        "self._generator.standard_normal()",
        f"{NOISE}no_noise_is_used_twice",
    ),
    Mutant(
        "noise can be pickled",
        "privacy/noise.py",
        "def __reduce_ex__(self, protocol: object) -> NoReturn:",
        "def refuse(self, protocol: object) -> NoReturn:",
        f"{NOISE}noise_is_neither_copied_nor_pickled_nor_shown",
    ),
    Mutant(
        "private runs are seeded",
        "privacy/noise.py",
        "return ExactNoise() if simulate is None",
        "return SimulatedNoise(0) if simulate is None",
        f"{NOISE}noise_for_chooses_by_seed_and_says_which",
    ),
    Mutant(
        "longer answers than charged are released",
        "privacy/noise.py",
        "if exact.shape != (calibration.entries,):",
        "if exact.ndim != 1:",
        f"{NOISE}an_answer_of_another_length_than_charged_is_refused",
    ),
    Mutant(
        "answers that are not finite are released",
        "privacy/noise.py",
        "if not np.isfinite(steps).all():",
        "if False:",
        f"{NOISE}an_answer_that_is_not_finite_is_never_released_nor_quoted",
    ),
)

SPARSE_VECTOR = (
    Mutant("threshold without noise", "privacy/noise.py", _THRESHOLD, "    threshold = 0\n", SVT),
    Mutant(
        "queries without noise",
        "privacy/noise.py",
        _COMPARED,
        "        if _to_lattice(query, exponent) >= threshold:",
        SVT,
    ),
    Mutant(
        "query noise as small as the threshold's",
        "privacy/noise.py",
        _COMPARED,
        _COMPARED.replace("2 * moves", "moves"),
        SVT,
    ),
    Mutant(
        "one noise for all queries",
        "privacy/noise.py",
        f"{_THRESHOLD}    for index, query in enumerate(queries):\n{_COMPARED}",
        f"{_THRESHOLD}    same = laplace(2 * moves, epsilon / 2)\n"
        "    for index, query in enumerate(queries):\n"
        "        if _to_lattice(query, exponent) + same >= threshold:",
        SVT,
    ),
    Mutant(
        "threshold drawn again for every query",
        "privacy/noise.py",
        _COMPARED,
        f"        threshold = laplace(moves, epsilon / 2)\n{_COMPARED}",
        SVT,
    ),
    Mutant(
        "epsilon spent twice",
        "privacy/noise.py",
        f"{_THRESHOLD}    for index, query in enumerate(queries):\n{_COMPARED}",
        f"{_THRESHOLD}    for index, query in enumerate(queries):\n{_COMPARED}".replace(
            "epsilon / 2", "epsilon"
        ),
        SVT,
    ),
    Mutant(
        "goes on after its answer",
        "privacy/noise.py",
        "            return index\n    return None",
        "            found = index\n    return locals().get('found')",
        "tests/privacy/test_sparse_vector.py::test_queries_are_computed_one_by_one_and_no_further_than_the_answer",
    ),
    Mutant(
        "a query's rounding forgotten",
        "privacy/noise.py",
        "math.floor(math.ldexp(sensitivity, -exponent)) + 1",
        "math.floor(math.ldexp(sensitivity, -exponent))",
        "tests/privacy/test_sparse_vector.py -k rounding_to_the_lattice",
    ),
)
