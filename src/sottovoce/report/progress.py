"""An optional progress line that shows released (noisy) quantities only."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sottovoce.results.result import TraceRow


class Pace(NamedTuple):
    """How many steps a run takes, what kind of row each has in the trace, and what part of the data one
    reads. Public."""

    steps: int
    kind: str
    part: float

    def told(self, taken: int) -> str:
        return f"step {taken} of {self.steps}, epoch {taken * self.part:.1f} of {self.steps * self.part:.1f}"


@contextmanager
def waiting(show: bool, what: str) -> Iterator[None]:
    """With `show` a spinner on standard error beside `what`, for work that has no parts to count."""
    if not show:
        yield
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(what)):
        yield


@contextmanager
def watching(
    show: bool, name: str, whole: float = 0.0, pace: Pace | None = None
) -> Iterator[Callable[[TraceRow], None]]:
    """Hand out a callback for trace rows; with `show` it draws a bar on standard error.

    The bar is the part spent of the budget, whose mu^2 is `whole`: a function of noisy answers. With a `pace`
    steps, passes over the data and the time left are told too."""
    if not show:
        yield lambda row: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = [TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[seen]}")]
    if pace is not None:
        columns[2:2] = [TaskProgressColumn("{task.percentage:.0f} % of the budget"), TimeRemainingColumn()]
    taken = 0
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=whole or None, seen="")

        def watch(row: TraceRow) -> None:
            nonlocal taken
            if pace is not None and row.kind == pace.kind:
                taken += 1
                bar.update(task, advance=row.mu_squared, description=f"{name}: {pace.told(taken)}")
                return
            norm = "" if row.gradient_norm is None else f"noisy gradient norm {row.gradient_norm:.4g}"
            bar.update(task, advance=row.mu_squared, description=f"{name}: {row.kind}", seen=norm)

        yield watch
