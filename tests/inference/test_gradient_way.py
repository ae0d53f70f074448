"""The way of gradients: exact for Gaussians, the same in all units, honest when it fails, and saved at any moment."""

import warnings

import numpy as np
import pytest
from scipy import stats

import fwbq
from fwbq import EvidenceRun
from fwbq._whitening import Whitening
from fwbq.inference.proposers.ascent import Top


def gaussian(mean, cov, height=0.0):
    P = np.linalg.inv(cov)

    def f(x):
        r = x - mean
        return height - 0.5 * np.sum((r @ P) * r, axis=1), -r @ P

    return f


def bent(x):
    """A banana: b given a is Gaussian, and a too, so that the log integral is known."""
    a, b = x.T
    r = (b - 0.5 * a**2) / 0.5
    return -0.5 * a**2 - 0.5 * r**2, np.column_stack([-a + 2.0 * a * r, -2.0 * r])


BENT = float(np.log(2.0 * np.pi * 0.5))


def run_of(f, n, **options):
    """Evaluate f at n points of a run, as it asks for them."""
    run = EvidenceRun(**({"n": n, "rng": 0, "gradient": True} | options))
    going_on(run, f, n)
    return run


def going_on(run, f, n):
    while run.n_evaluations < n:
        x = run.ask(n - run.n_evaluations)
        run.tell(x, *f(x))


def found_by(f, n, **options):
    return run_of(f, n, **options).result()


@pytest.mark.parametrize("d", [1, 2, 5])
def test_gaussians_are_exact(d):
    rng = np.random.default_rng(d)
    A = rng.normal(size=(d, d))
    cov, mean = A @ A.T + 0.1 * np.eye(d), rng.normal(size=d)
    truth = 0.5 * np.linalg.slogdet(2.0 * np.pi * cov)[1] - 7.0
    found = found_by(gaussian(mean, cov, -7.0), 60, start=np.zeros(d))
    assert found.success
    assert abs(found.log_evidence - truth) < 1e-3
    assert abs(found.log_evidence - truth) < 4.0 * found.sd < 0.03
    np.testing.assert_allclose(found.posterior.mean, mean, atol=0.1 * np.sqrt(cov.diagonal().max()))
    np.testing.assert_allclose(found.posterior.sd, np.sqrt(cov.diagonal()), rtol=0.1)


@pytest.mark.parametrize("d", [1, 3])
def test_under_a_prior(d):
    prior = fwbq.Gaussian(np.full(d, 0.5), 4.0 * np.eye(d))
    found = found_by(gaussian(np.ones(d), 0.01 * np.eye(d)), 60, prior=prior)
    truth = d * (stats.norm(0.5, np.sqrt(4.01)).logpdf(1.0) + 0.5 * np.log(2.0 * np.pi * 0.01))
    assert found.success
    assert abs(found.log_evidence - truth) < 1e-3


def test_under_a_prior_with_bounds():
    """Gamma densities of two rates, under uniform priors: the coordinates are no linear functions of the parameters."""

    def f(x):
        return np.sum(9.0 * np.log(x) - 5.0 * x, axis=1), 9.0 / x - 5.0

    prior = fwbq.Uniform([0.0, 0.0], [20.0, 20.0])
    truth = 2.0 * (np.log(stats.gamma(10.0, scale=0.2).cdf(20.0)) + float(np.log(362880.0 / 5.0**10)) - np.log(20.0))
    found = found_by(f, 100, prior=prior)
    assert abs(found.log_evidence - truth) < 4.0 * found.sd < 0.2
    assert found.success


def test_the_answer_does_not_depend_on_rotation_scale_and_correlation():
    """Scales from 1e-4 to 1e4, a random rotation, and a correlation of 0.9999."""
    base = found_by(bent, 150, start=np.zeros(2))
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    root = np.linalg.cholesky([[1.0, 0.9999], [0.9999, 1.0]])
    maps = [turn, np.diag([1e-4, 1e4]), root, np.diag([1e4, 1e-4]) @ root]
    for A in maps:
        back = np.linalg.inv(A)

        def mapped(x, back=back):
            values, gradients = bent(x @ back.T)
            return values, gradients @ back

        found = found_by(mapped, 150, start=np.zeros(2))
        change = np.linalg.slogdet(A)[1]
        # Rounding of a map of condition 1e8 is 1e-8 of the values.
        assert abs(found.log_evidence - change - BENT) < 4.0 * found.sd + 1e-6
        assert found.sd < 0.3, A  # a standard error from tens of draws under a strongly bent density
        assert found.success, A
    assert abs(base.log_evidence - BENT) < 4.0 * base.sd


