"""What must be known of a comparison before it is believed: whether the leader predicts, and whether it stays first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .._quasi_random import quasi_random
from ..selection import Comparison
from .constants import constants_posterior
from .dataset import Dataset
from .family import prior
from .fit import fit
from .kinetics import IntArray, increments
from .likelihood import block_at
from .maximum import best_fit
from .permutation import permutation_p_value
from .prediction import predictive_r2
from .sensitivity import leaders_under_changes
from .truncated import log_truncation_ratio

__all__ = ["with_checks"]

# Models whose fit is stated: as many as are printed.
_FITTED = 10
# Models among which the leader is sought under other priors: those after the first fifty hold a few per cent together.
_LEADING = 50
# Points of the posterior of K at which the ratio of the truncated to the closed form is averaged: it hardly varies.
_RATIOS = 256
# Points of the prior of K for the evidence of a likelihood raised to a power: it is about as wide as the prior.
_TEMPERED = 4096
# More models than this are not evaluated at permuted times one by one, where they are given as a list.
_LISTED = 5_000


def with_checks(
    comparison: Comparison,
    dataset: Dataset,
    *,
    max_enzymes: int,
    listed: Sequence[tuple[int, ...]] | None,
    truncated: bool,
    power: float = 1.0,
) -> Comparison:
    """Return the comparison with the checks in its settings, as JSON values.

    Parameters
    ----------
    comparison : Comparison
        Of kinetic models.
    dataset : Dataset
        The data, in the units of the priors.
    max_enzymes : int
        The largest number of enzymes in a model.
    listed : sequence of tuples of int, optional
        Columns of the enzymes of the models, where these were given.
    truncated : bool
        Whether V is truncated to V >= 0.
    power : float, optional
        To which likelihoods were raised; that of the other priors too. Predictions are those of the likelihood itself.
    """
    score = comparison.evidences.log_median + comparison.log_prior
    if not np.isfinite(score).any():
        return comparison
    leader = comparison.names.index(comparison.best)
    # The best model first, whatever the medians are; then by evidence.
    order = [leader, *(int(i) for i in np.argsort(-score, kind="stable") if i != leader)]
    leading = [dataset.columns(comparison.names[i]) for i in order[:_LEADING]]  # type: ignore[arg-type]
    first = leaders_under_changes(
        dataset, leading, comparison.log_prior[order[:_LEADING]], truncated=truncated, power=power
    )
    fits = [_fit(dataset, model, truncated, power) for model in leading[:_FITTED]]
    without = fits[leading.index(())] if () in leading[:_FITTED] else _fit(dataset, (), truncated, power)
    p_value, permutations = _p_value(dataset, max_enzymes, listed)
    checks = {
        "fit": {
            "q2": fits[0]["q2"],
            "q2_without_enzymes": without["q2"],
            "p_negative": None if truncated else _negative(dataset, leading[0]),
            "p_value": p_value,
            "permutations": permutations,
        },
        "sensitivity": {name: list(comparison.names[order[i]]) for name, i in first.items()},  # type: ignore[call-overload]
        "models": [
            {"model": list(comparison.names[i])} | fit  # type: ignore[call-overload]
            for i, fit in zip(order, fits, strict=False)
        ],
    }
    return replace(comparison, settings=comparison.settings | {"checks": checks})


def _fit(dataset: Dataset, model: tuple[int, ...], truncated: bool, power: float) -> dict[str, float]:
    """Leave-one-out Q^2, the best fit, and the log evidence from thousands of points with its standard error."""
    parts, columns, rng = increments(dataset), np.array(model, dtype=np.intp), np.random.default_rng(0)
    points, weights, evidence = constants_posterior(parts, columns, rng)
    variance = float(np.sum(weights**2))
    if power != 1.0:
        k = prior(1 + len(columns)).from_uniform(quasi_random(_TEMPERED, 1 + len(columns)))
        logs = power * block_at(parts, columns[None], k, truncated=truncated)[0][:, 0]
        ratio = np.exp(logs - logs.max())
        evidence = float(logs.max() + np.log(ratio.mean()))
        variance = float(np.var(ratio) / ratio.mean() ** 2) / _TEMPERED
    elif truncated:
        k = points[rng.choice(len(points), _RATIOS, p=weights)]
        designs = ((part.designs(np.tile(columns, (_RATIOS, 1)), k), part.rates) for part in parts)
        logs = np.sum([log_truncation_ratio(x, y) for x, y in designs], axis=0)
        ratio = np.exp(logs - logs.max())
        evidence += float(logs.max() + np.log(ratio.mean()))
        variance += float(np.var(ratio) / ratio.mean() ** 2) / _RATIOS
    best = best_fit(parts, columns)
    return {
        "q2": predictive_r2(parts, columns, points, weights),
        "nnls_r2": best.r2,
        "aic": best.aic,
        "bic": best.bic,
        "log_evidence_again": evidence,
        "log_evidence_again_sd": float(np.sqrt(variance)),
    }


def _negative(dataset: Dataset, model: tuple[int, ...]) -> float:
    """Posterior probability that a rate V of a model is negative, where nothing keeps it from being so."""
    courses = fit(dataset, model, units="given", rng=0).courses
    return float(np.mean(np.any([np.any(course.velocities < 0.0, axis=1) for course in courses], axis=0)))


def _p_value(dataset: Dataset, max_enzymes: int, listed: Sequence[tuple[int, ...]] | None) -> tuple[float | None, int]:
    """Permutation p-value; None where no model has an enzyme, or where too many are listed."""
    if listed is None:
        if not min(max_enzymes, dataset.n_enzymes):
            return None, 0
        return permutation_p_value(dataset, max_enzymes)
    given: list[IntArray] = [
        np.array([model for model in listed if len(model) == size], dtype=np.intp)
        for size in sorted({len(model) for model in listed} - {0})
    ]
    if not given or len(listed) > _LISTED:
        return None, 0
    return permutation_p_value(dataset, max(models.shape[1] for models in given), listed=given)
