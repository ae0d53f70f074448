"""Which families of kernels are tried, and what the ANOVA kernel is worth."""

import numpy as np
import pytest
from scipy import stats

import fwbq
from fwbq.integration.model import KernelModel
from fwbq.process import ANOVA, FAMILIES, SCALE_MIXTURES

CORRELATED = 0.5 * np.eye(3) + 0.5
TURNED = [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]


@pytest.mark.parametrize(
    ("measure", "families"),
    [
        (fwbq.Uniform([0.0, 0.0], [1.0, 1.0]), FAMILIES),
        (fwbq.Uniform(np.zeros(3), np.ones(3)), (*FAMILIES, ANOVA)),
        (fwbq.Gaussian(np.zeros(3), CORRELATED), (*FAMILIES, ANOVA)),  # in whitened coordinates
        (fwbq.Product([stats.gamma(2.0), stats.norm(), stats.uniform()]), (*FAMILIES, ANOVA)),
        (fwbq.Copula([stats.gamma(2.0), stats.norm(), stats.uniform()], CORRELATED), (*FAMILIES, ANOVA)),
        (fwbq.Empirical(np.random.default_rng(0).random((50, 3))), FAMILIES),
        (fwbq.GaussianMixture([0.5, 0.5], np.zeros((2, 3)), [CORRELATED, TURNED]), SCALE_MIXTURES),
    ],
    ids=["two inputs", "uniform", "correlated Gaussian", "product", "copula", "sample", "mixture"],
)
def test_the_families_that_are_tried(measure, families):
    assert KernelModel(measure, None, "calibrated", None).families == families


def test_a_class_that_is_given_is_the_only_one_tried():
    model = KernelModel(fwbq.Uniform(np.zeros(3), np.ones(3)), fwbq.Matern32, "calibrated", None)
    assert [family.name for family in model.families] == ["Matern32"]


def test_a_sum_of_functions_of_one_input_is_integrated_as_one():
    """Against the four other families on the same points: a tenth of the half-width, and the truth within it."""
    measure = fwbq.Uniform(np.zeros(6), np.ones(6))

    def f(x):
        return np.sin(6.0 * x[:, 0]) + np.exp(x[:, 1]) + 5.0 * (x[:, 2] - 0.5) ** 2 + x[:, 3]

    truth = (1.0 - np.cos(6.0)) / 6.0 + np.e - 1.0 + 5.0 / 12.0 + 0.5
    result = fwbq.integrate(f, measure, n=60, rng=1)
    low, high = result.interval(0.95)
    assert low < truth < high
    model = KernelModel(measure, None, "calibrated", None)
    model.families = FAMILIES
    without = model.conclude(result.points, result.values)
    assert high - low < 0.1 * np.ptp(without.interval(0.95))


def test_a_run_with_an_anova_kernel_survives_a_file(tmp_path):
    def f(x):
        return np.sin(6.0 * x[:, 0]) + np.exp(x[:, 1]) + x[:, 2] ** 2

    run = fwbq.Integration(fwbq.Uniform(np.zeros(4), np.ones(4)), rng=0)
    for size in (9, 27):
        x = run.ask(size)
        run.tell(x, f(x))
    run.save(tmp_path / "run.json")
    again = fwbq.Integration.load(tmp_path / "run.json")
    assert "Anova" in repr(run._state.search[1])
    assert np.array_equal(again.ask(5), run.ask(5))
    assert again.result().mean == run.result().mean


def test_main_effects_are_exact_under_the_anova_kernel():
    """Those of the fitted process, whose mean is a sum of products over coordinates, are integrals in closed form."""

    def f(x):
        return np.sin(6.0 * x[:, 0]) + np.exp(x[:, 1]) + x[:, 2] ** 2

    result = fwbq.integrate(f, fwbq.Uniform(np.zeros(3), np.ones(3)), n=60, rng=0)
    indices = result.sobol()
    variances = np.array([0.5 - np.sin(12.0) / 24.0 - ((1.0 - np.cos(6.0)) / 6.0) ** 2, 0.0, 4.0 / 45.0])
    variances[1] = (np.e**2 - 1.0) / 2.0 - (np.e - 1.0) ** 2
    np.testing.assert_allclose(indices.first.mean, variances / variances.sum(), atol=1e-3)
