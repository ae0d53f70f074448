"""integrate: the one call most users need."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import _validate, _warnings
from .._threads import one_blas_thread
from ..designs import Design
from ..evaluation import Evaluator, Journal, Progress
from ..kernels import Kernel, Stationary
from ..measures import Measure
from ..rules import PriorMean
from .model import AnyAmplitude
from .result import IntegrationResult
from .run import Integration

FloatArray = NDArray[np.float64]

#: Evaluations when neither `n` nor `tol` is given, and the most that a `tol` alone may use.
DEFAULT_N = 100
MOST_FOR_TOL = 500
#: `tol` is half the width of the interval of this level.
LEVEL_OF_TOL = 0.95


@one_blas_thread
def integrate(
    f: Callable[[FloatArray], Any],
    measure: Measure,
    *,
    n: int | None = None,
    tol: float | None = None,
    kernel: Kernel | type[Stationary] | None = None,
    design: Callable[..., Design] | None = None,
    amplitude: AnyAmplitude = "calibrated",
    prior_mean: PriorMean | None = None,
    executor: Executor | None = None,
    journal: str | os.PathLike[str] | Journal | None = None,
    tag: str | None = None,
    version: str = "",
    vectorized: bool | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    timeout: float | None = None,
    rng: Any = None,
    progress: bool | None = None,
) -> IntegrationResult:
    """Integrate f under a probability measure and say how far off the answer may be.

    Evaluates f at evenly spread points, finds length-scales and smoothness from the values, adds batches of points that
    lower the error most under the kernel found, finds the kernel again each time the number of values has doubled, and
    stops at `n` evaluations, at `tol`, or when float64 tells no more points apart. The answer is averaged over the
    kernels that the values leave open.

    Parameters
    ----------
    f : callable
        The integrand: (n, d) -> (n,) or (n, m), or a point (d,) -> number or (m,). m columns are m integrals.
    measure : Measure
        The probability measure.
    n : int, optional
        Number of evaluations: 100 by default, at most 500 when `tol` is given. With a kernel *and* a design given it is
        the number of iterates, of which repeated ones are evaluated once.
    tol : float, optional
        Stop when half the width of the 95 % interval (of every integral) is at most this. Looked at after every batch.
    kernel, design, amplitude, prior_mean
        As for `Integration`. ``kernel=fwbq.ExpQuad(0.8), amplitude=1.0, design=fwbq.FrankWolfe`` is the paper's method.
    executor : concurrent.futures.Executor, optional
        Where f is evaluated: threads, processes, or Dask's ``client.get_executor()``. The answer is the same to the
        bit, whatever the number of workers.
    journal : path or Journal, optional
        Keep every finished evaluation on disk before it is used; the same call then starts where it was cut off.
    tag, version : str, optional
        Identity of f in the journal, if its module and name do not say it.
    vectorized : bool, optional
        Whether f takes all points at once; found out from the first batch by default.
    on_error : {"raise", "skip"}
        What to do where f raises or returns something that is not finite.
    timeout : float, optional
        Seconds that one evaluation may take.
    rng : None, int or numpy.random.Generator
        Seed of the points. With a journal the default is 0, because a restart must ask for the same points.
    progress : bool, optional
        A bar on standard error; by default on a terminal only.

    Returns
    -------
    IntegrationResult
        With `mean`, `sd`, `interval(level)`, `n_evaluations`, `status`, `kernel`, `rule` and `posterior`.

    Raises
    ------
    EvaluationError
        When f fails at a point and `on_error` is "raise"; with a journal all other evaluations are kept.
    ValueError
        When every point was skipped.

    Warns
    -----
    RuntimeWarning
        When points were skipped, when `tol` was not reached, or when no kernel fits the values.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> result = fwbq.integrate(lambda x: np.sin(x[:, 0] + x[:, 1]), fwbq.Gaussian([1.0, 0.5], np.eye(2)), n=49, rng=0)
    >>> bool(abs(result.mean - np.sin(1.5) * np.exp(-1.0)) < 1e-4)
    True
    >>> low, high = result.interval(0.95)
    >>> bool(low <= np.sin(1.5) * np.exp(-1.0) <= high)
    True
    """
    if tol is not None:
        tol = _validate.positive(tol, "tol")
    limit = _validate.count((MOST_FOR_TOL if tol else DEFAULT_N) if n is None else n, "n")
    run = Integration(
        measure,
        kernel=kernel,
        design=design,
        amplitude=amplitude,
        prior_mean=prior_mean,
        rng=0 if rng is None and journal is not None else rng,
    )
    status = None
    asked = 0
    with (
        Progress(limit, "integrate", enabled=progress) as bar,
        Evaluator(
            f, measure.dim, vectorized=vectorized, executor=executor, journal=journal, measure=measure, tag=tag,
            version=version, on_error=on_error, timeout=timeout, progress=bar,
        ) as evaluate,
    ):  # fmt: skip
        while status is None:
            points = run.ask(_batch(asked, limit, run.n_first, tol is not None))
            asked += len(points)
            done = evaluate(points)
            run.tell(points[done.kept], done.values[done.kept])
            run.skip(points[~done.kept])
            if run.ended:
                status = run.ended
            elif tol is not None and run.n_evaluations >= run.n_first and run.half_width(LEVEL_OF_TOL) <= tol:
                status = f"tolerance {tol:g} reached"
            elif asked >= limit:
                status = f"{limit} evaluations made" if tol is None else f"tolerance {tol:g} not reached"
        _validate.some_values(run.n_evaluations)
    result = run.result(status)
    if result.n_skipped:
        message = f"f failed at {result.n_skipped} of {asked} points, which were skipped"
        _warnings.warn(message)
    if tol is not None and run.half_width(LEVEL_OF_TOL) > tol:
        remedy = "raise `n`, or accept the interval that was reached" if asked >= limit else f"it ended at {status}"
        message = f"the tolerance {tol:g} was not reached with {asked} evaluations: {remedy}"
        _warnings.warn(message)
    return result


def _batch(asked: int, limit: int, first: int, patient: bool) -> int:
    """Return the size of the next batch: everything when nothing is learnt on the way, else as many as there are.

    Someone who waits for a tolerance is served better by batches of half that size.
    """
    if first == 0 and not patient:
        return limit - asked
    if asked == 0:
        return min(limit, max(first, 8))
    return min(limit - asked, math.ceil((0.5 if patient else 1.0) * asked))
