"""
The idea in pictures
====================

What is the integral of a function that was evaluated at a handful of points? A Gaussian process says which functions
pass through the values; each of them has an integral; together they are a distribution over that one number.
"""

# %%
# The integrand below is known at 3, 5 and 7 points. On the left: the function (dashed), the values, and
# the posterior of the function, as a mean with a 95 % band and five draws. On the right: the posterior of its integral
# under a standard Gaussian, with the truth.

import matplotlib.pyplot as plt
import numpy as np

import fwbq
from fwbq import plots


def f(x):
    """Return the integrand at points (n, 1)."""
    return np.sin(2.0 * x[:, 0]) + np.cos(x[:, 0])


TRUTH = np.exp(-0.5)  # of the cosine; the sine is odd
measure = fwbq.Gaussian([0.0], [[1.0]])
kernel = fwbq.ExpQuad(1.0)
embedding = fwbq.embed(kernel, measure)
design = fwbq.SBQ(embedding, candidates=2000, rng=0)

grid = np.linspace(-3.2, 3.2, 161)[:, None]
rng = np.random.default_rng(0)
with plots.style():
    figure, rows = plt.subplots(3, 2, figsize=(6.9, 5.6), sharex="col", width_ratios=(2, 1))
    for (left, right), n in zip(rows, (3, 5, 7), strict=True):
        rule = fwbq.bayes_rule(embedding, design.take(n))
        values = f(rule.points)
        posterior = fwbq.condition(rule, values, amplitude="marginal")

        K, k = kernel(rule.points), kernel(grid, rule.points)
        mean = k @ np.linalg.solve(K, values)
        covariance = posterior.amplitude * (kernel(grid) - k @ np.linalg.solve(K, k.T))
        sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        draws = rng.multivariate_normal(mean, covariance, size=5, check_valid="ignore", method="svd")
        left.fill_between(grid[:, 0], mean - 1.96 * sd, mean + 1.96 * sd, color=plots.SKY, alpha=0.35, linewidth=0)
        left.plot(grid, draws.T, color=plots.BLUE, alpha=0.5, linewidth=0.7)
        left.plot(grid, mean, color=plots.BLUE)
        left.plot(grid, f(grid), "--", color=plots.BLACK, linewidth=1)
        left.plot(rule.points, values, "o", color=plots.VERMILLION, zorder=3)
        left.set(ylim=(-2.6, 2.6), ylabel=f"$f(x)$, $n = {n}$")

        s = np.linspace(0.2, 1.0, 801)
        density = np.gradient(posterior.cdf(s), s)
        right.fill_between(s, density, color=plots.SKY, alpha=0.6, linewidth=0)
        right.axvline(TRUTH, color=plots.BLACK, linestyle="--", linewidth=1)
        right.set(ylim=(0, None), yticks=[], ylabel="density")
    rows[-1][0].set_xlabel("$x$")
    rows[-1][1].set_xlabel("integral")
plt.show()

# %%
# Three things to see. The posterior narrows as values come in. Its width says how far off the estimate may be, and the
# truth lies where it says. And the points are where they help the *integral*, under the bulk of the measure, not evenly
# over the line.

for n in (3, 5, 7):
    rule = fwbq.bayes_rule(embedding, design.take(n))
    posterior = fwbq.condition(rule, f(rule.points))
    low, high = posterior.interval(0.95)
    print(f"n = {n}: {posterior.mean:.4f}, 95 % in [{low:.4f}, {high:.4f}]")
