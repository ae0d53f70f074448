"""The same seed gives the same bits: whoever evaluates, however f is called, whatever else the machine does."""

import hashlib
import inspect
import os
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import fwbq

NORMAL = fwbq.Gaussian([0.0, 0.0], np.eye(2))


def wave(x):
    return np.exp(np.sin(x[..., 0]) - 0.1 * x[..., 1] ** 2)


def log_normal(x):
    return -0.5 * np.sum(((x - 0.3) / 0.2) ** 2, axis=-1)


def log_wide(x):
    return -0.5 * np.sum((x + 0.1) ** 2, axis=-1)


def digest(*parts):
    total = hashlib.sha256()
    for part in parts:
        total.update(np.ascontiguousarray(part, dtype=np.float64).tobytes())
    return total.hexdigest()[:16]


def integral(**options):
    found = fwbq.integrate(wave, NORMAL, n=24, rng=1, **options)
    return digest(found.mean, found.sd, found.interval(0.9), found.points, found.values, found.variance().mean)


def net(**options):
    found = fwbq.integrate(wave, NORMAL, n=256, method="net", rng=2, **options)
    return digest(found.mean, found.sd, found.points, found.values)


def evidence(**options):
    found = fwbq.evidence(log_normal, NORMAL, n=24, rng=3, **options)
    return digest(found.log_evidence, found.sd, found.points, found.posterior.sample(20, rng=0))


def with_slopes(x):
    return log_normal(x), -(x - 0.3) / 0.2**2


def gradients(**options):
    found = fwbq.evidence(with_slopes, NORMAL, n=24, gradient=True, rng=7, **options)
    return digest(found.log_evidence, found.sd, found.points, found.posterior.sample(20, rng=0))


def comparison(**options):
    models = {"narrow": fwbq.Model(log_normal, NORMAL), "wide": fwbq.Model(log_wide, NORMAL)}
    found = fwbq.compare_models(models, n=20, rng=4, **options)
    return digest(found.evidences.centre, found.evidences.scale, found.points, found.probabilities(50))


def selection(**options):
    data = fwbq.chema.Dataset.simulate(n_enzymes=3, rng=5)
    options.pop("vectorized", None)  # the likelihood is the package's own
    found = fwbq.chema.compare(data, max_enzymes=2, n=10, rng=5, **options)
    return digest(found.evidences.centre, found.evidences.scale, found.probabilities(50))


def combined(**options):
    each, journal = {}, options.pop("journal", None)
    for name, f in {"narrow": log_normal, "wide": log_wide}.items():
        own = {} if journal is None else {"journal": journal.with_name(f"{journal.stem} {name}.db")}
        each[name] = fwbq.evidence(f, NORMAL, n=16, rng=8, **own, **options)
    found = fwbq.compare(each)
    return digest(found.evidences.centre, found.evidences.scale, found.probabilities(50))


def designs():
    embedding = fwbq.embed(fwbq.Matern52(0.7), NORMAL)
    kinds = (fwbq.MonteCarlo, fwbq.QMC, fwbq.FrankWolfe, fwbq.SBQ, fwbq.OBQ, fwbq.RandomPivot, fwbq.BlendedPairwise)
    found = [kind(embedding, rng=6).rule(12 if kind is not fwbq.OBQ else 4) for kind in kinds]
    chain = np.cumsum(np.random.default_rng(6).normal(size=(300, 2)), axis=0)
    return digest(*(x for rule in found for x in (rule.points, rule.weights)), fwbq.thin(chain, 15).points)


def rules():
    embedding = fwbq.embed(fwbq.Matern52(0.7), NORMAL)
    x = np.random.default_rng(9).normal(size=(40, 2))
    found = [make(embedding, x) for make in (fwbq.bayes_rule, fwbq.uniform_rule, fwbq.simplex_rule)]
    found += [fwbq.weighted_rule(embedding, x[:8], x[:8, 0]), fwbq.refine(fwbq.uniform_rule(embedding, x[:8]))]
    posteriors = [fwbq.condition(found[0], wave(found[0].points), amplitude=a) for a in ("marginal", "ml", "loo", 1.0)]
    return digest(
        *(part for rule in found for part in (rule.points, rule.weights, rule.mmd2)),
        *(part for each in posteriors for part in (each.mean, each.sd, each.interval(0.9), each.sample(5, rng=0))),
        fwbq.mmd2(embedding, x, np.full(40, 1.0 / 40.0)),
    )


def functionals():
    found = fwbq.integrate(wave, NORMAL, n=24, rng=1, vectorized=True)
    asked = (found.variance(), found.std(), found.probability(above=1.0), found.quantile(0.9))
    frame = found.sobol().to_frame().select_dtypes("number")
    return digest(*(part for each in asked for part in (each.mean, each.sd, each.interval(0.9))), frame.to_numpy())


