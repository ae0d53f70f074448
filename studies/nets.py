"""Nets: whether the truth lies in the interval, whether tolerances are kept, and what they cost.

Two tables. *Coverage*: how often the 95 % interval of ``integrate(f, measure, n=n, method="net")`` holds the truth.
*Stops*: how often the error exceeds `tol` when it was said to be reached, and the evaluations it took compared with
the usual way, sixteen independent randomisations of a Sobol net and the interval of Student's t from their spread
(`scipy.integrate.qmc_quad`), doubled until half its width is within `tol`; only its last round is counted.

The constants of `fwbq.transforms` were set on problems of the same families drawn with other seeds.

Run it with ``python -m studies.nets --out DIR``.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
import zlib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.integrate import qmc_quad
from scipy.special import stdtrit

from fwbq import _files
from fwbq.designs.qmc import scrambled_engine
from fwbq.integration import integrate
from studies import problems
from studies.problems import Family, Problem, large

if TYPE_CHECKING:
    import pandas as pd

_SEED = 20261116
SIZES = (256, 4096)
TOLERANCES = (1e-2, 1e-3, 1e-4)  # in standard deviations of f
MOST = 2**15
RANDOMISATIONS = 16
REPLICATES, QUICK_REPLICATES = (100, 16), (6, 2)

FAMILIES: dict[str, tuple[Family, tuple[int, ...]]] = {
    **{name: (family, tuple(range(3, 11))) for name, family in problems.FAMILIES.items() if name.startswith("genz")},
    **{name: (family, family.dims) for name, family in large.FAMILIES.items()},
}


def draw(name: str, replicate: int, kind: int) -> tuple[Problem, np.random.Generator]:
    """Return a problem of a family, and the generator that drew it; `kind` tells sets of problems apart."""
    rng = np.random.default_rng([_SEED, kind, zlib.crc32(name.encode()), replicate])
    family, dims = FAMILIES[name]
    return family.draw(dims[replicate % len(dims)], rng), rng


def coverage_row(name: str, replicate: int, n: int) -> dict[str, Any]:
    """Return truth, estimate and bounds for one problem."""
    problem, rng = draw(name, replicate, n)
    result = integrate(problem.f, problem.measure, n=n, method="net", rng=rng, progress=False)
    low, high = result.interval(0.95)
    slack = 16.0 * np.finfo(float).eps * max(1.0, abs(problem.value))
    return {
        "family": name, "d": problem.dim, "n": n, "truth": problem.value, "mean": result.mean,
        "error": abs(result.mean - problem.value), "half_width": 0.5 * (high - low),
        "covered": low - slack <= problem.value <= high + slack,
    }  # fmt: skip


def stop_rows(name: str, replicate: int) -> list[dict[str, Any]]:
    """Return one row for each tolerance that both ways reached with at most `MOST` evaluations."""
    problem, rng = draw(name, replicate, 0)
    deviation = float(np.std(problem.f(problem.measure.sample(4096, rng=rng))))
    seed, rows = int(rng.integers(2**31)), []
    for relative in TOLERANCES if deviation > 0.0 else ():
        tol = relative * deviation
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a tolerance that is not reached is left out
            net = integrate(problem.f, problem.measure, n=MOST, tol=tol, method="net", rng=seed, progress=False)
        if not net.status.startswith(f"tolerance {tol:g} reached"):
            continue
        wrong = abs(net.mean - problem.value) > tol
        usual = randomisations(problem, tol, rng)
        row = {"family": name, "d": problem.dim, "tol": relative, "net": net.n_evaluations, "wrong": wrong}
        rows.append(row | {"usual": usual[0], "usual_wrong": usual[1]})
    return rows


def randomisations(problem: Problem, tol: float, rng: np.random.Generator) -> tuple[float, float]:
    """Return the evaluations of sixteen randomisations until `tol`, and whether the error is larger; NaN if never."""
    dim = problem.measure.uniform_dim
    t = float(stdtrit(RANDOMISATIONS - 1, 0.975))
    size = 16
    while RANDOMISATIONS * size <= MOST:
        found = qmc_quad(
            lambda u: problem.f(problem.measure.from_uniform(u.reshape(dim, -1).T)), np.zeros(dim), np.ones(dim),
            n_estimates=RANDOMISATIONS, n_points=size, qrng=scrambled_engine("sobol", dim, rng.spawn(1)[0]),
        )  # fmt: skip
        if t * found.standard_error <= tol:
            return RANDOMISATIONS * size, float(abs(found.integral - problem.value) > tol)
        size *= 2
    return float("nan"), float("nan")


def coverage_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the coverage per family and n, and the median of half the width over the error."""
    frame = frame.assign(ratio=frame.half_width / frame.error.where(frame.error > 0.0))
    cells = frame.groupby(["family", "n"], sort=False)
    table = cells.agg(problems=("covered", "size"), covered=("covered", "mean"), width=("ratio", "median"))
    return table.unstack("n")  # type: ignore[return-value]


