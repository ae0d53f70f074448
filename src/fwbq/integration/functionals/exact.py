"""Main effects of the mean of a process in closed form: products of one-dimensional integrals of the kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...embeddings.coordinates import lines
from ...embeddings.line import Line
from ...kernels import Kernel, Sum
from ...measures import Measure
from ..fitted import Conditioned

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ExactEffects:
    r"""E[m | x_i] for m(x) = b + sum_j a_j k(x, x_j), k a sum of products over coordinates, x_i independent.

    .. math:: E[m \mid x_i = t] = b + \sum_c \sum_j a_j\, k_{ci}(t, x_{ji}) \prod_{l \ne i} \mu_{cl}(x_{jl}),

    with :math:`\mu_{cl}` the mean element of the one-dimensional kernel :math:`k_{cl}` under coordinate l.

    Attributes
    ----------
    member : Conditioned
    terms : tuple of (tuple of Line)
        One-dimensional embeddings of each product in the sum.
    """

    member: Conditioned
    terms: tuple[tuple[Line, ...], ...]

    @classmethod
    def of(cls, member: Conditioned, measure: Measure) -> ExactEffects | None:
        """Return the effects, or None if kernel or measure is not of that form."""
        kernels: tuple[Kernel, ...] = member.kernel.kernels if isinstance(member.kernel, Sum) else (member.kernel,)
        try:
            return cls(member, tuple(tuple(lines(kernel, measure)) for kernel in kernels))
        except TypeError:
            return None

    def along(self, i: int, places: FloatArray) -> FloatArray:
        """Return E[m | x_i] at places (G,)."""
        x = self.member.points
        effect = np.full(len(places), self.member.constant)
        for term in self.terms:
            others = self.member.coefficients.copy()
            for coordinate, line in enumerate(term):
                if coordinate != i:
                    others *= line.mean(x[:, coordinate])
            effect += term[i].kernel(places[:, None], x[:, i : i + 1]) @ others
        return effect
