"""Probes of a log joint density without a prior: whether it falls off, and the mass beyond them."""

import numpy as np
import pytest
from scipy.special import gammaln

import fwbq


def power_law(k):
    """The density (1 + |x|^2)^(-k/2): its integral exists for k above the dimension."""
    return lambda x: -0.5 * k * np.log1p(np.sum(x**2, axis=1))


def integral(k, d):
    """The log of that integral: Student's t with k - d degrees of freedom, rescaled."""
    return 0.5 * d * np.log(np.pi) + gammaln(0.5 * (k - d)) - gammaln(0.5 * k)


def run_of(f, d, n, seed):
    run = fwbq.EvidenceRun(start=np.full(d, 0.5), n=n, rng=seed)
    while run.n_evaluations < n:
        x = run.ask(n - run.n_evaluations)
        run.tell(x, f(x))
    return run


@pytest.mark.parametrize(("d", "k"), [(1, 1.0), (2, 2.0)])
@pytest.mark.parametrize("seed", range(2))
def test_a_density_that_falls_no_faster_than_the_volume_grows_has_no_integral(d, k, seed):
    found = run_of(power_law(k), d, 100 * d, seed).result()
    assert found.reason is fwbq.Reason.IMPROPER
    assert not found.success


@pytest.mark.parametrize(("d", "k"), [(1, 1.5), (1, 2.0), (2, 3.0), (2, 5.0)])
@pytest.mark.parametrize("seed", range(2))
def test_the_mass_of_heavy_tails_beyond_the_probes_is_in_the_error(d, k, seed):
    found = run_of(power_law(k), d, 100 * d, seed).result()
    assert found.success
    assert abs(found.log_evidence - integral(k, d)) < 3.0 * found.sd
    assert found.sd < 0.3


def test_powers_are_those_of_the_density():
    run = run_of(power_law(3.0), 1, 100, 0)
    powers = run._way.probes._powers(run._data.evaluated, run._way.surrogate.whitening)
    # Between two points far out, in units of the scale one: (1 + r^2) is r^2 to 1 % from ten on.
    assert np.allclose(powers[np.isfinite(powers)], 3.0, atol=0.3)


def test_nothing_is_beyond_the_probes_of_a_gaussian():
    run = run_of(lambda x: -0.5 * np.sum((x / 0.3) ** 2, axis=1), 2, 60, 0)
    result = run.result()
    assert run._way.probes.beyond(run._data.evaluated, result.posterior.surrogate.whitening, result.log_evidence) == 0.0
    assert result.sd < 1e-6
    assert abs(result.log_evidence - np.log(2.0 * np.pi * 0.09)) < 1e-6
