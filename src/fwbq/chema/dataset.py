"""Time courses of one substrate, its phosphorylated form and the enzymes that may act on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TextIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _files, _frozen, _html, _validate
from . import _checks
from .replicates import Replicates

if TYPE_CHECKING:
    import pandas as pd

    from .inhibitors import Inhibitor

__all__ = ["Dataset"]

FloatArray = NDArray[np.float64]
Sharing = Literal["shared", "own"]
SHARING: tuple[Sharing, ...] = ("shared", "own")
Explained = Literal["rates", "levels"]
EXPLAINED: tuple[Explained, ...] = ("rates", "levels")


# Arguments of `Dataset` that are attributes of the same name.
_FIELDS = (
    "times", "substrate", "phospho", "enzymes", "names", "condition", "cell_line", "forms", "regulators", "replicates",
    "basal", "log_odds", "explained",
)  # fmt: skip
# Missing values that a note names one by one.
_NAMED = 3


@dataclass(frozen=True, eq=False)
class Dataset:
    r"""Levels at successive times: substrate, phosphorylated substrate and candidate enzymes.

    The kinetic models explain the rate of change of the phosphorylated substrate over each
    interval, :math:`Y_n = (y_{S^*}(t_{n+1}) - y_{S^*}(t_n)) / (t_{n+1} - t_n)`, by the levels at its start. T
    times therefore give N = T - 1 increments. The rows of several conditions (stimuli, cell lines) can be
    stacked: increments are taken within a condition only. All conditions share the constants K; those of one cell
    line share the rates V and the noise sigma too, unless :meth:`with_rates` says that each has its own.

    Parameters
    ----------
    times : (T,) array_like
        Strictly increasing (within each condition).
    substrate, phospho : (T,) array_like
        Levels of the unphosphorylated and of the phosphorylated substrate, not negative; NaN where one was not
        measured. An increment needs all levels at its start and the phosphorylated form at its end: those that a
        missing value touches are left out (:attr:`used`), and :attr:`notes` says so.
    enzymes : (T, E) array_like
        Levels of the active (phosphorylated) enzymes, not negative; NaN as above.
    names : sequence of str, optional
        E different names; ``E1 ... EE`` when not given. Any text is a name.
    condition : sequence of str, optional
        (T,) the condition of every row; one unnamed condition when not given. Rows of a condition need not be
        adjacent, and conditions may have different times, at least three each.
    cell_line : sequence of str, optional
        (T,) the cell line of every row; one when not given. A condition belongs to one cell line.
    rates : {"shared", "own"}, optional
        Whether the conditions of one cell line share the rates V and the noise sigma, or each has its own. Cell lines
        always have their own.
    forms : tuple of two str, optional
        What the substrate and its phosphorylated form are called; ``S`` and ``S*`` when not given.
    regulators : tuple of str, optional
        The true regulators, where they are known (simulated data); never used in the analysis.
    replicates : Replicates, optional
        Levels are means over replicates, and this is how many, and how much their rates scatter: what
        :meth:`from_csv` finds in a column ``replicate``.
    basal : bool, optional
        Whether every model has a basal rate too, at which the substrate is phosphorylated without any of the enzymes.
    log_odds : (E,) array_like, optional
        Log prior odds of the enzymes, for the screen of many models; :func:`fwbq.chema.compare` sets them.
    explained : {"rates", "levels"}, optional
        Whether models explain the rates of change, or the levels of whole courses, which suits noisy data: see
        `fwbq.chema.courses`. :func:`fwbq.chema.network` chooses it.

    Raises
    ------
    ValueError
        Levels that are negative or infinite, or missing so often that a condition has fewer than two increments,
        repeated or disordered times, fewer than three times, names that repeat, shapes that disagree. The message says
        where.

    Examples
    --------
    >>> data = Dataset([0, 1, 2, 4], [1, 0.8, 0.7, 0.6], [0, 0.2, 0.3, 0.4], [[1, 0], [2, 0], [1, 1], [1, 2]])
    >>> data
    Dataset(4 times, 2 enzymes, 1 condition)
    >>> data.names
    ('E1', 'E2')
    >>> data.rates
    array([0.2 , 0.1 , 0.05])
    """

    times: FloatArray
    substrate: FloatArray
    phospho: FloatArray
    enzymes: FloatArray
    names: tuple[str, ...]
    condition: tuple[str, ...]
    cell_line: tuple[str, ...]
    sharing: Sharing
    forms: tuple[str, str]
    regulators: tuple[str, ...] | None
    replicates: Replicates | None
    basal: bool
    log_odds: FloatArray | None
    explained: Explained

    def __init__(
        self,
        times: ArrayLike,
        substrate: ArrayLike,
        phospho: ArrayLike,
        enzymes: ArrayLike,
        names: Sequence[str] | None = None,
        *,
        condition: Sequence[str] | None = None,
        cell_line: Sequence[str] | None = None,
        rates: Sharing = "shared",
        forms: Sequence[str] = ("S", "S*"),
        regulators: Sequence[str] | None = None,
        replicates: Replicates | None = None,
        basal: bool = False,
        log_odds: ArrayLike | None = None,
        explained: Explained = "rates",
    ) -> None:
        t = _checks.numbers(times, "times", 1)
        y_s = _checks.levels(substrate, "substrate", 1, len(t), missing=True)
        y_p = _checks.levels(phospho, "phospho", 1, len(t), missing=True)
        y_e = _checks.levels(enzymes, "enzymes", 2, len(t), missing=True)
        labels = _checks.names(names, y_e.shape[1])
        rows = _checks.row_labels(condition, len(t), "condition")
        lines = _checks.row_labels(cell_line, len(t), "cell_line")
        _checks.nested(rows, lines)
        _checks.time_courses(t, rows)
        for field, value in (
            ("times", _frozen.readonly(t)),
            ("substrate", _frozen.readonly(y_s)),
            ("phospho", _frozen.readonly(y_p)),
            ("enzymes", _frozen.readonly(y_e)),
            ("names", labels),
            ("condition", rows),
            ("cell_line", lines),
            ("sharing", _validate.choice(rates, "rates", SHARING)),
            ("forms", _checks.two_forms(forms)),
            ("regulators", None if regulators is None else _checks.known_names(regulators, labels, "regulators")),
            ("replicates", None if replicates is None else _known(replicates, len(t))),
            ("basal", _validate.flag(basal, "basal")),
            ("log_odds", None if log_odds is None else _validate.vector(log_odds, "log_odds", len(labels))),
            ("explained", _validate.choice(explained, "explained", EXPLAINED)),
        ):
            object.__setattr__(self, field, value)
        if self.n_missing:
            _checks.enough_increments(self.conditions, self.n_increments, self._first_missing())

    def __repr__(self) -> str:
        def plural(count: int, word: str) -> str:
            return f"{count} {word}{'' if count == 1 else 's'}"

        return (
            f"Dataset({plural(len(self.times), 'time')}, {plural(len(self.names), 'enzyme')}, "
            f"{plural(len(self.conditions), 'condition')})"
        )

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        rows = [
            ("times", f"{len(self.times)}, from {self.times.min():.4g} to {self.times.max():.4g}"),
            ("conditions", ", ".join(map(str, self.conditions)) or "1"),
            (f"substrate {self.forms[0]}", f"{np.nanmin(self.substrate):.4g} to {np.nanmax(self.substrate):.4g}"),
            (f"phosphorylated {self.forms[1]}", f"{np.nanmin(self.phospho):.4g} to {np.nanmax(self.phospho):.4g}"),
            ("enzymes", f"{len(self.names)}: {', '.join(self.names)}"),
        ]
        rows += [("data", note) for note in self.notes]
        if self.regulators is not None:
            rows.append(("true regulators", ", ".join(self.regulators)))
        return _html.table(rows, "Dataset")

    @property
    def conditions(self) -> tuple[str, ...]:
        """The different conditions, in the order in which they first appear."""
        return tuple(dict.fromkeys(self.condition))

    @property
    def n_enzymes(self) -> int:
        """Number E of candidate enzymes."""
        return len(self.names)

    @property
    def n_increments(self) -> tuple[int, ...]:
        """Number N of increments of every condition."""
        used = self.used
        return tuple(int(used[rows].sum()) for rows in self.rows())

    @property
    def n_shared(self) -> tuple[int, ...]:
        """Number of increments of every group of conditions with the same rates; see :attr:`groups`."""
        return tuple(sum(self.n_increments[i] for i in group) for group in self.groups)

    @property
    def rates(self) -> FloatArray:
        """Y, the observed rates of change of the phosphorylated substrate, condition after condition."""
        used, slopes = self.used, self.slopes
        return np.concatenate([slopes[r][used[r]] for r in self.rows()])

    @property
    def slopes(self) -> FloatArray:
        """Y of the interval that begins in each row, (T,); NaN where there is none: missing values, last rows."""
        result = np.full(len(self.times), np.nan)
        for r in self.rows():
            result[r[:-1]] = np.diff(self.phospho[r]) / np.diff(self.times[r])
        return result

    @property
    def used(self) -> NDArray[np.bool_]:
        """Whether the interval that begins in each row is an increment of the analysis, (T,)."""
        start = np.isfinite(self.substrate) & np.all(np.isfinite(self.enzymes), axis=1)
        return np.asarray(start & np.isfinite(self.slopes))

    @property
    def n_missing(self) -> int:
        """Number of missing levels."""
        return sum(int(np.isnan(y).sum()) for y in (self.substrate, self.phospho, self.enzymes))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of a result should know of the data: missing values and replicates, a sentence each."""
        said = []
        if self.n_missing:
            whole = len(self.times) - len(self.conditions)
            said.append(
                f"{self.n_missing} missing value{'s' if self.n_missing > 1 else ''} ({self._first_missing()}): "
                f"{whole - int(self.used.sum())} of {whole} increments, which they touch, are left out"
            )
        if self.replicates is not None:
            freedom = int(self.replicates.freedom[self.used].sum())
            said.append(f"replicates: their scatter informs the noise of the rates with {freedom} degrees of freedom")
        return tuple(said)

    def _first_missing(self) -> str:
        names = (*self.forms, *self.names)
        at = np.argwhere(np.isnan(np.column_stack([self.substrate, self.phospho, self.enzymes])))
        said = [
            f"{names[j]} at time {self.times[i]:g}" + (f" in {self.condition[i]}" if self.condition[i] else "")
            for i, j in at[:_NAMED]
        ]
        return "; ".join(said) + ("; ..." if len(at) > _NAMED else "")

    @property
    def cell_lines(self) -> tuple[str, ...]:
        """The different cell lines, in the order in which they first appear."""
        return tuple(dict.fromkeys(self.cell_line))

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Positions in :attr:`conditions` of those that share the rates V and the noise sigma, group by group.

        Examples
        --------
        >>> one, two = Dataset.simulate(3, rng=0), Dataset.simulate(3, rng=1)
        >>> both = Dataset.combine([one, two], ["EGF", "insulin"])
        >>> both.groups, both.with_rates("own").groups
        (((0, 1),), ((0,), (1,)))
        """
        if self.sharing == "own":
            return tuple((i,) for i in range(len(self.conditions)))
        line = dict(zip(self.condition, self.cell_line, strict=True))
        members: dict[str, list[int]] = {}
        for i, name in enumerate(self.conditions):
            members.setdefault(line[name], []).append(i)
        return tuple(map(tuple, members.values()))

    def with_rates(self, rates: Sharing) -> Dataset:
        """Return the same data with rates V and noise sigma shared by the conditions of a cell line, or of their own.

        Parameters
        ----------
        rates : {"shared", "own"}
            Shared rates are right for one kind of cell under several stimuli. With rates of their own, conditions may
            differ in what was not measured, such as the amount of phosphatase, and more of them are needed.
        """
        return self.with_values(rates=rates)

    def with_basal(self, basal: bool = True) -> Dataset:
        """Return the same data with or without a basal rate in every model.

        It is the rate b y_S / (y_S + K), with K the unit of level of the priors, at which the substrate is
        phosphorylated by what was not measured. Its prior is flat, as of an intercept, and it takes one of the
        increments. The same for all models of a group of conditions, it does not change how many enzymes they have.
        """
        return self.with_values(basal=basal)

    def with_values(self, **changes: Any) -> Dataset:
        """Return a data set that differs in these arguments of :class:`Dataset`."""
        given: dict[str, Any] = {name: getattr(self, name) for name in _FIELDS} | {"rates": self.sharing}
        return Dataset(**(given | changes))

    def rows(self) -> list[NDArray[np.intp]]:
        """Rows of each condition, in the order of :attr:`conditions`."""
        labels = np.array(self.condition, dtype=object)
        return [np.flatnonzero(labels == name) for name in self.conditions]

    def split(self) -> tuple[Dataset, ...]:
        """One data set per condition, in the order of :attr:`conditions`."""
        return tuple(self._take(rows) for rows in self.rows())

    def _take(self, rows: NDArray[np.intp], **changes: Any) -> Dataset:
        by_row = ("times", "substrate", "phospho", "enzymes")
        kept: dict[str, Any] = {name: getattr(self, name)[rows] for name in by_row}
        kept |= {name: [getattr(self, name)[i] for i in rows] for name in ("condition", "cell_line")}
        kept["replicates"] = None if self.replicates is None else self.replicates.take(rows)
        return self.with_values(**(kept | changes))

    def select(self, *, enzymes: Sequence[str | int] | None = None, conditions: Sequence[str] | None = None) -> Dataset:
        """Only these enzymes, in this order, and only these conditions.

        Parameters
        ----------
        enzymes : sequence of str or int, optional
            Names or column indices; all when not given.
        conditions : sequence of str, optional
            All when not given.
        """
        columns = range(self.n_enzymes) if enzymes is None else self.columns(enzymes)
        wanted = self.conditions if conditions is None else _checks.known_names(
            conditions, self.conditions, "conditions"
        )  # fmt: skip
        rows = np.array([i for name in wanted for i in range(len(self.times)) if self.condition[i] == name])
        names = [self.names[j] for j in columns]
        truth = self.regulators if self.regulators is not None and set(self.regulators) <= set(names) else None
        return self._take(
            rows, enzymes=self.enzymes[rows][:, list(columns)], names=names, regulators=truth, log_odds=None
        )

    def columns(self, model: Iterable[str | int]) -> tuple[int, ...]:
        """Column indices of a model given by enzyme names or column indices.

        Raises
        ------
        ValueError
            A name that is not in the data, an index out of range, an enzyme named twice.
        """
        return _checks.columns(model, self.names)

    @staticmethod
    def combine(datasets: Sequence[Dataset], labels: Sequence[str] | None = None) -> Dataset:
        """Stack data sets of the same enzymes as conditions of one.

        Parameters
        ----------
        datasets : sequence of Dataset
            With the same enzyme names in the same order.
        labels : sequence of str, optional
            A name for each, put before the name of its own conditions; needed when conditions share a name.

        Examples
        --------
        >>> one, two = Dataset.simulate(3, rng=0), Dataset.simulate(3, rng=1)
        >>> Dataset.combine([one, two], ["MCF7", "BT20"]).conditions
        ('MCF7', 'BT20')
        """
        parts = list(datasets)
        _checks.combinable([d.names for d in parts], labels)
        rows: list[str] = []
        for i, d in enumerate(parts):
            prefix = None if labels is None else str(labels[i])
            rows += [
                name if prefix is None else prefix if len(d.conditions) == 1 else f"{prefix} {name}"
                for name in d.condition
            ]
        if len(dict.fromkeys(rows)) != sum(len(d.conditions) for d in parts):
            _checks.fail("`datasets` have conditions of the same name; give `labels`, one different name for each")
        truths = {d.regulators for d in parts}
        return Dataset(
            np.concatenate([d.times for d in parts]),
            np.concatenate([d.substrate for d in parts]),
            np.concatenate([d.phospho for d in parts]),
            np.concatenate([d.enzymes for d in parts]),
            parts[0].names,
            condition=rows,
            cell_line=[name for d in parts for name in d.cell_line],
            rates=parts[0].sharing,
            forms=parts[0].forms,
            regulators=truths.pop() if len(truths) == 1 else None,
            replicates=Replicates.stacked([d.replicates or Replicates.single(len(d.times)) for d in parts]),
            basal=any(d.basal for d in parts),
            explained=parts[0].explained,
        )

    def normalised(self) -> Dataset:
        """Return the same data in units of their own: levels have mean 1, rates of change a root mean square of 1/3.

        The priors are not free of units: K is expected near 1 in units of the substrate's level, and V near 1 in units
        of level per time per unit of enzyme. In these units the answer does not depend on those of the file. What they
        are is said by :func:`fwbq.chema.natural_units`; :func:`fwbq.chema.compare` takes them by default.

        Examples
        --------
        >>> data = Dataset.example().rescaled(time=60.0, level=1e-3).normalised()
        >>> bool(np.isclose(data.phospho.mean(), 1.0)), bool(np.isclose(np.mean(data.rates**2), 1 / 9))
        (True, True)
        """
        from .units import normalised

        return normalised(self)

    def rescaled(
        self, *, time: float = 1.0, level: float = 1.0, phospho: float | None = None, enzymes: ArrayLike = 1.0
    ) -> Dataset:
        """Return the same data in other units: everything is divided by what is given.

        Parameters
        ----------
        time : float
            The new unit of time, in the old one.
        level : float
            The new unit of the substrate and, unless `phospho` is given, of its phosphorylated form.
        phospho : float, optional
            The new unit of the phosphorylated form.
        enzymes : float or (E,) array_like
            The new unit of every enzyme.
        """
        unit = np.broadcast_to(np.asarray(enzymes, dtype=np.float64), (self.n_enzymes,))
        for j in range(self.n_enzymes):
            _validate.positive(float(unit[j]), "enzymes")
        t_unit, y_unit = _validate.positive(time, "time"), _validate.positive(level, "level")
        p_unit = y_unit if phospho is None else _validate.positive(phospho, "phospho")
        return self.with_values(
            times=self.times / t_unit, substrate=self.substrate / y_unit, phospho=self.phospho / p_unit,
            enzymes=self.enzymes / unit,
            replicates=None if self.replicates is None else self.replicates.rescaled(p_unit / t_unit),
        )  # fmt: skip

    def inhibited(self, inhibitors: Iterable[Inhibitor | str]) -> Dataset:
        """Return the data with the activity of inhibited kinases lowered, in the conditions that were treated.

        Parameters
        ----------
        inhibitors : iterable of Inhibitor or str
            Text is ``NAME=KINASE`` or ``NAME=KINASE:efficacy``; see :class:`fwbq.chema.Inhibitor`.

        Examples
        --------
        >>> plain = Dataset.simulate(3, rng=0, condition="EGF")
        >>> both = Dataset.combine([plain, plain], ["EGF", "EGF+AKTi"]).inhibited(["AKTi=E2:0.9"])
        >>> bool(np.allclose(both.enzymes[21:, 1], 0.1 * both.enzymes[:21, 1]))
        True
        """
        from .inhibitors import inhibited

        return inhibited(self, inhibitors)

    @staticmethod
    def from_frame(
        frame: pd.DataFrame,
        substrate: str = "S",
        *,
        phospho: str | None = None,
        enzymes: Sequence[str] | None = None,
        total: float | None = None,
        conditions: Sequence[str] | None = None,
        replicates: str | None = None,
    ) -> Dataset:
        """Read a tidy table; the parameters are those of :meth:`from_csv`."""
        from .tidy import from_tidy

        return from_tidy(
            frame, substrate, phospho=phospho, enzymes=enzymes, total=total, conditions=conditions,
            replicates=replicates,
        )  # fmt: skip

    @staticmethod
    def from_csv(
        path: str | PathLike[str],
        substrate: str = "S",
        *,
        phospho: str | None = None,
        enzymes: Sequence[str] | None = None,
        total: float | None = None,
        conditions: Sequence[str] | None = None,
        replicates: str | None = None,
    ) -> Dataset:
        r"""Read a tidy CSV file: columns time, variable, value and, if there are any, condition, replicate, cell_line.

        Conditions of one cell line share their rates, unless :meth:`with_rates` says otherwise; a condition that
        several cell lines have is called by the cell line and its own name.

        Parameters
        ----------
        path : path
            Of the file.
        substrate : str
            The variable that is the unphosphorylated substrate.
        phospho : str, optional
            The variable that is its phosphorylated form; by default the substrate's name with a star, ``S*``.
        enzymes : sequence of str, optional
            The candidate enzymes; by default every other variable, in the order of the file.
        total : float, optional
            Total substrate, when only the phosphorylated form was measured: then y_S = total - y_S*. This is an
            assumption and must be stated with the result.
        conditions : sequence of str, optional
            Only these; by default all.
        replicates : {"each", "mean"}, optional
            What is made of the column ``replicate``. "each", the default: the rates of every replicate are in the
            likelihood, so that their scatter informs the noise, and levels at the start of an interval are means over
            replicates. "mean": averages, as if they had been measured once.

        Examples
        --------
        >>> import io
        >>> rows = ["0,S,1", "0,S*,0", "0,AKT,1", "1,S,.8", "1,S*,.2", "1,AKT,2", "2,S,.7", "2,S*,.3", "2,AKT,1"]
        >>> table = "\n".join(["time,variable,value", *rows])
        >>> Dataset.from_csv(io.StringIO(table)).names
        ('AKT',)
        """
        from .tidy import from_tidy, read_tidy

        return from_tidy(
            read_tidy(path), substrate, phospho=phospho, enzymes=enzymes, total=total, conditions=conditions,
            replicates=replicates,
        )  # fmt: skip

    @staticmethod
    def from_midas(
        path: str | PathLike[str],
        substrate: str = "S",
        *,
        phospho: str | None = None,
        enzymes: Sequence[str] | None = None,
        total: float | None = None,
        conditions: Sequence[str] | None = None,
        replicates: str | None = None,
    ) -> Dataset:
        """Read a MIDAS file (columns ``TR:``, ``DA:``, ``DV:``).

        Every combination of treatments is a condition, named by the cell line and the treatments that are on;
        rows that repeat a condition and a time are replicates. The parameters are those of :meth:`from_csv`.
        """
        from .midas import read_midas
        from .tidy import from_tidy

        return from_tidy(
            read_midas(path), substrate, phospho=phospho, enzymes=enzymes, total=total, conditions=conditions,
            replicates=replicates,
        )  # fmt: skip

    def to_frame(self, substrate: str | None = None, phospho: str | None = None) -> pd.DataFrame:
        """Return a tidy table (time, variable, value, condition, cell_line) of everything measured.

        Parameters
        ----------
        substrate, phospho : str, optional
            Names to give to the substrate and its phosphorylated form, instead of `forms`; no enzyme may bear
            them. With `substrate` alone the other is the same with a star.
        """
        from .tidy import to_tidy

        return to_tidy(self, substrate, phospho)

    def to_csv(
        self, path: str | PathLike[str] | TextIO, substrate: str | None = None, phospho: str | None = None
    ) -> None:
        """Write :meth:`to_frame` to a file, or to an open one; :meth:`from_csv` gives the same numbers bit for bit."""
        text = self.to_frame(substrate, phospho).to_csv(index=False)
        if isinstance(path, str | PathLike):
            _files.write(path, text)
        else:
            path.write(text)

    @staticmethod
    def simulate(n_enzymes: int = 26, *, rng: int | np.random.Generator | None = None, **settings: Any) -> Dataset:
        """Simulate measurements with known regulators; see :func:`fwbq.chema.simulate.simulate`.

        Examples
        --------
        >>> data = Dataset.simulate(n_enzymes=26, rng=1, regulators=("E3", "E17"), noise=0.02)
        >>> data.regulators
        ('E3', 'E17')
        """
        from .simulate import simulate

        return simulate(n_enzymes, rng=rng, **settings)

    @staticmethod
    def example() -> Dataset:
        """Return the simulated set that comes with the package: 26 enzymes of which two regulate.

        Examples
        --------
        >>> Dataset.example()
        Dataset(21 times, 26 enzymes, 1 condition)
        """
        from .simulate import EXAMPLE

        with as_file(files("fwbq") / "data" / "simulated26.csv") as path:
            data = Dataset.from_csv(path)
        regulators = _checks.known_names(EXAMPLE["regulators"], data.names, "regulators")
        object.__setattr__(data, "regulators", regulators)
        return data


def _known(replicates: Replicates, n_times: int) -> Replicates:
    """Refuse anything but replicates with a row for each time."""
    _validate.instance(replicates, "replicates", Replicates, "leave it out where nothing was measured twice")
    if len(replicates.weight) != n_times:
        _checks.fail(f"`replicates` has {len(replicates.weight)} rows but there are {n_times} times")
    return replicates
