"""The dialogue: ask, tell, save and load."""

import json
import re

import numpy as np
import pytest

import fwbq
from fwbq import _files, process
from fwbq.integration.forecast import forecast
from fwbq.integration.sequence import FEWEST_BEFORE_RANK, witnesses

SQUARE = fwbq.Uniform([0.0, 0.0], [1.0, 1.0])


def f(x):
    return np.exp(-2.0 * x[:, 0]) * np.cos(3.0 * x[:, 1])


EXACT = (1.0 - np.exp(-2.0)) / 2.0 * np.sin(3.0) / 3.0


def finished(batches=(8, 6, 6), rng=0, **options):
    run = fwbq.Integration(SQUARE, rng=rng, **options)
    for batch in batches:
        x = run.ask(batch)
        run.tell(x, f(x))
    return run


def test_ask_and_tell_is_integrate():
    run = finished((8, 8))
    assert run.result().mean == fwbq.integrate(f, SQUARE, n=16, rng=0).mean


def test_points_are_in_the_support_and_new():
    run = finished()
    x = run.result().points
    assert ((x >= 0.0) & (x <= 1.0)).all()
    assert len(np.unique(x, axis=0)) == 20


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_telling_does_not_matter(seed):
    run = fwbq.Integration(SQUARE, rng=0)
    x = run.ask(8)
    order = np.random.default_rng(seed).permutation(8)
    for i in order:
        run.tell(x[i : i + 1], f(x[i : i + 1]))
    more = run.ask(6)
    for i in reversed(range(6)):
        run.tell(more[i : i + 1], f(more[i : i + 1]))
    assert run.result().mean == finished((8, 6)).result().mean
    assert run.result().interval() == finished((8, 6)).result().interval()


def test_asking_in_portions_spreads_the_same_first_points():
    run = fwbq.Integration(SQUARE, rng=0)
    parts = np.concatenate([run.ask(2), run.ask(1), run.ask(3)])
    np.testing.assert_array_equal(parts, fwbq.Integration(SQUARE, rng=0).ask(6))


def test_one_may_ask_again_before_telling():
    run = fwbq.Integration(SQUARE, rng=0)
    first = run.ask(6)
    second = run.ask(4)
    assert len(np.unique(np.concatenate([first, second]), axis=0)) == 10
    run.tell(second, f(second))
    run.tell(first[:3], f(first[:3]))
    third = run.ask(5)  # three of the first are still on their way, and are not asked for again
    everything = np.concatenate([first, second, third])
    assert len(np.unique(everything, axis=0)) == 15


def test_points_of_ones_own_are_admitted():
    run = finished((8,))
    own = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    run.tell(own, f(own))
    assert run.n_evaluations == 12
    result = run.result()
    assert abs(result.mean - EXACT) < 0.05
    reverse = finished((8,))
    reverse.tell(own[::-1], f(own[::-1]))
    assert reverse.result().mean == result.mean


def test_own_points_alone_are_enough():
    run = fwbq.Integration(SQUARE, rng=0)
    x = np.random.default_rng(0).random((25, 2))
    run.tell(x, f(x))
    assert abs(run.result().mean - EXACT) < 0.02
    assert run.ask(3).shape == (3, 2)


def test_new_points_complement_those_there():
    run = fwbq.Integration(fwbq.Uniform(0.0, 1.0), rng=0)
    x = np.linspace(0.0, 0.5, 12)[:, None]
    run.tell(x, np.sin(5.0 * x[:, 0]))
    assert (run.ask(3) > 0.5).all()


def test_telling_twice_is_harmless_and_contradicting_is_not():
    run = fwbq.Integration(SQUARE, rng=0)
    x = run.ask(6)
    run.tell(x, f(x))
    run.tell(x[:2], f(x[:2]))
    assert run.n_evaluations == 6
    with pytest.raises(ValueError, match="told before"):
        run.tell(x[:1], f(x[:1]) + 1.0)
    assert run.n_evaluations == 6


