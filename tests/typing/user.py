"""A user's script, for `scripts/release`: pyright finds nothing in it in strict mode. Never run."""

import numpy as np

import sottovoce as sv

rng = np.random.default_rng(0)
X = rng.uniform(-1.0, 1.0, (2_000, 4)) / 2.0
y = np.where(X @ np.array([1.0, -2.0, 0.5, 0.0]) > 0, 1, -1)
records = sv.Records.from_arrays(X, y, radius=1.0, labels=(-1, 1))
risk = sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(1e-6))
result = sv.minimize(risk, budget=sv.Budget(epsilon=1.0, delta=1e-6), tolerance=sv.Tolerance(gradient=0.03))
print(result.guarantee, result.certificate, result.stop, result.weights.sum())
result.save("run.json")

model = sv.fit("claims.csv", "schema.toml", epsilon=1.0, delta=1e-6, model="additive")
print(model.predict_proba("claims.csv")[:, 1].mean(), model.effects()[0].importance, model.privacy["epsilon"])
model.save("model.json")

estimator = sv.PrivateClassifier(epsilon=1.0, delta=1e-6, radius=1.0, classes=(-1, 1))
estimator.fit(X, y)
print(estimator.predict(X), estimator.coef_)

ledger = sv.Ledger.create("budget.db", dataset="claims", cap=sv.Budget(3.0, 1e-6))
print(sv.plan(n=2_000, dim=5, loss=sv.losses.Logistic(), budget=sv.Budget(1.0, 1e-6)), ledger)
with_errors = sv.fit("claims.csv", "schema.toml", epsilon=3.0, delta=1e-6, inference=sv.Inference(0.3))
print(with_errors.summary().frame())
