"""The choice of points: greedy minimisation of the variance of the log evidence, checked by brute force."""

import numpy as np
import pytest

import fwbq
from fwbq._whitening import Whitening
from fwbq.inference.chart import chart_of
from fwbq.inference.joint_process import fit_processes
from fwbq.inference.nodes import resample
from fwbq.inference.proposers.quadrature import covariance, next_points
from fwbq.inference.sign_process import SignProcess
from fwbq.inference.surrogate import Surrogate
from fwbq.inference.tuning import TUNING

PRIOR = fwbq.Gaussian([0.0, 0.0], np.eye(2))


def bent(z):
    return -0.5 * ((z[:, 1] - 0.7 * z[:, 0] ** 2) / 0.4) ** 2 - 0.5 * np.sum(z**2, axis=1) - np.log(2.0 * np.pi)


def surrogate(size=25, seed=0, cut=None, prior=PRIOR):
    chart = chart_of(prior)
    z = 1.2 * np.random.default_rng(seed).standard_normal((size, 2))
    whitening = Whitening(np.zeros(2), 0.7 * np.eye(2))
    at = np.ones(size, dtype=bool) if cut is None else z[:, 0] < cut
    values = bent(z)
    sign = None if cut is None else SignProcess.fit(whitening.forward(z), at)
    fitted = fit_processes(z[at], values[at], whitening, [], {})
    top = float(np.max((values - chart.log_prior(z))[at]))
    evaluated = z, np.where(at, values - chart.log_prior(z), -np.inf)
    return Surrogate(chart, fitted, sign, top, (), evaluated, np.random.SeedSequence(1))


def candidates(nodes):
    """The candidates and their shares of the mass, as the documentation of `next_points` describes them."""
    counts = np.bincount(resample(nodes, 5 * TUNING.sizes.candidates), minlength=len(nodes.points))
    rows = np.unique(
        np.concatenate([resample(nodes, TUNING.sizes.candidates), resample(nodes, TUNING.sizes.wide, power=0.5)])
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
    b = surrogate()
    nodes = b.nodes
    z, share = candidates(nodes)
    C = covariance(b, z, np.random.default_rng(0))
    chosen = []
    for _ in range(4):
        left = [variance_given(C, share, [*chosen, i]) if i not in chosen else np.inf for i in range(len(z))]
        chosen.append(int(np.argmin(left)))
    points = next_points(b, 6, np.random.SeedSequence(2))  # two thirds of six by quadrature
    place = {row.tobytes(): i for i, row in enumerate(z)}
    found = [place[row.tobytes()] for row in points]
    assert len(set(found)) == 6
    # Ties may be broken otherwise; the variance that is reached is the same at every step.
    for k in range(1, 5):
        mine, brute = variance_given(C, share, found[:k]), variance_given(C, share, chosen[:k])
        assert mine <= brute * (1.0 + 1e-6) + 1e-9 * variance_given(C, share, [])


def test_the_rest_goes_where_density_times_variance_is_largest():
    b = surrogate()
    nodes = b.nodes
    points = next_points(b, 6, np.random.SeedSequence(2))
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
    b = surrogate()
    nodes = b.nodes
    z, share = candidates(nodes)
    C = covariance(b, z, np.random.default_rng(0))
    place = {row.tobytes(): i for i, row in enumerate(z)}
    found = [place[row.tobytes()] for row in next_points(b, 8, np.random.SeedSequence(2))]
    steps = [variance_given(C, share, found[:k]) for k in range(9)]
    assert np.all(np.diff(steps) <= 1e-12 * steps[0])
    assert steps[-1] < 0.5 * steps[0]


@pytest.mark.parametrize("cut", [None, 0.5])
def test_the_covariance_is_positive_and_small_at_known_points(cut):
    b = surrogate(cut=cut)
    z = b.draw_nodes(64, 4, np.random.SeedSequence(3)).points[:80]
    C = covariance(b, z, np.random.default_rng(0))
    assert np.allclose(C, C.T)
    assert np.linalg.eigvalsh(C)[0] > -1e-8 * np.trace(C)
    known = covariance(b, b.process.points[:5], np.random.default_rng(0))
    if cut is None:
        assert np.all(np.diagonal(known) < 1e-4 * b.process.amplitude)


def test_a_boundary_draws_points_to_itself():
    b = surrogate(size=40, cut=0.5)
    with_zeros = next_points(b, 6, np.random.SeedSequence(2))
    # The boundary is at 0.5; known points are about 0.3 apart there.
    assert np.any(np.abs(with_zeros[:, 0] - 0.5) < 0.3)


def test_points_of_a_sample_are_not_asked_for_twice():
    rng = np.random.default_rng(0)
    prior = fwbq.Empirical(rng.standard_normal((30, 2)))
    chart = chart_of(prior)
    whitening = Whitening(np.zeros(2), np.eye(2))
    z = chart.support[:20]
    fitted = fit_processes(z, -np.sum(z**2, axis=1) + 0.1 * np.sin(3.0 * z[:, 0]), whitening, [], {}, falls_off=False)
    evaluated = z, fitted.best.values
    b = Surrogate(chart, fitted, None, 0.0, (), evaluated, np.random.SeedSequence(0))
    points = next_points(b, 25, np.random.SeedSequence(1))
    known = {row.tobytes() for row in z}
    assert 0 < len(points) <= 10
    assert not any(row.tobytes() in known for row in points)


def test_another_design_is_used():
    asked = []

    def design(embedding, rng=None):
        asked.append(embedding)
        return fwbq.FrankWolfe(embedding, candidates=embedding.measure.points, rng=rng)

    b = surrogate()
    points = next_points(b, 6, np.random.SeedSequence(2), design)
    assert len(asked) == 1
    assert points.shape == (6, 2)