def test_nothing_is_added_when_something_is_wrong():
    run = fwbq.Integration(SQUARE, rng=0)
    x = run.ask(3)
    with pytest.raises(ValueError, match="values"):
        run.tell(x, [1.0, np.nan, 2.0])
    with pytest.raises(ValueError, match="points"):
        run.tell(x[:, :1], [1.0, 2.0, 3.0])
    assert run.n_evaluations == 0
    run.tell(x, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"shape \(n,\)"):
        run.tell(x + 0.1, np.ones((3, 2)))


def test_no_result_without_values():
    with pytest.raises(ValueError, match="no value"):
        fwbq.Integration(SQUARE, rng=0).result()


def test_skipped_points_are_counted_and_not_waited_for():
    run = fwbq.Integration(SQUARE, rng=0)
    x = run.ask(8)
    run.tell(x[:6], f(x[:6]))
    run.skip(x[6:])
    with pytest.raises(ValueError, match="not waiting for a value"):
        run.skip(x[6:])
    result = run.result()
    assert result.n_skipped == 2
    assert "2 points skipped" in result.status


@pytest.mark.parametrize("moment", [0, 1, 2])
def test_a_saved_run_continues_as_the_other(tmp_path, moment):
    run = fwbq.Integration(SQUARE, rng=5)
    x = run.ask(8)
    if moment:
        run.tell(x[::-1], f(x[::-1]))
        x = run.ask(5)
    if moment == 2:
        run.tell(x[:2], f(x[:2]))
    run.save(tmp_path / "run.json")
    again = fwbq.Integration.load(tmp_path / "run.json")
    for one in (run, again):
        one.tell(x, f(x))
    y, z = run.ask(4), again.ask(4)
    np.testing.assert_array_equal(y, z)
    for one in (run, again):
        one.tell(y, f(y))
    assert run.result().mean == again.result().mean
    assert run.result().interval() == again.result().interval()
    assert again.measure.dim == 2


def test_saving_keeps_what_was_asked_for(tmp_path):
    run = finished((12,), kernel=fwbq.ExpQuad([0.4, 0.7]), design=fwbq.FrankWolfe, amplitude=2.0, prior_mean="constant")
    run.save(tmp_path / "run.json")
    again = fwbq.Integration.load(tmp_path / "run.json")
    assert again.result().mean == run.result().mean
    assert again.result().sd == run.result().sd
    np.testing.assert_array_equal(again.ask(3), run.ask(3))


def test_columns_survive_saving(tmp_path):
    run = fwbq.Integration(SQUARE, rng=0, kernel=fwbq.Matern52)
    x = run.ask(8)
    run.tell(x, np.column_stack([f(x), x[:, 0]]))
    run.save(tmp_path / "run.json")
    again = fwbq.Integration.load(tmp_path / "run.json")
    np.testing.assert_array_equal(again.result().mean, run.result().mean)
    with pytest.raises(ValueError, match="shape"):
        again.tell(x + 0.01, f(x))


