"""The bounds of the theorems, as functions of n."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _validate

if TYPE_CHECKING:
    pass


FloatArray = NDArray[np.float64]

Step = Literal["herding", "line-search"]
STEPS = ("herding", "line-search")


def gap_bound(gap: ArrayLike, *, sharp: bool = False) -> FloatArray:
    r"""Bound on the error from the duality gap.

    Convexity of J = MMD^2 / 2 gives J <= gap, so :math:`\text{MMD} \le \sqrt{2\,\text{gap}}`. As J is a square,
    :math:`\text{gap} \ge \langle \mu - g, \mu - g \rangle`, so :math:`\text{MMD} \le \sqrt{\text{gap}}` (sharp).

    Parameters
    ----------
    gap : array
        Duality gaps over a set whose convex hull contains mu. On candidates the hull misses mu by some e, and the sharp
        bound becomes (e + sqrt(e^2 + 4 gap)) / 2.
    sharp : bool
        Whether to leave out the factor sqrt(2).

    Returns
    -------
    array
        Of the shape of `gap`.

    Examples
    --------
    >>> float(gap_bound(0.02))
    0.2
    """
    return np.sqrt(np.maximum((1.0 if sharp else 2.0) * np.asarray(gap, dtype=float), 0.0))


def root_n_bound(n: ArrayLike, diameter: float) -> FloatArray:
    r"""Bound :math:`\text{MMD} \le D\, n^{-1/2}` that holds in any space, with no ball around mu.

    Parameters
    ----------
    n : int or array of int
        Number of points.
    diameter : float
        D.

    Returns
    -------
    array
        Of the shape of `n`: for herding, line search and SBQ, and for Bayesian quadrature weights on their points.

    Notes
    -----
    For herding, S_n = n (g_n - mu) obeys |S_{n+1}|^2 <= |S_n|^2 + D^2. For line search, and for SBQ, whose every step
    gains at least as much, 1/v_{n+1} >= 1/v_n + 1/D^2. Over candidates whose hull misses mu by e, add e (herding).

    Examples
    --------
    >>> float(root_n_bound(100, 2.0))
    0.2
    """
    return _validate.positive(diameter, "diameter") / np.sqrt(_validate.counts(n, "n"))


def consistency_bound(
    n: ArrayLike, diameter: float, radius: float, *, step: Step = "herding", sharp: bool = False
) -> FloatArray:
    r"""Bound of Theorem 1 on the worst-case error of FWBQ or FWLSBQ (and of FW and FWLS).

    ============= ================================= =================================================
    step          theorem                           sharp
    ============= ================================= =================================================
    herding       :math:`2 D^2 / (R n)`             :math:`D^2 / (2 R n)`
    line-search   :math:`\sqrt 2 D e^{-R^2 n/2D^2}` :math:`(D - R)\,(1 - R^2/D^2)^{(n-1)/2}`
    ============= ================================= =================================================

    Parameters
    ----------
    n : int or array of int
        Number of points.
    diameter, radius : float
        D and R. The true R; with an upper bound in its place the result is the least that the theorem can claim.
    step : {"herding", "line-search"}
        FWBQ with steps 1/i, or FWLSBQ; the latter's bound holds for OBQ too.
    sharp : bool
        Whether to use the sharper constants.

    Returns
    -------
    array
        Of the shape of `n`. Infinite for herding and R = 0.

    Examples
    --------
    >>> consistency_bound([20, 100], diameter=2.0, radius=0.5)
    array([0.8 , 0.16])
    """
    count = _validate.counts(n, "n")
    d, r = _ball(diameter, radius)
    return theorem_1(count, d, np.float64(r), _validate.choice(step, "step", STEPS), sharp)


def contraction_bound(
    n: ArrayLike, gamma: float, diameter: float, radius: float, *, step: Step = "herding", printed: bool = False
) -> FloatArray:
    r"""Bound of Theorem 2 on the posterior mass further than `gamma` from the true integral.

    With s_n the bound of Theorem 1, :math:`\sqrt{2/\pi}\,(s_n/\gamma)\,e^{-\gamma^2 / 2 s_n^2}`:

    - herding: :math:`\frac{2\sqrt2 D^2}{\sqrt\pi R \gamma}\, n^{-1} \exp(-\gamma^2 R^2 n^2 / 8 D^4)`;
    - line search: :math:`\frac{2 D}{\sqrt\pi \gamma} \exp\big(-\frac{R^2 n}{2 D^2}
      - \frac{\gamma^2}{4 D^2} e^{R^2 n / D^2}\big)`.

    Parameters
    ----------
    n : int or array of int
        Number of points.
    gamma : float
        Distance.
    diameter, radius : float
        D and R.
    step : {"herding", "line-search"}
        FWBQ or FWLSBQ.
    printed : bool
        Whether to use the paper's exponent for line search, -gamma^2 / (2 sqrt2 D) exp(R^2 n / 2 D^2), which lost a
        square: it changes with the units of the kernel, and is false when s_n > 1. For comparison only.

    Returns
    -------
    array
        Of the shape of `n`. Above 1 it says nothing.

    See Also
    --------
    worst_case_contraction : the bound that always holds.

    Notes
    -----
    The proof leaves out the distance of the posterior mean from the truth. The statement holds all the same for
    integrands of norm at most 1, because the constants of Theorem 1 are loose.

    Examples
    --------
    >>> float(contraction_bound(100, 0.25, 2.0, 0.5, step="line-search").round(6))
    0.052431
    """
    count = _validate.counts(n, "n")
    g = _validate.positive(gamma, "gamma")
    d, r = _ball(diameter, radius)
    # In logarithms throughout: the line search exponent is doubly exponential in n and would overflow.
    with np.errstate(divide="ignore", over="ignore"):
        if _validate.choice(step, "step", STEPS) == "herding":
            log_deviation = np.log(2.0) + 2.0 * np.log(d) - np.log(np.float64(r) * count)
        else:
            log_deviation = 0.5 * np.log(2.0) + np.log(d) - (r / d) ** 2 * count / 2
        log_ratio = np.log(g) - log_deviation  # gamma / s_n
        if printed and step == "line-search":
            exponent = np.exp(2.0 * np.log(g) - np.log(2.0) - log_deviation)
        else:
            exponent = 0.5 * np.exp(2.0 * log_ratio)
        return np.asarray(np.exp(0.5 * np.log(2.0 / np.pi) - log_ratio - exponent))


def worst_case_contraction(gamma: ArrayLike, sd: ArrayLike, *, norm: float = 1.0) -> FloatArray:
    r"""Largest posterior mass further than `gamma` from the true integral, for integrands of a given norm.

    .. math:: \Phi(\|f\| - t) + \Phi(-\|f\| - t), \qquad t = \gamma / s,

    attained when the mean of the posterior N(m, s^2) is off by as much as it can be, ||f|| s. It always holds, without
    any asymptotics, and grows with s, so that a bound on the standard deviation such as :func:`consistency_bound` can
    stand for s.

    Parameters
    ----------
    gamma : float or array
        Distance.
    sd : float or array
        Posterior standard deviation of the integral, that is the worst-case error of the rule (`rule.mmd`), or a bound.
    norm : float
        Norm of the integrand in the kernel's space. With 0 the result is erfc(t / sqrt2), as in the theorem's proof.

    Returns
    -------
    array
        Of the broadcast shape of `gamma` and `sd`.

    Examples
    --------
    >>> float(worst_case_contraction(0.25, 0.16).round(6))
    0.292084
    """
    from scipy.special import ndtr

    norm = _validate.nonnegative(norm, "norm")
    distance, deviation = _validate.not_negative(gamma, "gamma"), _validate.not_negative(sd, "sd")
    with np.errstate(divide="ignore"):
        t = distance / deviation
    return np.asarray(ndtr(norm - t) + ndtr(-norm - t))


def theorem_1(n: NDArray[Any], d: float, r: FloatArray | np.float64, step: str, sharp: bool) -> FloatArray:
    """Return the bound of the first theorem on the error of n points, for diameter d and radius r."""
    # For d = 0 (a set of one point) nothing is bounded: NaN, as 0 / 0 is.
    with np.errstate(divide="ignore", invalid="ignore"):
        if step == "herding":
            return np.asarray((0.5 if sharp else 2.0) * d * d / (r * n))
        ratio = np.divide(r, d)
    if sharp:
        return np.asarray((d - r) * (1.0 - ratio**2) ** ((n - 1) / 2))
    return np.asarray(np.sqrt(2.0) * d * np.exp(-(ratio**2) * n / 2))


def _ball(diameter: float, radius: float) -> tuple[float, float]:
    d, r = _validate.positive(diameter, "diameter"), _validate.nonnegative(radius, "radius")
    if r > d:
        raise ValueError(f"`radius` must not exceed `diameter`, {d}, got {r}")
    return d, r
