"""The command line answers in its own words."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli import app, main


def test_the_version_is_printed() -> None:
    assert CliRunner().invoke(app, ["--version"]).output.strip() == sv.__version__


def test_a_refusal_names_options_and_not_arguments_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text("age,y\n1,no\nsecret,yes\n")
    schema = sv.Schema.from_dict(
        {
            "columns": {"age": {"type": "numeric", "low": 0, "high": 9}},
            "target": {"column": "y", "classes": ["no", "yes"]},
        }
    )
    (tmp_path / "s.toml").write_text(schema.to_toml())
    places = [str(tmp_path / "a.csv"), "--schema", str(tmp_path / "s.toml"), "-o", str(tmp_path / "m.json")]
    monkeypatch.setattr("sys.argv", ["sottovoce", "fit", *places, "--epsilon", "1", "--delta", "1e-3"])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == 1
    assert "--invalid zero" in said
    assert "invalid=" not in said
    assert "secret" not in said
