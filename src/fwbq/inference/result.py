"""What an evidence run returns: the log evidence with its error, and the posterior."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

from .. import _extras, _frozen, _html, _validate
from .._reason import LEVEL_OF_TOL, Reason
from .assessment import EXPANDED, Assessment
from .belief import Belief
from .modes import Mode
from .nodes import Nodes, resample
from .space import Space

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

#: Degrees of freedom of the posterior of a log evidence: heavier tails than a Gaussian's, because its standard
#: deviation is itself an estimate from tens of values.
DF = 10.0
#: Half the width of its interval of the level of a tolerance, in standard deviations.
_HALF_WIDTH = float(-stdtrit(DF, 0.5 * (1.0 - LEVEL_OF_TOL)) * np.sqrt((DF - 2.0) / DF))


@dataclass(frozen=True, eq=False)
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


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior distribution of the parameters, as the surrogate sees it: weighted nodes.

    Attributes
    ----------
    space : Space
    belief : Belief
    nodes : Nodes
    terms : Assessment
    """

    space: Space
    belief: Belief
    nodes: Nodes
    terms: Assessment

    def __repr__(self) -> str:
        pairs = ", ".join(f"{m:.4g} ± {s:.2g}" for m, s in zip(self.mean, self.sd, strict=True))
        return f"Posterior({pairs}; {self.effective_size:.0f} effective nodes)"

    def _repr_html_(self) -> str:
        """Return a row for each parameter, for notebooks."""
        columns = (self.mean, self.sd, self.quantile(0.05), self.quantile(0.95))
        rows = [
            [f"x{i + 1}", f"{m:.4g}", f"{s:.2g}", f"{low:.4g}", f"{high:.4g}"]
            for i, (m, s, low, high) in enumerate(zip(*columns, strict=True))
        ]
        return _html.grid(["parameter", "mean", "sd", "5 %", "95 %"], rows, "Posterior")

    @cached_property
    def points(self) -> Array:
        """The nodes in the user's parameters, (q, d)."""
        return _frozen.readonly(self.space.to_user(self.nodes.points))

    @property
    def weights(self) -> Array:
        """Their probabilities, (q,)."""
        return self.nodes.weights

    @property
    def effective_size(self) -> float:
        """Effective number of nodes."""
        return self.nodes.effective * len(self.nodes.points)

    @cached_property
    def mean(self) -> Array:
        """Posterior mean of the parameters, (d,)."""
        return np.asarray(self.weights @ self.points)

    @cached_property
    def cov(self) -> Array:
        """Posterior covariance, (d, d)."""
        shifted = self.points - self.mean
        return np.asarray((shifted * self.weights[:, None]).T @ shifted)

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

    def expect(self, g: Any) -> tuple[Any, Any]:
        r"""Return the posterior expectation of g and its standard deviation.

        To first order the error of the process moves it by :math:`\int \pi\, (g - \bar g)(\ell - m)`, whose standard
        deviation is returned, with the second-order term, the spread between kernels, the error of the sum over the
        nodes, and what boundary and unseen mass leave open.

        Parameters
        ----------
        g : callable
            Points (n, d) to values (n,) or (n, m).

        Examples
        --------
        >>> import numpy as np, fwbq
        >>> found = fwbq.evidence(lambda x: -0.5 * ((x[:, 0] - 1.0) / 0.1) ** 2, fwbq.Gaussian([0.0], [[1.0]]), n=30)
        >>> value, sd = found.posterior.expect(lambda x: x[:, 0])
        >>> bool(abs(value - 1.0 / 1.01) < 1e-3)
        True
        """
        values = np.asarray(_validate.function(g, "g")(self.points), dtype=float)
        if values.shape[:1] != (len(self.points),) or values.ndim > 2:
            raise ValueError(
                f"`g` must return one value, or one row, for each point: for {len(self.points)} points it returned an "
                f"array of shape {values.shape}"
            )
        columns = values.reshape(len(values), -1)
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
        rows = resample(self.nodes, 600)
        z = self.nodes.points[rows]
        surrogate = self.belief.surrogate
        tilt = (columns[rows] - columns[rows].mean(axis=0)) / len(rows)
        K = surrogate.covariance(z)
        prior = np.einsum("qm,qm->m", tilt, K @ tilt)
        there = surrogate.predict(z)
        process = surrogate.amplitude * there.weighted_variance(tilt, prior)
        # Second order: where the process is uncertain, the mean of its exponential is larger than that of its mean.
        bounded = np.minimum(surrogate.amplitude * there.variance(np.diagonal(K)), EXPANDED)
        curvature = self.terms.inflation * 0.5 * bounded @ tilt
        base = self.belief.log_joint(z)
        shifts = [np.zeros(len(mean))]
        for other in self.belief.fitted.members[1:]:
            tilted = np.exp(np.clip(self.belief.log_joint(z, other) - base, -50.0, 50.0))
            shifts.append(tilted @ tilt * len(rows) / tilted.sum())
        kernels = self.belief.fitted.weights @ (np.array(shifts) - self.belief.fitted.weights @ np.array(shifts)) ** 2
        # Mass that is not known to be there, or not known to be nothing, may be anywhere the posterior is.
        elsewhere = min(self.terms.unseen**2 + self.terms.boundary**2, 1.0) * columns[rows].var(axis=0)
        sd = np.sqrt(self.terms.inflation * process + curvature**2 + kernels + elsewhere + noise**2)
        if values.ndim == 1:
            return float(mean[0]), float(sd[0])
        return mean, sd

    def describe(self, modes: list[Mode]) -> tuple[FoundMode, ...]:
        """Return the modes with the share of the mass nearest to each, the largest first."""
        if not modes:
            return ()
        heights = np.array([mode.peak(self.nodes.points) for mode in modes])
        share = np.bincount(np.argmax(heights, axis=0), self.weights, minlength=len(modes))
        places = self.space.to_user(np.array([mode.peak.centre for mode in modes]))
        found = [
            FoundMode(place, mode.peak.constant, float(s), mode.climbs)
            for place, mode, s in zip(places, modes, share, strict=True)
        ]
        return tuple(sorted(found, key=lambda mode: -mode.share))


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
    terms : Assessment or None
        What the error is made of.
    posterior : Posterior or None
        The parameters: draws, mean, covariance, expectations. None when there is no positive likelihood.
    n_skipped : int
        Points at which the function failed, under ``on_error="skip"``.
    budget : int
        Evaluations that were planned.
    tol : float or None
        Tolerance that was asked for.
    """

    log_evidence: float
    sd: float
    reason: Reason
    points: Array
    values: Array
    modes: tuple[FoundMode, ...]
    terms: Assessment | None
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
    def status(self) -> str:
        """Why the run ended, and what a reader should know."""
        notes = [self.reason.sentence(n=self.n_evaluations, tol=self.tol, floor=self.least_half_width)]
        if self.n_skipped:
            notes.append(f"{self.n_skipped} points skipped because the function failed there")
        if len(self.modes) > 1:
            shares = ", ".join(f"{mode.share:.2g}" for mode in self.modes)
            notes.append(f"{len(self.modes)} modes, with shares {shares} of the mass")
        elif self.modes:
            notes.append(f"one mode, reached by {self.modes[0].climbs} climb{'s' * (self.modes[0].climbs > 1)}")
        if self.terms is not None and self.terms.unseen > 0.2 * self.sd > 0.0:
            notes.append("the interval allows for mass that no point has met")
        return "; ".join(notes)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval that holds the log evidence with probability `level`."""
        tail = 0.5 * (1.0 - _validate.probability(level, "level"))
        if not np.isfinite(self.sd):
            return -np.inf, np.inf
        half = float(-stdtrit(DF, tail)) * self.scale
        return self.log_evidence - half, self.log_evidence + half

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
        names: Sequence[str] | None = None,
        variables: Callable[[Array], Mapping[str, Any]] | None = None,
        rng: Any = None,
    ) -> Any:
        """Return draws from the posterior for ArviZ, as one chain.

        Parameters
        ----------
        draws : int
            Number of draws. They are independent: ArviZ's diagnostics of mixing have nothing to find in them.
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
        points = self._some_posterior().sample(_validate.count(draws, "draws"), rng)
        if variables is None:
            columns: Mapping[str, Any] = dict(zip(self._names(names), points.T, strict=True))
        elif names is None:
            columns = variables(points)
        else:
            raise ValueError("`names` are those that `variables` returns: leave `names` out")
        az, xr = (_extras.load(name, "arviz", "`to_arviz`") for name in ("arviz", "xarray"))
        data = xr.Dataset(
            {name: _chain(name, x, draws) for name, x in columns.items()},
            coords={"chain": [0], "draw": np.arange(draws)},
            attrs={
                "log_evidence": self.log_evidence,
                "log_evidence_sd": self.sd,
                "n_evaluations": self.n_evaluations,
                "status": self.status,
            },
        )
        if hasattr(az, "InferenceData"):
            return az.InferenceData(posterior=data)
        return xr.DataTree.from_dict({"posterior": data})

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
        return _validate.parameter_names(names, self.points.shape[1])

    def _some_posterior(self) -> Posterior:
        if self.posterior is None:
            raise ValueError(f"there is no posterior to draw from: {self.status}")
        return self.posterior

    @property
    def error_parts(self) -> dict[str, float]:
        """What the standard deviation is made of; it is the root of the sum of the squares."""
        t = self.terms
        if t is None:  # a sample that was summed up, or nothing known
            return {"rounding": self.sd} if np.isfinite(self.sd) else {}
        return {
            "process": float(np.sqrt(t.inflation)) * t.process,
            "second order": t.inflation * t.curvature,
            "kernels": t.kernels,
            "nodes": t.nodes,
            "boundary": t.boundary,
            "unseen": t.unseen,
            "rounding": t.rounding,
        }

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
        low, high = self.interval(0.95)
        lines = [
            f"log evidence {self.log_evidence:.6g} ± {self.sd:.2g}, 95 % in [{low:.6g}, {high:.6g}]",
            self._cost,
        ]
        if self.error_parts:
            lines.append("error: " + ", ".join(f"{name} {value:.2g}" for name, value in self.error_parts.items()))
        if self.posterior is not None:
            pairs = zip(self.posterior.mean, self.posterior.sd, strict=True)
            lines.append("parameters: " + ", ".join(f"{m:.4g} ± {s:.2g}" for m, s in pairs))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        low, high = self.interval(0.95)
        rows = [
            ("log evidence", f"{self.log_evidence:.6g} ± {self.sd:.2g}"),
            ("95 % interval", f"[{low:.6g}, {high:.6g}]"),
            ("evaluations", str(self.n_evaluations)),
            ("success", "yes" if self.success else "no"),
            ("status", self.status),
        ]
        if self.error_parts:
            rows.append(("error", ", ".join(f"{name} {value:.2g}" for name, value in self.error_parts.items())))
        if self.posterior is not None:
            pairs = zip(self._names(), self.posterior.mean, self.posterior.sd, strict=True)
            rows.append(("parameters", ", ".join(f"{name} = {m:.4g} ± {s:.2g}" for name, m, s in pairs)))
        for mode in self.modes:
            place = ", ".join(f"{x:.4g}" for x in mode.place)
            climbs = f"{mode.climbs} climb{'s' * (mode.climbs != 1)}"
            rows.append(("mode", f"({place}), share {mode.share:.2g} of the mass, {climbs}"))
        return _html.table(rows, title="Evidence")

    def __repr__(self) -> str:
        low, high = self.interval(0.95)
        return f"Evidence(log {self.log_evidence:.8g} ± {self.sd:.2g}, 95 % in [{low:.8g}, {high:.8g}], {self._cost})"


def _chain(name: str, values: Any, draws: int) -> tuple[tuple[str, ...], Array]:
    """Return the draws of a variable as one chain for xarray, with names for the dimensions of the variable itself."""
    array = np.asarray(values)
    if array.shape[:1] != (draws,):
        raise ValueError(
            f"`variables` must return one value, or one array, for each of the {draws} draws; {name!r} has shape "
            f"{array.shape}"
        )
    own = tuple(f"{name}_dim_{i}" for i in range(array.ndim - 1))  # as ArviZ names them
    return ("chain", "draw", *own), array[None]
