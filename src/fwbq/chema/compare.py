"""Comparison of the kinetic models of a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import combinations
from math import comb
from typing import Any, Literal

import numpy as np

from .. import _validate
from .._threads import one_blas_thread
from ..designs import SBQ, FrankWolfe
from ..kernels import ExpQuad
from ..selection import Comparison, Earlier, Family, Options, compare_families
from . import _checks
from .candidates import MOST_MODELS
from .dataset import Dataset
from .family import KineticFamily
from .likelihood import CLOSED_FORM, TRUNCATED, log_likelihood_block
from .pairs import Pairs
from .screening import Models, survivors
from .sets import Listed, Sets
from .survivors import ScreenRules, Survivors, named, with_screened
from .triples import Triples
from .truncated import MOST_COLUMNS

Method = Literal["log", "fwbq", "fwlsbq", "sbq"]

#: The paper's designs.
_DESIGNS: dict[str, Callable[..., Any]] = {
    "fwbq": FrankWolfe,
    "fwlsbq": partial(FrankWolfe, step="line-search"),
    "sbq": SBQ,
}
#: Points at which the paper shows probabilities, and one round more for the race, which decides nothing before 20.
PAPER_ROUNDS = (10, 50, 100, 200)
ROUNDS = (10, 20, 50, 100, 200)
#: More models are screened: below, the comparison of all of them takes a few seconds.
_MANY = 5_000
#: Points at which models are first judged: with fewer their intervals are so wide that hardly one is dropped.
_FIRST = 20
#: Options that cannot go with the screen: it assumes equal prior probabilities, and has its own process and points.
_OWN_WAY = ("prior", "kernel", "design", "budget")


@one_blas_thread
def compare(
    dataset: Dataset,
    *,
    max_enzymes: int = 2,
    models: Sequence[Iterable[str | int]] | None = None,
    method: Method = "log",
    truncated: bool = False,
    n: int | None = None,
    stages: Sequence[int] | None = None,
    screen: bool | ScreenRules | None = None,
    **options: Any,
) -> Comparison:
    """Compare the kinetic models of a data set by evidence, with the numerical error carried to the decision.

    However many models there are: more than 5,000 are screened first, as :func:`fwbq.chema.pairs.screen` says. A model
    is dropped only if at least 1,000 others with as many enzymes are better even when numerical errors are allowed for;
    ``rest`` has the number of the dropped ones and the sum of their evidences. Of the others those that can still win
    are compared, at points chosen for them beyond those of the screen, and the rest are listed with the evidence that
    the screen found.

    Parameters
    ----------
    dataset : Dataset
        The data.
    max_enzymes : int, optional
        Models have at most so many enzymes: with 26 and 2 there are 352, with 10,000 and 2 there are 50,005,001, with
        300 and 3 there are 4,500,251.
    models : sequence of tuples, optional
        The models to compare, instead of all; enzymes by name or column index.
    method : {"log", "fwbq", "fwlsbq", "sbq"}, optional
        ``"log"``: a Gaussian process on the log likelihood. The others are the paper's: Bayesian quadrature of the
        likelihood itself, at the points of Frank-Wolfe, of Frank-Wolfe with line search, or of sequential Bayesian
        quadrature, with the paper's kernel ``ExpQuad(1.0)``. Every model is evaluated at every point (no race), at
        n = 10, 50, 100 and 200, and the posteriors of the evidences, conditioned on being positive, are propagated to
        the models' probabilities as in the paper. The amplitude of the process is learnt from each model's
        likelihoods; ``amplitude=1.0`` is the paper's, in units of each model's largest likelihood.
    truncated : bool, optional
        Use the likelihood with V truncated to V >= 0, as the prior declares; the closed form of the paper is the
        default.
    n : int, optional
        Most points for each model; 200 by default.
    stages : sequence of int, optional
        Sizes of the rounds; by default 10, 20, 50, 100, 200 up to `n`. Where models are screened, those that the screen
        has gone through are left out.
    screen : bool or ScreenRules, optional
        Whether models are screened, and by which rules. By default more than 5,000 are, unless `prior`, `kernel`,
        `design` or `budget` is given, or ``race=False``. The journal does not hold the screen: a restart repeats it.
    **options
        `stop`, `tol`, `prior`, `evidence`, `kernel`, `amplitude`, `design`, `race`, `budget`, `executor`, `journal`,
        `rng`, `progress`, as in :func:`fwbq.compare_models`.

    Returns
    -------
    Comparison
        Models are named by tuples of enzyme names; ``()`` is the model without any.

    Examples
    --------
    >>> data = Dataset.example()
    >>> found = compare(data, stop=0.95, rng=0)
    >>> found.best == data.regulators
    True
    """
    _validate.choice(method, "method", ("log", *_DESIGNS))
    if method != "log":
        options = _of_the_paper(method, options)
    if stages is None:
        most = _validate.count(200 if n is None else n, "n", minimum=3)
        stages = (*(size for size in (ROUNDS if method == "log" else PAPER_ROUNDS) if size < most), most)
    listed = None if models is None else [tuple(dataset.columns(model)) for model in models]
    if listed is not None and not listed:
        _checks.fail("`models` is empty: leave it out to compare all models, or name some")
    sizes = _counted(dataset, max_enzymes, listed)
    if truncated and max(sizes) >= MOST_COLUMNS:
        _checks.fail(
            f"`truncated=True` is available for at most {MOST_COLUMNS - 1} enzymes, got a model with {max(sizes)}: "
            "leave larger models out, or take `truncated=False`"
        )
    rules = _rules(dataset, sum(sizes.values()), screen, stages, options)
    families: list[Family] = []
    found: list[Survivors] = []
    earlier: list[Earlier | None] = []
    for size, count in sizes.items():
        given = None if listed is None else [model for model in listed if len(model) == size]
        known = None
        if rules is not None and count > (rules.top if size > 1 else _MANY):
            kept = survivors(
                _screened(dataset, size, given, truncated), rules,
                executor=options.get("executor"), progress=options.get("progress"),
            )  # fmt: skip
            found.append(kept)
            order = _order(kept, given)
            given = [tuple(model) for model in kept.models[order].tolist()]
            known = Earlier(kept.evidences.take(order), kept.rounds[-1]["n"])
        names = tuple(combinations(dataset.names, size)) if given is None else named(dataset, given)
        families.append(KineticFamily(dataset, names, truncated))
        earlier.append(known)
    deficient = sum(_deficient(family) for family in families if isinstance(family, KineticFamily))
    settings = {
        "method": method,
        "likelihood": TRUNCATED if truncated else CLOSED_FORM,
        "enzymes": dataset.n_enzymes,
        "max_enzymes": max_enzymes if models is None else None,
        "rank_deficient_models": deficient,
    }
    spread = None
    if rules is not None and found:
        settings |= {"screen": {"top": rules.top, "level": rules.level}, "stages": list(stages)}
        # What is left has been judged at so many points, and fewer would say less about it.
        spread = min(each.rounds[-1]["n"] for each in found)
        stages = tuple(size for size in stages if size >= spread) or stages[-1:]
    settings |= options.pop("settings", {})
    result = compare_families(
        families, Options(n=n, stages=stages, **options), earlier=earlier, spread=spread, settings=settings
    )
    return with_screened(result, found) if found else result


def _of_the_paper(method: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with which a comparison is the paper's."""
    for name, allowed in (("evidence", "linear"), ("design", None)):
        if options.get(name, allowed) != allowed:
            _checks.fail(f"`{name}` is fixed by `method={method!r}`: leave it out, or take method='log'")
    usual = {"kernel": ExpQuad(1.0), "race": False}
    return usual | options | {"evidence": "linear", "design": _DESIGNS[method]}


