"""Functions of the uncertainty-quantification field: simulators in closed form, of 3 to 20 independent inputs.

They are no part of the fixed table of `problems.all`: most means are not known in closed form. `Simulator.reference`
returns the exact mean and standard deviation where they are known, or those of 2^20 scrambled Sobol points, whose means
are off by less than 1e-6 standard deviations on the functions with exact ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import sqrt

import numpy as np
from scipy.stats import qmc

from fwbq.measures import Gaussian, Measure, Uniform

from .problem import Array

#: Sobol points of a reference, as a power of two, and how many at a time.
_POWER, _CHUNK = 20, 2**15


@dataclass(frozen=True, eq=False)
class Simulator:
    """A function of independent inputs.

    Attributes
    ----------
    name : str
    measure : Measure
        The law of the inputs.
    f : callable
        (n, d) -> (n,).
    exact : tuple of float, optional
        Mean and standard deviation where they are known.

    Examples
    --------
    >>> mean, std = SIMULATORS["ishigami"].reference()
    >>> mean, round(std, 6)
    (3.5, 3.720832)
    """

    name: str
    measure: Measure
    f: Callable[[Array], Array]
    exact: tuple[float, float] | None = None

    @property
    def dim(self) -> int:
        """Number of inputs."""
        return self.measure.dim

    def reference(self) -> tuple[float, float]:
        """Return mean and standard deviation of f."""
        return self.exact if self.exact is not None else _reference(self.name)


@cache
def _reference(name: str) -> tuple[float, float]:
    simulator = SIMULATORS[name]
    sobol = qmc.Sobol(simulator.measure.uniform_dim, seed=np.random.default_rng(1))
    values = np.concatenate(
        [simulator.f(simulator.measure.from_uniform(sobol.random(_CHUNK))) for _ in range(2**_POWER // _CHUNK)]
    )
    return float(values.mean()), float(values.std())


def ishigami(x: Array) -> Array:
    """Sin x_1 + 7 sin^2 x_2 + 0.1 x_3^4 sin x_1 (Ishigami and Homma, ISUMA 1990)."""
    return np.asarray(np.sin(x[:, 0]) + 7.0 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0]))


def borehole(x: Array) -> Array:
    """Flow of water through a borehole, in cubic metres a year (Harper and Gupta, ONWI-516, 1983)."""
    r_w, r, t_u, h_u, t_l, h_l, length, k_w = np.asarray(x, dtype=float).T
    log = np.log(r / r_w)
    return np.asarray(2 * np.pi * t_u * (h_u - h_l) / (log * (1 + 2 * length * t_u / (log * r_w**2 * k_w) + t_u / t_l)))


def friedman(x: Array) -> Array:
    """10 sin(pi x_1 x_2) + 20 (x_3 - 1/2)^2 + 10 x_4 + 5 x_5 (Friedman, Annals of Statistics 19, 1991)."""
    return np.asarray(
        10.0 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20.0 * (x[:, 2] - 0.5) ** 2 + 10.0 * x[:, 3] + 5.0 * x[:, 4]
    )


def sparse_quadratic(x: Array) -> Array:
    """1 + 2 x_1 + x_5^2 + 3/2 x_5 x_10 - x_15 of twenty inputs, on [-1, 1]."""
    return np.asarray(1.0 + 2.0 * x[:, 0] + x[:, 4] ** 2 + 1.5 * x[:, 4] * x[:, 9] - x[:, 14])


def sparse_cubic(x: Array) -> Array:
    """x_1 + 2 x_4 x_8 + x_8^3 - x_12^2 + 1/2 x_16^2 x_4 - x_20 of twenty inputs, on [-1, 1]."""
    return np.asarray(
        x[:, 0] + 2.0 * x[:, 3] * x[:, 7] + x[:, 7] ** 3 - x[:, 11] ** 2 + 0.5 * x[:, 15] ** 2 * x[:, 3] - x[:, 19]
    )


def otl_circuit(x: Array) -> Array:
    """Mid-point voltage of a push-pull circuit without output transformer (Ben-Ari and Steinberg, Qual. Eng. 2007)."""
    r_b1, r_b2, r_f, r_c1, r_c2, beta = x.T
    v_b1 = 12.0 * r_b2 / (r_b1 + r_b2)
    gain = beta * (r_c2 + 9.0)
    return np.asarray(
        (v_b1 + 0.74) * gain / (gain + r_f) + 11.35 * r_f / (gain + r_f) + 0.74 * r_f * gain / ((gain + r_f) * r_c1)
    )


def piston(x: Array) -> Array:
    """Cycle time of a piston, in seconds (Kenett and Zacks, Modern Industrial Statistics, 1998)."""
    mass, surface, volume, spring, pressure, ambient, filling = x.T
    force = pressure * surface + 19.62 * mass - spring * volume / surface
    v = surface / (2.0 * spring) * (np.sqrt(force**2 + 4.0 * spring * pressure * volume * ambient / filling) - force)
    stiffness = spring + surface**2 * pressure * volume * ambient / (filling * v**2)
    return np.asarray(2.0 * np.pi * np.sqrt(mass / stiffness))


def wing_weight(x: Array) -> Array:
    """Weight of the wing of a light aircraft, in pounds (Forrester, Sobester and Keane, 2008)."""
    s_w, w_fw, aspect, sweep, q, taper, t_c, n_z, w_dg, w_p = x.T
    cosine = np.cos(np.deg2rad(sweep))
    return np.asarray(
        0.036 * s_w**0.758 * w_fw**0.0035 * (aspect / cosine**2) ** 0.6 * q**0.006 * taper**0.04
        * (100.0 * t_c / cosine) ** -0.3 * (n_z * w_dg) ** 0.49
        + s_w * w_p
    )  # fmt: skip


def robot_arm(x: Array) -> Array:
    """Distance of the end of an arm of four segments from its shoulder (An and Owen, J. of Complexity 17, 2001)."""
    angles = np.cumsum(x[:, :4], axis=1)
    return np.asarray(np.hypot(np.sum(x[:, 4:] * np.cos(angles), axis=1), np.sum(x[:, 4:] * np.sin(angles), axis=1)))


def morris(x: Array) -> Array:
    """Twenty inputs with products of up to four (Morris, Technometrics 33, 1991; random coefficients are (-1)^i)."""
    w = 2.0 * (x - 0.5)
    for curved in (2, 4, 6):
        w[:, curved] = 2.0 * (1.1 * x[:, curved] / (x[:, curved] + 0.1) - 0.5)
    sign = (-1.0) ** np.arange(1, 21)
    linear = w @ np.where(np.arange(20) < 10, 20.0, sign)
    i, j = np.triu_indices(20, 1)
    pairs = (w[:, i] * w[:, j]) @ np.where((i < 6) & (j < 6), -15.0, sign[i] * sign[j])
    triple = sum(w[:, a] * w[:, b] * w[:, c] for a in range(5) for b in range(a + 1, 5) for c in range(b + 1, 5))
    return np.asarray(linear + pairs - 10.0 * triple + 5.0 * w[:, 0] * w[:, 1] * w[:, 2] * w[:, 3])


_SOBOL_G = np.array([0.0, 1.0, 4.5, 9.0, 99.0, 99.0, 99.0, 99.0])


def sobol_g(x: Array) -> Array:
    """Product of (|4 x_i - 2| + a_i) / (1 + a_i), a = 0, 1, 4.5, 9 and four times 99 (Saltelli and Sobol, 1995)."""
    return np.asarray(np.prod((np.abs(4.0 * x - 2.0) + _SOBOL_G) / (1.0 + _SOBOL_G), axis=1))


def welch(x: Array) -> Array:
    """Twenty inputs on [-1/2, 1/2], eighteen of which matter (Welch et al., Technometrics 34, 1992)."""
    return np.asarray(
        5.0 * x[:, 11] / (1.0 + x[:, 0]) + 5.0 * (x[:, 3] - x[:, 19]) ** 2 + x[:, 4] + 40.0 * x[:, 18] ** 3
        - 5.0 * x[:, 18] + 0.05 * x[:, 1] + 0.08 * x[:, 2] - 0.03 * x[:, 5] + 0.03 * x[:, 6] - 0.09 * x[:, 8]
        - 0.01 * x[:, 9] - 0.07 * x[:, 10] + 0.25 * x[:, 12] ** 2 - 0.04 * x[:, 13] + 0.06 * x[:, 14] - 0.01 * x[:, 16]
        - 0.03 * x[:, 17]
    )  # fmt: skip


def gramacy_lee(x: Array) -> Array:
    """exp(sin((0.9 (x_1 + 0.48))^10)) + x_2 x_3 + x_4, two inputs idle (Gramacy and Lee, Technometrics 51, 2009)."""
    return np.asarray(np.exp(np.sin((0.9 * (x[:, 0] + 0.48)) ** 10)) + x[:, 1] * x[:, 2] + x[:, 3])


def dette_pepelyshev(x: Array) -> Array:
    """Eight inputs, curved in some and flat in others (Dette and Pepelyshev, Technometrics 52, 2010)."""
    tail = sum(i * np.log1p(np.sum(x[:, 2:i], axis=1)) for i in range(4, 9))
    bowl = 4.0 * (x[:, 0] - 2.0 + 8.0 * x[:, 1] - 8.0 * x[:, 1] ** 2) ** 2 + (3.0 - 4.0 * x[:, 1]) ** 2
    return np.asarray(bowl + 16.0 * np.sqrt(x[:, 2] + 1.0) * (2.0 * x[:, 2] - 1.0) ** 2 + tail)


def cantilever(x: Array) -> Array:
    """Displacement of the end of a beam under two loads, over its limit (Wu et al., 2001; sections 2.4 and 3.9)."""
    modulus, horizontal, vertical = x.T
    return np.asarray(
        4.0 * 100.0**3 / (modulus * 2.4 * 3.9) * np.hypot(vertical / 3.9**2, horizontal / 2.4**2) / 2.2535
    )


def bratley(x: Array) -> Array:
    """Sum over i of (-1)^i x_1 ... x_i, ten inputs (Bratley, Fox and Niederreiter, ACM TOMS 20, 1992)."""
    return np.asarray(np.cumprod(x, axis=1) @ (-1.0) ** np.arange(1, x.shape[1] + 1))


def roos_arnold(x: Array) -> Array:
    """Product of |4 x_i - 2|, five inputs: interactions of every order and no trend (Roos and Arnold, 1963)."""
    return np.asarray(np.prod(np.abs(4.0 * x - 2.0), axis=1))


def _cube(dim: int, lower: float = 0.0, upper: float = 1.0) -> Uniform:
    return Uniform(np.full(dim, lower), np.full(dim, upper))


def _box(*bounds: tuple[float, float]) -> Uniform:
    lower, upper = zip(*bounds, strict=True)
    return Uniform(lower, upper)


def _bratley_moments(dim: int) -> tuple[float, float]:
    """Return mean and standard deviation of `bratley`: products of moments 1/2 and 1/3, summed."""
    i = np.arange(1, dim + 1)
    mean = float(np.sum((-0.5) ** i))
    low, high = np.minimum.outer(i, i), np.maximum.outer(i, i)
    second = float(np.sum((-1.0) ** (low + high) * 3.0 ** -low.astype(float) * 2.0 ** -(high - low).astype(float)))
    return mean, sqrt(second - mean**2)


SIMULATORS: dict[str, Simulator] = {
    simulator.name: simulator
    for simulator in (
        Simulator(
            "ishigami",
            _cube(3, -np.pi, np.pi),
            ishigami,
            (3.5, sqrt(0.5 + 49.0 / 8.0 + np.pi**4 / 50.0 + np.pi**8 / 1800.0)),
        ),
        Simulator(
            "cantilever",
            Gaussian([2.9e7, 500.0, 1000.0], np.diag([1.45e6**2, 100.0**2, 100.0**2])),
            cantilever,
        ),
        Simulator("friedman", _cube(5), friedman),
        Simulator("roos-arnold", _cube(5), roos_arnold, (1.0, sqrt((4.0 / 3.0) ** 5 - 1.0))),
        Simulator("gramacy-lee", _cube(6), gramacy_lee),
        Simulator(
            "otl-circuit",
            _box((50.0, 150.0), (25.0, 70.0), (0.5, 3.0), (1.2, 2.5), (0.25, 1.2), (50.0, 300.0)),
            otl_circuit,
        ),
        Simulator(
            "piston",
            _box(
                (30.0, 60.0), (0.005, 0.02), (0.002, 0.01), (1e3, 5e3), (9e4, 1.1e5), (290.0, 296.0), (340.0, 360.0)
            ),
            piston,
        ),
        Simulator(
            "borehole",
            _box(
                (0.05, 0.15), (100.0, 5e4), (63070.0, 115600.0), (990.0, 1110.0), (63.1, 116.0), (700.0, 820.0),
                (1120.0, 1680.0), (9855.0, 12045.0),
            ),
            borehole,
        ),
        Simulator("robot-arm", _box(*[(0.0, 2.0 * np.pi)] * 4, *[(0.0, 1.0)] * 4), robot_arm),
        Simulator("sobol-g", _cube(8), sobol_g, (1.0, sqrt(np.prod(1.0 + 1.0 / (3.0 * (1.0 + _SOBOL_G) ** 2)) - 1.0))),
        Simulator("dette-pepelyshev", _cube(8), dette_pepelyshev),
        Simulator(
            "wing-weight",
            _box(
                (150.0, 200.0), (220.0, 300.0), (6.0, 10.0), (-10.0, 10.0), (16.0, 45.0), (0.5, 1.0), (0.08, 0.18),
                (2.5, 6.0), (1700.0, 2500.0), (0.025, 0.08),
            ),
            wing_weight,
        ),
        Simulator("bratley", _cube(10), bratley, _bratley_moments(10)),
        Simulator("friedman-10", _cube(10), friedman),
        # Means and variances of monomials on [-1, 1]: x 0 and 1/3, x^2 1/3 and 4/45, x^3 0 and 1/7.
        Simulator(
            "sparse-quadratic",
            _cube(20, -1.0, 1.0),
            sparse_quadratic,
            (4.0 / 3.0, sqrt(5.0 / 3.0 + 4.0 / 45.0 + 0.25)),
        ),
        Simulator(
            "sparse-cubic",
            _cube(20, -1.0, 1.0),
            sparse_cubic,
            (-1.0 / 3.0, sqrt(2.0 / 3.0 + 4.0 / 9.0 + 1.0 / 7.0 + 4.0 / 45.0 + 1.0 / 60.0)),
        ),
        Simulator("welch", _cube(20, -0.5, 0.5), welch),
        Simulator("morris", _cube(20), morris),
    )
}  # fmt: skip
"""Every function by name, in the order of their numbers of inputs."""
