"""What an evidence run returns: the log evidence with its error, and the posterior."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

from .. import _extras, _frozen, _html, _validate
from .._numbers import error, with_digits_of, with_error
from .._reason import LEVEL_OF_TOL, Reason
from ..posterior import Estimate
from .assessment import Assessment, JudgedAssessment
from .chart import Chart
from .gradients.judge import Judgement, standard_error
from .modes import Mode
from .nodes import Nodes, resample
from .surrogate import Surrogate
from .tuning import TUNING

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

#: Degrees of freedom of the posterior of a log evidence.
DF = TUNING.error.df
#: Half the width of its interval of the level of a tolerance, in standard deviations.
_HALF_WIDTH = float(-stdtrit(DF, 0.5 * (1.0 - LEVEL_OF_TOL)) * np.sqrt((DF - 2.0) / DF))


_LIKELIHOODS = (
    "the values seem to be likelihoods, not their logarithms: they are never negative, and tiny or mostly near zero; "
    "return the logarithm, log(likelihood)"
)
#: Values are taken for likelihoods when there are at least ten, none is negative, and the largest is tiny or a quarter
#: of them is a thousand times smaller than the largest. Of 480 sets of 40 log likelihoods, five of each family of
#: studies/problems/likelihoods, none is taken for likelihoods; of their exponentials 398 are.
_FEWEST = 10
_TINY = 1e-3
_SHARE = 0.25


@dataclass(frozen=True, eq=False, repr=False)
class FoundMode:
    """A mode of the posterior.

    Attributes
    ----------
    place : (d,) array
        In the user's parameters.
    log_joint : float
        Log likelihood plus log prior density there, in the coordinates of the run.
    share : float
        Share of the posterior mass nearest to it.
    climbs : int
        How many climbs ended there; none at the image of another mode, with parameters exchanged that neither prior nor
        likelihood tells apart.
    """

    place: Array
    log_joint: float
    share: float
    climbs: int

    def __post_init__(self) -> None:
        _frozen.lock(self)

    def __repr__(self) -> str:
        return f"FoundMode({self.words})"

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        return _html.table(_html.parameters(self), title="Mode")

    @property
    def words(self) -> str:
        """Where it is, how much of the mass it has, and how many climbs ended there."""
        place = ", ".join(f"{x:.4g}" for x in self.place)
        return f"({place}), share {self.share:.2g} of the mass, {self.climbs} climb{'s' * (self.climbs != 1)}"


@dataclass(frozen=True, eq=False)
class Posterior(ABC):
    """The posterior distribution of the parameters, as a surrogate sees it: weighted nodes.

    Attributes
    ----------
    chart : Chart
    nodes : Nodes
    """

    chart: Chart
    nodes: Nodes

    def __repr__(self) -> str:
        pairs = ", ".join(map(with_error, self.mean, self.sd))
        return f"Posterior({pairs}; {self.effective_size:.0f} effective nodes)"

    def _repr_html_(self) -> str:
        """Return a row for each parameter, for notebooks."""
        columns = (self.mean, self.sd, self.quantile(0.05), self.quantile(0.95))
        rows = [
            [name, *with_digits_of(s, m), error(s), *with_digits_of(s, low, high)]
            for name, m, s, low, high in zip(self.chart.names, *columns, strict=True)
        ]
        return _html.grid(["parameter", "mean", "sd", "5 %", "95 %"], rows, "Posterior")

    @cached_property
    def points(self) -> Array:
        """The nodes in the user's parameters, (q, d)."""
        return _frozen.readonly(self.chart.to_user(self.nodes.points))

    @property
    def weights(self) -> Array:
        """Their probabilities, (q,)."""
        return _frozen.shown(self.nodes.weights)

    @property
    def effective_size(self) -> float:
        """Effective number of nodes."""
        return self.nodes.effective * len(self.nodes.points)

    @cached_property
    def mean(self) -> Array:
        """Posterior mean of the parameters, (d,)."""
        return _frozen.readonly(self.weights @ self.points)

    @cached_property
    def cov(self) -> Array:
        """Posterior covariance, (d, d)."""
        shifted = self.points - self.mean
        return _frozen.readonly((shifted * self.weights[:, None]).T @ shifted)

    @property
    def sd(self) -> Array:
        """Posterior standard deviations of the parameters, (d,)."""
        return np.sqrt(np.diagonal(self.cov))

    def sample(self, size: int, rng: Any = None) -> Array:
        """Draw from the posterior, (size, d): nodes picked by their weights, with replacement, so that some repeat."""
        count = _validate.count(size, "size", minimum=0)
        rows = _validate.generator(rng).choice(len(self.weights), size=count, p=self.weights)
        return np.array(self.points[rows])

    def quantile(self, q: ArrayLike) -> Array:
        """Return the `q`-quantile of every parameter, (d,); of several levels (k,) a row for each, (k, d).

        Examples
        --------
        >>> import numpy as np, fwbq
        >>> found = fwbq.evidence(lambda x: -0.5 * ((x[:, 0] - 1.0) / 0.1) ** 2, fwbq.Gaussian([0.0], [[1.0]]), n=30)
        >>> found.posterior.quantile(0.5).shape, found.posterior.quantile([0.05, 0.5, 0.95]).shape
        ((1,), (3, 1))
        """
        given = _validate.numbers(q, "q")
        if given.ndim > 1:
            raise ValueError(f"`q` must be one level or a vector of levels, got shape {given.shape}")
        levels = np.array([_validate.probability(level, "q") for level in given.ravel()])
        out = np.empty((len(levels), self.points.shape[1]))
        for i, column in enumerate(self.points.T):
            order = np.argsort(column, kind="stable")
            rows = np.searchsorted(np.cumsum(self.weights[order]), levels)
            out[:, i] = column[order[np.minimum(rows, len(order) - 1)]]
        return out if given.ndim else out[0]

    def expect(self, g: Any) -> Estimate:
        r"""Return the posterior expectation of g with its numerical error; ``value, sd = posterior.expect(g)`` works.

        The error has the same sources as that of the log evidence.

        Parameters
        ----------
        g : callable
            Points (n, d) to values (n,) or (n, m).

        Examples
        --------
        >>> import numpy as np, fwbq
        >>> found = fwbq.evidence(lambda x: -0.5 * ((x[:, 0] - 1.0) / 0.1) ** 2, fwbq.Gaussian([0.0], [[1.0]]), n=30)
        >>> value, sd = found.posterior.expect(lambda x: x[:, 0])
        >>> round(value, 3), sd < 1e-3
        (0.99, True)
        """
        columns, flat = self._evaluated(g, self.points)
        mean, sd = self._expectation(columns, lambda z: self._evaluated(g, self.chart.to_user(z))[0])
        return Estimate(mean[0], sd[0], sd[0]) if flat else Estimate(mean, sd, sd)

    @staticmethod
    def _evaluated(g: Any, points: Array) -> tuple[Array, bool]:
        """Return the values of g at points, a column for each, and whether it has one value for each point."""
        values = np.asarray(_validate.function(g, "g")(points), dtype=float)
        if values.shape[:1] != (len(points),) or values.ndim > 2:
            raise ValueError(
                f"`g` must return one value, or one row, for each point: for {len(points)} points it returned an "
                f"array of shape {values.shape}"
            )
        return values.reshape(len(values), -1), values.ndim == 1

    @abstractmethod
    def _expectation(self, columns: Array, g: Callable[[Array], Array]) -> tuple[Array, Array]:
        """Return expectations and standard deviations (m,) of a function, given by its values (q, m) at the nodes."""

    def describe(self, modes: list[Mode]) -> tuple[FoundMode, ...]:
        """Return the modes with the share of the mass nearest to each, the largest first."""
        if not modes:
            return ()
        heights = np.array([mode.peak(self.nodes.points) for mode in modes])
        share = np.bincount(np.argmax(heights, axis=0), self.weights, minlength=len(modes))
        places = self.chart.to_user(np.array([mode.peak.centre for mode in modes]))
        found = [
            FoundMode(place, mode.peak.constant, float(s), mode.climbs)
            for place, mode, s in zip(places, modes, share, strict=True)
        ]
        return tuple(sorted(found, key=lambda mode: -mode.share))


