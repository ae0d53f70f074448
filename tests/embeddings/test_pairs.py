"""Every registered pair of kernel and measure against integrals that share no code with it.

One-dimensional integrals are taken by the double-exponential rules of Takahasi and Mori in extended precision, from
formulas of kernels and densities written down here; correlated Gaussians by the trapezoidal rule in whitened
coordinates, which is exact to rounding for analytic integrands.
"""

from dataclasses import dataclass
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy import integrate, special, stats

import fwbq
from fwbq import embeddings
from fwbq.kernels import ProductKernel, Scaled, Sum, Warped, Whitened
from fwbq.measures import Warp

Real = np.longdouble
PI_2 = 2 * np.arctan(Real(1))
RNG = np.random.default_rng(20)


def exact(value) -> np.longdouble:
    return Real(mpmath.nstr(value, 25))


# ---------------------------------------------------------------- double-exponential quadrature on a piece and a tail
_t = np.linspace(Real(-6.2), Real(6.2), 251)
_s = PI_2 * np.sinh(_t)
FROM_LEFT = 1 / (1 + np.exp(-2 * _s))
TO_RIGHT = 1 / (1 + np.exp(2 * _s))
PIECE = (_t[1] - _t[0]) * PI_2 * np.cosh(_t) * 2 * FROM_LEFT * TO_RIGHT
DISTANCE = np.exp(_s[np.abs(_s) < 700])
TAIL = ((_t[1] - _t[0]) * PI_2 * np.cosh(_t))[np.abs(_s) < 700] * DISTANCE


def integral(f, breaks, lower, upper):
    """Integral of f(y, from_lower, to_upper, piece), split at the breaks; distances are exact next to a break."""
    breaks = sorted({Real(b) for b in breaks if lower <= b <= upper})
    total = Real(0)
    with np.errstate(all="ignore"):
        for a, b in pairwise(breaks):
            left, right = (b - a) * FROM_LEFT, (b - a) * TO_RIGHT
            y = np.where(left < right, a + left, b - right)
            total += np.nansum((b - a) * PIECE * f(y, left, right, a, b))
        for end, sign in ((breaks[-1], 1), (breaks[0], -1)):
            if end != (upper if sign > 0 else lower):
                y = end + sign * DISTANCE
                value = f(y, DISTANCE, DISTANCE, end if sign > 0 else -np.inf, np.inf if sign > 0 else end)
                total += np.sum(np.where(np.isfinite(value), value * TAIL, 0))
    return total


@dataclass(frozen=True)
class Law:
    """A density on the line from a formula: pdf(t, from the lower bound, to the upper bound) in standard units."""

    pdf: object
    lower: float = -np.inf
    upper: float = np.inf
    loc: float = 0.0
    scale: float = 1.0
    marks: tuple = (0.0,)

    def integrate(self, f, x=None, length=1.0):
        """Integral of f(r = x - y, y) under the law, split at x if there is one."""
        breaks = {Real(m) for m in self.marks} | {Real(s) * 10**j for s in (-1, 1) for j in range(-1, 7, 2)}
        bounds = [Real(b) for b in (self.lower, self.upper) if np.isfinite(b)]
        t = Real(np.nan)
        if x is not None:
            t = (Real(x) - Real(self.loc)) / Real(self.scale)
            span = Real(length) / Real(self.scale)
            breaks |= {t + c * span for c in (-40, -20, -8, -3, -1, 0, 1, 3, 8, 20, 40)}
            # Between a peak at a bound and x next to it the density changes over many decades.
            breaks |= {b + (t - b) * Real(10) ** j for b in bounds if abs(t - b) < 0.1 for j in range(1, 30, 2)}
        breaks |= set(bounds)

        def integrand(y, left, right, a, b):
            # Distances from x, from the bounds and from zero (where some densities peak) without cancellation.
            r = np.where(a == t, -left, np.where(b == t, right, t - y))
            y = np.where(a == 0, left, np.where(b == 0, -right, y))
            from_lower = left if a == self.lower else y - self.lower
            to_upper = right if b == self.upper else self.upper - y
            return f(r * self.scale, y * self.scale + Real(self.loc)) * self.pdf(y, from_lower, to_upper)

        return integral(integrand, breaks, self.lower, self.upper)


