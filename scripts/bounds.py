"""Read the bounds in pyproject.toml: `bounds.py oldest | newest | requirements | extras | lock REPORT`.

`oldest` prints each requirement pinned to its lower bound and `newest` each as declared, as constraints for
pip; `requirements` the same with extras, to be installed; `extras` those that tests use, PyTorch's excepted;
`lock` the files that pip reports it would install, each with its hash and no address. Needs only pip."""

from __future__ import annotations

import hashlib
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
UNLISTED = ("docs", "torch")
"""Extras that no test needs, and PyTorch, whose version is in scripts/pins.txt."""


def project() -> dict[str, Any]:
    with PROJECT.open("rb") as file:
        found: dict[str, Any] = tomllib.load(file)["project"]
    return found


def extras() -> dict[str, list[str]]:
    optional: dict[str, list[str]] = project()["optional-dependencies"]
    return {name: wanted for name, wanted in optional.items() if name not in UNLISTED}


def requirements() -> list[Requirement]:
    """Every requirement of the package and of the extras tests use, each once."""
    texts = [*project()["dependencies"], *(text for wanted in extras().values() for text in wanted)]
    return [Requirement(text) for text in dict.fromkeys(texts)]


def bound(wanted: Requirement, operator: str) -> str:
    """The one bound of its kind; every requirement has a lower and an upper one."""
    (found,) = [each.version for each in wanted.specifier if each.operator == operator]
    return found


def locked(report: dict[str, Any]) -> list[str]:
    """name==version --hash=..., in order of name, for every file pip chose."""
    lines = []
    for item in report["install"]:
        named = item["metadata"]
        digest = _digest(item["download_info"])
        lines.append(f"{canonicalize_name(named['name'])}=={named['version']} --hash=sha256:{digest}")
    return sorted(lines)


def _digest(download: dict[str, Any]) -> str:
    known = download.get("archive_info", {}).get("hashes", {}).get("sha256")
    if known:
        return str(known)
    return hashlib.sha256(Path(download["url"].removeprefix("file://")).read_bytes()).hexdigest()


def main(asked: str, *given: str) -> None:
    if asked == "extras":
        print(",".join(extras()))
    elif asked == "lock":
        print("# Linux on x86-64, Python 3.11. Written by scripts/lock.")
        print("\n".join(locked(json.loads(Path(given[0]).read_text(encoding="utf-8")))))
    else:
        shape = {
            "oldest": lambda wanted: f"{wanted.name}=={bound(wanted, '>=')}",
            "newest": lambda wanted: f"{wanted.name}{wanted.specifier}",
            "requirements": str,
        }[asked]
        print("\n".join(dict.fromkeys(shape(wanted) for wanted in requirements())))


if __name__ == "__main__":
    main(*sys.argv[1:])
