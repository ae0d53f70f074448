"""The dialogue: the same answer in whatever portions and order the values come, and whoever looks in between."""

import re

import numpy as np
import pytest
from scipy import stats

import fwbq
from studies.problems.likelihoods import banana, cut, gaussian

PRIOR = fwbq.Gaussian([0.0, 0.0], np.eye(2))


def log_likelihood(x):
    return -0.5 * ((x[:, 1] - 0.6 * x[:, 0] ** 2) / 0.3) ** 2 - 0.5 * ((x[:, 0] - 0.4) / 0.6) ** 2


def zero_on_the_left(x):
    return np.where(x[:, 0] > 0.0, log_likelihood(x), -np.inf)


def drive(run, f, n, *, batch=None, between=lambda run: None, portions=lambda k: [np.arange(k)]):
    """Ask and tell until n values are known; `portions` says in which groups a batch is told."""
    while run.n_evaluations < n:
        points = run.ask(batch)
        assert len(points)
        for rows in portions(len(points)):
            run.tell(points[rows], f(points[rows]))
            between(run)
    return run.result()


def same(a, b):
    assert a.log_evidence == b.log_evidence
    assert a.sd == b.sd
    assert np.array_equal(a.points, b.points)
    assert np.array_equal(a.values, b.values)


@pytest.fixture(scope="module", params=[log_likelihood, zero_on_the_left])
def whole(request):
    f = request.param
    return f, drive(fwbq.EvidenceRun(PRIOR, n=30, rng=3), f, 30)


def new(**kwargs):
    return fwbq.EvidenceRun(PRIOR, n=30, rng=3, **kwargs)


def test_one_at_a_time(whole):
    f, expected = whole
    same(drive(new(), f, 30, batch=1), expected)


def test_backwards_and_in_pieces(whole):
    f, expected = whole

    def backwards(k):
        return [np.arange(k)[::-1][i : i + 2] for i in range(0, k, 2)]

    same(drive(new(), f, 30, portions=backwards), expected)


def test_a_look_in_between_changes_nothing(whole):
    f, expected = whole
    looks = []

    def look(run):
        if run.n_evaluations % 5 == 0:
            looks.append(run.result().log_evidence)

    same(drive(new(), f, 30, portions=lambda k: np.arange(k)[:, None], between=look), expected)
    assert len(looks) >= 4


def test_a_rough_result_says_what_its_few_nodes_leave_open_and_changes_nothing(whole):
    """It differs from the result on many nodes by what both state for their sums, and no point depends on it."""
    f, expected = whole
    run = new()
    assert drive(run, f, 30, between=lambda run: run.result(rough=True)).log_evidence == expected.log_evidence
    rough = run.result(rough=True)
    assert rough.terms.nodes > 3.0 * expected.terms.nodes
    error = np.hypot(rough.terms.nodes, expected.terms.nodes)
    assert 0.0 < abs(rough.log_evidence - expected.log_evidence) < 5.0 * error < 0.3
    same(run.result(), expected)


def test_the_facade_gives_the_same(whole):
    f, expected = whole
    same(fwbq.evidence(f, PRIOR, n=30, rng=3, progress=False), expected)


def test_asking_again_gives_nothing_until_all_is_told():
    run = new()
    points = run.ask()
    assert len(run.ask()) == 0
    run.tell(points[1:], log_likelihood(points[1:]))
    assert len(run.ask()) == 0
    assert run.n_evaluations == len(points) - 1
    run.tell(points[:1], log_likelihood(points[:1]))
    assert len(run.ask()) > 0


def test_a_result_knows_values_whose_companions_are_missing():
    run = new()
    points = run.ask()
    run.tell(points[:4], log_likelihood(points[:4]))
    found = run.result()
    assert found.n_evaluations == 4
    assert np.array_equal(found.values, log_likelihood(points[:4]))


def test_points_of_one_s_own_help():
    own = np.random.default_rng(0).normal([0.4, 0.2], 0.4, (12, 2))
    run = new()
    run.tell(own, log_likelihood(own))
    found = drive(run, log_likelihood, 30)
    truth = fwbq.evidence(log_likelihood, PRIOR, n=60, rng=0, progress=False)
    assert np.array_equal(found.points[:12], own)
    assert abs(found.log_evidence - truth.log_evidence) < 4.0 * np.hypot(found.sd, truth.sd)
    assert found.sd < 0.5


