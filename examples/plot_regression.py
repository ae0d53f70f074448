"""
O-rings and temperature: regression models by evidence
======================================================

Did cold weather damage the O-rings of the space shuttle? Three regression models of 23 launches before the Challenger
accident are compared by their evidence; the Bayes factors between them, and the risk that the best one predicts for the
cold morning of the accident, come with their numerical error.
"""

# %%
# The data are those of Dalal, Fowlkes and Hoadley (J. Amer. Statist. Assoc. 84, 1989): the temperature at each launch,
# in degrees Fahrenheit, and whether any primary O-ring showed thermal distress.

import matplotlib.pyplot as plt
import numpy as np

import fwbq
from fwbq import plots

temperature = np.array(
    [66, 70, 69, 68, 67, 72, 73, 70, 57, 63, 70, 78,
     67, 53, 67, 75, 70, 81, 76, 79, 75, 76, 58]
)  # fmt: skip
distress = np.array([0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1])
x = (temperature - 70.0) / 10.0
print(f"{len(x)} launches, distress at {distress.sum()} of them")

# %%
# Logistic regression: the log odds are a polynomial in temperature, of degree 0, 1 or 2. The prior of every coefficient
# is Gaussian: odds between 1 : 50 and 50 : 1, and effects of up to a factor of 50 per ten degrees, are expected.


def log_odds(theta, x):
    """Return the log odds (n, len(x)) for coefficients (n, k)."""
    return np.polynomial.polynomial.polyval(x, theta.T)


def log_likelihood(theta):
    """Return the log likelihood of the 23 launches for coefficients (n, k), (n,)."""
    odds = log_odds(theta, x)
    return np.sum(
        np.where(distress == 1, -np.logaddexp(0.0, -odds), -np.logaddexp(0.0, odds)), axis=1
    )


names = ("constant", "linear", "quadratic")
models = {
    name: fwbq.Model(log_likelihood, fwbq.Gaussian(np.zeros(k), 4.0))
    for k, name in enumerate(names, start=1)
}

# %%
# Each model gets points of its own, at most 60 evaluations of its likelihood.

found = fwbq.compare_models(models, n=60, race=False, rng=0)
print(
    found.to_frame()[["model", "log_evidence", "log_evidence_sd", "probability"]]
    .round(3)
    .to_string(index=False)
)

# %%
# A Bayes factor is the ratio of two evidences. Its interval says how far the number of evaluations leaves it open, its
# words are those of Kass and Raftery.

for one, other in (("linear", "constant"), ("linear", "quadratic")):
    print(found.bayes_factor(one, other))

# %%
# The posterior of one model, and what it expects at 31 degrees, the forecast for the morning of the accident. No launch
# before had been colder than 53 degrees: this is an extrapolation, and the width of the band says so.

line = models["linear"].evidence(n=60, rng=0)
cold = (31.0 - 70.0) / 10.0
risk, sd = line.posterior.expect(
    lambda theta: 1.0 / (1.0 + np.exp(-log_odds(theta, np.array([cold]))[:, 0]))
)
print(line.summary())
print(
    f"probability of distress at 31 degrees: {risk:.3f}, numerical standard deviation {sd:.1g}"
)

grid = np.linspace(30.0, 85.0, 111)
draws = line.posterior.sample(2000, rng=0)
curves = 1.0 / (1.0 + np.exp(-log_odds(draws, (grid - 70.0) / 10.0)))
low, middle, high = np.quantile(curves, [0.05, 0.5, 0.95], axis=0)

with plots.style():
    figure, ax = plt.subplots(figsize=(5.6, 3.2))
    ax.fill_between(
        grid,
        low,
        high,
        color=plots.BLUE,
        alpha=0.2,
        linewidth=0,
        label="90 % of the posterior",
    )
    ax.plot(grid, middle, color=plots.BLUE, label="median")
    jitter = np.random.default_rng(0).uniform(-0.02, 0.02, len(x))
    ax.plot(
        temperature,
        distress + jitter,
        "o",
        color="#555555",
        markersize=4,
        alpha=0.7,
        label="launches",
    )
    ax.axvline(31.0, color="#999999", linestyle=":", label="31 °F")
    ax.set(
        xlabel="temperature at launch (°F)",
        ylabel="probability of distress",
        ylim=(-0.06, 1.06),
    )
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
plt.show()