def test_what_cannot_be_saved_is_said(tmp_path):
    with pytest.raises(ValueError, match="cannot be saved"):
        fwbq.Integration(SQUARE, design=lambda embedding, rng: None).save(tmp_path / "run.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["", "{}", "[1]", "not json", json.dumps({"format": "fwbq integration 99"})])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "run.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"run\.json"):
        fwbq.Integration.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("asked"), "asked missing"),
        (lambda d: d.update(waiting=[-1]), "waiting is not a list of whole numbers"),
        (lambda d: d.update(waiting=[99]), "waiting is not a list of whole numbers"),
        (lambda d: d.update(waiting=[6, 6]), "waiting has a point that is not waited for"),
        (lambda d: d.update(waiting=[0]), "waiting has a point that is not waited for"),
        (lambda d: d["asked"].append([2.0, 0.5]), r"the point \[2.0, 0.5\] lies outside the support"),
        (lambda d: d["asked"].append([0.5]), "`asked` must be"),
        (lambda d: d["asked"].append([0.5, None]), "`asked` must be"),
        (lambda d: d.update(asked={}), "asked is not a list of points"),
        (lambda d: d.update(design="refine"), "its design 'refine' is unknown"),
        (lambda d: d.update(design="Design"), "its design 'Design' is unknown"),
        (lambda d: d.update(design=["SBQ"]), "its design .* is unknown"),
        (lambda d: d.update(kernel="from_spec"), "its kernel 'from_spec' is unknown"),
        (lambda d: d.update(kernel={"type": "Evil"}), "unknown kernel 'Evil'"),
        (lambda d: d.update(measure={"type": "Evil"}), "unknown measure 'Evil'"),
        (lambda d: d.update(amplitude="evil"), "`amplitude` must be one of"),
        (lambda d: d.update(amplitude=-1.0), "`amplitude` must be"),
        (lambda d: d.update(prior_mean="evil"), "`prior_mean` must be one of"),
        (lambda d: d.update(entropy=[1]), "entropy is not a list of 2 whole numbers"),
        (lambda d: d.update(entropy=[1, -1]), "entropy is not a list of 2 whole numbers"),
        (lambda d: d.update(counts=[0, 0, 1.5]), "counts is not a list of 3 whole numbers"),
        (lambda d: d.update(width=2), "known values do not have the width that is given"),
        (lambda d: d.update(width=None), "width and known values do not fit"),
        (lambda d: d["known"].append(d["known"][0]), "a known point comes twice"),
        (lambda d: d["known"].append([[0.1, 0.1], float("nan")]), "`known values` must be finite"),
        (lambda d: d["known"].append([0.1, 0.1, 1.0]), "known is not a list of points with their values"),
        (lambda d: d.update(search=[3]), "search is not a number of values and a kernel"),
        (lambda d: d.update(leading="Matern52"), "leading is not a kernel"),
        (lambda d: d.update(ended=5), "ended is not a text"),
        (lambda d: d.update(reason="EVIL"), "its reason 'EVIL' is unknown"),
        (lambda d: d.update(reason=["RANK"]), "its reason .* is unknown"),
    ],
)
def test_a_run_that_cannot_be_is_refused(tmp_path, change, message):
    path = tmp_path / "run.json"
    run = fwbq.Integration(SQUARE, rng=0)
    x = run.ask(8)
    run.tell(x[:6], f(x[:6]))
    run.save(path)
    content = _files.unsealed(json.loads(path.read_text()))
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="its checksum is missing or does not fit"):
        fwbq.Integration.load(path)
    path.write_text(_files.seal(content))
    with pytest.raises(ValueError, match=message) as error:
        fwbq.Integration.load(path)
    assert str(error.value).endswith("pass a file written by Integration.save(path)")


def test_why_a_run_ended_is_saved(tmp_path):
    path = tmp_path / "run.json"
    run = fwbq.Integration(fwbq.Empirical([[0.0], [1.0], [2.0]]), rng=0)
    x = run.ask(5)
    run.tell(x, x[:, 0])
    assert run.reason is fwbq.Reason.EXHAUSTED
    run.save(path)
    again = fwbq.Integration.load(path)
    assert again.reason is run.reason and again.ended == run.ended
    assert again.result().reason is run.result().reason and again.result().status == run.result().status


def test_no_format_is_believed_without_a_checksum(tmp_path):
    path = tmp_path / "run.json"
    run = finished((12,))
    run.save(path)
    content = _files.unsealed(json.loads(path.read_text()))
    for form in ("fwbq integration 1", "fwbq integration 2"):
        path.write_text(json.dumps(content | {"format": form}))
        with pytest.raises(ValueError, match=r"is not of the format|its checksum is missing"):
            fwbq.Integration.load(path)


def test_a_kernel_class_of_ones_own_cannot_be_saved(tmp_path):
    class Matern52(fwbq.Matern52):
        pass

    with pytest.raises(ValueError, match="of classes only ExpQuad, Matern12"):
        fwbq.Integration(SQUARE, kernel=Matern52).save(tmp_path / "run.json")


