"""Ledgers in files: entries under seals, the file and its witness, the store, and statements for people."""
