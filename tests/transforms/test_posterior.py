import numpy as np
import pytest
from scipy import stats

from fwbq.posterior import AveragedPosterior, ColumnPosteriors
from fwbq.transforms import SobolNet, net_posterior
from fwbq.transforms.posterior import DRIFT_MEAN, DRIFT_NODES, DRIFT_SD, LEVELS, _mixture, contrasts

NET = SobolNet(2, rng=2)
G, U = NET.generators(10), NET.points(0, 1024)
F = np.exp(U.sum(axis=1))


def test_the_mean_is_the_mean_of_the_values():
    posterior = net_posterior(G, F).posterior
    assert isinstance(posterior, AveragedPosterior)
    assert np.isclose(posterior.mean, F.mean(), rtol=1e-14)
    low, high = posterior.interval(0.95)
    assert low <= np.expm1(1.0) ** 2 <= high


@pytest.mark.parametrize("factor", [-2.0, 3e200, 1e-250])
def test_scale_equivariant_and_negative_integrals_are_negative(factor):
    one, other = net_posterior(G, F).posterior, net_posterior(G, factor * F).posterior
    assert np.isclose(other.mean, factor * one.mean, rtol=1e-13)
    # The search sees normalised values: rounding may end it a step apart, at a likelihood the same to 1e-8.
    assert np.isclose(other.sd, abs(factor) * one.sd, rtol=1e-3)


def test_shift_moves_the_mean_only():
    one, other = net_posterior(G, F).posterior, net_posterior(G, F + 10.0).posterior
    assert np.isclose(other.mean, one.mean + 10.0, rtol=1e-13)
    assert np.isclose(other.sd, one.sd, rtol=1e-3)


def test_a_constant_is_exact():
    posterior = net_posterior(G, np.full(1024, 0.1)).posterior
    assert posterior.mean == 0.1
    assert posterior.sd == 0.0


def test_columns_agree_with_each_alone():
    columns = np.stack([F, U[:, 0], np.cos(9.0 * U[:, 1])], axis=1)
    together = net_posterior(G, columns).posterior
    assert isinstance(together, ColumnPosteriors)
    alone = [net_posterior(G, column).posterior for column in columns.T]
    np.testing.assert_allclose(together.mean, [p.mean for p in alone], rtol=0, atol=1e-14)
    np.testing.assert_allclose(together.sd, [p.sd for p in alone], rtol=1e-3)


def test_many_columns_share_a_kernel():
    columns = F[:, None] * np.arange(1.0, 21.0)
    posterior = net_posterior(G, columns).posterior
    np.testing.assert_allclose(posterior.sd / posterior.sd[0], np.arange(1.0, 21.0), rtol=1e-6)


def test_contrasts_by_level():
    first, second = contrasts(np.arange(8.0), 2)
    np.testing.assert_array_equal(first, [-2.0])
    np.testing.assert_array_equal(second, [-1.0, -1.0])


def test_missing_values_widen_the_interval():
    missing = np.zeros(1024, dtype=bool)
    missing[5] = True
    values = np.where(missing, np.nan, F)
    gap, whole = net_posterior(G, values, missing).posterior, net_posterior(G, F).posterior
    assert np.isclose(gap.mean, F[~missing].mean(), rtol=1e-13)
    spread = F[~missing].std() / 1024
    assert gap.scale > spread > whole.scale
    # The value that is missing is off by some standard deviations at most.
    assert abs(gap.mean - np.expm1(1.0) ** 2) < 4.0 * gap.sd


def test_a_single_peak_leaves_few_degrees_of_freedom():
    """One value makes all contrasts: that is one observation of the size of the error, not fifteen."""
    peak = np.zeros(1024)
    peak[77] = 1.0
    assert net_posterior(G, peak).posterior.df == 4.0
    assert net_posterior(G, np.random.default_rng(0).normal(size=1024)).posterior.df > 6.0


def test_noise_has_the_error_of_monte_carlo():
    values = np.random.default_rng(1).normal(size=1024)
    sd = net_posterior(G, values).posterior.sd
    assert 0.5 / 32 < sd < 2.5 / 32


def test_drifts_are_as_probable_as_the_contrasts_say():
    net = SobolNet(2, rng=3)
    u = net.points(0, 256)
    values = np.exp(np.sin(5.0 * u[:, 0]) + u[:, 1])
    found = contrasts(values - values[0], LEVELS)
    variances = 0.1 * 4.0 ** -np.arange(LEVELS)
    mixture = _mixture(values, 1.0, 1e-3, variances, 0.0, 0)
    expected = []
    for node in DRIFT_NODES:
        drift = DRIFT_MEAN + DRIFT_SD * node
        variance = np.concatenate(
            [
                np.full(len(part), v * 2.0 ** (drift * k))
                for k, (part, v) in enumerate(zip(found, variances, strict=True), 1)
            ]
        )
        each = np.concatenate(found)
        amplitude = np.mean(each**2 / variance)
        expected.append(stats.norm(0.0, np.sqrt(amplitude * variance)).logpdf(each).sum() + stats.norm.logpdf(node))
    np.testing.assert_allclose(np.log(mixture.weights), expected - np.logaddexp.reduce(expected), rtol=1e-10)
