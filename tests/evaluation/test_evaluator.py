import functools
import io
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fwbq import Gaussian
from fwbq.evaluation import EvaluationError, Evaluator
from fwbq.evaluation.journal import Journal, JournalError
from fwbq.evaluation.progress import Progress

MATRIX = np.random.default_rng(5).normal(size=(6, 40))


def product(x):
    """Rows whose bits depend on how many rows are multiplied at once."""
    return np.tanh(x @ MATRIX @ MATRIX.T @ MATRIX).sum(axis=1)


def columns(x):
    return np.stack([x.sum(axis=1), np.cos(x[:, 0]), np.ones(len(x))], axis=1)


def one_point(x):
    return math.exp(-float(x @ x))


def pid_of(x):
    return float(os.getpid())


class Watched:
    """Note the shape of every call, and which points were asked for."""

    def __init__(self, f):
        self.f = f
        self.shapes = []
        self.rows = []

    def __call__(self, x):
        self.shapes.append(x.shape)
        self.rows.extend(np.atleast_2d(x).tolist())
        return self.f(x)


def sample(n, dim=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim))


class Backwards(Executor):
    """Finish what was submitted in the reverse order, a window at a time."""

    def __init__(self, window):
        self.window, self.waiting = window, []

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        self.waiting.append((future, functools.partial(fn, *args, **kwargs)))
        if len(self.waiting) == 1:
            threading.Thread(target=self._run, daemon=True).start()
        return future

    def _run(self):
        time.sleep(0.01)
        while self.waiting:
            future, call = self.waiting.pop()
            future.set_result(call())


# -- how f is called --------------------------------------------------------------------------------------------------

VECTORISED = {
    "number": lambda x: np.exp(-np.sum(x**2, axis=1)),
    "column": lambda x: x[:, :1] ** 2,
    "columns": columns,
    "elementwise": np.cos,
    "either": lambda x: np.sum(x**2, axis=-1),
    "list": lambda x: [float(row[0]) for row in x] if x.ndim == 2 else None,
    "integers": lambda x: (x[:, 0] > 0).astype(int),
    "bool": lambda x: x[:, 0] > 0,
}
POINTWISE = {
    "number": one_point,
    "math": lambda x: math.exp(x[0]),
    "first": lambda x: x[0] ** 2,
    "sum": lambda x: x.sum(),
    "quadratic form": lambda x: x @ np.diag(np.arange(1.0, 1 + len(x))) @ x,
    "one-vector": lambda x: np.array([x[0]]),
    "two-vector": lambda x: np.array([x[0], x[-1]]),
    "three-vector": lambda x: np.array([x[0], x[-1], 1.0]),
    "list": lambda x: [x[0], 1.0, 2.0, 3.0],
    "softmax": lambda x: np.exp(x) / np.exp(x).sum(),
}


@pytest.mark.parametrize("n", [1, 2, 3, 4, 50])
@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("name", VECTORISED)
def test_a_vectorised_function_is_recognised(name, dim, n):
    f, x = VECTORISED[name], sample(n, dim)
    evaluate = Evaluator(f, dim)
    values = evaluate(x).values
    expected = np.asarray(f(x), dtype=float)
    if expected.shape[1:] == (1,):
        expected = expected[:, 0]  # one column is one integral
    assert evaluate.vectorized is True
    assert values.shape == expected.shape
    np.testing.assert_allclose(values, expected, rtol=1e-14)
    assert evaluate.width == (None if expected.ndim == 1 else expected.shape[1])


@pytest.mark.parametrize("n", [1, 2, 3, 4, 50])
@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("name", POINTWISE)
def test_a_function_of_one_point_is_recognised(name, dim, n):
    f, x = POINTWISE[name], sample(n, dim)
    evaluate = Evaluator(f, dim)
    values = evaluate(x).values
    expected = np.array([f(row) for row in x], dtype=float)
    if expected.shape[1:] == (1,):
        expected = expected[:, 0]  # one value is a number
    if not (name == "one-vector" and dim == 1):  # vectorised in one dimension, and the same either way
        assert evaluate.vectorized is False
    np.testing.assert_array_equal(values, expected)


