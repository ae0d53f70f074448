"""The surrogate of a log density from values and gradients: a Gaussian, and a process on what it leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..._whitening import Whitening
from ..tuning import TUNING
from .process import GradientKernel, GradientProcess
from .reach import Reach

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Shape:
    """Parameters of the kernel, found by comparing likelihoods.

    Attributes
    ----------
    stretch : float
        Axes are stretched by this power of the mean squared slope of the residual along them.
    length : float
        Length of the kernel in units of the root of the dimension.
    power : int
        Of the polynomial part.
    """

    stretch: float = 0.25
    length: float = 1.8
    power: int = 3

    @property
    def neighbours(self) -> list[list[Shape]]:
        """Shapes that differ in one parameter, a list for each parameter; of the length only the next ones."""
        lengths = TUNING.judge.lengths
        at = lengths.index(self.length)
        return [
            [replace(self, length=length) for length in lengths[max(at - 1, 0) : at + 2]],
            [replace(self, stretch=stretch) for stretch in TUNING.judge.stretches],
            [replace(self, power=power) for power in TUNING.judge.powers],
        ]


@dataclass(frozen=True, eq=False)
class Rows:
    """Points with log densities and gradients.

    Attributes
    ----------
    points : (n, d) array
    values : (n,) array
    gradients : (n, d) array or None
        None where values alone are known.
    numbers : (n,) array of int
        Rows of the data that they are.
    """

    points: Array
    values: Array
    gradients: Array | None
    numbers: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class GradientSurrogate:
    r"""The log density :math:`g(z) = g_{max} + c - |u|^2 / 2 + r(u)`, with u whitened coordinates and r a process.

    Beyond a radius g goes on with the slope and curvature that it has there, and it is never more than
    `JudgeNumbers.cap` above the largest value seen. Where its mass would lie away from all points the process is
    lowered there (`Reach`): no mass is believed in where nothing was evaluated.

    Attributes
    ----------
    whitening : Whitening
        u, wider than the posterior by a factor, because tails are mostly heavier than a Gaussian's.
    level : float
        Largest value.
    constant : float
    radius : float
        Within which the process is believed, in whitened coordinates.
    axes : (d, d) array
        The kernel's coordinates are u times this.
    process : GradientProcess
    reach : Reach
        How far from its points the process is believed.
    base : Whitening
        The whitening it was given, of the posterior itself.
    shape : Shape
    numbers : (n,) array of int
        Rows of the data that it was fitted to.
    """

    whitening: Whitening
    level: float
    constant: float
    radius: float
    axes: Array
    process: GradientProcess
    reach: Reach
    base: Whitening
    shape: Shape
    numbers: NDArray[np.intp]

    @classmethod
    def fit(cls, data: Rows, rows: NDArray[np.intp], whitening: Whitening, shape: Shape) -> GradientSurrogate:
        """Fit to some rows of the data, with the Gaussian of a whitening as mean."""
        points, values = data.points[rows], data.values[rows]
        d = points.shape[1]
        wide = 1.0 + TUNING.judge.wide / np.sqrt(d)
        base, whitening = whitening, Whitening(whitening.centre, wide * whitening.root)
        u = whitening.forward(points)
        level = float(values.max())
        left = values - level + 0.5 * np.sum(u * u, axis=1)
        constant = float(np.median(left))
        slopes = None if data.gradients is None else data.gradients[rows] @ whitening.root + u
        axes, stretch = _axes(slopes, d, shape.stretch)
        kernel = GradientKernel(
            shape.length * np.sqrt(d), shape.power, TUNING.judge.polynomial, float(d if shape.power == 3 else 2 * d)
        )
        A = axes * stretch
        numbers = TUNING.judge
        along = None if slopes is None else slopes @ axes / stretch
        process = GradientProcess.fit(kernel, u @ A, left - constant, along, numbers.noise, numbers.dense_rows)
        process = replace(process, log_likelihood=process.log_likelihood - len(values) * float(np.sum(np.log(stretch))))
        radius = max((np.sqrt(d) + numbers.radius) / wide, float(np.quantile(np.linalg.norm(u, axis=1), 0.9)))
        reach = Reach.of(whitening, A, process.places, kernel.length, process.amplitude)
        return cls(whitening, level, constant, radius, A, process, reach, base, shape, data.numbers[rows])

    def __call__(self, z: Array, weights: Array | None = None) -> Array:
        """Return the log density at points z (m, d), (m,); for weights (N, k) of the process, (m, k)."""
        u = self.whitening.forward(z)
        r = np.sqrt(np.sum(u * u, axis=1))
        out = self._inside(u * np.minimum(1.0, self.radius / np.maximum(r, 1e-300))[:, None], weights)
        far = r > self.radius
        if far.any():
            # Slope and curvature along the ray at the radius, from two points nearer to the centre.
            h = (1.0 - TUNING.judge.nearer) * self.radius
            rays = u[far] / r[far, None]
            first, second = (self._inside(rays * (self.radius - k * h), weights) for k in (1.0, 2.0))
            slope = np.minimum((1.5 * out[far] - 2.0 * first + 0.5 * second) / h, -self.steep)
            bend = np.clip((out[far] - 2.0 * first + second) / h**2, -self.most_bent, 0.0)
            beyond = r[far] - self.radius if weights is None else (r[far] - self.radius)[:, None]
            out[far] += slope * beyond + 0.5 * bend * beyond**2
        fall = self.reach.fall(z)
        return np.asarray(np.minimum(out, TUNING.judge.cap) + self.level - (fall if weights is None else fall[:, None]))

    @property
    def steep(self) -> float:
        """Least slope beyond the radius: with d / r the mass of shells of radius r does not grow outwards."""
        return len(self.whitening.centre) / self.radius

    @property
    def most_bent(self) -> float:
        """Largest curvature that goes on beyond the radius: that of the posterior's own Gaussian."""
        return float(self.whitening.root[0, 0] / self.base.root[0, 0]) ** 2

    def beyond(self, z: Array) -> NDArray[np.bool_]:
        """Return which of the points z (m, d) lie beyond the radius."""
        return np.asarray(np.sum(self.whitening.forward(z) ** 2, axis=1) > self.radius**2)

    def _inside(self, u: Array, weights: Array | None) -> Array:
        """Return the log density, relative to the level, at whitened points u (m, d) within the radius."""
        r = self.process.predict(u @ self.axes, weights)
        fall = self.constant - 0.5 * np.sum(u * u, axis=1)
        return np.asarray(r + (fall if weights is None else fall[:, None]))


