"""
Hare and lynx: three ODE models by evidence
===========================================

Which differential equations describe a real series best? Three models of predator and prey are compared by their
evidence, with a few hundred solutions of each, and the posterior of their parameters comes with it.
"""

# %%
# The data are pelts, in thousands, that the Hudson's Bay Company collected in 1900 to 1920.

import warnings
from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import least_squares
from scipy.special import gammaln

import fwbq
from fwbq import plots

with (files("fwbq") / "data" / "hare_lynx.csv").open() as file:
    pelts = pd.read_csv(file)
log_pelts = np.log(pelts[["hare", "lynx"]].to_numpy())
print(pelts.head(3))

# %%
# Each model gives the rates at which log hare and log lynx change, from the populations u and v and the parameters,
# which are all positive: growth a and loss b of the hares, death c and growth d of the lynx. In the second model the
# hares alone would not exceed a capacity k; in the third the lynx are sated by many hares, half so at h.


def lotka_volterra(u, v, a, b, c, d):
    """Growth without bound, hunting in proportion to the hares."""
    return a - b * v, d * u - c


def logistic(u, v, a, b, c, d, k):
    """Growth of the hares up to a capacity."""
    return a * (1.0 - u / k) - b * v, d * u - c


def sated(u, v, a, b, c, d, h):
    """Hunting that saturates: Holling's response of type II."""
    eaten = 1.0 / (1.0 + u / h)
    return a - b * v * eaten, d * u * eaten - c


STEPS = 10  # a year, of the classical Runge-Kutta method: errors near 1e-4 of the populations


def solve(rates, theta):
    """Return log populations (n, 201, 2) for parameters (n, d), the logarithms of populations in 1900 and of rates."""
    state, parameters = theta[:, :2].T, np.exp(theta[:, 2:].T)

    def slope(s):
        return np.array(rates(*np.exp(s), *parameters))

    path, step = [state], 1.0 / STEPS
    for _ in range(20 * STEPS):
        k1 = slope(state)
        k2 = slope(state + 0.5 * step * k1)
        k3 = slope(state + 0.5 * step * k2)
        k4 = slope(state + step * k3)
        # Parameters far off make populations explode or vanish; they are held where numbers stay finite.
        state = np.clip(state + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), -30.0, 9.0)
        path.append(state)
    return np.transpose(path, (2, 0, 1))


# %%
# The noise is log-normal, with a variance for each species that is not known. Its prior is inverse gamma with shape 2
# and scale 0.1, so that it can be integrated out by hand: what has a formula should not be left to a computer. Left is
# the logarithm of a Student-t density of the residuals, which is also easier to explore than the Gaussian one.

SHAPE, SCALE = 2.0, 0.1


def log_likelihood(rates, theta):
    """Return the log likelihood (n,) for parameters (n, d)."""
    squares = np.sum((log_pelts - solve(rates, theta)[:, ::STEPS]) ** 2, axis=1)
    m = len(log_pelts)
    constant = (
        gammaln(SHAPE + m / 2)
        - gammaln(SHAPE)
        + SHAPE * np.log(SCALE)
        - m / 2 * np.log(2 * np.pi)
    )
    each = constant - (SHAPE + m / 2) * np.log(SCALE + squares / 2)
    return each.sum(axis=1) - log_pelts.sum()


# %%
# Priors are normal for the logarithms: populations in 1900 around 20,000 within a factor e; rates around 0.5 a year or,
# per thousand animals, 0.03, within a factor of two; k and h around 100,000 within a factor e.

NAMES = ["log u0", "log v0", "log a", "log b", "log c", "log d"]
CENTRE = np.log([20.0, 20.0, 0.5, 0.03, 0.5, 0.03])
WIDTH = [1.0, 1.0, 0.7, 0.7, 0.7, 0.7]
MODELS = {
    "Lotka-Volterra": (lotka_volterra, []),
    "logistic": (logistic, ["log k"]),
    "sated": (sated, ["log h"]),
}


def prior_of(extra):
    """Return the prior of a model with these parameters beside the six."""
    centre = np.concatenate([CENTRE, np.full(len(extra), np.log(100.0))])
    return fwbq.Gaussian(centre, np.diag(np.square(WIDTH + [1.0] * len(extra))))


# %%
# From the prior alone, the run must find a posterior of about a seventh of the prior's width in each of six parameters,
# in a landscape of false summits: solutions out of step with the data. Read `success` before anything else. When it is
# False the mass was not found, and the interval says so by its width.

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the warning says what `status` says
    alone = fwbq.evidence(
        lambda x: log_likelihood(lotka_volterra, x), prior_of([]), n=100, rng=0
    )
print(f"success: {alone.success}; log evidence {alone.log_evidence:.0f} ± {alone.sd:.0f}")
print(alone.status)

# %%
# The remedy is a start. A least-squares fit is what one would make anyway. It begins at rates read off the data: the
# yearly growth of log hare is regressed on the lynx, and that of log lynx on the hares. The fit also tells the widths
# of the posterior, roughly. Then the log joint density is all that the run needs. Each model gets as many solves as it
# takes to know its log evidence within 1 (half of the 95 % interval), at most 600.

