"""
Blended pairwise: the best positive weights
===========================================

For weights that must be positive and sum to one: a probability distribution on few points.
"""

# %%
# Each step moves weight to a new point or between the points there are. ``corrective=True`` re-optimises all weights
# after every new point.

import matplotlib.pyplot as plt

import fwbq
from fwbq import plots
from fwbq.paper.simulation import mixture

embedding = fwbq.embed(fwbq.ExpQuad(0.8), mixture(0))
pairwise = fwbq.BlendedPairwise(embedding, candidates=3000, rng=0)
corrective = fwbq.BlendedPairwise(embedding, candidates=3000, corrective=True, rng=0)

with plots.style():
    figure, axes = plt.subplots(1, 2, figsize=(6.9, 3.2), sharey=True)
plots.rule(pairwise.rule(64), axes[0], title="blended pairwise")
plots.rule(corrective.rule(64), axes[1], title="fully corrective")
plt.show()

# %%
# All weights are positive, so that errors in the values are not amplified: the sum of the absolute weights is one.

for name, design in (("blended pairwise", pairwise), ("fully corrective", corrective)):
    rule = design.rule(64)
    print(
        f"{name}: error {rule.mmd:.4f}, least weight {rule.weights.min():.1e}, "
        f"sum |w| {rule.sum_abs_weights:.4f}"
    )
herding = fwbq.FrankWolfe(embedding, candidates=3000, rng=0).rule(64)
print(f"herding with as many points: {herding.mmd:.4f}")

# %%
# Isolated points get large weights, neighbours share theirs. Herding gives all points the same weight, and
# Bayesian quadrature weights at the points of SBQ are in part negative.

# sphinx_gallery_thumbnail_number = 2
sbq = fwbq.SBQ(embedding, candidates=3000, rng=0).rule(64)
shown = (
    (corrective.rule(64), "fully corrective", plots.BLUE),
    (sbq, "SBQ", plots.ORANGE),
    (herding, "herding", plots.GREEN),
)
with plots.style():
    figure, ax = plt.subplots(figsize=(4.6, 3.2))
    for rule, name, colour in shown:
        ax.step(
            range(len(rule)),
            sorted(rule.weights, reverse=True),
            where="mid",
            color=colour,
            label=name,
        )
    ax.axhline(0.0, color=plots.BLACK, linewidth=0.8)
    ax.set(xlabel="points, by weight", ylabel="weight")
    ax.legend()
plt.show()
