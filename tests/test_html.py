"""What notebooks show: a table for every kind of object, with every text escaped."""

from html.parser import HTMLParser

import numpy as np
import pytest
from scipy import stats

import fwbq
from fwbq import _html
from fwbq._numbers import with_error

MEASURES = {
    "gaussian": fwbq.Gaussian([0.0, 1.0], np.eye(2)),
    "mixture": fwbq.GaussianMixture([0.5, 0.5], [[0.0], [1.0]], [[[1.0]], [[2.0]]]),
    "uniform": fwbq.Uniform([0.0], [1.0]),
    "truncated": fwbq.TruncatedGaussian([1.0], [0.5]),
    "product": fwbq.Product([stats.norm(), stats.gamma(2.0)]),
    "sample": fwbq.Empirical(np.arange(40.0).reshape(20, 2)),
}
KERNELS = {
    "stationary": fwbq.ExpQuad([1.0, 2.0]),
    "sum": fwbq.Matern52(1.0) + 2.0 * fwbq.ExpQuad(0.5),
    "periodic": fwbq.PeriodicSobolev(1),
    "features": fwbq.RandomFourier(fwbq.ExpQuad(1.0), 50, 1, rng=0),
    "stein": fwbq.Stein(fwbq.ExpQuad(1.0), lambda x: -x),
}
EMBEDDING = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0], [[1.0]]))
OTHERS = {
    "embedding": EMBEDDING,
    "rule": fwbq.uniform_rule(EMBEDDING, [[-1.0], [1.0]]),
    "design": fwbq.MonteCarlo(EMBEDDING, rng=0),
    "set": fwbq.OBQ(EMBEDDING, rng=0),
    "posterior": fwbq.condition(fwbq.bayes_rule(EMBEDDING, [[-1.0], [1.0]]), [1.0, 2.0], amplitude=1.0),
    "posteriors": fwbq.condition(fwbq.bayes_rule(EMBEDDING, [[-1.0], [1.0]]), np.ones((2, 20)), amplitude=1.0),
}


class Cells(HTMLParser):
    """Texts of the cells of a table, row by row; every tag must be closed by its own."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.open = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


@pytest.mark.parametrize("name", [*MEASURES, *KERNELS, *OTHERS])
def test_every_object_has_a_table(name):
    rows = Cells((MEASURES | KERNELS | OTHERS)[name]._repr_html_()).rows
    assert len(rows) >= 2 or name == "posterior"
    assert all(cell.strip() for row in rows for cell in row)
    assert all(len(cell) <= 400 for row in rows for cell in row)


def test_parameters_are_those_of_the_object():
    rows = dict(Cells(MEASURES["gaussian"]._repr_html_()).rows)
    assert rows["mean"] == "[0, 1]" and rows["cov"] == "[[1, 0], [0, 1]]" and rows["dimension"] == "2"
    assert dict(Cells(KERNELS["stationary"]._repr_html_()).rows)["lengthscale"] == "[1, 2]"
    assert dict(Cells(MEASURES["sample"]._repr_html_()).rows)["points"] == "array of shape (20, 2)"


def test_integrals_and_several_integrals():
    one = fwbq.integrate(lambda x: x[:, 0], fwbq.Uniform([0.0], [1.0]), n=5, rng=0)
    rows = dict(Cells(one._repr_html_()).rows)
    assert rows["evaluations"] == "5" and rows["integral"] == with_error(one.mean, one.sd)
    many = Cells(OTHERS["posteriors"]._repr_html_()).rows
    assert len(many) == 9 and many[0] == ["integral", "estimate", "sd", "95 % interval"]


def test_designs_have_their_points_and_trace_as_a_table():
    design = fwbq.FrankWolfe(EMBEDDING, candidates=50, rng=0)
    points = design.take(4)
    frame = design.to_frame()
    np.testing.assert_array_equal(frame[["x1"]].to_numpy(), points)
    np.testing.assert_array_equal(frame["mmd2"], design.trace.mmd2)
    rule = design.rule(4)
    np.testing.assert_array_equal(rule.to_frame()["weight"], rule.weights)


def test_texts_are_escaped_and_cut():
    text = _html.table([("<b>", "</table><script>" + "x" * 1000)], title="<i>")
    assert "<script" not in text and "<i>" not in text and "<b>" not in text
    assert len(Cells(text).rows[0][1]) == 400
    assert "<b>" not in _html.grid(["<b>"], [["<b>"]])


def test_what_runs_models_and_data_show():
    """One readable line each, without addresses of memory; and a table where there are rows to show."""
    gaussian = fwbq.Gaussian([0.0, 0.0], np.eye(2))

    def log_likelihood(x):
        return -0.5 * np.sum((x / 0.1) ** 2, axis=1)

    found = fwbq.evidence(log_likelihood, gaussian, n=30, rng=0)
    run = fwbq.Integration(fwbq.Uniform([0.0], [1.0]), rng=0)
    x = run.ask(4)
    run.tell(x, x[:, 0])
    data = fwbq.chema.Dataset.example()
    shown = {
        found.posterior: "Posterior(",
        run: "<Integration under Uniform: 4 values known>",
        fwbq.EvidenceRun(gaussian, n=30): "<EvidenceRun of 2 parameters: 0 values known>",
        fwbq.integrate(
            lambda x: x[:, 0], fwbq.Uniform([0.0], [1.0]), n=5, rng=0
        ).process: "<FittedProcess averaged over",
        fwbq.Model(log_likelihood, gaussian): "log_likelihood under Gaussian(",
        fwbq.Model(log_likelihood, dim=2): "log_likelihood as a log joint density>",
    }
    shown[found.modes[0]] = ", share 1 of the mass, "
    for thing, words in shown.items():
        assert words in repr(thing) and len(repr(thing)) < 300
        assert " at 0x" not in repr(thing) and "\n" not in repr(thing)
    tables = {
        run: ("values known", "4"),
        fwbq.EvidenceRun(gaussian, n=30): ("values known", "0 of 30 planned"),
        fwbq.Model(log_likelihood, gaussian): ("prior", "Gaussian(mean=[0, 0], cov=[[1, 0], [0, 1]])"),
        fwbq.Model(log_likelihood, dim=2): ("prior", "within the log joint density"),
    }
    for thing, (name, text) in tables.items():
        assert dict(Cells(thing._repr_html_()).rows)[name] == text
    rows = Cells(found.posterior._repr_html_()).rows
    assert rows[0] == ["parameter", "mean", "sd", "5 %", "95 %"] and [row[0] for row in rows[1:]] == ["x1", "x2"]
    assert float(rows[1][2]) == pytest.approx(0.1, abs=0.005)
    assert dict(Cells(data._repr_html_()).rows)["true regulators"] == "E7, E19"
    thinned = fwbq.thin(np.random.default_rng(0).normal(size=(500, 2)), 10)
    assert dict(Cells(thinned._repr_html_()).rows)["states"] == "10"
    fit = Cells(fwbq.chema.fit(data, ("E7", "E19"), rng=0)._repr_html_()).rows
    assert [row[0] for row in fit[1:]] == ["dephosphorylation", "E7", "E19"]
    assert all(float(row[1]) <= float(row[2]) <= float(row[3]) for row in fit[1:])
