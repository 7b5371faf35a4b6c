"""Public data embedded in the package, for the demo, the reproduction and the tests."""
