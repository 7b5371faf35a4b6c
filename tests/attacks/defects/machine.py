"""Plant, load in a fork, attack, report: `python -m tests.attacks.defects 2000`."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from tests.attacks.defects.planting import Defect, Site, planted, sites
from tests.attacks.mutants.runner import HEAVY, LIBRARIES, linked

ROOT = Path(__file__).parents[3]
SECONDS = 0.8
"""Of the processor for the attacks on one defect."""

LATE = 90.0
"""Seconds after which a program that hangs is stopped."""


@dataclass(frozen=True)
class Sound:
    """What the attacks see of the sound source: a digest each, and the functions each of them calls."""

    seen: dict[str, str]
    called: dict[str, list[str]]
    seconds: dict[str, float]


@dataclass(frozen=True)
class Verdict:
    defect: Defect
    tried: int
    changed: bool
    broke: str
    failed: str = ""


class Machine:
    """Attacks on copies of the package in `source`, whose files in `base` are believed."""

    def __init__(
        self, source: Path, base: set[str], *, many: bool, jobs: int, seconds: float = SECONDS
    ) -> None:
        for library in (LIBRARIES + HEAVY if many else LIBRARIES).split():
            with contextlib.suppress(ImportError):
                importlib.import_module(library)
        self._source = source
        self._many = many
        self._jobs = jobs
        self._seconds = seconds
        files = sorted(path.relative_to(source).as_posix() for path in source.rglob("*.py"))
        self.outside = [file for file in files if file not in base and file != "_version.py"]
        self.sound: Sound = Sound(**self._in_fork(None, self._profile))
        self._callers: dict[str, set[str]] = {}
        for case, functions in self.sound.called.items():
            for function in functions:
                self._callers.setdefault(function, set()).add(case)

    def text(self, file: str) -> str:
        return (self._source / file).read_text("utf-8")

    def sample(self, numbers: Iterable[int], seed: int) -> Iterator[tuple[Defect, list[str]]]:
        """Defects that some attack meets, with these attacks; rooms by the root of their size.

        A room's places are those in functions that an attack calls, and what is written outside functions in
        files of which an attack calls any. Each is drawn by its own number, so that a study can be run in
        parts."""
        rooms: dict[str, list[Site]] = {}
        for file in self.outside:
            met = [site for site in sites(file, self.text(file)) if self.attacks_on(site)]
            rooms.setdefault(file.partition("/")[0], []).extend(met)
        rooms = {room: met for room, met in rooms.items() if met}
        names = list(rooms)
        shares = [len(rooms[name]) ** 0.5 for name in names]
        for number in numbers:
            draw = Random(f"{seed} {number}")
            site = draw.choice(rooms[draw.choices(names, shares)[0]])
            defect = replace(planted(site, self.text(site.file), draw), number=number)
            yield defect, self._order(self.attacks_on(site), draw)

    def _order(self, attacks: set[str], draw: Random) -> list[str]:
        """At random, quick ones sooner."""
        return sorted(sorted(attacks), key=lambda name: draw.random() * (0.05 + self.sound.seconds[name]))

    def reach(self) -> tuple[int, int]:
        """Places outside the base, and those among them that an attack meets."""
        places = [site for file in self.outside for site in sites(file, self.text(file))]
        return len(places), sum(bool(self.attacks_on(site)) for site in places)

    def attacks_on(self, site: Site) -> set[str]:
        if f"{site.file}:{site.function}" in self._callers:
            return self._callers[f"{site.file}:{site.function}"]
        outside_functions = site.function == "" or site.function.rpartition(".")[2][:1].isupper()
        return self._callers.get(site.file, set()) if outside_functions else set()

    def verdicts(self, defects: Iterator[tuple[Defect, list[str]]]) -> Iterator[Verdict]:
        running: dict[int, tuple[Defect, Path, float]] = {}
        while True:
            while len(running) < self._jobs and (chosen := next(defects, None)) is not None:
                defect, attacks = chosen
                folder = self._copy(defect)
                pid = self._forked(
                    folder, lambda defect=defect, attacks=attacks: self._attack(defect, attacks)
                )
                running[pid] = (defect, folder, time.monotonic())
            if not running:
                return
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid in running:
                defect, folder, _ = running.pop(pid)
                found = _read(folder)
                shutil.rmtree(folder, ignore_errors=True)
                yield Verdict(defect, **found)
                continue
            for pid, (_, _, began) in running.items():
                if time.monotonic() - began > LATE:
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)

    def _attack(self, defect: Defect, attacks: list[str]) -> dict[str, Any]:
        """In the fork: as many of the attacks that meet the defect as time allows."""
        tried, changed, began = 0, False, time.process_time()
        try:
            cases, broken = _cases(self._many)
        except BaseException as error:
            return {"tried": 0, "changed": True, "broke": "", "failed": f"on import: {type(error).__name__}"}
        for name in attacks:
            try:
                seen = cases[name]()
            except broken as why:
                return {"tried": tried + 1, "changed": True, "broke": f"{name}: {why}"}
            except BaseException as error:
                seen, changed = f"{type(error).__name__}", True
            tried += 1
            changed = changed or seen != self.sound.seen[name]
            if time.process_time() - began > self._seconds:
                break
        return {"tried": tried, "changed": changed, "broke": ""}

    def _profile(self) -> dict[str, Any]:
        """In a fork: every attack on the sound source, with the functions it calls."""
        cases, _ = _cases(self._many)
        package = f"{os.sep}sottovoce{os.sep}"
        found: dict[str, Any] = {"seen": {}, "called": {}, "seconds": {}}
        for name, case in cases.items():
            called: set[Any] = set()
            began = time.process_time()
            sys.setprofile(
                lambda frame, event, _, called=called: called.add(frame.f_code) if event == "call" else None
            )
            try:
                found["seen"][name] = case()
            finally:
                sys.setprofile(None)
            found["seconds"][name] = time.process_time() - began
            places = set()
            for code in called:
                if package in code.co_filename:
                    file = code.co_filename.rpartition(package)[2]
                    parts = [part for part in code.co_qualname.split(".") if not part.startswith("<")]
                    places |= {file, f"{file}:{'.'.join(parts)}"}
            found["called"][name] = sorted(places)
        return found

    def _copy(self, defect: Defect | None) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="defect-"))
        shutil.copytree(self._source, folder / "sottovoce", copy_function=linked)
        if defect is not None:
            file = folder / "sottovoce" / defect.site.file
            file.unlink()  # a link: writing through it would change the source
            file.write_text(defect.code, encoding="utf-8")
            for compiled in file.parent.glob(f"__pycache__/{file.stem}.*"):
                compiled.unlink()
        return folder

    def _in_fork(self, defect: Defect | None, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        folder = self._copy(defect)
        os.waitpid(self._forked(folder, work), 0)
        found = _read(folder)
        shutil.rmtree(folder, ignore_errors=True)
        if "failed" in found:
            raise RuntimeError(f"the attacks fail on the sound source: {found['failed']}")
        return found

    def _forked(self, folder: Path, work: Callable[[], dict[str, Any]]) -> int:
        sys.stdout.flush()
        sys.stderr.flush()
        if pid := os.fork():
            return pid
        try:
            _settle_in(folder)
            (folder / "found").write_text(json.dumps(work()), "utf-8")
        except BaseException:
            (folder / "failed").write_text(traceback.format_exc(), "utf-8")
        finally:
            os._exit(0)


def _read(folder: Path) -> dict[str, Any]:
    """What the fork found. One that was stopped or ran out of memory found nothing."""
    with contextlib.suppress(OSError, ValueError):
        return dict(json.loads((folder / "found").read_text("utf-8")))
    failed = folder / "failed"
    words = failed.read_text("utf-8") if failed.exists() else "stopped: it hangs, or takes all memory"
    return {"tried": 0, "changed": True, "broke": "", "failed": words}


def _settle_in(folder: Path) -> None:
    """Import the package from this folder, quietly and within bounds."""
    with open(folder / "output", "wb") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    resource.setrlimit(resource.RLIMIT_CPU, (300, 300))
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    os.environ["SOTTOVOCE_THREADS"] = "1"
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "sottovoce")]:
        del sys.modules[name]
    others = [entry for entry in sys.path if not (Path(entry) / "sottovoce").is_dir()]
    sys.path[:] = [str(folder), str(ROOT), *others]
    importlib.invalidate_caches()


def _cases(many: bool) -> tuple[dict[str, Callable[[], str]], type[Exception]]:
    """The attacks as they come with the package that is imported now."""
    cases = importlib.import_module("tests.attacks.defects.cases")
    watching = importlib.import_module("tests.attacks.defects.watching")
    return cases.cases(many), watching.Broken
