"""Noisy networks that resemble the in-silico data of HPN-DREAM, as far as these can be described without their truth.

Twenty proteins, of which up to three are part of nothing; two ligands, each low, high and in combinations, and three
inhibitors: 20 conditions, 11 uneven times, three replicates with 8.5 % of scatter over a background that all proteins
have. Enzymes saturate, regulators activate or inhibit, speeds differ by a factor of a hundred, and feedback is common.
The scatter of the mean of the replicates makes half of the squared rates of change (median over proteins; 38 % in the
data of the challenge). ``python -m studies.signalling --out DIR`` infers such networks under settings of
:mod:`studies.networks` and writes the area under the receiver operating characteristic of each.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from .networks import SETTINGS, Simulated, measure

FloatArray = NDArray[np.float64]

PROTEINS = 20
#: Minutes.
TIMES = np.array([0.0, 1.0, 2.0, 4.0, 6.0, 10.0, 15.0, 30.0, 45.0, 60.0, 120.0])
#: Stimuli of a condition: a ligand and how much of it.
SINGLE = [((ligand, level),) for ligand in ("LIG1", "LIG2") for level in ("lo", "hi")]
PAIRS = [(("LIG1", one), ("LIG2", other)) for one, other in product(("lo", "hi"), repeat=2)]
REPLICATES, SCATTER, BACKGROUND = 3, 0.085, 470.0
#: Proteins must change by more than this in some condition; networks in which fewer than 14 do are drawn again.
MOVES, MOVING = 120.0, 14


@dataclass(frozen=True, eq=False)
class Kinetics:
    """The constants of a network; rows of the matrices are targets, columns are sources."""

    activation: FloatArray
    inhibition: FloatArray
    speed: FloatArray
    half: FloatArray
    hill: FloatArray
    k: FloatArray
    low: FloatArray
    base: FloatArray
    removal: FloatArray
    ligands: dict[str, FloatArray]
    weak: float
    fading: dict[str, float]

    def slope(self, t: float, p: FloatArray, on: Sequence[tuple[str, str]], activity: FloatArray) -> FloatArray:
        """Return the rate of change of the active parts p."""
        p = np.clip(p, 0.0, 1.0)
        drive = (activity * p) ** self.hill
        acting = drive / (drive + self.half**self.hill)
        given = sum(
            (self.weak if level == "lo" else 1.0) * self.ligands[name] * np.exp(-t / self.fading[name])
            for name, level in on
        )
        gain = given + self.base + self.activation @ acting
        loss = self.removal * (1.0 + self.inhibition @ acting)
        return np.asarray(self.speed * (gain * (1.0 - p) / (1.0 - p + self.k) - loss * p / (p + self.low)))

    def course(self, on: Sequence[tuple[str, str]], activity: FloatArray) -> FloatArray:
        """Active parts (proteins, T) after the stimuli, from the steady state without them."""

        def solve(start: FloatArray, on: Sequence[tuple[str, str]], times: FloatArray) -> FloatArray:
            def slope(t: float, p: FloatArray) -> FloatArray:
                return self.slope(t, p, on, activity)

            span = (0.0, float(times[-1]))
            return np.asarray(solve_ivp(slope, span, start, "LSODA", times, rtol=1e-5, atol=1e-7).y)

        rest = solve(np.full(PROTEINS, 0.02), (), np.array([3000.0]))[:, -1]
        return solve(rest, on, TIMES)


def simulate(rng: np.random.Generator) -> Simulated:
    """Draw networks until most proteins of one move, and measure it."""
    while True:
        found = _drawn(rng)
        if found is not None:
            return found


def _drawn(rng: np.random.Generator) -> Simulated | None:
    names = [f"P{i + 1}" for i in range(PROTEINS)]
    n = PROTEINS - int(rng.integers(0, 4))
    receptors = int(rng.integers(2, 4))
    kinetics = _kinetics(rng, n, receptors)
    true = (kinetics.activation > 0) | (kinetics.inhibition > 0)
    acting = np.flatnonzero(true.sum(axis=0) >= 2)
    if len(acting) < 3:
        return None
    inhibited = rng.choice(acting, 3, replace=False)
    amplitude = rng.lognormal(6.8, 0.8, PROTEINS)
    background = BACKGROUND * rng.lognormal(0.0, 0.02, PROTEINS)
    background[n:] *= rng.choice([1.0, 1.0, 1.7], PROTEINS - n)
    arms = [(on, None) for on in SINGLE + PAIRS] + [(on, arm) for arm in range(3) for on in SINGLE]
    rows, levels = [], []
    for on, arm in arms:
        activity = np.ones(PROTEINS)
        if arm is not None:
            activity[inhibited[arm]] = 0.1
        signal = amplitude[:, None] * kinetics.course(on, activity)
        levels.append(signal)
        condition = "+".join(([f"INH{arm + 1}"] if arm is not None else []) + [f"{level}{name}" for name, level in on])
        for replicate in range(REPLICATES):
            measured = (background[:, None] + signal) * np.exp(SCATTER * rng.standard_normal(signal.shape))
            rows += [
                (t, name, value, condition, str(replicate + 1))
                for t, column in zip(TIMES, measured.T, strict=True)
                for name, value in zip(names, column, strict=True)
            ]
    moves = np.ptp(np.array(levels), axis=(0, 2))
    if np.sum(moves > MOVES) < MOVING:
        return None
    table = pd.DataFrame(rows, columns=["time", "variable", "value", "condition", "replicate"])
    edges = [(names[j], names[i]) for i, j in np.argwhere(true)]
    inhibitors = [f"INH{i + 1}={names[j]}:0.9" for i, j in enumerate(inhibited.tolist())]
    return Simulated(table, edges, inhibitors, ["loLIG1", "hiLIG1", "loLIG2", "hiLIG2"])


def _kinetics(rng: np.random.Generator, n: int, receptors: int) -> Kinetics:
    """Draw the constants of n proteins that are connected, the first of them receptors."""
    activation, inhibition = np.zeros((2, PROTEINS, PROTEINS))
    for i in range(receptors, n):
        for j in rng.choice(i, min(i, int(rng.integers(1, 4))), replace=False):
            activation[i, j] = rng.lognormal(0.5, 0.7)
    for _ in range(int(rng.integers(n // 2, 2 * n))):
        i, j = rng.choice(n, 2, replace=False)
        if activation[i, j]:
            continue
        if rng.random() < 0.6:
            inhibition[i, j] = rng.lognormal(1.5, 0.7)
        else:
            activation[i, j] = rng.lognormal(-0.3, 0.7)
    speed = np.exp(rng.uniform(np.log(0.04), np.log(4.0), PROTEINS))
    half, hill = rng.uniform(0.2, 0.8, PROTEINS), rng.choice([1.0, 2.0], PROTEINS)
    k, low = rng.lognormal(-0.5, 0.7, PROTEINS), rng.lognormal(-0.5, 0.7, PROTEINS)
    base, removal = rng.lognormal(-4.0, 0.5, PROTEINS), rng.lognormal(-0.3, 0.4, PROTEINS)
    ligands = {name: np.zeros(PROTEINS) for name in ("LIG1", "LIG2")}
    for order, receptor in enumerate(rng.permutation(receptors)):
        ligands["LIG1" if order % 2 == 0 else "LIG2"][receptor] = rng.lognormal(1.0, 0.4)
    weak = float(rng.uniform(0.1, 0.4))
    fading = {name: float(np.exp(rng.uniform(np.log(10.0), np.log(1000.0)))) for name in ligands}
    return Kinetics(activation, inhibition, speed, half, hill, k, low, base, removal, ligands, weak, fading)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(prog="python -m studies.signalling", description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--networks", type=int, default=8)
    parser.add_argument("--seed", type=int, default=77)
    parser.add_argument("--points", type=int, default=20, help="for each model")
    parser.add_argument("--settings", nargs="*", choices=list(SETTINGS), default=["levels", "rates"])
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    frame = measure(given.networks, given.settings, given.seed, n=given.points, draw=simulate)
    frame.to_csv(given.out / "signalling.csv", index=False)
    summary = frame.groupby("setting", sort=False)[["auroc", "aupr"]].agg(["mean", "min", "max"])
    sys.stdout.write(f"{summary.round(3).to_string()}\n")


if __name__ == "__main__":
    main()
