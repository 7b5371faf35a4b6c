"""A model's entry for the registry of deployments that OpenDP keeps: what a run knows, and marked blanks.

The fields are those of schemas/deployments-schema.yaml in opendp/deployments-registry-data at commit
3e9c812a924cf01d228f26f6c462c59c391c3f2a (15 July 2026). All that is stated is public or was released."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from sottovoce.accounting.relations import Relation
from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.report.card import Card
    from sottovoce.results.result import Result

BLANK = "TO FILL IN: "
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")


@final
@dataclass(frozen=True, kw_only=True)
class Publication:
    """What no run knows: who publishes the model, why, for which region and sector, when, and who writes."""

    curators: tuple[str, ...] = ()
    purpose: str = ""
    region: str = ""
    sector: str = ""
    published: str = ""
    authors: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.sector and self.sector not in SECTORS:
            raise ParameterError(
                f"sector must be one of {', '.join(SECTORS)}, as the registry has it.", argument="sector"
            )
        if self.published and not re.fullmatch(r"\d{4}-\d\d-\d\d", self.published):
            raise ParameterError("published must be a date such as 2026-11-18.", argument="published")


_CURVED = (
    ", within which ranges that were drawn in, knots and the choice of curves follow from released answers"
)


def entry(result: Result, card: Card, about: Publication) -> dict[str, Any]:
    """The entry as plain values. A text that begins with BLANK is for its author to fill in."""
    if result.simulated:
        raise ParameterError("a simulated run is not private and cannot be registered. Train without a seed.")
    if not about.published and not card.trained:
        raise ParameterError("the registry asks for a date, which a saved run has none of: pass published=.")
    promise = result.guarantee
    name = card.dataset or "private model"
    slug = re.sub(r"[^a-z0-9]+", "-", f"{name} {card.target} {card.trained}".lower()).strip("-")
    unit = promise.unit
    basic = {
        "name": f"Private model of {card.target or 'a table'} ({name})",
        "data_curators": list(about.curators) or [f"{BLANK}who publishes the model"],
        "intended_use": card.purpose or about.purpose or f"{BLANK}what the model is for",
        "data_product_type": "Machine learning model",
        "data_product_region": about.region or f"{BLANK}the region the data describe, or whose laws apply",
        "description": f"{result.objective}; {result.weights.size} weights, fitted on {promise.whose}.",
        "publication_date": about.published or card.trained,
        **({"data_product_sector": about.sector} if about.sector else {}),
    }
    return {
        "url_slug": slug or "private-model",
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": basic,
            "dp_variant": {
                "variant_name": "Approximate DP",
                "data_domain": f"Tables with the declared columns, of {promise.whose}.",
                "unprotected_quantities": _unprotected(result),
            },
            "privacy_loss": {
                "privacy_unit": "one record" if unit == "record" else "one person, with all of their records",
                "privacy_unit_details": _neighbours(result),
                "privacy_parameters": {"epsilon": promise.epsilon, "delta": promise.delta},
                "privacy_parameters_details": f"{promise}.",
            },
            "deployment_model": {
                "model_name": "Central",
                "actors": (
                    "Trusted: the machine and process that train, whoever can read the data. Not trusted: "
                    "anyone who sees what was released, with any computing power and other knowledge."
                ),
                "release_type": "One release",
                "release_type_details": f"{BLANK}further uses of these data{_account(result, card)}",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": "Weights, trace and report are functions of noisy answers alone.",
                "composition": (
                    "Fully adaptive composition under a filter fixed beforehand, charged before each answer"
                    f"{'; ' + promise.chain if promise.chain else ''}. "
                    f"{'Charged to' if promise.runs == 1 else 'The last run was charged for'}: "
                    f"{', '.join(f'{subject} {share:.1%}' for subject, share in result.spending.items())}."
                ),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": (
                    "Bounds and categories are declared, by their owner's word without the data; the method "
                    "takes no settings from the data outside the budget"
                    f"{_CURVED if card.effects else ''}. "
                    f"{BLANK}whether the data were explored or other models tuned"
                ),
                "mechanisms": (
                    f"{result.mechanism}, exact, from the operating system's entropy; method "
                    f"{result.method}; Sottovoce {result.version}. Rounding is part of every sensitivity. "
                    f"Running time is not protected. {BLANK}access controls of the data"
                ),
                "justification": f"{BLANK}who chose epsilon, delta and the neighbours, and why",
            },
            "administrative": {
                "notes": "; ".join(result.caveats) or "none",
                "registry_authors": list(about.authors) or [card.contact or f"{BLANK}who wrote this entry"],
            },
        },
    }


def _neighbours(result: Result) -> str:
    promise = result.guarantee
    whose = "One record" if promise.unit == "record" else "The records of one person together"
    change = (
        "may be any other valid data"
        if promise.relation is Relation.REPLACE_ONE
        else "may count nothing in any sum, the number by which sums are divided being the same"
    )
    return f"{whose} {change} ({promise.relation.value}; {promise.relation.filed}); {promise.otherwise}."


def _unprotected(result: Result) -> str:
    unit = result.guarantee.unit
    return (
        f"The number of {unit}s ({result.guarantee.n:,}{' at most' * (result.guarantee.runs > 1)}), the "
        "declared columns, bounds, categories, classes and all settings are public. Running time, memory and "
        "whether a file was refused are not protected."
    )


def _account(result: Result, card: Card) -> str:
    if card.account:
        return f". Ledger: {card.account}"
    return "" if result.ledger else ". No ledger counted this release with others"


def blanks(found: Any, place: str = "") -> list[str]:
    """Where an author has something to fill in."""
    if isinstance(found, str):
        return [place] if BLANK in found else []
    inner = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    return [part for key, value in inner for part in blanks(value, f"{place}.{key}" if place else str(key))]


def as_yaml(found: dict[str, Any], depth: int = 0) -> str:
    """YAML by its plainest means: mappings by indentation, every text in double quotes as JSON has it."""
    lines = []
    for key, value in found.items():
        lead = f"{'  ' * depth}{key}:"
        if isinstance(value, dict):
            lines.append(f"{lead}\n{as_yaml(value, depth + 1)}")
        elif isinstance(value, list):
            lines.append(
                f"{lead}\n" + "".join(f"{'  ' * (depth + 1)}- {json.dumps(part)}\n" for part in value)
            )
        else:
            lines.append(f"{lead} {_scalar(value)}\n")
    return "".join(lines)


def _scalar(value: str | float) -> str:
    """YAML 1.1 takes 1e-06 for text: its numbers have a point and a signed exponent."""
    if not isinstance(value, float):
        return json.dumps(value)
    text = repr(value)
    return text.replace("e", ".0e") if "e" in text and "." not in text else text
