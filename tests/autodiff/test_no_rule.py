"""What PyTorch has no rule for is refused by the module, never by a record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import sottovoce as sv
from sottovoce.autodiff import TorchRisk
from sottovoce.autodiff.terms import Terms

MARK = 7.0


class Own(torch.nn.Linear):
    """A layer that could do anything, so that its gradients are taken example by example."""


def risk(last: float) -> TorchRisk:
    X = np.zeros((6, 2), dtype=np.float32)
    X[:, 0] = np.linspace(0.1, 0.6, 6)
    X[-1, 0] = last
    module = Own(2, 1, dtype=torch.float32)
    with torch.no_grad():
        for held in module.parameters():
            held.fill_(0.25)
    data = (X, np.zeros(6, dtype=np.float32))
    return TorchRisk(module, squares, data, gradient_clip=1.0, curvature_clip=1.0)


def squares(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return (outputs.squeeze(-1) - targets) ** 2


def test_one_record_that_no_rule_fits_counts_nothing_and_refuses_nothing(monkeypatch: Any) -> None:
    sound = Terms._at_once

    def without_a_rule_for_the_mark(self: Terms, transform: Any, flat: Any, inputs: Any, targets: Any) -> Any:
        if bool((inputs == MARK).any()):
            raise NotImplementedError("no rule for 7.0")
        return sound(self, transform, flat, inputs, targets)

    marked, plain = risk(MARK), risk(0.3)
    w = plain.start
    monkeypatch.setattr(Terms, "_at_once", without_a_rule_for_the_mark)
    moved = marked.gradient(w) - plain.gradient(w)
    assert 0.0 < np.linalg.norm(moved) <= plain.bounds.gradient(w)


def test_a_module_that_no_rule_fits_is_refused_in_words(monkeypatch: Any) -> None:
    made = risk(0.3)

    def without_a_rule(*arguments: Any) -> Any:
        raise NotImplementedError("no rule")

    monkeypatch.setattr(Terms, "_at_once", without_a_rule)
    with pytest.raises(sv.errors.ParameterError, match="cannot differentiate"):
        made.gradient(made.start)
