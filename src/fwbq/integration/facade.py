"""integrate: the one call most users need."""

from __future__ import annotations

import math
import os
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
from ..evaluation import Evaluation, Evaluator, Journal, checked_executor, entry, evaluating
from ..kernels import Kernel, Stationary
from ..measures import Empirical, Measure, as_measure
from ..posterior import AnyAmplitude
from ..rules import PriorMean
from .exceedance import Target, checked_target, integrate_exceedance
from .net import FIRST_LOOK, Method, integrate_on_net, may_take_net, reason_for_net
from .net import MOST_FOR_TOL as MOST_ON_NET
from .result import IntegrationResult
from .run import Integration
from .sequence import chosen_together, next_total

FloatArray = NDArray[np.float64]

#: Evaluations when neither `n` nor `tol` is given, and the most that a `tol` alone may use.
DEFAULT_N = 100
MOST_FOR_TOL = 500
#: No tolerance is accepted before this many values. Without this bound sqrt(x) on [0, 1] was "known" to 1e-3 after 12
#: values (median), and half of the intervals held the truth; a narrow peak was "known" to 1e-12 after 8, none of which
#: had met it.
FEWEST_FOR_TOL = 20
#: Values that are all equal are believed after this many: the interval has no width, whatever f does elsewhere. A part
#: of the space with probability 1/20 in which f differs is met by them with probability 0.96, by 20 with 0.64.
FEWEST_FOR_CONSTANT = 64
#: The most values that a kernel is fitted to. In three dimensions 1,500 took 7 s of CPU and 0.45 GB, 3,000 took 50 s
#: and 1.4 GB, 5,000 took 130 s and 2.5 GB; 2,500 stay within a minute and about a gigabyte.
MOST_FITTED = 2500


