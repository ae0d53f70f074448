"""What people see of an evidence: text, table, figure, draws for ArviZ."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.contour import ContourSet

import fwbq
from fwbq import plots
from fwbq._numbers import with_error
from fwbq.plots.style import plus_minus


@pytest.fixture(autouse=True)
def close():
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


STANDARD = fwbq.Gaussian([0.0, 0.0], np.eye(2))


@pytest.fixture(scope="module")
def ridge():
    """A posterior that is Gaussian: along the line x1 + x2 = 1, twenty times narrower across."""
    return fwbq.evidence(lambda x: -0.5 * ((x[:, 0] + x[:, 1] - 1.0) / 0.05) ** 2, STANDARD, n=40, rng=0)


@pytest.fixture(scope="module")
def two_modes():
    def log_likelihood(x):
        left, right = (-0.5 * np.sum(((x - c) / 0.2) ** 2, axis=1) for c in (-1.0, 1.0))
        return np.logaddexp(np.log(0.3) + left, np.log(0.7) + right)

    return fwbq.evidence(log_likelihood, STANDARD, n=100, rng=0)


@pytest.fixture(scope="module")
def nothing():
    with pytest.warns(RuntimeWarning, match="zero"):
        return fwbq.evidence(lambda x: np.full(len(x), -np.inf), STANDARD, n=20, rng=0)


def regions(ax):
    """Paths of the 90 % and of the 50 % contour."""
    lines = [drawn for drawn in ax.collections if isinstance(drawn, ContourSet) and not drawn.filled]
    assert len(lines) == 1
    return lines[0].get_paths()


def test_contours_enclose_the_shares_they_name(ridge):
    # The smoothing of width w makes a Gaussian's region enclose 1 - (1 - share)^(1 + w^2): with more than 10,000
    # effective nodes w < 0.15 and that is 0.905 and 0.508; the nodes' own noise and the grid add less than 0.01.
    _, below, _ = ridge.plot()
    posterior = ridge.posterior
    assert posterior.effective_size > 1e4
    for path, share in zip(regions(below), plots.CONTOURS, strict=True):
        inside = path.contains_points(posterior.points)
        assert posterior.weights[inside].sum() == pytest.approx(share, abs=0.02)


def test_every_mode_is_marked_and_has_its_own_region(two_modes):
    first, below, second = two_modes.plot()
    marks = sorted(tuple(np.ravel(line.get_xydata())) for line in below.lines if line.get_marker() == "+")
    # A climb ends where a Newton step would gain less than 0.05: within a third of a standard deviation of its top.
    np.testing.assert_allclose(marks, [(-1.0, -1.0), (1.0, 1.0)], atol=0.07)
    for diagonal in (first, second):
        lines = sorted(line.get_xdata()[0] for line in diagonal.lines if line.get_linestyle() == "--")
        np.testing.assert_allclose(lines, [-1.0, 1.0], atol=0.07)
    outer = regions(below)[0]
    assert outer.contains_points([[1.0, 1.0], [-1.0, -1.0], [0.0, 0.0]]).tolist() == [True, True, False]


def test_evaluated_points_are_drawn_and_zeros_look_different():
    found = fwbq.evidence(
        lambda x: np.where(x[:, 0] > 0.0, -2.0 * np.sum(x**2, axis=1), -np.inf), STANDARD, n=40, rng=0
    )
    below = found.plot()[1]
    zero = np.isneginf(found.values)
    assert zero.any()
    drawn = {line.get_marker(): line.get_xydata() for line in below.lines}
    np.testing.assert_array_equal(drawn["."], found.points[~zero])
    np.testing.assert_array_equal(drawn["x"], found.points[zero])


@pytest.mark.parametrize("d", [1, 3])
def test_panels_stand_in_a_triangle(d):
    prior = fwbq.Uniform([-1.0] * d, [1.0] * d)
    found = fwbq.evidence(lambda x: -8.0 * np.sum((x - 0.2) ** 2, axis=1), prior, n=40, rng=0)
    panels = found.plot(names=[f"rate ${i}" for i in range(d)])
    assert len(panels) == d * (d + 1) // 2
    panels[0].figure.canvas.draw()  # a dollar sign that was taken for mathematics would fail here
    assert [ax.get_xlabel() for ax in panels[-d:]] == [rf"rate \${i}" for i in range(d)]
    for ax, i in zip(panels[-d:], range(d), strict=True):
        low, high = ax.get_xlim()
        assert low < found.posterior.quantile(0.01)[i] < found.posterior.quantile(0.99)[i] < high


def test_a_figure_of_ones_own_is_drawn_on(ridge):
    import matplotlib.pyplot as plt

    _, grid = plt.subplots(1, 3)
    assert ridge.plot(grid) == list(grid)
    with pytest.raises(ValueError, match="needs 3"):
        ridge.plot(grid[:2])


@pytest.mark.parametrize("names", [["a"], "ab", ["a", 2], ["a", "a"]])
def test_wrong_names_are_refused(ridge, names):
    with pytest.raises(ValueError, match="`names`"):
        ridge.plot(names=names)


def test_a_posterior_at_one_point_can_be_drawn():
    sample = np.random.default_rng(0).normal(size=(30, 2))
    found = fwbq.evidence(lambda x: -1e4 * np.sum((x - sample[0]) ** 2, axis=1), fwbq.Empirical(sample), rng=0)
    assert found.posterior.sd.max() < 1e-6
    assert len(found.plot()) == 3


def test_without_a_posterior_nothing_is_drawn(nothing):
    for draw in (nothing.plot, nothing.to_arviz):
        with pytest.raises(ValueError, match="no posterior"):
            draw()
    assert "-inf" in nothing._repr_html_()


def test_arviz_has_the_draws_and_the_evidence(ridge):
    az = pytest.importorskip("arviz")
    data = ridge.to_arviz(200, names=["slope", "level"], rng=3)
    again = ridge.posterior.sample(4 * 200, rng=3).reshape(4, 200, 2)
    np.testing.assert_array_equal(data.posterior["slope"].values, again[..., 0])
    np.testing.assert_array_equal(data.posterior["level"].values, again[..., 1])
    assert data.posterior.attrs["log_evidence"] == ridge.log_evidence
    table = az.summary(data, kind="stats")
    assert list(table.index) == ["slope", "level"]
    # Independent draws: the factor is one up to 1 / sqrt(200) of each chain.
    assert az.summary(data)["r_hat"].between(0.97, 1.05).all()
    assert ridge.to_arviz(50, chains=1, rng=3).posterior["x1"].shape == (1, 50)


def test_the_notebook_table_says_what_the_summary_says(two_modes):
    page = two_modes._repr_html_()
    assert with_error(two_modes.log_evidence, two_modes.sd) in page
    assert page.count("share 0.7") == page.count("share 0.3") == 1
    assert page.count("<tr>") == page.count("</tr>")
    for name in two_modes.error_parts:
        assert name in page and name in two_modes.summary()


def test_the_parts_of_the_error_make_up_the_standard_deviation(two_modes):
    exact = fwbq.evidence(lambda x: 1e7 - 0.5 * np.sum(x**2, axis=1), STANDARD, n=20, rng=0)
    sample = fwbq.evidence(lambda x: -(x[:, 0] ** 2), fwbq.Empirical([[0.0], [1.0], [2.0]]), n=5, rng=0)
    for found in (two_modes, exact, sample):
        whole = np.sqrt(sum(part**2 for part in found.error_parts.values()))
        assert whole == pytest.approx(found.sd, rel=1e-12)
    assert exact.error_parts["rounding"] > 1e-9


def test_quantiles_of_several_levels(two_modes):
    levels = [0.05, 0.5, 0.95]
    rows = two_modes.posterior.quantile(levels)
    assert rows.shape == (3, 2)
    for level, row in zip(levels, rows, strict=True):
        np.testing.assert_array_equal(two_modes.posterior.quantile(level), row)
    with pytest.raises(ValueError, match="`q`"):
        two_modes.posterior.quantile([0.5, 1.0])
    with pytest.raises(ValueError, match=r"`q` must be one level or a vector.*\(1, 1\)"):
        two_modes.posterior.quantile([[0.5]])


def test_of_nothing_the_distribution_function_says_nothing(nothing):
    assert [nothing.cdf(x) for x in (-np.inf, -5.0, 1e9, np.inf)] == [0.0, 0.5, 0.5, 1.0]
    assert nothing.interval(0.5) == (-np.inf, np.inf)


def test_an_expectation_is_of_a_function(ridge):
    with pytest.raises(TypeError, match="`g` must be a function of points, got 3 of type int"):
        ridge.posterior.expect(3)


def test_the_number_of_evaluations_is_said_once(ridge):
    assert ridge.summary().count("40 evaluations") == repr(ridge).count("40 evaluations") == 1
    reached = fwbq.evidence(lambda x: -np.sum(x**2, axis=1), STANDARD, tol=0.1, rng=0)
    assert f"{reached.n_evaluations} evaluations; tolerance 0.1 reached" in reached.summary()


@pytest.mark.parametrize(
    ("mean", "sd", "text"),
    [
        (-0.00152, 0.61, "0.00 ± 0.61"),
        (123.456, 12.3, "123 ± 12"),
        (1e-9, 1e-11, "1.000e-09 ± 1.0e-11"),
        (3.0, 0.0, "3"),
    ],
)
def test_a_mean_has_the_digits_that_its_error_leaves(mean, sd, text):
    assert plus_minus(mean, sd) == text


def test_likelihoods_in_place_of_their_logarithms_are_noticed():
    prior = fwbq.Gaussian([0.0, 0.0], np.eye(2))

    def tiny(x):
        return np.exp(-50.0 * np.sum(x**2, axis=1) - 20.0)

    with pytest.warns(RuntimeWarning, match="seem to be likelihoods, not their logarithms"):
        found = fwbq.evidence(tiny, prior, n=30, rng=0)
    assert "return the logarithm" in found.status
    with pytest.warns(RuntimeWarning, match="model 'a': the values seem to be likelihoods"):
        fwbq.compare_models({"a": fwbq.Model(tiny, prior)}, n=20, rng=0)


@pytest.mark.parametrize(
    "log_likelihood",
    [
        lambda x: -50.0 * np.sum(x**2, axis=1),
        lambda x: np.zeros(len(x)),  # all values equal
        lambda x: 0.5 + 0.1 * np.sin(x[:, 0]),  # between 0 and 1, and varying little
        lambda x: 1000.0 - 0.5 * np.sum(x**2, axis=1),  # all positive
    ],
)
def test_logarithms_are_not_taken_for_likelihoods(log_likelihood):
    assert fwbq.evidence(log_likelihood, fwbq.Gaussian([0.0, 0.0], np.eye(2)), n=30, rng=0).remark is None


def test_a_model_in_place_of_a_function_is_answered():
    model = fwbq.Model(lambda x: -(x[:, 0] ** 2), fwbq.Gaussian([0.0], [[1.0]]))
    with pytest.raises(TypeError, match=r"call its method, model\.evidence"):
        fwbq.evidence(model)