def test_witnesses_lie_close_to_the_faces_of_a_bounded_support():
    box = fwbq.Uniform([0.0, 10.0], [1.0, 30.0])
    x = witnesses(box, 8, 16, np.random.SeedSequence(0))
    u = (x - [0.0, 10.0]) / [1.0, 20.0]
    depth = np.minimum(u, 1.0 - u).min(axis=1)
    np.testing.assert_allclose(depth, 0.25 / 24, rtol=1e-9)
    assert len(x) == 4  # one for each face
    # None where the support goes on for ever, none between powers of four, and no more than every fourth point.
    assert len(witnesses(fwbq.Gaussian([0.0, 0.0], np.eye(2)), 8, 16, np.random.SeedSequence(0))) == 0
    assert len(witnesses(box, 70, 100, np.random.SeedSequence(0))) == 0
    assert len(witnesses(box, 60, 8, np.random.SeedSequence(0))) == 2
    assert len(witnesses(fwbq.TruncatedGaussian([0.0], [1.0]), 8, 16, np.random.SeedSequence(0))) == 1


def test_forecasts_are_the_predictions_of_the_process():
    rng = np.random.default_rng(0)
    kernel = fwbq.Matern32(0.4)
    x, new = rng.uniform(size=(12, 1)), rng.uniform(size=(5, 1))
    f = np.linalg.cholesky(kernel(np.concatenate([x, new])) + 1e-12 * np.eye(17)) @ rng.standard_normal(17)
    claim = forecast(kernel, x, f[:12] + 3.0, new, constant=True)
    inverse = np.linalg.inv(kernel(x))
    constant = inverse.sum(axis=0) @ (f[:12] + 3.0) / inverse.sum()
    mean = constant + kernel(new, x) @ inverse @ (f[:12] + 3.0 - constant)
    # The Gram matrix has a condition number below 1e5.
    np.testing.assert_allclose(claim.mean, mean, atol=1e-9)
    assert claim.agrees(f[12:] + 3.0)
    assert not claim.agrees(claim.mean + 10.0 * claim.scale)
    assert claim.surprise(claim.mean + 2.0 * claim.scale) == pytest.approx(4.0)


def test_forecasts_of_many_integrands_count_the_worst():
    x, new = np.linspace(0.0, 1.0, 8)[:, None], np.array([[0.4], [0.6]])
    f = np.column_stack([np.sin(3.0 * x[:, 0]), x[:, 0] ** 2])
    claim = forecast(fwbq.Matern52(0.5), x, f, new, constant=True)
    assert claim.mean.shape == claim.scale.shape == (2, 2)
    values = claim.mean.copy()
    values[:, 1] += 3.0 * claim.scale[:, 1]
    assert claim.surprise(values) == pytest.approx(9.0)


def test_a_kernel_that_tells_no_more_points_apart_is_believed_late():
    # Eight points on a parabola fit so well that the design ended there, whatever f does between them.
    result = fwbq.integrate(lambda x: x[:, 0] ** 2, fwbq.Uniform([0.0], [1.0]), n=60, rng=0)
    assert result.n_evaluations >= FEWEST_BEFORE_RANK
    x = np.sort(result.points[:FEWEST_BEFORE_RANK, 0])
    # Gaps are filled: none is as wide as three of an even spacing.
    assert np.diff(x, prepend=0.0, append=1.0).max() < 3.0 / FEWEST_BEFORE_RANK


def test_kinks_that_the_first_points_miss_are_found():
    for c in (0.05, 0.2, 0.45, 0.7):
        e = c + 0.12

        def f(x, c=c, e=e):
            return np.abs(x[:, 0] - c) * np.abs(x[:, 0] - e)

        # (x - c) (x - e) with the part between c and e, of (e - c)^3 / 6, turned over.
        truth = 1.0 / 3.0 - 0.5 * (c + e) + c * e + (e - c) ** 3 / 3.0
        low, high = fwbq.integrate(f, fwbq.Uniform([0.0], [1.0]), n=40, rng=0).interval(0.999)
        assert low <= truth <= high


