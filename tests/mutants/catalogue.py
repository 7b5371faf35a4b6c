"""The defects. Names say what went wrong; `tests` are the fastest that must notice."""

from __future__ import annotations

from tests.mutants.harness import Mutant

CATALOGUE = (
    Mutant(
        "noise halved in simulation",
        "noise.py",
        "exact + calibration.scale * self._generator",
        "exact + 0.5 * calibration.scale * self._generator",
        "tests/test_oracle.py -k noise_released",
    ),
    Mutant(
        "noise scale halved at calibration",
        "lattice.py",
        "scale = rounded / mu * (1.0 + SLACK)",
        "scale = 0.5 * rounded / mu * (1.0 + SLACK)",
        "tests/test_lattice.py tests/test_oracle.py",
    ),
    Mutant(
        "charge skipped",
        "oracle.py",
        "        grant = self._run.charge(_event(query, calibration, entries))\n",
        "        from sottovoce.accounting import Grant\n\n"
        "        grant = Grant('0', _event(query, calibration, entries), units, 0)\n",
        "tests/test_oracle.py -k charged_once",
    ),
    Mutant(
        "ledger asked after the data",
        "oracle.py",
        "        grant = self._run.charge(_event(query, calibration, entries))\n"
        "        released = self._noise.gaussian(compute(), calibration)\n",
        "        exact = compute()\n"
        "        grant = self._run.charge(_event(query, calibration, entries))\n"
        "        released = self._noise.gaussian(exact, calibration)\n",
        "tests/test_oracle.py -k before_the_data",
    ),
    Mutant(
        "line search asked after the data",
        "oracle.py",
        "        self._run.charge(PureEvent(Query.LINE_SEARCH, epsilon))\n"
        "        line = self._risk.along(w, direction)\n",
        "        line = self._risk.along(w, direction)\n"
        "        self._run.charge(PureEvent(Query.LINE_SEARCH, epsilon))\n",
        "tests/test_oracle.py -k before_the_data",
    ),
    Mutant(
        "clipping skipped",
        "rows.py",
        "    rows[long] = unit[long] * reach[long, None]\n",
        "",
        "tests/test_records.py",
    ),
    Mutant(
        "clipping margin dropped",
        "rows.py",
        "CLIP_MARGIN = 2.0**-22",
        "CLIP_MARGIN = 0.0",
        "tests/test_records.py",
    ),
    Mutant(
        "sqrt2 dropped in svec",
        "symmetric.py",
        "SQRT2 = math.sqrt(2.0)",
        "SQRT2 = 1.0",
        "tests/test_symmetric.py",
    ),
    Mutant(
        "sensitivity over n + 1",
        "sensitivity.py",
        "return distance / n * _ROUND_UP",
        "return distance / (n + 1) * _ROUND_UP",
        "tests/test_sensitivity.py",
    ),
)
