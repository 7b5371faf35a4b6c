"""The methods of the library on modules: same ledger, same prices, and plain words about clipping."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting.events import GaussianEvent, QueryKind, SubsampledGaussianEvent
from sottovoce.methods.batch_descent import BatchDescent
from sottovoce.privacy.noise import SimulatedNoise, entropy_for
from sottovoce.privacy.oracle import Oracle

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from tests.autodiff import models  # noqa: E402
from tests.doubles import Recorder, WatchedWing  # noqa: E402

BUDGET = sv.Budget(8.0, 1e-4)
TOLERANCE = sv.Tolerance(gradient=0.15, curvature=0.3)
FEW = BatchDescent(steps=8, fraction=0.3)
METHODS = ["opt", "opt-ls", "2opt-ls", "opt-b", "cubic", "tr", FEW]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m if isinstance(m, str) else m.name)
def test_methods_run_on_a_module_within_their_budget_and_say_what_clipping_voids(method) -> None:  # type: ignore[no-untyped-def]
    risk = models.linear_risk(n=1500, dim=3)
    batched = not isinstance(method, str) or method.endswith("-b")
    ledger = sv.Ledger(BUDGET, currency="renyi", order=16) if batched else sv.Ledger(BUDGET)
    result = sv.minimize(risk, budget=BUDGET, method=method, tolerance=TOLERANCE, ledger=ledger, simulate=1)
    assert 0 < ledger.units_spent <= ledger.units_cap
    assert result.certificate.clipped
    assert "clipped" in str(result.certificate)
    assert "without clipping" in str(result.certificate)
    assert "true gradient" not in str(result)
    assert any("no step is proven to decrease the loss" in caveat for caveat in result.caveats)
    assert all(f"caveat: {caveat}" in str(result) for caveat in result.caveats)
    again = sv.Result.from_dict(json.loads(json.dumps(result.to_dict())))
    assert again.caveats == result.caveats
    assert str(again) == str(result)
    assert isinstance(risk.module_with(result), models.Linear)


def test_the_noise_in_a_modules_weights_is_stated() -> None:
    risk = models.linear_risk(n=1500, dim=3)
    result = sv.minimize(risk, budget=BUDGET, method="dp-gd", tolerance=TOLERANCE, simulate=1)
    assert result.coefficient_noise is not None
    assert result.coefficient_noise.shape == result.weights.shape
    assert np.all(result.coefficient_noise > 0.0)


def test_a_run_starts_from_the_modules_own_parameters() -> None:
    X, y = models.network_data(400)
    module = models.two_layers(2, 3, 3, seed=5)
    risk = sv.autodiff.TorchRisk(module, models.cross_entropy, (X, y), gradient_clip=1.0, curvature_clip=1.0)
    with pytest.raises(sv.errors.ParameterError, match="tolerance"):
        sv.minimize(risk, budget=BUDGET, method="opt", simulate=0)
    tiny = sv.Budget(1e-3, 1e-9)
    result = sv.minimize(risk, budget=tiny, method="opt", tolerance=TOLERANCE, simulate=0)
    assert np.linalg.norm(result.weights - risk.start) < np.linalg.norm(result.weights)
    flat = np.concatenate([p.detach().double().numpy().ravel() for p in module.parameters()])
    np.testing.assert_array_equal(risk.start, flat)


def test_what_a_module_cannot_answer_is_refused_before_anything_is_charged() -> None:
    risk = models.linear_risk(n=200, curvature="products")
    ledger = sv.Ledger(BUDGET)
    for method, words in (("tr", "products with vectors"), ("cubic", "products")):
        with pytest.raises(sv.errors.ParameterError, match=words):
            sv.minimize(risk, budget=BUDGET, method=method, tolerance=TOLERANCE, ledger=ledger, simulate=0)
        assert not any(grant.event.query in (QueryKind.GRAM, QueryKind.HESSIAN) for grant in ledger.history)
        ledger = sv.Ledger(BUDGET)


@pytest.mark.parametrize(
    ("method", "tolerance"), [("auto", None), ("majorize", None), ("majorize", TOLERANCE)]
)
def test_a_module_is_majorized_by_its_declared_smoothness_and_asked_for_no_gram_matrix(
    method: str, tolerance: sv.Tolerance | None
) -> None:
    ledger = sv.Ledger(BUDGET)
    risk = models.linear_risk(n=200)
    found = sv.minimize(risk, budget=BUDGET, method=method, tolerance=tolerance, ledger=ledger, simulate=0)
    assert found.method == "majorize"
    asked = {grant.event.query for grant in ledger.history}
    assert QueryKind.GRADIENT in asked
    assert not asked & {QueryKind.GRAM, QueryKind.GRAM_DIAGONAL}


def oracle(risk, ledger, noise):  # type: ignore[no-untyped-def]
    return Oracle(risk, ledger.run(BUDGET), noise, entropy=entropy_for(0))


def test_a_product_is_charged_by_its_sensitivity_before_data_is_touched() -> None:
    risk, ledger = models.linear_risk(n=500), sv.Ledger(BUDGET)
    watched = WatchedWing(risk)
    recorder = Recorder(SimulatedNoise(0))
    ask = oracle(watched, ledger, recorder)
    w, v = np.ones(5), np.arange(5.0)
    units = ask.units_left // 10
    answer = ask.curvature_product(w, v, units)
    (grant,) = ledger.history
    assert isinstance(grant.event, GaussianEvent)
    assert grant.event.query is QueryKind.CURVATURE_PRODUCT
    assert grant.event.sensitivity == pytest.approx(2.0 * 0.5 / 500, rel=1e-6)
    assert grant.event.sensitivity >= risk.bounds.curvature_product(w)
    assert answer.units <= units
    np.testing.assert_allclose(
        recorder.exact[0], risk.curvature_product(w, v / np.linalg.norm(v)), atol=1e-14
    )
    touched = watched.touched
    with pytest.raises(sv.errors.BudgetExceeded):
        ask.curvature_product(w, v, ledger.units_cap + 1)
    for bad in (np.zeros(5), np.full(5, np.nan)):
        with pytest.raises(sv.errors.ParameterError, match="direction"):
            ask.curvature_product(w, bad, units)
    assert watched.touched == touched
    assert len(ledger.history) == 1


def test_a_batchs_product_is_amplified_and_fresh() -> None:
    ledger = sv.Ledger(BUDGET, currency="renyi", order=16)
    recorder = Recorder(SimulatedNoise(0))
    ask = oracle(models.linear_risk(n=500), ledger, recorder)
    batched = ask.batched(50)
    units = ask.units_left // 10
    for _ in range(2):
        answer = batched.curvature_product(np.ones(5), np.ones(5), units)
        assert answer.sampling > 0.0
    assert not np.array_equal(recorder.exact[0], recorder.exact[1])
    for grant in ledger.history:
        assert isinstance(grant.event, SubsampledGaussianEvent)
        assert (grant.event.batch, grant.event.population) == (50, 500)
        assert grant.event.sensitivity == pytest.approx(2.0 * 0.5 / 50, rel=1e-6)


@pytest.mark.parametrize("method", ["opt", "opt-b"])
def test_without_matrices_the_same_methods_search_by_products(method: str) -> None:
    risk = models.phase_risk(3000, 6, seed=0, curvature="products")
    result = sv.minimize(
        risk,
        budget=sv.Budget(20.0, 1e-3),
        method=method,
        tolerance=sv.Tolerance(gradient=0.3, curvature=0.5),
        simulate=0,
    )
    assert "negative curvature" in [row.kind for row in result.trace]
    assert result.spending["curvature product"] > 0.0
    assert "hessian" not in result.spending
    assert risk.mean_loss(result.weights) < 0.5 * risk.mean_loss(risk.start)
    assert result.stop is sv.Stop.WITHIN_NOISE
    assert result.certificate.curvature_at_least == -3.0
    assert any("cannot show that there is none" in caveat for caveat in result.caveats)


def test_a_simulated_run_says_so_and_an_exact_one_draws_exact_noise() -> None:
    risk = models.linear_risk(n=400, dim=2)
    result = sv.minimize(risk, budget=BUDGET, method="opt", tolerance=TOLERANCE)
    assert not result.simulated
    assert result.guarantee.epsilon == 8.0
    assert np.all(np.isfinite(result.weights))


def test_batch_descent_without_matrices_ends_with_a_last_look() -> None:
    risk = models.linear_risk(n=3000, curvature="products")
    result = sv.minimize(
        risk,
        budget=sv.Budget(20.0, 1e-3),
        method=BatchDescent(steps=30),
        tolerance=sv.Tolerance(gradient=0.2, curvature=0.2),
        simulate=0,
    )
    assert [row.kind for row in result.trace][-2:] == ["look", "measurement"]
    assert result.stop is sv.Stop.WITHIN_NOISE


def test_the_report_page_claims_nothing_about_the_risk_without_clipping() -> None:
    result = sv.minimize(
        models.linear_risk(n=1500, dim=3), budget=BUDGET, method="opt", tolerance=TOLERANCE, simulate=1
    )
    page = sv.report.render(result)
    assert "mean clipped gradient norm" in page
    assert "The true gradient" not in page
    assert page.count("Mind:") == len(result.caveats)
