"""Exact passes over bounded rows, in NumPy and compiled."""
