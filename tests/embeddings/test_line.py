"""Embeddings on the line: their registry, the formulas as their docstrings have them, and what quadrature achieved."""

import math

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import ndtr

import fwbq
from fwbq import embeddings
from fwbq.embeddings.density import Density, UniformOnInterval
from fwbq.embeddings.distribution import DistributionDensity
from fwbq.embeddings.line import embed_line
from fwbq.embeddings.normal import NormalOnInterval
from fwbq.embeddings.quadrature import QuadratureLine

CLOSED = {
    (fwbq.ExpQuad, NormalOnInterval): embeddings.ExpQuadNormal,
    (fwbq.ExpQuad, UniformOnInterval): embeddings.ExpQuadUniform,
    (fwbq.PeriodicSobolev, UniformOnInterval): embeddings.SobolevUniform,
    **{(k, NormalOnInterval): embeddings.MaternNormal for k in (fwbq.Matern12, fwbq.Matern32, fwbq.Matern52)},
    **{(k, UniformOnInterval): embeddings.MaternUniform for k in (fwbq.Matern12, fwbq.Matern32, fwbq.Matern52)},
    **{
        (fwbq.Anova, p): embeddings.AnovaLine  # that of its kernel, and a constant
        for p in (NormalOnInterval, UniformOnInterval, DistributionDensity)
    },
}
DENSITIES = [
    NormalOnInterval(0.2, 0.5, 0.0, 1.0),
    UniformOnInterval(0.0, 1.0),
    DistributionDensity(stats.beta(2.0, 2.0)),
]


def phi(u):
    return np.exp(-0.5 * u**2) / math.sqrt(2.0 * math.pi)


def h(order, kappa, u):
    """The function h of `MaternNormal`."""
    if order == 1:
        return ndtr(u)
    if order == 3:
        return (1 + kappa * u) * ndtr(u) + kappa * phi(u)
    return (1 + kappa * u + kappa**2 * (u**2 + 1) / 3) * ndtr(u) + (kappa + kappa**2 * u / 3) * phi(u)


def g(order, t):
    """The function G of `MaternUniform`, odd."""
    e, s, t = np.exp(-np.abs(t)), np.sign(t), np.abs(t)
    return s * {1: 1 - e, 3: 2 - (2 + t) * e, 5: (8 - (8 + 5 * t + t**2) * e) / 3}[order]


def big_h(order, w):
    """The function H of `MaternUniform`."""
    e = math.exp(-w)
    return {1: w - 1 + e, 3: 2 * w - 3 + (3 + w) * e, 5: (8 * w - 15 + (15 + 7 * w + w**2) * e) / 3}[order]


class TestRegistry:
    def test_closed_forms(self):
        kernels = {pair for pair in embeddings.available_on_line() if pair[0] is not fwbq.kernels.Kernel}
        assert kernels == set(CLOSED)

    @pytest.mark.parametrize("p", DENSITIES, ids=lambda p: type(p).__name__)
    @pytest.mark.parametrize(
        "kernel",
        [fwbq.ExpQuad(0.7), fwbq.Matern12(0.7), fwbq.Matern32(0.7), fwbq.Matern52(0.7), fwbq.PeriodicSobolev(1),
         fwbq.ExpQuad(1.0) * fwbq.Matern32(2.0), fwbq.Anova(fwbq.Matern32(0.7), 0.3)],
        ids=lambda k: type(k).__name__,
    )  # fmt: skip
    def test_what_has_no_closed_form_is_by_quadrature(self, kernel, p):
        line = embed_line(kernel, p)
        assert type(line) is CLOSED.get((type(kernel), type(p)), QuadratureLine)

    def test_every_density_takes_every_kernel(self):
        fallback = {p for k, p in embeddings.available_on_line() if k is fwbq.kernels.Kernel}
        assert fallback == set(Density.__subclasses__())

    def test_table_names_the_formula(self):
        for line in embeddings.table().splitlines()[2:]:
            name = line.split("|")[-2].strip().strip("`")
            assert "=" in (getattr(embeddings, name).__doc__ or ""), name


