"""Every Python block of README and docs runs, page by page; a text block right after one is its output.

Blocks of a page share one namespace. Blocks fenced as ``{code-block} python`` are shown and not run.
"""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path):
    """(code, expected output or None) for each Python block."""
    text = page.read_text()
    found = list(FENCE.finditer(text))
    for i, match in enumerate(found):
        if match[1] != "python":
            continue
        after = found[i + 1] if i + 1 < len(found) else None
        adjacent = after is not None and after[1] == "text" and not text[match.end() : after.start()].strip()
        yield match[2], after[2] if adjacent else None


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    found = list(blocks(page))
    if not found:
        pytest.skip("no code on this page")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace = {"__name__": "__main__"}
    for code, expected in found:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, f"{page.name}", "exec"), namespace)
        if expected is not None:
            assert out.getvalue().strip() == expected.strip()


def test_the_readme_shows_tested_output():
    assert any(expected for _, expected in blocks(ROOT / "README.md"))