growth, middle = np.diff(log_pelts, axis=0), np.exp(0.5 * (log_pelts[1:] + log_pelts[:-1]))
one = np.ones(len(growth))
a, b = np.linalg.lstsq(np.column_stack([one, -middle[:, 1]]), growth[:, 0], rcond=None)[0]
d, c = np.linalg.lstsq(np.column_stack([middle[:, 0], -one]), growth[:, 1], rcond=None)[0]
read_off = np.concatenate([log_pelts[0], np.log([a, b, c, d])])


def fit(rates, prior):
    """Return the best fit under the prior, the covariance of the parameters there, and the solves that it took."""
    sd = np.sqrt(np.diagonal(prior.cov))
    solves = 0

    def residuals(x):
        nonlocal solves
        solves += 1
        misfit = (log_pelts - solve(rates, x[None])[0, ::STEPS]) / 0.25
        return np.concatenate([misfit.ravel(), (x - prior.mean) / sd])

    start = np.concatenate([read_off, np.full(prior.dim - 6, np.log(500.0))])
    best = least_squares(residuals, start, x_scale=sd, diff_step=1e-4)
    return best.x, np.linalg.inv(best.jac.T @ best.jac), solves


found, fits = {}, {}
for name, (rates, extra) in MODELS.items():
    prior = prior_of(extra)
    fits[name] = fit(rates, prior)

    def log_joint(x, rates=rates, prior=prior):
        """Return log likelihood plus log prior density."""
        return log_likelihood(rates, x) + prior.log_density(x)

    best, cov, _ = fits[name]
    found[name] = fwbq.evidence(
        log_joint, start=best, scale=np.sqrt(np.diagonal(cov)), tol=1.0, n=600, rng=0
    )
    print(f"{name}\n{found[name].summary()}\n")

# %%
# The posterior of the parameters, by one call. Dots are the points at which the equations were solved.

found["Lotka-Volterra"].plot(names=NAMES)
plt.show()

# %%
# Evidences with their numerical error, and what they make of the probabilities of the models when these are equal
# beforehand. Each draw takes every log evidence from its own posterior, so that the last columns show whether more
# computing could change the ranking.

rng = np.random.default_rng(0)
draws = np.column_stack(
    [f.log_evidence + f.scale * rng.standard_t(10, size=4000) for f in found.values()]
)
shares = np.exp(draws - draws.max(axis=1, keepdims=True))
shares /= shares.sum(axis=1, keepdims=True)
table = pd.DataFrame(
    {
        "log evidence": [f.log_evidence for f in found.values()],
        "sd": [f.sd for f in found.values()],
        "success": [f.success for f in found.values()],
        "solves": [f.n_evaluations + fits[name][2] for name, f in found.items()],
        "probability": shares.mean(axis=0),
        "5 %": np.quantile(shares, 0.05, axis=0),
        "95 %": np.quantile(shares, 0.95, axis=0),
    },
    index=list(found),
)
print(table.round(3).to_string())

# %%
# The simplest model is the most probable: the series gives no reason for a capacity or for satiation, and the
# numerical error is too small to change that. It says nothing about models that were not tried.
#
# Is the stated error true? Importance sampling from a Student-t density around the fit answers with 5,000 solves of
# each model. That it serves here is luck: these posteriors are nearly Gaussian.

for name, (rates, extra) in MODELS.items():
    prior, (best, cov, _) = prior_of(extra), fits[name]
    proposal = stats.multivariate_t(best, 1.3 * cov, df=6)
    x = proposal.rvs(5000, random_state=1)
    log_ratio = log_likelihood(rates, x) + prior.log_density(x) - proposal.logpdf(x)
    ratio = np.exp(log_ratio - log_ratio.max())
    value, sd = (
        log_ratio.max() + np.log(ratio.mean()),
        ratio.std() / ratio.mean() / np.sqrt(len(ratio)),
    )
    low, high = found[name].interval(0.95)
    print(
        f"{name:15} sampled {value:.2f} ± {sd:.2f}, stated 95 % interval [{low:.2f}, {high:.2f}]"
    )

# %%
# Last, the fits: medians and 90 % bands of the noise-free populations under each posterior.

with plots.style():
    figure, axes = plt.subplots(1, 3, figsize=(9.0, 2.9), sharey=True)
    times = 1900 + np.arange(20 * STEPS + 1) / STEPS
    for ax, (name, (rates, _)) in zip(axes, MODELS.items(), strict=True):
        paths = np.exp(solve(rates, found[name].posterior.sample(400, rng=0)))
        low, median, high = np.quantile(paths, [0.05, 0.5, 0.95], axis=0)
        for i, (species, colour) in enumerate(
            [("hare", plots.BLUE), ("lynx", plots.VERMILLION)]
        ):
            ax.fill_between(
                times, low[:, i], high[:, i], color=colour, alpha=0.25, linewidth=0
            )
            ax.plot(times, median[:, i], color=colour, label=species)
            ax.plot(pelts["year"], pelts[species], "o", color=colour, markersize=3)
        ax.set(title=name, xlabel="year", xticks=[1900, 1910, 1920])
    axes[0].set_ylabel("pelts, thousands")
    axes[0].legend()
plt.show()
