"""Run the notebooks in examples/ anew and keep what they show: ``python docs/refresh_notebooks.py``.

Widgets of progress bars, execution times and the version of the kernel are left out, so that a run that finds the same
numbers changes nothing but pictures.
"""

import base64
import io
from pathlib import Path

import nbclient
import nbformat
from PIL import Image

EXAMPLES = Path(__file__).parents[1] / "examples"


def smaller(picture: str) -> str:
    """Return a PNG in base64 with a palette of 64 colours."""
    kept = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB").quantize(64).save(
        kept, "PNG", optimize=True
    )
    return base64.b64encode(kept.getvalue()).decode()


for path in sorted(EXAMPLES.glob("*.ipynb")):
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(EXAMPLES)}}
    ).execute()
    notebook.metadata = {
        "kernelspec": notebook.metadata["kernelspec"],
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            widgets = "application/vnd.jupyter.widget-view+json"
            cell.outputs = [
                output for output in cell.outputs if widgets not in output.get("data", {})
            ]
            for output in cell.outputs:
                if "image/png" in output.get("data", {}):
                    output.data["image/png"] = smaller(output.data["image/png"])
    nbformat.write(notebook, path)
    print(path.relative_to(EXAMPLES.parent), path.stat().st_size // 1000, "kB")
