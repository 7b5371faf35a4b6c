"""An optional progress line that shows released (noisy) quantities only."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sottovoce.result import TraceRow


@contextmanager
def watching(show: bool, name: str) -> Iterator[Callable[[TraceRow], None]]:
    """Hand out a callback for trace rows; with `show` it draws a status line on standard error."""
    if not show:
        yield lambda row: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.fields[seen]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None, seen="")

        def watch(row: TraceRow) -> None:
            norm = "" if row.gradient_norm is None else f"noisy gradient norm {row.gradient_norm:.4g}"
            bar.update(task, advance=1, description=f"{name}: {row.kind}", seen=norm)

        yield watch
