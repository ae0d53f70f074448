"""The Langevin-Stein kernel of an unnormalised density."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _frozen, _validate
from .._validate import Array
from .base import Column, Kernel
from .exp_quad import ExpQuad
from .inverse_multiquadric import InverseMultiquadric
from .matern import Matern32, Matern52


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Stein(Kernel):
    """Langevin-Stein kernel: its integral under the density p of the score is zero, whatever p's normalisation.

    k_p(x, y) = sum_i [d^2 k/dx_i dy_i + s_i(x) dk/dy_i + s_i(y) dk/dx_i + s_i(x) s_i(y) k(x, y)],
    s(x) = grad log p(x).

    Parameters
    ----------
    kernel : InverseMultiquadric, ExpQuad, Matern32 or Matern52
        The base kernel k; Matern12 has no mixed second derivative.
    score : callable
        The gradient of log p: points (n, d) -> (n, d).
    score_gradient : callable, optional
        Its Jacobian: points (n, d) -> (n, d, d), entry [., i, j] = d s_i / d x_j. Needed only for gradients of the
        kernel.

    Notes
    -----
    Oates, Girolami and Chopin (2017), "Control functionals for Monte Carlo integration". The mean element is zero if
    p k vanishes at the boundary of the support. With Matern32 the kernel has a kink at x = y, where its gradient is
    given without the jumping third derivative.

    Examples
    --------
    >>> import numpy as np
    >>> k = Stein(ExpQuad(1.0), lambda x: -x)
    >>> x, w = np.polynomial.hermite_e.hermegauss(60)
    >>> print(f"k(0.7, 0.7) = {k([[0.7]])[0, 0]:.2f}, its mean element {abs(w @ k(x[:, None], [[0.7]])[:, 0]):.4f}")
    k(0.7, 0.7) = 1.49, its mean element 0.0000
    """

    kernel: InverseMultiquadric | ExpQuad | Matern32 | Matern52
    score: Callable[[Array], Array]
    score_gradient: Callable[[Array], Array] | None

    def __init__(
        self,
        kernel: InverseMultiquadric | ExpQuad | Matern32 | Matern52,
        score: Callable[[Array], Array],
        score_gradient: Callable[[Array], Array] | None = None,
    ) -> None:
        if not isinstance(kernel, (InverseMultiquadric, ExpQuad, Matern32, Matern52)):
            raise TypeError(
                "`kernel` must be InverseMultiquadric, ExpQuad, Matern32 or Matern52, got "
                f"{type(kernel).__name__}: the Stein kernel needs the mixed second derivative of its base kernel"
            )
        if not callable(score):
            raise TypeError(
                f"`score` must be a function of points (n, d) that returns (n, d), got {type(score).__name__}: "
                "pass e.g. measure.score"
            )
        if score_gradient is not None and not callable(score_gradient):
            raise TypeError(
                "`score_gradient` must be None or a function of points (n, d) that returns (n, d, d), got "
                f"{type(score_gradient).__name__}"
            )
        _frozen.freeze(self, kernel=kernel, score=score, score_gradient=score_gradient)

    @property
    def dim(self) -> int | None:
        """The dimension of the base kernel; None when its length-scale is a scalar."""
        return self.kernel.dim

    def _scores(self, x: Array) -> Array:
        s = np.asarray(self.score(x), dtype=np.float64)
        if s.shape != x.shape:
            raise ValueError(f"`score` must return shape {x.shape} for points of that shape, got shape {s.shape}")
        return _validate.points(s, "score(x)")

    def _jacobian(self, x: Array) -> Array:
        if self.score_gradient is None:
            raise NotImplementedError(
                "the gradient of a Stein kernel needs the Jacobian of the score: pass `score_gradient`, a function of "
                "points (n, d) that returns (n, d, d), to Stein"
            )
        jacobian = np.asarray(self.score_gradient(x), dtype=np.float64)
        expected = (*x.shape, x.shape[1])
        if jacobian.shape != expected:
            raise ValueError(f"`score_gradient` must return shape {expected}, got shape {jacobian.shape}")
        return jacobian

    def _terms(self, x: Array, y: Array, sx: Array, sy: Array) -> Iterator[tuple[Array, Array]]:
        """Yield per coordinate i: a_i = (dk/dx_i)/k and c_i, its term of k_p over k."""
        for i, (a, b) in enumerate(self.kernel._relative_derivatives(x, y)):
            c = np.subtract.outer(sx[:, i], sy[:, i])
            c *= a
            c += b
            np.subtract(np.multiply.outer(sx[:, i], sy[:, i]), c, out=c)
            yield a, c

    def columns(self, x: ArrayLike) -> Column:
        """Prepare the columns k(x, y) over fixed points x, whose scores are kept; see `Kernel.columns`."""
        fixed = _validate.points(x, "x", self.dim)
        sx = self._scores(fixed)

        def column(y: Array, out: Array | None = None) -> Array:
            point = np.asarray(y, dtype=np.float64).reshape(1, -1)
            k = self._scored_gram(fixed, point, sx, self._scores(point))[:, 0]
            if out is None:
                return np.ascontiguousarray(k)
            out[...] = k
            return out

        return column

    def _gram(self, x: Array, y: Array) -> Array:
        sx = self._scores(x)
        return self._scored_gram(x, y, sx, sx if y is x else self._scores(y))

    def _scored_gram(self, x: Array, y: Array, sx: Array, sy: Array) -> Array:
        total = np.zeros((x.shape[0], y.shape[0]))
        for _, c in self._terms(x, y, sx, sy):
            total += c
        total *= self.kernel._gram(x, y)
        return total

    def _diagonal(self, x: Array) -> Array:
        s = self._scores(x)
        total = np.einsum("ij,ij->i", s, s)
        origin = np.zeros((1, x.shape[1]))
        for _, b in self.kernel._relative_derivatives(origin, origin):
            total -= b[0, 0]
        return np.asarray(total * self.kernel.variance)

    def _gradients(self, x: Array, y: Array) -> Iterator[Array]:
        jacobian = self._jacobian(x)
        sx = self._scores(x)
        sy = sx if y is x else self._scores(y)
        k = self.kernel._gram(x, y)
        total = np.zeros_like(k)
        slopes = []
        for a, c in self._terms(x, y, sx, sy):
            total += c
            slopes.append(a)
        u = [np.subtract.outer(sx[:, i], sy[:, i]) for i in range(x.shape[1])]
        for j in range(x.shape[1]):
            part = slopes[j] * total
            part -= self.kernel._relative_third(x, y, u, j)
            for i, a in enumerate(slopes):
                part += jacobian[:, i, j, None] * (sy[:, i] - a)
            yield part * k

    def factors(self, dim: int) -> None:
        """None: the score ties the coordinates together."""
        self._check_dim(dim)

    def spec(self) -> dict[str, Any]:
        """Raise: a score is a function and cannot be written down."""
        raise ValueError("a Stein kernel cannot be saved, because its `score` is a function: rebuild it in code")
