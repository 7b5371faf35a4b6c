"""Untuned methods of ours beside rivals tuned for free, on any table, under both relations."""
