"""The surrogate: exact on quadratics, indifferent to constants, through its values, right about two modes."""

import numpy as np
import pytest

from fwbq._whitening import Whitening
from fwbq.inference.depth import depth_noise, free_depth
from fwbq.inference.joint_process import Given, fit_processes
from fwbq.inference.modes import Mode, explains
from fwbq.inference.quadratic import Quadratic
from fwbq.kernels import ExpQuad, Matern52
from fwbq.process import KernelFamily
from fwbq.process.basis import basis_functions, basis_size


def gaussian(d, seed=0, width=0.3):
    rng = np.random.default_rng(seed)
    root = width * (np.tril(0.5 * rng.standard_normal((d, d)), -1) + np.diag(rng.uniform(0.5, 1.5, d)))
    centre = rng.standard_normal(d)
    whitening = Whitening(centre, root)
    return whitening, whitening.unit


def rough(whitening):
    """Coordinates a little off, as a run has them."""
    return Whitening(whitening.centre + 0.3 * whitening.root[:, 0], 1.4 * whitening.root)


def bent(z):
    return -0.5 * ((z[:, 1] - 0.5 * z[:, 0] ** 2) / 0.5) ** 2 - 0.5 * z[:, 0] ** 2 + 0.2 * np.sin(2.0 * z[:, 0])


def points(whitening, size, seed=1, spread=1.5):
    s = spread * np.random.default_rng(seed).standard_normal((size, len(whitening.centre)))
    return whitening.back(s)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_a_quadratic_is_known_everywhere(d):
    whitening, f = gaussian(d)
    z = points(whitening, basis_size("quadratic", d) + d + 4)
    found = fit_processes(z, f(z), rough(whitening), [], {})
    assert found.kind == "quadratic"
    far = points(whitening, 50, seed=2, spread=6.0)
    # Coefficients carry the rounding of values up to some tens, extrapolated to six standard deviations.
    assert np.allclose(found.best.mean(far), f(far), rtol=1e-7, atol=1e-6)
    centre, root = found.best.gaussian
    assert np.allclose(centre, whitening.centre, atol=1e-7)
    assert np.allclose(root @ root.T, whitening.root @ whitening.root.T, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("constant", [1e6, -300.0])
def test_a_constant_moves_the_mean_and_nothing_else(constant):
    whitening = Whitening(np.zeros(2), np.eye(2))
    z = points(whitening, 30)
    there = points(whitening, 40, seed=3)
    base, moved = (fit_processes(z, bent(z) + c, whitening, [], {}) for c in (0.0, constant))
    # The search for length-scales ends when its objective changes by 1e-5, which moves predictions by a small part of
    # their standard deviation; the values themselves are rounded to 1e-16 of the constant, amplified by 1e4 or so.
    sd = np.sqrt(base.best.amplitude * base.best.predict(there).variance(np.ones(len(there))))
    slack = 0.1 * sd + 1e-6 + 1e-12 * abs(constant)
    assert np.all(np.abs(moved.best.mean(there) - constant - base.best.mean(there)) < slack)
    assert np.isclose(moved.best.amplitude, base.best.amplitude, rtol=0.05)
    assert moved.best.family.name == base.best.family.name


def test_it_goes_through_its_values():
    whitening = Whitening(np.zeros(2), np.eye(2))
    z = points(whitening, 40)
    found = fit_processes(z, bent(z), whitening, [], {}).best
    assert np.ptp(bent(z)) < free_depth(2) or depth_noise(bent(z), 2).any()
    near = depth_noise(found.values, 2) == 0.0
    assert np.allclose(found.mean(z)[near], found.values[near], atol=1e-3)
    variance = found.amplitude * found.predict(z).variance(np.ones(len(z)))
    assert np.all(variance[near] < 1e-4 * found.amplitude)


def test_predictions_improve_with_points():
    whitening = Whitening(np.zeros(2), np.eye(2))
    there = points(whitening, 200, seed=5, spread=1.0)
    errors = []
    for size in (15, 60):
        z = points(whitening, size, seed=4)
        errors.append(
            np.sqrt(np.mean((fit_processes(z, bent(z), whitening, [], {}).best.mean(there) - bent(there)) ** 2))
        )
    assert errors[1] < errors[0] / 3.0


def test_stated_variances_hold_out_of_sample():
    whitening = Whitening(np.zeros(2), np.eye(2))
    squares = []
    for seed in range(6):
        z = points(whitening, 30, seed=seed)
        found = fit_processes(z, bent(z), whitening, [], {}).best
        there = points(whitening, 40, seed=100 + seed, spread=1.0)
        variance = found.amplitude * found.predict(there).variance(np.ones(len(there)))
        squares.append(np.mean((found.mean(there) - bent(there)) ** 2 / variance))
    # One were perfect; length-scales from 30 values leave a factor of a few either way.
    assert 0.02 < np.median(squares) < 4.0


def test_values_far_below_the_top_carry_noise():
    values = np.array([0.0, -5.0, -13.9, -20.0, -1000.0])
    noise = depth_noise(values, 2)
    assert not noise[:3].any()
    assert 0.0 < noise[3] < noise[4]
    assert np.array_equal(depth_noise(values + 77.0, 2), noise)


def test_where_a_known_mean_is_deeper_than_a_deep_value_its_noise_is_larger_in_proportion():
    values = np.array([0.0, -10.0, -20.0, -1000.0])
    offset = np.array([0.0, -500.0, -10.0, -5e6])
    noise, wider = depth_noise(values, 2), depth_noise(values, 2, offset)
    # A value within the free depth counts however deep the mean is, as in the tails of a Cauchy density.
    np.testing.assert_allclose(np.sqrt(wider), np.sqrt(noise) * [1.0, 1.0, 1.0, 5e3], rtol=1e-12)


def test_points_a_million_widths_away_do_not_make_the_kernel_long():
    whitening = Whitening(np.zeros(2), np.eye(2))
    z = points(whitening, 40)
    far = 1e6 * np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]])
    there = points(whitening, 100, seed=6, spread=0.8)
    # There the density is far below the top, and a Gaussian mean far below the density.
    spoiled = fit_processes(np.vstack([z, far]), np.append(bent(z), [-1e7, -2e7, -3e7]), whitening, [], {})
    plain = fit_processes(z, bent(z), whitening, [], {})
    errors = [float(np.sqrt(np.mean((each.best.mean(there) - bent(there)) ** 2))) for each in (plain, spoiled)]
    assert errors[1] < 3.0 * errors[0] + 1e-3


