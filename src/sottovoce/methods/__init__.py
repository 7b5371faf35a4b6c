"""Optimizers. Each sees public constants and noisy answers, never data."""
