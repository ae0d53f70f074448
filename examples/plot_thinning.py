"""
Thinning a chain with positive weights
======================================

A Markov chain gives thousands of correlated states. A few dozen of them, with the right weights, say the same: a
coreset. With a Stein kernel the target need not be normalised, and the start of the chain is corrected on the way.
"""

# %%
# The target is a banana, known up to its constant. The chain is a random-walk Metropolis run that starts far out.

import matplotlib.pyplot as plt
import numpy as np

import fwbq
from fwbq import plots


def log_density(x):
    """Return the log density up to a constant."""
    return -0.5 * x[..., 0] ** 2 - 2.0 * (x[..., 1] - 0.5 * x[..., 0] ** 2) ** 2


def score(x):
    """Return its gradient (n, 2) at points (n, 2)."""
    bend = x[:, 1] - 0.5 * x[:, 0] ** 2
    return np.column_stack([-x[:, 0] + 4.0 * bend * x[:, 0], -4.0 * bend])


rng = np.random.default_rng(1)
chain = [np.array([-4.0, 5.0])]
for _ in range(2999):
    proposal = chain[-1] + rng.normal(scale=0.7, size=2)
    accept = np.log(rng.random()) < log_density(proposal) - log_density(chain[-1])
    chain.append(proposal if accept else chain[-1])
chain = np.array(chain)

# %%
# Blended pairwise conditional gradients choose states and positive weights that sum to one.

embedding = fwbq.embed(fwbq.Stein(fwbq.Matern52(1.0), score), fwbq.Empirical(chain))
design = fwbq.BlendedPairwise(embedding)
rule = design.rule(40)
print(rule)
print("mean of x1^2, exactly 1:")
print(f"  all 3000 states   {np.mean(chain[:, 0] ** 2):.3f}")
print(f"  every 75th state  {np.mean(chain[::75, 0] ** 2):.3f}")
print(f"  {len(rule)} weighted states {rule.integrate(rule.points[:, 0] ** 2):.3f}")

# %%
# The points of the rule spread over the target; the start of the chain, far out, gets no weight.

with plots.style():
    figure, ax = plt.subplots(figsize=(4.6, 3.4))
    ax.plot(*chain.T, ".", color="#999999", markersize=1.5, label="3000 states")
    ax.scatter(*rule.points.T, s=2500 * rule.weights, color=plots.BLUE, edgecolor="white", zorder=3)
    ax.plot([], [], "o", color=plots.BLUE, label=f"{len(rule)} weighted states")
    ax.set(xlabel="$x_1$", ylabel="$x_2$")
    ax.legend(loc="upper center")
plt.show()
