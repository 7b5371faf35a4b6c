"""`fit_torch`: a module, a loss, tensors and a budget."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting.events import SubsampledGaussianEvent
from sottovoce.errors import DataError, ParameterError

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from sottovoce.estimators.module import TrainedModule, fit_torch  # noqa: E402
from sottovoce.methods.clipped_adam import AdamState, ClippedAdam, first_clip, sizes  # noqa: E402
from sottovoce.queries.clipped import EDGES  # noqa: E402
from tests.autodiff import models  # noqa: E402

BUDGET = sv.Budget(4.0, 1e-6)


def network() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))


def accuracy(module: Any, X: np.ndarray, y: np.ndarray) -> float:
    with torch.no_grad():
        scores = module(torch.tensor(X, dtype=torch.float32))
    return float(np.mean(scores.argmax(1).numpy() == y))


STEPS = 40


@pytest.fixture
def few_steps() -> Iterator[None]:
    """Less than half of the steps, where what is learned is not the subject."""
    with mock.patch("sottovoce.estimators.module.ClippedAdam", partial(ClippedAdam, steps=STEPS)):
        yield


@pytest.fixture(scope="module")
def fitted() -> TrainedModule:
    return fit_torch(network(), models.cross_entropy, models.network_data(3000), BUDGET, simulate=0)


def test_learns_rings_that_no_line_parts(fitted: TrainedModule) -> None:
    X, y = models.network_data(4000, seed=9)
    assert accuracy(fitted.module, X, y) > 0.8
    assert accuracy(network(), X, y) < 0.6


@pytest.mark.parametrize("unit", [1e3, pytest.param(1e-3, marks=pytest.mark.slow)])
def test_the_unit_of_the_loss_does_not_matter(unit: float) -> None:
    def loss(outputs: Any, targets: Any) -> Any:
        return unit * models.cross_entropy(outputs, targets)

    X, y = models.network_data(4000, seed=9)
    found = fit_torch(network(), loss, models.network_data(3000), BUDGET, simulate=0)
    assert accuracy(found.module, X, y) > 0.8


def test_says_what_is_promised_and_not_promised(fitted: TrainedModule) -> None:
    said = str(fitted)
    assert "no step is proven" in said
    assert "clipped to a length found on the way" in said
    assert fitted.result.spending.keys() == {"gradient norm bands", "gradient of a batch"}
    assert "private" not in repr(fitted.module)
    assert fitted.guarantee.simulated


@pytest.mark.usefixtures("few_steps")
def test_zero_out_reads_poisson_batches_and_persons_are_protected() -> None:
    X, y = models.network_data(400)
    budget = sv.Budget(4.0, 1e-6, "zero-out")
    ledger = sv.Ledger(budget, currency="renyi", order=8.0, unit="person")
    found = fit_torch(
        network(),
        models.cross_entropy,
        (X, y),
        budget,
        groups=np.arange(400) // 2,
        persons=200,
        ledger=ledger,
        simulate=1,
    )
    assert "gradient of a Poisson batch" in found.result.spending
    assert found.guarantee.unit == "person"
    assert len(ledger.history) == 1 + STEPS


@pytest.mark.usefixtures("few_steps")
def test_the_module_handed_over_stays_as_it_is_and_buffers_are_kept() -> None:
    module = network()
    module.register_buffer("scale", torch.ones(2))
    module[0].weight.requires_grad_(False)
    before = {name: held.clone() for name, held in module.state_dict().items()}
    data = torch.utils.data.TensorDataset(*map(torch.tensor, models.network_data(200)))
    found = fit_torch(module, models.cross_entropy, data, BUDGET, simulate=0)
    after = found.state_dict()
    assert all(torch.equal(held, module.state_dict()[name]) for name, held in before.items())
    assert torch.equal(after["0.weight"], before["0.weight"])
    assert torch.equal(after["scale"], before["scale"])
    assert not torch.equal(after["2.weight"], before["2.weight"])
    network_like = network()
    network_like.register_buffer("scale", torch.zeros(2))
    network_like.load_state_dict(after)


def test_a_saved_file_holds_the_weights_and_the_promise(fitted: TrainedModule, tmp_path: Any) -> None:
    fitted.save(tmp_path / "rings.safetensors")
    raw = (tmp_path / "rings.safetensors").read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header, content = json.loads(raw[8 : 8 + length]), raw[8 + length :]
    told = header.pop("__metadata__")
    assert all(isinstance(value, str) for value in told.values())
    assert told["statement"] == str(fitted.guarantee)
    assert json.loads(told["simulated"]) is True
    assert json.loads(told["caveats"]) == list(fitted.caveats)
    assert length % 8 == 0
    for name, held in fitted.state_dict().items():
        first, last = header[name]["data_offsets"]
        found = np.frombuffer(content[first:last], "<f4").reshape(header[name]["shape"])
        np.testing.assert_array_equal(found, held.numpy())
    assert max(entry["data_offsets"][1] for entry in header.values()) == len(content)


def test_complex_buffers_have_no_place_in_a_file(fitted: TrainedModule, tmp_path: Any) -> None:
    held = TrainedModule(module=network(), result=fitted.result)
    held.module.register_buffer("phase", torch.zeros(1, dtype=torch.complex64))
    with pytest.raises(DataError, match="phase"):
        held.save(tmp_path / "no.safetensors")
    assert not list(tmp_path.iterdir())


REFUSED: dict[str, tuple[Any, str]] = {
    "batch norm": (lambda: torch.nn.Sequential(network(), torch.nn.BatchNorm1d(3)), "GroupNorm"),
    "dropout": (lambda: torch.nn.Sequential(network(), torch.nn.Dropout(0.1)), "eval"),
    "frozen": (lambda: network().requires_grad_(False), "nothing to train"),
    "no module": (lambda: lambda x: x, "torch.nn.Module"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_before_anything_is_charged(name: str) -> None:
    made, way_out = REFUSED[name]
    ledger = sv.Ledger(BUDGET, currency="renyi", order=8.0)
    with pytest.raises(ParameterError, match=way_out):
        fit_torch(made(), models.cross_entropy, models.network_data(50), BUDGET, ledger=ledger)
    assert not ledger.history


def test_hooks_are_refused_before_anything_is_charged() -> None:
    module, seen = network(), []
    module[1].register_forward_hook(lambda *given: seen.append(given))
    ledger = sv.Ledger(BUDGET, currency="renyi", order=8.0)
    with pytest.raises(ParameterError, match="hooks"):
        fit_torch(module, models.cross_entropy, models.network_data(50), BUDGET, ledger=ledger)
    assert not ledger.history
    assert not seen


@contextmanager
def interrupted_after(steps: int) -> Iterator[None]:
    advance, taken = AdamState.advance, 0

    def interrupted(walk: AdamState, state: Any) -> None:
        nonlocal taken
        if taken == steps:
            raise KeyboardInterrupt
        taken += 1
        advance(walk, state)

    with mock.patch.object(AdamState, "advance", interrupted):
        yield


def test_an_interruption_leaves_what_was_released() -> None:
    with interrupted_after(7):
        found = fit_torch(network(), models.cross_entropy, models.network_data(300), BUDGET, simulate=0)
    assert found.result.stop is sv.Stop.INTERRUPTED
    assert any("short of its plan" in caveat for caveat in found.caveats)
    assert sum(found.result.spending.values()) < 0.1
    assert not torch.equal(found.state_dict()["0.weight"], network().state_dict()["0.weight"])


@pytest.mark.usefixtures("few_steps")
def test_a_run_with_a_ledger_file_goes_on_where_it_was_interrupted(tmp_path: Any) -> None:
    data, budget = models.network_data(60), sv.Budget(2.0, 1e-6)
    ledger = sv.Ledger.create(tmp_path / "l.db", dataset="rings", cap=budget, currency="renyi", order=8.0)
    with interrupted_after(20), pytest.raises(KeyboardInterrupt):
        fit_torch(network(), models.cross_entropy, data, budget, ledger=ledger)
    assert len(ledger.history) == 21
    run = ledger.history[-1].run_id
    found = fit_torch(network(), models.cross_entropy, data, budget, ledger=ledger, resume=run)
    assert len(ledger.history) == 1 + STEPS
    assert found.result.stop is sv.Stop.FINISHED


@pytest.mark.usefixtures("few_steps")
def test_progress_tells_steps_epochs_and_budget(capsys: Any) -> None:
    with mock.patch.dict("os.environ", {"FORCE_COLOR": "1", "COLUMNS": "200"}):
        fit_torch(
            network(), models.cross_entropy, models.network_data(100), BUDGET, simulate=0, progress=True
        )
    shown = capsys.readouterr().err
    assert f"of {STEPS}, epoch" in shown
    assert "% of the budget" in shown


@pytest.mark.parametrize(
    ("n", "dim", "steps"), [(30_000, 5_000, 200), (20_000, 20_000, 141), (10_000, 26_000, 100)]
)
def test_the_number_of_steps_follows_from_the_numbers_of_examples_and_weights(
    n: int, dim: int, steps: int
) -> None:
    problem = mock.Mock(n=n, dim=dim)
    assert ClippedAdam().settled(problem).steps == steps
    assert ClippedAdam(steps=40).settled(problem).steps == 40
    [(event, taken)] = ClippedAdam().amplified(problem, np.zeros(dim), mock.Mock(), BUDGET)
    assert taken == steps == ClippedAdam().pace(problem).steps
    assert isinstance(event, SubsampledGaussianEvent)
    assert event.batch == round(20.0 * n / steps)


def test_the_first_clip_leaves_few_examples_cut() -> None:
    shares = np.zeros(len(EDGES) + 1)
    shares[10], shares[12] = 0.03, 0.97
    assert first_clip(shares, 0.0) == EDGES[11]
    shares[10], shares[12] = 0.2, 0.8
    assert first_clip(shares, 0.0) == EDGES[9]
    assert first_clip(np.eye(len(EDGES) + 1)[-1], 0.0) == EDGES[-1]
    assert first_clip(np.eye(len(EDGES) + 1)[0], 0.0) == EDGES[0]
    rng = np.random.default_rng(0)
    noisy = np.eye(len(EDGES) + 1)[12] + 0.02 * rng.standard_normal(len(EDGES) + 1)
    assert EDGES[13] <= first_clip(noisy, 0.02) <= EDGES[9]


def test_steps_are_in_proportion_to_the_weights_at_the_start() -> None:
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(100, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 3))
    X, y = np.zeros((5, 100)), np.zeros(5, dtype=np.int64)
    risk = sv.autodiff.TorchRisk(module, models.cross_entropy, (X, y))
    found = sizes(risk.start, risk.problem)
    parts = np.split(found, np.cumsum(risk.problem.layers)[:-1])
    assert [len(part) for part in parts] == [800, 8, 8, 8, 24, 3]
    assert parts[0][0] == pytest.approx(0.1 / 3**0.5, rel=0.1)
    assert parts[2][0] == 0.25
    assert parts[3][0] == 0.02
    assert all(np.ptp(part) == 0.0 for part in parts)
