"""Are the regulators found on a stranger's data? The study behind the table in docs/selection.md.

Substrates are simulated by ordinary differential equations with log-normal constants and 3 to 10 % noise, under one to
four stimuli, and written in units that nobody chose. The kinetic models are compared in the units of the file with
rates of their own for every stimulus, in the units of the data, with rates that the stimuli share, and with these
truncated to V >= 0. What the checks say is measured on the same sets, and on the same sets without their true
regulators. Run it with ``python -m studies.kinetics --out DIR``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fwbq import _files
from fwbq.chema import Dataset, compare
from fwbq.selection import Comparison

if TYPE_CHECKING:
    import pandas as pd

#: Candidate enzymes: 79 models with at most two of them.
ENZYMES = 12
#: Ways to compare: as version 0.1 did, and what changed one after the other.
WAYS: dict[str, dict[str, Any]] = {
    "units given, own rates": {"units": "given", "rates": "own", "truncated": False},
    "units of the data, own rates": {"units": "data", "rates": "own", "truncated": False},
    "units of the data, shared rates": {"units": "data", "rates": "shared", "truncated": False},
    "the same, V >= 0": {"units": "data", "rates": "shared", "truncated": True},
}
#: Q^2 below which the sets are counted.
LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


def dataset(number: int, first: int = 2026) -> tuple[Dataset, dict[str, Any]]:
    """Return the simulated data set of this number in scrambled units, and its settings, drawn anew for every number.

    `first` is the first part of the seed: another one gives sets on which nothing was tuned.
    """
    rng = np.random.default_rng([first, number])
    settings: dict[str, Any] = {
        "noise": float(np.exp(rng.uniform(np.log(0.03), np.log(0.1)))),
        "times": int(rng.choice([12, 16, 21])),
        "conditions": int(rng.integers(1, 5)),
        "regulators": int(rng.choice([1, 2, 2])),
    }
    true = sorted(int(j) for j in rng.choice(ENZYMES, settings["regulators"], replace=False))
    size = 1 + len(true)
    options: dict[str, Any] = {
        "rates": np.exp(rng.normal(0.0, 0.5, size)),
        "constants": np.exp(rng.normal(0.0, 0.7, size)),
        "total": float(np.exp(rng.normal(0.7, 0.4))),
    }
    parts = [
        Dataset.simulate(
            ENZYMES, rng=rng, regulators=true, noise=settings["noise"], times=np.linspace(0.0, 10.0, settings["times"]),
            initial=float(rng.uniform(0.1, 0.9) * options["total"]), **options,
        )
        for _ in range(settings["conditions"])
    ]  # fmt: skip
    data = Dataset.combine(parts, [f"stimulus {i + 1}" for i in range(len(parts))])
    units = 10.0 ** rng.uniform(-2.0, 2.0, 2 + ENZYMES)
    return data.rescaled(time=units[0], level=units[1], enzymes=units[2:]), settings


def judged(found: Comparison, truth: tuple[str, ...]) -> dict[str, Any]:
    """Return whether the truth is first, whether it is in the 90 % set, and the log of its probability."""
    probability = found.probabilities().mean(axis=0)
    order = np.argsort(-probability, kind="stable")
    before = np.concatenate([[0.0], np.cumsum(probability[order])])
    place = int(np.flatnonzero(order == found.names.index(truth))[0])
    own = float(probability[order[place]])
    return {
        "first": place == 0,
        # The smallest set of models that holds 90 % has the truth if those before it hold less.
        "in_90": bool(before[place] < 0.9),
        "log_probability": float(np.log(max(own, 1e-300))),
        "leader": float(probability[order[0]]),
    }


def compared(number: int, first: int = 2026) -> list[dict[str, Any]]:
    """Compare the models of one data set in every way: a row for each."""
    data, settings = dataset(number, first)
    truth = tuple(data.regulators or ())
    rows = []
    for way, options in WAYS.items():
        found = compare(data, n=50, rng=0, progress=False, **options)
        checks = found.settings["checks"]
        stays = sum(tuple(name) == found.best for name in checks["sensitivity"].values())
        inclusion = found.inclusion().set_index("name")["probability"]
        rows.append(
            {"set": number, **settings, "way": way, **judged(found, truth), "stays": stays, **checks["fit"],
             "included": [float(inclusion[name]) for name in truth],
             "not_included": [float(p) for name, p in inclusion.items() if name not in truth]}
        )  # fmt: skip
    others = [name for name in data.names if name not in truth]
    found = compare(data.select(enzymes=others), n=50, rng=0, progress=False)
    fit, probability = found.settings["checks"]["fit"], found.probabilities().mean(axis=0).max()
    rows.append({"set": number, **settings, "way": "without the regulators", "leader": float(probability), **fit})
    return rows


def found_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how often the truth is first and in the 90 % set, and its mean log probability, for each way."""
    some = rows[rows["way"].isin(WAYS)]
    measured = ["first", "in_90", "log_probability"]
    grouped = some.astype(dict.fromkeys(measured, float)).groupby("way", sort=False)
    table = grouped[measured].mean()
    table.insert(0, "sets", grouped.size())
    return table.reset_index()


