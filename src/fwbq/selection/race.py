"""The run: evaluate in rounds, propagate the numerical error, drop models that cannot win, stop when it is decided."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import __version__, _validate, _warnings
from .._reason import LEVEL_OF_TOL, Reason
from .._threads import one_blas_thread
from ..evaluation import Evaluator, Journal, Progress
from ..kernels import Kernel, Stationary
from ..posterior import AnyAmplitude, checked_amplitude
from .comparison import Comparison, Stage
from .contenders import Contenders, Numbered
from .evidence import Earlier, Evidences
from .map_probability import leader, map_probabilities
from .model import Evaluate, Family, Model, ModelFamily, families
from .shared import CARRIED, UNDERSTATED, Block, Shared

if TYPE_CHECKING:
    from concurrent.futures import Executor

Array = NDArray[np.float64]
IntArray = NDArray[np.intp]

#: Points of the last round by default, the most in the box plots of the paper, and of the first one, the fewest there;
#: from round to round they double.
_BUDGET = 200
_FIRST = 10
_LEAST = 3  # points: an amplitude and a constant are learnt from them, and one degree of freedom must remain
#: A model leaves the race when the probability that it beats the leader falls below this; with the heavy tails of
#: nine degrees of freedom that is six standard deviations after the first round.
_OUT = 1e-4
#: Points before which no model is dropped and no decision taken: ten say too little about how smooth a likelihood is.
_DECIDE = 20


@one_blas_thread
def compare_models(
    models: Mapping[Any, Model],
    *,
    n: int | None = None,
    stop: float | None = None,
    tol: float | None = None,
    stages: Sequence[int] | None = None,
    prior: Mapping[Any, float] | None = None,
    evidence: str = "log",
    kernel: Kernel | type[Stationary] | None = None,
    amplitude: AnyAmplitude | None = None,
    design: Callable[..., Any] | None = None,
    race: bool = True,
    budget: int | None = None,
    executor: Executor | None = None,
    journal: Any = None,
    tag: str | None = None,
    version: str = "",
    vectorized: bool | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    timeout: float | None = None,
    rng: Any = None,
    progress: bool | None = None,
) -> Comparison:
    r"""Compare models by evidence, carrying the numerical error of every integral to the decision.

    Each model's evidence :math:`Z_i = \int e^{\ell_i}\,\mathrm{d}p_i` is inferred from log likelihoods at points whose
    number grows round by round: points of the model's own, chosen as in :func:`fwbq.evidence`, however narrow its
    likelihood; the points that all models ask for are evaluated as one batch. After each round the posteriors of the
    evidences give P(the leader is the true MAP); models that can no longer win leave the race, unless their evidence is
    not known well enough to say so, and the run stops when the decision is certain.

    Under ``evidence="linear"``, or with `coordinates` of a model, models with the same measure share points that are
    spread over the prior instead: cheap, and accurate for likelihoods about as wide as the prior.

    Parameters
    ----------
    models : mapping of name to Model
        Names are any hashable; tuples of strings are read as sets of members (see :meth:`Comparison.inclusion`).
    n : int, optional
        Most points for each model; 200 by default.
    stop : float, optional
        Stop when P(MAP) reaches this level.
    tol : float, optional
        Stop when half the width of the 95 % interval of the leading model's probability is at most this.
    stages : sequence of int, optional
        Sizes of the rounds; by default 10, 20, 40, ... up to `n`.
    prior : mapping of name to float, optional
        Prior probabilities of the models, up to a factor; equal by default.
    evidence : {"log", "linear"}, optional
        ``"log"``: a Gaussian process on the log likelihood, whose exponential is always positive (the default).
        ``"linear"``: Bayesian quadrature of the likelihood, as in the paper, conditioned on a positive result.
    kernel : Kernel or class of kernel, optional
        Of the process, as in :func:`fwbq.evidence`: of a class the length-scales are found from values, a kernel is
        used as it is, on the parameters (on the models' `coordinates` where these are given). By default that of
        :func:`fwbq.evidence`; Matern-5/2 with length-scales found on shared points; `ExpQuad` with the measure's
        standard deviations as length-scales for ``"linear"``.
    amplitude : {"calibrated", "marginal", "ml", "loo"} or float, optional
        The factor on the kernel's variance, as in :func:`fwbq.integrate`: "calibrated" by default, and "marginal" for
        ``"linear"``, as in the paper.
    design : callable, optional
        ``design(embedding, rng=...)`` with ``take(n)``, e.g. `fwbq.FrankWolfe`: for shared points in place of points
        spread evenly over the prior; for models with points of their own in place of sequential Bayesian quadrature
        under the posterior.
    race : bool, optional
        Whether models that can no longer win are left out of further rounds. Before 20 points none is, and nothing is
        decided: ten say too little about how smooth a likelihood is.
    budget : int, optional
        Most evaluations of all models together; the round that would exceed it is cut to what is left.
    executor : concurrent.futures.Executor, optional
        Where likelihoods are evaluated; the answer is the same for any.
    journal : path, optional
        SQLite file in which every finished evaluation is kept; a run that died goes on where it stopped.
    tag, version : str, optional
        Identity of the log integrands in the journal, as in :func:`fwbq.integrate`: they are identified by their code
        and everything it refers to; `tag`, a name of your own for all of them, takes the place of that.
    vectorized : bool, optional
        Whether the log integrands take all points at once; by default what each `Model` says.
    on_error : {"raise", "skip"}, optional
        What to do where a log integrand raises, or returns NaN or plus infinity. Of models on shared points a point at
        which one of them fails is skipped for all.
    timeout : float, optional
        Seconds that one evaluation may take.
    rng : optional
        Seeds the draws of :meth:`Comparison.probabilities`.
    progress : bool, optional
        Show progress; by default on a terminal.

    Returns
    -------
    Comparison

    Raises
    ------
    EvaluationError
        When a log integrand fails at a point and `on_error` is "raise"; with a journal all other evaluations are kept.

    Warns
    -----
    RuntimeWarning
        When every likelihood is zero, when a linear process cannot be trusted, or when points were skipped.

    Notes
    -----
    Everything is done with logarithms: evidences of 1e-4000 and 1e4000 can be compared.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> prior = fwbq.Gaussian([0.0, 0.0], np.eye(2))
    >>> models = {
    ...     "near": fwbq.Model(lambda x: -np.sum((x - 0.5) ** 2, axis=1), prior),
    ...     "far": fwbq.Model(lambda x: -np.sum((x - 3.0) ** 2, axis=1), prior),
    ... }
    >>> fwbq.compare_models(models, stop=0.95, rng=0).best
    'near'
    """
    _validate.instance(models, "models", Mapping, "give a dict of names to fwbq.Model(log_integrand, measure)")
    _validate.not_empty(models, "models", "give a mapping of names to fwbq.Model(log_integrand, measure)")
    grouped = families(models, tag, vectorized)
    result = compare_families(
        grouped, n=n, stop=stop, tol=tol, stages=stages, prior=prior, evidence=evidence, kernel=kernel,
        amplitude=amplitude, design=design, race=race, budget=budget, executor=executor, journal=journal,
        version=version, on_error=on_error, timeout=timeout, rng=rng, progress=progress,
    )  # fmt: skip
    return _in_order(result, tuple(models))


@one_blas_thread
def compare_families(
    grouped: Sequence[Family],
    *,
    n: int | None = None,
    stop: float | None = None,
    tol: float | None = None,
    stages: Sequence[int] | None = None,
    prior: Mapping[Any, float] | None = None,
    evidence: str = "log",
    kernel: Kernel | type[Stationary] | None = None,
    amplitude: AnyAmplitude | None = None,
    design: Callable[..., Any] | None = None,
    race: bool = True,
    budget: int | None = None,
    executor: Executor | None = None,
    journal: Any = None,
    version: str = "",
    on_error: Literal["raise", "skip"] = "raise",
    timeout: float | None = None,
    rng: Any = None,
    progress: bool | None = None,
    earlier: Sequence[Earlier | None] | None = None,
    spread: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Comparison:
    """:func:`compare_models` for models that are evaluated as blocks; arguments as there.

    Parameters
    ----------
    grouped : sequence of Family
        Each with its measure, names and block function.
    earlier : sequence of Earlier or None, optional
        What is known of the models of each family; None: nothing. Models that cannot win by that are not evaluated,
        unless ``race=False``, and their evidences are the earlier ones.
    spread : int, optional
        Of shared points, how many are spread over the prior. Further ones are chosen for the leading models, where
        their likelihoods are large: see :func:`fwbq.selection.leaders.telling_nodes`. By default all are spread.
    settings : mapping, optional
        What the result is to remember beside the arguments, JSON-able.
    """
    sizes = _rounds(n, stages)
    stop = None if stop is None else _validate.probability(stop, "stop")
    tol = None if tol is None else _validate.positive(tol, "tol")
    _validate.choice(evidence, "evidence", ("log", "linear"))
    names = tuple(name for family in grouped for name in family.names)
    _validate.different(names, "the names of `models`")
    log_prior = _log_prior(prior, names)
    seed = int(_validate.generator(rng).integers(2**31))
    limit = None if budget is None else _validate.count(budget, "budget")
    chosen = ("marginal" if evidence == "linear" else "calibrated") if amplitude is None else amplitude
    checked: AnyAmplitude = checked_amplitude(chosen)
    runners: list[Shared | Contenders] = []
    first = 0
    for family in grouped:
        if evidence == "log" and isinstance(family, ModelFamily) and family.coordinates is None:
            runners.append(Contenders(family, first, sizes[-1], kernel, checked, design, seed))
        else:
            runners.append(Shared(family, first, evidence, kernel, checked, design, seed, spread))
        first += len(family.names)

    evidences, points = Evidences.empty(len(names)), np.zeros(len(names), dtype=np.intp)
    known = [(runner, each) for runner, each in zip(runners, earlier or [], strict=bool(earlier)) if each is not None]
    for runner, each in known:
        evidences = evidences.put(runner.slots, each.evidences)
        points[runner.slots] = each.n
    if known and race:
        score = evidences.log_median + log_prior
        keep = _contention(evidences, log_prior, int(np.nanargmax(score)), tol)
        for runner, _ in known:
            runner.drop(keep, score)
    spent, history = 0, []
    reason, status = Reason.BUDGET, f"the budget of {sizes[-1]} points for each model ended"
    with ExitStack() as stack:
        store = stack.enter_context(Journal(journal, _identity(grouped, version))) if journal is not None else None
        bar = stack.enter_context(Progress(sizes[-1], "compare, points", progress))
        for size in sizes:
            size, cut = _affordable(runners, size, spent, limit)
            taken = [
                runner.extend(size, _evaluation(k, executor, store, on_error, timeout))
                for k, runner in enumerate(runners)
            ]
            spent += sum(taken)
            contenders = sum(len(runner.active) for runner in runners)
            for runner, new in zip(runners, taken, strict=True):
                if new:
                    evidences = evidences.put(runner.slots[runner.active], runner.posteriors())
            chances = map_probabilities(evidences, log_prior)
            best = leader(chances, evidences.log_median + log_prior)
            history.append(Stage(size, spent, contenders, evidences, best, float(chances[best])))
            bar.advance(size - bar.done)
            if cut:
                status = f"the budget of {limit} evaluations in all ended"
                break
            if size < min(_DECIDE, sizes[-1]) and any(taken):
                continue
            decided = _decided(evidences, log_prior, best, float(chances[best]), stop, tol, seed)
            if decided and not any(isinstance(runner, Shared) and runner.unknown().any() for runner in runners):
                reason, status = Reason.DECIDED, decided
                break
            if not sum(taken):
                reason, status = Reason.EXHAUSTED, "the designs have no further points"
                break
            if race:
                keep = _contention(evidences, log_prior, best, tol)
                for runner in runners:
                    runner.drop(keep, evidences.log_median + log_prior)
    if reason is Reason.BUDGET and (stop is not None or tol is not None):
        reason = Reason.NOT_REACHED
    if not np.isfinite(evidences.log_median[best]):
        reason, status = Reason.ZERO, "every likelihood is zero at every point evaluated: check the models' units"
        _warnings.warn(status)
    _warn_of_linear(runners, names, best)
    skipped = sum(runner.n_skipped for runner in runners)
    if skipped:
        _warnings.warn(f"log integrands failed at {skipped} of {spent} evaluations, which were skipped")
    points = np.maximum(points, np.concatenate([runner.counts() for runner in runners]))
    kept = {
        "version": __version__, "rng": int(rng) if isinstance(rng, int | np.integer) else None, "seed": seed,
        "n": sizes[-1], "stages": list(sizes), "stop": stop, "tol": tol, "evidence": evidence,
        "kernel": kernel.__name__ if isinstance(kernel, type) else None if kernel is None else repr(kernel),
        "amplitude": None if amplitude is None else checked, "race": race, "budget": limit, "reason": reason.value,
    }  # fmt: skip
    errors = {f"d = {runner.family.measure.dim}": runner.errors for runner in runners if isinstance(runner, Shared)}
    if any(errors.values()):
        kept["mmd"] = errors
    return Comparison(names, evidences, log_prior, points, tuple(history), status, kept | dict(settings or {}))


def _affordable(runners: Sequence[Shared | Contenders], size: int, spent: int, limit: int | None) -> tuple[int, bool]:
    """Return the size of a round that the total budget allows, and whether it had to be cut."""
    if limit is None:
        return size, False
    active = sum(len(runner.active) for runner in runners)
    known = max((runner.asked for runner in runners if len(runner.active)), default=0)
    most = known + (limit - spent) // max(active, 1)
    return (size, False) if most >= size else (max(most, min(known, size)), True)


def _warn_of_linear(runners: Sequence[Shared | Contenders], names: tuple[Hashable, ...], best: int) -> None:
    """Warn when a linear process cannot say the evidence of the leading model, or understates its error."""
    for runner in runners:
        if not isinstance(runner, Shared) or runner.evidence != "linear" or best not in runner.slots[runner.active]:
            continue
        j = list(runner.slots[runner.active]).index(best)
        carried = float(runner.carried()[j])
        if carried < CARRIED:
            _warnings.warn(
                f"the likelihood of the leading model {names[best]!r} is carried by {carried:.2g} of its points: a "
                'linear process cannot tell its evidence from so few; use `evidence="log"`, or more points',
            )
            continue
        factor = runner.understatement(j)
        if factor > UNDERSTATED:
            _warnings.warn(
                f"the stated error of the leading model {names[best]!r} may be too small: with an amplitude from "
                f"leave-one-out predictions it would be {factor:.2g} times larger, so that the kernel does not fit its "
                'likelihood; use `evidence="log"`, or another `kernel`',
            )


def _rounds(n: int | None, stages: Sequence[int] | None) -> tuple[int, ...]:
    if stages is not None:
        sizes = tuple(_validate.count(s, "stages", minimum=_LEAST) for s in stages)
        if n is not None:
            _validate.agrees(n, "n", sizes[-1] if sizes else None, "`stages` end at")
        return _validate.increasing(sizes, "stages")
    most = _validate.count(_BUDGET if n is None else n, "n", minimum=_LEAST)
    sizes, size = (), _FIRST
    while size < most:
        sizes, size = (*sizes, size), 2 * size
    return (*sizes, most)


def _log_prior(prior: Mapping[Any, float] | None, names: tuple[Hashable, ...]) -> Array:
    if prior is None:
        return np.full(len(names), -np.log(len(names)))
    weights = _validate.prior_weights(prior, names)
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(weights / weights.sum()), -1e6))


def _identity(grouped: Sequence[Family], version: str) -> dict[str, Any]:
    named = {"version": version} if _validate.text(version, "version") else {}
    return named | {
        "kind": "comparison",
        "families": [
            {
                "measure": None if isinstance(family, ModelFamily) and family.joint else family.measure.spec(),
                "models": family.identity(),
            }
            for family in grouped
        ],
    }


def _evaluation(
    number: int,
    executor: Executor | None,
    journal: Journal | None,
    on_error: Literal["raise", "skip"],
    timeout: float | None,
) -> Evaluate:
    """Return how family `number` evaluates a function of points; other models are another series of the journal."""

    def evaluate(function: Block | Numbered, points: Array) -> tuple[Array, NDArray[np.bool_]]:
        which = function.which if isinstance(function, Block) else None
        series = "own" if which is None else hashlib.sha256(which.astype(np.int64).tobytes()).hexdigest()[:16]
        with Evaluator(
            function, points.shape[1], vectorized=True, executor=executor, journal=journal,
            series=f"{number}:{series}", on_error=on_error, timeout=timeout, minus_infinity=True, progress=False,
        ) as evaluator:  # fmt: skip
            done = evaluator(points)
        return done.values if which is None else done.values.reshape(len(points), -1), done.kept

    return evaluate


def _decided(
    evidences: Evidences, log_prior: Array, best: int, chance: float, stop: float | None, tol: float | None, seed: int
) -> str | None:
    if stop is not None and chance >= stop:
        return f"P(MAP) reached {stop:g}"
    if tol is not None:
        logs = evidences.sample(500, np.random.default_rng(seed)) + log_prior
        logs -= logs.max(axis=1, keepdims=True)
        weights = np.exp(logs)
        low, high = np.quantile(
            weights[:, best] / weights.sum(axis=1), (0.5 * (1.0 - LEVEL_OF_TOL), 0.5 * (1.0 + LEVEL_OF_TOL))
        )
        half = 0.5 * float(high - low)
        if half <= tol:
            return f"the leading probability is known to {half:.2g}"
    return None


def _contention(evidences: Evidences, log_prior: Array, best: int, tol: float | None) -> NDArray[np.bool_]:
    """Return which models may still win, or, when a probability is wanted to `tol`, may still change it.

    A model of which nothing is known yet may.
    """
    from scipy.special import stdtr

    centre, sd = evidences.log_median + log_prior, evidences.log_sd
    width = np.hypot(sd, sd[best])
    df = np.minimum(np.minimum(evidences.df, evidences.df[best]), 1e6)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(width > 0.0, (centre - centre[best]) / width, np.sign(centre - centre[best]) * np.inf)
        keep = stdtr(df, np.nan_to_num(t, nan=0.0)) >= _OUT
    keep[best] = True
    if tol is not None:
        keep |= centre + 3.0 * sd - centre[best] > np.log(0.1 * tol / len(centre))
    return np.asarray(keep)


def _in_order(result: Comparison, names: tuple[Hashable, ...]) -> Comparison:
    """Bring the models, which were grouped by measure, back into the order given."""
    position = {name: i for i, name in enumerate(result.names)}
    order = np.array([position[name] for name in names])
    back = np.argsort(order)
    stages = tuple(
        Stage(s.n, s.evaluations, s.contenders, s.evidences.take(order), int(back[s.best]), s.map_probability)
        for s in result.stages
    )
    return Comparison(
        names,
        result.evidences.take(order),
        result.log_prior[order],
        result.points[order],
        stages,
        result.status,
        result.settings,
    )
