"""Measurements: `python -m benchmarks.kernels`."""
