"""Tables that programs write into pages of the documentation."""

from __future__ import annotations

from pathlib import Path

from fwbq import _files

BEGIN, END = "<!-- begin tables -->\n", "<!-- end tables -->"


def write_tables(page: Path, text: str) -> None:
    r"""Replace what stands between the two markers of a page in Markdown.

    Parameters
    ----------
    page : Path
        A page with the lines ``<!-- begin tables -->`` and ``<!-- end tables -->``.
    text : str
        What goes between them, in Markdown.

    Raises
    ------
    ValueError
        If the page lacks one of the markers.

    Examples
    --------
    >>> import tempfile
    >>> page = Path(tempfile.mkdtemp()) / "page.md"
    >>> _ = page.write_text("before\n" + BEGIN + "old\n" + END + " after")
    >>> write_tables(page, "| new |\n")
    >>> page.read_text().splitlines()
    ['before', '<!-- begin tables -->', '', '| new |', '', '<!-- end tables --> after']
    """
    old = page.read_text()
    before, begin, rest = old.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"`page` must have the lines {BEGIN.strip()} and {END}, but {page.name} lacks one: add it")
    _files.write(page, before + BEGIN + "\n" + text.strip("\n") + "\n\n" + END + after)
