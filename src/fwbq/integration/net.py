"""Integration with many evaluations: a scrambled Sobol net, equal weights, and the error from a Walsh kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import _validate, _warnings
from .._reason import LEVEL_OF_TOL, Reason
from ..evaluation import Evaluation, Evaluator, evaluating
from ..measures import Empirical, Measure
from ..rules import Rule
from ..transforms import NetPosterior, SobolNet, net_posterior, polynomial_part
from ..transforms.polynomial import MOST_DIMENSIONS
from ..transforms.posterior import SEPARATE_COLUMNS
from .equal import all_equal, unseen
from .peak import beyond_largest
from .result import IntegrationResult

FloatArray = NDArray[np.float64]
Method = Literal["auto", "process", "net"]

METHODS: tuple[Method, ...] = ("auto", "process", "net")
#: "auto" takes the net from here on: a process costs n^3 operations, about 1 s at n = 500 in ten dimensions and 3 s at
#: n = 1000, and the net a tenth of a second.
MOST_FOR_PROCESS = 2000
#: In more than `DIMENSIONS_FOR_PROCESS` dimensions "auto" takes the net from `ENOUGH_FOR_NET` evaluations on.
#: For fifteen functions in 12 and 20 dimensions (polynomials, waves, products, kinks, jumps) the interval of the
#: process was narrower than that of the net by a median factor of 2 at n = 256 and of 3.4 at n = 1000, where a net has
#: 512 points: 40 to 120 times for the smoothest, 0.6 times for the one with kinks in all coordinates. It cost 2 to 5 s
#: at n = 1000. All 45 intervals of the process held the truth.
DIMENSIONS_FOR_PROCESS, ENOUGH_FOR_NET = 10, 1024
#: Sixteen sub-nets of four points: with fewer points the trend of the error with n cannot be seen.
LEAST_N = 64
#: The first look of `tol`.
FIRST_LOOK = 256
#: Values that are all equal are no evidence of a small error before this many: a region of probability 1/1000 in which
#: f differs is then met with probability 0.98.
LEAST_FOR_CONSTANT = 4096
#: Evaluations without `n` and `tol`, and the most that a `tol` alone may use.
DEFAULT_N = 4096
MOST_FOR_TOL = 2**16
#: Rounding error of an integral whose polynomial part was subtracted, relative to the largest value: that of a dozen
#: operations.
ROUNDING = 12 * 2.0**-53
#: In one dimension a jump J of f lies in one of n cells with a point each, and moves the mean by up to J / n, with 95 %
#: probability by less than 0.776 J / n; 2.13 times this factor. Contrasts between sub-nets see it in one pair only: of
#: 64 intervals at n = 4096 without this bound 39 held.
JUMP = 0.364
#: Points that f is handed at a time, so that no more than these are held twice.
BLOCK = 2**16

_HEAVY = (
    "the integrand is positive with a peak: few of the values make most of their sum, and what lies above the largest "
    "of them may add as much. The interval is widened accordingly; pass the logarithm of f to `fwbq.evidence`, which "
    "is made for such integrands"
)


def reason_for_net(
    method: Method, measure: Measure, n: int | None, options: dict[str, Any], name: str = "method"
) -> str | None:
    """Return why the net is used, in words for the status; None when the process is.

    Parameters
    ----------
    method : {"auto", "process", "net"}
    measure : Measure
    n : int or None
        As the user gave it.
    options : dict
        Options of the process that the user set, by name; the net has none of them.

    Raises
    ------
    ValueError, TypeError
        When the net is asked for and cannot be had.
    """
    _validate.choice(method, name, METHODS)
    given = [option for option, value in options.items() if value is not None]
    if method == "process":
        return None
    if method == "auto":
        if n is None or not may_take_net(method, measure, options):
            return None
        if n > MOST_FOR_PROCESS:
            return f"chosen because n = {n} exceeds {MOST_FOR_PROCESS}"
        if measure.dim > DIMENSIONS_FOR_PROCESS and n >= ENOUGH_FOR_NET:
            return f"chosen because {measure.dim} dimensions exceed {DIMENSIONS_FOR_PROCESS} and n = {n} is enough"
        return None
    if given:
        raise ValueError(
            f'`{given[0]}` cannot be given with `method="net"`, which has points, weights and a kernel of its own: '
            f'leave `{given[0]}` out, or use `method="process"`'
        )
    if isinstance(measure, Empirical):
        raise TypeError(
            '`measure` must not be Empirical with `method="net"`: a net needs a measure that is spread over R^d. Use '
            '`method="process"`, or sum over all points of the sample'
        )
    if not _has_transform(measure):
        raise TypeError(
            f'`measure` must have an inverse transform (`from_uniform`) with `method="net"`, and '
            f'{type(measure).__name__} has none: use `method="process"`'
        )
    return 'chosen by `method="net"`'


def may_take_net(method: Method, measure: Measure, options: dict[str, Any]) -> bool:
    """Whether "auto" is free to take the net: no option of the process is set, and the measure has a transform."""
    free = method == "auto" and all(value is None for value in options.values())
    return free and not isinstance(measure, Empirical) and _has_transform(measure)


def _has_transform(measure: Measure) -> bool:
    try:
        measure.from_uniform(np.full((1, measure.uniform_dim), 0.5))
    except NotImplementedError:
        return False
    return True


def integrate_on_net(
    f: Callable[[FloatArray], Any],
    measure: Measure,
    how: Evaluation,
    *,
    why: str,
    n: int | None,
    tol: float | None,
    rng: Any,
) -> IntegrationResult:
    """Integrate on a net of 2^m points, m as large as `n` allows, or the least for which `tol` is met.

    The arguments are those of `integrate`; `how` is how f is called, `why` goes into the status.
    """
    most = _validate.count((MOST_FOR_TOL if tol else DEFAULT_N) if n is None else n, "n")
    limit = _largest_net(most)
    if tol is None:
        _validate.fits_in_memory(most, measure.dim + 1, "n", "points with their values")
    sample = _Sample(SobolNet(measure.uniform_dim, rng), measure)
    with evaluating(f, measure.dim, how, limit, "integrate", measure=measure) as evaluate:
        size = limit if tol is None else min(limit, FIRST_LOOK)
        while True:
            sample.extend(size, evaluate)
            found = sample.posterior()
            reached = tol is not None and sample.accepts(found, tol)
            if reached or size == limit:
                break
            size *= 2
        changed = evaluate.recheck()
    reason = Reason.BUDGET if tol is None else Reason.TOLERANCE if reached else Reason.NOT_REACHED
    ended = reason.sentence(n=size, tol=tol)
    if limit < most and not reached:
        ended += f" (the largest power of two up to n = {most})"
    if sample.n_skipped:
        _warnings.warn(f"f failed at {sample.n_skipped} of {size} points, which were skipped")
    if not reason.success:
        _warnings.warn(ended)
    if changed is not None:
        _warnings.warn(changed)
    return sample.result(found, "; ".join(filter(None, [sample.status(ended, why), changed])), reason)


def _largest_net(most: int) -> int:
    """Return the largest power of two up to `most`."""
    if most < LEAST_N:
        raise ValueError(
            f"`n` must be at least {LEAST_N}, got {most}: a net has at least that many points; raise `n`, or use "
            '`method="process"`'
        )
    return 1 << (most.bit_length() - 1)


class _Sample:
    """Points of the net so far, and the values there."""

    def __init__(self, net: SobolNet, measure: Measure) -> None:
        self.net = net
        self.measure = measure
        self.points: list[FloatArray] = []
        self.values: list[FloatArray] = []
        self.kept: list[NDArray[np.bool_]] = []
        #: The values less their polynomial parts, (n, c), when the posterior was last asked for.
        self.rest: FloatArray = np.empty((0, 1))
        #: Largest degree of these polynomials; zero when there are none.
        self.degree = 0
        #: What is to be said of columns of equal values; empty when there are none.
        self.equal = ""
        #: Whether the values of a column have a heavy tail.
        self.heavy = False
        self.size = 0

    def extend(self, size: int, evaluate: Evaluator) -> None:
        """Evaluate f at the points that are still missing for a net of `size` points."""
        while self.size < size:
            stop = min(size, self.size + BLOCK)
            done = evaluate(self.measure.from_uniform(self.net.points(self.size, stop)))
            self.points.append(done.points)
            self.values.append(done.values)
            self.kept.append(done.kept)
            self.size = stop
            evaluate.forget()  # no point of a net comes twice

    @property
    def n_skipped(self) -> int:
        return self.size - sum(int(mask.sum()) for mask in self.kept)

    def posterior(self) -> NetPosterior:
        """Return the posterior given all values so far."""
        _validate.some_values(self.size - self.n_skipped)
        # The values of a block in which f failed everywhere have no columns: those of other blocks say how many.
        widest = max(self.values, key=np.ndim).shape[1:]
        values = np.concatenate([np.broadcast_to(v.T, (*widest, len(v))).T if v.shape[1:] != widest else v
                                 for v in self.values])  # fmt: skip
        missing = ~np.concatenate(self.kept)
        self.rest, beside = self._without_polynomials(values.reshape(self.size, -1), ~missing)
        self.equal = all_equal(values[~missing])
        least = unseen(values[~missing])
        if least is not None:
            beside = np.hypot(beside, least)
        tails = np.array([beyond_largest(column) for column in values[~missing].reshape(-1, len(beside)).T])
        self.heavy = bool(np.any(tails))
        beside = np.hypot(beside, tails)
        generators = self.net.generators(self.size.bit_length() - 1)
        return net_posterior(generators, self.rest.reshape(values.shape), missing, beside)

    def _without_polynomials(self, values: FloatArray, kept: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        """Return the values (n, c) less their polynomial parts, and what the error of each column is at least.

        That is rounding, where a polynomial was subtracted, and in one dimension what a jump does.
        """
        beside = np.zeros(values.shape[1])
        self.degree = 0
        if self.net.dim > MOST_DIMENSIONS or values.shape[1] > SEPARATE_COLUMNS:
            return values, beside
        u = self.net.points(0, self.size)
        rest = values.copy()
        for j, column in enumerate(values.T):
            part = polynomial_part(u[kept], column[kept])
            if part is not None:
                rest[kept, j] -= part(u[kept])
                self.degree = max(self.degree, part.degree)
                beside[j] = ROUNDING * float(np.max(np.abs(column[kept])))
        if self.net.dim == 1:
            steps = np.abs(np.diff(rest[kept][np.argsort(u[kept, 0])], axis=0))
            beside = np.hypot(beside, JUMP / self.size * np.max(steps, axis=0, initial=0.0))
        return rest, beside

    def accepts(self, found: NetPosterior, tol: float) -> bool:
        """Whether half the 95 % interval is within `tol`, and the second half of the net moved the mean by no more."""
        low, high = found.posterior.interval(LEVEL_OF_TOL)
        if np.max(np.asarray(high) - np.asarray(low)) > 2.0 * tol:
            return False
        kept = np.concatenate(self.kept)
        values = np.concatenate(self.values)[kept]
        if self.size < LEAST_FOR_CONSTANT and np.any(np.ptp(values, axis=0) == 0.0):
            return False
        rest, first = self.rest[kept], kept[: self.size // 2].sum()
        return bool(np.all(np.abs(rest[:first].mean(axis=0) - rest.mean(axis=0)) <= tol))

    def status(self, ended: str, why: str) -> str:
        """Return why the net ended, what was done with it, and why it was chosen, in words."""
        notes = [ended, f"scrambled Sobol net, {why}"]
        if self.n_skipped:
            notes.insert(1, f"{self.n_skipped} points skipped because f failed there")
        if self.degree:
            notes.append(f"a polynomial of degree {self.degree} was subtracted from f and integrated exactly")
        return "; ".join(filter(None, [*notes, self.equal, _HEAVY if self.heavy else ""]))

    def result(self, found: NetPosterior, status: str, reason: Reason) -> IntegrationResult:
        """Return the result; points at which f failed are left out."""
        kept = np.concatenate(self.kept)
        points = np.concatenate(self.points)[kept]
        self.points.clear()
        rule = Rule(
            points, np.full(len(points), 1.0 / len(points)), found.variance,
            float(np.finfo(np.float64).eps) * float(found.kernel.diag(np.zeros((1, found.kernel.dim)))[0]),
            "uniform", "constant", "scrambled Sobol net; worst-case error of a Walsh kernel on the unit cube",
        )  # fmt: skip
        return IntegrationResult(
            found.posterior, rule, found.kernel, rule.points, np.concatenate(self.values)[kept], status, self.n_skipped,
            reason, reason.success,
        )  # fmt: skip
