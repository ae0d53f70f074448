"""Likelihoods with known evidence: narrow, bent, heavy-tailed, cut, flat, with two modes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import integrate as quadrature
from scipy import stats
from scipy.optimize import minimize
from scipy.special import gammaln, log_ndtr, logsumexp

from .._gauss import tensor_grid
from ..measures import Gaussian, Measure, Product, Uniform

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Likelihood:
    """A log likelihood under a prior, with the logarithm of its evidence.

    Attributes
    ----------
    name : str
        Family and size.
    log_likelihood : callable
        Points (n, d) to values (n,); it can be pickled.
    prior : Measure
    log_evidence : float
        Exact, or computed to 1e-6 and better.
    """

    name: str
    log_likelihood: Callable[[Array], Array]
    prior: Measure
    log_evidence: float

    @property
    def dim(self) -> int:
        """Number of parameters."""
        return self.prior.dim

    def __repr__(self) -> str:
        return f"<Likelihood {self.name}: d = {self.dim}, log evidence {self.log_evidence:.6g}>"


def tensor_log_evidence(log_joint: Callable[[Array], Array], start: Array, size: int, reach: float = 7.0) -> float:
    r"""Return :math:`\log \int e^{g}` by the trapezoidal rule around the mode, for up to four parameters.

    Coordinates are whitened by the curvature at the mode, where the rule with `size` nodes per axis covers `reach`
    standard deviations each way; for a smooth integrand that falls off like a Gaussian its error is exponentially
    small. The result of `size` and of two thirds of it must agree to 1e-6, else a ValueError says so.
    """
    d = len(start)

    def negative(x: Any) -> float:
        return -float(log_joint(np.asarray(x)[None])[0])

    mode = np.asarray(minimize(negative, start, method="BFGS", tol=1e-9).x, dtype=float)
    step = 1e-4 * np.maximum(1.0, np.abs(mode))
    H = np.empty((d, d))
    for i in range(d):
        for j in range(d):
            a, b = step * (np.arange(d) == i), step * (np.arange(d) == j)
            corners = np.array([mode + a + b, mode + a - b, mode - a + b, mode - a - b])
            H[i, j] = np.array([1.0, -1.0, -1.0, 1.0]) @ log_joint(corners) / (4.0 * step[i] * step[j])
    root = np.linalg.cholesky(np.linalg.inv(-0.5 * (H + H.T)))

    def value(nodes: int) -> float:
        axis = np.linspace(-reach, reach, nodes)
        grid = tensor_grid([axis] * d)
        logs = np.concatenate(
            [log_joint(mode + part @ root.T) for part in np.array_split(grid, 1 + len(grid) // 50_000)]
        )
        spacing = d * np.log(axis[1] - axis[0]) + np.sum(np.log(np.diagonal(root)))
        return float(logsumexp(logs) + spacing)

    fine, coarse = value(size), value(2 * size // 3)
    if not abs(fine - coarse) < 1e-6:
        raise ValueError(f"the tensor rule has not converged: {coarse} with 2/3 of the nodes, {fine} with all")
    return fine


def _standard(d: int) -> Gaussian:
    return Gaussian(np.zeros(d), np.eye(d))


def _quadratic_form(x: Array, centre: Array, precision: Array) -> Array:
    r = x - centre
    return np.asarray(np.einsum("ni,ij,nj->n", r, precision, r))


def _gaussian_log(x: Array, centre: Array, precision: Array) -> Array:
    return -0.5 * _quadratic_form(x, centre, precision)


def _inverse(a: Array) -> Array:
    return np.asarray(np.linalg.inv(a), dtype=float)


def _random_cov(d: int, width: float, rng: np.random.Generator, spread: float = 2.0) -> Array:
    """Return a covariance with random axes and standard deviations within a factor `spread` of `width`."""
    q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    sd = width * spread ** rng.uniform(-1.0, 1.0, d)
    return np.asarray(q @ np.diag(sd**2) @ q.T)


def _gaussian_evidence(centre: Array, cov: Array) -> float:
    """Return the log evidence of exp(-r'S^-1 r / 2) under N(0, I)."""
    d = len(centre)
    total = np.eye(d) + cov
    half_logs = np.linalg.slogdet(cov)[1] - np.linalg.slogdet(total)[1]
    return float(0.5 * half_logs - 0.5 * centre @ np.linalg.solve(total, centre))


def gaussian(d: int, narrower: float, rng: Any = None) -> Likelihood:
    """Return a correlated Gaussian likelihood, `narrower` times narrower than its standard Gaussian prior."""
    g = np.random.default_rng(rng)
    cov = _random_cov(d, 1.0 / narrower, g)
    centre = g.standard_normal(d)
    log = partial(_gaussian_log, centre=centre, precision=_inverse(cov))
    return Likelihood(f"gaussian d={d} x{narrower:g}", log, _standard(d), _gaussian_evidence(centre, cov))


def _box_log(x: Array, centre: Array, sd: Array) -> Array:
    return np.asarray(-0.5 * np.sum(((x - centre) / sd) ** 2, axis=1))


def gaussian_in_box(d: int, narrower: float, rng: Any = None) -> Likelihood:
    """Return an uncorrelated Gaussian likelihood under a uniform prior on a box of side ten."""
    g = np.random.default_rng(rng)
    sd = 10.0 / np.sqrt(12.0) / narrower * 2.0 ** g.uniform(-1.0, 1.0, d)
    centre = g.uniform(-4.0, 4.0, d)
    inside = stats.norm.cdf((5.0 - centre) / sd) - stats.norm.cdf((-5.0 - centre) / sd)
    value = float(np.sum(np.log(np.sqrt(2.0 * np.pi) * sd * inside / 10.0)))
    log = partial(_box_log, centre=centre, sd=sd)
    return Likelihood(f"gaussian in a box d={d} x{narrower:g}", log, Uniform(np.full(d, -5.0), np.full(d, 5.0)), value)


def _banana_log(x: Array, bend: float, shift: float, width: float, at: float, along: float) -> Array:
    ridge = x[:, 1] - bend * (x[:, 0] ** 2 - shift)
    return np.asarray(-0.5 * (ridge / width) ** 2 - 0.5 * ((x[:, 0] - at) / along) ** 2)


def banana(rng: Any = None) -> Likelihood:
    """Return a bent ridge in two dimensions."""
    g = np.random.default_rng(rng)
    bend, shift, width = g.uniform(0.5, 1.2), g.uniform(0.5, 1.5), g.uniform(0.08, 0.25)
    at, along = g.uniform(-0.3, 0.3), g.uniform(0.6, 1.0)

    def inner(x: float) -> float:
        # The second coordinate in closed form: a Gaussian under N(0, 1).
        return float(
            np.exp(
                -0.5 * (bend * (x * x - shift)) ** 2 / (1.0 + width**2) - 0.5 * ((x - at) / along) ** 2 - 0.5 * x * x
            )
        )

    z, _ = quadrature.quad(inner, -12.0, 12.0, epsabs=0.0, epsrel=1e-11, limit=500)
    value = np.log(z / np.sqrt(2.0 * np.pi) * width / np.sqrt(1.0 + width**2))
    log = partial(_banana_log, bend=bend, shift=shift, width=width, at=at, along=along)
    return Likelihood("banana", log, _standard(2), float(value))


def _student_log(x: Array, centre: Array, precision: Array, df: float) -> Array:
    return np.asarray(-0.5 * (df + x.shape[1]) * np.log1p(_quadratic_form(x, centre, precision) / df))


def student(d: int = 4, df: float = 4.0, narrower: float = 5.0, rng: Any = None) -> Likelihood:
    """Return a multivariate Student likelihood, a mixture over u ~ Gamma(df/2, df/2) of Gaussians with S / u."""
    g = np.random.default_rng(rng)
    cov = _random_cov(d, 1.0 / narrower, g)
    centre = g.standard_normal(d)

    def inner(u: float) -> float:
        evidence = _gaussian_evidence(centre, cov / u) + 0.5 * d * np.log(u)
        return float(np.exp(evidence + stats.gamma.logpdf(u, 0.5 * df, scale=2.0 / df) - top))

    us = np.geomspace(1e-4, 30.0, 2000)
    top = 0.0
    with np.errstate(divide="ignore"):
        top = float(np.max(np.log([inner(u) for u in us])))
    z, _ = quadrature.quad(inner, 0.0, 60.0, epsabs=0.0, epsrel=1e-10, limit=1000, points=[0.01, 0.1, 0.5, 1.0, 3.0])
    # The mixture gives the density divided by |2 pi S|^(-1/2); the kernel has value one at its centre.
    at_centre = gammaln(0.5 * (df + d)) - gammaln(0.5 * df) - 0.5 * d * np.log(0.5 * df)
    value = np.log(z) + top - at_centre
    log = partial(_student_log, centre=centre, precision=_inverse(cov), df=df)
    return Likelihood(f"student d={d}", log, _standard(d), float(value))


def _logistic_log(x: Array, features: Array, labels: Array) -> Array:
    margin = (x @ features.T) * labels
    return np.asarray(-np.sum(np.logaddexp(0.0, -margin), axis=1))


def logistic(d: int = 3, size: int = 60, rng: Any = None) -> Likelihood:
    """Return a logistic regression on simulated data under N(0, 5^2 I)."""
    g = np.random.default_rng(rng)
    features = np.column_stack([np.ones(size), g.standard_normal((size, d - 1))])
    truth = g.standard_normal(d)
    labels = np.where(g.uniform(size=size) < 1.0 / (1.0 + np.exp(-features @ truth)), 1.0, -1.0)
    log = partial(_logistic_log, features=features, labels=labels)
    prior = Gaussian(np.zeros(d), 25.0 * np.eye(d))

    def joint(x: Array) -> Array:
        return log(x) + prior.log_density(x)

    value = tensor_log_evidence(joint, np.zeros(d), {1: 200, 2: 120, 3: 84, 4: 48}[d], 9.0)
    return Likelihood(f"logistic d={d}", log, prior, value)


def _poisson_log(x: Array, features: Array, counts: Array) -> Array:
    rates = x @ features.T
    with np.errstate(over="ignore"):
        return np.asarray(rates @ counts - np.sum(np.exp(rates), axis=1) - np.sum(gammaln(counts + 1.0)))


def poisson(d: int = 4, size: int = 40, rng: Any = None) -> Likelihood:
    """Return a Poisson regression on simulated counts under N(0, 2^2 I)."""
    g = np.random.default_rng(rng)
    features = np.column_stack([np.ones(size), 0.7 * g.standard_normal((size, d - 1))])
    truth = 0.6 * g.standard_normal(d) + np.where(np.arange(d) == 0, 1.0, 0.0)
    counts = g.poisson(np.exp(features @ truth)).astype(float)
    log = partial(_poisson_log, features=features, counts=counts)
    prior = Gaussian(np.zeros(d), 4.0 * np.eye(d))

    def joint(x: Array) -> Array:
        return log(x) + prior.log_density(x)

    value = tensor_log_evidence(joint, 0.5 * truth, {1: 200, 2: 100, 3: 60, 4: 30}[d], 7.5)
    return Likelihood(f"poisson d={d}", log, prior, value)


def _process_log(x: Array, times: Array, values: Array) -> Array:
    lengths, scales, noises = np.exp(x).T
    squares = np.subtract.outer(times, times) ** 2
    K = scales[:, None, None] ** 2 * np.exp(-0.5 * squares / lengths[:, None, None] ** 2)
    K = K + (noises[:, None, None] ** 2 + 1e-10 * scales[:, None, None] ** 2) * np.eye(len(times))
    lower = np.linalg.cholesky(K)
    solved = np.linalg.solve(lower, values[:, None])[:, :, 0]
    logs = np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
    return np.asarray(-0.5 * np.sum(solved**2, axis=1) - logs - 0.5 * len(times) * np.log(2.0 * np.pi))


def process_regression(size: int = 15, rng: Any = None) -> Likelihood:
    """Return the length-scale, amplitude and noise (logarithms) of a regression with a Gaussian process."""
    g = np.random.default_rng(rng)
    times = np.sort(g.uniform(0.0, 5.0, size))
    K = np.exp(-0.5 * np.subtract.outer(times, times) ** 2) + 1e-9 * np.eye(size)
    values = np.linalg.cholesky(K) @ g.standard_normal(size) + 0.2 * g.standard_normal(size)
    log = partial(_process_log, times=times, values=values)
    prior = Gaussian(np.array([0.0, 0.0, -1.5]), np.eye(3))

    def joint(x: Array) -> Array:
        return log(x) + prior.log_density(x)

    # The tails are not Gaussian here: a wide box of the prior instead of the mode's neighbourhood.
    axis = np.linspace(-6.5, 6.5, 66)
    grid = tensor_grid([axis, axis, axis - 1.5])
    logs = np.concatenate([joint(part) for part in np.array_split(grid, 200)])
    return Likelihood("process regression", log, prior, float(logsumexp(logs) + 3.0 * np.log(axis[1] - axis[0])))


def _cut_log(x: Array, centre: Array, precision: Array, normal: Array, offset: float) -> Array:
    return np.where(x @ normal >= offset, _gaussian_log(x, centre, precision), -np.inf)


def cut(d: int = 2, narrower: float = 4.0, rng: Any = None) -> Likelihood:
    """Return a Gaussian likelihood that is zero beyond a plane near its centre."""
    g = np.random.default_rng(rng)
    cov = _random_cov(d, 1.0 / narrower, g)
    centre = 0.7 * g.standard_normal(d)
    precision = _inverse(cov)
    after = np.linalg.inv(precision + np.eye(d))
    mean = after @ precision @ centre
    normal = g.standard_normal(d)
    normal /= np.linalg.norm(normal)
    spread = np.sqrt(normal @ after @ normal)
    depth = g.uniform(-0.5, 1.5)  # standard deviations of the posterior from its mean to the plane
    value = _gaussian_evidence(centre, cov) + float(log_ndtr(depth))
    offset = float(normal @ mean - depth * spread)
    log = partial(_cut_log, centre=centre, precision=precision, normal=normal, offset=offset)
    return Likelihood(f"cut d={d}", log, _standard(d), value)


def _flat_log(x: Array, a: Array, b: Array, phase: Array) -> Array:
    return np.asarray(-0.5 * np.sum(a * x * x, axis=1) + np.sum(b * np.sin(0.8 * x + phase), axis=1))


def flat(d: int = 3, rng: Any = None) -> Likelihood:
    """Return a smooth likelihood about as wide as its prior."""
    g = np.random.default_rng(rng)
    a, b, phase = g.uniform(0.0, 0.3, d), g.uniform(-0.4, 0.4, d), g.uniform(0.0, 6.0, d)
    value = 0.0
    for i in range(d):
        integral, _ = quadrature.quad(
            lambda t, i=i: np.exp(-0.5 * (1.0 + a[i]) * t * t + b[i] * np.sin(0.8 * t + phase[i])),
            -10.0, 10.0, epsabs=0.0, epsrel=1e-12,
        )  # fmt: skip
        value += float(np.log(integral / np.sqrt(2.0 * np.pi)))
    return Likelihood(f"flat d={d}", partial(_flat_log, a=a, b=b, phase=phase), _standard(d), value)


def _mixture_log(x: Array, shares: Array, centres: Array, precisions: Array) -> Array:
    terms = [np.log(s) + _gaussian_log(x, c, p) for s, c, p in zip(shares, centres, precisions, strict=True)]
    return np.asarray(np.logaddexp.reduce(terms, axis=0))


def two_modes(d: int = 3, narrower: float = 6.0, share: float = 0.7, rng: Any = None) -> Likelihood:
    """Return two Gaussians well apart, with shares `share` and 1 - `share` of the evidence."""
    g = np.random.default_rng(rng)
    direction = g.standard_normal(d)
    direction *= g.uniform(0.9, 1.4) / np.linalg.norm(direction)
    centres = np.array([direction, -direction]) + 0.2 * g.standard_normal((2, d))
    covs = [_random_cov(d, 1.0 / narrower, g, 1.5) for _ in range(2)]
    own = np.array([_gaussian_evidence(c, s) for c, s in zip(centres, covs, strict=True)])
    shares = np.array([share, 1.0 - share]) * np.exp(own.max() - own)
    value = float(np.logaddexp.reduce(np.log(shares) + own))
    log = partial(_mixture_log, shares=shares, centres=centres, precisions=np.array([np.linalg.inv(s) for s in covs]))
    return Likelihood(f"two modes d={d}", log, _standard(d), value)


def spike_and_slab(d: int = 2, rng: Any = None) -> Likelihood:
    """Return a wide and a narrow Gaussian at one place, with half of the evidence each."""
    g = np.random.default_rng(rng)
    centre = 0.5 * g.standard_normal(d)
    covs = [_random_cov(d, 0.6, g, 1.2), _random_cov(d, 0.1, g, 1.2)]
    own = np.array([_gaussian_evidence(centre, s) for s in covs])
    shares = np.exp(own.max() - own)
    log = partial(
        _mixture_log, shares=shares, centres=np.array([centre, centre]),
        precisions=np.array([np.linalg.inv(s) for s in covs]),
    )  # fmt: skip
    return Likelihood(f"spike and slab d={d}", log, _standard(d), float(own.max() + np.log(2.0)))


def _ring_log(x: Array, radius: float, width: float) -> Array:
    return np.asarray(-0.5 * ((np.linalg.norm(x, axis=1) - radius) / width) ** 2)


def ring(rng: Any = None) -> Likelihood:
    """Return a ring in two dimensions."""
    g = np.random.default_rng(rng)
    radius, width = g.uniform(0.8, 1.5), g.uniform(0.15, 0.3)
    z, _ = quadrature.quad(
        lambda r: r * np.exp(-0.5 * ((r - radius) / width) ** 2 - 0.5 * r * r), 0.0, 12.0,
        points=[radius], epsabs=0.0, epsrel=1e-11, limit=500,
    )  # fmt: skip
    return Likelihood("ring", partial(_ring_log, radius=radius, width=width), _standard(2), float(np.log(z)))


def _funnel_log(x: Array, values: Array) -> Array:
    scale = np.exp(x[:, :1])
    sums = -0.5 * ((x[:, 1:] / scale) ** 2) - x[:, :1]
    noise = -0.5 * ((values - x[:, 1:]) / 0.5) ** 2
    return np.asarray(np.sum(sums + noise, axis=1))


def funnel(rng: Any = None) -> Likelihood:
    """Return a hierarchy of a log scale and two effects: x_i ~ N(0, e^{2 t}), observed with noise 0.5."""
    g = np.random.default_rng(rng)
    values = g.standard_normal(2)
    prior = Gaussian(np.zeros(3), np.diag([1.0, 9.0, 9.0]))

    def inner(t: float) -> float:
        # Each effect in closed form: product of N(0, s^2), N(y, 0.25) and N(0, 9), the first two not normalised.
        s2 = np.exp(2.0 * t)
        precision = 1.0 / s2 + 4.0 + 1.0 / 9.0
        mean = 4.0 * values / precision
        logs = -t - 0.5 * np.log(9.0 * precision) - 2.0 * values**2 + 0.5 * precision * mean**2
        return float(np.exp(np.sum(logs) - 0.5 * t * t) / np.sqrt(2.0 * np.pi))

    z, _ = quadrature.quad(inner, -12.0, 12.0, epsabs=0.0, epsrel=1e-11, limit=500)
    return Likelihood("funnel", partial(_funnel_log, values=values), prior, float(np.log(z)))


def _decay_log(x: Array, times: Array, values: Array) -> Array:
    with np.errstate(over="ignore"):
        predicted = x[:, :1] * np.exp(-x[:, 1:2] * times)
        return np.asarray(-0.5 * np.sum(((values - predicted) / 0.1) ** 2, axis=1))


def decay(size: int = 8, rng: Any = None) -> Likelihood:
    """Return amplitude and rate of an exponential decay under log-normal priors."""
    g = np.random.default_rng(rng)
    times = np.linspace(0.2, 3.0, size)
    truth = np.exp(0.3 * g.standard_normal(2))
    values = truth[0] * np.exp(-truth[1] * times) + 0.1 * g.standard_normal(size)
    log = partial(_decay_log, times=times, values=values)
    prior = Product([stats.lognorm(1.0), stats.lognorm(1.0)])

    def joint(logs: Array) -> Array:
        return np.asarray(log(np.exp(logs)) - 0.5 * np.sum(logs**2, axis=1) - np.log(2.0 * np.pi))

    return Likelihood("decay", log, prior, tensor_log_evidence(joint, np.log(truth), 300, 9.0))


def _skewed(t: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(-t - np.exp(-t))


#: Shapes of `rotated_product`, as log densities of a standardised coordinate.
_SHAPES: tuple[Callable[[Array], Array], ...] = (
    _skewed,
    lambda t: -0.5 * t * t + log_ndtr(3.0 * t),
    lambda t: -(t**4),
    lambda t: -np.logaddexp(t, -t),
    lambda t: -2.5 * np.log1p(t * t / 4.0),
    lambda t: -np.abs(t),
)


def _product_log(x: Array, axes: Array, centre: Array, widths: Array, shapes: list[int]) -> Array:
    t = (x @ axes - centre) / widths
    return np.asarray(np.sum([_SHAPES[k](t[:, i]) for i, k in enumerate(shapes)], axis=0))


def rotated_product(d: int = 2, narrower: float | None = None, rng: Any = None) -> Likelihood:
    """Return a product of shapes along random axes: Gumbel, skew-normal, quartic, logistic, Student, Laplace.

    `narrower` times narrower than the standard Gaussian prior; by default a factor between 2 and 200 at random. The
    prior is the same along any axes, so that the evidence is a product of integrals over lines.
    """
    g = np.random.default_rng(rng)
    factor = 2.0 * 100.0 ** g.uniform() if narrower is None else narrower
    axes, _ = np.linalg.qr(g.standard_normal((d, d)))
    widths = 2.0 ** g.uniform(-1.0, 1.0, d) / factor * g.choice([-1.0, 1.0], d)
    centre, shapes = g.standard_normal(d), g.integers(len(_SHAPES), size=d).tolist()
    value = sum(_line_integral(_SHAPES[k], c, w) for k, c, w in zip(shapes, centre, widths, strict=True))
    log = partial(_product_log, axes=axes, centre=centre, widths=widths, shapes=shapes)
    return Likelihood(f"rotated product d={d} x{factor:.3g}", log, _standard(d), float(value))


def _line_integral(shape: Callable[[Array], Array], centre: float, width: float) -> float:
    """Return the log of the integral of exp(shape((u - centre) / width)) under N(0, 1)."""

    def log_joint(u: Any) -> Array:
        return np.asarray(shape((np.asarray(u) - centre) / width) - 0.5 * np.square(u) - 0.5 * np.log(2.0 * np.pi))

    around = abs(width) * np.linspace(-60.0, 60.0, 20_001)
    tried = np.concatenate([centre + around, np.linspace(-10.0, 10.0, 20_001)])
    mode = float(tried[np.argmax(log_joint(tried))])
    top = float(log_joint(mode))
    # Pieces that end where the integrand changes: its kink or bend at the centre, and at widths around the mode.
    steps = abs(width) * np.array([0.0, 0.7, 2.0, 5.0, 12.0, 40.0])
    edges = np.unique(np.clip(np.concatenate([[-12.0, 12.0, centre], mode - steps, mode + steps]), -12.0, 12.0))
    pieces = [
        quadrature.quad(lambda u: float(np.exp(log_joint(u) - top)), a, b, epsabs=1e-13 * abs(width), epsrel=1e-11)[0]
        for a, b in pairwise(edges)
    ]
    return float(np.log(np.sum(pieces)) + top)


#: Makers of instances, by family; every call with another seed is another problem of the same kind.
LIKELIHOODS: dict[str, Callable[[Any], Likelihood]] = {
    "gaussian, d=1, 200 times narrower": lambda rng: gaussian(1, 200.0, rng),
    "gaussian, d=2, 200 times narrower": lambda rng: gaussian(2, 200.0, rng),
    "gaussian, d=3, 50 times narrower": lambda rng: gaussian(3, 50.0, rng),
    "gaussian, d=6, 5 times narrower": lambda rng: gaussian(6, 5.0, rng),
    "gaussian in a box, d=2, 30 times narrower": lambda rng: gaussian_in_box(2, 30.0, rng),
    "banana": banana,
    "student": lambda rng: student(rng=rng),
    "logistic": lambda rng: logistic(rng=rng),
    "poisson": lambda rng: poisson(rng=rng),
    "process regression": lambda rng: process_regression(rng=rng),
    "cut": lambda rng: cut(rng=rng),
    "flat": lambda rng: flat(rng=rng),
    "two modes": lambda rng: two_modes(rng=rng),
    "spike and slab": lambda rng: spike_and_slab(rng=rng),
    "ring": ring,
    "rotated product": lambda rng: rotated_product(rng=rng),
    "funnel": funnel,
    "decay": lambda rng: decay(rng=rng),
}
