"""Likelihoods with known evidence: every truth against a computation that shares nothing with its formula."""

import math
import pickle
from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import logsumexp

import fwbq
from studies.problems import lotka_volterra
from studies.problems.likelihoods import FAMILIES, FURTHER, STUDY, tensor_log_evidence
from studies.problems.likelihoods.densities import SHAPES
from studies.problems.likelihoods.truths import line_log_evidence, quasi_random_log_evidence

#: Nodes on each axis of the dense grids, by dimension.
DENSE = {1: 40_001, 2: 801, 3: 97}
#: A narrow core with tails as wide as the prior: more than such a grid resolves.
BEYOND_GRIDS = {"student with 2 degrees, d=3"}


def seed(family, replicate=0):
    return np.random.default_rng([replicate, *family.encode()])


@cache
def drawn(family, replicate=0):
    return FAMILIES[family](seed(family, replicate))


def somewhere(problem, size=5):
    """Points of the prior, or around the start."""
    if problem.prior is not None:
        return problem.prior.sample(size, rng=0)
    return problem.start + problem.scale * np.random.default_rng(0).standard_normal((size, problem.dim))


@pytest.mark.parametrize("family", STUDY)
def test_the_evidence_is_that_of_importance_sampling(family, importance):
    problem = drawn(family)
    value, error = importance(problem)
    assert error < 0.06
    assert abs(value - problem.log_evidence) < 4.5 * error


