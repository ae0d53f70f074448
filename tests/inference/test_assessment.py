"""The error of a log evidence: its parts against draws from the process, and how they add up."""

import numpy as np
import pytest
from scipy.special import logsumexp

import fwbq
from fwbq._whitening import Whitening
from fwbq.inference.assessment import Assessment, assess
from fwbq.inference.chart import chart_of
from fwbq.inference.joint_process import fit_processes
from fwbq.inference.nodes import subset
from fwbq.inference.sign_process import SignProcess
from fwbq.inference.surrogate import Surrogate
from fwbq.inference.tuning import TUNING

CHART = chart_of(fwbq.Gaussian([0.0, 0.0], np.eye(2)))
UNIT = Whitening(np.zeros(2), np.eye(2))


def bent(z):
    return CHART.log_prior(z) + 0.5 * np.sin(2.0 * z[:, 0]) - 0.3 * z[:, 1] ** 2


def surrogate(f=bent, size=20, cut=None, seed=0, reach=1.3):
    z = reach * np.random.default_rng(seed).standard_normal((size, 2))
    at = np.ones(size, dtype=bool) if cut is None else z[:, 0] < cut
    sign = None if cut is None else SignProcess.fit(z, at)
    values = f(z)
    fitted, top = fit_processes(z[at], values[at], UNIT, [], {}), float(np.max((values - CHART.log_prior(z))[at]))
    evaluated = z, np.where(at, values - CHART.log_prior(z), -np.inf)
    return Surrogate(CHART, fitted, sign, top, (), evaluated, np.random.SeedSequence(0))


def assessed(b, inflation=1.0):
    nodes = b.draw_nodes(1024, 8, np.random.SeedSequence(0))
    return assess(b, nodes, inflation, np.random.SeedSequence(1)), nodes


def test_a_gaussian_is_exact():
    def quadratic(z):
        return -0.5 * np.sum(((z - [0.3, -0.2]) / [0.5, 0.8]) ** 2, axis=1)

    found, _ = assessed(surrogate(quadratic))
    assert abs(found.log_evidence - np.log(2.0 * np.pi * 0.4)) < 1e-8
    assert found.sd < 1e-5


@pytest.mark.parametrize("size", [16, 30])
def test_the_first_and_second_order_are_those_of_draws_from_the_process(size):
    b = surrogate(size=size, reach=2.0)
    found, nodes = assessed(b)
    # Draws of the error of the log joint density on the same nodes, jointly.
    z, w = subset(nodes, 1024)
    process = b.process
    C = process.amplitude * process.predict(z).covariance(process.kernel(process.whitening.forward(z)))
    values, axes = np.linalg.eigh(C)
    e = np.random.default_rng(2).standard_normal((4000, len(z))) * np.sqrt(np.maximum(values, 0.0)) @ axes.T
    first = e @ w
    second = 0.5 * (e**2 @ w - first**2)
    # The standard deviation of 4,000 draws is known to 1.1 %, a mean to its own standard error.
    assert np.isclose(first.std(), found.process, rtol=0.06, atol=1e-7)
    assert abs(second.mean() - found.curvature) < 5.0 * second.std() / np.sqrt(4000)
    # What is nearly known adds nearly linearly: the exponential itself, where no node's variance exceeds a tenth.
    known = np.diagonal(C) < 0.1
    share = w[known] / w[known].sum()
    logs = logsumexp(e[:, known], axis=1, b=share)
    assert np.isclose(logs.std(), (e[:, known] @ share).std(), rtol=0.1)


def test_the_parts_add_as_squares():
    found = Assessment(-3.0, 0.3, 0.1, 0.2, 0.05, 0.4, 0.6, 2.0)
    parts = [np.sqrt(2.0) * 0.3, 2.0 * 0.1, 0.2, 0.05, 0.4, 0.6]
    assert np.isclose(found.sd, np.linalg.norm(parts), rtol=1e-12)


@pytest.mark.parametrize("part", ["process", "curvature", "kernels", "nodes", "boundary", "unseen", "inflation"])
def test_no_part_lowers_the_whole(part):
    given = dict(process=0.1, curvature=0.1, kernels=0.1, nodes=0.1, boundary=0.1, unseen=0.1, inflation=1.5)
    more = given | {part: 2.0 * given[part]}
    assert Assessment(0.0, **more).sd > Assessment(0.0, **given).sd


def test_inflation_widens_what_the_surrogate_leaves_open():
    b = surrogate()
    plain, _ = assessed(b)
    other, _ = assessed(b, inflation=4.0)
    assert (other.inflation, other.unseen) == (4.0, 0.0)
    assert other.log_evidence == plain.log_evidence
    assert other.surrogate == pytest.approx(np.hypot(2.0 * plain.process, 4.0 * plain.curvature))
    assert other.sd > plain.sd


def test_a_boundary_has_an_error_that_falls_with_points():
    assert assessed(surrogate())[0].boundary == 0.0
    few, many = (assessed(surrogate(size=size, cut=0.3))[0] for size in (16, 120))
    assert 0.0 < many.boundary < few.boundary


def test_the_boundary_s_error_holds():
    """A plane through a standard normal prior: the share of the mass is Phi(0.3), known to the stated error."""
    scores = []
    for seed in range(8):
        found, _ = assessed(surrogate(CHART.log_prior, size=60, cut=0.3, seed=seed))
        scores.append((found.log_evidence - np.log(0.6179114221889526)) / found.sd)
    # Beyond two standard deviations one in twenty: three of eight happen once in two hundred times.
    assert np.sum(np.abs(scores) > 2.0) <= 2


def test_the_surrogate_does_not_rise_far_above_what_was_seen():
    b = surrogate(size=8)
    z = 30.0 * np.random.default_rng(0).standard_normal((500, 2))
    assert np.all(b.log_joint(z) - CHART.log_prior(z) <= b.top + TUNING.modes.above + 1e-9)


def test_the_proposal_covers_the_prior():
    b = surrogate()
    z = np.random.default_rng(0).standard_normal((200, 2))
    # The prior is one component of the proposal, with a share of 0.05 in 0.9 when there is one mode.
    assert np.all(b.proposal.log_density(z) >= CHART.log_prior(z) + np.log(0.05) - 1e-9)


def test_predictions_that_were_off_by_any_factor_widen_the_error_by_a_finite_one():
    b = surrogate(size=16, reach=2.0)
    wide, wider = (assessed(b, inflation=factor)[0] for factor in (1e4, 1e30))
    assert wide.inflation == wider.inflation == 1e4
    assert wide.sd == wider.sd > 3.0
