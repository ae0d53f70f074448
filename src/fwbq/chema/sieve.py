r"""Which of many models may be among the best: bounds of their log evidences, from quick ones to exact ones.

A model passes several tests, each a few times dearer than the one before and made for far fewer models: upper bounds
by sums over few nodes and over more (:class:`Sieve`), and the interval of the :class:`Judge`, which is that of the
comparison but for its fewer nodes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..process import largest_upper_end
from ..selection.log_process import DEPTH, RISE, ROUGH, levelled, regression
from .judge import Judge
from .kinetics import FloatArray

__all__ = ["Sieve"]

#: Models whose nodes are summed at a time: 64 x 1024 float32 are 260 kB.
_CHUNK = 1024
#: Largest relative error of one rounding to float32.
_ROUNDING = 2.0**-24
#: Where exp(x) is read off the bits of a float32 (see `Sieve`): one more in x is `_PER_UNIT` more in the integer
#: that the bits are, and 1.0 is the integer `_ONE`.
_PER_UNIT, _ONE = 2.0**23 / np.log(2.0), 127.0 * 2.0**23
#: The most by which 1 + t exceeds 2^t between 0 and 1, as a factor, and its mean.
_LARGEST_EXCESS = 2.0 / (np.e * np.log(2.0))
_MEAN_EXCESS = 0.5 / np.log(2.0) ** 2
#: The process mean is raised to `_LOWEST`, relative to the largest value, and weights of nodes to `_LIGHTEST`, where
#: they do not matter: float32 has no products below exp(-87) but subnormal ones, with which arithmetic is slow.
_LOWEST, _LIGHTEST = -40.0, 1e-15
#: Sums below the exponential of this may be made of such raised terms.
_UNSEEN = -30.0


class Sieve:
    r"""A quick bound for many models: never below the upper end of the judge's interval.

    Given the kernel, the process mean at the nodes and its residuals are linear in the values: one matrix product. The
    variance of the integral of a process with covariance a c under a density pi is at most a times the mean of c(x, x)
    under pi (Cauchy-Schwarz), which spares the double sum over nodes. That mean bounds the judge's upper end
    (:func:`fwbq.process.largest_upper_end`). The amplitude a is that of greatest likelihood times the judge's squared
    roughness.

    Exponentials are read off the bits of a float32: the integer :math:`2^{23} (127 + i + t)`, 0 <= t < 1, has the bits
    of the number :math:`2^i (1 + t)`, which is at least :math:`2^{i + t}` and at most 6.2 % larger. So the sum is never
    too small, and at most 0.06 too large in its logarithm, in a fifth of the time of `exp`.

    Matrix products are in float32, u = 2^-24: with n terms, row v and values f, the error is at most
    (n + 4) u |v|_1 max |f|. It is added to every bound.

    Parameters
    ----------
    judge : Judge
        With a kernel.
    """

    def __init__(self, judge: Judge) -> None:
        assert judge.kernel is not None
        kernel, n = judge.kernel, len(judge.where)
        # The process mean is linear in the values: found for the columns of the identity, it is known for every model.
        unit = regression(kernel, judge.where, np.eye(n))
        at_nodes = unit.predict(kernel(judge.where, judge.nodes.points), np.ones((len(judge.nodes.points), 1)))
        spread = at_nodes.variance(kernel.diag(judge.nodes.points))
        residual = unit.residual * (judge.rough ** (0.5 * ROUGH) / np.sqrt(n - 1))
        self._n, self._size = n, len(spread)
        self._reach, self._allowance, self._most = judge.reach, judge.allowance, float(spread.max())
        # The last column is multiplied by one.
        rows = np.zeros((self._size + n, n + 1))
        rows[:, :n] = np.vstack([_PER_UNIT * at_nodes.mean, residual])
        rows[: self._size, n] = _ONE
        self._rows = rows.astype(np.float32)
        self._ends = np.float32(_ONE + _PER_UNIT * _LOWEST), np.float32(_ONE + _PER_UNIT * RISE)
        weights = np.maximum(np.exp(judge.nodes.log_weights), _LIGHTEST)
        self._node_weights = np.stack([weights, weights * spread]).astype(np.float32)
        # What one unit in the largest absolute value adds, by rounding, to a mean and to the root of an amplitude.
        self._mean_size = float(np.abs(at_nodes.mean).sum(axis=1).max())
        self._root_size = float(np.sqrt(np.sum(np.abs(residual).sum(axis=1) ** 2)))
        self._values = np.ones((n + 1, _CHUNK), dtype=np.float32)
        self._product = np.empty((len(rows), _CHUNK), dtype=np.float32)
        self._bits = np.empty((self._size, _CHUNK), dtype=np.int32)

    def __call__(self, values: FloatArray | NDArray[np.float32], error: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Log evidences (m,) of values (n, m), and upper bounds of them.

        Parameters
        ----------
        values : (n, m) array
            Log likelihoods.
        error : float
            The most by which they may be wrong.
        """
        m = values.shape[1]
        top = values.max(axis=0)
        amplitude, total, spread = np.empty((3, m))
        depth = 0.0
        for start in range(0, m, _CHUNK):
            some = slice(start, min(start + _CHUNK, m))
            deepest, amplitude[some], total[some], spread[some] = self._sums(values[:, some], top[some])
            depth = max(depth, deepest)

        # Roundings of the products, of the sums, and of values that are themselves not exact.
        wrong = (self._n + 4) * _ROUNDING * depth + error
        in_log = self._mean_size * wrong + (self._n + 4) * _ROUNDING * 127.0 * np.log(2.0)
        in_log += (self._size + 4) * _ROUNDING + error
        root = (1.0 + (self._n + 8) * _ROUNDING) * np.sqrt(amplitude) + self._root_size * wrong
        mean_spread = np.minimum(np.exp(2.0 * in_log) * _LARGEST_EXCESS * spread / total, self._most)
        log_total = np.log(total)
        mean_spread[log_total < _UNSEEN] = self._most
        variance = root**2 * mean_spread
        above = largest_upper_end(variance, self._reach)
        log_total += top
        centre = log_total - np.log(_MEAN_EXCESS) + 0.5 * (above - self._reach * np.sqrt(variance))
        return centre, log_total + above + (in_log + self._allowance)

    def _sums(
        self, values: FloatArray | NDArray[np.float32], top: FloatArray | NDArray[np.float32]
    ) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """Return the largest distance of a value from the largest of its model, amplitudes, and sums over the nodes.

        The sums are those of exp(mean) and of c(x, x) exp(mean), both too large by the excess of a straight line.
        """
        n, m = values.shape
        f = self._values[:, :m]
        with np.errstate(invalid="ignore"):
            np.subtract(values, top, out=f[:n], casting="same_kind")
        depth = -float(f[:n].min())
        if not depth <= DEPTH:
            # As for the judge: what is far below is raised, and so are likelihoods of zero.
            nothing = np.isneginf(top)
            f[:n] = levelled(np.where(nothing, 0.0, values - np.where(nothing, 0.0, top)))
            depth = -float(f[:n].min())
        product, bits = self._product[:, :m], self._bits[:, :m]
        np.matmul(self._rows, f, out=product)
        node, e = product[: self._size], product[self._size :]
        # As for the judge, the mean is capped above the largest value seen.
        np.clip(node, *self._ends, out=node)
        np.copyto(bits, node, casting="unsafe")
        total, spread = self._node_weights @ bits.view(np.float32)
        return depth, np.einsum("nm,nm->m", e, e), total, spread


def log_sum(logs: FloatArray) -> float:
    """Return the log of the sum of exponentials, -inf of none."""
    if not len(logs):
        return -np.inf
    top = float(logs.max())
    return top + float(np.log(np.sum(np.exp(logs - top)))) if np.isfinite(top) else top
