"""Checks of what users pass in: shapes, finiteness, positivity. Other errors are worded where they arise.

Each function returns the checked value in the form the rest of the package works with (float64 arrays, plain Python
numbers) or raises a ``TypeError`` (not a number at all) or ``ValueError`` (a number that cannot be) that names the
parameter, what was expected, what came and what to do.
"""

import math
import operator
import os
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# A symmetric matrix computed in floating point differs from its transpose by a few units in the last place of its
# largest entry; anything above this is a mistake of the caller.
_SYMMETRY_TOLERANCE = 1e-10
# Weights typed or computed by hand sum to one up to rounding; a larger gap means they were never normalised.
_SUM_TOLERANCE = 1e-9
# Closed forms hold squares and cubes of length-scales and standard deviations, and of their ratios: within these limits
# none of them leaves the range of float64, 1e-308 to 1e308.
_SMALLEST_SCALE, _LARGEST_SCALE = 1e-100, 1e100


def _shown(x: Any) -> str:
    if isinstance(x, int) and x.bit_length() > 200:  # Python itself refuses to print the largest of them
        return f"an integer of about {round(x.bit_length() * math.log10(2.0))} digits"
    try:
        text = repr(x)
    except ValueError:  # it holds such an integer
        return "very large integers"
    return text if len(text) <= 60 else text[:57] + "..."


def _real(x: ArrayLike, name: str, expected: str) -> Array:
    if np.ma.is_masked(x):
        raise ValueError(
            f"`{name}` has masked values, which are no numbers: leave these rows out, e.g. with "
            f"np.ma.compress_rows({name}), or fill them, {name}.filled(...)"
        )
    try:
        array = np.asarray(x)
        if array.dtype.kind == "O" and not any(each is None for each in array.flat):  # None would become NaN
            try:
                array = array.astype(np.float64)
            except (TypeError, ValueError):
                pass
    except ValueError:
        raise ValueError(f"`{name}` must be {expected}, but its rows differ in length: make it rectangular") from None
    except OverflowError:
        raise ValueError(
            f"`{name}` must be {expected}, got {_shown(x)}, beyond the largest number of float64, 1.8e308: choose "
            "units in which the numbers are smaller"
        ) from None
    if array.dtype.kind not in "iuf":
        raise TypeError(f"`{name}` must be {expected}, got {_shown(x)} of type {type(x).__name__}: pass real numbers")
    return np.asarray(array, dtype=np.float64)


def _finite(array: Array, name: str) -> None:
    bad = ~np.isfinite(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        place = f" at index {where if len(where) > 1 else where[0]}" if where else ""
        raise ValueError(
            f"`{name}` must be finite, got {array[where]}{place} ({int(bad.sum())} such value(s)): "
            "remove or replace NaN and infinity"
        )


def points(x: ArrayLike, name: str = "x", dim: int | None = None) -> Array:
    """Return points as a finite, C-contiguous (n, d) array; (n,) is an error that says ``x[:, None]``.

    Parameters
    ----------
    x : array_like, shape (n, d)
        The points, one per row; n may be zero.
    name : str
        The parameter's name, for the error.
    dim : int, optional
        The required d.

    Examples
    --------
    >>> points([[0, 1], [2, 3]]).shape
    (2, 2)
    >>> points([0.0, 1.0])
    Traceback (most recent call last):
    ...
    ValueError: `x` must be points of shape (n, d), got shape (2,): for n points in one dimension pass x[:, None], ...
    """
    shape = f"(n, {dim})" if dim is not None else "(n, d)"
    array = _real(x, name, f"points of shape {shape}")
    if array.ndim == 1:
        raise ValueError(
            f"`{name}` must be points of shape {shape}, got shape {array.shape}: for n points in one dimension pass "
            f"{name}[:, None], for a single point pass {name}[None, :]"
        )
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"`{name}` must be points of shape {shape}, got shape {array.shape}: one row per point")
    if dim is not None and array.shape[1] != dim:
        raise ValueError(
            f"`{name}` must be points of shape (n, {dim}), got shape {array.shape}: one row per point, "
            f"{dim} coordinate(s) each"
        )
    _finite(array, name)
    return np.ascontiguousarray(array)


