"""Covariance matrices."""

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array, finite, real
from .scalars import moderate

# A symmetric matrix computed in floating point differs from its transpose by a few units in the last place of its
# largest entry; anything above this is a mistake of the caller.
_SYMMETRY_TOLERANCE = 1e-10


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
    array = real(c, name, expected)
    if array.ndim == 0:
        array = np.full(dim, float(array))
    if array.shape == (dim,):
        array = np.diag(array)
    if array.shape != (dim, dim):
        raise ValueError(f"`{name}` must be {expected}, got shape {array.shape}")
    finite(array, name)
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
    array = real(c, name, f"covariances of shape ({n}, {dim}, {dim})")
    if array.ndim in (0, 2):
        return np.broadcast_to(covariance(array, name, dim), (n, dim, dim))
    if array.shape not in ((n,), (n, dim, dim)):
        raise ValueError(
            f"`{name}` must have shape ({n}, {dim}, {dim}), ({dim}, {dim}) for one matrix for all components, ({n},) "
            f"for one variance each, or be a number, got shape {array.shape}"
        )
    return np.stack([covariance(each, f"{name}[{j}]", dim) for j, each in enumerate(array)])
