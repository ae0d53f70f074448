"""Marginal likelihood, priors, the search, calibration and the averaged posterior."""

import mpmath
import numpy as np
import pytest
from scipy import integrate as quadrature
from scipy import linalg, stats

import fwbq
from fwbq import posterior, process
from fwbq._linalg import CholeskyFactor
from fwbq.kernels import Differences
from fwbq.posterior import AveragedPosterior, IntegralPosterior
from fwbq.posterior.calibrated import CONTRADICTED, NO_KINKS
from fwbq.process import FAMILIES, LengthscalePrior, Objective, Regression
from fwbq.process.basis import basis_functions
from fwbq.process.families import ANOVA
from fwbq.process.likelihood import JITTER
from fwbq.process.search import MEMBERS, WEIGHT_LOOK, _draws, _looks, _members, _Peak

ALL = [*process.FAMILIES, process.ANOVA, *process.SCALE_MIXTURES]
X = np.random.default_rng(0).uniform(size=(9, 2))
F = np.sin(4.0 * X[:, 0]) + X[:, 1] ** 2


def theta_for(family, rng):
    prior = LengthscalePrior(np.array([0.3, 0.5]))
    return prior.location(family) + 0.3 * rng.standard_normal(len(prior.location(family)))


# -- likelihood


def test_likelihood_with_everything_integrated_out_by_quadrature():
    x = np.array([[0.0], [0.4], [1.0]])
    f = np.array([0.3, -0.2, 0.9])
    K = fwbq.Matern32(0.7)(x) + JITTER * np.eye(3)

    def density(log_a, b, constant):
        a = np.exp(log_a)
        return stats.multivariate_normal(np.full(3, b * constant), a * K).pdf(f)

    # p(a) da = da / a = d log a
    zero, _ = quadrature.quad(lambda t: density(t, 0.0, 0), -12, 25, limit=200)
    assert process.log_likelihood(K - JITTER * np.eye(3), f, constant=False) == pytest.approx(np.log(zero), abs=1e-7)
    both, _ = quadrature.dblquad(
        lambda b, t: density(t, b, 1),
        -8,
        20,
        lambda t: -60.0 * np.exp(t / 2) - 1,
        lambda t: 60.0 * np.exp(t / 2) + 1,
        epsabs=1e-9,
    )
    assert process.log_likelihood(K - JITTER * np.eye(3), f) == pytest.approx(np.log(both), abs=2e-3)


@pytest.mark.parametrize("constant", [True, False])
def test_likelihood_against_high_precision(constant):
    K = fwbq.ExpQuad([0.5, 0.8])(X)
    with mpmath.workdps(50):
        A = mpmath.matrix(K.tolist()) + mpmath.mpf(JITTER) * mpmath.eye(len(X))
        inverse = A**-1
        f, one = mpmath.matrix(F.tolist()), mpmath.matrix([1] * len(X))
        q = int(constant)
        df = len(X) - q
        P = inverse
        total = mpmath.mpf(0)
        if constant:
            s = (one.T * inverse * one)[0]
            P = inverse - (inverse * one) * (one.T * inverse) / s
            total = -mpmath.log(s) / 2
        S = (f.T * P * f)[0]
        total += (
            mpmath.loggamma(mpmath.mpf(df) / 2)
            - mpmath.mpf(df) / 2 * mpmath.log(mpmath.pi * S)
            - mpmath.log(mpmath.det(A)) / 2
        )
    assert process.log_likelihood(K, F, constant=constant) == pytest.approx(float(total), abs=1e-6)


