"""evidence: the log evidence of one model in one call."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _validate, _warnings
from .._reason import LEVEL_OF_TOL, Reason
from .._threads import one_blas_thread
from ..evaluation import Evaluation, Journal, checked_executor, entry, evaluating
from ..kernels import Kernel, Stationary
from ..measures import Empirical, Measure, as_prior
from ..posterior import AnyAmplitude
from .result import Evidence
from .run import DEFAULT_N, EvidenceRun
from .start import starting_point

Array = NDArray[np.float64]

#: Evaluations before which a tolerance is not accepted as reached, and the most that a `tol` alone may use.
LEAST_FOR_TOL = 20
MOST_FOR_TOL = 500
#: The most values that a process is fitted to: in three dimensions 1,000 took 3 s of CPU and 0.16 GB, 2,000 took 25 s
#: and 0.35 GB, 5,000 were not finished after four minutes and took more than 1.2 GB.
MOST_FITTED = 2500
#: A half-width within this factor of what rounding alone leaves is all rounding: further evaluations change nothing.
_ALL_ROUNDING = 1.1


def too_many(n: int) -> ValueError:
    """Return the error of more evaluations than a process is fitted to."""
    return ValueError(
        f"`n` must be at most {MOST_FITTED} without gradients, got {n}: the time of a process grows as the cube of it, "
        "minutes from there on. Use fewer evaluations, or return gradients (`gradient=True`), of which thousands can "
        "be used"
    )


@entry
@one_blas_thread
def evidence(
    log_likelihood: Callable[[Array], Any],
    prior: Measure | None = None,
    *,
    dim: int | None = None,
    start: ArrayLike | None = None,
    scale: ArrayLike | None = None,
    n: int | None = None,
    tol: float | None = None,
    kernel: Kernel | type[Stationary] | str | None = None,
    design: Callable[..., Any] | None = None,
    amplitude: AnyAmplitude = "calibrated",
    gradient: bool = False,
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
) -> Evidence:
    r"""Return the log evidence of a model, how far off it may be, and the posterior of its parameters.

    .. math:: \log Z = \log \int e^{\ell(x)}\, p(\mathrm{d}x)

    from few evaluations of the log likelihood :math:`\ell`, which may be hundreds of times narrower than the prior. A
    few points are spread over the prior; climbs find the modes; then sequential Bayesian quadrature under the
    posterior chooses the points that lower the error of :math:`\log Z` most. The stated error contains the process,
    its kernel, second-order terms, the sum over nodes, the region where the likelihood is zero, and what was not seen.

    Parameters
    ----------
    log_likelihood : callable
        Points (n, d) to values (n,), or a point (d,) to a number. Minus infinity is a likelihood of zero. Without a
        prior, the log joint density on R^d.
    prior : Measure, frozen scipy.stats distribution, or a list of them, optional
        The prior: any measure; a distribution is a prior of one parameter, a list one of independent parameters and
        blocks of them. Left out, `log_likelihood` is a log joint density, and `start` is needed.
    dim : int, optional
        Without a prior, the number of parameters, when `start` does not say it.
    start : array_like, shape (d,), optional
        A point of high density: needed without a prior (zeros when only `dim` is given), helpful with one.
    scale : float or array_like, optional
        Without a prior, a guess of the posterior's width in each parameter; 1 by default.
    n : int, optional
        Number of evaluations: 200 by default, at most 500 when `tol` is given.
    tol : float, optional
        Stop when half the width of the 95 % interval of the log evidence is at most this.
    kernel : Kernel, class of kernel or str, optional
        Of the process on the log joint density; by default `ExpQuad` and `Matern52`, weighed by their likelihood. Of a
        class, or its name such as ``"matern52"``, the length-scales are found; a kernel is used as it is, on the
        parameters.
    design : callable, optional
        ``design(embedding, rng=...)``, in place of sequential Bayesian quadrature.
    amplitude : {"calibrated", "marginal", "ml", "loo"} or float, optional
        The factor on the kernel's variance, as for `EvidenceRun`.
    gradient : bool
        Whether `log_likelihood` returns values and gradients: points (n, d) to the pair of arrays (n,) and (n, d), or a
        point (d,) to a number and an array (d,). The gradients are with respect to the parameters that it is given.
        The evidence then comes from draws under a surrogate of values and gradients, in up to thirty parameters;
        `kernel`, `design` and `amplitude` are for values alone and are refused. Where a gradient is NaN or infinite
        the value is used without it.
    executor : concurrent.futures.Executor or int, optional
        Where the log likelihood is evaluated: threads, processes, Dask, or a number of workers, as for
        :func:`fwbq.integrate`. The answer is the same for any.
    journal : path or Journal, optional
        Keep every finished evaluation on disk before it is used; the same call then starts where it was cut off.
    tag, version : str, optional
        Identity of the function in the journal.
    vectorized : bool, optional
        Whether the function takes all points at once; found out from the first batch by default.
    on_error : {"raise", "skip"}
        What to do where the function raises, or returns NaN or plus infinity.
    timeout : float, optional
        Seconds that one evaluation may take.
    recheck : bool, optional
        Whether the first point is evaluated once more at the end, as for :func:`fwbq.integrate`.
    rng : None, int or numpy.random.Generator
        Seed of the points. With a journal the default is 0, because a restart must ask for the same points.
    progress : bool, optional
        A bar on standard error; by default on a terminal only.

    Returns
    -------
    Evidence
        With `log_evidence`, `sd`, `interval(level)`, `n_evaluations`, `success`, `reason`, `status`, `modes` and
        `posterior` (draws, mean, covariance, expectations).

    Raises
    ------
    EvaluationError
        When the function fails at a point and `on_error` is "raise"; with a journal all other evaluations are kept.
    WrongGradient
        When the gradients contradict the values: another sign or factor, a forgotten Jacobian.

    Warns
    -----
    RuntimeWarning
        When the mass was not found, when the likelihood is zero everywhere, when the function is not one of the point
        alone (`recheck`), when `tol` was not reached, or when points were skipped.

    Examples
    --------
    A likelihood two hundred times narrower than its prior:

    >>> import numpy as np, fwbq
    >>> def log_likelihood(x):
    ...     return -0.5 * np.sum(((x - [0.4, -1.1]) / 0.005) ** 2, axis=1)
    >>> found = fwbq.evidence(log_likelihood, fwbq.Gaussian([0.0, 0.0], np.eye(2)), n=40, rng=0)
    >>> round(found.log_evidence, 3), found.success
    (-11.282, True)

    The same as a log joint density without a prior measure:

    >>> def log_joint(x):
    ...     return log_likelihood(x) - 0.5 * np.sum(x**2, axis=1) - np.log(2 * np.pi)
    >>> round(fwbq.evidence(log_joint, dim=2, n=40, rng=0).log_evidence, 3)
    -11.282

    With gradients:

    >>> def with_gradient(x):
    ...     return log_likelihood(x), -(x - [0.4, -1.1]) / 0.005**2
    >>> found = fwbq.evidence(with_gradient, fwbq.Gaussian([0.0, 0.0], np.eye(2)), gradient=True, n=40, rng=0)
    >>> round(found.log_evidence, 3), found.success
    (-11.282, True)
    """
    how = Evaluation(
        executor=checked_executor(executor), journal=journal, tag=tag, version=version, vectorized=vectorized,
        on_error=on_error, timeout=timeout, progress=progress, gradient=gradient, recheck=recheck,
    )  # fmt: skip
    _validate.function(_as_function(log_likelihood), "log_likelihood")
    prior = None if prior is None else as_prior(prior)
    start = starting_point(prior, dim, start)
    tol = None if tol is None else _validate.positive(tol, "tol")
    limit = _validate.count((MOST_FOR_TOL if tol else DEFAULT_N) if n is None else n, "n")
    there = len(prior.points) if isinstance(prior, Empirical) else limit
    if min(limit, there) > MOST_FITTED and tol is None and not how.gradient:
        raise too_many(limit)
    run = EvidenceRun(
        prior, n=limit, start=start, scale=scale, kernel=kernel, design=design, amplitude=amplitude,
        rng=how.seed(rng), gradient=how.gradient,
    )  # fmt: skip
    asked = 0
    reason: Reason | None = None
    with evaluating(
        log_likelihood, run.dim, how, limit, "evidence", measure=prior, minus_infinity=True, called="`log_likelihood`"
    ) as evaluate:
        while reason is None:
            points = run.ask(limit - asked)
            if not len(points):
                reason = Reason.EXHAUSTED
                break
            asked += len(points)
            done = evaluate(points)
            if evaluate.width is not None:
                raise ValueError(
                    f"`log_likelihood` must return one number for each point, shape (n,), but it returns vectors of "
                    f"{evaluate.width}: return the sum over data, axis=1"
                )
            slopes = None if done.gradients is None else done.gradients[done.kept]
            run.tell(points[done.kept], done.values[done.kept], slopes)
            if not done.kept.all():
                run.skip(points[~done.kept])
            if tol is not None and asked >= LEAST_FOR_TOL and run.between_rounds:
                reason = _reached(run.result(), tol)
            if reason is None and asked >= limit:
                reason = Reason.BUDGET
        changed = evaluate.recheck()
    if not run.n_evaluations:
        raise ValueError(
            f"`log_likelihood` failed at all {asked} points at which it was evaluated, so that there is no value to go "
            'by: see why with on_error="raise"'
        )
    found = run.result()
    if tol is not None and _half_width(found) > tol:
        reason = Reason.PRECISION if found.least_half_width > tol else Reason.NOT_REACHED
    found = found.ending(reason, tol)
    if changed is not None:
        _warnings.warn(changed)
    if found.n_skipped:
        message = f"the function failed at {found.n_skipped} of {asked} points, which were skipped"
        _warnings.warn(message)
    if not found.success or found.remark is not None:
        _warnings.warn(found.status)
    return found


def _as_function(given: Any) -> Any:
    """Return what was given as log likelihood; refuse models, which have a way of their own."""
    if type(given).__module__.partition(".")[0] == "pymc":
        raise TypeError("`log_likelihood` is a PyMC model: use fwbq.Model.from_pymc(model).evidence(n=...)")
    if hasattr(given, "log_integrand"):
        raise TypeError("`log_likelihood` is a fwbq.Model: call its method, model.evidence(n=...)")
    return given


def _reached(found: Evidence, tol: float) -> Reason | None:
    """Return that a tolerance is reached, or that rounding alone keeps it from being; None when neither is so."""
    half = _half_width(found)
    if half <= tol:
        return Reason.TOLERANCE
    return Reason.PRECISION if tol < found.least_half_width and half <= _ALL_ROUNDING * found.least_half_width else None


def _half_width(found: Evidence) -> float:
    low, high = found.interval(LEVEL_OF_TOL)
    return 0.5 * (high - low)