def test_own_points_between_rounds_are_taken_in():
    run = new()
    drive(run, log_likelihood, 20)
    points = run.ask()
    own = np.array([[0.1, 0.1], [0.5, 0.3]])
    run.tell(np.vstack([own, points]), log_likelihood(np.vstack([own, points])))
    assert any(np.array_equal(row, own[0]) for row in run.result().points)


def test_a_point_told_twice_counts_once():
    run = new()
    drive(run, log_likelihood, 30)
    again = run.result().points[:3]
    before = run.result()
    run.tell(again, log_likelihood(again))
    same(run.result(), before)


@pytest.mark.parametrize("value", [-3.0, -np.inf])
def test_another_value_for_a_known_point_is_refused_and_nothing_is_added(value):
    run = new()
    points = run.ask()
    run.tell(points, log_likelihood(points))
    n, own = run.n_evaluations, np.array([[0.25, 0.5]])
    for x in (points[:1], own):
        run.tell(x, log_likelihood(x))
        with pytest.raises(ValueError, match=re.escape(f"for the point {x[0].tolist()}")):
            run.tell(np.vstack([[[7.0, 7.0]], x]), [0.0, value])
    with pytest.raises(ValueError, match="was told before"):
        run.tell([[3.0, 3.0], [3.0, 3.0]], [-1.0, value])
    assert not np.any(run.result().points == 7.0) and not np.any(run.result().points == 3.0)
    run.tell(own, log_likelihood(own) * (1.0 + 1e-14))  # rounding
    assert run.n_evaluations >= n


def test_points_that_were_not_asked_for_cannot_be_skipped():
    run = new()
    with pytest.raises(ValueError, match=re.escape("[0.5, 0.5], which is not waiting for a value")):
        run.skip([[0.5, 0.5]])
    points = run.ask(3)
    run.tell(points[:1], log_likelihood(points[:1]))
    for x in ([[0.5, 0.5]], points[:1], np.vstack([points[1:], [[0.5, 0.5]]])):
        with pytest.raises(ValueError, match="not waiting"):
            run.skip(x)
    run.skip(points[1:])
    assert run.result().n_skipped == 2


def test_a_start_outside_the_support_is_refused():
    for prior, start, text in [
        (fwbq.Uniform([0.0, 0.0], [1.0, 1.0]), [0.5, 1.5], r"coordinate 1 of it is 1.5, outside \[0, 1\]"),
        (fwbq.Product([stats.gamma(2.0)]), [-1.0], r"coordinate 0 of it is -1, outside \[0, inf\]"),
        (fwbq.Empirical([[0.0], [1.0]]), [0.5], "a point of the sample"),
    ]:
        with pytest.raises(ValueError, match="`start` must .*" + text):
            fwbq.EvidenceRun(prior, start=start)
        with pytest.raises(ValueError, match="`start` must .*" + text):
            fwbq.evidence(lambda x: -x[:, 0], prior, start=start)
        with pytest.raises(ValueError, match=r"`start` must .*`measure`"):
            fwbq.Model(lambda x: -x[:, 0], prior, start=start)
    fwbq.EvidenceRun(fwbq.Uniform([0.0], [1.0]), start=[1.0])
    fwbq.EvidenceRun(fwbq.Empirical([[0.0], [1.0]]), start=[1.0])


def test_skipped_points_are_left_out_and_not_asked_for_again():
    run = new()
    asked = np.empty((0, 2))
    while run.n_evaluations < 30 and len(asked) < 120:
        points = run.ask()
        asked = np.vstack([asked, points])
        bad = np.abs(points[:, 0]) > 1.0
        run.tell(points[~bad], log_likelihood(points[~bad]))
        if bad.any():
            run.skip(points[bad])
    found = run.result()
    assert found.n_evaluations >= 30
    assert len(np.unique(asked, axis=0)) == len(asked)
    assert found.n_skipped > 0
    assert np.all(np.abs(found.points[:, 0]) <= 1.0)
    assert "skipped" in found.status


def test_no_point_is_asked_for_twice():
    run = fwbq.EvidenceRun(PRIOR, n=60, rng=0)
    found = drive(run, log_likelihood, 60)
    assert len(np.unique(found.points, axis=0)) == len(found.points)


