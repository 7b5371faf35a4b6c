"""A real PostgreSQL server for the tests that need one."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A PostgreSQL server of Debian's package, on a socket in a folder of its own."""
    if not homes():
        pytest.skip("no PostgreSQL is installed")
    with running() as folder:
        monkeypatch.setenv("PGSERVICEFILE", str(folder / "services"))
        monkeypatch.setenv("PGPASSWORD", "hush")
        yield folder


def homes() -> list[Path]:
    """Where PostgreSQL is installed."""
    return sorted(Path("/usr/lib/postgresql").glob("*/bin"))


@contextmanager
def running() -> Iterator[Path]:
    """The folder of a running server; `services` in it names it as claims, its password is hush."""
    home = homes()[-1]
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    as_user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    if as_user:
        shutil.chown(folder, "postgres")
    control = [*as_user, str(home / "pg_ctl"), "-D", str(folder / "data"), "-w"]
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    secret = folder / "secret"
    secret.write_text("hush")
    if as_user:
        shutil.chown(secret, "postgres")
    initial = ["-U", "owner", "-A", "scram-sha-256", f"--pwfile={secret}"]
    subprocess.run([*as_user, str(home / "initdb"), "-D", str(folder / "data"), *initial], **quiet)  # type: ignore[call-overload]
    options = f"-k {folder} -c listen_addresses=''"
    subprocess.run([*control, "-o", options, "-l", str(folder / "log"), "start"], **quiet)  # type: ignore[call-overload]
    service = folder / "services"
    service.write_text(f"[claims]\nhost={folder}\nuser=owner\ndbname=postgres\n")
    try:
        yield folder
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], **quiet)  # type: ignore[call-overload]
        shutil.rmtree(folder, ignore_errors=True)
