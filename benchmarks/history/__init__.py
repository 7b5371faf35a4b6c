"""Ratios of every landed measurement, and whether this checkout is still as fast as the last one."""
