"""The evidence of the hare and lynx model by brute force: tempering finds the mass, importance sampling weighs it.

``python -m benchmarks.lotka_volterra_reference`` prints what `studies.problems.lotka_volterra` holds as its truth:
about a million solutions of the differential equation, half a minute.
"""

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_t

from studies.problems import lotka_volterra

DIM = len(lotka_volterra.PARAMETERS)
PARTICLES, SEEDS = 4000, (0, 1, 2)
NODES, BLOCKS = 40_000, 10


def log_likelihood(z: np.ndarray) -> np.ndarray:
    """Return the log likelihood at standardised logarithms, under which the prior is N(0, I)."""
    x = lotka_volterra.MEDIANS * np.exp(lotka_volterra.SPREADS * z)
    return np.concatenate([lotka_volterra.log_likelihood(part) for part in np.array_split(x, 1 + len(x) // 2000)])


def log_prior(z: np.ndarray) -> np.ndarray:
    """Return the log density of N(0, I)."""
    return -0.5 * np.sum(z * z, axis=1) - 0.5 * DIM * np.log(2.0 * np.pi)


def tempered(seed: int) -> np.ndarray:
    """Return particles of the posterior: powers 0 to 1 of the likelihood, random-walk moves at each."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((PARTICLES, DIM))
    values, power = log_likelihood(z), 0.0
    while power < 1.0:
        low, high = power, 1.0
        for _ in range(40):  # the largest power that keeps six tenths of the particles effective
            middle = 0.5 * (low + high)
            w = np.exp((middle - power) * (values - values.max()))
            low, high = (middle, high) if w.sum() ** 2 / np.sum(w * w) > 0.6 * PARTICLES else (low, middle)
        new = 1.0 if high == 1.0 else low
        edges = np.cumsum(np.exp((new - power) * (values - values.max())))
        rows = np.searchsorted(edges / edges[-1], (np.arange(PARTICLES) + rng.uniform()) / PARTICLES)
        z, values, power = z[rows], values[rows], new
        root = np.linalg.cholesky(np.cov(z.T))
        for move in range(8):
            size = (1.0, 0.3)[move % 2] * 2.38 / np.sqrt(DIM)
            tried = z + size * rng.standard_normal(z.shape) @ root.T
            there = log_likelihood(tried)
            gain = power * (there - values) + log_prior(tried) - log_prior(z)
            taken = np.log(rng.uniform(size=PARTICLES)) < gain
            z, values = np.where(taken[:, None], tried, z), np.where(taken, there, values)
    return z


def main() -> None:
    """Print means of the tempered runs, then log evidence, standard error and effective share of the nodes."""
    runs = [tempered(seed) for seed in SEEDS]
    for z in runs:
        print("means", np.round(z.mean(axis=0), 2), "sds", np.round(z.std(axis=0), 2), flush=True)
    z = np.concatenate(runs)
    shapes = [multivariate_t(z.mean(axis=0), factor * np.cov(z.T), df=5) for factor in (1.0, 3.0)]
    shares = np.array([0.6, 0.3, 0.1])
    logs, effective = [], []
    for seed in range(BLOCKS):
        rng = np.random.default_rng([99, seed])
        counts = rng.multinomial(NODES, shares)
        nodes = np.vstack([
            *(shape.rvs(n, random_state=rng) for shape, n in zip(shapes, counts, strict=False)),
            rng.standard_normal((counts[2], DIM)),
        ])  # fmt: skip
        proposal = logsumexp([*(shape.logpdf(nodes) for shape in shapes), log_prior(nodes)], axis=0, b=shares[:, None])
        ratio = log_likelihood(nodes) + log_prior(nodes) - proposal
        logs.append(logsumexp(ratio) - np.log(NODES))
        w = np.exp(ratio - ratio.max())
        effective.append(w.sum() ** 2 / np.sum(w * w) / NODES)
    logs = np.array(logs)
    print(f"log evidence {logsumexp(logs) - np.log(BLOCKS):.4f}, standard error {logs.std(ddof=1) / BLOCKS**0.5:.4f}")
    print(f"effective share of the nodes {np.mean(effective):.2f}")


if __name__ == "__main__":
    main()