@dataclass(frozen=True, eq=False, repr=False)
class SurrogatePosterior(Posterior):
    r"""The posterior by a process on the log joint density.

    To first order the error of the process moves an expectation by :math:`\int \pi\, (g - \bar g)(\ell - m)`, whose
    standard deviation is stated, with the second-order term, the spread between kernels, the error of the sum over the
    nodes, and what boundary and unseen mass leave open.

    Attributes
    ----------
    surrogate : Surrogate
    terms : Assessment
    """

    surrogate: Surrogate
    terms: Assessment

    def _expectation(self, columns: Array, g: Callable[[Array], Array]) -> tuple[Array, Array]:
        mean = self.weights @ columns
        blocks = np.array(
            [
                np.average(part, axis=0, weights=w)
                for part, w in zip(
                    np.split(columns, self.nodes.replicates), np.split(self.weights, self.nodes.replicates), strict=True
                )
            ]
        )
        noise = blocks.std(axis=0, ddof=1) / np.sqrt(len(blocks)) if len(blocks) > 1 else np.zeros(len(mean))
        rows = resample(self.nodes, TUNING.error.expectation)
        z = self.nodes.points[rows]
        error = self.surrogate.process.expectation_error(z, columns[rows]).inflated(self.terms.inflation)
        base = self.surrogate.log_joint(z)
        shifts = [np.zeros(len(mean))]
        for other in self.surrogate.fitted.members[1:]:
            tilted = np.exp(np.clip(self.surrogate.log_joint(z, other) - base, -50.0, 50.0))
            shifts.append(tilted @ (columns[rows] - columns[rows].mean(axis=0)) / tilted.sum())
        probabilities, each = self.surrogate.fitted.weights, np.array(shifts)
        kernels = probabilities @ (each - probabilities @ each) ** 2
        # Mass that is not known to be there, or not known to be nothing, may be anywhere the posterior is.
        elsewhere = min(self.terms.unseen**2 + self.terms.boundary**2, 1.0) * columns[rows].var(axis=0)
        return mean, np.sqrt(error.variance + kernels + elsewhere + noise**2)


