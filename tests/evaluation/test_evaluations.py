"""What an evaluation brings: values, and values with their gradients."""

import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from fwbq import EvaluationError, Gaussian, Journal, JournalError
from fwbq.evaluation import Evaluator
from fwbq.evaluation.evaluations import BadResult, Returns

DIM = 3
WEIGHTS = np.array([1.0, 2.0, -0.5])


def many(x):
    """A log density and its gradient at points (n, d)."""
    return -0.5 * (x**2) @ WEIGHTS**2, -x * WEIGHTS**2


def one(x):
    return float(-0.5 * np.sum((x * WEIGHTS) ** 2)), -x * WEIGHTS**2


def sample(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, DIM))


class Watched:
    def __init__(self, f):
        self.f, self.shapes = f, []

    def __call__(self, x):
        self.shapes.append(x.shape)
        return self.f(x)


def assert_right(found, x):
    values, gradients = many(x)
    assert found.values.shape == (len(x),) and found.gradients.shape == x.shape
    np.testing.assert_allclose(found.values, values, rtol=1e-14)
    np.testing.assert_allclose(found.gradients, gradients, rtol=1e-14)


# -- the calls --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 4, 50])
@pytest.mark.parametrize(("f", "vectorized"), [(many, True), (one, False)])
def test_pairs_are_recognised_and_taken_apart(f, vectorized, n):
    watched = Watched(f)
    evaluate = Evaluator(watched, DIM, gradient=True)
    x = sample(n)
    assert_right(evaluate(x), x)
    assert evaluate.vectorized is vectorized
    assert evaluate.width is None
    told = Watched(f)
    assert_right(Evaluator(told, DIM, gradient=True, vectorized=vectorized)(x), x)
    assert {len(shape) for shape in told.shapes} == {2 if vectorized else 1}


def test_nothing_is_evaluated_twice_and_the_order_is_that_of_the_points():
    watched = Watched(many)
    evaluate = Evaluator(watched, DIM, gradient=True)
    x = sample(20)
    evaluate(x[:15])
    found = evaluate(x[::-1])
    assert_right(found, x[::-1])
    assert (found.n_new, found.n_reused) == (5, 15)
    assert sum(shape[0] for shape in watched.shapes) == 20


def test_without_gradient_there_are_none():
    assert Evaluator(lambda x: x[:, 0], DIM)(sample(4)).gradients is None


def test_lists_and_a_value_in_an_array_of_one_will_do():
    x = sample(3)
    assert_right(Evaluator(lambda p: [np.array([one(p)[0]]), one(p)[1].tolist()], DIM, gradient=True)(x), x)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (
            lambda x: many(x)[0],
            r"ndarray of shape \(2,\) where a pair \(values, gradients\) of shapes \(2,\) and \(2, 3",
        ),
        (lambda x: (*many(x), 0.0), "a tuple of 3 where a pair"),
        (lambda x: (many(x)[0], many(x)[0]), r"shapes \(2,\) and \(2,\) where a pair"),
        (lambda x: (many(x)[0], many(x)[1][..., :2]), r"shapes \(2,\) and \(2, 2\) where a pair"),
        (lambda x: (many(x)[0][:, None], many(x)[1]), r"shapes \(2, 1\) and \(2, 3\) where a pair"),
        (lambda x: (many(x)[0], None), "None as gradient"),
        (lambda x: (many(x)[0], np.full(x.shape, "a")), "as gradient, not real numbers"),
        (lambda x: (many(x)[0], [[1.0], [2.0, 3.0]]), "a list of 2 as gradient, whose parts do not form an array"),
    ],
)
def test_other_shapes_are_refused_in_words(f, words):
    with pytest.raises(EvaluationError, match=words) as caught:
        Evaluator(f, DIM, gradient=True)(sample(2))
    assert "(n, d) -> ((n,), (n, d)), or take one point, (d,) -> (float, (d,))" in str(caught.value)


def test_a_pair_without_gradient_is_refused_in_words():
    with pytest.raises(EvaluationError, match="it returned a tuple of 2, whose parts do not form an array of numbers"):
        Evaluator(many, DIM)(sample(4))