def test_absurdly_deep_values_do_not_spoil_the_top():
    whitening = Whitening(np.zeros(2), np.eye(2))
    z = points(whitening, 40)
    there = points(whitening, 100, seed=6, spread=0.8)
    deep = np.vstack([z, [[30.0, 0.0], [0.0, 40.0], [-25.0, 10.0]]])
    values = np.concatenate([bent(z), [-1e5, -3e4, -7e5]])
    plain, spoiled = (
        fit_processes(z, bent(z), whitening, [], {}).best,
        fit_processes(deep, values, whitening, [], {}).best,
    )
    errors = [np.sqrt(np.mean((each.mean(there) - bent(there)) ** 2)) for each in (plain, spoiled)]
    assert errors[1] < 3.0 * errors[0] + 1e-3


def test_few_values_have_the_gaussian_of_the_coordinates_as_mean():
    whitening, f = gaussian(3)
    z = points(whitening, 6)
    found = fit_processes(z, f(z) + 5.0, whitening, [], {})
    assert found.kind == "gaussian"
    assert found.best.gaussian is None
    far = points(whitening, 20, seed=2)
    assert np.allclose(found.best.mean(far), f(far) + 5.0, atol=1e-6)


def two_peaks():
    peaks = [
        Quadratic(np.array([m, 0.0]), c, np.zeros(2), -np.diag([25.0, 16.0])) for m, c in ((-1.5, 0.0), (1.5, -0.8))
    ]
    return [Mode(peak) for peak in peaks], lambda z: np.logaddexp(peaks[0](z), peaks[1](z))