def told():
    values = fwbq.Integration(NORMAL, rng=10)
    likelihoods = fwbq.EvidenceRun(NORMAL, n=20, rng=11)
    for run, f in ((values, wave), (likelihoods, log_normal)):
        for size in (10, 10):
            x = run.ask(size)
            run.tell(x, f(x))
    found, other = values.result(), likelihoods.result()
    return digest(found.mean, found.sd, found.points, other.log_evidence, other.sd, other.points)


WITHOUT_CALLS = (designs, rules, functionals, told)
RUNS = {
    run.__name__: run for run in (integral, net, evidence, gradients, comparison, combined, selection, *WITHOUT_CALLS)
}
EVALUATING = [name for name, run in RUNS.items() if run not in WITHOUT_CALLS]

#: What is repeated after other random numbers were drawn.
REPEATED = ("designs", "rules", "functionals", "integral")


#: `load_rule` reads what it returns, and `thin_arviz` is `thin` of another container. `fwbq.chema.network` has its own
#: tests of equal bits.
NOT_RUN = {"load_rule", "thin_arviz"}


def test_every_public_function_is_run():
    public = {name for name in fwbq.__all__ if inspect.isfunction(getattr(fwbq, name))}
    text = Path(__file__).read_text()
    assert {name for name in public if not re.search(rf"\bfwbq\.{name}\b", text)} == NOT_RUN


@pytest.fixture(scope="module")
def alone():
    return {name: run(vectorized=True) if name in EVALUATING else run() for name, run in RUNS.items()}


#: `vectorized` and the executor; None: this process. A function for one point is called with the same numbers.
SETTINGS = {
    "found out": (None, None),
    "one thread": (True, lambda: ThreadPoolExecutor(1)),
    "four threads": (True, lambda: ThreadPoolExecutor(4)),
    "four threads, found out": (None, lambda: ThreadPoolExecutor(4)),
    "processes": (True, lambda: ProcessPoolExecutor(2)),
    "processes, found out": (None, lambda: ProcessPoolExecutor(2)),
    "one point at a time": (False, None),
    "one point at a time in threads": (False, lambda: ThreadPoolExecutor(3)),
    "one point at a time in processes": (False, lambda: ProcessPoolExecutor(2)),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_whoever_evaluates_and_however_f_is_called(alone, setting):
    vectorized, make = SETTINGS[setting]
    found = {}
    for name in EVALUATING:
        if make is None:
            found[name] = RUNS[name](vectorized=vectorized)
        else:
            with make() as executor:
                found[name] = RUNS[name](vectorized=vectorized, executor=executor)
    assert found == {name: alone[name] for name in EVALUATING}


def test_on_a_cluster(alone, dask_cluster):
    with dask_cluster() as client:
        found = {name: RUNS[name](vectorized=True, executor=client.get_executor()) for name in EVALUATING}
    assert found == {name: alone[name] for name in EVALUATING}


@pytest.mark.parametrize("journal", ["new", "finished"])
def test_with_a_journal(alone, tmp_path, journal):
    for name in EVALUATING:
        options = {"journal": tmp_path / f"{name}.db", "vectorized": True}
        if journal == "finished":
            RUNS[name](**options)
        assert RUNS[name](**options) == alone[name]


def test_twice_in_a_process_and_after_other_random_numbers(alone):
    np.random.default_rng().random(3)
    np.random.seed(1)  # noqa: NPY002  the global state that other libraries use
    assert {name: RUNS[name]() for name in REPEATED} == {name: alone[name] for name in REPEATED}


OTHERWHERE = """
import subprocess, sys
from tests import test_same_bits as here
others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3 * ("busy" in sys.argv))]
try:
    print({name: run() for name, run in here.RUNS.items()})
finally:
    for each in others:
        each.kill()
"""


@pytest.mark.parametrize(
    ("variables", "arguments"),
    [
        ({"PYTHONHASHSEED": "1", "OPENBLAS_NUM_THREADS": "1"}, []),
        ({"PYTHONHASHSEED": "2", "OPENBLAS_NUM_THREADS": "4", "OMP_NUM_THREADS": "4"}, []),
        ({"PYTHONHASHSEED": "3", "OPENBLAS_NUM_THREADS": "2", "TZ": "Asia/Tokyo", "LC_ALL": "C"}, ["busy"]),
    ],
    ids=["hash seed", "BLAS threads", "busy machine"],
)
def test_in_another_process(alone, variables, arguments):
    done = subprocess.run(
        [sys.executable, "-c", OTHERWHERE, *arguments], env={**os.environ, **variables}, capture_output=True, text=True,
        cwd=os.path.dirname(os.path.dirname(__file__)), check=True, timeout=600,
    )  # fmt: skip
    assert done.stdout.strip() == str(alone)
