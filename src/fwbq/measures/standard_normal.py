"""Masses and moments of the standard Gaussian on an interval: what truncated Gaussians and closed forms are made of.

Everything is kept relative to the largest value of the integrand, so that an interval fifty standard deviations out in
the tail, or one of width 1e-12, loses no digits and never gives ``nan``.
"""

from math import comb, inf, sqrt

import numpy as np
from scipy.special import erf, erfcx, ndtri, ndtri_exp

from .._gauss import gauss_legendre
from .._validate import Array

_SQRT_HALF = sqrt(0.5)
_SQRT_2PI = sqrt(2.0 * np.pi)
_NODES, _WEIGHTS = gauss_legendre(24, 0.0, 1.0)

# Below c = 3 the forward recurrence of the moments loses at most two digits; above, the continued fraction needs so
# many steps from each c on (measured: the error falls like exp(-1.4 c sqrt(2 steps))).
_STEPS = ((3.0, 48), (6.0, 16))
# Below this exponent at the end of the interval 24 Gauss-Legendre nodes are exact to rounding (the integrand varies by
# less than exp(8)); above, the tail cut off is at most 2 % of the whole and its subtraction loses nothing.
_SHORT = 8.0
# exp(-745) is the smallest positive float64.
_UNDERFLOW = 745.0


def normal_quantile(u: Array, v: Array) -> Array:
    """Return the standard normal quantiles at levels u, with v = 1 - u: counted from the nearer end."""
    return np.asarray(np.where(u <= v, 1.0, -1.0) * ndtri(np.minimum(u, v)))


def normal_score(below: Array, above: Array) -> Array:
    """Return the standard normal quantile at the level `below`, with `above` = 1 - `below`: from the nearer end.

    Levels of zero are taken for the smallest normal number, so that no score exceeds 37.5.
    """
    tiny = np.finfo(float).tiny
    low, high = (ndtri_exp(np.log(np.maximum(level, tiny))) for level in (below, above))
    return np.asarray(np.where(below <= 0.5, low, -high))


def scaled_mass(alpha: Array, beta: Array, delta: Array) -> Array:
    """Return (Phi(beta) - Phi(alpha)) exp(c^2 / 2), with c the point of [alpha, beta] nearest to zero.

    Parameters
    ----------
    alpha, beta : (n,)
        Ends of the interval, alpha <= beta, possibly infinite.
    delta : (n,)
        beta - alpha, given apart because it is often known to more digits than the difference.
    """
    out = 0.5 * (erf(beta * _SQRT_HALF) - erf(alpha * _SQRT_HALF))
    # Phi(b) - Phi(a) = Phi(-a) - Phi(-b): both tails are handled as the right one.
    tail = (alpha > 0.0) | (beta < 0.0)
    if np.any(tail):
        near = np.where(alpha > 0.0, alpha, -beta)[tail]
        out[tail] = decaying_moments(near, delta[tail], 0)[0] / _SQRT_2PI
    return out


def decaying_moments(c: Array, length: Array, order: int) -> list[Array]:
    """Return the integrals of t^k exp(-c t - t^2 / 2) over [0, length] for k = 0..order.

    Parameters
    ----------
    c : (n,)
        Rates, c >= 0, so that the integrand's exponential part decreases from 1.
    length : (n,)
        Lengths of the intervals, possibly infinite.
    order : int
        Highest power, at most 2 in this library.

    Notes
    -----
    Over the half-line, B_0 = sqrt(pi/2) erfcx(c / sqrt 2) and B_{k+1} = -c B_k + k B_{k-1} + [k = 0]. The recurrence
    cancels for large c; there the ratios B_k / B_{k-1} = k / (c + B_{k+1} / B_k) are taken as a continued fraction of
    positive terms (Gautschi, 1961, "Recursive computation of the repeated integrals of the error function").
    """
    with np.errstate(over="ignore", invalid="ignore"):
        exponent = np.where(np.isinf(length), inf, length * (c + 0.5 * length))
    short = exponent < _SHORT
    out = [np.empty_like(c) for _ in range(order + 1)]
    if np.any(short):
        t = length[short, None] * _NODES
        mass = np.exp(-t * (c[short, None] + 0.5 * t)) * _WEIGHTS
        for k in range(order + 1):
            out[k][short] = length[short] * np.sum(t**k * mass, axis=1)
    rest = ~short
    if np.any(rest):
        for k, whole in enumerate(half_line_moments(c[rest], order)):
            out[k][rest] = whole
    # Beyond this exponent the tail that is cut off underflows, and the length may be infinite.
    cut = rest & (exponent < _UNDERFLOW)
    if np.any(cut):
        t, factor = length[cut], np.exp(-exponent[cut])
        beyond = half_line_moments(c[cut] + t, order)
        for k in range(order + 1):
            out[k][cut] -= factor * sum(comb(k, j) * t ** (k - j) * beyond[j] for j in range(k + 1))
    return out


def central_moments(length: Array, order: int) -> list[Array]:
    """Return the integrals of t^k exp(-t^2 / 2) over [0, length] for k = 0..order <= 2.

    sqrt(pi/2) erf(T / sqrt 2), 1 - exp(-T^2/2) and the first less T exp(-T^2/2), which cancels for short lengths.
    """
    # Beyond 40 all three are those of the half-line.
    t = np.minimum(length, 40.0)
    moments = [_SQRT_2PI / 2.0 * erf(t * _SQRT_HALF)]
    if order >= 1:
        moments.append(-np.expm1(-0.5 * t * t))
    if order >= 2:
        moments.append(moments[0] - t * np.exp(-0.5 * t * t))
        short = t < 1.0
        moments[2][short] = decaying_moments(np.zeros(np.count_nonzero(short)), t[short], 2)[2]
    return moments


def half_line_moments(c: Array, order: int) -> list[Array]:
    """Return the integrals of t^k exp(-c t - t^2 / 2) over [0, inf) for k = 0..order, c > -37.

    For negative c every term of the recurrence is positive; B_0 grows like exp(c^2 / 2).
    """
    moments = [_SQRT_2PI / 2.0 * erfcx(c * _SQRT_HALF)]
    if order == 0:
        return moments
    moments.append(1.0 - c * moments[0])
    for k in range(1, order):
        moments.append(k * moments[k - 1] - c * moments[k])
    limits = [start for start, _ in _STEPS[1:]] + [inf]
    for (start, steps), end in zip(_STEPS, limits, strict=True):
        rows = np.flatnonzero((c >= start) & (c < end))
        if not len(rows):
            continue
        for k, ratio in enumerate(_ratios(c[rows], order, steps)):
            moments[k + 1][rows] = moments[k][rows] * ratio
    return moments


def _ratios(c: Array, order: int, steps: int) -> list[Array]:
    """Return B_k / B_{k-1} over the half-line for k = 1..order."""
    ratio = 0.5 * (np.hypot(c, 2.0 * sqrt(steps)) - c)
    ratios: list[Array] = []
    for k in range(steps, 0, -1):
        ratio = k / (c + ratio)
        if k <= order:
            ratios.insert(0, ratio)
    return ratios
