"""`python -m benchmarks.scattering`: scattering features of Fashion-MNIST, for a linear softmax at (3, 1e-5).

Tramer & Boneh (2021): kymatio's scattering transform with J = 2 gives 81 channels of 7 x 7 numbers for each
image; they report 89.7 % under the promise that we call zero-out, with tuned clipping, rates and steps.
Images come from Debian's dataset-fashion-mnist; features are kept below BENCH_FOLDER, about a gigabyte. Each
image is mapped by itself, so no record changes how another is read. No private fit is measured yet."""

from __future__ import annotations

import argparse
import gzip
import os
import time
from pathlib import Path

import numpy as np

FOLDER = Path("/usr/share/datasets/fashion-mnist")
STORE = Path(os.environ.get("BENCH_FOLDER", "/tmp")) / "scattering"
SIDE, CHANNELS = 28, 81
WIDTH = CHANNELS * 49


def images(part: str) -> np.ndarray:
    packed = gzip.decompress((FOLDER / f"{part}-images-idx3-ubyte.gz").read_bytes())
    return np.frombuffer(packed, np.uint8, offset=16).reshape(-1, SIDE, SIDE).astype(np.float32) / 255.0


def labels(part: str) -> np.ndarray:
    packed = gzip.decompress((FOLDER / f"{part}-labels-idx1-ubyte.gz").read_bytes())
    return np.frombuffer(packed, np.uint8, offset=8).astype(int)


def transformed(pictures: np.ndarray) -> np.ndarray:
    """81 x 7 x 7 numbers for each picture."""
    import torch
    from kymatio.scattering2d.frontend.torch_frontend import ScatteringTorch2D

    transform = ScatteringTorch2D(J=2, shape=(SIDE, SIDE))
    parts = [
        transform(torch.from_numpy(pictures[start : start + 250])).reshape(-1, WIDTH).numpy()
        for start in range(0, len(pictures), 250)
    ]
    return np.concatenate(parts).astype(np.float32)


def features(part: str) -> np.ndarray:
    """Stored features of a part, made on the first call."""
    path = STORE / f"{part}.npy"
    if not path.exists():
        STORE.mkdir(parents=True, exist_ok=True)
        began = time.perf_counter()
        np.save(path, transformed(images(part)))
        print(f"{part}: features in {time.perf_counter() - began:.0f} s", flush=True)
    return np.asarray(np.load(path))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scattering", description=__doc__)
    parser.parse_args()
    for part in ("t10k", "train"):
        print(part, features(part).shape)
