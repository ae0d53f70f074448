"""Speed of comparing 352 kinetic models at n = 200, as ratios within one run on one machine.

Run: python benchmarks/bench_selection.py
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import platform
import time
import warnings
from math import lgamma, log, pi

import numpy as np
import scipy

from fwbq import chema
from fwbq.chema import KineticFamily
from fwbq.designs import Spread
from fwbq.selection import Evidences, map_probabilities
from fwbq.selection.log_process import LogProcess, fitted
from fwbq.selection.nodes import nodes

N = 200
SAMPLE = 2  # models of each size on which the naive loop is timed


def seconds(call, repeats=3):
    best, value = np.inf, None
    for _ in range(repeats):
        start = time.process_time()
        value = call()
        best = min(best, time.process_time() - start)
    return best, value


def one_likelihood(data, columns, K):
    """The formula of the paper at one point, in plain Python, as it would be typed from the page."""
    rates, rows = [], []
    for i in range(len(data.times) - 1):
        step = float(data.times[i + 1] - data.times[i])
        rates.append(float(data.phospho[i + 1] - data.phospho[i]) / step)
        row = [-float(data.phospho[i]) / (float(data.phospho[i]) + K[0])]
        for j, column in enumerate(columns):
            row.append(float(data.enzymes[i, column] * data.substrate[i]) / (float(data.substrate[i]) + K[1 + j]))
        rows.append(row)
    Y, X = np.array(rates), np.array(rows)
    n, d = X.shape
    one, gram = np.ones(d), X.T @ X
    omega = (1 + 1 / n) * gram
    right = gram @ one / n + X.T @ Y
    b = 0.5 * (Y @ Y + one @ gram @ one / n - right @ np.linalg.solve(omega, right))
    return lgamma(n / 2) - log(2) - n / 2 * log(2 * pi) - d / 2 * log(n + 1) - n / 2 * log(b)


def one_posterior(x, values, at, kernel):
    """Evidence of one model by the formulas as they stand: the double integral of the covariance as a double sum."""
    F = values - values.max()
    n = len(x)
    inverse = np.linalg.inv(kernel(x) + 1e-10 * np.eye(n))
    one = np.ones(n)
    b = one @ inverse @ F / (one @ inverse @ one)
    cross = kernel(x, at.points)
    logs = b + cross.T @ (inverse @ (F - b)) + at.log_weights
    share = np.exp(logs - logs.max())
    log_z = values.max() + logs.max() + np.log(share.sum())
    share /= share.sum()
    double = sum(
        share[rows] @ kernel(at.points[rows], at.points) @ share
        for rows in (slice(i, i + 512) for i in range(0, len(share), 512))
    )
    mean = cross @ share
    double += (1.0 - one @ inverse @ mean) ** 2 / (one @ inverse @ one) - mean @ inverse @ mean
    return log_z, (F - b) @ inverse @ (F - b) / (n - 1) * double


def main():
    data = chema.Dataset.example()
    models = chema.candidate_models(data)
    families = [KineticFamily(data, tuple(m for m in models if len(m) == k)) for k in range(3)]
    places = [family.coordinates for family in families]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # on the line fewer points than N can be told apart
        designing, points = seconds(
            lambda: [Spread(f.measure, c).take(N) for f, c in zip(families, places, strict=True)], 1
        )
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, one BLAS thread")
    print(f"design, three measures, n = {N}: {designing:.2f} s (not counted below)\n")

    evaluating, values = seconds(
        lambda: [f.log_integrands(x, np.arange(len(f.names))) for f, x in zip(families, points, strict=True)]
    )
    at = [nodes(f.measure, c) for f, c in zip(families, places, strict=True)]

    def posteriors():
        out = Evidences.empty(len(models))
        first = 0
        for c, x, v, a in zip(places, points, values, at, strict=True):
            out = out.put(np.arange(first, first + v.shape[1]), LogProcess.fit(c.forward(x), v, a).evidences)
            first += v.shape[1]
        return out

    fitting, evidences = seconds(posteriors)
    log_prior = np.full(len(models), -np.log(len(models)))
    deciding, _ = seconds(lambda: map_probabilities(evidences, log_prior))
    ours = evaluating + fitting + deciding
    whole, result = seconds(lambda: chema.compare(data, stages=(N,), race=False, rng=0, progress=False))
    racing, race = seconds(lambda: chema.compare(data, n=N, stop=0.95, rng=0, progress=False))

    naive_likelihood = naive_fit = alone = worst = 0.0
    for family, c, x, v, a in zip(families, places, points, values, at, strict=True):
        chosen = np.linspace(0, len(family.names) - 1, min(SAMPLE, len(family.names))).astype(int)
        share = len(family.names) / len(chosen)
        for i in chosen:
            columns = data.columns(family.names[i])
            cost, looped = seconds(lambda k=columns, x=x: np.array([one_likelihood(data, k, p) for p in x]), 1)
            worst = max(worst, float(np.max(np.abs(looped - v[:, i]))))
            naive_likelihood += share * cost
            s = c.forward(x)
            cost, fit = seconds(lambda y=looped, s=s, a=a: LogProcess.fit(s, y[:, None], a), 2)
            alone += share * cost
            searching, _ = seconds(lambda y=looped, s=s: fitted(s, y[:, None] - y.max()), 2)
            cost, (log_z, _) = seconds(lambda y=looped, s=s, a=a, k=fit.kernel: one_posterior(s, y, a, k), 1)
            naive_fit += share * (searching + cost)
            worst = max(worst, abs(log_z - float(fit.evidences.centre[0])))
    naive = naive_likelihood + naive_fit
    print(f"{'352 models, n = 200':34s}{'fwbq':>10s}{'naive loop':>13s}{'ratio':>8s}")
    for name, fast, slow in (
        ("70,400 log likelihoods", evaluating, naive_likelihood),
        ("posteriors of the evidences", fitting, naive_fit),
        ("P(MAP)", deciding, deciding),
        ("together", ours, naive),
    ):
        print(f"{name:34s}{fast:8.3f} s{slow:11.1f} s{slow / fast:8.0f}")
    print(f"\nthe naive loop was timed on {SAMPLE} models of each size; its values agree to {worst:.0e}")
    print(f"LogProcess.fit for every model by itself: {alone:.0f} s, {alone / fitting:.0f} times the pooled call")
    print(f"chema.compare, everything: {whole:.2f} s with the design; P(MAP) = {result.map_probability:.4f}")
    print(
        f"chema.compare, stop = 0.95: {racing:.2f} s with the design, {race.n_evaluations:,} evaluations instead of "
        f"{result.n_evaluations:,}"
    )


if __name__ == "__main__":
    main()
