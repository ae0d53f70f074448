"""A vector that is missing in all gradients, as when the value has a Jacobian that the gradient has not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ... import _warnings
from ..tuning import TUNING

if TYPE_CHECKING:
    from .surrogate import GradientSurrogate


def warn_of_tilt(surrogate: GradientSurrogate) -> bool:
    r"""Warn of gradients to which the same vector c must be added at every point to make them those of the values.

    The process is conditioned on the gradients alone, and predicts the values, but for a constant. What is left of them
    is rounding and what the process cannot know, and :math:`c'x` where c is missing: a regression finds it.

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
    missing = np.linalg.lstsq(x, left, rcond=None)[0]
    unexplained = float(np.mean((left - x @ missing) ** 2))
    # From the kernel's coordinates to standard deviations of the posterior.
    each = surrogate.base.root.T @ np.linalg.solve(surrogate.whitening.root.T, surrogate.axes @ missing)
    size = float(np.linalg.norm(each))
    most = min((1.0 - TUNING.tilt.explained) * float(np.mean(left**2)), TUNING.tilt.left**2)
    if size > TUNING.tilt.least and unexplained < most:
        _warnings.warn(
            "the gradients may not be those of the values: near the mode the same vector seems to be missing in all of "
            f"them, and over one standard deviation of the posterior it changes the log density by {size:.2g}. Check "
            "that the gradient has all terms of the value: the logarithm of a Jacobian, and the prior where the "
            "function is a log joint density"
        )
        return True
    return False
