"""Designs: nested sequences of points chosen for an embedding, each with its own weights and a trace."""

from .base import Design, Trace
from .candidates import Potential, candidate_points
from .frank_wolfe import FrankWolfe, OpenLoop
from .monte_carlo import MonteCarlo
from .optimal import OBQ, refine
from .pairwise import BlendedPairwise
from .qmc import QMC
from .random_pivot import RandomPivot
from .sequential import SBQ

__all__ = [
    "OBQ",
    "QMC",
    "SBQ",
    "BlendedPairwise",
    "Design",
    "FrankWolfe",
    "MonteCarlo",
    "OpenLoop",
    "Potential",
    "RandomPivot",
    "Trace",
    "candidate_points",
    "refine",
]