def test_going_on_beyond_the_plan_improves():
    problem = banana(5)
    run = fwbq.EvidenceRun(problem.prior, n=40, rng=1)
    first = drive(run, problem.log_likelihood, 40)
    later = drive(run, problem.log_likelihood, 90)
    assert later.sd < first.sd
    assert abs(later.log_evidence - problem.log_evidence) < 4.0 * later.sd


@pytest.mark.parametrize(("values", "text"), [([np.nan], "NaN"), ([np.inf], "inf"), ([0.0, 1.0], "values")])
def test_wrong_values_are_refused_and_nothing_is_added(values, text):
    run = new()
    points = run.ask()
    with pytest.raises(ValueError, match=text):
        run.tell(points[:1], values)
    assert run.n_evaluations == 0


def test_before_any_value_there_is_no_result():
    with pytest.raises(ValueError, match="`ask` and `tell`"):
        new().result()


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="`start` is missing"):
        fwbq.EvidenceRun()
    with pytest.raises(ValueError, match="`scale`"):
        fwbq.EvidenceRun(PRIOR, scale=2.0)
    with pytest.raises(ValueError, match="`kernel`"):
        fwbq.EvidenceRun(PRIOR, kernel="Matern53")
    with pytest.raises(TypeError, match="`kernel`"):
        fwbq.EvidenceRun(PRIOR, kernel=5.2)
    with pytest.raises(ValueError, match="dimension 3"):
        fwbq.EvidenceRun(PRIOR, kernel=fwbq.ExpQuad([1.0, 2.0, 3.0]))
    with pytest.raises(ValueError, match="`amplitude`"):
        fwbq.EvidenceRun(PRIOR, amplitude=-1.0)
    with pytest.raises(ValueError, match="start"):
        fwbq.EvidenceRun(PRIOR, start=[1.0, 2.0, 3.0])


def test_a_kernel_with_length_scales_moves_with_the_parameters():
    # The same problem in other units, with the kernel's length-scales in them: the same points and the same answer,
    # but for rounding, which may choose another of two points that are as good.
    problem = banana(2)
    scale = np.array([50.0, 0.01])
    moved = fwbq.Gaussian([0.0, 0.0], np.diag(scale**2))
    base, other = (
        drive(fwbq.EvidenceRun(prior, n=40, kernel=fwbq.Matern52(lengths), amplitude="loo", rng=0), f, 40)
        for prior, lengths, f in (
            (fwbq.Gaussian([0.0, 0.0], np.eye(2)), np.array([1.5, 0.8]), problem.log_likelihood),
            (moved, scale * [1.5, 0.8], lambda x: problem.log_likelihood(x / scale)),
        )
    )
    assert abs(base.log_evidence - problem.log_evidence) < 4.0 * base.sd < 4.0
    assert abs(other.log_evidence - base.log_evidence) < base.sd
    assert np.isclose(other.sd, base.sd, rtol=0.5)


@pytest.mark.parametrize("kernel", [fwbq.Matern32, fwbq.ExpQuad])
def test_a_kernel_of_one_s_own(kernel):
    problem = banana(2)
    found = drive(fwbq.EvidenceRun(problem.prior, n=60, kernel=kernel, rng=0), problem.log_likelihood, 60)
    assert {m.family.name for m in found.posterior.surrogate.fitted.members} == {kernel.__name__}
    assert abs(found.log_evidence - problem.log_evidence) < 4.0 * found.sd


def test_a_start_is_the_first_point():
    run = fwbq.EvidenceRun(PRIOR, n=40, start=[0.4, 0.1], rng=0)
    assert np.allclose(run.ask()[0], [0.4, 0.1], rtol=1e-14)


def test_the_quick_result_agrees_with_the_full_one():
    problem = cut(rng=3)
    quick, full = (
        drive(fwbq.EvidenceRun(problem.prior, n=40, rng=0, quick=q), problem.log_likelihood, 40) for q in (True, False)
    )
    assert np.array_equal(quick.points, full.points)
    assert (
        abs(quick.log_evidence - full.log_evidence)
        < 5.0 * np.hypot(quick.terms.nodes, full.terms.nodes) + 0.5 * full.sd
    )