def values(f: ArrayLike, name: str, n: int) -> Array:
    """Return function values as a finite (n,) or (n, m) array: one row per point, one column per integrand."""
    array = _real(f, name, f"values of shape ({n},) or ({n}, m)")
    if array.ndim not in (1, 2) or array.shape[0] != n:
        raise ValueError(
            f"`{name}` must be values of shape ({n},) or ({n}, m), got shape {array.shape}: one row per point"
        )
    _finite(array, name)
    return array


def vector(x: ArrayLike, name: str, size: int | None = None) -> Array:
    """Return a finite one-dimensional array, of the given size if one is given."""
    expected = f"a vector of shape ({size if size is not None else 'n'},)"
    array = _real(x, name, expected)
    if array.ndim != 1 or (size is not None and array.size != size):
        raise ValueError(f"`{name}` must be {expected}, got shape {array.shape}")
    _finite(array, name)
    return array


def numbers(x: ArrayLike, name: str) -> Array:
    """Return real numbers as an array of any shape; infinity and NaN are allowed."""
    return _real(x, name, "real numbers")


def flag(x: Any, name: str) -> bool:
    """Return True or False."""
    if not isinstance(x, (bool, np.bool_)):
        raise TypeError(f"`{name}` must be True or False, got {_shown(x)} of type {type(x).__name__}")
    return bool(x)


def _number(x: Any, name: str, expected: str) -> float:
    if isinstance(x, (bool, np.bool_)):
        raise TypeError(f"`{name}` must be {expected}, got {x!r} of type bool: pass a number")
    array = _real(x, name, expected)
    if array.ndim != 0:
        raise ValueError(f"`{name}` must be {expected}, got an array of shape {array.shape}: pass a single number")
    return float(array)


def positive(x: Any, name: str) -> float:
    """Return a positive finite number."""
    number = _number(x, name, "a positive finite number")
    if not (0.0 < number < math.inf):
        raise ValueError(f"`{name}` must be a positive finite number, got {number}")
    return number


def nonnegative(x: Any, name: str) -> float:
    """Return a finite number that is zero or larger."""
    number = _number(x, name, "a finite number >= 0")
    if not (0.0 <= number < math.inf):
        raise ValueError(f"`{name}` must be a finite number >= 0, got {number}")
    return number


def probability(x: Any, name: str) -> float:
    """Return a number strictly between zero and one."""
    number = _number(x, name, "a number strictly between 0 and 1")
    if not (0.0 < number < 1.0):
        raise ValueError(f"`{name}` must lie strictly between 0 and 1, got {number}: 95 % is written 0.95")
    return number


def positive_scalar_or_vector(x: ArrayLike, name: str) -> float | Array:
    """Return one positive number for all coordinates, a float, or a read-only (d,) array of them."""
    expected = "a positive number or a vector of shape (d,) of positive numbers"
    if isinstance(x, (bool, np.bool_)):
        raise TypeError(f"`{name}` must be {expected}, got {x!r} of type bool: pass a number")
    array = _real(x, name, expected)
    if array.ndim > 1 or array.size == 0:
        raise ValueError(f"`{name}` must be {expected}, got shape {array.shape}")
    bad = ~((array > 0.0) & np.isfinite(array))
    if bad.any():
        raise ValueError(f"`{name}` must be positive and finite, got {float(array[bad][0])}: pass {expected}")
    return float(array) if array.ndim == 0 else readonly(array)


