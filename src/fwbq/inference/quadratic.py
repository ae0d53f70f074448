"""Local models of the log joint density: quadratics, and the points around a centre they are fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..process.basis import basis_functions, basis_size
from .tuning import TUNING

Array = NDArray[np.float64]

#: Falls deeper than this many typical ones are raised to it: their weight in a fit is nil, and squares stay finite.
_DEEPEST = 1e12
#: A value is trusted at least by this factor, so that far values alone still tell what near ones leave open.
_LEAST_TRUST = 1.0 / 300.0


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


def bend(rise: Array, scale: float) -> Array:
    r"""Return :math:`-\delta \log(1 - r/\delta)` of rises r: the same near zero, the logarithm of deep falls.

    A density that falls like an exponential of the distance, :math:`g = -e^t`, becomes linear for
    :math:`\delta = |g|` at the centre. An infinite `scale` leaves rises as they are; those above a finite one, which
    cannot be bent, count as a hundredth less than it.
    """
    return rise if np.isinf(scale) else np.asarray(-scale * np.log1p(-np.minimum(rise / scale, 0.99)))


def unbend(bent: float, scale: float) -> float:
    """Return the rise whose `bend` is given; it is never more than `scale`."""
    return bent if np.isinf(scale) else float(-scale * np.expm1(min(-bent / scale, 600.0)))


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    r"""The points around a centre, in coordinates in which a trust region is the unit ball.

    The error of a quadratic model grows with the cube of the distance, so that a point at distance r (in trust radii)
    has the weight :math:`r^{-3}` in a fit, from one tenth of the radius on, and less where its value is far below.

    Attributes
    ----------
    centre : (d,) array
    value : float
        Log joint density there.
    root : (d, d) array
        The trust region is centre + root times the unit ball.
    points : (m, d) array
        The others, in units of the root, the nearest first.
    rise : (m,) array
        Their values less that of the centre.
    """

    centre: Array
    value: float
    root: Array
    points: Array
    rise: Array

    @classmethod
    def of(cls, z: Array, g: Array, centre: int, root: Array) -> Neighbourhood:
        """Return the neighbourhood of row `centre` among points z (n, d) with finite values g (n,)."""
        d = z.shape[1]
        s = np.linalg.solve(root, (z - z[centre]).T).T
        near = np.argsort(np.sum(s * s, axis=1), kind="stable")[: TUNING.quadratic.points * basis_size("quadratic", d)]
        near = near[near != centre]
        return cls(z[centre], float(g[centre]), root, s[near], g[near] - g[centre])

    @property
    def dim(self) -> int:
        """Dimension d."""
        return len(self.centre)

    @cached_property
    def typical(self) -> float:
        """Median change of the value among the nearest d + 2 points, at least one natural logarithm."""
        return max(float(np.median(np.abs(self.rise[: self.dim + 2]))), 1.0) if len(self.rise) else 1.0

    @cached_property
    def determined(self) -> bool:
        """Whether there are as many points as a quadratic has coefficients."""
        return len(self.rise) + 1 >= basis_size("quadratic", self.dim)

    @cached_property
    def _share(self) -> Array:
        # Slopes hardly count in the norm that is minimised; a cross derivative stands for two entries of the matrix and
        # counts twice.
        d = self.dim
        return np.concatenate([np.full(d, 1e-3), np.ones(d), np.full(d * (d - 1) // 2, np.sqrt(2.0))])

    def _design(self, s: Array) -> Array:
        d = self.dim
        design = basis_functions("quadratic", s)[:, 1:]
        design[:, d : 2 * d] *= 0.5  # so that the coefficient is the second derivative
        return np.asarray(design / self._share)

    def _weights(self, rise: Array) -> Array:
        distance = np.sqrt(np.sum(self.points**2, axis=1))
        trust = np.maximum(1.0 / (1.0 + np.abs(rise) / (TUNING.quadratic.trusted * self.typical)), _LEAST_TRUST)
        return np.asarray(trust * np.maximum(distance, 0.1) ** -3)

    def fit(self, scale: float = np.inf) -> Quadratic:
        """Fit a quadratic through the centre to the values, bent by `scale`; in units of the root, without its value.

        Where there are fewer points than coefficients the curvature of least Frobenius norm is taken.
        """
        d = self.dim
        rise = bend(np.maximum(self.rise, -_DEEPEST * self.typical), scale)
        weight = self._weights(rise)
        size = float(np.max(np.abs(weight * rise), initial=0.0))
        if size == 0.0:
            return Quadratic(np.zeros(d), 0.0, np.zeros(d), np.zeros((d, d)))
        found, *_ = np.linalg.lstsq(weight[:, None] * self._design(self.points), weight * rise / size, rcond=1e-13)
        found = found * size / self._share
        H = np.diag(found[d : 2 * d])
        i, j = np.triu_indices(d, 1)
        H[i, j] = H[j, i] = found[2 * d :]
        return Quadratic(np.zeros(d), 0.0, found[:d], H)

    def unscaled(self, model: Quadratic) -> Quadratic:
        """Return a model in units of the root as one of z."""
        inverse = np.linalg.inv(self.root)
        H = inverse.T @ model.curvature @ inverse
        return Quadratic(self.centre, self.value, inverse.T @ model.slope, 0.5 * (H + H.T))


def local_quadratic(z: Array, g: Array, centre: int, radius: float, shape: Array | None = None) -> Quadratic:
    """Fit a quadratic through the point number `centre`, trusting the others the less the farther and deeper they are.

    Parameters
    ----------
    z, g : (n, d), (n,) arrays
        Points and finite values.
    centre : int
        Row of the centre.
    radius : float
        Distance within which the points are trusted.
    shape : (d, d) array, optional
        Root of the metric in which distances are taken; the identity by default.
    """
    around = Neighbourhood.of(z, g, centre, radius * (np.eye(z.shape[1]) if shape is None else shape))
    return around.unscaled(around.fit())
