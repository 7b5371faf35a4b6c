"""Opacus's side of `benchmarks.fit_torch`: a line with loss and accuracy for each setting asked for.

python -P benchmarks/fit_torch_process.py FOLDER
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from opacus import PrivacyEngine
from torch import nn


def network(data, seed):
    torch.manual_seed(seed)
    if data["X"].ndim == 4:
        return nn.Sequential(
            nn.Conv2d(1, 16, 8, stride=2, padding=3),
            nn.ReLU(),
            nn.MaxPool2d(2, stride=1),
            nn.Conv2d(16, 32, 4, stride=2),
            nn.ReLU(),
            nn.MaxPool2d(2, stride=1),
            nn.Flatten(),
            nn.Linear(32 * 4 * 4, 32),
            nn.ReLU(),
            nn.Linear(32, 10),
        )
    classes = int(data["y"].max()) + 1
    return nn.Sequential(nn.Linear(data["X"].shape[1], 64), nn.ReLU(), nn.Linear(64, classes))


def run(data, asked):
    model = network(data, asked["seed"])
    optimizer = torch.optim.SGD(model.parameters(), lr=asked["rate"], momentum=asked["momentum"])
    rows = torch.utils.data.TensorDataset(torch.tensor(data["X"]), torch.tensor(data["y"]))
    begun = time.process_time()
    model, optimizer, loader = PrivacyEngine(accountant="rdp").make_private_with_epsilon(
        module=model,
        optimizer=optimizer,
        data_loader=torch.utils.data.DataLoader(rows, batch_size=asked["batch"]),
        epochs=asked["epochs"],
        target_epsilon=asked["epsilon"],
        target_delta=asked["delta"],
        max_grad_norm=asked["clip"],
    )
    criterion = nn.CrossEntropyLoss()
    for _ in range(asked["epochs"]):
        for features, labels in loader:
            if not len(labels):
                continue
            optimizer.zero_grad()
            criterion(model(features), labels).backward()
            optimizer.step()
    seconds = time.process_time() - begun
    with torch.no_grad():
        outputs = model(torch.tensor(data["X_test"]))
    labels = torch.tensor(data["y_test"])
    loss = float(criterion(outputs, labels))
    return {
        "loss": loss if np.isfinite(loss) else 1e9,
        "accuracy": float((outputs.argmax(1) == labels).double().mean()),
        "cpu": seconds,
    }


def main() -> None:
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    asked = json.loads((folder / "asked.json").read_text())
    with np.load(folder / "data.npz") as stored:
        data = dict(stored)
    torch.set_num_threads(1)
    for setting in asked:
        print(json.dumps(run(data, setting)), flush=True)


if __name__ == "__main__":
    main()
