"""Rules: points, weights, and the worst-case error that these weights really have."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _frozen, _html, _validate, kernels, measures
from .._linalg import Factor
from .._threads import one_blas_thread
from ..embeddings import Embedding, embed
from . import files

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

from .error import factorise, problem_of

FloatArray = NDArray[np.float64]
Kind = Literal["bayes", "uniform", "simplex", "design"]
PriorMean = Literal["zero", "constant"]
KINDS: tuple[Kind, ...] = ("bayes", "uniform", "simplex", "design")
PRIOR_MEANS: tuple[PriorMean, ...] = ("zero", "constant")


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

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Gaussian([0.0], [[1.0]]))
    >>> rule = fwbq.bayes_rule(embedding, np.linspace(-3.0, 3.0, 9)[:, None])
    >>> round(float(rule.integrate(np.cos(rule.points[:, 0]))), 3)  # the exact value is exp(-1/2) = 0.6065
    0.607
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

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates: those of the measure, or ``x1``, ``x2``, ..."""
        if self.embedding is None:
            return _validate.parameter_names(None, self.points.shape[1])
        return self.embedding.measure.names

    def to_frame(self) -> pd.DataFrame:
        """Return points and weights as a table: columns x1, ..., xd and weight."""
        import pandas as pd

        return pd.DataFrame({**dict(zip(self.names, self.points.T, strict=True)), "weight": self.weights})

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
            _frozen.freeze(self, _rank=problem_of(self.embedding, self.points).rank())
        return self._rank

    @property
    @one_blas_thread
    def factor(self) -> Factor:
        """Factor of the Gram matrix of `points`, computed once; what conditioning on values needs."""
        if self._factor is None:
            _frozen.freeze(self, _factor=factorise(self.known_embedding, self.points))
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
    >>> rule.weights.round(3), again.weights.round(3)
    (array([0.305, 0.337, 0.305]), array([0.305, 0.337, 0.305]))
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
