"""Densities of scipy.stats distributions, cut into panels that resolve them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import eval_legendre

from .._validate import Array
from ..measures.distributions import parameters
from .density import Density, Side
from .panels import NODES, TO_SERIES, not_converged, panel_nodes

# Values at the nodes of a panel -> values at the nodes of its two halves, by the interpolating polynomial.
_HALVES = np.concatenate([0.5 * (NODES - 1.0), 0.5 * (NODES + 1.0)])
_REFINE = eval_legendre(np.arange(NODES.size), _HALVES[:, None]) @ TO_SERIES
# A panel is resolved when the polynomial is this close to the density, relative to its largest value on the panel (the
# Gauss rule is then exact to rounding), or when what is missing is this little mass.
_RESOLVED = 1e-11
_NEGLIGIBLE = 1e-16
# Some densities of scipy carry numerical noise. An error below this that a further cut does not lower by a factor of
# 1.4 is taken to be noise.
_NOISE = 1e-8
# 70 halvings take a panel of any length to the spacing of the floats; 2000 unresolved panels at once mean that the
# density is rough everywhere.
_LEVELS = 70
_MOST = 2000
# Tails are followed, doubling the distance, until they hold less than the first of these; tails that are still within
# 2^12 interquartile ranges then, until they hold less than the second.
_TAIL = 1e-20
_LIGHT_TAIL = 1e-120
_LIGHT_STEPS = 14
# Jumps of a histogram are looked for in this number of cells. Of two jumps in one cell one is found; the other costs
# panels, not accuracy.
_HISTOGRAM_CELLS = 1 << 14


@dataclass(frozen=True, eq=False)
class DistributionDensity(Density):
    """The density of a frozen continuous distribution of scipy.stats.

    Only its ``pdf``, its support and three quantiles are used. Each bound is approached in the distance from it, where
    the power of an infinite (or otherwise not smooth) end is found from the density itself; tails are followed until
    they hold less than 1e-20 of the mass, light ones until 1e-120.
    """

    distribution: Any

    def sides(self) -> tuple[Side, ...]:
        """Return the parts that make up the density."""
        return self._sides

    @cached_property
    def accuracy(self) -> float:
        """Difference of the panels' mass from one, plus its change when each panel is cut in halves."""
        masses = [(_mass(side), _mass(replace(side, edges=_halved(side.edges)))) for side in self.sides()]
        return sum(abs(fine - coarse) for coarse, fine in masses) + abs(1.0 - sum(fine for _, fine in masses))

    @cached_property
    def _sides(self) -> tuple[Side, ...]:
        p = self.distribution
        shapes, loc, scale = parameters(p)
        lower, upper = (float(bound) for bound in p.dist.support(*shapes))
        quartiles = np.asarray(p.dist.ppf(np.array([0.25, 0.5, 0.75]), *shapes))
        marks = np.concatenate([quartiles, _jumps(p.dist, lower, upper)])
        if lower > -np.inf and upper < np.inf:
            middle = 0.5 * (upper - lower)
            parts = [(lower, 1.0, middle), (upper, -1.0, middle)]
        elif lower > -np.inf:
            parts = [(lower, 1.0, np.inf)]
        elif upper < np.inf:
            parts = [(upper, -1.0, np.inf)]
        else:
            # The standard form of most families has its centre, and its kink if there is one, at zero.
            parts = [(0.0, -1.0, np.inf), (0.0, 1.0, np.inf)]
        sides = []
        for origin, sign, end in parts:
            density = _FromOrigin(p.dist, shapes, origin, sign)
            side = _side(density, sign * (marks - origin), end, float(quartiles[2] - quartiles[0]))
            sides.append(replace(side, origin=float(loc) + float(scale) * origin, scale=sign * float(scale)))
        mass = sum(_mass(side) for side in sides)
        if not abs(mass - 1.0) < 1e-8:
            raise ValueError(
                f"`distributions` holds {p.dist.name}, whose density integrates to {mass:.10g} instead of 1 by "
                "quadrature: it has a spike or an atom that its quartiles do not show, or its pdf is inaccurate; use "
                "Empirical with a sample of it"
            )
        return tuple(sides)


