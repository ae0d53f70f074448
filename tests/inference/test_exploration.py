"""Looking for modes nobody has seen: what a value contradicts, which points tell, and what a run finds by them."""

import numpy as np
import pytest

import fwbq
from fwbq._whitening import Whitening
from fwbq.inference.chart import chart_of
from fwbq.inference.joint_process import fit_processes
from fwbq.inference.proposers.exploration import Supposed, deciding_points, exploring_share
from fwbq.inference.surrogate import Surrogate
from fwbq.inference.tuning import TUNING
from studies.problems.likelihoods import gaussian

PRIOR = fwbq.Gaussian([0.0, 0.0], np.eye(2))
CHART = chart_of(PRIOR)


def narrow(x):
    return -0.5 * np.sum(((x - [0.5, -0.3]) / 0.1) ** 2, axis=1)


def known_gaussian(size=30):
    """The surrogate of a Gaussian likelihood after some values near its top, with all that is known."""
    z = [0.5, -0.3] + 0.15 * np.random.default_rng(0).standard_normal((size, 2))
    g = narrow(z) + CHART.log_prior(z)
    whitening = Whitening(np.array([0.5, -0.3]), 0.1 * np.eye(2))
    fitted = fit_processes(z, g, whitening, [], {})
    return Surrogate(CHART, fitted, None, 0.0, (), (z, narrow(z)), np.random.SeedSequence(0)), (z, g)


@pytest.fixture
def one_mode():
    """A single supposed mode at the origin, 0.1 wide, of height 3."""
    return Supposed(Whitening(np.zeros(2), np.ones(2)), np.zeros((1, 2)), np.array([0.1]), np.array([3.0]))


@pytest.mark.parametrize(
    ("distance", "value", "contradicted"),
    [
        (0.2, 0.9, True),  # the mode says 3 - 2 = 1 there
        (0.2, 1.1, False),
        (0.99, -1e9, True),  # a Gaussian as far as ten widths
        (1.01, -1e9, False),
        (0.29, -np.inf, True),  # positive as far as three
        (0.31, -np.inf, False),
    ],
)
def test_a_value_below_what_a_mode_says_contradicts_it(one_mode, distance, value, contradicted):
    found = one_mode.contradicted(np.array([[distance, 0.0]]), np.array([value]))
    assert found.tolist() == [[contradicted]]


def test_supposed_modes_hold_a_hundredth_of_the_evidence():
    surrogate, _ = known_gaussian()
    supposed = Supposed.under(surrogate, -2.0, np.random.default_rng(0))
    mass = supposed.heights + 2.0 * np.log(supposed.widths) + np.log(2.0 * np.pi)
    assert np.allclose(mass, -2.0 + np.log(0.01), rtol=0.0, atol=1e-12)


def test_the_points_decide_on_more_modes_than_draws_from_the_prior():
    surrogate, (z, g) = known_gaussian()
    log_evidence = float(np.log(2.0 * np.pi * 0.01 / (2.0 * np.pi)))
    points = deciding_points(surrogate, (z, g), log_evidence, 12, np.random.SeedSequence(0))
    assert len(points) == len(np.unique(points, axis=0)) == 12
    supposed = Supposed.under(surrogate, log_evidence, np.random.default_rng(5))

    def left(more):
        there = np.vstack([z, more])
        return np.sum(~supposed.contradicted(there, narrow(there) + CHART.log_prior(there)).any(axis=0))

    draws = [left(np.random.default_rng(seed).standard_normal((12, 2))) for seed in range(10)]
    assert left(points) < min(draws) < left(np.empty((0, 2)))


def test_nothing_is_asked_when_every_mode_is_contradicted():
    surrogate, _ = known_gaussian()
    axis = np.linspace(-6.0, 6.0, 41)  # 0.3 apart: every supposed mode, 0.05 wide at least, has a point within reach
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    known = grid, np.full(len(grid), -1e6)
    assert len(deciding_points(surrogate, known, -4.6, 5, np.random.SeedSequence(0))) == 0


