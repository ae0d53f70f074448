"""What is printed: text for people, JSON for machines, one sentence for an error."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

#: Exit code of a run that ended before it reached what was asked for: `--stop` of a comparison, `--tol` of an integral.
NOT_CERTAIN = 3


def is_terminal() -> bool:
    """Whether somebody is watching: then tables have colour and lines, elsewhere they are plain text."""
    return sys.stdout.isatty()


def say(text: str = "") -> None:
    """Print a line."""
    sys.stdout.write(text + "\n")


def say_wrapped(text: str) -> None:
    """Print a long sentence: broken between words on a terminal, on one line elsewhere."""
    say(textwrap.fill(text, shutil.get_terminal_size().columns, break_on_hyphens=False) if is_terminal() else text)


def say_json(value: Any) -> None:
    """Print a JSON document."""
    sys.stdout.write(json.dumps(value, indent=2, default=plain, allow_nan=True) + "\n")


def plain(value: Any) -> Any:
    """Return what JSON can hold for numbers and arrays of NumPy."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return str(value)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: drawn by rich on a terminal, aligned plain text elsewhere; the first column is left-aligned."""
    if is_terminal():
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table

        # Without lines between the columns six of them fit a terminal of 80 characters.
        drawn = Table(
            title=escape(title), title_justify="left", title_style="bold", header_style="bold", box=SIMPLE_HEAD,
            pad_edge=False, padding=(0, 1, 0, 0),
        )  # fmt: skip
        for i, column in enumerate(columns):
            drawn.add_column(
                escape(column), justify="left" if i == 0 else "right", overflow="ellipsis" if i == 0 else "fold"
            )
        for row in rows:
            drawn.add_row(*(escape(cell) for cell in row))
        Console(no_color=bool(os.environ.get("NO_COLOR"))).print(drawn)
        return
    width = [max(len(str(c)) for c in column) for column in zip(columns, *rows, strict=True)]
    say(title)
    for row in (columns, *rows):
        say(
            "  ".join(
                c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, width, strict=True))
            ).rstrip()
        )


def in_flags(text: str, flags: Mapping[str, str]) -> str:
    """Return a message with the parameters that it names in backticks written as the flags that set them.

    Parameters
    ----------
    text : str
    flags : mapping
        What to write for a parameter, and for a parameter with a value where that has a flag of its own.

    Examples
    --------
    >>> in_flags("raise `n`, or check `f`", {"n": "--n"})
    'raise --n, or check `f`'
    >>> in_flags('`on_error="skip"` goes on', {"on_error": "--on-error"})
    '--on-error skip goes on'
    """

    def written(found: re.Match[str]) -> str:
        whole, name, value = found[1], found[2], found[3]
        if whole in flags or whole.startswith("--"):
            return flags.get(whole, whole)
        if name in flags and value is not None and flags[name].startswith("--"):
            return f"{flags[name]} {value.strip(chr(34) + chr(39))}"
        return found[0]

    return re.sub(r"`((-*[\w-]+)(?:=([^`]+))?)`", written, text)


def shorten(text: str, length: int = 60) -> str:
    """Return a text of at most `length` characters, without control characters."""
    clean = "".join(c if c.isprintable() else "?" for c in text[: length + 1])
    return clean if len(clean) <= length else clean[: length - 1] + "…"
