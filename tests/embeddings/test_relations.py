"""What embeddings have in common: limits, symmetries, linearity, errors, and numbers far from the mass."""

import pickle

import mpmath
import numpy as np
import pytest
from scipy import stats

import fwbq
from fwbq import embeddings
from fwbq.embeddings import cross

STATIONARY = [fwbq.ExpQuad(0.8, 1.5), fwbq.Matern12(0.8), fwbq.Matern32(0.8), fwbq.Matern52(0.8, 2.0)]
MEASURES = [
    fwbq.Gaussian([0.3, 1.0], [0.5, 2.0]),
    fwbq.GaussianMixture([0.5, 0.5], [[0.0, 1.0], [2.0, -1.0]], [np.diag([1.0, 0.2]), np.diag([0.3, 0.6])]),
    fwbq.TruncatedGaussian([1.0, -2.0], [0.5, 1.0], [0.0, -3.0], [np.inf, 1.0]),
    fwbq.Uniform([0.0, -1.0], [1.0, 3.0]),
    fwbq.Product([stats.gamma(0.5), stats.t(3.0)]),
]


def name(x):
    return type(x).__name__


# ------------------------------------------------------------------------------------------------- reference values
def test_reference_values(reference):
    for case in reference["mean_elements"]:
        dim = len(case["points"][0])
        sigma = 0.5**0.5 if case["sigma"] == "sqrt(1/2)" else float(case["sigma"])
        if case["measure"].startswith("truncated"):
            measure = fwbq.TruncatedGaussian(np.ones(dim), 0.5)
        elif case["measure"].startswith("uniform"):
            measure = fwbq.Uniform([-1.0, 0.0], [2.5, 1.0])
        elif case["measure"] == "N(0,1)":
            measure = fwbq.Gaussian(0.0, 1.0)
        else:
            parts = reference["mixture_A"]
            measure = fwbq.GaussianMixture(*(np.array(parts[key], dtype=float) for key in ("weights", "means", "covs")))
        emb = fwbq.embed(fwbq.ExpQuad(sigma, float(case["lam"]) ** 2), measure)
        mu = emb.mean(np.array(case["points"], dtype=float))
        np.testing.assert_allclose(mu, [float(v) for v in case["mu"]], rtol=1e-13)
        np.testing.assert_allclose(emb.variance, float(case["double_integral"]), rtol=1e-13)


def test_matern_by_mpmath():
    """Matern 3/2 under a truncated Gaussian by mpmath's own quadrature."""
    with mpmath.workdps(20):
        a, m, s = mpmath.sqrt(3) / mpmath.mpf("0.75"), mpmath.mpf(-3), mpmath.mpf(1)

        def k(r):
            return (1 + a * abs(r)) * mpmath.exp(-a * abs(r))

        def p(y):
            return mpmath.exp(-(((y - m) / s) ** 2) / 2)

        x = mpmath.mpf("0.5")
        pieces = [0, 0.5, 1, 2, 4, 8, 16]
        mass = mpmath.quad(p, pieces)
        mean = mpmath.quad(lambda y: k(x - y) * p(y), pieces) / mass
        double = (
            mpmath.quad(
                lambda y: p(y) * (mpmath.quad(lambda z: k(y - z) * p(z), [0, y]) if y else 0) * 2, [0, 0.5, 2, 8]
            )
            / mass**2
        )
    emb = fwbq.embed(fwbq.Matern32(0.75), fwbq.TruncatedGaussian(-3.0, 1.0))
    np.testing.assert_allclose(emb.mean([[0.5]])[0], float(mean), rtol=1e-14)
    np.testing.assert_allclose(emb.variance, float(double), rtol=1e-13)


