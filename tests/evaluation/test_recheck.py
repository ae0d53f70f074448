"""A function that changes while a run goes on: the first point is evaluated once more at the end."""

import warnings

import numpy as np
import pytest

import fwbq

NORMAL = fwbq.Gaussian([0.0, 0.0], np.eye(2))


class Drifting:
    """A function whose values grow by a step with each point, and that counts its points."""

    def __init__(self, step=0.0, fails_after=None):
        self.step, self.fails_after, self.points = step, fails_after, 0

    def __call__(self, x):
        self.points += len(x)
        if self.fails_after is not None and self.points > self.fails_after:
            raise OSError("the licence of the simulator has ended")
        return -np.sum((x - 0.3) ** 2, axis=1) + self.step * self.points


RUNS = {
    "integrate": lambda f, **o: fwbq.integrate(f, NORMAL, n=100, kernel=fwbq.ExpQuad(2.0), design=fwbq.QMC, **o),
    "net": lambda f, **o: fwbq.integrate(f, NORMAL, n=128, method="net", **o),
    "evidence": lambda f, **o: fwbq.evidence(f, NORMAL, n=100, **o),
    "compare": lambda f, **o: fwbq.compare_models({"m": fwbq.Model(f, NORMAL)}, n=100, **o),
    "probability": lambda f, **o: fwbq.integrate(f, NORMAL, n=24, target="probability", above=-0.5, **o),
}


def interval(found):
    return found.log_evidence_interval("m") if hasattr(found, "names") else found.interval(0.95)


def options(name, **given):
    return {"rng": 0, "vectorized": True} | ({"recheck": True} if name == "probability" else {}) | given


@pytest.mark.parametrize("name", RUNS)
def test_a_drift_is_said_and_changes_no_number(name):
    with pytest.warns(RuntimeWarning, match=r"is not a function of the point alone: at \[.*It drifts, is random"):
        found = RUNS[name](Drifting(1e-3), **options(name))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        silent = RUNS[name](Drifting(1e-3), **options(name, recheck=False))
    assert interval(found) == interval(silent)
    assert found.n_evaluations == silent.n_evaluations


@pytest.mark.parametrize("name", [name for name in RUNS if name not in ("evidence", "compare")])
def test_the_status_of_an_integral_says_it_too(name):
    with pytest.warns(RuntimeWarning, match="not a function of the point alone"):
        assert "not a function of the point alone" in RUNS[name](Drifting(1e-3), **options(name)).status


@pytest.mark.parametrize("name", RUNS)
def test_a_function_that_stays_costs_one_call_more(name):
    f = Drifting()
    found = RUNS[name](f, **options(name))
    assert f.points == found.n_evaluations + 1


def test_short_runs_are_not_rechecked_unless_asked():
    f = Drifting()
    fwbq.integrate(f, NORMAL, n=99, kernel=fwbq.ExpQuad(2.0), design=fwbq.QMC, vectorized=True, rng=0)
    assert f.points == 99
    with pytest.warns(RuntimeWarning, match="not a function of the point alone"):
        fwbq.integrate(Drifting(1e-3), NORMAL, n=20, recheck=True, rng=0)


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_function_that_fails_at_last_is_said(on_error):
    with pytest.warns(RuntimeWarning, match="failed at .* at the end of the run .*licence of the simulator"):
        found = RUNS["net"](Drifting(fails_after=128), **options("net", on_error=on_error))
    assert found.n_evaluations == 128 and found.n_skipped == 0


def test_rounding_is_no_change():
    """A matrix product rounds differently for one row than for many; near a zero all digits may be rounding."""
    calls = []

    def f(x):
        calls.append(len(x))
        return np.sin(x[:, 0]) * (1.0 + 1e-13 * len(calls)) + 1e-16 * len(calls)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fwbq.integrate(f, NORMAL, n=128, method="net", rng=0)


def test_a_finished_run_in_a_journal_is_not_evaluated_again(tmp_path):
    f = Drifting()
    keep = {"journal": tmp_path / "run.db", "tag": "f"}
    first = RUNS["net"](f, **options("net", **keep))
    again = Drifting()
    assert RUNS["net"](again, **options("net", **keep)).mean == first.mean
    assert f.points == 129 and again.points == 0
    with fwbq.Journal(keep["journal"], None) as journal:
        assert len(journal) == 128
