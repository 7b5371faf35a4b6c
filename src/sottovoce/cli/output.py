"""What commands print: words for people on a terminal, or one JSON object for programs."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sottovoce.errors import AccuracyWarning, LedgerError, PrivacyWarning

if TYPE_CHECKING:
    from rich.console import Console

    from sottovoce.accounting import Ledger
    from sottovoce.evaluation.figures import Estimate
    from sottovoce.model import Model
    from sottovoce.report import Card
    from sottovoce.results.result import Result

_BOLD, _DIM = "1", "2"


def console() -> Console:
    """Standard output. Text is shown as it is: labels and names may look like markup or emoji codes."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True, markup=False, emoji=False)


def say(lines: dict[str, object]) -> None:
    """A bold word and its text a line."""
    width = max(map(len, lines)) + 2
    for word, text in lines.items():
        print(_styled(word.ljust(width), _BOLD) + shown_safely(text))


def remark(text: str) -> None:
    """A line in a muted colour."""
    print(_styled(text, _DIM))


def aside(text: str) -> None:
    """A line beside the output, on standard error."""
    print(f"sottovoce: {shown_safely(text)}", file=sys.stderr)


@contextmanager
def warned() -> Iterator[None]:
    """What weakens a guarantee, or will tell little, is told at once on standard error, in plain words."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", PrivacyWarning)
        warnings.simplefilter("always", AccuracyWarning)
        warnings.showwarning = lambda message, *_, **__: aside(str(message))
        yield


def say_text(text: str) -> None:
    """A block of text, as it is."""
    print(shown_safely(text))


def _styled(text: str, style: str) -> str:
    """Styled on a terminal that knows how, without rich, which takes longer to load than most answers."""
    plain = not sys.stdout.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return text if plain else f"\x1b[{style}m{text}\x1b[0m"


def shown_safely(text: object) -> str:
    """Text from a file, its control characters spelled out: a terminal would obey them."""
    return "".join(
        character if character.isprintable() or character == "\n" else ascii(character)[1:-1]
        for character in str(text)
    )


def say_json(values: dict[str, Any]) -> None:
    print(json.dumps(values, indent=1, allow_nan=False))


def summary(result: Result) -> dict[str, Any]:
    """A result without its weights and trace, for --json."""
    raw = result.to_dict()
    kept = (
        *("method", "objective", "stop", "guarantee", "certificate", "spending", "simulated", "ledger"),
        "caveats",
    )
    return {name: raw[name] for name in kept}


def caveats(said: Iterable[str]) -> dict[str, object]:
    """Lines for `say`: what is not promised."""
    return {"Caveat" if not place else f"Caveat {place + 1}": text for place, text in enumerate(said)}


def measured(figure: Estimate, unit: str) -> str:
    """A figure of the rows, or persons, that were held out."""
    whose = "rows" if unit == "record" else "persons"
    return (
        f"{figure.value:.4f} on {figure.n:,} {whose} held out, between {figure.low:.4f} and "
        f"{figure.high:.4f} with {100 * figure.confidence:.6g} % confidence, noise included"
        + (f"; {figure.too_few} {whose}" if figure.too_few else "")
    )


def is_watched() -> bool:
    """Whether standard error is a terminal."""
    return sys.stderr.isatty()


def open_ledger(path: Path | None, dataset: str | None, part: str | None = None) -> Ledger | None:
    """The ledger of a data set that was created before; nothing is created here by a slip of the pen."""
    if path is None:
        if part is not None:
            raise LedgerError("--part is of a ledger: add --ledger FILE --dataset NAME.")
        if dataset is not None:
            raise LedgerError(
                f"--dataset {dataset} names what a ledger is charged for, and no ledger is named: nothing "
                "would be counted. Add --ledger FILE, or leave --dataset out."
            )
        return None
    from sottovoce.accounting import Ledger

    if dataset is None:
        raise LedgerError("name the data set to charge: --ledger FILE --dataset NAME.")
    if not path.exists():
        raise LedgerError(
            f"there is no ledger at {path}. Create it: sottovoce ledger create {path} --dataset {dataset} "
            "--epsilon E --delta D."
        )
    return Ledger.open(path, dataset=dataset, part=part or "")


def dataset_of(path: Path, result: Result) -> str:
    """The data set of a ledger file that a result was charged to; another's ledger is refused."""
    from sottovoce.accounting.disk.statement import verify

    found = [part.name for part in verify(path).datasets if part.identity == result.ledger]
    if not found:
        raise LedgerError(f"this run was not charged to the ledger at {path}. Name the one that was.")
    return found[0]


def account_of(path: Path, dataset: str) -> str:
    """The cap of a data set in a ledger file, what is spent of it and what is left, in words."""
    from sottovoce.accounting.disk.statement import verify

    statement = verify(path)
    part = next((part for part in statement.datasets if part.name == dataset), None)
    if part is None:
        return ""
    cap = part.allowance.budget
    spent = 100.0 * part.account.spent.units / part.allowance.cap.units
    return (
        f"of the cap of {dataset}, epsilon {cap.epsilon:g} at delta {cap.delta:g}, {spent:.3g} % is spent by "
        f"all runs together, epsilon {part.epsilon_spent:.3g} at this delta. Left: {part.remaining}."
    )


def load_model(path: Path, signers: Path | None = None) -> Model:
    """A model whose checksum and, where it has one, whose signature match; what is amiss is said."""
    from sottovoce.cli.signing import require_signed
    from sottovoce.model import Model

    require_signed(path, signers)
    return Model.load(path)


def saved_run(path: Path, signers: Path | None = None) -> tuple[Result, Card | None]:
    """The result in a saved run or a model file, and what the latter says about it."""
    from sottovoce import model
    from sottovoce.cli.signing import require_signed
    from sottovoce.files import read_json, require_unchanged
    from sottovoce.results import result

    require_signed(path, signers)
    raw = require_unchanged(read_json(path, "saved run or model file"))
    if isinstance(raw, dict) and raw.get("format") == model.FORMAT:
        found = model.Model.from_dict(raw)
        return found.result, found.card()
    return result.Result.from_dict(raw), None