def stop_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return, per family and in all, the stops, the wrong ones, and the ratio of evaluations to the usual way."""
    import pandas as pd

    # Where both stop at the first look nothing is compared.
    moved = frame[(frame.net > frame.net.min()) | (frame.usual > frame.usual.min())]
    rows = {}
    for name in [*dict.fromkeys(frame.family), "all"]:
        of, ratios = (t if name == "all" else t[t.family == name] for t in (frame, moved))
        # The ratio is known where the usual way stopped too.
        known = (ratios.net / ratios.usual).dropna()
        rows[name] = {
            "stops": len(of), "wrong": int(of.wrong.sum()), "usual wrong": int(of.usual_wrong.sum()),
            "of usual stops": int(of.usual.notna().sum()),
            "evaluations": known.median() if len(known) else np.nan,
            "mean": np.exp(np.log(known).mean()) if len(known) else np.nan,
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index")


def run(replicates: tuple[int, int] = REPLICATES, *, jobs: int = 1) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Run the study; `replicates` are the problems per family for coverage (each n) and for stops.

    Returns
    -------
    coverage, stops : DataFrame
        One row per problem and n, or per problem and tolerance.

    Examples
    --------
    >>> coverage, stops = run((2, 1))
    >>> len(coverage) == 2 * len(SIZES) * len(FAMILIES), bool((stops.net <= MOST).all())
    (True, True)
    """
    import pandas as pd

    first = [(name, i, n) for n in SIZES for name in FAMILIES for i in range(replicates[0])]
    second = [(name, i) for name in FAMILIES for i in range(replicates[1])]
    if jobs == 1:
        rows = [coverage_row(*task) for task in first]
        stops = [row for task in second for row in stop_rows(*task)]
    else:
        with ProcessPoolExecutor(jobs) as pool:
            rows = list(pool.map(partial(_spread, coverage_row), first, chunksize=8))
            stops = [row for part in pool.map(partial(_spread, stop_rows), second, chunksize=4) for row in part]
    return pd.DataFrame(rows), pd.DataFrame(stops)


def _spread(function: Any, task: tuple[Any, ...]) -> Any:
    return function(*task)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study and write ``nets.csv``, ``stops.csv`` and both tables."""
    parser = argparse.ArgumentParser(prog="python -m studies.nets", description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, help="directory for the tables")
    parser.add_argument("--quick", action="store_true", help="a few problems only: about a minute")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 8), help="processes")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    coverage, stops = run(QUICK_REPLICATES if options.quick else REPLICATES, jobs=options.jobs)
    for name, frame in (("nets", coverage), ("stops", stops)):
        _files.write(options.out / f"{name}.csv", frame.to_csv(index=False))
    tables = coverage_table(coverage), stop_table(stops)
    text = "\n\n".join(table.to_string(float_format=lambda v: f"{v:.3g}") for table in tables)
    _files.write(options.out / "tables.txt", text + "\n")
    sys.stdout.write(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
