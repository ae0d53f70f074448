import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import nnls
from scipy.special import log_ndtr, ndtr

from fwbq.chema import Dataset, candidate_models, design_matrix, log_likelihood, log_likelihood_block
from fwbq.chema.orthant import decay, log_orthant
from fwbq.chema.truncated import _rule, log_truncation_ratio


def correlation(rng, d, closeness=1.0):
    x = rng.standard_normal((6, d)) * closeness + 1
    x[:, 0] *= -1
    c = np.linalg.inv(x.T @ x)
    s = np.sqrt(np.diag(c))
    return c / np.outer(s, s)


def by_conditioning(h, r):
    """P(Z <= h) in three dimensions: a panelled Gauss-Legendre product over z_1 and z_2."""
    lower = np.linalg.cholesky(r)
    t, w = np.polynomial.legendre.leggauss(24)
    edges = np.linspace(-9, 9, 61)

    def panels(top):
        low, high = np.minimum(edges[:-1], top), np.minimum(edges[1:], top)
        return (low[:, None] + (high - low)[:, None] * (t + 1) / 2).ravel(), ((high - low)[:, None] * w / 2).ravel()

    z1, w1 = panels(h[0] / lower[0, 0])
    total = 0.0
    for a, wa in zip(z1, w1, strict=True):
        z2, w2 = panels((h[1] - lower[1, 0] * a) / lower[1, 1])
        inner = ndtr((h[2] - lower[2, 0] * a - lower[2, 1] * z2) / lower[2, 2])
        total += wa * np.exp(-0.5 * a**2) * np.sum(w2 * np.exp(-0.5 * z2**2) * inner)
    return total / (2 * np.pi)


def orthant(h, r):
    return np.exp(log_orthant(np.array([h]), np.array([r]), np.ones((1, 1)))[0, 0])


def test_orthants_at_the_origin_are_known():
    rng = np.random.default_rng(0)
    for closeness in (1.0, 0.1, 0.01):
        r = correlation(rng, 3, closeness)
        assert orthant([0.0, 0.0], r[:2, :2]) == pytest.approx(0.25 + np.arcsin(r[0, 1]) / (2 * np.pi), abs=1e-14)
        angles = np.arcsin([r[0, 1], r[0, 2], r[1, 2]]).sum()
        assert orthant([0.0, 0.0, 0.0], r) == pytest.approx(0.125 + angles / (4 * np.pi), abs=1e-9)


def test_three_dimensions_against_conditioning():
    rng = np.random.default_rng(1)
    for closeness in (1.0, 1.0, 0.3):
        r, h = correlation(rng, 3, closeness), 1.5 * rng.standard_normal(3)
        assert orthant(h, r) == pytest.approx(by_conditioning(h, r), abs=2e-10)


def test_two_dimensions_against_mpmath():
    rng = np.random.default_rng(2)
    for rho in (0.3, -0.9, 0.999):
        h, k = rng.standard_normal(2)
        s = mp.sqrt(1 - mp.mpf(rho) ** 2)
        exact = mp.quad(lambda z, k=k, rho=rho, s=s: mp.npdf(z) * mp.ncdf((k - rho * z) / s), [-12, -3, 0, h])
        assert orthant([h, k], np.array([[1, rho], [rho, 1]])) == pytest.approx(float(exact), abs=1e-12)


def test_probabilities_permute_split_and_degenerate():
    rng = np.random.default_rng(3)
    r, h = correlation(rng, 3, 0.3), rng.standard_normal(3)
    p = [2, 0, 1]
    assert orthant(h, r) == pytest.approx(orthant(h[p], r[np.ix_(p, p)]), abs=1e-9)
    # P(Z1 <= h1, Z2 <= h2) splits by the sign of Z3 - h3.
    flip = np.diag([1, 1, -1])
    both = orthant(h, r) + orthant(h * [1, 1, -1], flip @ r @ flip)
    assert both == pytest.approx(orthant(h[:2], r[:2, :2]), abs=1e-9)
    assert orthant([0.3, 0.7], np.ones((2, 2))) == pytest.approx(ndtr(0.3), abs=1e-15)
    opposite = np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert orthant([0.3, 0.7], opposite) == pytest.approx(ndtr(0.3) + ndtr(0.7) - 1, abs=1e-15)
    assert orthant([0.3, 0.7, 1e30], r) == pytest.approx(orthant([0.3, 0.7], r[:2, :2]), abs=1e-9)


