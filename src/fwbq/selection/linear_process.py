"""The evidence as the paper has it: Bayesian quadrature of the likelihood itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..posterior import AnyAmplitude, calibrated, condition
from ..rules import Rule
from .evidence import Evidences

Array = NDArray[np.float64]


def linear_evidences(rule: Rule, values: Array, amplitude: AnyAmplitude) -> Evidences:
    r"""Condition on the likelihoods of m models, each divided by its largest value, and keep what is positive.

    .. math::
        Z_i = e^{o_i} \big(z' K^{-1} f_i + s_i T\big) \;\big|\; Z_i > 0, \qquad f_i = e^{\ell_i - o_i},\;
        o_i = \max \ell_i.

    A Gaussian or Student-t posterior of a positive integral puts mass below zero; conditioning on Z > 0 keeps negative
    evidence out of every ranking.

    Parameters
    ----------
    rule : Rule
        A Bayesian quadrature rule on the points.
    values : (n, m) array
        Log likelihoods at ``rule.points``.
    amplitude : str or float
        As for :func:`fwbq.condition`, or "calibrated" as for :func:`fwbq.integrate`; 1.0 is the paper's, whose
        width then depends on the units of the likelihood.
    """
    top = values.max(axis=0)
    nothing = ~np.isfinite(top)
    offset = np.where(nothing, 0.0, top)
    f = np.exp(values - offset)
    posterior = calibrated(rule, f) if amplitude == "calibrated" else condition(rule, f, amplitude=amplitude)
    offset[nothing] = -np.inf  # a likelihood of zero at every point: no evidence at all
    m = values.shape[1]
    df = np.broadcast_to(np.asarray(posterior.df, dtype=float), (m,)).copy()
    return Evidences(
        np.full(m, "positive", dtype="<U8"),
        np.asarray(posterior.mean, float),
        np.asarray(posterior.scale, float),
        df,
        offset,
    )
