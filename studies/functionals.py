"""How often intervals of functionals beyond the mean hold: variance, probabilities, quantiles, Sobol indices.

Run as ``python -m studies.functionals``. Every row is a functional at one number of evaluations, over all problems and
seeds: how many 95 % intervals held, their mean interval score (Gneiting and Raftery 2007) relative to the spread of f,
and their median half-width over the 95 % quantile of the errors.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import qmc

import fwbq

FloatArray = NDArray[np.float64]

#: Points of the references: 2^20 scrambled Sobol points for distributions, lines of 32 places through 2^13 points for
#: Sobol indices without a closed form.
_REFERENCE, _LINES, _PLACES = 20, 13, 32


@dataclass(frozen=True, eq=False)
class Simulator:
    """A function of the uncertainty-quantification literature, its inputs, and its Sobol indices where known."""

    name: str
    f: Callable[[FloatArray], FloatArray]
    measure: fwbq.Measure
    first: tuple[float, ...] | None = None
    total: tuple[float, ...] | None = None

    @cached_property
    def values(self) -> FloatArray:
        """Values of f at the points of a large net, sorted."""
        u = qmc.Sobol(self.measure.dim, seed=np.random.default_rng(12345)).random_base2(_REFERENCE)
        return np.sort(self.f(self.measure.from_uniform(u)))

    def quantile(self, q: float) -> float:
        """Return the q-quantile of f."""
        return float(np.quantile(self.values, q))

    def probability(self, above: float) -> float:
        """Return the probability of values above a threshold."""
        return float(np.mean(self.values > above))

    @cached_property
    def indices(self) -> tuple[FloatArray, FloatArray]:
        """First-order and total Sobol indices, each (d,)."""
        if self.first is not None and self.total is not None:
            return np.array(self.first), np.array(self.total)
        d = self.measure.dim
        u = qmc.Sobol(d, seed=np.random.default_rng(54321)).random_base2(_LINES)
        t, w = np.polynomial.legendre.leggauss(_PLACES)
        variance = float(np.var(self.values))
        first, total = [], []
        for i in range(d):
            lines = np.repeat(u, _PLACES, axis=0)
            lines[:, i] = np.tile(0.5 + 0.5 * t, len(u))
            f = self.f(self.measure.from_uniform(lines)).reshape(-1, _PLACES)
            effect = f.mean(axis=0)
            first.append(0.5 * w @ (effect - 0.5 * w @ effect) ** 2 / variance)
            total.append(np.mean((f - (f @ w / 2.0)[:, None]) ** 2 @ w / 2.0) / variance)
        return np.array(first), np.array(total)


def ishigami(x: FloatArray) -> FloatArray:
    """Ishigami and Homma 1990, a = 7, b = 0.1."""
    return np.asarray(np.sin(x[:, 0]) + 7.0 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0]))


def friedman(x: FloatArray) -> FloatArray:
    """Friedman, Grosse and Stuetzle 1983."""
    return 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]


def borehole(x: FloatArray) -> FloatArray:
    """Flow of water through a borehole, in cubic metres a year (Harper and Gupta 1983)."""
    radius, reach, upper_t, upper_h, lower_t, lower_h, length, k = x.T
    log = np.log(reach / radius)
    resistance = log * (1 + 2 * length * upper_t / (log * radius**2 * k) + upper_t / lower_t)
    return np.asarray(2 * np.pi * upper_t * (upper_h - lower_h) / resistance)


def wing_weight(x: FloatArray) -> FloatArray:
    """Weight of a light aircraft's wing, in pounds (Forrester, Sobester and Keane 2008)."""
    area, fuel, aspect, sweep, pressure, taper, thickness, load, gross, paint = x.T
    c = np.cos(np.radians(sweep))
    shape = (aspect / c**2) ** 0.6 * taper**0.04 * (100 * thickness / c) ** -0.3
    weight = 0.036 * area**0.758 * fuel**0.0035 * pressure**0.006 * (load * gross) ** 0.49 * shape
    return np.asarray(weight + area * paint)


