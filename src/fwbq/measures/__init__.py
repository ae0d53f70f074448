"""Probability measures on R^d: what integrals are taken under.

>>> p = Gaussian([0.0, 0.0], [[1.0, 0.3], [0.3, 1.0]])
>>> p.sample(5, rng=1).shape
(5, 2)
"""

from typing import Any

from .. import _files, _validate
from .base import Measure
from .distributions import is_distribution, is_multivariate_normal
from .empirical import Empirical
from .gaussian import Gaussian
from .mixture import GaussianMixture
from .product import Product
from .truncated import TruncatedGaussian
from .uniform import Uniform
from .warp import Warp

__all__ = [
    "Empirical",
    "Gaussian",
    "GaussianMixture",
    "Measure",
    "Product",
    "TruncatedGaussian",
    "Uniform",
    "Warp",
    "as_measure",
    "from_spec",
]

_FIELDS = {
    Empirical: ("points", "weights"),
    Gaussian: ("mean", "cov"),
    GaussianMixture: ("weights", "means", "covs"),
    TruncatedGaussian: ("mean", "variance", "lower", "upper"),
    Uniform: ("lower", "upper"),
}
_KNOWN: dict[str, Any] = {cls.__name__: cls for cls in (*_FIELDS, Product)}


def as_measure(x: Any, name: str = "measure") -> Measure:
    """Return a measure as it is, and a distribution of scipy.stats as a measure.

    Parameters
    ----------
    x : Measure, or frozen scipy.stats distribution
        A univariate distribution is a measure of one coordinate; ``stats.multivariate_normal(mean, cov)`` is a
        `Gaussian`.
    name : str
        What the parameter is called in the error.

    Examples
    --------
    >>> from scipy import stats
    >>> as_measure(stats.gamma(2.0))
    Product([gamma(2.0)])
    """
    if is_distribution(x):
        return Product(x)
    if is_multivariate_normal(x):
        return Gaussian(x.mean, x.cov)
    _validate.instance(x, name, Measure, "pass a measure such as fwbq.Gaussian(0.0, 1.0), or one of scipy.stats")
    return x  # type: ignore[no-any-return]


def from_spec(spec: dict[str, Any]) -> Measure:
    """Rebuild a measure from what its ``spec()`` returned, also after a trip through JSON.

    Parameters
    ----------
    spec : dict

    Examples
    --------
    >>> import json
    >>> from_spec(json.loads(json.dumps(Uniform(0.0, 0.1).spec())))
    Uniform(lower=array([0.]), upper=array([0.1]))
    """
    cls = _KNOWN[_files.spec_type(spec, "measure", _KNOWN)]
    with _files.reading_spec("measure", cls.__name__):
        if cls is Product:
            return Product._from_spec(spec)
        fields = {name: spec[name] for name in _FIELDS[cls]}
        if cls is TruncatedGaussian:
            # Strict JSON has no infinity: open bounds are saved as strings.
            fields |= {name: [float(x) for x in fields[name]] for name in ("lower", "upper")}
        measure: Measure = cls(**fields)
        return measure
