"""Log evidence with gradients: fwbq, Laplace, Laplace with importance sampling, NUTS with bridge sampling, PyMC's SMC.

Every method works on the same densities, in coordinates in which the prior is standard normal; an evaluation is a value
with its gradient where the method takes one. PyMC is an extra; without it its rows are left out. PyVBMC, which takes
values, is the extra ``peers``. ``FWBQ_BENCH_SEEDS`` sets the number of seeds (1), ``FWBQ_BENCH_PEERS`` names some of
the methods, with semicolons between them, and ``FWBQ_BENCH_LIMIT`` is the number of CPU seconds after which a run is
given up (300).
"""

import contextlib
import importlib.util
import io
import logging
import os
import time
import warnings

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, multivariate_t

import fwbq
from benchmarks.bench_evidence import OutOfTime, limited
from fwbq.inference.chart import chart_of
from studies.problems.likelihoods import FAMILIES

PROBLEMS = (
    "logistic, d=8", "poisson, d=6", "unknown noise, d=8", "student with 5 degrees, d=5", "gumbel, d=4",
    "standardised effects, d=5", "strong banana", "two modes, d=5",
)  # fmt: skip
BUDGETS = (100, 200)
DRAWS = 1000


class Density:
    """The log joint density of a problem and its gradient in standard coordinates, counting evaluations."""

    def __init__(self, problem):
        self.problem, self.chart, self.calls = problem, chart_of(problem.prior), 0
        self.dim = self.chart.dim

    def likelihood(self, z):
        """Log likelihoods at points (n, d)."""
        self.calls += len(z)
        return self.problem.log_likelihood(self.chart.to_user(z))

    def with_gradient(self, z):
        """Log likelihoods and their gradients with respect to z."""
        slope = self.chart.gradient_to_coordinates(z, self.problem.gradient(self.chart.to_user(z)))
        return self.likelihood(z), slope + z

    def joint(self, z):
        """Log joint densities at points (n, d)."""
        return self.likelihood(z) + self.chart.log_prior(z)

    def at(self, z):
        """Log joint density and gradient at one point (d,)."""
        value, slope = self.with_gradient(z[None])
        return float(value[0] + self.chart.log_prior(z[None])[0]), slope[0] - z


def standard(d):
    return fwbq.Gaussian(np.zeros(d), np.eye(d))


def fwbq_gradients(budget):
    def method(f, seed):
        found = fwbq.evidence(f.with_gradient, standard(f.dim), gradient=True, n=budget, rng=seed)
        return found.log_evidence, found.sd

    return method


def fwbq_values(f, seed):
    found = fwbq.evidence(f.likelihood, standard(f.dim), n=max(BUDGETS), rng=seed)
    return found.log_evidence, found.sd


def top(f, seed):
    """Climb by BFGS from the best of five points of the prior; curvature by differences of gradients."""
    starts = np.random.default_rng(seed).standard_normal((5, f.dim))
    start = starts[np.argmax(f.joint(starts))]
    end = minimize(lambda z: tuple(-np.array(part) for part in f.at(z)), start, jac=True, method="BFGS").x
    h = 1e-4
    H = np.array([(f.at(end + h * e)[1] - f.at(end - h * e)[1]) / (2.0 * h) for e in np.eye(f.dim)])
    values, axes = np.linalg.eigh(-0.5 * (H + H.T))
    return end, (axes / np.where(values > 1e-6, values, 1.0)) @ axes.T


def laplace(f, seed):
    end, cov = top(f, seed)
    return f.at(end)[0] + 0.5 * np.linalg.slogdet(2.0 * np.pi * cov)[1], np.nan


def laplace_sampled(f, seed):
    """Importance sampling from a Student-t at the top with what is left of the evaluations."""
    end, cov = top(f, seed)
    law = multivariate_t(end, 1.2 * cov, df=5)
    z = law.rvs(max(max(BUDGETS) - f.calls, 20), random_state=np.random.default_rng([seed, 1])).reshape(-1, f.dim)
    logs = f.joint(z) - law.logpdf(z)
    w = np.exp(logs - logs.max())
    return logsumexp(logs) - np.log(len(z)), float(w.std(ddof=1) / w.mean() / np.sqrt(len(w)))


