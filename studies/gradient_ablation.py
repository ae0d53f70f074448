"""What is each part of the way of gradients worth? The study behind the last table of docs/ablation.md.

Families of likelihoods with gradients and known evidence, once with the whole engine, and once with each of its parts
made neutral: a number of `fwbq.inference.tuning` at which the part does nothing. Same problems, same seeds. Run it with
``python -m studies.gradient_ablation --out DIR``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fwbq import EvidenceRun, _files
from fwbq.inference import Evidence
from fwbq.inference.tuning import TUNING
from studies import evidence
from studies.ablation import WHOLE, by_part, compared, part_table
from studies.problems.likelihoods import FAMILIES, Likelihood

if TYPE_CHECKING:
    import pandas as pd

SIZES, QUICK_SIZES = (100, 200), (100,)
REPLICATES, QUICK_REPLICATES = 2, 1
#: Families with gradients: nearly Gaussian, bent, skew, heavy, bounded, with several modes, with and without a prior.
GROUP = (
    "logistic, d=8", "poisson, d=6", "unknown noise, d=8", "student with 5 degrees, d=5", "standardised effects, d=5",
    "schools", "gaussian, d=10, 5 times narrower", "correlated 0.99999, d=4", "strong banana", "two bananas",
    "skew normal, d=3", "gumbel, d=4", "half-Cauchy, d=2", "two modes, d=5", "student joint, 3 degrees, d=2",
    "conjugate regression, d=4",
)  # fmt: skip
#: Part, where its number stands in the tuning, and the numbers at which it does nothing.
NEUTRAL: dict[str, tuple[str, dict[str, Any]]] = {
    "a Gaussian wider than the posterior": ("judge", {"wide": 0.0}),
    "lowered far from its points": ("judge", {"lowered": (0.0,)}),
    "far points left out": ("judge", {"reach": np.inf}),
    "deep points left out": ("judge", {"depth": 1e6}),
    "cap": ("judge", {"cap": 1e6}),
    "polynomial kernel": ("judge", {"polynomial": 1e-12}),
    "quartic kernel": ("judge", {"powers": (3,)}),
    "stretched axes": ("judge", {"stretches": (0.0,)}),
    "length of the kernel": ("judge", {"lengths": (1.8,)}),
    "tempered draws": ("judge", {"temper": 0.0}),
    "wide draws": ("judge", {"share": 1e-9}),
    "weights tempered where few carry them": ("judge", {"carried": 0.0}),
    "no mass where no draw could be": ("judge", {"cut": 1e300}),
    "error of tails": ("judge", {"tail": 0.0}),
    "error of skewness": ("judge", {"skewness": 0.0}),
    "error of drift": ("judge", {"drift": 0.0}),
    "error of missed mass": ("judge", {"missed": 0.0}),
    "curvature measured again": ("ascent", {"right": 0.0}),
    "climbs all over the prior": ("ascent", {"further_share": 1e-9}),
    "belief in modes": ("ascent", {"believed": 0}),
    "climbs from draws above the top": ("judge", {"above": np.inf}),
}


@contextlib.contextmanager
def neutral(part: str) -> Iterator[None]:
    """Make a part do nothing for as long as the context lasts.

    Examples
    --------
    >>> with neutral("cap"):
    ...     TUNING.judge.cap
    1000000.0
    >>> TUNING.judge.cap < 1
    True
    """
    if part == WHOLE:
        yield
        return
    where, numbers = NEUTRAL[part]
    before = getattr(TUNING, where)
    object.__setattr__(TUNING, where, replace(before, **numbers))
    try:
        yield
    finally:
        object.__setattr__(TUNING, where, before)


def estimate(problem: Likelihood, n: int, seed: int) -> Evidence:
    """Return the evidence of a problem after n evaluations with gradients.

    Examples
    --------
    >>> problem = FAMILIES["logistic, d=8"](0)
    >>> found = estimate(problem, 100, 0)
    >>> bool(abs(found.log_evidence - problem.log_evidence) < 0.1)
    True
    """
    gradient = problem.gradient
    if gradient is None:
        raise ValueError(f"{problem.name} has no gradient")
    run = EvidenceRun(problem.prior, n=n, start=problem.start, scale=problem.scale, rng=seed, gradient=True)
    while run.n_evaluations < n and len(points := run.ask(n - run.n_evaluations)):
        run.tell(points, problem.log_likelihood(points), gradient(points))
    return run.result()


def one(family: str, n: int, replicate: int, part: str) -> dict[str, object]:
    """Return the row of one run: that of the study of evidences, which part was neutral, and what the run raised."""
    problem = FAMILIES[family](evidence.seed(family, replicate))
    raised, found = "", None
    with warnings.catch_warnings(), neutral(part):
        warnings.simplefilter("ignore", RuntimeWarning)  # runs that fail are what is counted here
        begin = time.process_time()
        try:
            found = estimate(problem, n, 1000 * n + replicate)
        except Exception as error:  # what breaks without a part is a result of the study
            raised = f"{type(error).__name__}: {error}"
        seconds = time.process_time() - begin
    return {"without": part, **evidence.row(family, n, replicate, problem, found, seconds), "raised": raised}


def run(
    parts: Iterable[str] = tuple(NEUTRAL),
    families: Iterable[str] = GROUP,
    sizes: Sequence[int] = SIZES,
    replicates: int = REPLICATES,
    jobs: int = 1,
) -> pd.DataFrame:
    """Return one row per problem, n and part: what was found beside the truth, and whether it differs from the whole.

    Examples
    --------
    >>> frame = run(["cap"], ["skew normal, d=3"], (40,), 1)
    >>> frame.without.tolist()
    ['whole engine', 'cap']
    """
    tasks = [
        (family, n, replicate, part)
        for replicate in range(replicates)
        for family in families
        for n in sizes
        for part in (WHOLE, *parts)
    ]
    if jobs == 1:
        rows = [one(*task) for task in tasks]
    else:
        with ProcessPoolExecutor(jobs) as pool:
            rows = list(pool.map(one, *zip(*tasks, strict=True), chunksize=4))
    return compared(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study, print its table, and write ``runs.csv``, ``parts.csv`` and ``parts.md``."""
    parser = argparse.ArgumentParser(prog="python -m studies.gradient_ablation", description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, help="directory for the tables")
    parser.add_argument("--quick", action="store_true", help="one problem of each family, n = 100: some minutes")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 2), help="processes")
    parser.add_argument("--families", nargs="*", default=list(GROUP), choices=list(GROUP), metavar="FAMILY")
    parser.add_argument("--parts", nargs="*", default=list(NEUTRAL), choices=list(NEUTRAL), metavar="PART")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    sizes, replicates = (QUICK_SIZES, QUICK_REPLICATES) if options.quick else (SIZES, REPLICATES)
    frame = run(options.parts, options.families, sizes, replicates, options.jobs)
    text = part_table(frame)
    for name, table in (("runs", frame), ("parts", by_part(frame))):
        _files.write(options.out / f"{name}.csv", table.to_csv(index=False, lineterminator="\n"))
    _files.write(options.out / "parts.md", text)
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
