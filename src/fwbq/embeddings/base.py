"""The embedding of a measure by a kernel, and the registry of the pairs that have one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, TypeVar, cast

from numpy.typing import ArrayLike

from .. import _html, _validate
from .._validate import Array
from ..kernels import Kernel, Stationary
from ..measures import Measure, as_measure


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

    Examples
    --------
    >>> from fwbq import ExpQuad, Gaussian, embed
    >>> embedding = embed(ExpQuad(1.0), Gaussian([0.0], [[1.0]]))
    >>> embedding.method, round(embedding.variance, 4), embedding.mean([[0.0]]).round(4).tolist()
    ('closed form', 0.5774, [0.7071])
    """

    kernel: Kernel
    measure: Measure
    method: str

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

    @property
    def accuracy(self) -> float:
        """Relative error of mean and variance beyond rounding: what quadrature achieved, zero for closed forms.

        It enters the floor of every rule, so that no worst-case error is stated more precisely than it is known.
        """
        return 0.0

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

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        rows = [("kernel", repr(self.kernel)), ("measure", repr(self.measure)), ("method", self.method)]
        return _html.table(rows, title="Embedding")

    def __repr__(self) -> str:
        return f"Embedding({self.kernel!r}, {self.measure!r}, method={self.method!r})"


Builder = Callable[[Any, Any], Any]
AnyBuilder = TypeVar("AnyBuilder", bound=Builder)

_REGISTRY: dict[tuple[type[Any], type[Any]], tuple[Builder, str]] = {}


def register(
    kernels: Iterable[type[Any]], measures: Iterable[type[Any]], how: str
) -> Callable[[AnyBuilder], AnyBuilder]:
    """Register a function (kernel, measure) -> Embedding for pairs of exact types.

    The factors of products over coordinates are registered in the same way: a one-dimensional kernel and a density on
    the line, ``(kernel, density) -> Line``.

    Parameters
    ----------
    kernels : iterable of type
        ``Stationary`` stands for every stationary kernel that has no entry of its own for the measure, and ``Kernel``
        for every kernel.
    measures : iterable of type
        Measures, or densities on the line.
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
    measure : Measure, frozen scipy.stats distribution, or a list of them
        Of the dimension of the kernel; a distribution is a measure of one coordinate, a list a `fwbq.Product`.

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
    measure = as_measure(measure)
    _validate.dimension(measure.dim, kernel.dim, "measure", f"the kernel {type(kernel).__name__}")
    builder = registered(kernel, measure)
    if builder is None:
        raise refuse(kernel, measure, "no method is registered for these types")
    return cast("Embedding", builder(kernel, measure))


def registered(kernel: Kernel, measure: object) -> Builder | None:
    """Return what is registered for a kernel and a measure, or a density on the line; None if nothing is."""
    bases = [Stationary, Kernel] if isinstance(kernel, Stationary) else [Kernel]
    pairs = [(kind, type(measure)) for kind in (type(kernel), *bases)]
    for pair in (*pairs, (type(kernel), Measure)):
        if pair in _REGISTRY:
            return _REGISTRY[pair][0]
    return None


def refuse(kernel: Kernel, measure: Measure, reason: str) -> TypeError:
    """Return the error that says why a pair has no embedding and which pairs have one."""
    possible = [f"{k.__name__} x {m.__name__}" for k, m in available() if isinstance(kernel, k)]
    return TypeError(
        f"`kernel` {type(kernel).__name__} has no embedding under `measure` {type(measure).__name__}: {reason}. What "
        f"can be embedded: {', '.join(possible)}; every kernel can be embedded under Empirical(measure.sample(n))"
        + (
            ""
            if measure.latent is None
            else ", and as fwbq.kernels.Transported(kernel, measure), of independent scores"
        )
    )


def available() -> list[tuple[type[Kernel], type[Measure]]]:
    """Return the registered pairs of kernel and measure types, sorted by name.

    ``Stationary`` stands for any stationary kernel, ``Kernel`` for any kernel, and ``Measure`` for any measure, without
    an entry of its own.

    Examples
    --------
    >>> from fwbq import ExpQuad, Gaussian
    >>> (ExpQuad, Gaussian) in available()
    True
    """
    return _sorted(issubclass(measure, Measure) for _, measure in _REGISTRY)


def available_on_line() -> list[tuple[type[Kernel], type[Any]]]:
    """Return the registered pairs of a one-dimensional kernel and a density on the line, sorted by name.

    Products over coordinates are made of these; ``Kernel`` stands for any kernel without an entry of its own.

    Examples
    --------
    >>> [(k.__name__, p.__name__) for k, p in available_on_line() if k.__name__ == "Matern32"]
    [('Matern32', 'NormalOnInterval'), ('Matern32', 'UniformOnInterval')]
    """
    return _sorted(not issubclass(measure, Measure) for _, measure in _REGISTRY)


def _sorted(which: Iterable[bool]) -> list[tuple[type[Any], type[Any]]]:
    pairs = [pair for pair, taken in zip(_REGISTRY, which, strict=True) if taken]
    return sorted(pairs, key=lambda pair: (pair[0].__name__, pair[1].__name__))


def table() -> str:
    """Return the registered pairs, their methods and the class that has the formula as a Markdown table.

    The pairs on the line, of which products over coordinates are made, come last.

    Examples
    --------
    >>> rows = table().splitlines()
    >>> print(rows[0])
    | kernel | measure | method | formula |
    >>> [row for row in rows if "Matern32 | NormalOnInterval" in row]
    ['| Matern32 | NormalOnInterval | closed form | `MaternNormal` |']
    """
    rows = []
    for pair in (*available(), *available_on_line()):
        builder, how = _REGISTRY[pair]
        rows.append((pair[0].__name__, pair[1].__name__, how, f"`{getattr(builder, '__name__', 'function')}`"))
    header = ("kernel", "measure", "method", "formula")
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, ("---",) * len(header), *rows])