# ----------------------------------------------------------------------------------------------------------- limits
@pytest.mark.parametrize("kernel", [*STATIONARY, fwbq.Matern12(0.7) * fwbq.ExpQuad(1.0)], ids=name)
@pytest.mark.parametrize(
    "measure",
    [
        fwbq.Gaussian([0.4, 0.1], 1e-20),
        fwbq.TruncatedGaussian([0.4, 0.1], 1e-20, -1.0, 1.0),
        fwbq.Uniform([0.4 - 1e-10, 0.1 - 1e-10], [0.4 + 1e-10, 0.1 + 1e-10]),
        fwbq.Product([stats.laplace(0.4, 1e-10), stats.beta(0.5, 0.5, 0.1 - 1e-10, 2e-10)]),
        fwbq.GaussianMixture([0.5, 0.5], [[0.4, 0.1]] * 2, 1e-20),
    ],
    ids=name,
)
def test_dirac_limit(kernel, measure):
    """A measure that shrinks to a point gives back the kernel."""
    emb = fwbq.embed(kernel, measure)
    x = np.array([[0.0, 0.0], [1.0, -1.0], [3.0, 0.1]])
    centre = np.array([[0.4, 0.1]])
    np.testing.assert_allclose(emb.mean(x), kernel(x, centre)[:, 0], rtol=1e-8)
    np.testing.assert_allclose(emb.mean_gradient(x[:2]), kernel.gradient(x[:2], centre)[:, 0], rtol=1e-7)
    np.testing.assert_allclose(emb.variance, kernel.diag(centre)[0], rtol=1e-8)


@pytest.mark.parametrize("kernel", STATIONARY, ids=name)
def test_wide_and_narrow_lengthscales(kernel):
    """A long lengthscale gives the variance of the kernel, a short one its integral times the density."""
    family = type(kernel)
    long, short = family(1e9), family(1e-7)
    area = {"ExpQuad": np.sqrt(2 * np.pi), "Matern12": 2.0, "Matern32": 4 / np.sqrt(3), "Matern52": 16 / (3 * 5**0.5)}
    for measure in (fwbq.Gaussian(0.0, 1.0), fwbq.TruncatedGaussian(0.0, 1.0), fwbq.Product([stats.logistic()])):
        np.testing.assert_allclose(fwbq.embed(long, measure).mean([[0.7]]), 1.0, rtol=1e-8)
        np.testing.assert_allclose(fwbq.embed(long, measure).variance, 1.0, rtol=1e-8)
        density = np.exp(measure.log_density([[0.7]])[0])
        expected = area[name(kernel)] * 1e-7 * density
        np.testing.assert_allclose(fwbq.embed(short, measure).mean([[0.7]]), expected, rtol=1e-8)


@pytest.mark.parametrize("measure", MEASURES, ids=name)
@pytest.mark.parametrize("kernel", [*STATIONARY, fwbq.ExpQuad(1.0) * fwbq.Matern52([0.5, 2.0])], ids=name)
def test_far_points(kernel, measure):
    """Thousands of lengthscales away: zero or tiny, never negative or not a number."""
    emb = fwbq.embed(kernel, measure)
    x = np.array([[s * d, t * d] for d in (30.0, 1e3, 1e6, 1e150, 1e300) for s in (-1, 0, 1) for t in (-1, 1)])
    mean, gradient = emb.mean(x), emb.mean_gradient(x)
    assert np.all(np.isfinite(mean)) and np.all(mean >= 0.0) and np.all(mean < emb.variance)
    assert np.all(np.isfinite(gradient))


def test_far_values_keep_their_digits():
    """Both erf terms near one: the difference is still right."""
    # erfc(-14) agrees with 2 in 88 digits.
    with mpmath.workdps(250):

        def gap(x, length):
            a, b = (mpmath.mpf(c - x) / (mpmath.sqrt(2) * mpmath.mpf(length)) for c in (0, 1))
            return (mpmath.erfc(-b) - mpmath.erfc(-a)) / 2 * mpmath.sqrt(2 * mpmath.pi) * mpmath.mpf(length)

        for x, length in ((-20.0, 1.0), (12.0, 0.5), (-3.0, 1e4), (500.0, 30.0)):
            emb = fwbq.embed(fwbq.ExpQuad(length), fwbq.Uniform(0.0, 1.0))
            np.testing.assert_allclose(emb.mean([[x]])[0], float(gap(x, length)), rtol=1e-12)


# -------------------------------------------------------------------------------------------- linearity and symmetry
@pytest.mark.parametrize("kernel", STATIONARY, ids=name)
def test_mixture_of_one_is_its_component(kernel):
    x = np.array([[0.0, 0.0], [1.0, 2.0]])
    one = fwbq.embed(kernel, fwbq.GaussianMixture([1.0], [[0.3, -1.0]], [np.diag([1.0, 2.0])]))
    same = fwbq.embed(kernel, fwbq.Gaussian([0.3, -1.0], [1.0, 2.0]))
    np.testing.assert_allclose(one.mean(x), same.mean(x), rtol=1e-14)
    np.testing.assert_allclose(one.mean_gradient(x), same.mean_gradient(x), rtol=1e-14)
    np.testing.assert_allclose(one.variance, same.variance, rtol=1e-14)


