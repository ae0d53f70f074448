"""Sobol indices: how much of the variance of f each input makes, alone and with the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ... import _html
from ..._threads import one_blas_thread
from ...designs.qmc import sobol_points
from ...measures import Measure
from ...posterior import Estimate
from ..fitted import Conditioned, FittedProcess
from .exact import ExactEffects
from .grid import FINE_PLACES, PLACES, Lines, line_nodes, lines_along, places_along
from .nodes import normal_points
from .paths import Bundle
from .sampled import Sampled
from .statistics import variance

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]

#: Blocks of lines through nodes on which the mean of the process is evaluated, and lines in each, more of them up to
#: four inputs: the weights of 256 nodes can then make products of two inputs exact. What differs between the blocks is
#: an error.
_BLOCKS, _LINES, _LINES_OF_FEW = 4, 128, 256
#: Blocks and lines of the functions drawn, and pairs of nodes for the expected variance of what the process leaves
#: open.
_DRAWN_BLOCKS, _DRAWN_LINES, _PAIRS = 2, 32, 256
#: A set of lines: nodes and weights of each block.
_Blocks = tuple[list[FloatArray], list[FloatArray]]


@dataclass(frozen=True, eq=False)
class SobolIndices:
    r"""First-order and total sensitivity indices of each input, for inputs that are independent.

    .. math::
        S_i = \frac{\mathrm{Var}\, E[f \mid x_i]}{\mathrm{Var} f}, \qquad
        T_i = 1 - \frac{\mathrm{Var}\, E[f \mid x_{-i}]}{\mathrm{Var} f}.

    Attributes
    ----------
    first : Estimate
        S_i: (d,), or (m, d) for m columns of f.
    total : Estimate
        T_i.
    names : tuple of str
        Names of the inputs.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> f = lambda x: 3.0 * x[:, 0] + x[:, 1]
    >>> found = fwbq.integrate(f, fwbq.Uniform([0.0, 0.0], [1.0, 1.0]), n=30, rng=0).sobol()
    >>> bool(np.allclose(found.first.mean, [0.9, 0.1], atol=0.01))
    True
    """

    first: Estimate
    total: Estimate
    names: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each input: both indices with standard deviation and 95 % interval."""
        import pandas as pd

        columns: dict[str, Any] = {}
        shape = np.shape(self.first.mean)
        if len(shape) > 1:
            columns["integral"] = np.repeat(np.arange(1, shape[0] + 1), shape[1])
        columns["input"] = list(self.names) * (shape[0] if len(shape) > 1 else 1)
        for kind, estimate in (("first", self.first), ("total", self.total)):
            low, high = estimate.interval(0.95)
            parts = {"": estimate.mean, "_sd": estimate.sd, "_lower": low, "_upper": high}
            columns |= {f"{kind}{suffix}": np.ravel(part) for suffix, part in parts.items()}
        return pd.DataFrame(columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw both indices of each input as bars with their 95 % intervals; see :func:`fwbq.plots.sobol`."""
        from ...plots import sobol

        return sobol(self, ax)

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        frame = self.to_frame()
        rows = [[f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row] for row in frame.to_numpy()]
        return _html.grid(list(frame.columns), rows, title="Sobol indices")

    def __repr__(self) -> str:
        if np.ndim(self.first.mean) > 1:
            return f"SobolIndices({len(self.names)} inputs of {len(self.first.mean)} integrals)"
        shown = [
            f"{name}: {a:.3f} ± {b:.2g}, {c:.3f} ± {e:.2g}"
            for name, a, b, c, e in zip(
                self.names, self.first.mean, self.first.sd, self.total.mean, self.total.sd, strict=True
            )
        ]
        return f"SobolIndices(first order and total of {'; '.join(shown)})"


@dataclass(frozen=True, eq=False)
class MainEffects:
    """E[f | x_i], the mean of f when one input is held and the others vary, with bands.

    Attributes
    ----------
    places : list of (G,) array
        Values of each input.
    effects : list of Estimate
        The mean of f there, (G,) each.
    names : tuple of str
        Names of the inputs.
    """

    places: list[FloatArray]
    effects: list[Estimate]
    names: tuple[str, ...]


def independent(measure: Measure) -> Measure:
    """Return the measure, or refuse one whose coordinates depend on each other."""
    if measure.factors is None:
        raise ValueError(
            f"`sobol` and `plot_effects` need independent inputs, and those of this {type(measure).__name__} are not: "
            "what one input explains is then partly explained by others, and the indices do not add up to the "
            "variance. Write f as a function of independent inputs, e.g. of the whitened coordinates of a Gaussian"
        )
    return measure


@dataclass(frozen=True, eq=False)
class _Parts:
    """Parts of the variance for D functions: V (D,), and first-order and total parts of each input (D, d).

    The errors (d,) are those that the nodes make, for the first function.
    """

    whole: FloatArray
    first: FloatArray
    total: FloatArray
    first_error: FloatArray
    total_error: FloatArray

    def halves(self) -> tuple[_Parts, _Parts]:
        """Return the parts of the first half of the functions, and of the second."""
        size = len(self.whole) // 2
        one, other = (
            replace(self, whole=self.whole[rows], first=self.first[rows], total=self.total[rows])
            for rows in (slice(size), slice(size, None))
        )
        return one, other


@one_blas_thread
def sobol_indices(sampled: Sampled, measure: Measure, names: tuple[str, ...]) -> SobolIndices:
    r"""Return the indices, averaged over functions f = m + g that the process leaves possible.

    Every part of the variance is a quadratic functional Q of f with E Q(f) = Q(m) + E Q(g). The first is computed on
    many lines along each input (for main effects by one-dimensional integrals, where kernel and measure allow), the
    second from the covariance of g between pairs of nodes that share one input, or all but one. The spread is that of
    functions drawn from the process, widened as the error of the integral is.
    """
    process = sampled.process
    many = line_nodes(measure, _LINES_OF_FEW if measure.dim <= 4 else _LINES, _BLOCKS)
    few = line_nodes(measure, _DRAWN_LINES, _DRAWN_BLOCKS)
    generator = np.random.default_rng(6)
    draws: dict[str, list[FloatArray]] = {"first": [], "total": []}
    centres: dict[str, list[FloatArray]] = {"first": [], "total": []}
    for bundle, at_nodes in zip(sampled.paths.bundles, sampled.means, strict=True):
        mean = _refined(measure, many, few, partial(_mean, bundle, process))
        exact = _exact(bundle.member, process, measure)
        mean = mean if exact is None else replace(mean, first=exact, first_error=np.zeros(measure.dim))
        left = _expected(bundle.member, process, measure)
        of_mean, whole_error = sampled.on_nodes(variance, at_nodes)
        whole = of_mean + bundle.member.amplitude * left.whole
        wider = sampled.widening * bundle.member.widening
        drawn, open_part = _of_lines(measure, few, partial(_functions, bundle, process)).halves()
        for kind in ("first", "total"):
            middle = _ratio(getattr(mean, kind) + bundle.member.amplitude * getattr(left, kind), whole)
            each = _ratio(getattr(drawn, kind), drawn.whole)
            safe = np.where(whole > 0.0, whole, 1.0)
            noise = np.hypot(getattr(mean, f"{kind}_error"), middle[0] * whole_error) / safe
            noise = noise * generator.standard_t(_BLOCKS - 1, (len(each), 1))
            moved = middle + wider * (each - each.mean(axis=0)) + noise
            # An input without effect has an effect m_i of the mean that is the error of the process: no larger than
            # those of g. Where that is so, the index may be zero, which draws m_i + g_i never are.
            largest = np.quantile(getattr(open_part, kind), 0.975, axis=0) * wider**2
            draws[kind].append(np.where(getattr(mean, kind) <= largest, _down_to_zero(moved), moved))
            centres[kind].append(np.broadcast_to(middle, each.shape))
    first, total = (
        Estimate.from_draws(
            np.concatenate(draws[kind]), np.concatenate(centres[kind]).mean(axis=0), lower=0.0, upper=1.0
        )
        for kind in ("first", "total")
    )
    return SobolIndices(first, total, names)


def _down_to_zero(draws: FloatArray) -> FloatArray:
    """Return draws (D, d) with the least twentieth of each column set to zero."""
    return np.where(draws <= np.quantile(draws, 0.05, axis=0), 0.0, draws)


def _exact(member: Conditioned, process: FittedProcess, measure: Measure) -> FloatArray | None:
    """Return the first-order parts (1, d) of the mean by one-dimensional integrals, where kernel and measure allow."""
    frame = process.frame
    if frame.whitening is not None or frame.warp is not None or (frame.original and frame.original.latent is not None):
        return None
    effects = ExactEffects.of(member, measure)
    if effects is None:
        return None
    parts = []
    for i in range(measure.dim):
        places, weights = places_along(measure, i)
        effect = effects.along(i, places)
        parts.append(weights @ (effect - weights @ effect) ** 2)
    return np.array([parts])


@one_blas_thread
def main_effects(sampled: Sampled, measure: Measure, names: tuple[str, ...]) -> MainEffects:
    """Return the main effects on places along each input."""
    nodes, weights = (np.concatenate(part) for part in line_nodes(measure, _DRAWN_LINES, _DRAWN_BLOCKS))
    places, effects = [], []
    for i in range(measure.dim):
        lines = lines_along(measure, i, nodes)
        u = sampled.process.natural(lines.points)
        draws = []
        for bundle in sampled.paths.bundles:
            mean, parts, _ = bundle(u)
            values = lines.split(mean[:, None] + sampled.widening * bundle.member.widening * parts)
            draws.append(np.einsum("n,ngd->dg", weights / _DRAWN_BLOCKS, values))
        stacked = np.concatenate(draws)
        order = np.argsort(lines.places)
        places.append(lines.places[order])
        effects.append(Estimate.from_draws(stacked[:, order], stacked.mean(axis=0)[order]))
    return MainEffects(places, effects, names)


def _mean(bundle: Bundle, process: FittedProcess, x: FloatArray) -> FloatArray:
    """Return the mean of the process at points x (q, d), as one function (q, 1)."""
    return bundle.member.mean(process.natural(x))[:, None]


def _functions(bundle: Bundle, process: FittedProcess, x: FloatArray) -> FloatArray:
    """Return the functions f = m + g that were drawn, and then the g alone, (q, 2 D)."""
    mean, draws, _ = bundle(process.natural(x))
    return np.concatenate([mean[:, None] + draws, draws], axis=1)


def _refined(measure: Measure, many: _Blocks, few: _Blocks, f: Callable[[FloatArray], FloatArray]) -> _Parts:
    """Return the parts of the variance of one function, on many lines with few places and few lines with many.

    The difference that `FINE_PLACES` in place of `PLACES` make on the few lines is added. What the finer places still
    leave is less than a ninth of it where a kink makes the error, which falls with the square of the spacing or faster.
    """
    parts = _of_lines(measure, many, f)
    coarse, fine = (_of_lines(measure, few, f, count) for count in (PLACES, FINE_PLACES))
    first, total = fine.first - coarse.first, fine.total - coarse.total
    part = (PLACES / FINE_PLACES) ** 2
    return replace(
        parts,
        first=np.maximum(parts.first + first, 0.0),
        total=np.maximum(parts.total + total, 0.0),
        first_error=np.hypot(parts.first_error, part * first[0]),
        total_error=np.hypot(parts.total_error, part * total[0]),
    )


def _of_lines(measure: Measure, blocks: _Blocks, f: Callable[[FloatArray], FloatArray], count: int = PLACES) -> _Parts:
    """Return the parts of the variance of functions f: points (q, d) -> (q, D), on lines with `count` places each.

    The nodes are blocks, independent of each other. The main effect on a block differs from the true one by what
    interactions leave in the mean over the block; the product of those on two blocks has no such part in expectation.
    """
    rows: dict[str, list[FloatArray]] = {"first": [], "total": [], "whole": [], "first_error": [], "total_error": []}
    size, weights = len(blocks[0]), np.concatenate(blocks[1])
    for i in range(measure.dim):
        lines: Lines = lines_along(measure, i, np.concatenate(blocks[0]), count)
        values = lines.split(f(lines.points))
        along = np.einsum("g,ngd->nd", lines.weights, values)
        within = np.einsum("g,ngd->nd", lines.weights, (values - along[:, None, :]) ** 2)
        effects = np.array([np.tensordot(w, v, axes=1) for w, v in zip(blocks[1], np.split(values, size), strict=True)])
        effects = effects - np.einsum("g,bgd->bd", lines.weights, effects)[:, None]
        totals = np.array([w @ part for w, part in zip(blocks[1], np.split(within, size), strict=True)])
        # The product of each effect with the mean of the others; its mean over the blocks is that of all pairs.
        others = (effects.sum(axis=0) - effects) / (size - 1)
        firsts = np.einsum("g,bgd->bd", lines.weights, effects * others)
        rows["first"].append(np.maximum(firsts.mean(axis=0), 0.0))
        rows["total"].append(np.maximum(totals.mean(axis=0), 0.0))
        rows["whole"].append(rows["total"][-1] + variance(along, weights / size))
        # Leaving out one block changes the mean over pairs by twice what it changes the effect by.
        rows["first_error"].append(2.0 * np.std(firsts[:, 0], ddof=1) / np.sqrt(size))
        rows["total_error"].append(np.std(totals[:, 0], ddof=1) / np.sqrt(size))
    return _Parts(
        np.mean(rows["whole"], axis=0),
        np.array(rows["first"]).T,
        np.array(rows["total"]).T,
        np.array(rows["first_error"]),
        np.array(rows["total_error"]),
    )


def _expected(member: Conditioned, process: FittedProcess, measure: Measure) -> _Parts:
    """Return the expected parts of the variance of g, the process less its mean, relative to the amplitude.

    With x and y independent nodes, and x_i y the point that has coordinate i of x and the others of y,

    V: E c(x, x) - E c(x, y),  first: E c(x, x_i y) - E c(x, y),  total: E c(x, x) - E c(x, y_i x).
    """
    d = measure.dim
    both = normal_points(sobol_points(2 * d, _PAIRS, np.random.default_rng(8)))
    x, y = both[:, :d], both[:, d:]
    u = process.natural(measure.from_normal(x))
    at = member.predict(u)

    def covariance(other: FloatArray) -> float:
        v = process.natural(measure.from_normal(other))
        there = member.predict(v)
        prior = np.diagonal(member.kernel(u, v))
        gain = np.einsum("nq,nq->q", at.known, there.known) - np.einsum("pq,pq->q", at.unknown, there.unknown)
        return float(np.mean(prior - gain))

    own = float(np.mean(at.variance(member.kernel.diag(u))))
    apart = covariance(y)
    first, total = [], []
    for i in range(d):
        shared, changed = y.copy(), x.copy()
        shared[:, i], changed[:, i] = x[:, i], y[:, i]
        first.append(max(covariance(shared) - apart, 0.0))
        total.append(max(own - covariance(changed), 0.0))
    none = np.zeros(d)
    return _Parts(np.array([max(own - apart, 0.0)]), np.array([first]), np.array([total]), none, none)


def _ratio(parts: FloatArray, whole: FloatArray) -> FloatArray:
    """Return parts (D, d) over the whole (D,); zero where f does not vary."""
    safe = np.where(whole > 0.0, whole, 1.0)
    return np.where(whole[:, None] > 0.0, np.clip(parts / safe[:, None], 0.0, 1.0), 0.0)
