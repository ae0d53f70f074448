"""Hares and lynxes: a likelihood with an ordinary differential equation in it, eight parameters, real data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from fwbq.measures import Product

from .likelihoods import Likelihood

Array = NDArray[np.float64]

#: Pelts that the Hudson's Bay Company collected in each year from 1900 to 1920, in thousands (Elton and Nicholson,
#: Journal of Animal Ecology 11, 1942; as tabulated by Howard, Modeling Basics, 2009): hares, lynxes.
PELTS = np.array([
    [30.0, 4.0], [47.2, 6.1], [70.2, 9.8], [77.4, 35.2], [36.3, 59.4], [20.6, 41.7], [18.1, 19.0], [21.4, 13.0],
    [22.0, 8.3], [25.4, 9.1], [27.1, 7.4], [40.3, 8.0], [57.0, 12.3], [76.6, 19.5], [52.3, 45.7], [19.5, 51.1],
    [11.2, 29.7], [7.6, 15.8], [14.6, 9.7], [16.2, 10.1], [24.7, 8.6],
])  # fmt: skip
#: Names of the parameters, medians of their log-normal priors, and standard deviations of the logarithms.
PARAMETERS = ("growth", "predation", "death", "conversion", "hares", "lynxes", "noise_hares", "noise_lynxes")
MEDIANS = np.array([0.7, 0.04, 0.7, 0.04, 10.0, 10.0, 0.35, 0.35])
SPREADS = np.array([0.6, 0.8, 0.6, 0.8, 1.0, 1.0, 1.0, 1.0])
#: Steps of the fourth-order Runge-Kutta rule in a year. Near the posterior twice as many change the log likelihood by
#: less than 1e-3; the evidence below is that of the likelihood with this rule.
_STEPS = 10


def trajectories(parameters: Array, years: int = 20) -> Array:
    r"""Return the logarithms of both populations at the end of each year, (n, 1 + years, 2).

    .. math:: u' = (a - b v)\, u, \qquad v' = (-c + e u)\, v

    solved for log u and log v, in which populations stay positive. Where the solution overflows it is NaN.

    Parameters
    ----------
    parameters : (n, 6 or more) array
        a, b, c, e, u(0), v(0) in each row; further columns are ignored.
    years : int
    """
    a, b, c, e = np.asarray(parameters, dtype=float).T[:4]
    state = np.log(np.asarray(parameters, dtype=float).T[4:6])

    def slope(y: Array) -> Array:
        u, v = np.exp(y)
        return np.array([a - b * v, e * u - c])

    h = 1.0 / _STEPS
    out = [state]
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(years):
            for _ in range(_STEPS):
                k1 = slope(state)
                k2 = slope(state + 0.5 * h * k1)
                k3 = slope(state + 0.5 * h * k2)
                k4 = slope(state + h * k3)
                state = state + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)
            out.append(state)
    return np.asarray(np.moveaxis(np.array(out), -1, 0))


def log_likelihood(parameters: Array) -> Array:
    """Return the log likelihood (n,) of the pelts: log-normal about the populations, with an error for each species.

    Parameters
    ----------
    parameters : (n, 8) array
        In the order of `PARAMETERS`.
    """
    noise = parameters[:, None, 6:8]
    logs = np.log(PELTS)
    with np.errstate(over="ignore", invalid="ignore"):
        terms = -0.5 * ((logs - trajectories(parameters)) / noise) ** 2 - np.log(noise) - logs
        total = np.sum(terms, axis=(1, 2)) - 0.5 * PELTS.size * np.log(2.0 * np.pi)
    # A solution that overflows is hundreds of orders of magnitude away from the data: its likelihood is zero.
    return np.asarray(np.where(np.isnan(total), -np.inf, total))


def prior() -> Product:
    """Return the prior: independent log-normal parameters."""
    return Product([stats.lognorm(s, scale=m) for m, s in zip(MEDIANS, SPREADS, strict=True)])


#: Log evidence and its standard error, by tempering and 400,000 importance samples of which 46 % are effective
#: (benchmarks/lotka_volterra_reference.py).
LOG_EVIDENCE, STANDARD_ERROR = -144.5193, 0.0022


def lotka_volterra() -> Likelihood:
    """Return the likelihood with its prior and its evidence, known to `STANDARD_ERROR`.

    Examples
    --------
    >>> problem = lotka_volterra()
    >>> problem.dim, bool(problem.log_likelihood(MEDIANS[None])[0] < problem.log_evidence)
    (8, True)
    """
    return Likelihood("Lotka-Volterra d=8", log_likelihood, prior(), LOG_EVIDENCE, accuracy=2.0 * STANDARD_ERROR)
