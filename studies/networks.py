"""How well networks of phosphorylation are recovered: simulated ones, with stimuli, inhibitors and noise.

``python -m studies.networks --out DIR`` simulates networks of 8 to 20 proteins by ordinary differential equations with
log-normal constants, measures them with 3 to 10 % of noise, infers each under several settings, and writes the area
under the receiver operating characteristic of the edges to ``networks.csv``, its summary to ``summary.csv``, and the
figure of one network, which docs/selection.md shows, to ``network.png``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from fwbq import plots
from fwbq.chema import Network, network

FloatArray = NDArray[np.float64]

#: Minutes.
TIMES = np.array([0.0, 2.0, 4.0, 6.0, 10.0, 15.0, 22.0, 30.0, 45.0, 60.0, 90.0])
#: Differences from the default of `fwbq.chema.network`. ``inhibitors`` and ``stimuli`` here are whether they are told.
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "levels": {"explained": "levels"},
    "rates": {"explained": "rates"},
    "all times count": {"effective": None},
    "without a constant": {"basal": False},
    "stimuli not told": {"stimuli": False},
    "two enzymes": {"max_enzymes": 2},
    "one enzyme": {"max_enzymes": 1},
    "inhibitors not told": {"inhibitors": False},
    "own rates": {"rates": "own"},
    "units of the table": {"units": "given"},
    "rates, all increments count": {"explained": "rates", "effective": None},
    "rates, V >= 0": {"explained": "rates", "truncated": True},
    "rates, total 1.05": {"explained": "rates", "total": 1.05},
    "rates, total 2": {"explained": "rates", "total": 2.0},
    "rates, as in the first version": {
        "explained": "rates", "basal": False, "stimuli": False, "effective": None, "max_enzymes": 2,
    },
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Simulated:
    """A network and what was measured of it.

    Attributes
    ----------
    table : DataFrame
        Tidy.
    edges : list of (source, target)
        The truth.
    inhibitors, stimuli : list of str
        As `fwbq.chema.network` takes them.
    """

    table: pd.DataFrame
    edges: list[tuple[str, str]]
    inhibitors: list[str]
    stimuli: list[str]


def simulate(proteins: int, rng: np.random.Generator, *, noise: float | None = None) -> Simulated:
    r"""Draw a network and simulate its measurement.

    .. math:: \dot p_i = \frac{T_i - p_i}{T_i - p_i + K_i} \Bigl(u_i + b_i + \sum_j V_{ij} a_j p_j\Bigr)
              - W_i \frac{p_i}{p_i + L_i},

    with a_j = 1 less the efficacy where j is inhibited, and u_i the stimulus, which fades, of the first three proteins,
    which no other regulates at first. All others have one or two regulators among those before them, and one protein in
    eight feeds back to an earlier one. The inhibitors act before the stimulus is given.
    """
    names = [f"P{i + 1}" for i in range(proteins)]
    receptors = min(3, proteins - 1)
    v = np.zeros((proteins, proteins))
    for i in range(receptors, proteins):
        for j in rng.choice(i, min(i, int(rng.integers(1, 3))), replace=False):
            v[i, j] = rng.lognormal(-2.0, 0.5)
    for _ in range(proteins // 8):
        j, i = rng.choice(np.arange(receptors, proteins)), rng.choice(receptors)
        v[i, j] = rng.lognormal(-2.5, 0.5)
    total, k, removal, low = (rng.lognormal(mean, 0.4, proteins) for mean in (1.0, 0.0, -1.6, 0.0))
    basal = rng.lognormal(-4.5, 0.5, proteins)
    sd = rng.uniform(0.03, 0.1) if noise is None else noise
    acting = np.flatnonzero(v.any(axis=0))
    inhibited = rng.choice(acting, min(3, len(acting)), replace=False)
    scale = rng.lognormal(0.0, 2.0, proteins)
    rows = []
    for stimulus in range(4):
        strength = np.zeros(proteins)
        chosen = rng.choice(receptors, int(rng.integers(1, receptors + 1)), replace=False)
        strength[chosen] = rng.lognormal(-0.8, 0.5, len(chosen))
        fading = rng.uniform(20.0, 60.0)
        for arm in (None, *inhibited.tolist()):
            activity = np.ones(proteins)
            if arm is not None:
                activity[arm] = 0.1
            levels = _solved(v * activity, total, k, removal, low, basal, strength, fading)
            measured = scale * levels * np.exp(sd * rng.standard_normal(levels.shape))
            condition = f"S{stimulus + 1}" + ("" if arm is None else f"+{names[arm]}i")
            rows += [
                (t, name, y, condition)
                for t, row in zip(TIMES, measured, strict=True)
                for name, y in zip(names, row, strict=True)
            ]
    edges = [(names[j], names[i]) for i, j in np.argwhere(v > 0)]
    table = pd.DataFrame(rows, columns=["time", "variable", "value", "condition"])
    inhibitors = [f"{names[arm]}i={names[arm]}:0.9" for arm in inhibited.tolist()]
    return Simulated(table, edges, inhibitors, [f"S{i + 1}" for i in range(4)])


def _solved(
    v: FloatArray, total: FloatArray, k: FloatArray, removal: FloatArray, low: FloatArray, basal: FloatArray,
    strength: FloatArray, fading: float,
) -> FloatArray:  # fmt: skip
    """Levels (T, proteins), from the steady state without a stimulus on."""

    def slope(t: float, p: FloatArray, on: float) -> FloatArray:
        p = np.clip(p, 0.0, total)
        gain = on * strength * np.exp(-t / fading) + basal + v @ p
        return np.asarray((total - p) / (total - p + k) * gain - removal * p / (p + low))

    rest = solve_ivp(slope, (0.0, 1000.0), 0.1 * total, args=(0.0,), method="LSODA", rtol=1e-6, atol=1e-8).y[:, -1]
    found = solve_ivp(slope, (0.0, TIMES[-1]), rest, args=(1.0,), method="LSODA", t_eval=TIMES, rtol=1e-6, atol=1e-8)
    return np.asarray(np.clip(found.y.T, 1e-9, None))


def measure(
    count: int, settings: Sequence[str], seed: int, *, n: int = 50, draw: Callable[[np.random.Generator], Simulated]
) -> pd.DataFrame:
    """Infer `count` networks under each of the settings; a row each. `draw` simulates a network."""
    rows = []
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        one = draw(rng)
        for name in settings:
            options = dict(SETTINGS[name])
            told: dict[str, Any] = {
                each: getattr(one, each) if options.pop(each, True) else () for each in ("inhibitors", "stimuli")
            }
            found = network(one.table, n=n, **told, **options)
            likely = [(e.source, e.target) in one.edges for e in found.edges if e.probability > 0.9 and not e.doubt]
            rows.append(
                {
                    "network": i, "proteins": len(found.proteins), "setting": name, "auroc": found.auroc(one.edges),
                    "aupr": precision(found, one.edges),
                    "likely": len(likely), "likely_true": sum(likely),
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def precision(found: Network, true: Sequence[tuple[str, str]]) -> float:
    """Mean over the true edges of the share of true ones among those that are at least as probable (AUPR)."""
    hits = np.array([(e.source, e.target) in set(true) for e in found.edges])
    return float((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean())


def example() -> tuple[Simulated, Network]:
    """Infer the network of ten proteins that the documentation shows."""
    one = simulate(10, np.random.default_rng(5), noise=0.03)
    return one, network(one.table, inhibitors=one.inhibitors, stimuli=one.stimuli)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--networks", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--points", type=int, default=50, help="for each model")
    parser.add_argument("--sizes", type=int, nargs=2, default=(8, 20))
    parser.add_argument("--settings", nargs="*", choices=list(SETTINGS), default=list(SETTINGS))
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)

    def draw(rng: np.random.Generator) -> Simulated:
        return simulate(int(rng.integers(given.sizes[0], given.sizes[1] + 1)), rng)

    frame = measure(given.networks, given.settings, given.seed, n=given.points, draw=draw)
    frame.to_csv(given.out / "networks.csv", index=False)
    plots.save(example()[1].plot(), given.out / "network.png")
    summary = frame.groupby("setting", sort=False)["auroc"].agg(["median", "mean", "min", "max"])
    summary.round(3).to_csv(given.out / "summary.csv")


if __name__ == "__main__":
    main()