@pytest.mark.parametrize(("noisy", "share"), [(False, 1.0), (True, 0.5)])
@pytest.mark.parametrize("mean", ["none", "constant", "quadratic"])
@pytest.mark.parametrize("family", ALL, ids=lambda f: f.name)
def test_objective_is_likelihood_and_prior_with_their_gradient(family, mean, noisy, share):
    theta = theta_for(family, np.random.default_rng(1))
    values = np.column_stack([F, np.cos(3.0 * X.sum(axis=1))])
    pairs = Differences.of(X)
    k, _ = family.pullback(theta, pairs)
    np.testing.assert_allclose(pairs.matrix(k, 1.0), family.gram(theta, X), rtol=1e-12, atol=1e-15)
    prior = LengthscalePrior(np.full(X.shape[1], 0.7))
    H = None if mean == "none" else basis_functions(mean, X)
    noise = np.linspace(0.0, 0.2, len(X)) if noisy else np.zeros(len(X))
    objective = Objective(family, prior, pairs, values, H, noise, share=share)

    def direct(at):
        C = family.gram(at, X) + np.diag(noise)
        shift = at - prior.location(family)
        likelihood = Regression(CholeskyFactor.with_jitter(C, JITTER), values, H).log_likelihood()
        return share * likelihood - 0.5 * shift @ prior.precision(family) @ shift

    value, gradient = objective.gradient(theta)
    assert value == pytest.approx(direct(theta), rel=1e-9) == objective.value(theta)
    for i, h in enumerate(1e-5 * np.eye(len(theta))):
        assert gradient[i] == pytest.approx((direct(theta + h) - direct(theta - h)) / 2e-5, rel=2e-4, abs=2e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_curvature_is_minus_the_second_derivative(weighted):
    """Against second differences of the value; one-sided differences of a weighted family are less accurate."""
    prior = LengthscalePrior(np.full(X.shape[1], 0.7))
    family = ANOVA if weighted else FAMILIES[1]
    objective = Objective(family, prior, Differences.of(X), F - F[0], np.ones((len(X), 1)))
    theta = objective.location + 0.1
    p, h = len(theta), 1e-3
    unit = h * np.eye(p)
    expected = np.array([
        [
            -sum(s * t * objective.value(theta + s * unit[i] + t * unit[j]) for s in (1, -1) for t in (1, -1))
            / (4.0 * h**2)
            for j in range(p)
        ]
        for i in range(p)
    ])  # fmt: skip
    found = objective.curvature(theta)
    np.testing.assert_allclose(found, expected, atol=0.02 * np.abs(expected).max())


def test_objective_is_stationary_at_its_maximum():
    prior = LengthscalePrior(np.full(X.shape[1], 0.7))
    objective = Objective(FAMILIES[1], prior, Differences.of(X), F - F[0], np.ones((len(X), 1)))
    theta, height = objective.maximise([objective.location], iterations=200, ftol=1e-14, gtol=1e-6)
    value, gradient = objective.gradient(theta)
    assert height == value > objective.value(objective.location)
    curvature = objective.curvature(theta)
    # A Newton step from there is nothing beside the width of the peak, and no direction leads up.
    assert np.linalg.eigvalsh(curvature)[0] > 0.0
    assert gradient @ np.linalg.solve(curvature, gradient) < 1e-4


def test_columns_add_up_and_constant_ones_say_nothing():
    K = fwbq.Matern52(0.5)(X)
    g = np.cos(X[:, 0])
    both = process.log_likelihood(K, np.column_stack([F, g, np.full(len(X), 2.5)]))
    assert both == pytest.approx(process.log_likelihood(K, F) + process.log_likelihood(K, g), rel=1e-12)


def test_likelihood_shifts_with_the_scale_only_through_its_jacobian():
    K = fwbq.Matern52(0.5)(X)
    df = len(X) - 1
    change = process.log_likelihood(K, 7.0 * F + 100.0) - process.log_likelihood(K, F)
    assert change == pytest.approx(-df * np.log(7.0), abs=1e-6)
    # The amplitude is integrated out: a factor on the kernel changes nothing.
    assert process.log_likelihood(4.0 * K, F) == pytest.approx(process.log_likelihood(K, F), abs=1e-10)


# -- families and prior


@pytest.mark.parametrize("family", ALL, ids=lambda f: f.name)
def test_families_have_unit_variance(family):
    kernel = family.kernel(theta_for(family, np.random.default_rng(2)), 2)
    np.testing.assert_allclose(kernel.diag(X), 1.0, rtol=1e-12)


@pytest.mark.parametrize(("family", "nu"), list(zip(process.SCALE_MIXTURES[:3], (0.5, 1.5, 2.5), strict=True)))
def test_scale_mixtures_resemble_the_radial_matern(family, nu):
    r = np.linspace(0.0, 3.0, 61)
    k = family.kernel(np.array([0.0]), 1)(r[:, None], np.zeros((1, 1)))[:, 0]
    s = np.sqrt(2 * nu) * r
    exact = {0.5: 1.0, 1.5: 1.0 + s, 2.5: 1.0 + s + s * s / 3.0}[nu] * np.exp(-s)
    assert np.abs(k - exact).max() < 0.06


def test_prior_is_the_normal_law_it_says():
    prior = LengthscalePrior(np.array([0.5, 2.0, 1.0]))
    plain, rough = process.FAMILIES[0], process.FAMILIES[-1]
    np.testing.assert_allclose(prior.location(plain), np.log([0.5, 2.0, 1.0]) + np.log(2.0 * np.sqrt(3.0)))
    cov = np.linalg.inv(prior.precision(plain))
    np.testing.assert_allclose(np.diag(cov), 1.49)
    np.testing.assert_allclose(cov[0, 1], 1.0)
    assert np.linalg.inv(prior.precision(rough))[3, 3] == pytest.approx((3 * np.log(10)) ** 2)
    for family in (plain, rough):
        bounds = np.array(prior.bounds(family))
        assert (bounds[:, 0] < prior.location(family)).all()
        assert (prior.location(family) < bounds[:, 1]).all()


# -- the search


def sample(kernel, n, d, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, d))
    return x, np.linalg.cholesky(kernel(x) + 1e-10 * np.eye(n)) @ rng.standard_normal(n)


def test_length_scales_of_samples_are_found():
    found = []
    for seed in range(6):
        x, f = sample(fwbq.Matern32([0.2, 1.5]), 60, 2, seed)
        theta = process.fit(x, f, scale=np.full(2, 0.29), families=process.FAMILIES[1:2], draws=0).theta
        found.append(theta)
    middle = np.exp(np.median(found, axis=0))
    assert 0.1 < middle[0] < 0.4
    assert middle[1] > 0.7


