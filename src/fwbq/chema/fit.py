r"""What a kinetic model says of the data once it is fitted: draws of its parameters, and the curves they give.

Given K the regression of the rates Y on X(K) is conjugate: with N increments, the
least-squares rates :math:`\hat V` and u from the Gamma distribution with shape N/2,

.. math::
    \sigma^2 = b_N / u, \qquad
    V \mid \sigma \sim \mathrm{N}\Bigl(\frac{N \hat V + 1}{N + 1},\ \sigma^2 \frac{N}{N+1} (X'X)^{-1}\Bigr).

K is drawn from its posterior by weighing points of the prior with the likelihood, which V and sigma are integrated
out of. With V truncated to V >= 0 the draws are weighed by 1{V >= 0} / P(V >= 0 | sigma, K), the ratio of the truncated
prior to the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _html, _validate
from .._threads import one_blas_thread
from . import _checks
from .constants import constants_posterior
from .dataset import Dataset
from .kinetics import BoolArray, FloatArray, Increments, increments
from .truncated import MOST_COLUMNS, least_squares, log_truncation_ratio, prior_orthants
from .units import UnitChoice, in_units

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ContradictedError", "FittedCourse", "KineticFit", "fit"]

# Draws of (sigma, V) from which one with V >= 0 is picked for each K: where one in fourteen is, 99 % of the K have one.
_TRIES = 64


class ContradictedError(ValueError):
    """The data contradict a model: no draw of its rates is positive."""


@dataclass(frozen=True, eq=False)
class FittedCourse:
    """The course of one condition under a fitted model.

    Attributes
    ----------
    condition : str
        Its name.
    times : (T,) array
        When levels were measured.
    phospho : (T,) array
        Measured levels of the phosphorylated substrate.
    observed : (T - 1,) array
        Measured rates of change over the intervals; NaN, here and in `rates` and `predicted`, of those that missing
        values touch.
    rates : (draws, T - 1) array
        Rates X(K) V of the draws, without noise.
    velocities : (draws, d) array
        V: of the dephosphorylation, then of each enzyme; the same for conditions that share rates.
    noise : (draws,) array
        sigma, likewise; of levels where these are explained.
    predicted : (draws, T - 1) array
        Rates with noise: what another measurement might give.
    """

    condition: str
    times: FloatArray
    phospho: FloatArray
    observed: FloatArray
    rates: FloatArray
    velocities: FloatArray
    noise: FloatArray
    predicted: FloatArray

    @property
    def levels(self) -> FloatArray:
        """Levels of the phosphorylated substrate that the draws give, from the first measured one on: (draws, T)."""
        result = np.empty((len(self.rates), len(self.times)))
        result[:, 0] = self.phospho[0]
        for i, step in enumerate(np.diff(self.times)):
            # After an interval without a rate, the levels go on from the measured one.
            ahead = result[:, i] + self.rates[:, i] * step
            result[:, i + 1] = np.where(np.isfinite(ahead), ahead, self.phospho[i + 1])
        return result

    @property
    def covered(self) -> int:
        """How many measured rates lie within the central 90 % of the predicted ones."""
        low, high = np.quantile(self.predicted, [0.05, 0.95], axis=0)
        return int(np.sum((low <= self.observed) & (self.observed <= high)))


@dataclass(frozen=True, eq=False)
class KineticFit:
    """Draws from the posterior of a kinetic model.

    Attributes
    ----------
    model : tuple of str
        Its enzymes.
    constants : (draws, d) array
        Michaelis constants K: of the dephosphorylation, then of each enzyme; shared by the conditions. Where levels are
        explained, (draws, 1): the time K_0.
    courses : tuple of FittedCourse
        One for each condition.
    effective_size : float
        How many points of the prior carry the posterior of K: few mean a rough band.
    """

    model: tuple[str, ...]
    constants: FloatArray
    courses: tuple[FittedCourse, ...]
    effective_size: float

    def __repr__(self) -> str:
        name = "{" + ", ".join(self.model) + "}"
        return f"<KineticFit of {name}: {len(self.constants)} draws, {len(self.courses)} condition(s)>"

    def _repr_html_(self) -> str:
        """Return the posterior of the constants, for notebooks."""
        names = ["dephosphorylation", *self.model][: self.constants.shape[1]]
        spread = np.quantile(self.constants, [0.05, 0.5, 0.95], axis=0).T
        rows = [[name, *(f"{q:.3g}" for q in row)] for name, row in zip(names, spread, strict=True)]
        return _html.grid(["Michaelis constant K", "5 %", "median", "95 %"], rows, "{" + ", ".join(self.model) + "}")

    def plot(self, axes: Any = None, *, condition: str | None = None) -> list[Axes]:
        """Draw the measured course and rates with the fitted ones; see :func:`fwbq.plots.kinetic_fit`."""
        from ..plots import kinetic_fit

        return kinetic_fit(self, axes, condition=condition)


@one_blas_thread
def fit(
    dataset: Dataset,
    model: Iterable[str | int],
    *,
    units: UnitChoice = "data",
    truncated: bool = False,
    draws: int = 400,
    rng: Any = None,
) -> KineticFit:
    """Draw the parameters of a kinetic model from their posterior, and the courses that they give.

    Parameters
    ----------
    dataset : Dataset
        The data.
    model : tuple of str or int
        Enzymes, by name or column index.
    units : {"data", "given"}, optional
        In which units the priors are meant, as in :func:`fwbq.chema.compare`. The draws are in those of the data set.
    truncated : bool, optional
        Whether V is truncated to V >= 0, as in :func:`fwbq.chema.log_likelihood`.
    draws : int, optional
        Number of draws.
    rng : None, int or numpy.random.Generator
        Seed of the draws.

    Returns
    -------
    KineticFit

    Raises
    ------
    ContradictedError
        With `truncated`, when no draw of V is positive: the data contradict the model. A ValueError.

    Examples
    --------
    >>> data = Dataset.example()
    >>> found = fit(data, data.regulators, rng=0)
    >>> found.constants.shape, found.courses[0].levels.shape
    ((400, 3), (400, 21))
    """
    columns = np.array(dataset.columns(model), dtype=np.intp)
    size = _validate.count(draws, "draws")
    if truncated and len(columns) + 1 > MOST_COLUMNS:
        _checks.fail(f"`truncated=True` is available for at most {MOST_COLUMNS - 1} enzymes per model")
    generator = _validate.generator(rng)
    scaled, factors = in_units(dataset, _validate.choice(units, "units", ("data", "given")))
    parts = increments(scaled)
    points, weights, _ = constants_posterior(parts, columns, generator)
    constants = points[generator.choice(len(points), size, p=weights)]
    designs = [part.designs(np.tile(columns, (size, 1)), constants) for part in parts]
    if truncated:
        logs = sum(log_truncation_ratio(x, part.rates) for x, part in zip(designs, parts, strict=True))
        ratio = np.exp(logs - np.max(logs))
        again = generator.choice(size, size, p=ratio / ratio.sum())
        constants, designs = constants[again], [x[again] for x in designs]
    drawn = [_rates(x, part.rates, truncated, generator) for x, part in zip(designs, parts, strict=True)]
    kept = np.all([np.isfinite(noise) for _, noise in drawn], axis=0)
    if not kept.any():
        raise ContradictedError(
            f"no draw of the rates of the model {tuple(dataset.names[j] for j in columns)} is positive: the data "
            "contradict it; leave `truncated` out, or choose another model"
        )
    names = tuple(dataset.names[j] for j in columns)
    levels = dataset.explained == "levels"
    velocity_units = factors.velocities(columns.tolist())
    if levels:
        velocity_units[0] = factors.phospho
    split, courses = dataset.split(), {}
    for members, part, x, (velocities, noise) in zip(dataset.groups, parts, designs, drawn, strict=True):
        fitted = part.turned_back(np.einsum("mtj,mj->mt", x[kept], velocities[kept]))
        fitted += _basal(part, noise[kept], generator)
        unit = factors.phospho if levels else factors.rate
        explained = unit * fitted[:, : part.means] / part.root
        noise = unit * noise[kept]
        predicted = explained + noise[:, None] / part.root * generator.standard_normal(explained.shape)
        first = 0
        for i in members:
            course = split[i]
            used = np.isfinite(course.phospho) if levels else course.used[:-1]
            rows = slice(first, first + int(used.sum()))
            first = rows.stop
            of_draws = [_spread(each[:, rows], used) for each in (explained, predicted)]
            if levels:
                of_draws = [np.diff(each, axis=1) / np.diff(course.times) for each in of_draws]
            courses[i] = FittedCourse(
                condition=course.conditions[0],
                times=course.times,
                phospho=course.phospho,
                observed=np.where(np.isfinite(of_draws[0][0]), course.slopes[:-1], np.nan),
                rates=of_draws[0],
                velocities=velocities[kept] * velocity_units,
                noise=noise,
                predicted=of_draws[1],
            )
    return KineticFit(
        names,
        constants[kept, :1] * factors.time if levels else constants[kept] * factors.constants(len(columns)),
        tuple(courses[i] for i in sorted(courses)),
        float(1.0 / np.sum(weights**2)),
    )


def _basal(part: Increments, noise: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Draw what the rates (m, N) have along the column of the basal rate.

    It is what the measured rates have, with an error of sigma; no model changes it, whatever its columns have.
    """
    if part.basal is None:
        return np.zeros((len(noise), part.rows))
    return (part.along_basal + noise * generator.standard_normal(len(noise)))[:, None] * part.basal


