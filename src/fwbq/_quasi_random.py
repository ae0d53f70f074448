"""A deterministic sequence of points that fills the unit cube evenly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def quasi_random(size: int, dim: int) -> NDArray[np.float64]:
    r"""Return the additive sequence of the generalised golden ratio (Roberts 2018), (size, dim).

    .. math:: u_i = \tfrac12 + i\,(\phi^{-1}, \dots, \phi^{-d}) \bmod 1, \qquad \phi^{d+1} = \phi + 1.

    Nested, free of parameters, and evenly spread in the few dimensions it is used in.

    Examples
    --------
    >>> u = quasi_random(1000, 2)
    >>> u.shape, bool(abs(u.mean() - 0.5) < 0.01)
    ((1000, 2), True)
    """
    phi = 2.0
    for _ in range(50):
        phi = (1.0 + phi) ** (1.0 / (dim + 1.0))
    return np.asarray((0.5 + np.arange(1, size + 1)[:, None] * phi ** -np.arange(1.0, dim + 1.0)) % 1.0)
