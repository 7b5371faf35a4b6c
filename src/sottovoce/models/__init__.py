"""Empirical risks and their exact derivatives: sums over rows, nothing else."""