# ----------------------------------------------------------------------------------------------- laws and measures
def normal(mean, sd, lower=-np.inf, upper=np.inf):
    a, b = ((mpmath.mpf(c) - mpmath.mpf(mean)) / mpmath.mpf(sd) for c in (lower, upper))
    with mpmath.workdps(60):
        # Both ends on the side where the tail is small.
        tail = (-b, -a) if a + b < 0 else (a, b)
        mass = (mpmath.erfc(tail[0] / mpmath.sqrt(2)) - mpmath.erfc(tail[1] / mpmath.sqrt(2))) / 2
        # Relative to the largest density on the interval, which may be 1e-300.
        peak = min(max(mpmath.mpf(0), a), b)
        norm, peak = exact(mass * mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(peak * peak / 2)), exact(peak)

    def pdf(t, from_lower, to_upper):
        step = from_lower if a > 0 else -to_upper if b < 0 else t
        return np.exp(-step * (step + 2 * peak) / 2) / norm

    lower, upper = (float(lower) - mean) / sd, (float(upper) - mean) / sd
    inner = [c + s * w for c in (float(peak),) for w in (0.02, 0.1, 0.5, 1, 3, 8, 15) for s in (-1, 1)]
    return Law(pdf, lower, upper, mean, sd, (float(peak), *inner))


def uniform(a, b):
    return Law(lambda t, lo, up: np.ones_like(t), 0.0, 1.0, a, b - a, ())


def gamma_pdf(shape):
    constant = exact(mpmath.gamma(mpmath.mpf(shape)))
    return lambda t, lo, up: lo ** (Real(shape) - 1) * np.exp(-lo) / constant


def beta_pdf(a, b):
    constant = exact(mpmath.beta(mpmath.mpf(a), mpmath.mpf(b)))
    return lambda t, lo, up: lo ** (Real(a) - 1) * up ** (Real(b) - 1) / constant


def student_pdf(df):
    nu = mpmath.mpf(df)
    constant = exact(mpmath.sqrt(nu * mpmath.pi) * mpmath.gamma(nu / 2) / mpmath.gamma((nu + 1) / 2))
    return lambda t, lo, up: (1 + t * t / Real(df)) ** (-(Real(df) + 1) / 2) / constant


def halves(t):
    return np.exp(-np.abs(t)) / 2


LAWS = {
    "beta(1/2,1/2)": (stats.beta(0.5, 0.5), Law(beta_pdf(0.5, 0.5), 0.0, 1.0)),
    "beta(0.1,0.3)": (stats.beta(0.1, 0.3), Law(beta_pdf(0.1, 0.3), 0.0, 1.0)),
    "beta(2.5,0.7) on [3,5]": (stats.beta(2.5, 0.7, 3.0, 2.0), Law(beta_pdf(2.5, 0.7), 0.0, 1.0, 3.0, 2.0)),
    "gamma(1/2)": (stats.gamma(0.5), Law(gamma_pdf(0.5), 0.0)),
    "gamma(0.1) from 5": (stats.gamma(0.1, 5.0, 2.0), Law(gamma_pdf(0.1), 0.0, loc=5.0, scale=2.0)),
    "gamma(3.3)": (stats.gamma(3.3), Law(gamma_pdf(3.3), 0.0)),
    "expon": (stats.expon(-3.0, 0.1), Law(lambda t, lo, up: np.exp(-lo), 0.0, loc=-3.0, scale=0.1)),
    "weibull(1/2)": (
        stats.weibull_min(0.5),
        Law(lambda t, lo, up: np.exp(-np.sqrt(lo)) / (2 * np.sqrt(lo)), 0.0),
    ),
    "cauchy": (stats.cauchy(100.0, 0.5), Law(student_pdf(1), loc=100.0, scale=0.5)),
    "t(2)": (stats.t(2.0, loc=1.0, scale=3.0), Law(student_pdf(2), loc=1.0, scale=3.0)),
    "t(3)": (stats.t(3.0), Law(student_pdf(3))),
    "laplace": (stats.laplace(1.0, 2.0), Law(lambda t, lo, up: halves(t), loc=1.0, scale=2.0)),
    "logistic": (stats.logistic(), Law(lambda t, lo, up: 2 * halves(t) / (1 + 2 * halves(t)) ** 2)),
    "pareto(1)": (stats.pareto(1.0), Law(lambda t, lo, up: t**-2, 1.0)),
    "reversed weibull": (
        stats.weibull_max(0.7),
        Law(lambda t, lo, up: Real(0.7) * up ** (Real(0.7) - 1) * np.exp(-(up ** Real(0.7))), -np.inf, 0.0),
    ),
    "dgamma(1/2)": (
        stats.dgamma(0.5),
        Law(lambda t, lo, up: np.abs(t) ** Real(-0.5) * np.exp(-np.abs(t)) / (2 * np.sqrt(2 * PI_2))),
    ),
    "triangle": (
        stats.triang(0.25),
        Law(lambda t, lo, up: np.where(t < 0.25, 8 * lo, up * 8 / 3), 0.0, 1.0, marks=(0.25,)),
    ),
}