# -- what is not finite -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vectorized", [True, False])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_gradient_that_is_not_finite_is_not_known_and_its_value_is_kept(bad, vectorized, tmp_path):
    def f(x):
        value, gradient = (many if x.ndim == 2 else one)(x)
        gradient = np.where((np.arange(DIM) == 1) & (x[..., :1] > 0.0), bad, gradient)
        return value, gradient

    x = sample(12)
    unknown = x[:, 0] > 0.0
    assert 0 < unknown.sum() < 12
    path = tmp_path / "run.db"
    for _ in range(2):  # the second time from the journal
        with Evaluator(f, DIM, gradient=True, vectorized=vectorized, journal=path, tag="f") as evaluate:
            found = evaluate(x)
        np.testing.assert_allclose(found.values, many(x)[0], rtol=1e-14)
        assert np.isnan(found.gradients[unknown]).all()
        np.testing.assert_allclose(found.gradients[~unknown], many(x)[1][~unknown], rtol=1e-14)
        assert found.n_skipped == 0
    assert found.n_new == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_a_failure(bad):
    def f(x):
        value, gradient = many(x)
        return np.where(x[:, 0] > 0.0, bad, value), gradient

    x = sample(12)
    with pytest.raises(EvaluationError, match=rf"it returned {bad}\."):
        Evaluator(f, DIM, gradient=True)(x)
    found = Evaluator(f, DIM, gradient=True, on_error="skip")(x)
    np.testing.assert_array_equal(found.skipped, np.flatnonzero(x[:, 0] > 0.0))
    assert np.isnan(found.gradients[~found.kept]).all() and np.isfinite(found.gradients[found.kept]).all()


def test_minus_infinity_is_a_value_without_a_gradient(tmp_path):
    def f(x):
        value, gradient = many(x)
        return np.where(x[:, 0] > 0.0, -np.inf, value), gradient

    x = sample(12)
    outside = x[:, 0] > 0.0
    for _ in range(2):
        with Evaluator(f, DIM, gradient=True, minus_infinity=True, journal=tmp_path / "run.db", tag="f") as evaluate:
            found = evaluate(x)
        assert np.isneginf(found.values[outside]).all() and np.isnan(found.gradients[outside]).all()
        assert np.isfinite(found.gradients[~outside]).all()
    assert found.n_new == 0


def test_where_every_point_fails_the_shapes_stay():
    def f(x):
        raise ArithmeticError

    found = Evaluator(f, DIM, gradient=True, on_error="skip", vectorized=True)(sample(4))
    assert found.values.shape == (4,) and found.gradients.shape == (4, DIM)
    assert np.isnan(found.values).all() and np.isnan(found.gradients).all()
    assert Evaluator(f, DIM, gradient=True)(np.empty((0, DIM))).gradients.shape == (0, DIM)


# -- executors and journals -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("f", [many, one])
def test_the_same_bits_in_threads_and_processes(f):
    x = sample(40)
    here = Evaluator(f, DIM, gradient=True)(x)
    with ThreadPoolExecutor(3) as threads, ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        for executor in (threads, processes):
            there = Evaluator(f, DIM, gradient=True, executor=executor)(x)
            assert there.values.tobytes() == here.values.tobytes()
            assert there.gradients.tobytes() == here.gradients.tobytes()


@pytest.mark.parametrize("vectorized", [True, False])
def test_a_run_that_died_goes_on_with_values_and_gradients(tmp_path, vectorized):
    x, path, calls = sample(40), tmp_path / "run.db", []

    def f(p):
        calls.append(p.shape)
        if len(calls) > 6:
            raise KeyboardInterrupt
        return (many if vectorized else one)(p)

    def g(p):
        calls.append(p.shape)
        return (many if vectorized else one)(p)

    how = {"gradient": True, "journal": path, "tag": "f", "measure": Gaussian(np.zeros(DIM), np.eye(DIM))}
    with pytest.raises(KeyboardInterrupt), Evaluator(f, DIM, **how) as evaluate:
        evaluate(x)
    with Journal(path, None) as journal:
        points, rows = journal.evaluations()
        assert rows.shape == (len(points), 1 + DIM) and 0 < len(points) < 40
        np.testing.assert_allclose(rows, np.column_stack(many(points)), rtol=1e-14)
    calls.clear()
    with Evaluator(g, DIM, **how) as evaluate:
        resumed = evaluate(x)
        assert evaluate.vectorized is vectorized
    assert (resumed.n_new, resumed.n_reused) == (40 - len(points), len(points))
    assert sum(shape[0] if vectorized else 1 for shape in calls) == resumed.n_new
    undisturbed = Evaluator(many if vectorized else one, DIM, gradient=True)(x)
    assert resumed.values.tobytes() == undisturbed.values.tobytes()
    assert resumed.gradients.tobytes() == undisturbed.gradients.tobytes()