def test_what_a_known_gaussian_says_is_no_surprise_and_more_is():
    surrogate, _ = known_gaussian()
    z = np.random.default_rng(3).standard_normal((50, 2))
    truth = narrow(z) + CHART.log_prior(z)
    # The quadratic is known to rounding near the top, and to 1e-7 of its value far out.
    assert np.all(surrogate.surprising(z) > truth + 1.0)
    assert np.all(surrogate.surprising(z) < truth + 4.0)


def test_the_share_grows_as_the_error_falls():
    shares = [exploring_share(error) for error in (1.0, 0.01, 3e-3, 1e-3, 1e-4, 1e-5, 1e-12, 0.0)]
    assert shares[:2] == [0.0, 0.0]
    assert np.all(np.diff(shares[1:6]) > 0.0)
    assert shares[-2:] == [TUNING.exploration.most] * 2


CENTRES, WIDTHS = np.array([[0.4, -0.2], [-1.3, 1.1]]), np.array([0.3, 0.1])


def two(x, share):
    """Two modes, the narrow one with `share` of the mass; the evidence is one."""
    total = 1.0 + WIDTHS**2
    own = 2.0 * np.log(WIDTHS) - np.log(total) - 0.5 * np.sum(CENTRES**2, axis=1) / total
    logs = np.log([1.0 - share, share]) - own
    squares = np.sum((x[:, None, :] - CENTRES) ** 2, axis=2) / WIDTHS**2
    return np.logaddexp.reduce(logs - 0.5 * squares, axis=1)


@pytest.mark.parametrize("share", [0.9, 0.1])
def test_a_narrow_second_mode_is_found(share):
    """The wide mode is found first, and the narrow one shows only at points within 0.7 of it: 3 % of the prior."""
    found = [fwbq.evidence(lambda x: two(x, share), PRIOR, n=100, rng=seed, progress=False) for seed in range(5)]
    assert sum(abs(r.log_evidence) < 5.0 * r.sd + 1e-6 and r.sd < 0.5 for r in found) >= 4


def test_a_gaussian_stays_known_while_the_rest_of_the_prior_is_searched():
    problem = gaussian(2, 20.0, rng=4)
    found = fwbq.evidence(problem.log_likelihood, problem.prior, n=100, rng=0, progress=False)
    assert abs(found.log_evidence - problem.log_evidence) < 1e-7
    assert found.sd < 1e-6
    far = found.values < found.values.max() - 50.0
    assert far.sum() > 40  # without exploration the eight spread points and the first steps of the climb


@pytest.mark.parametrize("share", [0.1, None])
def test_in_any_portions_and_after_a_look_or_a_reload_the_run_is_the_same(share, tmp_path):
    def f(x):
        return narrow(x) if share is None else two(x, share)

    def drive(run, batch, look):
        while run.n_evaluations < 50:
            x = run.ask(batch)
            run.tell(x, f(x))
            if look:
                assert run.result().n_evaluations == run.n_evaluations
        return run

    whole = drive(fwbq.EvidenceRun(PRIOR, n=50, rng=3, quick=True), None, False)
    singly = drive(fwbq.EvidenceRun(PRIOR, n=50, rng=3, quick=True), 1, True)
    assert whole._way.explored > 3
    whole.save(tmp_path / "run.json")
    again = fwbq.EvidenceRun.load(tmp_path / "run.json")
    for other in (singly.result(), again.result()):
        assert other.log_evidence == whole.result().log_evidence
        assert other.sd == whole.result().sd


def test_tails_higher_than_a_gaussian_do_not_cost_the_answer():
    """A log-concave density with linear tails surprises everywhere far out, and all climbs lead to the one mode."""

    def f(x):
        return -50.0 * np.sum(np.sqrt(1.0 + ((x - 0.3) / 0.1) ** 2) - 1.0, axis=1)

    run = fwbq.EvidenceRun(PRIOR, n=120, rng=1)
    while run.n_evaluations < 120:
        x = run.ask(120 - run.n_evaluations)
        run.tell(x, f(x))
    found = run.result()
    assert len(found.modes) == 1
    assert found.success and found.sd < 0.01
    assert sum(climb.spent for climb in run._way.climbs.each if climb.further) < 60