def test_the_explicit_switch_calls_f_in_no_other_way():
    f = Watched(lambda x: np.sum(x**2, axis=-1))
    Evaluator(f, 2, vectorized=False)(sample(5))
    assert f.shapes == [(2,)] * 5
    f = Watched(lambda x: np.sum(x**2, axis=-1))
    Evaluator(f, 2, vectorized=True, chunk_size=3)(sample(5))
    assert f.shapes == [(3, 2), (2, 2)]


def test_finding_out_wastes_no_evaluation_and_makes_up_no_point():
    x = sample(40)
    f = Watched(lambda x: x[:, 0])
    Evaluator(f, 2)(x)
    assert sorted(f.rows) == sorted(x.tolist())
    assert f.shapes[:2] == [(2, 2), (1, 2)]
    g = Watched(lambda x: math.exp(x[0]))
    Evaluator(g, 2)(x)
    assert g.shapes == [(2, 2)] + [(2,)] * 40
    assert g.rows[2:] == x.tolist()


def test_the_finding_is_the_same_with_workers_and_with_a_journal(tmp_path):
    x = sample(30)
    for f in (VECTORISED["number"], POINTWISE["two-vector"], POINTWISE["softmax"]):
        path = tmp_path / "run.db"
        reference = Evaluator(f, 2)
        values = reference(x).values
        with ThreadPoolExecutor(4) as pool, Evaluator(f, 2, executor=pool, journal=path, tag="f") as evaluate:
            np.testing.assert_array_equal(evaluate(x).values, values)
            assert evaluate.vectorized is reference.vectorized
        watched = Watched(f)
        with Evaluator(watched, 2, journal=path, tag="f") as evaluate:
            evaluate(x[:20])
            assert evaluate.vectorized is reference.vectorized and not watched.shapes
            evaluate(np.vstack([x, x[:1] + 1.0]))
            assert watched.shapes == [(1, 2) if reference.vectorized else (2,)]  # no probing again
        path.unlink()


def test_when_neither_call_works_the_error_says_what_was_tried():
    with pytest.raises(EvaluationError) as error:
        Evaluator(lambda x: np.zeros((2, 2, 2)), 3)(sample(4, 3))
    text = str(error.value)
    assert "given an array of shape (2, 3), it returned shape (2, 2, 2) where (2,) or (2, m) was expected" in text
    assert "given one point of shape (3,), it returned shape (2, 2, 2)" in text
    assert "`vectorized=True`" in text

    def broken(x):
        raise LookupError("no table")

    with pytest.raises(EvaluationError, match=r"it raised LookupError: no table.*LookupError") as error:
        Evaluator(broken, 3)(sample(4, 3))
    assert isinstance(error.value.__cause__, LookupError)
    with pytest.raises(EvaluationError, match="could not be called"):
        Evaluator(broken, 3, on_error="skip")(sample(20, 3))


@pytest.mark.parametrize("extra", [-1, 1, 2])
def test_a_wrong_number_of_values_does_not_become_many_integrals(extra):
    """In one dimension f of n points that returns n + k values is also an f of one point that returns 1 + k."""

    def f(x):
        return np.resize(np.ravel(x), len(x) + extra) if len(x) + extra else np.ones(0)

    with pytest.raises(EvaluationError, match=r"given one point of shape \(1,\), it returned") as error:
        Evaluator(f, 1)(sample(5, 1))
    assert "`vectorized=True` or `vectorized=False` says which" in str(error.value)
    if extra > 0:
        assert f"given arrays of n points it returns n +{extra} values" in str(error.value)
        assert Evaluator(f, 1, vectorized=False)(sample(5, 1)).values.shape == (5, 1 + extra)


def test_a_vector_of_one_point_is_still_recognised():
    evaluate = Evaluator(lambda x: np.append(x, 1.0), 3)
    assert evaluate(sample(5, 3)).values.shape == (5, 4) and evaluate.vectorized is False


