"""Integrals: their posterior, the process it comes from, and how both narrow with n."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _validate
from .background import extent, name, pair
from .style import BLACK, BLUE, SKY, VERMILLION, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..integration import IntegrationResult

#: Functions drawn from the process beside its band: enough to see their shape, few enough to see the band.
_DRAWN = 5
#: How far a slice reaches from the expectation, in standard deviations: beyond lies 0.3 % of a Gaussian.
_REACH = 3.0


@styled
def integral(found: Any, ax: Axes | None = None, *, truth: ArrayLike | None = None) -> Axes:
    """Draw the posterior of an integral: its density, with the central 95 % in darker colour.

    Several integrals are drawn as points with the 95 % interval of each.

    Parameters
    ----------
    found : IntegrationResult or a posterior
        What :func:`fwbq.integrate` or :func:`fwbq.condition` returns.
    ax : Axes, optional
        Where to draw; a new figure by default.
    truth : float or (m,) array_like, optional
        What is known of the integrals, drawn as a line or as crosses.
    """
    posterior = getattr(found, "posterior", found)
    (ax,) = panels(ax, 1, (4.0, 2.8))
    mean = np.asarray(posterior.mean)
    low, high = (np.asarray(bound) for bound in posterior.interval(0.95))
    if mean.ndim:
        number = np.arange(1, len(mean) + 1)
        ax.errorbar(number, mean, yerr=[mean - low, high - mean], fmt="o", color=BLUE, markersize=3, elinewidth=1)
        if truth is not None:
            ax.plot(number, np.broadcast_to(truth, mean.shape), "x", color=BLACK, label="truth")
            ax.legend()
        ax.set(xlabel="integral", ylabel="estimate and 95 % interval")
        return ax
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError("this posterior has an infinite width and cannot be drawn: evaluate at more points")
    if high > low:
        ends = float(posterior.quantile(0.001)), float(posterior.quantile(0.999))
        # Heavy tails reach far: the picture shows what is within one more width of the interval.
        width = float(high - low)
        s = np.linspace(max(ends[0], float(low) - width), min(ends[1], float(high) + width), 802)
        mass = np.diff(np.asarray([float(posterior.cdf(x)) for x in s])) / np.diff(s)
        middle = 0.5 * (s[1:] + s[:-1])
        inside = (middle >= low) & (middle <= high)
        ax.fill_between(middle, mass, color=SKY, alpha=0.35, linewidth=0)
        ax.fill_between(middle, mass, where=list(inside), color=SKY, alpha=0.6, linewidth=0, label="95 %")
        ax.plot(middle, mass, color=BLUE)
    ax.axvline(float(mean), color=BLUE, linewidth=1, label="estimate")
    if truth is not None:
        ax.axvline(float(np.asarray(truth)), color=BLACK, linestyle="--", linewidth=1, label="truth")
    ax.set(xlabel="integral", ylabel="density", yticks=[])
    ax.set_ylim(bottom=0)
    ax.locator_params(axis="x", nbins=6)
    ax.legend()
    return ax


@styled
def process_slice(
    found: IntegrationResult,
    ax: Axes | None = None,
    *,
    coordinates: int | tuple[int, int] = 0,
    at: ArrayLike | None = None,
    draws: int = _DRAWN,
) -> Axes:
    """Draw a slice of the process that an integral was inferred from.

    Along one coordinate: the mean, a 95 % band and a few functions drawn from the process. Along two: the mean as
    colour, and half the width of the central 68 % interval as dashed lines. Values are shown when the slice has as many
    coordinates as the integrand.

    Parameters
    ----------
    found : IntegrationResult
        Of one integral, from a process (not from a net).
    ax : Axes, optional
        Where to draw; a new figure by default.
    coordinates : int or pair of int, optional
        Along which coordinates, counted from zero.
    at : (d,) array_like, optional
        The point that the slice goes through; by default the expectation of the measure.
    draws : int, optional
        Functions drawn, along one coordinate.
    """
    measure = found._some_model().measure
    d = measure.dim
    through = np.array(measure.expectation if at is None else _validate.vector(at, "at"), dtype=float)
    if through.shape != (d,):
        raise ValueError(f"`at` must be a point with {d} coordinates, got an array of shape {through.shape}")
    (ax,) = panels(ax, 1, (4.6, 3.2))
    if isinstance(coordinates, int | np.integer):
        i = _validate.count(coordinates, "coordinates", minimum=0)
        if i >= d:
            raise ValueError(f"`coordinates` must be a coordinate, 0 to {d - 1}, or two of them; got {coordinates}")
        grid = extent(measure, i, 161, found.points if d == 1 else None, _REACH)
        x = np.tile(through, (len(grid), 1))
        x[:, i] = grid
        values = found.process.at(x)
        low, high = values.interval(0.95)
        ax.fill_between(grid, low, high, color=SKY, alpha=0.35, linewidth=0, label="95 %")
        for k, line in enumerate(found.process.sample(x, draws, rng=0)):
            ax.plot(grid, line, color=BLUE, alpha=0.5, linewidth=0.7, label="draws" if k == 0 else None)
        ax.plot(grid, values.mean, color=BLUE, label="mean")
        if d == 1:
            ax.plot(found.points[:, 0], found.values, "o", color=VERMILLION, markersize=4, label="values", zorder=3)
        # Far from all values the band may be wide without bound; what matters is where the measure has its bulk.
        bulk = slice(len(grid) // 4, -(len(grid) // 4))
        seen = np.concatenate([np.ravel(found.values) if d == 1 else values.mean, values.mean])
        room = 0.75 * max(float(np.ptp(seen)), 0.5 * float(np.max((high - low)[bulk])))
        if room > 0.0:
            bottom = max(float(seen.min()) - room, float(low.min()) - 0.1 * room)
            ax.set_ylim(bottom, min(float(seen.max()) + room, float(high.max()) + 0.1 * room))
        ax.set(xlabel=name(i, measure), ylabel="$f$", xlim=(grid[0], grid[-1]))
        ax.legend(ncols=2)
        return ax
    i, j = pair(coordinates, d)
    first, second = (extent(measure, c, 41, found.points if d == 2 else None, _REACH) for c in (i, j))
    u, v = np.meshgrid(first, second)
    x = np.tile(through, (u.size, 1))
    x[:, i], x[:, j] = u.ravel(), v.ravel()
    values = found.process.at(x)
    drawn = ax.contourf(first, second, np.reshape(values.mean, u.shape), levels=12, cmap="viridis")
    ax.figure.colorbar(drawn, ax=ax, label="mean of $f$")
    lines = ax.contour(
        first, second, np.reshape(values.scale, u.shape), levels=4, colors="white", linestyles="--", linewidths=0.8
    )
    ax.clabel(lines, fontsize=7, fmt="%.2g")
    if d == 2:
        ax.plot(found.points[:, i], found.points[:, j], "o", color=VERMILLION, markersize=3)
    ax.set(xlabel=name(i, measure), ylabel=name(j, measure), title="dashed: half the 68 % interval")
    ax.grid(False)
    return ax


@styled
def convergence(found: IntegrationResult, ax: Axes | None = None, *, truth: float | None = None) -> Axes:
    """Draw what the first n evaluations alone would have given, against n: the estimate with its 95 % interval.

    Parameters
    ----------
    found : IntegrationResult
        Of one integral, from a process (not from a net).
    ax : Axes, optional
        Where to draw; a new figure by default.
    truth : float, optional
        The known value, drawn as a line.
    """
    frame = found.convergence()
    (ax,) = panels(ax, 1, (4.6, 3.0))
    middle = frame["mean"].to_numpy()
    error = np.stack([middle - frame["lower"].to_numpy(), frame["upper"].to_numpy() - middle])
    ax.errorbar(frame["n"], middle, yerr=error, fmt="o-", color=BLUE, markersize=4, elinewidth=1, capsize=2,
                label="estimate, 95 %")  # fmt: skip
    if truth is not None:
        ax.axhline(truth, color=BLACK, linestyle="--", linewidth=1, label="truth")
    ax.set(xscale="log", xlabel="evaluations $n$", ylabel="integral")
    ax.set_xticks(frame["n"], [str(n) for n in frame["n"]])
    ax.minorticks_off()
    # The first few values say little and would squeeze the rest into a line.
    later = frame[frame["n"] >= min(8, int(frame["n"].max()))]
    low, high = float(later["lower"].min()), float(later["upper"].max())
    if np.isfinite(low) and np.isfinite(high) and high > low:
        room = 0.25 * (high - low)
        ax.set_ylim(low - room, high + room)
    ax.legend()
    return ax