class Tree:
    """One transition of NUTS with multinomial sampling (Betancourt 2017), at most ten doublings."""

    def __init__(self, f, root, step, rng):
        self.f, self.root, self.step, self.rng = f, root, step, rng

    def leap(self, z, p, g, sign):
        p = p + 0.5 * sign * self.step * (self.root.T @ g)
        z = z + sign * self.step * (self.root @ p)
        value, g = self.f.at(z)
        g = np.nan_to_num(g)
        return z, p + 0.5 * sign * self.step * (self.root.T @ g), g, value

    def build(self, state, sign, depth, energy):
        """Return both ends, the point chosen, the log weight, the sum of momenta, whether to go on, and acceptance."""
        if depth == 0:
            z, p, g, value = self.leap(*state, sign)
            weight = value - 0.5 * p @ p - energy
            weight = weight if np.isfinite(weight) else -np.inf
            end = (z, p, g)
            return end, end, (z, value, g), weight, p, weight > -1000.0, [min(1.0, np.exp(min(weight, 0.0)))]
        near, far, chosen, weight, total, fine, accepted = self.build(state, sign, depth - 1, energy)
        if not fine:
            return near, far, chosen, weight, total, False, accepted
        _, far, other, more, further, fine, also = self.build(far, sign, depth - 1, energy)
        both = np.logaddexp(weight, more)
        if np.log(self.rng.uniform()) < more - both:
            chosen = other
        total = total + further
        fine = fine and near[1] @ total > 0.0 and far[1] @ total > 0.0
        return near, far, chosen, both, total, fine, accepted + also

    def transition(self, z, value, g):
        p = self.rng.standard_normal(len(z))
        energy = value - 0.5 * p @ p
        ends, chosen, weight, total, accepted = {1: (z, p, g), -1: (z, p, g)}, (z, value, g), 0.0, p, []
        for depth in range(10):
            sign = 1 if self.rng.uniform() < 0.5 else -1
            _, far, other, more, further, fine, also = self.build(ends[sign], sign, depth, energy)
            accepted += also
            if not fine:
                break
            if np.log(self.rng.uniform()) < more - weight:
                chosen = other
            ends[sign], weight, total = far, np.logaddexp(weight, more), total + further
            if ends[1][1] @ total <= 0.0 or ends[-1][1] @ total <= 0.0:
                break
        return chosen, float(np.mean(accepted))


