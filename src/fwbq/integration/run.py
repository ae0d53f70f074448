"""The integration as a dialogue: ask for points, tell the values, have the posterior at any time."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _html, _validate
from .._lock import Lock
from .._reason import LEVEL_OF_TOL, Reason
from .._threads import one_blas_thread
from ..designs import Design, PointSet, checked_design, made_design
from ..embeddings import Embedding
from ..kernels import Kernel, Stationary, named
from ..measures import Measure, as_measure
from ..posterior import AnyAmplitude
from ..rules import PriorMean
from . import files
from .equal import varied
from .forecast import Forecast
from .frame import in_scores
from .model import KernelModel
from .result import IntegrationResult
from .sequence import (
    FEWEST_BEFORE_RANK,
    REFIT_GROWTH,
    WIDE,
    chosen_together,
    filling,
    first_points,
    next_points,
    spread,
)
from .state import State

FloatArray = NDArray[np.float64]

_FILLED = (
    "in double precision the fitted kernel could not tell more than {n} points apart, and some of the points after "
    "these were chosen under a rougher one"
)


class Integration:
    """An integral in progress: `ask` for points, `tell` values, take the `result` at any time.

    Parameters
    ----------
    measure : Measure, frozen scipy.stats distribution, or a list of them
        What the integral is taken under.
    kernel : Kernel, class of kernel or str, optional
        A kernel is used as it is. A class (``fwbq.Matern32``), which may be named (``"matern32"``), has its
        length-scales found from the values. By default length-scales and smoothness are found from the values and
        averaged over.
    design : callable, optional
        A design class, or a function ``(embedding, rng=...)`` that returns a design. By default evenly spread points
        first, then sequential Bayesian quadrature under the fitted kernel, continued from all points there are. With a
        kernel *and* a design given, the points are exactly ``design.take(n)``, repeats included. The points of a
        `PointSet` (`OBQ`) were chosen together: they must be asked for all at once.
    amplitude : "calibrated", "marginal", "ml", "loo" or float
        How the factor on the kernel's variance is found: see `fwbq.condition`, and `fwbq.posterior.calibrated`
        for the default, which is the marginal one, widened where leave-one-out errors are larger than the kernel
        expects.
    prior_mean : {"zero", "constant"}, optional
        Mean of the process. By default an unknown constant; zero when `amplitude` is a number, as in the paper.
    rng : None, int or numpy.random.Generator
        Seed of all points.

    Notes
    -----
    Values may come in any order and any portions, together with points of one's own choosing; the result depends on
    what is known, not on the order. The points that `ask` returns depend on what was known when it was called. Several
    threads may use one run: each call sees it as the call before left it.

    Values of shape (n, m) are m integrals on the same points, which are chosen under a kernel found from their joint
    likelihood. Up to 16 columns have kernels of their own in the posterior; more share the joint ones, with an
    amplitude each. A column of equal values says nothing about the kernel. Beside columns that vary its interval allows
    for a region that the points may have missed, and the status names it.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> run = fwbq.Integration(fwbq.Gaussian([0.0], [[1.0]]), rng=0)
    >>> for _ in range(3):
    ...     x = run.ask(4)
    ...     run.tell(x, np.cos(x[:, 0]))
    >>> result = run.result()
    >>> bool(abs(result.mean - np.exp(-0.5)) < 1e-2), result.n_evaluations
    (True, 12)
    """

    def __init__(
        self,
        measure: Measure,
        *,
        kernel: Kernel | type[Stationary] | str | None = None,
        design: Callable[..., Design | PointSet] | None = None,
        amplitude: AnyAmplitude = "calibrated",
        prior_mean: PriorMean | None = None,
        rng: Any = None,
    ) -> None:
        measure = as_measure(measure)
        self._measure = measure
        believed = named(kernel, Stationary)
        self._design = checked_design(design)
        #: What is believed of the integrand, by whether skew inputs are seen in their normal scores.
        self._models = {False: KernelModel(measure, believed, amplitude, prior_mean)}
        if design is None and not isinstance(believed, Kernel) and in_scores(measure) is not None:
            self._models[True] = KernelModel(measure, believed, amplitude, prior_mean, scores=True)
        self._state = State([int(word) for word in _validate.generator(rng).integers(2**63, size=2)])
        self._lock = Lock()
        self._sequence: Design | PointSet | None = None
        self._answer: tuple[IntegrationResult, KernelModel] | None = None

    def __repr__(self) -> str:
        end = f"; {self.ended}" if self.ended is not None else ""
        return f"<Integration under {type(self._measure).__name__}: {self.n_evaluations} values known{end}>"

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        rows = [("measure", repr(self._measure)), ("values known", str(self.n_evaluations))]
        return _html.table([*rows, *([("ended", self.ended)] if self.ended is not None else [])], title="Integration")

    @property
    def measure(self) -> Measure:
        """The measure."""
        return self._measure

    @property
    def model(self) -> KernelModel:
        """What is believed of the integrand, in the coordinates in which points are chosen."""
        return self._model

    @property
    def _model(self) -> KernelModel:
        scores = self._state.scores
        return self._models[True in self._models if scores is None else scores]

    @property
    def data(self) -> tuple[FloatArray, FloatArray]:
        """Points (n, d) and values (n,) or (n, m) told so far."""
        return self._state.data()

    @property
    def n_evaluations(self) -> int:
        """Number of points at which values are known."""
        return len(self._state.known)

    @property
    def n_first(self) -> int:
        """Number of evenly spread points before the first fit; 0 when nothing is fitted."""
        return 0 if self._model.fixed is not None else first_points(self._measure.dim)

    @property
    def varies(self) -> bool:
        """Whether of every integral two of the values known differ."""
        return len(self._state.known) > 0 and bool(varied(self._state.data()[1]).all())

    @property
    def ended(self) -> str | None:
        """Why there were fewer points than asked for, or None."""
        return self._state.ended

    @property
    def all_at_once(self) -> bool:
        """Whether the design is a set of points chosen together, which cannot be asked for in portions."""
        if self._design is None:
            return False
        if isinstance(self._design, type):
            return issubclass(self._design, PointSet)
        if self._model.fixed:
            made = self._own_design()
        else:
            made = made_design(self._design, self._model.first_embedding(), np.random.default_rng(0))
        return isinstance(made, PointSet)

    @one_blas_thread
    def ask(self, batch: int = 1, *, more: bool = False) -> FloatArray:
        """Return the next points to evaluate.

        Parameters
        ----------
        batch : int
            How many.
        more : bool
            Whether still more points will be asked for before a result is wanted. These ones are then not moved to
            where they are best together, which takes time and is undone by the points that follow.

        Returns
        -------
        (batch, d) array
            Fewer, or none, when in double precision the kernel cannot tell further points apart and the interval is
            narrow; `ended` then says so. While it is wide, further points are chosen under a rougher kernel.
        """
        batch = _validate.count(batch, "batch")
        with self._lock:
            chosen = self._from_design(batch) if self._model.fixed and self._design else self._from_model(batch, more)
            self._state = self._state.with_asked(chosen)
        return np.array(chosen)  # of the caller's own: what was chosen may be kept here too

    def tell(self, points: ArrayLike, values: ArrayLike) -> None:
        """Add values of the integrand.

        Parameters
        ----------
        points : array_like, shape (n, d)
            Points that `ask` returned, or any others; a point already known must come with the value it has, but for
            rounding.
        values : array_like, shape (n,) or (n, m)
            Finite values; always of the same m.

        Raises
        ------
        ValueError
            When a value is not finite, of another width, or contradicts what is known. Nothing is then added.
        """
        x = _validate.points(points, "points", self._measure.dim) + 0.0
        f = _validate.values(values, "values", len(x))
        with self._lock:
            self._state = self._state.with_told(x, f)
            self._answer = None

    def skip(self, points: ArrayLike) -> None:
        """Give up points that `ask` returned and that have no value.

        Parameters
        ----------
        points : array_like, shape (k, d)

        Raises
        ------
        ValueError
            For a point that was not asked for, or that has a value. Nothing is then given up.
        """
        x = _validate.points(points, "points", self._measure.dim) + 0.0
        with self._lock:
            self._state = self._state.without(x)

    @property
    def reason(self) -> Reason:
        """`Reason.OPEN`, or why `ask` returned fewer points than asked for."""
        return self._state.reason or Reason.OPEN

    @one_blas_thread
    def forecast(self, points: ArrayLike) -> Forecast | None:
        """Predict values at points before they are told, under the most probable kernel of the last fit.

        Parameters
        ----------
        points : array_like, shape (q, d)
            Points without values.

        Returns
        -------
        Forecast or None
            None when no kernel has been fitted yet.
        """
        new = _validate.points(points, "points", self._measure.dim)
        with self._lock:
            kernel = self._state.leading if self._model.fixed is None else self._model.fixed.kernel
            if kernel is None or not self._state.known:
                return None
            x, values = self._state.data()
        return self._model.forecast(x, values, new, kernel)

    @one_blas_thread
    def conclude(self) -> None:
        """Find the posterior given all values told so far, so that `result` and `half_width` return at once."""
        with self._lock:
            self._conclusion()

    @one_blas_thread
    def half_width(self, level: float = 0.95) -> float:
        """Return half the width of the interval of this probability, the largest of m integrals.

        What a stopping rule looks at again and again: unlike `result` it gives no warning of a kernel that does not
        fit.
        """
        with self._lock:
            low, high = self._conclusion()[0].interval(level)
        return float(np.max(np.asarray(high) - np.asarray(low)) / 2.0)

    @one_blas_thread
    def near(self, tol: float, level: float = 0.95) -> bool:
        """Return whether `half_width` may be below `tol`, judged by the most probable kernel alone.

        It is judged by the kernel of the last fit, for which one rule is enough, and if that may be, by the kernel of a
        fit to all values. That fit is remembered for `half_width`, which averages over some five kernels. Of 58
        half-widths (eight families of `studies.coverage`, tol = 1e-3) one in twenty was less than 0.54 of what the
        first kernel said, and none less than 0.78 of what the second said: hence the margins of 2 and 1.3. Where they
        are not enough, a run stops one batch later than it could.
        """
        with self._lock:
            leading = self._state.leading
            if self._model.fixed is not None or leading is None or self._answer is not None:
                return True
            points, values = self._state.data()
            if len(points) < 3 or values.ndim == 2:
                return True
            x = self._model.frame.to_natural(points)
            low, high = self._model.given(x, values, leading).interval(level)
            if high - low > 4.0 * tol:
                return False
            _, newest = self._model.search_kernels(x, values)
            low, high = self._model.given(x, values, newest).interval(level)
        return bool(high - low <= 2.6 * tol)

    @one_blas_thread
    def result(self, status: str | None = None) -> IntegrationResult:
        """Return the posterior given all values told so far.

        Parameters
        ----------
        status : str, optional
            What the result says of why it ended; by default what the run knows itself.

        Raises
        ------
        ValueError
            When no value is known.

        Warns
        -----
        RuntimeWarning
            When the amplitude by leave-one-out exceeds that by maximum likelihood more than ten times (no kernel that
            was tried fits the values), when the integrand looks like a likelihood, or when it grows so fast along a
            heavy tail of the measure that the integral does not exist.
        """
        with self._lock:
            answer, model = self._conclusion()
            model.warn(answer)
            gone = self._state.skipped
            skipped = f"{gone} points skipped because f failed there" if gone else ""
            why = status or self._state.ended or Reason.OPEN.sentence(n=self.n_evaluations)
            filled = "" if self._state.filled is None else _FILLED.format(n=self._state.filled)
            said = "; ".join(filter(None, [why, skipped, filled, answer.status]))
            return replace(answer, status=said, n_skipped=gone, reason=self.reason, model=model)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a JSON file, exact to the bit; a run loaded from it continues as this one would.

        Raises
        ------
        ValueError
            When kernel, measure or design cannot be written down (a design must be a class of fwbq).
        """
        with self._lock:
            model = self._model
            settings = {
                "measure": self._measure,
                "kernel": model.kernel,
                "design": self._design,
                "amplitude": model.amplitude,
                "prior_mean": model.prior_mean,
            }
            files.write(path, settings, self._state)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a run written by `save`.

        Raises
        ------
        ValueError
            When the file is not of a run, was damaged, or names something that fwbq does not know.

        Examples
        --------
        >>> import tempfile, pathlib, numpy as np, fwbq
        >>> run = fwbq.Integration(fwbq.Uniform([0.0], [1.0]), rng=0)
        >>> x = run.ask(6)
        >>> run.tell(x[3:], x[3:, 0] ** 2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run.save(pathlib.Path(folder) / "run.json")
        ...     again = fwbq.Integration.load(pathlib.Path(folder) / "run.json")
        >>> again.tell(x[:3], x[:3, 0] ** 2); run.tell(x[:3], x[:3, 0] ** 2)
        >>> again.result().mean == run.result().mean
        True
        """
        settings, state = files.read(path)
        run = cls(**settings)
        run._state = state
        return run

    def _conclusion(self) -> tuple[IntegrationResult, KernelModel]:
        """Return the posterior given all values, computed once for each set of them, and what it was found with."""
        if self._answer is None:
            points, values = self._state.data()
            model = self._concluding(points, values)
            self._answer = model.conclude(points, values), model
        return self._answer

    def _scores_predict_better(self, points: FloatArray, values: FloatArray) -> bool:
        """Return whether values that are left out are predicted better in the normal scores of skew inputs.

        This decides in which coordinates further points are chosen: in the scores where there is nothing to choose by,
        because points that are spread evenly there are not farther out than those of a sample.
        """
        if len(self._models) == 1:
            return False
        if len(points) < 3 or not varied(values).any():
            return True
        own, scores = (self._models[each].left_out(points, values) for each in (False, True))
        return scores >= own

    def _concluding(self, points: FloatArray, values: FloatArray) -> KernelModel:
        """Return the model in which leaving out values moves the integral less.

        Values far out in a tail, which are many where points were chosen in quantile coordinates, have little weight
        in the integral, and much in the density of what is left out. For six functions of lognorm(s) and a uniform
        input, s = 0.5 and 1, at n = 50 the rms error was 1e-7 to 9e-3, in the coordinates of heavy tails alone 7e-6 to
        3e-3: 0.0001 to 0.5 times that for ten of the twelve. By the density alone it was 80 times that for two.
        """
        if len(self._models) == 1:
            return self._models[False]
        own, scores = self._models[False], self._models[True]
        if len(points) < 3 or not varied(values).any():
            return scores
        return scores if scores.left_out_shift(points, values) <= own.left_out_shift(points, values) else own

    def _from_design(self, batch: int) -> FloatArray:
        """Points of a given design under a given kernel: exactly its own sequence."""
        design, n = self._own_design(), len(self._state.asked)
        if n and isinstance(design, PointSet):
            raise chosen_together("ask for all the points in one call")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a design has ended is said in the status
            points = design.take(n + batch)
        why = None if len(points) == n + batch else Reason.DESIGN
        self._state = self._state.ending(why, len(points), design.status)
        return np.asarray(points[n:] + 0.0)

    def _own_design(self) -> Design | PointSet:
        """Return the given design under the given kernel, made once."""
        if self._sequence is None:
            assert self._design is not None and self._model.fixed is not None
            self._sequence = made_design(self._design, self._model.fixed, np.random.default_rng(self._state.seed(1)))
        return self._sequence

    def _from_model(self, batch: int, more: bool) -> FloatArray:
        """Evenly spread points until there are values enough to fit, then those that the fitted kernel needs most."""
        if self.n_evaluations < self.n_first:
            before = self._state.spread
            points = spread(self._model.first_embedding(), before + batch, self._state.seed(0))[before:]
            after = before + len(points)
            why = None if len(points) == batch else Reason.EXHAUSTED
            self._state = replace(self._state, spread=after).ending(why, after)
        else:
            self._state = replace(self._state, asks=self._state.asks + 1)
            embedding = self._search_embedding()
            frame = self._model.frame
            there = frame.to_natural(self._state.everywhere(self._measure.dim))
            wanted = there[:0]
            if self._design is None and self._model.fixed is None:
                x, values = self._state.data()
                wanted = self._model.bisections(frame.to_natural(x), values, batch // 4, embedding.kernel)
            seed = self._state.seed(2, self._state.asks)
            points, reason, ending = next_points(
                embedding, there, batch, seed, self._design, self._model.prior_mean, wanted, together=not more
            )
            missing = self._missing(len(there) + batch, batch - len(points)) if reason is Reason.RANK else 0
            if missing:
                known = np.concatenate([there, points])
                self._state = replace(self._state, filled=self._state.filled or len(known))
                more_points = filling(self._model.rough_embedding(), known, missing, seed, self._model.prior_mean)
                points = np.concatenate([points, more_points])
                reason = None if len(points) == batch else reason
            self._state = self._state.ending(reason, len(there) + len(points), ending)
        return np.asarray(self._model.frame.to_original(points) + 0.0)

    def _missing(self, total: int, lacking: int) -> int:
        """Return how many of the points that the kernel cannot tell apart from others are chosen under a rougher one.

        All of those lacking if the interval is still wide; else as many as lead to `FEWEST_BEFORE_RANK` points. None
        under a kernel that is given.
        """
        if self._model.fixed is not None:
            return 0
        return lacking if self._wide() else max(0, min(lacking, FEWEST_BEFORE_RANK - total + lacking))

    def _wide(self) -> bool:
        """Whether half the width of an interval exceeds `WIDE` standard deviations of the values."""
        low, high = self._conclusion()[0].interval(LEVEL_OF_TOL)
        values = self._state.data()[1]
        top = np.max(np.abs(values), axis=0)  # divided out, because squares of 1e200 and 1e-200 are no numbers
        deviation = top * np.std(values / np.where(top > 0.0, top, 1.0), axis=0)
        return bool(np.any(np.asarray(high) - np.asarray(low) > 2.0 * WIDE * deviation))

    def _search_embedding(self) -> Embedding:
        if self._model.fixed is not None:
            return self._model.fixed
        n, search = self.n_evaluations, self._state.search
        if search is None or n >= REFIT_GROWTH * search[0]:
            x, values = self._state.data()
            self._state = replace(self._state, scores=self._scores_predict_better(x, values))
            sought, leading = self._model.search_kernels(self._model.frame.to_natural(x), values)
            search = n, sought
            self._state = replace(self._state, search=search, leading=leading)
        return self._model.embedding(search[1])
