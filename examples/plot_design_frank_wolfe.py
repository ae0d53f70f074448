"""
Frank-Wolfe: kernel herding and line search
===========================================

The cheapest points that know the kernel: one kernel column per point, also for a million candidates.
"""

# %%
# With ``step="herding"`` all weights are 1/n. With ``step="line-search"`` they differ, stay positive and sum to one.
# Line search takes points again and clusters them; herding is the better default.

import matplotlib.pyplot as plt
import numpy as np

import fwbq
from fwbq import plots
from fwbq.paper.simulation import mixture

embedding = fwbq.embed(fwbq.ExpQuad(0.8), mixture(0))
herding = fwbq.FrankWolfe(embedding, candidates=5000, rng=0)
search = fwbq.FrankWolfe(embedding, step="line-search", candidates=5000, rng=0)

with plots.style():
    figure, axes = plt.subplots(1, 2, figsize=(6.9, 3.2), sharey=True)
plots.rule(herding.rule(64), axes[0], title="herding: FW")
plots.rule(search.rule(64), axes[1], title="line search: FWLS")
plt.show()

# %%
# FWBQ and FWLSBQ are these points with ``bayes_rule``: never worse, usually far better.

n = np.array([10, 30, 100, 300])
for name, design in (("FW", herding), ("FWLS", search)):
    print(f"{name:6}", "  ".join(f"{design.rule(int(i)).mmd:.1e}" for i in n))
    print(
        f"{name}BQ".ljust(6),
        "  ".join(f"{fwbq.bayes_rule(embedding, design.take(int(i))).mmd:.1e}" for i in n),
    )

# %%
# The trace holds error, step and duality gap of every iterate. The gap bounds what is left to gain over the candidates.

# sphinx_gallery_thumbnail_number = 2
trace = herding.trace
with plots.style():
    figure, ax = plt.subplots(figsize=(4.6, 3.2))
    ax.loglog(
        np.arange(1, len(trace) + 1), np.sqrt(trace.mmd2), color=plots.BLUE, label="MMD"
    )
    ax.loglog(
        np.arange(1, len(trace) + 1),
        np.sqrt(trace.gap),
        "--",
        color=plots.ORANGE,
        label="root of the gap",
    )
    ax.set(xlabel="number of points $n$")
    ax.legend()
plt.show()
