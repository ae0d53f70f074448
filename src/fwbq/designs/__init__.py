"""Designs: points chosen for an embedding without seeing an integrand, each with weights and a trace.

A `Design` is a nested sequence, a `PointSet` a set of n points for each n that were chosen together.
"""

from .base import Design, PointSequence, Trace, checked_design, made_design
from .candidates import Potential, candidate_points
from .frank_wolfe import FrankWolfe, OpenLoop
from .monte_carlo import MonteCarlo
from .optimal import OBQ
from .pairwise import BlendedPairwise
from .point_set import PointSet
from .qmc import QMC
from .random_pivot import RandomPivot
from .refinement import refine
from .sequential import SBQ
from .spread import Spread

__all__ = [
    "OBQ",
    "QMC",
    "SBQ",
    "BlendedPairwise",
    "Design",
    "FrankWolfe",
    "MonteCarlo",
    "OpenLoop",
    "PointSequence",
    "PointSet",
    "Potential",
    "RandomPivot",
    "Spread",
    "Trace",
    "candidate_points",
    "checked_design",
    "made_design",
    "refine",
]
