"""What privacy costs and who may still spend: budgets, events, prices and the ledger.

Imports no other part of the library but its errors and the tool that signs."""

from __future__ import annotations

from sottovoce.accounting.budget import Budget
from sottovoce.accounting.currency import Currency, Gdp, Units
from sottovoce.accounting.disk.statement import Statement, adopt, verify
from sottovoce.accounting.events import (
    Draw,
    Event,
    GaussianEvent,
    PureEvent,
    QueryKind,
    SubsampledGaussianEvent,
)
from sottovoce.accounting.ledger import Ledger
from sottovoce.accounting.lineage import Preset, composed
from sottovoce.accounting.relations import Relation
from sottovoce.accounting.renyi.currency import Renyi, best_order
from sottovoce.accounting.run import Run
from sottovoce.accounting.store import Grant, MemoryStore, Store, Totals

__all__ = [
    "Budget",
    "Currency",
    "Draw",
    "Event",
    "GaussianEvent",
    "Gdp",
    "Grant",
    "Ledger",
    "MemoryStore",
    "Preset",
    "PureEvent",
    "QueryKind",
    "Relation",
    "Renyi",
    "Run",
    "Statement",
    "Store",
    "SubsampledGaussianEvent",
    "Totals",
    "Units",
    "adopt",
    "best_order",
    "composed",
    "verify",
]
