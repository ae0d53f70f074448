"""Kernels: symmetric positive definite functions of two points, as small immutable values.

>>> import numpy as np
>>> k = 2.0 * ExpQuad([1.0, 0.5]) + Matern32(0.3)
>>> k(np.zeros((3, 2)), np.ones((4, 2))).shape
(3, 4)
"""

from typing import Any

from .. import _files, measures
from .base import Column, Kernel
from .composite import ProductKernel, Scaled, Sum
from .differences import Differences
from .exp_quad import ExpQuad
from .inverse_multiquadric import InverseMultiquadric
from .matern import Matern, Matern12, Matern32, Matern52
from .periodic import PeriodicSobolev
from .random_fourier import RandomFourier
from .stationary import Stationary
from .stein import Stein
from .walsh import Walsh
from .warped import Warped
from .whitened import Whitened

__all__ = [
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
    "Walsh",
    "Warped",
    "Whitened",
    "from_spec",
]

_LEAVES = {
    cls.__name__: cls for cls in (ExpQuad, InverseMultiquadric, Matern12, Matern32, Matern52, PeriodicSobolev, Walsh)
}
_COMPOSITES = {cls.__name__: cls for cls in (Sum, ProductKernel)}


def from_spec(spec: dict[str, Any]) -> Kernel:
    """Rebuild a kernel from what its ``spec()`` returned, also after a trip through JSON.

    Parameters
    ----------
    spec : dict

    Examples
    --------
    >>> import json
    >>> from_spec(json.loads(json.dumps(ExpQuad(0.1).spec())))
    ExpQuad(lengthscale=0.1, variance=1.0)
    """
    others = {"Scaled", "RandomFourier", "Warped", "Whitened"}
    name = _files.spec_type(spec, "kernel", {*_LEAVES, *_COMPOSITES, *others})
    with _files.reading_spec("kernel", name):
        if name in _LEAVES:
            return _LEAVES[name]._from_spec(spec)
        if name in _COMPOSITES:
            return _COMPOSITES[name]([from_spec(part) for part in spec["kernels"]])
        kernel = from_spec(spec["kernel"])
        if name == "Scaled":
            return Scaled(spec["scale"], kernel)
        if name == "Whitened":
            return Whitened(kernel, spec["mean"], spec["cov"])
        if name == "Warped":
            measure = measures.from_spec(spec["measure"])
            return Warped(kernel, measures.Warp(measure, spec["powers"]))  # type: ignore[arg-type]
        return RandomFourier.from_frequencies(kernel, spec["frequencies"], spec["phases"])  # type: ignore[arg-type]
