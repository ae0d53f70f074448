"""A climb: from a start to a mode of the log joint density, without derivatives."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..process.basis import basis_functions, basis_size

Array = NDArray[np.float64]

#: A climb has arrived when a Newton step would gain less than this many natural logarithms.
_GAIN = 0.05
#: Stencil points lie so many standard deviations of the local Gaussian from the top: there a Gaussian has fallen by
#: 1.1 natural logarithms, far above rounding and near enough for the curvature at the top.
_REACH = 1.5
#: Steps in a row that met a likelihood of zero before a climb ends at the boundary.
_WALLS = 4
#: Two models run side by side, of the values as they are and with deep falls compressed (see `local_quadratic`); the
#: one that predicted the last values better leads. Poisson regressions in four dimensions then take 30 evaluations to
#: come within half a natural logarithm of the top instead of 47, Gaussians stay at the number of their coefficients.
_COMPRESS = (np.inf, 10.0)
_MEMORY = 0.5
#: The fall to a stencil point may be wrong by this factor before the curvature is corrected and measured again.
_TRUE = 2.0
#: A climb that rose by more than this within its last d + 2 evaluations is worth going on with.
_RISING = 1.0
#: Largest ratio of the geometric series in `Climb.ahead`: two rises determine it badly.
_MOST_RATIO = 0.8


@dataclass(frozen=True, eq=False)
class Quadratic:
    """A local model c + b's + s'H s / 2 of the log joint density, s = z - centre.

    Attributes
    ----------
    centre : (d,) array
    constant : float
    slope : (d,) array
    curvature : (d, d) array
    """

    centre: Array
    constant: float
    slope: Array
    curvature: Array

    def __call__(self, z: Array) -> Array:
        """Return the model at points z (n, d)."""
        s = z - self.centre
        return np.asarray(self.constant + s @ self.slope + 0.5 * np.einsum("ni,ij,nj->n", s, self.curvature, s))

    @property
    def concave(self) -> bool:
        """Whether it has a maximum: the curvature is negative in every direction, by more than rounding."""
        values = np.linalg.eigvalsh(self.curvature)
        return bool(values[-1] < -1e-13 * abs(values[0]))

    def gain(self) -> float:
        """Rise from the centre to the maximum of a concave model."""
        return float(-0.5 * self.slope @ np.linalg.solve(self.curvature, self.slope))

    def step(self, radius: float) -> Array:
        """Return s with |s| <= radius where the model is largest (the trust-region problem)."""
        values, axes = np.linalg.eigh(self.curvature)
        b = axes.T @ self.slope
        # (shift - H) s = b with the smallest shift >= 0 for which H - shift is negative and |s| <= radius.
        if values[-1] < 0.0:
            s = -b / values
            if np.linalg.norm(s) <= radius:
                return np.asarray(axes @ s)
        size = float(np.linalg.norm(b))
        if size == 0.0:
            return np.asarray(axes[:, -1] * radius)
        low = max(0.0, float(values[-1]))
        # Where the slope has no part along the axes of greatest curvature, no shift makes |s| = radius (the hard case
        # of the trust-region problem): what is missing is added along the last of these axes.
        rest = values < low - 1e-10 * (low + float(np.max(np.abs(values))))
        if np.linalg.norm(b[~rest]) <= 1e-10 * size:
            s = np.zeros(len(b))
            s[rest] = b[rest] / (low - values[rest])
            left = radius**2 - float(s @ s)
            if left > 0.0:
                s[-1] = np.sqrt(left) if low > 0.0 else 0.0
                return np.asarray(axes @ s)
        high = low + size / radius
        for _ in range(100):
            middle = 0.5 * (low + high)
            with np.errstate(divide="ignore"):
                long = np.linalg.norm(b / (middle - values)) > radius
            low, high = (middle, high) if long else (low, middle)
        s = b / (high - values)
        return np.asarray(axes @ s * min(1.0, radius / float(np.linalg.norm(s))))


def local_quadratic(z: Array, g: Array, centre: int, radius: float, compress: float = np.inf) -> Quadratic:
    r"""Fit a quadratic through the point number `centre`, trusting the others the less the farther they are.

    The error of a quadratic model grows with the cube of the distance, so point i is given the standard deviation
    :math:`(|z_i - z_c| / r)^3` relative to the others, from one tenth of the radius on; where there are fewer points
    than coefficients the curvature of least Frobenius norm is taken.

    Parameters
    ----------
    z, g : (n, d), (n,) arrays
        Points and finite values.
    centre : int
        Row of the centre.
    radius : float
        r.
    compress : float
        Falls of more than so many times the median fall of the nearest d + 2 points are replaced by their logarithm,
        continued smoothly. Likelihoods that fall exponentially are followed better so; those of Gaussian form are not.
    """
    d = z.shape[1]
    s = (z - z[centre]) / radius
    distance = np.sqrt(np.sum(s * s, axis=1))
    near = np.argsort(distance, kind="stable")[: 4 * basis_size("quadratic", d)]
    near = near[near != centre]
    s, distance, rise = s[near], distance[near], g[near] - g[centre]
    if np.isfinite(compress) and len(rise):
        most = compress * max(float(np.median(np.abs(rise[: d + 2]))), 1.0)
        deep = rise < -most
        rise[deep] = -most * (1.0 + np.log(-rise[deep] / most))
    design = basis_functions("quadratic", s)[:, 1:]
    design[:, d : 2 * d] *= 0.5  # so that the coefficient is the second derivative
    weight = 1.0 / np.maximum(distance, 0.1) ** 3
    scale = float(np.max(np.abs(weight * rise), initial=0.0))
    if scale == 0.0:
        return Quadratic(z[centre], float(g[centre]), np.zeros(d), np.zeros((d, d)))
    # Slopes hardly count in the norm that is minimised; a cross derivative stands for two entries of the matrix and
    # counts twice.
    share = np.concatenate([np.full(d, 1e-3), np.ones(d), np.full(d * (d - 1) // 2, np.sqrt(2.0))])
    found, *_ = np.linalg.lstsq(weight[:, None] * design / share, weight * rise / scale, rcond=1e-11)
    found = found * scale / share
    H = np.diag(found[d : 2 * d])
    i, j = np.triu_indices(d, 1)
    H[i, j] = H[j, i] = found[2 * d :]
    return Quadratic(z[centre], float(g[centre]), found[:d] / radius, H / radius**2)


@dataclass(eq=False)
class Climb:
    """A climb in progress: `propose` the next points, `learn` their values.

    A quadratic is fitted to the points around the best one, its maximum within a trust radius is evaluated, and the
    radius follows how well the model predicted (Conn, Scheinberg and Vicente, Introduction to Derivative-Free
    Optimization, 2009). At the top the curvature is measured anew by a stencil a little more than a standard deviation
    away, because what far points say of it can be wrong by any factor. Every evaluation is kept by the caller and
    serves the process afterwards.

    Attributes
    ----------
    best : (d,) array
        Highest point of this climb.
    value : float
        Its log joint density.
    radius : float
        Trust radius.
    budget : int
        Evaluations it may still make.
    further : bool
        Whether it began after the first climb had ended, from a point that the modes do not explain; such a climb
        begins with a point on every axis.
    arrived : bool
        Whether the top and its curvature are known.
    ended : bool
        Whether it has arrived or used its budget.
    counted : bool
        Whether the run has taken note of where it ended.
    spent : int
        Evaluations it has made.
    model : Quadratic or None
        Last local model.
    """

    best: Array
    value: float
    radius: float
    budget: int
    further: bool = False
    arrived: bool = False
    ended: bool = False
    counted: bool = False
    spent: int = 0
    model: Quadratic | None = None
    _expected: float = 0.0
    _predicted: Array = field(default_factory=lambda: np.zeros(2))
    _errors: Array = field(default_factory=lambda: np.zeros(2))
    _kind: str = "step"
    _checks: int = 0
    _walls: int = 0
    _falls: list[float] = field(default_factory=list)
    _tops: list[float] = field(default_factory=list)
    _least: float = 1e-7

    def propose(self, z: Array, g: Array) -> Array:
        """Return the next points (k, d) to evaluate, given all points (n, d) and finite values (n,) so far."""
        if self.further and not self.spent:
            # Nothing is known of the slope here: one point on every axis tells it.
            self._kind = "simplex"
            return np.asarray(self.best + self.radius * np.eye(len(self.best)))
        at = self._row(z, g)
        models = [local_quadratic(z, g, at, self.radius, compress) for compress in _COMPRESS]
        self.model = model = models[int(np.argmin(self._errors))]
        if model.concave and model.gain() < _GAIN:
            return self._stencil(model)
        self._kind = "step"
        s = model.step(self.radius)
        there = (self.best + s)[None]
        self._expected = float(model(there)[0]) - self.value
        self._predicted = np.array([float(each(there)[0]) for each in models])
        return np.asarray(there)

    def _stencil(self, model: Quadratic) -> Array:
        self._kind = "stencil"
        values, axes = np.linalg.eigh(-model.curvature)
        reach = _REACH / np.sqrt(values)
        d = len(values)
        sides = (1.0, -1.0) if d <= 4 else (1.0,)
        steps = np.concatenate([side * (axes * reach).T for side in sides])
        top = model.step(np.inf) if model.gain() > 1e-3 else np.zeros(d)
        points = self.best + top + steps
        self._falls = [float(v) for v in self.value - model(points)]
        return np.asarray(points[: max(self.budget, 1)])

    def learn(self, points: Array, values: Array) -> None:
        """Take in the values at the points proposed; minus infinity is a step that failed."""
        self.budget -= len(points)
        self.spent += len(points)
        top = int(np.argmax(values))
        rise = float(values[top]) - self.value
        moved = rise > 0.0
        length = float(np.linalg.norm(points[top] - self.best))
        if self._kind == "stencil":
            self._checks += 1
            falls = self.value - values
            expected = np.array(self._falls[: len(falls)])
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = np.where(expected > 0.0, falls / expected, np.inf)
            true = bool(np.all((ratios > 1.0 / _TRUE) & (ratios < _TRUE)))
            self.arrived = rise <= _GAIN and (true or self._checks >= 3)
            spread = np.linalg.norm(points - self.best, axis=1)
            self.radius = float(np.median(spread)) if moved or not true else self.radius
        elif self._kind == "step":
            ratio = rise / self._expected if self._expected > 0.0 else 0.0
            if np.isfinite(rise):
                self._errors = _MEMORY * self._errors + np.abs(self._predicted - values[0])
            if ratio > 0.7 and length > 0.8 * self.radius:
                self.radius *= 2.5
            elif ratio < 0.25:
                self.radius = max(0.6 * min(self.radius, length), self._least)
        self._walls = self._walls + 1 if np.all(np.isneginf(values)) else 0
        if self._walls >= _WALLS:
            # The top lies on the boundary of the support, and further steps would only meet zeros.
            self.arrived = self.ended = True
        if moved:
            self.best, self.value = points[top].copy(), float(values[top])
        self._tops.extend([self.value] * len(points))
        self.ended = self.ended or self.arrived or self.budget <= 0 or self.radius <= self._least

    def extend(self, most: int) -> None:
        """Go on beyond the budget, by `most` evaluations at most, if the climb ended without arriving but still rises.

        A climb that no longer rises is at a cusp or on a plateau, which its quadratics do not describe.
        """
        recent = len(self.best) + 2
        rising = len(self._tops) > recent and self.value - self._tops[-recent - 1] > _RISING
        if rising and most > 0 and self.radius > self._least:
            self.budget, self.ended = min(recent, most), False

    def ahead(self) -> float:
        """Return how much may be left to climb.

        The sum of a geometric series that begins with the rise of the last quarter of the evaluations, with the ratio
        of the rises of the last two quarters.
        """
        quarter = len(self._tops) // 4
        if quarter == 0:
            return 0.0
        before, last = np.diff([self._tops[i] for i in (-2 * quarter - 1, -quarter - 1, -1)])
        ratio = min(last / before, _MOST_RATIO) if before > 0.0 else _MOST_RATIO
        return float(last / (1.0 - ratio))

    def _row(self, z: Array, g: Array) -> int:
        return int(np.argmin(np.sum((z - self.best) ** 2, axis=1)))
