"""The page: one HTML file with its style, script and charts inside, made from a Result and a Card alone."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.resources import files
from typing import TYPE_CHECKING

from sottovoce.accounting.wording import at_most, right_guess
from sottovoce.report import charts, hazards, words
from sottovoce.report.card import Card
from sottovoce.report.coefficients import coefficients
from sottovoce.report.curves import curves
from sottovoce.report.markup import element, number, percent, text

if TYPE_CHECKING:
    from sottovoce.results.result import Result

Clock = Callable[[], datetime]

SECTIONS = (
    ("guarantee", "What is guaranteed"),
    ("certificate", "What was reached"),
    ("curves", "Curves"),
    ("coefficients", "Coefficients"),
    ("budget", "Where the budget went"),
    ("steps", "Step by step"),
    ("hazards", "Questions of an evaluator"),
    ("card", "Model card"),
)


def now() -> datetime:
    return datetime.now(UTC)


def render(result: Result, card: Card | None = None, *, clock: Clock = now) -> str:
    """The page as text: the same bytes for the same result, card and date.

    Holds noisy quantities and public constants only; opens offline and asks for nothing."""
    about = card or Card()
    bodies = {
        "guarantee": _guarantee(result, about),
        "certificate": _paragraphs(words.measured(about.measured, result, timed=about.timed))
        + _certificate(result),
        "budget": _budget(result, about),
        "steps": _steps(result),
        **({"curves": curves(about)} if about.effects else {}),
        "coefficients": _behind_curves(coefficients(result, about), about),
        "hazards": hazards.shown(result, about),
        "card": _card(result, about, clock().date().isoformat()),
    }
    shown = [(name, title) for name, title in SECTIONS if name in bodies]
    sections = "\n".join(
        element("section", element("h2", text(title)) + bodies[name], id=name) for name, title in shown
    )
    title = f"Privacy report: {about.dataset or 'private model'}"
    return document(title, _header(result, about, shown) + sections)


def _behind_curves(shown: str, card: Card) -> str:
    """Coefficients, folded away where curves say what they do together."""
    if not card.effects or card.summary is not None:
        return shown
    return element("details", element("summary", "The weights that the curves are made of") + shown)


def document(title: str, content: str) -> str:
    """A page around its content: style and script inside, nothing fetched.

    The policy admits this style and this script by their digests and no other, so that markup which got into
    the content could not run."""
    style = "\n" + "".join(_part(name) for name in ("colours.css", "page.css", "chart.css"))
    script = "\n" + _part("page.js")
    policy = (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = (
        '<meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="color-scheme" content="light dark">'
        '<link rel="icon" href="data:,">'
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<head>{head}\n<title>{text(title)}</title>\n'
        f"<style>{style}</style>\n</head>\n<body>\n<main>\n{content}\n</main>\n"
        f'<div id="tip" role="status" hidden></div>\n<script>{script}</script>\n</body>\n</html>\n'
    )


def _digest(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def _part(name: str) -> str:
    return files("sottovoce.report").joinpath(name).read_text("utf-8")


def _header(result: Result, card: Card, sections: list[tuple[str, str]]) -> str:
    links = "".join(f'<a href="#{name}">{text(title)}</a>' for name, title in sections)
    facts = (
        ("\u03b5", "none" if result.simulated else number(at_most(result.guarantee.epsilon))),
        ("\u03b4", "none" if result.simulated else number(at_most(result.guarantee.delta))),
        (f"{result.guarantee.unit}s", f"{result.guarantee.n:,}"),
        *((figure.name, number(figure.value)) for figure in card.measured),
        *(
            [("cap of the ledger", f"{cap:g}")]
            if (cap := result.guarantee.cap_epsilon) and result.ledger
            else []
        ),
    )
    tiles = "".join(
        element("div", element("dt", text(name)) + element("dd", text(value))) for name, value in facts
    )
    return element(
        "header",
        element("p", "Sottovoce privacy report", class_="brand")
        + element("h1", text(card.dataset or "Private model"))
        + element("p", text(words.headline(result)), class_=_tone(result, card))
        + _undetermined(card)
        + element("p", text(words.promise(result)), class_="caption")
        + element("dl", tiles, class_="tiles")
        + element("nav", links, aria_label="Sections"),
    )


def _tone(result: Result, card: Card) -> str:
    """Green is for a promise that leaves an attacker in doubt, and that bought something."""
    if result.simulated:
        return "lead warning"
    weak = right_guess(result.guarantee.epsilon, result.guarantee.delta) > 0.95
    return "lead neutral" if weak or _says_nothing(card) else "lead"


def _says_nothing(card: Card) -> bool:
    return card.summary is not None and card.summary.nothing


def _undetermined(card: Card) -> str:
    if not _says_nothing(card):
        return ""
    return element(
        "p", "No coefficient of this model is determined: the noise hides them.", class_="lead warning"
    )


def _guarantee(result: Result, card: Card) -> str:
    limits = "".join(element("li", text(line)) for line in words.NOT_PROMISED)
    shown = _paragraphs(words.promises(result, card.measured))
    if result.simulated:
        return element("div", shown, class_="callout warning")
    symbols = element("p", "In symbols", class_="caption") + element("p", words.FORMULA, class_="formula")
    told = shown + symbols + element("h3", "What is not promised") + element("ul", limits)
    if card.audit:
        told += element("h3", "What an attack found") + element("p", text(card.audit), class_="callout")
    return told


def _certificate(result: Result) -> str:
    """For whoever knows what a gradient is: folded away."""
    said = element("summary", "How well the training converged, for a statistician")
    return element("details", said + _paragraphs(words.certificate(result)))


def _budget(result: Result, card: Card) -> str:
    shares = list(result.spending.items())
    unspent = max(0.0, 1.0 - sum(share for _, share in shares))
    listed = [
        *((f"c{place % 6}", *entry) for place, entry in enumerate(shares)),
        ("rest", "not spent", unspent),
    ]
    rows = "".join(
        element(
            "li",
            element("span", class_=f"key {colour}")
            + element("span", text(name))
            + element("span", percent(share), class_="amount"),
        )
        for colour, name, share in listed
        if colour != "rest" or share >= 0.0005
    )
    note = (
        "Each query was charged before the data were read. The guarantee is the preset budget whatever "
        "part of it was spent: stopping early never makes \u03b5 smaller."
    )
    if result.guarantee.runs > 1:
        note += " The shares are those of this run; the guarantee also covers the runs it started from."
    ledger = (
        f"{words.charged(result)} the ledger named in the model card, within its cap{_cap(result)}"
        if result.ledger
        else "No ledger was named: if other models are trained on these records, their budgets add up"
    )
    told = _paragraphs([note, f"{ledger}."])
    if card.account:
        told += element("p", element("strong", "The ledger: ") + text(card.account), class_="callout")
    return charts.spending(shares) + element("ul", rows, class_="legend") + told


def _cap(result: Result) -> str:
    promise = result.guarantee
    if promise.cap_epsilon is None or promise.cap_delta is None:
        return ""
    return f" of ({at_most(promise.cap_epsilon, 6):g}, {number(at_most(promise.cap_delta))})"


def _steps(result: Result) -> str:
    found = result.certificate
    gradient, curvature = charts.gradient(result), charts.curvature(result)
    if gradient is None:
        first = element("p", "No gradient was released.", class_="callout")
    else:
        keys = [("stroke", "noisy gradient norm")]
        if math.isfinite(found.gradient_norm_at_most):
            keys.append(("dash", f"certified: at most {number(found.gradient_norm_at_most)}"))
        if any(row.gradient_noise for row in result.trace if row.gradient_norm):
            keys.append(("noise", "noise alone"))
        first = figure(
            gradient,
            keys,
            "Length of the noisy gradient; a point near the length of noise alone carries hardly any signal.",
        )
    if curvature is None:
        second = element(
            "p",
            f"No curvature was released. That the smallest eigenvalue is at least "
            f"{number(found.curvature_at_least)} follows from the loss and penalty alone.",
            class_="callout",
        )
    else:
        keys = [("stroke", "noisy smallest eigenvalue")]
        if math.isfinite(found.curvature_at_least):
            keys.append(("dash", f"certified: at least {number(found.curvature_at_least)}"))
        second = figure(
            curvature,
            keys,
            "Smallest eigenvalue of the noisy Hessian. A line below a point reaches down to where the true "
            "one may lie.",
        )
    return element("div", first + second, class_="figures") + _trace(result)


def figure(chart: str, keys: list[tuple[str, str]], caption: str) -> str:
    """A chart below its legend and above its caption."""
    listed = "".join(element("li", element("span", class_=f"key {kind}") + text(said)) for kind, said in keys)
    return element("figure", element("ul", listed, class_="keys") + chart + element("figcaption", caption))


def _trace(result: Result) -> str:
    heads = (
        "step",
        "kind",
        "noisy gradient norm",
        "noise alone",
        "noisy curvature",
        "step length",
        "\u03bc\u00b2",
    )
    rows = [
        (
            str(step),
            row.kind,
            *(
                "" if value is None else number(value)
                for value in (row.gradient_norm, row.gradient_noise, row.curvature, row.step_length)
            ),
            number(row.mu_squared),
        )
        for step, row in enumerate(result.trace)
    ]
    head = "".join(element("th", text(name), scope="col") for name in heads)
    body = "".join(element("tr", "".join(element("td", text(cell)) for cell in row)) for row in rows)
    table = element("table", element("thead", element("tr", head)) + element("tbody", body))
    return element(
        "details", element("summary", "All steps as numbers") + element("div", table, class_="scroll")
    )


def _card(result: Result, card: Card, today: str) -> str:
    versions = card.versions or {"sottovoce": result.version}
    facts = (
        ("Data set", card.dataset or "not named"),
        ("Purpose", card.purpose),
        ("Contact", card.contact),
        (f"{result.guarantee.unit}s".capitalize(), f"{result.guarantee.n:,}"),
        ("Predicts", card.target),
        (
            "Features",
            f"{len(card.features)} encoded columns" if card.features else f"{result.weights.size} weights",
        ),
        ("Schema (SHA-256)", card.schema_digest),
        ("Objective", result.objective),
        ("Method", result.choice or result.method),
        ("Guarantee", str(result.guarantee)),
        ("Neighbours", f"{result.guarantee.neighbours} ({result.guarantee.relation.value})"),
        ("Ledger", result.ledger),
        ("Ledger seal", result.ledger_head),
        ("Trained", card.trained),
        ("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("This page", f"made on {today}"),
    )
    rows = "".join(element("dt", text(k)) + element("dd", text(v)) for k, v in facts if v)
    annex = element("summary", "Technical documentation (EU AI Act, Annex IV), as far as a run knows it")
    more = element("details", annex + hazards.listed(hazards.technical(result, card)))
    return element("dl", rows, class_="card") + more


def _paragraphs(lines: list[str]) -> str:
    return "".join(element("p", line) for line in lines)
