"""What is each part of the evidence engine worth? The study behind docs/ablation.md.

The engine runs over all families of likelihoods with known evidence, once whole and once without each of its parts, on
the same problems with the same seeds. Run it with ``python -m studies.ablation --out DIR``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fwbq import EvidenceRun, _files
from fwbq.inference import PARTS, Evidence
from studies import evidence
from studies.pages import write_tables
from studies.problems.likelihoods import FAMILIES, Likelihood

if TYPE_CHECKING:
    import pandas as pd

SIZES, QUICK_SIZES = (50, 100, 200), (100,)
REPLICATES, QUICK_REPLICATES = 4, 1
#: How the whole engine is called in the column `without`.
WHOLE = "whole engine"
#: Errors and standard deviations below this count as this: the truths are known to it.
_LEAST = 1e-6
PAGE = Path(__file__).parents[1] / "docs" / "ablation.md"

Make = Callable[..., EvidenceRun]


def estimate(problem: Likelihood, n: int, seed: int, without: Sequence[str] = (), make: Make = EvidenceRun) -> Evidence:
    """Return the evidence of a problem after n evaluations, without some parts of the engine.

    Parameters
    ----------
    problem : Likelihood
        Without a prior it goes by its start and scale.
    n : int
        Evaluations.
    seed : int
        Of the points.
    without : sequence of str
        Names in `fwbq.inference.PARTS`.
    make : callable
        Makes the run; `fwbq.EvidenceRun`.

    Examples
    --------
    >>> problem = FAMILIES["double well"](0)
    >>> found = estimate(problem, 40, 0)
    >>> bool(abs(found.log_evidence - problem.log_evidence) < 0.01)
    True
    """
    run = make(problem.prior, n=n, start=problem.start, scale=problem.scale, rng=seed, without=tuple(without))
    while run.n_evaluations < n and len(points := run.ask(n - run.n_evaluations)):
        run.tell(points, problem.log_likelihood(points))
    return run.result()


def one(family: str, n: int, replicate: int, without: str, make: Make = EvidenceRun) -> dict[str, object]:
    """Return the row of one run: that of the study of evidences, what was left out, and what the run raised.

    The problem and the seed are those of the study of evidences.
    """
    problem = FAMILIES[family](evidence.seed(family, replicate))
    parts = () if without == WHOLE else (without,)
    raised, found = "", None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # runs that fail are what is counted here
        begin = time.process_time()
        try:
            found = estimate(problem, n, 1000 * n + replicate, parts, make)
        except Exception as error:  # what breaks without a part is a result of the study
            raised = f"{type(error).__name__}: {error}"
        seconds = time.process_time() - begin
    row = evidence.row(family, n, replicate, problem, found, seconds)
    return {"without": without, **row, "raised": raised}


def run(
    parts: Iterable[str] = PARTS,
    families: Iterable[str] = tuple(FAMILIES),
    sizes: Sequence[int] = SIZES,
    replicates: int = REPLICATES,
    jobs: int = 1,
    make: Make = EvidenceRun,
) -> pd.DataFrame:
    """Run the study.

    Parameters
    ----------
    parts : iterable of str
        Parts of the engine that are switched off, one at a time; the whole engine runs in any case.
    families : iterable of str
        Names in `studies.problems.likelihoods.FAMILIES`.
    sizes : sequence of int
        Evaluations.
    replicates : int
        Problems of each family.
    jobs : int
        Processes.
    make : callable
        Makes a run; `fwbq.EvidenceRun`.

    Returns
    -------
    DataFrame
        One row per problem, n and part: what was found beside the truth, and whether it differs from what the whole
        engine found (`changed`).

    Examples
    --------
    >>> frame = run((), ["double well"], (30,), 1)
    >>> frame.without.tolist(), bool(frame.changed.any())
    (['whole engine'], False)
    """
    tasks: list[tuple[Any, ...]] = [
        (family, n, replicate, without, make)
        for replicate in range(replicates)
        for family in families
        for n in sizes
        for without in (WHOLE, *parts)
    ]
    if jobs == 1:
        rows = [one(*task) for task in tasks]
    else:
        with ProcessPoolExecutor(jobs) as pool:
            rows = list(pool.map(one, *zip(*tasks, strict=True), chunksize=4))
    return compared(rows)


def compared(rows: Sequence[dict[str, object]]) -> pd.DataFrame:
    """Return the rows of runs as a table that says which of them differ from what the whole engine found."""
    import pandas as pd

    frame = pd.DataFrame(rows)
    keys = ["family", "n", "replicate"]
    found = ["log_evidence", "sd"]
    whole = frame[frame.without == WHOLE].set_index(keys)[found]
    same = frame[found].to_numpy() == whole.loc[list(frame[keys].itertuples(index=False, name=None))].to_numpy()
    return frame.assign(changed=~same.all(axis=1) & (frame.without != WHOLE))


def _counted(frame: pd.DataFrame) -> pd.DataFrame:
    """Add what the tables count: misses, the ratio of sd to error, and the error with its least value."""
    error, sd = (np.maximum(frame[name].to_numpy(), _LEAST) for name in ("error", "sd"))
    # A run that raised an error states nothing, and its sd over its error has no value.
    ratio = np.divide(sd, error, out=np.full(len(frame), np.nan), where=np.isfinite(error))
    return frame.assign(error=error, ratio=ratio, missed=(frame.sd < 1.0) & (error > 5.0 * sd))


def by_part(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a row for the whole engine and for each part without which it ran.

    Returns
    -------
    DataFrame
        ``without``; ``runs``; ``changed``, how many of them found another log evidence or sd than the whole engine;
        ``error``, the median; ``factor``, the geometric mean of the errors of changed runs over those of the whole
        engine; ``covered``, the share of 95 % intervals that hold the truth; ``ratio``, the median of sd over error;
        ``missed``, errors of more than five standard deviations where less than one was stated; ``raised``, runs that
        ended with an error; ``seconds``, CPU time of all runs.
    """
    rows = _counted(frame)
    keys = ["family", "n", "replicate"]
    whole = rows[rows.without == WHOLE].set_index(keys).error
    beside = whole.loc[list(rows[keys].itertuples(index=False, name=None))].to_numpy()
    ratio = rows.error / beside
    logs = np.where(rows.changed & np.isfinite(ratio), np.log(ratio), np.nan)
    rows = rows.assign(log_factor=logs, raised=rows.raised != "")
    table = rows.groupby("without", sort=False).agg(
        runs=("error", "size"), changed=("changed", "sum"), error=("error", "median"), factor=("log_factor", "mean"),
        covered=("covered", "mean"), ratio=("ratio", "median"), missed=("missed", "sum"), raised=("raised", "sum"),
        seconds=("seconds", "sum"),
    )  # fmt: skip
    return table.assign(factor=np.exp(table.factor)).reset_index()