# ------------------------------------------------------------------------------------------------ kernels by formula
def exp_quad(length):
    ell = Real(length)
    return lambda r, x, y: np.exp(-((r / ell) ** 2) / 2), lambda r, x, y: -r / ell**2 * np.exp(-((r / ell) ** 2) / 2)


def matern(twice_nu, length):
    a = np.sqrt(Real(twice_nu)) / Real(length)
    value = {1: lambda s: 1.0, 3: lambda s: 1 + s, 5: lambda s: 1 + s + s * s / 3}[twice_nu]
    slope = {1: lambda s: 1.0, 3: lambda s: s, 5: lambda s: s * (1 + s) / 3}[twice_nu]
    return (
        lambda r, x, y: value(a * np.abs(r)) * np.exp(-a * np.abs(r)),
        lambda r, x, y: -a * np.sign(r) * slope(a * np.abs(r)) * np.exp(-a * np.abs(r)),
    )


def sobolev(order):
    # sum_m 2 cos(2 pi m r) / m^(2s) = (-1)^(s-1) (2 pi)^(2s) / (2s)! B_2s(r)
    factor = exact((-1) ** (order - 1) * (2 * mpmath.pi) ** (2 * order) / mpmath.factorial(2 * order))
    coefficients = [exact(c) for c in mpmath.taylor(lambda u: mpmath.bernpoly(2 * order, u), 0, 2 * order)]
    derivative = [k * c for k, c in enumerate(coefficients)][1:]

    def polynomial(c, u):
        return sum(value * u**k for k, value in enumerate(c))

    return (
        lambda r, x, y: 1 + factor * polynomial(coefficients, np.abs(r)),
        lambda r, x, y: factor * np.sign(r) * polynomial(derivative, np.abs(r)),
    )


def fourier(kernel):
    w, b = kernel.frequencies[:, 0].astype(Real), kernel.phases.astype(Real)
    factor = 2 * Real(kernel.kernel.variance) / w.size

    def value(r, x, y):
        return factor * sum(np.cos(u * x + c) * np.cos(u * y + c) for u, c in zip(w, b, strict=True))

    def slope(r, x, y):
        return factor * sum(-u * np.sin(u * x + c) * np.cos(u * y + c) for u, c in zip(w, b, strict=True))

    return value, slope


def times(first, second):
    (k, dk), (h, dh) = first, second
    return (
        lambda r, x, y: k(r, x, y) * h(r, x, y),
        lambda r, x, y: dk(r, x, y) * h(r, x, y) + k(r, x, y) * dh(r, x, y),
    )


def plus(a, first, b, second):
    return tuple(lambda r, x, y, k=k, h=h: a * k(r, x, y) + b * h(r, x, y) for k, h in zip(first, second, strict=True))


def times_number(a, first):
    return plus(a, first, 0.0, first)


def rff(dim):
    return fwbq.RandomFourier(fwbq.ExpQuad(0.7, 1.3), 7, dim, rng=3)