def simulators() -> list[Simulator]:
    """Return the problems."""
    unit = fwbq.Uniform
    g = np.array([0.5, 1.0, 3.0, 9.0])
    parts = 1.0 / (3.0 * (1.0 + g) ** 2)
    whole = np.prod(1.0 + parts) - 1.0
    slopes = np.array([3.0, 2.0, 1.0])
    shares = tuple(slopes**2 / np.sum(slopes**2))
    curvature = np.array([1.0, 0.5, 0.3, 0.1])
    spread = 2.0 * np.sum(curvature**2) + 0.25
    log_sd = np.array([0.5, 0.3, 0.2])
    factors = np.exp(log_sd**2) - 1.0
    product = np.prod(1.0 + factors) - 1.0
    return [
        Simulator("linear", lambda x: x @ slopes, fwbq.Gaussian(np.zeros(3), np.eye(3)), shares, shares),
        Simulator(
            "quadratic", lambda x: x**2 @ curvature + 0.5 * x[:, 0] * x[:, 1], fwbq.Gaussian(np.zeros(4), np.eye(4)),
            tuple(2.0 * curvature**2 / spread),
            tuple((2.0 * curvature**2 + [0.25, 0.25, 0.0, 0.0]) / spread),
        ),
        Simulator(
            "lognormal", lambda x: np.exp(x @ log_sd), fwbq.Gaussian(np.zeros(3), np.eye(3)),
            tuple(factors / product),
            tuple(factors * np.prod(1.0 + factors) / (1.0 + factors) / product),
        ),
        Simulator("Ishigami", ishigami, unit([-np.pi] * 3, [np.pi] * 3), (0.313905, 0.442411, 0.0),
                  (0.557589, 0.442411, 0.243684)),
        Simulator(
            "Sobol g", lambda x: np.prod((np.abs(4.0 * x - 2.0) + g) / (1.0 + g), axis=1), unit([0.0] * 4, [1.0] * 4),
            tuple(parts / whole), tuple(parts * np.prod(1.0 + parts) / (1.0 + parts) / whole),
        ),
        Simulator("Friedman", friedman, unit([0.0] * 5, [1.0] * 5)),
        Simulator("borehole", borehole, unit([0.05, 100, 63070, 990, 63.1, 700, 1120, 9855],
                                             [0.15, 50000, 115600, 1110, 116, 820, 1680, 12045])),
        Simulator("wing weight", wing_weight, unit([150, 220, 6, -10, 16, 0.5, 0.08, 2.5, 1700, 0.025],
                                                   [200, 300, 10, 10, 45, 1.0, 0.18, 6.0, 2500, 0.08])),
    ]  # fmt: skip


def answers(problem: Simulator, n: int, seed: int) -> Iterator[tuple[str, float, Any, float]]:
    """Yield (functional, truth, estimate, unit) of one run; errors and widths are measured in the unit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        result = fwbq.integrate(problem.f, problem.measure, n=n, rng=seed)
    spread = float(np.std(problem.values))
    yield "mean", float(np.mean(problem.values)), result, spread
    yield "variance", spread**2, result.variance(), spread**2
    yield "std", spread, result.std(), spread
    for q in (0.1, 0.5, 0.95, 0.999):
        yield f"quantile {q:g}", problem.quantile(q), result.quantile(q), spread
    for q in (0.5, 0.9, 0.999):
        level = problem.quantile(q)
        yield f"probability {1.0 - q:.1g}", problem.probability(level), result.probability(above=level), 1.0 - q
    indices = result.sobol()
    for kind, truth in zip(("first", "total"), problem.indices, strict=True):
        found = getattr(indices, kind)
        low, high = found.interval(0.95)
        for i, index in enumerate(truth):
            yield f"Sobol {kind}", float(index), (found.mean[i], low[i], high[i]), 1.0


def run(sizes: list[int], seeds: int, problems: list[Simulator]) -> pd.DataFrame:
    """Return a row for each interval."""
    rows = []
    for seed in range(seeds):
        for problem in problems:
            for n in sizes:
                for functional, truth, found, unit in answers(problem, n, seed):
                    mean, low, high = found if isinstance(found, tuple) else (found.mean, *found.interval(0.95))
                    rows.append((problem.name, n, seed, functional, truth, mean, low, high, unit))
    columns = ["problem", "n", "seed", "functional", "truth", "mean", "low", "high", "unit"]
    return pd.DataFrame(rows, columns=columns)


def table(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return coverage, score and sharpness for each group of rows."""
    f = frame.copy()
    # References are known to about 1e-4 of the spread of f.
    slack = 1e-4 * f.unit
    f["held"] = (f.low - slack <= f.truth) & (f.truth <= f.high + slack)
    f["half"] = 0.5 * (f.high - f.low) / f.unit
    f["error"] = np.abs(f["mean"] - f.truth) / f.unit
    missed = np.maximum(f.low - f.truth, 0.0) + np.maximum(f.truth - f.high, 0.0)
    f["score"] = 2.0 * f.half + 40.0 * missed / f.unit
    grouped = f.groupby(by, sort=False)
    columns = {"intervals": ("held", "size"), "held": ("held", "mean"), "score": ("score", "mean")}
    out = grouped.agg(**columns, half=("half", "median"))
    out["held"] *= 100.0
    out["sharpness"] = out["half"] / grouped["error"].quantile(0.95)
    return out


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 100, 200])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--problems", nargs="+", help="names of problems; all by default")
    parser.add_argument("--output", help="a CSV file for all intervals")
    options = parser.parse_args()
    chosen = [p for p in simulators() if options.problems is None or p.name in options.problems]
    frame = run(options.sizes, options.seeds, chosen)
    if options.output:
        frame.to_csv(options.output, index=False)
    with pd.option_context("display.width", 160, "display.max_rows", None, "display.float_format", "{:.3g}".format):
        print(table(frame, ["functional", "n"]))  # noqa: T201
        print(table(frame, ["functional", "problem"]))  # noqa: T201


if __name__ == "__main__":
    main()
