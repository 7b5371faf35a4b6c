"""Opacus's side: DP-SGD of the same network once for each learning rate; prints test accuracy by rate.

python -P benchmarks/network_process.py FOLDER
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import torch
from opacus import PrivacyEngine


def accuracy(data, asked, rate: float) -> float:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(data["X"].shape[1], asked["hidden"]),
        torch.nn.Tanh(),
        torch.nn.Linear(asked["hidden"], asked["classes"]),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=asked["momentum"])
    rows = torch.utils.data.TensorDataset(torch.tensor(data["X"]), torch.tensor(data["y"]))
    model, optimizer, loader = PrivacyEngine(accountant="rdp").make_private_with_epsilon(
        module=model,
        optimizer=optimizer,
        data_loader=torch.utils.data.DataLoader(rows, batch_size=asked["batch"]),
        epochs=asked["epochs"],
        target_epsilon=asked["epsilon"],
        target_delta=asked["delta"],
        max_grad_norm=asked["clip"],
    )
    criterion = torch.nn.CrossEntropyLoss()
    for _ in range(asked["epochs"]):
        for features, labels in loader:
            optimizer.zero_grad()
            criterion(model(features), labels).backward()
            optimizer.step()
    with torch.no_grad():
        chosen = model(torch.tensor(data["X_test"])).argmax(1).numpy()
    return float(np.mean(chosen == data["y_test"]))


def main() -> None:
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    asked = json.loads((folder / "asked.json").read_text())
    with np.load(folder / "data.npz") as stored:
        data = dict(stored)
    print(json.dumps({f"{rate:g}": accuracy(data, asked, rate) for rate in asked["rates"]}))


if __name__ == "__main__":
    main()
