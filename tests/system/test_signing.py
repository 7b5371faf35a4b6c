"""Model files that were changed, or are not of who should have made them, are refused by name."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.cli import signing
from sottovoce.cli.output import load_model, saved_run
from sottovoce.errors import DataError, ParameterError, ResourceError
from sottovoce.files import require_unchanged
from sottovoce.model import Model
from tests.system.test_outputs import BUDGET, CHARGED, FIT, Shell
from tests.tables import TWO, write

needs_ssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    table = write(folder / "claims.csv", n=300)
    sv.fit(table, TWO, epsilon=1.0, delta=1e-5, method="majorize", simulate=0).save(folder / "model.json")
    return folder / "model.json"


@pytest.fixture
def copy(file: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(file, tmp_path / "model.json"))


def key(folder: Path, name: str) -> Path:
    made = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(made)], check=True)
    return made


def signers(folder: Path, *keys: Path) -> Path:
    lines = [f"{made.name}@example.org {made.with_suffix('.pub').read_text()}" for made in keys]
    (folder / "signers").write_text("".join(lines))
    return folder / "signers"


def leaves(raw: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where every number, text and truth of a file stands."""
    if isinstance(raw, dict):
        return [leaf for name, value in raw.items() for leaf in leaves(value, (*path, name))]
    if isinstance(raw, list):
        return [leaf for place, value in enumerate(raw) for leaf in leaves(value, (*path, place))]
    return [path]


def test_whatever_a_model_file_states_is_under_its_checksum(file: Path) -> None:
    raw = json.loads(file.read_text())
    stated = [leaf for leaf in leaves(raw) if leaf != ("checksum",)]
    assert len(stated) > 50
    for leaf in stated:
        forged = json.loads(file.read_text())
        inner = forged
        for step in leaf[:-1]:
            inner = inner[step]
        inner[leaf[-1]] = "another" if inner[leaf[-1]] != "another" else "other"
        with pytest.raises(DataError):
            require_unchanged(forged)
    for name in raw:
        if name != "checksum":
            with pytest.raises(DataError):
                require_unchanged({other: value for other, value in raw.items() if other != name})
    with pytest.raises(DataError):
        require_unchanged({**raw, "further": 1})


@pytest.mark.parametrize("change", ["weight", "purpose"])
def test_a_value_that_was_changed_is_noticed_wherever_the_file_is_read(change: str, copy: Path) -> None:
    """Values that nothing else in the file contradicts: only the checksum tells."""
    raw = json.loads(copy.read_text())
    if change == "weight":
        raw["result"]["weights"][0] += 0.5
    else:
        raw["purpose"] = "another"
    copy.write_text(json.dumps({name: value for name, value in raw.items() if name != "checksum"}))
    Model.load(copy)
    copy.write_text(json.dumps(raw))
    for read in (Model.load, load_model, saved_run):
        with pytest.raises(DataError):
            read(copy)


def test_layout_and_order_are_no_change_and_older_files_are_taken(copy: Path) -> None:
    raw = json.loads(copy.read_text())
    expected = Model.load(copy).to_dict()
    copy.write_text(json.dumps(dict(reversed(raw.items()))))
    assert Model.load(copy).to_dict() == expected
    del raw["checksum"]
    copy.write_text(json.dumps(raw))
    assert Model.load(copy).to_dict() == expected


@needs_ssh
def test_a_signature_is_of_one_file_and_of_who_made_it(copy: Path, tmp_path: Path) -> None:
    ours, theirs = key(tmp_path, "ours"), key(tmp_path, "theirs")
    known = signers(tmp_path, ours)
    with pytest.raises(DataError):
        load_model(copy, known)
    assert signing.signed(copy, ours) == tmp_path / "model.json.sig"
    load_model(copy, known)
    load_model(copy)
    with pytest.raises(DataError):
        load_model(copy, signers(tmp_path, theirs))
    with pytest.raises(ParameterError):
        load_model(copy, tmp_path / "nobody")
    with pytest.raises(DataError):
        signing.signed(copy, theirs)
    copy.write_text(copy.read_text().replace("\n", "\n "))
    Model.load(copy)
    for known_as in (signers(tmp_path, ours), None):
        with pytest.raises(DataError):
            load_model(copy, known_as)
    signing.signed(copy, theirs, force=True)
    load_model(copy)
    with pytest.raises(DataError):
        load_model(copy, signers(tmp_path, ours))
    load_model(copy, signers(tmp_path, ours, theirs))


@needs_ssh
def test_a_signature_made_for_another_use_is_none(copy: Path, tmp_path: Path) -> None:
    ours = key(tmp_path, "ours")
    made = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(ours), "-n", "file", str(copy)]
    subprocess.run(made, check=True, capture_output=True)
    with pytest.raises(DataError):
        load_model(copy, signers(tmp_path, ours))
    with pytest.raises(DataError):
        load_model(copy)


def test_what_cannot_sign_is_found_out_before_anything_is_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell(tmp_path, monkeypatch, capsys)
    shell.refuses(*FIT, *CHARGED, "-o", "model.json", "--sign", "nokey", words="no key")
    (tmp_path / "key").write_text("a key")
    monkeypatch.setenv("PATH", str(tmp_path))
    shell.refuses(*FIT, *CHARGED, "-o", "model.json", "--sign", "key", words="not installed")
    (tmp_path / "key").write_text("untrusted comment: minisign encrypted secret key\n")
    shell.refuses(*FIT, *CHARGED, "-o", "model.json", "--sign", "key", words="minisign")


@needs_ssh
def test_commands_sign_and_refuse_what_is_not_signed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell(tmp_path, monkeypatch, capsys)
    known = str(signers(tmp_path, key(tmp_path, "ours")))
    quick = ("--method", "majorize", "--simulate", "0", "-q")
    assert shell(*FIT, *quick, "-o", "model.json", "--sign", "ours")[0] == 0
    (tmp_path / "other.json").write_bytes((tmp_path / "model.json").read_bytes())
    commands = (
        ("report", "{}", "-o", "{}.html"),
        ("predict", "{}", "claims.csv", "-o", "{}.csv"),
        ("evaluate", "{}", "claims.csv", *BUDGET, "--simulate", "0"),
    )
    for command in commands:
        for name, code in (("model.json", 0), ("other.json", 1)):
            asked = [part.replace("{}", name) for part in command]
            assert shell(*asked, "--signers", known)[0] == code
    (tmp_path / "bad").write_text("no key at all")
    code, said = shell(*FIT, *quick, "-o", "third.json", "--sign", "bad")
    assert code == 1
    assert "third.json is written, and not signed" in said
    with pytest.raises(ResourceError):
        signing.signed(tmp_path / "third.json", tmp_path / "bad")
    Model.load(tmp_path / "third.json")
