"""Kernels against independent 40-digit formulas, and the relations every kernel obeys."""

import json
import math
import pickle
import tracemalloc
from itertools import combinations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fwbq import kernels
from fwbq.kernels import (
    Anova,
    ExpQuad,
    InverseMultiquadric,
    Matern12,
    Matern32,
    Matern52,
    PeriodicSobolev,
    RandomFourier,
    Scaled,
    Stein,
    Sum,
)
from fwbq.measures import Product, Warp


def score(x):
    """The score of log p = -x1^4/4 - x1 x2/3 - x2^2."""
    return np.column_stack([-(x[:, 0] ** 3) - x[:, 1] / 3, -x[:, 0] / 3 - 2 * x[:, 1]])


def score_gradient(x):
    jacobian = np.empty((len(x), 2, 2))
    jacobian[:, 0, 0], jacobian[:, 0, 1] = -3 * x[:, 0] ** 2, -1 / 3
    jacobian[:, 1, 0], jacobian[:, 1, 1] = -1 / 3, -2.0
    return jacobian


def mp_score(x):
    return [-(x[0] ** 3) - x[1] / 3, -x[0] / 3 - 2 * x[1]]


# Independent formulas: each takes two lists of mpf and the length-scales.
MP_1D = {
    ExpQuad: lambda r: mp.exp(-r * r / 2),
    Matern12: lambda r: mp.exp(-r),
    Matern32: lambda r: (1 + mp.sqrt(3) * r) * mp.exp(-mp.sqrt(3) * r),
    Matern52: lambda r: (1 + mp.sqrt(5) * r + 5 * r * r / 3) * mp.exp(-mp.sqrt(5) * r),
}


def mp_kernel(kernel):
    """The kernel as a function of two lists of mpf."""
    if type(kernel) in MP_1D:
        g = MP_1D[type(kernel)]

        def stationary(x, y):
            lengths = kernel.lengthscales(len(x))
            return mp.mpf(kernel.variance) * mp.fprod(
                g(abs(a - b) / mp.mpf(float(c))) for a, b, c in zip(x, y, lengths, strict=True)
            )

        return stationary
    if isinstance(kernel, PeriodicSobolev):
        s = kernel.order

        def periodic(x, y):
            # Clausen-type sum through the polylogarithm rather than Bernoulli polynomials.
            terms = (mp.polylog(2 * s, mp.expjpi(2 * (a - b))).real for a, b in zip(x, y, strict=True))
            return mp.fprod(1 + 2 * term for term in terms)

        return periodic
    if isinstance(kernel, Anova):
        g = MP_1D[type(kernel.kernel)]

        def anova(x, y):
            lengths, weights = kernel.kernel.lengthscales(len(x)), kernel.weights(len(x))
            a = [
                mp.mpf(float(w)) * g(abs(s - t) / mp.mpf(float(c)))
                for s, t, c, w in zip(x, y, lengths, weights, strict=True)
            ]
            most = len(x) if kernel.order is None else kernel.order
            sets = [s for q in range(most + 1) for s in combinations(range(len(x)), q)]
            total = mp.fsum(mp.fprod(a[i] for i in s) for s in sets)
            return (
                mp.mpf(kernel.variance) * total / mp.fsum(mp.fprod(mp.mpf(float(weights[i])) for i in s) for s in sets)
            )

        return anova
    if isinstance(kernel, RandomFourier):

        def fourier(x, y):
            total = mp.mpf(0)
            for w, b in zip(kernel.frequencies, kernel.phases, strict=True):
                zx = mp.cos(mp.fdot(w, x) + mp.mpf(float(b)))
                zy = mp.cos(mp.fdot(w, y) + mp.mpf(float(b)))
                total += 2 * zx * zy
            return mp.mpf(kernel.kernel.variance) * total / kernel.n_features

        return fourier
    if isinstance(kernel, InverseMultiquadric):

        def multiquadric(x, y):
            lengths = np.broadcast_to(kernel.lengthscale, len(x))
            squares = [((a - b) / mp.mpf(float(c))) ** 2 for a, b, c in zip(x, y, lengths, strict=True)]
            return mp.mpf(kernel.variance) / mp.sqrt(1 + mp.fsum(squares))

        return multiquadric
    if isinstance(kernel, Stein):
        base = mp_kernel(kernel.kernel)

        def stein(x, y):
            sx, sy = mp_score(x), mp_score(y)
            total = mp.fdot(sx, sy) * base(x, y)
            for i in range(len(x)):

                def at(u, v, i=i):
                    return base([*x[:i], u, *x[i + 1 :]], [*y[:i], v, *y[i + 1 :]])

                total += mp.diff(at, (x[i], y[i]), (1, 1))
                total += sx[i] * mp.diff(at, (x[i], y[i]), (0, 1)) + sy[i] * mp.diff(at, (x[i], y[i]), (1, 0))
            return total

        return stein
    if isinstance(kernel, Scaled):
        inner = mp_kernel(kernel.kernel)
        return lambda x, y: mp.mpf(kernel.scale) * inner(x, y)
    if isinstance(kernel, kernels.Whitened):
        inner, inverse = mp_kernel(kernel.kernel), mp.inverse(mp.cholesky(mp.matrix(kernel.cov.tolist())))

        def whiten(x):
            return list(inverse * mp.matrix([a - mp.mpf(float(m)) for a, m in zip(x, kernel.mean, strict=True)]))

        return lambda x, y: inner(whiten(x), whiten(y))
    if isinstance(kernel, kernels.Warped):
        # One Cauchy coordinate with powers 1 and b: v = 1 - sf^(1/b), and the density of that law is b (1 - v)^(b - 1).
        inner, b = mp_kernel(kernel.kernel), mp.mpf(float(kernel.warp.powers[0, 1]))

        def warp(x):
            return [1 - (mp.mpf(1) / 2 - mp.atan(x[0]) / mp.pi) ** (1 / b), x[1]]

        def ratio(v):
            return b * (1 - v[0]) ** (b - 1)

        return lambda x, y: inner(warp(x), warp(y)) / (ratio(warp(x)) * ratio(warp(y)))
    parts = [mp_kernel(k) for k in kernel.kernels]
    combine = mp.fsum if isinstance(kernel, Sum) else mp.fprod
    return lambda x, y: combine(part(x, y) for part in parts)


