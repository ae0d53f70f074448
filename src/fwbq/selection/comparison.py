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

from .. import _validate
from .._reason import Reason
from . import files
from .evidence import Evidences
from .map_probability import leader, map_probabilities
from .stage import Rest, Stage

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

#: Draws of the numerical error, and most numbers in all draws together: 160 MB.
_DRAWS, _NUMBERS = 2000, 20_000_000


def usual_draws(models: int) -> int:
    """Return how many draws of the numerical error are taken: 2000, fewer where the models are very many.

    Examples
    --------
    >>> usual_draws(352), usual_draws(50_000)
    (2000, 400)
    """
    return int(np.clip(_NUMBERS // max(models, 1), 100, _DRAWS))


def label(name: Hashable) -> str:
    """Return a name as people read it: tuples of enzymes in braces.

    Examples
    --------
    >>> label(("mTOR", "S6K")), label(()), label("linear")
    ('{mTOR, S6K}', '{}', 'linear')
    """
    return "{" + ", ".join(map(str, name)) + "}" if isinstance(name, tuple) else str(name)


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
        return map_probabilities(self.evidences, self.log_prior)

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
        """Median of the posterior of a model's log evidence."""
        return float(self.evidences.take([self._position(name)]).log_median[0])

    def log_evidence_interval(self, name: Hashable, level: float = 0.95) -> tuple[float, float]:
        """Central interval of a model's log evidence."""
        low, high = self.evidences.take([self._position(name)]).interval(_validate.probability(level, "level"))
        return float(low[0]), float(high[0])

    def _log_draws(self, draws: int | None, rng: Any) -> Array:
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
        logs = self._log_draws(draws, rng) + self.log_prior
        top = logs.max(axis=1, keepdims=True)
        if self.rest is not None:
            top = np.maximum(top, self.rest.log_weight)
        weights = np.exp(logs - top)
        total = weights.sum(axis=1, keepdims=True)
        if self.rest is not None:
            total = total + np.exp(self.rest.log_weight - top)
        return np.asarray(weights / total)

    def bayes_factor(self, first: Hashable, second: Hashable, level: float = 0.95) -> tuple[float, float, float]:
        """Return the log Bayes factor of the first model against the second: median and ends of its interval."""
        pair = self.evidences.take([self._position(first), self._position(second)])
        drawn = pair.sample(20_000, np.random.default_rng(0))
        tail = 50.0 * (1.0 - _validate.probability(level, "level"))
        low, middle, high = np.percentile(drawn[:, 0] - drawn[:, 1], [tail, 50.0, 100.0 - tail])
        return float(middle), float(low), float(high)

    def rank_probabilities(self, top: int = 10, draws: int | None = None) -> pd.DataFrame:
        """Return P(model has rank r), r = 1..top, for the models that are ever among the first `top`."""
        import pandas as pd

        logs = self._log_draws(draws, None) + self.log_prior
        top = min(_validate.count(top, "top"), len(self.names))
        ranks = np.argsort(-logs, axis=1, kind="stable")[:, :top]
        seen, inverse = np.unique(ranks, return_inverse=True)
        counts = np.zeros((len(seen), top))
        np.add.at(counts, (inverse.reshape(ranks.shape), np.arange(top)), 1.0 / len(logs))
        frame = pd.DataFrame(counts, index=[label(self.names[i]) for i in seen], columns=range(1, top + 1))
        return frame.iloc[np.lexsort(tuple(-counts[:, r] for r in reversed(range(top))))]

    def inclusion(self, draws: int | None = None, level: float = 0.95) -> pd.DataFrame:
        """Return the inclusion probability of each member of tuple-named models, with its numerical error.

        Models that were screened out are not counted: what they hold together is missing from every probability.

        Returns
        -------
        DataFrame
            ``name``, ``probability`` (median over draws), ``lower``, ``upper``; most probable first.
        """
        import pandas as pd
        from scipy.sparse import csr_array

        sets = [name if isinstance(name, tuple) else () for name in self.names]
        members = list(dict.fromkeys(e for name in sets for e in name))
        tail = 50.0 * (1.0 - _validate.probability(level, "level"))
        if not members:
            return pd.DataFrame({"name": members, "probability": [], "lower": [], "upper": []})
        position = {e: j for j, e in enumerate(members)}
        columns = np.array([position[e] for name in sets for e in dict.fromkeys(name)], dtype=np.intp)
        ends = np.cumsum([0, *(len(set(name)) for name in sets)])
        holds = csr_array((np.ones(len(columns)), columns, ends), shape=(len(sets), len(members)))
        shares = (holds.T @ self.probabilities(draws).T).T
        low, middle, high = np.percentile(shares, [tail, 50.0, 100.0 - tail], axis=0)
        frame = pd.DataFrame({"name": members, "probability": middle, "lower": low, "upper": high})
        return frame.sort_values("probability", ascending=False, ignore_index=True, kind="stable")

    def to_frame(self, draws: int | None = None) -> pd.DataFrame:
        """Return a row for each model, most probable first.

        Returns
        -------
        DataFrame
            ``model``, ``log_evidence``, ``log_evidence_sd``, ``probability`` and its quantiles ``q05`` to ``q95``
            over the numerical error, ``map_probability``, ``evaluations``.
        """
        import pandas as pd

        shares = self.probabilities(draws)
        q05, q25, q50, q75, q95 = np.quantile(shares, [0.05, 0.25, 0.5, 0.75, 0.95], axis=0)
        frame = pd.DataFrame(
            {
                "model": [label(name) for name in self.names],
                "log_evidence": self.evidences.log_median,
                "log_evidence_sd": self.evidences.log_sd,
                "probability": shares.mean(axis=0),
                "q05": q05,
                "q25": q25,
                "q50": q50,
                "q75": q75,
                "q95": q95,
                "map_probability": self.map_probabilities,
                "evaluations": self.points,
            }
        )
        order = np.lexsort((-(self.evidences.log_median + self.log_prior), -frame["probability"].to_numpy()))
        return frame.iloc[order].reset_index(drop=True)

    def history(self) -> pd.DataFrame:
        """Return a row for each round: ``n``, ``evaluations``, ``contenders``, ``best``, ``map_probability``."""
        import pandas as pd

        return pd.DataFrame(
            {
                "n": [s.n for s in self.stages],
                "evaluations": [s.evaluations for s in self.stages],
                "contenders": [s.contenders for s in self.stages],
                "best": [label(self.names[s.best]) for s in self.stages],
                "map_probability": [s.map_probability for s in self.stages],
            }
        )

    def error_history(self) -> pd.DataFrame:
        """Return the standard deviation of the log evidence after each round.

        Returns
        -------
        DataFrame
            ``n``, ``leading`` (of the model that leads in the end), ``median`` (over the models whose evidence is
            known).
        """
        import pandas as pd

        best = self._best
        rows = []
        for s in self.stages:
            sd = s.evidences.log_sd
            known = sd[np.isfinite(sd)]
            rows.append((s.n, float(sd[best]), float(np.median(known)) if len(known) else np.nan))
        return pd.DataFrame(rows, columns=["n", "leading", "median"])

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
        _validate.probability(level, "level")
        if self.map_probability >= level:
            return f"nothing more: P(MAP) = {self.map_probability:.4g} is above {level:g} already"
        score = self.evidences.log_median + self.log_prior
        if len(self.names) < 2:
            return "nothing more: there is one model"
        first, second = np.argsort(-score)[:2]
        gap = score[first] - score[second]
        history = [(s.n, float(np.hypot(*s.evidences.log_sd[[first, second]]))) for s in self.stages]
        usable = [(n, sd) for n, sd in history if sd > 0.0]
        if len(usable) < 2 or gap <= 0.0:
            return "cannot be predicted: there are too few rounds, or the two leading models have equal probability"
        (n0, s0), (n1, s1) = usable[0], usable[-1]
        rate = np.log(s0 / s1) / np.log(n1 / n0)
        if rate <= 0.05:
            return "cannot be predicted: the numerical error has not fallen from round to round yet"
        from scipy.special import ndtri

        # Not below what has been spent: a rival further down may be what keeps the decision open.
        with np.errstate(over="ignore"):
            needed = n1 * max(s1 * float(ndtri(level)) / gap, 1.0) ** (1.0 / rate)
        if not needed < 1e9:
            return (
                "more than a billion points for each of the two leading models: their posterior probabilities are too "
                "close to be told apart by computing more"
            )
        return (
            f"about {int(np.ceil(needed)):,} points for each of the two leading models, {label(self.names[first])} and "
            f"{label(self.names[second])} (now {n1}; the error falls like n^-{rate:.1f})"
        )

    def to_xarray(self, draws: int = 1000) -> Any:
        """Return draws of log evidences and probabilities as an xarray Dataset with dimensions draw and model."""
        import xarray as xr

        coords = {"draw": np.arange(draws), "model": [label(name) for name in self.names]}
        return xr.Dataset(
            {
                "log_evidence": (("draw", "model"), self._log_draws(draws, None)),
                "probability": (("draw", "model"), self.probabilities(draws)),
            },
            coords=coords,
            attrs={"status": self.status, "n_evaluations": self.n_evaluations},
        )

    def to_arviz(self, draws: int = 1000) -> Any:
        """Return the draws as an ArviZ InferenceData with one chain."""
        import arviz as az

        data = self.to_xarray(draws).expand_dims("chain").assign_coords(chain=[0])
        return az.InferenceData(posterior=data)

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
