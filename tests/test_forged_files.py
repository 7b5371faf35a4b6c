"""Files that somebody changed by hand: a model, a result, a schema. Each is refused cleanly, or harmless."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce import fitting
from sottovoce.data.schema import Binned, Categorical, DatePart, Numeric, Schema, Spline, Target
from sottovoce.model import Model
from sottovoce.report import render
from tests.tables import THREE, TWO, write

SCRIPT = "</title></style></script><script>alert(1)</script><img src=x onerror=alert(1)>\"'"
HOSTILE = (
    *(None, True, -1, 0, 10**400, 1e308, -1e308, float("nan")),
    *("", SCRIPT, [], {}, [SCRIPT], {"a": SCRIPT}, [[]]),
)
DECLARED = Schema(
    (
        Numeric("age", 18, 98),
        Categorical("region", ("north", "south")),
        Binned("income", (10.0, 20.0)),
        Spline("height", 100.0, 200.0, (150.0, 170.0)),
        DatePart("seen", "month"),
    ),
    Target("claim", ("no", "yes"), class_weight={"no": 1.0, "yes": 0.5}),
    interactions=(("age", "region"),),
    person="patient",
    weight="share",
    weight_cap=2.0,
    within=3.0,
    missing=("NA",),
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data") / "claims.csv")


def filed(data: Path, schema: Schema, **options: Any) -> dict[str, Any]:
    kept = {"evaluate": 0.2, "about": sv.About(purpose="a test"), "method": "majorize", **options}
    model = fitting.fit(data, schema, epsilon=2.0, delta=1e-5, **kept)
    raw: dict[str, Any] = json.loads(json.dumps(model.to_dict()))
    return raw


def places(raw: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a file, of a list the first two."""
    if path:
        yield path
    inner = raw.items() if isinstance(raw, dict) else enumerate(raw[:2]) if isinstance(raw, list) else ()
    for key, value in inner:
        yield from places(value, (*path, key))


def at(raw: Any, path: tuple[Any, ...]) -> Any:
    return at(raw[path[0]], path[1:]) if path else raw


def forged(raw: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    made = copy.deepcopy(raw)
    at(made, path[:-1])[path[-1]] = value
    return made


def shown(model: Model) -> str:
    """Every page that is made of a model."""
    return render(model.result, model.card()) + model._repr_html_() + model.result._repr_html_()


def load_all(raw: dict[str, Any], every: int) -> list[tuple[Any, ...]]:
    """Load a file with each place forged in each way, or every so manieth; what was not refused cleanly."""
    bad: list[tuple[Any, ...]] = []
    cases = [(path, value) for path in places(raw) for value in HOSTILE]
    for path, value in cases[::every]:
        try:
            Model.from_dict(forged(raw, path, value))
        except sv.errors.SottovoceError:
            continue
        except Exception as failure:
            bad.append((path, str(value)[:20], repr(failure)[:80]))
    return bad


def test_a_forged_field_is_refused_by_one_clean_error(data: Path) -> None:
    assert not load_all(filed(data, TWO, inference=0.3), every=7)


@pytest.mark.slow
@pytest.mark.parametrize("schema", [TWO, THREE], ids=["two classes", "three classes"])
def test_every_forged_field_is_refused_by_one_clean_error(data: Path, schema: Schema) -> None:
    assert not load_all(filed(data, schema, inference=0.3), every=1)


def test_no_text_of_a_file_becomes_markup(data: Path) -> None:
    """Into every text, and every key of the versions and of what was spent."""
    raw = filed(data, TWO)
    texts = [path for path in places(raw) if isinstance(at(raw, path), str)]
    assert ("result", "guarantee", "unit") in texts
    cases = [forged(raw, path, SCRIPT) for path in texts]
    cases += [forged(raw, ("versions", SCRIPT), "1.0"), forged(raw, ("result", "spending", SCRIPT), 0.1)]
    pages = 0
    for case in cases:
        try:
            page = shown(Model.from_dict(case))
        except sv.errors.SottovoceError:
            continue
        pages += 1
        assert "<script>alert" not in page
        assert "<img" not in page
    assert pages > 10


@pytest.mark.parametrize("field", ["unit", "relation"])
def test_a_promise_has_a_unit_and_a_relation_that_are_known(data: Path, field: str) -> None:
    """Refused also where the runs of the file agree."""
    raw = filed(data, TWO)
    for path in (("result", "guarantee", field), ("result", "lineage", 0, field)):
        raw = forged(raw, path, "household")
    with pytest.raises(sv.errors.DataError):
        Model.from_dict(raw)


def test_a_forged_schema_is_refused_by_one_clean_error(tmp_path: Path) -> None:
    raw = json.loads(json.dumps(DECLARED.to_dict()))
    assert Schema.from_dict(raw) == DECLARED
    for path in places(raw):
        for value in HOSTILE:
            (tmp_path / "schema.json").write_text(json.dumps(forged(raw, path, value)), encoding="utf-8")
            try:
                found = Schema.load(tmp_path / "schema.json")
            except sv.errors.ParameterError:
                continue
            assert len(found.digest) == 64
            assert set(found.features)
            assert found.to_toml()


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", b"{", b"[[[", b"[" * 100_000, b'{"columns": {}, "columns": {}}', b"null", b"3"]
)
@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_a_schema_that_is_none_is_refused_by_one_clean_error(
    content: bytes, suffix: str, tmp_path: Path
) -> None:
    (tmp_path / f"schema{suffix}").write_bytes(content)
    with pytest.raises(sv.errors.ParameterError):
        Schema.load(tmp_path / f"schema{suffix}")
    with pytest.raises(sv.errors.ParameterError):
        Schema.load(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "nope"},
        {"shares": [0.5]},
        {"shares": []},
        {"edges": []},
        {"edges": [1.0] * 65},
        {"noise": -1.0},
        {"noise": float("nan")},
        {"missing": 0.1},
    ],
    ids=str,
)
def test_marginals_that_do_not_fit_their_column_are_refused(data: Path, change: dict[str, Any]) -> None:
    schema = Schema((Numeric("age", 18, 98), Categorical("region", ("north", "south"))), TWO.target)
    raw = filed(data, schema, model="additive", method="adapt", evaluate=0.0, simulate=0)
    Model.from_dict(copy.deepcopy(raw))
    raw["marginals"][0] |= change
    with pytest.raises(sv.errors.DataError, match="damaged"):
        Model.from_dict(raw)