def test_a_tolerance_out_of_reach_is_seen_without_the_average_over_kernels():
    def run_of(*batches):
        run = fwbq.Integration(fwbq.Uniform([0.0], [1.0]), rng=0)
        for batch in batches:
            x = run.ask(batch)
            run.tell(x, np.abs(x[:, 0] - 0.3))
        return run

    width = run_of(8, 8, 4).half_width()
    run = run_of(8, 8, 4)
    # The kernel fitted to 16 values says 0.7 of the half-width, that fitted to all 20 says 1.01 of it.
    assert not run.near(0.2 * width)  # by the first
    assert not run.near(0.6 * width)  # by the second
    assert run.near(width)
    assert run._answer is None  # nothing was averaged for that
    assert run.half_width() == width
    assert run.near(0.2 * width)  # once it is known, there is nothing to save


@pytest.fixture
def searches(monkeypatch):
    """Numbers of values of the searches for a kernel, one for each family."""
    sizes = []
    original = process.Objective.maximise

    def counted(objective, *args, **options):
        sizes.append(objective.pairs.size)
        return original(objective, *args, **options)

    monkeypatch.setattr(process.Objective, "maximise", counted)
    return sizes


def test_the_fit_of_an_answer_serves_the_next_points(searches):
    run = fwbq.Integration(fwbq.Uniform([0.0], [1.0]), rng=0)
    x = run.ask(8)
    run.tell(x, np.sqrt(x[:, 0]))
    run.result()
    assert set(searches) == {8}
    del searches[:]
    run.ask(4)
    assert not searches


def test_no_values_are_searched_twice(searches):
    square = fwbq.Uniform([0.0, 0.0], [1.0, 1.0])
    result = fwbq.integrate(lambda x: np.abs(x - 0.3).sum(axis=1), square, n=200, rng=0, progress=False)
    assert set(searches) == {8, 32, 128, 150}
    assert max(searches.count(n) for n in set(searches)) <= len(process.FAMILIES)
    del searches[:]
    assert bool(np.isfinite(result.process.at([[0.5, 0.5]]).mean).all())
    assert not searches


def powers(x):
    """The sum of (x y)^2i, i = 1 to 5, on [-1, 1]^2: smooth in the middle, steep in the corners."""
    return sum((x[:, 0] * x[:, 1]) ** (2 * i) for i in range(1, 6))


def test_points_that_the_kernel_cannot_tell_apart_do_not_end_a_run_with_a_wide_interval(monkeypatch):
    monkeypatch.setattr(fwbq.integration.model, "find_polynomial", lambda *_: None)
    square = fwbq.Uniform([-1.0, -1.0], [1.0, 1.0])
    fewer, more = (fwbq.integrate(powers, square, n=n, rng=0) for n in (100, 200))
    assert more.n_evaluations == 200
    assert more.sd < fewer.sd
    low, high = more.interval(0.95)
    assert low < sum((2 * i + 1.0) ** -2 for i in range(1, 6)) < high


def test_what_was_filled_is_said_and_saved(tmp_path):
    run = fwbq.Integration(fwbq.Uniform([0.0], [1.0]), rng=0)
    for size in (8, 12):
        x = run.ask(size)
        run.tell(x, x[:, 0] ** 2)
    assert run.n_evaluations == 20
    # How many it can tell apart depends on the rounding of the processor.
    assert re.search(r"not tell more than \d+ points apart, and some .* under a rougher one", run.result().status)
    run.save(tmp_path / "run.json")
    again = fwbq.Integration.load(tmp_path / "run.json")
    assert again.result().status == run.result().status
    np.testing.assert_array_equal(again.ask(6), run.ask(6))


def test_a_kernel_that_was_given_is_not_made_rougher():
    run = fwbq.Integration(fwbq.Gaussian([0.0], [[1.0]]), kernel=fwbq.ExpQuad(3.0), rng=0)
    x = run.ask(60)
    assert len(x) < 60
    assert run.reason is fwbq.Reason.RANK


def test_points_that_the_caller_changes_change_nothing():
    def run(change):
        run = fwbq.Integration(fwbq.Gaussian([0.0, 0.0], np.eye(2)), rng=0)
        for _ in range(3):
            x = run.ask(8)
            run.tell(x, np.exp(np.sin(x[:, 0])))
            if change:
                x[:] = 0.0
        return run.result()

    assert run(True).mean == run(False).mean
