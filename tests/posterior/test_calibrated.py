"""The scale of an error that sits in a part of the space."""

import numpy as np
import pytest

import fwbq
from fwbq.posterior import amplitudes, calibrated, condition
from fwbq.posterior.calibrated import CONTRADICTED, LOCAL, LOCAL_SCALE, SPREAD, _local


def shared(n, k, total=1.0):
    """The squares of what leaving out each of n values does, of which k share the total."""
    return np.where(np.arange(n) < k, total / k, 0.0)


@pytest.mark.parametrize("k", [1, 150, 200, 250, 400, 1000])
def test_an_error_is_local_where_a_small_part_of_the_points_has_it(k):
    n = 1000
    expected = 2.0 * LOCAL_SCALE * float(np.clip((SPREAD - k / n) / (SPREAD - LOCAL), 0.0, 1.0))
    assert float(_local(shared(n, k, 4.0))) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_it_is_of_the_size_of_the_error_and_apart_for_each_integral():
    shifts = np.column_stack([shared(100, 1), shared(100, 1, 9.0), shared(100, 100), np.zeros(100)])
    np.testing.assert_allclose(_local(shifts), LOCAL_SCALE * np.array([1.0, 3.0, 0.0, 0.0]), atol=1e-12)


def rule_with(rough):
    """The rule of a kernel that is analytic but for a Matern 3/2 remainder with this variance, on [0, 1]."""
    kernel = fwbq.ExpQuad(0.3) + fwbq.Matern32(0.3, variance=rough)
    embedding = fwbq.embed(kernel, fwbq.Uniform([0.0], [1.0]))
    return fwbq.bayes_rule(embedding, (np.arange(24)[:, None] + 0.5) / 24, prior_mean="constant")


def widening(rule, values):
    """How many times as wide as the amplitudes alone make it the posterior is."""
    found = amplitudes(rule, values)
    plain = condition(rule, values, amplitude="marginal").scale * np.sqrt(found.largest / found.ml)
    return float(calibrated(rule, values).scale / plain), float(found.influence / found.ml)


def test_without_kinks_only_values_that_contradict_the_kernel_widen_the_interval():
    smooth, rough = rule_with(1e-6), rule_with(1e-2)
    x = smooth.points[:, 0]
    calm, ratio = widening(smooth, np.exp(x))
    assert ratio < CONTRADICTED
    assert calm == pytest.approx(1.0, rel=1e-12)
    assert widening(rough, np.exp(x))[0] > 1.01
    # Singular at the end: only the outermost points show it.
    torn, ratio = widening(smooth, np.sqrt(x))
    assert ratio > CONTRADICTED
    assert torn > 1.01
