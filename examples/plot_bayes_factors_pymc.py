"""
Bayes factors of PyMC models in a minute
========================================

Regressions with up to ten coefficients, and a hierarchical logistic regression, are written in PyMC and compared by
their evidence. PyMC derives the gradients of the log densities, so that some hundred evaluations of each are enough.
PyMC's own sequential Monte Carlo (SMC) does the same beside it.
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
from scipy.integrate import quad

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
    "weight and power": ["weight", "hp"],
    "stepwise": ["weight", "quarter", "manual"],
    "all ten": names,
}


def regression(some):
    """Return the regression of consumption on some of the properties, as a PyMC model."""
    with pm.Model() as model:
        level = pm.Normal("level", 20.0, 10.0)
        slopes = pm.Normal("slopes", 0.0, 3.0, shape=len(some))
        noise = pm.HalfNormal("noise", 5.0)
        mean = level + X[:, [names.index(name) for name in some]] @ slopes
        pm.Normal("mpg", mean, noise, observed=mpg)
    return model


# %%
# ``Model.from_pymc`` takes log density and gradient from PyMC; the parameters are those that PyMC samples, the
# logarithm of the noise among them. The evidence is found from 150 evaluations.

began = time.perf_counter()
found = {}
for name, some in chosen.items():
    found[name] = fwbq.Model.from_pymc(regression(some)).evidence(n=150, rng=0)
seconds = time.perf_counter() - began
print(found["all ten"].summary())
print(f"\nthree models: {seconds:.0f} seconds, most of which PyMC compiles")

# %%
# For these models the evidence is known: given the noise the data are Gaussian, and one integral is left. SMC is run on
# the largest model, with two chains of 500 draws: tens of thousands of evaluations.


def exact(some):
    """Return the log evidence by an integral over the noise."""
    Z = X[:, [names.index(name) for name in some]]
    cov = 100.0 + 9.0 * Z @ Z.T

    def log_density(noise):
        given = stats.multivariate_normal(np.full(32, 20.0), cov + noise**2 * np.eye(32))
        return given.logpdf(mpg) + stats.halfnorm(scale=5.0).logpdf(noise)

    top = log_density(2.5)
    return top + np.log(quad(lambda noise: np.exp(log_density(noise) - top), 1.0, 10.0)[0])


began = time.perf_counter()
with regression(names):
    trace = pm.sample_smc(draws=500, chains=2, cores=1, random_seed=1, progressbar=False)
smc_seconds = time.perf_counter() - began
smc = [np.ravel(chain)[-1] for chain in trace.sample_stats["log_marginal_likelihood"].values]
smc = [float(np.ravel(last)[-1]) for last in smc]

table = pd.DataFrame(
    {
        "log evidence": [each.log_evidence for each in found.values()],
        "sd": [each.sd for each in found.values()],
        "exact": [exact(some) for some in chosen.values()],
    },
    index=list(chosen),
)
print(table.round(3).to_string())
print(
    f"\nSMC on all ten: {smc[0]:.2f} and {smc[1]:.2f} in two chains, {smc_seconds:.0f} seconds"
)

# %%
# The Bayes factors follow. The numerical error is far below what would change a conclusion: ten properties are too many
# for 32 cars.

for name in ("stepwise", "all ten"):
    log = found[name].log_evidence - found["weight and power"].log_evidence
    sd = np.hypot(found[name].sd, found["weight and power"].sd)
    print(f"{name} against weight and power: log Bayes factor {log:.2f} ± {sd:.2g}")

# %%
# A hierarchical model
# --------------------
# Admissions to the six largest departments of Berkeley in 1973, by sex (Bickel, Hammel and O'Connell, Science 187,
# 1975). Departments differ in how many they admit. Does sex matter, given the department? With hundreds of applicants
# to each department its log odds are well known, and they are the parameters. Where groups have few data, effects
# written as standard normal numbers times their spread ("non-centred") are the better parameters.

department = np.repeat(np.arange(6), 2)
female = np.tile([0.0, 1.0], 6)
admitted = np.array([512, 89, 353, 17, 120, 202, 138, 131, 53, 94, 22, 24])
rejected = np.array([313, 19, 207, 8, 205, 391, 279, 244, 138, 299, 351, 317])


def admissions(with_sex):
    """Return the hierarchical logistic regression, with an effect of sex or without."""
    with pm.Model() as model:
        level = pm.Normal("level", 0.0, 1.5)
        spread = pm.HalfNormal("spread", 1.5)
        odds = pm.Normal("odds", level, spread, shape=6)[department]
        if with_sex:
            odds = odds + pm.Normal("sex", 0.0, 1.0) * female
        pm.Binomial("admitted", n=admitted + rejected, logit_p=odds, observed=admitted)
    return model


models = {
    name: fwbq.Model.from_pymc(admissions(name == "with sex"))
    for name in ("without sex", "with sex")
}
both = fwbq.compare_models(models, n=200, race=False, rng=0)
columns = ["model", "log_evidence", "log_evidence_sd", "probability"]
print(both.to_frame()[columns].round(3).to_string(index=False))
print(both.bayes_factor("without sex", "with sex"))