def per_coordinate(allow_infinite: Iterable[str] = (), /, **parameters: ArrayLike) -> dict[str, Array]:
    """Return scalars and (d,) vectors brought to one d; scalars are repeated, all scalars mean d = 1.

    Parameters
    ----------
    allow_infinite : names of parameters that may be infinite (never NaN).
    **parameters : scalars or vectors of shape (d,), by name.

    Examples
    --------
    >>> per_coordinate(lower=0.0, upper=[1.0, 2.0])["lower"]
    array([0., 0.])
    """
    arrays = {name: _real(x, name, "a number or a vector of shape (d,)") for name, x in parameters.items()}
    first = ""
    for name, array in arrays.items():
        if array.ndim > 1 or array.size == 0:
            raise ValueError(f"`{name}` must be a number or a vector of shape (d,), got shape {array.shape}")
        if array.ndim == 1 and not first:
            first = name
        if array.ndim == 1 and array.size != arrays[first].size:
            raise ValueError(
                f"`{name}` must be a number or have the length of `{first}`, {arrays[first].size}, "
                f"got length {array.size}"
            )
        if name not in allow_infinite:
            _finite(array, name)
        elif np.isnan(array).any():
            raise ValueError(f"`{name}` must not be NaN: pass a number, or infinity for no bound")
    dim = arrays[first].size if first else 1
    return {name: np.broadcast_to(array, (dim,)).copy() for name, array in arrays.items()}


def ordered(lower: Array, upper: Array) -> None:
    """Check that each ``lower`` is strictly below its ``upper``."""
    bad = ~(lower < upper)
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(
            f"`lower` must be less than `upper` in every coordinate, got {lower[i]} and {upper[i]} in coordinate {i}: "
            "swap the bounds, or drop a coordinate that does not vary"
        )


def simplex(w: ArrayLike, name: str, size: int | None = None) -> Array:
    """Return weights that are >= 0 and sum to one, as a vector; a sum off by rounding alone is divided out."""
    array = vector(w, name, size)
    if array.size == 0:
        raise ValueError(f"`{name}` must have at least one entry, got none")
    if (array < 0.0).any():
        i = int(np.argmin(array))
        raise ValueError(f"`{name}` must be >= 0, got {array[i]} at index {i}")
    total = math.fsum(array)
    if abs(total - 1.0) > _SUM_TOLERANCE:
        raise ValueError(f"`{name}` must sum to 1, got a sum of {total}: divide by it, {name} / sum({name})")
    # Weights that are normalised already stay the same to the bit, so that saving and loading changes nothing.
    return array / total if abs(total - 1.0) > 4 * np.finfo(float).eps else array


def count(n: Any, name: str, minimum: int = 1) -> int:
    """Return a whole number, at least ``minimum``."""
    try:
        if isinstance(n, (bool, np.bool_)):
            raise TypeError
        number = operator.index(n)
    except TypeError:
        raise TypeError(
            f"`{name}` must be a whole number >= {minimum}, got {_shown(n)} of type {type(n).__name__}: "
            f"pass an int, e.g. int({name})"
        ) from None
    if number < minimum:
        raise ValueError(f"`{name}` must be a whole number >= {minimum}, got {_shown(number)}")
    return number


