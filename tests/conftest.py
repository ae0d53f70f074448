import json
import logging
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "network: needs a package index that pip can reach; skipped when there is none")


@pytest.fixture(scope="session")
def reference():
    """Independent high-precision values; tests/reference/README.md says how they were computed."""
    return json.loads((Path(__file__).parent / "reference" / "reference.json").read_text())


@pytest.fixture(scope="session")
def dask_cluster():
    """Make a client of Dask's scheduler and two worker processes on this machine, for a ``with`` statement."""
    dask = pytest.importorskip("dask", reason="Dask is not installed (the extra dask)")
    from distributed import Client, LocalCluster

    @contextmanager
    def cluster():
        with (
            dask.config.set({"distributed.scheduler.allowed-failures": 1}),
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",  # any port that is free
                worker_dashboard_address=None,
                silence_logs=logging.CRITICAL,  # a killed worker is reported at length
            ) as local,
            Client(local) as client,
        ):
            yield client

    return cluster


@pytest.fixture(scope="session")
def build_comparison():
    """Make a comparison from log evidences and the standard deviations of its rounds, without evaluating anything."""
    from fwbq.selection import Comparison, Evidences, Stage, map_probabilities

    def build(names, centre, sds=(0.5, 0.05), rounds=(10, 40), *, status="decided", settings=None, rest=None):
        m = len(names)
        prior = np.full(m, -np.log(max(m, 1)))
        stages, spent, before = [], 0, 0
        for n, sd in zip(rounds, sds, strict=True):
            arrays = (np.full(m, x, dtype=float) for x in (sd, n - 1.0, 0.0))
            evidences = Evidences(np.full(m, "log", dtype="<U8"), np.array(centre, dtype=float), *arrays)
            chances = map_probabilities(evidences, prior)
            best = int(np.argmax(chances))
            spent, before = spent + m * (n - before), n
            stages.append(Stage(n, spent, m, evidences, best, float(chances[best])))
        points = np.full(m, rounds[-1])
        kept = {"seed": 0, "stages": list(rounds), "stop": 0.95} | (settings or {})
        return Comparison(tuple(names), evidences, prior, points, tuple(stages), status, kept, rest)

    return build


@pytest.fixture(scope="session")
def tempered():
    """Draw points where a posterior has its mass, without anything in common with the formula of its evidence."""
    from scipy import stats
    from scipy.spatial.distance import cdist
    from scipy.special import gammaln, logsumexp

    import fwbq
    from fwbq.inference.chart import chart_of

    def draw(problem, seed=0, size=20_000):
        """Return the log joint density in the coordinates of a run, points in them, and their log weights.

        In these coordinates most priors are standard normal. From that density on, 40 Student-t components stand on
        points drawn from powers of the likelihood that rise to one, each with half the covariance of those points:
        every mode and every bend is covered. The last round, with the standard normal beside it, is weighed. Without a
        prior the coordinates are those of independent Cauchy distributions around the start, whose tails are at least
        as heavy as those of the densities here.
        """
        prior, log_density = problem.prior, problem.log_likelihood
        if prior is None:
            parts = zip(problem.start, problem.scale, strict=True)
            prior = fwbq.Product([stats.cauchy(m, s) for m, s in parts])

            def log_density(x):
                return problem.log_likelihood(x) - prior.log_density(x)

        chart = chart_of(prior)
        rng = np.random.default_rng(seed)
        d, df = problem.dim, 5.0

        def log_normal(z):
            return -0.5 * np.sum(z * z, axis=1) - 0.5 * d * np.log(2.0 * np.pi)

        def log_likelihood(z):
            values = log_density(chart.to_user(z))
            return np.where(np.isnan(values), -np.inf, values)

        z, power = rng.standard_normal((size, d)), 0.0
        values, q = log_likelihood(z), log_normal(z)
        while True:
            # The largest power at which 200 points are effective.
            for new in np.geomspace(1.0, 1e-9, 200):
                logs = np.where(np.isfinite(values), new * values, -np.inf) + chart.log_prior(z) - q
                w = np.exp(logs - logs.max())
                if w.sum() ** 2 / np.sum(w * w) > 200:
                    break
            last, power = power == 1.0, new
            if last:
                return (lambda z: log_likelihood(z) + chart.log_prior(z)), z, logs
            w /= w.sum()
            centre = w @ z
            cov = 0.5 * (w[:, None] * (z - centre)).T @ (z - centre) + 1e-12 * np.eye(d)
            root = np.linalg.cholesky(cov)
            tops = z[rng.choice(size, 40, p=w)]
            steps = rng.standard_normal((size, d)) @ root.T * np.sqrt(df / rng.chisquare(df, (size, 1)))
            z = np.where(
                rng.uniform(size=(size, 1)) < 0.1,
                rng.standard_normal((size, d)),
                tops[rng.integers(40, size=size)] + steps,
            )
            squares = cdist(np.linalg.solve(root, z.T).T, np.linalg.solve(root, tops.T).T, "sqeuclidean")
            constant = gammaln(0.5 * (df + d)) - gammaln(0.5 * df) - 0.5 * d * np.log(df * np.pi)
            constant -= np.sum(np.log(np.diagonal(root)))
            near = logsumexp(-0.5 * (df + d) * np.log1p(squares / df), axis=1) + constant + np.log(0.9 / 40)
            values, q = log_likelihood(z), np.logaddexp(near, np.log(0.1) + log_normal(z))

    return draw


@pytest.fixture(scope="session")
def importance(tempered):
    """Weigh a likelihood by brute force: the log evidence and its standard error, by tempered importance sampling."""
    from scipy.special import logsumexp

    def weigh(problem, seed=0, size=20_000):
        _, _, logs = tempered(problem, seed, size)
        w = np.exp(logs - logs.max())
        error = np.sqrt(np.sum(w * w) / w.sum() ** 2 - 1.0 / size)
        return logsumexp(logs) - np.log(size), error

    return weigh