ONE = (lambda r, x, y: 1 + 0 * r, lambda r, x, y: 0 * r)
FAMILIES = {
    fwbq.Anova: [
        (fwbq.Anova(fwbq.ExpQuad(0.6, 1.4), 0.4), plus(1.0, ONE, 0.4, exp_quad(0.6)), 0.6),
        (fwbq.Anova(fwbq.Matern32(0.6, 3.5), 2.5, order=2), plus(1.0, ONE, 2.5, matern(3, 0.6)), 0.6),
    ],
    fwbq.ExpQuad: [(fwbq.ExpQuad(0.6, 1.7), times_number(1.7, exp_quad(0.6)), 0.6)],
    fwbq.Matern12: [(fwbq.Matern12(0.6), matern(1, 0.6), 0.6)],
    fwbq.Matern32: [(fwbq.Matern32(2.0, 0.5), times_number(0.5, matern(3, 2.0)), 2.0)],
    fwbq.Matern52: [(fwbq.Matern52(0.6), matern(5, 0.6), 0.6)],
    fwbq.PeriodicSobolev: [(fwbq.PeriodicSobolev(s), sobolev(s), 1.0) for s in (1, 2, 3)],
    fwbq.RandomFourier: [(rff(1), fourier(rff(1)), 0.7)],
    Sum: [(fwbq.ExpQuad(1.0) + fwbq.Matern32(0.4), plus(1.0, exp_quad(1.0), 1.0, matern(3, 0.4)), 0.4)],
    Scaled: [(2.5 * fwbq.Matern12(0.8), times_number(2.5, matern(1, 0.8)), 0.8)],
    ProductKernel: [
        (fwbq.ExpQuad(1.0) * fwbq.Matern32(0.9), times(exp_quad(1.0), matern(3, 0.9)), 0.9),
        (fwbq.ExpQuad(1.0) * fwbq.ExpQuad(0.5), times(exp_quad(1.0), exp_quad(0.5)), 0.5),
        (
            fwbq.Matern12(1.5) * (fwbq.Matern12(0.5) + 2.0 * fwbq.Matern52(1.0)),
            times(matern(1, 1.5), plus(1.0, matern(1, 0.5), 2.0, matern(5, 1.0))),
            0.4,
        ),
    ],
}
MIXTURE = fwbq.GaussianMixture([0.3, 0.7], [[-1.0], [2.0]], [[[0.25]], [[1.5]]])
TRUNCATED = [
    (fwbq.TruncatedGaussian(1.0, 0.5), normal(1.0, 0.5**0.5, 0.0)),
    (fwbq.TruncatedGaussian(-5.0, 0.25), normal(-5.0, 0.5, 0.0)),
    (fwbq.TruncatedGaussian(0.0, 1.0, 30.0, 31.0), normal(0.0, 1.0, 30.0, 31.0)),
    (fwbq.TruncatedGaussian(0.0, 4.0, -1.0, 2.0), normal(0.0, 2.0, -1.0, 2.0)),
    (fwbq.TruncatedGaussian(0.0, 1.0, -np.inf, -9.0), normal(0.0, 1.0, -np.inf, -9.0)),
    (fwbq.TruncatedGaussian(0.0, 1.0, 0.5, 0.5 + 1e-9), normal(0.0, 1.0, 0.5, 0.5 + 1e-9)),
]
UNIT = [
    (fwbq.TruncatedGaussian(0.3, 0.04, 0.0, 1.0), normal(0.3, 0.2, 0.0, 1.0)),
    (fwbq.TruncatedGaussian(-1.0, 0.04, 0.25, 0.75), normal(-1.0, 0.2, 0.25, 0.75)),
]
UNIFORM = [
    (fwbq.Uniform(-1.0, 2.5), uniform(-1.0, 2.5)),
    (fwbq.Uniform(3.0, 3.0 + 1e-7), uniform(3.0, 3.0 + 1e-7)),
    (fwbq.Uniform(-200.0, 300.0), uniform(-200.0, 300.0)),
]
UNIT_UNIFORM = [
    (fwbq.Uniform(0.0, 1.0), uniform(0.0, 1.0)),
    (fwbq.Uniform(0.2, 0.9), uniform(0.2, 0.9)),
    (fwbq.Uniform(0.5, 0.5 + 1e-6), uniform(0.5, 0.5 + 1e-6)),
]
PRODUCTS = [
    (fwbq.Product([LAWS["gamma(1/2)"][0]]), LAWS["gamma(1/2)"][1]),
    (fwbq.Product([stats.norm(1.0, 2.0)]), normal(1.0, 2.0)),
    (fwbq.Product([stats.truncnorm(-1.0, 2.0, loc=1.0, scale=2.0)]), normal(1.0, 2.0, -1.0, 5.0)),
]
UNIT_PRODUCTS = [(fwbq.Product([stats.beta(0.5, 1.5)]), Law(beta_pdf(0.5, 1.5), 0.0, 1.0))]
COMPOSITES = (Sum, Scaled, ProductKernel)


