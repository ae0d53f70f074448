"""Files of runs: a run that was loaded goes on as the other, damaged files are refused, threads do not tear it."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

import fwbq
from fwbq import _files
from studies.problems.likelihoods import banana, cut


def go_on(run, f, n):
    while run.n_evaluations < n and not run.ended:
        x = run.ask()
        run.tell(x, f(x))
    return run


@pytest.mark.parametrize("moment", [0, 3, 12, 20, 45, 52])
@pytest.mark.parametrize("problem", [banana(rng=3), cut(rng=3)], ids=lambda problem: problem.name)
def test_a_saved_run_goes_on_as_the_other(tmp_path, problem, moment):
    f = problem.log_likelihood
    run = go_on(fwbq.EvidenceRun(problem.prior, n=60, rng=1), f, moment)
    waiting = run.ask(2)  # handed out, not yet told
    run.save(tmp_path / "run.json")
    again = fwbq.EvidenceRun.load(tmp_path / "run.json")
    assert again.n_evaluations == run.n_evaluations
    for each in (run, again):
        each.tell(waiting, f(waiting))
        go_on(each, f, 60)
    one, other = run.result(), again.result()
    assert one.log_evidence == other.log_evidence and one.sd == other.sd
    assert np.array_equal(one.points, other.points)


def test_points_given_up_and_points_of_ones_own_are_kept(tmp_path):
    run = fwbq.EvidenceRun(fwbq.Product([stats.gamma(2.0), stats.norm()]), n=40, rng=0)
    x = run.ask()
    run.skip(x[:2])
    run.tell([[1.0, 0.5]], [-0.3])
    run.tell(x[2:], -x[2:, 0])
    run.save(tmp_path / "run.json")
    again = fwbq.EvidenceRun.load(tmp_path / "run.json")
    assert again.n_evaluations == run.n_evaluations == len(x) - 1
    assert np.array_equal(again.ask(), run.ask())
    assert again.result().n_skipped == 2


def test_a_log_joint_density_is_saved_with_its_start(tmp_path):
    run = fwbq.EvidenceRun(
        start=[1.0, -2.0], scale=[0.5, 3.0], n=30, rng=4, kernel=fwbq.Matern52([0.5, 2.0]), amplitude="loo", quick=True
    )
    f = lambda x: -0.5 * np.sum((x - [1.2, -1.0]) ** 2, axis=1)  # noqa: E731
    go_on(run, f, 20).save(tmp_path / "run.json")
    again = fwbq.EvidenceRun.load(tmp_path / "run.json")
    assert again.result().log_evidence == run.result().log_evidence


def test_a_run_of_the_usual_length_can_be_saved(tmp_path):
    run = fwbq.EvidenceRun(fwbq.Gaussian([0.0], [[1.0]]), rng=0)
    run.save(tmp_path / "run.json")
    assert np.array_equal(fwbq.EvidenceRun.load(tmp_path / "run.json").ask(), run.ask())


def written_by_an_older_version(path, problem, n=30):
    """A file of the format that kept a list of what happened; one point had failed, and one value was told twice."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 2))
    values = problem.log_likelihood(x)
    empty = {"purpose": "", "z": [], "values": []}
    events = [
        {**empty, "kind": "plan", "x": x.tolist(), "z": x.tolist(), "purpose": "spread"},
        {**empty, "kind": "tell", "x": x[1:].tolist(), "values": [None, *values[2:].tolist()]},
        {**empty, "kind": "skip", "x": x[:1].tolist()},
        {**empty, "kind": "tell", "x": x[2:3].tolist(), "values": [-7.0]},  # as versions before took it
    ]
    content = {
        "format": "fwbq evidence run 2", "prior": problem.prior.spec(), "n": 60, "start": None, "scale": None,
        "kernel": None, "design": None, "amplitude": "calibrated", "quick": False, "entropy": [1, 2], "events": events,
        "asked": n,
    }  # fmt: skip
    _files.write(path, _files.seal(content))
    return x, np.append(-np.inf, values[2:])


