"""The kinetic models of the paper: data, candidate models, log marginal likelihood given K, comparison.

A substrate is dephosphorylated and phosphorylated by at most a few of E candidate enzymes with Michaelis-Menten
kinetics. A model says which; its evidence is the integral of :func:`log_likelihood` over
K ~ N(1, 1/2) truncated to K >= 0.
"""

from . import hpn_dream, pairs
from .candidates import candidate_models
from .compare import compare
from .dataset import Dataset
from .family import KineticFamily, prior
from .fit import ContradictedError, FittedCourse, KineticFit, fit
from .likelihood import design_matrix, log_likelihood, log_likelihood_block
from .units import Units, natural_units

__all__ = [
    "ContradictedError",
    "Dataset",
    "FittedCourse",
    "KineticFamily",
    "KineticFit",
    "Units",
    "candidate_models",
    "compare",
    "design_matrix",
    "fit",
    "hpn_dream",
    "log_likelihood",
    "log_likelihood_block",
    "natural_units",
    "pairs",
    "prior",
]
