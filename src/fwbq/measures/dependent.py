"""Measures that are images of independent coordinates."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from .._validate import Array
from .base import Measure

if TYPE_CHECKING:
    from .product import Product


class Dependent(Measure):
    """A measure whose coordinates depend on each other, x = g(y) with independent latent coordinates y."""

    @property
    @abstractmethod
    def latent(self) -> Product:
        """The measure of the latent coordinates."""

    @property
    def tails(self) -> tuple[tuple[Any, ...], ...]:
        """For each latent coordinate the distributions whose tails are met along it."""
        return tuple((p,) for p in self.latent.distributions)

    @property
    def uniform_dim(self) -> int:
        """The dimension d."""
        return self.dim

    @property
    def factors(self) -> None:
        """None: the coordinates depend on each other."""

    @property
    def invertible(self) -> bool:
        """True: latent coordinates have normal scores."""
        return True

    def _to_normal(self, x: Array) -> Array:
        return self.latent._to_normal(self._to_latent(x))

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return self._from_latent(self.latent._sample(n, rng))

    def _transform(self, u: Array, v: Array) -> Array:
        return self._from_latent(self.latent._transform(u, v))
