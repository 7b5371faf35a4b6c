"""Attacks on the library's promises, each a small package with a command of its own."""
