"""Networks as files that other programs draw: GraphML and the simple interaction format of Cytoscape."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

if TYPE_CHECKING:
    from .edges import Network

__all__ = ["graphml", "sif"]

# Everything but the characters of XML 1.0, section 2.2.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NUMBERS = ("probability", "lower", "upper", "least", "most", "q2")


def graphml(network: Network, least: float = 0.0) -> str:
    """Return a directed graph with its edges' probabilities and doubts as attributes."""
    position = {name: f"n{i}" for i, name in enumerate(network.proteins)}
    q2 = {s.name: s.q2 for s in network.substrates}
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
        '  <key id="name" for="node" attr.name="name" attr.type="string"/>',
        '  <key id="node_q2" for="node" attr.name="q2" attr.type="double"/>',
        *(f'  <key id="{k}" for="edge" attr.name="{k}" attr.type="double"/>' for k in _NUMBERS),
        '  <key id="doubt" for="edge" attr.name="doubt" attr.type="string"/>',
        '  <graph id="network" edgedefault="directed">',
    ]
    for name, place in position.items():
        own = f'<data key="node_q2">{q2[name]!r}</data>' if name in q2 else ""
        lines.append(f'    <node id="{place}"><data key="name">{_text(name)}</data>{own}</node>')
    for edge in network.edges:
        if edge.probability < least:
            continue
        data = "".join(f'<data key="{k}">{float(getattr(edge, k))!r}</data>' for k in _NUMBERS)
        ends = f"source={quoteattr(position[edge.source])} target={quoteattr(position[edge.target])}"
        lines.append(f'    <edge {ends}>{data}<data key="doubt">{_text(edge.doubt)}</data></edge>')
    return "\n".join([*lines, "  </graph>", "</graphml>", ""])


def sif(network: Network, least: float = 0.5) -> str:
    """Return one edge per line, separated by tabs; proteins without an edge have a line of their own."""
    edges = [edge for edge in network.edges if edge.probability >= least]
    met = {name for edge in edges for name in (edge.source, edge.target)}
    lines = [f"{_word(edge.source)}\tregulates\t{_word(edge.target)}" for edge in edges]
    return "\n".join([*lines, *(_word(name) for name in network.proteins if name not in met), ""])


def _text(text: str) -> str:
    """Escape, and leave out the characters that XML cannot hold."""
    return escape(_FORBIDDEN.sub("", text))


def _word(text: str) -> str:
    return " ".join(text.split())
