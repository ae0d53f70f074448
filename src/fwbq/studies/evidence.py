"""How far off is a log evidence, and how often does its interval hold the truth? The study behind its page in docs.

Every problem is drawn at random from a family of likelihoods with known evidence, given n evaluations, and compared
with its truth. Run it with ``python -m fwbq.studies.evidence --out DIR``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import betaln, expit, gammaln, logsumexp

from .. import _files
from ..designs.qmc import scrambled_engine
from ..inference import evidence
from ..inference.mixture import Mixture
from ..measures import Gaussian, Product
from ..problems.likelihoods import LIKELIHOODS, Likelihood, gaussian
from ..problems.lotka_volterra import lotka_volterra

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]

SIZES = (50, 100, 200)
#: Lotka-Volterra has eight parameters and false basins: 400 evaluations, twice what the others have at most.
OWN_SIZES: dict[str, tuple[int, ...]] = {"Lotka-Volterra": (400,)}
REPLICATES, QUICK_REPLICATES = 20, 2
#: What the truth of a family leaves open, where that is more than 1e-6.
_TRUTHS = {"Lotka-Volterra": 0.005, "logistic, d=6": 0.004}


def _poisson_log(x: Array, total: float, size: int) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(total * np.log(x[:, 0]) - size * x[:, 0])


def gamma_posterior(rng: Any = None) -> Likelihood:
    """Return the rate of Poisson counts under a Gamma(2, 1) prior: the posterior is a Gamma distribution."""
    g = np.random.default_rng(rng)
    size = 30
    total = float(g.poisson(g.uniform(0.5, 3.0), size).sum())
    value = gammaln(2.0 + total) - gammaln(2.0) - (2.0 + total) * np.log1p(size)
    return Likelihood(
        "gamma posterior", partial(_poisson_log, total=total, size=size), Product([stats.gamma(2.0)]), value
    )


def _bernoulli_log(x: Array, successes: Array, trials: int) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.sum(successes * np.log(x) + (trials - successes) * np.log1p(-x), axis=1)
    return np.asarray(np.where(np.isnan(values), -np.inf, values))


def beta_posterior(rng: Any = None) -> Likelihood:
    """Return three chances, each of 40 trials, under Beta(1, 3) priors: the posterior is a product of Betas."""
    g = np.random.default_rng(rng)
    successes = g.binomial(40, g.uniform(0.02, 0.6, 3)).astype(float)
    value = float(np.sum(betaln(1.0 + successes, 43.0 - successes) - betaln(1.0, 3.0)))
    log = partial(_bernoulli_log, successes=successes, trials=40)
    return Likelihood("beta posterior", log, Product([stats.beta(1.0, 3.0)] * 3), value)


def _log_scale_log(x: Array, centre: Array, sd: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(-0.5 * np.sum(((np.log(x) - centre) / sd) ** 2, axis=1))


def log_normal_posterior(rng: Any = None) -> Likelihood:
    """Return three positive parameters with a log-normal posterior, twenty times narrower than the log-normal prior."""
    g = np.random.default_rng(rng)
    centre, sd = g.standard_normal(3), 0.05 * 2.0 ** g.uniform(-1.0, 1.0, 3)
    total = 1.0 + sd**2
    value = float(np.sum(np.log(sd) - 0.5 * np.log(total) - 0.5 * centre**2 / total))
    return Likelihood(
        "log-normal posterior", partial(_log_scale_log, centre=centre, sd=sd), Product([stats.lognorm(1.0)] * 3), value
    )


def _sum_log(x: Array, shares: Array, centres: Array, sd: float) -> Array:
    squares = np.sum((x[:, None, :] - centres) ** 2, axis=2)
    return np.asarray(logsumexp(-0.5 * squares / sd**2, axis=1, b=shares))


def three_modes(rng: Any = None) -> Likelihood:
    """Return three Gaussians in two dimensions, apart, with shares of 0.5, 0.3 and 0.2 of the evidence."""
    g = np.random.default_rng(rng)
    angle = g.uniform(0.0, 2.0 * np.pi) + 2.0 * np.pi * np.arange(3) / 3.0
    centres = 1.6 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * g.standard_normal((3, 2))
    total = 1.0 + 0.2**2
    own = 2.0 * np.log(0.2 / np.sqrt(total)) - 0.5 * np.sum(centres**2, axis=1) / total
    shares = np.array([0.5, 0.3, 0.2]) * np.exp(own.max() - own)
    value = float(logsumexp(own, b=shares))
    return Likelihood(
        "three modes d=2",
        partial(_sum_log, shares=shares, centres=centres, sd=0.2),
        Gaussian(np.zeros(2), np.eye(2)),
        value,
    )


def _linear_log(x: Array, features: Array, values: Array, sd: float) -> Array:
    return np.asarray(-0.5 * np.sum(((x @ features.T - values) / sd) ** 2, axis=1))


def correlated_prior(rng: Any = None) -> Likelihood:
    """Return a linear regression with four coefficients, under a Gaussian prior with correlations of 0.9."""
    g = np.random.default_rng(rng)
    cov = 4.0 * (0.1 * np.eye(4) + 0.9)
    mean = np.array([1.0, 0.0, -1.0, 3.0])
    features = g.standard_normal((12, 4))
    values = features @ g.multivariate_normal(mean, cov) + 0.3 * g.standard_normal(12)
    # The values are Gaussian under the model; the likelihood leaves out its constant.
    law = stats.multivariate_normal(features @ mean, features @ cov @ features.T + 0.09 * np.eye(12))
    value = float(law.logpdf(values) + 12.0 * np.log(0.3 * np.sqrt(2.0 * np.pi)))
    log = partial(_linear_log, features=features, values=values, sd=0.3)
    return Likelihood("correlated prior d=4", log, Gaussian(mean, cov), value)


def _separate_log(x: Array, centre: Array, sd: float) -> Array:
    return np.asarray(-0.5 * np.sum(((x - centre) / sd) ** 2, axis=1))


def heavy_tailed_prior(rng: Any = None) -> Likelihood:
    """Return two Gaussian likelihoods, one of them far out, under Student-t priors with two degrees of freedom."""
    g = np.random.default_rng(rng)
    centre = np.array([g.standard_normal(), g.uniform(4.0, 12.0)])
    law = stats.t(2.0)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    value = float(np.sum(np.log([law.pdf(c + 0.5 * nodes) @ weights * 0.5 for c in centre])))
    return Likelihood("heavy-tailed prior", partial(_separate_log, centre=centre, sd=0.5), Product([law, law]), value)


def logistic_six(rng: Any = None) -> Likelihood:
    """Return a logistic regression with six coefficients; its truth is known to about 1e-3.

    The posterior has one mode and lighter tails than a Student-t around it, from which 2^16 quasi-random points weigh
    it.
    """
    g = np.random.default_rng(rng)
    features = np.column_stack([np.ones(80), g.standard_normal((80, 5))])
    labels = np.where(g.uniform(size=80) < expit(features @ g.standard_normal(6)), 1.0, -1.0)
    prior = Gaussian(np.zeros(6), 9.0 * np.eye(6))
    log = partial(_logistic_log, features=labels[:, None] * features)
    x = np.zeros(6)
    for _ in range(30):  # Newton's method on a concave function
        p = expit(-(labels[:, None] * features) @ x)
        H = (features * (p * (1.0 - p))[:, None]).T @ features + np.eye(6) / 9.0
        x = x + np.linalg.solve(H, (labels[:, None] * features).T @ p - x / 9.0)
    around = Mixture(np.ones(1), x[None], 1.2 * np.linalg.cholesky(np.linalg.inv(H))[None], np.array([8.0]))
    z = around.transform(scrambled_engine("sobol", 8, np.random.default_rng(0)).random(2**16))
    value = float(logsumexp(log(z) + prior.log_density(z) - around.log_density(z)) - np.log(len(z)))
    return Likelihood("logistic d=6", log, prior, value)


def _logistic_log(x: Array, features: Array) -> Array:
    return np.asarray(-np.sum(np.logaddexp(0.0, -x @ features.T), axis=1))


#: Families of the study: those of `fwbq.problems.likelihoods`, and further ones.
FAMILIES: dict[str, Callable[[Any], Likelihood]] = {
    **LIKELIHOODS,
    "gaussian, d=10, 5 times narrower": partial(gaussian, 10, 5.0),
    "gaussian, d=12, 3 times narrower": partial(gaussian, 12, 3.0),
    "logistic, d=6": logistic_six,
    "gamma posterior": gamma_posterior,
    "beta posterior": beta_posterior,
    "log-normal posterior": log_normal_posterior,
    "three modes": three_modes,
    "correlated prior": correlated_prior,
    "heavy-tailed prior": heavy_tailed_prior,
    "Lotka-Volterra": lambda rng: lotka_volterra(),
}


def one(family: str, n: int, replicate: int) -> dict[str, object]:
    """Return the row of one random problem; the problem is the same for every n."""
    problem = FAMILIES[family](np.random.default_rng([replicate, *family.encode()]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # runs that fail are what is counted here
        begin = time.process_time()
        found = evidence(problem.log_likelihood, problem.prior, n=n, rng=1000 * n + replicate, progress=False)
        seconds = time.process_time() - begin
    low, high = found.interval(0.95)
    # What the truth itself leaves open is not a miss.
    slack = _TRUTHS.get(family, 1e-6)
    return {
        "family": family, "d": problem.dim, "n": n, "replicate": replicate, "truth": problem.log_evidence,
        "log_evidence": found.log_evidence, "sd": found.sd, "error": abs(found.log_evidence - problem.log_evidence),
        "covered": low - slack <= problem.log_evidence <= high + slack, "success": found.success,
        "modes": len(found.modes), "seconds": seconds,
    }  # fmt: skip


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
    parser = argparse.ArgumentParser(prog="python -m fwbq.studies.evidence", description=main.__doc__)
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
    from .. import plots
    from ..plots import studies as figures

    plots.save(figures.evidence_study(frame), options.out / "evidence.png")
    sys.stdout.write(markdown(table) + "\n" + pooled(frame).to_string(index=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
