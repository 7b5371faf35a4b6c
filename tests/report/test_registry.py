"""Entries for OpenDP's registry: the facts of its schema at the pinned commit, and nothing false in them.

Of schemas/deployments-schema.yaml at 3e9c812a924c: which fields there are, which are required, and what may
stand in those that list their values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli import app
from sottovoce.data.schema import Target
from sottovoce.report import Card, render
from sottovoce.report.registry import BLANK, SECTORS, Publication, as_yaml, blanks, entry
from tests import problems
from tests.tables import RANGE, THREE, TWO, write

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "csv.md").read_text(encoding="utf-8")
COUNTED = sv.Schema(TWO.columns[1:], Target("age", high=100, count=True), person="cost")
TIMED = sv.Schema.from_dict(
    {
        "columns": {"region": {"type": "categorical", "categories": ["north", "south", "west"]}},
        "target": {"type": "survival", "time": "age", "event": "claim", "grid": [30, 60, 90]},
    }
)
FIELDS = {
    "basic": "name data_curators intended_use data_product_type data_product_region description "
    "publication_date data_product_sector",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details privacy_parameters privacy_parameters_details",
    "deployment_model": "model_name model_name_details actors release_type release_type_details "
    "data_source_type data_source_type_details access_type access_type_details",
    "accounting": "post_processing composition",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms justification",
    "administrative": "sources notes registry_authors",
}
REQUIRED = {
    "basic": FIELDS["basic"].removesuffix(" data_product_sector"),
    "administrative": "registry_authors",
}
LISTED = {
    "data_product_type": ("Machine learning model",),
    "data_product_sector": SECTORS,
    "variant_name": ("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"),
    "model_name": ("Local", "Central", "Shuffle", "Federated", "Varies"),
    "release_type": ("One release", "Many releases"),
    "data_source_type": ("Static", "Dynamic"),
    "access_type": ("Interactive", "Non-interactive"),
}


def require_valid(found: dict[str, Any]) -> None:
    assert set(found) == {"url_slug", "status", "tier", "deployment"}
    assert found["status"] == "Draft"
    assert found["tier"] in (1, 2, 3)
    assert set(found["deployment"]) <= set(FIELDS)
    for section, part in found["deployment"].items():
        assert set(REQUIRED.get(section, "").split()) <= set(part) <= set(FIELDS[section].split())
        for name, value in part.items():
            if name in ("data_curators", "registry_authors"):
                assert value
                assert all(isinstance(one, str) for one in value)
            elif name == "privacy_parameters":
                assert set(value) == {"epsilon", "delta"}
                assert all(isinstance(number, float) for number in value.values())
            else:
                assert isinstance(value, str)
                assert value in LISTED.get(name, (value,))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data") / "claims.csv")


@pytest.mark.parametrize(
    ("schema", "options"),
    [
        (TWO, {}),
        (THREE, {"relation": "zero-out"}),
        (RANGE, {"about": sv.About(purpose='a "test": \u00e9 # not\na comment')}),
        (TWO, {"model": "additive", "evaluate": 0.2}),
        (COUNTED, {}),
        (TIMED, {"inference": 0.3}),
    ],
)
def test_an_entry_is_valid_and_survives_yaml(
    schema: sv.Schema, options: dict[str, Any], data: Path, tmp_path: Path
) -> None:
    model = sv.fit(data, schema, epsilon=1.0, delta=1e-6, **options)
    found = entry(model.result, model.card(), Publication())
    require_valid(found)
    assert yaml.safe_load(as_yaml(found)) == found
    stated = found["deployment"]["privacy_loss"]
    promise = model.result.guarantee
    assert stated["privacy_parameters"] == {"epsilon": promise.epsilon, "delta": promise.delta}
    assert model.result.guarantee.relation.value in stated["privacy_unit_details"]
    assert model.result.guarantee.otherwise in stated["privacy_unit_details"]
    filled = entry(
        model.result,
        model.card(),
        Publication(curators=("Us",), region="EU", sector="Energy", published="2026-11-18", authors=("Me",)),
    )
    require_valid(filled)
    assert len(blanks(filled)) < len(blanks(found))
    for name in blanks(found):
        field = name.removeprefix("deployment.").removesuffix(".0")
        assert f"| `{field}` |" in PAGE


def test_the_command_writes_the_entry_and_lists_its_blanks(data: Path, tmp_path: Path) -> None:
    sv.fit(data, TWO, epsilon=1.0, delta=1e-6).save(tmp_path / "model.json")
    place = tmp_path / "deployment.yaml"
    given = [
        "report",
        str(tmp_path / "model.json"),
        "--registry",
        str(place),
        "--curator",
        "A clinic",
        "--purpose",
        "Planning of wards",
        "--json",
    ]
    ran = CliRunner().invoke(app, given)
    assert ran.exit_code == 0, ran.output
    found = yaml.safe_load(place.read_text(encoding="utf-8"))
    require_valid(found)
    assert found["deployment"]["basic"]["data_curators"] == ["A clinic"]
    assert found["deployment"]["basic"]["intended_use"] == "Planning of wards"
    listed = json.loads(ran.output)["blanks"]
    assert "deployment.basic.data_product_region" in listed
    assert all(BLANK in place.read_text(encoding="utf-8") for _ in listed)
    again = CliRunner().invoke(app, ["report", str(tmp_path / "model.json")])
    assert isinstance(again.exception, sv.errors.ParameterError)


def test_what_is_not_private_or_not_dated_is_not_registered() -> None:
    budget = sv.Budget(1.0, 1e-6)
    seeded = sv.minimize(problems.logistic(), budget=budget, simulate=0)
    with pytest.raises(sv.errors.ParameterError):
        entry(seeded, Card(), Publication(published="2026-11-18"))
    private = sv.minimize(problems.logistic(), budget=budget)
    with pytest.raises(sv.errors.ParameterError):
        entry(private, Card(), Publication())
    require_valid(entry(private, Card(), Publication(published="2026-11-18")))
    for wrong in ({"sector": "Circus"}, {"published": "1.1.2026"}):
        with pytest.raises(sv.errors.ParameterError):
            Publication(**wrong)  # type: ignore[arg-type]


def test_the_promise_as_plain_values() -> None:
    budget = sv.Budget(1.0, 1e-6, "zero-out")
    private = sv.minimize(problems.logistic(), budget=budget).privacy
    assert json.loads(json.dumps(private)) == private == yaml.safe_load(yaml.safe_dump(private))
    assert (private["epsilon"], private["delta"], private["relation"]) == (1.0, 1e-6, "REPLACE_SPECIAL")
    seeded = sv.minimize(problems.logistic(), budget=budget, simulate=0).privacy
    assert seeded["epsilon"] is None
    assert seeded["simulated"]


def test_what_released_answers_chose_is_not_said_to_be_declared(data: Path) -> None:
    linear, curved = (
        sv.fit(data, TWO, epsilon=1.0, delta=1e-6, model=model) for model in ("linear", "additive")
    )
    for model, told in ((linear, False), (curved, True)):
        page = render(model.result, model.card())
        assert ("the choice of curves follow from answers released" in page) == told
        stated = json.dumps(entry(model.result, model.card(), Publication()))
        assert ("the choice of curves follow from released answers" in stated) == told
