"""Models given in the ways of other programs: log joint densities, distributions of scipy.stats, prior transforms."""

import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from scipy import stats

import fwbq

T = np.linspace(0.0, 1.0, 8)
Y = np.array([0.97, 1.26, 1.66, 1.79, 2.21, 2.41, 2.77, 3.05])
NOISE, WIDTH = 0.1, 5.0


def features(k):
    return np.column_stack([T**i for i in range(k)])


def exact(k):
    """Log evidence of a polynomial with k coefficients N(0, WIDTH^2)."""
    cov = NOISE**2 * np.eye(len(T)) + WIDTH**2 * features(k) @ features(k).T
    return float(stats.multivariate_normal(np.zeros(len(T)), cov).logpdf(Y))


def log_likelihood(theta):
    return stats.norm(theta @ features(theta.shape[1]).T, NOISE).logpdf(Y).sum(axis=1)


def log_joint(theta):
    return log_likelihood(theta) + stats.norm(0.0, WIDTH).logpdf(theta).sum(axis=1)


def one_log_likelihood(theta):
    return float(log_likelihood(theta[None, :])[0])


def transform(u):
    u[:] = stats.norm(0.0, WIDTH).ppf(u)  # in place, as examples of nested samplers have it
    return u


def holds(found, truth, level=0.999):
    low, high = found.interval(level)
    # A Gaussian posterior is found to the last digits: rounding is all that is left.
    return low - 1e-9 <= truth <= high + 1e-9


def test_a_comparison_mixes_priors_and_log_joint_densities():
    models = {
        "constant": fwbq.Model(log_likelihood, stats.norm(0.0, WIDTH)),
        "line": fwbq.Model(log_joint, start=[1.0, 1.0], scale=[0.1, 0.2]),
        "parabola": fwbq.Model(log_joint, dim=3),
        "line again": fwbq.Model(log_likelihood, stats.multivariate_normal(np.zeros(2), WIDTH**2 * np.eye(2))),
    }
    found = fwbq.compare_models(models, n=60, race=False, rng=0)
    for name, k in (("constant", 1), ("line", 2), ("parabola", 3), ("line again", 2)):
        low, high = found.log_evidence_interval(name, 0.999)
        assert low - 1e-9 <= exact(k) <= high + 1e-9, name
        assert high - low < 1.0, name
    assert found.names == tuple(models)
    assert found.best in ("line", "line again")


def test_starts_of_their_own_under_one_prior():
    """The likelihood has two narrow peaks; a start tells each model of the one that the other is not told of."""

    def peaks(x):
        return np.logaddexp(*(-0.5 * np.sum(((x - c) / 1e-3) ** 2, axis=1) for c in (-2.0, 2.0)))

    prior = fwbq.Gaussian([0.0, 0.0], np.eye(2))
    models = {side: fwbq.Model(peaks, prior, start=[c, c]) for side, c in (("left", -2.0), ("right", 2.0))}
    for side, c in (("left", -2.0), ("right", 2.0)):
        first = models[side].run(n=20, rng=0).ask()
        assert np.min(np.linalg.norm(first - c, axis=1)) < 1e-9
    assert fwbq.compare_models(models, n=20, rng=0).n_models == 2