@cache
def _memory() -> int:
    """Return the bytes of memory of this machine; where the system does not say, more than any has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2**46


def fits_in_memory(n: int, width: int, name: str, what: str) -> int:
    """Return a number n of rows of ``width`` float64 numbers if this machine can hold them."""
    needed, there = 8 * n * width, _memory()
    if needed > there:
        size = f"about {needed / 2**30:.3g} GB" if needed < 2**100 else "more than any machine has"
        raise ValueError(
            f"`{name}` must be a number of {what} that fits in memory, {there / 2**30:.3g} GB here, got {_shown(n)}, "
            f"which would take {size}: ask for fewer"
        )
    return n


def moderate(x: Any, name: str, what: str) -> None:
    """Check that length-scales, standard deviations or widths lie between 1e-100 and 1e100."""
    array = np.asarray(x)
    bad = ~((array >= _SMALLEST_SCALE) & (array <= _LARGEST_SCALE))
    if bad.any():
        raise ValueError(
            f"`{name}` must give {what} between {_SMALLEST_SCALE:g} and {_LARGEST_SCALE:g}, got "
            f"{float(array[bad].flat[0]):g}: choose units in which the numbers are neither tiny nor huge"
        )


def choice(x: Any, name: str, options: Iterable[Any]) -> Any:
    """Return one of the options."""
    listed = list(options)
    if not any(type(x) is type(option) and x == option for option in listed):
        raise ValueError(f"`{name}` must be one of {', '.join(map(repr, listed))}, got {_shown(x)}")
    return x


def covariance(c: ArrayLike, name: str, dim: int) -> Array:
    """Return a symmetric positive definite (dim, dim) matrix.

    A number means that multiple of the identity, a (dim,) vector the variances of independent coordinates.

    Examples
    --------
    >>> covariance([1.0, 4.0], "cov", 2)
    array([[1., 0.],
           [0., 4.]])
    """
    expected = f"a ({dim}, {dim}) symmetric positive definite matrix, a vector of {dim} variances, or one variance"
    array = _real(c, name, expected)
    if array.ndim == 0:
        array = np.full(dim, float(array))
    if array.shape == (dim,):
        array = np.diag(array)
    if array.shape != (dim, dim):
        raise ValueError(f"`{name}` must be {expected}, got shape {array.shape}")
    _finite(array, name)
    asymmetry = float(np.max(np.abs(array - array.T)))
    if asymmetry > _SYMMETRY_TOLERANCE * float(np.max(np.abs(array))):
        raise ValueError(
            f"`{name}` must be symmetric, but it differs from its transpose by {asymmetry:.3g}: pass (C + C.T) / 2"
        )
    array = 0.5 * array + 0.5 * array.T  # the sum itself may overflow
    try:
        np.linalg.cholesky(array)
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(array)[0])
        raise ValueError(
            f"`{name}` must be positive definite, got a smallest eigenvalue of {smallest:.3g}: check its entries, "
            "drop coordinates that are functions of others, or add a small multiple of the identity"
        ) from None
    moderate(np.sqrt(np.diagonal(array)), name, "standard deviations")
    return array


def covariances(c: ArrayLike, name: str, n: int, dim: int) -> Array:
    """Return n covariance matrices, (n, dim, dim), from these, one (dim, dim) for all, (n,) variances or a number."""
    array = _real(c, name, f"covariances of shape ({n}, {dim}, {dim})")
    if array.ndim in (0, 2):
        return np.broadcast_to(covariance(array, name, dim), (n, dim, dim))
    if array.shape not in ((n,), (n, dim, dim)):
        raise ValueError(
            f"`{name}` must have shape ({n}, {dim}, {dim}), ({dim}, {dim}) for one matrix for all components, ({n},) "
            f"for one variance each, or be a number, got shape {array.shape}"
        )
    return np.stack([covariance(each, f"{name}[{j}]", dim) for j, each in enumerate(array)])


def frozen_distributions(distributions: Any, name: str) -> tuple[Any, ...]:
    """Return frozen continuous scipy.stats distributions with scalar parameters, as a tuple."""
    expected = "a sequence of frozen continuous scipy.stats distributions, one per coordinate"
    remedy = "write e.g. [stats.gamma(2.0), stats.norm(0.0, 1.0)]"
    try:
        listed = tuple(distributions)
    except TypeError:
        raise TypeError(f"`{name}` must be {expected}, got {type(distributions).__name__}: {remedy}") from None
    if not listed:
        raise ValueError(f"`{name}` must be {expected}, got none: {remedy}")
    for i, p in enumerate(listed):
        if not all(callable(getattr(p, method, None)) for method in ("ppf", "logpdf", "rvs", "support")) or not hasattr(
            p, "dist"
        ):
            raise TypeError(f"`{name}[{i}]` must be a frozen continuous distribution, got {_shown(p)}: {remedy}")
        parameters = (*p.args, *p.kwds.values())
        if any(np.ndim(parameter) != 0 for parameter in parameters):
            raise ValueError(
                f"`{name}[{i}]` must have scalar parameters, got {_shown(parameters)}: "
                "pass one distribution per coordinate"
            )
        if p.dist.name == "vonmises":  # scipy gives its density on the whole line, once per period
            raise ValueError(
                f"`{name}[{i}]` is vonmises, whose density repeats itself and integrates to infinity: pass "
                "stats.vonmises_line with the same parameters"
            )
        if p.dist.name in ("levy_stable", "studentized_range"):  # one value takes scipy milliseconds to seconds
            raise ValueError(
                f"`{name}[{i}]` is {p.dist.name}, whose density and quantiles scipy finds by an integration for each "
                "value, too slowly for a measure: pass fwbq.Empirical(distribution.rvs(10_000)[:, None])"
            )
        if not np.isfinite(p.ppf(0.5)):
            raise ValueError(
                f"`{name}[{i}]` must be a proper distribution, but its median is not finite: check its parameters "
                f"{_shown(parameters)}"
            )
    return listed


def dimension(dim: int, expected: int | None, name: str, owner: str) -> int:
    """Return ``dim`` if it agrees with the ``expected`` dimension of the ``owner`` (None agrees with any)."""
    if expected is not None and dim != expected:
        raise ValueError(
            f"`{name}` has dimension {dim} but {owner} has dimension {expected}: make the two agree "
            "(a scalar lengthscale fits any dimension)"
        )
    return dim


def generator(rng: Any = None) -> np.random.Generator:
    """Return a NumPy generator from None, a seed, or a generator (SPEC 7)."""
    if isinstance(rng, np.random.Generator):
        return rng
    try:
        if isinstance(rng, (bool, str, float)):
            raise TypeError
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise TypeError(
            f"`rng` must be None, a whole number >= 0 or a numpy.random.Generator, got {_shown(rng)}: "
            "pass e.g. rng=np.random.default_rng(0)"
        ) from None


def unit_cube(u: ArrayLike, name: str, dim: int) -> Array:
    """Return points of the unit cube moved off its faces, to [2^-54, 1 - 2^-53], so that quantiles stay finite."""
    array = points(u, name, dim)
    if ((array < 0.0) | (array > 1.0)).any():
        raise ValueError(
            f"`{name}` must lie in the unit cube [0, 1]^{dim}, got values from {array.min()} to {array.max()}"
        )
    return np.clip(array, 2.0**-54, 1.0 - 2.0**-53)


def readonly(array: ArrayLike) -> Array:
    """Return a float64 copy that cannot be written to."""
    copy = np.array(array, dtype=np.float64)
    copy.setflags(write=False)
    return copy


def freeze(instance: object, **fields: Any) -> None:
    """Set the fields of a frozen dataclass from within its constructor."""
    for name, value in fields.items():
        object.__setattr__(instance, name, value)


def spec_type(spec: Any, noun: str, known: Iterable[str]) -> str:
    """Return the ``type`` entry of a saved kernel or measure."""
    if not isinstance(spec, dict) or "type" not in spec:
        raise ValueError(f"`spec` must be a dict with a 'type' entry made by a {noun}'s spec(), got {_shown(spec)}")
    name = spec["type"]
    listed = sorted(known)
    if name not in listed:
        raise ValueError(f"`spec` names the unknown {noun} {name!r}; known are {', '.join(listed)}")
    return str(name)


def index(i: Any, name: str, size: int) -> int:
    """Return a row number 0 <= i < ``size``."""
    number = count(i, name, minimum=0)
    if number >= size:
        raise ValueError(f"`{name}` must be a row number below {size}, got {number}")
    return number


def fraction(x: Any, name: str) -> float:
    """Return a number in the closed interval [0, 1]."""
    number = _number(x, name, "a number in [0, 1]")
    if not (0.0 <= number <= 1.0):
        raise ValueError(f"`{name}` must lie in [0, 1], got {number}")
    return number


def not_converged(what: str, tolerance: float) -> ArithmeticError:
    """Return the error for an integral that bisection does not bring to its tolerance."""
    return ArithmeticError(
        f"{what} did not converge to {tolerance:g} of its value: the integrand changes faster than float64 resolves; "
        "check the measure's parameters and the lengthscale, or use Empirical with a sample"
    )


def counts(n: Any, name: str) -> Array:
    """Return one whole number >= 1 or an array of them, as float64."""
    array = _real(n, name, "whole numbers >= 1")
    if not ((array >= 1.0) & (array == np.floor(array)) & np.isfinite(array)).all():
        raise ValueError(f"`{name}` must be whole numbers >= 1, got {_shown(n)}")
    return array


def not_negative(x: ArrayLike, name: str) -> Array:
    """Return numbers of which none is below zero; infinity is allowed."""
    array = _real(x, name, "numbers >= 0")
    if (array < 0.0).any():
        raise ValueError(f"`{name}` must be >= 0, got {array.min()}: pass distances and deviations without a sign")
    return array


def at_most(x: float, name: str, limit: float, owner: str) -> float:
    """Return a number that does not exceed another parameter."""
    if x > limit:
        raise ValueError(f"`{name}` must not exceed {owner}, {limit}, got {x}")
    return x


def at_least(x: float, name: str, limit: float, why: str) -> float:
    """Return a number that is not below a limit, or say why it must not be."""
    if x < limit:
        raise ValueError(f"`{name}` must be at least {limit:g}, got {x}: {why}")
    return x


def at_least_one_point(x: Array, name: str) -> Array:
    """Return points of which there is at least one."""
    if len(x) == 0:
        raise ValueError(f"`{name}` must have at least one row, got shape {x.shape}: pass one or more points")
    return x


def no_embedding(name: str) -> ValueError:
    """Return the error for a rule without kernel and measure where they are needed."""
    return ValueError(
        f"`{name}` was loaded from a file without its kernel and measure, so only a fixed amplitude can be used: pass "
        "a number as `amplitude`, or make the rule again from an embedding"
    )


def text(x: Any, name: str) -> str:
    """Return a text."""
    if not isinstance(x, str):
        raise TypeError(f"`{name}` must be a text (str), got {_shown(x)} of type {type(x).__name__}")
    return x


def function(f: Any, name: str) -> Any:
    """Something that can be called."""
    if not callable(f):
        raise TypeError(f"`{name}` must be a function of points, got {_shown(f)} of type {type(f).__name__}")
    return f


def values_or_minus_infinity(f: ArrayLike, name: str, n: int) -> Array:
    """Values (n,) or (n, m) that may be -inf, as log-likelihoods may, but neither NaN nor +inf."""
    array = _real(f, name, f"values of shape ({n},) or ({n}, m)")
    minus_infinity = array == -np.inf
    return np.where(minus_infinity, -np.inf, values(np.where(minus_infinity, 0.0, array), name, n))


def needs_constant_mean(name: str) -> ValueError:
    """Return the error of a zero prior mean under a mean element of zero."""
    return ValueError(
        f"`{name}` must be 'constant' for an embedding whose mean element is zero (a Stein kernel): with a zero prior "
        "mean the integral is known to be 0 and every weight is 0"
    )


def fixed_support() -> ValueError:
    """Return the error of moving points whose measure is a sample."""
    return ValueError(
        "points under an `Empirical` measure cannot be moved, because its support is the sample: choose among the "
        "sample points with SBQ, RandomPivot or BlendedPairwise"
    )


def sums_to_one(w: Array, name: str) -> Array:
    """Return weights of either sign that sum to one, as an unknown constant needs."""
    total = math.fsum(w)
    if abs(total - 1.0) > _SUM_TOLERANCE * max(1.0, float(np.abs(w).sum())):
        raise ValueError(
            f"`{name}` must sum to 1 for an unknown constant mean, got a sum of {total}: pass prior_mean='zero', or "
            "make the rule with weights that sum to one"
        )
    return w


def instance(x: Any, name: str, kind: type, remedy: str) -> None:
    """``x`` is an instance of ``kind``."""
    if not isinstance(x, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise TypeError(
            f"`{name}` must be {article} {kind.__name__}, got {_shown(x)} of type {type(x).__name__}: {remedy}"
        )


def no_pair(kernel: str, measure: str, reason: str, possible: Iterable[str]) -> TypeError:
    """Return the error for a kernel and a measure that have no embedding together."""
    return TypeError(
        f"`kernel` {kernel} has no embedding under `measure` {measure}: {reason}. What can be embedded: "
        f"{', '.join(possible)}; every kernel can be embedded under Empirical(measure.sample(n))"
    )


def limited(number: int, maximum: int, name: str, what: str, remedy: str) -> int:
    """Return a number of things that has a limit; ``remedy`` says what to do beyond it."""
    if number > maximum:
        raise ValueError(f"`{name}` allows at most {maximum} {what}, got {number}: {remedy}")
    return number


def not_positive_semidefinite(jitter: float) -> ValueError:
    """Return the error for a Gram matrix that no small jitter makes positive definite."""
    return ValueError(
        f"`kernel` must be positive semidefinite, but its Gram matrix is not, even with {jitter:g} of its diagonal "
        "added: "
        "check that k(x, y) is a valid covariance"
    )


def same_width(width: int, known: int, name: str) -> int:
    """Return the number of columns of further values, 0 for a vector, which must be that of the values before."""
    if width != known:
        shapes = ["(n,)" if w == 0 else f"(n, {w})" for w in (known, width)]
        raise ValueError(f"`{name}` must have shape {shapes[0]} like the values told before, got {shapes[1]}")
    return width


def contradiction(point: Array, known: Array, value: Array) -> ValueError:
    """Return the error for two different values at one point."""
    return ValueError(
        f"`values` at the point {point.tolist()} is {value.tolist()}, but {known.tolist()} was told before: an "
        "integrand has one value at a point (if it is noisy, average, or move the point)"
    )


def some_values(n: int) -> int:
    """Return the number of values, of which there must be one."""
    if n == 0:
        raise ValueError("no value of the integrand is known: tell some, or see why every point failed")
    return n


def some_values_of(n: int, name: Any) -> int:
    """Return the number of values of a model, of which there must be one."""
    if n == 0:
        raise ValueError(
            f'model {name!r} failed at every point at which it was evaluated: see why with on_error="raise", or leave '
            "it out"
        )
    return n


def not_a_kernel(x: Any) -> TypeError:
    """Return the error for something that is neither a kernel nor a class of kernels with length-scales."""
    return TypeError(
        f"`kernel` must be a kernel, a class such as fwbq.Matern32 whose length-scales are then found, or None, got "
        f"{_shown(x)}"
    )


def not_a_density(name: str, mass: float) -> ValueError:
    """Return the error for a distribution whose density does not integrate to one."""
    return ValueError(
        f"`distributions` holds {name}, whose density integrates to {mass:.10g} instead of 1 by quadrature: it has a "
        "spike or an atom that its quartiles do not show, or its pdf is inaccurate; use Empirical with a sample of it"
    )


def some_models(n: int) -> int:
    """Return the number of models of a comparison that holds at least one."""
    if n < 1:
        raise ValueError("`comparison` holds no model: nothing can be reported; compare at least one")
    return n


def extra(module: str, name: str, what: str) -> Any:
    """Return a module of an optional dependency; its absence is an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f'{what} needs {package}, which is not installed: pip install "fwbq[{name}]"') from error


