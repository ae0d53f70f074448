"""Quasi-Monte Carlo: evenly spread points of the cube, carried to the measure."""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .. import _validate
from .base import FloatArray
from .monte_carlo import BLOCK, EqualWeightDesign

if TYPE_CHECKING:
    from ..embeddings import Embedding

# Generating vector of an extensible lattice. Made component by component: of 400 to 3000 random odd numbers below 2^20
# the one whose worst ratio to a good error, over all n = 2^3 ... 2^16, is least; the error is that of the
# two-dimensional projections in the periodic Sobolev space of order 1, plus 0.3 times that of the three-dimensional
# ones. Published vectors are made for n from 2^10 on; rules of this package are smaller.
LATTICE_VECTOR = np.array([
    1, 467565, 119925, 136489, 246535, 934485, 157247, 790107, 827865, 577247,
    524827, 438669, 640011, 582619, 222971, 801181, 68037, 706369, 477191, 720021,
    40905, 104397, 669021, 1002853, 601499, 174371, 278851, 428725, 120473, 148343,
    10323, 640711, 125891, 920103, 252473, 74001, 276011, 739265, 766775, 14121,
])  # fmt: skip
LATTICE_BITS = 20
#: Points of a Sobol sequence that are looked at before it is used; that takes 0.1 ms.
_CHECKED = 64


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
    "Constructing embedded lattice rules for multivariate integration", SIAM J. Sci. Comput. 28 (2006), for lattices in
    radical-inverse order.

    Examples
    --------
    >>> import fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]]))
    >>> qmc, mc = fwbq.QMC(embedding, rng=0).rule(256), fwbq.MonteCarlo(embedding, rng=0).rule(256)
    >>> print(f"worst-case error {qmc.mmd:.1g}, of Monte Carlo {mc.mmd:.1g}")
    worst-case error 0.005, of Monte Carlo 0.06
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
                    f"`sequence` 'lattice' has at most {len(LATTICE_VECTOR)} coordinates, the measure has {dim}: use "
                    "'sobol' or 'halton'"
                )
            self._shift = generator.random(dim)
        else:
            self._engine = scrambled_engine(self._sequence, dim, generator)

    def _extend(self, n: int) -> None:
        if self._sequence == "lattice" and n > 2**LATTICE_BITS:
            super()._extend(2**LATTICE_BITS)
            self._stop(f"the lattice has 2^{LATTICE_BITS} points")
        else:
            super()._extend(n)

    def _next_block(self) -> FloatArray:
        if self._sequence == "lattice":
            i = np.arange(self._blocks * BLOCK, (self._blocks + 1) * BLOCK)
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


@cache
def _load_direction_numbers() -> None:
    """Load the table on which SciPy's Sobol sequences rest, so that an interruption or a fault on the way is raised.

    SciPy loads it with the first sequence of a process, in a function that cannot raise: an exception there is printed
    and ignored, and every point of the sequence is then the same.
    """
    tables = import_module("scipy.stats._sobol")
    load = getattr(tables, "get_poly_vinit", None)
    if load is None:  # a private name: without it `_checked` is what remains
        return
    for kind in ("poly", "vinit"):
        try:
            load(kind, np.uint32)
        except BaseException:
            # SciPy 1.13 keeps the table it had begun, and takes it for a whole one the next time.
            for begun in ("_poly_dict", "_vinit_dict"):
                getattr(tables, begun, {}).clear()
            raise


def _checked(engine: Any) -> Any:
    """Return a Sobol sequence at its beginning, of which the first points differ as they must.

    In every coordinate the first 64 lie in the 64 intervals of length 1/64, one in each, whatever the scrambling. A
    direction number that is missing leaves some of the intervals empty.
    """
    cells = np.sort((_CHECKED * engine.random(_CHECKED)).astype(np.intp), axis=0)
    if not np.array_equal(cells, np.broadcast_to(np.arange(_CHECKED)[:, None], cells.shape)):
        raise RuntimeError(
            "SciPy's Sobol sequence repeats its points: its table of direction numbers could not be read, perhaps "
            "because of an interruption or too many open files. Try again, or install SciPy anew"
        )
    engine.reset()
    return engine


@cache
def _name_of_seed(kind: Any) -> str:
    return "rng" if "rng" in inspect.signature(kind).parameters else "seed"


def scrambled_engine(sequence: str, dim: int, generator: np.random.Generator) -> Any:
    """Return a scrambled scipy sequence; scipy renamed the keyword `seed` to `rng` in 1.15."""
    from scipy.stats import qmc

    kind: Any = qmc.Sobol if sequence == "sobol" else qmc.Halton
    keyword = _name_of_seed(kind)
    if sequence == "sobol":
        _load_direction_numbers()
    engine = kind(dim, scramble=True, **{keyword: generator})
    return _checked(engine) if sequence == "sobol" else engine


def sobol_points(dim: int, size: int, generator: np.random.Generator) -> FloatArray:
    """Return the first points of a scrambled Sobol sequence in the unit cube, (size, dim).

    Examples
    --------
    >>> few, more = (sobol_points(2, size, np.random.default_rng(0)) for size in (5, 8))
    >>> bool(np.all(few == more[:5]))
    True
    """
    # A power of two, of which SciPy does not warn; the first points are those of any larger number.
    return np.asarray(scrambled_engine("sobol", dim, generator).random(1 << max(size - 1, 0).bit_length())[:size])