# Eighth-order central differences.
STENCIL = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
ARD = [0.7, 1.9]
STATIONARY = {
    "ExpQuad": ExpQuad(0.8),
    "ExpQuad per coordinate": ExpQuad(ARD, 2.5),
    "Matern12": Matern12(ARD, 0.3),
    "Matern32": Matern32(ARD, 1.7),
    "Matern52": Matern52(1.1, 0.9),
}
LEAVES = STATIONARY | {
    "PeriodicSobolev 1": PeriodicSobolev(1),
    "PeriodicSobolev 2": PeriodicSobolev(2),
    "PeriodicSobolev 3": PeriodicSobolev(3),
    "Anova": Anova(ExpQuad(ARD, 1.7), [0.4, 3.0]),
    "Anova Matern12": Anova(Matern12(0.9), 0.5),
    "Anova of order 1": Anova(Matern52(ARD, 0.6), [0.4, 3.0], order=1),
    "Anova of order 2": Anova(Matern32(ARD), 2.0, order=2),
    "InverseMultiquadric": InverseMultiquadric(ARD, 1.7),
    "RandomFourier ExpQuad": RandomFourier(ExpQuad(ARD, 2.0), 30, 2, rng=1),
    "RandomFourier Matern": RandomFourier(Matern52(0.9), 20, 2, rng=2),
    "Stein ExpQuad": Stein(ExpQuad(ARD, 1.3), score, score_gradient),
    "Stein InverseMultiquadric": Stein(InverseMultiquadric(ARD, 1.3), score, score_gradient),
    "Stein Matern52": Stein(Matern52(1.4), score, score_gradient),
    "Stein Matern32": Stein(Matern32(1.4, 0.6), score, score_gradient),
}
KERNELS = LEAVES | {
    "sum": ExpQuad(0.8) + Matern32(ARD) + PeriodicSobolev(2),
    "product": ExpQuad(0.8) * Matern52(ARD) * PeriodicSobolev(1),
    "scaled": 2.5 * Matern12(0.4),
    "whitened": kernels.Whitened(Matern52([0.7, 1.2], 1.5), [0.5, -0.2], [[1.0, 0.6], [0.6, 0.8]]),
    "warped": kernels.Warped(
        Matern52([0.7, 1.2], 1.5), Warp(Product([stats.cauchy(), stats.norm()]), [[1.0, 3.0], [0.0, 0.0]])
    ),
    "nested": 0.5 * (ExpQuad(1.0) + 2.0 * Matern32(0.6) * ExpQuad(2.0)) + Stein(ExpQuad(1.0), score, score_gradient),
}
SAVED = {name: k for name, k in KERNELS.items() if not name.startswith("Stein") and name != "nested"}
each = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
each_saved = pytest.mark.parametrize("kernel", SAVED.values(), ids=SAVED.keys())
each_stationary = pytest.mark.parametrize("kernel", STATIONARY.values(), ids=STATIONARY.keys())


