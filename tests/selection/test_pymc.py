"""PyMC models as log joint densities: their evidence, their variables, what is refused."""

import pickle

import numpy as np
import pytest
from scipy import stats

import fwbq

pm = pytest.importorskip("pymc")
import pytensor  # noqa: E402

Y = np.array([0.3, -0.4, 1.1, 0.7])


@pytest.fixture(scope="module", autouse=True)
def interpreted():
    """Run PyTensor's graphs in Python: compiling them to C takes longer than all these tests."""
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        yield


@pytest.fixture(scope="module")
def normal():
    """Two means with a common shift known to be N(0, 1); every integral is Gaussian."""
    with pm.Model() as model:
        shift = pm.Normal("shift", 0.5, 2.0)
        effect = pm.Normal("effect", 0.0, 1.0, shape=(2,))
        pm.Deterministic("total", shift + effect)
        pm.Normal("y", shift + effect[np.array([0, 0, 1, 1])], 0.5, observed=Y)
    return model


@pytest.fixture(scope="module")
def bounded():
    """A positive scale that no data touch, and a proportion: the evidence is that of a beta-binomial."""
    with pm.Model() as model:
        pm.HalfNormal("scale", 1.0, shape=(2,))
        share = pm.Beta("share", 2.0, 3.0)
        pm.Binomial("k", 10, share, observed=3)
    return model


def test_the_density_is_the_joint_density(normal):
    model = fwbq.Model.from_pymc(normal)
    x = np.random.default_rng(0).normal(size=(5, 3))
    prior = stats.norm(0.5, 2.0).logpdf(x[:, 0]) + stats.norm(0.0, 1.0).logpdf(x[:, 1:]).sum(axis=1)
    means = x[:, :1] + x[:, [1, 1, 2, 2]]
    # PyMC holds constants such as log(2 pi) in single precision: seven Gaussian terms, each within 6e-8.
    np.testing.assert_allclose(model(x), prior + stats.norm(means, 0.5).logpdf(Y).sum(axis=1), rtol=1e-12, atol=4.2e-7)


def test_evidence_and_draws(normal):
    model = fwbq.Model.from_pymc(normal, gradient=False)
    found = model.evidence(n=60, rng=0)
    same = np.kron(np.eye(2), np.ones((2, 2)))
    cov = 4.0 * np.ones((4, 4)) + same + 0.25 * np.eye(4)
    # A Gaussian integral is found to the last digits but for those that PyMC's constants lack.
    assert abs(found.log_evidence - stats.multivariate_normal(np.full(4, 0.5), cov).logpdf(Y)) < 1e-6
    data = found.to_arviz(500, variables=model.variables, rng=1).posterior
    assert data["effect"].shape == (4, 500, 2)
    assert set(data.data_vars) == {"shift", "effect", "total"}
    np.testing.assert_allclose(data["total"], data["shift"].to_numpy()[..., None] + data["effect"], atol=1e-12)


def gaussian_evidence():
    same = np.kron(np.eye(2), np.ones((2, 2)))
    return stats.multivariate_normal(np.full(4, 0.5), 4.0 * np.ones((4, 4)) + same + 0.25 * np.eye(4)).logpdf(Y)


def test_gradients_are_those_of_the_values(normal, bounded):
    for pymc_model in (normal, bounded):
        model = fwbq.Model.from_pymc(pymc_model)
        assert model.gradient
        x = np.random.default_rng(0).normal(size=(3, 3))
        values, gradients = model.with_gradients(x)
        np.testing.assert_array_equal(values, model(x))
        h = 1e-5
        for i in range(3):
            step = h * np.eye(3)[i]
            slope = (model(x + step) - model(x - step)) / (2.0 * h)
            # Rounding of values of about ten is 1e-15 of them, over 2e-5; third derivatives of ten, times 1e-10.
            np.testing.assert_allclose(gradients[:, i], slope, atol=1e-7)


def test_evidence_from_gradients(normal):
    found = fwbq.Model.from_pymc(normal).evidence(n=60, rng=0)
    assert found.success
    assert abs(found.log_evidence - gaussian_evidence()) < 4.0 * found.sd < 0.02
    assert "values and gradients" in found.status