@pytest.mark.parametrize("kernel", [*STATIONARY, fwbq.ExpQuad(1.0) + 2.0 * fwbq.Matern12(0.5)], ids=name)
def test_cross(kernel):
    """Symmetric, equal to the variance on the diagonal, and the integral of one mean element under the other."""
    nodes, weights = np.polynomial.legendre.leggauss(80)
    box = fwbq.Uniform([0.0, -1.0], [1.0, 3.0])
    grid = np.stack(np.meshgrid(0.5 + 0.5 * nodes, 1.0 + 2.0 * nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    for p in MEASURES:
        assert cross(kernel, p, p) == pytest.approx(fwbq.embed(kernel, p).variance, rel=1e-15)
        assert cross(kernel, p, box) == pytest.approx(cross(kernel, box, p), rel=1e-12)
        if isinstance(p, (fwbq.Gaussian, fwbq.GaussianMixture)):
            outer = np.multiply.outer(weights, weights).ravel() / 4.0 @ fwbq.embed(kernel, p).mean(grid)
            assert cross(kernel, p, box) == pytest.approx(outer, rel=1e-12)
    sample = fwbq.Empirical(box.sample(50, rng=0))
    assert cross(kernel, sample, box) == pytest.approx(fwbq.embed(kernel, box).mean(sample.points).mean(), rel=1e-13)
    assert cross(kernel, box, sample) == cross(kernel, sample, box)


@pytest.mark.parametrize("kernel", [fwbq.ExpQuad(0.8), fwbq.Matern32(0.8)], ids=name)
def test_cross_equal_but_not_identical(kernel):
    """Two measures built alike give the variance, by another way than the closed form of the variance."""
    for p, q in zip(MEASURES, pickle.loads(pickle.dumps(MEASURES)), strict=True):
        assert cross(kernel, p, q) == pytest.approx(fwbq.embed(kernel, p).variance, rel=1e-12)


def test_cross_of_distant_measures():
    """The double integral of two truncated Gaussians 40 lengthscales apart, which is 1e-300 of the kernel."""
    p, q = fwbq.TruncatedGaussian(0.0, 1.0, -1.0, 1.0), fwbq.TruncatedGaussian(40.0, 1.0, 39.0, 41.0)
    with mpmath.workdps(20):

        def density(y, m):
            return mpmath.exp(-((y - m) ** 2) / 2) / (mpmath.erf(1 / mpmath.sqrt(2)) * mpmath.sqrt(2 * mpmath.pi))

        expected = mpmath.quad(
            lambda y, z: mpmath.exp(-((y - z) ** 2) / 2) * density(y, 0) * density(z, 40),
            [-1, 0, 0.5, 0.9, 1], [39, 39.1, 39.5, 40, 41],
        )  # fmt: skip
    assert cross(fwbq.ExpQuad(1.0), p, q) == pytest.approx(float(expected), rel=1e-11)


def test_distances_are_nonnegative():
    """variance(p) - 2 cross + variance(q) is a squared distance."""
    kernel = fwbq.Matern32(0.8)
    variances = [fwbq.embed(kernel, p).variance for p in MEASURES]
    for i, p in enumerate(MEASURES):
        for j, q in enumerate(MEASURES[:i]):
            assert variances[i] - 2.0 * cross(kernel, p, q) + variances[j] > 0.0


def test_random_features_cross():
    kernel = fwbq.RandomFourier(fwbq.ExpQuad(1.0), 50, 2, rng=0)
    p, q = MEASURES[0], MEASURES[3]
    a, b = fwbq.embed(kernel, p), fwbq.embed(kernel, q)
    assert cross(kernel, p, q) == pytest.approx(a.mean_features @ b.mean_features, rel=1e-14)
    x = q.sample(4, rng=0)
    np.testing.assert_allclose(a.mean(x), kernel.features(x) @ a.mean_features, rtol=1e-13)
    assert not a.mean_features.flags.writeable


@pytest.mark.parametrize("measure", MEASURES, ids=name)
def test_algebra_of_kernels(measure):
    a, b = fwbq.ExpQuad(0.8), fwbq.Matern32([1.0, 0.3])
    x = measure.sample(6, rng=2)
    both = fwbq.embed(a + 3.0 * b, measure)
    parts = fwbq.embed(a, measure), fwbq.embed(b, measure)
    np.testing.assert_allclose(both.mean(x), parts[0].mean(x) + 3.0 * parts[1].mean(x), rtol=1e-13)
    np.testing.assert_allclose(both.variance, parts[0].variance + 3.0 * parts[1].variance, rtol=1e-13)
    spread = fwbq.embed((a + b) * (2.0 * a), measure)
    terms = fwbq.embed(2.0 * (a * a), measure), fwbq.embed(2.0 * (b * a), measure)
    np.testing.assert_allclose(spread.mean(x), terms[0].mean(x) + terms[1].mean(x), rtol=1e-13)
    joined = fwbq.embed(a * a, measure)
    same = fwbq.embed(fwbq.ExpQuad(0.8 / 2**0.5), measure)
    np.testing.assert_allclose(joined.mean(x), same.mean(x), rtol=1e-13)


@pytest.mark.parametrize("kernel", STATIONARY, ids=name)
def test_shift_and_scale(kernel):
    """Moving measure, points and lengthscale together changes nothing."""
    stretched = type(kernel)(0.8 * 7.0, kernel.variance)
    x = np.array([[0.1], [0.8], [2.5]])
    for p, q in (
        (fwbq.TruncatedGaussian(1.0, 0.5), fwbq.TruncatedGaussian(7.0 - 30.0, 0.5 * 49.0, -30.0)),
        (fwbq.Uniform(0.0, 1.0), fwbq.Uniform(-30.0, -23.0)),
        (fwbq.Product([stats.gamma(0.4)]), fwbq.Product([stats.gamma(0.4, loc=-30.0, scale=7.0)])),
        (fwbq.Product([stats.cauchy()]), fwbq.Product([stats.cauchy(loc=-30.0, scale=7.0)])),
    ):
        a, b = fwbq.embed(kernel, p), fwbq.embed(stretched, q)
        np.testing.assert_allclose(a.mean(x), b.mean(7.0 * x - 30.0), rtol=1e-12)
        np.testing.assert_allclose(a.mean_gradient(x), 7.0 * b.mean_gradient(7.0 * x - 30.0), rtol=1e-11)
        np.testing.assert_allclose(a.variance, b.variance, rtol=1e-12)


def test_periodic_on_the_unit_cube():
    emb = fwbq.embed(fwbq.PeriodicSobolev(2), fwbq.Uniform([0.0] * 3, [1.0] * 3))
    x = np.random.default_rng(0).random((5, 3))
    assert np.all(emb.mean(x) == 1.0) and np.all(emb.mean_gradient(x) == 0.0) and emb.variance == 1.0


# ------------------------------------------------------------------------------------------------ methods and errors
def test_recognised_distributions_take_the_closed_form():
    p = fwbq.Product([stats.norm(1.0, 2.0), stats.uniform(-1.0, 3.0), stats.norm(scale=0.5)])
    emb = fwbq.embed(fwbq.Matern52(0.7), p)
    assert emb.method == "closed form"
    q = fwbq.Product([stats.truncnorm(-1.0, np.inf, loc=1.0, scale=1.0)])
    same = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.TruncatedGaussian(1.0, 1.0))
    other = fwbq.embed(fwbq.ExpQuad(1.0), q)
    assert other.method == same.method and other.variance == pytest.approx(same.variance, rel=1e-14)
    mixed = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Product([stats.norm(), stats.gamma(2.0)]))
    assert mixed.method == "closed form; 1-d quadrature"


