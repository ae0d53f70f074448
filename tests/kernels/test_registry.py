"""A class of kernels is registered in one place, and known everywhere: in files, texts, embeddings and searches."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy import stats
from scipy.integrate import dblquad, quad

import fwbq
from fwbq import kernels
from fwbq.cli import expressions
from fwbq.kernels import Matern, registry


@pytest.fixture
def matern72(monkeypatch):
    """Register a class of kernels for the length of a test."""
    monkeypatch.setattr(registry, "_CLASSES", dict(registry._CLASSES))
    monkeypatch.setattr(registry, "_TEXTS", dict(registry._TEXTS))
    p = Polynomial([1.0, 1.0, 0.4, 1.0 / 15.0])
    q1 = p.deriv() - p
    q2 = q1.deriv() - q1
    q3 = q2.deriv() - q2

    @kernels.register("matern72")
    @dataclass(frozen=True, eq=False, init=False)
    class Matern72(Matern):
        """Products of Matern kernels of smoothness 7/2, p(s) exp(-s) with s = sqrt(7) r."""

        @property
        def smoothness(self):
            return 3.5

        def _polynomial(self, r):
            return p(self._rate * r)

        def _slope(self, s):
            return s * p.deriv()(s) / p(s)

        def _ratio1(self, t):
            return np.sign(t) * self._ratio(q1, 1, t)

        def _ratio2(self, t):
            return self._ratio(q2, 2, t)

        def _ratio3(self, t):
            return np.sign(t) * self._ratio(q3, 3, t)

        def _ratio(self, q, order, t):
            s = self._rate * np.abs(t)
            return self._rate**order * q(s) / p(s)

    return Matern72


def test_a_new_class_is_read_from_its_description(matern72):
    kernel = 2.0 * matern72([0.5, 1.0]) + fwbq.ExpQuad(1.0)
    again = kernels.from_spec(json.loads(json.dumps(kernel.spec())))
    assert again.spec() == kernel.spec()
    x = np.random.default_rng(0).normal(size=(4, 2))
    np.testing.assert_array_equal(again(x), kernel(x))


def test_a_new_class_is_known_on_the_command_line(matern72):
    assert type(expressions.kernel("matern72(0.5)")) is matern72
    assert expressions.kernel("matern72([1, 2]) * expquad(1)").dim == 2


@pytest.mark.parametrize(
    ("measure", "density", "ends"),
    [
        (fwbq.Uniform([0.0], [2.0]), lambda y: 0.5, (0.0, 2.0)),
        (fwbq.Gaussian([0.4], 1.0), lambda y: np.exp(-0.5 * (y - 0.4) ** 2) / np.sqrt(2.0 * np.pi), (-8.0, 9.0)),
        (fwbq.TruncatedGaussian([0.0], [1.0]), lambda y: np.sqrt(2.0 / np.pi) * np.exp(-0.5 * y**2), (0.0, 9.0)),
        (fwbq.Product([stats.expon()]), lambda y: np.exp(-y), (0.0, 40.0)),
    ],
    ids=["uniform", "gaussian", "truncated", "product"],
)
def test_a_new_class_has_an_embedding(matern72, measure, density, ends):
    kernel = matern72(0.6, 1.5)
    embedding = fwbq.embed(kernel, measure)
    assert "1-d quadrature" in embedding.method

    def k(x, y):
        return float(kernel([[x]], [[y]])[0, 0])

    for x in (0.3, 1.7):
        expected = quad(lambda y, x=x: k(x, y) * density(y), *ends, points=[x], epsabs=1e-12, epsrel=1e-12)[0]
        assert embedding.mean([[x]])[0] == pytest.approx(expected, rel=1e-10)
    # The kernel is smooth enough for the adaptive rule of dblquad to reach 1e-8.
    double = 2.0 * dblquad(lambda y, x: k(x, y) * density(x) * density(y), *ends, ends[0], lambda x: x)[0]
    assert embedding.variance == pytest.approx(double, rel=1e-7)


def test_a_new_class_has_an_embedding_in_several_dimensions(matern72):
    measure = fwbq.Product([stats.gamma(2.0)])
    both = fwbq.embed(matern72([0.5, 2.0]), fwbq.Uniform([0.0, 0.0], [1.0, 1.0]))
    parts = [fwbq.embed(matern72(length), fwbq.Uniform([0.0], [1.0])) for length in (0.5, 2.0)]
    expected = parts[0].mean([[0.2]]) * parts[1].mean([[0.7]])
    np.testing.assert_allclose(both.mean([[0.2, 0.7]]), expected, rtol=1e-13)
    assert fwbq.embed(matern72(1.0), measure).variance > 0.0
    with pytest.raises(TypeError, match="depend on each other"):
        fwbq.embed(matern72(1.0), fwbq.Gaussian([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]]))


def test_length_scales_of_a_new_class_are_found_and_the_run_is_saved(matern72, tmp_path):
    run = fwbq.Integration(fwbq.Uniform([0.0], [1.0]), kernel=matern72, rng=0)
    points = run.ask(12)
    run.tell(points, np.sin(3.0 * points[:, 0]))
    found = run.result()
    assert found.mean == pytest.approx((1.0 - np.cos(3.0)) / 3.0, abs=1e-3)
    assert isinstance(found.kernel, matern72)
    run.save(tmp_path / "run.json")
    again = fwbq.Integration.load(tmp_path / "run.json").result()
    assert again.mean == found.mean and isinstance(again.kernel, matern72)


def test_length_scales_of_a_new_class_are_found_for_evidences(matern72):
    measure = fwbq.Gaussian([0.0], 1.0)
    models = {"m": fwbq.Model(lambda x: -0.5 * x[:, 0] ** 2, measure)}
    found = fwbq.compare_models(models, n=20, kernel=matern72, rng=0, progress=False)
    assert found.log_evidence("m") == pytest.approx(-0.5 * np.log(2.0), abs=1e-3)


def test_gradients_of_a_new_class(matern72):
    np.testing.assert_allclose(matern72(0.5).gradient_covariance([[0.3]])[0, 0, 0, 0], 1.4 / 0.25, rtol=1e-13)


def test_a_name_is_given_once(matern72):
    with pytest.raises(ValueError, match="cannot be registered as 'Matern72'"):
        kernels.register()(matern72)
    with pytest.raises(ValueError, match="cannot be registered as 'expquad'"):
        kernels.register("expquad")(type("Other", (matern72,), {}))


def test_a_class_that_cannot_be_read_is_not_registered():
    with pytest.raises(TypeError, match="`Unreadable` cannot be registered: give it a class method _from_spec"):
        kernels.register()(type("Unreadable", (fwbq.Stein,), {}))


def test_what_has_a_text_is_a_public_name():
    assert {cls.__name__ for cls in kernels.texts().values()} <= set(fwbq.__all__)
