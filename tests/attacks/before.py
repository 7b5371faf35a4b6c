"""What a tree does at doors that 984a9f2 left open and that tests of today cannot be run against there.

`PYTHONPATH=/path/of/a/tree/src python tests/attacks/before.py` prints a line a behaviour, by the item of the
list of doors; `git worktree add /tmp/old 984a9f2` gives the other tree. Only what both offer is called."""

# ruff: noqa: T201 - a study prints what it found

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sottovoce as sv
from sottovoce import cli
from sottovoce.data.schema import Categorical, Numeric, Schema, Target

SCRIPT = "<script>alert(1)</script>"
BUDGET = sv.Budget(1.0, 1e-5)


def show(item: int, what: str, found: object) -> None:
    print(f"{item}: {what}: {found}", flush=True)


def refused(call: Any) -> str:
    try:
        return f"taken ({call()})"
    except sv.errors.SottovoceError as refusal:
        return f"refused ({str(refusal)[:70]})"
    except Exception as error:
        return f"raw {type(error).__name__}"


def run(*words: object) -> tuple[object, str]:
    """The exit status of a command, and what it said."""
    sys.argv, said, code = ["sottovoce", *map(str, words)], io.StringIO(), 0
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
    return code, said.getvalue()


def persons() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(39, 2)) / 4.0, rng.choice([-1, 1], 39)
    told: dict[str, Any] = {"labels": (-1, 1), "groups": np.arange(39)}
    risk = sv.Risk(sv.Records.from_arrays(X, y, **told), sv.losses.Logistic(), sv.regularizers.L2(1e-2))
    show(3, "counted persons", sv.minimize(risk, budget=BUDGET, method="majorize").guarantee)
    blank = told | {"groups": [None, *range(1, 39)], "invalid": "zero"}
    show(3, "a blank key among counted persons", refused(lambda: sv.Records.from_arrays(X, y, **blank).n))
    found = set()
    for shift in range(6):
        many = rng.normal(size=(200, 2))
        search = sv.PrivateSearch(
            sv.PrivateClassifier(classes=(-1, 1), method="majorize"),
            {"strength": [1e-6, 1.0]},
            epsilon=4.0,
            delta=1e-5,
            simulate=0,
        )
        keys = np.arange(200) // 2 + 1000 * shift
        search.fit(many, np.where(many[:, 0] > 0, 1, -1), groups=keys)
        found.add(search.results_[0].guarantee.n)
    show(4, "persons a search trains on, of 100 under six sets of keys", found)


def scores() -> None:
    """Each person's score is the gradient of a risk over its rows alone."""
    rng = np.random.default_rng(2)
    X, y, w = rng.normal(size=(60, 2)) / 3.0, rng.poisson(2.0, 60) / 20.0, np.array([0.3, -0.2])

    def risk(rows: slice, keys: Any) -> Any:
        records = sv.Records.from_arrays(X[rows], y[rows], target=(0.0, 1.0), groups=keys)
        return sv.Risk(records, sv.losses.Poisson(20.0))

    moment = risk(slice(None), np.arange(60) // 3).score_moment(w)
    alone = [risk(slice(at, at + 3), [0, 0, 0]).gradient(w) for at in range(0, 60, 3)]
    right = np.mean([np.outer(score, score) for score in alone], axis=0)
    show(15, "moment of persons' scores of counts over the right one", np.trace(moment) / np.trace(right))


def files(folder: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 90, 400), "region": rng.choice(["north", "south"], 400)})
    table["claim"] = rng.choice(["no", "yes"], 400)
    schema = Schema((Numeric("age", 18, 110), Categorical("region", ("north", "south"))))
    schema = Schema(schema.columns, Target("claim", ("no", "yes")))
    model = sv.fit(table, schema, epsilon=1.0, delta=1e-5, method="majorize")
    model.save(folder / "m.json")
    raw = json.loads((folder / "m.json").read_text(encoding="utf-8"))
    (folder / "f.json").write_text(json.dumps(_forged(raw)), encoding="utf-8")
    run("report", folder / "f.json", "-o", folder / "r.html")
    page = (folder / "r.html").read_text(encoding="utf-8") if (folder / "r.html").exists() else ""
    show(10, "a script in the page of a forged unit", SCRIPT in page)
    for field in ("nothing", "loss", "created"):
        forged = {name: value for name, value in raw.items() if name != "checksum"}
        forged |= {field: {"a": 1}} if field in raw else {}
        (folder / "g.json").write_text(json.dumps(forged), encoding="utf-8")
        show(17, f"a forged {field}", refused(lambda: type(sv.Model.load(folder / "g.json")).__name__))
    show(12, "two features of one name", refused(_one_name_twice))
    run("export", folder / "m.json", "--format", "r", "-o", folder / "m.R")
    if shutil.which("Rscript"):
        row = f'data.frame(age={table.age[0]}, region="{table.region[0]}")'
        asked = f'source("{folder / "m.R"}"); print(as.numeric(predict(model, {row}))[[2]], digits=10)'
        done = subprocess.run(["Rscript", "-e", asked], capture_output=True, text=True, check=False)
        chance = float(model.predict_proba(table[:1])[0, 1])
        show(13, "predict in R", f"{done.stdout.strip() or 'fails'}; the model says {chance:.10f}")


def _one_name_twice() -> str:
    Schema((Categorical("x", ("1", "2")), Numeric("x=1", 0.0, 1.0)), Target("y", ("no", "yes")))
    return "schema"


def _forged(raw: Any) -> Any:
    if isinstance(raw, list):
        return [_forged(part) for part in raw]
    if not isinstance(raw, dict):
        return raw
    texts = {name for name, value in raw.items() if name == "unit" and isinstance(value, str)}
    return {
        name: SCRIPT if name in texts else _forged(value) for name, value in raw.items() if name != "checksum"
    }


def commands(folder: Path) -> None:
    rng = np.random.default_rng(1)
    pairs = zip(rng.choice(["male", "female"], 300), rng.choice(["no", "yes"], 300), strict=True)
    rows = [f"{sex},{number},{claim}" for number, (sex, claim) in enumerate(pairs)]
    (folder / "t.csv").write_text("\n".join(["sex,patient_id,claim", *rows]) + "\n", encoding="utf-8")
    declared = '[columns.sex]\ntype="categorical"\ncategories=["Male","Female"]\n'
    declared += '[target]\ncolumn="claim"\nclasses=["no","yes"]\n'
    (folder / "s.toml").write_text(declared, encoding="utf-8")
    told = (folder / "t.csv", "--schema", folder / "s.toml")
    show(18, "status of check where no declared category occurs", run("check", *told)[0])
    budget = ("--epsilon", 1, "--delta", 1e-5, "--method", "majorize", "-o", folder / "n.json")
    said = run("fit", *told, *budget)[1]
    show(18, "fit speaks of patient_id, and of check", ("patient_id" in said, "sottovoce check" in said))


def main() -> None:
    warnings.simplefilter("ignore")
    persons()
    scores()
    with tempfile.TemporaryDirectory() as folder:
        files(Path(folder))
        commands(Path(folder))


if __name__ == "__main__":
    main()