def test_masked_values_are_no_values():
    def f(x):
        return np.ma.masked_greater(x[:, 0], 1.0)

    x = np.array([[0.0], [2.0], [0.5], [3.0]])
    with pytest.raises(EvaluationError, match=r"at point \[2.0\] .*it returned masked values"):
        Evaluator(f, 1, vectorized=True)(x)
    result = Evaluator(f, 1, vectorized=True, on_error="skip")(x)
    assert result.skipped.tolist() == [1, 3] and result.values[result.kept].tolist() == [0.0, 0.5]
    whole = Evaluator(lambda x: np.ma.array(x[:, 0]), 1)(x)  # a mask that hides nothing
    assert whole.values.tolist() == x[:, 0].tolist()


def test_skipping_finds_out_from_later_points_when_the_first_are_bad():
    x = sample(12)

    def picky(x):
        if (x[:, 0] == bad).any():
            raise ValueError("bad point")
        return x[:, 1]

    for row in range(3):
        bad = x[row, 0]
        result = Evaluator(picky, 2, on_error="skip")(x)
        assert result.skipped.tolist() == [row]
        np.testing.assert_array_equal(result.values[result.kept], np.delete(x[:, 1], row))


# -- same bits --------------------------------------------------------------------------------------------------------


def test_the_example_does_round_differently_in_other_company():
    """Without this the tests below could not fail."""
    x = sample(64, 6)
    assert any(not np.array_equal(product(x), np.concatenate([product(x[:k]), product(x[k:])])) for k in range(1, 64))


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 90), workers=st.sampled_from([1, 2, 8]), f=st.sampled_from([product, columns, one_point]))
def test_threads_change_no_bit(n, workers, f):
    x = sample(n, 6)
    with ThreadPoolExecutor(workers) as pool:
        parallel = Evaluator(f, 6, executor=pool)(x)
    assert parallel.values.tobytes() == Evaluator(f, 6)(x).values.tobytes()


@pytest.mark.parametrize("window", [1, 3, 100])
@pytest.mark.parametrize("f", [product, one_point])
def test_the_order_in_which_calls_finish_changes_no_bit(f, window):
    x = sample(60, 6)
    parallel = Evaluator(f, 6, executor=Backwards(window), in_flight=window)(x)
    assert parallel.values.tobytes() == Evaluator(f, 6)(x).values.tobytes()


def test_processes_change_no_bit_and_do_the_work():
    x = sample(60, 6)
    serial = Evaluator(product, 6)(x).values
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert Evaluator(product, 6, executor=pool)(x).values.tobytes() == serial.tobytes()
        assert Evaluator(one_point, 6, executor=pool)(x).values.tobytes() == Evaluator(one_point, 6)(x).values.tobytes()
        elsewhere = Evaluator(pid_of, 6, executor=pool, vectorized=False)(x).values
        assert os.getpid() not in elsewhere

        with pytest.raises(TypeError, match="top level of a module"):
            Evaluator(lambda x: x, 6, executor=pool)


def test_a_journal_changes_no_bit_whatever_was_in_it(tmp_path):
    """A run that ended after k calls, for every k, and is begun again."""
    x = sample(70, 6)
    reference = Evaluator(product, 6)(x).values
    calls = []

    def dying(x):
        if len(calls) == limit:
            raise KeyboardInterrupt
        calls.append(x.shape)
        return product(x)

    for limit in (0, 1, 2, 3, 7, 12):
        path = tmp_path / f"{limit}.db"
        calls.clear()
        with pytest.raises(KeyboardInterrupt), Evaluator(dying, 6, journal=path, tag="product") as evaluate:
            evaluate(x)
        with Evaluator(product, 6, journal=path, tag="product") as evaluate:
            result = evaluate(x)
        assert result.values.tobytes() == reference.tobytes()
        done = sum(shape[0] for shape in calls) if limit > 1 else 0  # one call of two is not a finding yet
        assert (result.n_new, result.n_reused) == (70 - done, done)