@pytest.mark.parametrize(("kernel", "expected"), [(fwbq.Matern12(0.5), 0), (fwbq.ExpQuad(0.3), 3)])
def test_smoothness_of_samples_is_found(kernel, expected):
    weights = np.zeros(4)
    for seed in range(3):
        x, f = sample(kernel, 40, 1, seed)
        for member in process.fit(x, f, scale=np.array([0.29])).members:
            weights[process.FAMILIES.index(member.family)] += member.weight / 3
    assert weights[expected] > 0.6


def test_a_search_in_stages_is_the_same_with_and_without_memory():
    x, f = sample(fwbq.Matern52([0.5, 2.0]), 40, 2, 5)
    options = {"scale": np.full(2, 0.29), "stages": (8, 16, 32), "draws": 0}
    memory = {}
    for n in (8, 16, 32):
        process.fit(x[:n], f[:n], memory=memory, **options)
    remembered = len(memory)
    after, alone = process.fit(x, f, memory=memory, **options), process.fit(x, f, **options)
    assert remembered == 3
    assert len(memory) == 4
    assert after.family is alone.family
    assert np.array_equal(after.theta, alone.theta)


@pytest.mark.parametrize("family", process.FAMILIES, ids=lambda family: family.name)
def test_a_search_in_stages_ends_at_the_same_maximum(family):
    x, f = sample(fwbq.Matern32([0.3, 1.0]), 60, 2, 7)
    heights = []
    for stages in ((), (8, 16, 32)):
        memory = {}
        process.fit(x, f, scale=np.full(2, 0.29), families=[family], draws=0, stages=stages, memory=memory)
        heights.append(memory[x.tobytes() + f.tobytes()][0][1])
    # A search ends when a step gains less than 1e-6 of the objective, which is about 100.
    assert abs(heights[1] - heights[0]) < 0.01


def test_the_share_of_the_remainder_is_sought_from_both_ends():
    """A sample of Matern32 has a maximum where ExpQuad explains all, 18 lower than where the remainder does."""
    x, f = sample(fwbq.Matern32([0.3, 1.0]), 60, 2, 7)
    family = FAMILIES[3]
    memory = {}
    found = process.fit(x, f, scale=np.full(2, 0.29), families=[family], draws=0, memory=memory)
    ((_, height),) = memory[x.tobytes() + f.tobytes()]
    objective = Objective(family, LengthscalePrior(np.full(2, 0.29)), Differences.of(x), f - f[0], np.ones((60, 1)))
    scaled = height - objective.value(found.theta)  # the search is of values scaled by a power of two
    for log_share in (-20.0, -9.0, 0.0, 3.0):
        start = np.append(objective.location[:2], log_share)
        _, other = objective.maximise([start], iterations=60, ftol=1e-8)
        assert height - scaled > other - 0.01
    assert found.theta[2] > -1.0


def test_sums_of_functions_of_one_coordinate_are_recognised():
    """The ANOVA family is the most probable by far, in stages too, and finds that weights are small."""
    x = stats.qmc.Sobol(6, seed=np.random.default_rng(0)).random(64)
    f = np.sin(6.0 * x[:, 0]) + np.exp(x[:, 1]) + 5.0 * (x[:, 2] - 0.5) ** 2 + x[:, 3]
    for stages in ((), (11, 44)):
        memory = {}
        found = process.fit(
            x, f, scale=np.full(6, 0.29), families=[*FAMILIES, process.ANOVA], draws=0, stages=stages, memory=memory
        )
        heights = [height for _, height in memory[x.tobytes() + f.tobytes()]]
        assert found.family is process.ANOVA
        assert heights[4] > max(heights[:4]) + 20.0
        assert np.mean(found.theta[6:12]) < 0.0


def test_a_product_kernel_is_a_limit_of_the_weighted_family():
    """With large weights the ANOVA kernel is that of the family with the same lengths and share."""
    product, anova = FAMILIES[3], process.ANOVA
    theta = np.array([0.1, -0.4, -3.0])
    weighted = np.array([0.1, -0.4, 25.0, 25.0, -3.0])
    np.testing.assert_allclose(anova.gram(weighted, X), product.gram(theta, X), rtol=1e-9)
    pairs, u = Differences.of(X), np.linspace(-1.0, 1.0, 36)
    slopes, others = anova.pullback(weighted, pairs)[1](u), product.pullback(theta, pairs)[1](u)
    np.testing.assert_allclose(slopes[[0, 1, 4]], others, rtol=1e-8)
    np.testing.assert_allclose(slopes[2:4], 0.0, atol=1e-9)


