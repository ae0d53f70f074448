"""How far off is a log evidence, and how often does its interval hold the truth? The study behind its page in docs.

Every problem is drawn at random from a family of likelihoods with known evidence, given n evaluations, and compared
with its truth. Run it with ``python -m studies.evidence --out DIR``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fwbq import _files
from fwbq.inference import Evidence, evidence
from studies.problems.likelihoods import STUDY, Likelihood, Maker
from studies.problems.lotka_volterra import lotka_volterra

if TYPE_CHECKING:
    import pandas as pd

SIZES = (50, 100, 200)
#: Lotka-Volterra has eight parameters and false basins: 400 evaluations, twice what the others have at most.
OWN_SIZES: dict[str, tuple[int, ...]] = {"Lotka-Volterra": (400,)}
REPLICATES, QUICK_REPLICATES = 20, 2

FAMILIES: dict[str, Maker] = {**STUDY, "Lotka-Volterra": lambda rng: lotka_volterra()}
"""The families of the study."""


def seed(family: str, replicate: int) -> np.random.Generator:
    """Return the generator of a family's problem: the same for every n."""
    return np.random.default_rng([replicate, *family.encode()])


def row(
    family: str, n: int, replicate: int, problem: Likelihood, found: Evidence | None, seconds: float
) -> dict[str, object]:
    """Return the row of one run: what was found beside the truth; None, of a run that raised an error, says nothing."""
    truth = problem.log_evidence
    whose = {"family": family, "d": problem.dim, "n": n, "replicate": replicate, "truth": truth}
    if found is None:
        nothing = {
            "log_evidence": np.nan,
            "sd": np.inf,
            "error": np.inf,
            "covered": False,
            "success": False,
            "modes": 0,
        }
        return {**whose, **nothing, "seconds": seconds}
    low, high = found.interval(0.95)
    # What the truth itself leaves open is not a miss.
    slack = problem.accuracy
    return {
        **whose, "log_evidence": found.log_evidence, "sd": found.sd, "error": abs(found.log_evidence - truth),
        "covered": low - slack <= truth <= high + slack, "success": found.success, "modes": len(found.modes),
        "seconds": seconds,
    }  # fmt: skip


def one(family: str, n: int, replicate: int) -> dict[str, object]:
    """Return the row of one random problem; the problem is the same for every n."""
    problem = FAMILIES[family](seed(family, replicate))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # runs that fail are what is counted here
        begin = time.process_time()
        found = evidence(problem.log_likelihood, problem.prior, n=n, rng=1000 * n + replicate, progress=False)
        seconds = time.process_time() - begin
    return row(family, n, replicate, problem, found, seconds)


def run(
    families: Iterable[str] = tuple(FAMILIES), sizes: Sequence[int] = SIZES, replicates: int = REPLICATES, jobs: int = 1
) -> pd.DataFrame:
    """Run the study.

    Parameters
    ----------
    families : iterable of str
        Names in `FAMILIES`.
    sizes : sequence of int
        Evaluations; a family in `OWN_SIZES` has its own.
    replicates : int
        Problems per family.
    jobs : int
        Processes.

    Returns
    -------
    DataFrame
        One row per problem and n: truth, log evidence, sd, error, whether the 95 % interval holds the truth, seconds.

    Examples
    --------
    >>> frame = run(["gamma posterior"], (30,), 2)
    >>> len(frame), bool((frame.error < 0.01).all())
    (2, True)
    """
    import pandas as pd

    tasks = [
        (family, n, replicate)
        for replicate in range(replicates)
        for family in families
        for n in OWN_SIZES.get(family, tuple(sizes))
    ]
    if jobs == 1:
        rows = [one(*task) for task in tasks]
    else:
        with ProcessPoolExecutor(jobs) as pool:
            rows = list(pool.map(one, *zip(*tasks, strict=True)))
    return pd.DataFrame(rows)


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return medians, coverage, the worst ratio of error to sd, and CPU seconds for each family and n.

    The column `worst` is the largest error in standard deviations among runs that state less than one: the measure of
    a silent failure. A standard deviation below 1e-6 counts as 1e-6, the accuracy of the truths.
    """
    rows = frame.assign(ratio=np.where(frame.sd < 1.0, frame.error / np.maximum(frame.sd, 1e-6), 0.0))
    cells = rows.groupby(["family", "d", "n"], sort=False)
    table = cells.agg(
        problems=("error", "size"), error=("error", "median"), sd=("sd", "median"), covered=("covered", "mean"),
        worst=("ratio", "max"), seconds=("seconds", "mean"),
    )  # fmt: skip
    return table.reset_index()


def markdown(table: pd.DataFrame) -> str:
    """Return the summary as a table in Markdown."""
    lines = ["| family | d | n | problems | median error | median sd | in 95 % interval | worst error / sd | CPU s |"]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    for row in table.to_dict("records"):
        cells = [f"{row['error']:.1e}", f"{row['sd']:.1e}", f"{100 * row['covered']:.0f} %", f"{row['worst']:.1f}"]
        counts = [str(row[name]) for name in ("family", "d", "n", "problems")]
        lines.append("| " + " | ".join([*counts, *cells, f"{row['seconds']:.1f}"]) + " |")
    return "\n".join(lines) + "\n"


def pooled(frame: pd.DataFrame) -> pd.DataFrame:
    """Return coverage of all problems and least of a family, and silent failures (error > 5 sd, sd < 1), by n."""
    rows = frame.assign(silent=(frame.sd < 1.0) & (frame.error > 5.0 * np.maximum(frame.sd, 1e-6)))
    families = rows.groupby(["n", "family"]).covered.mean().groupby("n").min()
    table = rows.groupby("n").agg(
        problems=("covered", "size"), covered=("covered", "mean"), silent=("silent", "sum"), seconds=("seconds", "mean")
    )
    return table.assign(least=families).reset_index()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study and write ``evidence.csv``, ``summary.csv``, ``summary.md`` and ``evidence.png``."""
    parser = argparse.ArgumentParser(prog="python -m studies.evidence", description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, help="directory for the tables and the figure")
    parser.add_argument("--quick", action="store_true", help="two problems of each family: some minutes")
    parser.add_argument("--replicates", type=int, help=f"problems of each family; {REPLICATES} by default")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 2), help="processes")
    parser.add_argument("--families", nargs="*", default=list(FAMILIES), choices=list(FAMILIES))
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    replicates = options.replicates or (QUICK_REPLICATES if options.quick else REPLICATES)
    frame = run(options.families, SIZES[:2] if options.quick else SIZES, replicates, options.jobs)
    _files.write(options.out / "evidence.csv", frame.to_csv(index=False))
    table = summary(frame)
    _files.write(options.out / "summary.csv", table.to_csv(index=False))
    _files.write(options.out / "summary.md", markdown(table))
    from fwbq import plots
    from studies import figures

    plots.save(figures.evidence_study(frame), options.out / "evidence.png")
    sys.stdout.write(markdown(table) + "\n" + pooled(frame).to_string(index=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
