"""Opacus's side of `benchmarks.torch_speed`: seconds of each epoch and peak memory, of one mode.

PYTHONPATH=. python -P -m benchmarks.torch_speed_process FOLDER MODE EPOCHS
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from opacus import PrivacyEngine
from torch import nn

from benchmarks.fit_torch_process import network


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    folder, mode, epochs = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    with np.load(folder / "data.npz") as stored:
        data = dict(stored)
    X, y, size = torch.tensor(data["X"]), torch.tensor(data["y"]), int(data["batch"])
    model = network(data, 0)
    rows = torch.utils.data.TensorDataset(X, y)
    made = PrivacyEngine(accountant="rdp").make_private(
        module=model,
        optimizer=torch.optim.Adam(model.parameters(), lr=0.003),
        criterion=nn.CrossEntropyLoss(),
        data_loader=torch.utils.data.DataLoader(rows, batch_size=size),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        grad_sample_mode=mode,
    )
    model, optimizer, loader = made[0], made[1], made[-1]
    criterion = made[2] if mode == "ghost" else nn.CrossEntropyLoss()

    def handed_over():
        for _ in range(len(loader)):
            chosen = torch.nonzero(torch.rand(len(y)) < size / len(y))[:, 0]
            yield X[chosen], y[chosen]

    def epoch(batches):
        begun = time.process_time()
        for inputs, labels in batches:
            optimizer.zero_grad()
            criterion(model(inputs), labels).backward()
            optimizer.step()
        return time.process_time() - begun

    epoch(handed_over())
    seconds = [epoch(handed_over()) for _ in range(epochs)]
    loaded = [epoch(loader) for _ in range(epochs)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "by its loader": loaded, "peak": peak}))


if __name__ == "__main__":
    main()
