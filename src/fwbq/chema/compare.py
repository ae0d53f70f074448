"""Comparison of the kinetic models of a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import comb
from typing import Any, Literal

import numpy as np

from .. import _validate
from .._threads import one_blas_thread
from ..designs import SBQ, FrankWolfe
from ..evaluation import entry
from ..kernels import ExpQuad
from ..selection import Comparison, Earlier, Options, compare_families
from . import _checks
from .candidates import MOST_MODELS
from .collinear import collinear_note
from .dataset import SHARING, Dataset, Sharing
from .family import KineticFamily
from .kinetics import increments
from .likelihood import CLOSED_FORM, TRUNCATED, log_likelihood_block
from .model_checks import with_checks
from .odds import Odds
from .pairs import Pairs
from .screening import Models, survivors
from .sets import Listed, Sets
from .survivors import ScreenRules, Survivors, named, with_screened
from .triples import Triples
from .truncated import MOST_COLUMNS
from .units import UnitChoice, in_units

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


@entry
@one_blas_thread
def compare(
    dataset: Dataset,
    *,
    max_enzymes: int = 2,
    models: Sequence[Iterable[str | int]] | None = None,
    units: UnitChoice = "data",
    rates: Sharing | None = None,
    basal: bool | None = None,
    effective: float | None = None,
    inclusion: Mapping[str, float] | None = None,
    method: Method = "log",
    truncated: bool | None = None,
    checks: bool = True,
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
        The largest number of enzymes in a model: with 26 and 2 there are 352, with 10,000 and 2 there are 50,005,001,
        with 300 and 3 there are 4,500,251.
    models : sequence of tuples, optional
        The models to compare, instead of all; enzymes by name or column index.
    units : {"data", "given"}, optional
        In which units the priors are meant. ``"data"``: those of :meth:`Dataset.normalised`, so that the answer does
        not depend on the units of the file. ``"given"``: those of the data set, as the paper has it: K is expected near
        1 in its units of level, V near 1 in its units of level per time and enzyme.
    rates : {"shared", "own"}, optional
        Whether the conditions of one cell line share the rates V and the noise sigma, or each has its own; cell lines
        always have their own. As the data set says by default, and it says ``"shared"`` unless told otherwise.
    basal : bool, optional
        Whether every model has a basal rate, without an enzyme; see :meth:`Dataset.with_basal`. As the data set says by
        default, and it has none unless told otherwise.
    effective : float, optional
        How many increments the likelihood counts for at most: with N of them, replicates counted one by one, it is
        raised to the power effective / (effective + N). For data whose increments share errors, as those of a whole
        network do (:func:`fwbq.chema.network`); the models are then not screened. By default all count in full.
    inclusion : mapping of str to float, optional
        Prior inclusion probabilities of enzymes, 1/2 for those that are not named: the prior probability of a model is
        in proportion to the product of p / (1 - p) over its enzymes. Models are screened as without them.
    method : {"log", "fwbq", "fwlsbq", "sbq"}, optional
        ``"log"``: a Gaussian process on the log likelihood. The others are the paper's: Bayesian quadrature of the
        likelihood itself, at the points of Frank-Wolfe, of Frank-Wolfe with line search, or of sequential Bayesian
        quadrature, with the paper's kernel ``ExpQuad(1.0)``. Every model is evaluated at every point (no race), at
        n = 10, 50, 100 and 200, and the posteriors of the evidences, conditioned on being positive, are propagated to
        the models' probabilities as in the paper. The amplitude of the process is learnt from each model's
        likelihoods; ``amplitude=1.0`` is the paper's, in units of each model's largest likelihood.
    truncated : bool, optional
        Whether rates V are truncated to V >= 0, as the prior declares, or may be negative, as in the closed form of the
        paper. By default they are truncated where at most 5,000 models with at most two enzymes are compared, and not
        with the paper's methods.
    checks : bool, optional
        Whether the leading models are checked: how well they predict rates that they were not fitted to, whether
        enzymes at permuted times would do as well, and which model is first under other priors. The numbers are in
        ``settings["checks"]``, the summary says them.
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
    >>> found = compare(data, units="given", stop=0.95, rng=0)
    >>> found.best == data.regulators
    True
    """
    _validate.choice(method, "method", ("log", *_DESIGNS))
    _validate.choice(units, "units", ("data", "given"))
    if rates is not None:
        dataset = dataset.with_rates(_validate.choice(rates, "rates", SHARING))
    if basal is not None:
        dataset = dataset.with_basal(basal)
    given, (dataset, factors) = dataset, in_units(dataset, units)
    if method != "log":
        options = _of_the_paper(method, options)
    if dataset.explained == "levels" and (checks or truncated):
        _checks.fail("`checks` and `truncated` are for rates: switch them off where the data set explains levels")
    power = likelihood_power(dataset, effective)
    stages = _stages(method, n, stages)
    listed = _listed(dataset, models)
    counts = _counted(dataset, max_enzymes, listed)
    if truncated is None:
        few = max(counts) < MOST_COLUMNS and sum(counts.values()) <= _MANY
        truncated = few and method == "log" and dataset.explained == "rates"
    if truncated:
        _check_truncated(max(counts))
    own = options.pop("settings", {})
    how = Options.of("chema.compare", n=n, stages=stages, **options)
    rules = _rules(dataset, sum(counts.values()), screen, stages, how, power)
    odds = None if inclusion is None else _odds(inclusion, dataset, max(counts), how)
    groups = [
        _group(dataset, size, count, listed, truncated, rules, how, power, odds) for size, count in counts.items()
    ]
    if odds is not None:
        names = [name for group in groups for name in group.family.names]
        how = how.with_prior(dict(zip(names, np.exp(odds.of_models(names)).tolist(), strict=True)))
    found = [group.screened for group in groups if group.screened is not None]
    settings = {
        "method": method,
        "likelihood": TRUNCATED if truncated else CLOSED_FORM,
        "enzymes": dataset.n_enzymes,
        "max_enzymes": max_enzymes if models is None else None,
        "rank_deficient_models": sum(_deficient(group.family) for group in groups),
        "forms": list(given.forms),
        "units": units,
        "factors": factors.to_dict(given.names),
        "rates": given.sharing,
        "basal": given.basal,
        "explained": given.explained,
        "effective": effective,
        "inclusion": None if inclusion is None else dict(inclusion),
        "conditions": len(given.conditions),
        "cell_lines": len(given.cell_lines),
        "notes": [*given.notes, *collinear_note(given)],
    }
    if rules is not None and found:
        settings |= {"screen": {"top": rules.top, "level": rules.level}, "stages": list(stages)}
    spread = _screened_at(found)
    result = compare_families(
        [group.family for group in groups],
        how if spread is None else how.with_stages(tuple(size for size in stages if size >= spread) or stages[-1:]),
        earlier=[group.earlier for group in groups],
        spread=spread,
        settings=settings | own,
    )
    result = with_screened(result, found, odds) if found else result
    if not checks:
        return result
    return with_checks(result, dataset, max_enzymes=max_enzymes, listed=listed, truncated=truncated, power=power)


