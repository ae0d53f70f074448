r"""Who regulates whom: every protein of a table in turn as the substrate of all others.

Of each protein the phosphorylated level S* was measured. The unphosphorylated one is S = T - S*, with a total T that is
stated, or assumed to be 1.3 times the largest level. The kinetic models of its regulation are then compared as by
:func:`fwbq.chema.compare`, and the probability of an edge is the summed probability of the models that have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from math import comb
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp

from .. import _validate
from .._threads import one_blas_thread
from ..evaluation import entry
from ..evaluation.ordered import in_order
from ..selection import Comparison
from . import _checks
from .collinear import collinear, collinear_note
from .compare import compare, likelihood_power
from .constants import constants_posterior
from .dataset import EXPLAINED, SHARING, Dataset, Explained, Sharing
from .edges import Edge, Network, Substrate
from .inhibitors import Inhibitor, as_inhibitors, inhibited, stimulated, treated
from .kinetics import FloatArray, increments
from .likelihood import TRUNCATED
from .prediction import predictive_r2
from .replicates import scatter_share
from .sensitivity import scores_under_changes
from .tidy import check_tidy, from_tidy, read_tidy
from .units import UnitChoice, in_units

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["network"]

#: The total of a protein, in units of its largest level, where none is stated.
TOTAL = 1.3
#: Share of the squared rates that is scatter of the replicates, above which levels are explained and not rates. On 20
#: simulated networks (studies/signalling.py) with a share of about 0.5 crude evidences of rates reached an area under
#: the receiver operating characteristic of 0.657 and those of levels 0.701, in the two of them with 0.15, 0.60 and 0.74
#: against 0.68 and 0.91. On one with 3 % of noise and no background (studies/networks.py) it was 0.998 with rates and
#: 0.885 with levels.
SCATTERED = 0.125
#: How many increments the likelihood counts for at most. Differences over minutes in place of the rates of the models,
#: errors in the levels of enzymes, and what was not measured make errors that increments share: a likelihood that
#: takes them as independent is far too sure. On 24 simulated networks with 160 to 200 increments, at powers 0.2, 0.1
#: and 0.06, 161 of 199, 118 of 129 and 75 of 78 edges above 0.9 were true; the mean log probability of what is true was
#: -0.35, -0.31 and -0.32 an edge; the area under the receiver operating characteristic was the same.
EFFECTIVE = 20.0
#: Models of one substrate up to which three enzymes are allowed by default, and evidences of all are computed to the
#: same error: those that are far behind count too, because the likelihood is tempered.
_MANY = 5_000
#: Points for each model after which it is asked whether the ranking of the edges is decided.
_ROUNDS = (50, 100)
#: Models whose evidences are computed again under other priors: the leading ones, which hold nearly all probability.
_LEADING = 200


@dataclass(frozen=True, eq=False)
class _Task:
    """Everything that a substrate needs, fit to travel to another process."""

    table: Any
    total: float
    totals: dict[str, float]
    inhibitors: tuple[Inhibitor, ...]
    enzymes: tuple[str, ...]
    replicates: str | None
    max_enzymes: int | None
    units: UnitChoice
    rates: Sharing
    explained: Explained
    truncated: bool
    basal: bool
    stimuli: tuple[str, ...]
    effective: float | None
    inclusion: dict[str | tuple[str, str], float]
    n: int
    tol: float
    journal: Path | None
    seed: int


@entry
@one_blas_thread
def network(
    data: str | PathLike[str] | pd.DataFrame,
    *,
    substrates: Iterable[str] | None = None,
    enzymes: Iterable[str] | None = None,
    total: float = TOTAL,
    totals: Mapping[str, float] | None = None,
    inhibitors: Iterable[Inhibitor | str] = (),
    conditions: Iterable[str] | None = None,
    replicates: str | None = None,
    stimuli: Iterable[str] = (),
    max_enzymes: int | None = None,
    basal: bool = True,
    effective: float | None = EFFECTIVE,
    inclusion: Mapping[str | tuple[str, str], float] | None = None,
    units: UnitChoice = "data",
    rates: Sharing = "shared",
    explained: Explained | None = None,
    truncated: bool = False,
    n: int = 200,
    tol: float = 0.05,
    executor: Executor | None = None,
    journal: str | PathLike[str] | None = None,
    rng: int = 0,
) -> Network:
    """Infer which proteins regulate which, with the numerical error of every edge and signs of doubt.

    Evidences are computed at 50 points of K for each model, then at 100 and at `n`, until the 95 % interval of the
    numerical error of every edge into a substrate is at most `tol` to either side: the ranking of edges whose
    probabilities differ by twice that is then decided.

    Parameters
    ----------
    data : path or DataFrame
        A tidy table or MIDAS file of phosphorylated levels, as for :meth:`Dataset.from_csv`; every variable is a
        protein. Conditions are stimuli with or without inhibitors.
    substrates, enzymes : iterable of str, optional
        Which proteins are looked at as substrates, and as enzymes; all by default, as substrates those that change.
    total : float, optional
        Total amount of each protein in units of its largest level: an assumption where no total was measured. State it
        with the result.
    totals : mapping of str to float, optional
        Total amounts of proteins of which they are known, in the units of the table.
    inhibitors : iterable of Inhibitor or str, optional
        As for :meth:`Dataset.inhibited`, e.g. ``["AKTi=AKT:0.9"]``.
    conditions : iterable of str, optional
        Only these.
    replicates : {"each", "mean"}, optional
        As for :meth:`Dataset.from_csv`.
    stimuli : iterable of str, optional
        Words of the conditions' names that are stimuli, such as ``["EGF", "insulin"]``. Each is a candidate beside the
        enzymes, at a constant level where it was given, so that what it does to its receptor is not laid to a protein.
    max_enzymes : int, optional
        Most regulators of a substrate that act at a time, stimuli among them. By default three where that makes at
        most 5,000 models, and else two.
    basal : bool, optional
        Whether every substrate has a basal rate too, as in :meth:`Dataset.with_basal`.
    effective : float, optional
        How many increments the likelihood counts for at most, as in :func:`fwbq.chema.compare`: errors that increments
        share would otherwise be taken for knowledge. None: all of them.
    inclusion : mapping, optional
        Prior inclusion probabilities, of an enzyme by its name, or of an edge by ``(enzyme, substrate)``, which counts
        before that of its enzyme; 1/2 for all others.
    units, rates : optional
        As for :func:`fwbq.chema.compare`.
    explained : {"levels", "rates"}, optional
        Whether models explain the whole courses of a substrate, or its rates of change between neighbouring times. By
        default levels where scatter of the replicates makes more than an eighth of the squared rates (median over the
        proteins), and else rates. With levels, dephosphorylation is of first order and saturation is neglected,
        replicates are averaged, and an inhibited kinase acts as at rest, at the mean of the first levels of all
        conditions. See `fwbq.chema.courses`.
    truncated : bool, optional
        Whether rates are truncated to V >= 0, with ``explained="rates"``. By default they are not: a negative rate is
        an enzyme that dephosphorylates, or inhibits.
    n : int, optional
        Most points for each model.
    tol : float, optional
        See above.
    executor : concurrent.futures.Executor, optional
        Where substrates are worked on, one a task; with a `journal`, where likelihoods are evaluated instead.
    journal : path, optional
        A directory for the journals of the substrates: a run that was interrupted goes on from there.
    rng : int, optional
        Seed.

    Returns
    -------
    Network

    Examples
    --------
    >>> import pandas as pd
    >>> t = np.arange(12.0)
    >>> a, c = 1.2 + np.sin(t), 1.5 + np.cos(2.2 * t)
    >>> b = 1.0 + np.concatenate([[0.0], np.cumsum(0.1 * (a - a.mean()))[:-1]])
    >>> rows = [(x, name, y) for name, ys in (("A", a), ("B", b), ("C", c)) for x, y in zip(t, ys)]
    >>> found = network(pd.DataFrame(rows, columns=["time", "variable", "value"]), substrates=["B"])
    >>> found.edges[0].source, found.edges[0].target
    ('A', 'B')
    """
    import pandas as pd

    table = check_tidy(data) if isinstance(data, pd.DataFrame) else _read(data)
    if conditions is not None:
        wanted = _checks.known_names(tuple(conditions), list(dict.fromkeys(table["condition"])), "conditions")
        table = table[table["condition"].isin(wanted)]
    table = table[table["value"].notna()]
    proteins = list(dict.fromkeys(table["variable"]))
    if len(proteins) < 2:
        _checks.fail("`data` must have at least two proteins (the column `variable`): one regulates the other")
    acting = _checks.known_names(tuple(enzymes), proteins, "enzymes") if enzymes is not None else tuple(proteins)
    still = _constant(table)
    given = tuple(dict.fromkeys(str(name) for name in ((stimuli,) if isinstance(stimuli, str) else stimuli)))
    for name in given:
        treated(Inhibitor(name, ""), list(dict.fromkeys(table["condition"])), "stimulus")
        if name in proteins:
            _checks.fail(f"`stimuli` has {name!r}, which is a protein of the table: name the treatment otherwise")
    chosen = (
        _checks.known_names(tuple(substrates), proteins, "substrates")
        if substrates is not None
        else [name for name in proteins if name not in still]
    )
    if not chosen:
        _checks.fail("`data` has no level that changes in the course of a condition: there is nothing to explain")
    amounts = {str(name): _validate.positive(value, "totals") for name, value in (totals or {}).items()}
    _checks.known_names(tuple(amounts), proteins, "totals")
    factor = _validate.positive(total, "total")
    if factor < 1.0:
        _checks.fail(f"`total` is in units of the largest level of a protein, so that it is at least 1; got {factor:g}")
    if replicates is not None:
        _validate.choice(replicates, "replicates", ("each", "mean"))
    if explained is None:
        noisy = not truncated and replicates != "each" and scatter_share(table) > SCATTERED
        explained = "levels" if noisy else "rates"
    if explained == "levels" and (truncated or replicates == "each"):
        _checks.fail('`truncated=True` and `replicates="each"` are for rates: add `explained="rates"`, or omit them')
    stopped = as_inhibitors(inhibitors)
    for each in stopped:
        _checks.known_names((each.kinase,), proteins, "inhibitors")
        treated(each, list(dict.fromkeys(table["condition"])))
    folder = None if journal is None else Path(journal)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    task = _Task(
        table, factor, amounts, stopped, acting, "mean" if explained == "levels" else replicates,
        None if max_enzymes is None else _validate.count(max_enzymes, "max_enzymes"),
        _validate.choice(units, "units", ("data", "given")), _validate.choice(rates, "rates", SHARING),
        _validate.choice(explained, "explained", EXPLAINED), _validate.flag(truncated, "truncated"),
        _validate.flag(basal, "basal"), given,
        None if effective is None else _validate.positive(effective, "effective"),
        _believed(inclusion or {}, [*proteins, *given]),
        _validate.count(n, "n", minimum=10), _validate.positive(tol, "tol"), folder,
        _validate.count(rng, "rng", minimum=0),
    )  # fmt: skip
    here = None if folder is not None else executor
    work = partial(_substrate, task, proteins, executor if folder is not None else None)
    found = [substrate for _, substrate in in_order(here, work, list(chosen))]
    settings = {
        "total": factor, "totals": amounts, "inhibitors": [f"{i.name}={i.kinase}:{i.efficacy:g}" for i in stopped],
        "stimuli": list(given), "max_enzymes": max(substrate.max_enzymes for substrate in found),
        "basal": task.basal, "effective": task.effective, "units": task.units, "rates": task.rates,
        "inclusion": [[*((key,) if isinstance(key, str) else key), p] for key, p in task.inclusion.items()],
        "explained": task.explained, "truncated": task.truncated,
        "n": task.n, "tol": task.tol, "rng": task.seed, "conditions": list(dict.fromkeys(table["condition"])),
        "replicates": task.replicates or "each", "constant": [name for name in still if name not in chosen],
    }  # fmt: skip
    return Network(tuple(proteins), tuple(found), settings)


def _believed(inclusion: Mapping[str | tuple[str, str], float], names: list[str]) -> dict[str | tuple[str, str], float]:
    """Return prior inclusion probabilities, checked."""
    for key in inclusion:
        _checks.known_names((key,) if isinstance(key, str) else tuple(dict.fromkeys(key)), names, "inclusion")
    return {key: _validate.probability(p, f"inclusion[{key!r}]") for key, p in inclusion.items()}


def _prior_of(task: _Task, dataset: Dataset) -> dict[str, float] | None:
    """Return the prior inclusion probabilities of the enzymes of one substrate; None where there are none."""
    target = dataset.forms[1]
    own = {name: task.inclusion.get((name, target), task.inclusion.get(name)) for name in dataset.names}
    stated = {name: p for name, p in own.items() if p is not None}
    return stated or None


def _constant(table: pd.DataFrame) -> list[str]:
    """Proteins whose level is the same at all times of a condition, in every condition: no rate to explain."""
    changes = table.groupby(["variable", "condition"], sort=False)["value"].nunique().groupby("variable").max() > 1
    return [str(name) for name in dict.fromkeys(table["variable"]) if not changes[name]]


def _read(path: str | PathLike[str]) -> pd.DataFrame:
    if not isinstance(path, str | PathLike):
        raise TypeError(f"`data` must be the path of a table, or a DataFrame; got {type(path).__name__}")
    from .midas import is_midas, read_midas

    return read_midas(path) if is_midas(path) else read_tidy(path)


def _substrate(task: _Task, proteins: list[str], executor: Executor | None, name: str) -> Substrate:
    """Compare the models of one substrate, and say what is known of its edges."""
    try:
        return _found(task, proteins, executor, name)
    except ValueError as error:
        raise ValueError(f"{error} (the substrate {name!r}: leave it out by naming the other `substrates`)") from error


def _found(task: _Task, proteins: list[str], executor: Executor | None, name: str) -> Substrate:
    dataset = _dataset(task, name)
    comparison = _compared(task, dataset, None if task.journal is None else _journal(task, proteins, name), executor)
    scaled = in_units(dataset.with_rates(task.rates), task.units)[0]
    changed = _changed(comparison, scaled, task)
    q2, without = (_q2(scaled, model) for model in (comparison.best, ()))
    alike = {member: group for group in collinear(dataset) for member in group}
    edges = []
    for row in comparison.inclusion(level=0.95).to_dict(orient="records"):
        source = str(row["name"])
        if source in task.stimuli:
            continue
        under = [p.get(source, 0.0) for p in changed]
        edges.append(
            Edge(
                source, name, float(row["probability"]), float(row["lower"]), float(row["upper"]),
                min([*under, row["probability"]]), max([*under, row["probability"]]), q2,
                tuple(other for other in alike.get(source, ()) if other != source),
            )
        )  # fmt: skip
    best = tuple(str(enzyme) for enzyme in comparison.best)
    error = max(edge.error for edge in edges)
    return Substrate(
        name=name, total=float(np.nanmax(dataset.substrate + dataset.phospho)), edges=tuple(edges), best=best,
        best_probability=float(np.median(comparison.probabilities()[:, comparison.names.index(comparison.best)])),
        q2=q2, q2_without_enzymes=without, n_models=comparison.n_models, points=max(comparison.history()["n"]),
        error=error, decided=error <= task.tol,
        notes=(*dataset.notes, *collinear_note(dataset)), dataset=dataset,
        truncated=comparison.settings["likelihood"] == TRUNCATED, max_enzymes=comparison.settings["max_enzymes"],
    )  # fmt: skip


def _dataset(task: _Task, name: str) -> Dataset:
    own = task.table.loc[task.table["variable"] == name, "value"]
    total = task.totals.get(name, task.total * float(own.max()))
    acting = [enzyme for enzyme in task.enzymes if enzyme != name]
    if not acting:
        _checks.fail(f"no enzyme is left for the substrate {name!r}: name more `enzymes`")
    data = from_tidy(
        task.table, f"unphosphorylated {name}", phospho=name, enzymes=acting, total=total, replicates=task.replicates
    )
    whole = task.explained == "levels"
    data = inhibited(data, [each for each in task.inhibitors if each.kinase in acting], rest=whole)
    return stimulated(data, task.stimuli).with_values(basal=task.basal, explained=task.explained)


def _most_enzymes(task: _Task, dataset: Dataset) -> int:
    if task.max_enzymes is not None:
        return min(task.max_enzymes, dataset.n_enzymes)
    three = sum(comb(dataset.n_enzymes, size) for size in range(4))
    return min(dataset.n_enzymes, 3 if three <= _MANY and not task.truncated else 2)


def _journal(task: _Task, proteins: list[str], name: str) -> Path:
    # By number: the name of a protein need not be one of a file.
    assert task.journal is not None
    return task.journal / f"{proteins.index(name) + 1:03d}.db"


def _compared(task: _Task, dataset: Dataset, journal: Path | None, executor: Executor | None) -> Comparison:
    """Compare with more and more points, until the error of every edge is small enough."""
    rounds = [*(size for size in _ROUNDS if size < task.n), task.n]
    most = _most_enzymes(task, dataset)
    few = sum(comb(dataset.n_enzymes, size) for size in range(most + 1)) <= _MANY
    for n in rounds:
        comparison = compare(
            dataset, max_enzymes=most, units=task.units, rates=task.rates, truncated=task.truncated, checks=False, n=n,
            effective=task.effective, inclusion=_prior_of(task, dataset), rng=task.seed, race=not few,
            executor=executor, journal=journal, progress=False,
        )  # fmt: skip
        edges = comparison.inclusion(level=0.95)
        p, low, high = (edges[name].to_numpy() for name in ("probability", "lower", "upper"))
        if max(np.max(high - p), np.max(p - low)) <= task.tol:
            break
    return comparison


def _changed(comparison: Comparison, scaled: Dataset, task: _Task) -> list[dict[str, float]]:
    """Inclusion probabilities of the enzymes under each change of the priors, among the leading models."""
    score = comparison.evidences.log_median + comparison.log_prior
    order = np.argsort(-score, kind="stable")[:_LEADING]
    names: list[Any] = [comparison.names[i] for i in order]
    models = [scaled.columns(name) for name in names]
    result = []
    power = likelihood_power(scaled, task.effective)
    changes = scores_under_changes(scaled, models, comparison.log_prior[order], truncated=task.truncated, power=power)
    for scores in changes.values():
        share: FloatArray = np.exp(scores - logsumexp(scores))
        own: dict[str, float] = {}
        for name, p in zip(names, share.tolist(), strict=True):
            for enzyme in name:
                own[enzyme] = own.get(enzyme, 0.0) + p
        result.append(own)
    return result


def _q2(scaled: Dataset, model: Iterable[str]) -> float:
    parts, columns = increments(scaled), np.array(scaled.columns(model), dtype=np.intp)
    points, weights, _ = constants_posterior(parts, columns, np.random.default_rng(0))
    return predictive_r2(parts, columns, points, weights)
