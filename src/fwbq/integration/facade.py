"""integrate: the one call most users need."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import _validate, _warnings
from .._reason import LEVEL_OF_TOL, Reason
from .._threads import one_blas_thread
from ..designs import Design, PointSet
from ..evaluation import Evaluator, Journal, Progress
from ..kernels import Kernel, Stationary
from ..measures import Measure, as_measure
from ..posterior import AnyAmplitude
from ..rules import PriorMean
from .net import Method, integrate_on_net, may_take_net, reason_for_net
from .result import IntegrationResult
from .run import Integration
from .sequence import chosen_together, next_total

FloatArray = NDArray[np.float64]

#: Evaluations when neither `n` nor `tol` is given, and the most that a `tol` alone may use.
DEFAULT_N = 100
MOST_FOR_TOL = 500
#: No tolerance is accepted before so many values. Without this bound sqrt(x) on [0, 1] was "known" to 1e-3 after 12
#: values (median), and half of the intervals held the truth; a narrow peak was "known" to 1e-12 after 8, none of which
#: had met it.
FEWEST_FOR_TOL = 20
#: Values that are all equal are believed after so many: the interval has no width, whatever f does elsewhere. A region
#: of probability 1/20 in which f differs is then met with probability 0.96, by 20 values with 0.64.
FEWEST_FOR_CONSTANT = 64
#: Seconds of an evaluation below which f is cheap: the 65,536 of a net then take at most about as long as fitting a
#: process to 500 values.
CHEAP = 1e-4


@one_blas_thread
def integrate(
    f: Callable[[FloatArray], Any],
    measure: Measure,
    *,
    n: int | None = None,
    tol: float | None = None,
    method: Method = "auto",
    kernel: Kernel | type[Stationary] | None = None,
    design: Callable[..., Design | PointSet] | None = None,
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
    lower the error most under the kernel found, with a few close to the edges of the support, finds the kernel again
    each time there are four times as many values, and stops at `n` evaluations, at `tol`, or when in double precision
    the kernel cannot tell further points apart. The answer is averaged over kernels that the values leave plausible.

    Parameters
    ----------
    f : callable
        The integrand: (n, d) -> (n,) or (n, m), or a point (d,) -> number or (m,). m columns are m integrals.
    measure : Measure, or frozen scipy.stats distribution
        The probability measure; a distribution is a measure of one coordinate.
    n : int, optional
        Number of evaluations: 100 by default, at most 500 when `tol` is given. With a kernel *and* a design given it is
        the number of iterates, of which repeated ones are evaluated once.
    tol : float, optional
        Stop when half the width of the 95 % interval (of every integral) is at most this. Looked at after every batch;
        accepted after 20 evaluations at the earliest, and only if the values of the last batch, predicted before they
        were known, were as far off as the kernel said.
    method : {"auto", "process", "net"}
        "process" adapts points and weights to f, for up to some hundreds of evaluations. "net" evaluates f at 2^m
        scrambled Sobol points with equal weights, for hundreds to millions; `n` is rounded down to a power of two, by
        default 4096 and with `tol` at most 65,536. "auto" takes the net when `n` is above 2000, or when it is at least
        256 in more than ten dimensions, and no option of the process is given; also when `tol` is given without `n`,
        500 evaluations were not enough, and f is cheap (0.1 ms, and neither `executor` nor `journal` nor `timeout`
        say otherwise). The status says so.
    kernel, design, amplitude, prior_mean
        As for `Integration`. ``kernel=fwbq.ExpQuad(0.8), amplitude=1.0, design=fwbq.FrankWolfe`` is the paper's method.
        A design that chooses its n points together (`fwbq.OBQ`) goes with `n`, not with `tol`.
    executor : concurrent.futures.Executor, optional
        Where f is evaluated: threads, processes, or Dask's ``client.get_executor()``. The answer is the same to the
        bit, whatever the number of workers.
    journal : path or Journal, optional
        Keep every finished evaluation on disk before it is used; the same call then starts where it was cut off.
    tag, version : str, optional
        Identity of f in the journal. By default f is identified by its code and everything the code refers to; `tag`, a
        name of your own, takes the place of that, for an f whose code cannot be read, or that changes what it refers to
        (a cache, a counter). Raise `version` when files or programs that f uses change.
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
        With `mean`, `sd`, `interval(level)`, `n_evaluations`, `success`, `reason`, `status`, `kernel`, `rule` and
        `posterior`; `summary()` and `to_frame()` for reading.

    Raises
    ------
    EvaluationError
        When f fails at a point and `on_error` is "raise"; with a journal all other evaluations are kept.
    ValueError
        When every point was skipped.

    Warns
    -----
    RuntimeWarning
        When points were skipped, when `tol` was not reached, when no kernel fits the values, when the integrand looks
        like a likelihood, for which `fwbq.evidence` is made, or when it grows so fast along a heavy tail of the measure
        that the integral does not exist.

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
    measure = as_measure(measure)
    if tol is not None:
        tol = _validate.positive(tol, "tol")
    if rng is None and journal is not None:
        rng = 0
    if n is not None:
        n = _validate.count(n, "n")
    options = {
        "kernel": kernel,
        "design": design,
        "prior_mean": prior_mean,
        "amplitude": None if amplitude == "calibrated" else amplitude,
    }
    on_net = partial(
        integrate_on_net, f, measure, n=n, tol=tol, executor=executor, journal=journal, tag=tag, version=version,
        vectorized=vectorized, on_error=on_error, timeout=timeout, rng=rng, progress=progress,
    )  # fmt: skip
    why = reason_for_net(method, measure, n, options)
    if why is not None:
        return on_net(why=why)
    limit = (MOST_FOR_TOL if tol else DEFAULT_N) if n is None else n
    run = Integration(
        measure,
        kernel=kernel,
        design=design,
        amplitude=amplitude,
        prior_mean=prior_mean,
        rng=rng,
    )
    at_once = run.all_at_once
    if at_once and tol is not None:
        raise chosen_together("pass `n` instead of `tol`")
    reason = None
    asked = 0
    surprised = False
    seconds = math.inf  # of an evaluation
    with (
        Progress(limit, "integrate", enabled=progress) as bar,
        Evaluator(
            f, measure.dim, vectorized=vectorized, executor=executor, journal=journal, measure=measure, tag=tag,
            version=version, on_error=on_error, timeout=timeout, progress=bar,
        ) as evaluate,
    ):  # fmt: skip
        while reason is None:
            batch = _batch(asked, limit, run.n_first, tol is not None, at_once)
            points = run.ask(batch, more=asked + batch < (limit if tol is None else min(limit, FEWEST_FOR_TOL)))
            asked += len(points)
            claim = run.forecast(points) if tol is not None and isinstance(amplitude, str) else None
            start = time.perf_counter()
            done = evaluate(points)
            seconds = min(seconds, (time.perf_counter() - start) / max(len(points), 1))
            if claim is not None and len(points):
                surprised = not claim.only(done.kept).agrees(done.values[done.kept])
            run.tell(points[done.kept], done.values[done.kept])
            run.skip(points[~done.kept])
            exhausted = run.reason is Reason.EXHAUSTED
            surprised = surprised and not exhausted  # nothing is left that could be predicted
            if tol is not None and not surprised and _reached(run, tol, exhausted):
                reason = Reason.TOLERANCE
            elif run.ended:
                reason = run.reason
            elif asked >= limit:
                reason = Reason.BUDGET if tol is None else Reason.NOT_REACHED
        _validate.some_values(run.n_evaluations)
    status = run.ended if reason is run.reason else reason.sentence(n=asked, tol=tol)
    if surprised and reason is not Reason.BUDGET:
        status = f"{status}; {_SURPRISED}"
    success = reason.success if tol is None else reason is Reason.TOLERANCE
    dear = seconds > CHEAP or executor is not None or journal is not None or timeout is not None
    if reason is Reason.NOT_REACHED and n is None and not dear and may_take_net(method, measure, options):
        why = f"chosen because f is cheap and {asked} evaluations of a process did not reach the tolerance"
        narrower = _narrower(partial(on_net, why=why), run.half_width(LEVEL_OF_TOL))
        if narrower is not None:
            return narrower
    result = replace(run.result(status), reason=reason, success=success)
    if not success:
        cause = "" if reason is Reason.NOT_REACHED else f"tolerance {tol:g} not reached: "
        _warnings.warn(f"{cause}{status}")
    if result.n_skipped:
        message = f"f failed at {result.n_skipped} of {asked} points, which were skipped"
        _warnings.warn(message)
    return result


def _narrower(on_net: Callable[[], IntegrationResult], half_width: float) -> IntegrationResult | None:
    """Return the integral on a net, with its warnings, if its interval is narrower than one that there is already."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = on_net()
    low, high = found.interval(LEVEL_OF_TOL)
    if not found.success and np.max(np.asarray(high) - np.asarray(low)) >= 2.0 * half_width:
        return None
    for warning in said:
        _warnings.warn(str(warning.message), warning.category)
    return found


_SURPRISED = (
    "the values of the last batch were farther from their predictions than the kernel allows, so the interval may be "
    "too narrow"
)


def _reached(run: Integration, tol: float, exhausted: bool) -> bool:
    fewest = (FEWEST_FOR_TOL if run.varies else FEWEST_FOR_CONSTANT) if run.n_first else 1
    enough = exhausted or run.n_evaluations >= fewest
    return enough and run.near(tol, LEVEL_OF_TOL) and run.half_width(LEVEL_OF_TOL) <= tol


def _batch(asked: int, limit: int, first: int, patient: bool, at_once: bool) -> int:
    """Return the size of the next batch.

    With a kernel that is given and no tolerance, all points come in one batch. Otherwise a batch ends where the kernel
    is fitted anew, at four times the points; under a tolerance (`patient`), which is looked at after every batch, it is
    half or two thirds of those before. A design that chooses all its points together (`at_once`) gets the rest in one
    batch after the first fit.
    """
    if (first == 0 and not patient) or (at_once and asked > 0):
        return limit - asked
    return min(limit, next_total(asked, first, (1.5, 2.5) if patient else ())) - asked