def _counted(dataset: Dataset, max_enzymes: int, listed: list[tuple[int, ...]] | None) -> dict[int, int]:
    """Return the number of models of each size."""
    if listed is not None:
        return {size: sum(len(model) == size for model in listed) for size in sorted({len(m) for m in listed})}
    largest = min(_validate.count(max_enzymes, "max_enzymes", minimum=0), dataset.n_enzymes)
    sizes = {size: comb(dataset.n_enzymes, size) for size in range(largest + 1)}
    many = sum(count for size, count in sizes.items() if size > 2)
    if many > MOST_MODELS:
        _checks.fail(
            f"`max_enzymes={max_enzymes}` with {dataset.n_enzymes:,} enzymes gives {many:,} models with three enzymes "
            f"or more; at most {MOST_MODELS:,} can be compared: choose fewer enzymes, e.g. the leading ones of a "
            "comparison with `max_enzymes=2`"
        )
    return sizes


def _rules(
    dataset: Dataset, count: int, screen: bool | ScreenRules | None, stages: Sequence[int], options: dict[str, Any]
) -> ScreenRules | None:
    """Return by which rules models are screened; None when they are not."""
    fixed = [f"`{name}`" for name in _OWN_WAY if options.get(name) is not None]
    fixed += ["`race=False`"] if options.get("race") is False else []
    fixed += ['`evidence="linear"`'] if options.get("evidence", "log") != "log" else []
    fixed += ["fewer than three rates of change in a condition"] if min(dataset.n_increments) < 3 else []
    if screen is None:
        screen = not fixed and count > _MANY
    if screen is False and count > MOST_MODELS:
        _checks.fail(
            f"{count:,} models cannot be compared one by one, and are not screened with "
            f"{', '.join(fixed) or '`screen=False`'}: change that, or choose fewer enzymes"
        )
    if screen is False:
        return None
    if fixed:
        _checks.fail(f"`screen` cannot be combined with {', '.join(fixed)}: set `screen=False`, or change that")
    if isinstance(screen, ScreenRules):
        return screen
    rounds = tuple(size for size in stages[:-1] if size >= _FIRST) or (max(4, min(_FIRST, *stages)),)
    return ScreenRules(rounds, adapt=True)


def _screened(dataset: Dataset, size: int, given: list[tuple[int, ...]] | None, truncated: bool) -> Models:
    if given is not None or size == 1:
        return Listed(dataset, np.array(given or np.arange(dataset.n_enzymes)[:, None], dtype=np.intp), truncated)
    if truncated or size > 3:
        return Sets(dataset, size, truncated)
    return Pairs(dataset) if size == 2 else Triples(dataset)


def _order(kept: Survivors, given: list[tuple[int, ...]] | None) -> list[int]:
    """Return the survivors in the order of the list that was screened, if there is one."""
    place = {tuple(model): i for i, model in enumerate(kept.models.tolist())}
    return list(place.values()) if given is None else [place[model] for model in given if model in place]


def _deficient(family: KineticFamily) -> int:
    """Count models whose design matrix has dependent columns at K = 1."""
    ones = np.ones((1, family.measure.dim))
    _, rank = log_likelihood_block(family.dataset, list(family.names), ones, return_rank=True)
    return int(np.sum(rank < ones.shape[1]))
