"""Rules: points, weights, and the worst-case error that these weights really have."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _frozen, _html, _validate, _warnings, kernels, measures
from .._linalg import CholeskyFactor, Factor, LowRankFactor
from .._threads import one_blas_thread
from ..embeddings import Embedding, embed
from . import files
from .simplex import simplex_weights
from .worst_case import Evaluation, FeatureWorstCase, GramWorstCase, WorstCase, best_weights, streamed_evaluation

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]
Kind = Literal["bayes", "uniform", "simplex", "design"]
PriorMean = Literal["zero", "constant"]

KINDS: tuple[Kind, ...] = ("bayes", "uniform", "simplex", "design")
PRIOR_MEANS: tuple[PriorMean, ...] = ("zero", "constant")
#: Points are one point to the kernel when |k(., x) - k(., y)|^2 is below this part of k(x, x): the difference is then
#: within a few dozen roundings of zero. For a Gaussian kernel that is a distance of 1e-7 length-scales.
MERGE_TOLERANCE = 1e-14


@dataclass(frozen=True, eq=False)
class Rule:
    """A quadrature rule: the integral of f is estimated by ``weights @ f(points)``.

    Made by `bayes_rule`, `uniform_rule`, `simplex_rule`, `weighted_rule`, by a design's ``rule(n)``, or by `load_rule`.

    Attributes
    ----------
    points : (n, d) array
        Distinct points, in the order given.
    weights : (n,) array
        Weights; of either sign unless the rule says otherwise.
    mmd2 : float
        Squared worst-case error over the unit ball of the kernel's space, k_PP - 2 w'z + w'K w, of exactly these
        weights and the kernel without jitter. Positive; at most by the floor, and at most by 1 %, below the true value.
        Where rounding limits it (below 100 `floor`) it is 0.99 times the computed value plus the floor.
    floor : float
        What float64 leaves uncertain in `mmd2`: 8 roundoffs (1.1e-16) of k_PP + 2 |w'z| + w'K w, and what the rounding
        of single entries adds for weights of both signs, up to 4 roundoffs of (n sum_ij (w_i w_j K_ij)^2)^(1/2). Where
        the embedding is by quadrature, its `accuracy` (relative error of mean and variance) is added.
    kind : str
        "bayes", "uniform", "simplex" or "design".
    prior_mean : str
        "zero", or "constant" when the weights were made for an unknown constant (they sum to one).
    status : str
        One line on how it went: "ok", or what was merged, capped or limited by rounding.
    embedding : Embedding or None
        Kernel and measure; None for a rule loaded from a file that could not hold them.
    index : (m,) array of int
        For each of the m points given, the row of `points` that stands for it.
    """

    points: FloatArray
    weights: FloatArray
    mmd2: float
    floor: float
    kind: Kind
    prior_mean: PriorMean = "zero"
    status: str = "ok"
    embedding: Embedding | None = None
    index: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    _rank: int | None = field(default=None, repr=False)
    _factor: Factor | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        index = np.array(self.index if len(self.index) else np.arange(len(self.points)), dtype=np.intp)
        index.setflags(write=False)
        _frozen.freeze(self, points=_frozen.readonly(self.points), weights=_frozen.readonly(self.weights), index=index)

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.weights)

    def __repr__(self) -> str:
        n, d = self.points.shape
        return (
            f"Rule({self.kind}, {n} points in {d} dimension{'s' if d > 1 else ''}, worst-case error {self.mmd:.3g}, "
            f"sum |w| {self.sum_abs_weights:.3g}; {self.status})"
        )

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        n, d = self.points.shape
        rows = [
            ("points", f"{n} in {d} dimension{'s' if d > 1 else ''}"),
            ("weights", f"{self.kind}; from {self.weights.min():.3g} to {self.weights.max():.3g}"),
            ("sum of |weights|", f"{self.sum_abs_weights:.4g}"),
            ("worst-case error", f"{self.mmd:.4g}"),
        ]
        if self.embedding is not None:
            rows += [("kernel", repr(self.embedding.kernel)), ("measure", repr(self.embedding.measure))]
        return _html.table([*rows, ("status", self.status)], title="Rule")

    def to_frame(self) -> pd.DataFrame:
        """Return points and weights as a table: columns x1, ..., xd and weight."""
        import pandas as pd

        return pd.DataFrame({**{f"x{i + 1}": x for i, x in enumerate(self.points.T)}, "weight": self.weights})

    def plot(self, ax: Axes | None = None, *, coordinates: tuple[int, int] | None = None) -> Axes:
        """Draw points and weights over the density of the measure; see :func:`fwbq.plots.rule`."""
        from ..plots import rule

        return rule(self, ax, coordinates=coordinates)

    @property
    def mmd(self) -> float:
        """Worst-case error: the square root of `mmd2`."""
        return math.sqrt(self.mmd2)

    @property
    def sum_abs_weights(self) -> float:
        """Sum of the absolute weights: how much an error in the values can be amplified."""
        return math.fsum(np.abs(self.weights).tolist())

    @property
    def known_embedding(self) -> Embedding:
        """The embedding; an error for a rule that was loaded from a file without its kernel and measure."""
        if self.embedding is None:
            raise ValueError(
                "`rule` was loaded from a file without its kernel and measure, which are needed here: make the "
                "rule again from an embedding (`condition` does without them for a number as `amplitude` and the "
                "rule's own prior mean)"
            )
        return self.embedding

    @property
    @one_blas_thread
    def rank(self) -> int | None:
        """Numerical rank of the Gram matrix of `points`; None for a rule without its embedding."""
        if self._rank is None and self.embedding is not None:
            _frozen.freeze(self, _rank=_problem(self.embedding, self.points).rank())
        return self._rank

    @property
    @one_blas_thread
    def factor(self) -> Factor:
        """Factor of the Gram matrix of `points`, computed once; what conditioning on values needs."""
        if self._factor is None:
            _frozen.freeze(self, _factor=_factorise(self.known_embedding, self.points))
        return cast("Factor", self._factor)

    def values(self, values: ArrayLike) -> FloatArray:
        """Return values of f at `points`, from values there or at the points given, repeats included.

        Parameters
        ----------
        values : array_like, shape (n,), (n, m), (len(index),) or (len(index), m)
            One row for each of `points`, or one for each point given to the constructor. In that case the first of
            several merged points counts.
        """
        array = _validate.numbers(values, "values")
        n, given = len(self), len(self.index)
        if array.shape[:1] == (given,) != (n,):
            first = np.unique(self.index, return_index=True)[1]
            return _validate.values(array, "values", given)[first]
        if given != n and array.shape[:1] != (n,):
            raise ValueError(
                f"`values` must have one row for each of the {n} points of the rule, or one for each of the {given} "
                f"points that it was made from, got shape {array.shape}: evaluate f at rule.points"
            )
        return _validate.values(array, "values", n)

    def integrate(self, values: ArrayLike) -> Any:
        """Return the estimate ``weights @ values``: a float for values (n,), an (m,) array for (n, m).

        Examples
        --------
        >>> import numpy as np, fwbq
        >>> rule = fwbq.uniform_rule(fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Uniform([0.0], [1.0])), [[0.25], [0.75]])
        >>> rule.integrate([1.0, 3.0])
        2.0
        """
        f = self.values(values)
        return float(self.weights @ f) if f.ndim == 1 else self.weights @ f

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rule to one file: JSON or NPZ, which `load_rule` reads, or CSV for other programs; by its suffix.

        JSON and NPZ are exact to the bit and hold everything; a CSV holds the columns x1, ..., xd and weight. The file
        is replaced at once: whatever happens, it holds its old content or the whole new one.

        Kernel and measure are stored as their ``spec()``. One that has none (a Stein kernel holds a function) is left
        out: points, weights and error are saved all the same, and the loaded rule has ``embedding=None``.

        Parameters
        ----------
        path : str or path
            Ends in .json, .npz or .csv.

        Examples
        --------
        >>> import tempfile, pathlib, fwbq
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "rule.csv"
        >>> fwbq.uniform_rule(fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Uniform([0.0], [1.0])), [[0.25], [0.75]]).save(path)
        >>> path.read_text().split()
        ['x1,weight', '0.25,0.5', '0.75,0.5']
        """
        kernel = measure = None
        status = self.status
        if self.embedding is not None:
            try:
                kernel, measure = self.embedding.kernel.spec(), self.embedding.measure.spec()
            except (ValueError, NotImplementedError) as error:
                kernel = measure = None
                status += f"; saved without its embedding ({error}): only a fixed amplitude can be used"
        record = {
            "kind": self.kind,
            "prior_mean": self.prior_mean,
            "status": status,
            "rank": self._rank,
            "mmd2": self.mmd2,
            "floor": self.floor,
            "kernel": kernel,
            "measure": measure,
            "points": self.points,
            "weights": self.weights,
            "index": self.index,
        }
        files.write(path, record)


