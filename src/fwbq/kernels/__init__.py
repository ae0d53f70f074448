"""Kernels: symmetric positive definite functions of two points, as small immutable values.

>>> import numpy as np
>>> k = 2.0 * ExpQuad([1.0, 0.5]) + Matern32(0.3)
>>> k(np.zeros((3, 2)), np.ones((4, 2))).shape
(3, 4)
"""

from .anova import Anova
from .base import Column, Kernel
from .composite import ProductKernel, Scaled, Sum
from .differences import Differences
from .exp_quad import ExpQuad
from .inverse_multiquadric import InverseMultiquadric
from .matern import Matern, Matern12, Matern32, Matern52
from .periodic import PeriodicSobolev
from .random_fourier import RandomFourier
from .registry import classes, from_spec, named, register, texts
from .stationary import Stationary
from .stein import Stein
from .transported import Transported
from .walsh import Walsh
from .warped import Warped
from .whitened import Whitened

__all__ = [
    "Anova",
    "Column",
    "Differences",
    "ExpQuad",
    "InverseMultiquadric",
    "Kernel",
    "Matern",
    "Matern12",
    "Matern32",
    "Matern52",
    "PeriodicSobolev",
    "ProductKernel",
    "RandomFourier",
    "Scaled",
    "Stationary",
    "Stein",
    "Sum",
    "Transported",
    "Walsh",
    "Warped",
    "Whitened",
    "classes",
    "from_spec",
    "named",
    "register",
    "texts",
]
