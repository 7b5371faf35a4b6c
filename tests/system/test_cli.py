"""The command line as a user meets it: outputs, exit codes, one clear line on failure, nothing half-done."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sottovoce import cli
from sottovoce.accounting import Budget
from sottovoce.data.schema import Schema, Target
from tests.tables import RANGE, TWO, write

BUDGET = ("--epsilon", "2", "--delta", "1e-5")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path / "claims.csv")
    (tmp_path / "schema.toml").write_text(TWO.to_toml(), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(err: str) -> list[str]:
    """Lines of an error, without the one that names `check` before anything is charged."""
    return [line for line in err.splitlines() if not line.startswith("sottovoce: nothing is charged yet")]


class Ran:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """Call the command line in this process and give its exit code and what it printed."""

    def call(*arguments: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["sottovoce", *arguments])
        with pytest.raises(SystemExit) as exit:
            cli.main()
        said = capsys.readouterr()
        return Ran(exit.value.code if isinstance(exit.value.code, int) else 0, said.out, said.err)

    return call


def fit(*more: str) -> tuple[str, ...]:
    return ("fit", "claims.csv", "--schema", "schema.toml", *BUDGET, "-o", "model.json", *more)


def test_from_file_to_model_page_and_predictions(folder: Path, run) -> None:  # type: ignore[no-untyped-def]
    done = run(*fit("--report", "report.html", "--inference", "0.3"))
    assert done.code == 0, done.err
    assert "(2, 1e-05)-differential privacy" in done.out
    assert "No ledger was charged" in done.out
    assert "claims" in (folder / "report.html").read_text(encoding="utf-8")
    again = run("report", "model.json", "-o", "again.html")
    assert again.code == 0
    assert (folder / "again.html").read_bytes() == (folder / "report.html").read_bytes()
    assert run("predict", "model.json", "claims.csv", "-o", "out.csv").code == 0
    rows = (folder / "out.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == '"prediction","probability of no","probability of yes"'
    assert len(rows) == 4001


def test_json_is_one_object_and_nothing_else(folder: Path, run) -> None:  # type: ignore[no-untyped-def]
    fitted = json.loads(run(*fit("--json", "--simulate", "3")).out)
    assert fitted["simulated"] is True
    assert fitted["guarantee"]["epsilon"] == 2.0
    assert json.loads(run("predict", "model.json", "claims.csv", "-o", "p.csv", "--json").out)["rows"] == 4000
    assert json.loads(run("report", "model.json", "-o", "r.html", "--json").out) == {"report": "r.html"}
    measured = json.loads(run("evaluate", "model.json", "claims.csv", *BUDGET, "--json").out)
    assert set(measured) == {
        "simulated",
        "ledger",
        "caveats",
        "relation",
        "unit",
        "accuracy",
        "majority rate",
        "log loss",
        "area under the ROC curve",
        "calibration",
        "confusion",
    }
    assert 0.7 < measured["accuracy"]["value"] < 1.0
    names = json.loads(run("schema", "claims.csv", "-o", "new.toml", "--json").out)["columns"]
    assert names == ["age", "income", "region", "claim", "risk", "cost"]


def test_a_ledger_counts_every_model_and_refuses_with_code_three(folder: Path, run) -> None:  # type: ignore[no-untyped-def]
    charged = ("--ledger", "budget.db", "--dataset", "claims")
    missing = run(*fit(*charged))
    assert missing.code == 1
    assert "ledger create" in missing.err
    assert run("ledger", "create", "budget.db", "--dataset", "claims", *BUDGET).code == 0
    twice = run("ledger", "create", "budget.db", "--dataset", "claims", *BUDGET)
    assert twice.code == 1
    assert run(*fit(*charged)).code == 0
    first = (folder / "model.json").read_bytes()
    refused = run(*fit(*charged, "--force"))
    assert refused.code == 3
    assert len(told(refused.err)) == 1
    assert "Nothing was released" in refused.err
    assert (folder / "model.json").read_bytes() == first
    shown = run("ledger", "show", "budget.db", "--charges")
    assert "gradient" in shown.out
    assert "claims" in shown.out
    assert json.loads(run("ledger", "show", "budget.db", "--json").out)["datasets"][0]["spent"] > 0.99
    assert run("ledger", "verify", "budget.db", "--anchor", "model.json").code == 0
    simulated = run(*fit(*charged, "--simulate", "1", "--force"))
    assert simulated.code == 1
    assert "simulated" in simulated.err


def test_evaluation_is_charged_and_shown(folder: Path, run) -> None:  # type: ignore[no-untyped-def]
    assert run(*fit()).code == 0
    assert run("ledger", "create", "test.db", "--dataset", "test", *BUDGET).code == 0
    charged = ("--ledger", "test.db", "--dataset", "test")
    shown = run("evaluate", "model.json", "claims.csv", *BUDGET, *charged)
    assert shown.code == 0, shown.err
    for words in ("accuracy 0.", "log loss 0.", "says yes", "by predicted probability"):
        assert words in shown.out
    assert run("evaluate", "model.json", "claims.csv", *BUDGET, *charged).code == 3


ODD = ("[/low]", "[low]", ":smile:", "\x1b[31mred")


def test_labels_that_look_like_markup_are_shown_as_they_are(folder: Path, run) -> None:  # type: ignore[no-untyped-def]
    """One ended the command after its charge, another vanished from the table."""
    rows = [line.split(",") for line in (folder / "claims.csv").read_text(encoding="utf-8").splitlines()]
    for number, row in enumerate(rows[1:]):
        row[3] = ODD[number % 4]
    (folder / "claims.csv").write_text("\n".join(map(",".join, rows)) + "\n", encoding="utf-8")
    schema = Schema(TWO.columns, Target("claim", ODD))
    (folder / "schema.toml").write_text(schema.to_toml(), encoding="utf-8")
    assert run(*fit("--report", "[low].html")).code == 0
    shown = run("evaluate", "model.json", "claims.csv", *BUDGET)
    assert shown.code == 0, shown.err
    assert "\nNo ledger was charged" in shown.out
    for label in (*ODD[:3], "\\x1b[31mred"):
        assert f"says {label}" in shown.out
    assert "\x1b" not in shown.out
    shown = run("evaluate", "[/no such] model\x1b[31m.json", "claims.csv", *BUDGET)
    assert shown.code == 1
    assert "[/no such] model\\x1b[31m.json" in shown.err


def test_a_file_that_states_an_epsilon_no_float_can_raise_e_to_is_reported(folder: Path, run) -> None:  # type: ignore[no-untyped-def]
    assert run(*fit()).code == 0
    for epsilon in (800.0, 1e300, -800.0):
        raw = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        raw["result"]["guarantee"]["epsilon"] = epsilon
        raw["result"].pop("lineage", None)
        raw.pop("checksum")
        (folder / "huge.json").write_text(json.dumps(raw), encoding="utf-8")
        done = run("report", "huge.json", "-o", "huge.html", "--force")
        assert "unexpected" not in done.err
    raw["result"]["guarantee"]["epsilon"] = 800.0
    (folder / "huge.json").write_text(json.dumps(raw), encoding="utf-8")
    assert run("report", "huge.json", "-o", "huge.html", "--force").code == 0
    assert "10<sup>348" in (folder / "huge.html").read_text(encoding="utf-8")


def test_a_range_is_fitted_and_measured(folder: Path, run) -> None:  # type: ignore[no-untyped-def]
    (folder / "schema.toml").write_text(RANGE.to_toml(), encoding="utf-8")
    assert run(*fit()).code == 0
    shown = run("evaluate", "model.json", "claims.csv", *BUDGET)
    assert "absolute error" in shown.out
    assert run("predict", "model.json", "claims.csv", "-o", "out.csv").code == 0


def test_a_schema_is_written_from_names_and_never_over_your_declarations(folder: Path, run) -> None:  # type: ignore[no-untyped-def]
    refused = run("schema", "claims.csv", "-o", "schema.toml")
    assert refused.code == 1
    assert "--force" in refused.err
    assert run("schema", "claims.csv", "-o", "new.toml").code == 0
    template = (folder / "new.toml").read_text(encoding="utf-8")
    assert '[columns."income"]' in template
    assert "north" not in template
    unfilled = run("fit", "claims.csv", "--schema", "new.toml", *BUDGET, "-o", "m.json")
    assert unfilled.code == 1
    assert "numeric" in unfilled.err


SECRET = "secret-value-7341"


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        ({"claims.csv": None}, "no file"),
        ({"claims.csv": ""}, "header"),
        ({"claims.csv": "age,income,region\n1,2,north\n"}, "no column 'claim'"),
        ({"claims.csv": f"age,income,region,claim\n1,{SECRET},north,yes\n"}, "no number"),
        ({"claims.csv": f"age,income,region,claim\n1,2,north,{SECRET}\n"}, "undeclared"),
        ({"claims.csv": "age,income,region,claim\n1,2\n"}, "has a line that is no record"),
        ({"claims.csv": "age,income,region,claim\n"}, "no rows"),
        ({"schema.toml": None}, "no schema"),
        ({"schema.toml": "columns = 3"}, "columns"),
        ({"schema.toml": "= ="}, "not valid TOML"),
    ],
)
def test_bad_files_are_one_clear_line_that_quotes_no_data(
    spoil: dict[str, str | None],
    words: str,
    folder: Path,
    run,  # type: ignore[no-untyped-def]
) -> None:
    for name, content in spoil.items():
        (folder / name).unlink()
        if content is not None:
            (folder / name).write_text(content, encoding="utf-8")
    before = sorted(path.name for path in folder.iterdir())
    done = run(*fit("--report", "report.html"))
    assert done.code == 1
    assert words in done.err
    assert len(told(done.err)) == 1
    assert SECRET not in done.err + done.out
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("predict", "schema.toml", "claims.csv", "-o", "out.csv"),
        ("predict", "none.json", "claims.csv", "-o", "out.csv"),
        ("report", "claims.csv", "-o", "report.html"),
        ("ledger", "show", "claims.csv"),
        ("ledger", "show", "none.db"),
        ("evaluate", "none.json", "claims.csv", *BUDGET),
        fit("--report", "none/report.html"),
        fit("--method", "newton"),
        fit("--loss", "hinge"),
        fit("--ledger", "claims.csv", "--dataset", "x"),
        fit("--ledger", "budget.db"),
        fit("--tolerance", "-1"),
    ],
    ids=lambda arguments: " ".join(arguments[:1] + arguments[-2:]),
)
def test_what_cannot_be_done_is_one_line_and_code_one(
    arguments: tuple[str, ...],
    folder: Path,
    run,  # type: ignore[no-untyped-def]
) -> None:
    before = sorted(path.name for path in folder.iterdir())
    done = run(*arguments)
    assert done.code == 1, done.err
    assert len(told(done.err)) == 1
    assert done.err.startswith("sottovoce: ")
    assert "Traceback" not in done.err
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(
    "arguments", [("fit",), ("fly",), ("fit", "a.csv", "--epsilon", "many"), ("ledger", "x")]
)
def test_a_usage_error_has_code_two(arguments: tuple[str, ...], run) -> None:  # type: ignore[no-untyped-def]
    done = run(*arguments)
    assert done.code == 2
    assert "Usage" in done.err


def test_what_other_libraries_raise_is_told_by_kind_only(
    folder: Path,
    run,  # type: ignore[no-untyped-def]
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def boom(*_: object, **__: object) -> None:
        raise ValueError(f"could not convert {SECRET}")

    monkeypatch.setattr("sottovoce.data.files.read_compact", boom)
    done = run(*fit())
    assert done.code == 1
    assert SECRET not in done.err
    assert "ValueError" in done.err


def test_a_plan_needs_no_data(folder: Path, run) -> None:  # type: ignore[no-untyped-def]
    (folder / "claims.csv").unlink()
    shown = run("plan", "--rows", "500000", "--schema", "schema.toml", *BUDGET)
    assert shown.code == 0, shown.err
    assert "can expect to certify" in shown.out
    asked = json.loads(
        run("plan", "--rows", "1000", "--weights", "6", *BUDGET, "--tolerance", "1e-3", "--json").out
    )
    assert asked["feasible"] is False
    assert asked["nearest"]["n"] > 1000
    both = run("plan", "--rows", "9", *BUDGET)
    assert both.code == 1
    assert "--weights" in both.err


def test_a_plan_covers_many_classes_and_the_papers_methods(run) -> None:  # type: ignore[no-untyped-def]
    options = ("plan", "--rows", "20000", "--weights", "4", *BUDGET, "--json")
    many = json.loads(run(*options, "--classes", "3", "--method", "2opt-ls").out)
    assert many["weights"] == 12
    assert many["first_steps"] < many["steps"]
    paper = json.loads(
        run(*options, "--method", "opt", "--calibration", "published", "--tolerance", "0.2").out
    )
    assert paper["calibration"] == "published"
    assert paper["tolerance"]["curvature"] == pytest.approx(0.2**0.5)
    alone = run(*options, "--curvature", "0.1")
    assert alone.code == 1
    assert "--tolerance" in alone.err


def test_every_command_explains_itself(run) -> None:  # type: ignore[no-untyped-def]
    top = run("--help")
    assert top.code == 0
    for name in ("demo", "schema", "plan", "fit", "predict", "evaluate", "report", "ledger", "audit"):
        assert f" {name} " in top.out
        assert run(name, "--help").code == 0


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; import sottovoce.cli; "
        "print([name for name in ('numpy', 'scipy', 'sklearn', 'pyarrow', 'opendp') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("proved", "code"), [(0.2, 0), (1.7, 1)])
def test_an_audit_says_what_it_proved_and_fails_when_the_claim_is_refuted(
    proved: float,
    code: int,
    run,  # type: ignore[no-untyped-def]
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from sottovoce.audit import attack as audit

    def attacked(method: str, claim: Budget, **options: object) -> audit.Audit:
        return audit.Audit(
            subject=method,
            relation=claim.relation,
            epsilon=claim.epsilon,
            delta=claim.delta,
            runs=200,
            confidence=0.999,
            epsilon_at_least=proved,
            mu=None,
            mu_at_least=0.0,
        )

    monkeypatch.setattr(audit, "audit", attacked)
    shown = run("audit", "--runs", "200")
    assert shown.code == code
    assert "audit of majorize" in shown.out
    assert json.loads(run("audit", "--json").out)["flagged"] is (code == 1)


def test_without_the_studies_their_command_says_where_they_are_whatever_it_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sottovoce.cli import studies

    monkeypatch.setattr(studies, "find_spec", lambda name: None)
    monkeypatch.setattr(
        "sys.argv", ["sottovoce", "reproduce", "ijcnn1", "--methods", "majorize", "-o", "out"]
    )
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert "not part of the wheel" in capsys.readouterr().err
