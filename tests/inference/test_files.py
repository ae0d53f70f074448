"""Files of runs: a run that was loaded goes on as the other, damaged files are refused, threads do not tear it."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

import fwbq
from fwbq import _files
from fwbq.problems.likelihoods import banana, cut


def go_on(run, f, n):
    while run.n_evaluations < n and not run.ended:
        x = run.ask()
        run.tell(x, f(x))
    return run


@pytest.mark.parametrize("moment", [0, 3, 20, 45])
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


def test_a_run_that_would_choose_other_points_keeps_its_values(tmp_path):
    problem = banana(rng=0)
    run = go_on(fwbq.EvidenceRun(problem.prior, n=40, rng=0), problem.log_likelihood, 30)
    run.save(tmp_path / "run.json")
    content = _files.unsealed(json.loads((tmp_path / "run.json").read_text()))
    content["events"][0]["purpose"] = "another"
    _files.write(tmp_path / "run.json", _files.seal(content))
    with pytest.warns(RuntimeWarning, match="other points"):
        again = fwbq.EvidenceRun.load(tmp_path / "run.json")
    assert again.n_evaluations == run.n_evaluations
    assert go_on(again, problem.log_likelihood, 40).result().sd < 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prior": None}, "neither a prior nor a start"),
        ({"kernel": "Evil"}, "unknown"),
        ({"design": "refine"}, "unknown"),
        ({"entropy": [1]}, "whole numbers"),
        ({"asked": 10**6}, "whole numbers"),
        ({"asked": -1}, "whole numbers"),
        ({"quick": "yes"}, "truth value"),
        ({"events": {}}, "not a list"),
        ({"events": [{"kind": "tell"}]}, "incomplete"),
        ({"events": [{"kind": "evil", "purpose": "", "x": [], "z": [], "values": []}]}, "unknown"),
        ({"events": [{"kind": "tell", "purpose": "", "x": [[0.0]], "z": [], "values": [0.0]}]}, "points"),
        ({"events": [{"kind": "tell", "purpose": "", "x": [[0.0, 0.0]], "z": [], "values": []}]}, "numbers of points"),
        ({"events": [{"kind": "plan", "purpose": "", "x": [[0.0, 0.0]], "z": [], "values": []}]}, "both coordinates"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, change, message):
    path = tmp_path / "run.json"
    fwbq.EvidenceRun(fwbq.Gaussian([0.0, 0.0], np.eye(2)), n=20, rng=0).save(path)
    content = _files.unsealed(json.loads(path.read_text()))
    _files.write(path, _files.seal({**content, **change}))
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


def test_a_run_that_was_told_two_values_of_a_point_is_still_read(tmp_path):
    run = fwbq.EvidenceRun(fwbq.Gaussian([0.0, 0.0], np.eye(2)), n=30, rng=0)
    x = run.ask()
    run.tell(x, -(x[:, 0] ** 2))
    run._take_in(x[:1], np.array([-7.0]))  # as versions before took it
    run.save(tmp_path / "run.json")
    again = fwbq.EvidenceRun.load(tmp_path / "run.json")
    np.testing.assert_array_equal(again.result().values, run.result().values)
    np.testing.assert_array_equal(again.ask(), run.ask())
