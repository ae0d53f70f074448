"""`compare`: models whose evidences are there already."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from .. import __version__, _validate, _warnings
from .._reason import Reason
from .._threads import one_blas_thread
from ..inference import Evidence
from ..posterior import Estimate
from .comparison import Comparison
from .evidence import Evidences
from .map_probability import leader, map_probabilities
from .options import log_prior
from .stage import Stage

_STATUS = "evidences that were computed before were compared"
_REMEDY = "give what fwbq.evidence returned, a fwbq.Estimate, or the pair (log_evidence, sd)"


@one_blas_thread
def compare(
    evidences: Mapping[Any, Evidence | Estimate | tuple[float, float]], *, prior: Mapping[Any, float] | None = None
) -> Comparison:
    """Compare models by evidences that you already have, of :func:`fwbq.evidence` or of another program.

    Parameters
    ----------
    evidences : mapping of name to Evidence, Estimate or (log_evidence, sd)
        A pair is a natural logarithm of an evidence and its standard deviation, which is taken to be that of a Gaussian
        error: what a nested sampler or a bridge sampler states. A standard deviation of zero says that the number is
        exact.
    prior : mapping of name to float, optional
        Prior probabilities of the models, up to a factor; equal by default.

    Returns
    -------
    Comparison
        The same object as of :func:`fwbq.compare_models`, after one round: probabilities, Bayes factors, P(MAP),
        figures, report.

    Warns
    -----
    RuntimeWarning
        When the run that an evidence comes from did not succeed.

    Examples
    --------
    >>> import fwbq
    >>> found = fwbq.compare({"line": (-61.2, 0.1), "constant": (-64.6, 0.05)})
    >>> found.bayes_factor("line", "constant")
    BayesFactor(30.0, 95 % in [24.1, 37.3]: strong evidence for line against constant)
    >>> found.best, round(float(found.probabilities().mean(axis=0)[0]), 3)
    ('line', 0.968)
    """
    _validate.instance(evidences, "evidences", Mapping, f"give a dict of names; for each model {_REMEDY}")
    if not evidences:
        raise ValueError(f"`evidences` is empty: for each model {_REMEDY}")
    names = tuple(evidences)
    rows = [_posterior(evidences[name], f"evidences[{name!r}]") for name in names]
    centre, scale, df = (np.array(column) for column in zip(*rows, strict=True))
    posteriors = Evidences(np.full(len(names), "log", dtype="<U8"), centre, scale, df, np.zeros(len(names)))
    weights = log_prior(prior, names)
    points = np.array([e.n_evaluations if isinstance(e, Evidence) else 0 for e in evidences.values()], dtype=np.intp)
    chances = map_probabilities(posteriors, weights)
    best = leader(chances, posteriors.log_median + weights)
    # Of numbers of another program no evaluation is known; axes of rounds are logarithmic, and begin with one.
    stage = Stage(max(int(points.max()), 1), int(points.sum()), len(names), posteriors, best, float(chances[best]))
    _warn(evidences)
    settings = {"version": __version__, "seed": 0, "reason": Reason.BUDGET.value, "evidence": "given"}
    return Comparison(names, posteriors, weights, points, (stage,), _STATUS, settings)


def _posterior(given: Any, name: str) -> tuple[float, float, float]:
    """Return centre, scale and degrees of freedom of the posterior of a log evidence."""
    if isinstance(given, Evidence):
        given = given.estimate
    if isinstance(given, Estimate):
        if np.ndim(given.mean):
            raise ValueError(f"`{name}` must be one number with its error, got {len(given.mean)}: {_REMEDY}")
        spread = float(np.hypot(given.below, given.above) * np.sqrt(0.5))
        centre, scale, df = float(given.mean), spread, float(given.df)
    else:
        centre, scale, df = *_pair(given, name), np.inf
    if not (centre < np.inf) or not scale >= 0.0:
        raise ValueError(
            f"`{name}` must be a log evidence below infinity and its standard deviation, at least 0, got "
            f"({centre:g}, {scale:g})"
        )
    if centre == -np.inf:
        return centre, 0.0, df
    if not np.isfinite(scale):
        raise ValueError(
            f"`{name}` has an infinite standard deviation, so that nothing is known of it: compute it again with more "
            "evaluations, or leave the model out"
        )
    return centre, scale, df


def _pair(given: Any, name: str) -> tuple[float, float]:
    try:
        centre, sd = (float(x) for x in given)
    except (TypeError, ValueError):
        raise TypeError(f"`{name}` is {_validate.shown(given)} of type {type(given).__name__}: {_REMEDY}") from None
    return centre, sd


def _warn(evidences: Mapping[Hashable, Any]) -> None:
    for name, given in evidences.items():
        if isinstance(given, Evidence) and not given.success:
            _warnings.warn(f"the evidence of model {name!r} did not succeed: {given.status}")
