"""What a comparison of models found."""

from __future__ import annotations

import os
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import _extras, _frozen, _validate
from .._reason import Reason
from ..posterior import Estimate
from . import files, tables
from .bayes_factor import BayesFactor
from .evidence import Evidences
from .forecast import forecast
from .label import label
from .map_probability import leader, map_probabilities
from .stage import Rest, Stage

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

#: Draws of the numerical error, by which the mean of a probability is known to a fortieth of its standard deviation,
#: and most numbers in all draws together: 160 MB.
_DRAWS, _NUMBERS = 2000, 20_000_000
#: Draws of two evidences: the ends of a 95 % interval have a standard error of 1 % of half its width.
_PAIR_DRAWS = 20_000


def usual_draws(models: int) -> int:
    """Return how many draws of the numerical error are taken: 2000, fewer where the models are very many.

    Examples
    --------
    >>> usual_draws(352), usual_draws(50_000)
    (2000, 400)
    """
    return int(np.clip(_NUMBERS // max(models, 1), 100, _DRAWS))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Evidences of models with their numerical error, and what follows for the choice among them.

    Returned by :func:`fwbq.compare_models` and :func:`fwbq.chema.compare`; everything random in it is seeded.

    Attributes
    ----------
    names : tuple
        The models, in the order given.
    evidences : Evidences
        Posterior of each log evidence.
    log_prior : (m,) array
        Log prior probability of each model.
    points : (m,) int array
        Points at which each model was evaluated.
    stages : tuple of Stage
        The rounds.
    status : str
        Why the run ended, in one line.
    settings : dict
        How the run was made, JSON-able.
    rest : Rest or None
        Models screened out before the list.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> prior = fwbq.Gaussian([0.0], [[1.0]])
    >>> models = {c: fwbq.Model(lambda x, c=c: -2.0 * (x[:, 0] - c) ** 2, prior) for c in (0.0, 1.0, 2.0)}
    >>> comparison = fwbq.compare_models(models, stop=0.99, rng=0)
    >>> comparison.best, comparison.map_probability > 0.99
    (0.0, True)
    """

    names: tuple[Hashable, ...]
    evidences: Evidences
    log_prior: Array
    points: NDArray[np.intp]
    stages: tuple[Stage, ...]
    status: str
    settings: dict[str, Any]
    rest: Rest | None = None

    def __post_init__(self) -> None:
        _frozen.lock(self)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<Comparison: {' '.join(self._said.sentences[:2])}>"

    @cached_property
    def _said(self) -> Any:
        """The decision in words."""
        from ..report.decision import decision

        return decision(self)

    def summary(self) -> str:
        """Return the decision in words: probabilities with their numerical error, and whether more work could help."""
        return "\n".join(self._said.sentences)

    def plot(self, ax: Axes | None = None, *, first: int = 10, log: bool | None = None) -> Axes:
        """Draw box plots of the leading models' probabilities; see :func:`fwbq.plots.model_probabilities`.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.
        first : int, optional
            How many models to show, the most probable first.
        log : bool, optional
            Whether the axis is logarithmic; by default when most boxes would be flat otherwise.
        """
        from ..plots import model_probabilities

        return model_probabilities(self, ax, first=first, log=log)[0]

    def _repr_html_(self) -> str:
        """Return the decision and the leading models as a table, for notebooks."""
        from ..report.fragment import fragment

        return fragment(self, self._said)

    @property
    def n_models(self) -> int:
        """Number of models compared, those not listed included."""
        return len(self.names) + (self.rest.count if self.rest else 0)

    @property
    def n_evaluations(self) -> int:
        """Evaluations of likelihoods, all models together."""
        return self.stages[-1].evaluations if self.stages else int(self.points.sum())

    @cached_property
    def map_probabilities(self) -> Array:
        """P(model i has the highest posterior probability), (m,), given the numerical error."""
        return _frozen.readonly(map_probabilities(self.evidences, self.log_prior))

    @property
    def reason(self) -> Reason:
        """Why the run ended, for programs; `status` says it to people. BUDGET where a file does not say it."""
        return Reason(self.settings.get("reason", Reason.BUDGET.value))  # type: ignore[call-arg]

    @property
    def success(self) -> bool:
        """Whether what was asked for was reached: the decision or the tolerance, if one was asked for."""
        return self.reason.success

    @property
    def best(self) -> Any:
        """The model that is most likely the MAP."""
        return self.names[self._best]

    @property
    def _best(self) -> int:
        return leader(self.map_probabilities, self.evidences.log_median + self.log_prior)

    @property
    def map_probability(self) -> float:
        """P(the best model is the true MAP), given the numerical error."""
        return float(self.map_probabilities[self._best])

    def _position(self, name: Hashable) -> int:
        try:
            return self.names.index(name)
        except ValueError:
            raise KeyError(f"no model is called {name!r}; there are {len(self)}, e.g. {self.names[0]!r}") from None

    def log_evidence(self, name: Hashable) -> float:
        """Median of the posterior of a model's log evidence; minus infinity when its likelihood was zero everywhere."""
        return float(self.evidences.take([self._position(name)]).log_median[0])

    def log_evidence_interval(self, name: Hashable, level: float = 0.95) -> tuple[float, float]:
        """Central interval of a model's log evidence; all numbers when its likelihood was zero at every point."""
        low, high = self.evidences.take([self._position(name)]).interval(_validate.probability(level, "level"))
        return float(low[0]), float(high[0])

    def log_draws(self, draws: int | None = None, rng: Any = None) -> Array:
        """Return draws of the log evidences, (draws, m): numerical error; arguments as for :meth:`probabilities`."""
        generator = np.random.default_rng(self.settings.get("seed", 0)) if rng is None else _validate.generator(rng)
        size = usual_draws(len(self)) if draws is None else _validate.count(draws, "draws")
        return self.evidences.sample(size, generator)

    def probabilities(self, draws: int | None = None, rng: Any = None) -> Array:
        """Return draws of the models' posterior probabilities, (draws, m): numerical error, propagated.

        Each draw takes every log evidence from its posterior and normalises; the spread of a column is what is not
        known of that model's probability for want of evaluations.

        Parameters
        ----------
        draws : int, optional
            Number of draws; by default 2000, fewer where more than 10,000 models are listed.
        rng : optional
            By default the run's own seed: the same draws every time.
        """
        logs = self.log_draws(draws, rng) + self.log_prior
        top = logs.max(axis=1, keepdims=True)
        if self.rest is not None:
            top = np.maximum(top, self.rest.log_weight)
        weights = np.exp(logs - top)
        total = weights.sum(axis=1, keepdims=True)
        if self.rest is not None:
            total = total + np.exp(self.rest.log_weight - top)
        return np.asarray(weights / total)

    def log_bayes_factor(self, first: Hashable, second: Hashable) -> Estimate:
        """Return the natural logarithm of the Bayes factor of the first model against the second, with its error.

        Where the likelihood of one of them was zero at every point evaluated, the interval is all numbers, and the
        estimate that of an evidence of zero (NaN for two of these).

        Examples
        --------
        >>> import fwbq
        >>> fwbq.compare({"line": (-61.2, 0.1), "constant": (-64.6, 0.05)}).log_bayes_factor("line", "constant")
        Estimate(3.40 ± 0.11, 95 % in [3.18, 3.62])
        """
        pair = self.evidences.take([self._position(first), self._position(second)])
        with np.errstate(invalid="ignore"):
            centre = float(np.subtract(*pair.log_median))
        if pair.nothing.any():
            return Estimate(centre, np.inf, np.inf)
        if (pair.kind == "log").all() and np.isinf(pair.df).all():  # Gaussian errors: in closed form
            width = float(np.hypot(*pair.scale))
            return Estimate(centre, width, width)
        drawn = pair.sample(_PAIR_DRAWS, np.random.default_rng(0))
        return Estimate.from_draws(drawn[:, 0] - drawn[:, 1], centre)

    def bayes_factor(self, first: Hashable, second: Hashable) -> BayesFactor:
        """Return the Bayes factor of the first model against the second: the ratio of their evidences.

        It has an interval, and the words that Kass and Raftery have for it. Its logarithm is
        :meth:`log_bayes_factor`.

        Examples
        --------
        >>> import fwbq
        >>> fwbq.compare({"line": (-61.2, 0.1), "constant": (-64.6, 0.05)}).bayes_factor("constant", "line")
        BayesFactor(0.0334, 95 % in [0.0268, 0.0415]: strong evidence for line against constant)
        """
        return BayesFactor(self.log_bayes_factor(first, second), label(first), label(second))

    def rank_probabilities(self, top: int = 10, draws: int | None = None) -> pd.DataFrame:
        """Return P(model has rank r), r = 1..top, for the models that are ever among the first `top`."""
        return tables.ranks(self, top, draws)

    def inclusion(self, draws: int | None = None, level: float = 0.95) -> pd.DataFrame:
        """Return the inclusion probability of each member of tuple-named models, with its numerical error.

        Models that were screened out are not counted: what they hold together is missing from every probability.

        Returns
        -------
        DataFrame
            ``name``, ``probability`` (median over draws), ``lower``, ``upper``; most probable first.
        """
        return tables.inclusion(self, draws, level)

    def to_frame(self, draws: int | None = None) -> pd.DataFrame:
        """Return a row for each model, most probable first.

        Returns
        -------
        DataFrame
            ``model``, ``log_evidence``, ``log_evidence_sd``, ``probability`` and its quantiles ``q05`` to ``q95``
            over the numerical error, ``map_probability``, ``evaluations``.
        """
        return tables.models(self, draws)

    def history(self) -> pd.DataFrame:
        """Return a row for each round: ``n``, ``evaluations``, ``contenders``, ``best``, ``map_probability``."""
        return tables.rounds(self)

    def error_history(self) -> pd.DataFrame:
        """Return the standard deviation of the log evidence after each round.

        Returns
        -------
        DataFrame
            ``n``, ``leading`` (of the model that leads in the end), ``median`` (over the models whose evidence is
            known).
        """
        return tables.errors(self)

    def at_stage(self, stage: int) -> Comparison:
        """Return the comparison as it stood after a round."""
        s = self.stages[stage]
        return Comparison(
            self.names, s.evidences, self.log_prior, np.minimum(self.points, s.n), self.stages[: stage + 1 or None],
            f"after {s.n} points", self.settings, self.rest,
        )  # fmt: skip

    def forecast(self, level: float = 0.95) -> str:
        """Say what would be needed for more certainty: points a model, by the rate at which the errors have fallen.

        The standard deviations of the two leading log evidences fall like n to some power; the power is taken from
        the last rounds, and the n is sought at which their difference would be decided with probability `level`.
        """
        return forecast(self, level)

    def to_xarray(self, draws: int = 1000) -> Any:
        """Return draws of log evidences and probabilities as an xarray Dataset with dimensions draw and model."""
        xr = _extras.load("xarray", "arviz", "`to_xarray`")

        coords = {"draw": np.arange(draws), "model": [label(name) for name in self.names]}
        return xr.Dataset(
            {
                "log_evidence": (("draw", "model"), self.log_draws(draws, None)),
                "probability": (("draw", "model"), self.probabilities(draws)),
            },
            coords=coords,
            attrs={"status": self.status, "n_evaluations": self.n_evaluations},
        )

    def to_arviz(self, draws: int = 1000, *, chains: int = 4) -> Any:
        """Return `draws` draws in each of `chains` chains for ArviZ, all of them independent.

        Returns
        -------
        arviz.InferenceData, or xarray.DataTree from ArviZ 1.0 on
            With the group ``posterior``: ``log_evidence`` and ``probability`` of every model.
        """
        xr = _extras.load("xarray", "arviz", "`to_arviz`")
        count, size = _validate.count(chains, "chains"), _validate.count(draws, "draws")
        flat = self.to_xarray(count * size)
        data = xr.Dataset(
            {
                name: (("chain", "draw", "model"), flat[name].to_numpy().reshape(count, size, -1))
                for name in ("log_evidence", "probability")
            },
            coords={"chain": np.arange(count), "draw": np.arange(size), "model": flat["model"].to_numpy()},
            attrs=flat.attrs,
        )
        return _extras.inference_data(data, "`to_arviz`")

    def report(self, path: str | os.PathLike[str], dataset: Any = None) -> Path:
        """Write the comparison as one self-contained HTML page; see :func:`fwbq.report.write_report`.

        Parameters
        ----------
        path : str or path
            The file to write.
        dataset : fwbq.chema.Dataset, optional
            The data that kinetic models were compared on: the page then shows them, and the curves of the leading
            models.
        """
        from ..report import write_report

        return write_report(self, path, dataset)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a JSON file, exact to the bit; :meth:`load` gives it back."""
        files.write(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Comparison:
        """Load what :meth:`save` wrote.

        Raises
        ------
        ValueError
            When the file is not of a comparison, was damaged, or holds what no comparison can hold.
        """
        fields = files.read(path)
        stages = tuple(Stage(*stage) for stage in fields.pop("stages"))
        rest = fields.pop("rest")
        return cls(**fields, stages=stages, rest=None if rest is None else Rest(*rest))