def test_large_batches_go_in_calls_of_bounded_size():
    f = Watched(lambda x: x[:, 0])
    Evaluator(f, 1, vectorized=True)(np.linspace(0, 1, 20_000)[:, None])
    assert max(shape[0] for shape in f.shapes) == 512
    f = Watched(lambda x: x[:, 0])
    Evaluator(f, 1, vectorized=True)(np.linspace(0, 1, 100)[:, None])
    assert len(f.shapes) == 15 and f.shapes[0] == (7, 1)


# -- paid for once ----------------------------------------------------------------------------------------------------


def test_repeats_are_evaluated_once_within_and_across_batches():
    f = Watched(lambda x: x[0] + 1.0)
    evaluate = Evaluator(f, 1, vectorized=False)
    first = evaluate(np.array([[1.0], [0.0], [1.0], [-0.0]]))
    assert first.values.tolist() == [2.0, 1.0, 2.0, 1.0]
    assert (first.n_new, first.n_reused, len(first)) == (2, 2, 4)
    second = evaluate(np.array([[0.0], [3.0]]))
    assert (second.n_new, second.n_reused) == (1, 1)
    assert f.rows == [[1.0], [0.0], [3.0]]
    assert (evaluate.n_new, evaluate.n_reused) == (3, 3)
    assert not np.signbit(first.points[3, 0])


def test_an_empty_batch_is_empty():
    assert Evaluator(one_point, 2)(np.empty((0, 2))).values.shape == (0,)


def test_f_may_scribble_on_its_argument_and_reuse_its_answer():
    buffer = np.empty(1)

    def rude(x):
        buffer[0] = x.sum()
        x[:] = 0.0
        return buffer

    x = sample(6)
    result = Evaluator(rude, 2, vectorized=False)(x)
    np.testing.assert_array_equal(result.values, x.sum(axis=1))
    np.testing.assert_array_equal(result.points, x)


def test_a_journal_is_shared_between_evaluators_and_refused_to_others(tmp_path):
    path, measure, x = tmp_path / "run.db", Gaussian([0.0, 0.0], 1.0), sample(10)
    with Evaluator(one_point, 2, journal=path, measure=measure, tag="one") as evaluate:
        values = evaluate(x).values
    watched = Watched(one_point)
    with Evaluator(watched, 2, journal=path, measure=measure, tag="one") as evaluate:
        again = evaluate(x[::-1])
    assert not watched.shapes and (again.n_new, again.n_reused) == (0, 10)
    assert again.values[::-1].tobytes() == values.tobytes()
    for change in ({"measure": Gaussian([0.0, 1.0], 1.0)}, {"tag": "other"}, {"version": "2"}):
        with pytest.raises(JournalError, match=f"{'function' if 'tag' in change else next(iter(change))}"):
            Evaluator(one_point, 2, journal=path, **{"measure": measure, "tag": "one", **change})


def test_series_of_one_journal_hold_different_integrands(tmp_path):
    x = sample(5)
    with Journal(tmp_path / "run.db", {"kind": "comparison"}) as journal:
        a = Evaluator(columns, 2, journal=journal, series="a")(x)
        b = Evaluator(one_point, 2, journal=journal, series="b")(x)
        assert (a.n_new, b.n_new) == (5, 5) and journal.series() == ["a", "b"]
        np.testing.assert_array_equal(journal.get(x, "a")[1], a.values)