def test_a_search_in_other_units_ends_at_the_same_maximum():
    x, f = sample(fwbq.Matern52([0.5, 2.0]), 30, 2, 3)
    objective = Objective(
        FAMILIES[2], LengthscalePrior(np.full(2, 0.29)), Differences.of(x), f - f[0], np.ones((30, 1))
    )
    options = {"iterations": 60, "ftol": 1e-10, "gtol": 1e-5}
    theta, height = objective.maximise([objective.location], **options)
    scaled, same = objective.maximise([objective.location], unit=np.array([0.1, 0.3]), **options)
    # The slope at the end is below 1e-5 (1e-4 in units of 0.1), and the curvature at least that of the prior, 0.4.
    np.testing.assert_allclose(scaled, theta, atol=1e-3)
    assert same == pytest.approx(height, abs=1e-7)


@pytest.mark.parametrize("family", [FAMILIES[0], FAMILIES[3], process.ANOVA], ids=lambda family: family.name)
def test_the_precision_of_the_prior_is_the_inverse_of_its_covariance(family):
    prior = LengthscalePrior(np.array([0.3, 1.0, 2.0]))
    blocks = [np.full((3, 3), prior.common**2) + prior.apart**2 * np.eye(3)]
    if family.weighted:
        blocks.append(np.full((3, 3), 9.0) + np.eye(3))
    if family.remainder is not None:
        blocks.append(np.array([[(3.0 * np.log(10.0)) ** 2]]))
    covariance = linalg.block_diag(*blocks)
    np.testing.assert_allclose(prior.precision(family) @ covariance, np.eye(len(covariance)), atol=1e-14)
    sd = np.sqrt(np.diagonal(covariance))
    np.testing.assert_allclose(np.diff(prior.bounds(family), axis=1)[:, 0], 20.0 * sd, rtol=1e-12)


def test_a_stage_of_equal_values_is_passed_over():
    x = np.linspace(0.0, 1.0, 20)[:, None]
    f = np.where(x[:, 0] > 0.5, x[:, 0], 0.5)
    staged = process.fit(x, f, scale=np.array([0.29]), stages=(8,), draws=0)
    assert np.array_equal(staged.theta, process.fit(x, f, scale=np.array([0.29]), draws=0).theta)


def test_fit_is_a_maximum():
    x, f = sample(fwbq.Matern52(0.5), 25, 2, 3)
    family = process.FAMILIES[2]
    prior = LengthscalePrior(np.full(2, 0.29))
    theta = process.fit(x, f, scale=prior.scale, families=[family], draws=0).theta

    def posterior(t):
        shift = t - prior.location(family)
        return process.log_likelihood(family.gram(t, x), f) - 0.5 * shift @ prior.precision(family) @ shift

    rng = np.random.default_rng(0)
    assert all(posterior(theta) > posterior(theta + 0.05 * rng.standard_normal(2)) - 1e-3 for _ in range(20))


@pytest.fixture(scope="module")
def one_length():
    """An objective of one log length-scale, and its density on a fine grid, normalised with the prior's constant."""
    x, f = sample(fwbq.Matern32(0.4), 12, 1, 5)
    objective = Objective(
        FAMILIES[1], LengthscalePrior(np.array([0.29])), Differences.of(x), f - f[0], np.ones((12, 1))
    )
    grid = np.linspace(-7.0, 7.0, 1401)
    logs = np.array([objective.value(np.array([t])) for t in grid]) + 0.5 * np.log(
        objective.precision[0, 0] / 2 / np.pi
    )
    return x, f, objective, grid, logs


def test_weights_of_draws_are_posterior_over_proposal_density(one_length):
    """With many draws they sum to the probability of the values, and have the posterior's mean and deviation."""
    _, _, objective, grid, logs = one_length
    theta, height = objective.maximise([objective.location], iterations=40, ftol=1e-6)
    draws = _Peak(objective, theta, height).draw(2000)
    w = np.exp([log for log, _, _ in draws] - logs.max())
    lengths = np.array([float(theta[0]) for _, _, theta in draws])
    p = np.exp(logs - logs.max())
    # Quasi-random draws are better than independent ones, whose error is the deviation of the weights over sqrt(2000).
    total = p.sum() * (grid[1] - grid[0])
    error = np.std(w * len(w)) / np.sqrt(len(w))
    assert abs(w.sum() - total) < 3.0 * error
    assert error < 0.03 * total
    mean, sd = (p @ grid) / p.sum(), np.sqrt(p @ (grid - (p @ grid) / p.sum()) ** 2 / p.sum())
    effective = w.sum() ** 2 / np.sum(w**2)
    assert abs(w @ lengths / w.sum() - mean) < 3.0 * sd / np.sqrt(effective)


def test_members_stand_for_all_draws(one_length):
    """At every length the members' probability below it is that of the draws, but for half a member and one draw."""
    x, f, objective, _, _ = one_length
    found = process.fit(x, f, scale=objective.prior.scale, families=[objective.family], draws=40)
    theta, height = found.theta, objective.value(found.theta)
    draws = _Peak(objective, theta, height).draw(40)
    w = np.exp([log - draws[0][0] for log, _, _ in draws])
    w /= w.sum()
    lengths = np.array([float(theta[0]) for _, _, theta in draws])
    members = np.array([(np.log(m.kernel.lengthscale[0]), m.weight) for m in found.members])
    assert found.effective_size == pytest.approx(1.0 / np.sum(w**2), rel=1e-6)
    for t in np.linspace(lengths.min() - 0.1, lengths.max() + 0.1, 50):
        below = members[members[:, 0] <= t, 1].sum()
        assert abs(below - w[lengths <= t].sum()) <= 0.5 / MEMBERS + w.max() + 1e-9


