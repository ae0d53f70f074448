"""`compare_models`: models given one by one, compared by their evidences."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .. import _validate
from .._threads import one_blas_thread
from ..evaluation import Evaluation, checked_executor, entry
from ..kernels import Kernel, Stationary
from ..posterior import AnyAmplitude
from .comparison import Comparison
from .family import families
from .model import Model
from .options import Options
from .race import compare_families
from .stage import Stage

if TYPE_CHECKING:
    from concurrent.futures import Executor


@entry
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
    kernel: Kernel | type[Stationary] | str | None = None,
    amplitude: AnyAmplitude | None = None,
    design: Callable[..., Any] | None = None,
    race: bool = True,
    budget: int | None = None,
    executor: Executor | int | None = None,
    journal: Any = None,
    tag: str | None = None,
    version: str = "",
    vectorized: bool | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    timeout: float | None = None,
    recheck: bool | None = None,
    rng: Any = None,
    progress: bool | None = None,
) -> Comparison:
    r"""Compare models by evidence, carrying the numerical error of every integral to the decision.

    Each model's evidence :math:`Z_i = \int e^{\ell_i}\,\mathrm{d}p_i` is inferred from log likelihoods at points whose
    number grows round by round: points of the model's own, chosen as in :func:`fwbq.evidence`, however narrow its
    likelihood; the points that all models ask for are evaluated as one batch. After each round the posteriors of the
    evidences give P(the leader is the true MAP); models that can no longer win leave the race, unless their evidence is
    not known well enough to say so, and the run stops when the decision is certain. Of a model whose likelihood is zero
    at every point nothing is known: it is evaluated up to its `n`, and where it stays zero nothing counts as decided.

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
        Sizes of the rounds; by default 10, 20, 40, ... up to `n`. From 100 models on those before 20, after which
        nothing is decided, are not among the `stages` of the result.
    prior : mapping of name to float, optional
        Prior probabilities of the models, up to a factor; equal by default.
    evidence : {"log", "linear"}, optional
        ``"log"``: a Gaussian process on the log likelihood, whose exponential is always positive (the default).
        ``"linear"``: Bayesian quadrature of the likelihood, as in the paper, conditioned on a positive result.
    kernel : Kernel, class of kernel or str, optional
        Of the process, as in :func:`fwbq.evidence`: of a class, or its name, the length-scales are found from values, a
        kernel is used as it is, on the parameters (on the models' `coordinates` where these are given). By default that
        of :func:`fwbq.evidence`; Matern-5/2 with length-scales found on shared points; `ExpQuad` with the measure's
        standard deviations as length-scales for ``"linear"``. Models with gradients have a kernel, an amplitude and
        draws of their own: `kernel`, `amplitude` and `design` are those of the others.
    amplitude : {"calibrated", "marginal", "ml", "loo"} or float, optional
        The factor on the kernel's variance: that of greatest likelihood ("ml", "marginal"), that of leave-one-out
        errors, which count the more the larger the likelihood is ("loo"), the first of these raised where the second is
        larger ("calibrated", the default), or a number. Under ``"linear"`` as in :func:`fwbq.integrate`, and "marginal"
        by default, as in the paper.
    design : callable, optional
        ``design(embedding, rng=...)`` with ``take(n)``, e.g. `fwbq.FrankWolfe`: for shared points in place of points
        spread evenly over the prior; for models with points of their own in place of sequential Bayesian quadrature
        under the posterior.
    race : bool, optional
        Whether models that can no longer win are left out of further rounds. Before 20 points none is, and nothing is
        decided: ten say too little about how smooth a likelihood is.
    budget : int, optional
        Most evaluations of all models together; the round that would exceed it is cut to what is left.
    executor : concurrent.futures.Executor or int, optional
        Where likelihoods are evaluated, as for :func:`fwbq.integrate`; the answer is the same for any.
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
    recheck : bool, optional
        Whether one point of the first round is evaluated once more at the end, as for :func:`fwbq.integrate`.
    rng : optional
        Seeds the points of each model and the draws of :meth:`Comparison.probabilities`. With a journal the default is
        0, because a restart must ask for the same points.
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
        When the likelihood of a model is zero at every point, when a linear process cannot be trusted, or when points
        were skipped.

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
    if not models:
        raise ValueError("`models` is empty: give a mapping of names to fwbq.Model(log_integrand, measure)")
    how = Evaluation(
        executor=checked_executor(executor), journal=journal, tag=tag, version=version, vectorized=vectorized,
        on_error=on_error, timeout=timeout, progress=progress, recheck=recheck,
    )  # fmt: skip
    options = Options(
        n=n, stop=stop, tol=tol, stages=stages, prior=prior, evidence=evidence, kernel=kernel, amplitude=amplitude,
        design=design, race=race, budget=budget, rng=rng, evaluation=how,
    )  # fmt: skip
    return _in_order(compare_families(families(models, how.tag, how.vectorized), options), tuple(models))


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