def load_rule(path: str | os.PathLike[str]) -> Rule:
    """Read a rule written by `Rule.save`; it is the same to the bit, and its embedding is made again.

    Parameters
    ----------
    path : str or path
        A .json or .npz file.

    Raises
    ------
    ValueError
        When the file is damaged, cut off, not a rule, or of a newer version.
    FileNotFoundError
        When it does not exist.

    Examples
    --------
    >>> import tempfile, pathlib, fwbq
    >>> rule = fwbq.bayes_rule(fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0], [[1.0]])), [[-1.0], [0.0], [1.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rule.save(pathlib.Path(folder) / "rule.json")
    ...     again = fwbq.load_rule(pathlib.Path(folder) / "rule.json")
    >>> again.weights.tobytes() == rule.weights.tobytes()
    True
    """
    record = files.read(path)
    points, weights, index = record["points"], record["weights"], record["index"]

    def check(good: bool, what: str) -> None:
        if not good:
            raise files.not_a_rule_file(path, f"is damaged: {what}")

    check(len(weights) == len(points), "points and weights differ in number")
    check(bool(np.array_equal(np.unique(index), np.arange(len(points)))), "index does not fit the points")
    check(record["kind"] in KINDS, "its kind is unknown")
    check(record["prior_mean"] in PRIOR_MEANS, "its prior mean is unknown")
    check(isinstance(record["status"], str), "its status is not a text")
    rank = record["rank"]
    check(rank is None or (type(rank) is int and 0 <= rank <= len(points)), "its rank does not fit the points")
    for name in ("mmd2", "floor"):
        x = record[name]
        check(type(x) in (float, int) and 0.0 <= x < math.inf, f"{name} is not a number >= 0")
    embedding = None
    if record["kernel"] is not None and record["measure"] is not None:
        try:
            embedding = embed(kernels.from_spec(record["kernel"]), measures.from_spec(record["measure"]))
        except (TypeError, ValueError) as error:
            raise files.not_a_rule_file(path, f"is damaged: {error}") from error
        check(embedding.dim == points.shape[1], "points and measure differ in dimension")
    return Rule(
        points=points,
        weights=weights,
        mmd2=float(record["mmd2"]),
        floor=float(record["floor"]),
        kind=record["kind"],
        prior_mean=record["prior_mean"],
        status=record["status"],
        embedding=embedding,
        index=index,
        _rank=rank,
    )