def test_powers_of_two_in_parameters_and_scale_change_nothing():
    """Not a bit: these units have the volume one, whose logarithm is added to the values without rounding."""
    factors = np.array([2.0**-11, 2.0**11])

    def mapped(x):
        values, gradients = bent(x / factors)
        return values, gradients / factors

    one = run_of(bent, 60, start=[0.25, 0.5], scale=1.0).result()
    other = run_of(mapped, 60, start=factors * [0.25, 0.5], scale=factors).result()
    np.testing.assert_array_equal(other.points, one.points * factors)
    assert (other.log_evidence, other.sd) == (one.log_evidence, one.sd)


def test_a_constant_is_added():
    one, other = (found_by(lambda x, c=c: (bent(x)[0] + c, bent(x)[1]), 60, start=np.zeros(2)) for c in (0.0, 1e4))
    # Values are rounded to 1e-12 of the constant; within the stated error where that changes a point.
    assert abs(other.log_evidence - 1e4 - one.log_evidence) < 3.0 * one.sd


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_two_modes_are_added(share):
    centres = np.array([[-3.0, 0.0], [3.0, 1.0]])

    def f(x):
        each = zip((share, 1.0 - share), centres, strict=True)
        logs = np.stack([np.log(w) - 0.5 * np.sum((x - c) ** 2, axis=1) for w, c in each])
        values = np.logaddexp(*logs)
        w = np.exp(logs - values)
        return values, np.sum(w[:, :, None] * (centres[:, None] - x), axis=0)

    found = found_by(f, 200, prior=fwbq.Uniform([-8.0, -8.0], [8.0, 8.0]))
    truth = np.log(2.0 * np.pi / 256.0)
    assert len(found.modes) == 2
    assert abs(found.log_evidence - truth) < 4.0 * found.sd < 0.4
    assert found.modes[0].share == pytest.approx(max(share, 1.0 - share), abs=0.1)


def test_a_region_of_zero_likelihood():
    def half(x):
        values, gradients = gaussian(np.array([0.3, 0.0]), np.eye(2))(x)
        return np.where(x[:, 0] > 0.0, values, -np.inf), gradients

    found = found_by(half, 150, start=[0.5, 0.0])
    truth = np.log(2.0 * np.pi) + stats.norm.logcdf(0.3)
    assert abs(found.log_evidence - truth) < 4.0 * found.sd


def test_zero_everywhere():
    found = found_by(lambda x: (np.full(len(x), -np.inf), np.full(x.shape, np.nan)), 30, start=np.zeros(2))
    assert found.reason is fwbq.Reason.ZERO
    assert not found.success


@pytest.mark.parametrize("n", [1, 3, 12])
def test_fewer_evaluations_than_the_climb_needs(n):
    found = found_by(gaussian(np.full(10, 50.0), np.eye(10)), n, start=np.zeros(10))
    assert not found.success
    assert found.sd > 1.0


def test_a_constant_density_is_no_success():
    found = found_by(lambda x: (np.zeros(len(x)), np.zeros(x.shape)), 60, start=np.zeros(2))
    assert not found.success or found.sd > 1.0


