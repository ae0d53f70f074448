"""The evidence as the paper has it: Bayesian quadrature of the likelihood itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..posterior import AnyAmplitude, calibrated, condition
from ..rules import Rule
from .evidence import Evidences

Array = NDArray[np.float64]

#: A linear process is not trusted where the effective points that carry the likelihood are fewer than the dimension and
#: the first number; where the amplitude of leave-one-out predictions would make its error more than the second number
#: times larger (under the right kernel the two amplitudes agree within a factor 1 +- sqrt(2 / n)); or where what its
#: weights lack to a sum of one moves the evidence by more than the third number of standard deviations. Of 640 Gaussian
#: likelihoods in one to five dimensions, 0.03 to 3 prior standard deviations wide, n = 20 to 200, the 95 % interval
#: missed 304; these three, chosen on them, caught 298, and 101 of the 336 others. With three points in any dimension
#: 286 were caught, without the third check 268. Of 1600 drawn afterwards 785 were missed and 760 of these caught, with
#: 344 of the 815 others; with another width in each coordinate 462 of 497, with 123 of 303.
_FEW, _UNDERSTATED, _LACKING = 2.0, 3.0, 3.0
#: A larger error that is below this in the log evidence may be rounding, and is not said.
_COUNTS = 0.01


@dataclass(frozen=True, eq=False)
class LinearDoubts:
    """What speaks against the linear process of each of m models.

    Attributes
    ----------
    carried : (m,) array
        Effective number of points that carry the likelihood.
    needed : (m,) array
        How many there should be.
    factor : (m,) array
        How many times too small the error may be, by leave-one-out; one where the larger error is too small to matter.
    lacking : (m,) array
        By how many standard deviations the evidence would change if the weights of the rule summed to one, as those of
        a constant must; zero where that is too small to matter.
    """

    carried: Array
    needed: Array
    factor: Array
    lacking: Array

    @classmethod
    def none(cls, size: int) -> LinearDoubts:
        """Return no doubts of `size` models."""
        return cls(np.full(size, np.inf), np.zeros(size), np.ones(size), np.zeros(size))

    def put(self, where: NDArray[np.intp], other: LinearDoubts) -> LinearDoubts:
        """Return a copy with those at `where` replaced."""
        arrays = [a.copy() for a in (self.carried, self.needed, self.factor, self.lacking)]
        for array, new in zip(arrays, (other.carried, other.needed, other.factor, other.lacking), strict=True):
            array[where] = new
        return LinearDoubts(*arrays)

    def take(self, where: NDArray[np.intp]) -> LinearDoubts:
        """Return those at `where`."""
        return LinearDoubts(self.carried[where], self.needed[where], self.factor[where], self.lacking[where])

    @property
    def few(self) -> NDArray[np.bool_]:
        """Which likelihoods are carried by too few points, (m,)."""
        return np.asarray(self.carried < self.needed)

    @property
    def understated(self) -> NDArray[np.bool_]:
        """Which errors are too small by leave-one-out, (m,)."""
        return np.asarray(~self.few & (self.factor > _UNDERSTATED))

    @property
    def drawn_to_zero(self) -> NDArray[np.bool_]:
        """Which evidences the prior mean of zero lowers by more than the stated error, (m,)."""
        return np.asarray(~self.few & ~self.understated & (self.lacking > _LACKING))


def carried(values: Array) -> Array:
    """Return the effective number of points that carry each likelihood, (m,); infinity where all are zero.

    Parameters
    ----------
    values : (n, m) array
        Log likelihoods.
    """
    top = values.max(axis=0)
    f = np.exp(values - np.where(np.isfinite(top), top, 0.0))
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(top), f.sum(axis=0) ** 2 / np.sum(f * f, axis=0), np.inf)


def linear_doubts(rule: Rule, values: Array, found: Evidences) -> LinearDoubts:
    """Return what speaks against the evidences that :func:`linear_evidences` found from values (n, m)."""
    left_out = linear_evidences(rule, values, "loo")
    stated = np.maximum(found.scale, np.finfo(float).tiny)
    matters = left_out.scale > _COUNTS * np.abs(left_out.centre)
    missing = abs(1.0 / float(rule.weights.sum()) - 1.0)
    lacking = np.abs(found.centre) * missing / stated if missing > _COUNTS else np.zeros(len(found))
    known = ~found.nothing
    return LinearDoubts(
        carried(values),
        np.full(len(found), rule.points.shape[1] + _FEW),
        np.where(known & matters, left_out.scale / stated, 1.0),
        np.where(known, lacking, 0.0),
    )


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
