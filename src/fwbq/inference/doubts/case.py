"""What a doubt is judged by: all that a run knows when it concludes."""

from __future__ import annotations

from dataclasses import dataclass

from ..data import Data
from ..nodes import Nodes
from ..proposers.climbs import Climbs
from ..proposers.probes import Probes
from ..surrogate import Surrogate


@dataclass(frozen=True, eq=False)
class Case:
    """What a doubt is judged by.

    Attributes
    ----------
    data : Data
        All points, those where the function failed as well.
    climbs : Climbs
    probes : Probes
    surrogate : Surrogate
    nodes : Nodes
        Many nodes of the surrogate posterior.
    error : float
        What the surrogate itself leaves open of the log evidence.
    """

    data: Data
    climbs: Climbs
    probes: Probes
    surrogate: Surrogate
    nodes: Nodes
    error: float