@dataclass(frozen=True, eq=False)
class _FromOrigin:
    """A standard density as a function of the distance from an origin, near which it behaves like distance^power."""

    family: Any
    shapes: list[float]
    origin: float
    sign: float
    power: float = 0.0

    def __call__(self, t: Array) -> Array:
        position = self.origin + self.sign * t
        if self.power == 0.0:
            return self._pdf(position)
        # The density at the rounded position is carried to the exact distance by its power: near a bound that is not
        # zero the rounding would otherwise be seen, and near zero some densities overflow.
        least = max(2.0 * np.spacing(abs(self.origin)), 1e-290)
        position = np.where(t < least, self.origin + self.sign * least, position)
        actual = self.sign * (position - self.origin)
        return self._pdf(position) * (t / actual) ** self.power

    def _pdf(self, position: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(self.family.pdf(position, *self.shapes), dtype=np.float64)


def _jumps(family: Any, lower: float, upper: float) -> Array:
    """Return the edges of the bins of a histogram, where its density jumps; nothing for other families.

    Cells of a fine grid across which the density changes are cut in halves until they hold no float between their ends.
    """
    from scipy import stats

    if not isinstance(family, stats.rv_histogram):
        return np.empty(0)
    grid = np.linspace(lower, upper, _HISTOGRAM_CELLS + 1)
    values = np.asarray(family.pdf(grid))
    changed = values[1:] != values[:-1]
    left, right, value = grid[:-1][changed], grid[1:][changed], values[:-1][changed]
    for _ in range(64):
        middle = 0.5 * (left + right)
        same = np.asarray(family.pdf(middle)) == value
        left, right = np.where(same, middle, left), np.where(same, right, middle)
    return np.asarray(right)


def _side(density: _FromOrigin, marks: Array, end: float, spread: float) -> Side:
    """Return the part of a density from its origin to a finite or infinite end."""
    if end == np.inf:
        marks = np.concatenate([marks, _tail(density, float(np.median(marks[:3])), spread)])
        end = float(marks.max())
    edges = np.unique(np.concatenate([[0.0], marks[(marks > 0.0) & (marks < end)], [end]]))
    power = _power(density, spread)
    if power == 0.0:
        return _resolve(Side(0.0, 1.0, density, edges), density.family.name)
    side = Side(0.0, 1.0, replace(density, power=power), edges[1:], power)
    length = float(edges[1])
    # Short enough for the Gauss-Jacobi rule; for densities that are a power times a smooth function no cut is needed.
    while length > 1e-300:
        fine, coarse = float(side.peak(length)[1].sum()), float(side.peak(length, 14)[1].sum())
        if abs(fine - coarse) <= max(_NEGLIGIBLE, 5e-14 * fine):
            break
        length *= 0.5
    # Beyond it the density still changes from decade to decade.
    edges = np.concatenate([[length], edges[edges > length]])
    edges = np.unique(np.concatenate([edges, *(_decades(a, b) for a, b in pairwise(edges))]))
    return _resolve(replace(side, edges=edges), density.family.name)


def _decades(a: float, b: float) -> Array:
    """Return edges from a to b, at most a decade apart."""
    return np.geomspace(a, b, max(2, int(np.ceil(np.log10(b / a))) + 1))


def _tail(density: Callable[[Array], Array], centre: float, spread: float) -> Array:
    """Return edges about the centre, doubling their distance until the mass beyond is negligible."""
    steps = spread * 2.0 ** np.arange(-2.0, 200.0)
    mass = density(centre + steps) * steps
    # A density that is zero or not a number out there has ended.
    ended = ~(mass > _LIGHT_TAIL) | (~(mass > _TAIL) & (np.arange(steps.size) > _LIGHT_STEPS))
    last = int(np.argmax(ended)) if np.any(ended) else steps.size - 1
    return np.concatenate([centre - steps[: last + 1], [centre], centre + steps[: last + 1]])


def _power(density: _FromOrigin, spread: float) -> float:
    """Return the power with which the density behaves at its origin, zero if it is smooth there."""
    # Powers of two far below the spread, but such that origin + step is exact; the next order in the step is removed.
    step = 2.0 ** np.round(np.log2(spread)) * 2.0**-60
    if density.origin != 0.0:
        step = max(step, 2.0 ** (np.ceil(np.log2(abs(density.origin))) - 26.0))
    values = density(step * np.array([1.0, 2.0, 4.0]))
    if not (np.all(np.isfinite(values)) and np.all(values > 0.0)):
        return 0.0
    slopes = np.log2(values[1:] / values[:-1])
    power = float(2.0 * slopes[0] - slopes[1])
    smooth = power > -0.5 and abs(power - round(power)) < 1e-7
    return 0.0 if smooth or power <= -1.0 or power > 8.0 else power


def _resolve(side: Side, name: str) -> Side:
    """Cut the panels in halves until each resolves the density."""
    left, right = side.edges[:-1], side.edges[1:]
    before = np.full(left.size, np.inf)
    done = [side.edges]
    for _ in range(_LEVELS):
        middle = 0.5 * (left + right)
        values = side.density(panel_nodes(left, right)[0])
        finer = side.density(np.concatenate([panel_nodes(left, middle)[0], panel_nodes(middle, right)[0]], axis=1))
        largest = np.maximum(np.abs(finer).max(axis=1), np.finfo(float).tiny)
        error = np.abs(values @ _REFINE.T - finer).max(axis=1)
        noisy = (error < _NOISE * largest) & (error > 0.7 * before)
        small = error * (right - left) < _NEGLIGIBLE
        unresolved = ~((error < _RESOLVED * largest) | noisy | small) & (middle > left) & (middle < right)
        if not np.any(unresolved):
            break
        if np.count_nonzero(unresolved) > _MOST:
            # A density that does not decay, as that of the circular vonmises, or that is noise throughout.
            raise not_converged(f"the density of {name}", _RESOLVED)
        done.append(middle[unresolved])
        left, right = (
            np.concatenate([left[unresolved], middle[unresolved]]),
            np.concatenate([middle[unresolved], right[unresolved]]),
        )
        before = np.tile(error[unresolved], 2)
    return replace(side, edges=np.unique(np.concatenate(done)))


def _halved(edges: Array) -> Array:
    return np.sort(np.concatenate([edges, 0.5 * (edges[:-1] + edges[1:])]))


def _mass(side: Side) -> float:
    nodes, weights = panel_nodes(side.edges[:-1], side.edges[1:])
    total = float(np.sum(side.density(nodes) * weights))
    return total + (float(side.peak(float(side.edges[0]))[1].sum()) if side.edges[0] > 0.0 else 0.0)