def _axes(slopes: Array | None, dim: int, power: float) -> tuple[Array, Array]:
    """Return axes (d, d) along which slopes (n, d) of the residual differ most, and how far each is stretched, (d,).

    Without slopes all axes are alike.
    """
    if slopes is None:
        return np.eye(dim), np.ones(dim)
    squares, axes = np.linalg.eigh(slopes.T @ slopes / len(slopes))
    squares = squares + 0.02 * squares.mean() + 1e-300
    stretch = squares**power
    return axes, np.asarray(stretch * np.sqrt(dim / np.sum(stretch**2)))


def best_shape(data: Rows, rows: NDArray[np.intp], whitening: Whitening, begin: Shape, seed: int) -> Shape:
    """Return the shape of the greatest likelihood, one parameter at a time, on a subset of the rows."""
    d = data.points.shape[1]
    most = max(12, TUNING.judge.search_rows // (d + 1))
    if len(rows) > most:
        rows = np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
    heights: dict[Shape, float] = {}

    def height(shape: Shape) -> float:
        if shape not in heights:
            try:
                heights[shape] = GradientSurrogate.fit(data, rows, whitening, shape).process.log_likelihood
            except np.linalg.LinAlgError:
                heights[shape] = -np.inf
        return heights[shape]

    best = begin
    while True:
        before = best
        for which in range(3):
            best = max(best.neighbours[which], key=height)
        if best == before:
            return best
