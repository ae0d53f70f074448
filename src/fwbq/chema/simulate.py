"""Simulated measurements of a substrate whose regulators are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _validate
from . import _checks
from .dataset import Dataset

__all__ = ["EXAMPLE", "simulate"]

FloatArray = NDArray[np.float64]

# Harmonics of a simulated enzyme level: enough for courses with several peaks.
_WAVES = 4

# The set shipped with the package is Dataset.simulate(**EXAMPLE), written by to_csv.
EXAMPLE: dict[str, Any] = {"n_enzymes": 26, "rng": 2010, "regulators": ("E7", "E19"), "noise": 0.01}


def simulate(
    n_enzymes: int = 26,
    *,
    rng: int | np.random.Generator | None = None,
    regulators: int | Sequence[str | int] | None = None,
    times: ArrayLike | None = None,
    noise: float = 0.01,
    total: float = 2.0,
    initial: float = 1.0,
    rates: ArrayLike | None = None,
    constants: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    condition: str = "",
) -> Dataset:
    r"""Solve the Michaelis-Menten kinetics of the models and add measurement noise.

    .. math::
        \frac{d y_{S^*}}{dt} = -V_0 \frac{y_{S^*}}{y_{S^*} + K_0}
            + \sum_{j \in \text{regulators}} V_j\, y_{E_j}(t) \frac{y_S}{y_S + K_j}, \qquad y_S = T - y_{S^*}.

    Every enzyme follows a course of its own, the exponential of four waves with random sizes and phases. Measured
    levels are the true ones times exp(noise z) with z standard normal, independently.

    Parameters
    ----------
    n_enzymes : int
        Number E of candidate enzymes.
    rng : int or numpy.random.Generator, optional
        Seed.
    regulators : int or sequence of str or int, optional
        The enzymes that truly act (names or column indices), or how many, chosen at random; two by default.
    times : (T,) array_like, optional
        Increasing; 21 equal steps from 0 to 10 by default (N = 20 increments).
    noise : float
        Relative standard deviation of every measurement; 0 for none.
    total, initial : float
        Total substrate, and what of it is phosphorylated at the first time.
    rates : (1 + r,) array_like, optional
        V of the phosphatase and of the r regulators; drawn between 0.7 and 1.3 by default.
    constants : (1 + r,) array_like, optional
        K likewise; drawn between 0.5 and 1.5 by default.
    names : sequence of str, optional
        Of the enzymes.
    condition : str
        Name of the condition, for :meth:`fwbq.chema.Dataset.combine`.

    Returns
    -------
    Dataset
        With ``regulators`` set.

    Examples
    --------
    >>> data = simulate(5, rng=3, regulators=("E2",), noise=0.0)
    >>> bool(np.allclose(data.substrate + data.phospho, 2.0))
    True
    """
    n = _validate.count(n_enzymes, "n_enzymes")
    generator = _validate.generator(rng)
    t = np.linspace(0.0, 10.0, 21) if times is None else _checks.numbers(times, "times", 1)
    _checks.time_courses(t, ("",) * len(t))
    sd = _validate.nonnegative(noise, "noise")
    amount = _validate.positive(total, "total")
    start = _validate.nonnegative(initial, "initial")
    if start > amount:
        _checks.fail(f"`initial` phosphorylated substrate is {start:g}, more than the total {amount:g}")
    labels = _checks.names(names, n)
    if regulators is None:
        regulators = min(2, n)
    if isinstance(regulators, (int, np.integer)):
        if not 0 <= regulators <= n:
            _checks.fail(f"`regulators` asks for {regulators} regulators among {n} enzymes")
        true = tuple(int(j) for j in np.sort(generator.choice(n, int(regulators), replace=False)))
    else:
        true = _checks.columns(regulators, labels)
    v = _kinetic(rates, "rates", 1 + len(true), generator, 0.7, 1.3)
    k = _kinetic(constants, "constants", 1 + len(true), generator, 0.5, 1.5)
    course = _courses(n, t[0], t[-1] - t[0], generator)
    y_p = _solve(t, start, amount, v, k, course, np.array(true, dtype=np.intp))
    y_e = course(t, slice(None))

    def measured(level: FloatArray) -> FloatArray:
        return np.asarray(level * np.exp(sd * generator.standard_normal(level.shape)))

    return Dataset(
        t, measured(amount - y_p), measured(y_p), measured(y_e), labels, condition=[condition] * len(t),
        regulators=[labels[j] for j in true],
    )  # fmt: skip


def _kinetic(
    given: ArrayLike | None, name: str, size: int, rng: np.random.Generator, low: float, high: float
) -> FloatArray:
    drawn = rng.uniform(low, high, size)
    if given is None:
        return drawn
    values = _checks.levels(given, name, 1, np.size(given))
    if len(values) != size:
        _checks.fail(f"`{name}` has {len(values)} values; the phosphatase and the regulators need {size}")
    return values


def _courses(n: int, start: float, span: float, rng: np.random.Generator) -> Callable[[ArrayLike, Any], FloatArray]:
    size = 0.8 * rng.standard_normal((_WAVES, n)) / np.sqrt(np.arange(1, _WAVES + 1))[:, None]
    phase = rng.uniform(0.0, 2 * np.pi, (_WAVES, n))

    def course(t: ArrayLike, which: Any) -> FloatArray:
        s = 2 * np.pi * (np.asarray(t, dtype=np.float64)[..., None] - start) / span
        waves = [size[i, which] * np.sin((i + 1) * s + phase[i, which]) for i in range(_WAVES)]
        return np.asarray(np.exp(np.sum(waves, axis=0)))

    return course


def _solve(
    t: FloatArray,
    start: float,
    total: float,
    v: FloatArray,
    k: FloatArray,
    course: Callable[[ArrayLike, Any], FloatArray],
    true: NDArray[np.intp],
) -> FloatArray:
    from scipy.integrate import solve_ivp

    def slope(time: float, state: FloatArray) -> FloatArray:
        y = float(np.clip(state[0], 0.0, total))
        loss = v[0] * y / (y + k[0]) if y > 0 else 0.0
        left = total - y
        gain = np.sum(v[1:] * course(time, true) * (left / (left + k[1:]))) if left > 0 else 0.0
        return np.array([gain - loss])

    solution = solve_ivp(slope, (t[0], t[-1]), [start], method="LSODA", t_eval=t, rtol=1e-10, atol=1e-12)
    if not solution.success:
        raise RuntimeError(f"the kinetic equations could not be solved: {solution.message}")
    return np.asarray(np.clip(solution.y[0], 0.0, total))