@pytest.fixture(scope="module", autouse=True)
def precision():
    with mp.workdps(40):
        yield


@pytest.fixture
def xy():
    rng = np.random.default_rng(0)
    return rng.normal(size=(4, 2)), rng.normal(size=(3, 2))


def exact(f, x, y):
    return np.array([[float(f([mp.mpf(float(v)) for v in a], [mp.mpf(float(v)) for v in b])) for b in y] for a in x])


@each
def test_gram_matches_the_formula(kernel, xy):
    x, y = xy
    expected = exact(mp_kernel(kernel), x, y)
    assert np.allclose(kernel(x, y), expected, rtol=1e-13, atol=1e-14 * np.abs(expected).max())


@each
def test_gram_of_one_set_is_symmetric_with_exact_diagonal_and_positive(kernel):
    x = np.random.default_rng(1).normal(size=(60, 2))
    K = kernel(x)
    assert np.array_equal(K, K.T)
    assert np.array_equal(K, kernel(x, x))
    assert np.allclose(np.diagonal(K), kernel.diag(x), rtol=1e-15, atol=0)
    assert np.linalg.eigvalsh(K)[0] > -1e-12 * np.trace(K)
    assert np.allclose(K, kernel(x, x.copy()), rtol=1e-12, atol=1e-14 * K.max())


@each
def test_gradient_matches_differentiation_at_forty_digits(kernel, xy):
    x, y = xy[0][:2], xy[1][:2]
    f = mp_kernel(kernel)
    gradient = kernel.gradient(x, y)
    assert gradient.shape == (2, 2, 2)
    for i, a in enumerate(x):
        for j, b in enumerate(y):
            p, q = [mp.mpf(float(v)) for v in a], [mp.mpf(float(v)) for v in b]
            for c in range(2):
                # A wide step at 40 digits keeps nested numerical derivatives (Stein) accurate to 1e-12 and better.
                expected = mp.diff(lambda t, c=c, p=p, q=q: f([*p[:c], t, *p[c + 1 :]], q), p[c], h=mp.mpf("1e-10"))
                assert gradient[i, j, c] == pytest.approx(float(expected), rel=1e-9, abs=1e-9)


@each
def test_gradient_sum_contracts_the_gradient(kernel, xy):
    x, y = xy
    rng = np.random.default_rng(2)
    gradient = kernel.gradient(x, y)
    for w in (rng.normal(size=3), rng.normal(size=(4, 3))):
        expected = np.einsum("ijd,ij->id", gradient, np.broadcast_to(w, (4, 3)))
        assert np.allclose(kernel.gradient_sum(x, y, w), expected, rtol=1e-12, atol=1e-13 * np.abs(gradient).max())


@each
def test_gradient_is_finite_where_the_points_meet(kernel):
    x, h = np.array([[0.3, -0.2]]), 1e-2
    gradient = kernel.gradient(x, x)[0, 0]
    for i, e in enumerate(np.eye(2)):
        slope = sum(c * (kernel.diag(x + m * h * e) - kernel.diag(x - m * h * e)) for m, c in STENCIL.items()) / h
        # k(x, y) is symmetric, so its gradient at y = x is half the gradient of the diagonal.
        assert np.allclose(gradient[i], 0.5 * slope, rtol=1e-9, atol=1e-9)


@each
def test_columns_agree_with_the_gram_block(kernel):
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(50, 2)), rng.normal(size=(3, 2))
    column, out = kernel.columns(x), np.empty(50)
    for row in y:
        expected = kernel(x, row[None])[:, 0]
        assert np.allclose(column(row), expected, rtol=1e-13, atol=1e-14 * np.abs(expected).max())
        assert column(row, out=out) is out
        assert np.array_equal(out, column(row))