@dataclass(frozen=True, eq=False)
class _Group:
    """The models of one size that are compared, and what the screen found of them, if they were screened."""

    family: KineticFamily
    screened: Survivors | None = None
    earlier: Earlier | None = None


def _group(
    dataset: Dataset,
    size: int,
    count: int,
    listed: Sequence[tuple[int, ...]] | None,
    truncated: bool,
    rules: ScreenRules | None,
    how: Options,
    power: float,
    odds: Odds | None,
) -> _Group:
    """Return the models of one size, screened if there are many of them and there are rules for it."""
    given = None if listed is None else [model for model in listed if len(model) == size]
    if rules is None or count <= (rules.top if size > 1 else _MANY):
        names = tuple(combinations(dataset.names, size)) if given is None else named(dataset, given)
        return _Group(KineticFamily(dataset, names, truncated, power))
    calls = how.evaluation
    weighed = dataset if odds is None else dataset.with_values(log_odds=odds.log_odds)
    models = _screened(weighed, size, given, truncated)
    kept = survivors(models, rules, executor=calls.executor, progress=calls.progress)
    order = _order(kept, given)
    names = named(dataset, [tuple(model) for model in kept.models[order].tolist()])
    evidences = kept.evidences.take(order)
    if odds is not None:
        evidences = replace(evidences, centre=evidences.centre - odds.of_models(names))
    return _Group(KineticFamily(dataset, names, truncated), kept, Earlier(evidences, kept.rounds[-1]["n"]))


def _odds(inclusion: Mapping[str, float], dataset: Dataset, largest: int, how: Options) -> Odds:
    if how.prior is not None:
        _checks.fail("`inclusion` and `prior` both say how probable models are: give one of the two")
    return Odds.of(inclusion, dataset.names, largest)


def likelihood_power(dataset: Dataset, effective: float | None) -> float:
    """Return to which power likelihoods are raised so that all rows count for at most `effective`."""
    if effective is None:
        return 1.0
    most = _validate.positive(effective, "effective")
    return most / (most + sum(part.rows for part in increments(dataset)))


def _screened_at(found: Sequence[Survivors]) -> int | None:
    """Return at how many points the survivors were judged; None without a screen. Fewer would say less about them."""
    return min((each.rounds[-1]["n"] for each in found), default=None)


def _stages(method: str, n: int | None, stages: Sequence[int] | None) -> Sequence[int]:
    """Return the sizes of the rounds."""
    if stages is not None:
        return stages
    most = _validate.count(200 if n is None else n, "n", minimum=3)
    return (*(size for size in (ROUNDS if method == "log" else PAPER_ROUNDS) if size < most), most)


def _listed(dataset: Dataset, models: Sequence[Iterable[str | int]] | None) -> list[tuple[int, ...]] | None:
    """Return the models that are given as columns of enzymes; None for all."""
    if models is None:
        return None
    listed = [tuple(dataset.columns(model)) for model in models]
    if not listed:
        _checks.fail("`models` is empty: leave it out to compare all models, or name some")
    return listed


def _check_truncated(largest: int) -> None:
    if largest >= MOST_COLUMNS:
        _checks.fail(
            f"`truncated=True` is available for at most {MOST_COLUMNS - 1} enzymes, got a model with {largest}: "
            "leave larger models out, or take `truncated=False`"
        )


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
    dataset: Dataset, count: int, screen: bool | ScreenRules | None, stages: Sequence[int], how: Options, power: float
) -> ScreenRules | None:
    """Return by which rules models are screened; None when they are not."""
    fixed = _not_screened(dataset, how) + (["`effective`"] if power != 1.0 else [])
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


def _not_screened(dataset: Dataset, how: Options) -> list[str]:
    """Return what keeps models from being screened, in words."""
    fixed = [f"`{name}`" for name in _OWN_WAY if getattr(how, name) is not None]
    fixed += ["`race=False`"] if not how.race else []
    fixed += ['`evidence="linear"`'] if how.evidence != "log" else []
    fixed += ["levels that are explained"] if dataset.explained == "levels" else []
    fixed += ["fewer than three rates of change in a condition"] if min(dataset.n_shared) < 3 + dataset.basal else []
    return fixed


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
    ones = np.ones((1, 1 + len(family.names[0])))
    _, rank = log_likelihood_block(family.dataset, list(family.names), ones, return_rank=True)
    return int(np.sum(rank < ones.shape[1]))
