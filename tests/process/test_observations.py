"""One regression for values, noisy values and derivatives: against brute force, and exact where it must be."""

import numpy as np
import pytest
from scipy.integrate import quad

from fwbq import ExpQuad, Matern12, Matern32, Matern52
from fwbq._linalg import CholeskyFactor
from fwbq.process import Observations, Regression
from fwbq.process.basis import BASES, basis_functions, basis_gradients, basis_size

KERNELS = [ExpQuad([0.8, 1.1]), Matern52([0.8, 1.1]), Matern32(0.9), 0.5 * ExpQuad(1.0) + Matern52(2.0)]


def quadratic(x, seed=0):
    """Return values and gradients of a quadratic function, and its coefficients in the order of the basis."""
    d = x.shape[1]
    coefficients = np.random.default_rng(seed).normal(size=basis_size("quadratic", d))
    return basis_functions("quadratic", x) @ coefficients, basis_gradients("quadratic", x) @ coefficients, coefficients


@pytest.mark.parametrize("kind", BASES)
def test_gradients_of_the_basis_are_derivatives(kind):
    x = np.random.default_rng(0).normal(size=(5, 3))
    got = basis_gradients(kind, x)
    for i in range(3):
        shift = np.eye(3)[i]
        # Central differences of polynomials of degree two are exact but for rounding.
        expected = 0.5 * (basis_functions(kind, x + shift) - basis_functions(kind, x - shift))
        np.testing.assert_allclose(got[:, i], expected, atol=1e-13)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_gram_matrix_is_the_limit_of_differences(kernel):
    rng = np.random.default_rng(1)
    x, sites, u = rng.normal(size=(4, 2)), rng.normal(size=(3, 2)), rng.uniform(-0.5, 0.5, (3, 2, 2))
    seen = Observations(x, np.zeros(4), sites=sites, directions=u, slopes=np.zeros((3, 2)))
    assert len(seen) == 10
    step = 1e-4
    # Each derivative as a difference of two values: the rows of a matrix that acts on values at all places.
    places = np.vstack([x, *(sites[j] + sign * step * u[j, b] for j in range(3) for b in range(2) for sign in (1, -1))])
    act = np.zeros((10, len(places)))
    act[:4, :4] = np.eye(4)
    for k in range(6):
        act[4 + k, 4 + 2 * k : 6 + 2 * k] = 0.5 / step, -0.5 / step
    # Errors are the squared step times fourth derivatives of order ten, and rounding / step^2, 1e-8. Of one site with
    # itself the third derivatives of a Matern32 kernel jump: 4 sqrt(3) |u|^3 times the step.
    accuracy = 1e-3 if isinstance(kernel, Matern32) else 1e-6
    np.testing.assert_allclose(seen.gram(kernel), act @ kernel(places) @ act.T, atol=accuracy)
    at = rng.normal(size=(5, 2))
    np.testing.assert_allclose(seen.cross(kernel, at), act @ kernel(places, at), atol=1e-6)
    assert np.array_equal(seen.gram(kernel), seen.gram(kernel).T)
    np.testing.assert_allclose(seen.basis("quadratic"), act @ basis_functions("quadratic", places), atol=1e-7)


def test_gradients_are_derivatives_along_the_axes():
    rng = np.random.default_rng(2)
    x, g = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    plain = Observations(x, np.zeros(4), slopes=g, slope_noise=0.1)
    along = Observations(x, np.zeros(4), slopes=g, directions=np.broadcast_to(np.eye(3), (4, 3, 3)), slope_noise=0.1)
    kernel = Matern52(1.2)
    np.testing.assert_allclose(plain.covariance(kernel, 2.0), along.covariance(kernel, 2.0), atol=1e-15)
    np.testing.assert_allclose(plain.cross(kernel, x), along.cross(kernel, x), atol=1e-15)
    np.testing.assert_array_equal(plain.basis("quadratic"), along.basis("quadratic"))
    np.testing.assert_array_equal(plain.observed, np.concatenate([np.zeros(4), g.ravel()]))


def test_rows_of_sites_change_nothing(monkeypatch):
    rng = np.random.default_rng(3)
    sites, u = rng.normal(size=(7, 2)), rng.normal(size=(7, 1, 2))
    seen = Observations(sites, np.zeros(7), directions=u, slopes=np.zeros((7, 1)))
    whole = seen.gram(ExpQuad(1.0))
    monkeypatch.setattr("fwbq.process.observations._HELD", 60)
    np.testing.assert_allclose(seen.gram(ExpQuad(1.0)), whole, atol=1e-15)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("d", [1, 2, 4])