def nuts(f, seed, size, warmup=500):
    """Draws (size, d) and their log joint densities; the metric is learnt in three windows of the warm-up."""
    rng = np.random.default_rng(seed)
    starts = rng.standard_normal((5, f.dim))
    z = starts[np.argmax(f.joint(starts))]
    state, root, kept, step = (z, *f.at(z)), np.eye(f.dim), [], 0.1
    begin, mean_error, averaged, count = np.log(10.0 * step), 0.0, np.log(step), 0
    for t in range(warmup + size):
        state, accepted = Tree(f, root, step, rng).transition(*state)
        kept.append(state[:2])
        if t < warmup:  # dual averaging (Hoffman and Gelman 2014)
            count += 1
            mean_error += (0.8 - accepted - mean_error) / (count + 10.0)
            log_step = begin - np.sqrt(count) / 0.05 * mean_error
            averaged += count**-0.75 * (log_step - averaged)
            step = np.exp(log_step)
        if t in (75, 150, 300):
            window = np.array([z for z, _ in kept[t // 2 :]])
            share = len(window) / (len(window) + 5.0)
            root = np.linalg.cholesky(
                share * np.cov(window.T).reshape(f.dim, f.dim) + (1.0 - share) * 1e-3 * np.eye(f.dim)
            )
            step, count, mean_error = 1.0, 0, 0.0
            begin = averaged = np.log(step)
        if t == warmup - 1:
            step = np.exp(averaged)
    return np.array([z for z, _ in kept[warmup:]]), np.array([value for _, value in kept[warmup:]])


def bridge(f, seed):
    """Bridge sampling (Meng and Wong 1996): one half of the draws makes the Gaussian, the other half the bridge."""
    z, values = nuts(f, seed, DRAWS)
    half = DRAWS // 2
    law = multivariate_normal(z[:half].mean(axis=0), np.cov(z[:half].T))
    new = law.rvs(half, random_state=np.random.default_rng([seed, 2])).reshape(-1, f.dim)
    old, fresh = values[half:] - law.logpdf(z[half:]), f.joint(new) - law.logpdf(new)
    log_z = float(np.median(old))
    for _ in range(1000):
        before, log_z = (
            log_z,
            log_z + float(logsumexp(fresh - np.logaddexp(fresh, log_z)) - logsumexp(-np.logaddexp(old, log_z)) - log_z),
        )
        if abs(log_z - before) < 1e-10:
            break
    # The draws are not independent; blocks of 25 nearly are.
    upper, lower = np.exp(fresh - np.logaddexp(fresh, log_z)), np.exp(-np.logaddexp(old - log_z, 0.0))
    blocks = lower.reshape(-1, 25).mean(axis=1)
    errors = upper.std() / upper.mean() / np.sqrt(half), blocks.std() / blocks.mean() / np.sqrt(len(blocks))
    return log_z, float(np.hypot(*errors))


def pymc_smc(f, seed):
    """PyMC's sequential Monte Carlo with its defaults, but for one core and half of the draws, in two chains."""
    import pymc as pm
    import pytensor.tensor as pt
    from pytensor.graph.op import Op

    class Potential(Op):
        itypes, otypes = (pt.dvector,), (pt.dscalar,)

        def perform(self, node, inputs, outputs):
            outputs[0][0] = np.array(f.likelihood(inputs[0][None])[0])

    with pm.Model():
        z = pm.Normal("z", 0.0, 1.0, shape=f.dim)
        pm.Potential("likelihood", Potential()(z))
        trace = pm.sample_smc(DRAWS, chains=2, cores=1, random_seed=seed, progressbar=False)
    logs = [float(np.asarray(chain, dtype=float)[~np.isnan(np.asarray(chain, dtype=float))][-1])
            for chain in np.atleast_1d(trace.sample_stats["log_marginal_likelihood"].values)]  # fmt: skip
    return float(np.mean(logs)), float(np.std(logs, ddof=1) / np.sqrt(len(logs)))


def pyvbmc(f, seed):
    from pyvbmc import VBMC

    np.random.seed(seed)  # noqa: NPY002 (PyVBMC draws from the global generator)
    d = f.dim
    vbmc = VBMC(
        lambda z: max(float(f.joint(np.atleast_2d(z))[0]), -1e6), np.zeros((1, d)),
        plausible_lower_bounds=np.full((1, d), -1.0), plausible_upper_bounds=np.full((1, d), 1.0),
        options={"max_fun_evals": max(BUDGETS), "display": "off"},
    )  # fmt: skip
    _, results = vbmc.optimize()
    return float(results["elbo"]), float(results["elbo_sd"])


METHODS = {
    **{f"fwbq, gradients, n = {n}": (fwbq_gradients(n), None) for n in BUDGETS},
    f"fwbq, values, n = {max(BUDGETS)}": (fwbq_values, None),
    "Laplace": (laplace, None),
    "Laplace + importance sampling": (laplace_sampled, None),
    "NUTS + bridge sampling": (bridge, None),
    "PyMC's SMC": (pymc_smc, "pymc"),
    "PyVBMC, values": (pyvbmc, "pyvbmc"),
}


def answer(name, family, seed):
    """Error, sd, evaluations and CPU seconds of one method on one problem, as text."""
    f = Density(FAMILIES[family](np.random.default_rng([7, seed])))
    begin = time.process_time()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            logging.disable(logging.WARNING)
            with limited(float(os.environ.get("FWBQ_BENCH_LIMIT", "300"))):
                value, sd = METHODS[name][0](f, seed)
        found = f"{value - f.problem.log_evidence:+.1e} | {'' if np.isnan(sd) else f'{sd:.0e}'}"
    except OutOfTime:
        found = "no answer in time | "
    except Exception as error:  # a peer that fails is a row too
        found = f"{type(error).__name__} | "
    return f"{found} | {f.calls} | {time.process_time() - begin:.1f}"


def main():
    seeds = range(int(os.environ.get("FWBQ_BENCH_SEEDS", "1")))
    chosen = os.environ.get("FWBQ_BENCH_PEERS", ";".join(METHODS)).split(";")
    print("| problem | method | error | stated sd | evaluations | CPU s |\n|---|---|---|---|---|---|", flush=True)
    for seed in seeds:
        for family in PROBLEMS:
            for name in chosen:
                package = METHODS[name][1]
                if package is None or importlib.util.find_spec(package) is not None:
                    print(f"| {family} | {name} | {answer(name, family, seed)} |", flush=True)


if __name__ == "__main__":
    main()
