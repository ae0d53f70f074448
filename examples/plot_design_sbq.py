"""
Sequential Bayesian quadrature
==============================

Each point the one that lowers the error most. The default of ``integrate``.
"""

# %%
# The error falls fast and the weights take both signs (negative ones in orange-red). ``take`` stops by itself when
# float64 can tell no more points apart, and ``status`` says so.

import matplotlib.pyplot as plt

import fwbq
from fwbq import plots
from fwbq.paper.simulation import mixture

embedding = fwbq.embed(fwbq.ExpQuad(0.8), mixture(0))
design = fwbq.SBQ(embedding, candidates=5000, rng=0)

with plots.style():
    figure, axes = plt.subplots(1, 3, figsize=(6.9, 2.6), sharey=True)
for ax, n in zip(axes, (16, 64, 256), strict=True):
    plots.rule(design.rule(n), ax, title=f"$n = {n}$")
plt.show()

# %%
# What large weights cost: an error of size e in the values may move the answer by e times the sum of the absolute
# weights.

for n in (16, 64, 256):
    rule = design.rule(n)
    print(
        f"n = {n}: error {rule.mmd:.1e}, sum |w| {rule.sum_abs_weights:.2f}, "
        f"{(rule.weights < 0).sum()} negative"
    )
print(design.status)
