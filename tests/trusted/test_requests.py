"""Which sums cost more to leave out of than to be replaced in: these are values, and the ledger must know."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce.accounting.relations import Relation
from sottovoce.losses import Logistic
from sottovoce.privacy.sensitivity import sensitivity
from sottovoce.trusted import example_requests, requests
from sottovoce.trusted.bands import Band, Span
from tests.charges import facts

W, SPAN, LAW = np.zeros(1), Span(1.0, 2.0), Logistic().law
BAND = Band(-1.0, 1.0, np.array([1.0]), np.array([2.0]))
MATRIX = requests.MatrixSum(LAW, SPAN, W)
REQUESTS = [
    requests.NumberSum(LAW, SPAN, W),
    requests.ClassNumber(W, SPAN),
    example_requests.ClippedLosses(W, SPAN),
    requests.VectorSum(LAW, BAND, W),
    requests.ScoreSum(LAW, BAND, W),
    MATRIX,
    requests.InformationSum(LAW, SPAN, W),
    requests.SmallestEigenvalue(MATRIX, np.zeros((1, 1))),
    requests.Product(MATRIX, W),
    requests.ResidualShares(LAW, W, np.ones(1)),
    requests.ClassVector(W, 1.0),
    requests.ClassMatrix(W),
    requests.Gram(),
    requests.Means(),
    requests.Moments(1.0, None),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda one: type(one).__name__)
def test_what_replacement_costs_covers_zero_out_unless_a_sum_is_one_sided(request_: requests.Request) -> None:
    known = facts(radius=1.0, n=10)
    replaced, left_out = (sensitivity(request_, known, relation) for relation in Relation)
    assert request_.one_sided is (left_out > replaced * (1.0 + 1e-9))
