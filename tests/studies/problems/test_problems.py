"""The table of problems: every value is checked by an integration that shares nothing with the closed form."""

import pickle

import numpy as np
import pytest
from scipy import integrate as quadrature
from scipy import stats

from fwbq.measures import Empirical, Gaussian, GaussianMixture, Product, TruncatedGaussian, Uniform
from studies import problems
from studies.problems import genz, rough

TABLE = problems.all()


def test_the_table_is_large_enough_and_named_uniquely():
    assert len(TABLE) >= 30
    assert len({p.name for p in TABLE}) == len(TABLE)


def test_the_table_covers_what_it_promises():
    for family in ("oscillatory", "product-peak", "corner-peak", "gaussian", "continuous", "discontinuous"):
        assert {p.dim for p in problems.select(f"genz-{family}")} == {1, 2, 3, 5}
    for tag in ("matern12", "matern32", "matern52", "bumps", "evidence", "oscillatory", "kink", "step", "constant"):
        assert problems.select(tag)
    assert any(p.value == 0.0 and not p.f(p.measure.sample(5, rng=0)).any() for p in problems.select("constant"))


def test_the_table_is_the_same_every_time():
    again = problems.all.__wrapped__()
    for p, q in zip(TABLE, again, strict=True):
        assert p.name == q.name
        assert p.value == q.value
        x = p.measure.sample(4, rng=3)
        assert np.array_equal(p.f(x), q.f(x))


def test_draws_differ():
    a, b = (problems.draw("genz-gaussian", 2, rng=seed) for seed in (0, 1))
    assert a.value != b.value


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="family"):
        problems.draw("genz-typo", 1)
    with pytest.raises(ValueError, match="`dim` must be one of"):
        problems.draw("binomial-evidence", 2)
    with pytest.raises(ValueError, match="tag"):
        problems.select("no such tag")


@pytest.mark.parametrize("problem", TABLE, ids=lambda p: p.name)
def test_integrands_take_many_points_and_travel(problem):
    x = problem.measure.sample(7, rng=0)
    f = problem.f(x)
    assert f.shape == (7,)
    assert np.isfinite(f).all()
    assert np.array_equal(pickle.loads(pickle.dumps(problem.f))(x), f)
    # one at a time gives the same up to the rounding of BLAS
    single = np.concatenate([problem.f(point[None, :]) for point in x])
    np.testing.assert_allclose(single, f, rtol=1e-9, atol=1e-12 * max(1e-300, np.abs(f).max()))


def _marginal(measure, i):
    if isinstance(measure, Uniform):
        a, b = measure.lower[i], measure.upper[i]
        return stats.uniform(a, b - a)
    if isinstance(measure, TruncatedGaussian):
        s = np.sqrt(measure.variance[i])
        return stats.truncnorm(-measure.mean[i] / s, np.inf, measure.mean[i], s)
    return measure.distributions[i]


def _breaks(problem, dim):
    """Places where one-dimensional slices have kinks or jumps, so that quadrature is not fooled."""
    if isinstance(problem.f, genz.Continuous | genz.Discontinuous):
        return [[u] for u in problem.f.u]
    return [[] for _ in range(dim)]


def _tensor(problem):
    """Composite Gauss-Legendre in up to two dimensions, split where the integrand has kinks."""
    measure, dim = problem.measure, problem.dim
    nodes, weights = np.polynomial.legendre.leggauss(40)
    axes = []
    for i, breaks in enumerate(_breaks(problem, dim)):
        marginal = _marginal(measure, i)
        low, high = (
            marginal.ppf(q) if np.isfinite(e) else marginal.ppf(t)
            for q, e, t in ((0.0, marginal.support()[0], 1e-18), (1.0, marginal.support()[1], 1 - 1e-16))
        )
        edges = np.unique(np.concatenate([np.linspace(low, high, 9 if dim == 2 else 60), breaks]))
        middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
        x = (middle[:, None] + half[:, None] * nodes).ravel()
        axes.append((x, (half[:, None] * weights).ravel() * marginal.pdf(x)))
    grid = np.stack(np.meshgrid(*(x for x, _ in axes), indexing="ij"), axis=-1).reshape(-1, dim)
    total = axes[0][1] if dim == 1 else np.outer(axes[0][1], axes[1][1]).ravel()
    return float(total @ problem.f(grid))


