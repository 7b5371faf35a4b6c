from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.data.schema import Binned, Categorical, Numeric, Target

SCHEMA = sv.Schema(
    (Numeric("age", 0, 120), Categorical("region", ("north", "south")), Categorical("grade", (1, 2, 3))),
    Target("outcome", ("no", "yes")),
)

names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=8)
bounds = st.floats(-1e30, 1e30)
values = st.one_of(
    st.lists(names, min_size=2, max_size=4, unique=True),
    st.lists(st.integers(-(2**53), 2**53), min_size=2, max_size=4, unique=True),
    st.just([True, False]),
)


@st.composite
def schemas(draw: st.DrawFn) -> sv.Schema:
    columns: list[Numeric | Categorical] = []
    listed = draw(st.lists(names, min_size=2, max_size=5, unique=True))
    for name in listed[1:]:
        if draw(st.booleans()):
            low = draw(st.floats(-1e30, 1e29))
            columns.append(Numeric(name, low, low + abs(low) * 1e-3 + 1.0))
        else:
            columns.append(Categorical(name, tuple(draw(values))))
    target = draw(
        st.one_of(
            st.none(),
            values.map(lambda classes: Target(listed[0], tuple(classes))),
            st.just(Target(listed[0], low=-1, high=2.5)),
        )
    )
    return sv.Schema(tuple(columns), target)


@given(schemas())
def test_a_schema_survives_toml_and_json_with_its_digest(schema: sv.Schema) -> None:
    for back in (
        sv.Schema.from_dict(tomllib.loads(schema.to_toml())),
        sv.Schema.from_dict(json.loads(json.dumps(schema.to_dict()))),
    ):
        assert back == schema
        assert back.digest == schema.digest


def test_a_target_may_be_called_what_a_template_leaves_open() -> None:
    schema = sv.Schema((Numeric("a", 0, 1),), Target("?", classes=(0, 1)))
    assert sv.Schema.from_dict(schema.to_dict()) == schema


def test_a_file_is_read_by_its_suffix(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SCHEMA.to_toml())
    (tmp_path / "a.json").write_text(json.dumps(SCHEMA.to_dict()))
    assert sv.Schema.load(tmp_path / "a.toml") == SCHEMA
    assert sv.Schema.load(str(tmp_path / "a.json")) == SCHEMA


def test_the_digest_names_the_declaration_and_its_order() -> None:
    moved = sv.Schema(SCHEMA.columns[::-1], SCHEMA.target)
    wider = sv.Schema((Numeric("age", 0, 121), *SCHEMA.columns[1:]), SCHEMA.target)
    plain = sv.Schema((Numeric("age", 0.0, 120.0), *SCHEMA.columns[1:]), SCHEMA.target)
    assert len({SCHEMA.digest, moved.digest, wider.digest}) == 3
    assert plain.digest == SCHEMA.digest


@pytest.mark.parametrize("listed", [["age"], ["a b", 'say "hi"', "ü.x", "tab\there", "del\x7f"]])
def test_a_template_holds_every_name_and_waits_to_be_filled_in(listed: list[str]) -> None:
    raw = tomllib.loads(sv.Schema.template(listed))
    assert list(raw["columns"]) == listed
    with pytest.raises(sv.errors.ParameterError, match='type = "numeric"'):
        sv.Schema.from_dict(raw)


