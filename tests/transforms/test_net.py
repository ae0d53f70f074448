import numpy as np
import pytest

from fwbq.designs.qmc import scrambled_engine
from fwbq.kernels.walsh import Walsh, binary_digits
from fwbq.transforms import SobolNet, walsh_hadamard
from fwbq.transforms.gram import block_sums, contrast_variances, digit_table
from fwbq.transforms.net import differences


def test_points_are_those_of_scipy_in_any_portion():
    engine = scrambled_engine("sobol", 4, np.random.default_rng(3).spawn(1)[0])
    expected = engine.random(4096) + 2.0**-31
    net = SobolNet(4, rng=3)
    np.testing.assert_array_equal(net.points(0, 4096), expected)
    np.testing.assert_array_equal(net.points(1000, 3011), expected[1000:3011])
    assert net.points(7, 7).shape == (0, 4)


def test_same_seed_same_points_other_seed_others():
    first, again, other = (SobolNet(2, rng=seed).points(0, 8) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.any(first == other)


def test_digits_are_linear_in_the_index():
    net = SobolNet(3, rng=0)
    digits = binary_digits(net.points(0, 256))
    i, j = np.random.default_rng(0).integers(256, size=(2, 50))
    np.testing.assert_array_equal(digits[i ^ j], digits[i] ^ digits[j] ^ digits[0])
    for g, column in zip(net.generators(8).T, digits.T, strict=True):
        np.testing.assert_array_equal(differences(g, 64, 128), column[64:128] ^ column[0])


def test_too_long_a_net_is_refused():
    with pytest.raises(ValueError, match="at most 30, the binary digits"):
        SobolNet(1, rng=0).generators(31)


@pytest.mark.parametrize("shape", [(1,), (8,), (64, 3)])
def test_transform_is_the_hadamard_matrix(shape):
    values = np.random.default_rng(0).normal(size=shape)
    n = shape[0]
    i = np.arange(n)
    signs = 1.0 - 2.0 * (np.bitwise_count(i[:, None] & i) % 2)
    # n additions of rounding eps each
    np.testing.assert_allclose(walsh_hadamard(values), signs @ values, rtol=0, atol=n * 1e-15 * n)


def test_transform_needs_a_power_of_two():
    with pytest.raises(ValueError, match="power of two of rows, got 6"):
        walsh_hadamard(np.zeros(6))


@pytest.fixture
def setting():
    net = SobolNet(3, rng=5)
    return net, Walsh([0.5, 2.0, 0.01], 2.2), net.points(0, 128)


def test_transform_of_a_row_gives_the_eigenvalues(setting):
    _, kernel, u = setting
    gram = kernel(u)
    np.testing.assert_allclose(
        np.sort(walsh_hadamard(gram[0])), np.linalg.eigvalsh(gram), rtol=0, atol=1e-13 * np.trace(gram)
    )
    assert np.linalg.eigvalsh(gram)[0] > 0.0


def test_block_sums_and_digits_agree_with_the_kernel(setting):
    net, kernel, u = setting
    row = kernel(u[:1], u)[0] - 1.0
    sums, magnitude = block_sums(kernel, net.generators(7), 8)
    np.testing.assert_allclose(sums, row.reshape(8, -1).sum(axis=1), rtol=0, atol=128 * 1e-15)
    assert np.isclose(magnitude, np.abs(row).sum(), rtol=1e-12)
    table = digit_table(net.generators(7))
    by_table = np.prod(1.0 + kernel.scales * kernel.omega()[table], axis=1)
    np.testing.assert_allclose(by_table, row + 1.0, rtol=1e-14)


def test_contrast_variances_are_those_of_the_process(setting):
    net, kernel, u = setting
    covariance = kernel(u) - 1.0
    variance, variances = contrast_variances(kernel, net.generators(7), 3)
    weights = np.full(128, 1.0 / 128)
    assert np.isclose(variance, weights @ covariance @ weights, rtol=1e-11)
    for level in (1, 2, 3):
        size = 128 >> level
        each = []
        for pair in range(2 ** (level - 1)):
            w = np.zeros(128)
            w[2 * pair * size : (2 * pair + 1) * size] = 0.5 / size
            w[(2 * pair + 1) * size : (2 * pair + 2) * size] = -0.5 / size
            each.append(w @ covariance @ w)
        np.testing.assert_allclose(each, variances[level - 1], rtol=1e-10)  # all pairs of a level are alike


def test_variance_falls_like_the_cube_of_n_for_a_smooth_kernel_in_one_dimension():
    kernel, net = Walsh([1.0], 3.0), SobolNet(1, rng=0)
    small, large = (contrast_variances(kernel, net.generators(m), 4)[0] for m in (6, 10))
    assert np.isclose(small / large, 2.0**12, rtol=1e-6)
