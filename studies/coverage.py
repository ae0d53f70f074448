"""How often do the intervals hold the truth, and how far off is the answer? The study behind docs/coverage.md.

Every problem is drawn at random from a family of `studies.problems`, integrated with n evaluations by each method, and
compared with its exact value; problems with singular ends and kinks are integrated to a tolerance too. Run it with
``python -m studies.coverage --out DIR``.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri, stdtrit

from fwbq import _files
from fwbq._gauss import tensor_grid
from fwbq.designs.qmc import scrambled_engine
from fwbq.embeddings import embed
from fwbq.integration import integrate
from fwbq.kernels import ExpQuad
from studies import problems
from studies.problems import Problem, edges

if TYPE_CHECKING:
    import pandas as pd

#: A family and the group it is pooled with.
GROUPS: dict[str, str] = {
    "genz-oscillatory": "smooth",
    "genz-product-peak": "smooth",
    "genz-corner-peak": "smooth",
    "genz-gaussian": "smooth",
    "gaussian-bumps": "smooth",
    "gaussian-wave": "smooth",
    "normal-evidence": "smooth",
    "matern12-uniform": "rough",
    "matern32-uniform": "rough",
    "matern52-uniform": "rough",
    "matern32-gaussian": "rough",
    "genz-continuous": "kink",
    "hinge": "kink",
    "genz-discontinuous": "step",
    "halfspace": "step",
    "edge-power": "edge",
    "edge-log": "edge",
    "kink-1": "kink",
    "kink-1.5": "kink",
    "tail-t": "tail",
    "tail-pareto": "tail",
    "tail-lognorm": "tail",
    "tail-gamma": "tail",
}
FAMILIES = problems.FAMILIES | edges.FAMILIES
DIMS = (1, 2, 3, 5)
#: Problems per family and n, shared evenly by its dimensions. One integral takes 0.2 to 1 s of processor time.
PROBLEMS = {20: 100, 100: 100}
QUICK_PROBLEMS = {20: 4}
#: Groups that are integrated to tolerances too, and problems per family and tolerance.
STOPPED = ("edge", "kink")
TOLERANCES = (1e-3, 1e-4)
STOPS = 50
LEVELS = (0.68, 0.95)
#: Independent scrambles of the Sobol rule; each has n / 5 points.
SCRAMBLES = 5

Interval = tuple[float, float]
Answer = tuple[float, float, dict[float, Interval]]


def bayesian(problem: Problem, n: int, seed: int) -> Answer:
    """Return mean, sd and intervals of `integrate` with nothing but n given."""
    result = integrate(problem.f, problem.measure, n=n, rng=seed, progress=False)
    return result.mean, result.sd, {level: result.interval(level) for level in LEVELS}


def fixed_expquad(problem: Problem, n: int, seed: int) -> Answer:
    """Return the same with one ExpQuad kernel of the measure's scale, amplitude marginalised.

    Nothing under heavy tails, where each kernel costs a double integral by quadrature.
    """
    if "tail" in problem.tags:
        return _nothing(float("nan"))
    kernel = ExpQuad(problem.measure.scale)
    embed(kernel, problem.measure)
    result = integrate(problem.f, problem.measure, n=n, kernel=kernel, amplitude="marginal", rng=seed, progress=False)
    return result.mean, result.sd, {level: result.interval(level) for level in LEVELS}


def monte_carlo(problem: Problem, n: int, seed: int) -> Answer:
    """Return the sample mean of n independent points with the interval of the central limit theorem."""
    f = problem.f(problem.measure.sample(n, rng=seed))
    return _central(f, n, gaussian=True)


def sobol(problem: Problem, n: int, seed: int) -> Answer:
    """Return the mean of five scrambled Sobol rules of n / 5 points with the Student-t interval of their spread."""
    size = n // SCRAMBLES
    means = []
    for generator in np.random.default_rng(seed).spawn(SCRAMBLES):
        engine = scrambled_engine("sobol", problem.measure.uniform_dim, generator)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # sizes that are no power of two
            means.append(problem.f(problem.measure.from_uniform(engine.random(size))).mean())
    return _central(np.array(means), SCRAMBLES, gaussian=False)


def sobol_once(problem: Problem, n: int, seed: int) -> Answer:
    """Return the mean over one scrambled Sobol rule of all n points; it has no interval."""
    engine = scrambled_engine("sobol", problem.measure.uniform_dim, np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        f = problem.f(problem.measure.from_uniform(engine.random(n)))
    return _nothing(float(f.mean()))


def _nothing(mean: float) -> Answer:
    """Return an answer without an interval."""
    return mean, float("nan"), dict.fromkeys(LEVELS, (float("nan"), float("nan")))


def _central(f: np.ndarray, n: int, *, gaussian: bool) -> Answer:
    mean, error = float(f.mean()), float(f.std(ddof=1)) / sqrt(n)
    intervals = {}
    for level in LEVELS:
        q = 0.5 + 0.5 * level
        half = error * float(ndtri(q) if gaussian else stdtrit(n - 1.0, q))
        intervals[level] = mean - half, mean + half
    return mean, error, intervals


METHODS: dict[str, Callable[[Problem, int, int], Answer]] = {
    "integrate": bayesian,
    "fixed ExpQuad": fixed_expquad,
    "Monte Carlo": monte_carlo,
    "Sobol, 5 scrambles": sobol,
    "Sobol": sobol_once,
}


def one(
    family: str, dim: int, n: int, replicate: int, methods: Sequence[str] = tuple(METHODS)
) -> list[dict[str, object]]:
    """Return one row per method for one random problem; the problem is the same for every n and method."""
    problem = _draw(family, dim, replicate)
    rows: list[dict[str, object]] = []
    for method in methods:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # poor fits are what is counted here
            mean, sd, intervals = METHODS[method](problem, n, replicate)
        row: dict[str, object] = {
            "family": family, "group": GROUPS.get(family, "other"), "d": dim, "n": n, "replicate": replicate,
            "method": method, "truth": problem.value, "mean": mean, "sd": sd, "error": abs(mean - problem.value),
        }  # fmt: skip
        # What a sum of this size may lose to rounding is not a miss.
        slack = 1e-13 * abs(problem.value)
        for level, (low, high) in intervals.items():
            name = f"{100 * level:.0f}"
            row[f"low{name}"], row[f"high{name}"] = low, high
            row[f"covered{name}"] = low - slack <= problem.value <= high + slack if low == low else float("nan")
            row[f"score{name}"] = interval_score(low, high, problem.value, level)
        rows.append(row)
    return rows


def interval_score(low: float, high: float, truth: float, level: float) -> float:
    """Return the width of an interval, plus what it misses the truth by, times 2 / (1 - level).

    Its expectation is least for the interval between the true quantiles (Gneiting and Raftery, Journal of the American
    Statistical Association 102, 2007): wide intervals and intervals that miss both cost.

    Examples
    --------
    >>> interval_score(0.0, 1.0, 0.5, 0.9), round(interval_score(0.0, 1.0, 1.5, 0.9), 6)
    (1.0, 11.0)
    """
    return high - low + 2.0 / (1.0 - level) * (max(low - truth, 0.0) + max(truth - high, 0.0))


def _draw(family: str, dim: int, replicate: int) -> Problem:
    return FAMILIES[family].draw(dim, np.random.default_rng([replicate, dim, *family.encode()]))


def one_stop(family: str, dim: int, tol: float, replicate: int) -> dict[str, object]:
    """Return a row for one random problem integrated to a tolerance."""
    problem = _draw(family, dim, replicate)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        result = integrate(problem.f, problem.measure, tol=tol, method="process", rng=replicate, progress=False)
    low, high = result.interval(0.95)
    return {
        "family": family, "group": GROUPS[family], "d": dim, "tol": tol, "replicate": replicate,
        "evaluations": result.n_evaluations, "reached": result.success, "error": abs(result.mean - problem.value),
        "covered95": bool(low <= problem.value <= high),
    }  # fmt: skip


def run_stops(
    families: Iterable[str] = tuple(GROUPS),
    tolerances: Sequence[float] = TOLERANCES,
    count: int = STOPS,
    *,
    jobs: int = 1,
) -> pd.DataFrame:
    """Integrate problems of the groups `STOPPED` to tolerances.

    Parameters
    ----------
    families : iterable of str
        Those of other groups are left out.
    tolerances : sequence of float
    count : int
        Problems per family and tolerance, shared evenly by its dimensions.
    jobs : int
        Processes.

    Returns
    -------
    DataFrame
        One row per problem and tolerance: evaluations, whether the tolerance was reached, error, coverage.

    Examples
    --------
    >>> frame = run_stops(["kink-1", "tail-t"], [1e-2], 2)
    >>> len(frame), set(frame.family), bool((frame.evaluations >= 20).all())
    (2, {'kink-1'}, True)
    """
    import pandas as pd

    tasks = [
        (family, dim, tol, replicate)
        for tol in tolerances
        for family in families
        if GROUPS.get(family) in STOPPED
        for dim, replicate in _shared(family, DIMS, count)
    ]
    return pd.DataFrame(_mapped(one_stop, tasks, jobs))


def _shared(family: str, dims: Sequence[int], count: int) -> list[tuple[int, int]]:
    """Return (dimension, replicate) of `count` problems, shared evenly by those dimensions that the family has."""
    own = [dim for dim in dims if dim in FAMILIES[family].dims]
    return [(own[j % len(own)], j // len(own)) for j in range(count)] if own else []


def _mapped(function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], jobs: int) -> list[Any]:
    if jobs == 1:
        return [function(*task) for task in tasks]
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(function, *zip(*tasks, strict=True), chunksize=4))


def run(
    families: Iterable[str] = tuple(GROUPS),
    dims: Iterable[int] = DIMS,
    replicates: dict[int, int] | None = None,
    *,
    jobs: int = 1,
    methods: Sequence[str] = tuple(METHODS),
) -> pd.DataFrame:
    """Run the study.

    Parameters
    ----------
    families, dims : iterables
        Which families of `studies.problems`, in which of their dimensions.
    replicates : dict, optional
        Number of problems per family for each n, shared evenly by its dimensions.
    jobs : int
        Processes.
    methods : sequence of str
        Names in `METHODS`.

    Returns
    -------
    DataFrame
        One row per problem, n and method: truth, mean, sd, error, bounds and whether they hold the truth.

    Examples
    --------
    >>> frame = run(["genz-oscillatory"], [1], {10: 2}, methods=["integrate", "Monte Carlo"])
    >>> len(frame), bool((frame.query("method == 'integrate'").error < 0.1).all())
    (4, True)
    """
    import pandas as pd

    wanted = PROBLEMS if replicates is None else replicates
    dims = tuple(dims)
    tasks = [
        (family, dim, n, replicate, tuple(methods))
        for n, count in sorted(wanted.items(), reverse=True)  # the long ones first, so that no process is left waiting
        for family in families
        for dim, replicate in _shared(family, dims, count)
    ]
    return pd.DataFrame([row for part in _mapped(one, tasks, jobs) for row in part])


def summary(frame: pd.DataFrame, by: Sequence[str] = ("family", "d", "n", "method")) -> pd.DataFrame:
    """Return coverage of both intervals, medians of error, sd and half-width, and the sharpness of intervals, per cell.

    Column ``sharpness`` is the median half-width of 95 % intervals over the 95 % quantile of the errors: one where
    intervals are as wide as they must be, if errors are alike. Column ``score`` is the mean `interval_score` of
    95 % intervals. Both compare problems of one kind: in cells of several families the largest errors decide them.
    """
    cells = frame.assign(half=0.5 * (frame.high95 - frame.low95)).groupby(list(by), sort=False)
    table = cells.agg(
        problems=("error", "size"), covered68=("covered68", "mean"), covered95=("covered95", "mean"),
        error=("error", "median"), sd=("sd", "median"), half=("half", "median"),
        largest=("error", lambda error: error.quantile(0.95)), score=("score95", "mean"),
    )  # fmt: skip
    table["sharpness"] = table.half / table.largest
    return table.drop(columns="largest").reset_index()


def gauss_hermite(n: int = 49, seeds: int = 5) -> pd.DataFrame:
    """Compare with the tensor Gauss-Hermite rule on sin and cos of x + y under N(m, I) in two dimensions.

    Returns
    -------
    DataFrame
        Columns function, m, gauss (error of the tensor rule), bayes (median error of `integrate`), ratio.
    """
    import pandas as pd

    from fwbq.measures import Gaussian

    side = round(sqrt(n))
    nodes, weights = np.polynomial.hermite_e.hermegauss(side)
    weights = weights / weights.sum()
    rows = []
    for name, function in (("sin", np.sin), ("cos", np.cos)):
        for centre in ((0.5, 0.5), (1.0, 0.5)):
            m = np.array(centre)
            truth = float(function(m.sum())) * np.exp(-1.0)
            grid = tensor_grid([nodes, nodes])
            gauss = float(np.outer(weights, weights).ravel() @ function((m + grid).sum(axis=1)))
            errors = [
                abs(integrate(_Ridge(function), Gaussian(m, np.eye(2)), n=n, rng=seed, progress=False).mean - truth)
                for seed in range(seeds)
            ]
            rows.append((name, centre, abs(gauss - truth), float(np.median(errors))))
    table = pd.DataFrame(rows, columns=["function", "m", "gauss", "bayes"])
    table["ratio"] = table.bayes / table.gauss
    return table


class _Ridge:
    """x -> function(x_1 + x_2)."""

    def __init__(self, function: Callable[[np.ndarray], np.ndarray]) -> None:
        self.function = function

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return self.function(x.sum(axis=1))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study; write ``coverage``, ``families``, ``pooled``, ``stops``, ``gauss`` (.csv) and ``coverage.png``."""
    parser = argparse.ArgumentParser(prog="python -m studies.coverage", description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, help="directory for the tables and the figure")
    parser.add_argument("--quick", action="store_true", help="a few problems only: about a minute")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 8), help="processes")
    parser.add_argument("--families", nargs="*", default=list(GROUPS), choices=list(GROUPS))
    parser.add_argument("--problems", type=int, help="problems per family and n, and half as many per tolerance")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    counts, stopped = (QUICK_PROBLEMS, 2) if options.quick else (PROBLEMS, STOPS)
    if options.problems is not None:
        counts, stopped = dict.fromkeys(counts, options.problems), max(1, options.problems // 2)
    frame = run(options.families, (1, 2) if options.quick else DIMS, counts, jobs=options.jobs)
    pooled = summary(frame, ("group", "n", "method"))
    tables = {"coverage": frame, "families": summary(frame, ("family", "n", "method")), "pooled": pooled}
    stops = run_stops(options.families, count=stopped, jobs=options.jobs)
    if len(stops):
        tables["stops"] = stops
    gauss = tables["gauss"] = gauss_hermite(seeds=1 if options.quick else 5)
    for name, table in tables.items():
        _files.write(options.out / f"{name}.csv", table.to_csv(index=False))
    from fwbq import plots
    from studies import figures

    plots.save(figures.coverage(frame), options.out / "coverage.png")
    families = tables["families"]
    shown = (pooled, families[families.method == "integrate"], gauss)
    text = "\n\n".join(t.to_string(index=False, float_format=lambda v: f"{v:.3g}") for t in shown)
    sys.stdout.write(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