def test_a_filled_template_is_a_schema() -> None:
    text = sv.Schema.template(["age", "outcome"])
    head, _, tail = text.partition('[columns."outcome"]')
    filled = head.replace('type = "?"', 'type = "numeric"').replace("# low", "low").replace("# high", "high")
    end = tail[tail.index("[target]") :].replace('"?"', '"outcome"').replace("# classes", "classes")
    schema = sv.Schema.from_dict(tomllib.loads(filled + end))
    assert schema == sv.Schema((Numeric("age", 0, 100),), Target("outcome", ("no", "yes")))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: Numeric("age", 1, 1), "below"),
        (lambda: Numeric("age", 0, 5e-324), "below"),
        (lambda: Numeric("age", float("nan"), 1), "numbers"),
        (lambda: Numeric("age", 0, float("inf")), "numbers"),
        (lambda: Numeric("age", 0, 10**400), "numbers"),
        (lambda: Numeric("age", True, 3), "numbers"),
        (lambda: Numeric("", 0, 1), "name"),
        (lambda: Categorical("c", ()), "one or more"),
        (lambda: Categorical("c", "ab"), "list"),
        (lambda: Categorical("c", ("a", 1)), "all text"),
        (lambda: Categorical("c", (True, 2)), "all text"),
        (lambda: Categorical("c", (2**53, 2**53 + 2)), "all text"),
        (lambda: Categorical("c", ("a", "a")), "twice"),
        (lambda: Target("y"), "classes"),
        (lambda: Target("y", (0, 1), 0, 1), "not both"),
        (lambda: Target("y", low=0), "classes"),
        (lambda: Target("y", (0,)), "two or more"),
        (lambda: Target("y", low=2, high=1), "low < high"),
        (lambda: sv.Schema(()), "one or more"),
        (lambda: sv.Schema((Numeric("a", 0, 1), Numeric("a", 0, 1))), "twice"),
        (lambda: sv.Schema((Numeric("a", 0, 1),), Target("a", (0, 1))), "twice"),
        (lambda: sv.Schema.from_dict([]), "table"),
        (lambda: sv.Schema.from_dict({}), "columns"),
        (lambda: sv.Schema.from_dict({"columns": {"a": {"type": "numeric", "low": 0}}}), "high is missing"),
        (lambda: sv.Schema.from_dict({"columns": {"a": {"type": "text"}}}), "numeric"),
        (lambda: sv.Schema.from_dict({"columns": {}, "extra": 1}), "unknown"),
        (
            lambda: sv.Schema.from_dict({"columns": {"a": {"type": "numeric", "low": 0, "hgih": 1}}}),
            "'hgih' is unknown",
        ),
        (lambda: sv.Schema.template([]), "one or more"),
        (lambda: sv.Schema.template(["a", "a"]), "distinct"),
    ],
)
def test_a_wrong_declaration_is_refused_with_the_rule(wrong, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(sv.errors.ParameterError, match=words):
        wrong()


def test_a_missing_or_broken_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(sv.errors.ParameterError, match="no schema"):
        sv.Schema.load(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_bytes(b"[columns\n\xff")
    with pytest.raises(sv.errors.ParameterError, match="not valid"):
        sv.Schema.load(tmp_path / "bad.toml")
    with pytest.raises(sv.errors.ParameterError, match="cannot be read"):
        sv.Schema.load(tmp_path)


@pytest.mark.parametrize(
    "columns",
    [
        (Categorical("region", ("north", "south")), Numeric("region=north", 0, 1)),
        (Numeric("intercept", 0, 1),),
        (Numeric("a", 0, 1), Numeric("b", 0, 1), Numeric("a x b", 0, 1)),
        (Categorical("a", ("b=c",)), Categorical("a=b", ("c",))),
    ],
)
def test_two_features_of_one_name_are_refused(columns: tuple[Any, ...]) -> None:
    """On 984a9f2 the exported coefficients of one replaced those of the other."""
    pairs = (("a", "b"),) if len(columns) == 3 else ()
    with pytest.raises(sv.errors.ParameterError):
        sv.Schema(columns, Target("y", (0, 1)), interactions=pairs)


def test_bins_that_differ_past_the_sixth_digit_have_names_of_their_own() -> None:
    """Ranges that marginals draw in are cut into 64 bins, whatever their numbers."""
    tenths = tuple(100_092.0 + step / 10.0 for step in range(63))
    for edges in ((1.0, 2.0, 2.5), tenths, (1e15, 1e15 + 1.0, 1e15 + 2.0)):
        assert len(set(Binned("x", edges).features)) == len(edges) + 1
    assert Binned("x", (1.0, 2.5)).features == ("x below 1", "x 1 to 2.5", "x from 2.5")
