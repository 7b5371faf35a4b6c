"""Each query is charged for the farthest that one record moves it: an explicit pair of neighbours does."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting.gdp import mu_of
from sottovoce.accounting.relations import Relation
from sottovoce.audit.canary import Tap
from sottovoce.audit.queries import asked, audit_query, families
from sottovoce.errors import ParameterError

RELATIONS = ("replace-one", "zero-out")


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", list(families()))
def test_the_pair_moves_the_answer_by_all_that_is_charged_and_no_more(name: str, relation: str) -> None:
    budget = sv.Budget(2.0, 1e-2, relation)
    family = families()[name]
    here, there = (
        asked(family, risk, budget, Tap.seeded(0, 1.0)) for risk in family.pair(Relation(relation))
    )
    assert here.exact is not None
    assert there.exact is not None
    mu = float(np.linalg.norm(here.exact - there.exact)) / here.scale
    assert 0.99 * mu_of(2.0, 1e-2) <= mu <= mu_of(2.0, 1e-2)


@pytest.mark.parametrize("name", ["Hessian", "gradient in other coordinates"])
def test_an_audit_of_a_query_finds_most_of_the_claim_and_no_more(name: str) -> None:
    found = audit_query(name, sv.Budget(4.0, 1e-2), runs=800)
    assert not found.flagged
    assert 0.7 * (found.mu or 0.0) <= found.mu_at_least


def test_a_query_with_half_of_its_noise_is_flagged() -> None:
    assert audit_query("trials", sv.Budget(4.0, 1e-2), runs=800, noise_factor=0.5).flagged


def test_an_unknown_query_is_refused_with_the_list() -> None:
    with pytest.raises(ParameterError, match="Gram diagonal"):
        audit_query("the weather", sv.Budget(1.0, 1e-2))


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", list(families()))
def test_ninety_percent_of_the_claim_is_proved_at_99_9_percent(name: str, relation: str) -> None:
    found = audit_query(name, sv.Budget(4.0, 1e-2, relation), runs=20_000)
    assert not found.flagged
    assert found.mu_at_least >= 0.9 * (found.mu or 0.0)
