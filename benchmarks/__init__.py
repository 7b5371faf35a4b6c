"""Measurements: `python -m benchmarks` for speed; the other modules say how to run them."""
