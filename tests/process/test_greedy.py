"""The greedy choice against dense algebra and against trying every candidate."""

import numpy as np
import pytest

from fwbq import Matern32
from fwbq.process import RemainingCovariance, choose, greedy


def covariance(q=30, seed=0):
    rng = np.random.default_rng(seed)
    return Matern32(0.6)(rng.uniform(size=(q, 2)))


def left_of(C, chosen):
    """Return the covariance given the values at `chosen`, by dense algebra."""
    K = C[np.ix_(chosen, chosen)]
    return C - C[:, chosen] @ np.linalg.solve(K, C[chosen])


def test_what_is_left_is_the_conditional_covariance():
    C = covariance()
    left = RemainingCovariance.of_matrix(C, 1e-10)
    rng = np.random.default_rng(1)
    one, several = C @ rng.uniform(size=30), C @ rng.normal(size=(30, 3))
    first, some = one.copy(), several.copy()
    chosen = [4, 17, 2, 29, 11]
    fallen = np.zeros(3)
    for j in chosen:
        a, b = left.add(j, first, some)
        assert a.shape == () and b.shape == (3,)
        fallen += b**2
    K = C[np.ix_(chosen, chosen)]
    others = np.setdiff1d(np.arange(30), chosen)
    # Condition number of K below 1e3.
    np.testing.assert_allclose(left.variance[others], np.diag(left_of(C, chosen))[others], rtol=1e-11)
    assert np.isinf(left.variance[chosen]).all()
    for function, rest in ((one, first), (several, some)):
        expected = function - C[:, chosen] @ np.linalg.solve(K, function[chosen])
        np.testing.assert_allclose(rest, expected, atol=1e-11)
    expected = np.einsum("im,im->m", several[chosen], np.linalg.solve(K, several[chosen]))
    np.testing.assert_allclose(fallen, expected, rtol=1e-11)
    assert len(left) == 5


def test_each_choice_is_the_best_of_all_candidates():
    """Two integrals at once: the sum of their variances falls most."""
    C = covariance()
    rng = np.random.default_rng(2)
    p, weights = rng.dirichlet(np.ones(30), size=2).T, np.array([1.0, 0.3])
    rest = C @ p
    chosen = choose(RemainingCovariance.of_matrix(C, 1e-10), lambda v: rest**2 @ weights / v, 6, rest)
    for i, j in enumerate(chosen):
        after = {}
        for k in np.setdiff1d(np.arange(30), chosen[:i]):
            R = left_of(C, [*chosen[:i], int(k)])
            after[int(k)] = np.einsum("qm,qr,rm->m", p, R, p) @ weights
        assert after[j] <= min(after.values()) * (1.0 + 1e-9)


def test_blocks_of_rows_change_nothing(monkeypatch):
    C = covariance()
    rest = C.sum(axis=1)

    def run():
        mine = rest.copy()
        left = RemainingCovariance.of_matrix(C, 1e-10)
        return choose(left, lambda v: mine**2 / v, 20, mine), left.variance

    whole, variance = run()
    monkeypatch.setattr(greedy, "BLOCK_ROWS", 3)
    parts, again = run()
    assert parts == whole
    # Sums in another order: rounding of numbers of order one.
    np.testing.assert_allclose(again, variance, atol=1e-13)


def test_it_ends_when_everything_is_known():
    x = np.repeat(np.arange(3.0)[:, None], 4, axis=0)
    left = RemainingCovariance.of_matrix(Matern32(1.0)(x), 1e-10)
    chosen = choose(left, lambda v: v, 10)
    assert sorted(j // 4 for j in chosen) == [0, 1, 2]
    assert np.isinf(left.variance).all()
    assert choose(left, lambda v: v, 1) == []


def test_nothing_without_gain():
    left = RemainingCovariance.of_matrix(np.eye(3), 1e-10)
    assert choose(left, np.zeros_like, 2) == []
    assert choose(left, lambda v: np.array([0.0, 2.0, 2.0]), 1) == [1]


def test_gains_may_be_logarithms():
    C = covariance()
    weight = np.random.default_rng(3).uniform(size=30)
    plain = choose(RemainingCovariance.of_matrix(C, 1e-10), lambda v: weight * v, 8)

    def logarithm(variance):
        return np.log(weight) + np.log(variance) - 1e3

    assert choose(RemainingCovariance.of_matrix(C, 1e-10), logarithm, 8) == []
    assert choose(RemainingCovariance.of_matrix(C, 1e-10), logarithm, 8, above=-np.inf) == plain


@pytest.mark.parametrize("zero", [0.0, -1e-18])
def test_a_candidate_without_variance_is_never_chosen(zero):
    C = np.diag([1.0, zero, 1.0])
    assert choose(RemainingCovariance.of_matrix(C, 1e-10), lambda v: np.ones(3), 5) == [0, 2]


def test_rows_that_are_not_filled_yet_are_not_read(monkeypatch):
    monkeypatch.setattr(greedy, "BLOCK_ROWS", 4)
    C = covariance()
    left = RemainingCovariance.of_matrix(C, 1e-10)
    chosen = [4, 17, 2, 29, 11, 8, 25]
    for j in chosen:
        left.add(j)
        left._blocks[-1][(len(left) - 1) % 4 + 1 :] = np.nan
    others = np.setdiff1d(np.arange(30), chosen)
    np.testing.assert_allclose(left.variance[others], np.diag(left_of(C, chosen))[others], rtol=1e-10)