@pytest.mark.parametrize("factor", [2.0**-990, -(2.0**900), 0.25])
def test_fit_is_unchanged_by_powers_of_two(factor):
    x, f = X, F
    a, b = (process.fit(x, c * f, scale=np.full(2, 0.29)) for c in (1.0, factor))
    assert np.array_equal(a.theta, b.theta)
    assert [m.weight for m in a.members] == [m.weight for m in b.members]


def test_fit_is_unchanged_by_a_constant():
    a, b = (process.fit(X, F + c, scale=np.full(2, 0.29)) for c in (0.0, 3.0))
    np.testing.assert_allclose(a.theta, b.theta, atol=1e-3)


@pytest.mark.parametrize("values", [np.zeros(9), np.full(9, 3.0), np.full((9, 2), 1.0)])
def test_constant_values_give_the_centre_of_the_prior(values):
    found = process.fit(X, values, scale=np.full(2, 0.29))
    np.testing.assert_allclose(np.exp(found.theta[:2]), 2.0 * np.sqrt(2.0) * 0.29)
    assert [m.weight for m in found.members] == [1.0]


def test_draws_have_the_density_that_their_weights_assume():
    # A straight line asks for endless length-scales, which once were cut at a bound that held most of the weight.
    x = np.linspace(0.0, 1.0, 12)[:, None]
    found = process.fit(x, x[:, 0], scale=np.array([0.29]), families=process.FAMILIES[2:3])
    lengths = [float(member.kernel.lengthscale[0]) for member in found.members]
    assert len(set(lengths)) == len(lengths)
    assert max(lengths) > 0.58 * np.exp(4.0)
    assert 1.0 <= found.effective_size <= process.DRAWS + 0.5


def test_members_of_each_family_share_its_probability():
    """Levels of the cumulated weights of the family are evenly spaced: no member is off by more than half a step."""
    rng = np.random.default_rng(0)
    first, second = FAMILIES[:2]
    draws = [
        (0.0, family, theta) for family, size in ((first, 30), (second, 20)) for theta in rng.normal(size=(size, 1))
    ]
    w = rng.exponential(size=50) * np.where(np.arange(50) < 30, 1.0, 4.0)
    w[3] = w[:30].sum()  # stands for more than one level
    w /= w.sum()
    members = _members(draws, w, 1)
    for family in (first, second):
        own = np.array([draw[1] is family for draw in draws])
        share, count = w[own].sum(), max(1, round(MEMBERS * w[own].sum()))
        lengths = np.exp([float(draw[2][0]) for draw in draws])
        chosen = [(m.kernel.lengthscale[0], m.weight) for m in members if m.family is family]
        assert sum(weight for _, weight in chosen) == pytest.approx(share, rel=1e-12)
        times = np.array([weight for _, weight in chosen]) * count / share
        np.testing.assert_allclose(times, np.round(times), atol=1e-9)
        for t in lengths[own]:
            below = sum(weight for length, weight in chosen if length <= t * (1.0 + 1e-12))
            assert abs(below - w[own & (lengths <= t)].sum()) <= 0.5 * share / count + w[own].max() + 1e-12


def test_the_prior_of_a_peak_is_a_density(one_length):
    objective = one_length[2]
    peak = _Peak(objective, np.zeros(len(objective.precision)), 0.0)
    expected = stats.multivariate_normal(cov=np.linalg.inv(objective.precision)).logpdf(np.zeros(len(peak.theta)))
    assert peak.log_normaliser == pytest.approx(expected, rel=1e-12)


def test_a_flat_direction_is_as_uncertain_as_twice_the_prior_along_it():
    # Where the posterior is flat or rises, half the precision of the prior stands for its curvature. That of the ten
    # weights of an ANOVA kernel is 1 for what differs between them, and 1 / 91 for what is common to them.
    bend = np.random.default_rng(1).standard_normal((21, 21))

    class Flat:
        precision = LengthscalePrior(np.ones(10)).precision(process.ANOVA)

        def curvature(self, theta):
            return -bend @ bend.T

    curvature, axes = _Peak(Flat(), np.zeros(21), 0.0).shape
    np.testing.assert_allclose(curvature, 0.5 * np.diag(axes.T @ Flat.precision @ axes), rtol=1e-12)
    np.testing.assert_allclose(axes @ axes.T, np.eye(21), atol=1e-12)


