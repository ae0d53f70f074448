"""Linear algebra for Gram matrices: symmetric positive solves, numerical rank, and products free of rounding."""

from .cholesky import LARGEST_JITTER, SMALLEST_JITTER, TRUSTED_PIVOT, CholeskyFactor, jittered_cholesky
from .exact import ExactMatrix, exact_dot, power_of_two, sum_parts, two_product, two_sum
from .factors import UNIT_ROUNDOFF, Factor, equilibration, triangular_solve
from .low_rank import LowRankFactor
from .pivoted import RANK_TOLERANCE, numerical_rank, pivoted_cholesky

__all__ = [
    "LARGEST_JITTER",
    "RANK_TOLERANCE",
    "SMALLEST_JITTER",
    "TRUSTED_PIVOT",
    "UNIT_ROUNDOFF",
    "CholeskyFactor",
    "ExactMatrix",
    "Factor",
    "LowRankFactor",
    "equilibration",
    "exact_dot",
    "jittered_cholesky",
    "numerical_rank",
    "pivoted_cholesky",
    "power_of_two",
    "sum_parts",
    "triangular_solve",
    "two_product",
    "two_sum",
]