def test_quadratics_are_reproduced_from_values_and_gradients(kernel, d):
    if kernel.dim not in (None, d):
        kernel = type(kernel)(0.9)
    rng = np.random.default_rng(4)
    x, at = rng.normal(size=(6 + d, d)), rng.normal(size=(20, d))
    f, g, coefficients = quadratic(x)
    seen = Observations(x, f, slopes=g)
    regression = seen.regression(kernel, "quadratic")
    # Condition numbers of the Gram matrices are below 1e7.
    np.testing.assert_allclose(regression.coefficients, coefficients, atol=1e-8)
    there = regression.predict(seen.cross(kernel, at), basis_functions("quadratic", at))
    np.testing.assert_allclose(there.mean, quadratic(at)[0], atol=1e-8)


def test_gradients_alone_give_all_but_the_constant():
    rng = np.random.default_rng(5)
    x, at = rng.normal(size=(8, 2)), rng.normal(size=(5, 2))
    f, g, coefficients = quadratic(x)
    seen = Observations(x[:1], f[:1], sites=x[1:], slopes=g[1:])
    regression = seen.regression(ExpQuad(1.0), "quadratic")
    np.testing.assert_allclose(regression.coefficients, coefficients, atol=1e-9)
    there = regression.predict(seen.cross(ExpQuad(1.0), at), basis_functions("quadratic", at))
    np.testing.assert_allclose(there.mean, quadratic(at)[0], atol=1e-9)


def test_values_and_gradients_are_interpolated():
    rng = np.random.default_rng(6)
    x = rng.uniform(-1.0, 1.0, (8, 2))
    f, g = np.sin(x[:, 0]) * x[:, 1], np.column_stack([np.cos(x[:, 0]) * x[:, 1], np.sin(x[:, 0])])
    kernel = Matern52(1.0)
    seen = Observations(x, f, slopes=g)
    regression = seen.regression(kernel, "constant")
    step, one = 1e-5, np.ones((8, 1))
    np.testing.assert_allclose(regression.predict(seen.cross(kernel, x), one).mean, f, atol=1e-9)
    for i in range(2):
        shift = step * np.eye(2)[i]
        ahead, behind = (regression.predict(seen.cross(kernel, x + s), one).mean for s in (shift, -shift))
        # Third derivatives of the mean jump at the points: an error of the order of the step.
        np.testing.assert_allclose((ahead - behind) / (2.0 * step), g[:, i], atol=1e-4)