def test_draws_of_many_parameters_stay_near_the_peak():
    # The values of a linear function leave the weights of an ANOVA kernel open. With draws as wide along each of them
    # as the prior is along the widest the best one was 70 to 190 below the peak (five seeds; now 6 to 13), and some
    # integrals of linear functions had standard deviations of 19 % of that of f.
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(120, 10))
    f = x @ 0.5 ** np.arange(10)
    prior = LengthscalePrior(np.full(10, 0.29))
    found = process.fit(x, f, scale=prior.scale, families=(process.ANOVA,))
    objective = Objective(process.ANOVA, prior, Differences.of(x), f - f[0], np.ones((120, 1)))
    peak = _Peak(objective, found.theta, objective.value(found.theta))
    best = max(objective.value(theta) for _, _, theta in peak.draw(process.DRAWS))
    # Draws of a normal distribution of 21 parameters are 10 below its peak on average, of a Student-t a little more.
    assert peak.height - best < 60.0


def test_members_are_probabilities_in_order():
    weights = [m.weight for m in process.fit(X, F, scale=np.full(2, 0.29)).members]
    assert sum(weights) == pytest.approx(1.0)
    assert weights == sorted(weights, reverse=True)


# -- calibration


def test_influence_is_what_leaving_out_a_value_does_to_the_estimate():
    embedding = fwbq.embed(fwbq.Matern52(0.4), fwbq.Uniform([0.0, 0.0], [1.0, 1.0]))
    rule = fwbq.bayes_rule(embedding, X, prior_mean="constant")
    moves, variances = [], []
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        left = fwbq.bayes_rule(embedding, X[rest], prior_mean="constant")
        moves.append(rule.weights @ F - left.weights @ F[rest])
        variances.append(left.mmd2 - rule.mmd2)
    expected = np.sum(np.square(moves)) / np.sum(variances)
    _, exponent = np.frexp(np.abs(F).max())
    estimate = posterior.amplitudes(rule, F).influence * 4.0**exponent
    assert estimate == pytest.approx(expected, rel=1e-6)


def test_amplitudes_agree_on_samples_of_the_kernel():
    kernel = fwbq.Matern32(0.3)
    ratios = []
    for seed in range(30):
        x, f = sample(kernel, 40, 1, seed)
        rule = fwbq.bayes_rule(fwbq.embed(kernel, fwbq.Uniform(0.0, 1.0)), x, prior_mean="constant")
        a = posterior.amplitudes(rule, f)
        ratios.append((a.loo / a.ml, a.influence / a.ml, a.largest / a.ml, a.kurtosis))
    low, high = np.quantile(ratios, [0.05, 0.95], axis=0)
    assert (low[:2] > 0.4).all()
    assert (high[:2] < 2.5).all()
    assert np.mean(ratios, axis=0)[2] < 1.6
    assert 2.0 < np.mean(ratios, axis=0)[3] < 4.0


def test_too_smooth_a_kernel_is_seen_by_leaving_out():
    x = np.linspace(0.03, 0.97, 25)[:, None]
    rule = fwbq.bayes_rule(fwbq.embed(fwbq.ExpQuad(0.3), fwbq.Uniform(0.0, 1.0)), x, prior_mean="constant")
    f = np.abs(x[:, 0] - 0.52)
    assert posterior.calibrated(rule, f).scale > fwbq.condition(rule, f).scale


def test_calibrated_posterior_is_never_narrower_and_scales_with_the_values():
    rule = fwbq.bayes_rule(
        fwbq.embed(fwbq.Matern52(0.4), fwbq.Uniform([0.0, 0.0], [1.0, 1.0])), X, prior_mean="constant"
    )
    plain, wide = fwbq.condition(rule, F), posterior.calibrated(rule, F)
    assert wide.scale >= plain.scale
    assert wide.df <= plain.df
    assert wide.mean == plain.mean
    for c in (1e-280, 1e280, -3.0):
        again = posterior.calibrated(rule, c * F)
        assert again.scale == pytest.approx(abs(c) * wide.scale, rel=1e-9)
    both = posterior.calibrated(rule, np.column_stack([F, 2.0 * F]))
    np.testing.assert_allclose(both.scale, [wide.scale, 2.0 * wide.scale], rtol=1e-9)


@pytest.mark.parametrize("share", [1e-2, 1e-4])
@pytest.mark.parametrize("anova", [False, True])
def test_the_trend_of_leave_one_out_errors_is_carried_on(share, anova):
    """Values of |x - y| contradict a smooth kernel, whatever part the remainder has; skewness counts with kinks."""
    smooth = fwbq.ExpQuad(0.5, 1.0 - share)
    kernel = (fwbq.Anova(smooth) if anova else smooth) + fwbq.Matern32(0.5, share)
    x = stats.qmc.Sobol(2, seed=np.random.default_rng(0)).random(64)
    f = np.abs(x[:, 0] - x[:, 1])
    rule = fwbq.bayes_rule(fwbq.embed(kernel, fwbq.Uniform([0.0, 0.0], [1.0, 1.0])), x, prior_mean="constant")
    plain, widened, a = fwbq.condition(rule, f), posterior.calibrated(rule, f), posterior.amplitudes(rule, f)
    ratio = float(a.largest / a.ml)
    assert ratio > 1.1
    # The larger of the trend and of a local error counts, the latter if the values contradict a kernel without kinks.
    local = np.ldexp(float(a.local), int(np.frexp(f.max())[1])) / (plain.scale * ratio**0.5)
    local = local if share > NO_KINKS or a.influence > CONTRADICTED * a.ml else 0.0
    expected = ratio**0.5 * max(ratio**0.5, local)
    expected *= 1.0 + a.skewness if share > NO_KINKS else 1.0
    assert widened.scale / plain.scale == pytest.approx(expected, rel=1e-9)


