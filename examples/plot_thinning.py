"""
Fifty states for a banana-shaped chain
======================================

A Markov chain gives thousands of correlated states, and each may have to start an expensive simulation. ``fwbq.thin``
thins MCMC output: a few dozen states whose averages are closer to those of the chain than every hundredth state.
"""

# %%
# The target is a banana; the chain is a random-walk Metropolis run.

import matplotlib.pyplot as plt
import numpy as np

import fwbq
from fwbq import plots


def log_density(x):
    """Return the log density up to a constant."""
    return -0.5 * x[0] ** 2 - 2.0 * (x[1] - 0.5 * x[0] ** 2) ** 2


rng = np.random.default_rng(1)
chain = [np.array([0.0, 0.0])]
for _ in range(9999):
    proposal = chain[-1] + rng.normal(scale=0.9, size=2)
    accept = np.log(rng.random()) < log_density(proposal) - log_density(chain[-1])
    chain.append(proposal if accept else chain[-1])
chain = np.array(chain)

# %%
# Forty states, all with the same weight. ``mmd`` is their distance from the chain: no average of a smooth function of
# unit size is further off. ``mmd_every`` is that of states taken at even intervals.

chosen = fwbq.thin(chain, 40, rng=0)
every = chain[249::250]
print(
    f"distance from the chain {chosen.mmd:.4f}; of every 250th state {chosen.mmd_every:.4f}"
)
functions = {
    "x1^2": lambda x: x[:, 0] ** 2,
    "x2": lambda x: x[:, 1],
    "x2 > 1": lambda x: x[:, 1] > 1.0,
}
for name, g in functions.items():
    whole, ours, naive = (np.mean(g(x)) for x in (chain, chosen.points, every))
    print(f"{name:7s} chain {whole:.3f}, thinned {ours:.3f}, every 250th {naive:.3f}")

# %%
# On the left the states that were chosen; on the right every 250th state, with the holes and clusters of chance.

with plots.style():
    figure, axes = plt.subplots(
        1, 2, figsize=(7.2, 3.2), sharex=True, sharey=True, layout="constrained"
    )
    for ax, points, title in zip(
        axes,
        (chosen.points, every),
        ("40 states by fwbq.thin", "every 250th state"),
        strict=True,
    ):
        ax.plot(*chain.T, ".", color="#bbbbbb", markersize=1.0)
        ax.plot(*points.T, "o", color=plots.BLUE, markersize=4.5, markeredgecolor="white")
        ax.set(xlabel="$x_1$", title=title)
    axes[0].set(ylabel="$x_2$")
plt.show()
