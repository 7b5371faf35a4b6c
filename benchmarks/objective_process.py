"""diffprivlib's side: loads rows.npz, then fits once for each line of settings and answers with the weights.

python -P benchmarks/objective_process.py FOLDER
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
from diffprivlib.models import LogisticRegression


def main() -> None:
    warnings.simplefilter("ignore")
    with np.load(Path(sys.argv[1]) / "rows.npz") as stored:
        X, y = stored["X"], stored["y"]
    for line in sys.stdin:
        model = LogisticRegression(
            data_norm=1.0, fit_intercept=False, max_iter=500, tol=1e-6, **json.loads(line)
        )
        model.fit(X, y)
        found = {"weights": model.coef_.ravel().tolist(), "iterations": int(model.n_iter_[0])}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