@pytest.mark.parametrize(("offset", "spread"), [(0.0, 1.0), (1e6, 1.0), (0.0, 100.0), (-1e5, 1e4)])
def test_exponential_columns_are_accurate_wherever_the_points_lie(offset, spread):
    rng = np.random.default_rng(4)
    kernel = ExpQuad(ARD, 0.37)
    x = offset + spread * rng.random((200, 2))
    y = x[7] + 0.1
    assert np.allclose(kernel.columns(x)(y), kernel(x, y[None])[:, 0], rtol=2e-12, atol=1e-300)


def test_large_gram_blocks_equal_their_rows():
    x, y = np.random.default_rng(4).normal(size=(700, 2)), np.random.default_rng(5).normal(size=(300, 2))
    for kernel in STATIONARY.values():
        K = kernel(x, y)
        assert np.allclose(K, np.vstack([kernel(row[None], y) for row in x]), rtol=1e-15, atol=0)
        assert np.array_equal(kernel(x), kernel(x).T)


def test_columns_of_no_points_are_empty():
    assert ExpQuad(1.0).columns(np.zeros((0, 2)))(np.zeros(2)).shape == (0,)


@each_stationary
def test_far_from_the_origin_nothing_is_lost(kernel):
    rng = np.random.default_rng(5)
    # Multiples of 2^-20: the shift by 1e6 is exact, so that only the kernel itself can lose digits.
    x = np.round(rng.normal(size=(20, 2)) * 2**20) / 2**20
    assert np.array_equal(kernel(x + 1e6), kernel(x))
    exact_k = exact(mp_kernel(kernel), x[:4], x[4:8])
    assert np.allclose(kernel(x[:4] + 1e6, x[4:8] + 1e6), exact_k, rtol=5e-15, atol=0)


@each_stationary
def test_huge_distances_give_zero_without_a_warning(kernel):
    x, y = np.array([[1e300, -1e308]]), np.array([[-1e308, 1e300], [0.0, 0.0]])
    assert np.array_equal(kernel(x, y), np.zeros((1, 2)))
    assert np.array_equal(kernel.gradient(x, y), np.zeros((1, 2, 2)))


def test_many_dimensions_do_not_overflow():
    x = np.vstack([np.zeros(100), np.full(100, 1e6)])
    for kernel in (Matern32(1.0), Matern52(1.0), ExpQuad(1.0)):
        assert np.array_equal(kernel(x), np.eye(2))


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in SAVED
        if name not in ("sum", "warped", "whitened", "InverseMultiquadric")
        and "Fourier" not in name
        and "order" not in name
    ],
)
def test_factors_multiply_to_the_kernel(name, xy):
    kernel, (x, y) = SAVED[name], xy
    factors = kernel.factors(2)
    product = np.prod([f(x[:, [i]], y[:, [i]]) for i, f in enumerate(factors)], axis=0)
    assert len(factors) == 2
    assert np.allclose(product, kernel(x, y), rtol=1e-14, atol=1e-300)
    if not any(isinstance(k, PeriodicSobolev) for k in getattr(kernel, "kernels", [kernel])):
        assert factors[1].diag([[0.0]])[0] == 1.0


def test_kernels_that_do_not_factor_say_so():
    assert (ExpQuad(1.0) + Matern12(1.0)).factors(2) is None
    assert (ExpQuad(1.0) * (ExpQuad(1.0) + Matern12(1.0))).factors(3) is None
    assert (2.0 * RandomFourier(ExpQuad(1.0), 4, 2, rng=0)).factors(2) is None
    assert Stein(ExpQuad(1.0), score).factors(2) is None
    assert InverseMultiquadric(1.0).factors(2) is None
    assert Anova(ExpQuad(1.0), order=2).factors(3) is None
    total = ExpQuad(1.0) + Matern12(1.0)
    assert total.factors(1) == (total,)
    with pytest.raises(ValueError, match="`dim`"):
        ExpQuad(ARD).factors(3)


@each_saved
def test_spec_survives_json_to_the_bit(kernel, xy):
    x, y = xy
    text = json.dumps(kernel.spec(), allow_nan=False)
    again = kernels.from_spec(json.loads(text))
    assert type(again) is type(kernel) and again.dim == kernel.dim
    assert np.array_equal(again(x, y), kernel(x, y))
    assert json.dumps(again.spec()) == text