def log_values(f: ArrayLike, name: str, n: int) -> Array:
    """Log likelihoods (n,), finite or -inf."""
    array = values_or_minus_infinity(f, name, n)
    if array.shape != (n,):
        raise ValueError(f"`{name}` must return one value per point, shape ({n},), got shape {array.shape}")
    return array


def log_block(values: Array, points: Array, names: Any) -> Array:
    """Log likelihoods (n, m) of named models, finite or -inf."""
    bad = np.isnan(values) | (values == np.inf)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise ValueError(
            f"the log integrand of model {names(j)!r} is {values[i, j]} at {points[i].tolist()}: it must be finite, or "
            "-inf where the likelihood is zero"
        )
    return values


def mapped(s: Array, name: str) -> Array:
    """Coordinates of the points of a measure, all of them finite."""
    if not np.isfinite(s).all():
        raise ValueError(
            f"`{name}` must map the whole support of the measure to finite numbers: LogScale is for parameters >= 0, "
            "Standard for all others"
        )
    return s


def increasing(x: tuple[int, ...], name: str) -> tuple[int, ...]:
    """One or more whole numbers, each larger than the one before."""
    if not x or list(x) != sorted(set(x)):
        raise ValueError(f"`{name}` must be increasing numbers of points, e.g. (10, 50, 100, 200), got {_shown(x)}")
    return x