def test_a_function_without_a_gradient_is_told_the_remedy():
    import pytensor.tensor as pt
    from pytensor.compile.ops import wrap_py

    @wrap_py(itypes=[pt.dscalar], otypes=[pt.dscalar])
    def black_box(x):
        return np.array(2.0 * x)

    with pm.Model() as model:
        level = pm.Normal("level")
        pm.Normal("y", black_box(level), 1.0, observed=0.5)
    with pytest.raises(ValueError, match="pass `gradient=False`"):
        fwbq.Model.from_pymc(model)
    assert not fwbq.Model.from_pymc(model, gradient=False).gradient


def test_transformed_parameters_have_their_jacobian(bounded):
    model = fwbq.Model.from_pymc(bounded)
    found = model.evidence(n=80, rng=0)
    low, high = found.interval(0.999)
    assert low <= stats.betabinom(10, 2, 3).logpmf(3) <= high
    assert high - low < 1.0
    variables = model.variables(found.posterior.points)
    assert variables["scale"].min() > 0.0
    assert 0.0 < variables["share"].min() < variables["share"].max() < 1.0


def test_a_start_is_given_in_the_models_own_variables(bounded):
    start = fwbq.Model.from_pymc(bounded, start={"scale": [1.0, np.e], "share": 0.25}).start
    np.testing.assert_allclose(start, [0.0, 1.0, np.log(1.0 / 3.0)], rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="`start` names 'shares', but the free variables of `model` are scale, share"):
        fwbq.Model.from_pymc(bounded, start={"shares": 0.25})


def test_where_a_transform_overflows_the_density_is_zero(bounded):
    model = fwbq.Model.from_pymc(bounded)
    with np.errstate(all="ignore"):
        assert model(np.array([[800.0, 0.0, 0.0]]))[0] == -np.inf


def test_beside_other_models(normal):
    def fixed(x):
        return stats.norm(x, 0.5).logpdf(Y).sum(axis=1)

    models = {"pymc": fwbq.Model.from_pymc(normal), "one mean": fwbq.Model(fixed, stats.norm(0.5, 2.0))}
    found = fwbq.compare_models(models, n=40, rng=0)
    assert all(np.isfinite(found.log_evidence(name)) for name in models)


def test_it_can_be_sent_to_other_processes(normal):
    model = fwbq.Model.from_pymc(normal)
    x = np.zeros((1, 3))
    assert pickle.loads(pickle.dumps(model))(x)[0] == model(x)[0]


def test_a_journal_asks_for_a_tag(normal, tmp_path):
    model = fwbq.Model.from_pymc(normal)
    with pytest.raises(TypeError, match="Pass `tag`"):
        model.evidence(n=40, journal=tmp_path / "run.db")
    once, again = (model.evidence(n=40, journal=tmp_path / "run.db", tag="normal") for _ in range(2))
    assert once.log_evidence == again.log_evidence


def test_what_is_no_density_on_all_of_space_is_refused():
    with pm.Model() as counting:
        pm.Poisson("k", 2.0)
    with pytest.raises(ValueError, match="discrete variable 'k'"):
        fwbq.Model.from_pymc(counting)
    with pm.Model() as improper:
        pm.Flat("level")
    with pytest.raises(ValueError, match="no proper prior for 'level'"):
        fwbq.Model.from_pymc(improper)
    with pm.Model() as empty:
        pm.Normal("y", 0.0, 1.0, observed=Y)
    with pytest.raises(ValueError, match="no free variables"):
        fwbq.Model.from_pymc(empty)
    with pytest.raises(TypeError, match=r"`model` must be a pymc\.Model, got int"):
        fwbq.Model.from_pymc(3)


def test_a_pymc_model_in_place_of_a_function_is_answered():
    with pm.Model() as model:
        pm.Normal("x")
    with pytest.raises(TypeError, match=r"use fwbq.Model.from_pymc\(model\).evidence"):
        fwbq.evidence(model)
    with pytest.raises(TypeError, match=r"give fwbq.Model.from_pymc\(model\)"):
        fwbq.compare_models({"a": model})
