"""The embedding of a measure by a kernel, and the registry of the pairs that have one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from .. import _validate
from .._validate import Array
from ..kernels import Kernel
from ..measures import Measure


class Embedding(ABC):
    """The mean element of a measure p in the space of a kernel k.

    mean(x) = int k(x, y) p(dy),  variance = int int k(x, y) p(dx) p(dy).

    Made by :func:`embed`; knows nothing of points or integrands.

    Attributes
    ----------
    kernel : Kernel
    measure : Measure
        A probability measure: normalised.
    method : str
        How the integrals are done, for instance ``"closed form"``.
    """

    def __init__(self, kernel: Kernel, measure: Measure, method: str) -> None:
        self.kernel = kernel
        self.measure = measure
        self.method = method

    @property
    def dim(self) -> int:
        """The dimension d of the measure."""
        return self.measure.dim

    def mean(self, x: ArrayLike) -> Array:
        """Return the mean element at points.

        Parameters
        ----------
        x : array_like, shape (n, d)

        Returns
        -------
        ndarray, shape (n,)
            int k(x_i, y) p(dy).
        """
        return self._mean(_validate.points(x, "x", self.dim))

    def mean_gradient(self, x: ArrayLike) -> Array:
        """Return the gradient of the mean element at x (n, d), shape (n, d)."""
        return self._gradient(_validate.points(x, "x", self.dim))

    @cached_property
    def variance(self) -> float:
        """The double integral of the kernel, computed on first use."""
        return float(self._variance())

    @abstractmethod
    def _mean(self, x: Array) -> Array:
        """Return the mean element at checked points."""

    @abstractmethod
    def _gradient(self, x: Array) -> Array:
        """Return the gradient of the mean element at checked points."""

    @abstractmethod
    def _variance(self) -> float:
        """Return the double integral of the kernel."""

    def __repr__(self) -> str:
        return f"Embedding({self.kernel!r}, {self.measure!r}, method={self.method!r})"


Builder = Callable[..., Embedding]
AnyBuilder = TypeVar("AnyBuilder", bound=Builder)

_REGISTRY: dict[tuple[type[Kernel], type[Measure]], tuple[Builder, str]] = {}


def register(
    kernels: Iterable[type[Any]], measures: Iterable[type[Any]], how: str
) -> Callable[[AnyBuilder], AnyBuilder]:
    """Register a function (kernel, measure) -> Embedding for pairs of exact types.

    Parameters
    ----------
    kernels : iterable of type
        ``Kernel`` itself stands for every kernel that has no entry of its own for the measure.
    measures : iterable of type
    how : str
        What the table of pairs says of the method.
    """
    pairs = [(kernel, measure) for kernel in kernels for measure in measures]

    def add(builder: AnyBuilder) -> AnyBuilder:
        for pair in pairs:
            assert pair not in _REGISTRY, f"{pair} is registered twice"
            _REGISTRY[pair] = (builder, how)
        return builder

    return add


def embed(kernel: Kernel, measure: Measure) -> Embedding:
    """Embed a measure by a kernel.

    mean(x) = int k(x, y) p(dy),  variance = int int k(x, y) p(dx) p(dy).

    Parameters
    ----------
    kernel : Kernel
    measure : Measure
        Of the kernel's dimension.

    Returns
    -------
    Embedding
        With ``mean(x)``, ``mean_gradient(x)``, ``variance`` and ``method``.

    Raises
    ------
    TypeError
        If the pair cannot be embedded; the message lists what can. Nothing is approximated silently.
    ValueError
        If the dimensions differ.

    Examples
    --------
    >>> import numpy as np
    >>> from fwbq import ExpQuad, Gaussian
    >>> embedding = embed(ExpQuad(1.0), Gaussian([0.0], [[1.0]]))
    >>> embedding.method
    'closed form'
    >>> bool(np.isclose(embedding.mean([[0.0]])[0], 0.5**0.5)), bool(np.isclose(embedding.variance, 3**-0.5))
    (True, True)
    """
    _validate.instance(kernel, "kernel", Kernel, "pass a kernel such as fwbq.ExpQuad(1.0)")
    _validate.instance(measure, "measure", Measure, "pass a measure such as fwbq.Gaussian(0.0, 1.0)")
    _validate.dimension(measure.dim, kernel.dim, "measure", f"the kernel {type(kernel).__name__}")
    for pair in ((type(kernel), type(measure)), (Kernel, type(measure)), (type(kernel), Measure)):
        if pair in _REGISTRY:
            return _REGISTRY[pair][0](kernel, measure)
    raise refuse(kernel, measure, "no method is registered for these types")


def refuse(kernel: Kernel, measure: Measure, reason: str) -> TypeError:
    """Return the error that says why a pair has no embedding and which pairs have one."""
    possible = [f"{k.__name__} x {m.__name__}" for k, m in available() if k in (type(kernel), Kernel)]
    return _validate.no_pair(type(kernel).__name__, type(measure).__name__, reason, possible)


def available() -> list[tuple[type[Kernel], type[Measure]]]:
    """Return the registered pairs of kernel and measure types, sorted by name.

    ``Kernel`` stands for any kernel, ``Measure`` for any measure, without an entry of its own.

    Examples
    --------
    >>> from fwbq import ExpQuad, Gaussian
    >>> (ExpQuad, Gaussian) in available()
    True
    """
    return sorted(_REGISTRY, key=lambda pair: (pair[0].__name__, pair[1].__name__))


def table() -> str:
    """Return the registered pairs and their methods as a Markdown table.

    Examples
    --------
    >>> print(table().splitlines()[0])
    | kernel | measure | method |
    """
    rows = [(k.__name__, m.__name__, _REGISTRY[k, m][1]) for k, m in available()]
    return "\n".join(f"| {' | '.join(row)} |" for row in [("kernel", "measure", "method"), ("---",) * 3, *rows])