@one_blas_thread
def bayes_rule(
    embedding: Embedding,
    points: ArrayLike,
    *,
    prior_mean: PriorMean = "zero",
    max_abs_weights: float | None = None,
    thorough: bool = True,
) -> Rule:
    """Return the Bayesian quadrature rule on `points`: the weights of least worst-case error.

    For f ~ GP(0, k) the integral has posterior mean w'f with w = K^-1 z and variance k_PP - z'K^-1 z, which is the
    squared worst-case error of these weights and the least of any. With an unknown constant mean the weights are those
    of least error among weights that sum to one,

        w = K^-1 z + K^-1 1 (1 - 1'K^-1 z) / (1'K^-1 1),

    so that adding a constant to f adds it to the answer.

    Gram matrices of smooth kernels are singular to working precision by a few dozen points. The system is solved with a
    relative jitter of 1e-15 or the next power of ten that works, and three steps of refinement on the matrix without it
    (residuals in twice the working precision); where rounding still limits the result, larger jitters are tried too,
    and the weights whose error *with its floor* is least are returned. `Rule.mmd2` is the error of those weights, not
    of the ideal ones.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.
    points : array_like, shape (m, d)
        Repeats are merged, and so are points that the kernel cannot tell apart: |k(., x) - k(., y)|^2 below 1e-14 of
        k(x, x). The first of them stays. `Rule.index` says which.
    prior_mean : {"zero", "constant"}
        Mean of the process: zero, or an unknown constant with a flat prior.
    max_abs_weights : float, optional
        Cap on sum |w|, at least 1 with an unknown constant. When the best weights exceed it, the smallest ridge
        |w|^2 that keeps the cap is added to the objective, and the status says so.
    thorough : bool
        False for one step of refinement and no larger jitters: five to ten times as fast where rounding limits the
        result, with weights that may then have a larger error (the one stated). For averages over many kernels, in
        which no single rule matters much.

    Returns
    -------
    Rule

    Warns
    -----
    RuntimeWarning
        When the mean element is zero (a Stein kernel) and the prior mean too: all weights are then zero.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0], [[1.0]]))
    >>> rule = fwbq.bayes_rule(embedding, np.linspace(-4.0, 4.0, 15)[:, None])
    >>> bool(abs(rule.mmd - 1.86e-6) < 0.01e-6), len(rule), rule.rank
    (True, 15, 15)
    """
    x = _points(embedding, points)
    _validate.choice(prior_mean, "prior_mean", PRIOR_MEANS)
    constant = prior_mean == "constant"
    if max_abs_weights is not None:
        max_abs_weights = _validate.positive(max_abs_weights, "max_abs_weights")
        if constant and max_abs_weights < 1.0:
            raise ValueError(
                f"`max_abs_weights` must be at least 1, got {max_abs_weights}: with an unknown constant the weights "
                "sum to one, so sum |w| cannot be less"
            )
    x, index = _merge_repeats(x)
    problem: WorstCase
    if _has_features(embedding):
        problem = _problem(embedding, x)
    else:
        _validate.fits_in_memory(len(x), 4 * len(x), "points", "points with their Gram matrix and its factors")
        K = embedding.kernel(x)
        keep, merged = _merge_indistinct(K)
        x, index = x[keep], merged[index]
        K = K if len(keep) == len(K) else K[np.ix_(keep, keep)]
        problem = _gram_problem(embedding, x, K)
    notes: list[str] = []
    if not constant and embedding.variance == 0.0 and not np.any(embedding.mean(x)):
        remedy = (
            "the mean element of this embedding is zero, so every weight is zero and the rule says nothing: "
            'pass prior_mean="constant", for weights that sum to one'
        )
        _warnings.warn(remedy)
        return Rule(x, np.zeros(len(x)), 0.0, 0.0, "bayes", "zero", remedy, embedding, index)
    if not thorough and max_abs_weights is None and isinstance(problem, GramWorstCase):
        w, error = problem.quick_weights(constant)
        status = _status(index, x, error, notes)
        factor = CholeskyFactor.of(K)  # whoever asks for a quick rule conditions on it
        return Rule(x, w, error.stated, error.floor, "bayes", prior_mean, status, embedding, index, _factor=factor)
    w = best_weights(problem, constant)
    if max_abs_weights is not None and np.abs(w).sum() > max_abs_weights:
        w, ridge = problem.ridge_path(constant).capped(max_abs_weights)
        notes.append(f"sum |w| capped at {max_abs_weights:g} by a ridge of {ridge:.2g}")
    # Evaluated as for any other weights, so that equal weights have equal errors to the bit.
    error = _evaluate(embedding, x, w)
    rank = problem.rank()
    if rank < len(x):
        notes.append(f"numerical rank {rank} of {len(x)}")
    status = _status(index, x, error, notes)
    return Rule(x, w, error.stated, error.floor, "bayes", prior_mean, status, embedding, index, _rank=rank)


