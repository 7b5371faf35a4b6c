"""What an audit says on a model's page: evidence beside the guarantee, never a part of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sottovoce.accounting.relations import Relation
from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.accounting.guarantee import Guarantee

_NUMBERS = ("epsilon", "delta", "confidence", "epsilon_at_least", "mu_at_least", "gaussian_epsilon_at_least")


def evidence(raw: Any, guarantee: Guarantee) -> str:
    """A sentence from what `sottovoce audit --json` printed; an audit of another promise is refused."""
    found = _checked(raw)
    claim = (found["epsilon"], found["delta"], found["relation"])
    if claim != (guarantee.epsilon, guarantee.delta, guarantee.relation.value):
        raise ParameterError(
            f"the audit is of epsilon={claim[0]:g}, delta={claim[1]:g}, {claim[2]}, and the model promises "
            f"epsilon={guarantee.epsilon:g}, delta={guarantee.delta:g}, {guarantee.relation.value}. "
            "Audit what the model promises."
        )
    how = (
        f"by one run with {found['canaries']:,} made-up records: {found['right']:,} of {found['guesses']:,} "
        "guesses were right"
        if "canaries" in found
        else f"{found['runs']:,} times on made-up records"
    )
    lost = max(found["epsilon_at_least"], found["gaussian_epsilon_at_least"])
    proved = f"at least epsilon {lost:.3g}" if lost > 0.0 else "nothing that could be proved"
    verdict = "REFUTES the guarantee" if found["flagged"] else "does not contradict the guarantee"
    return (
        f"{found['subject']} was attacked {how}. With {100.0 * found['confidence']:g} % confidence it gives "
        f"away {proved}. That {verdict} of at most {guarantee.epsilon:g}. An attack finds what it looks for: "
        "this is evidence, not a guarantee."
    )


def _checked(raw: Any) -> dict[str, Any]:
    counts = ("canaries", "guesses", "right") if isinstance(raw, dict) and "canaries" in raw else ("runs",)
    usable = (
        isinstance(raw, dict)
        and all(_is_number(raw.get(name)) for name in _NUMBERS)
        and all(isinstance(raw.get(name), int) and raw[name] >= 0 for name in counts)
        and isinstance(raw.get("subject"), str)
        and len(raw["subject"]) <= 200
        and isinstance(raw.get("flagged"), bool)
        and raw.get("relation") in [relation.value for relation in Relation]
    )
    if not usable:
        raise ParameterError("this is no audit. Write one: sottovoce audit --one-run --json > audit.json.")
    return dict(raw)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value < math.inf
