"""What notebooks show of an object: a small table, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from typing import Any

import numpy as np

_LEFT = 'style="text-align: left; vertical-align: top"'
#: Longest text in a cell: four lines of a notebook.
_LONGEST = 400
#: Arrays up to this many numbers are written out; of larger ones only the shape is said.
_MOST = 9


def table(rows: Iterable[tuple[str, str]], title: str = "") -> str:
    """Return a table of names and texts as HTML.

    Examples
    --------
    >>> table([("n", "<3>")])[:7], "&lt;3&gt;" in table([("n", "<3>")])
    ('<table>', True)
    """
    body = "".join(
        f"<tr><th {_LEFT}>{escape(shortened(head))}</th><td {_LEFT}>{escape(shortened(text))}</td></tr>"
        for head, text in rows
    )
    return f"<table>{_caption(title)}<tbody>{body}</tbody></table>"


def grid(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> str:
    """Return a table with a head and several columns as HTML; the first column is left-aligned.

    Examples
    --------
    >>> grid(["model", "p"], [["a", "0.5"]]).count("<td")
    2
    """
    head = "".join(f"<th {_LEFT if i == 0 else ''}>{escape(name)}</th>" for i, name in enumerate(columns))
    body = "".join(
        "<tr>"
        + "".join(f"<td {_LEFT if i == 0 else ''}>{escape(shortened(c))}</td>" for i, c in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return f"<table>{_caption(title)}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def value(x: Any) -> str:
    """Return a parameter as a reader wants it: small arrays written out, large ones by their shape.

    Examples
    --------
    >>> value(np.array([1.0, 0.5])), value(np.zeros((100, 2))), value(0.25)
    ('[1, 0.5]', 'array of shape (100, 2)', '0.25')
    """
    if isinstance(x, np.ndarray):
        if x.size > _MOST:
            return f"array of shape {x.shape}"
        return np.array2string(x, separator=", ", formatter={"float_kind": lambda v: f"{v:.6g}"}).replace("\n", "")
    if isinstance(x, float):
        return f"{x:.6g}"
    return repr(x) if not isinstance(x, str) else x


def parameters(x: Any) -> list[tuple[str, str]]:
    """Return the public fields of a dataclass with their values; none for other objects."""
    if not is_dataclass(x):
        return []
    return [(f.name, value(getattr(x, f.name))) for f in fields(x) if not f.name.startswith("_")]


def shortened(text: str) -> str:
    """Return a text that fits into a cell."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _caption(title: str) -> str:
    return f'<caption style="text-align: left; font-weight: bold">{escape(title)}</caption>' if title else ""