def test_a_gradient_that_is_not_finite_leaves_its_value():
    run = EvidenceRun(start=np.zeros(2), n=60, rng=0, gradient=True)
    count = 0
    while run.n_evaluations < 60:
        x = run.ask(60 - run.n_evaluations)
        values, gradients = bent(x)
        for row in gradients:
            count += 1
            if count % 6 == 5:
                row[count % 2] = [np.nan, np.inf][count % 4 // 2]
        run.tell(x, values, gradients)
    found = run.result()
    assert found.n_evaluations == 60
    assert abs(found.log_evidence - BENT) < 4.0 * found.sd < 1.0


def test_no_gradient_at_all_is_a_failure_that_is_said():
    found = found_by(lambda x: (bent(x)[0], np.full(x.shape, np.nan)), 30, start=np.zeros(2))
    assert not found.success
    assert found.sd == np.inf


@pytest.mark.parametrize("moment", [1, 3, 6, 20, 33, 47])
def test_a_saved_run_goes_on_as_the_other(tmp_path, moment):
    """In the spread, amid a climb, and amid a round."""
    whole = run_of(bent, 60, start=[2.0, -1.0])
    run = EvidenceRun(start=[2.0, -1.0], n=60, rng=0, gradient=True)
    going_on(run, bent, moment)
    run.ask(1)
    run.save(tmp_path / "run.json")
    again = EvidenceRun.load(tmp_path / "run.json")
    waiting = whole.result().points[moment : moment + 1]
    again.tell(waiting, *bent(waiting))
    going_on(again, bent, 60)
    np.testing.assert_array_equal(again.result().points, whole.result().points)
    assert again.result().log_evidence == whole.result().log_evidence
    assert again.result().sd == whole.result().sd


def test_a_saved_run_knows_how_far_its_surrogate_is_believed(tmp_path):
    """Of a thin and bent density the surrogate is lowered far from its points; the draws came from what was lowered."""

    def thin(x):
        y = x.copy()
        y[:, 1] -= 6.0 * (x[:, 0] ** 2 - 1.0)
        slopes = -y
        slopes[:, 0] += 12.0 * y[:, 1] * x[:, 0]
        return -0.5 * np.sum(y**2, axis=1), slopes

    run = EvidenceRun(start=np.full(3, 0.3), n=80, rng=0, gradient=True)
    going_on(run, thin, 80)
    assert any(region.density.surrogate.reach.lowered > 0.0 for region in run._way.regions)
    run.save(tmp_path / "run.json")
    again = EvidenceRun.load(tmp_path / "run.json").result()
    assert (again.log_evidence, again.sd) == (run.result().log_evidence, run.result().sd)


def test_the_status_says_by_which_way():
    by_gradients = found_by(bent, 40, start=np.zeros(2))
    assert "by draws under a surrogate of values and gradients" in by_gradients.status
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_values = fwbq.evidence(lambda x: bent(x)[0], dim=2, n=40, rng=0)
    assert "by Bayesian quadrature" in by_values.status


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": fwbq.ExpQuad}, "`kernel` goes with values alone"),
        ({"design": fwbq.FrankWolfe}, "`design` goes with values alone"),
        ({"amplitude": 2.0}, "`amplitude` goes with values alone"),
        ({"start": None, "prior": fwbq.Empirical(np.zeros((3, 2)))}, "a sample has no density"),
        ({"gradient": 2}, "`gradient`"),
    ],
)
def test_what_has_no_meaning_is_refused(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        EvidenceRun(**({"start": np.zeros(2), "gradient": True} | options))


def test_gradients_that_are_missing_are_asked_for():
    run = EvidenceRun(start=np.zeros(2), gradient=True)
    x = run.ask()
    with pytest.raises(ValueError, match="`gradients` are missing"):
        run.tell(x, bent(x)[0])
    with pytest.raises(ValueError, match="`gradients` must have a row for each of the points"):
        run.tell(x, bent(x)[0], bent(x)[1][:, :1])
    assert run.n_evaluations == 0


def told(f, n, **options):
    run = EvidenceRun(n=n, rng=0, gradient=True, **options)
    while run.n_evaluations < n:
        x = run.ask(n - run.n_evaluations)
        run.tell(x, *f(x))
    return run


def unlike(x):
    """A Gaussian of six parameters, whose standard deviations are 1e-3 to 1e3."""
    widths = np.logspace(-3.0, 3.0, 6)
    return -0.5 * np.sum((x / widths) ** 2, axis=1), -x / widths**2


def test_parameters_of_unlike_size_are_reached_by_two_climbs():
    run = told(unlike, 100, start=0.3 * np.logspace(-3.0, 3.0, 6))
    way = run._way
    assert way.confirmed
    assert max(region.climbs for region in way.regions) > 1
    assert run.result().success


def test_a_mode_that_one_climb_alone_has_reached_is_not_believed():
    run = told(unlike, 100, start=0.3 * np.logspace(-3.0, 3.0, 6))
    way = run._way
    found = run.result()
    top = way.regions[0].top
    # The same run, had every further climb ended elsewhere, below the top.
    ends = [ascent for ascent in way.ascents if ascent.further]
    reached = [ascent.top for ascent in ends]
    gaps = np.linspace(3.0, 40.0, len(ends))
    assert len(ends) >= 4
    for ascent, gap in zip(ends, gaps, strict=True):
        ascent.top = Top(top.place + 1e6, top.value - gap, top.gradient, top.root)
    assert not way.confirmed
    assert way.apart == pytest.approx(np.median(gaps))
    alone = way.conclude(run._data)
    assert not alone.success
    assert alone.sd >= way.apart > found.sd
    # Three that came back do not suffice,
    for ascent, end in zip(ends[:3], reached, strict=False):
        ascent.top = end
    assert not way.confirmed
    # four do,
    ends[3].top = reached[3]
    assert way.confirmed
    assert way.conclude(run._data).success
    # and two that began around another mode, while the others say nothing of this one.
    for ascent in ends[2:]:
        ascent.top = Top(top.place + 1e6, top.value - 20.0, top.gradient, top.root)
    for ascent in ends:
        ascent.tops = (Top(top.place - 1e6, top.value - 60.0, top.gradient, top.root),)
    assert way.confirmed


@pytest.mark.parametrize("d", [3, 6])
def test_climbs_from_all_over_the_prior_find_a_second_mode(d):
    """Two Gaussian modes ten standard deviations apart; climbs from around the first come back to it."""
    centres, widths = np.array([np.full(d, -1.0), np.full(d, 0.8)]) / np.sqrt(d / 3.0), np.array([0.2, 0.25])
    logs = np.log([0.4, 0.6])

    def f(x):
        steps = x[:, None, :] - centres
        heights = logs - 0.5 * np.sum(steps**2, axis=2) / widths**2 - d * np.log(widths * np.sqrt(2.0 * np.pi))
        values = np.logaddexp(*heights.T)
        shares = np.exp(heights - values[:, None])
        return values, -np.sum(shares[:, :, None] * steps / widths[:, None] ** 2, axis=1)

    single = stats.norm(0.0, np.sqrt(1.0 + widths[:, None] ** 2)).logpdf(centres).sum(axis=1)
    truth = np.logaddexp(*(logs + single))
    found = found_by(f, 200, prior=fwbq.Gaussian(np.zeros(d), np.eye(d)))
    assert len(found.modes) == 2
    assert abs(found.log_evidence - truth) < 4.0 * found.sd < 0.05
    assert found.success


def test_a_region_far_from_all_rows_has_the_nearest_ones():
    """The whitening of a region may still be far off, when its top was a guess."""
    run = told(unlike, 60, start=0.3 * np.logspace(-3.0, 3.0, 6))
    draws = run._way.draws
    region, rows = draws.regions[0], draws.rows(run._data)
    region.whitening = Whitening(region.top.place + 1e9, region.whitening.root)
    near = draws._near(rows, draws.cells(rows.points), 0)
    assert len(near) == 8
    assert len(draws.propose(run._data).z)


@pytest.mark.parametrize("d", [5, 10])
def test_a_funnel_is_named_as_one(d):
    """Effects whose scale is a parameter: the density is unbounded where the scale is zero."""

    def centred(x):
        level, effects = np.maximum(x[:, 0], -300.0), x[:, 1:]
        squares = np.sum(effects**2, axis=1) * np.exp(-level)
        values = -(level**2) / 18.0 - 0.5 * (squares + (d - 1) * level)
        slope = -level / 9.0 + 0.5 * (squares - (d - 1))
        return values, np.column_stack([slope, -effects * np.exp(-level)[:, None]])

    def divided(x):
        return -(x[:, 0] ** 2) / 18.0 - 0.5 * np.sum(x[:, 1:] ** 2, axis=1), -x / np.r_[9.0, np.ones(d - 1)]

    with pytest.warns(RuntimeWarning, match="neck of a funnel.*divided by their scale"):
        found = fwbq.evidence(centred, start=np.ones(d), gradient=True, n=100, rng=0)
    assert not found.success
    assert found.sd > 1.0
    # As the remedy says, it is an easy one.
    easy = fwbq.evidence(divided, start=np.ones(d), gradient=True, n=100, rng=0)
    assert easy.success
    assert not any("funnel" in text for text in easy.doubts)


def test_a_value_far_above_every_top_is_a_mode_that_was_not_reached():
    run = told(unlike, 100, start=0.3 * np.logspace(-3.0, 3.0, 6))
    assert run.result().success
    way, top = run._way, run._way.regions[0].top
    # The same run, had the climb ended ten below the highest value.
    way.regions[0].top = Top(top.place, top.value - 10.0, top.gradient, top.root)
    found = way.conclude(run._data)
    assert not found.success
    assert found.sd >= 2.0 * (float(run._data.evaluated.top) - top.value + 10.0)


def test_in_few_dimensions_draws_meet_other_modes_and_one_climb_is_enough():
    def f(x):
        return -0.5 * np.sum(x**2, axis=1), -x

    way = told(f, 40, start=[0.3, -0.2])._way
    for ascent in way.ascents:
        if ascent.further:
            ascent.top = Top(ascent.top.place + 1e6, -50.0, ascent.top.gradient, ascent.top.root)
    assert way.apart == 0.0
    assert way.confirmed
