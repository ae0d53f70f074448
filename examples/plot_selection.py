"""
Choosing among models
=====================

Which of several models explains the data? The evidence of each is an integral, known up to a numerical error. Can that
error change the answer?
"""

# %%
# The data set that ships with the package is simulated: two of 26 enzymes regulate a substrate. With at most two
# enzymes in a model there are 352 models. The run evaluates likelihoods in rounds, drops models that can no longer win,
# and stops when the leading model is the most probable one with probability 0.95 given the numerical error.

import matplotlib.pyplot as plt

import fwbq
from fwbq import plots

data = fwbq.chema.Dataset.example()
found = fwbq.chema.compare(
    data, units="given", stop=0.95, rng=0
)  # simulated in the units that the priors expect
print(found)
print("true regulators:", data.regulators)

# %%
# Every probability has a numerical error, which more evaluations would reduce.

print(
    found.to_frame()
    .head(6)[["model", "log_evidence", "log_evidence_sd", "probability", "q05", "q95"]]
    .round(3)
)

# %%
# On the left, how certain the decision was after each round; on the right, the probability that each enzyme is in the
# model, with its numerical error.

with plots.style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.9, 3.0))
plots.map_probability(found, left)
plots.inclusion(found, right, first=8)
plt.show()

# %%
# What the best model says of the data: the course of the phosphorylated substrate that its parameters give, and 90 % of
# what it predicts for each rate of change.

fwbq.chema.fit(data, found.best, units="given", truncated=True, rng=0).plot()
plt.show()
