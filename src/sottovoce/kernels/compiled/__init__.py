"""The same passes compiled by numba, a few rows at a time."""