class Blend:
    """A mixture of laws."""

    def __init__(self, weights, laws):
        self.weights, self.laws = weights, laws

    def integrate(self, f, x=None, length=1.0):
        return sum(Real(w) * law.integrate(f, x, length) for w, law in zip(self.weights, self.laws, strict=True))


def line_measures(kernel, measure):
    """(measure, law) for a pair of types, in one dimension."""
    # The reference cannot follow cosines over five hundred lengthscales; their transforms are tested on their own.
    periodic, short = kernel is fwbq.PeriodicSobolev, kernel is fwbq.RandomFourier
    pairs = {
        fwbq.Gaussian: [
            (fwbq.Gaussian(0.7, 2.0), normal(0.7, 2.0**0.5)),
            (fwbq.Gaussian(0.0, 1e-6), normal(0.0, 1e-3)),
        ],
        fwbq.GaussianMixture: [(MIXTURE, Blend([0.3, 0.7], [normal(-1.0, 0.5), normal(2.0, 1.5**0.5)]))],
        fwbq.TruncatedGaussian: UNIT if periodic else TRUNCATED,
        fwbq.Uniform: UNIT_UNIFORM if periodic else UNIFORM[:2] if short else UNIFORM,
        fwbq.Product: UNIT_PRODUCTS + PRODUCTS[1:] if short else UNIT_PRODUCTS if periodic else PRODUCTS,
    }[measure]
    return pairs[:2] if kernel in COMPOSITES else pairs


NAMED = {  # pairs with tests of their own below
    *((fwbq.kernels.Transported, measure) for measure in (fwbq.Copula, fwbq.MultivariateT, fwbq.Product)),
    (fwbq.kernels.Warped, fwbq.Product),
    (fwbq.kernels.Whitened, fwbq.Gaussian),
    (fwbq.kernels.Kernel, fwbq.Empirical),
    # Any class of stationary kernels: tests/kernels/test_registry.py.
    *((fwbq.kernels.Stationary, m) for m in (fwbq.Gaussian, fwbq.TruncatedGaussian, fwbq.Uniform, fwbq.Product)),
    (fwbq.RandomFourier, fwbq.Empirical),
    *((fwbq.Stein, measure) for measure in (fwbq.Gaussian, fwbq.GaussianMixture, fwbq.TruncatedGaussian)),
    *((fwbq.Stein, measure) for measure in (fwbq.Product, fwbq.Empirical, fwbq.Measure)),
}
LINE_PAIRS = [pair for pair in embeddings.available() if pair not in NAMED]


def places(measure, length):
    """Points in the bulk, at the bounds, and a few lengthscales outside."""
    u = np.array([0.02, 0.4, 0.98])
    inside = measure.from_uniform(np.repeat(u[:, None], measure.uniform_dim, axis=1))[:, 0]
    bounds = [b for b in (*measure.lower, *measure.upper) if np.isfinite(b)]
    out = [inside.max() + 4.0 * length, inside.min() - 2.0 * length]
    return np.array([*inside, *bounds, *out])


def check(kernel, reference, length, measure, law, tolerance=1e-10):
    """Mean, gradient and variance of an embedding against the law."""
    value, slope = reference
    emb = fwbq.embed(kernel, measure)
    x = places(measure, length)
    if isinstance(kernel, fwbq.PeriodicSobolev):
        x = x[(x >= 0.0) & (x <= 1.0)]
    mean, gradient = emb.mean(x[:, None]), emb.mean_gradient(x[:, None])[:, 0]
    for i, point in enumerate(x):
        expected = law.integrate(lambda r, y, p=point: value(r, Real(p), y), point, length)
        # Sums of cosines cross zero: they are measured beside a thousandth of the kernel.
        floor = 1e-3 * kernel.diag([[point]])[0] if isinstance(kernel, fwbq.RandomFourier) else 0.0
        assert abs(mean[i] - expected) <= tolerance * (abs(expected) + floor) + 1e-300, (point, mean[i], expected)
        expected_slope = law.integrate(lambda r, y, p=point: slope(r, Real(p), y), point, length)
        # A slope can vanish: it is measured beside the value over a lengthscale.
        scale = abs(expected_slope) + (abs(expected) + floor) / length
        assert abs(gradient[i] - expected_slope) <= tolerance * scale + 1e-300, (point, gradient[i], expected_slope)
    outer = law.integrate(lambda r, y: emb.mean(np.asarray(y, dtype=float)[:, None]).astype(Real), None, length)
    assert abs(emb.variance - outer) <= tolerance * abs(outer), (emb.variance, outer)


