"""One BLAS thread inside the library, the user's own number around it and inside the user's functions."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

import fwbq
from fwbq import _threads
from fwbq._threads import one_blas_thread, users_blas_threads

USERS = 2


@pytest.fixture
def blas():
    """Give the numbers of BLAS threads now in force; the user of these tests has set two."""
    shared, own = _threads._libraries()
    libraries = shared + own
    if not libraries:
        pytest.skip("NumPy and SciPy use a BLAS whose threads cannot be set")
    before = [(each, each.get_num_threads()) for each in libraries]
    _threads._set([(each, USERS) for each in libraries])
    if {each.get_num_threads() for each in libraries} != {USERS}:
        pytest.skip("this BLAS was built without threads")
    yield lambda: {each.get_num_threads() for each in libraries}
    _threads._set(before)


def test_one_thread_inside_and_the_users_number_after(blas):
    assert one_blas_thread(blas)() == {1}
    assert blas() == {USERS}


def test_the_number_comes_back_after_an_error(blas):
    @one_blas_thread
    def fails():
        assert blas() == {1}
        raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert blas() == {USERS}


def test_nested_functions(blas):
    @one_blas_thread
    def outer():
        seen = [one_blas_thread(blas)(), blas(), users_blas_threads(blas)(), blas()]
        seen.append(users_blas_threads(one_blas_thread(blas))())
        return [*seen, blas()]

    assert outer() == [{1}, {1}, {USERS}, {1}, {1}, {1}]
    assert blas() == {USERS}


def test_a_number_that_the_user_changes_inside_a_function_of_his_own_stays(blas):
    def change():
        _threads._set([(each, 3) for each in (*_threads._libraries()[0], *_threads._libraries()[1])])

    one_blas_thread(users_blas_threads(change))()
    assert blas() == {3}


@contextmanager
def another_thread_inside():
    """Hold a second thread inside the library."""
    inside, leave = threading.Event(), threading.Event()

    @one_blas_thread
    def waits():
        inside.set()
        assert leave.wait(60)

    other = threading.Thread(target=waits)
    other.start()
    assert inside.wait(60)
    yield
    leave.set()
    other.join()


def test_the_last_of_several_threads_gives_the_number_back(blas):
    with another_thread_inside():
        assert one_blas_thread(blas)() == {1}
        assert blas() == {1}  # the limit belongs to the process, and the other thread is still inside
    assert blas() == {USERS}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_does_not_count_the_threads_of_its_parent(blas):
    with another_thread_inside():
        child = os.fork()
        if child == 0:
            os._exit(0 if blas() == {USERS} and one_blas_thread(blas)() == {1} and blas() == {USERS} else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("pool", [None, ThreadPoolExecutor])
def test_the_integrand_sees_the_users_number(blas, pool):
    seen = []

    def f(x):
        seen.append(blas())
        return np.cos(x[:, 0])

    executor = None if pool is None else pool(1)
    fwbq.integrate(f, fwbq.Gaussian([0.0], [[1.0]]), n=12, rng=0, executor=executor)
    models = {"a": fwbq.Model(f, fwbq.Gaussian([0.0], [[1.0]]))}
    fwbq.compare_models(models, n=12, executor=executor, progress=False)
    fwbq.evidence(f, fwbq.Gaussian([0.0], [[1.0]]), n=12, rng=0, executor=executor)
    fwbq.integrate(f, fwbq.Gaussian([0.0], [[1.0]]), n=64, method="net", rng=0, executor=executor)
    if executor is not None:
        executor.shutdown()
    assert seen
    assert all(each == {USERS} for each in seen)
    assert blas() == {USERS}


@pytest.mark.parametrize(
    "work",
    [
        lambda e: fwbq.FrankWolfe(e, rng=0).take(5),
        lambda e: fwbq.BlendedPairwise(e, rng=0).rule(5),
        lambda e: fwbq.SBQ(e, rng=0).rule(5),
        lambda e: fwbq.RandomPivot(e, rng=0).take(5),
        lambda e: fwbq.MonteCarlo(e, rng=0).rule(5),
        lambda e: fwbq.bayes_rule(e, e.measure.points[:5]),
        lambda e: fwbq.uniform_rule(e, e.measure.points[:5]),
        lambda e: fwbq.simplex_rule(e, e.measure.points[:5]),
        lambda e: fwbq.mmd2(e, e.measure.points[:2], [0.5, 0.5]),
        lambda e: fwbq.condition(fwbq.bayes_rule(e, e.measure.points[:5]), np.arange(5.0)),
    ],
)
def test_every_entry_point_runs_with_one_thread(blas, monkeypatch, work):
    seen = []

    def watched(method):
        def watch(*args, **kwargs):
            seen.append(blas())
            return method(*args, **kwargs)

        return watch

    embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Empirical(np.random.default_rng(0).normal(size=(30, 2))))
    for name in ("__call__", "diag", "columns"):
        monkeypatch.setattr(fwbq.ExpQuad, name, watched(getattr(fwbq.ExpQuad, name)))
    work(embedding)
    assert seen
    assert all(each == {1} for each in seen)
    assert blas() == {USERS}


def test_the_surrogate_of_a_likelihood_is_fitted_with_one_thread(blas, monkeypatch):
    seen = []
    fit = fwbq.inference.surrogate.fit_processes
    monkeypatch.setattr(
        "fwbq.inference.surrogate.fit_processes", lambda *args, **kwargs: seen.append(blas()) or fit(*args, **kwargs)
    )
    run = fwbq.EvidenceRun(fwbq.Gaussian([0.0], [[1.0]]), n=20, rng=0)
    while run.n_evaluations < 20:
        x = run.ask()
        run.tell(x, -(x[:, 0] ** 2))
    asked = len(seen)
    run.result()
    assert 0 < asked < len(seen)
    assert all(each == {1} for each in seen)
    assert blas() == {USERS}


def test_the_same_bits_whatever_the_number_of_threads(blas):
    def answer():
        embedding = fwbq.embed(fwbq.Matern52(0.5), fwbq.Uniform([0.0, 0.0], [1.0, 1.0]))
        return fwbq.SBQ(embedding, candidates=2000, rng=0).rule(150).weights

    two = answer()
    one = one_blas_thread(answer)()
    assert two.tobytes() == one.tobytes()
