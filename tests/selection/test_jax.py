"""Models written in JAX: double precision, few compilations, the gradients of JAX, and what travels."""

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from scipy import stats

import fwbq

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

from fwbq.selection.jax_density import JaxDensity  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
Y = X @ [1.0, 2.0, 0.0, -1.0] + RNG.normal(size=40)
PRIOR = fwbq.Gaussian(np.zeros(4), np.eye(4))
TRUTH = float(stats.multivariate_normal(np.zeros(40), X @ X.T + np.eye(40)).logpdf(Y))


def log_likelihood(x):
    return -0.5 * jnp.sum((Y - X @ x) ** 2) - 20.0 * jnp.log(2.0 * jnp.pi)


def log_joint(x):
    return log_likelihood(x) - 0.5 * jnp.sum(x**2) - 2.0 * jnp.log(2.0 * jnp.pi)


@pytest.mark.parametrize("options", [{"prior": PRIOR}, {"dim": 4}, {"start": [1.0, 1.0, 0.0, 0.0], "scale": 0.2}])
def test_the_evidence_of_a_regression(options):
    model = fwbq.Model.from_jax(log_likelihood if "prior" in options else log_joint, **options)
    found = model.evidence(n=60, rng=0)
    assert found.success
    assert abs(found.log_evidence - TRUTH) < 4.0 * found.sd < 0.02
    assert "values and gradients" in found.status


@pytest.mark.parametrize("x64", [False, True])
def test_double_precision_whatever_jax_is_set_to(x64):
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", x64)
    try:
        x = RNG.normal(size=(5, 4))
        values, gradients = JaxDensity(log_likelihood)(x)
        assert jnp.zeros(1).dtype == (jnp.float64 if x64 else jnp.float32)  # as it was
    finally:
        jax.config.update("jax_enable_x64", before)
    r = Y - x @ X.T
    np.testing.assert_allclose(values, -0.5 * np.sum(r**2, axis=1) - 20.0 * np.log(2.0 * np.pi), rtol=1e-13)
    np.testing.assert_allclose(gradients, r @ X, rtol=1e-11, atol=1e-11)


def test_batches_of_all_sizes_are_compiled_a_few_times():
    traced = []

    def counted(x):
        traced.append(1)
        return -0.5 * jnp.sum(x**2)

    density = JaxDensity(counted)
    for n in range(1, 34):
        values, gradients = density(np.full((n, 2), float(n)))
        assert values.tolist() == [-float(n * n)] * n
        assert gradients.shape == (n, 2)
    assert len(traced) == 7  # for 1, 2, 4, ..., 64 points


def test_it_travels_to_other_processes():
    model = fwbq.Model.from_jax(log_likelihood, PRIOR)
    model(np.zeros((1, 4)))  # compiled here
    again = pickle.loads(pickle.dumps(model))
    assert again(np.ones((2, 4))).tolist() == model(np.ones((2, 4))).tolist()


def test_on_a_pool_of_processes():
    model = fwbq.Model.from_jax(log_likelihood, PRIOR)
    # JAX has threads, which a fork does not survive.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = model.evidence(n=40, rng=0, executor=pool)
    assert found.log_evidence == model.evidence(n=40, rng=0).log_evidence


def test_zero_likelihood_has_no_gradient():
    model = fwbq.Model.from_jax(lambda x: jnp.where(x[0] > 0.0, -x[0], -jnp.inf), dim=1, start=[1.0])
    values, gradients = model.with_gradients(np.array([[-1.0], [2.0]]))
    assert values.tolist() == [-np.inf, -2.0]
    assert np.isnan(gradients[0, 0]) and gradients[1, 0] == -1.0


def test_what_is_no_function_is_told():
    with pytest.raises(TypeError, match="`log_density`"):
        fwbq.Model.from_jax(3.0, dim=2)
    with pytest.raises(ValueError, match="`start`"):
        fwbq.Model.from_jax(log_joint)


def test_variables_are_kept():
    model = fwbq.Model.from_jax(log_joint, dim=4, variables=lambda x: {"slope": x[:, 0]})
    data = model.evidence(n=60, rng=0).to_arviz(100, variables=model.variables, rng=0)
    assert set(data.posterior.data_vars) == {"slope"}