PRODUCTS = [
    p
    for p in TABLE
    if isinstance(p.measure, Uniform | TruncatedGaussian | Product) and p.dim <= 2 and "sample" not in p.tags
]


@pytest.mark.parametrize("problem", PRODUCTS, ids=lambda p: p.name)
def test_values_under_product_measures(problem):
    scale = abs(problem.value) + 1e-12
    assert abs(_tensor(problem) - problem.value) < 2e-9 * scale


SMOOTH_GAUSSIAN = [
    p
    for p in TABLE
    if isinstance(p.measure, Gaussian | GaussianMixture)
    and p.dim <= 3
    and "analytic" in p.tags
    and "sharp" not in p.tags
]


@pytest.mark.parametrize("problem", SMOOTH_GAUSSIAN, ids=lambda p: p.name)
def test_values_under_gaussian_measures(problem):
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    d = problem.dim
    z = np.stack(np.meshgrid(*[nodes] * d, indexing="ij"), axis=-1).reshape(-1, d)
    w = np.prod(np.stack(np.meshgrid(*[weights] * d, indexing="ij"), axis=-1).reshape(-1, d), axis=1)
    parts = [(1.0, problem.measure)]
    if isinstance(problem.measure, GaussianMixture):
        parts = zip(problem.measure.weights, problem.measure.components, strict=True)
    value = sum(c * (w @ problem.f(p.mean + z @ np.linalg.cholesky(p.cov).T)) for c, p in parts)
    assert abs(value - problem.value) <= 1e-6 * max(abs(problem.value), np.abs(problem.f(z)).max() * 1e-6)


@pytest.mark.parametrize(
    "problem",
    [p for p in TABLE if p.dim == 1 and isinstance(p.measure, Gaussian) and p.tags & {"sharp", "kink", "step"}],
    ids=lambda p: p.name,
)
def test_values_of_one_dimensional_kinks_steps_and_peaks(problem):
    f = problem.f
    centre = getattr(f, "c", None)
    place = float(centre / f.a[0]) if centre is not None else float(f.y[0])

    def integrand(x):
        return float(f(np.array([[x]]))[0] * stats.norm.pdf(x))

    left, right = (quadrature.quad(integrand, a, b, epsabs=1e-13, limit=200)[0] for a, b in ((-12, place), (place, 12)))
    assert abs(left + right - problem.value) < 1e-10


@pytest.mark.parametrize("kind", ["hinge", "halfspace"])
def test_kinks_and_steps_depend_on_one_direction_only(kind):
    # The law of a.x is standard normal whatever the unit vector a, so the value is that of one dimension.
    for problem in problems.select(kind):
        assert np.isclose(np.linalg.norm(problem.f.a), 1.0)


def test_corner_peak_in_five_dimensions_by_its_laplace_transform():
    # (1 + s)^-(d+1) = int t^d e^(-t (1 + s)) dt / d!, which factorises over the coordinates.
    (problem,) = problems.select("genz-corner-peak", "d=5")
    a = problem.f.a

    def integrand(t):
        return t**5 * np.exp(-t) * np.prod(-np.expm1(-a * t) / (a * t)) / 120.0

    value, _ = quadrature.quad(integrand, 1e-12, 60.0, epsabs=1e-14, limit=200)
    assert abs(value - problem.value) < 1e-9 * problem.value


