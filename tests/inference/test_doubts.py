"""What the surrogate does not know of: a top that rises, starts that wait, a support that few points outline."""

from dataclasses import replace

import numpy as np
import pytest

import fwbq
from fwbq.inference.doubts import DOUBTS, Case, Failures, Noise, Outline, Rising, Starts, Tails
from fwbq.inference.parts import PARTS


def told(f, n, rng=0, dim=2, **kwargs):
    prior = fwbq.Gaussian(np.zeros(dim), np.eye(dim))
    run = fwbq.EvidenceRun(None if "start" in kwargs else prior, n=n, rng=rng, **kwargs)
    while run.n_evaluations < n:
        x = run.ask(n - run.n_evaluations)
        run.tell(x, f(x))
    return run


def case(run, error=0.01):
    way, posterior = run._way, run.result().posterior
    return Case(run._data, way.climbs, way.probes, posterior.surrogate, posterior.nodes, error)


def inside(radius):
    return lambda x: np.where(np.sum((x - 0.3) ** 2, axis=1) < radius**2, -np.sum(x**2, axis=1), -np.inf)


def narrow(x):
    return -8.0 * np.sum((x - 0.3) ** 2, axis=1)


def test_every_doubt_has_a_name_among_the_parts_and_a_sentence():
    assert len({doubt.name for doubt in DOUBTS}) == len(DOUBTS)
    for doubt in DOUBTS:
        assert doubt.name in PARTS
        assert len(doubt.sentence) > 30


def test_a_smooth_likelihood_leaves_nothing_unseen():
    run = told(narrow, 40)
    # Below what double precision leaves open of the log evidence: the processes with and without a noise differ by it.
    rounding = run.result().error_parts["rounding"]
    assert run.result().error_parts["unseen"] < rounding
    assert all(doubt.doubt(case(run)) < rounding for doubt in DOUBTS)


def test_a_result_says_its_doubts_in_words():
    found = told(inside(0.8), 20).result()
    assert Outline.sentence in found.doubts
    assert np.sqrt(sum(value**2 for value in found.doubts.values())) == pytest.approx(found.error_parts["unseen"])
    assert list(found.doubts.values()) == sorted(found.doubts.values(), reverse=True)
    assert told(narrow, 40).result().doubts == {}


@pytest.mark.parametrize("n", [20, 40, 80])
def test_few_positive_values_leave_a_support_open_and_many_do_not(n):
    run = told(inside(0.8), n)
    positive = run._data.evaluated.positive.sum()
    outline = Outline().doubt(case(run))
    assert outline == pytest.approx(2.0 * max((6.0 / positive) ** 2 - 1.0 / 9.0, 0.0))
    assert (outline > 0.0) == (positive < 18)


def test_without_a_zero_there_is_no_support_to_outline():
    assert Outline().doubt(case(told(lambda x: -np.sum(x**2, axis=1), 12))) == 0.0


def test_failures_count_by_the_mass_that_is_nearer_to_them():
    run = told(narrow, 40)
    here = case(run)
    x = np.array([[0.3, 0.3]])
    failed = run._data.asked(run._data.chart.from_user(x)).given_up(x)
    # The point lies at the centre of the mass: some of it is nearer to it than to any value, and not all.
    assert 0.001 < Failures().doubt(replace(here, data=failed)) < 0.5
    far = run._data.asked(np.array([[9.0, 9.0]])).given_up_all()
    assert Failures().doubt(replace(here, data=far)) == 0.0


def test_starts_that_wait_are_counted_in_many_dimensions(monkeypatch):
    few, here = case(told(narrow, 40)), case(told(narrow, 60, dim=5))
    monkeypatch.setattr(type(here.climbs), "confirmed", lambda self, data: True)
    for waiting in (1, 5, 50):
        monkeypatch.setattr(type(here.climbs), "waiting", lambda self, data, surrogate, k=waiting: k)
        expected = 0.5 * waiting / (waiting + 2.0 * max(here.climbs.finished, 1))
        assert Starts().doubt(here) == pytest.approx(expected)
        assert Starts().doubt(few) == 0.0


