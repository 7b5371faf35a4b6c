"""Signatures of model files, made and checked by the system's own tools: OpenSSH's or minisign's.

A signature lies beside its file: model.json.sig of ssh-keygen, model.json.minisig of minisign. It is over the
bytes of the file. What the tools print is told only as far as they say whether a signature is good."""

from __future__ import annotations

import shutil
import subprocess
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from sottovoce import openssh
from sottovoce.errors import DataError, ParameterError, ResourceError

NAMESPACE = "sottovoce"
"""What ssh's signatures are for, so that none made for another use is taken."""


class Tool(ABC):
    """A program that signs files and checks signatures."""

    program: ClassVar[str]
    suffix: ClassVar[str]

    def beside(self, path: Path) -> Path:
        return path.with_name(path.name + self.suffix)

    @abstractmethod
    def sign(self, path: Path, key: Path) -> list[str]:
        """The command that signs."""

    @abstractmethod
    def is_good(self, path: Path, signers: Path) -> bool:
        """Whether one of the signers signed the file as it is."""

    def matches(self, path: Path) -> bool:
        """Whether the signature is of the file as it is, whoever made it; where that cannot be told: yes."""
        return True


class OpenSsh(Tool):
    program, suffix = openssh.PROGRAM, ".sig"

    def sign(self, path: Path, key: Path) -> list[str]:
        return [self.program, "-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(path)]

    def is_good(self, path: Path, signers: Path) -> bool:
        signature = self.beside(path)
        return openssh.signer_in_files(path.read_bytes(), signature, signers, NAMESPACE) is not None

    def matches(self, path: Path) -> bool:
        return openssh.is_of(path.read_bytes(), self.beside(path), NAMESPACE)


class Minisign(Tool):
    program, suffix = "minisign", ".minisig"

    def sign(self, path: Path, key: Path) -> list[str]:
        return [self.program, "-S", "-s", str(key), "-m", str(path)]

    def is_good(self, path: Path, signers: Path) -> bool:
        checked = [self.program, "-V", "-q", "-p", str(signers), "-m", str(path)]
        return subprocess.run(checked, capture_output=True, check=False).returncode == 0


TOOLS = (OpenSsh(), Minisign())


def require_key(key: Path) -> Tool:
    """The tool that a key is for; refused, before anything is charged, where key or tool is not there."""
    try:
        start = key.read_bytes()[:64]
    except OSError:
        raise ParameterError(f"there is no key at {key} that can be read.") from None
    tool = TOOLS[1] if start.startswith(b"untrusted comment:") else TOOLS[0]
    _require_program(tool)
    return tool


def signed(path: Path, key: Path, *, force: bool = False) -> Path:
    """Sign a file; where its signature is."""
    tool = require_key(key)
    signature = tool.beside(path)
    if signature.exists() and not force:
        raise DataError(f"{path} is written, and not signed: {signature} exists. Remove it, or add --force.")
    signature.unlink(missing_ok=True)
    if subprocess.run(tool.sign(path, key), stdout=subprocess.DEVNULL).returncode or not signature.exists():
        raise ResourceError(
            f"{path} is written, and not signed: {tool.program} failed. Sign it by hand: "
            f"{' '.join(tool.sign(path, key))}"
        )
    return signature


def require_signed(path: Path, signers: Path | None) -> None:
    """Refuse a file whose signature is not of the file as it is, or not of one of these signers."""
    there = [tool for tool in TOOLS if tool.beside(path).is_file()]
    if signers is None:
        for tool in there:
            if shutil.which(tool.program) is not None and not tool.matches(path):
                raise DataError(
                    f"the signature {tool.beside(path)} is not of {path} as it is: the file was changed "
                    "since, or the signature is of another. Take both again from where they were "
                    "published."
                )
        return
    if not signers.is_file():
        raise ParameterError(f"there is no file of signers at {signers}.")
    if not there:
        raise DataError(f"{path} is not signed: there is no {TOOLS[0].beside(path).name} beside it.")
    for tool in there:
        _require_program(tool)
    if not any(tool.is_good(path, signers) for tool in there):
        raise DataError(
            f"none of the signers in {signers} signed {path} as it is. Take it again from where it was "
            "published, and ask its publisher for the key."
        )


def _require_program(tool: Tool) -> None:
    if shutil.which(tool.program) is None:
        raise ResourceError(f"signatures need the program {tool.program}, which is not installed here.")
