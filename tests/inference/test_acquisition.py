"""The choice of points: greedy minimisation of the variance of the log evidence, checked by brute force."""

import numpy as np
import pytest

import fwbq
from fwbq._whitening import Whitening
from fwbq.inference import acquisition
from fwbq.inference.acquisition import covariance, next_points
from fwbq.inference.belief import Belief
from fwbq.inference.nodes import resample
from fwbq.inference.space import space_of
from fwbq.inference.surrogate import fit
from fwbq.inference.zeros import SignProcess

PRIOR = fwbq.Gaussian([0.0, 0.0], np.eye(2))


def bent(z):
    return -0.5 * ((z[:, 1] - 0.7 * z[:, 0] ** 2) / 0.4) ** 2 - 0.5 * np.sum(z**2, axis=1) - np.log(2.0 * np.pi)


def belief(size=25, seed=0, cut=None, prior=PRIOR):
    space = space_of(prior)
    z = 1.2 * np.random.default_rng(seed).standard_normal((size, 2))
    whitening = Whitening(np.zeros(2), 0.7 * np.eye(2))
    at = np.ones(size, dtype=bool) if cut is None else z[:, 0] < cut
    values = bent(z)
    sign = None if cut is None else SignProcess.fit(whitening.forward(z), at)
    fitted = fit(z[at], values[at], whitening, [], {})
    top = float(np.max((values - space.log_prior(z))[at]))
    return Belief(space, fitted, sign, top, ())


def candidates(nodes):
    """The candidates and their shares of the mass, as the documentation of `next_points` describes them."""
    counts = np.bincount(resample(nodes, 5 * acquisition._CANDIDATES), minlength=len(nodes.points))
    rows = np.unique(
        np.concatenate([resample(nodes, acquisition._CANDIDATES), resample(nodes, acquisition._WIDE, power=0.5)])
    )
    return nodes.points[rows], counts[rows] / counts[rows].sum()


def variance_given(C, share, chosen):
    """Variance of the integral sum_i share_i g_i once g is known at the chosen candidates."""
    if not len(chosen):
        return float(share @ C @ share)
    K = C[np.ix_(chosen, chosen)]
    z = C[:, chosen].T @ share
    return float(share @ C @ share - z @ np.linalg.solve(K + 1e-13 * np.trace(K) * np.eye(len(chosen)), z))


def test_quadrature_points_are_those_of_brute_force():
    b = belief()
    nodes = b.nodes(256, 4, np.random.SeedSequence(1))
    z, share = candidates(nodes)
    C = covariance(b, z, np.random.default_rng(0))
    chosen = []
    for _ in range(4):
        left = [variance_given(C, share, [*chosen, i]) if i not in chosen else np.inf for i in range(len(z))]
        chosen.append(int(np.argmin(left)))
    points = next_points(b, nodes, 6, np.random.SeedSequence(2))  # two thirds of six by quadrature
    place = {row.tobytes(): i for i, row in enumerate(z)}
    found = [place[row.tobytes()] for row in points]
    assert len(set(found)) == 6
    # Ties may be broken otherwise; the variance that is reached is the same at every step.
    for k in range(1, 5):
        mine, brute = variance_given(C, share, found[:k]), variance_given(C, share, chosen[:k])
        assert mine <= brute * (1.0 + 1e-6) + 1e-9 * variance_given(C, share, [])


def test_the_rest_goes_where_density_times_variance_is_largest():
    b = belief()
    nodes = b.nodes(256, 4, np.random.SeedSequence(1))
    points = next_points(b, nodes, 6, np.random.SeedSequence(2))
    z, _ = candidates(nodes)
    C = covariance(b, z, np.random.default_rng(0))
    place = {row.tobytes(): i for i, row in enumerate(z)}
    found = [place[row.tobytes()] for row in points]
    K = C[np.ix_(found[:4], found[:4])]
    left = np.diagonal(C) - np.einsum("ij,ij->j", C[found[:4]], np.linalg.solve(K, C[found[:4]]))
    score = b.log_joint(z) + np.log(np.expm1(np.clip(left, 1e-300, 50.0)))
    score[found[:4]] = -np.inf
    assert score[found[4]] >= score.max() - 1e-6


def test_every_point_lowers_the_variance():
    b = belief()
    nodes = b.nodes(256, 4, np.random.SeedSequence(1))
    z, share = candidates(nodes)
    C = covariance(b, z, np.random.default_rng(0))
    place = {row.tobytes(): i for i, row in enumerate(z)}
    found = [place[row.tobytes()] for row in next_points(b, nodes, 8, np.random.SeedSequence(2))]
    steps = [variance_given(C, share, found[:k]) for k in range(9)]
    assert np.all(np.diff(steps) <= 1e-12 * steps[0])
    assert steps[-1] < 0.5 * steps[0]


@pytest.mark.parametrize("cut", [None, 0.5])
def test_the_covariance_is_positive_and_small_at_known_points(cut):
    b = belief(cut=cut)
    z = b.nodes(64, 4, np.random.SeedSequence(3)).points[:80]
    C = covariance(b, z, np.random.default_rng(0))
    assert np.allclose(C, C.T)
    assert np.linalg.eigvalsh(C)[0] > -1e-8 * np.trace(C)
    known = covariance(b, b.surrogate.points[:5], np.random.default_rng(0))
    if cut is None:
        assert np.all(np.diagonal(known) < 1e-4 * b.surrogate.amplitude)


def test_a_boundary_draws_points_to_itself():
    b = belief(size=40, cut=0.5)
    nodes = b.nodes(256, 4, np.random.SeedSequence(1))
    with_zeros = next_points(b, nodes, 6, np.random.SeedSequence(2))
    # The boundary is at 0.5; known points are about 0.3 apart there.
    assert np.any(np.abs(with_zeros[:, 0] - 0.5) < 0.3)


def test_points_of_a_sample_are_not_asked_for_twice():
    rng = np.random.default_rng(0)
    prior = fwbq.Empirical(rng.standard_normal((30, 2)))
    space = space_of(prior)
    whitening = Whitening(np.zeros(2), np.eye(2))
    z = space.support[:20]
    fitted = fit(z, -np.sum(z**2, axis=1) + 0.1 * np.sin(3.0 * z[:, 0]), whitening, [], {}, falls_off=False)
    b = Belief(space, fitted, None, 0.0, ())
    points = next_points(b, b.nodes(256, 4, np.random.SeedSequence(0)), 25, np.random.SeedSequence(1))
    known = {row.tobytes() for row in z}
    assert 0 < len(points) <= 10
    assert not any(row.tobytes() in known for row in points)


def test_another_design_is_used():
    asked = []

    def design(embedding, rng=None):
        asked.append(embedding)
        return fwbq.FrankWolfe(embedding, candidates=embedding.measure.points, rng=rng)

    b = belief()
    nodes = b.nodes(256, 4, np.random.SeedSequence(1))
    points = next_points(b, nodes, 6, np.random.SeedSequence(2), design)
    assert len(asked) == 1
    assert points.shape == (6, 2)
