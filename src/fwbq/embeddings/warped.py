"""Kernels in coordinates in which heavy tails end: the embedding is that of the kernel under the reference measure."""

from .._validate import Array
from ..kernels import Warped
from ..measures import Product
from .base import Embedding, embed, refuse, register


@register([Warped], [Product], "that of the kernel under the reference measure of its warped coordinates")
class WarpedEmbedding(Embedding):
    """k'(x, y) = k(v(x), v(y)) / (r(v(x)) r(v(y))) under the measure of its warp.

    The law of v has the density r under the reference measure q (uniform in the coordinates that are warped), so that

    mean(x) = int k(v(x), v) q(dv) / r(v(x)),  variance = int int k(u, v) q(du) q(dv).
    """

    kernel: Warped

    def __init__(self, kernel: Warped, measure: Product) -> None:
        if not (measure is kernel.warp.measure or _same(measure, kernel.warp.measure)):
            raise refuse(kernel, measure, f"the kernel is made for the measure {kernel.warp.measure!r}")
        self._inner = embed(kernel.kernel, kernel.warp.reference)
        super().__init__(kernel, measure, self._inner.method)

    @property
    def accuracy(self) -> float:
        """That of the embedding in warped coordinates."""
        return self._inner.accuracy

    def _mean(self, x: Array) -> Array:
        v = self.kernel.warp.to_warped(x)
        return self._inner.mean(v) / self.kernel.warp.ratio(v)

    def _gradient(self, x: Array) -> Array:
        warp = self.kernel.warp
        v = warp.to_warped(x)
        speed, fall = warp.slopes(x, v)
        inner = self._inner.mean_gradient(v) - self._inner.mean(v)[:, None] * fall
        return inner * speed / warp.ratio(v)[:, None]

    def _variance(self) -> float:
        return self._inner.variance


def _same(a: Product, b: Product) -> bool:
    """Whether two measures are written in the same way; those that cannot be written down are not."""
    try:
        return a.spec() == b.spec()
    except ValueError:
        return False
