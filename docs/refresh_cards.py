"""Make the pictures of the first page anew, for light and for dark pages: ``python docs/refresh_cards.py``.

They show what the code of the page computes, which is run here: nothing is drawn that a reader does not get.
"""

import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.spines import Spine
from matplotlib.text import Text
from PIL import Image

HERE = Path(__file__).parent
#: Text, axes and black lines on a dark page, which has a background of #14181e.
LIGHT = "#ced6dd"
#: Inches: half of a page's column.
SIZE = (3.9, 2.9)


def for_dark_pages(figure):
    """Give what is black or grey the colour of text on a dark page; the other colours are seen on both."""
    for each in figure.findobj(Text):
        each.set_color(LIGHT)
    for each in figure.findobj(Spine):
        each.set_edgecolor(LIGHT)
    for ax in figure.axes:
        ax.tick_params(colors=LIGHT, which="both")
    for each in figure.findobj(Line2D):
        red, green, blue = to_rgb(each.get_color())
        if (
            max(red, green, blue) - min(red, green, blue) < 0.1
            and max(red, green, blue) < 0.6
        ):
            each.set_color(LIGHT)


def keep(figure, name):
    """Save a figure without a background, in both colours and with few of them."""
    figure.set_size_inches(*SIZE)
    for theme in ("light", "dark"):
        if theme == "dark":
            for_dark_pages(figure)
        path = HERE / "figures" / "cards" / f"{name}-{theme}.png"
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path, transparent=True, dpi=200)
        Image.open(path).quantize(128).save(path, optimize=True)
        print(path.relative_to(HERE.parent), path.stat().st_size // 1000, "kB")
    plt.close(figure)


page = (HERE / "index.md").read_text()
namespace: dict = {}
for block in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
    exec(block, namespace)
keep(namespace["result"].plot_sobol().figure, "simulator")
keep(namespace["found"].plot(names=["level", "slope"])[0].figure, "evidence")
keep(namespace["comparison"].plot().figure, "models")
