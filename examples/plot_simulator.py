"""
A simulator with uncertain inputs
=================================

An epidemic model has three inputs that are known only roughly. What does it predict on average, and how uncertain is
the prediction? The inputs get distributions of ``scipy.stats``, and a hundred runs of the simulator are enough.
"""

# %%
# The simulator solves the equations of Kermack and McKendrick for susceptible and infected shares of a population, and
# returns the highest share that is infected at one time, and the share that has been infected in the end. It takes one
# point at a time: ``integrate`` finds that out by itself.

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats
from scipy.integrate import solve_ivp

import fwbq
from fwbq import plots


def epidemic(inputs):
    """Return the highest and the final share of infected, for one point."""
    reproduction, days, start = inputs

    def rates(_, state):
        infections = reproduction / days * state[0] * state[1]
        return [-infections, infections - state[1] / days]

    path = solve_ivp(
        rates,
        (0.0, 40.0 * days),
        [1.0 - start, start],
        rtol=1e-8,
        atol=1e-10,
        dense_output=True,
    )
    infected = path.sol(np.linspace(0.0, 40.0 * days, 2001))[1]
    return np.array([infected.max(), 1.0 - path.y[0, -1]])


# %%
# The reproduction number is lognormal with median 2.5, people are infectious for about five days (gamma), and between
# one in 10,000 and one in 100 are infected at the start (log-uniform).

inputs = fwbq.Product(
    [
        stats.lognorm(0.15, scale=2.5),
        stats.gamma(25.0, scale=0.2),
        stats.loguniform(1e-4, 1e-2),
    ]
)

# %%
# Mean, spread and probabilities of both outputs come from the same hundred runs.

result = fwbq.integrate(epidemic, inputs, n=100, rng=0)
spread, large = result.std(), result.probability(above=0.3)
for i, name in enumerate(("highest share infected", "share infected in the end")):
    print(
        f"{name}: {result.mean[i]:.4f} ± {spread.mean[i]:.4f}, "
        f"above 30 % with probability {large.mean[i]:.3f}; "
        f"numerical error of the mean {result.sd[i]:.1g}"
    )

# %%
# These are two kinds of uncertainty. That of the inputs stays however long one computes. That of the computation comes
# from a hundred runs; for a Monte Carlo mean of as many it would be a tenth of the first.

sample = np.array([epidemic(x)[0] for x in inputs.sample(100, rng=0)])
print(
    f"Monte Carlo, 100 runs: {sample.mean():.4f}, standard error {sample.std(ddof=1) / 10.0:.1g}"
)

# %%
# Where the simulator was run, and what it returned. The peak follows the reproduction number; the other inputs hardly
# move it, and the length-scales that were fitted to the values say so.

with plots.style():
    figure, axes = plt.subplots(1, 3, figsize=(7.6, 2.6), sharey=True, layout="constrained")
    labels = ("reproduction number", "days infected", "share at the start")
    for ax, column, label in zip(axes, result.points.T, labels, strict=True):
        ax.plot(column, result.values[:, 0], ".", color=plots.BLUE)
        ax.axhline(result.mean[0], color="#999999", linestyle="--", linewidth=1)
        ax.set(xlabel=label)
    axes[2].set(xscale="log")
    axes[0].set(ylabel="highest share infected")
plt.show()