def test_spec_keeps_every_bit_of_awkward_numbers():
    rng = np.random.default_rng(7)
    lengths = np.exp(rng.normal(scale=50, size=100))
    again = kernels.from_spec(json.loads(json.dumps(Matern32(lengths, 0.1 + 0.2).spec())))
    assert np.array_equal(again.lengthscale, lengths) and again.variance == 0.1 + 0.2


def test_a_stein_kernel_cannot_be_saved():
    for kernel in (Stein(ExpQuad(1.0), score), 2.0 * Stein(ExpQuad(1.0), score) + ExpQuad(1.0)):
        with pytest.raises(ValueError, match="`score` is a function"):
            kernel.spec()


@each_saved
def test_kernels_can_be_pickled(kernel, xy):
    assert np.array_equal(pickle.loads(pickle.dumps(kernel))(*xy), kernel(*xy))


def test_algebra_flattens_and_computes():
    a, b, c = ExpQuad(1.0), Matern12(2.0), Matern32(3.0)
    x = np.random.default_rng(8).normal(size=(5, 2))
    assert (a + b + c).kernels == (a, b, c)
    assert (a * b * c).kernels == (a, b, c)
    assert np.allclose((a + b * c)(x), a(x) + b(x) * c(x), rtol=1e-15)
    assert np.array_equal((np.float64(3.0) * a)(x), (a * 3.0)(x))
    assert np.allclose((3.0 * a).diag(x), 3.0)
    with pytest.raises(TypeError):
        a + 1.0


@each_stationary
def test_no_array_of_n_by_m_by_d_is_formed(kernel):
    n, d = 400, 12
    x = np.random.default_rng(9).normal(size=(n, d))
    wide = type(kernel)(1.0)
    tracemalloc.start()
    wide(x)
    wide.gradient_sum(x, x, np.ones(n))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 7 * n * n * 8


def test_periodic_sobolev_is_periodic_and_has_unit_mean():
    rng = np.random.default_rng(10)
    grid = (np.arange(4096) + 0.5)[:, None] / 4096
    for order in (1, 2, 3):
        kernel = PeriodicSobolev(order)
        x, y = rng.random((5, 2)), rng.random((4, 2))
        assert np.allclose(kernel(x + np.array([3, -2]), y), kernel(x, y), rtol=1e-12)
        # The midpoint rule at an offset of half a step is exact for cosines below its frequency.
        assert kernel(grid, [[0.3]]).mean() == pytest.approx(1.0, abs=1e-6)
        assert kernel.diag([[0.4]])[0] == pytest.approx(float(1 + 2 * mp.zeta(2 * order)), rel=1e-14)
        assert np.isfinite(kernel([[1e308]], [[-1e308]])).all()
        # A whole step apart is the same point: no slope.
        assert np.array_equal(kernel.gradient([[1.0]], [[0.0]]), np.zeros((1, 1, 1)))


@pytest.mark.parametrize("base", [ExpQuad(ARD, 2.0), Matern12(ARD), Matern32(ARD, 0.5), Matern52(1.2)])
def test_random_fourier_features_converge_to_their_kernel(base):
    x = np.random.default_rng(11).normal(size=(8, 2))
    for n_features in (1_000, 100_000):
        kernel = RandomFourier(base, n_features, dim=2, rng=3)
        # Each entry is a mean of n_features terms of size at most 2 variance: five standard errors.
        assert np.abs(kernel(x) - base(x)).max() < 5 * math.sqrt(1.5) * base.variance / math.sqrt(n_features)
    phi = kernel.features(x)
    assert np.allclose(phi @ phi.T, kernel(x), rtol=1e-12)


def test_random_fourier_features_gradient():
    kernel = RandomFourier(Matern32(1.0), 7, 2, rng=0)
    x, h = np.random.default_rng(12).normal(size=(3, 2)), 1e-5
    for i, e in enumerate(np.eye(2)):
        slope = (kernel.features(x + h * e) - kernel.features(x - h * e)) / (2 * h)
        assert np.allclose(kernel.features_gradient(x)[:, :, i], slope, rtol=1e-6, atol=1e-8)


def test_random_fourier_repeats_with_its_seed():
    one, two = (RandomFourier(ExpQuad(1.0), 5, 3, rng=4) for _ in range(2))
    assert np.array_equal(one.frequencies, two.frequencies) and np.array_equal(one.phases, two.phases)
    assert (one.dim, one.n_features) == (3, 5)
    assert repr(one) == "RandomFourier(ExpQuad(lengthscale=1.0, variance=1.0), n_features=5, dim=3)"


