"""Every figure of the project: fwbq's own objects in, Matplotlib Axes out.

The functions draw on the Axes they are given (or on a new figure of the right size) and return the Axes. Where a
table of numbers can take the place of an object (one that was saved, say), it is taken too. Figures of the paper,
which are made of tables only, are in :mod:`fwbq.plots.paper`.
"""

from .comparisons import evidence_error, inclusion, map_probability, model_probabilities
from .corner import CONTOURS, corner
from .designs import design, mmd
from .effects import effects, sobol
from .integrals import convergence, integral, process_slice
from .kinetics import kinetic_fit
from .networks import network
from .rules import rule, weights
from .style import (
    BLACK,
    BLUE,
    GREEN,
    METHODS,
    ORANGE,
    PURPLE,
    SKY,
    STYLE,
    VERMILLION,
    YELLOW,
    save,
    style,
)

__all__ = [
    "BLACK",
    "BLUE",
    "CONTOURS",
    "GREEN",
    "METHODS",
    "ORANGE",
    "PURPLE",
    "SKY",
    "STYLE",
    "VERMILLION",
    "YELLOW",
    "convergence",
    "corner",
    "design",
    "effects",
    "evidence_error",
    "inclusion",
    "integral",
    "kinetic_fit",
    "map_probability",
    "mmd",
    "model_probabilities",
    "network",
    "process_slice",
    "rule",
    "save",
    "sobol",
    "style",
    "weights",
]
