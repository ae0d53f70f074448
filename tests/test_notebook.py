"""The notebooks among the examples run from top to bottom, and show what they promise."""

import subprocess
import sys
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbclient is not installed (the extra test)")
pytest.importorskip("nbclient", reason="nbclient is not installed (the extra test)")
pytest.importorskip("ipykernel", reason="ipykernel is not installed (the extra test)")

EXAMPLES = Path(__file__).parents[1] / "examples"


EXECUTE = """
import sys, nbclient, nbformat
source, target = sys.argv[1:]
notebook = nbformat.read(source, as_version=4)
nbclient.NotebookClient(notebook, timeout=120).execute()
nbformat.write(notebook, target)
"""


def run(path, folder):
    """Execute a notebook in a process of its own, whose sockets and event loop are no part of the test.

    Rarely a message between Jupyter's processes is lost, and one waits for the other until the time is up: the kernel
    is idle then, and a second try shows whether the notebook runs.
    """
    target = folder / "executed.ipynb"
    command = [sys.executable, "-c", EXECUTE, str(path.resolve()), str(target)]
    for _ in range(3):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
        if "CellTimeoutError" not in done.stderr:
            break
    assert done.returncode == 0, done.stderr[-3000:]
    return nbformat.read(target, as_version=4)


def outputs(cell):
    return [kind for output in cell.get("outputs", []) for kind in output.get("data", {})]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda p: p.stem)
def test_it_runs_and_shows_what_its_cells_end_with(path, tmp_path):
    notebook = run(path, tmp_path)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in cells:
        last = cell.source.splitlines()[-1]
        if last in ("found", "rule", "evidence", "comparison"):
            assert "text/html" in outputs(cell), cell.source
        if ".plot" in cell.source or "plots." in cell.source:
            assert "image/png" in outputs(cell), cell.source
    shown = [output for cell in cells for output in cell.outputs]
    assert not [output for output in shown if output.get("name") == "stderr"]


def test_progress_is_drawn_in_a_notebook(tmp_path):
    """A widget while it runs, which is closed at the end; nothing when it is switched off."""
    pytest.importorskip("ipywidgets", reason="ipywidgets is not installed (the extra test)")
    code = (
        "from fwbq.evaluation import Progress\n"
        "with Progress(3, 'integrate', enabled={}) as bar:\n    bar.advance(3)\nprint('drawn:', bar.enabled)"
    )
    cells = [nbformat.v4.new_code_cell(code.format(enabled)) for enabled in (None, False)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "progress.ipynb")
    first, second = run(tmp_path / "progress.ipynb", tmp_path).cells
    assert "application/vnd.jupyter.widget-view+json" in outputs(first)
    assert outputs(second) == []
    texts = [output["text"] for cell in (first, second) for output in cell.outputs if output.get("name") == "stdout"]
    assert texts == ["drawn: True\n", "drawn: False\n"]