@dataclass(frozen=True, eq=False, repr=False)
class JudgedPosterior(Posterior):
    """The posterior by draws that judge a surrogate.

    The nodes are those of the surrogate. Expectations are corrected by the draws, and their error is a standard error.

    Attributes
    ----------
    terms : JudgedAssessment
    judgements : tuple of Judgement
        One for the cell of each mode.
    """

    terms: JudgedAssessment
    judgements: tuple[Judgement, ...]

    def _expectation(self, columns: Array, g: Callable[[Array], Array]) -> tuple[Array, Array]:
        means = np.zeros(columns.shape[1])
        variance = np.zeros(columns.shape[1])
        start = 0
        parts = []
        for each in self.judgements:
            stop = start + len(each.nodes.points)
            share = float(np.exp(each.reference - self.terms.log_evidence))
            at_draws = g(each.points)
            for j in range(columns.shape[1]):
                products = each.terms(columns[start:stop, j], at_draws[:, j])
                means[j] += share * float(products.mean())
                parts.append((share, each.terms(), products))
            start = stop
        for k, (share, terms, products) in enumerate(parts):
            j = k % columns.shape[1]
            variance[j] += (share * standard_error(products - means[j] * terms)) ** 2
        spread = self.weights @ (columns - means) ** 2
        elsewhere = min(self.terms.sd**2 - self.terms.sampling**2, 1.0) * spread
        return means, np.sqrt(variance + elsewhere)