@pytest.mark.parametrize(("kernel", "measure"), LINE_PAIRS, ids=lambda t: t.__name__)
def test_registered_pair(kernel, measure):
    for k, reference, length in FAMILIES[kernel]:
        for p, law in line_measures(kernel, measure):
            check(k, reference, length, p, law)


def test_every_pair_is_tested():
    """A new pair must appear either in the line tests, which enumerate the registry, or among the named ones."""
    assert set(embeddings.available()) == NAMED | set(LINE_PAIRS)
    assert {kernel for kernel, _ in LINE_PAIRS} == set(FAMILIES)


@pytest.mark.parametrize("name", LAWS)
def test_distributions(name):
    distribution, law = LAWS[name]
    p = fwbq.Product([distribution])
    for k, reference, length in (
        (fwbq.ExpQuad(0.6), exp_quad(0.6), 0.6),
        (fwbq.Matern12(3.0), matern(1, 3.0), 3.0),
        (fwbq.Matern52(0.02), matern(5, 0.02), 0.02),
    ):
        check(k, reference, length, p, law)
        assert fwbq.embed(k, p).method == "1-d quadrature"


@pytest.mark.parametrize(
    ("distribution", "transform"),
    [
        (stats.gamma(0.3), lambda w: (1 - 1j * w) ** -0.3),
        (stats.t(3.0), lambda w: (1 + np.sqrt(3.0) * np.abs(w)) * np.exp(-np.sqrt(3.0) * np.abs(w))),
        (stats.cauchy(2.0, 0.5), lambda w: np.exp(2j * w - 0.5 * np.abs(w))),
        (stats.laplace(-1.0, 2.0), lambda w: np.exp(-1j * w) / (1 + 4 * w * w)),
        (stats.arcsine(), lambda w: np.exp(0.5j * w) * special.j0(0.5 * w)),
        (stats.uniform(-200.0, 500.0), lambda w: np.exp(50j * w) * np.sinc(250 * w / np.pi)),
    ],
    ids=lambda p: p.dist.name if hasattr(p, "dist") else "",
)
def test_mean_features_are_characteristic_functions(distribution, transform):
    w = np.array([0.0, 1e-3, -0.4, 1.0, -7.0, 60.0, 900.0])
    phases = np.linspace(0.1, 6.0, w.size)
    kernel = fwbq.RandomFourier.from_frequencies(fwbq.ExpQuad(1.0, 3.0), w[:, None], phases)
    emb = fwbq.embed(kernel, fwbq.Product([distribution]))
    expected = np.sqrt(6.0 / w.size) * np.real(np.exp(1j * phases) * transform(w))
    np.testing.assert_allclose(emb.mean_features, expected, rtol=0, atol=1e-11)


# --------------------------------------------------------------------------------- correlated Gaussians, sums, zeros
COV = np.array([[1.0, 0.6], [0.6, 0.8]])
CORRELATED = fwbq.Gaussian([0.3, -0.5], COV)
CORRELATED_MIXTURE = fwbq.GaussianMixture([0.4, 0.6], [[0.0, 1.0], [-1.0, 0.5]], [COV, [[0.5, -0.3], [-0.3, 0.7]]])


def whitened_rule(measure):
    """Points and weights of the trapezoidal rule in whitened coordinates of each component."""
    z = np.arange(-8.7, 8.8, 0.15)
    w = 0.15 * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    grid = np.stack(np.meshgrid(z, z, indexing="ij"), axis=-1).reshape(-1, 2)
    parts = measure.components if isinstance(measure, fwbq.GaussianMixture) else (measure,)
    shares = measure.weights if isinstance(measure, fwbq.GaussianMixture) else [1.0]
    points = [part.mean + grid @ np.linalg.cholesky(part.cov).T for part in parts]
    return np.concatenate(points), np.concatenate([share * np.multiply.outer(w, w).ravel() for share in shares])


