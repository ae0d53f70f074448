"""Blocks of README and docs run page by page, a text block after one is its output, and links lead somewhere.

Python blocks of a page share one namespace. In ``console`` blocks every line ``$ fwbq ...`` is run and followed by what
it prints, dots standing for anything. Blocks fenced as ``{code-block} python`` are shown and not run; with a caption
they are files.
"""

import ast
import contextlib
import doctest
import io
import re
import shlex
import sys
import warnings
from pathlib import Path

import pytest

from fwbq.cli.app import run

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(python|text|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```{code-block} \w+\n:caption: (\S+)\n\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
#: What the build of the documentation makes.
BUILT = ("gallery/", "generated/")


def blocks(page: Path):
    """(line, kind, code, expected output or None) for each block that is run."""
    text = page.read_text()
    found = list(FENCE.finditer(text))
    for i, match in enumerate(found):
        if match[1] == "text":
            continue
        after = found[i + 1] if i + 1 < len(found) else None
        adjacent = after is not None and after[1] == "text" and not text[match.end() : after.start()].strip()
        yield text.count("\n", 0, match.start()) + 1, match[1], match[2], after[2] if adjacent else None


def check_session(session: str, where: str):
    """Run the commands of a console block and compare what each prints with what is written."""
    for part in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        program, *arguments = shlex.split(command)
        assert program == "fwbq", where
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), warnings.catch_warnings():
            run(arguments)
        options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        assert doctest.OutputChecker().check_output(expected, out.getvalue(), options), f"{where}: {out.getvalue()}"


def anchors(page: Path):
    """Anchors of a page's headings, as the documentation makes them."""
    headings = re.findall(r"^#{1,3} (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name == "docs"], ids=lambda p: p.name)
def test_code_is_seen_whole(page):
    """The column of the pages holds 94 characters on a screen of 1280 pixels; see docs/_static/fwbq.css."""
    for code in re.findall(
        r"^```(?:python|{code-block} python)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL
    ):
        assert max(map(len, code.splitlines())) <= 94, code


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_code_of_the_gallery_is_seen_whole(path):
    """Its column holds 100 characters; comments at the margin are prose and wider."""
    text = path.read_text()
    lines = text.splitlines()[ast.parse(text).body[0].end_lineno :]
    assert [line for line in lines if len(line) > 100 and not line.startswith("# ")] == []


@pytest.mark.parametrize("page", [page for page in PAGES if list(blocks(page))], ids=lambda p: p.name)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    for name, content in FILE.findall(page.read_text()):
        (tmp_path / name).write_text(content)
        monkeypatch.delitem(sys.modules, Path(name).stem, raising=False)
    namespace = {"__name__": "__main__"}
    for line, kind, code, expected in blocks(page):
        if kind == "console":
            check_session(code, f"{page.name}, line {line}")
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile("\n" * line + code, str(page), "exec"), namespace)
        if expected is not None:
            assert out.getvalue().strip() == expected.strip(), f"{page.name}, line {line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text()):
        if target.startswith(("http://", "https://", *BUILT)):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(file), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_gallery_links_have_their_example(page):
    for name in re.findall(r"gallery/(?:images/sphx_glr_)?(plot_\w+?)(?:_\d{3}\.png)?\)", page.read_text()):
        assert (ROOT / "examples" / f"{name}.py").exists(), f"{page.name} links to {name}"


def test_the_readme_shows_tested_output():
    assert any(expected for *_, expected in blocks(ROOT / "README.md"))


def test_every_example_has_its_place_in_the_gallery():
    namespace = {}
    exec((ROOT / "docs" / "gallery_order.py").read_text(), namespace)
    assert sorted(namespace["ORDER"]) == sorted(path.name for path in (ROOT / "examples").glob("*.py"))


def test_no_two_pages_have_the_same_heading():
    pages = [page.read_text() for page in PAGES[1:]] + [p.read_text() for p in (ROOT / "examples").glob("*.py")]
    headings = [re.search(r"^(?:# (.+)|(.+)\n={5,})$", text, re.MULTILINE) for text in pages]
    names = [match[1] or match[2] for match in headings if match]
    assert len(names) > 30
    assert sorted(set(names)) == sorted(names)
