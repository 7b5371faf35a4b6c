"""Run named tests against copies of the source with a defect each, in forks of one process.

Libraries are imported once, the package and its tests anew in every fork. A copy consists of hard links, so that
what is compiled, by Python and by numba, need not be compiled again unless the defect is in it."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.attacks.mutants.harness import ROOT, SOURCE, Mutant

KILLERS = Path(__file__).parent / "killers.json"
LIMIT = 600.0
"""Seconds after which tests that do not end are stopped, and count as failed: a defect may loop."""

ALREADY_IMPORTED = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
BROKEN = 70
"""Exit code of a fork in which pytest itself did not run."""

LIBRARIES = """
    hypothesis hypothesis.extra.numpy numpy scipy.stats scipy.optimize scipy.sparse.linalg scipy.integrate
    sklearn.linear_model sklearn.model_selection sklearn.pipeline numba opendp.prelude threadpoolctl sqlite3
    narwhals pandas pyarrow.parquet typer.testing rich.console rich.table rich.progress dp_accounting
"""
MANY = 20
HEAVY = "torch dask.dataframe distributed"
"""Imported beforehand where many defects are planted."""


@dataclass(frozen=True)
class Verdict:
    mutant: Mutant | None
    code: int
    test: str
    output: str
    seconds: float
    """Of the processor."""

    @property
    def killed(self) -> bool:
        """Whether a test failed. Anything but failure and success is an error of the catalogue."""
        if self.code not in (0, 1) or bool(self.code) != bool(self.test):
            name = self.mutant.name if self.mutant else "none"
            raise RuntimeError(
                f"mutant {name!r}: pytest ended with {self.code}, neither pass nor failure.\n{self.output}"
            )
        return self.code == 1


def verdicts(mutants: Iterable[Mutant | None], jobs: int, tests: str = "") -> Iterator[Verdict]:
    """One by one, as they end; for no mutant the named tests run on the sound source."""
    chosen = list(mutants)
    for library in (LIBRARIES + HEAVY if len(chosen) > MANY else LIBRARIES).split():
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
    waiting, running, known = iter(chosen), dict[int, _Trial](), killers()
    while True:
        while len(running) < jobs and (mutant := next(waiting, False)) is not False:
            hint = known.get(mutant.name, "") if mutant else ""
            trial = _Trial(mutant, mutant.tests if mutant else tests, hint)
            running[trial.pid] = trial
        if not running:
            return
        pid, status, used = os.wait4(-1, os.WNOHANG)
        if pid in running:
            seconds = used.ru_utime + used.ru_stime
            yield running.pop(pid).ended(os.waitstatus_to_exitcode(status), seconds)
            continue
        for trial in running.values():
            trial.stop_if_late()
        time.sleep(0.02)


class _Trial:
    def __init__(self, mutant: Mutant | None, tests: str, hint: str) -> None:
        self._mutant = mutant
        self._folder = tempfile.mkdtemp(prefix="mutant-")
        self._began = time.monotonic()
        self._late = False
        _plant(Path(self._folder), mutant)
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            code = BROKEN
            try:
                code = _tested(Path(self._folder), tests, hint)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)

    def stop_if_late(self) -> None:
        if time.monotonic() - self._began > LIMIT and not self._late:
            self._late = True
            os.kill(self.pid, signal.SIGKILL)

    def ended(self, code: int, seconds: float) -> Verdict:
        note, folder = Path(self._folder, "failed"), self._folder
        test = "out of time" if self._late else note.read_text("utf-8") if note.exists() else ""
        output = Path(folder, "output").read_text("utf-8", errors="replace")[-4000:]
        shutil.rmtree(folder, ignore_errors=True)
        return Verdict(self._mutant, 1 if self._late else code, test, output, seconds)


def _plant(folder: Path, mutant: Mutant | None) -> None:
    package = folder / "sottovoce"
    shutil.copytree(SOURCE, package, copy_function=linked)
    if mutant is not None:
        file = package / mutant.file
        file.unlink()  # a link: writing through it would change the source
        file.write_text(mutant.planted(), encoding="utf-8")
        for compiled in file.parent.glob(f"__pycache__/{file.stem}.*"):
            compiled.unlink()


def linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def killers() -> dict[str, str]:
    """Which test noticed a defect last time: the one to begin with."""
    return json.loads(KILLERS.read_text("utf-8")) if KILLERS.exists() else {}


def keep_killers(found: dict[str, str]) -> None:
    together = {name: test for name, test in {**killers(), **found}.items() if test}
    KILLERS.write_text(json.dumps(together, indent=0, sort_keys=True) + "\n", "utf-8")


class _FirstFailure:
    def __init__(self, note: Path, hint: str) -> None:
        self._note = note
        self._hint = hint

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: item.nodeid != self._hint)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self._note.exists():
            self._note.write_text(report.nodeid, "utf-8")


def _tested(folder: Path, tests: str, hint: str) -> int:
    """In the fork: exit code of the tests against the package in this folder."""
    with open(folder / "output", "wb") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    os.chdir(ROOT)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), str(ROOT)])
    os.environ["SOTTOVOCE_THREADS"] = "1"
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "sottovoce")]:
        del sys.modules[name]
    sys.path[:] = [
        str(folder),
        str(ROOT),
        *(entry for entry in sys.path if not (Path(entry) / "sottovoce").is_dir()),
    ]
    importlib.invalidate_caches()
    arguments = [
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        *ALREADY_IMPORTED,
        "--hypothesis-profile=unshrunk",
        *shlex.split(tests),
    ]
    return int(pytest.main(arguments, plugins=[_FirstFailure(folder / "failed", hint)]))