def test_other_high_dimensional_values_by_factorisation():
    # Every one of these is a product over coordinates, so a product of one-dimensional integrals is independent of d.
    for name in ("genz-product-peak", "genz-gaussian", "genz-continuous", "genz-discontinuous"):
        for problem in problems.select(name, "d=5"):
            total = 1.0
            for i in range(5):
                one = type(problem.f)(
                    problem.f.a[i : i + 1], problem.f.u[i : i + 1] if i < 2 or name[5] != "d" else np.ones(1)
                )
                breaks = [float(one.u[0])] if 0.0 < one.u[0] < 1.0 else None
                total *= quadrature.quad(
                    lambda x, one=one: float(one(np.array([[x]]))[0]),
                    0,
                    1,
                    points=breaks,
                    epsabs=0,
                    epsrel=1e-11,
                    limit=200,
                )[0]
            assert abs(total - problem.value) < 1e-9 * problem.value


def test_every_value_agrees_with_plain_sampling():
    for problem in TABLE:
        if isinstance(problem.measure, Empirical):
            value = problem.measure.weights @ problem.f(problem.measure.points)
            assert value == pytest.approx(problem.value, rel=1e-12)
            continue
        n = 4096
        u = stats.qmc.Sobol(problem.measure.uniform_dim, seed=np.random.default_rng(5)).random(n)
        f = problem.f(problem.measure.from_uniform(u))
        unit = np.abs(f).max() or 1.0  # squares of tiny values vanish
        # Sobol points are better than independent ones, whose standard error is the yardstick.
        error = abs((f / unit).mean() - problem.value / unit)
        assert error <= 5.0 * (f / unit).std() / np.sqrt(n) + 1e-14, problem.name


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_frequencies_have_the_matern_law(nu):
    w, importance = rough.frequencies(nu, 200_000, 1, np.random.default_rng(0))
    assert abs(importance.mean() - 1.0) < 0.01
    r = 0.7
    s = np.sqrt(2 * nu) * r
    exact = {0.5: 1.0, 1.5: 1.0 + s, 2.5: 1.0 + s + s * s / 3.0}[nu] * np.exp(-s)
    assert abs(np.mean(importance * np.cos(w[:, 0] * r)) - exact) < 0.01


@pytest.mark.parametrize("name", ["matern12", "matern32", "matern52"])
def test_samples_are_as_rough_as_they_say(name):
    # E (f(x + h) - f(x))^2 = 2 (1 - k(h)): of order h for nu = 1/2, h^2 beyond; second differences tell 3/2 from 5/2.
    slopes = []
    steps = np.array([2e-3, 8e-3])
    for seed in range(40):
        f = problems.draw(f"{name}-uniform", 1, rng=seed).f
        x = np.linspace(0.05, 0.9, 50)[:, None]
        second = [np.mean((f(x + h) - 2 * f(x) + f(x - h)) ** 2) for h in steps]
        slopes.append(np.log(second))
    mean = np.log(np.mean(np.exp(slopes), axis=0))
    exponent = (mean[1] - mean[0]) / np.log(steps[1] / steps[0])
    expected = {"matern12": 1.0, "matern32": 3.0, "matern52": 4.0}[name]
    assert abs(exponent - expected) < 0.35


def test_waves_integrate_exactly_in_both_measures():
    for name in ("matern32-uniform", "matern32-gaussian"):
        (problem,) = problems.select(name, "d=1")
        one = rough.Waves(problem.f.w[:3] * 0.3, problem.f.alpha[:3], problem.f.beta[:3])
        uniform = quadrature.quad(lambda x, g=one: float(g(np.array([[x]]))[0]), 0, 1, epsabs=1e-13)[0]
        normal = quadrature.quad(
            lambda x, g=one: float(g(np.array([[x]]))[0]) * stats.norm.pdf(x), -12, 12, epsabs=1e-13, limit=200
        )[0]
        assert abs(one.integral(rough.characteristic_uniform) - uniform) < 1e-11
        assert abs(one.integral(rough.characteristic_normal) - normal) < 1e-11