def agrees(x: Any, name: str, other: Any, what: str) -> None:
    """Two ways of saying one thing say the same."""
    if x != other:
        raise ValueError(f"`{name}` is {x}, but {what} {other}: give one of the two")


def not_empty(x: Any, name: str, remedy: str) -> Any:
    """Something with at least one entry."""
    if len(x) == 0:
        raise ValueError(f"`{name}` is empty: {remedy}")
    return x


def different(x: Iterable[Any], name: str) -> None:
    """Names of which no two are the same."""
    seen: set[Any] = set()
    for each in x:
        if each in seen:
            raise ValueError(f"`{name}` must be different, but {each!r} comes twice")
        seen.add(each)


def parameter_names(names: Sequence[str] | None, d: int) -> tuple[str, ...]:
    """Names of d parameters, no two the same; ``x1``, ``x2``, ... when there are none."""
    if names is None:
        return tuple(f"x{i + 1}" for i in range(d))
    if isinstance(names, str) or len(names) != d or not all(isinstance(name, str) for name in names):
        raise ValueError(f"`names` must be {d} strings, one for each parameter; got {names!r}")
    different(names, "names")
    return tuple(names)


def prior_weights(prior: Any, names: tuple[Any, ...]) -> Array:
    """Prior weights of the models, one for each, not all zero; shape (m,)."""
    if not hasattr(prior, "keys"):
        raise TypeError(f"`prior` must map the name of every model to its probability, got {type(prior).__name__}")
    missing = [name for name in names if name not in prior]
    unknown = [name for name in prior if name not in set(names)]
    if missing or unknown:
        raise ValueError(
            "`prior` must have a probability for each model and no others: "
            f"missing {missing[:3]}, unknown {unknown[:3]}"
        )
    weights = np.array([nonnegative(prior[name], f"prior[{name!r}]") for name in names])
    if not weights.sum() > 0.0:
        raise ValueError("`prior` must give at least one model a positive probability")
    return weights


def known_model(name: Any, names: tuple[Any, ...]) -> int:
    """Return the position of a model."""
    try:
        return names.index(name)
    except ValueError:
        raise KeyError(f"no model is called {name!r}; there are {len(names)}, e.g. {names[0]!r}") from None


def design_factory(x: Any, name: str) -> Any:
    """Return a design class, or a function that makes a design."""
    if not callable(x):
        raise TypeError(
            f"`{name}` must be a design class such as fwbq.FrankWolfe, or a function (embedding, rng=...) that returns "
            f"a design, got {_shown(x)}: pass the class, not an instance or a name"
        )
    return x