@entry
@one_blas_thread
def integrate(
    f: Callable[[FloatArray], Any],
    measure: Measure,
    *,
    n: int | None = None,
    tol: float | None = None,
    target: Target = "mean",
    above: float | None = None,
    below: float | None = None,
    method: Method = "auto",
    kernel: Kernel | type[Stationary] | str | None = None,
    design: Callable[..., Design | PointSet] | None = None,
    amplitude: AnyAmplitude = "calibrated",
    prior_mean: PriorMean | None = None,
    executor: Executor | int | None = None,
    journal: str | os.PathLike[str] | Journal | None = None,
    tag: str | None = None,
    version: str = "",
    vectorized: bool | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    timeout: float | None = None,
    recheck: bool | None = None,
    rng: Any = None,
    progress: bool | None = None,
) -> IntegrationResult:
    """Integrate f under a probability measure and say how far off the answer may be.

    f is evaluated at evenly spread points, and length-scales and smoothness are found from the values. Then come
    batches of points that lower the error most under this kernel, and a few close to the edges of the support; the
    kernel is found again each time there are four times as many values. The run stops at `n` evaluations, at `tol`, or
    when in double precision the kernel cannot tell further points apart and the interval is narrow. The answer is
    averaged over the kernels that the values leave plausible. Skew inputs (lognormal, exponential) are used as they are
    or as normal scores, whichever predicts left-out values better. If f is a polynomial with few terms, of independent
    inputs, it is integrated exactly. The status says both.

    Parameters
    ----------
    f : callable
        The integrand: (n, d) -> (n,) or (n, m), or a point (d,) -> number or (m,). m columns are m integrals.
    measure : Measure, frozen scipy.stats distribution, or a list of them
        The probability measure; a distribution is a measure of one coordinate, a list a product of independent ones and
        blocks: see `fwbq.Product`.
    n : int, optional
        Number of evaluations: 100 by default, at most 500 when `tol` is given. With a kernel *and* a design given it is
        the number of iterates, of which repeated ones are evaluated once.
    tol : float, optional
        Stop when half the width of the 95 % interval (of every integral) is at most this. Looked at after every batch;
        accepted after 20 evaluations at the earliest, and only if the values of the last batch, predicted before they
        were known, were as far off as the kernel said.
    target : {"mean", "probability"}
        What the points are chosen for, and what the `mean` of the result is: the integral of f, or the probability that
        f passes the threshold `above` or `below`. For a probability, which may be as small as 1e-6, a third of the
        evaluations says where f is high, and the rest goes where it is undecided whether f passes the threshold; at
        most 300 when `tol` is given.
    above, below : float, optional
        The threshold, for ``target="probability"``: exactly one of the two.
    method : {"auto", "process", "net"}
        "process" adapts points and weights to f, for up to some hundreds of evaluations, and at most 2500. "net"
        evaluates f at 2^m scrambled Sobol points with equal weights, for hundreds to millions; `n` is rounded down to a
        power of two, by default 4096 and with `tol` at most 65,536. "auto" takes the net when `n` is above 2000, or
        when it is at least 1024 in more than ten dimensions, and no option of the process is given. It also takes it
        when `tol` is given without `n`, a process of at most 500 evaluations did not reach it, 65,536 on a net should
        by the spread of the values, and nothing says that f is expensive: it takes many points at once, and neither
        `executor` nor `journal` nor `timeout` is given. The status says so.
    kernel, design, amplitude, prior_mean
        As for `Integration`. ``kernel=fwbq.ExpQuad(0.8), amplitude=1.0, design=fwbq.FrankWolfe`` is the paper's method.
        A design that chooses its n points together (`fwbq.OBQ`) goes with `n`, not with `tol`.
    executor : concurrent.futures.Executor or int, optional
        Where f is evaluated: threads, processes, or Dask's ``client.get_executor()``. A number opens that many
        processes for this call, or threads if f cannot be sent to processes, as a lambda cannot. The answer is the same
        to the bit, whatever the number of workers.
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
    recheck : bool, optional
        Whether the first point is evaluated once more at the end, and a warning says when f has changed meanwhile: it
        then drifts, is random, or depends on its calls before. By default when at least 100 points were evaluated. The
        second value is not used and not counted.
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
        When points were skipped, when f is not a function of the point alone (`recheck`), when `tol` was not reached,
        when no kernel fits the values, when the integrand looks like a likelihood, for which `fwbq.evidence` is made,
        or when it grows so fast along a heavy tail of the measure that the integral does not exist.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> result = fwbq.integrate(lambda x: np.sin(x[:, 0] + x[:, 1]), fwbq.Gaussian([1.0, 0.5], np.eye(2)), n=49, rng=0)
    >>> print(f"{result.mean:.4f}, exact {np.sin(1.5) * np.exp(-1.0):.4f}")
    0.3670, exact 0.3670
    >>> low, high = result.interval(0.95)
    >>> print(f"95 % in [{low:.4f}, {high:.4f}]")
    95 % in [0.3669, 0.3670]
    """
    how = Evaluation(
        executor=checked_executor(executor), journal=journal, tag=tag, version=version, vectorized=vectorized,
        on_error=on_error, timeout=timeout, progress=progress, recheck=recheck,
    )  # fmt: skip
    measure = as_measure(measure)
    tol = None if tol is None else _validate.positive(tol, "tol")
    n = None if n is None else _validate.count(n, "n")
    rng = how.seed(rng)
    options = {
        "kernel": kernel,
        "design": design,
        "prior_mean": prior_mean,
        "amplitude": None if amplitude == "calibrated" else amplitude,
    }
    event = checked_target(target, above, below, method, design)
    if event is not None:
        return integrate_exceedance(
            f, measure, event, how, n=n, tol=tol, kernel=kernel, amplitude=amplitude, prior_mean=prior_mean, rng=rng
        )
    on_net = partial(integrate_on_net, f, measure, how, n=n, tol=tol, rng=rng)
    why = reason_for_net(method, measure, n, options)
    if why is not None:
        return on_net(why=why)
    if tol is None and not isinstance(kernel, Kernel):
        _refuse_many(n, measure)
    run = Integration(measure, kernel=kernel, design=design, amplitude=amplitude, prior_mean=prior_mean, rng=rng)
    course = _Course(run, n, tol, predicts=isinstance(amplitude, str))
    with evaluating(f, measure.dim, how, course.limit, "integrate", measure=measure) as evaluate:
        course.follow(evaluate)
        vectorized = evaluate.vectorized
    missed = tol is not None and course.reason in (Reason.NOT_REACHED, Reason.RANK)
    if n is None and missed and may_take_net(method, measure, options):
        why = _going_on(course, measure.uniform_dim, how, vectorized)
        narrower = None if why is None else _narrower(partial(on_net, why=why), run.half_width(LEVEL_OF_TOL))
        if narrower is not None:
            return narrower
    return course.result()


def _refuse_many(n: int | None, measure: Measure) -> None:
    """Refuse more evaluations than a kernel can be fitted to."""
    most = len(measure.points) if isinstance(measure, Empirical) else n
    if n is not None and most is not None and min(n, most) > MOST_FITTED:
        remedy = "fewer evaluations" if isinstance(measure, Empirical) else '`method="net"`, which takes millions'
        raise ValueError(
            f"`n` must be at most {MOST_FITTED} where a kernel is fitted to the values, got {n}: time grows as the "
            f"cube of it and memory as the square, minutes and gigabytes from there on. Use {remedy}, or give a "
            "`kernel` with its length-scales"
        )


