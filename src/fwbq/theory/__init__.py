r"""What the theorems say of a run: diameter, radius, duality gap, and the bounds on error and posterior mass.

Setting: M is the closed convex hull of the features k(., x), D its diameter, R the radius of the largest ball around
the mean element mu inside M (within the affine hull of M, a hyperplane when the space contains constants). The theorems
are those of Briol, Oates, Girolami and Osborne, "Frank-Wolfe Bayesian quadrature", NIPS 2015, corrected; the constants
called sharp are our own. They hold for integrands of norm at most 1; the error of others scales with the norm. R > 0
needs a space of finite dimension: for ExpQuad and Matern kernels R = 0, and only D n^-1/2 remains.
"""

from .bounds import STEPS, Step, consistency_bound, contraction_bound, gap_bound, root_n_bound, worst_case_contraction
from .polytope import diameter, diameter_bound, radius_bound
from .table import BoundsTable, compare

__all__ = [
    "STEPS",
    "BoundsTable",
    "Step",
    "compare",
    "consistency_bound",
    "contraction_bound",
    "diameter",
    "diameter_bound",
    "gap_bound",
    "radius_bound",
    "root_n_bound",
    "worst_case_contraction",
]
