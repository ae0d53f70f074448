"""Quasi-Monte Carlo: evenly spread points of the cube, carried to the measure."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .. import _validate
from .base import FloatArray
from .monte_carlo import BLOCK, EqualWeightDesign

if TYPE_CHECKING:
    from ..embeddings import Embedding

# Generating vector of an embedded lattice rule with up to 2^20 points: Cools, Kuo & Nuyens, "Constructing embedded
# lattice rules for multivariate integration", SIAM J. Sci. Comput. 28 (2006), order-2 weights, first 40 components.
LATTICE_VECTOR = np.array([
    1, 182667, 469891, 498753, 110745, 446247, 250185, 118627, 245333, 283199,
    408519, 391023, 246327, 126539, 399185, 461527, 300343, 69681, 516695, 436179,
    106383, 238523, 413283, 70841, 47719, 300129, 113029, 123925, 410745, 211325,
    17489, 511893, 40767, 186077, 519471, 255369, 101819, 243573, 66189, 152143,
])  # fmt: skip
LATTICE_BITS = 20


class QMC(EqualWeightDesign):
    r"""Randomised low-discrepancy points through the measure's inverse transform, weights 1/n.

    .. math:: x_i = T(u_i), \qquad T_\# \mathrm{Uniform}([0, 1]^s) = p,

    with :math:`u_i` a scrambled Sobol or Halton sequence, or a randomly shifted rank-1 lattice in radical-inverse
    order, :math:`u_i = \{\phi_2(i)\,z + \Delta\}`. A mixture uses one more coordinate, which chooses the component.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.
    sequence : {"sobol", "halton", "lattice"}
        Sobol and lattice are best at n a power of two. The lattice has at most 40 coordinates and 2^20 points.
    rng : numpy.random.Generator or int, optional
        Seed of the scrambling or shift. The same seed gives the same points, in whatever portions they are taken.

    References
    ----------
    Owen, "Scrambled net variance for integrals of smooth functions", Ann. Statist. 25 (1997). Cools, Kuo & Nuyens,
    "Constructing embedded lattice rules for multivariate integration", SIAM J. Sci. Comput. 28 (2006).

    Examples
    --------
    >>> import fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]]))
    >>> qmc, mc = fwbq.QMC(embedding, rng=0).rule(256), fwbq.MonteCarlo(embedding, rng=0).rule(256)
    >>> qmc.mmd2 < mc.mmd2 / 10
    True
    """

    def __init__(
        self,
        embedding: Embedding,
        *,
        sequence: Literal["sobol", "halton", "lattice"] = "sobol",
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(embedding)
        self._sequence = _validate.choice(sequence, "sequence", ("sobol", "halton", "lattice"))
        dim = embedding.measure.uniform_dim
        generator = _validate.generator(rng).spawn(1)[0]
        if self._sequence == "lattice":
            if dim > len(LATTICE_VECTOR):
                raise ValueError(
                    f"`sequence`='lattice' has {len(LATTICE_VECTOR)} coordinates and this measure needs {dim}; "
                    "use 'sobol' or 'halton'"
                )
            self._shift = generator.random(dim)
        else:
            self._engine = _engine(self._sequence, dim, generator)

    def _extend(self, n: int) -> None:
        if self._sequence == "lattice" and n > 2**LATTICE_BITS:
            super()._extend(2**LATTICE_BITS)
            self._stop(f"the lattice has 2^{LATTICE_BITS} points")
        else:
            super()._extend(n)

    def _next_block(self) -> FloatArray:
        if self._sequence == "lattice":
            i = np.arange(len(self._stream), len(self._stream) + BLOCK)
            # {phi_2(i) z} in integers: multiples of 2^-20, without rounding.
            steps = (_bit_reverse(i)[:, None] * LATTICE_VECTOR[: len(self._shift)]) % 2**LATTICE_BITS
            u = (steps / 2**LATTICE_BITS + self._shift) % 1.0
        else:
            u = self._engine.random(BLOCK)
        if self._sequence == "sobol":
            u += 2.0**-31  # the middle of each of the 2^30 cells: never 0, where an inverse distribution is infinite
        return self._embedding.measure.from_uniform(u)


def _bit_reverse(i: Any) -> Any:
    """Return the LATTICE_BITS low bits of each integer in opposite order (the radical inverse times 2^bits)."""
    out = np.zeros_like(i)
    for bit in range(LATTICE_BITS):
        out |= ((i >> bit) & 1) << (LATTICE_BITS - 1 - bit)
    return out


def _engine(sequence: str, dim: int, generator: np.random.Generator) -> Any:
    """Return a scrambled scipy sequence; scipy renamed the keyword `seed` to `rng` in 1.15."""
    from scipy.stats import qmc

    kind = qmc.Sobol if sequence == "sobol" else qmc.Halton
    keyword = "rng" if "rng" in inspect.signature(kind).parameters else "seed"
    return kind(dim, scramble=True, **{keyword: generator})