def test_two_evaluators_at_once_agree(tmp_path):
    """f is noisy: they can only agree through the journal."""
    x, rng, lock = sample(60), np.random.default_rng(1), threading.Lock()

    def noisy(x):
        with lock:
            return rng.normal()

    results = {}

    def run(name):
        with Evaluator(noisy, 2, vectorized=False, journal=tmp_path / "run.db", tag="noisy") as evaluate:
            results[name] = evaluate(x)

    threads = [threading.Thread(target=run, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results["a"].values.tobytes() == results["b"].values.tobytes()


# -- failures ---------------------------------------------------------------------------------------------------------


def moody(x, mood):
    """One bad point: the one with x[0] = 3."""
    if x[0] == 3.0:
        if mood == "raises":
            raise ValueError("three is no good")
        if mood == "hangs":
            time.sleep(60.0)
        bad = {"nan": np.nan, "inf": np.inf, "shape": np.ones(2), "string": "three", "complex": 1j, "none": None}
        return bad.get(mood, 0.0)
    return 10.0 * x[0]


def moody_rows(x, mood):
    if mood in ("nan", "inf"):
        return np.array([moody(row, mood) for row in x])
    return np.array([float(moody(row, mood)) for row in x])


REASONS = {
    "raises": "it raised ValueError: three is no good",
    "hangs": "it timed out: no result after 0.5 s",
    "nan": "it returned nan",
    "inf": "it returned inf",
    "shape": "it returned a vector of 2, at other points a number",
    "string": "it returned str of dtype <U5, not real numbers",
    "complex": "it returned complex of dtype complex128",
    "none": "it returned None (is a `return` missing?)",
}
LINE = np.arange(8.0)[:, None]
PATIENCE = 0.5


@pytest.fixture(params=["here", "threads", "processes"])
def executor(request):
    if request.param == "here":
        yield None
    elif request.param == "threads":
        with ThreadPoolExecutor(2) as pool:
            yield pool
    else:
        yield request.getfixturevalue("processes")


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize("mood", REASONS)
def test_a_bad_point_is_named_and_the_rest_is_kept(mood, executor, tmp_path):
    f = functools.partial(moody, mood=mood)
    options = {"vectorized": False, "executor": executor, "timeout": PATIENCE if mood == "hangs" else None}
    with Evaluator(f, 1, journal=tmp_path / "raise.db", **options) as evaluate:
        with pytest.raises(EvaluationError) as error:
            evaluate(LINE)
        assert f"at point [3.0] (row 3 of 8): {REASONS[mood]}" in str(error.value)
        assert [failure.index for failure in error.value.failures] == [3]
        assert isinstance(error.value.__cause__, ValueError if mood == "raises" else type(None))
        kept, values = evaluate.journal.get(LINE)
        assert kept[:3].all() and not kept[3]
        assert values[kept].tolist() == (10.0 * LINE[kept, 0]).tolist()
        [(point, reason)] = evaluate.journal.failures()
        assert point.tolist() == [3.0] and reason.startswith(REASONS[mood])
        # The other points are still there to be asked for, and nothing is paid for twice.
        good = np.delete(LINE, 3, axis=0)
        rest = evaluate(good)
        assert rest.values.tolist() == (10.0 * good[:, 0]).tolist() and rest.n_reused == kept.sum()

    with Evaluator(f, 1, journal=tmp_path / "skip.db", tag="moody", on_error="skip", **options) as evaluate:
        result = evaluate(LINE)
        assert (result.n_new, result.n_skipped) == (7, 1) and result.skipped.tolist() == [3]
        assert np.isnan(result.values[3]) and result.kept.sum() == 7
        assert result.failures[0].reason.startswith(REASONS[mood]) and str(result.failures[0]).startswith("[3.0]: ")
        again = evaluate(LINE[3:5])  # not tried again in this run
        assert (again.n_new, again.n_reused, again.skipped.tolist()) == (0, 1, [0])
        assert len(evaluate.failures) == 1
    cured = functools.partial(moody, mood="well")
    with Evaluator(
        cured, 1, vectorized=False, journal=tmp_path / "skip.db", tag="moody"
    ) as evaluate:  # but in the next
        assert evaluate(LINE).n_new == 1 and evaluate.journal.failures() == []


@pytest.mark.parametrize("mood", ["raises", "nan", "hangs"])
def test_a_vectorised_call_that_fails_costs_only_the_bad_point(mood, executor):
    f = functools.partial(moody_rows, mood=mood)
    timeout = PATIENCE if mood == "hangs" else None
    result = Evaluator(f, 1, vectorized=True, executor=executor, on_error="skip", chunk_size=4, timeout=timeout)(LINE)
    assert result.skipped.tolist() == [3]
    assert result.values[result.kept].tolist() == (10.0 * np.delete(LINE[:, 0], 3)).tolist()
    assert result.failures[0].reason.startswith(REASONS[mood])


def test_many_failures_are_counted_and_the_first_is_named():
    with ThreadPoolExecutor(4) as pool, pytest.raises(EvaluationError) as error:
        Evaluator(lambda x: np.where(x[:, 0] > 4.0, np.nan, 1.0), 1, executor=pool)(LINE)
    assert "at point [5.0]" in str(error.value)
    assert error.value.failures[0].index == 5
    assert pickle.loads(pickle.dumps(error.value)).failures[0].index == 5


def test_everything_skipped_is_nan():
    result = Evaluator(lambda x: np.full(len(x), np.nan), 1, on_error="skip")(LINE)
    assert result.n_skipped == 8 and np.isnan(result.values).all() and result.values.shape == (8,)


def test_minus_infinity_is_a_value_only_when_it_is_said_to_be(tmp_path):
    def log(x):
        with np.errstate(divide="ignore"):
            return np.log(x[:, 0])

    with pytest.raises(EvaluationError, match="it returned -inf"):
        Evaluator(log, 1)(LINE)
    for _ in range(2):
        with Evaluator(log, 1, minus_infinity=True, journal=tmp_path / "run.db") as evaluate:
            values = evaluate(LINE).values
        np.testing.assert_array_equal(values, log(LINE))


def test_the_number_of_outputs_may_not_change():
    with pytest.raises(EvaluationError, match=r"at point \[4.0\].*a vector of 3, at other points a vector of 2"):
        Evaluator(lambda x: np.ones(2 if x[0] < 4.0 else 3), 1, vectorized=False)(LINE)


class Unpicklable(Exception):
    def __init__(self, first, second):
        super().__init__("cannot be read back")


def raises_unpicklable(x):
    raise Unpicklable(1, 2)


def test_an_exception_that_cannot_travel_does_not_break_the_pool(processes):
    with pytest.raises(EvaluationError, match="it raised RuntimeError: Unpicklable: cannot be read back") as error:
        Evaluator(raises_unpicklable, 1, executor=processes, vectorized=False)(LINE)
    assert "raises_unpicklable" in error.value.__cause__.__notes__[0]
    assert Evaluator(one_point, 1, executor=processes)(LINE).n_new == 8


def test_an_error_does_not_wait_for_what_has_not_begun():
    begun = []

    def f(x):
        begun.append(x[0])
        if x[0] == 0.0:
            raise ValueError
        time.sleep(0.01)
        return 1.0

    with ThreadPoolExecutor(2) as pool:
        evaluate = Evaluator(f, 1, vectorized=False, executor=pool)
        with pytest.raises(EvaluationError):
            evaluate(np.arange(500.0)[:, None])
        assert len(begun) < 20
        assert evaluate(np.array(begun[1:])[:, None]).n_reused == len(begun) - 1  # all that had begun was finished


def test_a_function_that_holds_a_thread_does_not_hold_the_program():
    code = (
        "import time, numpy as np\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from fwbq.evaluation import Evaluator, EvaluationError\n"
        "with ThreadPoolExecutor(2) as pool:\n"
        "    evaluate = Evaluator(lambda x: time.sleep(1000), 1, vectorized=False, executor=pool, timeout=0.1)\n"
        "    try: evaluate(np.ones((1, 1)))\n"
        "    except EvaluationError as error: print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert "at point [1.0] (row 0 of 1): it timed out: no result after 0.1 s" in run.stdout


def test_the_timeout_thread_keeps_numpys_error_state():
    def log(x):
        return np.log(x[:, 0] - 100.0)

    with np.errstate(invalid="ignore"):
        result = Evaluator(log, 1, vectorized=True, timeout=5.0, on_error="skip")(LINE)
    assert [failure.reason for failure in result.failures] == ["it returned nan"] * 8


# -- lost workers, interruptions, full disks --------------------------------------------------------------------------


def kills_its_process(x, path):
    if x[0] == 5.0:
        with Journal(path, None) as journal:
            while len(journal) < 5:  # the other worker goes on meanwhile
                time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    return 10.0 * x[0]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_broken_pool_is_a_clear_error_that_keeps_what_was_finished(tmp_path):
    path = tmp_path / "run.db"
    tag = "ten times"
    options = {"vectorized": False, "journal": path, "tag": tag, "on_error": "skip"}
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        with Evaluator(functools.partial(kills_its_process, path=path), 1, executor=pool, **options) as evaluate:
            with pytest.raises(EvaluationError, match="BrokenProcessPool") as error:
                evaluate(LINE)
            assert 5 in [failure.index for failure in error.value.failures]
            assert "A new executor and the same journal goes on from there" in str(error.value)
            assert evaluate.journal.get(LINE)[0][:5].all()
    with Evaluator(functools.partial(moody, mood="well"), 1, vectorized=False, journal=path, tag=tag) as evaluate:
        result = evaluate(np.delete(LINE, 3, axis=0))
        assert result.n_reused >= 4 and result.values.tolist() == (10.0 * np.delete(LINE[:, 0], 3)).tolist()


def test_an_executor_that_is_shut_down_is_a_clear_error():
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(EvaluationError, match=r"the executor failed.*shutdown"):
        Evaluator(one_point, 1, executor=pool)(LINE)


class Forgetful(ThreadPoolExecutor):
    """Cancel the first few tasks, as a restarted scheduler does."""

    def __init__(self, forget):
        super().__init__(2)
        self.forget = forget

    def submit(self, fn, /, *args, **kwargs):
        if self.forget:
            self.forget -= 1
            future = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future
        return super().submit(fn, *args, **kwargs)


def test_tasks_that_an_executor_forgot_are_handed_out_again():
    with Forgetful(5) as pool:
        assert Evaluator(one_point, 1, executor=pool, vectorized=False)(LINE).n_new == 8
    with Forgetful(10_000) as pool, pytest.raises(EvaluationError, match="its worker was lost"):
        Evaluator(one_point, 1, executor=pool, vectorized=False)(LINE)


class Deadly(ThreadPoolExecutor):
    """Lose every task with x = 3, and the first task with x = 6 because it waited on the same worker."""

    def __init__(self):
        super().__init__(2)
        self.together = []
        self.innocent = 1

    def submit(self, fn, f, x, *args, **kwargs):
        self.together.append(x[:, 0].tolist())
        if (x == 3.0).any() or ((x == 6.0).any() and self.innocent):
            self.innocent -= (x == 6.0).any()
            future = Future()
            future.set_exception(OSError("worker died"))
            return future
        return super().submit(fn, f, x, *args, **kwargs)


@pytest.mark.parametrize("chunk", [1, 4])
def test_a_point_is_convicted_only_when_its_worker_was_lost_with_nothing_else_on_it(chunk):
    with Deadly() as pool:
        options = {"vectorized": True, "chunk_size": chunk, "executor": pool, "on_error": "skip"}
        result = Evaluator(lambda x: 10.0 * x[:, 0], 1, **options)(LINE)
        assert result.skipped.tolist() == [3] and result.n_new == 7
        assert result.failures[0].reason == "its worker was lost (OSError: worker died)"
        assert result.values[result.kept].tolist() == (10.0 * np.delete(LINE[:, 0], 3)).tolist()
        # Suspects go last; the innocent is called as it was before, the other's points one by one.
        one_by_one = [[0.0], [1.0], [2.0], [3.0]]
        retried = [[3.0], [6.0]] if chunk == 1 else [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], *one_by_one]
        assert pool.together[8 // chunk :] == retried
        with pytest.raises(EvaluationError, match=r"at point \[3.0\] \(row 0 of 1\): its worker was lost"):
            Evaluator(one_point, 1, executor=pool)(LINE[3:4])


@pytest.fixture
def interruptible():
    """Python's own answer to SIGINT, which a parent that ignores the signal (a background shell) takes away."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("workers", [0, 3])
def test_an_interruption_keeps_what_is_done_and_cancels_what_is_pending(workers, tmp_path):
    begun, finished = [], []
    main = threading.main_thread().ident

    def f(x):
        begun.append(x[0])
        if x[0] == 20.0:
            signal.pthread_kill(main, signal.SIGINT)
            time.sleep(0.1)
        finished.append(x[0])
        return 10.0 * x[0]

    x = np.arange(300.0)[:, None]
    pool = ThreadPoolExecutor(workers) if workers else None
    evaluate = Evaluator(f, 1, vectorized=False, executor=pool, journal=tmp_path / "run.db", in_flight=250)
    with pytest.raises(KeyboardInterrupt), evaluate:
        evaluate(x)
    if pool is not None:
        pool.shutdown()
    with Journal(tmp_path / "run.db", None) as journal:
        points, values = journal.evaluations()
    assert len(begun) < 290 and len(points) >= 18
    assert set(points[:, 0]) <= set(finished) and values.tolist() == (10.0 * points[:, 0]).tolist()


def test_a_disk_that_fills_up_loses_nothing(tmp_path):
    calls = Watched(lambda x: np.ones(200) * x[0])
    with Journal(tmp_path / "run.db", {}) as journal, ThreadPoolExecutor(2) as pool:
        evaluate = Evaluator(calls, 1, vectorized=False, journal=journal, executor=pool)
        journal._file.connection().execute("PRAGMA max_page_count=16")
        x = np.arange(60.0)[:, None]
        with pytest.raises(JournalError, match="the disk is full") as error:
            evaluate(x)
        before, called = len(journal), len(calls.rows)
        assert 0 < before < called < 60
        assert f"{called - before} finished evaluation(s) are held in memory" in error.value.__notes__[0]
        with pytest.raises(JournalError, match="the disk is full"):
            evaluate(x)
        journal._file.connection().execute("PRAGMA max_page_count=1000000")
        result = evaluate(x)
        assert len(journal) == len(calls.rows) == 60  # each point once, those from the time of need included
        np.testing.assert_array_equal(result.values, x * np.ones(200))


# -- names, options, progress -----------------------------------------------------------------------------------------


def test_what_cannot_be_is_refused_at_once(tmp_path):
    with pytest.raises(TypeError, match="`f` must be a function"):
        Evaluator(3.0, 1)
    with pytest.raises(TypeError, match=r"`executor` must be a concurrent\.futures\.Executor"):
        Evaluator(one_point, 1, executor=4)
    with pytest.raises(ValueError, match="`on_error`"):
        Evaluator(one_point, 1, on_error="ignore")
    for option, bad in [("timeout", 0.0), ("chunk_size", 0), ("in_flight", 0)]:
        with pytest.raises(ValueError, match=f"`{option}`"):
            Evaluator(one_point, 1, **{option: bad})
    with pytest.raises(ValueError, match=r"\(n, 1\)"):
        Evaluator(one_point, 1)(np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"points\[:, None\]"):
        Evaluator(one_point, 1)(np.ones(3))


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_drawn_on_a_terminal_only_and_can_be_switched_off(monkeypatch):
    drawn = {}
    for terminal in (True, False):
        for switch in (None, True, False):
            stream = Terminal() if terminal else io.StringIO()
            monkeypatch.setattr(sys, "stderr", stream)
            Evaluator(one_point, 1, progress=switch)(LINE)
            drawn[terminal, switch] = bool(stream.getvalue().strip())
    assert drawn[True, None] and drawn[True, True] and drawn[False, True]
    assert not drawn[True, False] and not drawn[False, None] and not drawn[False, False]


@pytest.mark.parametrize(
    ("total", "lines"),
    [(40, [f"work: {n} of 40" for n in range(1, 41, 4)]), (None, [f"work: {n}" for n in (1, 2, 4, 8, 16, 32)])],
)
def test_progress_that_nobody_watches_is_written_as_lines(monkeypatch, total, lines):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress(total, "work", enabled=True) as progress:
        for _ in range(40):
            progress.advance()
    assert stream.getvalue().splitlines() == lines


def test_a_progress_may_span_several_batches(tmp_path):
    with Progress(20, "integrate", enabled=False) as progress:
        with Evaluator(one_point, 1, journal=tmp_path / "run.db", progress=progress) as evaluate:
            evaluate(LINE)
            assert progress.done == 8
            evaluate(np.vstack([LINE, LINE + 100.0]))
            assert progress.done == 16
