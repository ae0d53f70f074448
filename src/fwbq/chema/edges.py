"""A network that was inferred: its edges with their probabilities, errors and signs of doubt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

from .. import _files, _html, _validate
from .dataset import Dataset
from .prediction import UNFIT
from .score import edge_auroc

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Edge", "Network", "Substrate"]

#: Edges whose 95 % interval of the numerical error is wider are open.
_OPEN = 0.2


@dataclass(frozen=True)
class Edge:
    """One protein that may regulate another.

    Attributes
    ----------
    source, target : str
        The enzyme and its substrate.
    probability : float
        Summed probability of the models of the target that have the source, given the priors and that one of the models
        is right.
    lower, upper : float
        95 % interval of its numerical error.
    least, most : float
        The smallest and the largest probability when the unit of time and the prior of K are halved and doubled.
    q2 : float
        How well the leading model of the target predicts rates that it was not fitted to.
    alike : tuple of str
        Enzymes whose levels are in proportion to those of the source, within 10 %: data with errors of this size cannot
        tell them apart.
    """

    source: str
    target: str
    probability: float
    lower: float
    upper: float
    least: float
    most: float
    q2: float
    alike: tuple[str, ...] = ()

    @property
    def error(self) -> float:
        """How far the 95 % interval of the numerical error reaches from the probability, on the longer side."""
        return max(self.upper - self.probability, self.probability - self.lower)

    @property
    def doubt(self) -> str:
        """What speaks against reading the edge as regulation; empty when nothing does."""
        said = []
        if self.q2 < UNFIT:
            said.append("no model predicts the rates")
        if min(self.least, self.probability) < 0.5 <= max(self.most, self.probability):
            said.append("depends on the prior")
        if self.upper - self.lower > _OPEN:
            said.append("numerical error too large")
        if self.alike:
            said.append(f"in proportion to {', '.join(self.alike)}")
        return "; ".join(said)


@dataclass(frozen=True, eq=False)
class Substrate:
    """What was found of one protein as a substrate.

    Attributes
    ----------
    name : str
        The protein.
    total : float
        Its total amount, stated or assumed.
    edges : tuple of Edge
        The edges that lead to it, the most probable first.
    best : tuple of str
        The enzymes of the most probable model.
    best_probability : float
        Its probability.
    q2, q2_without_enzymes : float
        Leave-one-out Q^2 of that model, and of the one without enzymes.
    n_models, points : int
        Models compared, and points for each of them at most.
    error : float
        Largest :attr:`Edge.error` of its edges.
    decided : bool
        Whether that is within the tolerance.
    notes : tuple of str
        What should be known of the data.
    dataset : Dataset
        The data as they were analysed.
    truncated : bool
        Whether rates were truncated to V >= 0.
    max_enzymes : int
        Most enzymes of a model.
    """

    name: str
    total: float
    edges: tuple[Edge, ...]
    best: tuple[str, ...]
    best_probability: float
    q2: float
    q2_without_enzymes: float
    n_models: int
    points: int
    error: float
    decided: bool
    notes: tuple[str, ...]
    dataset: Dataset = field(repr=False)
    truncated: bool = False
    max_enzymes: int = 2


@dataclass(frozen=True, eq=False)
class Network:
    """What :func:`fwbq.chema.network` found.

    Attributes
    ----------
    proteins : tuple of str
        The nodes.
    substrates : tuple of Substrate
        Those that were looked at as substrates.
    settings : dict
        How it was made, as JSON values.
    """

    proteins: tuple[str, ...]
    substrates: tuple[Substrate, ...]
    settings: dict[str, Any]

    def __repr__(self) -> str:
        strong = sum(edge.probability >= 0.5 for edge in self.edges)
        return f"<Network of {len(self.proteins)} proteins: {strong} of {len(self.edges)} edges at least 0.5 probable>"

    def _repr_html_(self) -> str:
        rows = [[e.source, e.target, f"{e.probability:.3f}", e.doubt] for e in self.edges[:20]]
        return _html.grid(["source", "target", "probability", "doubt"], rows, repr(self)[1:-1])

    @property
    def edges(self) -> tuple[Edge, ...]:
        """All edges, the most probable first."""
        every = [edge for substrate in self.substrates for edge in substrate.edges]
        return tuple(sorted(every, key=lambda edge: -edge.probability))

    @property
    def success(self) -> bool:
        """Whether the ranking of the edges into every substrate is decided, up to the tolerance."""
        return all(substrate.decided for substrate in self.substrates)

    @property
    def status(self) -> str:
        """Why it ended, in words."""
        tol, open_ones = self.settings["tol"], [s.name for s in self.substrates if not s.decided]
        if not open_ones:
            return (
                "decided: numerical errors (95 %) do not change the order of edges into a substrate whose "
                f"probabilities differ by {2 * tol:g}"
            )
        return (
            f"not decided at {self.settings['n']} points: the numerical error of edges to {', '.join(open_ones[:6])}"
            f"{' and others' if len(open_ones) > 6 else ''} is above {tol:g}; raise `n`"
        )

    def summary(self) -> str:
        """Return what was found in a few lines."""
        weak = [s.name for s in self.substrates if s.q2 < UNFIT]
        lines = [repr(self)[1:-1] + ".", self.status[:1].upper() + self.status[1:] + "."]
        if weak:
            lines.append(
                f"No model predicts the rates of {len(weak)} of {len(self.substrates)} substrates (Q2 below {UNFIT}): "
                f"{', '.join(weak[:10])}{', ...' if len(weak) > 10 else ''}. Do not read their edges as regulation."
            )
        still = self.settings["constant"]
        if still:
            lines.append(f"Not looked at as substrates, because their levels never change: {', '.join(still)}.")
        assumed = sum(s.name not in self.settings["totals"] for s in self.substrates)
        if assumed:
            lines.append(
                f"Totals of {assumed} of {len(self.substrates)} substrates are assumed to be "
                f"{self.settings['total']:g} times their largest level."
            )
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each edge, the most probable first."""
        import pandas as pd

        names = ("source", "target", "probability", "lower", "upper", "least", "most", "q2", "doubt")
        return pd.DataFrame([{name: getattr(edge, name) for name in names} for edge in self.edges], columns=list(names))

    def substrates_frame(self) -> pd.DataFrame:
        """Return a row for each substrate."""
        import pandas as pd

        names = (
            "name", "total", "best_probability", "q2", "q2_without_enzymes", "n_models", "points", "error", "decided",
        )  # fmt: skip
        rows = [
            {name: getattr(s, name) for name in names} | {"best": " + ".join(s.best), "notes": "; ".join(s.notes)}
            for s in self.substrates
        ]
        return pd.DataFrame(rows)

    def auroc(self, truth: Iterable[tuple[str, str]]) -> float:
        """Area under the receiver operating characteristic of the edges that were looked at; see :func:`edge_auroc`."""
        return edge_auroc({(e.source, e.target): e.probability for e in self.edges}, truth, self.proteins)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write :meth:`to_frame` to a file; names that a spreadsheet would calculate begin with an apostrophe."""
        _files.write_table(path, self.to_frame())

    def to_graphml(self, path: str | PathLike[str], least: float = 0.0) -> None:
        """Write nodes and edges of at least this probability as GraphML, which Cytoscape and others read."""
        from .graph_files import graphml

        _files.write(path, graphml(self, _validate.nonnegative(least, "least")))

    def to_sif(self, path: str | PathLike[str], least: float = 0.5) -> None:
        """Write the edges of at least this probability in the simple interaction format of Cytoscape."""
        from .graph_files import sif

        _files.write(path, sif(self, _validate.nonnegative(least, "least")))

    def plot(self, ax: Axes | None = None, *, least: float = 0.5) -> Axes:
        """Draw the network; see :func:`fwbq.plots.network`."""
        from ..plots import network

        return network(self, ax, least=least)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write one HTML page with the network and a section for each substrate."""
        from ..report import write_network_report

        return write_network_report(self, path)