@one_blas_thread
def uniform_rule(embedding: Embedding, points: ArrayLike) -> Rule:
    """Return the rule with equal weights 1/m on the m `points`; the weights of exact repeats add up.

    Examples
    --------
    >>> import fwbq
    >>> fwbq.uniform_rule(fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Uniform([0.0], [1.0])), [[0.2], [0.8], [0.2]]).weights
    array([0.66666667, 0.33333333])
    """
    x = _points(embedding, points)
    return _weighted(embedding, x, np.full(len(x), 1.0 / len(x)), "uniform")


@one_blas_thread
def weighted_rule(embedding: Embedding, points: ArrayLike, weights: ArrayLike) -> Rule:
    """Return the rule with any given `weights` on `points`; the weights of exact repeats add up.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.
    points, weights : array_like, shapes (m, d), (m,)
        Points, and weights of either sign that need not sum to one.

    Examples
    --------
    >>> import fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Uniform([0.0], [1.0]))
    >>> rule = fwbq.weighted_rule(embedding, [[0.2], [0.8]], [0.5, 0.5])
    >>> rule.kind, rule.mmd2 == fwbq.mmd2(embedding, [[0.2], [0.8]], [0.5, 0.5])
    ('design', True)
    """
    x = _points(embedding, points)
    return _weighted(embedding, x, _validate.vector(weights, "weights", len(x)), "design")