class _Course:
    """One integral by a process: ask for points, evaluate, tell, until `n`, `tol` or the end of the design.

    Parameters
    ----------
    run : Integration
        The dialogue.
    n, tol
        As for `integrate`.
    predicts : bool
        Whether values are predicted before they are known: not under an amplitude that is given as a number.

    Attributes
    ----------
    limit : int
        The most evaluations.
    reason : Reason
        Why it ended.
    """

    def __init__(self, run: Integration, n: int | None, tol: float | None, predicts: bool) -> None:
        if run.all_at_once and tol is not None:
            raise chosen_together("pass `n` instead of `tol`")
        self.run = run
        self.tol = tol
        self.limit = (MOST_FOR_TOL if tol else DEFAULT_N) if n is None else n
        self.asked = 0
        self.reason: Reason | None = None
        self._predicts = predicts and tol is not None
        self._surprised = False
        self._values: list[FloatArray] = []
        self._changed: str | None = None  # what is wrong with f, in words

    def follow(self, evaluate: Evaluator) -> None:
        """Go on to the end."""
        while self.reason is None:
            self._step(evaluate)
            with evaluate.meanwhile("judging the error by", self.run.n_evaluations):
                self.reason = self._ending()
        _validate.some_values(self.run.n_evaluations)
        self._changed = evaluate.recheck()
        with evaluate.meanwhile("fitting kernels to", self.run.n_evaluations):
            self.run.conclude()

    def _step(self, evaluate: Evaluator) -> None:
        """Evaluate one batch of points, and note whether the values are as far from their predictions as expected."""
        run, tol = self.run, self.tol
        size = _batch(self.asked, self.limit, run.n_first, tol is not None, run.all_at_once)
        least = self.limit if tol is None else min(self.limit, FEWEST_FOR_TOL)
        with evaluate.meanwhile("choosing points by", run.n_evaluations):
            points = run.ask(size, more=self.asked + size < least)
        self.asked += len(points)
        claim = run.forecast(points) if self._predicts else None
        done = evaluate(points)
        if claim is not None and len(points):
            self._surprised = not claim.only(done.kept).agrees(done.values[done.kept])
        self._values.append(done.values[done.kept])
        run.tell(points[done.kept], done.values[done.kept])
        run.skip(points[~done.kept])

    @property
    def spread(self) -> float:
        """Standard deviation of the values, of the column that has the largest."""
        values = np.concatenate([each for each in self._values if len(each)])
        top = float(np.max(np.abs(values)))  # divided out, because squares of 1e200 and 1e-200 are no numbers
        return top * float(np.max(np.std(values / top, axis=0))) if top else 0.0

    def _ending(self) -> Reason | None:
        """Return why it ends here; None when it goes on."""
        run, tol = self.run, self.tol
        exhausted = run.reason is Reason.EXHAUSTED
        self._surprised = self._surprised and not exhausted  # nothing is left that could be predicted
        if tol is not None and not self._surprised and _reached(run, tol, exhausted):
            return Reason.TOLERANCE
        if run.ended:
            return run.reason
        if self.asked < self.limit:
            return None
        return Reason.BUDGET if tol is None else Reason.NOT_REACHED

    def result(self) -> IntegrationResult:
        """Return the integral and why it ended, with warnings when it is not what was asked for."""
        run, reason, tol = self.run, self.reason, self.tol
        assert reason is not None
        status = run.ended if reason is run.reason else reason.sentence(n=self.asked, tol=tol)
        if self._surprised and tol is not None and run.half_width(LEVEL_OF_TOL) <= tol:
            status = _UNCERTAIN.format(n=self.asked, tol=tol)
        elif self._surprised and reason is not Reason.BUDGET:
            status = f"{status}; {_SURPRISED}"
        if self._changed is not None:
            status = f"{status}; {self._changed}"
            _warnings.warn(self._changed)
        success = reason.success if tol is None else reason is Reason.TOLERANCE
        result = replace(run.result(status), reason=reason, success=success)
        if not success:
            cause = "" if reason is Reason.NOT_REACHED else f"tolerance {tol:g} not reached: "
            _warnings.warn(f"{cause}{status}")
        if result.n_skipped:
            _warnings.warn(f"f failed at {result.n_skipped} of {self.asked} points, which were skipped")
        return result


def _going_on(course: _Course, dim: int, how: Evaluation, vectorized: bool | None) -> str | None:
    """Return why a run that did not reach its tolerance goes on with a net, in words; None when it stays as it is.

    It does when a net of at most 65,536 points should reach the tolerance and nothing says that f is expensive. The
    mean over a net of N points of a function with jumps in d dimensions has a standard deviation of about
    s N^(-(d + 1) / (2 d)), s that of the values (He & Wang, "On the convergence rate of randomized quasi-Monte Carlo
    for discontinuous functions", SIAM J. Numer. Anal. 53, 2015); for smoother functions it is smaller. With five
    functions (jumps, kinks, peaks, waves) in 1 to 8 dimensions and tolerances from 0.1 to 0.001 standard deviations the
    net reached the tolerance in 101 of the 105 cases that this rule takes, and in 7 of the 20 that it does not.
    """
    expensive = not vectorized or any(option is not None for option in (how.executor, how.journal, how.timeout))
    assert course.tol is not None
    with np.errstate(over="ignore"):
        needed = (1.96 * course.spread / np.float64(course.tol)) ** (2.0 * dim / (dim + 1.0))
    if expensive or not needed <= MOST_ON_NET:
        return None
    size = 1 << math.ceil(math.log2(max(needed, FIRST_LOOK)))
    return (
        f"chosen because {course.asked} evaluations of a process did not reach the tolerance, a net of {size:,} points "
        "should, and f takes many points at once"
    )


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

#: For an interval that is narrow enough, at the end of the evaluations.
_UNCERTAIN = (
    "tolerance {tol:g} not certain within {n} evaluations: the interval is narrow enough, but the values of the last "
    "batch were farther from their predictions than the kernel allows. Raise `n`, or accept the interval that was "
    "reached"
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
