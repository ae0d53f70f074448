"""Is the stated uncertainty of a comparison true, and is racing safe? The study behind docs/calibration.md.

Kinetic data are simulated with varied noise, numbers of times and regulators. All 352 log evidences are compared with
brute-force quadrature, the stated P(MAP) with how often the leader is the true MAP, and the decision of a race with
that of the full run. Run it with ``python -m studies.calibration --out DIR``.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fwbq import _files
from fwbq._gauss import gauss_legendre, tensor_grid
from fwbq.chema import Dataset, KineticFamily, candidate_models, compare, log_likelihood_block
from fwbq.designs import FrankWolfe
from fwbq.kernels import ExpQuad
from fwbq.selection import Comparison
from studies import kinetics

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]

SIZES = (10, 50, 100, 200)
LEVELS = (0.68, 0.95)
#: First part of the seeds of a stranger's data, on which nothing was tuned.
_STRANGERS = 2027
#: Levels of P(MAP) at which a race may be stopped.
STOPS = (0.9, 0.95, 0.99, 0.999)
#: Nodes per coordinate of the brute-force rule, one after the other until two agree.
_NODES = (32, 48, 72, 108, 160)
#: Agreement of log evidences that is asked for.
_CONVERGED = 1e-10
#: Points of the brute-force rule at a time.
_CHUNK = 4096
#: Log of the share of the sum below which a node is left out.
_NEGLIGIBLE = -30.0
#: Nodes per coordinate where rates are truncated, and the agreement that is asked for there.
_FEWER, _NEARLY = (11, 16, 24, 36, 54, 81), 1e-6
#: Models within this number of standard deviations of the leader of the full run are integrated to find the true MAP.
_NEAR = 8.0


def dataset(number: int) -> tuple[Dataset, dict[str, Any]]:
    """Return the simulated data set of this number and its settings, which are drawn anew for every number."""
    rng = np.random.default_rng([2016, number])
    settings: dict[str, Any] = {
        "noise": float(np.exp(rng.uniform(np.log(0.005), np.log(0.1)))),
        "times": int(rng.choice([7, 11, 15, 21])),
        "regulators": int(rng.choice([1, 2, 2])),
    }
    times = np.linspace(0.0, 10.0, settings["times"])
    data = Dataset.simulate(26, rng=rng, noise=settings["noise"], times=times, regulators=settings["regulators"])
    return data, settings


def exact_log_evidences(data: Dataset, models: Sequence[tuple[str, ...]], truncated: bool = False) -> tuple[Array, int]:
    r"""Integrate the likelihoods of models of one size by tensor Gauss-Legendre rules in log(1 + K / c).

    Rules of 32, 48, 72, 108 and 160 nodes per coordinate are tried until two in a row agree to 1e-10 in log evidence.
    Where rates are truncated to V >= 0, which takes a hundred times longer, rules of 11 to 81 that agree to 1e-6.

    Returns
    -------
    values : (m,) array
    left : int
        Models for which the last two did not agree.

    Examples
    --------
    >>> data = Dataset.example()
    >>> value, left = exact_log_evidences(data, [("E7",)])
    >>> left
    0
    """
    out = np.full(len(models), np.nan)
    todo = np.arange(len(models))
    sizes, near = (_FEWER, _NEARLY) if truncated else (_NODES, _CONVERGED)
    for size in sizes:
        before = out[todo]
        out[todo] = tensor_sum(data, [models[int(i)] for i in todo], size, truncated)
        todo = todo[~(np.abs(out[todo] - before) < near)]
        if not len(todo):
            break
    return out, len(todo)


def tensor_sum(data: Dataset, models: Sequence[tuple[str, ...]], size: int, truncated: bool = False) -> Array:
    """Return the log evidences of models of one size by a rule of `size` nodes per coordinate, (m,).

    With rates truncated to V >= 0 nodes that carry less than 1e-13 of the sum without it are left out.
    """
    offset = KineticFamily(data, tuple(models)).coordinates.offset
    axes: list[Array] = []
    log_w: Array = np.zeros(())
    for c in offset:
        end = np.log1p(7.0 / c)  # the prior N(1, 1/2) has 1e-17 above K = 7
        s, w = gauss_legendre(size, 0.0, end)
        K = c * np.expm1(s)
        side = np.log(w) + s - (K - 1.0) ** 2
        axes.append(K)
        log_w = np.add.outer(log_w, side - np.log(np.sum(np.exp(side))))
    points = tensor_grid(axes)
    log_w = log_w.ravel()
    top, total = np.full(len(models), -np.inf), np.zeros(len(models))
    for start in range(0, len(points), _CHUNK):
        rows = slice(start, start + _CHUNK)
        values = log_likelihood_block(data, models, points[rows], return_rank=True)[0] + log_w[rows, None]
        higher = np.maximum(top, values.max(axis=0))
        if truncated:
            values = _truncated(data, models, points[rows], log_w[rows], values > higher + _NEGLIGIBLE)
        total = total * np.exp(top - higher) + np.sum(np.exp(values - higher), axis=0)
        top = higher
    return np.asarray(top + np.log(total))


def _truncated(
    data: Dataset, models: Sequence[tuple[str, ...]], points: Array, log_w: Array, used: NDArray[np.bool_]
) -> Array:
    """Return log likelihoods with V >= 0 plus log weights where they are used, else minus infinity, (n, m)."""
    out = np.full(used.shape, -np.inf)
    for j, model in enumerate(models):
        rows = np.flatnonzero(used[:, j])
        if len(rows):
            one = KineticFamily(data, (model,), truncated=True)
            out[rows, j] = one.log_integrands(points[rows], np.array([0]))[:, 0] + log_w[rows]
    return out


#: The default, the paper's model on the same points, and the paper's model on Frank-Wolfe points.
METHODS: dict[str, dict[str, Any]] = {
    "default": {},
    "linear": {"evidence": "linear", "kernel": ExpQuad(1.0), "amplitude": "ml"},
    "paper-like": {"evidence": "linear", "kernel": ExpQuad(1.0), "amplitude": "ml", "design": FrankWolfe},
}


def coverage(number: int, sizes: Sequence[int] = SIZES) -> list[dict[str, Any]]:
    """Compare all log evidences of one data set with brute force: a row for each method, n and number of enzymes."""
    data, settings = dataset(number)
    models = candidate_models(data)
    groups = [[m for m in models if len(m) == k] for k in range(3)]
    parts = [exact_log_evidences(data, group) for group in groups]
    truth = np.concatenate([values for values, _ in parts])
    rows = []
    for method, options in METHODS.items():
        found = compare(
            data,
            units="given",
            truncated=False,
            checks=False,
            stages=sizes,
            race=False,
            rng=0,
            progress=False,
            **options,
        )
        where = np.array([len(name) for name in found.names])  # type: ignore[arg-type]
        for stage in found.stages[: len(sizes)]:  # those of shared points
            error = np.abs(stage.evidences.log_median - truth)
            sd = stage.evidences.log_sd
            held = {level: _held(stage.evidences.interval(level), truth) for level in LEVELS}
            for k, (_, left) in enumerate(parts):
                use = where == k
                rows.append(
                    {"set": number, **settings, "method": method, "n": stage.n, "enzymes": k, "models": int(use.sum()),
                     "covered68": int(held[0.68][use].sum()), "covered95": int(held[0.95][use].sum()),
                     "square_error": float(np.sum(error[use] ** 2)), "median_error": float(np.median(error[use])),
                     "median_sd": float(np.median(sd[use])), "not_converged": left,
                     "right": bool(found.names[stage.best] == models[int(np.argmax(truth))]),
                     "map_probability": stage.map_probability}
                )  # fmt: skip
    return rows


#: Units in which a stranger's data may be: what is compared with what, and the unit of time in that of `normalised`. In
#: a smaller unit of time rates are small, and likelihoods narrow; in a larger one they are as wide as the prior.
UNITS: dict[str, tuple[Literal["data", "given"], float]] = {
    "data": ("data", 1.0),
    "given, time unit / 30": ("given", 1.0 / 30.0),
}
#: Models whose evidences are compared with brute force over units: the leading ones, and others at random.
_LEADING, _OTHERS = 4, 6


def coverage_over_units(number: int, sizes: Sequence[int] = SIZES[1:]) -> list[dict[str, Any]]:
    """Compare evidences of a stranger's data, as the defaults find them, with brute force: a row for units and n.

    The data are those of `studies.kinetics`: one to four stimuli that share their rates, V >= 0.
    """
    data, settings = kinetics.dataset(number, _STRANGERS)
    rows = []
    for called, (units, time) in UNITS.items():
        written = data.normalised().rescaled(time=time)
        options: dict[str, Any] = {"units": units, "checks": False, "rng": 0, "progress": False}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # contenders with wide errors are counted here
            found = [compare(written, n=n, **options) for n in sizes]
        picked = _picked(found[-1], number)
        truth = np.empty(len(picked))
        left = 0
        for size in range(3):
            which = [i for i, model in enumerate(picked) if len(model) == size]
            if which:
                truth[which], missed = exact_log_evidences(written, [picked[i] for i in which], truncated=True)
                left += missed
        for n, each in zip(sizes, found, strict=True):
            at = np.array([each.names.index(model) for model in picked])
            evidences = each.evidences.take(at)
            error, sd = np.abs(evidences.log_median - truth), evidences.log_sd
            rows.append(
                {"set": number, **settings, "method": called, "n": n, "models": len(picked),
                 "covered68": int(_held(evidences.interval(0.68), truth, 1e-6).sum()),
                 "covered95": int(_held(evidences.interval(0.95), truth, 1e-6).sum()),
                 "square_error": float(np.sum(error**2)), "median_sd": float(np.median(sd)),
                 "worst": float(np.max(error / sd)), "own_points": len(each.settings.get("own_points", ())),
                 "leader_error": float(error[0]), "leader_sd": float(sd[0]), "not_converged": left,
                 "right": each.best == picked[int(np.argmax(truth))]}
            )  # fmt: skip
    return rows


def _picked(found: Comparison, number: int) -> list[Any]:
    """Return the models whose evidences are compared with brute force, the leading one first."""
    order = np.argsort(-found.evidences.log_median, kind="stable")
    others = np.random.default_rng(number).choice(order[_LEADING:], _OTHERS, replace=False)
    return [found.names[i] for i in [*order[:_LEADING], *np.sort(others)]]


def _held(interval: tuple[Array, Array], truth: Array, known: float = 1e-9) -> NDArray[np.bool_]:
    slack = known * np.maximum(np.abs(truth), 1.0)  # what the brute-force value is known to
    return np.asarray((interval[0] - slack <= truth) & (truth <= interval[1] + slack))


def race(number: int) -> list[dict[str, Any]]:
    """Race the models of one data set, and run them all in full: a row for each round of the race."""
    data, settings = dataset(number)
    full = compare(data, units="given", truncated=False, checks=False, stages=(200,), race=False, rng=0, progress=False)
    raced = compare(data, units="given", truncated=False, checks=False, n=200, stop=1.0 - 1e-9, rng=0, progress=False)
    truth = _true_map(data, full, raced)
    return [
        {"set": number, **settings, "n": s.n, "evaluations": s.evaluations, "full_evaluations": full.n_evaluations,
         "contenders": s.contenders, "map_probability": s.map_probability,
         "right": raced.names[s.best] == truth, "as_full": raced.names[s.best] == full.best,
         "full_right": full.best == truth, "full_map_probability": full.map_probability}
        for s in raced.stages
    ]  # fmt: skip


def _true_map(data: Dataset, full: Comparison, raced: Comparison) -> tuple[str, ...]:
    """Return the model of highest evidence, by brute force among those that could be it."""
    centre, sd = full.evidences.log_median, full.evidences.log_sd
    best = int(np.argmax(centre))
    near = set(np.flatnonzero(centre[best] - centre <= _NEAR * np.hypot(sd, sd[best])).tolist())
    near |= {best} | {s.best for s in raced.stages}
    models: list[Any] = [full.names[i] for i in sorted(near)]
    if len(models) == 1:
        return tuple(models[0])
    value: dict[Any, float] = {}
    for k in {len(m) for m in models}:
        group = [m for m in models if len(m) == k]
        value.update(zip(group, exact_log_evidences(data, group)[0], strict=True))
    return tuple(max(value, key=lambda m: value[m]))


def stops(rows: pd.DataFrame, levels: Iterable[float] = STOPS) -> pd.DataFrame:
    """Return what a race stopped at each level decides and spends; one that never gets there runs to its end.

    Returns
    -------
    DataFrame
        ``level``, ``sets``, ``as_full`` (share that decides as the full run), ``right`` (share that finds the true
        MAP), ``mean_share`` and ``worst_share`` of the evaluations of the full run, ``reached`` (share that gets to
        the level).
    """
    import pandas as pd

    out = []
    for level in levels:
        chosen = []
        for _, run in rows.groupby("set"):
            there = run[run["map_probability"] >= level]
            chosen.append((there if len(there) else run.tail(1)).iloc[0])
        frame = pd.DataFrame(chosen)
        share = frame["evaluations"].astype(float) / frame["full_evaluations"].astype(float)
        out.append(
            {"level": level, "sets": len(frame), "as_full": frame["as_full"].mean(), "right": frame["right"].mean(),
             "mean_share": share.mean(), "worst_share": share.max(),
             "reached": (frame["map_probability"] >= level).mean()}
        )  # fmt: skip
    return pd.DataFrame(out)


def curve(rows: pd.DataFrame, edges: Sequence[float] = (0.0, 0.5, 0.7, 0.85, 0.95, 0.99, 0.999, 1.0)) -> pd.DataFrame:
    """Return the calibration of P(MAP): how often the leader is the true MAP, by what was stated in each round.

    Returns
    -------
    DataFrame
        ``low``, ``high`` (bin), ``rounds``, ``stated`` (mean), ``right`` (share), ``se``.
    """
    import pandas as pd

    out = []
    for low, high in pairwise(edges):
        part = rows[(rows["map_probability"] > low) & (rows["map_probability"] <= high)]
        if len(part):
            right = float(part["right"].mean())
            out.append(
                {"low": low, "high": high, "rounds": len(part), "stated": float(part["map_probability"].mean()),
                 "right": right, "se": float(np.sqrt(max(right * (1 - right), 0.25 / len(part)) / len(part)))}
            )  # fmt: skip
    return pd.DataFrame(out)


def pooled(rows: pd.DataFrame, by: Sequence[str] = ("method", "n")) -> pd.DataFrame:
    """Return coverage pooled over models, its lowest value over data sets, and errors, by method and n."""
    import pandas as pd

    out = []
    for key, part in rows.groupby(list(by), sort=False):
        total = part["models"].sum()
        sets = part.groupby("set")[["covered95", "models"]].sum()
        out.append(
            dict(zip(by, key, strict=True))
            | {"coverage68": part["covered68"].sum() / total, "coverage95": part["covered95"].sum() / total,
               "worst_set95": float((sets["covered95"] / sets["models"]).min()),
               "rms_error": float(np.sqrt(part["square_error"].sum() / total)),
               "median_sd": float(np.average(part["median_sd"], weights=part["models"])),
               "right": float(part.groupby("set")["right"].first().mean())}
        )  # fmt: skip
    return pd.DataFrame(out)


def figure(covered: pd.DataFrame, calibration: pd.DataFrame, stopped: pd.DataFrame) -> Any:
    """Draw coverage against n, the calibration curve of P(MAP), and what racing saves."""
    import matplotlib.pyplot as plt

    fig, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    left.axhspan(0.92, 0.98, color="0.92", zorder=0)
    left.axhline(0.95, color="0.6", lw=0.8, zorder=1)
    for method, part in covered.groupby("method", sort=False):
        left.plot(part["n"], part["coverage95"], marker="o", label=method)
    left.set(xscale="log", xticks=list(SIZES), xticklabels=list(map(str, SIZES)), xlabel="points n", ylim=(0, 1.02))
    left.minorticks_off()
    left.set(title="Coverage of 95 % intervals, 352 evidences", ylabel="coverage")
    left.legend(frameon=False)
    middle.plot([0, 1], [0, 1], color="0.6", lw=0.8)
    middle.errorbar(calibration["stated"], calibration["right"], yerr=2 * calibration["se"], fmt="o", capsize=2)
    middle.set(xlabel="stated P(MAP)", ylabel="how often right", title="Calibration of P(MAP), rounds of races")
    middle.set(xlim=(0, 1.02), ylim=(0, 1.04))
    right.plot(stopped["level"].astype(str), stopped["mean_share"], "o-", label="mean")
    right.plot(stopped["level"].astype(str), stopped["worst_share"], "s:", label="worst")
    right.axhline(0.25, color="0.6", lw=0.8)
    right.set(xlabel="stop at P(MAP)", ylabel="share of evaluations", title="What a race spends", ylim=(0, None))
    right.legend(frameon=False)
    return fig


def _map(function: Callable[[int], list[dict[str, Any]]], numbers: Sequence[int], workers: int) -> list[dict[str, Any]]:
    if workers == 1:
        return [row for number in numbers for row in function(number)]
    with ProcessPoolExecutor(workers) as pool:
        return [row for rows in pool.map(function, numbers) for row in rows]


def study(sets: int, races: int, workers: int = 1) -> dict[str, pd.DataFrame]:
    """Run everything on the first `sets` data sets for coverage and the first `races` for racing."""
    import pandas as pd

    covered = pd.DataFrame(_map(coverage, range(sets), workers))
    units = pd.DataFrame(_map(coverage_over_units, range(sets), workers))
    rounds = pd.DataFrame(_map(race, range(races), workers))
    return {
        "coverage": covered,
        "rounds": rounds,
        "coverage_pooled": pooled(covered),
        "units": units,
        "units_pooled": pooled(units),
        "coverage_by_size": pooled(covered[covered["method"] == "default"], ("enzymes", "n")),
        "calibration_curve": curve(rounds),
        "racing": stops(rounds),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study and write its tables and figure."""
    parser = argparse.ArgumentParser(prog="python -m studies.calibration", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="directory for the tables and the figure")
    parser.add_argument("--quick", action="store_true", help="few data sets: about a minute")
    parser.add_argument("--sets", type=int, default=20, help="data sets for coverage")
    parser.add_argument("--races", type=int, default=100, help="data sets for races")
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1), help="processes")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    sets, races = (3, 10) if given.quick else (given.sets, given.races)
    tables = study(sets, races, given.workers)
    for name, table in tables.items():
        _files.write(given.out / f"{name}.csv", table.to_csv(index=False, lineterminator="\n"))
    for name in ("coverage_pooled", "units_pooled", "coverage_by_size", "calibration_curve", "racing"):
        sys.stdout.write(f"{name}\n{tables[name].round(4).to_string(index=False)}\n\n")
    from fwbq import plots

    fig = figure(tables["coverage_pooled"], tables["calibration_curve"], tables["racing"])
    plots.save(fig.axes, given.out / "calibration.png")


if __name__ == "__main__":
    main()