@pytest.mark.parametrize(
    ("kernel", "measure", "reason"),
    [
        (fwbq.Matern32(1.0), fwbq.Gaussian([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]]), "depend on each other"),
        (
            fwbq.Matern32(1.0),
            fwbq.GaussianMixture([1.0], [[0.0, 0.0]], [[[1.0, 0.5], [0.5, 1.0]]]),
            "depend on each other",
        ),
        (fwbq.PeriodicSobolev(1), fwbq.Gaussian(0.0, 1.0), "no method is registered"),
        (fwbq.PeriodicSobolev(1), fwbq.Uniform(-0.5, 0.5), "unit cube"),
        (
            fwbq.ExpQuad(1.0) * fwbq.RandomFourier(fwbq.ExpQuad(1.0), 5, 1, rng=0),
            fwbq.Gaussian(0.0, 1.0),
            "functions of x - y",
        ),
        (
            fwbq.ExpQuad(1.0) * fwbq.RandomFourier(fwbq.ExpQuad(1.0), 5, 2, rng=0),
            fwbq.Gaussian([0.0, 0.0], 1.0),
            "not a product over coordinates",
        ),
    ],
)
def test_refusals_say_what_can_be_done(kernel, measure, reason):
    with pytest.raises(TypeError, match=reason) as info:
        fwbq.embed(kernel, measure)
    assert "What can be embedded" in str(info.value) and "Empirical" in str(info.value)
    sample = fwbq.Empirical(measure.sample(5, rng=0))
    assert np.isfinite(fwbq.embed(kernel, sample).variance)


