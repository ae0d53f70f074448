"""Linear algebra for Gram matrices: symmetric positive solves, numerical rank, and products free of rounding."""

from .exact import ExactMatrix, exact_dot, power_of_two, sum_parts, two_product, two_sum
from .factors import (
    LARGEST_JITTER,
    RANK_TOLERANCE,
    SMALLEST_JITTER,
    TRUSTED_PIVOT,
    UNIT_ROUNDOFF,
    CholeskyFactor,
    Factor,
    LowRankFactor,
    equilibration,
    jittered_cholesky,
    numerical_rank,
    pivoted_cholesky,
    triangular_solve,
)

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
