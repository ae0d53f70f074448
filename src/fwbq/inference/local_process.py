"""Local models of the log joint density beyond quadratics: a process on the values around a centre."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._linalg import CholeskyFactor
from ..kernels import ExpQuad, Kernel
from ..process import KernelFamily, Regression
from ..process.basis import basis_functions
from ..process.objective import LEAST_NOISE
from .joint_process import fit_lengthscales
from .quadratic import Neighbourhood, Quadratic, bend, local_quadratic
from .tuning import TUNING

Array = NDArray[np.float64]

#: Largest standard deviation of the noise of deep values, relative to the amplitude.
_MOST_NOISE = 1e3
#: Step of the differences from which slope and curvature are taken, in trust radii: the process is smooth over a third
#: of the region, and the differences are far above rounding.
_STEP = 0.3
#: The highest point is looked for in clouds of points, each around the best so far, which shrink by a factor when they
#: find nothing higher: 14 clouds end at a thousandth of the radius.
_CLOUDS = 14
_SHRINK = 0.55
_FIRST_CLOUD = 400
_CLOUD = 60
_CLOUD_PER_DIMENSION = 20

#: The smoothest kernel: what a climb needs is the slope between its points, and likelihoods are smooth there.
_FAMILY = KernelFamily("ExpQuad", ExpQuad)


@dataclass(frozen=True, eq=False)
class LocalProcess:
    """The mean of a Gaussian process on rises around a centre, in units of a trust region.

    Attributes
    ----------
    root : (d, d) array
        The trust region is centre + root times the unit ball.
    places : (m, d) array
        Points with known values, less the centre.
    kernel : Kernel
    weights : (m,) array
        Of the kernel at the places.
    level : float
        What the sum over them is at the centre.
    theta : (d,) array
        Log length-scales, where the next search begins.
    """

    root: Array
    places: Array
    kernel: Kernel
    weights: Array
    level: float
    theta: Array

    @classmethod
    def fit(cls, around: Neighbourhood, scale: float, theta: Array | None, *, search: bool = True) -> LocalProcess:
        """Fit a process with an unknown constant to the values, bent by `scale` (see `bend`).

        Parameters
        ----------
        around : Neighbourhood
        scale : float
        theta : (d,) array or None
            Log length-scales of an earlier fit.
        search : bool
            Whether to look for better ones.
        """
        d = around.dim
        places = np.vstack([np.zeros(d), around.points @ around.root.T])
        rise = np.append(0.0, around.rise)
        values = bend(rise, scale)
        excess = (
            np.maximum(-rise / (TUNING.local_process.deep * around.typical) - 1.0, 0.0)
            if np.isinf(scale)
            else np.zeros(len(rise))
        )
        noise = np.minimum(excess, _MOST_NOISE) ** 2
        if search or theta is None:
            theta = fit_lengthscales(
                places,
                values,
                "constant",
                noise,
                _FAMILY,
                theta,
                TUNING.process.iterations if theta is None else TUNING.process.following,
            )[1]
        kernel = _FAMILY.kernel(theta, d)
        K = kernel(places)
        K.flat[:: len(K) + 1] += LEAST_NOISE + noise
        regression = Regression(CholeskyFactor.of(K), values, basis_functions("constant", places))
        weights = regression.factor.whiten_transposed(regression.residual)
        return cls(around.root, places, kernel, weights, float((kernel(places[:1], places) @ weights)[0]), theta)

    def __call__(self, s: Array) -> Array:
        """Return the rise from the centre, bent, at points s (n, d) of the trust region."""
        return np.asarray(self.kernel(s @ self.root.T, self.places) @ self.weights - self.level)

    def quadratic(self) -> Quadratic:
        """Return the quadratic with its slope and curvature at the centre, by differences; in units of the root."""
        d = self.root.shape[0]
        steps = _STEP * np.eye(d)
        i, j = np.triu_indices(d, 1)
        values = self(np.concatenate([steps, -steps, steps[i] + steps[j]]))
        up, down, both = values[:d], values[d : 2 * d], values[2 * d :]
        H = np.diag((up + down) / _STEP**2)
        H[i, j] = H[j, i] = (both - up[i] - up[j]) / _STEP**2
        return Quadratic(np.zeros(d), 0.0, (up - down) / (2.0 * _STEP), H)

    def step(self, rng: np.random.Generator) -> Array:
        """Return s with |s| <= 1 where the process is highest, as far as a search by random points finds it."""
        d = self.root.shape[0]
        best = self.quadratic().step(1.0)
        height = float(self(best[None])[0])
        radius, size = 1.0, _FIRST_CLOUD
        centre = np.zeros(d)
        for _ in range(1 + _CLOUDS):
            s = rng.standard_normal((size, d))
            s *= (rng.uniform(size=size) ** (1.0 / d) / np.linalg.norm(s, axis=1))[:, None]
            s = centre + radius * s
            s /= np.maximum(np.linalg.norm(s, axis=1), 1.0)[:, None]
            values = self(s)
            top = int(np.argmax(values))
            if values[top] > height:
                best, height = s[top], float(values[top])
            else:
                radius *= _SHRINK
            centre, size = best, _CLOUD + _CLOUD_PER_DIMENSION * d
        return np.asarray(best)


def peak_at(
    z: Array, g: Array, centre: int, radius: float, shape: Array | None = None, model: Quadratic | None = None
) -> Quadratic:
    """Return a local model at the highest point, row `centre` of points z (n, d) with finite values g (n,).

    The quadratic of the points around it, which is exact for a Gaussian; where that has no maximum, `model` if it has
    one; else the quadratic of a process. At the end of four climbs on the eight parameters of a Lotka-Volterra model,
    every quadratic had a direction of the wrong sign, and no process; their curvatures were right to a factor of eight
    but for the steepest direction, up to 33 times too steep.

    Parameters
    ----------
    z, g, centre, radius, shape
        As for `local_quadratic`.
    model : Quadratic, optional
        The last model of a climb that ended there.
    """
    peak = local_quadratic(z, g, centre, radius, shape)
    if peak.concave:
        return peak
    if model is not None and model.concave:
        return model
    around = Neighbourhood.of(z, g, centre, radius * (np.eye(z.shape[1]) if shape is None else shape))
    if not len(around.rise):
        return peak
    process = around.unscaled(LocalProcess.fit(around, np.inf, None).quadratic())
    return process if process.concave else peak