class Grid:
    """The trapezoidal rule on a box along the axes of a sample: exponentially accurate for smooth integrands."""

    def __init__(self, log_joint, z, weights):
        centre = weights @ z
        self.centre, self.log_joint = centre, log_joint
        self.root = np.linalg.cholesky((weights[:, None] * (z - centre)).T @ (z - centre))
        height = log_joint(z)
        seen = np.linalg.solve(self.root, (z[height > height.max() - 20.0] - centre).T).T
        self.low, self.high = seen.min(axis=0) - 1.0, seen.max(axis=0) + 1.0
        d = z.shape[1]
        while True:  # until all faces of the box are far below the top
            logs = self.logs(DENSE[d] // 3)
            ends = [[logs.take(k, axis=i).max() > logs.max() - 30.0 for i in range(d)] for k in (0, -1)]
            if not np.any(ends):
                break
            longer = 0.2 * (self.high - self.low)
            self.low, self.high = self.low - longer * ends[0], self.high + longer * ends[1]

    def logs(self, nodes):
        axes = [np.linspace(a, b, nodes) for a, b in zip(self.low, self.high, strict=True)]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        parts = np.array_split(grid, 1 + len(grid) // 20_000)
        values = np.concatenate([self.log_joint(self.centre + part @ self.root.T) for part in parts])
        return values.reshape((nodes,) * len(axes))

    def log_evidence(self, nodes):
        volume = np.sum(np.log((self.high - self.low) / (nodes - 1))) + np.sum(np.log(np.diagonal(self.root)))
        return logsumexp(self.logs(nodes)) + volume


@pytest.mark.parametrize("family", [name for name in FURTHER if name != "sample as prior, d=2"])
def test_the_evidence_is_that_of_brute_force(family, tempered, importance):
    """Dense grids over all that is within 30 of the top in up to three dimensions, importance sampling in more."""
    problem = drawn(family)
    if problem.dim > 3 or family in BEYOND_GRIDS:
        value, error = importance(problem)
        assert error < 0.05
        assert abs(value - problem.log_evidence) < 4.5 * error
        return
    log_joint, z, logs = tempered(problem, size=4000)
    weights = np.exp(logs - logsumexp(logs))
    grid = Grid(log_joint, z, weights)
    fine, coarse = (grid.log_evidence(n) for n in (DENSE[problem.dim], 2 * DENSE[problem.dim] // 3))
    # Where the likelihood has a step, grids are right to a share of their spacing, and differ by about as much.
    assert abs(fine - coarse) < 0.02
    rounding = 1e-9 * max(1.0, abs(problem.log_evidence))
    assert abs(fine - problem.log_evidence) < 5.0 * abs(fine - coarse) + max(rounding, problem.accuracy)


def test_the_evidence_under_a_sample_is_a_mean():
    problem = drawn("sample as prior, d=2")
    assert isinstance(problem.prior, fwbq.Empirical)
    likelihoods = np.exp(problem.log_likelihood(problem.prior.points))
    assert problem.log_evidence == pytest.approx(math.log(math.fsum(likelihoods) / len(likelihoods)), abs=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_instances_are_seeded_travel_and_differ(family):
    a, again, b = drawn(family), FAMILIES[family](seed(family)), drawn(family, 1)
    x = somewhere(a)
    values = a.log_likelihood(x)
    assert a.log_evidence == again.log_evidence
    assert a.log_evidence != b.log_evidence or not np.array_equal(values, b.log_likelihood(x))
    assert np.array_equal(values, again.log_likelihood(x))
    assert np.array_equal(pickle.loads(pickle.dumps(a.log_likelihood))(x), values)
    assert a.name in repr(a)


@pytest.mark.parametrize("family", FURTHER)
def test_values_are_those_of_single_points_and_never_nan(family):
    problem = drawn(family)
    x = somewhere(problem, 200)
    values = problem.log_likelihood(x)
    assert values.shape == (200,)
    assert np.all(values < np.inf)  # minus infinity is allowed, NaN is not
    assert np.isfinite(values).any() or family in ("ball, d=3", "plateau, d=2")
    alone = np.concatenate([problem.log_likelihood(row[None]) for row in x[:20]])
    # Sums in another order differ by rounding, of terms as large as the value.
    assert np.allclose(alone, values[:20], rtol=1e-12, atol=1e-9)
    assert (problem.prior is None) == (problem.start is not None) == (problem.scale is not None)


@pytest.mark.parametrize("family", [name for name in FAMILIES if drawn(name).gradient is not None])
def test_gradients_are_the_slopes_of_the_values(family):
    """Differences by complex steps are not possible through every function; central ones of fourth order are."""
    problem = drawn(family)
    x = somewhere(problem, 12)
    x = x[problem.log_likelihood(x) > -1e5]
    slopes = problem.gradient(x)
    assert slopes.shape == x.shape
    width = problem.prior.scale if problem.prior is not None else problem.scale
    for i in range(problem.dim):
        step = 1e-5 * width[i] * np.eye(problem.dim)[i]
        values = [problem.log_likelihood(x + k * step) for k in (-2, -1, 1, 2)]
        found = (values[0] - 8.0 * values[1] + 8.0 * values[2] - values[3]) / (12.0 * step[i])
        # Rounding of the values over the step, and of the derivative of fourth order.
        rounding = 1e-14 * np.max(np.abs(values), axis=0) / step[i]
        assert np.all(np.abs(found - slopes[:, i]) < 1e-6 * np.abs(slopes[:, i]) + 10.0 * rounding + 1e-6 / width[i])


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_know_their_integrals(name):
    shape = SHAPES[name]
    # In coordinates t = sinh(u) even the tails of the Cauchy end.
    found = line_log_evidence(lambda u: shape.log(np.sinh(u)) + np.log(np.cosh(u)), -40.0, 40.0, 4000)
    assert found == pytest.approx(shape.log_integral, abs=1e-9)


def test_rules_refuse_what_they_cannot_resolve():
    with pytest.raises(ValueError, match="not converged"):
        line_log_evidence(lambda t: -0.5 * (t / 1e-7) ** 2, -10.0, 10.0)
    with pytest.raises(ValueError, match="standard error"):
        quasi_random_log_evidence(lambda x: -np.sum(np.abs(x - 9.0), axis=1), np.zeros(4), np.eye(4), 1e-3, 13)


def test_the_tensor_rule_refuses_what_it_cannot_resolve():
    def exact(x):
        return -0.5 * np.sum((x / [0.1, 3.0]) ** 2, axis=1)

    assert np.isclose(tensor_log_evidence(exact, np.array([1.0, 1.0]), 60), np.log(2.0 * np.pi * 0.3), atol=1e-9)

    def wavy(x):
        return exact(x) + np.sin(40.0 * x[:, 1])

    with pytest.raises(ValueError, match="not converged"):
        tensor_log_evidence(wavy, np.array([1.0, 1.0]), 30)


def test_populations_solve_the_equation():
    x = lotka_volterra.MEDIANS[None] * np.array([[0.8, 0.7, 1.1, 0.6, 3.0, 0.6, 1.0, 1.0]])
    a, b, c, e, u, v = x[0, :6]
    exact = solve_ivp(
        lambda t, y: [(a - b * y[1]) * y[0], (e * y[0] - c) * y[1]], (0.0, 20.0), [u, v], t_eval=np.arange(21.0),
        rtol=1e-10, atol=1e-12,
    ).y.T  # fmt: skip
    # The rule with ten steps a year is right to 1e-3; the pelts scatter by a quarter.
    assert np.allclose(lotka_volterra.trajectories(x)[0], np.log(exact), atol=2e-3)


def test_an_overflowing_solution_has_likelihood_zero():
    x = lotka_volterra.MEDIANS * np.ones((2, 1))
    x[1, 3] = 1e6  # lynxes that multiply a million times a year
    values = lotka_volterra.log_likelihood(x)
    assert np.isfinite(values[0])
    assert values[1] == -np.inf or values[1] < -1e6


def test_the_evidence_of_hares_and_lynxes(importance):
    problem = lotka_volterra.lotka_volterra()
    value, error = importance(problem)
    assert error < 0.1
    assert abs(value - problem.log_evidence) < 4.5 * np.hypot(error, lotka_volterra.STANDARD_ERROR)