def test_in_one_dimension_no_trend_is_carried_on():
    x = np.linspace(0.02, 0.97, 20)[:, None]
    rule = fwbq.bayes_rule(fwbq.embed(fwbq.ExpQuad(0.3), fwbq.Uniform(0.0, 1.0)), x, prior_mean="constant")
    f = np.sin(25.0 * x[:, 0])
    plain, widened, a = fwbq.condition(rule, f), posterior.calibrated(rule, f), posterior.amplitudes(rule, f)
    ratio = float(a.largest / a.ml)
    local = float(a.local) / (plain.scale * ratio**0.5)
    assert ratio > 1.5 and local < ratio**0.5
    expected = ratio**0.5 * max(local, 1.0) * (1.0 + a.skewness)
    assert widened.scale / plain.scale == pytest.approx(expected, rel=1e-9)


def test_few_values_that_matter_mean_few_degrees_of_freedom():
    x = np.linspace(0.0, 1.0, 30)[:, None]
    rule = fwbq.bayes_rule(fwbq.embed(fwbq.Matern32(0.3), fwbq.Uniform(0.0, 1.0)), x, prior_mean="constant")
    f = np.zeros(30)
    f[11] = 1.0
    assert posterior.calibrated(rule, f).df < 10.0


def test_constant_values_have_no_error():
    rule = fwbq.bayes_rule(fwbq.embed(fwbq.Matern32(0.3), fwbq.Uniform(0.0, 1.0)), X[:, :1], prior_mean="constant")
    post = posterior.calibrated(rule, np.full(9, 4.0))
    assert post.mean == 4.0
    assert post.scale == 0.0


# -- the averaged posterior


def mixture():
    parts = (IntegralPosterior(0.0, 1.0, 5.0, 1.0), IntegralPosterior(3.0, 0.5, np.inf, 2.0))
    return AveragedPosterior(parts, np.array([0.3, 0.7]))


def test_moments_of_the_mixture_by_quadrature():
    m = mixture()

    def density(x):
        return 0.3 * stats.t(5).pdf(x) + 0.7 * stats.norm(3, 0.5).pdf(x)

    mean = quadrature.quad(lambda x: x * density(x), -300, 300, points=[0, 3], limit=300)[0]
    second = quadrature.quad(lambda x: x * x * density(x), -2000, 2000, points=[0, 3], limit=500)[0]
    assert m.mean == pytest.approx(mean, abs=1e-6)
    assert m.sd == pytest.approx(np.sqrt(second - mean**2), rel=1e-5)
    assert m.df == 5.0
    assert m.amplitude == pytest.approx(1.7)


@pytest.mark.parametrize("q", [0.001, 0.2, 0.5, 0.975])
def test_quantiles_invert_the_distribution_function(q):
    m = mixture()
    assert m.cdf(m.quantile(q)) == pytest.approx(q, abs=1e-12)
    low, high = m.interval(0.9)
    assert m.cdf(high) - m.cdf(low) == pytest.approx(0.9)


def test_samples_of_the_mixture():
    m = mixture()
    draws = m.sample(40_000, rng=0)
    assert abs(np.mean(draws <= 2.0) - m.cdf(2.0)) < 0.01
    assert m.sample((3, 2), rng=1).shape == (3, 2)
    assert isinstance(m.sample(rng=1), float)


def test_mixture_of_many_integrals_is_each_on_its_own():
    parts = (
        IntegralPosterior(np.array([0.0, 1.0]), np.array([1.0, 2.0]), 7.0, 1.0),
        IntegralPosterior(np.array([3.0, 1.0]), np.array([0.5, 0.0]), 7.0, 1.0),
    )
    both = AveragedPosterior(parts, np.array([0.4, 0.6]))
    for j in range(2):
        one = AveragedPosterior(tuple(IntegralPosterior(p.mean[j], p.scale[j], p.df, 1.0) for p in parts), both.weights)
        assert both.mean[j] == one.mean
        assert both.sd[j] == pytest.approx(one.sd)
        np.testing.assert_allclose(np.array(both.interval(0.8))[:, j], one.interval(0.8))
    assert both.sample(5, rng=0).shape == (5, 2)
    assert "2 integrals" in repr(both)


