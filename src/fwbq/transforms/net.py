"""Scrambled Sobol points, with the group structure that transforms rest on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _validate
from ..designs.qmc import scrambled_engine
from ..kernels.walsh import DIGITS, binary_digits

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: A point is made of two parts looked up in tables: that of the last 10 binary digits of its index, and the rest.
LOW_DIGITS = 10


class SobolNet:
    r"""Scrambled Sobol points in [0, 1)^d: the first 2^m of them are a digital net, for every m.

    The digits of the points are linear in those of their index: :math:`x_{i \oplus j} = x_i \oplus x_j \oplus x_0`. So
    the points :math:`x_0` and :math:`g_b = x_{2^b} \oplus x_0`, the *generators*, make all others, in any portion.

    Parameters
    ----------
    dim : int
        The number of coordinates d.
    rng : None, int or numpy.random.Generator
        Seed of the scrambling (SciPy's: a random linear map of the digits, and a random digital shift).

    Examples
    --------
    >>> net = SobolNet(2, rng=0)
    >>> u = net.points(0, 16)
    >>> np.sort((4 * u).astype(int) @ [4, 1]).tolist() == list(range(16))  # one point in each of the 16 squares
    True
    """

    def __init__(self, dim: int, rng: Any = None) -> None:
        self.dim = _validate.count(dim, "dim")
        self._engine = scrambled_engine("sobol", self.dim, _validate.generator(rng).spawn(1)[0])
        self._origin: IntArray = binary_digits(self._engine.random(1))[0]
        self._known: list[IntArray] = []

    def generators(self, m: int) -> IntArray:
        """Return the generators of the net of 2^m points, shape (m, d): 30 binary digits as whole numbers."""
        if m > DIGITS:
            raise ValueError(
                f"`m` must be at most {DIGITS}, the binary digits of a coordinate, got {m}: use fewer points"
            )
        while len(self._known) < m:
            self._engine.fast_forward((1 << len(self._known)) - self._engine.num_generated)
            self._known.append(binary_digits(self._engine.random(1))[0] ^ self._origin)
        return np.array(self._known[:m], dtype=np.int64).reshape(m, self.dim)

    def points(self, start: int, stop: int) -> FloatArray:
        """Return the points of index `start` to `stop` - 1, shape (stop - start, d), each in the middle of its cell."""
        generators = self.generators(max(stop - 1, 0).bit_length())
        low, high = generators[:LOW_DIGITS], generators[LOW_DIGITS:]
        first = start >> LOW_DIGITS
        within = _combined(low, np.arange(1 << len(low))) ^ self._origin
        between = _combined(high, np.arange(first, (max(stop - 1, 0) >> LOW_DIGITS) + 1))
        index = np.arange(start, stop)
        digits = within[index & ((1 << LOW_DIGITS) - 1)] ^ between[(index >> LOW_DIGITS) - first]
        return np.asarray((digits + 0.5) * 2.0**-DIGITS)


def _combined(generators: IntArray, index: IntArray) -> IntArray:
    """Join by exclusive or, for each index, the generators of its digits that are one; shape (len(index), d)."""
    digits = np.zeros((len(index), generators.shape[1]), dtype=np.int64)
    for b, generator in enumerate(generators):
        digits[(index >> b) & 1 == 1] ^= generator
    return digits


def differences(generators: IntArray, start: int, stop: int) -> IntArray:
    """Return the digits of x_i joined with those of x_0 by exclusive or, for i = start, ..., stop - 1.

    Parameters
    ----------
    generators : (m,) array
        Of one coordinate.
    start, stop : int
        `stop - start` a power of two that divides `start`.
    """
    size = stop - start
    digits = np.zeros(size, dtype=np.int64)
    for b in range(size.bit_length() - 1):
        digits[1 << b : 2 << b] = digits[: 1 << b] ^ generators[b]
    for b in range(len(generators)):
        if start >> b & 1:
            digits ^= generators[b]
    return digits
