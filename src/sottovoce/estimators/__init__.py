"""scikit-learn fronts: a private classifier, a private regressor, a private search over settings."""
