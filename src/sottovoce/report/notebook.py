"""What a notebook shows of a result, a model and a plan: one table that takes the notebook's own colours.

No script, no style sheet, nothing fetched, and no colour but the text's own, so that it reads on light and on
dark; like the page it holds noisy quantities and public constants only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sottovoce.report import words
from sottovoce.report.markup import capital, element, number, text

if TYPE_CHECKING:
    from sottovoce.model import Model
    from sottovoce.planning.planner import Plan
    from sottovoce.results.result import Result

_TABLE = "border-collapse: collapse; color: inherit; background: transparent; max-width: 60em"
_CAPTION = "text-align: left; font-weight: bold; padding: .3em .6em; color: inherit"
_CELL = "text-align: left; vertical-align: top; padding: .25em .6em; border: 0; border-top: 1px solid"


def panel(title: str, facts: Sequence[tuple[str, object]]) -> str:
    """A caption and a row for each fact that is not empty."""
    rows = "".join(
        element(
            "tr", element("th", text(name), scope="row", style=_CELL) + element("td", text(said), style=_CELL)
        )
        for name, said in facts
        if said != ""
    )
    return element("table", element("caption", text(title), style=_CAPTION) + rows, style=_TABLE)


def result_panel(result: Result) -> str:
    """What is promised and what was reached."""
    return panel("Private result", _result_facts(result))


class ShownModel:
    """What a notebook shows of a model."""

    def _repr_html_(self: Model) -> str:  # type: ignore[misc]
        return model_panel(self)


def model_panel(model: Model) -> str:
    """What it predicts, how good it was measured to be, and what is promised."""
    columns = ", ".join(column.name for column in model.schema.columns)
    measured = [
        (
            capital(part.name),
            f"{number(part.value)}, between {number(part.low)} and {number(part.high)}"
            + (f"; {part.too_few}" if part.too_few else ""),
        )
        for part in model.figures
    ]
    about = [
        ("Predicts", "" if model.schema.target is None else model.schema.target.name),
        ("From", columns),
        ("Purpose", model.purpose),
        ("Contact", model.contact),
        *measured,
    ]
    return panel(f"Private model of {model.dataset or 'a table'}", [*about, *_result_facts(model.result)])


def plan_panel(plan: Plan) -> str:
    """The plan, a line a row."""
    first, *rest = str(plan).splitlines()
    return panel(first, [("", line.strip()) for line in rest])


def _result_facts(result: Result) -> list[tuple[str, object]]:
    return [
        ("Promise", words.headline(result)),
        ("Guarantee", result.guarantee),
        ("Certificate", result.certificate),
        ("Stopped", result.stop.value),
        ("Method", result.choice or result.method),
        ("Ledger", result.ledger or "none: other models on these records add their budgets"),
        *(("Caveat", caveat) for caveat in result.caveats),
    ]
