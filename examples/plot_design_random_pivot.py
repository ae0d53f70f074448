"""
Randomly pivoted Cholesky
=========================

Points drawn in proportion to what is not yet known: good for every function of the space, not for one measure only.
"""

# %%
# The draw looks at the remaining variance, not at the mean element.

import matplotlib.pyplot as plt

import fwbq
from fwbq import plots
from fwbq.studies.simulation import mixture

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

errors = [fwbq.RandomPivot(embedding, candidates=design.candidates, rng=seed).rule(50).mmd for seed in range(5)]
print("five seeds, n = 50:", "  ".join(f"{e:.4f}" for e in errors))
print(f"SBQ, n = 50:        {fwbq.SBQ(embedding, candidates=design.candidates).rule(50).mmd:.4f}")
