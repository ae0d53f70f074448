"""The kinetic models of the paper: data, candidate models, log marginal likelihood given K, comparison.

A substrate is dephosphorylated and phosphorylated by at most a few of E candidate enzymes with Michaelis-Menten
kinetics. A model says which; its evidence is the integral of :func:`log_likelihood` over
K ~ N(1, 1/2) truncated to K >= 0.
"""

from . import hpn_dream, hpn_insilico, pairs
from .candidates import candidate_models
from .collinear import collinear
from .compare import compare
from .dataset import Dataset
from .edges import Edge, Network, Substrate
from .family import KineticFamily, prior
from .fit import ContradictedError, FittedCourse, KineticFit, fit
from .inhibitors import Inhibitor
from .likelihood import design_matrix, log_likelihood, log_likelihood_block
from .network import network
from .replicates import Replicates
from .score import edge_auroc
from .units import Units, natural_units

__all__ = [
    "ContradictedError",
    "Dataset",
    "Edge",
    "FittedCourse",
    "Inhibitor",
    "KineticFamily",
    "KineticFit",
    "Network",
    "Replicates",
    "Substrate",
    "Units",
    "candidate_models",
    "collinear",
    "compare",
    "design_matrix",
    "edge_auroc",
    "fit",
    "hpn_dream",
    "hpn_insilico",
    "log_likelihood",
    "log_likelihood_block",
    "natural_units",
    "network",
    "pairs",
    "prior",
]