@pytest.mark.parametrize("measure", [CORRELATED, CORRELATED_MIXTURE], ids=["Gaussian", "GaussianMixture"])
@pytest.mark.parametrize(
    "kernel",
    [
        fwbq.ExpQuad([0.7, 1.5], 2.0),
        rff(2),
        0.5 * fwbq.ExpQuad(0.9) + fwbq.ExpQuad(2.0) * fwbq.ExpQuad([1.0, 3.0]),
    ],
    ids=["ExpQuad", "RandomFourier", "combination"],
)
def test_correlated_gaussians(kernel, measure):
    check_correlated(kernel, measure)


@pytest.mark.parametrize(
    "kernel",
    [
        Whitened(fwbq.ExpQuad([0.7, 1.5], 2.0), CORRELATED.mean, CORRELATED.cov),
        Whitened(fwbq.ExpQuad([0.7, 1.5]), [1.0, 0.0], [[2.0, -0.5], [-0.5, 1.0]]),
    ],
    ids=["own", "other"],
)
def test_whitened(kernel):
    check_correlated(kernel, CORRELATED)


@pytest.mark.parametrize("family", [fwbq.Matern12, fwbq.Matern32, fwbq.Matern52])
def test_whitened_products_over_coordinates(family):
    """In whitened coordinates the law is standard; the line tests hold for its factors."""
    emb = fwbq.embed(Whitened(family([0.5, 2.0]), CORRELATED.mean, CORRELATED.cov), CORRELATED)
    standard = fwbq.embed(family([0.5, 2.0]), fwbq.Gaussian([0.0, 0.0], [1.0, 1.0]))
    u = np.array([[0.0, 0.0], [1.0, -2.0]])
    x = CORRELATED.mean + u @ np.linalg.cholesky(CORRELATED.cov).T
    np.testing.assert_allclose(emb.mean(x), standard.mean(u), rtol=1e-13)
    assert emb.variance == standard.variance
    # Correlated whitened coordinates have no product: refused, not approximated.
    with pytest.raises(TypeError, match="coordinates of the measure depend on each other"):
        fwbq.embed(Whitened(family(1.0), [0.0, 0.0], [1.0, 1.0]), CORRELATED)


@pytest.mark.parametrize("family", [fwbq.ExpQuad, fwbq.Matern12])
def test_warped(family):
    """Under pareto(1.5), by an adaptive rule in s = 1/y, which knows nothing of the warped coordinates."""
    measure = fwbq.Product(stats.pareto(1.5))
    kernel = Warped(family(0.4), Warp(measure, [[1.0, 2.0]]))
    emb = fwbq.embed(kernel, measure)
    x = np.array([[1.2], [40.0]])

    def mean(a):
        def integrand(s):
            return kernel([[a]], [[1.0 / s]])[0, 0] * stats.pareto(1.5).pdf(1.0 / s) / s**2

        value, error = integrate.quad(integrand, 0.0, 1.0, points=[1.0 / a], epsabs=1e-9, epsrel=1e-9, limit=200)
        return value, error

    for got, (value, error) in zip(emb.mean(x), [mean(float(a[0])) for a in x], strict=True):
        assert abs(got - value) <= 10.0 * error + 1e-9 * value
    assert emb.variance == fwbq.embed(family(0.4), fwbq.Uniform(0.0, 1.0)).variance
    h = 1e-5 * x
    slope = (emb.mean(x + h) - emb.mean(x - h)) / (2.0 * h[:, 0])
    # Central differences: relative error h^2 / 6 of the third derivative, and rounding over h.
    np.testing.assert_allclose(emb.mean_gradient(x)[:, 0], slope, rtol=1e-6)
    # Written anew, the same measure is the same; under another one the ratio does not cancel.
    assert fwbq.embed(kernel, fwbq.Product(stats.pareto(1.5))).variance == emb.variance
    with pytest.raises(TypeError, match="the kernel is made for the measure"):
        fwbq.embed(kernel, fwbq.Product(stats.pareto(2.0)))


