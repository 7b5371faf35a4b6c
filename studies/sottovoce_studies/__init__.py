"""The experiments of Gao & Wright run again: their problems, their methods and ours, beside their tables.

A study on public data with simulated noise. Exact losses, gradients and eigenvalues are computed after each
run, outside of it: no method sees them."""