def test_noise_variances_are_the_weights_of_least_squares():
    """A process that is next to nothing beside the noise: what is left is weighted least squares."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(30, 2))
    noise = rng.uniform(0.5, 4.0, 30)
    f = rng.normal(size=30)
    a = 1e-12
    regression = Observations(x, f, noise=noise).regression(ExpQuad(1.0), "quadratic", amplitude=a)
    H, W = basis_functions("quadratic", x), np.diag(1.0 / noise)
    expected = np.linalg.solve(H.T @ W @ H, H.T @ W @ f)
    np.testing.assert_allclose(regression.coefficients, expected, rtol=1e-9, atol=1e-10)
    # Its sum of squares, at this amplitude, is that of errors in units of their noise.
    residual = f - H @ expected
    assert regression.sum_of_squares / a == pytest.approx(np.sum(residual**2 / noise), rel=1e-9)


def test_noise_of_values_and_derivatives_against_dense_algebra():
    rng = np.random.default_rng(8)
    x, at = rng.normal(size=(9, 2)), rng.normal(size=(4, 2))
    noise, slope_noise = rng.uniform(0.01, 1.0, 9), rng.uniform(0.01, 1.0, (9, 2))
    seen = Observations(x, rng.normal(size=9), noise=noise, slopes=rng.normal(size=(9, 2)), slope_noise=slope_noise)
    a, kernel = 3.0, ExpQuad(1.3)
    C = a * seen.gram(kernel) + np.diag(np.concatenate([noise, slope_noise.ravel()]))
    H, h = seen.basis("quadratic"), basis_functions("quadratic", at)
    inverse = np.linalg.inv(C)
    A = H.T @ inverse @ H
    beta = np.linalg.solve(A, H.T @ inverse @ seen.observed)
    cross = a * seen.cross(kernel, at)
    regression = seen.regression(kernel, "quadratic", amplitude=a)
    there = regression.predict(seen.cross(kernel, at), h)
    np.testing.assert_allclose(there.mean, h @ beta + cross.T @ inverse @ (seen.observed - H @ beta), rtol=1e-9)
    u = h.T - H.T @ inverse @ cross
    expected = a * kernel(at) - cross.T @ inverse @ cross + u.T @ np.linalg.solve(A, u)
    np.testing.assert_allclose(a * there.covariance(kernel(at)), expected, atol=1e-9)
    S = (seen.observed - H @ beta) @ inverse @ (seen.observed - H @ beta)
    n, p = H.shape
    determinants = np.linalg.slogdet(C)[1] + np.linalg.slogdet(A)[1]
    density = -0.5 * (n - p) * np.log(2.0 * np.pi) - 0.5 * determinants - 0.5 * S
    assert regression.log_likelihood(a) == pytest.approx(density, rel=1e-10)


def test_the_likelihood_of_a_given_amplitude_integrates_to_the_restricted_one():
    rng = np.random.default_rng(9)
    x = rng.normal(size=(12, 2))
    regression = Observations(x, rng.normal(size=12)).regression(Matern52(1.0), "constant")
    top = regression.log_likelihood(float(regression.amplitude))
    integral = quad(lambda t: np.exp(regression.log_likelihood(np.exp(t)) - top), -10.0, 20.0, limit=200)[0]
    assert np.log(integral) + top == pytest.approx(regression.log_likelihood(), rel=1e-9)


def test_the_sensitivity_at_a_given_amplitude():
    rng = np.random.default_rng(10)
    x, f = rng.normal(size=(10, 2)), rng.normal(size=(10, 2))
    C, direction, H = Matern52(1.0)(x) + 0.1 * np.eye(10), Matern32(0.5)(x), np.ones((10, 1))
    step = 1e-5
    ahead, behind = (Regression(CholeskyFactor.of(C + s * direction), f, H).log_likelihood(0.7) for s in (step, -step))
    slope = float(np.vdot(Regression(CholeskyFactor.of(C), f, H).sensitivity(0.7), direction))
    assert slope == pytest.approx((ahead - behind) / (2.0 * step), rel=1e-6)


def test_several_functions_share_their_places():
    rng = np.random.default_rng(11)
    x, f, g = rng.normal(size=(5, 2)), rng.normal(size=(5, 3)), rng.normal(size=(5, 2, 3))
    together = Observations(x, f, slopes=g).regression(ExpQuad(1.0), "constant")
    for j in range(3):
        alone = Observations(x, f[:, j], slopes=g[:, :, j]).regression(ExpQuad(1.0), "constant")
        np.testing.assert_allclose(together.coefficients[:, j], alone.coefficients, rtol=1e-12)
        assert together.sum_of_squares[j] == pytest.approx(alone.sum_of_squares, rel=1e-12)


def test_values_alone_are_the_regression_there_was():
    rng = np.random.default_rng(12)
    x, f = rng.normal(size=(8, 2)), rng.normal(size=8)
    seen = Observations(x, f)
    plain = Regression(CholeskyFactor.with_jitter(Matern12(1.0)(x), 1e-12), f, np.ones((8, 1)))
    assert seen.regression(Matern12(1.0), "constant", jitter=1e-12).log_likelihood() == plain.log_likelihood()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"values": [0.0]}, "`values`"),
        ({"noise": [-1.0, 0.0]}, "`noise` must hold variances"),
        ({"noise": [1.0]}, r"`noise` must be a number or have shape \(2,\)"),
        ({"slopes": [[1.0], [2.0]]}, r"`slopes` must be finite and have shape \(2, 2\)"),
        ({"slopes": [[1.0, np.nan], [2.0, 1.0]]}, "`slopes` must be finite"),
        ({"slopes": [[1.0]], "directions": [[1.0, 0.0]]}, r"`directions` must be finite and have shape \(2, q, 2\)"),
        ({"sites": [[1.0, 0.0]]}, "`sites` and `directions` say where"),
        ({"slopes": np.zeros((2, 2)), "slope_noise": np.inf}, "`slope_noise` must hold variances"),
    ],
)
def test_what_cannot_be_observed(change, told):
    with pytest.raises(ValueError, match=told):
        Observations(**({"points": [[0.0, 1.0], [1.0, 1.0]], "values": [1.0, 2.0]} | change))


@pytest.mark.parametrize(
    "directions", [np.ones((4, 2)), np.ones((3, 1, 2)), np.ones((4, 1, 3)), np.full((4, 1, 2), np.inf)]
)
def test_directions_of_another_shape_are_refused(directions):
    with pytest.raises(ValueError, match=r"`directions` must be finite and have shape \(4, q, 2\)"):
        Observations(np.zeros((4, 2)), np.zeros(4), slopes=np.zeros((4, 1)), directions=directions)