def inclusion_table(rows: pd.DataFrame, edges: Sequence[float] = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)) -> pd.DataFrame:
    """Return how often an enzyme is a regulator, by the inclusion probability that was stated, for each way."""
    import pandas as pd

    out = []
    for way, part in rows[rows["way"].isin(WAYS)].groupby("way", sort=False):
        stated = np.array([p for name in ("included", "not_included") for each in part[name] for p in each])
        true = np.arange(len(stated)) < sum(map(len, part["included"]))
        for low, high in pairwise(edges):
            use = (stated > low) & (stated <= high)
            if use.any():
                out.append(
                    {"way": way, "low": low, "high": high, "enzymes": int(use.sum()), "stated": stated[use].mean(),
                     "true": true[use].mean()}
                )  # fmt: skip
    return pd.DataFrame(out)


def checks_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the share of sets whose leader has a Q^2 below each level, with and without the true regulators."""
    import pandas as pd

    last = list(WAYS)[-1]
    groups = {"with": rows[rows["way"] == last], "without": rows[rows["way"] == "without the regulators"]}
    table = {"q2_below": list(LEVELS)} | {
        name: [float((part["q2"] < level).mean()) for level in LEVELS] for name, part in groups.items()
    }
    alarm = {name: float((part["p_value"] > 0.05).mean()) for name, part in groups.items()}
    return pd.DataFrame([*pd.DataFrame(table).to_dict("records"), {"q2_below": "p-value > 0.05", **alarm}])


def sensitivity_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how often the leader is right, by the number of changes of the priors under which it stays first."""
    last = rows[rows["way"] == list(WAYS)[-1]].copy()
    last["stays first"] = np.where(last["stays"] == 4, "in all four", "in fewer")
    table = last.groupby("stays first")["first"].agg(sets="size", right=lambda column: column.astype(float).mean())
    sure = last[last["leader"] >= 0.9]
    table.loc["stated 0.9 or more"] = [len(sure), float(sure["first"].astype(float).mean()) if len(sure) else np.nan]
    return table.reset_index()


TABLES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "found": found_table,
    "inclusion": inclusion_table,
    "checks": checks_table,
    "sensitivity": sensitivity_table,
}


def study(sets: int, workers: int = 1, first: int = 2026) -> dict[str, pd.DataFrame]:
    """Run the first `sets` data sets and return the rows and the tables made of them."""
    import pandas as pd

    if workers == 1:
        rows = [row for number in range(sets) for row in compared(number, first)]
    else:
        with ProcessPoolExecutor(workers) as pool:
            rows = [row for each in pool.map(compared, range(sets), [first] * sets) for row in each]
    frame = pd.DataFrame(rows)
    return {"rows": frame} | {name: table(frame) for name, table in TABLES.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study and write its tables."""
    parser = argparse.ArgumentParser(prog="python -m studies.kinetics", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="directory for the tables")
    parser.add_argument("--quick", action="store_true", help="ten data sets: some seconds")
    parser.add_argument("--sets", type=int, default=100, help="data sets")
    parser.add_argument(
        "--seed", type=int, default=2027, help="of the data sets; the threshold of Q^2 was chosen on 2026"
    )
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1), help="processes")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    for name, table in study(10 if given.quick else given.sets, given.workers, given.seed).items():
        _files.write(given.out / f"{name}.csv", table.to_csv(index=False, lineterminator="\n"))
        if name != "rows":
            sys.stdout.write(f"{name}\n{table.round(3).to_string(index=False)}\n\n")


if __name__ == "__main__":
    main()