def test_bad_arguments():
    with pytest.raises(TypeError, match="`kernel` must be a Kernel"):
        fwbq.embed("ExpQuad", fwbq.Gaussian(0.0, 1.0))
    with pytest.raises(TypeError, match="`measure` must be a distribution with its parameters"):
        fwbq.embed(fwbq.ExpQuad(1.0), stats.norm)
    with pytest.raises(ValueError, match="dimension"):
        fwbq.embed(fwbq.ExpQuad([1.0, 2.0]), fwbq.Gaussian(0.0, 1.0))
    emb = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian(0.0, 1.0))
    with pytest.raises(ValueError, match=r"x\[:, None\]"):
        emb.mean([0.0, 1.0])
    with pytest.raises(ValueError, match="`q` has dimension"):
        cross(fwbq.ExpQuad(1.0), fwbq.Gaussian(0.0, 1.0), fwbq.Gaussian([0.0, 0.0], 1.0))


def test_no_points():
    for measure in MEASURES:
        emb = fwbq.embed(fwbq.Matern32(1.0), measure)
        assert emb.mean(np.empty((0, 2))).shape == (0,) and emb.mean_gradient(np.empty((0, 2))).shape == (0, 2)


def test_a_density_with_an_unseen_spike_is_refused():
    class Spike(stats.rv_continuous):
        def _pdf(self, x):
            # Half of the mass within 1e-13 of 0.3, which no panel can see.
            return 0.5 * (np.abs(x) < 0.5) + 0.5e13 * stats.norm.pdf((x - 0.3) * 1e13)

        def _ppf(self, q):
            return q - 0.5

        def _logpdf(self, x):
            return np.log(self._pdf(x))

    emb = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Product([Spike(a=-0.5, b=0.5, name="spike")()]))
    with pytest.raises(ValueError, match="integrates to"):
        emb.mean([[0.0]])


def test_embeddings_can_be_pickled():
    x = np.array([[0.3, 0.4]])
    for measure in MEASURES:
        emb = fwbq.embed(fwbq.Matern32(1.0), measure)
        value = emb.mean(x)
        again = pickle.loads(pickle.dumps(emb))
        assert np.array_equal(again.mean(x), value) and again.variance == emb.variance and again.method == emb.method


def test_table_lists_every_pair():
    rows = embeddings.table().splitlines()[2:]
    pairs = [*embeddings.available(), *embeddings.available_on_line()]
    assert [tuple(row.split(" | ")[:2]) for row in rows] == [(f"| {k.__name__}", p.__name__) for k, p in pairs]
    assert all(row.count("|") == 5 for row in rows)


@pytest.mark.parametrize("shape", [0.01, 0.05, 0.5])
@pytest.mark.parametrize("length", [1e-3, 1.0, 50.0])
def test_gamma_peaks_have_their_laplace_transform(shape, length):
    """At the bound Matern 1/2 is exp(-y / l): its mean is (1 + 1/l)^-shape, and hardly changes next to the bound."""
    emb = fwbq.embed(fwbq.Matern12(length), fwbq.Product([stats.gamma(shape)]))
    expected = float((1 + 1 / mpmath.mpf(length)) ** -mpmath.mpf(shape))
    np.testing.assert_allclose(emb.mean([[0.0], [1e-300], [7e-171], [1e-40], [1e-18]]), expected, rtol=1e-12)
    slope = emb.mean_gradient([[0.0]])[0, 0]
    np.testing.assert_allclose(slope, expected / length, rtol=1e-12)