def test_climbs_that_meet_go_on_as_one():
    # Three climbs are raced in twelve dimensions; on a Gaussian they find the same top once its coefficients are known.
    problem = gaussian(12, 3.0, rng=5)
    run = fwbq.EvidenceRun(problem.prior, n=220, rng=5)
    while not run.between_rounds and run.n_evaluations < 220:
        x = run.ask()
        rounded = np.unique(np.round(x, 9), axis=0)
        assert len(rounded) == len(x)
        run.tell(x, problem.log_likelihood(x))
    modes = run.result().modes
    assert len(modes) == 1 and modes[0].climbs >= 1


def test_what_is_unseen_is_bounded_by_the_spread_of_the_values():
    """Slopes between values without any order promise any height."""

    def disorder(x):
        return -1e17 * (1.0 + np.abs(np.sin(1e6 * x.sum(axis=1))))

    found = drive(fwbq.EvidenceRun(PRIOR, n=60, rng=1), disorder, 60)
    assert not found.success
    assert 1.0 < found.sd <= 1.01 * np.ptp(found.values)


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_before_any_climb_the_top_is_open(d, seed):
    def log_likelihood(x):
        return -0.5 * np.sum((x - 0.3) ** 2, axis=1) / 0.01

    run = fwbq.EvidenceRun(fwbq.Gaussian(np.zeros(d), np.eye(d)), n=200, rng=seed)
    x = run.ask(10)
    run.tell(x, log_likelihood(x))
    result = run.result()
    truth = d * (0.5 * np.log(0.01 / 1.01) - 0.5 * 0.09 / 1.01)
    assert not result.success
    assert abs(result.log_evidence - truth) < 2.0 * result.sd


@pytest.mark.parametrize("width", [0.01, 0.02, 0.05])
@pytest.mark.parametrize("seed", range(3))
def test_a_second_mode_that_deep_values_show_is_climbed(width, seed):
    # All values but those of the first mode are thousands below the top, and rise towards the other one.
    def log_likelihood(x):
        return np.logaddexp(*(-0.5 * ((x[:, 0] - c) / width) ** 2 for c in (-3.0, 3.0)))

    found = fwbq.evidence(log_likelihood, fwbq.Gaussian([0.0], [[9.0]]), n=80, rng=seed, progress=False)
    total = width**2 + 9.0
    truth = np.log(2.0) + 0.5 * np.log(width**2 / total) - 0.5 * 9.0 / total
    assert len(found.modes) == 2
    assert abs(found.log_evidence - truth) < max(4.0 * found.sd, 1e-6)


def test_where_the_function_fails_the_evidence_is_open():
    def half(x):
        return np.where(x[:, 0] > 0.3, np.nan, -0.5 * ((x[:, 0] - 0.3) / 0.1) ** 2)

    with pytest.warns(RuntimeWarning, match="skipped"):
        found = fwbq.evidence(
            half, fwbq.Gaussian([0.0], [[1.0]]), n=40, rng=0, on_error="skip", vectorized=True, progress=False
        )
    # About half of the mass is where no value is known: log 2 is what its presence makes.
    assert 0.1 < found.error_parts["unseen"] < 3.0


@pytest.mark.parametrize(("d", "width"), [(1, 1e-6), (2, 1e-5), (4, 1e-4)])
@pytest.mark.parametrize("seed", range(3))
def test_a_posterior_a_millionth_as_wide_as_its_prior(d, width, seed):
    centre = np.array([0.3, 1.1, -0.5, 0.2])[:d]
    found = fwbq.evidence(
        lambda x: -0.5 * np.sum(((x - centre) / width) ** 2, axis=1), fwbq.Gaussian(np.zeros(d), np.eye(d)), n=80,
        rng=seed, progress=False,
    )  # fmt: skip
    truth = d * np.log(width) - 0.5 * np.sum(centre**2)
    # A point is known to 1e-16, which is 1e-10 of the width 1e-6; the curvature from a stencil then to about 1e-4.
    assert abs(found.log_evidence - truth) < min(3.0 * found.sd, 0.1)