@one_blas_thread
def simplex_rule(embedding: Embedding, points: ArrayLike) -> Rule:
    """Return the rule of least worst-case error among non-negative weights that sum to one.

    A convex quadratic programme, solved to an optimality of 1e-10; most weights are often exactly zero. The estimate
    lies between the least and the greatest value, and errors in the values are never amplified.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(0.5), fwbq.Gaussian([0.0], [[1.0]]))
    >>> x = np.linspace(-3.0, 3.0, 10)[:, None]
    >>> rule = fwbq.simplex_rule(embedding, x)
    >>> bool(rule.weights.min() >= 0.0), bool(abs(rule.weights.sum() - 1.0) < 1e-14)
    (True, True)
    >>> fwbq.bayes_rule(embedding, x).mmd2 <= rule.mmd2 <= fwbq.uniform_rule(embedding, x).mmd2
    True
    """
    x, index = _merge_repeats(_points(embedding, points))
    w, violation = simplex_weights(embedding.kernel(x), embedding.mean(x), embedding.variance)
    error = _evaluate(embedding, x, w)
    notes = [f"optimal only to {violation:.1g} of the kernel's variance"] if violation > 1e-10 else []
    status = _status(index, x, error, notes)
    return Rule(x, w, error.stated, error.floor, "simplex", status=status, embedding=embedding, index=index)


def mmd2(embedding: Embedding, points: ArrayLike, weights: ArrayLike) -> float:
    """Return the squared worst-case error k_PP - 2 w'z + w'K w of any `weights` on `points`, as `Rule.mmd2` states it.

    Parameters
    ----------
    embedding : Embedding
        Kernel and measure.
    points, weights : array_like, shapes (n, d), (n,)
        Points and weights.

    Examples
    --------
    One point at the mean of N(0, 1), weight one, length-scale 1: 1/sqrt(3) - 2/sqrt(2) + 1.

    >>> import fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0], [[1.0]]))
    >>> bool(abs(fwbq.mmd2(embedding, [[0.0]], [1.0]) - (3**-0.5 - 2**0.5 + 1.0)) < 1e-15)
    True
    """
    return weighted_rule(embedding, points, weights).mmd2