def test_columns_stand_side_by_side():
    parts = (mixture(), IntegralPosterior(1.0, 2.0, 6.0, 0.5))
    both = posterior.ColumnPosteriors(parts)
    for name in ("mean", "sd", "scale", "amplitude"):
        np.testing.assert_array_equal(getattr(both, name), [getattr(part, name) for part in parts])
    assert both.df == 5.0
    np.testing.assert_array_equal(both.quantile(0.3), [part.quantile(0.3) for part in parts])
    np.testing.assert_array_equal(np.array(both.interval(0.9)).T, [part.interval(0.9) for part in parts])
    np.testing.assert_array_equal(both.cdf(1.5), [part.cdf(1.5) for part in parts])
    assert both.cdf(np.zeros((4, 1))).shape == (4, 2)
    assert both.sample((3,), rng=0).shape == (3, 2)
    assert both.sample(rng=0).shape == (2,)


def test_equal_components_give_exactly_themselves():
    part = IntegralPosterior(0.1, 1e-300, 4.0, 0.3)
    m = AveragedPosterior((part,) * 3, np.array([0.2, 0.5, 0.3]))
    assert m.mean == part.mean
    assert m.sd == pytest.approx(part.sd, rel=1e-12)
    assert m.interval() == pytest.approx(part.interval(), rel=1e-12)


def test_weights_must_be_probabilities():
    part = IntegralPosterior(0.0, 1.0, np.inf, 1.0)
    with pytest.raises(ValueError, match="weights"):
        AveragedPosterior((part, part), np.array([0.5, 0.6]))


def test_a_shape_of_the_mean_is_a_constant_of_scaled_values():
    # f with covariance D K D and a constant mean is f / d with covariance K and a mean of the shape 1 / d. Powers of
    # two leave the jitter, which is relative, as it is.
    K, d = fwbq.Matern32(0.5)(X), np.ldexp(1.0, np.arange(len(X)) % 5 - 2)
    whole = process.log_likelihood(d[:, None] * K * d, F)
    factor = CholeskyFactor.with_jitter(K, JITTER)
    part = process.Regression(factor, F / d, (1.0 / d)[:, None]).log_likelihood()
    assert whole == pytest.approx(part - np.sum(np.log(d)), abs=1e-8)


def test_a_multiple_of_the_shape_says_nothing_about_the_kernel():
    shape = 1.0 + X[:, 0] ** 2
    found = process.fit(X, 3.0 * shape, scale=np.full(2, 0.29), shape=shape)
    assert [member.weight for member in found.members] == [1.0]
    moved, still = (process.fit(X, F + c * shape, scale=np.full(2, 0.29), shape=shape, draws=0) for c in (1.0, 0.0))
    np.testing.assert_allclose(moved.theta, still.theta, atol=1e-3)


def test_a_local_error_is_seen_and_a_spread_one_is_not():
    x = np.linspace(0.0, 1.0, 41)[:, None]
    embedding = fwbq.embed(fwbq.Matern52(0.5), fwbq.Uniform([0.0], [1.0]))
    rule = fwbq.bayes_rule(embedding, x, prior_mean="constant")
    kink = np.abs(x[:, 0] - 0.4125)
    found = posterior.amplitudes(rule, kink)
    assert found.local > 0.0
    exponent = process.normalise(kink)[1]
    assert posterior.calibrated(rule, kink).scale >= np.ldexp(found.local, exponent) * (1.0 - 1e-12)
    spread = np.random.default_rng(0).multivariate_normal(np.zeros(41), fwbq.Matern12(0.1)(x))
    assert posterior.amplitudes(rule, spread).local == 0.0
    # The error of the estimate is of the size of the scale, for a kink anywhere between two points.
    for c in 0.4 + 0.025 * np.array([0.1, 0.3, 0.5, 0.8]):
        f = np.abs(x[:, 0] - c)
        error = abs(rule.weights @ f - 0.5 * (c**2 + (1.0 - c) ** 2))
        assert error < 4.0 * posterior.calibrated(rule, f).scale


def test_peaks_are_drawn_from_in_proportion_to_their_probability():
    class Peak:
        def __init__(self, laplace):
            self.laplace = laplace

        def draw(self, count):
            return [self.laplace] * count

    drawn = _draws([Peak(np.log(0.75)), Peak(np.log(0.25)), Peak(np.log(1e-12))], 400)
    assert (drawn.count(np.log(0.75)), drawn.count(np.log(0.25)), len(drawn)) == (300, 100, 400)


def test_weights_that_are_known_are_kept_and_others_are_looked_for():
    objective = Objective(ANOVA, LengthscalePrior(np.ones(3)), Differences.of(X[:, :1] * np.ones(3)), F)
    lengths, weights = np.array([0.1, 0.2, 0.3]), np.array([-1.0, -2.0, -3.0])
    kept = _looks(objective, np.concatenate([lengths, weights]), [0.0, 1.0])
    assert {tuple(look[3:6]) for look in kept} == {tuple(weights)}
    assert {tuple(look[:3]) for look in kept} == {tuple(lengths), tuple(lengths + 1.0)}
    assert {tuple(look[3:6]) for look in _looks(objective, lengths, [0.0])} == {(w,) * 3 for w in WEIGHT_LOOK}
