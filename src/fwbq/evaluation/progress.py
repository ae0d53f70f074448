"""A progress bar on a terminal, nothing elsewhere."""

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress


class Progress:
    """Count finished pieces of work, and draw them with rich where somebody is watching.

    Parameters
    ----------
    total : int, optional
        How many pieces there are; None when it is not known beforehand.
    description : str
        The word before the bar.
    enabled : bool, optional
        None draws when standard error is a terminal; True draws always; False never.

    Notes
    -----
    The bar goes to standard error and is wiped when the block ends, so that what a program prints stays clean. Rich is
    imported only when something is drawn.

    Examples
    --------
    >>> with Progress(3, "evaluate", enabled=False) as progress:
    ...     progress.advance(2)
    >>> progress.done
    2
    """

    def __init__(self, total: int | None = None, description: str = "evaluate", enabled: bool | None = None) -> None:
        self.total = total
        self.description = description
        self.enabled = sys.stderr is not None and sys.stderr.isatty() if enabled is None else enabled
        self.done = 0
        self._bar: RichProgress | None = None

    def __enter__(self) -> Self:
        if self.enabled:
            from rich import progress
            from rich.console import Console

            self._bar = progress.Progress(
                progress.TextColumn("{task.description}"),
                progress.BarColumn(),
                progress.MofNCompleteColumn(),
                progress.TimeElapsedColumn(),
                progress.TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
            self._bar.add_task(self.description, total=self.total)
        return self

    def advance(self, count: int = 1) -> None:
        """Say that `count` more pieces are finished."""
        self.done += count
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0], count)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