def check_correlated(kernel, measure):
    y, w = whitened_rule(measure)
    emb = fwbq.embed(kernel, measure)
    assert emb.method == "closed form"
    x = np.array([[0.0, 0.0], [2.0, -1.0], [-3.0, 4.0]])
    np.testing.assert_allclose(emb.mean(x), kernel(x, y) @ w, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(emb.mean_gradient(x), kernel.gradient_sum(x, y, w), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(emb.variance, w @ emb.mean(y), rtol=1e-10)


@pytest.mark.parametrize(
    "kernel",
    [fwbq.Matern12(0.7), fwbq.ExpQuad([1.0, 2.0]) + fwbq.Matern32(1.0), fwbq.PeriodicSobolev(2), rff(2)],
    ids=lambda k: type(k).__name__,
)
def test_empirical(kernel):
    points, weights = RNG.random((700, 2)), RNG.dirichlet(np.ones(700))
    emb = fwbq.embed(kernel, fwbq.Empirical(points, weights))
    assert emb.method == "weighted sum"
    x = RNG.random((300, 2))
    np.testing.assert_allclose(emb.mean(x), kernel(x, points) @ weights, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(
        emb.mean_gradient(x), np.einsum("nmd,m->nd", kernel.gradient(x, points), weights), rtol=1e-10, atol=1e-13
    )
    np.testing.assert_allclose(emb.variance, weights @ kernel(points) @ weights, rtol=1e-12)


def test_empirical_blocks_join():
    points, weights = RNG.normal(size=(5000, 1)), RNG.dirichlet(np.ones(5000))
    kernel, emb = fwbq.ExpQuad(0.5), fwbq.embed(fwbq.ExpQuad(0.5), fwbq.Empirical(points, weights))
    x = RNG.normal(size=(300, 1))
    np.testing.assert_allclose(emb.mean(x), kernel(x, points) @ weights, rtol=1e-12)
    at_sample = kernel(points) @ weights
    np.testing.assert_allclose(emb.mean(points), at_sample, rtol=1e-12)
    np.testing.assert_allclose(emb.variance, weights @ at_sample, rtol=1e-12)


@pytest.mark.parametrize(
    "measure",
    [
        fwbq.Gaussian([0.3, -0.5], COV),
        CORRELATED_MIXTURE,
        fwbq.Product([stats.t(5.0), stats.logistic()]),
        fwbq.TruncatedGaussian([0.0, 1.0], 1.0, -40.0, 40.0),
    ],
    ids=lambda p: type(p).__name__,
)
def test_stein_is_zero_for_its_own_measure(measure):
    kernel = fwbq.Stein(fwbq.ExpQuad(1.0), measure.score)
    emb = fwbq.embed(kernel, measure)
    x = measure.sample(5, rng=1)
    assert np.all(emb.mean(x) == 0.0) and np.all(emb.mean_gradient(x) == 0.0) and emb.variance == 0.0
    if isinstance(measure, (fwbq.Gaussian, fwbq.GaussianMixture)):
        y, w = whitened_rule(measure)
        assert np.all(np.abs(kernel(x, y) @ w) < 1e-10 * kernel.diag(x))


def test_stein_under_draws_is_zero_too():
    """A sample stands for the density it was drawn towards."""
    emb = fwbq.embed(fwbq.Stein(fwbq.ExpQuad(1.0), lambda x: -x), fwbq.Empirical(RNG.normal(size=(20, 1))))
    assert emb.variance == 0.0 and np.all(emb.mean([[0.3]]) == 0.0)


@pytest.mark.parametrize(
    ("score", "measure", "reason"),
    [
        (lambda x: -2.0 * x, fwbq.Gaussian(0.0, 1.0), "score is not that of the measure"),
        (lambda x: -x, fwbq.TruncatedGaussian(0.0, 1.0), "does not vanish at its bounds"),
        (np.zeros_like, fwbq.Uniform(0.0, 1.0), "does not vanish at its bounds"),
    ],
)
def test_stein_is_refused_elsewhere(score, measure, reason):
    with pytest.raises(TypeError, match=reason):
        fwbq.embed(fwbq.Stein(fwbq.ExpQuad(1.0), score), measure)