@dataclass(frozen=True, eq=False)
class Evidence:
    """The logarithm of an evidence, how far off it may be, and the posterior.

    Attributes
    ----------
    log_evidence : float
        The estimate; minus infinity when the likelihood is zero at every point.
    sd : float
        Its standard deviation, all numerical error included; infinite when nothing is known.
    reason : Reason
        Why the run ended, for programs.
    points : (n, d) array
        Where the log likelihood was evaluated.
    values : (n,) array
        Log likelihoods there.
    modes : tuple of FoundMode
        Modes found: place, share of the mass, how many climbs ended there.
    terms : Assessment, JudgedAssessment or None
        What the error is made of.
    posterior : Posterior or None
        The parameters: draws, mean, covariance, expectations. None when there is no positive likelihood.
    n_skipped : int
        Points at which the function failed, under ``on_error="skip"``.
    budget : int
        Evaluations that were planned.
    tol : float or None
        Tolerance that was asked for.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> found = fwbq.evidence(lambda x: -0.5 * (x[:, 0] / 0.1) ** 2, fwbq.Gaussian([0.0], [[1.0]]), n=30, rng=0)
    >>> round(found.log_evidence, 3), found.n_evaluations, found.success, found.posterior.sd.round(3).tolist()
    (-2.308, 30, True, [0.1])
    """

    log_evidence: float
    sd: float
    reason: Reason
    points: Array
    values: Array
    modes: tuple[FoundMode, ...]
    terms: Assessment | JudgedAssessment | None
    posterior: Posterior | None
    n_skipped: int = 0
    budget: int = 0
    tol: float | None = None

    def __post_init__(self) -> None:
        _frozen.freeze(self, points=_frozen.readonly(self.points), values=_frozen.readonly(self.values))

    @property
    def n_evaluations(self) -> int:
        """Number of points at which the log likelihood is known."""
        return len(self.values)

    @property
    def success(self) -> bool:
        """Whether the mass was found and, where a tolerance was asked for, it was reached."""
        return self.reason.success

    @property
    def remark(self) -> str | None:
        """What seems to be wrong with the values themselves; None for nothing."""
        return _LIKELIHOODS if _seem_likelihoods(self.values) else None

    @property
    def status(self) -> str:
        """Why the run ended, by which way the evidence was found, and what else a reader should know."""
        notes = [self.reason.sentence(n=self.n_evaluations, tol=self.tol, floor=self.least_half_width)]
        if self.terms is not None:
            notes.append(f"by {self.terms.way}")
        if self.n_skipped:
            notes.append(f"{self.n_skipped} points skipped because the function failed there")
        if len(self.modes) > 1:
            shares = ", ".join(f"{mode.share:.2g}" for mode in self.modes)
            notes.append(f"{len(self.modes)} modes, with shares {shares} of the mass")
        elif self.modes:
            notes.append(f"one mode, reached by {self.modes[0].climbs} climb{'s' * (self.modes[0].climbs > 1)}")
        if self.terms is not None and self.terms.unseen > 0.2 * self.sd > 0.0:
            text, size = max(self.terms.doubts.items(), key=lambda pair: pair[1])
            about = f"{size:.0f}" if size >= 1.0 else f"{size:.1g}"
            notes.append(f"the interval allows for a doubt, of about {about}: {text}")
        if self.remark is not None:
            notes.append(self.remark)
        return "; ".join(notes)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval that holds the log evidence with probability `level`."""
        tail = 0.5 * (1.0 - _validate.probability(level, "level"))
        if not np.isfinite(self.sd):
            return -np.inf, np.inf
        half = float(-stdtrit(DF, tail)) * self.scale
        return self.log_evidence - half, self.log_evidence + half

    @property
    def estimate(self) -> Estimate:
        """The log evidence as a number with an error, like those of `integrate`.

        Examples
        --------
        >>> import numpy as np, fwbq
        >>> found = fwbq.evidence(lambda x: -0.5 * (x[:, 0] / 0.1) ** 2, fwbq.Gaussian([0.0], [[1.0]]), n=30, rng=0)
        >>> round(found.estimate.mean, 3), found.estimate.interval(0.9) == found.interval(0.9)
        (-2.308, True)
        """
        return Estimate(self.log_evidence, self.scale, self.scale, df=DF)

    @property
    def scale(self) -> float:
        """Scale of the Student-t distribution with 10 degrees of freedom that has this standard deviation."""
        return self.sd * float(np.sqrt((DF - 2.0) / DF))

    def cdf(self, x: float) -> float:
        """Return the probability that the log evidence is at most `x`.

        When nothing is known of it (`sd` is infinite, as for a likelihood of zero at every point) that is one half for
        every number, the limit of ever wider distributions, as :meth:`interval` is all numbers; at minus infinity it is
        zero, at plus infinity one.
        """
        if not np.isfinite(self.sd):
            return float(0.5 * (1.0 + np.sign(x))) if np.isinf(x) else 0.5
        return float(stdtr(DF, (x - self.log_evidence) / self.scale))

    def ending(self, reason: Reason | None, tol: float | None) -> Evidence:
        """Return the same evidence with the reason why the run ended, unless something was wrong with it."""
        keep = self.reason if reason is None or not self.reason.success else reason
        return replace(self, reason=keep, tol=tol)

    def to_frame(self) -> pd.DataFrame:
        """Return points and log likelihoods as a table, in the order of evaluation."""
        import pandas as pd

        columns = dict(zip(self._names(), self.points.T, strict=True))
        return pd.DataFrame({**columns, "log_likelihood": self.values})

    def to_arviz(
        self,
        draws: int = 1000,
        *,
        chains: int = 4,
        names: Sequence[str] | None = None,
        variables: Callable[[Array], Mapping[str, Any]] | None = None,
        rng: Any = None,
    ) -> Any:
        """Return draws from the posterior for ArviZ, as several chains.

        Parameters
        ----------
        draws : int
            Number of draws in each chain. All of them are independent, so that ArviZ's diagnostics of mixing have
            nothing to find in them.
        chains : int
            Number of chains.
        names : sequence of str, optional
            Names of the parameters; ``x1``, ``x2``, ... by default.
        variables : callable, optional
            What ArviZ is to see instead of the parameters: draws (n, d) to a dict of names to arrays (n, ...), such as
            the `variables` of a :class:`fwbq.Model` made from PyMC or from a prior transform.
        rng : None, int or numpy.random.Generator
            Seed of the draws.

        Returns
        -------
        arviz.InferenceData, or xarray.DataTree from ArviZ 1.0 on
            With the group ``posterior``, whose attributes hold log evidence, its standard deviation, the number of
            evaluations and the status.
        """
        shape = _validate.count(chains, "chains"), _validate.count(draws, "draws")
        points = self._some_posterior().sample(shape[0] * shape[1], rng)
        if variables is None:
            columns: Mapping[str, Any] = dict(zip(self._names(names), points.T, strict=True))
        elif names is None:
            columns = variables(points)
        else:
            raise ValueError("`names` are those that `variables` returns: leave `names` out")
        xr = _extras.load("xarray", "arviz", "`to_arviz`")
        data = xr.Dataset(
            {name: _chains(name, x, shape) for name, x in columns.items()},
            coords={"chain": np.arange(shape[0]), "draw": np.arange(shape[1])},
            attrs={
                "log_evidence": self.log_evidence,
                "log_evidence_sd": self.sd,
                "n_evaluations": self.n_evaluations,
                "status": self.status,
            },
        )
        return _extras.inference_data(data, "`to_arviz`")

    def plot(self, axes: Any = None, *, names: Sequence[str] | None = None) -> list[Axes]:
        """Draw the posterior: each parameter's on the diagonal, pairs below; see :func:`fwbq.plots.corner`.

        Parameters
        ----------
        axes : sequence of Axes, optional
            One for each panel; a new figure by default.
        names : sequence of str, optional
            Names of the parameters; ``x1``, ``x2``, ... by default.

        Returns
        -------
        list of Axes
            The d (d + 1) / 2 panels, row by row: (1, 1), (2, 1), (2, 2), (3, 1), ...
        """
        from ..plots import corner

        return corner(self, axes, names=names)

    def _names(self, names: Sequence[str] | None = None) -> tuple[str, ...]:
        if names is None and self.posterior is not None:
            return self.posterior.chart.names
        return _validate.parameter_names(names, self.points.shape[1])

    def _some_posterior(self) -> Posterior:
        if self.posterior is None:
            raise ValueError(f"there is no posterior to draw from: {self.status}")
        return self.posterior

    @property
    def error_parts(self) -> dict[str, float]:
        """What the standard deviation is made of; it is the root of the sum of the squares."""
        if self.terms is None:  # a sample that was summed up, or nothing known
            return {"rounding": self.sd} if np.isfinite(self.sd) else {}
        return self.terms.parts

    @property
    def doubts(self) -> dict[str, float]:
        """What no value tells and may be missing, in words, with its natural logarithms, the largest first.

        What is below the rounding of the log evidence is left out.

        Examples
        --------
        >>> import numpy as np, fwbq
        >>> found = fwbq.EvidenceRun(fwbq.Gaussian([0.0, 0.0], np.eye(2)), n=100, rng=0)
        >>> x = found.ask()
        >>> found.tell(x, -50.0 * np.sum((x - 0.3) ** 2, axis=1))
        >>> list(found.result().doubts)
        ['the highest value may not be at the top of the density: no climb has arrived, or the top still rises']
        """
        doubts = {} if self.terms is None else self.terms.doubts
        least = self.error_parts.get("rounding", 0.0)
        return dict(
            sorted(((text, value) for text, value in doubts.items() if value > least), key=lambda pair: -pair[1])
        )

    @property
    def least_half_width(self) -> float:
        """Half the width of the 95 % interval that rounding alone would leave; no tolerance below it can be reached."""
        return self.error_parts.get("rounding", 0.0) * _HALF_WIDTH

    @property
    def _cost(self) -> str:
        """The status, with the number of evaluations unless it says it by itself."""
        return self.reason.with_count(self.n_evaluations, self.status)

    def summary(self) -> str:
        """Return a short text: the evidence, what its error is made of, modes and parameters."""
        lines = [
            f"log evidence {self._stated()}",
            self._cost,
        ]
        if self.error_parts:
            lines.append("error: " + ", ".join(f"{name} {value:.2g}" for name, value in self.error_parts.items()))
        if self.posterior is not None:
            lines.append("parameters: " + ", ".join(map(with_error, self.posterior.mean, self.posterior.sd)))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        low, high = with_digits_of(self.sd, *self.interval(0.95))
        rows = [
            ("log evidence", with_error(self.log_evidence, self.sd)),
            ("95 % interval", f"[{low}, {high}]"),
            ("evaluations", str(self.n_evaluations)),
            ("success", "yes" if self.success else "no"),
            ("status", self.status),
        ]
        if self.error_parts:
            rows.append(("error", ", ".join(f"{name} {value:.2g}" for name, value in self.error_parts.items())))
        if self.posterior is not None:
            pairs = zip(self._names(), self.posterior.mean, self.posterior.sd, strict=True)
            rows.append(("parameters", ", ".join(f"{name} = {with_error(m, s)}" for name, m, s in pairs)))
        for mode in self.modes:
            rows.append(("mode", mode.words))
        return _html.table(rows, title="Evidence")

    def __repr__(self) -> str:
        return f"Evidence(log {self._stated()}, {self._cost})"

    def _stated(self) -> str:
        low, high = with_digits_of(self.sd, *self.interval(0.95))
        return f"{with_error(self.log_evidence, self.sd)}, 95 % in [{low}, {high}]"


def _seem_likelihoods(values: Array) -> bool:
    """Whether values look like likelihoods, not like their logarithms: never negative, and tiny or mostly near zero."""
    known = values[np.isfinite(values)]
    if len(known) < _FEWEST or len(known) < len(values) or known.min() < 0.0 or known.min() == known.max():
        return False
    top = float(known.max())
    return top <= _TINY or float(np.mean(known <= _TINY * top)) >= _SHARE


def _chains(name: str, values: Any, shape: tuple[int, int]) -> tuple[tuple[str, ...], Array]:
    """Return the draws of a variable as chains for xarray, with names for the dimensions of the variable itself."""
    array = np.asarray(values)
    draws = shape[0] * shape[1]
    if array.shape[:1] != (draws,):
        raise ValueError(
            f"`variables` must return one value, or one array, for each of the {draws} draws; {name!r} has shape "
            f"{array.shape}"
        )
    own = tuple(f"{name}_dim_{i}" for i in range(array.ndim - 1))  # as ArviZ names them
    return ("chain", "draw", *own), array.reshape(*shape, *array.shape[1:])