def test_random_fourier_matches_the_reference(reference):
    data = reference["rff"]
    kernel = RandomFourier.from_frequencies(ExpQuad(1.0), data["W"], data["b"])
    x = np.array(data["candidates"])
    assert np.allclose(kernel(x[:1], x)[0], [float(v) for v in data["khat_row0"]], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("base", [ExpQuad(0.8, 2.0), InverseMultiquadric(0.8), Matern32(0.8), Matern52([0.8, 1.5])])
def test_stein_kernel_integrates_to_zero(base):
    grid = np.linspace(-9, 9, 361)
    x = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    density = np.exp(-(x[:, 0] ** 4) / 4 - x[:, 0] * x[:, 1] / 3 - x[:, 1] ** 2)
    k = Stein(base, score)(x, [[0.31, -0.17]])[:, 0]
    total = density @ k
    # The trapezoidal rule is spectral for ExpQuad; the kinks of the Matern terms limit it to the square of its step.
    assert abs(total) < (1e-12 if isinstance(base, ExpQuad) else 2e-3) * (density @ np.abs(k))


def test_stein_without_the_jacobian_says_what_is_missing():
    kernel = Stein(ExpQuad(1.0), score)
    x = np.zeros((2, 2))
    assert kernel(x).shape == (2, 2)
    with pytest.raises(NotImplementedError, match="score_gradient"):
        kernel.gradient(x, x)
    wrong = Stein(ExpQuad(1.0), score, lambda x: np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"`score_gradient` must return shape \(2, 2, 2\)"):
        wrong.gradient(x, x)


def test_dimension_follows_the_length_scales():
    assert ExpQuad(1.0).dim is None and ExpQuad([1.0]).dim == 1 and Matern52(ARD).dim == 2
    assert (ExpQuad(1.0) + Matern32(ARD)).dim == 2 and (2.0 * ExpQuad(1.0)).dim is None
    assert Stein(ExpQuad(ARD), score).dim == 2 and PeriodicSobolev(1).dim is None


positive = st.floats(0.05, 20.0)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([ExpQuad, Matern12, Matern32, Matern52]), st.lists(positive, min_size=1, max_size=4), positive,
    st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_stationary_kernels_in_general(family, lengths, variance, seed):
    kernel = family(lengths, variance)
    x = np.random.default_rng(seed).normal(scale=3.0, size=(25, len(lengths)))
    K = kernel(x)
    assert np.array_equal(K, K.T) and np.array_equal(np.diagonal(K), np.full(25, variance))
    assert K.max() <= variance and K.min() >= 0.0
    assert np.linalg.eigvalsh(K)[0] > -1e-13 * 25 * variance
    # Scaling points and length-scales together changes nothing; neither does a permutation of the coordinates.
    assert np.allclose(family(4.0 * np.array(lengths), variance)(4.0 * x), K, rtol=1e-14, atol=0)
    assert np.allclose(family(lengths[::-1], variance)(x[:, ::-1]), K, rtol=1e-13, atol=1e-14 * variance)
    assert np.allclose(kernel.columns(x)(x[3]), K[3], rtol=1e-11, atol=1e-14 * variance)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(list(LEAVES)), st.sampled_from(list(LEAVES)), positive, st.integers(0, 1000))
def test_compositions_are_kernels(first, second, scale, seed):
    a, b = LEAVES[first], LEAVES[second]
    x = np.random.default_rng(seed).normal(size=(12, 2))
    for kernel in (a + b, a * b, scale * a):
        K = kernel(x)
        assert np.array_equal(K, K.T)
        assert np.linalg.eigvalsh(K)[0] > -1e-12 * np.trace(K)
        assert np.allclose(kernel.diag(x), np.diagonal(K), rtol=1e-14)


def test_inverse_multiquadric_vanishes_far_away_without_a_warning():
    assert InverseMultiquadric(1e-5)([[0.0]], [[1e308]])[0, 0] == 0.0


def test_a_notebook_says_in_how_many_dimensions_a_kernel_lives():
    assert ">any<" in ExpQuad(1.0)._repr_html_()
    assert ">2<" in ExpQuad([1.0, 3.0])._repr_html_() and ">any<" not in ExpQuad([1.0, 3.0])._repr_html_()
