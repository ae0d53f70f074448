"""
Optimal Bayesian quadrature, and refining any rule
==================================================

All points moved together until the error is least. The fewest evaluations, for the most computation.
"""

# %%
# The start is SBQ; L-BFGS with analytic gradients moves the points off the candidates.

import matplotlib.pyplot as plt

import fwbq
from fwbq import plots
from fwbq.paper.simulation import mixture

embedding = fwbq.embed(fwbq.ExpQuad(0.8), mixture(0))
sbq = fwbq.SBQ(embedding, candidates=3000, rng=0).rule(25)
obq = fwbq.OBQ(embedding, candidates=3000, rng=0, starts=1).rule(25)

with plots.style():
    figure, axes = plt.subplots(1, 2, figsize=(6.9, 3.2), sharey=True)
plots.rule(sbq, axes[0], title=f"SBQ: error {sbq.mmd:.3f}")
plots.rule(obq, axes[1], title=f"OBQ: error {obq.mmd:.3f}")
plt.show()

# %%
# The same in one picture: where each point of SBQ went.

# sphinx_gallery_thumbnail_number = 2
moved = fwbq.refine(sbq).points
with plots.style():
    figure, ax = plt.subplots(figsize=(4.6, 3.6))
    for start, end in zip(sbq.points, moved, strict=True):
        ax.annotate(
            "",
            end,
            start,
            arrowprops={"arrowstyle": "->", "color": "grey", "shrinkA": 3, "shrinkB": 3},
        )
    ax.scatter(*sbq.points.T, s=28, facecolors="none", edgecolors=plots.BLUE, label="SBQ")
    ax.scatter(*moved.T, s=28, color=plots.ORANGE, label="moved together")
    ax.set(xlabel="$x_1$", ylabel="$x_2$")
    ax.legend()
plt.show()

# %%
# ``refine`` does the same from any rule, and keeps its kind: a rule with equal weights keeps equal weights.

herding = fwbq.FrankWolfe(embedding, candidates=3000, rng=0).rule(25)
refined = fwbq.refine(herding)
print(f"equal weights, n = 25: herding {herding.mmd:.4f}, refined {refined.mmd:.4f}")

# %%
# Optimal points for n are not among those for n + 1: this is the one design that is not nested. Use it for a rule that
# is made once and used often.
