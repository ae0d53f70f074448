"""Thinning: few states of a long Markov chain that stand for all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _extras, _frozen, _html, _validate
from ._threads import one_blas_thread
from .kernels import ExpQuad, RandomFourier

FloatArray = NDArray[np.float64]

#: Frequencies, each with a cosine and a sine. On the banana of docs/thinning.md the mean error of 50 states was 0.055,
#: 0.050 and 0.045 standard deviations with 64, 128 and 256 of them; that of the whole chain was 0.042.
PAIRS = 128
#: States that are searched, evenly spaced; the chain they are to stand for is counted in full. More take longer in
#: proportion, and neighbours in a chain are much alike.
CANDIDATES = 20_000
#: States in a block: their features take 32 MB.
BLOCK = 16_384
#: States from which the median distance is found: half a million distances.
PROBES = 1_000
#: Rounds of exchanges after the greedy choice. There they lowered the distance from 0.0165 to 0.0057 and 0.0047; six
#: rounds to 0.0039.
ROUNDS = 2


@dataclass(frozen=True, eq=False)
class Thinned:
    """States that stand for a chain, with equal weights.

    Attributes
    ----------
    points : (n, d) array
        The states, in the order of the chain.
    index : (n,) array of int
        Their rows in the chain.
    mmd : float
        Their distance from the chain: the maximum mean discrepancy under the kernel of `thin`.
    mmd_every : float
        That of every (N / n)-th state, for comparison.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> chain = np.random.default_rng(0).normal(size=(500, 2))
    >>> chosen = fwbq.thin(chain, 10)
    >>> len(chosen), chosen.points.shape, bool(chosen.mmd < chosen.mmd_every)
    (10, (10, 2), True)
    """

    points: FloatArray
    index: NDArray[np.intp]
    mmd: float
    mmd_every: float

    def __post_init__(self) -> None:
        _frozen.freeze(self, points=_frozen.readonly(self.points))

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self.points)

    def __repr__(self) -> str:
        n, d = self.points.shape
        return f"Thinned({n} states, d = {d}, mmd {self.mmd:.3g}; of evenly spaced states {self.mmd_every:.3g})"

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        n, d = self.points.shape
        rows = [
            ("states", str(n)),
            ("dimension", str(d)),
            ("distance from the chain (MMD)", f"{self.mmd:.3g}"),
            ("of evenly spaced states", f"{self.mmd_every:.3g}"),
        ]
        return _html.table(rows, "Thinned")


@one_blas_thread
def thin(states: ArrayLike, n: int, *, rng: Any = None) -> Thinned:
    r"""Choose n different states of a chain, so that their averages are close to the averages over the whole chain.

    The states minimise the maximum mean discrepancy

    .. math:: \Bigl\| \frac1n \sum_{i \in S} \phi(x_i) - \frac1N \sum_{i=1}^N \phi(x_i) \Bigr\|

    with 256 random Fourier features phi of a Gaussian kernel, in coordinates in which the chain has unit covariance and
    with the median distance between states as length-scale: first one by one, then by exchanging each of them twice for
    the best of all others. No gradient of the target is needed; burn-in must have been removed, and the result can be
    no closer to the target than the chain itself is.

    Parameters
    ----------
    states : array_like, shape (N, d)
        The chain, or several one after the other. Read in blocks: 10^6 states need no more memory than 10^4 beside
        the array itself, which may be a memory map.
    n : int
        How many to choose; at most as many as there are different states among 20,000 evenly spaced ones.
    rng : None, int or numpy.random.Generator
        Source of the features; 0 by default, so that the same chain gives the same states.

    Returns
    -------
    Thinned

    Raises
    ------
    ValueError
        When the chain has fewer than n different states.

    See Also
    --------
    fwbq.Stein : a kernel that also corrects a chain towards its target, if the score is known.

    Examples
    --------
    >>> chain = np.random.default_rng(0).normal(size=(5000, 2)).cumsum(axis=0) * 0.01
    >>> chosen = thin(chain, 20)
    >>> chosen.points.shape, bool(chosen.mmd < chosen.mmd_every / 2)
    ((20, 2), True)
    """
    # Looked at, not copied: a memory map stays on the disk.
    x = np.asanyarray(states)
    if x.ndim != 2 or len(x) == 0 or x.shape[1] == 0:
        raise ValueError(
            f"`states` must have shape (N, d) with at least one state, got shape {x.shape}: put several chains one "
            "after the other, e.g. chains.reshape(-1, d)"
        )
    n = _validate.count(n, "n")
    origin, directions = _whitening(x)
    kernel = _kernel(x, origin, directions, _validate.generator(0 if rng is None else rng))

    def features(rows: Any) -> FloatArray:
        return kernel.features((np.asarray(rows, dtype=np.float64) - origin) @ directions)

    target = np.zeros(kernel.n_features)
    for start in range(0, len(x), BLOCK):
        target += features(x[start : start + BLOCK]).sum(axis=0)
    target /= len(x)
    spaced = np.unique(np.linspace(0, len(x) - 1, min(len(x), CANDIDATES)).astype(np.intp))
    rows = spaced[np.sort(np.unique(np.asarray(x[spaced], dtype=np.float64), axis=0, return_index=True)[1])]
    if n > len(rows):
        raise ValueError(
            f"`n` must be at most the number of different states among {len(spaced)} evenly spaced ones, {len(rows)}, "
            f"got {n}: choose fewer, or run the chain for longer"
        )
    phi = np.concatenate([features(x[rows[a : a + BLOCK]]) for a in range(0, len(rows), BLOCK)])
    index = np.sort(rows[_exchange(phi, target, n)])
    every = features(x[(np.arange(1, n + 1) * len(x)) // n - 1]).mean(axis=0)
    chosen = features(x[index]).mean(axis=0)
    distances = [float(np.linalg.norm(mean - target)) for mean in (chosen, every)]
    return Thinned(np.asarray(x[index], dtype=np.float64), index, *distances)


def _whitening(x: Any) -> tuple[FloatArray, FloatArray]:
    """Return the mean (d,) and directions (d, r) on which the centred states have unit covariance, from all states."""
    count, d = x.shape
    origin, scatter = np.zeros(d), np.zeros((d, d))
    for start in range(0, count, BLOCK):
        block = _validate.points(x[start : start + BLOCK], "states", d)
        done, new = start, len(block)
        shift = block.mean(axis=0) - origin
        centred = block - block.mean(axis=0)
        scatter += centred.T @ centred + np.outer(shift, shift) * (done * new / (done + new))
        origin += shift * new / (done + new)
    scale = np.sqrt(np.diag(scatter))
    safe = np.where(scale > 0.0, scale, 1.0)
    variances, vectors = np.linalg.eigh(scatter / np.outer(safe, safe))
    # Directions in which the states do not vary, beyond rounding, say nothing.
    kept = variances > d * np.finfo(np.float64).eps * max(float(variances.max()), 1.0)
    if not kept.any():
        return origin, np.zeros((d, 1))
    return origin, vectors[:, kept] / np.sqrt(variances[kept]) * math.sqrt(count) / safe[:, None]


def _kernel(x: Any, origin: FloatArray, directions: FloatArray, rng: np.random.Generator) -> RandomFourier:
    """Return cosines and sines of random frequencies, for the median distance between evenly spaced states."""
    rows = np.linspace(0, len(x) - 1, min(len(x), PROBES)).astype(np.intp)
    z = (np.asarray(x[rows], dtype=np.float64) - origin) @ directions
    squares = np.einsum("ij,ij->i", z, z)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * z @ z.T, 0.0))
    median = float(np.median(distances[np.triu_indices(len(z), 1)])) if len(z) > 1 else 0.0
    base = ExpQuad(median if median > 0.0 else 1.0)
    frequencies = RandomFourier(base, PAIRS, directions.shape[1], rng).frequencies
    phases = np.repeat([0.0, -0.5 * np.pi], PAIRS)
    return RandomFourier.from_frequencies(base, np.tile(frequencies, (2, 1)), phases)


def _exchange(phi: FloatArray, target: FloatArray, n: int) -> NDArray[np.intp]:
    """Return n different rows of phi (M, D) whose mean is close to the target: greedily, then by exchanges."""
    half = 0.5 * np.einsum("ij,ij->i", phi, phi)
    blocked = np.zeros(len(phi))
    chosen: list[int] = []
    total = np.zeros(phi.shape[1])

    def best(size: int) -> int:
        """Return the row that brings the mean of `size` rows closest: least |total + phi - size target|^2."""
        return int(np.argmin(phi @ (total - size * target) + half + blocked))

    for size in range(1, n + 1):
        row = best(size)
        chosen.append(row)
        blocked[row] = np.inf
        total += phi[row]
    for _ in range(ROUNDS):
        before = list(chosen)
        for i, row in enumerate(chosen):
            total -= phi[row]
            blocked[row] = 0.0
            chosen[i] = best(n)
            total += phi[chosen[i]]
            blocked[chosen[i]] = np.inf
        if chosen == before:
            break
    return np.array(chosen, dtype=np.intp)


def thin_arviz(data: Any, n: int, *, variables: list[str] | None = None, rng: Any = None) -> Any:
    """Thin the posterior of ArviZ's InferenceData or DataTree; the chains are taken one after the other.

    Parameters
    ----------
    data : arviz.InferenceData, or xarray.DataTree from ArviZ 1.0 on
        With a group ``posterior``.
    n : int
        How many draws to choose.
    variables : list of str, optional
        The variables whose averages are to be kept; all by default. The others are thinned along with them.
    rng : None, int or numpy.random.Generator
        As for `thin`.

    Returns
    -------
    arviz.InferenceData, or xarray.DataTree from ArviZ 1.0 on
        With a group ``posterior`` of one chain and n draws.

    Examples
    --------
    >>> import xarray as xr
    >>> draws = np.random.default_rng(0).normal(size=(4, 500, 3))
    >>> posterior = xr.Dataset({"a": (("chain", "draw", "component"), draws)})
    >>> data = xr.DataTree.from_dict({"posterior": posterior})  # as ArviZ holds it
    >>> thin_arviz(data, 10).posterior["a"].shape
    (1, 10, 3)
    """
    if not hasattr(data, "posterior"):
        raise ValueError("`data` must be InferenceData or a DataTree with a group `posterior`: for an array use `thin`")
    xarray = _extras.load("xarray", "arviz", "thinning InferenceData")
    posterior = xarray.Dataset(data.posterior.data_vars)  # which a group of a DataTree has, too
    names = list(posterior.data_vars) if variables is None else variables
    unknown = [name for name in names if name not in posterior.data_vars]
    if unknown:
        known = ", ".join(map(str, posterior.data_vars))
        raise ValueError(f"`variables` must name variables of the posterior, {known}, got {unknown[0]!r}")
    count = posterior.sizes["chain"] * posterior.sizes["draw"]
    parts = [posterior[name].transpose("chain", "draw", ...).values.reshape(count, -1) for name in names]
    index = thin(np.concatenate(parts, axis=1), n, rng=rng).index
    chain, draw = np.unravel_index(index, (posterior.sizes["chain"], posterior.sizes["draw"]))
    rows = {"chain": xarray.DataArray(chain, dims="draw"), "draw": xarray.DataArray(draw, dims="draw")}
    picked = posterior.isel(rows)
    picked = picked.drop_vars(["chain", "draw"], errors="ignore").assign_coords(draw=np.arange(n))
    return _extras.inference_data(picked.expand_dims("chain").assign_coords(chain=[0]), "thinning InferenceData")
