"""`adapt`: learn centre and spread of the columns privately, then train where noise hurts least."""

from sottovoce.methods.adapt.method import Adapt

__all__ = ["Adapt"]