def test_a_journal_of_values_is_not_one_of_gradients(tmp_path):
    x = sample(5)
    with Evaluator(lambda p: many(p)[0], DIM, journal=tmp_path / "values.db", tag="f") as evaluate:
        evaluate(x)
    with pytest.raises(JournalError, match="gradient: absent in the journal, true here"):
        Evaluator(many, DIM, gradient=True, journal=tmp_path / "values.db", tag="f")
    with Evaluator(many, DIM, gradient=True, journal=tmp_path / "both.db", tag="f") as evaluate:
        evaluate(x)
    with pytest.raises(JournalError, match="gradient: true in the journal, absent here"):
        Evaluator(lambda p: many(p)[0], DIM, journal=tmp_path / "both.db", tag="f")


def test_in_an_open_journal_the_two_are_kept_apart(tmp_path):
    x = sample(5)
    with Journal(tmp_path / "run.db", {}) as journal:
        values = Evaluator(lambda p: many(p)[0], DIM, journal=journal, tag="f")(x)
        both = Evaluator(many, DIM, gradient=True, journal=journal, tag="f")(x)
        assert values.n_new == both.n_new == 5 and values.gradients is None
        assert_right(both, x)
        # Who names the series vouches for what it holds; rows of another length are refused all the same.
        Evaluator(lambda p: many(p)[0], DIM, journal=journal, series="mine")(x)
        with pytest.raises(JournalError, match="it holds a number for each point, and f returns a vector of 4 now"):
            Evaluator(many, DIM, gradient=True, journal=journal, series="mine")(x)


def test_the_journal_checks_what_is_recorded_as_gradients(tmp_path):
    x = sample(2)
    with Journal(tmp_path / "run.db", {}) as journal:
        rows = np.column_stack(many(x))
        rows[0, 2] = np.nan
        stored = journal.record(x, rows, gradient=True)
        np.testing.assert_array_equal(stored, rows)
        np.testing.assert_array_equal(journal.get(x)[1], rows)
        with pytest.raises(ValueError, match=r"must have shape \(2, 4\), a value and its 3 derivatives"):
            journal.record(x, rows[:, :3], gradient=True)
        with pytest.raises(ValueError, match="`values`"):
            journal.record(x, np.full((2, 4), np.nan), gradient=True)
        with pytest.raises(ValueError, match="`values`"):
            journal.record(x, rows)


def test_gradients_in_time():
    found = Evaluator(one, DIM, gradient=True, vectorized=False, timeout=60.0)(sample(3))
    assert_right(found, sample(3))


# -- what f may return ------------------------------------------------------------------------------------------------


def test_rows_are_copies_and_travel():
    returns = pickle.loads(pickle.dumps(Returns(2, gradient=True)))
    values, gradients = np.array([1.0]), np.array([[2.0, 3.0]])
    rows = returns.rows((values, gradients), 1)
    values[:], gradients[:] = 0.0, 0.0
    assert rows.tolist() == [[1.0, 2.0, 3.0]]
    plain = Returns(2).rows(values, 1)
    values[:] = 5.0
    assert plain.tolist() == [0.0]


def test_what_is_accepted():
    plain, logs, gradients = Returns(1), Returns(1, minus_infinity=True), Returns(1, gradient=True)
    rows = np.array([[1.0, np.nan], [2.0, 3.0]])
    assert gradients.accept(rows) and not plain.accept(rows)
    assert not gradients.accept(rows[:, ::-1])
    assert logs.accept(np.array([-np.inf, 0.0])) and not plain.accept(np.array([-np.inf, 0.0]))
    assert not logs.accept(np.array([np.inf, 0.0])) and not logs.accept(np.array(np.nan))


@pytest.mark.parametrize("given", [None, "a", [[1.0], [1.0, 2.0]], np.ma.array([1.0, 2.0], mask=[True, False])])
def test_what_is_no_number_is_named(given):
    with pytest.raises(BadResult, match=r"^it returned"):
        Returns(1).rows(given, 2)
