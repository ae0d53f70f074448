"""
Randomly pivoted Cholesky
=========================

Points drawn in proportion to the remaining variance: good for every function of the space, not for one measure only.
"""

# %%
# The draw looks at the remaining variance, not at the mean element.

import matplotlib.pyplot as plt

import fwbq
from fwbq import plots
from fwbq.paper.simulation import mixture

embedding = fwbq.embed(fwbq.ExpQuad(0.8), mixture(0))
design = fwbq.RandomPivot(embedding, candidates=5000, rng=0)

with plots.style():
    figure, axes = plt.subplots(1, 2, figsize=(6.9, 3.2), sharey=True)
for ax, n in zip(axes, (25, 100), strict=True):
    rule = design.rule(n)
    plots.rule(rule, ax, title=f"$n = {n}$, error {rule.mmd:.3f}")
plt.show()

# %%
# Its errors vary from seed to seed; SBQ on the same candidates has one.

# sphinx_gallery_thumbnail_number = 2
sizes = (10, 20, 50, 100)
pivots = [
    fwbq.RandomPivot(embedding, candidates=design.candidates, rng=seed) for seed in range(5)
]
greedy = fwbq.SBQ(embedding, candidates=design.candidates)
with plots.style():
    figure, ax = plt.subplots(figsize=(4.6, 3.2))
    for number, pivot in enumerate(pivots):
        label = "random pivots, five seeds" if number == 0 else None
        ax.loglog(
            sizes,
            [pivot.rule(n).mmd for n in sizes],
            "o",
            color=plots.BLUE,
            alpha=0.6,
            label=label,
        )
    ax.loglog(sizes, [greedy.rule(n).mmd for n in sizes], color=plots.ORANGE, label="SBQ")
    ax.set(xlabel="number of points $n$", ylabel="error of the rule")
    ax.legend()
plt.show()

print("five seeds, n = 50:", "  ".join(f"{pivot.rule(50).mmd:.4f}" for pivot in pivots))
print(f"SBQ, n = 50:        {greedy.rule(50).mmd:.4f}")