def test_a_file_of_an_older_version_keeps_its_values(tmp_path):
    problem = banana(rng=0)
    x, values = written_by_an_older_version(tmp_path / "run.json", problem)
    with pytest.warns(RuntimeWarning, match="written by an older version"):
        run = fwbq.EvidenceRun.load(tmp_path / "run.json")
    found = run.result()
    np.testing.assert_array_equal(found.points, x[1:])
    np.testing.assert_array_equal(found.values, values)
    assert found.n_skipped == 1
    later = go_on(run, problem.log_likelihood, 60).result()
    assert abs(later.log_evidence - problem.log_evidence) < 2.0 * later.sd
    run.save(tmp_path / "again.json")
    assert fwbq.EvidenceRun.load(tmp_path / "again.json").n_evaluations == run.n_evaluations


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"events": {}}, "not a list"),
        ({"events": [{"kind": "tell"}]}, "incomplete"),
        ({"events": [{"kind": "evil", "x": [], "values": []}]}, "unknown"),
        ({"events": [{"kind": "tell", "x": [[0.0]], "values": [0.0]}]}, "points"),
        ({"events": [{"kind": "tell", "x": [[0.0, 0.0]], "values": []}]}, "values"),
        ({"entropy": [1]}, "whole numbers"),
    ],
)
def test_a_damaged_file_of_an_older_version_is_refused(tmp_path, change, message):
    written_by_an_older_version(tmp_path / "run.json", banana(rng=0))
    content = _files.unsealed(json.loads((tmp_path / "run.json").read_text()))
    _files.write(tmp_path / "run.json", _files.seal({**content, **change}))
    with pytest.raises(ValueError, match=message):
        fwbq.EvidenceRun.load(tmp_path / "run.json")


def test_gradients_are_saved_with_the_values(tmp_path):
    run = fwbq.EvidenceRun(fwbq.Gaussian([0.0, 0.0], np.eye(2)), n=30, rng=0)
    x = run.ask()
    slopes = -np.pi * x
    slopes[2] = np.nan
    run.tell(x, -0.5 * np.pi * np.sum(x**2, axis=1), slopes)
    run.save(tmp_path / "run.json")
    again = fwbq.EvidenceRun.load(tmp_path / "run.json")
    np.testing.assert_array_equal(again._data.gradient, slopes)
    for name in ("x", "z", "values", "noise", "failed"):
        np.testing.assert_array_equal(getattr(again._data, name), getattr(run._data, name))


def test_nothing_is_searched_for_when_a_run_is_read(tmp_path, monkeypatch):
    problem = cut(rng=3)
    run = go_on(fwbq.EvidenceRun(problem.prior, n=60, rng=1), problem.log_likelihood, 50)
    run.save(tmp_path / "run.json")
    monkeypatch.setattr("fwbq.inference.joint_process.fit_lengthscales", None)
    again = fwbq.EvidenceRun.load(tmp_path / "run.json")
    z = np.random.default_rng(0).standard_normal((9, run.dim))
    np.testing.assert_array_equal(again._way.surrogate.log_joint(z), run._way.surrogate.log_joint(z))
    np.testing.assert_array_equal(again._way.surrogate.nodes.points, run._way.surrogate.nodes.points)


