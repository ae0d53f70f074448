"""Kernels of a difference under any density on the line, by Gauss rules on panels."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .._validate import Array
from ..kernels import ExpQuad, Kernel, PeriodicSobolev, ProductKernel, Stationary
from .base import register
from .density import Density, Side, UniformOnInterval
from .distribution import DistributionDensity
from .line import Line
from .normal import NormalOnInterval
from .panels import ORDER, panel_nodes

Function = Callable[[Array], Array]
Index = NDArray[np.intp]

# A panel no wider than this many lengthscales is resolved by its 20 nodes for every x (to 1e-15 up to 15 lengthscales).
_NARROW = 1.25
# This number of panels of a side is cut down to that width, the heaviest first; the others (the tails of a heavy-tailed
# density would need millions) are cut around each x. 128 panels are 2560 kernel values for each x.
_MOST = 128
# Edges of the panels cut around x, in local decay lengths from the point of the wide panel that is nearest to x: fine
# where the kernel changes, up to exp(-42) = 6e-19 of its value there.
_GRID = np.array([0.0, 0.7, 1.5, 2.5, 4.0, 6.0, 9.0, 13.0, 19.0, 28.0, 42.0])
# A wide panel is left out when the most that it can contribute is less than this part of the integral over the narrow
# panels, or than this part of the most that any wide panel can contribute.
_UNSEEN = 1e-17
_UNSEEN_BOUND = 1e-24
# Width in log t of the panels between x and the end of a peak: a factor of four in t, over which 20 nodes resolve a
# power of t to rounding.
_LOG_PANEL = 1.4
# This number of points, neighbours on the line, is treated together, so that panels far from all of them drop out:
# those that give less than this part of the result (a millionth of a rounding, because there may be thousands).
_NEIGHBOURS = 256
_UNSEEN_PANEL = 1e-23
# Kernel values held at once: 4 MB.
_BLOCK = 1 << 19


@register([Kernel], [NormalOnInterval, UniformOnInterval, DistributionDensity], "1-d quadrature")
@dataclass(frozen=True, eq=False)
class QuadratureLine(Line):
    """A kernel k(x - y) under a density p, by composite Gauss rules.

    mu(x) = sum_i w_i k(x - y_i) p(y_i),  double integral = int mu(x) p(x) dx, adaptively.

    The density's panels are cut to the kernel's lengthscale; a panel that holds x is split there when the kernel has a
    kink at zero; a peak at a bound has a Gauss-Jacobi rule of its own; panels too wide to be cut everywhere (heavy
    tails, short lengthscales) are cut around each x. The double integral is the integral of the mean.
    """

    kernel: Kernel
    p: Density
    # Panels are cut to this many times the width that resolves the kernel.
    _width: ClassVar[float] = 1.0

    @property
    def method(self) -> str:
        """How mean and variance are computed."""
        return "1-d quadrature"

    @cached_property
    def accuracy(self) -> float:
        """What the rules left open, relative: mass of the density, mean element at probes, double integral."""
        return self.p.accuracy + self._mean_accuracy() + self._double_accuracy

    def _mean_accuracy(self) -> float:
        """Largest relative change of mu at a few points when the panels are cut to half the length-scale."""
        x = np.concatenate([_middle(side) for side in self.p.sides()])
        before, after = self.mean(x), _Finer(self.kernel, self.p).mean(x)
        return float(np.max(np.abs(before - after) / after))

    def mean(self, x: Array) -> Array:
        """Return mu(x) for points x of shape (n,)."""
        return self._integral(x, self._profile)

    def gradient(self, x: Array) -> Array:
        """Return the derivative of mu at points x of shape (n,)."""
        return self._integral(x, self._slope)

    def variance(self) -> float:
        """Return the double integral of the kernel."""
        return self._double.value

    def breaks(self) -> Array:
        """Return edges for the layers of the kernel's length at the ends of the sides."""
        steps = lengthscale(self.kernel) * np.array([0.0, 0.25, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
        ends = [side.position(t) for side in self.p.sides() for t in (np.zeros(1), side.edges[-1:])]
        return np.concatenate([end + sign * steps for end in ends for sign in (-1.0, 1.0)])

    def _profile(self, r: Array) -> Array:
        return self.kernel(r.reshape(-1, 1), np.zeros((1, 1)))[:, 0].reshape(r.shape)

    def _slope(self, r: Array) -> Array:
        return self.kernel.gradient(r.reshape(-1, 1), np.zeros((1, 1)))[:, 0, 0].reshape(r.shape)

    @cached_property
    def _panels(self) -> "list[_Panels]":
        length = self._width * lengthscale(self.kernel)
        return [_Panels.of(side, length / abs(side.scale)) for side in self.p.sides()]

    def _integral(self, x: Array, function: Function) -> Array:
        out = self._narrow(x, function)
        if kinked(self.kernel):
            for panels in self._panels:
                _split_panels(out, x, panels, function)
                _split_peak(out, x, panels, function)
        wide = [panels for panels in self._panels if panels.wide_mass.size]
        for rows in _slices(x.size, _BLOCK // 512):
            bounds = [self._bounds(x[rows], panels) for panels in wide]
            for panels, bound in zip(wide, bounds, strict=True):
                largest = np.max([other.max(axis=1) for other in bounds], axis=0)
                least = np.maximum(_UNSEEN * np.abs(out[rows]), _UNSEEN_BOUND * largest)
                i, j = np.nonzero(bound > least[:, None])
                for pairs in _slices(i.size, _BLOCK // (2 * ORDER * _GRID.size)):
                    np.add.at(out, rows.start + i[pairs], self._around(x[rows][i[pairs]], panels, j[pairs], function))
        return out

    def _narrow(self, x: Array, function: Function) -> Array:
        """Return the integrals over the narrow panels, for neighbouring points together so that far panels drop out."""
        out = np.zeros_like(x)
        order = np.argsort(x)
        for rows in _slices(x.size, _NEIGHBOURS):
            i = order[rows]
            low, high = x[i[0]], x[i[-1]]
            seen = [np.ones(panels.mass.size, dtype=bool) for panels in self._panels]
            if not periodic(self.kernel):
                # Because the kernel falls with the distance: the most that each panel contributes, and the least.
                gaps = [np.maximum(np.maximum(p.low - high, low - p.high), 0.0) for p in self._panels]
                most = [p.mass * self._profile(gap) for p, gap in zip(self._panels, gaps, strict=True)]
                spans = [np.maximum(high - p.low, p.high - low) for p in self._panels]
                least = [p.mass * self._profile(span) for p, span in zip(self._panels, spans, strict=True)]
                sure = max(float(part.max(initial=0.0)) for part in least)
                seen = [part >= _UNSEEN_PANEL * sure for part in most]
            for panels, some in zip(self._panels, seen, strict=True):
                # Distances from the origin of the side: next to it x and y differ by less than the spacing of the
                # floats.
                t = (x[i] - panels.side.origin) / panels.side.scale
                nodes, weights = panels.nodes[some].ravel(), panels.weights[some].ravel()
                for part in _slices(i.size, _BLOCK // max(1, nodes.size)):
                    out[i[part]] += function(panels.side.scale * (t[part, None] - nodes)) @ weights
        return out

    def _bounds(self, x: Array, panels: "_Panels") -> Array:
        """Return for each wide panel its mass times the largest kernel value on it, shape (n, m)."""
        t = (x[:, None] - panels.side.origin) / panels.side.scale
        gap = np.maximum(np.maximum(panels.wide_left - t, t - panels.wide_right), 0.0)
        return self._profile(gap * abs(panels.side.scale)) * panels.wide_mass

    def _around(self, x: Array, panels: "_Panels", j: Index, function: Function) -> Array:
        """Return the integrals over the wide panels j, cut around the points x, shape (n,)."""
        side = panels.side
        t = (x - side.origin) / side.scale
        left, right = panels.wide_left[j], panels.wide_right[j]
        nearest = np.clip(t, left, right)
        gap = np.abs(t - nearest) * abs(side.scale)
        value = self._profile(gap)
        rate = np.abs(self._slope(gap)) / np.where(value > 0.0, value, 1.0)
        decay = 1.0 / np.maximum(1.0 / lengthscale(self.kernel), rate) / abs(side.scale)
        # Panels are laid out from the nearest point, because the distance from x has more digits than the position.
        steps = decay[:, None] * _GRID
        below = np.maximum(-steps, (left - nearest)[:, None])
        above = np.minimum(steps, (right - nearest)[:, None])
        starts = np.concatenate([below[:, 1:], above[:, :-1]], axis=1)
        ends = np.concatenate([below[:, :-1], above[:, 1:]], axis=1)
        row, column = np.nonzero(ends > starts)
        nodes, weights = panel_nodes(starts[row, column], ends[row, column])
        values = function(side.scale * ((t - nearest)[row, None] - nodes)) * side.density(nearest[row, None] + nodes)
        return np.asarray(np.bincount(row, np.sum(values * weights, axis=1), minlength=x.size), dtype=np.float64)


class _Finer(QuadratureLine):
    """The same with panels half as wide, to tell how good the others are."""

    _width = 0.5


@dataclass(frozen=True, eq=False)
class _Panels:
    """The panels of one side, cut for a lengthscale: narrow ones with their nodes, wide ones with their mass.

    The rows of ``nodes`` and ``weights``, of shape (m, 20), are the narrow panels, after the peak if there is one; they
    lie between ``low`` and ``high`` and hold the ``mass``.
    """

    side: Side
    start: float
    left: Array
    right: Array
    nodes: Array
    weights: Array
    low: Array
    high: Array
    mass: Array
    wide_left: Array
    wide_right: Array
    wide_mass: Array

    @classmethod
    def of(cls, side: Side, length: float) -> "_Panels":
        """Cut the panels of a side to the lengthscale, in units of the side."""
        edges = side.edges
        start = float(edges[0])
        while start > 0.25 * length:
            start *= 0.5
            edges = np.concatenate([[start], edges])
        left, right = edges[:-1], edges[1:]
        nodes, weights = panel_nodes(left, right)
        mass = np.einsum("ij,ij->i", side.density(nodes), weights)
        pieces = np.ceil((right - left) / (_NARROW * length))
        # The heaviest panels are cut first, until the budget is spent.
        order = np.lexsort((-mass, pieces > 1.0))
        wide = np.zeros(left.size, dtype=bool)
        wide[order] = (np.cumsum(pieces[order]) > _MOST) & (pieces[order] > 1.0)
        cuts = [np.linspace(a, b, int(m) + 1) for a, b, m in zip(left[~wide], right[~wide], pieces[~wide], strict=True)]
        starts = np.concatenate([cut[:-1] for cut in cuts]) if cuts else np.empty(0)
        ends = np.concatenate([cut[1:] for cut in cuts]) if cuts else np.empty(0)
        nodes, weights = panel_nodes(starts, ends)
        weights = weights * side.density(nodes)
        first, last = starts, ends
        if start > 0.0:
            peak, peak_weights = side.peak(start)
            nodes, weights = np.vstack([peak, nodes]), np.vstack([peak_weights, weights])
            first, last = np.concatenate([[0.0], starts]), np.concatenate([[start], ends])
        bounds = np.sort([side.position(first), side.position(last)], axis=0)
        narrow = (starts, ends, nodes, weights, bounds[0], bounds[1], weights.sum(axis=1))
        return cls(side, start, *narrow, left[wide], right[wide], mass[wide])


def _middle(side: Side) -> Array:
    """Return points below which a side has about a tenth, a half and nine tenths of its mass, (3,).

    Of a side that is a peak and nothing else, its end.
    """
    if side.edges.size < 2:
        return side.position(side.edges)
    nodes, weights = panel_nodes(side.edges[:-1], side.edges[1:])
    share = np.cumsum(np.sum(side.density(nodes) * weights, axis=1))
    return side.position(nodes[np.searchsorted(share, np.array([0.1, 0.5, 0.9]) * share[-1]), ORDER // 2])


def _split_panels(out: Array, x: Array, panels: _Panels, function: Function) -> None:
    """Replace the narrow panel that holds x by its two parts."""
    if panels.left.size == 0:
        return
    side = panels.side
    t = (x - side.origin) / side.scale
    which = np.clip(np.searchsorted(panels.left, t, side="right") - 1, 0, None)
    held = np.flatnonzero((t > panels.left[which]) & (t < panels.right[which]))
    for rows in _slices(held.size, _BLOCK // (4 * ORDER)):
        i = held[rows]
        left, right = panels.left[which[i]], panels.right[which[i]]
        for sign, a, b in ((-1.0, left, right), (1.0, left, t[i]), (1.0, t[i], right)):
            nodes, weights = panel_nodes(a, b)
            values = function(side.scale * (t[i, None] - nodes)) * side.density(nodes)
            out[i] += sign * np.einsum("ij,ij->i", values, weights)


def _split_peak(out: Array, x: Array, panels: _Panels, function: Function) -> None:
    """Replace the panel of a peak that holds x by its two parts, the one beyond x graded in log t."""
    side, start = panels.side, panels.start
    t = (x - side.origin) / side.scale
    held = np.flatnonzero((t > 0.0) & (t < start))
    held = held[np.argsort(-t[held])]
    for rows in _slices(held.size, 256):
        i = held[rows]
        nodes, weights = side.peak(start)
        out[i] -= function(side.scale * (t[i, None] - nodes)) @ weights
        nodes, weights = side.peaks(t[i])
        out[i] += np.einsum("ij,ij->i", function(side.scale * (t[i, None] - nodes)), weights)
        span = np.log(start) - np.log(t[i, None])
        logs = np.log(start) - span * np.linspace(1.0, 0.0, int(np.ceil(span.max() / _LOG_PANEL)) + 1)
        logs, weights = panel_nodes(logs[:, :-1], logs[:, 1:])
        nodes = np.exp(logs)
        values = function(side.scale * (t[i, None, None] - nodes)) * side.density(nodes) * nodes
        out[i] += np.einsum("ijk,ijk->i", values, weights)


def lengthscale(kernel: Kernel) -> float:
    """Return the length on which a one-dimensional kernel of a difference changes."""
    if isinstance(kernel, ProductKernel):
        return 1.0 / sum(1.0 / lengthscale(factor) for factor in kernel.kernels)
    if isinstance(kernel, Stationary):
        return float(kernel.lengthscales(1)[0])
    # Bernoulli polynomials on the unit interval: one panel would do.
    return 1.0


def kinked(kernel: Kernel) -> bool:
    """Whether a kernel is not analytic at x = y."""
    if isinstance(kernel, ProductKernel):
        return any(kinked(factor) for factor in kernel.kernels)
    return not isinstance(kernel, ExpQuad)


def periodic(kernel: Kernel) -> bool:
    """Whether a kernel is periodic, so that it does not fall with the distance."""
    if isinstance(kernel, ProductKernel):
        return any(periodic(factor) for factor in kernel.kernels)
    return isinstance(kernel, PeriodicSobolev)


def of_difference(kernel: Kernel) -> bool:
    """Whether a one-dimensional kernel is known to be a function of x - y."""
    if isinstance(kernel, ProductKernel):
        return all(of_difference(factor) for factor in kernel.kernels)
    return isinstance(kernel, (Stationary, PeriodicSobolev))


def _slices(n: int, size: int) -> Iterator[slice]:
    for start in range(0, n, max(1, size)):
        yield slice(start, min(start + max(1, size), n))