class TestFormulasAsWritten:
    """The closed forms of the docstrings, where they neither cancel nor overflow."""

    x = np.array([-1.3, 0.1, 0.8, 2.5])

    @pytest.mark.parametrize("family", [fwbq.Matern12, fwbq.Matern32, fwbq.Matern52])
    def test_matern_under_a_gaussian(self, family):
        length, v, m, s = 0.8, 1.7, 0.3, 0.6
        line = embed_line(family(length, v), NormalOnInterval(m, s))
        order = round(2 * family(length).smoothness)
        kappa, z = math.sqrt(order) * s / length, (self.x - m) / s
        left, right = np.exp(-kappa * z) * h(order, kappa, z - kappa), np.exp(kappa * z) * h(order, kappa, -z - kappa)
        np.testing.assert_allclose(line.mean(self.x), v * math.exp(kappa**2 / 2) * (left + right), rtol=1e-13)
        c = math.sqrt(2) * kappa
        np.testing.assert_allclose(line.variance(), 2 * v * math.exp(c**2 / 2) * h(order, c, -c), rtol=1e-12)

    @pytest.mark.parametrize("family", [fwbq.Matern12, fwbq.Matern32, fwbq.Matern52])
    def test_matern_far_from_the_mean(self, family):
        """One far point sends all of them through the formulas that hold everywhere: both are exact to rounding."""
        p = NormalOnInterval(0.3, 1.4)
        x = 0.3 + 1.4 * np.linspace(-9.9, 9.9, 41)
        for length in (0.01, 0.5, 3.0, 100.0):
            line = embed_line(family(length), p)
            for function in (line.mean, line.gradient):
                everywhere = function(np.append(x, 300.0))[:-1]
                # Exponents up to 50 are rounded to 1e-14; the two halves of a gradient cancel.
                assert np.allclose(function(x), everywhere, rtol=1e-13, atol=1e-13 * np.abs(everywhere).max())

    @pytest.mark.parametrize("family", [fwbq.Matern12, fwbq.Matern32, fwbq.Matern52])
    def test_matern_under_a_uniform_density(self, family):
        length, v, a, b = 0.8, 1.7, -0.5, 1.2
        line = embed_line(family(length, v), UniformOnInterval(a, b))
        order = round(2 * family(length).smoothness)
        rate = math.sqrt(order) / length
        width = rate * (b - a)
        expected = v / width * (g(order, rate * (self.x - a)) + g(order, rate * (b - self.x)))
        np.testing.assert_allclose(line.mean(self.x), expected, rtol=1e-13)
        np.testing.assert_allclose(line.variance(), 2 * v / width**2 * big_h(order, width), rtol=1e-13)

    @pytest.mark.parametrize("bounds", [(-math.inf, math.inf), (-0.4, 1.0), (0.0, math.inf)])
    def test_expquad_under_a_gaussian(self, bounds):
        length, v, m, s = 0.8, 1.7, 0.3, 0.6
        p = NormalOnInterval(m, s, *bounds)
        line = embed_line(fwbq.ExpQuad(length, v), p)
        total = math.hypot(length, s)
        centre, sd = (self.x * s**2 + m * length**2) / total**2, length * s / total

        def mass(mean, sd):
            return ndtr((bounds[1] - mean) / sd) - ndtr((bounds[0] - mean) / sd)

        expected = v * length / total * np.exp(-((self.x - m) ** 2) / (2 * total**2)) * mass(centre, sd) / mass(m, s)
        np.testing.assert_allclose(line.mean(self.x), expected, rtol=1e-13)
        if not p.truncated:
            np.testing.assert_allclose(line.variance(), v * length / math.hypot(length, math.sqrt(2) * s), rtol=1e-14)

    def test_expquad_under_a_uniform_density(self):
        length, v, a, b = 0.8, 1.7, -0.5, 1.2
        line = embed_line(fwbq.ExpQuad(length, v), UniformOnInterval(a, b))
        mass = ndtr((b - self.x) / length) - ndtr((a - self.x) / length)
        np.testing.assert_allclose(line.mean(self.x), v * length / (b - a) * math.sqrt(2 * math.pi) * mass, rtol=1e-13)
        r = (b - a) / length
        inner = r * math.sqrt(math.pi / 2) * math.erf(r / math.sqrt(2)) + math.exp(-(r**2) / 2) - 1
        np.testing.assert_allclose(line.variance(), v * 2 / r**2 * inner, rtol=1e-13)

    @pytest.mark.parametrize("order", [1, 2, 3])
    def test_periodic_sobolev_under_a_uniform_density(self, order):
        import mpmath

        a, b = 0.2, 0.7
        line = embed_line(fwbq.PeriodicSobolev(order), UniformOnInterval(a, b))
        w, n = b - a, 2 * order
        c = (-1) ** (order - 1) * (2 * math.pi) ** n / math.factorial(n)
        x = np.array([0.1, 0.2, 0.45, 0.9])

        def bernoulli(degree, u):
            return np.array([float(mpmath.bernpoly(degree, float(value))) for value in u])

        difference = bernoulli(n + 1, (x - a) % 1.0) - bernoulli(n + 1, (x - b) % 1.0)
        np.testing.assert_allclose(line.mean(x), 1 + c / ((n + 1) * w) * difference, rtol=1e-12)
        ends = bernoulli(n + 2, [w, 0.0])
        expected = 1 + 2 * c / ((n + 1) * (n + 2) * w**2) * (ends[0] - ends[1])
        np.testing.assert_allclose(line.variance(), expected, rtol=1e-12)