def one_column(name, value):
    """A change of one column of the data."""
    return lambda content: {"data": {**content["data"], name: value}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prior": None}, "neither a prior nor a start"),
        ({"kernel": "Evil"}, "unknown"),
        ({"design": "refine"}, "unknown"),
        ({"entropy": [1]}, "whole numbers"),
        ({"quick": "yes"}, "truth value"),
        ({"without": ["everything"]}, "unknown part"),
        ({"data": []}, "not a record"),
        ({"data": {"x": []}}, "incomplete"),
        ({"batch": None}, "waiting points belong to no batch"),
        ({"batch": {"start": 0}}, "memory does not fit"),
        ({"memory": {}}, "memory does not fit"),
        (one_column("values", [0.0]), "numbers of points and values differ"),
        (one_column("x", [[0.0]]), "points"),
        (one_column("failed", [10**6]), "whole numbers"),
        (one_column("gradient", [[1.0]]), "gradients differ"),
        (lambda content: {"batch": {**content["batch"], "size": 10**6}}, "whole numbers"),
        (lambda content: {"batch": {**content["batch"], "climbs": [[3, 1]]}}, "of no climb"),
        (lambda content: {"memory": {**content["memory"], "ended": 3}}, "ended is not a text"),
        (lambda content: {"memory": {**content["memory"], "register": [["modes", 3]]}}, "memory does not fit"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, change, message):
    path = tmp_path / "run.json"
    run = fwbq.EvidenceRun(fwbq.Gaussian([0.0, 0.0], np.eye(2)), n=20, rng=0)
    run.ask()
    run.save(path)
    content = _files.unsealed(json.loads(path.read_text()))
    _files.write(path, _files.seal({**content, **(change(content) if callable(change) else change)}))
    with pytest.raises(ValueError, match=message) as error:
        fwbq.EvidenceRun.load(path)
    assert str(error.value).endswith("pass a file written by EvidenceRun.save(path)")
    path.write_text(path.read_text().replace('"n": 20', '"n": 21'))
    with pytest.raises(ValueError, match="checksum"):
        fwbq.EvidenceRun.load(path)


def test_what_cannot_be_written_down_is_said(tmp_path):
    prior = fwbq.Gaussian([0.0], [[1.0]])
    with pytest.raises(ValueError, match="cannot be saved"):
        fwbq.EvidenceRun(prior, design=lambda embedding, rng: None).save(tmp_path / "run.json")
    assert not (tmp_path / "run.json").exists()


def test_threads_never_get_the_same_point():
    problem = banana(rng=0)
    run = fwbq.EvidenceRun(problem.prior, n=60, rng=0)

    def work(_):
        seen = []
        for _ in range(40):
            x = run.ask(1)
            seen.extend(map(bytes, x))
            run.tell(x, problem.log_likelihood(x)) if len(x) else None
        return seen

    with ThreadPoolExecutor(4) as pool:
        points = [point for seen in pool.map(work, range(4)) for point in seen]
    assert len(points) == len(set(points)) == run.n_evaluations


def replaced(content, path, value):
    """Replace an entry of nested lists, records and lists of pairs."""
    for key in path[:-1]:
        content = dict(content)[key] if isinstance(key, str) and isinstance(content, list) else content[key]
    content[path[-1]] = value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("scale",), [1.0, 1.0]),
        (("memory", "climbs", 0, "ended"), None),
        (("memory", "climbs", 0, "spent"), 2.5),
        (("memory", "surrogate", "kind"), "cubic"),
        (("memory", "surrogate", "fitted_at"), float("inf")),
        (("memory", "surrogate", "whitening", "root"), 3.0),
        (("memory", "surrogate", "whitening", "root"), {"columns": [[1.0]]}),
        (("memory", "surrogate", "whitening", "centre"), [[0.0, 1.0]]),
        (("memory", "register", "modes", 0, "peak", "slope"), "nan"),
        (("memory", "register", "modes", 0, "peak", "centre"), [0.0]),
    ],
)
def test_what_has_another_shape_or_type_is_refused_under_a_valid_checksum(tmp_path, path, value):
    file = tmp_path / "run.json"
    run = go_on(
        fwbq.EvidenceRun(fwbq.Gaussian([0.0, 0.0], np.eye(2)), n=40, rng=0), lambda x: -np.sum(x**2, axis=1), 30
    )
    run.save(file)
    content = _files.unsealed(json.loads(file.read_text()))
    replaced(content, path, value)
    file.write_text(_files.seal(content))
    with pytest.raises(ValueError, match=r"run.json' is damaged"):
        fwbq.EvidenceRun.load(file)
