"""Figures: what is drawn is what is in the table, on the Axes given, in one style, and closed when saved."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import fwbq
from fwbq import plots


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
        plots.mean_elements(frame, ax)


def test_the_style_does_not_leak():
    before = mpl.rcParams["font.size"]
    plots.mmd(curves())
    assert mpl.rcParams["font.size"] == before
    with plots.style():
        assert mpl.rcParams["font.size"] == plots.STYLE["font.size"]


def test_fields_and_points():
    frame = pd.concat([grid("value").assign(panel=p) for p in ("$n = 1$", "exact")])
    drawn = plots.mean_elements(frame)
    assert [ax.get_title() for ax in drawn] == ["$n = 1$", "exact"]
    points = pd.DataFrame({"method": "SBQ", "order": [1, 2], "x": [0.0, 1.0], "y": [0.5, -1.0]})
    (ax,) = plots.design_points(points, grid("density"))
    assert ax.collections[-1].get_offsets().tolist() == [[0.0, 0.5], [1.0, -1.0]]


def test_a_rule_shows_sign_and_size_of_its_weights():
    embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0, 0.0], np.eye(2)))
    rule = fwbq.weighted_rule(embedding, [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, -0.5, 0.5])
    dots = plots.rule(rule, title="weights").collections[-1]
    sizes = dots.get_sizes()
    assert sizes[0] > sizes[1] == sizes[2]
    colours = [mpl.colors.to_hex(c).upper() for c in dots.get_facecolors()]
    assert colours == [plots.BLUE, plots.VERMILLION, plots.BLUE]


def test_a_rule_that_cannot_be_drawn_says_why():
    embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0], [[1.0]]))
    with pytest.raises(ValueError, match="two dimensions"):
        plots.rule(fwbq.uniform_rule(embedding, [[0.0]]))


def test_estimates_show_bands_and_truth():
    frame = pd.DataFrame({"method": "FWLS", "n": [10, 100], "mean": [0.4, 0.5], "truth": 0.5})
    for level, width in ((68, 0.1), (95, 0.2)):
        frame[f"lower{level}"], frame[f"upper{level}"] = frame["mean"] - width, frame["mean"] + width
    (ax,) = plots.estimates(frame)
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
    frame = pd.concat([pd.DataFrame({"run": "FW", "curve": c, "n": n, "value": [1.0, 0.1]}) for c in plots.CURVES])
    (ax,) = plots.bounds(frame)
    assert len(ax.lines) == len(plots.CURVES)
    table = pd.DataFrame({"method": ["FWLS", "FWLS"], "kernel": "exact", "n": n, "mmd2": [1.0, 0.1]})
    assert [line.get_label() for line in plots.features(table).lines] == ["FWLS, exact"]


def test_map_probability_and_inclusion_with_hostile_names():
    history = pd.DataFrame({"evaluations": [10, 100], "map_probability": [0.4, 0.99]})
    assert plots.map_probability(history, level=0.95).get_ylim()[1] > 1
    names = ["$\\frac$ <b>", "x" * 500, "E3"]
    frame = pd.DataFrame({"name": names, "probability": [0.9, 0.5, 0.1], "lower": 0.05, "upper": 0.95})
    ax = plots.inclusion(frame)
    ax.figure.canvas.draw()  # a name that was taken for mathematics would fail here
    assert all(len(label.get_text()) < 40 for label in ax.get_yticklabels())


def test_save_closes_the_figure(tmp_path):
    import matplotlib.pyplot as plt

    plots.save(plots.mmd_and_weights(curves(), pd.DataFrame({"method": ["FW"], "weight": [1.0]})), tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert not plt.get_fignums()