def test_two_modes_are_better_than_one_quadratic():
    modes, f = two_peaks()
    rng = np.random.default_rng(0)
    z = np.vstack([m.peak.centre + 0.3 * rng.standard_normal((12, 2)) for m in modes] + [rng.standard_normal((8, 2))])
    whitening = Whitening(np.zeros(2), np.diag([1.5, 0.3]))
    found = fit_processes(z, f(z), whitening, modes, {})
    assert found.kind == "modes"
    there = np.vstack([m.peak.centre + 0.3 * rng.standard_normal((30, 2)) for m in modes])
    assert np.allclose(found.best.mean(there), f(there), atol=1e-3)


def test_probabilities_of_the_kernels():
    whitening = Whitening(np.zeros(2), np.eye(2))
    z = points(whitening, 30)
    found = fit_processes(z, bent(z), whitening, [], {})
    assert np.isclose(found.weights.sum(), 1.0)
    assert np.all(np.diff(found.weights) <= 0.0)
    assert {m.family.name for m in found.members} == {"ExpQuad", "Matern52"}
    again = fit_processes(z, bent(z), whitening, [], found.thetas)
    assert again.best.family.name == found.best.family.name


def test_a_mode_holds_what_is_near_and_explains_what_is_below():
    (first, second), f = two_peaks()
    assert first.holds(first.peak.centre + 0.3) and not first.holds(second.peak.centre)
    assert np.allclose(first.root @ first.root.T, np.diag([1 / 25.0, 1 / 16.0]))
    z = second.peak.centre
    value = float(f(z[None])[0])
    assert not explains([first], z, value)
    assert explains([first, second], z, value)


def test_a_kernel_that_is_given_is_one_of_the_user_s_parameters():
    # Against generalised least squares written out with dense inverses, in the user's parameters x = exp(z).
    whitening = Whitening(np.array([0.1, -0.2]), np.diag([0.8, 1.1]))
    z, there = points(whitening, 20), points(whitening, 30, seed=3)
    kernel = Matern52([0.7, 2.0], 3.0)
    found = fit_processes(z, bent(z), whitening, [], {}, families=(Given(kernel, np.exp),), amplitude=2.0).best
    H, h = (basis_functions(found.basis, whitening.forward(at)) for at in (z, there))
    K, k = kernel(np.exp(z)), kernel(np.exp(z), np.exp(there))
    noise = 1e-10 + depth_noise(bent(z), 2)
    inverse = np.linalg.inv(K + np.diag(3.0 * noise))
    known = bent(z) - bent(z).max()
    normal = np.linalg.inv(H.T @ inverse @ H)
    beta = normal @ H.T @ inverse @ known
    mean = h @ beta + k.T @ inverse @ (known - H @ beta) + bent(z).max()
    gap = h.T - H.T @ inverse @ k
    variance = kernel.diag(np.exp(there)) - np.sum(k * (inverse @ k), axis=0) + np.sum(gap * (normal @ gap), axis=0)
    # Dense inverses lose the condition number of K, below 1e6 here; the variances are sums of terms of about three.
    np.testing.assert_allclose(found.mean(there), mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.predict(there).variance(found.variance(there)), variance, rtol=1e-6, atol=1e-8)
    assert np.array_equal(found.covariance(there), kernel(np.exp(there)))
    assert found.amplitude == 2.0


def test_the_amplitude_is_the_one_asked_for():
    whitening = Whitening(np.zeros(2), np.eye(2))
    z = points(whitening, 30)
    likely, ml, loo, larger, number = (
        fit_processes(
            z, bent(z), whitening, [], {}, families=(KernelFamily("ExpQuad", ExpQuad),), amplitude=a
        ).best.amplitude
        for a in ("marginal", "ml", "loo", "calibrated", 0.3)
    )
    assert likely == ml != loo
    assert larger == max(ml, loo)
    assert number == 0.3