def _points(embedding: Embedding, points: ArrayLike) -> FloatArray:
    _validate.instance(embedding, "embedding", Embedding, "pass fwbq.embed(kernel, measure)")
    return _validate.at_least_one_point(_validate.points(points, "points", embedding.dim), "points")


def _weighted(embedding: Embedding, x: FloatArray, w: FloatArray, kind: Kind) -> Rule:
    x, index = _merge_repeats(x)
    if len(x) < len(index):
        w = np.asarray(np.bincount(index, weights=w, minlength=len(x)), dtype=np.float64)
    error = _evaluate(embedding, x, w)
    if not math.isfinite(error.stated):
        raise ValueError(
            f"`weights` as large as {float(np.max(np.abs(w))):.3g} have a squared worst-case error beyond 1.8e308, the "
            "largest number of float64: divide them by their sum, or choose a kernel of smaller variance"
        )
    status = _status(index, x, error, [])
    return Rule(x, w, error.stated, error.floor, kind, status=status, embedding=embedding, index=index)


def _status(index: NDArray[np.intp], x: FloatArray, error: Evaluation, notes: list[str]) -> str:
    merged = [f"{len(index) - len(x)} repeated points merged"] if len(x) < len(index) else []
    limited = ["worst-case error limited by rounding"] if error.stated > error.value else []
    return "; ".join(merged + notes + limited) or "ok"


def _has_features(embedding: Embedding) -> bool:
    return hasattr(embedding.kernel, "features") and hasattr(embedding, "mean_features")


def _feature_problem(embedding: Any, x: FloatArray) -> FeatureWorstCase:
    return FeatureWorstCase(embedding.kernel.features(x), embedding.mean_features, embedding.accuracy)


def _gram_problem(embedding: Embedding, x: FloatArray, K: FloatArray) -> GramWorstCase:
    return GramWorstCase(K, embedding.mean(x), embedding.variance, embedding.accuracy)


def _problem(embedding: Embedding, x: FloatArray) -> WorstCase:
    if _has_features(embedding):
        return _feature_problem(embedding, x)
    return _gram_problem(embedding, x, embedding.kernel(x))


def _evaluate(embedding: Embedding, x: FloatArray, w: FloatArray) -> Evaluation:
    if _has_features(embedding):
        return _feature_problem(embedding, x).evaluate(w)
    return streamed_evaluation(embedding.kernel, x, w, embedding.mean(x), embedding.variance, embedding.accuracy)


def _factorise(embedding: Any, x: FloatArray) -> Factor:
    if _has_features(embedding):
        features = embedding.kernel.features(x)
        if features.shape[1] < len(x):
            return LowRankFactor.of(features)
    return CholeskyFactor.of(embedding.kernel(x))


def _merge_repeats(x: FloatArray) -> tuple[FloatArray, NDArray[np.intp]]:
    """Keep the first of every set of equal rows, in the order given; O(n log n)."""
    _, first, inverse = np.unique(x + 0.0, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    return x[first[order]], position[inverse.reshape(-1)]


def _merge_indistinct(K: FloatArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows to keep and, for every row, the position of the kept row that stands for it."""
    n = len(K)
    diagonal = np.diagonal(K)
    stands = np.arange(n)
    rows = max(1, (1 << 20) // n)
    pairs = []
    for start in range(0, n, rows):
        block = K[start : start + rows]
        both = diagonal[start : start + rows, None] + diagonal
        i, j = np.nonzero(both - 2.0 * block <= (0.5 * MERGE_TOLERANCE) * both)
        later = j > i + start
        pairs.append(np.stack([i[later] + start, j[later]], axis=1))
    # In order of the first index, so that when (i, j) is met it is settled whether i stays.
    for i, j in np.concatenate(pairs):
        if stands[i] == i and stands[j] == j:
            stands[j] = i
    keep = np.flatnonzero(stands == np.arange(n))
    return keep, np.searchsorted(keep, stands)
