"""
Bayes factors of PyMC models in a minute
========================================

Regressions with up to ten coefficients, and a hierarchical logistic regression, are written in PyMC and compared by
their evidence. PyMC derives the gradients of the log densities, so that some hundred evaluations of each are enough.
PyMC's own sequential Monte Carlo (SMC) does the same beside it, and quadrature tells who is right.
"""

# %%
# The fuel consumption of 32 cars of 1974, with ten of their properties: data of the magazine *Motor Trend*, from
# Henderson and Velleman (Biometrics 37, 1981). The columns are miles per gallon, number of cylinders, displacement,
# horsepower, ratio of the rear axle, weight, seconds for a quarter of a mile, shape of the engine (V or straight),
# gearbox (automatic or manual), number of gears and number of carburettors.

import time

import numpy as np
import pandas as pd
import pymc as pm
from scipy import stats
from scipy.special import expit, logsumexp

import fwbq

cars = np.array(
    """
    21.0 6 160.0 110 3.90 2.620 16.46 0 1 4 4   21.0 6 160.0 110 3.90 2.875 17.02 0 1 4 4
    22.8 4 108.0  93 3.85 2.320 18.61 1 1 4 1   21.4 6 258.0 110 3.08 3.215 19.44 1 0 3 1
    18.7 8 360.0 175 3.15 3.440 17.02 0 0 3 2   18.1 6 225.0 105 2.76 3.460 20.22 1 0 3 1
    14.3 8 360.0 245 3.21 3.570 15.84 0 0 3 4   24.4 4 146.7  62 3.69 3.190 20.00 1 0 4 2
    22.8 4 140.8  95 3.92 3.150 22.90 1 0 4 2   19.2 6 167.6 123 3.92 3.440 18.30 1 0 4 4
    17.8 6 167.6 123 3.92 3.440 18.90 1 0 4 4   16.4 8 275.8 180 3.07 4.070 17.40 0 0 3 3
    17.3 8 275.8 180 3.07 3.730 17.60 0 0 3 3   15.2 8 275.8 180 3.07 3.780 18.00 0 0 3 3
    10.4 8 472.0 205 2.93 5.250 17.98 0 0 3 4   10.4 8 460.0 215 3.00 5.424 17.82 0 0 3 4
    14.7 8 440.0 230 3.23 5.345 17.42 0 0 3 4   32.4 4  78.7  66 4.08 2.200 19.47 1 1 4 1
    30.4 4  75.7  52 4.93 1.615 18.52 1 1 4 2   33.9 4  71.1  65 4.22 1.835 19.90 1 1 4 1
    21.5 4 120.1  97 3.70 2.465 20.01 1 0 3 1   15.5 8 318.0 150 2.76 3.520 16.87 0 0 3 2
    15.2 8 304.0 150 3.15 3.435 17.30 0 0 3 2   13.3 8 350.0 245 3.73 3.840 15.41 0 0 3 4
    19.2 8 400.0 175 3.08 3.845 17.05 0 0 3 2   27.3 4  79.0  66 4.08 1.935 18.90 1 1 4 1
    26.0 4 120.3  91 4.43 2.140 16.70 0 1 5 2   30.4 4  95.1 113 3.77 1.513 16.90 1 1 5 2
    15.8 8 351.0 264 4.22 3.170 14.50 0 1 5 4   19.7 6 145.0 175 3.62 2.770 15.50 0 1 5 6
    15.0 8 301.0 335 3.54 3.570 14.60 0 1 5 8   21.4 4 121.0 109 4.11 2.780 18.60 1 1 4 2
    """.split(),
    dtype=float,
).reshape(32, 11)
names = [
    "cyl",
    "disp",
    "hp",
    "axle",
    "weight",
    "quarter",
    "straight",
    "manual",
    "gears",
    "carb",
]
mpg = cars[:, 0]
X = (cars[:, 1:] - cars[:, 1:].mean(axis=0)) / cars[:, 1:].std(axis=0)

# %%
# Three regressions: on weight and power, on what a stepwise search ends with, and on everything. A standard deviation
# of a property changes the consumption by a few miles per gallon.

chosen = {
    "weight and power": X[:, [names.index("weight"), names.index("hp")]],
    "stepwise": X[:, [names.index(name) for name in ("weight", "quarter", "manual")]],
    "all ten": X,
}


def regression(Z):
    """Return the regression of consumption on the columns of Z, as a PyMC model."""
    with pm.Model() as model:
        level = pm.Normal("level", 20.0, 10.0)
        slopes = pm.Normal("slopes", 0.0, 3.0, shape=Z.shape[1])
        noise = pm.HalfNormal("noise", 5.0)
        pm.Normal("mpg", level + (Z * slopes).sum(axis=1), noise, observed=mpg)
    return model


# %%
# Deaths after heart surgery on babies in twelve hospitals (the example *Surgical* of BUGS). Is the risk the same
# everywhere, or do hospitals differ? With few deaths in most, effects are written as standard normal numbers times
# their spread ("non-centred"). Where groups have hundreds of cases of both kinds, the log odds of the groups are the
# better parameters.

deaths = np.array([0, 18, 8, 46, 8, 13, 9, 31, 14, 8, 29, 24])
operations = np.array([47, 148, 119, 810, 211, 196, 148, 215, 207, 97, 256, 360])


