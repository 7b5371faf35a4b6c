"""Attacks on mechanisms and methods, and what they prove about the privacy that was lost at least."""
