"""Which files are the trusted base: what scripts/trusted_base.py says, the one place that lists them."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def files(root: Path) -> set[str]:
    """Paths below src/sottovoce."""
    spec = importlib.util.spec_from_file_location("trusted_base", root / "scripts" / "trusted_base.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return set(module.base_files())
