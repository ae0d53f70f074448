"""A vector that is missing in all gradients, as when the value has a Jacobian that the gradient has not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from ... import _warnings
from ..tuning import TUNING

if TYPE_CHECKING:
    from .surrogate import GradientSurrogate

Array = NDArray[np.float64]


def warn_of_tilt(surrogate: GradientSurrogate) -> bool:
    r"""Warn of gradients to which the same vector c must be added at every point to make them those of the values.

    The process is conditioned on the gradients alone, and predicts the values, but for a constant. What is left of them
    is rounding and what the process cannot know, and :math:`c'x` where c is missing: a regression finds it. A vector
    that is missing everywhere is the same for the nearer and for the farther half of the points; what the process
    cannot know is not.

    Parameters
    ----------
    surrogate : GradientSurrogate
        Fitted to values and gradients.

    Returns
    -------
    bool
        Whether it warned. Few points may be misleading, so that this is no error.

    Warns
    -----
    RuntimeWarning
    """
    process = surrogate.process
    n, d = process.places.shape
    if n < 2 * d + TUNING.tilt.more:
        return False
    K = process.kernel.gram(process.places)
    slopes = K[n:, n:] + TUNING.judge.noise * K.diagonal()[n:].mean() * np.eye(n * d)
    predicted = K[:n, n:] @ cho_solve(cho_factor(slopes, lower=True, overwrite_a=True), process.known[n:])
    left = process.known[:n] - predicted
    left -= left.mean()
    x = process.places - process.places.mean(axis=0)
    missing = _slope(x, left)
    unexplained = float(np.mean((left - x @ missing) ** 2))
    # From the kernel's coordinates to standard deviations of the posterior.
    to_deviations = surrogate.base.root.T @ np.linalg.solve(surrogate.whitening.root.T, surrogate.axes)
    size = float(np.linalg.norm(to_deviations @ missing))
    most = min((1.0 - TUNING.tilt.explained) * float(np.mean(left**2)), TUNING.tilt.left**2)
    if size > TUNING.tilt.least and unexplained < most and _same(x, left, to_deviations) > TUNING.tilt.same:
        _warnings.warn(
            "the gradients may not be those of the values: near the mode the same vector seems to be missing in all of "
            f"them, and over one standard deviation of the posterior it changes the log density by {size:.2g}. Check "
            "that the gradient has all terms of the value: the logarithm of a Jacobian, and the prior where the "
            "function is a log joint density"
        )
        return True
    return False


def _slope(x: Array, y: Array) -> Array:
    """Return the slope (d,) of the regression of y (n,) on x (n, d), with a constant."""
    return np.asarray(np.linalg.lstsq(x - x.mean(axis=0), y - y.mean(), rcond=None)[0])


def _same(x: Array, y: Array, turn: Array) -> float:
    """Return the cosine of the slopes for the nearer and the farther half of points x (n, d), turned by (d, d)."""
    order = np.argsort(np.sum(x * x, axis=1), kind="stable")
    near, far = (turn @ _slope(x[rows], y[rows]) for rows in np.array_split(order, 2))
    sizes = float(np.linalg.norm(near) * np.linalg.norm(far))
    return float(near @ far) / sizes if sizes > 0.0 else 0.0
