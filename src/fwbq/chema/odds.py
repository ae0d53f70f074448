r"""Prior probabilities of models from what is believed of their enzymes.

With a prior inclusion probability :math:`p_j` of each enzyme, the others taken as independent of it, the prior
probability of a model is in proportion to :math:`\prod_{j \in M} p_j / (1 - p_j)`. With 1/2 for every enzyme all
models are equally probable, which is the default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .. import _validate
from . import _checks
from .kinetics import FloatArray
from .tidy import read_text

__all__ = ["Odds", "read_inclusion"]


@dataclass(frozen=True, eq=False)
class Odds:
    """Log prior odds of enzymes, and the models that they are about.

    Attributes
    ----------
    names : tuple of str
        The enzymes.
    log_odds : (E,) array
        log p / (1 - p) of each.
    log_total : float
        Log of the sum of the odds of all models.
    """

    names: tuple[str, ...]
    log_odds: FloatArray
    log_total: float

    @classmethod
    def of(cls, inclusion: Mapping[str, float], names: Sequence[str], largest: int) -> Odds:
        """Return the odds of enzymes, for models of at most `largest` of them; 1/2 where nothing is given.

        Examples
        --------
        >>> odds = Odds.of({"AKT": 0.8}, ("AKT", "ERK"), 2)
        >>> odds.log_odds.round(3).tolist(), round(float(np.exp(odds.log_total)), 6)
        ([1.386, 0.0], 10.0)
        """
        if not isinstance(inclusion, Mapping):
            raise TypeError(
                f"`inclusion` must map names of enzymes to prior probabilities, got {type(inclusion).__name__}"
            )
        _checks.known_names(tuple(inclusion), list(names), "inclusion")
        chance = {name: _validate.probability(p, f"inclusion[{name!r}]") for name, p in inclusion.items()}
        log_odds = np.array([np.log(chance.get(n, 0.5)) - np.log1p(-chance.get(n, 0.5)) for n in names])
        # Sums over all sets of 0, 1, 2, ... enzymes: the elementary symmetric polynomials of the odds.
        sums = np.zeros(largest + 1)
        sums[0] = 1.0
        for odds in np.exp(log_odds):
            sums[1:] += odds * sums[:-1]
        return cls(tuple(names), log_odds, float(np.log(sums.sum())))

    def of_models(self, models: Sequence[Any]) -> FloatArray:
        """Return the log odds of models that are tuples of names, (m,)."""
        own = dict(zip(self.names, self.log_odds.tolist(), strict=True))
        return np.array([sum(own[name] for name in model) for model in models], dtype=np.float64)

    def log_prior(self, models: Sequence[Any]) -> FloatArray:
        """Return the log prior probabilities of models among all, (m,)."""
        return self.of_models(models) - self.log_total


def read_inclusion(path: str | PathLike[str]) -> dict[tuple[str | None, str], float]:
    """Read a table of prior inclusion probabilities: columns enzyme, probability and, for single edges, substrate.

    Returns
    -------
    dict of (substrate or None, enzyme) to float
    """
    if not Path(path).is_file():
        _checks.fail(f"`inclusion` {str(path)!r} is not a file: check its name and the directory")
    table = read_text(path)
    table.columns = [str(name).strip().lower() for name in table.columns]
    if not {"enzyme", "probability"} <= set(table.columns):
        _checks.fail(f"{path} must have the columns enzyme and probability, and may have substrate")
    found: dict[tuple[str | None, str], float] = {}
    for row in table.to_dict(orient="records"):
        key = (str(row.get("substrate", "")).strip() or None, str(row["enzyme"]).strip())
        try:
            value = float(row["probability"])
        except ValueError:
            _checks.fail(f"{path}: the probability of {key[1]!r} must be a number, got {row['probability']!r}")
        if key in found:
            _checks.fail(f"{path} has {key[1]!r} twice")
        found[key] = _validate.probability(value, f"probability of {key[1]!r}")
    return found
