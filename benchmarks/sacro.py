"""`python -m benchmarks.sacro`: membership attacks of sacroml, as data custodians run them, on our models.

    python -m venv SACRO && SACRO/bin/pip install sacroml . && SACRO/bin/python -m benchmarks.sacro

sacroml (SACRO-ML) is what trusted research environments check models with before they let them out. It is
handed the target model, its training rows and as many rows that were not used, and tells members from others:
by the likelihood ratio over shadow models, which it trains by the same call, and by a classifier of predicted
probabilities. Models without privacy stand beside ours, so that one sees what the attacks can find. Rows:
scikit-learn's breast cancer table, 30 columns, half of its 569 rows each; a fifth of the labels are turned
over at random, which a model can only know by heart."""

from __future__ import annotations

import json
import logging
import tempfile
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import sottovoce as sv

DELTA = 1e-4
SHADOWS = 40
FLIPPED = 0.2
SHOWN = ("AUC", "TPR", "FPR", "P_HIGHER_AUC")


class Shadowed(sv.PrivateClassifier):
    """sacroml gives every shadow model a `random_state`, which no private model has: a seed voids privacy.
    Here it seeds simulated noise."""

    def set_params(self, random_state: int | None = None, **params: Any) -> Any:
        return super().set_params(**params if random_state is None else {"simulate": random_state, **params})


def rows() -> tuple[np.ndarray, ...]:
    """Rows in [-1, 1]/sqrt(columns), by the largest number of each column, which stands for a declared
    range; halves drawn with a fixed seed."""
    table = load_breast_cancer()
    X = table.data / np.abs(table.data).max(axis=0) / np.sqrt(table.data.shape[1])
    order = np.random.default_rng(20261118).permutation(len(X))
    member, other = order[: len(X) // 2], order[len(X) // 2 : 2 * (len(X) // 2)]
    y = np.where(np.random.default_rng(1).random(len(X)) < FLIPPED, 1 - table.target, table.target)
    return X[member], y[member], X[other], y[other]


def models() -> dict[str, Any]:
    """Targets by name."""
    private = {
        f"sottovoce, epsilon {epsilon:g}": Shadowed(
            epsilon=epsilon, delta=DELTA, classes=(0, 1), simulate=20261118
        )
        for epsilon in (1.0, 8.0)
    }
    plain = {
        "logistic regression, not private": LogisticRegression(C=1e4, max_iter=5_000),
        "decision tree, not private": DecisionTreeClassifier(random_state=0),
    }
    return private | plain


def attacked(model: Any, data: tuple[np.ndarray, ...]) -> dict[str, dict[str, float]]:
    """What each attack measured on a fitted copy of the model."""
    from sacroml.attacks.likelihood_attack import LIRAAttack
    from sacroml.attacks.target import Target
    from sacroml.attacks.worst_case_attack import WorstCaseAttack

    X_train, y_train, X_test, y_test = data
    target = Target(
        model=model.fit(X_train, y_train),
        dataset_name="breast cancer",
        X_train=X_train,
        y_train=y_train,
        X_test=X_test,
        y_test=y_test,
    )
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for attack in (
            LIRAAttack(output_dir=folder, write_report=False, n_shadow_models=SHADOWS),
            WorstCaseAttack(output_dir=folder, write_report=False, n_reps=10),
        ):
            instances = attack.attack(target)["attack_experiment_logger"]["attack_instance_logger"]
            means = {
                name: float(np.mean([one[name] for one in instances.values()]))
                for name in SHOWN
                if all(name in one for one in instances.values())
            }
            found[str(attack)] = means
    return found


def main() -> None:
    logging.disable(logging.INFO)
    warnings.simplefilter("ignore")
    data = rows()
    for name, model in models().items():
        print(json.dumps({"model": name, **attacked(model, data)}), flush=True)


if __name__ == "__main__":
    main()