@pytest.mark.parametrize("w", [1.0, 4.0, 10.0, 25.0])
def test_tails_are_accurate_relatively(w):
    c = np.array([-1.0, -0.5, 0.4])
    independent = log_orthant(c[None], np.eye(3)[None], np.array([[w]]))[0, 0]
    assert independent == pytest.approx(log_ndtr(w * c).sum(), rel=1e-7)
    rho = 0.6
    r = np.array([[1, rho], [rho, 1]])
    # Over x = -w - z, with the density at z = -w taken out.
    inner, _ = quad(
        lambda x: np.exp(-0.5 * x**2 - w * x) * ndtr((-0.5 * w + rho * (w + x)) / 0.8), 0, 12, epsabs=0, epsrel=1e-11,
        limit=500, points=[1 / w, 5 / w],
    )  # fmt: skip
    expected = np.log(inner) - 0.5 * w**2 - 0.5 * np.log(2 * np.pi)
    assert log_orthant(c[None, :2], r[None], np.array([[w]]))[0, 0] == pytest.approx(expected, abs=1e-6)


def test_decay_is_the_distance_to_the_orthant():
    rng = np.random.default_rng(4)
    for _ in range(30):
        r, c = correlation(rng, 3, 0.5), rng.standard_normal(3)
        kappa, multiplier = decay(c[None], r[None])
        # min |L z|^2/2 over R^-1 = (L^-T L^-1), slack s = c - y >= 0: nonnegative least squares.
        inverse = np.linalg.inv(np.linalg.cholesky(r))
        _, norm = nnls(inverse, inverse @ c)
        assert kappa[0] == pytest.approx(norm**2 / 2, abs=1e-9)
        assert np.all(multiplier >= 0)


def test_the_rule_over_sigma_is_exact_for_polynomials():
    from scipy.special import gamma

    for n in (2, 3, 7, 20, 60):
        v, weight = _rule(n, 16)
        for degree in (0, 1, 2, 5, 9):
            exact = gamma((n + degree) / 2) / gamma(n / 2)
            assert weight @ v**degree == pytest.approx(exact, rel=1e-11)


def test_agrees_with_the_reference(reference):
    chema = reference["chema"]
    data = Dataset(chema["t"], chema["yS"], chema["ySstar"], np.array(chema["yE"]).T)
    for point in chema["points"]:
        ratio = log_truncation_ratio(design_matrix(data, point["model"], [point["K"]]), data.rates)[0]
        # The reference's own quadrature over sigma is good to about 1e-5 (the next test has 1e-12).
        assert ratio == pytest.approx(point["log_ratio_truncated_over_closed_form"], abs=2e-5)
        values = [log_likelihood(data, point["model"], [point["K"]], truncated=t)[0] for t in (True, False)]
        assert values[0] - values[1] == pytest.approx(ratio, abs=1e-13)


def test_one_column_against_mpmath():
    data = Dataset.simulate(3, rng=8, noise=0.05)
    x, y = design_matrix(data, (), [[0.6]]), data.rates
    n, g = len(y), float(x[0, :, 0] @ x[0, :, 0])
    least = float(x[0, :, 0] @ y) / g
    mean = (1 + n * least) / (n + 1)
    rss = float(y @ y) - least**2 * g
    b = (np.sum((y - x[0, :, 0]) ** 2) + n * rss) / (2 * (n + 1))
    post, before = mean * np.sqrt((n + 1) * g / (n * b)), np.sqrt(g / (n * b))

    def integrand(u):
        w = mp.sqrt(u)
        return mp.ncdf(post * w) / mp.ncdf(before * w) * u ** (mp.mpf(n) / 2 - 1) * mp.exp(-u) / mp.gamma(mp.mpf(n) / 2)

    exact = mp.log(mp.quad(integrand, [0, 4, 8, 12, 20, 40, 90]))
    assert log_truncation_ratio(x, y)[0] == pytest.approx(float(exact), abs=1e-11)


