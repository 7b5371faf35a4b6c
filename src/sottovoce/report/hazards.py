"""What evaluators of a private release ask, answered from public facts: NIST SP 800-226 and the EU AI Act.

Nothing here is a number that was not released or declared. What no run knows is left to whoever publishes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sottovoce.accounting.relations import Relation
from sottovoce.accounting.wording import at_most
from sottovoce.report.markup import element, number, text
from sottovoce.report.words import charged

if TYPE_CHECKING:
    from sottovoce.report.card import Card
    from sottovoce.results.result import Result

YOURS = "For whoever publishes the model to say."


class Answer(NamedTuple):
    """A question and what is known of it."""

    asked: str
    told: str


def hazards(result: Result, card: Card) -> dict[str, tuple[Answer, ...]]:
    """Hazards that SP 800-226 names, in its order: parameters and unit; mechanism, utility, bias; trust."""
    promise = result.guarantee
    whole = promise.unit == "person"
    counted = (
        f"A ledger counts them: {card.account}"
        if card.account
        else f"{charged(result)} the ledger named below, within its cap."
        if result.ledger
        else "No ledger counted this release: what else is released from these data adds to it."
    )
    return {
        "Parameters and unit of privacy": (
            Answer(
                "Is epsilon small enough to mean something?",
                "Nothing is promised: noise was drawn from a seed."
                if result.simulated
                else f"\u03b5 = {number(at_most(promise.epsilon))} at \u03b4 = "
                f"{number(at_most(promise.delta))}, for the whole run and not for a step of it; "
                f"\u03b4 times n is {number(promise.delta * promise.n)}."
                + (f" {promise.caveat[:1].upper()}{promise.caveat[1:]}." if promise.caveat else ""),
            ),
            Answer(
                "Is the unit smaller than a person?",
                "Nothing is protected: noise was drawn from a seed."
                if result.simulated
                else "No: all records of a person are protected together."
                if whole
                else "The unit is a record. A person with k records is protected roughly k times less; "
                "declare who a record belongs to if somebody has several.",
            ),
            Answer(
                "Which data sets are neighbours?",
                (
                    "One may be replaced by any other"
                    if promise.relation is Relation.REPLACE_ONE
                    else "One may count nothing"
                )
                + f"; {promise.otherwise}.",
            ),
            Answer("Do other releases from the same data add up?", counted),
        ),
        "Mechanism, utility and bias": (
            Answer(
                "Is the sensitivity bounded, whatever a record holds?",
                "Yes: ranges and categories are declared, each contribution is clamped where it is "
                "summed, and what is charged follows from the clamp. Whoever declares ranges after "
                "looking at the data gives this up.",
            ),
            Answer(
                "Does the noise suffer from floating point?",
                "It was drawn from a seed. That of a private run is drawn exactly, from entropy."
                if result.simulated
                else "It is drawn exactly on a lattice, from the operating system's entropy, and rounding "
                "of sums is part of the sensitivity.",
            ),
            Answer(
                "Was anything tuned outside the budget?",
                "The method takes no setting from the data outside the budget. Whether other models "
                "were tried on these data, only their owner knows.",
            ),
            Answer(
                "How useful is it?",
                "Figures on rows held out, each paid for, stand above."
                if card.measured
                else "No accuracy was measured. What the noise moves is beside each coefficient"
                + ("." if card.timed else "; sottovoce evaluate measures on other rows at a cost."),
            ),
            Answer(
                "Whom does it serve worse?",
                "Noise and clamping weigh most on groups of few records and on values at the ends of "
                "their ranges. Nothing was measured group by group.",
            ),
        ),
        "Trust, side channels and security": (
            Answer(
                "Who is trusted?",
                "One curator, who holds the data and trains: the central model. Whoever sees what is "
                "released is not trusted, whatever else they know and can compute.",
            ),
            Answer(
                "Are there side channels?",
                "Running time, memory, and whether a file was refused as invalid may depend on the "
                "data: keep them to the curator.",
            ),
            Answer(
                "Who can read the data themselves?",
                f"{YOURS} Journals of runs beside a ledger are for their owner.",
            ),
            Answer(
                "Is the software sound?",
                "Open source, tested by attacks and planted defects; the files to believe are listed "
                "in its docs. It was not certified by anybody.",
            ),
        ),
    }


def technical(result: Result, card: Card) -> tuple[Answer, ...]:
    """Points of the technical documentation of the EU AI Act, Annex IV, as far as a run knows them."""
    versions = card.versions or {"sottovoce": result.version}
    made = ", ".join(f"{name} {version}" for name, version in versions.items())
    figures = ", ".join(
        f"{one.name} {number(one.value)} ({number(one.low)} to {number(one.high)})" for one in card.measured
    )
    columns = len(card.features) or "unnamed"
    declared = (
        "of columns declared without looking at them; ranges that were drawn in, knots and the choice of "
        "curves follow from answers released within the budget"
        if card.effects
        else "declared without looking at them"
    )
    return (
        Answer("1 Purpose and provider", " ".join(filter(None, (card.purpose, card.contact))) or YOURS),
        Answer("1 Version and software", f"{card.trained or 'date not known'}; {made}"),
        Answer("2a Methods and steps", result.choice or result.method),
        Answer("2b Design, and what is optimized", result.objective),
        Answer("2c Computing", f"{result.weights.size} weights; a processor, no accelerator"),
        Answer(
            "2d Data",
            f"{card.dataset or 'not named'}: {result.guarantee.whose}, {columns} encoded "
            f"columns, {declared}. Where they come from and how they were chosen: {YOURS.lower()}",
        ),
        Answer("2e Human oversight", YOURS),
        Answer("2g Validation", figures or "no figure was measured"),
        Answer(
            "2h Security",
            "changes of the model file are noticed by its checksum, and by a signature if there is one",
        ),
        Answer(
            "3 Limitations",
            f"{'the caveats on this page, and ' if result.caveats else ''}what is not promised, above",
        ),
        Answer("4 Whether these measures are the right ones", YOURS),
        Answer("5 Risk management, 9 monitoring", YOURS),
        Answer("6 Changes", f"ledger {result.ledger}, seal {result.ledger_head}" if result.ledger else YOURS),
    )


def shown(result: Result, card: Card) -> str:
    """The hazards as a section of the page."""
    lead = element("p", "What NIST SP 800-226 tells evaluators of differential privacy to ask, in its order.")
    return lead + "".join(
        element("h3", text(title)) + listed(answers) for title, answers in hazards(result, card).items()
    )


def listed(answers: tuple[Answer, ...]) -> str:
    rows = "".join(element("dt", text(one.asked)) + element("dd", text(one.told)) for one in answers)
    return element("dl", rows, class_="card")
