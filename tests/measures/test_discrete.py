"""A few values with their probabilities: exact sums, alone and beside continuous inputs."""

import json

import numpy as np
import pytest
from scipy import stats

import fwbq
from fwbq.measures import MOST_COMBINATIONS, as_measure, as_prior, from_spec


def test_values_are_sorted_and_those_without_probability_left_out():
    p = fwbq.Discrete([3.0, 1.0, 2.0], [0.2, 0.8, 0.0])
    np.testing.assert_array_equal(p.values, [1.0, 3.0])
    assert p.mean[0] == pytest.approx(1.4) and p.scale[0] == pytest.approx(0.8)
    assert set(p.sample(50, rng=0)[:, 0]) == {1.0, 3.0}
    np.testing.assert_array_equal(p.from_uniform([[0.79], [0.81]])[:, 0], [1.0, 3.0])
    np.testing.assert_array_equal(p.nearest([[1.9], [2.1], [-4.0], [9.0]])[:, 0], [1.0, 3.0, 1.0, 3.0])
    again = from_spec(json.loads(json.dumps(p.spec())))
    np.testing.assert_array_equal(again.probabilities, p.probabilities)
    with pytest.raises(NotImplementedError, match="to_normal"):
        p.to_normal([[1.0]])


@pytest.mark.parametrize(
    "p", [stats.poisson(3.0), stats.binom(9, 0.3, loc=2), stats.poisson(45.0), stats.randint(-2, 5), stats.geom(0.5)]
)
def test_distributions_of_scipy_keep_their_moments(p):
    q = fwbq.Discrete.of(p)
    assert q.mean[0] == pytest.approx(p.mean(), rel=1e-13)
    assert q.scale[0] == pytest.approx(p.std(), rel=1e-12)
    np.testing.assert_allclose(q.probabilities, p.pmf(q.values), rtol=1e-13)


@pytest.mark.skipif(not hasattr(stats, "Binomial"), reason="this SciPy has no such objects")
def test_newer_objects_of_scipy_are_taken():
    q = as_measure(stats.Binomial(n=3, p=0.25))
    np.testing.assert_array_equal(q.points[:, 0], np.arange(4.0))
    np.testing.assert_allclose(q.weights, stats.binom(3, 0.25).pmf(np.arange(4)), rtol=1e-13)
    assert isinstance(fwbq.Product([stats.norm(), stats.Binomial(n=3, p=0.25)]).parts[1], fwbq.Discrete)


def test_listed_values_need_not_be_whole_numbers():
    p = stats.rv_discrete(values=([0.5, 2.25], [0.25, 0.75]))()
    np.testing.assert_array_equal(fwbq.Discrete.of(p).values, [0.5, 2.25])


@pytest.mark.parametrize("p", [stats.poisson(1e4), stats.zipf(2.0), stats.binom(1000, 0.5)])
def test_too_many_values_are_refused_with_the_remedy(p):
    with pytest.raises(ValueError, match=r"`measure` is \w+ with more than the 128 values.*round inside f"):
        as_measure(p)
    with pytest.raises(ValueError, match=r"`measure\[1\]` is"):
        as_measure([stats.norm(), p])


def test_all_discrete_inputs_are_summed():
    inputs = [stats.binom(3, 0.5), fwbq.Discrete([0.0, 2.0], [0.7, 0.3])]
    measure = as_measure(inputs)
    assert isinstance(measure, fwbq.Empirical) and len(measure.points) == 8
    seen = []
    result = fwbq.integrate(lambda x: seen.append(len(x)) or x[:, 0] * x[:, 1] ** 2, inputs, n=50, rng=0)
    assert result.mean == pytest.approx(1.5 * 0.3 * 4.0, rel=1e-14) and result.sd < 1e-14
    assert result.n_evaluations == sum(seen) == 8 and "sum" in result.status
    many = as_measure([fwbq.Discrete([0.0, 1.0])] * 11)
    assert 2**11 > MOST_COMBINATIONS and isinstance(many, fwbq.Product)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_beside_continuous_inputs_f_is_evaluated_at_the_values_only(seed):
    """E[exp(0.3 z) (1 + k)^2] = exp(0.045) E[(1 + k)^2]."""
    p = fwbq.Discrete([0.0, 1.0, 3.0], [0.5, 0.3, 0.2])
    result = fwbq.integrate(lambda x: np.exp(0.3 * x[:, 0]) * (1.0 + x[:, 1]) ** 2, [stats.norm(), p], n=60, rng=seed)
    assert set(result.points[:, 1]) <= {0.0, 1.0, 3.0}
    low, high = result.interval(0.99)
    truth = np.exp(0.045) * (0.5 + 0.3 * 4.0 + 0.2 * 16.0)
    assert low <= truth <= high and high - low < 0.02 * truth


def test_a_count_with_a_heavy_tailed_input():
    """E[x 1.2^k] for x ~ lognorm(0.5), k ~ Poisson(2)."""
    f = lambda x: x[:, 0] * 1.2 ** x[:, 1]  # noqa: E731
    result = fwbq.integrate(f, [stats.lognorm(0.5), stats.poisson(2.0)], n=100, rng=0)
    low, high = result.interval(0.99)
    assert low <= np.exp(0.125) * np.exp(2.0 * 0.2) <= high
    np.testing.assert_array_equal(result.points[:, 1], np.round(result.points[:, 1]))


def test_priors_with_both_kinds_of_parameters_are_refused():
    with pytest.raises(ValueError, match=r"`prior` has discrete parameters.*logsumexp"):
        fwbq.evidence(lambda x: -(x[:, 0] ** 2), [stats.norm(), stats.poisson(2.0)], n=20)
    assert isinstance(as_prior(stats.binom(3, 0.5)), fwbq.Empirical)
    found = fwbq.evidence(lambda x: -0.5 * x[:, 0], stats.binom(3, 0.5), n=20, rng=0)
    assert found.log_evidence == pytest.approx(3.0 * np.log(0.5 + 0.5 * np.exp(-0.5)), abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (([],), "1 to 128"),
        ((np.arange(200.0),), "1 to 128"),
        (([1.0, 1.0],), "comes twice"),
        (([1.0, 2.0], [0.5, 0.6]), "sum to 1"),
    ],
)
def test_bad_values(arguments, match):
    with pytest.raises(ValueError, match=match):
        fwbq.Discrete(*arguments)
