"""Seven-class Covertype from a dataframe: private softmax against scikit-learn without privacy.

    python -m benchmarks.multiclass [epsilon] [iterations of scikit-learn]

Both see the same encoded features of the same four fifths of the table; accuracy is on the other fifth, which
is public data. Each is timed from encoded features to a fitted model, one after the other in one process.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import sottovoce as sv
from sottovoce.data.schema import Categorical, Numeric
from sottovoce.datasets import covertype

COVERS = tuple(range(1, 8))


def frame(table: covertype.Covertype) -> pd.DataFrame:
    """Ten numbers, an area by name and a soil type by number."""
    columns: dict[str, object] = dict(zip(covertype.NUMERIC, table.numeric.T, strict=True))
    areas = np.array([f"area {number}" for number in range(covertype.WILDERNESS_AREAS)])
    return pd.DataFrame(
        {
            **columns,
            "Wilderness_Area": areas[table.wilderness.astype(np.intp)],
            "Soil_Type": table.soil.astype(np.int64),
        }
    )


def schema() -> sv.Schema:
    """Bounds from the data set's public description."""
    limits = zip(covertype.NUMERIC, covertype.MINIMUM, covertype.MAXIMUM, strict=True)
    return sv.Schema(
        (
            *(Numeric(name, low, high) for name, low, high in limits),
            Categorical(
                "Wilderness_Area", tuple(f"area {number}" for number in range(covertype.WILDERNESS_AREAS))
            ),
            Categorical("Soil_Type", tuple(range(covertype.SOIL_TYPES))),
        )
    )


def main() -> None:
    epsilon = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    iterations = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    table = covertype.load()
    test = table.held_out()
    X, y = frame(table), table.cover
    train_X, train_y, test_X, test_y = X[~test], y[~test], X[test], y[test]
    encoder = sv.BoundedEncoder(schema())
    model = make_pipeline(
        encoder, sv.PrivateClassifier(epsilon=epsilon, delta="1/n^1.1", classes=COVERS, fit_intercept=False)
    )

    start = time.perf_counter()
    encoded = encoder.transform(train_X)
    encoding = time.perf_counter() - start
    start = time.perf_counter()
    model.fit(train_X, train_y)
    private_seconds = time.perf_counter() - start - encoding
    private = model.score(test_X, test_y)

    warnings.simplefilter("ignore")
    start = time.perf_counter()
    plain = LogisticRegression(max_iter=iterations, fit_intercept=False).fit(encoded, train_y)
    plain_seconds = time.perf_counter() - start
    reference = plain.score(encoder.transform(test_X), test_y)

    print(f"{len(train_y)} rows, {encoded.shape[1]} encoded columns, 7 classes; encoding {encoding:.2f} s")
    print(f"scikit-learn LogisticRegression: accuracy {reference:.4f} in {plain_seconds:.1f} s")
    print(f"PrivateClassifier, epsilon {epsilon:g}: accuracy {private:.4f} in {private_seconds:.1f} s")
    print(
        f"points behind: {100 * (reference - private):.2f}; time ratio: {plain_seconds / private_seconds:.1f}"
    )
    print(f"guarantee: {model[-1].guarantee_}")
    print(f"certificate: {model[-1].certificate_}")


if __name__ == "__main__":
    main()
