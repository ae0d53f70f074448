"""Covariances of derivatives against high-precision differentiation of the kernels' formulas, and their relations."""

import mpmath
import numpy as np
import pytest

from fwbq import Anova, ExpQuad, InverseMultiquadric, Matern12, Matern32, Matern52, PeriodicSobolev, RandomFourier
from fwbq.kernels import Whitened

LENGTHS = [0.7, 1.3]


def product(factor):
    def formula(*xy):
        x, y = xy[:2], xy[2:]
        return mpmath.fprod(factor(abs(a - b) / mpmath.mpf(c)) for a, b, c in zip(x, y, LENGTHS, strict=True))

    return formula


def multiquadric(*xy):
    x, y = xy[:2], xy[2:]
    return 1 / mpmath.sqrt(1 + sum(((a - b) / mpmath.mpf(c)) ** 2 for a, b, c in zip(x, y, LENGTHS, strict=True)))


FORMULAS = {
    ExpQuad: product(lambda r: mpmath.exp(-(r**2) / 2)),
    Matern32: product(lambda r: (1 + mpmath.sqrt(3) * r) * mpmath.exp(-mpmath.sqrt(3) * r)),
    Matern52: product(lambda r: (1 + mpmath.sqrt(5) * r + 5 * r**2 / 3) * mpmath.exp(-mpmath.sqrt(5) * r)),
    InverseMultiquadric: multiquadric,
}
MIXED = {
    "sum": ExpQuad(LENGTHS) + Matern52(0.8, 0.3),
    "product": ExpQuad(LENGTHS) * Matern32([1.0, 2.0]) * InverseMultiquadric(1.5),
    "features": RandomFourier(ExpQuad(LENGTHS), 30, 2, rng=0),
    "anova": Anova(ExpQuad(LENGTHS, 1.3), [0.5, 2.0]),
    "anova of order 1": Anova(Matern52(LENGTHS), [0.5, 2.0], order=1),
    "anova of order 2": Anova(Matern32(LENGTHS), [0.5, 2.0], order=2),
    "scaled": 2.5 * Matern52(LENGTHS),
    "whitened": Whitened(Matern52(LENGTHS), [0.1, -0.2], [[1.5, 0.4], [0.4, 0.7]]),
}


@pytest.mark.parametrize("kind", FORMULAS, ids=lambda kind: kind.__name__)
def test_against_differentiation_in_50_digits(kind):
    x, y = np.array([[0.3, -0.4], [2.0, 0.1]]), np.array([[0.9, 0.5], [-0.2, 0.2], [2.5, 7.0]])
    got = kind(LENGTHS, 1.7).gradient_covariance(x, y)
    assert got.shape == (2, 2, 3, 2)
    with mpmath.workdps(50):
        for i, j, a, b in np.ndindex(2, 3, 2, 2):
            orders = [0, 0, 0, 0]
            orders[a] += 1
            orders[2 + b] += 1
            expected = 1.7 * mpmath.diff(
                FORMULAS[kind], (*map(mpmath.mpf, x[i]), *map(mpmath.mpf, y[j])), tuple(orders)
            )
            assert got[i, a, j, b] == pytest.approx(float(expected), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("kernel", MIXED.values(), ids=MIXED)
def test_composites_against_differences_of_their_gradients(kernel):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(3, 2)), rng.normal(size=(4, 2))
    got = kernel.gradient_covariance(x, y)
    step = 1e-5
    for b in range(2):
        shift = step * np.eye(2)[b]
        slope = (kernel.gradient(x, y + shift) - kernel.gradient(x, y - shift)) / (2.0 * step)
        # Central differences: step^2 times fifth derivatives of order ten, and rounding / step.
        np.testing.assert_allclose(np.moveaxis(got[:, :, :, b], 1, 2), slope, atol=1e-8)


@pytest.mark.parametrize("kernel", [*(kind(LENGTHS) for kind in FORMULAS), *MIXED.values()], ids=repr)
def test_values_and_gradients_have_a_positive_symmetric_covariance(kernel):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(6, 2))
    mixed = kernel.gradient_covariance(x)
    np.testing.assert_array_equal(mixed, mixed.transpose(2, 3, 0, 1))
    cross = np.moveaxis(kernel.gradient(x, x), 1, 2).reshape(12, 6)
    full = np.block([[kernel(x), cross.T], [cross, mixed.reshape(12, 12)]])
    assert np.linalg.eigvalsh(full)[0] > -1e-13 * np.linalg.eigvalsh(full)[-1]


def test_the_gradient_at_one_point():
    """Its variance is minus the second derivative of the profile: 1, 3, 5/3 and 1 over the squared length-scale."""
    for kind, bend in ((ExpQuad, 1.0), (Matern32, 3.0), (Matern52, 5.0 / 3.0), (InverseMultiquadric, 1.0)):
        got = kind(LENGTHS, 2.0).gradient_covariance(np.array([[0.3, 4.0]]))[0, :, 0, :]
        np.testing.assert_allclose(got, np.diag(2.0 * bend / np.square(LENGTHS)), rtol=1e-14, atol=0.0)


def test_far_apart_nothing_is_left():
    for kernel in (ExpQuad(1e-3), Matern32(1e-3), Matern52(1e-3)):
        assert not kernel.gradient_covariance([[0.0, 0.0]], [[1e300, 1.0]]).any()


def test_kernels_without_derivatives_say_so():
    with pytest.raises(TypeError, match="Matern12 has no covariance of derivatives"):
        Matern12(1.0).gradient_covariance([[0.0]])
    with pytest.raises(TypeError, match="PeriodicSobolev has no covariance of derivatives in closed form"):
        (ExpQuad(1.0) + PeriodicSobolev(1)).gradient_covariance([[0.5]])