def surgery(differ):
    """Return the logistic regression, hierarchical if hospitals differ."""
    with pm.Model() as model:
        odds = pm.Normal("level", -2.5, 1.0)
        if differ:
            spread = pm.HalfNormal("spread", 0.5)
            odds = odds + spread * pm.Normal("effects", 0.0, 1.0, shape=12)
        pm.Binomial("deaths", n=operations, logit_p=odds, observed=deaths)
    return model


models = {name: regression(Z) for name, Z in chosen.items()}
models |= {"hospitals alike": surgery(False), "hospitals differ": surgery(True)}

# %%
# ``Model.from_pymc`` takes log density and gradient from PyMC; the parameters are those that PyMC samples, the
# logarithm of the noise among them. ``success`` says whether the mass was found.

evaluations = dict(zip(models, (150, 150, 150, 40, 500), strict=True))
found, seconds = {}, {}
for name, model in models.items():
    began = time.process_time()
    found[name] = fwbq.Model.from_pymc(model).evidence(n=evaluations[name], rng=0)
    seconds[name] = time.process_time() - began
print(found["all ten"].summary())

# %%
# SMC with four chains of 2000 draws, PyMC's default. A kernel that counts is all that is added.


class Counting(pm.smc.IMH):
    """PyMC's own kernel; it notes its evaluations, and the log evidence of each chain."""

    def setup_kernel(self):
        """Count the first draws."""
        counts.append(self.draws)

    def mutate(self):
        """Move all draws some times, and count."""
        super().mutate()
        counts.append(self.draws * (self.n_steps - 1))

    def sample_settings(self):
        """Note the result of a chain at its end."""
        chains.append(self.log_marginal_likelihood)
        return super().sample_settings()


options = {
    "progressbar": False,
    "compute_convergence_checks": False,
    "return_inferencedata": False,
}
smc = {}
for name, model in models.items():
    counts, chains = [], []
    began = time.process_time()
    pm.sample_smc(kernel=Counting, model=model, chains=4, cores=1, random_seed=1, **options)
    cpu = time.process_time() - began
    smc[name] = np.mean(chains), np.std(chains, ddof=1) / 2, sum(counts), cpu

# %%
# For these models the evidence is known. Given the noise, the consumption is Gaussian, and one integral is left. Given
# level and spread, hospitals are independent, and integrals in one dimension are left.


def exact_regression(Z):
    """Return the log evidence by an integral over the noise."""
    noise = np.linspace(1.0, 10.0, 400)
    cov = 100.0 + 9.0 * Z @ Z.T
    given = [
        stats.multivariate_normal(np.full(32, 20.0), cov + s**2 * np.eye(32)).logpdf(mpg)
        for s in noise
    ]
    return logsumexp(given + stats.halfnorm(scale=5.0).logpdf(noise)) + np.log(
        noise[1] - noise[0]
    )


def exact_surgery(differ):
    """Return the log evidence, by Gauss's rules and an even grid for the level."""
    level = np.linspace(-5.0, 0.0, 201)
    effect, weight = np.polynomial.hermite_e.hermegauss(40)
    spread, spread_weight = np.polynomial.legendre.leggauss(40)
    if differ:
        spread, spread_weight = 1.25 * (1.0 + spread), 1.25 * spread_weight
        spread_weight = spread_weight * stats.halfnorm(scale=0.5).pdf(spread)
    else:
        spread, spread_weight = np.zeros(1), np.ones(1)
    share = expit(level[:, None, None] + spread[:, None] * effect)
    log_joint = stats.norm(-2.5, 1.0).logpdf(level)[:, None] + np.log(spread_weight)
    for r, n in zip(deaths, operations, strict=True):
        log_joint += np.log(stats.binom.pmf(r, n, share) @ weight / weight.sum())
    return logsumexp(log_joint) + np.log(level[1] - level[0])


exact = {name: exact_regression(Z) for name, Z in chosen.items()}
exact |= {"hospitals alike": exact_surgery(False), "hospitals differ": exact_surgery(True)}

table = pd.DataFrame(
    {
        "exact": exact,
        "fwbq": {name: f.log_evidence for name, f in found.items()},
        "sd": {name: f.sd for name, f in found.items()},
        "success": {name: f.success for name, f in found.items()},
        "evaluations": evaluations,
        "CPU s": seconds,
    }
)
table[["SMC", "SMC sd", "SMC evaluations", "SMC CPU s"]] = list(smc.values())
print(table.round(3).to_string())

# %%
# With 500 evaluations or fewer, every log evidence has an error below 0.1, as its standard deviation says. SMC takes
# more than 100 times as many. On models as cheap as these both take seconds. Where an evaluation takes a second, it is
# minutes against days.
#
# The Bayes factors follow. Ten properties are too many for 32 cars: the regression on weight and power is about 300
# times as probable. Hospitals differ: that is about 170 times as probable as one risk for all.

for first, second in (
    ("weight and power", "all ten"),
    ("hospitals differ", "hospitals alike"),
):
    pair = fwbq.compare({name: found[name] for name in (first, second)})
    print(pair.bayes_factor(first, second))
