"""
Integrals of functions through three, five and seven points
===========================================================

What is the integral of a function that was evaluated at a handful of points? A Gaussian process says which functions
pass through the values; each of them has an integral; together they are a distribution over that one number.
"""

# %%
# The integrand is known at 3, 5 and 7 points, the first that :func:`fwbq.integrate` asks for. On the left: the function
# (dashed), the values, and the posterior of the function, as a mean with a 95 % band and five draws. On the right: the
# posterior of its integral under a standard Gaussian, with the truth. Smoothness and amplitude are not known
# beforehand: both posteriors are averaged over what the values leave open.

import matplotlib.pyplot as plt
import numpy as np

import fwbq
from fwbq import plots


def f(x):
    """Return the integrand at points (n, 1)."""
    return np.sin(2.0 * x[:, 0]) + np.cos(x[:, 0])


TRUTH = np.exp(-0.5)  # of the cosine; the sine is odd
found = fwbq.integrate(f, fwbq.Gaussian([0.0], [[1.0]]), n=7, rng=0)

grid = np.linspace(-3.0, 3.0, 161)[:, None]
with plots.style():
    figure, rows = plt.subplots(3, 2, figsize=(6.9, 5.6), sharex="col", width_ratios=(2, 1))
    for (left, right), n in zip(rows, (3, 5, 7), strict=True):
        result = found.at(n)
        plots.process_slice(result, left)
        left.plot(grid, f(grid), "--", color=plots.BLACK, linewidth=1, label="$f$")
        left.set(xlim=(-3.0, 3.0), ylim=(-3.2, 3.2), xlabel="", ylabel=f"$f(x)$, $n = {n}$")
        left.get_legend().remove()
        plots.integral(result, right, truth=TRUTH)
        right.set(xlim=(-0.4, 1.6), xlabel="")
        right.get_legend().remove()
    figure.legend(*rows[0][0].get_legend_handles_labels(), loc="outside lower left", ncols=5)
    figure.legend(*rows[0][1].get_legend_handles_labels(), loc="outside lower right", ncols=3)
    rows[-1][0].set_xlabel("$x$")
    rows[-1][1].set_xlabel("integral")
plt.show()

# %%
# The posterior narrows as values come in, and from three values on it holds the truth. From five to seven values the
# interval becomes ten times narrower, because the values have begun to say how smooth the function is.

for n in (3, 5, 7):
    low, high = found.at(n).interval(0.95)
    print(f"n = {n}: {found.at(n).mean:.4f}, 95 % in [{low:.4f}, {high:.4f}]")
