"""The process by which a model of the screen is kept or dropped."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtrit

from ..kernels import Kernel
from ..selection.log_process import LogProcess
from ..selection.nodes import Nodes
from .kinetics import FloatArray

#: Leading models to which the kernel of the screen is fitted. With 50 of them 49 instead of 55 of 60 intervals held the
#: truth, and errors were 1.45 times as large (benchmarks/constants.py).
LEADING = 200


@dataclass(frozen=True, eq=False)
class Judge:
    """Bounds of log evidences from values at the first points of the design.

    Attributes
    ----------
    points, where : (n, d) array
        The points, and their coordinates.
    nodes : Nodes
        Where the modelled log likelihood is exponentiated.
    level : float
        Probability that an evidence leaves its interval on one side.
    kernel : Kernel or None
        Of the process; None until it is fitted.
    rough : float
        Roughness of the process, from the models to which it was fitted.
    allowance : float
        Added to the half-width of every interval, for the error of the sum over the nodes.
    quick : Judge or None
        One with fewer nodes, whose bounds are looked at first.
    """

    points: FloatArray
    where: FloatArray
    nodes: Nodes
    level: float
    kernel: Kernel | None = None
    rough: float = 1.0
    allowance: float = 0.0
    quick: Judge | None = None

    def fitted(self, values: FloatArray, reference: Nodes) -> Judge:
        """Return a judge whose kernel fits the values (n, m) of the leading models.

        On these it also measures its error against a rule with many nodes, and allows for twice the largest.
        """
        best = values[:, np.argsort(-values.max(axis=0), kind="stable")[:LEADING]]
        return self._allowing(best, LogProcess.fit(self.where, best, reference))

    def _allowing(self, values: FloatArray, exact: LogProcess) -> Judge:
        mine = LogProcess.fit(self.where, values, self.nodes, exact.kernel, rough=exact.roughness)
        error = float(np.abs(mine.evidences.centre - exact.evidences.centre).max())
        quick = None if self.quick is None else self.quick._allowing(values, exact)
        return replace(self, kernel=exact.kernel, rough=exact.roughness, allowance=2.0 * error, quick=quick)

    @property
    def reach(self) -> float:
        """Half the width of an interval in units of the scale."""
        return float(stdtrit(len(self.where) - 1, 1 - self.level))

    def chain(self) -> list[Judge]:
        """Return the judges that look at a model in turn, the quickest first, and this one last."""
        return [*([] if self.quick is None else self.quick.chain()), self]

    def __call__(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log evidences (m,) of values (n, m), and half the widths of their intervals."""
        evidences = LogProcess.fit(self.where, values, self.nodes, self.kernel, rough=self.rough).evidences
        return evidences.centre, self.reach * evidences.scale + self.allowance
