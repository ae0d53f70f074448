"""Keywords that are answered, and a number of workers in place of an executor."""

import numpy as np
import pytest

import fwbq

GAUSSIAN = fwbq.Gaussian([0.0, 0.0], np.eye(2))


def f(x):
    return np.exp(-np.sum(x**2, axis=1))


def log_likelihood(x):
    return -np.sum(x**2, axis=1)


def test_a_number_of_workers_gives_the_same_bits():
    for g in (f, lambda x: f(x)):
        alone, together = (fwbq.integrate(g, GAUSSIAN, n=20, rng=0, executor=workers) for workers in (None, 2))
        assert alone.mean == together.mean and alone.sd == together.sd
    alone, together = (fwbq.evidence(log_likelihood, GAUSSIAN, n=20, rng=0, executor=k) for k in (1, 2))
    assert alone.log_evidence == together.log_evidence
    models = {"a": fwbq.Model(log_likelihood, GAUSSIAN)}
    alone, together = (fwbq.compare_models(models, n=10, rng=0, executor=workers) for workers in (None, 2))
    assert alone.log_evidence("a") == together.log_evidence("a")


def test_a_comparison_of_kinetic_models_takes_a_number_of_workers():
    data = fwbq.chema.Dataset.example()
    models = [("E7",), ("E19",), ("E7", "E19")]
    alone, together = (fwbq.chema.compare(data, models=models, n=20, rng=0, executor=k) for k in (None, 2))
    assert alone.log_evidence(("E7",)) == together.log_evidence(("E7",))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fwbq.integrate(f, GAUSSIAN, seed=1), "`seed` is not an option of integrate: use `rng`, as in rng=1"),
        (lambda: fwbq.evidence(log_likelihood, GAUSSIAN, random_state=0), "use `rng`, as in rng=0"),
        (lambda: fwbq.chema.compare(fwbq.chema.Dataset.example(), seed=1), "not an option of compare: use `rng`"),
        (lambda: fwbq.compare_models({}, n_jobs=4), "use `executor`, as in executor=4"),
        (lambda: fwbq.integrate(f, GAUSSIAN, tolerance=1), "did you mean `tol`"),
        (lambda: fwbq.evidence(log_likelihood, measure=GAUSSIAN), "did you mean `prior`"),
        (lambda: fwbq.integrate(f, GAUSSIAN, colour=1), "the options are f, measure, n, tol"),
        (lambda: fwbq.chema.compare(fwbq.chema.Dataset.example(), colour=1), "`colour` is not an option"),
    ],
)
def test_unknown_keywords_are_named_with_what_was_meant(call, words):
    with pytest.raises(TypeError, match=words):
        call()


@pytest.mark.parametrize("workers", [True, 2.5, "four"])
def test_what_is_no_number_of_workers_is_refused(workers):
    with pytest.raises(TypeError, match="`executor` must be"):
        fwbq.integrate(f, GAUSSIAN, n=10, executor=workers)
    with pytest.raises(ValueError, match="`executor` must be"):
        fwbq.integrate(f, GAUSSIAN, n=10, executor=0)


def test_a_class_of_kernels_may_be_named():
    by_name, by_class = (fwbq.integrate(f, GAUSSIAN, n=20, rng=0, kernel=k) for k in ("Matern52", fwbq.Matern52))
    assert by_name.mean == by_class.mean
    by_name, by_class = (
        fwbq.evidence(log_likelihood, GAUSSIAN, n=20, rng=0, kernel=k) for k in ("matern32", fwbq.Matern32)
    )
    assert by_name.log_evidence == by_class.log_evidence
    models = {"a": fwbq.Model(log_likelihood, GAUSSIAN)}
    found = fwbq.compare_models(models, n=10, rng=0, kernel="matern52")
    assert found.settings["kernel"] == "Matern52"
    with pytest.raises(ValueError, match="the names are expquad, matern12, matern32, matern52"):
        fwbq.integrate(f, GAUSSIAN, n=20, kernel="rbf")