def monte_carlo(x, y, draws, rng):
    """Sample sigma^2 = b/u and V from the posterior without truncation; the prior's probability by sampling too."""
    n, d = x.shape
    c = np.linalg.inv(x.T @ x)
    least = c @ x.T @ y
    mean = (1 + n * least) / (n + 1)
    rss = np.sum((y - x @ least) ** 2)
    b = (np.sum((y - x.sum(axis=1)) ** 2) + n * rss) / (2 * (n + 1))
    factor = np.linalg.cholesky(c)
    z = rng.standard_normal((draws, d)) @ factor.T
    # In w = sqrt(u / b) = 1/sigma the prior's orthant is {1 + sqrt(n) z / w >= 0}: each draw enters above its own w.
    enters = np.sort(np.max(-np.sqrt(n) * z, axis=1))
    w = np.sqrt(rng.gamma(n / 2, size=draws) / b)
    prior = np.searchsorted(enters, w) / draws
    v = mean + np.sqrt(n / (n + 1)) * z / w[:, None]
    terms = np.all(v >= 0, axis=1) / prior
    return np.log(terms.mean()), terms.std() / terms.mean() / np.sqrt(draws)


@pytest.mark.parametrize("n_times", [4, 7, 21])
@pytest.mark.parametrize("size", [0, 1, 2])
def test_against_monte_carlo(n_times, size):
    data = Dataset.simulate(4, rng=n_times, noise=0.05, times=np.linspace(0, 10, n_times))
    rng = np.random.default_rng(size)
    x = design_matrix(data, tuple(range(1, 1 + size)), rng.uniform(0.3, 2, (1, 1 + size)))
    ratio = log_truncation_ratio(x, data.rates)[0]
    estimate, error = monte_carlo(x[0], data.rates, 400_000, rng)
    assert abs(ratio - estimate) < 5 * error + 0.003


def test_converged_in_the_nodes():
    data = Dataset.simulate(6, rng=2)
    pairs = candidate_models(data)[7:]
    x = np.concatenate([design_matrix(data, m, [[0.5, 1.0, 2.0], [1.5, 0.1, 0.9]]) for m in pairs])
    coarse, fine = (log_truncation_ratio(x, data.rates, nodes=k) for k in (16, 40))
    np.testing.assert_allclose(coarse, fine, atol=2e-7)
    for n in (3, 6):
        short = x[:, :n]
        coarse, fine = (log_truncation_ratio(short, data.rates[:n], nodes=k) for k in (16, 40))
        np.testing.assert_allclose(coarse, fine, atol=2e-7)


def test_enzymes_commute_and_silent_ones_do_not_count():
    data = Dataset.simulate(3, rng=5)
    k = np.array([[0.5, 1.0, 2.0], [1.5, 0.1, 0.9]])
    one = log_likelihood(data, (0, 1), k, truncated=True)
    np.testing.assert_allclose(one, log_likelihood(data, (1, 0), k[:, [0, 2, 1]], truncated=True), atol=1e-8)
    silent = Dataset(data.times, data.substrate, data.phospho, np.column_stack([data.enzymes[:, 0], np.zeros(21)]))
    with_silent, rank = log_likelihood_block(silent, [(0, 1)], k, truncated=True, return_rank=True)
    assert np.all(rank == 2)
    np.testing.assert_allclose(with_silent[:, 0], log_likelihood(silent, (0,), k[:, :2], truncated=True), atol=1e-9)


def test_equal_enzymes_and_few_increments_are_finite():
    data = Dataset.simulate(1, rng=5)
    twins = Dataset(data.times, data.substrate, data.phospho, np.repeat(data.enzymes, 2, axis=1))
    k = np.array([[0.5, 1.0, 1.0]])
    values, rank = log_likelihood_block(twins, [(0, 1)], k, truncated=True, return_rank=True)
    assert rank[0, 0] == 2
    # Together they are one enzyme of twice the level, whose rate is not negative when both rates are not.
    double = Dataset(data.times, data.substrate, data.phospho, 2 * data.enzymes)
    assert values[0, 0] == pytest.approx(log_likelihood(double, (0,), k[:, :2], truncated=True)[0], abs=1e-7)
    short = Dataset.simulate(3, rng=1, times=[0, 1, 2])
    k = np.ones((3, 3)) * [[0.5], [1.0], [2.0]]
    values, _ = log_likelihood_block(short, [(0, 1), (1, 2)], k, truncated=True, return_rank=True)
    assert np.isfinite(values).all()


def test_wrong_signs_are_punished_and_right_ones_rewarded():
    data = Dataset.example()
    k = np.ones((1, 3))
    pairs = candidate_models(data)[27:]
    change = (log_likelihood_block(data, pairs, k, truncated=True) - log_likelihood_block(data, pairs, k))[0]
    assert change.min() < -1 and change[pairs.index(("E7", "E19"))] > 0
