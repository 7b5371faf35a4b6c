"""Signatures by OpenSSH's own `ssh-keygen -Y`, each for one use, which its namespace names.

What the tool prints is told only as far as it says whether a signature is good."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from sottovoce.errors import ParameterError, ResourceError

PROGRAM = "ssh-keygen"


def is_installed() -> bool:
    return shutil.which(PROGRAM) is not None


def require_installed() -> None:
    if not is_installed():
        raise ResourceError(f"signatures need the program {PROGRAM}, which is not installed here.")


def signature_of(content: bytes, key: Path, namespace: str) -> str:
    """The content signed by a private key, or by the agent that holds it."""
    require_installed()
    if not key.is_file():
        raise ParameterError(f"there is no key at {key} that can be read.")
    made = _ran([PROGRAM, "-Y", "sign", "-q", "-f", str(key), "-n", namespace], content)
    if made.returncode:
        raise ResourceError(f"{PROGRAM} could not sign with the key {key}.")
    return made.stdout.decode("ascii")


def signer_of(content: bytes, signature: str, signers: str, namespace: str) -> str | None:
    """Which of the signers, lines of OpenSSH's ALLOWED SIGNERS, signed this content for this use."""
    with tempfile.TemporaryDirectory() as folder:
        given, allowed = Path(folder) / "signature", Path(folder) / "signers"
        given.write_text(signature, encoding="utf-8")
        allowed.write_text(signers, encoding="utf-8")
        return signer_in_files(content, given, allowed, namespace)


def signer_in_files(content: bytes, signature: Path, signers: Path, namespace: str) -> str | None:
    """The same, of a signature and signers that are files."""
    require_installed()
    asked = ["-Y", "find-principals", "-s", str(signature), "-f", str(signers)]
    found = _ran([PROGRAM, *asked])
    for name in found.stdout.decode("utf-8", "replace").splitlines() if found.returncode == 0 else []:
        said = ["-Y", "verify", "-f", str(signers), "-I", name, "-n", namespace, "-s", str(signature)]
        if not _ran([PROGRAM, *said], content).returncode:
            return name
    return None


def is_of(content: bytes, signature: Path, namespace: str) -> bool:
    """Whether a signature is of this content for this use, whoever made it."""
    said = ["-Y", "check-novalidate", "-n", namespace, "-s", str(signature)]
    return _ran([PROGRAM, *said], content).returncode == 0


def _ran(command: list[str], given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, input=given, capture_output=True, check=False)