def test_failures_count_whenever_the_result_was_looked_at():
    def run_with(look):
        run = fwbq.EvidenceRun(fwbq.Gaussian([0.0, 0.0], np.eye(2)), n=60, rng=0)
        while run.n_evaluations < 30:
            x = run.ask()
            run.tell(x, -np.sum(np.abs(x - 0.3), axis=1))
        x = run.ask()
        run.tell(x[:1], -np.sum(np.abs(x[:1] - 0.3), axis=1))
        if look:
            run.result()
        run.skip(x[1:])
        return run.result(), len(x) - 1, run, x

    (plain, failed, run, x), (looked, *_) = run_with(False), run_with(True)
    assert plain.n_skipped == looked.n_skipped == failed > 0
    assert plain.error_parts == looked.error_parts
    with pytest.raises(ValueError, match="not waiting for a value"):
        run.skip(x[1:])


@pytest.mark.parametrize("deep", [1e30, 1e90])
@pytest.mark.parametrize("n", [5, 8])
def test_likelihoods_of_any_depth_have_a_number_and_say_that_it_is_open(deep, n):
    with pytest.warns(RuntimeWarning, match="not found"):
        found = fwbq.evidence(
            lambda x: -deep * np.sum((x - [0.3, 0.6]) ** 2, axis=1), fwbq.Gaussian([0.0, 0.0], np.eye(2)), n=n, rng=0,
            progress=False,
        )  # fmt: skip
    assert np.isfinite(found.log_evidence) and found.sd > 1e20


def test_failures_are_kept_by_a_run_that_is_read(tmp_path):
    run = fwbq.EvidenceRun(fwbq.Gaussian([0.0, 0.0], np.eye(2)), n=40, rng=0)
    x = run.ask()
    run.tell(x[2:], -np.sum(x[2:] ** 2, axis=1))
    run.skip(x[:2])
    for name in ("once.json", "twice.json"):
        run.save(tmp_path / name)
        run = fwbq.EvidenceRun.load(tmp_path / name)
        assert run.result().n_skipped == len(run._data.failures) == 2


def test_gradients_are_kept_and_checked():
    run = new()
    x = run.ask()
    slopes = -x.copy()
    slopes[1] = np.nan
    run.tell(x, log_likelihood(x), slopes)
    np.testing.assert_array_equal(run._data.gradient, slopes)
    own = np.array([[0.2, 0.1]])
    with pytest.raises(ValueError, match=re.escape("`gradients` must have a row for each of the points, shape (1, 2)")):
        run.tell(own, log_likelihood(own), [1.0, 2.0])
    assert run.n_evaluations == len(x)
    run.tell(own, log_likelihood(own), [[1.0, np.inf]])  # a gradient that is not finite is none
    assert run.n_evaluations == len(x) + 1 and np.isnan(run._data.gradient[-1]).all()


def test_a_run_without_unknown_parts_is_refused():
    with pytest.raises(ValueError, match="has 'nothing', which is no part of the engine: name some of"):
        new(without=("bend", "nothing"))


@pytest.mark.parametrize("part", fwbq.inference.PARTS)
def test_every_part_can_be_switched_off(part, tmp_path):
    """And the run is saved without it; on this problem every part can be spared."""
    run = fwbq.EvidenceRun(PRIOR, n=30, rng=3, quick=True, without=(part,))
    found = drive(run, zero_on_the_left if part in ("sign process", "boundary", "faint") else log_likelihood, 30)
    assert np.isfinite(found.log_evidence)
    run.save(tmp_path / "run.json")
    assert fwbq.EvidenceRun.load(tmp_path / "run.json")._way.settings.parts.without == {part}


def test_a_part_that_is_switched_off_does_nothing():
    spoiled = {
        "inflation": lambda found: found.terms.inflation == 1.0,
        "boundary": lambda found: found.terms.boundary == 0.0,
        "sign process": lambda found: found.posterior.surrogate.sign is None,
    }
    for part, holds in spoiled.items():
        on, off = (
            drive(fwbq.EvidenceRun(PRIOR, n=30, rng=3, quick=True, without=without), zero_on_the_left, 30)
            for without in ((), (part,))
        )
        assert holds(off) and not holds(on)


def test_the_run_says_why_it_has_ended():
    run = fwbq.EvidenceRun(fwbq.Empirical(np.arange(5.0)[:, None]), n=20, rng=0)
    assert run.ended is None
    while run.ended is None:
        x = run.ask()
        run.tell(x, -(x[:, 0] ** 2))
    assert run.ended == fwbq.Reason.EXHAUSTED.sentence(n=5)
    assert run.ended in repr(run)