def test_heavy_tails_are_a_doubt_and_those_of_a_gaussian_are_not():
    heavy = told(lambda x: -1.5 * np.log1p(np.sum(x**2, axis=1)), 60, start=[0.5, 0.5])
    light = told(lambda x: -0.5 * np.sum(x**2, axis=1), 60, start=[0.5, 0.5])
    assert Tails().doubt(case(heavy)) > 0.01
    assert Tails().doubt(case(light)) == 0.0


@pytest.mark.parametrize("dim", [2, 5])
def test_only_in_few_dimensions_later_points_settle_a_climb_that_has_not_arrived(dim):
    run = told(narrow, 100, dim=dim)
    for climb in run._way.climbs.each:
        climb.arrived, climb.spent = False, 50  # more than a quadratic has coefficients
    # A small and a large error of the surrogate: where points can settle the matter the first leaves less open.
    near, far = (Rising().doubt(case(run, error)) for error in (0.01, 10.0))
    assert far > 0.0
    assert near < far if dim == 2 else near == far


@pytest.mark.parametrize("level", [1e-6, 1e-3])
def test_a_noise_of_the_values_adds_to_the_error_in_proportion(level):
    # The quadratic mean is determined by n noisy values: the error of an integral is at least level / sqrt(n).
    errors = np.random.default_rng(3).normal(size=1000)
    rows = iter(errors)

    def noisy(x):
        return narrow(x) + level * np.array([next(rows) for _ in x])

    run = told(noisy, 60)
    doubt = Noise().doubt(case(run))
    # Without a process of its own the noise is one of few coefficients; with one it is at most that of one value.
    assert 0.1 * level / np.sqrt(60) < doubt < level
    assert run.result().sd > level / np.sqrt(60)


def test_a_shape_that_the_process_follows_is_no_noise():
    run = told(lambda x: narrow(x) + 0.3 * np.sin(3.0 * x[:, 0]), 60)
    found = run.result()
    assert Noise().doubt(case(run)) < 2.0 * found.sd
    given = told(narrow, 40, kernel=fwbq.Matern52([1.0, 1.0]))
    assert Noise().doubt(case(given)) == 0.0


@pytest.mark.parametrize(("cliff", "believed"), [(0.0, True), (10.0, False)])
def test_in_many_dimensions_one_climb_is_not_believed_where_there_are_cliffs(cliff, believed):
    """A density that falls as its mode says leaves no room for false basins; one with cliffs may."""
    run = told(lambda x: -2.0 * np.sum(x**2, axis=1) - cliff * np.sum(x**6, axis=1), 60, dim=5)
    climbs, known = run._way.climbs, run._data.evaluated
    assert not climbs.around  # no room for climbs from far around the top
    assert climbs.confirmed(known) is believed
    climbs.finished = 1
    assert (Starts().doubt(case(run)) >= 1.0) is not believed
    climbs.finished = 4
    assert Starts().doubt(case(run)) < 1.0


def test_an_integral_is_not_said_to_be_missing_where_the_top_was_not_found():
    """Far from the top every density is flat: all of these regressions have evidences."""
    for seed in range(3):
        g = np.random.default_rng(seed)
        X = np.column_stack([np.ones(60), g.normal(size=(60, 4))])
        y = X @ (2.0 * g.normal(size=5)) + 3.0 + 0.3 * g.normal(size=60)

        def log_joint(t, X=X, y=y):
            squares = np.sum((y - t[:, :-1] @ X.T) ** 2, axis=1)
            return -0.5 * squares * np.exp(-2.0 * t[:, -1]) - 60.0 * t[:, -1]

        run = fwbq.EvidenceRun(start=np.zeros(6), n=40, rng=seed)
        while run.n_evaluations < 40:
            x = run.ask(40 - run.n_evaluations)
            run.tell(x, log_joint(x))
        found = run.result()
        assert found.reason is fwbq.Reason.UNSEEN
        assert found.doubts[Rising.sentence] > 1.0
        assert "of about" in found.status


def test_nobody_climbs_on_a_sample_and_nobody_misses_it():
    points = np.random.default_rng(0).normal(size=(400, 6))

    def f(x):
        return -0.2 * np.sum((x - 0.3) ** 2, axis=1)

    found = fwbq.evidence(f, fwbq.Empirical(points), n=120, rng=0, progress=False)
    assert found.success
    assert Starts.sentence not in found.doubts
    assert abs(found.log_evidence - np.log(np.mean(np.exp(f(points))))) < 4.0 * found.sd
