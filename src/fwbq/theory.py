r"""What the theorems say of a run: diameter, radius, duality gap, and the bounds on error and posterior mass.

Setting: M is the closed convex hull of the features k(., x), D its diameter, R the radius of the largest ball around
the mean element mu inside M (within the affine hull of M, a hyperplane when the space contains constants). The theorems
are those of Briol, Oates, Girolami and Osborne, "Frank-Wolfe Bayesian quadrature", NIPS 2015, corrected; the constants
called sharp are our own. They hold for integrands of norm at most 1; the error of others scales with the norm. R > 0
needs a space of finite dimension: for ExpQuad and Matern kernels R = 0, and only D n^-1/2 remains.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _validate

if TYPE_CHECKING:
    import pandas as pd

    from .designs import Design
    from .embeddings import Embedding
    from .kernels import Kernel

FloatArray = NDArray[np.float64]
Step = Literal["herding", "line-search"]
STEPS = ("herding", "line-search")
PAIRS = 20_000  # points up to which `compare` looks at all pairs: some seconds
BLOCK = 1024  # rows of the kernel matrix held at once
# Squared MMD, relative to the squared diameter, below which the iterate is the mean element to rounding.
ROUNDING = 1e-14
# R is taken to tend to zero when its upper bound fell below this part of its value at a quarter of the run. With line
# search to n = 200 in two dimensions that part was 0.34 to 0.49 for ExpQuad and Matern32, whose R is zero, and 0.97 and
# 1 with 5 and 3 random features, whose R is not.
FALLING = 0.9


def diameter(kernel: Kernel, points: ArrayLike) -> float:
    r"""Diameter D of the convex hull of the features of finitely many points.

    .. math:: D^2 = \max_{x, y} \; k(x, x) + k(y, y) - 2 k(x, y),

    which is 2 (1 - min k) for a kernel with unit diagonal. The hull has the diameter of the set that spans it.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    points : (M, d) array
        The set, for instance the candidates of a design. All M^2 / 2 pairs are looked at, in blocks: O(M) memory.

    Returns
    -------
    float
        D; 0 for a single point.

    Examples
    --------
    >>> import fwbq
    >>> round(diameter(fwbq.ExpQuad(1.0), [[0.0], [1.0], [50.0]]), 12)
    1.414213562373
    """
    points = _validate.points(points, "points", kernel.dim)
    diagonal = kernel.diag(points)
    largest = 0.0
    for start in range(0, len(points), BLOCK):
        rows = slice(start, start + BLOCK)
        squared = kernel(points[rows], points[start:])
        squared *= -2.0
        squared += diagonal[rows, None]
        squared += diagonal[start:]
        largest = max(largest, float(squared.max(initial=0.0)))
    return float(np.sqrt(largest))


def diameter_bound(embedding: Embedding, points: ArrayLike) -> float:
    r"""Upper bound on the diameter D in O(M): twice the largest distance of a feature from the mean element.

    .. math:: D \le 2 \max_x \| k(\cdot, x) - \mu \|, \qquad
        \| k(\cdot, x) - \mu \|^2 = k(x, x) - 2 \mu(x) + k_{PP}.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.
    points : (M, d) array
        The set.

    Returns
    -------
    float
        At most twice D when mu lies in the hull of the features.

    Examples
    --------
    >>> import fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0], [[1.0]]))
    >>> x = [[-2.0], [0.0], [2.0]]
    >>> diameter(embedding.kernel, x) <= diameter_bound(embedding, x)
    True
    """
    points = _validate.points(points, "points", embedding.dim)
    squared = embedding.kernel.diag(points) - 2.0 * embedding.mean(points) + embedding.variance
    return 2.0 * float(np.sqrt(squared.max(initial=0.0)))


def radius_bound(gap: ArrayLike, mmd2: ArrayLike) -> FloatArray:
    r"""Upper bounds on the radius R from a run: the least seen so far.

    For every unit v, R is at most :math:`\max_x \langle v, k(\cdot, x) - \mu \rangle`. With v along mu - g,
    g the mean element of a rule, that is

    .. math:: R \le \big( \text{gap} - \text{MMD}^2 \big) / \text{MMD},

    gap being the duality gap :math:`\max_x \langle \mu - g, k(\cdot, x) - g \rangle` of the rule.

    Parameters
    ----------
    gap : (n,) array
        Duality gaps of the iterates, over the set that spans M (`design.trace.gap`).
    mmd2 : (n,) array
        Their squared errors (`design.trace.mmd2`).

    Returns
    -------
    (n,) array
        Running minimum; not below 0, where mu lies on the boundary of M or outside. Iterates without a gap, or without
        an error, bound nothing (infinity until the first that does).

    Examples
    --------
    >>> radius_bound([1.25, 0.5, 0.24], [1.0, 0.25, 0.16])
    array([0.25, 0.25, 0.2 ])
    """
    squared = np.asarray(mmd2, dtype=float)
    mmd = np.sqrt(squared)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = (np.asarray(gap, dtype=float) - squared) / mmd
    bound = np.where(np.isnan(bound) | (mmd == 0.0), np.inf, bound)
    return np.minimum.accumulate(np.maximum(bound, 0.0))


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
    return _theorem_1(count, d, np.float64(r), _validate.choice(step, "step", STEPS), sharp)


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


@dataclass(frozen=True, eq=False)
class BoundsTable:
    """The error of a run beside its bounds, one entry per number of points.

    Attributes
    ----------
    n : (N,) array of int
        Number of points.
    mmd : (N,) array
        Worst-case error of the design's own rule.
    gap : (N,) array
        sqrt(gap), the sharp bound from the duality gap over the candidates.
    root_n : (N,) array
        D n^-1/2.
    radius : (N,) array
        Upper bound on R seen so far.
    herding, herding_sharp : (N,) array
        Theorem 1 for FWBQ with this upper bound for R: the least that the theorem can claim.
    line_search, line_search_sharp : (N,) array
        The same for FWLSBQ.
    diameter : float
        D, or an upper bound on it.
    void : bool
        Whether the exponential bound says nothing: the upper bound on R is still falling at the last n, or even with
        it the bound is no better than D n^-1/2.
    verdict : str
        The same in a sentence.
    """

    n: NDArray[np.intp]
    mmd: FloatArray
    gap: FloatArray
    root_n: FloatArray
    radius: FloatArray
    herding: FloatArray
    herding_sharp: FloatArray
    line_search: FloatArray
    line_search_sharp: FloatArray
    diameter: float
    void: bool
    verdict: str

    def __len__(self) -> int:
        return len(self.n)

    def __repr__(self) -> str:
        return f"BoundsTable(n=1..{len(self)}, mmd={self.mmd[-1]:.3g}, root_n={self.root_n[-1]:.3g}; {self.verdict})"

    def to_frame(self) -> pd.DataFrame:
        """Return the columns as a pandas DataFrame, one row per n."""
        import pandas as pd

        columns = {f.name: getattr(self, f.name) for f in fields(self)}
        return pd.DataFrame({k: v for k, v in columns.items() if isinstance(v, np.ndarray)})


def compare(design: Design, n: int, *, points: ArrayLike | None = None) -> BoundsTable:
    """Lay the error of a design's first `n` rules beside the bounds.

    Parameters
    ----------
    design : Design
        Any design; extended to `n` points if need be.
    n : int
        Number of points.
    points : (M, d) array, optional
        The set over which D is taken: by default the design's candidates, or its points where it has none. Beyond
        20,000 of them D is replaced by :func:`diameter_bound`.

    Returns
    -------
    BoundsTable
        As many entries as the design has points, at most `n`.

    Notes
    -----
    R is not known, only bounded from above by the run, so that the bounds of Theorem 1 are the least that it can claim.
    In a space of infinite dimension R = 0: the upper bound tends to 0 with n, and `verdict` says that the exponential
    bound is void.

    Examples
    --------
    >>> import fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(0.8), fwbq.Gaussian([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]))
    >>> table = compare(fwbq.FrankWolfe(embedding, candidates=500, rng=0), 50)
    >>> table.void, bool((table.mmd <= table.root_n).all())
    (True, True)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a design that ends before n gives a shorter table
        own = design.take(n)
    reached, trace = len(own), design.trace
    over = getattr(design, "candidates", own) if points is None else _validate.points(points, "points", own.shape[1])
    d = diameter(design.embedding.kernel, over) if len(over) <= PAIRS else diameter_bound(design.embedding, over)
    count = np.arange(1, reached + 1)
    mmd2, gap = trace.mmd2[:reached], trace.gap[:reached]
    # Where the MMD is rounding error, mu - g has no meaningful direction along which to bound R.
    radius = radius_bound(np.where(mmd2 > ROUNDING * d * d, gap, np.nan), mmd2)
    # A ball of radius R has diameter 2 R; NaN as long as the run has no gap to bound R with.
    radius = np.where(np.isinf(radius), np.nan, np.minimum(radius, d / 2))
    root_n, exponential = d / np.sqrt(count), _theorem_1(count, d, radius, "line-search", False)
    void, verdict = _verdict(radius, exponential, root_n, d)
    return BoundsTable(
        n=count,
        mmd=np.sqrt(mmd2),
        gap=gap_bound(gap, sharp=True),
        root_n=root_n,
        radius=radius,
        herding=_theorem_1(count, d, radius, "herding", False),
        herding_sharp=_theorem_1(count, d, radius, "herding", True),
        line_search=exponential,
        line_search_sharp=_theorem_1(count, d, radius, "line-search", True),
        diameter=d,
        void=void,
        verdict=verdict,
    )


def _verdict(radius: FloatArray, exponential: FloatArray, root_n: FloatArray, d: float) -> tuple[bool, str]:
    n, last = len(radius), radius[-1]
    if d == 0.0:
        return True, "D = 0, a single point: the bounds say nothing, only the error itself does"
    if np.isnan(last):
        return False, "this design has no duality gap to bound R with"
    earlier = -(-n // 4)
    seen = f"R <= {last:.3g} (R/D <= {last / d:.3g}) at n = {n}"
    if last < FALLING * radius[earlier - 1]:
        return (
            True,
            f"{seen}, from {radius[earlier - 1]:.3g} at n = {earlier}: R tends to 0, the exponential bound is void",
        )
    if exponential[-1] >= root_n[-1]:
        return True, f"{seen}: the exponential bound is void, no better than D n^-1/2 up to n = {n}"
    return False, f"{seen} and steady: the exponential bound is below D n^-1/2 if R is near this"


def _theorem_1(n: NDArray[Any], d: float, r: FloatArray | np.float64, step: str, sharp: bool) -> FloatArray:
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
