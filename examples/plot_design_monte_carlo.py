"""
Monte Carlo and quasi-Monte Carlo
=================================

Points that ignore the kernel, with equal weights: the yardstick for everything else.
"""

# %%
# Both are nested: the first 25 of 50 points are those of 25. Both take any measure; quasi-Monte Carlo carries an evenly
# spread sequence (Sobol, Halton or a lattice) from the unit cube to the measure.

import matplotlib.pyplot as plt

import fwbq
from fwbq import plots
from fwbq.paper.simulation import mixture

embedding = fwbq.embed(fwbq.ExpQuad(0.8), mixture(0))
designs = {
    "MonteCarlo": fwbq.MonteCarlo(embedding, rng=0),
    "QMC, Sobol": fwbq.QMC(embedding, rng=0),
}

with plots.style():
    figure, axes = plt.subplots(1, 2, figsize=(6.9, 3.2), sharey=True)
for ax, (name, design) in zip(axes, designs.items(), strict=True):
    plots.rule(design.rule(64), ax, title=name)
plt.show()

# %%
# Their points get better with Bayesian quadrature weights, at no further evaluation.

for name, design in designs.items():
    own, bayes = design.rule(64), fwbq.bayes_rule(embedding, design.take(64))
    print(f"{name:11} weights 1/n: {own.mmd:.4f}   bayes_rule: {bayes.mmd:.4f}")
