"""Rules: points with weights and their worst-case error, and the files that hold them."""

from .constructors import bayes_rule, mmd2, simplex_rule, uniform_rule, weighted_rule
from .rule import PRIOR_MEANS, PriorMean, Rule, load_rule

__all__ = [
    "PRIOR_MEANS",
    "PriorMean",
    "Rule",
    "bayes_rule",
    "load_rule",
    "mmd2",
    "simplex_rule",
    "uniform_rule",
    "weighted_rule",
]
