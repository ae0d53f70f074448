"""Make the figures kept in docs/figures anew: ``python docs/refresh_figures.py``.

Those of the paper are what ``fwbq paper all`` draws, with fewer colours so that they stay small; the first page's is
drawn by examples/plot_idea.py.
"""

import runpy
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from PIL import Image

from fwbq import plots
from fwbq.paper import FIGURES, make

HERE = Path(__file__).parent


def keep(picture: Path, target: Path, colours: int = 64) -> None:
    """Save a picture with a palette of so many colours."""
    target.parent.mkdir(parents=True, exist_ok=True)
    Image.open(picture).convert("RGB").quantize(colours).save(target, optimize=True)
    print(target.relative_to(HERE.parent), target.stat().st_size // 1000, "kB")


with tempfile.TemporaryDirectory() as folder:
    for name in FIGURES:
        picture = make(name, folder)[0]
        keep(picture, HERE / "figures" / "paper" / picture.name)
    picture = make("models", folder, method="fwbq")[0]
    keep(picture, HERE / "figures" / "paper" / picture.name)
    runpy.run_path(str(HERE.parent / "examples" / "plot_idea.py"))
    plots.save(plt.gcf().axes, Path(folder) / "idea.png")
    keep(
        Path(folder) / "idea.png", HERE / "figures" / "idea.png", 200
    )  # overlapping bands have many shades