def _spread(rates: FloatArray, used: BoolArray) -> FloatArray:
    """Put values of the rows that were used (m, N) at their places (m, rows); NaN at the others."""
    result = np.full((len(rates), len(used)), np.nan)
    result[:, used] = rates
    return result


def _rates(
    x: FloatArray, y: FloatArray, truncated: bool, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw V (m, d) and sigma (m,) for design matrices x (m, N, d); sigma is NaN where no V >= 0 was met."""
    m, n, d = x.shape
    factor, estimate, b = least_squares(x, y)
    tries = _TRIES if truncated else 1
    u = generator.gamma(0.5 * n, size=(m, tries))
    sigma = np.sqrt(b[:, None] / u)
    z = np.einsum("mjr,mqr->mqj", factor, generator.standard_normal((m, tries, d)))
    velocities = ((n * estimate + 1.0) / (n + 1))[:, None] + (np.sqrt(n / (n + 1)) * sigma)[:, :, None] * z
    if not truncated:
        return velocities[:, 0], sigma[:, 0]
    logs = np.where(np.all(velocities >= 0.0, axis=2), -prior_orthants(x, y, u), -np.inf)
    # The largest of independent Gumbel variables shifted by log weights: a draw with these weights.
    chosen = np.argmax(logs + generator.gumbel(size=logs.shape), axis=1)
    row = np.arange(m)
    met = np.isfinite(logs[row, chosen])
    return velocities[row, chosen], np.where(met, sigma[row, chosen], np.nan)