def test_evidence_of_one_model():
    assert holds(fwbq.Model(log_joint, dim=2).evidence(n=40, rng=0), exact(2))
    assert holds(fwbq.Model(log_likelihood, stats.norm(0.0, WIDTH)).evidence(n=40, rng=0), exact(1))
    one = fwbq.Model(one_log_likelihood, stats.norm(0.0, WIDTH), vectorized=False)
    assert holds(one.evidence(n=40, rng=0), exact(1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "`measure` is missing.*`dim`.*`start`"),
        ({"dim": 0}, "`dim` must be"),
        ({"dim": 3, "start": [0.0, 0.0]}, "`dim` is 3, but `start` has 2"),
        ({"measure": stats.norm(), "start": [0.0, 0.0]}, "`start` must have a number for each of the 1 parameters"),
        ({"measure": stats.norm(), "scale": 1.0}, "`scale` goes with a log joint"),
        ({"dim": 2, "scale": -1.0}, "`scale` must be positive"),
        ({"dim": 2, "coordinates": fwbq.selection.LogScale([1.0, 1.0])}, "`coordinates` go with a `measure`"),
        ({"measure": 3.0}, "`measure` must be a distribution"),
        ({"dim": 2, "variables": 3.0}, "`variables`"),
    ],
)
def test_what_cannot_be_a_model_is_told(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fwbq.Model(log_joint, **arguments)


@pytest.mark.parametrize(
    ("name", "meant"), [("log_likelihood", "log_integrand"), ("prior", "measure"), ("vectorised", "vectorized")]
)
def test_names_of_other_functions_are_answered(name, meant):
    with pytest.raises(TypeError, match=f"`{name}` is not an option of Model: did you mean `{meant}`"):
        fwbq.Model(np.sum, **{name: None})


def test_shared_points_need_a_prior():
    with pytest.raises(ValueError, match="'joint' is a log joint density, without a prior"):
        fwbq.compare_models({"joint": fwbq.Model(log_joint, dim=2)}, n=10, evidence="linear")


def test_a_journal_keeps_log_joint_densities(tmp_path):
    models = {"line": fwbq.Model(log_joint, dim=2)}
    once, again = (fwbq.compare_models(models, n=20, journal=tmp_path / "run.db", rng=0) for _ in range(2))
    assert once.log_evidence("line") == again.log_evidence("line")
    refused = {"line": fwbq.Model(log_likelihood, fwbq.Gaussian([0.0, 0.0], np.eye(2)))}
    with pytest.raises(fwbq.JournalError):
        fwbq.compare_models(refused, n=20, journal=tmp_path / "run.db", rng=0)


def test_a_model_of_a_nested_sampler():
    model = fwbq.Model.from_prior_transform(one_log_likelihood, transform, 2, names=["level", "slope"])
    found = model.evidence(n=60, rng=0)
    assert holds(found, exact(2))
    draws = model.variables(found.posterior.sample(4000, rng=0))
    # Posterior of a linear model; 4000 draws have a standard error of sd / 63.
    cov = np.linalg.inv(features(2).T @ features(2) / NOISE**2 + np.eye(2) / WIDTH**2)
    mean = cov @ features(2).T @ Y / NOISE**2
    for name, m, sd in zip(("level", "slope"), mean, np.sqrt(np.diagonal(cov)), strict=True):
        assert draws[name].shape == (4000,)
        assert abs(draws[name].mean() - m) < 0.1 * sd


def test_arviz_sees_the_variables():
    pytest.importorskip("arviz")
    model = fwbq.Model(log_joint, dim=2, variables=lambda x: {"slope": x[:, 1], "pair": np.stack([x, -x], axis=1)})
    found = model.evidence(n=30, rng=0)
    data = found.to_arviz(50, variables=model.variables, rng=0).posterior
    assert data["slope"].dims == ("chain", "draw")
    assert data["pair"].shape == (4, 50, 2, 2)
    np.testing.assert_array_equal(data["pair"][0, :, 0, 1], data["slope"][0])
    with pytest.raises(ValueError, match="leave `names` out"):
        found.to_arviz(50, variables=model.variables, names=["a", "b"])
    with pytest.raises(ValueError, match=r"'slope' has shape \(3,\)"):
        found.to_arviz(50, variables=lambda x: {"slope": x[:3, 1]})


def test_both_functions_of_a_nested_sampler_may_take_many_points():
    one = fwbq.Model.from_prior_transform(one_log_likelihood, transform, 2)
    many = fwbq.Model.from_prior_transform(log_likelihood, transform, 2, vectorized=True)
    u = np.random.default_rng(0).random((5, 2))
    kept = u.copy()
    np.testing.assert_allclose(one(u), many(u), rtol=1e-13)
    np.testing.assert_array_equal(u, kept)  # whatever the transform does to its argument


def test_a_prior_transform_of_another_dimension_is_told():
    model = fwbq.Model.from_prior_transform(one_log_likelihood, lambda u: u[:1], 2)
    with pytest.raises(ValueError, match=r"`prior_transform` must return 2 parameters.*\(3, 1\)"):
        model(np.full((3, 2), 0.5))


def test_models_travel_to_other_processes():
    models = {
        "cube": fwbq.Model.from_prior_transform(one_log_likelihood, transform, 2),
        "joint": fwbq.Model(log_joint, dim=2),
    }
    here = fwbq.compare_models(models, n=20, rng=0)
    with ProcessPoolExecutor(1) as pool:
        there = fwbq.compare_models(models, n=20, rng=0, executor=pool)
    for name in models:
        assert here.log_evidence(name) == there.log_evidence(name)


def test_without_pymc_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymc", None)
    with pytest.raises(ImportError, match=r'a model from PyMC needs pymc.*pip install "fwbq\[pymc\]"'):
        fwbq.Model.from_pymc(object())


def one_point(theta):
    """Take one point of two parameters."""
    a, b = theta
    return -0.5 * float(a) ** 2 - 2.0 * float(b) ** 2


def by_coordinates(theta):
    """Take one point; of an array (n, 2) the result has shape (2,), which for two points looks vectorised."""
    return -0.5 * theta[0] ** 2 - 0.5 * theta[1] ** 2 if np.ndim(theta) == 1 else theta[0]


@pytest.mark.parametrize("options", [{}, {"evidence": "linear"}])
def test_functions_of_one_point_are_found_out(options):
    prior = fwbq.Gaussian([0.0, 0.0], np.eye(2))
    models = {
        "one": fwbq.Model(one_point, prior),
        "by coordinates": fwbq.Model(by_coordinates, prior),
        "many": fwbq.Model(lambda x: -0.5 * x[:, 0] ** 2 - 2.0 * x[:, 1] ** 2, prior),
    }
    found = fwbq.compare_models(models, n=40, race=False, rng=0, **options)
    assert found.log_evidence("one") == pytest.approx(found.log_evidence("many"), abs=1e-9)
    assert found.log_evidence("one") == pytest.approx(-0.5 * np.log(10.0), abs=1e-2)
    assert found.log_evidence("by coordinates") == pytest.approx(-np.log(2.0), abs=1e-2)
    assert fwbq.Model(one_point, prior).evidence(n=40, rng=0).log_evidence == pytest.approx(
        -0.5 * np.log(10.0), abs=1e-6
    )


def test_a_function_of_many_points_is_called_with_nothing_else():
    shapes = []

    def many(x):
        shapes.append(x.shape)
        return -0.5 * x[:, 0] ** 2

    fwbq.compare_models({"many": fwbq.Model(many, fwbq.Gaussian([0.0], [[1.0]]))}, n=20, rng=0)
    assert all(len(shape) == 2 for shape in shapes) and sum(shape[0] for shape in shapes) == 20


def test_a_function_of_one_point_that_fails_is_not_tried_with_many_again():
    shapes = []

    def one(x):
        shapes.append(x.shape)
        if float(x[0]) > 0.5:
            raise RuntimeError("the solver gave up")
        return -(float(x[0]) ** 2)

    model = fwbq.Model(one, fwbq.Gaussian([0.0], [[1.0]]))
    with pytest.raises(RuntimeError):
        model(np.array([[0.0], [0.1], [1.0]]))
    assert shapes == [(3, 1), (1,), (1,), (1,)]
    shapes.clear()
    np.testing.assert_array_equal(model(np.array([[0.2], [0.3]])), [-(0.2**2), -(0.3**2)])
    assert shapes == [(1,), (1,)]


@pytest.mark.parametrize("options", [{}, {"evidence": "linear"}])
def test_a_failure_names_the_model_and_its_own_parameters(options):
    prior = fwbq.Gaussian([0.0, 0.0], np.eye(2))

    def fails(x):
        if np.any(x[:, 0] > 0.5):
            raise RuntimeError("the solver gave up")
        return -np.sum(x**2, axis=1)

    models = {"works": fwbq.Model(lambda x: -np.sum(x**2, axis=1), prior), "breaks": fwbq.Model(fails, prior)}
    with pytest.raises(fwbq.EvaluationError, match=r"the log integrand failed at point \[[^],]+, [^],]+\]") as caught:
        fwbq.compare_models(models, n=20, rng=0, **options)
    assert "model 'breaks'" in str(caught.value) and "vectorized" not in str(caught.value)
    for failure in caught.value.failures:
        assert failure.point.shape == (2,) and failure.point[0] > 0.5


# Gradients


def with_gradient(theta):
    r = Y - theta @ features(theta.shape[1]).T
    return log_likelihood(theta), r @ features(theta.shape[1]) / NOISE**2


def one_with_gradient(theta):
    values, gradients = with_gradient(theta[None])
    return values[0], gradients[0]


@pytest.mark.parametrize("f", [with_gradient, one_with_gradient])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_model_with_gradients_is_called_for_values_or_for_both(f, n):
    model = fwbq.Model(f, fwbq.Gaussian(np.zeros(2), WIDTH**2 * np.eye(2)), gradient=True)
    x = np.random.default_rng(0).normal(size=(n, 2))
    values, gradients = model.with_gradients(x)
    np.testing.assert_allclose(values, log_likelihood(x), rtol=1e-13)
    np.testing.assert_allclose(gradients, with_gradient(x)[1], rtol=1e-12)
    np.testing.assert_array_equal(model(x), values)


def test_what_is_no_pair_of_values_and_gradients_is_told():
    prior = fwbq.Gaussian(np.zeros(2), np.eye(2))
    with pytest.raises(TypeError, match=r"`log_integrand` must return values and gradients: it returned ndarray"):
        fwbq.Model(log_likelihood, prior, gradient=True)(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="`gradient=True`"):
        fwbq.Model(log_likelihood, prior).with_gradients(np.zeros((3, 2)))


@pytest.mark.parametrize("race", [True, False])
def test_models_with_gradients_beside_models_without(race):
    def prior(k):
        return fwbq.Gaussian(np.zeros(k), WIDTH**2 * np.eye(k))

    models = {
        "line, values": fwbq.Model(log_likelihood, prior(2)),
        "constant": fwbq.Model(one_with_gradient, prior(1), gradient=True),
        "line": fwbq.Model(with_gradient, prior(2), gradient=True),
        "line again": fwbq.Model(one_with_gradient, prior(2), gradient=True, vectorized=False),
        "cubic": fwbq.Model(with_gradient, prior(4), gradient=True),
    }
    found = fwbq.compare_models(models, n=60, race=race, rng=0)
    assert found.names == tuple(models)
    for name, k in zip(models, (2, 1, 2, 2, 4), strict=True):
        low, high = found.log_evidence_interval(name, 0.999)
        assert low - 1e-9 <= exact(k) <= high + 1e-9, name
    assert found.best.startswith("line")


def test_a_comparison_with_gradients_is_resumed_from_its_journal(tmp_path):
    calls = []

    def counted(theta):
        calls.append(len(theta))
        return with_gradient(theta)

    models = {k: fwbq.Model(counted, fwbq.Gaussian(np.zeros(k), 25.0), gradient=True) for k in (2, 3)}
    options = {"n": 40, "rng": 0, "journal": tmp_path / "run.db", "tag": "polynomials", "race": False}
    one = fwbq.compare_models(models, **options)
    before = len(calls)
    other = fwbq.compare_models(models, **options)
    assert len(calls) == before
    assert [one.log_evidence(k) for k in models] == [other.log_evidence(k) for k in models]


def test_wrong_gradients_in_a_comparison_name_the_model():
    def wrong(theta):
        values, gradients = with_gradient(theta)
        return values, -gradients

    prior = fwbq.Gaussian(np.zeros(2), WIDTH**2 * np.eye(2))
    models = {f.__name__: fwbq.Model(f, prior, gradient=True) for f in (with_gradient, wrong)}
    with pytest.raises(fwbq.WrongGradient) as caught:
        fwbq.compare_models(models, n=40, rng=0)
    assert caught.value.__notes__ == ["in model 'wrong'"]
