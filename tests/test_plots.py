"""Figures: what is drawn is what is in the table, on the Axes given, in one style, and closed when saved."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import fwbq
from fwbq import plots
from fwbq.plots import paper as figures


@pytest.fixture(autouse=True)
def close():
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def curves():
    n = np.array([1, 10, 100])
    parts = [
        pd.DataFrame({"method": method, "n": n, "mmd2": scale / n, "run": run})
        for method, scale in (("MC", 1.0), ("SBQ", 0.1), ("another", 0.5))
        for run in range(2)
    ]
    return pd.concat(parts)


def grid(value):
    axis = np.linspace(-4, 4, 7)
    x, y = np.meshgrid(axis, axis)
    return pd.DataFrame({"x": x.ravel(), "y": y.ravel(), value: np.exp(-(x**2) - y**2).ravel()})


def test_mmd_draws_each_method_in_its_own_colour():
    ax = plots.mmd(curves(), title="a title")
    lines = {line.get_label(): line for line in ax.lines}
    assert set(lines) == {"MC", "SBQ", "another"}
    assert lines["SBQ"].get_color() == plots.METHODS["SBQ"][0]
    assert len({line.get_color() for line in lines.values()}) == 3
    assert list(lines["MC"].get_ydata()) == [1.0, 0.1, 0.01]
    assert (ax.get_xscale(), ax.get_yscale(), ax.get_title()) == ("log", "log", "a title")
    assert ax.get_xlabel() and ax.get_ylabel()


def test_axes_that_are_given_are_drawn_on():
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    assert plots.mmd(curves(), ax) is ax


def test_too_few_axes_are_refused():
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    frame = pd.concat([grid("value").assign(panel=p) for p in ("a", "b")])
    with pytest.raises(ValueError, match="needs 2"):
        figures.mean_elements(frame, ax)


def test_the_style_does_not_leak():
    before = mpl.rcParams["font.size"]
    plots.mmd(curves())
    assert mpl.rcParams["font.size"] == before
    with plots.style():
        assert mpl.rcParams["font.size"] == plots.STYLE["font.size"]


def test_fields_and_points():
    frame = pd.concat([grid("value").assign(panel=p) for p in ("$n = 1$", "exact")])
    drawn = figures.mean_elements(frame)
    assert [ax.get_title() for ax in drawn] == ["$n = 1$", "exact"]
    points = pd.DataFrame({"method": "SBQ", "order": [1, 2], "x": [0.0, 1.0], "y": [0.5, -1.0]})
    (ax,) = figures.design_points(points, grid("density"))
    assert ax.collections[-1].get_offsets().tolist() == [[0.0, 0.5], [1.0, -1.0]]


def test_a_rule_shows_sign_and_size_of_its_weights():
    embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0, 0.0], np.eye(2)))
    rule = fwbq.weighted_rule(embedding, [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, -0.5, 0.5])
    dots = plots.rule(rule, title="weights").collections[-1]
    sizes = dots.get_sizes()
    assert sizes[0] > sizes[1] == sizes[2]
    colours = [mpl.colors.to_hex(c).upper() for c in dots.get_facecolors()]
    assert colours == [plots.BLUE, plots.VERMILLION, plots.BLUE]


def test_a_rule_that_cannot_be_drawn_says_why(tmp_path):
    kernel = fwbq.Stein(fwbq.ExpQuad(1.0), lambda x: -x)
    rule = fwbq.uniform_rule(fwbq.embed(kernel, fwbq.Gaussian([0.0], [[1.0]])), [[0.0]])
    rule.save(tmp_path / "rule.json")
    with pytest.raises(ValueError, match="`rule` has no embedding"):
        fwbq.load_rule(tmp_path / "rule.json").plot()


def test_a_rule_in_one_dimension_has_lines_as_high_as_its_weights():
    embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0], [[1.0]]))
    rule = fwbq.weighted_rule(embedding, [[-1.0], [0.0], [1.0]], [0.3, -0.1, 0.8])
    ax = rule.plot()
    dots = ax.collections[-1].get_offsets()
    assert dots[:, 0].tolist() == [-1.0, 0.0, 1.0] and dots[:, 1].tolist() == [0.3, -0.1, 0.8]


MEASURES = {
    "product": fwbq.Uniform(np.zeros(3), np.ones(3)),
    "correlated": fwbq.Gaussian(np.zeros(3), np.eye(3) + 0.5),
    "sample": fwbq.Empirical(np.random.default_rng(0).normal(size=(50, 3))),
    "half": fwbq.TruncatedGaussian(np.ones(3), np.full(3, 0.5)),
}


@pytest.mark.parametrize("name", MEASURES)
def test_a_design_in_three_dimensions_is_drawn_in_two(name):
    design = fwbq.MonteCarlo(fwbq.embed(fwbq.ExpQuad(1.0), MEASURES[name]), rng=0)
    ax = design.plot(12, coordinates=(2, 0))
    np.testing.assert_array_equal(ax.collections[-1].get_offsets(), design.take(12)[:, [2, 0]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$x_{3}$", "$x_{1}$")
    ax.figure.canvas.draw()
    for wrong in ((0, 0), (0, 3), 1, "ab"):
        with pytest.raises(ValueError, match="`coordinates` must be two different numbers from 0 to 2"):
            design.plot(12, coordinates=wrong)


def test_designs_and_point_sets_in_one_and_two_dimensions():
    for d in (1, 2):
        embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian(np.zeros(d), np.eye(d)))
        design = fwbq.SBQ(embedding, candidates=200, rng=0)
        design.take(7)
        offsets = design.plot().collections[-1].get_offsets()
        np.testing.assert_array_equal(offsets[:, 0], design.take(7)[:, 0])
        assert fwbq.OBQ(embedding, rng=0).plot(3).get_title() == "OBQ, 3 points"


def test_errors_of_designs_are_those_of_their_rules():
    embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0], [[1.0]]))
    designs = {"FW": fwbq.FrankWolfe(embedding, candidates=200, rng=0), "MC": fwbq.MonteCarlo(embedding, rng=0)}
    ax = plots.mmd(designs, n=20)
    for line in ax.lines:
        x, y = line.get_data()
        assert (x[0], x[-1]) == (1, 20)
        np.testing.assert_allclose(y, [designs[line.get_label()].rule(int(n)).mmd2 for n in x])
    assert plots.weights({"FW": designs["FW"].rule(5)}).collections[0].get_offsets().shape == (5, 2)
    assert plots.mmd(designs["FW"]).lines[0].get_label() == "FrankWolfe"


def test_estimates_show_bands_and_truth():
    frame = pd.DataFrame({"method": "FWLS", "n": [10, 100], "mean": [0.4, 0.5], "truth": 0.5})
    for level, width in ((68, 0.1), (95, 0.2)):
        frame[f"lower{level}"], frame[f"upper{level}"] = frame["mean"] - width, frame["mean"] + width
    (ax,) = figures.estimates(frame)
    low, high = ax.get_ylim()
    assert low < 0.4 < 0.5 < high
    assert any(np.allclose(line.get_ydata(), 0.5) for line in ax.lines)


def probabilities(count=5):
    q = np.linspace(0.01, 0.9, count)
    parts = [
        pd.DataFrame(
            {"n": n, "position": np.arange(count), "model": [f"{{E{i}}}" for i in range(count)]}
            | {f"q{k:02d}": q * (1 + k / 1000) for k in (5, 25, 50, 75, 95)}
        )
        for n in (10, 50)
    ]
    return pd.concat(parts)


@pytest.mark.parametrize("options", [{}, {"log": True}, {"named": True}, {"first": 2}])
def test_model_probabilities(options):
    drawn = plots.model_probabilities(probabilities(), **options)
    assert [ax.get_title() for ax in drawn] == ["$n = 10$", "$n = 50$"]
    assert len(drawn[0].patches) == options.get("first", 5)
    assert drawn[0].get_yscale() == ("log" if options.get("log") else "linear")


def test_weights_have_a_dot_each():
    frame = pd.DataFrame({"method": ["FW"] * 3 + ["SBQ"] * 2, "weight": [0.3, 0.3, 0.4, 1.5, -0.5]})
    ax = plots.weights(frame)
    assert [len(dots.get_offsets()) for dots in ax.collections] == [3, 2]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["FW", "SBQ"]


def test_bounds_and_features():
    n = [1, 10]
    frame = pd.concat([pd.DataFrame({"run": "FW", "curve": c, "n": n, "value": [1.0, 0.1]}) for c in figures.CURVES])
    (ax,) = figures.bounds(frame)
    assert len(ax.lines) == len(figures.CURVES)
    table = pd.DataFrame({"method": ["FWLS", "FWLS"], "kernel": "exact", "n": n, "mmd2": [1.0, 0.1]})
    assert [line.get_label() for line in figures.features(table).lines] == ["FWLS, exact"]


def test_map_probability_and_inclusion_with_hostile_names():
    history = pd.DataFrame({"evaluations": [10, 100], "map_probability": [0.4, 0.99]})
    assert plots.map_probability(history, level=0.95).get_ylim()[1] > 1
    names = ["$\\frac$ <b>", "x" * 500, "E3"]
    frame = pd.DataFrame({"name": names, "probability": [0.9, 0.5, 0.1], "lower": 0.05, "upper": 0.95})
    ax = plots.inclusion(frame)
    ax.figure.canvas.draw()  # a name that was taken for mathematics would fail here
    assert all(len(label.get_text()) < 40 for label in ax.get_yticklabels())


@pytest.fixture(scope="module")
def found():
    return fwbq.integrate(lambda x: np.sin(2.0 * x[:, 0]) + 1.0, fwbq.Gaussian([0.0], [[1.0]]), n=14, rng=0)


def test_the_posterior_of_an_integral(found):
    ax = found.plot(truth=1.0)
    curve = ax.lines[0]
    x, density = curve.get_data()
    # Nearly all the mass is in the picture, and its centre is the estimate.
    mass = np.sum(density[1:] * np.diff(x))
    assert 0.95 < mass < 1.01
    assert np.sum(x[1:] * density[1:] * np.diff(x)) / mass == pytest.approx(found.mean, abs=0.5 * found.sd)
    assert found.posterior.plot().get_xlabel() == "integral"
    exact = fwbq.integrate(lambda x: np.ones(len(x)), fwbq.Gaussian([0.0], [[1.0]]), n=5, rng=0)
    exact.plot().figure.canvas.draw()  # a width of zero, or of rounding


def test_several_integrals_have_an_interval_each():
    both = fwbq.integrate(
        lambda x: np.column_stack([x[:, 0], x[:, 0] ** 2]), fwbq.Gaussian([0.0], [[1.0]]), n=12, rng=0
    )
    ax = both.plot(truth=[0.0, 1.0])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), both.mean)
    with pytest.raises(ValueError, match="2 integrals"):
        both.plot_process()


def test_a_slice_of_the_process(found):
    ax = found.plot_process()
    lines = {line.get_label(): line for line in ax.lines}
    assert lines["values"].get_ydata().tolist() == found.values.tolist()
    x, mean = lines["mean"].get_data()
    np.testing.assert_allclose(mean, found.process.at(x[:, None]).mean)
    with pytest.raises(ValueError, match="`coordinates` must be a coordinate, 0 to 0"):
        found.plot_process(coordinates=1)
    with pytest.raises(ValueError, match="`at` must be a point with 1 coordinates"):
        found.plot_process(at=[0.0, 0.0])


def test_slices_in_two_dimensions():
    both = fwbq.integrate(lambda x: x[:, 0] + np.cos(x[:, 1]), fwbq.Uniform([0.0, 0.0], [1.0, 2.0]), n=12, rng=0)
    ax = both.plot_process(coordinates=(1, 0))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$x_{2}$", "$x_{1}$")
    assert (ax.get_xlim()[0], ax.get_ylim()[0]) >= (0.0, 0.0)  # within the support
    x, mean = next(
        line for line in both.plot_process(coordinates=1, at=[0.3, 0.0]).lines if line.get_label() == "mean"
    ).get_data()
    np.testing.assert_allclose(mean, 0.3 + np.cos(x), atol=0.2)
    ax.figure.canvas.draw()


def test_convergence_shows_what_fewer_values_would_have_given(found):
    frame = found.convergence([5, 14])
    np.testing.assert_allclose(frame["mean"], [found.at(5).mean, found.mean])
    assert frame["sd"].iloc[0] > frame["sd"].iloc[1]
    ax = found.plot_convergence(truth=1.0)
    assert ax.get_xscale() == "log" and [line.get_label() for line in ax.lines][-1] == "truth"


def test_a_net_has_no_process():
    net = fwbq.integrate(lambda x: x[:, 0], fwbq.Uniform([0.0], [1.0]), n=64, method="net", rng=0)
    for draw in (net.plot_process, net.plot_convergence):
        with pytest.raises(ValueError, match="comes from a net"):
            draw()


def test_a_comparison_draws_itself(build_comparison):
    few = build_comparison([("a", "b"), ("a",), ()], [0.0, -0.5, -1.0])
    ax = few.plot()
    assert [t.get_text() for t in ax.get_xticklabels()] == list(few.to_frame()["model"])
    assert ax.get_yscale() == "linear"
    # Of twenty models one has all the probability: the other boxes would be flat.
    many = build_comparison([f"m{i}" for i in range(20)], [0.0, *np.full(19, -9.0)])
    assert many.plot(first=8).get_yscale() == "log" and len(many.plot(first=8).patches) == 8
    assert plots.map_probability(few).get_legend().get_texts()[0].get_text() == "stop at 0.95"
    assert [t.get_text() for t in plots.inclusion(few).get_yticklabels()] == ["a", "b"]
    line = plots.evidence_error(few).lines[0]
    np.testing.assert_allclose(line.get_data(), [few.error_history()["n"], few.error_history()["leading"]])


@pytest.mark.parametrize("sd", [0.11, 0.3, 3.0])
def test_an_axis_of_one_round_has_numbers(build_comparison, sd):
    ax = plots.evidence_error(build_comparison(["a", "b"], [0.0, -0.5], (sd,), (100,)))
    ax.figure.canvas.draw()
    low, high = ax.get_ylim()
    marks = [float(mark) for mark in ax.get_yticks() if low <= mark <= high]
    assert marks and low < sd < high
    shown = [label.get_text() for label in ax.get_yticklabels()]
    assert all(f"{mark:g}" in shown for mark in marks)


def test_a_fit_draws_the_data():
    data = fwbq.chema.Dataset.example()
    left, right = fwbq.chema.fit(data, data.regulators, rng=0, draws=50).plot()
    assert left.lines[-1].get_ydata().tolist() == data.phospho.tolist()
    assert right.lines[-1].get_ydata().tolist() == data.rates.tolist()
    with pytest.raises(ValueError, match="`condition` must be one of"):
        fwbq.chema.fit(data, (), rng=0, draws=5).plot(condition="none")


def test_save_closes_the_figure(tmp_path):
    import matplotlib.pyplot as plt

    plots.save(figures.mmd_and_weights(curves(), pd.DataFrame({"method": ["FW"], "weight": [1.0]})), tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert not plt.get_fignums()
