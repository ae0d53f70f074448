"""What was observed of a function: values and derivatives, each with a noise of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _frozen, _validate
from .._linalg import CholeskyFactor
from ..kernels import Kernel
from .basis import Basis, basis_functions, basis_gradients
from .regression import Regression

FloatArray = NDArray[np.float64]

#: Entries of the derivatives of a kernel that are held at once while they are contracted with directions: 32 MB.
_HELD = 4_000_000


@dataclass(frozen=True, eq=False, init=False)
class Observations:
    r"""Values :math:`f(x_i) + \epsilon_i` and derivatives :math:`u' \nabla f(s_j) + \eta_j` of a function f.

    The noises are independent, with variances in the units of the observations themselves: absolute, not relative to
    the amplitude of a process. The observations have an order: the n values, then the q derivatives at the first site,
    at the second, ...; N = n + s q in all.

    Parameters
    ----------
    points : array_like, shape (n, d)
        Where values were observed.
    values : array_like, shape (n,) or (n, m)
        The values of one function, or of m functions.
    noise : float or array_like, shape (n,), optional
        Variance of the noise of each value; zero by default.
    slopes : array_like, shape (s, q) or (s, q, m), optional
        Derivatives at s sites along q directions; without `directions` gradients, q = d.
    sites : array_like, shape (s, d), optional
        Where derivatives were observed; `points` by default.
    directions : array_like, shape (s, q, d), optional
        Directions u of the derivatives, of any length; the axes by default.
    slope_noise : float or array_like, shape (s, q), optional
        Variance of the noise of each derivative; zero by default.

    Examples
    --------
    Values and gradients at three points determine the six coefficients of a quadratic function:

    >>> import numpy as np
    >>> from fwbq import ExpQuad
    >>> x = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 0.5]])
    >>> f = 1.0 + x[:, 0] - x[:, 0] * x[:, 1] + x[:, 1] ** 2
    >>> gradient = np.column_stack([1.0 - x[:, 1], 2.0 * x[:, 1] - x[:, 0]])
    >>> seen = Observations(x, f, slopes=gradient)
    >>> regression = seen.regression(ExpQuad(1.0), "quadratic")
    >>> np.round(regression.coefficients, 9) + 0.0
    array([ 1.,  1.,  0.,  0.,  1., -1.])
    """

    points: FloatArray
    values: FloatArray
    noise: FloatArray
    sites: FloatArray
    directions: FloatArray | None
    slopes: FloatArray
    slope_noise: FloatArray

    def __init__(
        self,
        points: ArrayLike,
        values: ArrayLike,
        *,
        noise: ArrayLike = 0.0,
        slopes: ArrayLike | None = None,
        sites: ArrayLike | None = None,
        directions: ArrayLike | None = None,
        slope_noise: ArrayLike = 0.0,
    ) -> None:
        x = _validate.points(points, "points")
        f = _validate.values(values, "values", len(x))
        d = x.shape[1]
        if slopes is None:
            if sites is not None or directions is not None:
                raise ValueError(
                    "`sites` and `directions` say where `slopes` were observed, got no `slopes`: pass them"
                )
            g, at, along = np.empty((0, d, *f.shape[1:])), np.empty((0, d)), None
        else:
            at = x if sites is None else _validate.points(sites, "sites", d)
            along = None if directions is None else np.asarray(directions, dtype=np.float64)
            g = np.asarray(slopes, dtype=np.float64)
            shape = (len(at), d, *f.shape[1:])
            if along is not None:
                if along.ndim != 3 or along.shape[0] != len(at) or along.shape[2] != d or not np.isfinite(along).all():
                    raise ValueError(
                        f"`directions` must be finite and have shape ({len(at)}, q, {d}), q directions at each site, "
                        f"got shape {along.shape}"
                    )
                shape = (*along.shape[:2], *f.shape[1:])
            if g.shape != shape or not np.isfinite(g).all():
                raise ValueError(
                    f"`slopes` must be finite and have shape {shape}, one number for each site and direction, "
                    f"got shape {g.shape}"
                )
        _frozen.freeze(
            self,
            points=_frozen.readonly(x),
            values=_frozen.readonly(f),
            noise=_frozen.readonly(_variances(noise, "noise", f.shape[:1])),
            sites=_frozen.readonly(at),
            directions=None if along is None else _frozen.readonly(along),
            slopes=_frozen.readonly(g),
            slope_noise=_frozen.readonly(_variances(slope_noise, "slope_noise", g.shape[:2])),
        )

    def __len__(self) -> int:
        """Return the number N of observations."""
        return len(self.variances)

    @property
    def dim(self) -> int:
        """Dimension d of the points."""
        return int(self.points.shape[1])

    @cached_property
    def observed(self) -> FloatArray:
        """All observations in their order, (N,) or (N, m)."""
        return np.concatenate([self.values, self.slopes.reshape(-1, *self.values.shape[1:])])

    @cached_property
    def variances(self) -> FloatArray:
        """Variances of the noise of all observations in their order, (N,)."""
        return np.concatenate([self.noise, self.slope_noise.ravel()])

    def gram(self, kernel: Kernel) -> FloatArray:
        """Return the covariance of what was observed, without noise, under a process with the kernel, (N, N).

        Raises
        ------
        TypeError
            If there are derivatives, and the kernel has no covariance of them (`Kernel.gradient_covariance`).
        """
        n, size = len(self.points), len(self)
        K = np.empty((size, size))
        K[:n, :n] = kernel(self.points)
        if size > n:
            K[n:, :n] = self._slopes_with(kernel, self.points)
            K[:n, n:] = K[n:, :n].T
            K[n:, n:] = self._slopes_with_slopes(kernel)
        return K

    def covariance(self, kernel: Kernel, amplitude: float = 1.0) -> FloatArray:
        """Return the covariance of the observations with their noise, relative to the amplitude: K + D / a, (N, N).

        The noise has units of its own. So the amplitude is a parameter of this matrix, and is not integrated out:
        `Regression.log_likelihood` takes the same number. Without noise it does not matter.
        """
        C = self.gram(kernel)
        C.flat[:: len(C) + 1] += self.variances / amplitude
        return C

    def cross(self, kernel: Kernel, x: FloatArray) -> FloatArray:
        """Return the covariance of what was observed with the values at points x (k, d), (N, k)."""
        both = [kernel(self.points, x)]
        if len(self) > len(self.points):
            both.append(self._slopes_with(kernel, x))
        return np.concatenate(both)

    def basis(self, kind: Basis) -> FloatArray:
        """Return the basis functions (`fwbq.process.basis`) as they are observed, (N, p): values, then derivatives."""
        rows = [basis_functions(kind, self.points)]
        if len(self) > len(self.points):
            gradients = basis_gradients(kind, self.sites)
            along = gradients if self.directions is None else self.directions @ gradients
            rows.append(along.reshape(-1, gradients.shape[2]))
        return np.concatenate(rows)

    def regression(
        self, kernel: Kernel, basis: Basis | None = None, *, amplitude: float = 1.0, jitter: float | None = None
    ) -> Regression:
        """Return the regression of the observations under a process with the kernel.

        Values at points x are then ``regression.predict(observations.cross(kernel, x), basis_functions(kind, x))``.

        Parameters
        ----------
        kernel : Kernel
            Covariance k of the process, relative to the amplitude.
        basis : {"constant", "quadratic"}, optional
            Functions of the unknown mean; by default the mean is zero.
        amplitude : float
            Factor a on the kernel; it matters where there is noise (:meth:`covariance`).
        jitter : float, optional
            Fixed relative jitter, for a likelihood that is a smooth function of the kernel; by default as little as the
            matrix needs.
        """
        C = self.covariance(kernel, amplitude)
        factor = CholeskyFactor.of(C) if jitter is None else CholeskyFactor.with_jitter(C, jitter)
        return Regression(factor, self.observed, None if basis is None else self.basis(basis))

    def _slopes_with(self, kernel: Kernel, x: FloatArray) -> FloatArray:
        """Return the covariance of the derivatives with values at x (k, d), (s q, k)."""
        gradients = np.moveaxis(kernel.gradient(self.sites, x), 1, 2)
        along = gradients if self.directions is None else self.directions @ gradients
        return np.asarray(along.reshape(-1, len(x)))

    def _slopes_with_slopes(self, kernel: Kernel) -> FloatArray:
        """Return the covariance of the derivatives, (s q, s q)."""
        s, q = self.slopes.shape[:2]
        if self.directions is None:
            return kernel.gradient_covariance(self.sites).reshape(s * q, s * q)
        out = np.empty((s, q, s, q))
        rows = max(1, _HELD // (s * self.dim**2))
        for start in range(0, s, rows):
            some = slice(start, start + rows)
            mixed = kernel.gradient_covariance(self.sites[some], self.sites)
            out[some] = np.einsum("iad,idje,jbe->iajb", self.directions[some], mixed, self.directions, optimize=True)
        flat = out.reshape(s * q, s * q)
        # Sums in another order leave roundings of the symmetry.
        return np.asarray(0.5 * (flat + flat.T))


def _variances(noise: ArrayLike, name: str, shape: tuple[int, ...]) -> FloatArray:
    array = np.asarray(noise, dtype=np.float64)
    if array.shape not in ((), shape):
        raise ValueError(f"`{name}` must be a number or have shape {shape}, got shape {array.shape}")
    if not (np.isfinite(array) & (array >= 0.0)).all():
        raise ValueError(f"`{name}` must hold variances, finite and not negative, got {_validate.shown(noise)}")
    return np.broadcast_to(array, shape).copy()
