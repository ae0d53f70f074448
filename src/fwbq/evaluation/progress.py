"""A progress bar on a terminal and in a notebook, nothing elsewhere."""

import sys
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress


def _watched() -> bool:
    """Whether somebody is watching: at a terminal, or in a notebook, where rich draws with ipywidgets."""
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    # Without a kernel there is no notebook: do not import rich to find out.
    if "ipykernel" not in sys.modules or find_spec("ipywidgets") is None:
        return False
    from rich.console import Console

    return bool(Console().is_jupyter)


class Progress:
    """Count finished pieces of work, and draw them with rich where somebody is watching.

    Parameters
    ----------
    total : int, optional
        How many pieces there are; None when it is not known beforehand.
    description : str
        The word before the bar.
    enabled : bool, optional
        None draws when standard error is a terminal, or in a notebook that has ipywidgets; True draws always; False
        never.

    Notes
    -----
    The bar goes to standard error, or into a widget of the notebook, and is wiped when the block ends, so that what a
    program prints stays clean. Rich is imported only when something is drawn.

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
        self.enabled = _watched() if enabled is None else enabled
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
