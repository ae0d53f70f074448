"""Probability measures on R^d: what integrals are taken under.

>>> p = Gaussian([0.0, 0.0], [[1.0, 0.3], [0.3, 1.0]])
>>> p.sample(5, rng=1).shape
(5, 2)
"""

from typing import Any

from .. import _files
from .base import Measure
from .copula import Copula
from .discrete import Discrete
from .distributions import is_distribution
from .empirical import Empirical
from .gaussian import Gaussian
from .mixture import GaussianMixture
from .multivariate_t import MultivariateT
from .parts import not_a_distribution, other_distribution
from .product import Product
from .truncated import TruncatedGaussian
from .uniform import Uniform
from .univariate import Univariate
from .warp import Warp

__all__ = [
    "Copula",
    "Discrete",
    "Empirical",
    "Gaussian",
    "GaussianMixture",
    "Measure",
    "MultivariateT",
    "Product",
    "TruncatedGaussian",
    "Uniform",
    "Univariate",
    "Warp",
    "as_measure",
    "as_prior",
    "from_spec",
]

_FIELDS = {
    Discrete: ("values", "probabilities", "names"),
    Empirical: ("points", "weights"),
    Gaussian: ("mean", "cov"),
    GaussianMixture: ("weights", "means", "covs"),
    MultivariateT: ("loc", "shape", "df", "names"),
    TruncatedGaussian: ("mean", "variance", "lower", "upper"),
    Uniform: ("lower", "upper"),
}
_KNOWN: dict[str, Any] = {cls.__name__: cls for cls in (*_FIELDS, Copula, Product)}
#: Up to this many combinations of discrete inputs are one sample, of which `fwbq.integrate` evaluates every point where
#: `n` allows; beyond, the inputs are taken one by one, as those of a product are: an embedding of N points costs N^2
#: kernel values.
MOST_COMBINATIONS = 1024


def as_measure(x: Any, name: str = "measure") -> Measure:
    """Return a measure as it is, and distributions of scipy.stats, or a list of them, as a measure.

    Parameters
    ----------
    x : Measure, frozen scipy.stats distribution, or a list, tuple or dict of them
        A univariate distribution is a measure of one coordinate; ``stats.multivariate_normal(mean, cov)`` is a
        `Gaussian`, ``stats.multivariate_t(loc, shape, df)`` a `MultivariateT`; a list is a `Product` of independent
        inputs and blocks of inputs, a dict one with its keys as names. Inputs that are all discrete, with up to 1024
        combinations of values, are an `Empirical` measure of these.
    name : str
        What the parameter is called in the error.

    Examples
    --------
    >>> from scipy import stats
    >>> as_measure(stats.gamma(2.0))
    Product([gamma(2.0)])
    >>> as_measure([stats.gamma(2.0), stats.norm(0.0, 1.0)])
    Product([gamma(2.0), norm(0.0, 1.0)])
    """
    measure: Measure
    if isinstance(x, (list, tuple)) and len(x) == 1 and isinstance(x[0], Measure):
        measure = x[0]
    elif isinstance(x, (list, tuple, dict)):
        measure = Product.of(x, name)
    elif isinstance(x, Measure):
        measure = x
    elif is_distribution(x):
        measure = Product.of([x], name)
    else:
        found = other_distribution(x, name)
        if found is None:
            raise not_a_distribution(x, name)
        measure = found
    if isinstance(measure, Discrete):
        return Empirical(measure.values[:, None], measure.probabilities, names=measure._names)
    return (measure.finite(MOST_COMBINATIONS) or measure) if isinstance(measure, Product) else measure


def as_prior(x: Any) -> Measure:
    """Return what `as_measure` does, for a prior: discrete and continuous parameters side by side are refused.

    Examples
    --------
    >>> as_prior([Discrete([1.0, 2.0]), Gaussian(0.0, 1.0)])
    Traceback (most recent call last):
    ...
    ValueError: `prior` has discrete parameters beside continuous ones, ...
    """
    prior = as_measure(x, "prior")
    if isinstance(prior, Product) and any(isinstance(part, Discrete) for part in prior.parts):
        raise ValueError(
            "`prior` has discrete parameters beside continuous ones, and the log likelihood is modelled as a smooth "
            "function: call `evidence` for each combination of discrete values with the continuous prior alone, and "
            "sum, scipy.special.logsumexp(log_evidences, b=probabilities)"
        )
    return prior


def from_spec(spec: dict[str, Any]) -> Measure:
    """Rebuild a measure from what its ``spec()`` returned, also after a trip through JSON.

    Parameters
    ----------
    spec : dict

    Examples
    --------
    >>> import json
    >>> from_spec(json.loads(json.dumps(Uniform(0.0, 0.1).spec())))
    Uniform(lower=[0], upper=[0.1])
    """
    cls = _KNOWN[_files.spec_type(spec, "measure", _KNOWN)]
    with _files.reading_spec("measure", cls.__name__):
        if cls in (Product, Copula):
            rebuilt: Measure = cls._from_spec(spec)
            return rebuilt
        fields = {name: spec[name] for name in _FIELDS[cls]}
        if cls is Empirical:
            fields["names"] = spec.get("names")  # files of earlier versions have no such entry
        if cls is TruncatedGaussian:
            # Strict JSON has no infinity: open bounds are saved as strings.
            fields |= {name: [float(x) for x in fields[name]] for name in ("lower", "upper")}
        measure: Measure = cls(**fields)
        return measure