class Rough(stats.rv_continuous):
    """A Gaussian whose density carries noise of relative size 1e-9, as a density from numerical integration does."""

    def _pdf(self, x):
        return phi(x) * (1.0 + 1e-9 * np.sin(1e6 * x))

    def _cdf(self, x):
        return ndtr(x)

    def _ppf(self, q):
        return stats.norm.ppf(q)


class TestAccuracy:
    @pytest.mark.parametrize("kernel", [fwbq.ExpQuad(0.7), fwbq.Matern32(0.7)], ids=lambda k: type(k).__name__)
    def test_closed_forms_are_exact(self, kernel):
        for measure in (fwbq.Gaussian(0.0, 1.0), fwbq.Uniform(0.0, 1.0), fwbq.Product([stats.norm(), stats.uniform()])):
            assert fwbq.embed(kernel, measure).accuracy == 0.0

    @pytest.mark.parametrize(
        "distribution", [stats.gamma(2.0), stats.beta(0.5, 0.5), stats.lognorm(1.0), stats.laplace()]
    )
    def test_good_densities(self, distribution):
        """The bound is not idle (some rounding is always left), and far below what tests of the pairs allow."""
        emb = fwbq.embed(fwbq.Matern32(0.7), fwbq.Product([distribution, stats.norm()]))
        assert 0.0 < emb.accuracy < 1e-13

    def test_noise_is_seen_and_covers_the_error(self):
        emb = fwbq.embed(fwbq.ExpQuad(0.5), fwbq.Product([Rough(name="rough")()]))
        x = np.linspace(-2.0, 2.0, 9)[:, None]
        # The noise integrates to nothing: the mean element is that of the Gaussian.
        clean = fwbq.embed(fwbq.ExpQuad(0.5), fwbq.Gaussian(0.0, 1.0))
        error = np.max(np.abs(emb.mean(x) / clean.mean(x) - 1.0))
        assert 1e-13 < emb.accuracy < 1e-7
        assert error <= 2.0 * emb.accuracy

    def test_it_is_relative(self):
        # Powers of two change no other digit.
        one, small = (embed_line(fwbq.Matern12(0.3, v), NormalOnInterval(0.0, 1.0, 0.5, 2.0)) for v in (1.0, 2.0**-20))
        assert one.accuracy == small.accuracy > 0.0

    def test_sums_products_and_mixtures_carry_it_on(self):
        rough = fwbq.Product([Rough(name="rough")(), stats.gamma(2.0)])
        one = fwbq.embed(fwbq.ExpQuad(0.5), fwbq.Product([Rough(name="rough")()]))
        assert fwbq.embed(fwbq.ExpQuad(0.5), rough).accuracy >= one.accuracy
        assert fwbq.embed(2.0 * fwbq.ExpQuad(0.5) + fwbq.Matern52(1.0), rough).accuracy >= one.accuracy
        features = fwbq.RandomFourier(fwbq.ExpQuad(0.5), 20, 1, rng=0)
        assert fwbq.embed(features, fwbq.Product([Rough(name="rough")()])).accuracy > 1e-13

    @pytest.mark.parametrize("features", [False, True])
    def test_enters_the_floor_of_a_rule(self, features, monkeypatch):
        kernel = fwbq.RandomFourier(fwbq.ExpQuad(0.5), 20, 1, rng=0) if features else fwbq.ExpQuad(0.5)
        emb = fwbq.embed(kernel, fwbq.Product([stats.gamma(2.0)]))
        x = np.linspace(0.1, 5.0, 6)[:, None]
        before = fwbq.bayes_rule(emb, x)
        monkeypatch.setattr(type(emb), "accuracy", 1e-9)
        after = fwbq.bayes_rule(emb, x)
        assert after.floor > 1e4 * before.floor
        if not features:
            given = 1e-9 * (emb.variance + 2.0 * np.abs(after.weights) @ np.abs(emb.mean(x)))
            assert after.floor == pytest.approx(before.floor + given, rel=1e-3)

    def test_double_integral_says_how_well_it_did(self):
        """Against scipy's own quadrature, which shares nothing with it."""
        line = embed_line(fwbq.Matern12(0.3), NormalOnInterval(0.0, 1.0, 0.5, 2.0))
        value, error = integrate.quad(
            lambda t: line.mean(np.array([t]))[0] * line.p.density(np.array([t]))[0], 0.5, 2.0
        )
        assert 0.0 < line.accuracy < 1e-13
        assert abs(line.variance() - value) <= line.accuracy * value + error


@pytest.mark.parametrize("law", [stats.beta(0.5, 1.5), stats.beta(0.5, 0.5), stats.beta(1.5, 0.5)])
def test_the_accuracy_of_a_density_that_is_a_peak_at_one_end_is_known(law):
    assert 0.0 <= embed_line(fwbq.Matern32(0.4), DistributionDensity(law)).accuracy < 1e-10
