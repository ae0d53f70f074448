"""The page of a network: the figure, the edges, and a section for each substrate, in one file without scripts."""

from __future__ import annotations

import base64
import html
import io
import os
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _files, _validate, plots
from ..chema import ContradictedError, Network, Substrate, fit
from . import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Edges in the table of the whole network, and of one substrate.
_EDGES, _OWN = 60, 10
#: Draws of the fit that is drawn for each substrate.
_DRAWS = 200


def write_network_report(network: Network, path: str | os.PathLike[str]) -> Path:
    """Write a network as one HTML page with a section for each substrate.

    The page opens from disk, has its figures inside and runs no script.

    Parameters
    ----------
    network : Network
        What :func:`fwbq.chema.network` returned.
    path : str or path
        The file to write.

    Returns
    -------
    Path
        The file written.
    """
    _validate.instance(network, "network", Network, "pass what fwbq.chema.network returned")
    target = Path(path)
    _files.write(target, page(network))
    return target


def page(network: Network) -> str:
    """Return the page of a network."""
    css = files("fwbq.report").joinpath("assets/report.css").read_text("utf-8")
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer"><meta name="generator" content="fwbq">\n'
        f"<title>Network of {len(network.proteins)} proteins</title>\n"
        f"<style>:root{{--blue:{plots.BLUE};--sky:{plots.SKY};--vermillion:{plots.VERMILLION};"
        f"--orange:{plots.ORANGE};}}\n{css}\nimg{{max-width:100%;height:auto;background:#fff}}</style></head>\n<body>\n"
    )
    parts = [
        head,
        '<header class="top"><div class="bar"><h1>Who regulates whom</h1></div></header>\n<main>\n',
        '<section class="decision">' + "".join(f"<p>{_text(line)}</p>" for line in network.summary().split("\n")),
        "<p>The probability of an edge is that of the models of its substrate that have it, given the priors and given "
        "that one of the models is right. Its range is what remains open numerically (95 %); beside it stands the "
        "range when the unit of time and the prior of K are halved and doubled.</p></section>\n",
        f"<section><h2>Network</h2>{_image(network.plot(), 'The network')}</section>\n",
        f"<section><h2>Edges</h2>{_edges(network.edges[:_EDGES])}</section>\n",
        "<section><h2>Substrates</h2><p>" + ", ".join(_link(i, s.name) for i, s in enumerate(network.substrates)),
        "</p></section>\n",
        *(_section(i, substrate, network) for i, substrate in enumerate(network.substrates)),
        f"<section><h2>Settings</h2>{_table(('setting', 'value'), _settings(network))}</section>\n",
        "</main></body></html>\n",
    ]
    return "".join(parts)


def _section(i: int, substrate: Substrate, network: Network) -> str:
    enzymes = "{" + ", ".join(substrate.best) + "}"
    assumed = "stated" if substrate.name in network.settings["totals"] else "assumed"
    facts = [
        f"Most probable model {enzymes}, probability {_share(substrate.best_probability)}, of {substrate.n_models:,} "
        f"models at up to {substrate.points} points.",
        f"Q2 = {substrate.q2:.2f}, and {substrate.q2_without_enzymes:.2f} without enzymes (1 is perfect, 0 no better "
        f"than predicting no change). Total {substrate.total:.4g}, {assumed}.",
        *(f"Data: {note}." for note in substrate.notes),
    ]
    return (
        f'<section id="substrate-{i}"><h2>{_text(substrate.name)}</h2>'
        + "".join(f"<p>{_text(fact)}</p>" for fact in facts)
        + _edges(substrate.edges[:_OWN])
        + _course(substrate, network)
        + "</section>\n"
    )


def _course(substrate: Substrate, network: Network) -> str:
    """Return the figure of the leading model's fit in the first condition."""
    data = substrate.dataset.with_rates(network.settings["rates"])
    try:
        found = fit(
            data, substrate.best, units=network.settings["units"], truncated=substrate.truncated, draws=_DRAWS, rng=0
        )
    except ContradictedError:
        return "<p>No curve is drawn: no draw of the rates of this model is positive, the data contradict it.</p>"
    axes = found.plot()
    condition = found.courses[0].condition
    return _image(axes[0], f"The course of {substrate.name}{f' in {condition}' if condition else ''}, and the fit")


def _edges(edges: Iterable[Any]) -> str:
    rows = [
        (
            e.source, e.target, _share(e.probability), _range(e.lower, e.upper), _range(e.least, e.most),
            f"{e.q2:.2f}", e.doubt,
        )
        for e in edges
    ]  # fmt: skip
    return _table(("enzyme", "substrate", "probability", "numerical", "under other priors", "Q2", "doubt"), rows)


def _share(p: float) -> str:
    return "< 0.001" if p < 1e-3 else "> 0.999" if p > 1.0 - 1e-3 else f"{p:.3f}"


def _range(low: float, high: float) -> str:
    ends = [_share(low), _share(high)]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def _settings(network: Network) -> list[tuple[str, str]]:
    return [(name, str(value)) for name, value in network.settings.items() if value not in ({}, [])]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    top = "".join(f'<th scope="col">{_text(cell)}</th>' for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _image(axes: Any, caption: str) -> str:
    import matplotlib.pyplot as plt

    drawn = io.BytesIO()
    figure = axes.figure.figure
    # Without the version of the program that draws: the same network gives the same bytes.
    figure.savefig(drawn, format="png", dpi=110, metadata={"Software": None})
    plt.close(figure)
    data = base64.b64encode(drawn.getvalue()).decode("ascii")
    image = f'<img alt="{_text(caption)}" src="data:image/png;base64,{data}">'
    return f"<figure>{image}<figcaption>{_text(caption)}</figcaption></figure>"


def _link(i: int, name: str) -> str:
    return f'<a href="#substrate-{i}">{_text(name)}</a>'


def _text(text: object) -> str:
    return html.escape(words.clean(str(text)))
