"""Seeded privacy defects: each is written into a copy of the source and must make a fast test fail."""
