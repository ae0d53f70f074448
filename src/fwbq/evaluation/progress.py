"""A progress bar on a terminal and in a notebook; elsewhere nothing, or lines for who asks for them."""

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress


#: What is raised where nothing can be written: a full disk, a terminal or a pipe that is gone, a closed file, no
#: standard error at all. Hours of evaluations are not lost for a line that nobody reads.
_UNWRITABLE = (OSError, ValueError, AttributeError)


def _watched() -> bool:
    """Whether somebody is watching: at a terminal, or in a notebook, where rich draws with ipywidgets."""
    with suppress(AttributeError, ValueError):  # None, closed, or an object that can do nothing but write
        if sys.stderr.isatty():
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
        None draws when standard error is a terminal, or in a notebook that has ipywidgets. True draws there too, and
        elsewhere, as in the file of a batch job, writes a line for every tenth of the work. False does nothing.

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
        self._watched = enabled is not False and _watched()
        self.enabled = self._watched if enabled is None else enabled
        self.done = 0
        self._next = 1  # of the lines
        self._bar: RichProgress | None = None
        #: Seconds that a unit of work took last, by its kind.
        self._pace: dict[str, float] = {}

    def __enter__(self) -> Self:
        if self._watched:
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
        elif self.enabled and self.done >= self._next:
            of = "" if self.total is None else f" of {self.total}"
            with suppress(*_UNWRITABLE):
                sys.stderr.write(f"{self.description}: {self.done}{of}\n")
            # Ten lines where the whole is known, one for each doubling where it is not.
            self._next = self.done + max(1, self.total // 10) if self.total is not None else 2 * self.done

    @contextmanager
    def meanwhile(self, what: str, size: int, power: float = 3.0) -> Iterator[None]:
        """Say before the bar what is computed while no piece of work is finished, and how long it may take.

        Parameters
        ----------
        what : str
            The kind of work, in a few words.
        size : int
            Its size, which is named too.
        power : float
            The time grows as the size to this power. What a smaller piece of the same kind took says how long this one
            may take; from one second on that is said.
        """
        bar = self._bar
        if bar is None:  # then no clock is read
            yield
            return
        expected = self._pace.get(what, 0.0) * size**power
        left = f", about {expected:.0f} s" if expected >= 1.0 else ""
        bar.update(bar.task_ids[0], description=f"{self.description}: {what} {size} values{left}")
        begin = time.monotonic()
        try:
            yield
        finally:
            self._pace[what] = (time.monotonic() - begin) / size**power
            bar.update(bar.task_ids[0], description=self.description)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            with suppress(*_UNWRITABLE):
                self._bar.stop()
            self._bar = None


def shown(
    progress: bool | Progress | None, total: int, description: str = "evaluate"
) -> AbstractContextManager[Progress]:
    """Return a bar of one's own, as `Progress` draws it or not, or the one that is there already.

    Examples
    --------
    >>> with Progress(3, enabled=False) as bar, shown(bar, 2) as same:
    ...     same is bar
    True
    """
    return nullcontext(progress) if isinstance(progress, Progress) else Progress(total, description, progress)