#: A family needs a part if its median error without it is more than this many times as large, or has further misses.
NEEDED = 2.0


def by_family(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each family: how the whole engine does on it, and which parts it needs.

    Returns
    -------
    DataFrame
        ``family``, ``d``, ``runs``, ``error``, ``sd`` (medians), ``covered``, ``ratio``, ``missed``, ``seconds`` (mean)
        of the whole engine; ``needed``, the parts without which the median error is more than twice as large, or more
        runs miss or raise an error.
    """
    rows = _counted(frame)
    rows = rows.assign(failed=rows.missed | (rows.raised != ""))
    cells = rows.groupby(["family", "without"], sort=False).agg(error=("error", "median"), failed=("failed", "sum"))
    whole = rows[rows.without == WHOLE].groupby(["family", "d"], sort=False)
    table = whole.agg(
        runs=("error", "size"), error=("error", "median"), sd=("sd", "median"), covered=("covered", "mean"),
        ratio=("ratio", "median"), missed=("missed", "sum"), seconds=("seconds", "mean"),
    ).reset_index()  # fmt: skip
    parts = [name for name in dict.fromkeys(frame.without) if name != WHOLE]

    error, failed = cells.error.to_dict(), cells.failed.to_dict()

    def needs(family: str, part: str) -> bool:
        own, other = (family, WHOLE), (family, part)
        return not error[other] <= NEEDED * error[own] or failed[other] > failed[own]

    def needed(family: str) -> str:
        return ", ".join(part for part in parts if needs(family, part))

    return table.assign(needed=[needed(family) for family in table.family])


def _short(ratio: float) -> str:
    """Write a ratio by its digits that mean something."""
    return f"{ratio:.1f}" if ratio < 100.0 else f"{ratio:.0e}"


def part_table(frame: pd.DataFrame) -> str:
    """Return the table by parts in Markdown, with the number of runs."""
    sizes = ", ".join(str(n) for n in sorted(set(frame.n)))
    count = len(set(frame.replicate))
    lines = [
        f"{len(set(frame.family))} families, {count} {'problem' if count == 1 else 'problems'} of each, n = {sizes}.",
        "",
        "| without | runs | changed | median error | error / whole's | in 95 % interval | sd / error | misses | raised "
        "| CPU s |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in by_part(frame).to_dict("records"):
        factor = "" if np.isnan(row["factor"]) else f"{row['factor']:.2f}"
        cells = [
            row["without"], row["runs"], row["changed"], f"{row['error']:.1e}", factor, f"{100 * row['covered']:.1f} %",
            _short(row['ratio']), row["missed"], row["raised"], f"{row['seconds']:.0f}",
        ]  # fmt: skip
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def markdown(frame: pd.DataFrame) -> str:
    """Return both tables in Markdown, with the number of runs."""
    families = by_family(frame)
    shown = families[(families.needed != "") | (families.covered < 1.0) | (families.missed > 0)]
    lines = [
        part_table(frame),
        f"Families that need a part, or have an interval that does not hold: {len(shown)} of {len(families)}.",
        "",
        "| family | d | runs | median error | median sd | in 95 % interval | sd / error | misses | CPU s | needs |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in shown.to_dict("records"):
        cells = [
            row["family"], row["d"], row["runs"], f"{row['error']:.1e}", f"{row['sd']:.1e}",
            f"{100 * row['covered']:.0f} %", _short(row['ratio']), row["missed"], f"{row['seconds']:.1f}",
            row["needed"],
        ]  # fmt: skip
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None, *, page: Path = PAGE) -> int:
    """Run the study, print its tables, and write ``ablation.csv``, ``parts.csv``, ``families.csv``, ``ablation.md``."""
    parser = argparse.ArgumentParser(prog="python -m studies.ablation", description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, help="directory for the tables")
    parser.add_argument(
        "--quick", action="store_true", help="one problem of each family, n = 100: a quarter of an hour"
    )
    parser.add_argument("--replicates", type=int, help=f"problems of each family; {REPLICATES} by default")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 2), help="processes")
    parser.add_argument("--families", nargs="*", default=list(FAMILIES), choices=list(FAMILIES), metavar="FAMILY")
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=list(PARTS), metavar="PART")
    parser.add_argument("--write-docs", action="store_true", help=f"put the tables into docs/{PAGE.name}")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    replicates = options.replicates or (QUICK_REPLICATES if options.quick else REPLICATES)
    sizes = QUICK_SIZES if options.quick else SIZES
    frame = run(options.parts, options.families, sizes, replicates, options.jobs)
    for name, table in (("ablation", frame), ("parts", by_part(frame)), ("families", by_family(frame))):
        _files.write(options.out / f"{name}.csv", table.to_csv(index=False, lineterminator="\n"))
    text = markdown(frame)
    _files.write(options.out / "ablation.md", text)
    if options.write_docs:
        write_tables(page, text)
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
