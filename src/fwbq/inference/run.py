"""The run as a dialogue: ask for points, tell log likelihoods, have the evidence at any time."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _html, _validate
from .._lock import Lock
from .._reason import Reason
from .._threads import one_blas_thread
from ..designs import checked_design
from ..integration.state import refuse_not_waiting, require, whole_numbers
from ..kernels import Kernel, Stationary, named
from ..measures import Measure, as_prior
from ..posterior import AnyAmplitude, checked_amplitude
from . import files, memory
from .chart import Chart, NoPrior, chart_of
from .data import Data
from .gradient_way import GradientWay
from .joint_process import families_of
from .parts import Parts
from .result import Evidence
from .settings import Proposal, Settings
from .start import refuse_outside
from .tuning import TUNING
from .value_way import ValueWay

Array = NDArray[np.float64]

#: Evaluations planned for when `n` is not given.
DEFAULT_N = 200


@dataclass(frozen=True, eq=False)
class Batch:
    """A proposal whose points wait for their values.

    Attributes
    ----------
    proposal : Proposal
    start : int
        Row of the data in which the first of its points stands; the others follow.
    handed_out : int
        How many of them `ask` has returned.
    """

    proposal: Proposal
    start: int
    handed_out: int = 0

    @property
    def rows(self) -> slice:
        """The rows of its points in the data."""
        return slice(self.start, self.start + len(self.proposal.z))


class EvidenceRun:
    r"""An evidence in progress: `ask` for points, `tell` log likelihoods, take the `result` at any time.

    A few points spread over the prior; a climb from the best of them to a mode of the log joint density, and from
    others that the mode does not explain; then rounds of sequential Bayesian quadrature under the posterior that a
    Gaussian process on the log joint density describes. Every evaluation is data for the process.

    Parameters
    ----------
    prior : Measure or frozen scipy.stats distribution, optional
        The prior. Without one the function is a log joint density on R^d, and `start` says where to begin.
    n : int, optional
        Evaluations planned, by which they are shared between spread, climbs and rounds; 200 by default.
    start : (d,) array_like, optional
        A point of high density. With a prior it is one more point of the spread.
    scale : float or (d,) array_like, optional
        Without a prior, a guess of the width of the posterior; 1 by default.
    kernel : Kernel, class of kernel or str, optional
        ``fwbq.ExpQuad``, ``fwbq.Matern52`` or another, whose length-scales are found from the values; by default these
        two are weighed by their likelihood. A kernel such as ``fwbq.Matern52([0.1, 2.0])`` is used as it is, on the
        parameters.
    design : callable, optional
        ``design(embedding, rng=...)``, e.g. `fwbq.FrankWolfe`, in place of sequential Bayesian quadrature. Its
        embedding is of a table of covariances under nodes of the posterior.
    amplitude : {"calibrated", "marginal", "ml", "loo"} or float, optional
        The factor on the kernel's variance: the likelihood's ("marginal", "ml"), that of leave-one-out predictions near
        the top ("loo"), the larger of these ("calibrated", the default), or a number. Predictions that turn out worse
        than stated widen the error in any case.
    rng : None, int or numpy.random.Generator
        Seed of all points.
    quick : bool
        Take a quarter of the nodes for a result, as comparisons of many models do: the sum over them is then known to
        about 1e-3 instead of 1e-4.
    gradient : bool
        Whether gradients are told with the values, for up to thirty parameters: climbs follow the gradients, and the
        points are draws under a surrogate of values and gradients, the last of which judge it. `kernel`, `design` and
        `amplitude` are for values alone and are refused.
    without : iterable of str
        Parts of the engine to switch off, named in `fwbq.inference.PARTS`. Made for the study that measures what each
        part is worth: results without a part may be wrong where it was needed.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> run = fwbq.EvidenceRun(fwbq.Gaussian([0.0], [[1.0]]), n=20, rng=0)
    >>> while run.n_evaluations < 20:
    ...     x = run.ask()
    ...     run.tell(x, -0.5 * ((x[:, 0] - 0.3) / 0.01) ** 2)
    >>> truth = 0.5 * np.log(0.01**2 / (1 + 0.01**2)) - 0.5 * 0.09 / (1 + 0.01**2)
    >>> print(f"{run.result().log_evidence:.5f}, exact {truth:.5f}")
    -4.65022, exact -4.65022
    """

    def __init__(
        self,
        prior: Measure | None = None,
        *,
        n: int | None = None,
        start: ArrayLike | None = None,
        scale: ArrayLike | None = None,
        kernel: Kernel | type[Stationary] | str | None = None,
        design: Callable[..., Any] | None = None,
        amplitude: AnyAmplitude = "calibrated",
        rng: Any = None,
        quick: bool = False,
        gradient: bool = False,
        without: Iterable[str] = (),
    ) -> None:
        prior = None if prior is None else as_prior(prior)
        chosen: Kernel | type[Stationary] | None = named(kernel, Stationary)
        planned = _validate.count(DEFAULT_N if n is None else n, "n")
        parts = Parts.checked(without)
        gradient = _validate.flag(gradient, "gradient")
        self._lock = Lock()
        self._arguments = {
            "prior": prior, "n": planned, "start": start, "scale": scale, "kernel": chosen, "design": design,
            "amplitude": amplitude, "quick": quick, "gradient": gradient, "without": tuple(parts.without),
        }  # fmt: skip
        chart, begin = _chart(prior, start, scale)
        if gradient:
            _refuse_options_of_values(chart, chosen, design, amplitude)
        settings = Settings(
            planned, begin, families_of(chosen, chart), checked_amplitude(amplitude), checked_design(design), quick,
            parts, [int(word) for word in _validate.generator(rng).integers(2**63, size=2)],
        )  # fmt: skip
        self._way: ValueWay | GradientWay = GradientWay(chart, settings) if gradient else ValueWay(chart, settings)
        self._data = Data.nothing(chart)
        self._batch: Batch | None = None
        self._ended: str | None = None
        self._answer: tuple[tuple[int, int, bool], Evidence] | None = None  # the last one, by values and failures

    def __repr__(self) -> str:
        end = f"; {self.ended}" if self.ended is not None else ""
        parameters = f"{self.dim} parameter{'s' if self.dim > 1 else ''}"
        return f"<EvidenceRun of {parameters}: {self.n_evaluations} values known{end}>"

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        prior = self._arguments["prior"]
        rows = [
            ("parameters", str(self.dim)),
            ("prior", "within the log joint density" if prior is None else repr(prior)),
            ("values known", f"{self.n_evaluations} of {self._arguments['n']} planned"),
        ]
        return _html.table([*rows, *([("ended", self.ended)] if self.ended is not None else [])], title="EvidenceRun")

    @property
    def dim(self) -> int:
        """Number of parameters."""
        return self._data.dim

    @property
    def n_evaluations(self) -> int:
        """Number of points at which values are known."""
        return int(np.sum(~np.isnan(self._data.values)))

    @property
    def ended(self) -> str | None:
        """Why there is nothing left to ask (every point of a sample is evaluated), or None."""
        return self._ended

    @property
    def between_rounds(self) -> bool:
        """Whether the climbs are over and every point asked for is told: a good moment to look at the `result`."""
        return self._batch is None and self._way.rounds > 0

    # Asking and telling

    @one_blas_thread
    def ask(self, batch: int | None = None) -> Array:
        """Return the points to evaluate next, in the user's parameters.

        Parameters
        ----------
        batch : int, optional
            At most this many; by default all that can be evaluated side by side.

        Returns
        -------
        (k, d) array
            Empty while points that were asked for before have not been told, or when the run has `ended`.
        """
        most = None if batch is None else _validate.count(batch, "batch")
        with self._lock:
            if self._batch is None and self._ended is None:
                proposal = self._way.propose(self._data)
                if proposal is None:
                    self._ended = Reason.EXHAUSTED.sentence(n=self.n_evaluations)
                else:
                    self._batch = Batch(proposal, len(self._data))
                    self._data = self._data.asked(proposal.z)
            if self._batch is None:
                return np.empty((0, self.dim))
            points = self._data.x[self._batch.rows][self._batch.handed_out :][:most]
            self._batch = replace(self._batch, handed_out=self._batch.handed_out + len(points))
            return np.array(points)

    @one_blas_thread
    def tell(self, points: ArrayLike, values: ArrayLike, gradients: ArrayLike | None = None) -> None:
        """Add log likelihoods.

        Parameters
        ----------
        points : array_like, shape (k, d)
            Points that `ask` returned, in any order and any portions, or others of one's own.
        values : array_like, shape (k,)
            Log likelihoods; minus infinity, or less than -1e100, is a likelihood of zero.
        gradients : array_like, shape (k, d), optional
            Gradients of the log likelihood with respect to the parameters, needed when the run was made with
            ``gradient=True``. Where one is NaN or infinite the value is used without it.

        Raises
        ------
        ValueError
            For NaN, plus infinity, another number of values than points, or another value than before for a point, and
            for gradients that are missing. Nothing is then added.
        WrongGradient
            When the gradients contradict the values: another sign or factor, a forgotten Jacobian.
        """
        x = _validate.points(points, "points", self.dim) + 0.0
        ell = _validate.log_values(values, "values", len(x))
        ell = np.where(ell < TUNING.depth.zero, -np.inf, ell)
        if gradients is None and isinstance(self._way, GradientWay):
            raise ValueError(
                "`gradients` are missing: the run was made with `gradient=True`. Pass an array (k, d), with rows of "
                "NaN where there is no gradient, or make the run without `gradient`"
            )
        slopes = None if gradients is None else _gradients(gradients, x.shape)
        with self._lock:
            self._data = self._data.told(x, ell, slopes)
            self._digest()

    def skip(self, points: ArrayLike) -> None:
        """Give up points that `ask` returned and that have no value.

        Parameters
        ----------
        points : array_like, shape (k, d)

        Raises
        ------
        ValueError
            For a point that was not asked for, or that has a value. Nothing is then given up.
        """
        x = _validate.points(points, "points", self.dim) + 0.0
        with self._lock:
            handed_out = 0 if self._batch is None else self._batch.start + self._batch.handed_out
            waiting = self._data.waiting & (np.arange(len(self._data)) < handed_out)
            refuse_not_waiting(x, {row.tobytes() for row in self._data.x[waiting]})
            self._data = self._data.given_up(x)
            self._digest()

    @one_blas_thread
    def _digest(self) -> None:
        """Let the way learn from a batch once all of its points have a value, or failed."""
        batch = self._batch
        if batch is None or self._data.waiting[batch.rows].any():
            return
        self._batch = None
        self._way.learn(batch.proposal, self._data, batch.start)
        if self._way.chart is not self._data.chart:
            self._data = self._data.on(self._way.chart)

    # Saving and loading

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run to a JSON file: its arguments, its data, and what it remembers, exact to the bit.

        Raises
        ------
        ValueError
            When prior, kernel or design cannot be written down (a design must be a class of fwbq).
        """
        with self._lock:
            batch = None
            if self._batch is not None:
                proposal = self._batch.proposal
                batch = {
                    "proposer": proposal.proposer, "size": len(proposal.z), "climbs": memory.plain(proposal.climbs),
                    "exploring": proposal.exploring, "start": self._batch.start, "handed_out": self._batch.handed_out,
                }  # fmt: skip
            remembered = {**memory.record(self._way), "ended": self._ended}
            entropy, data = self._way.settings.entropy, files.data_record(self._data)
            files.write(path, files.Snapshot(self._arguments, entropy, data, batch, remembered))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a run written by `save`; it goes on as that one would, and nothing is evaluated or computed again.

        Raises
        ------
        ValueError
            When the file is not of a run, was damaged, or names something that fwbq does not know.

        Warns
        -----
        RuntimeWarning
            When the file was written by an older version, which kept a list of what happened. All values are kept, and
            the run goes on from them with other points than it would have.

        Examples
        --------
        >>> import pathlib, tempfile, numpy as np, fwbq
        >>> run = fwbq.EvidenceRun(fwbq.Gaussian([0.0], [[1.0]]), n=20, rng=0)
        >>> x = run.ask()
        >>> run.tell(x, -(x[:, 0] ** 2))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run.save(pathlib.Path(folder) / "run.json")
        ...     again = fwbq.EvidenceRun.load(pathlib.Path(folder) / "run.json")
        >>> bool(np.all(again.ask() == run.ask()))
        True
        """
        snapshot = files.read(path)
        try:
            run = cls(**snapshot.settings)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"`path` {os.fspath(path)!r} is damaged: its arguments do not fit ({error}); pass a file written by "
                "EvidenceRun.save(path)"
            ) from error
        run._way.reseed(snapshot.entropy)
        if snapshot.memory is None:
            run._data = files.older_data(snapshot.data, run._data.chart)
            warnings.warn(
                "the file was written by an older version, which chooses other points: its values are kept, and the "
                "run goes on from them with points of its own",
                RuntimeWarning,
                stacklevel=2,
            )
            return run
        try:
            run._remember(snapshot)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
            damage = (
                str(error) if "is damaged" in str(error) else f"is damaged: its memory does not fit ({error!r:.80})"
            )
            raise ValueError(
                f"`path` {os.fspath(path)!r} {damage}; pass a file written by EvidenceRun.save(path)"
            ) from error
        return run

    @one_blas_thread
    def _remember(self, snapshot: files.Snapshot) -> None:
        """Take in data, batch and memory of a snapshot."""
        assert snapshot.memory is not None
        self._data = files.recorded_data(snapshot.data, self._data.chart)
        self._data = memory.recall(self._way, snapshot.memory, self._data)
        ended = snapshot.memory["ended"]
        require(ended is None or isinstance(ended, str), "ended is not a text")
        self._ended = ended
        waiting = int(self._data.waiting.sum())
        if snapshot.batch is None:
            require(waiting == 0, "waiting points belong to no batch")
            return
        record = snapshot.batch
        start, size, exploring, handed_out = whole_numbers(
            [record[name] for name in ("start", "size", "exploring", "handed_out")], "batch", 1 + len(self._data)
        )
        require(handed_out <= size and start + size <= len(self._data), "a batch has more points than there are")
        climbs = tuple((int(number), int(count)) for number, count in record["climbs"])
        proposal = Proposal(str(record["proposer"]), self._data.z[start : start + size], climbs, exploring)
        require(self._way.takes(proposal), "a batch is of no climb")
        self._batch = Batch(proposal, start, handed_out)
        require(waiting == int(self._data.waiting[self._batch.rows].sum()) > 0, "waiting points belong to no batch")

    # The result

    @one_blas_thread
    def result(self, reason: Reason | None = None, *, tol: float | None = None, rough: bool = False) -> Evidence:
        """Return the evidence given all values told so far.

        Parameters
        ----------
        reason : Reason, optional
            Why the run ended, as the caller knows it.
        tol : float, optional
            The tolerance that was asked for, for the words of the status.
        rough : bool
            Whether the few nodes are enough by which points are chosen, as for a model that cannot win a comparison. It
            takes half of the time; what the sum over few nodes leaves open is a part of the error.
        """
        with self._lock:
            return self._current(rough=rough).ending(reason, tol)

    def release(self) -> None:
        """Forget the result that was computed last, most of whose memory are its nodes; `result` computes it anew.

        Examples
        --------
        >>> import numpy as np, fwbq
        >>> run = fwbq.EvidenceRun(fwbq.Gaussian([0.0], [[1.0]]), n=10, rng=0)
        >>> x = run.ask()
        >>> run.tell(x, -x[:, 0] ** 2)
        >>> before = run.result().log_evidence
        >>> run.release()
        >>> run.result().log_evidence == before
        True
        """
        with self._lock:
            self._answer = None

    def _current(self, *, rough: bool) -> Evidence:
        """Return the evidence given all values, computed once for each number of them and of failures."""
        state = self.n_evaluations, int(self._data.failed.sum()), rough
        if self._answer is None or self._answer[0] != state:
            if not state[0]:
                raise ValueError("no log likelihood is known yet: call `ask` and `tell` first")
            # The values of a batch count even while other points of it are still being evaluated.
            self._answer = state, self._way.conclude(self._data, complete=self._batch is None, rough=rough)
        return self._answer[1]


def _chart(prior: Measure | None, start: ArrayLike | None, scale: ArrayLike | None) -> tuple[Chart, Array | None]:
    """Return the chart of a prior, or of none, and the start (1, d) in its coordinates where it has a place there."""
    if prior is None:
        if start is None:
            raise ValueError(
                "`start` is missing: without a prior the function is a log joint density on R^d, and the search "
                "needs a point of high density; pass e.g. start=np.zeros(d)"
            )
        begin = _validate.vector(start, "start")
        width = 1.0 if scale is None else _validate.positive_scalar_or_vector(scale, "scale")
        if np.size(width) not in (1, len(begin)):
            raise ValueError(
                f"`scale` must be one number, or one for each of the {len(begin)} parameters, got {np.size(width)}"
            )
        return NoPrior(begin, width), None
    if scale is not None:
        raise ValueError("`scale` goes with a log joint density without a prior: leave it out")
    chart = chart_of(prior)
    if start is None:
        return chart, None
    begin = _validate.points(np.atleast_2d(np.asarray(start, dtype=float)), "start", chart.dim)
    refuse_outside(prior, begin[0])
    return chart, chart.from_user(begin)


def _refuse_options_of_values(
    chart: Chart,
    kernel: Kernel | type[Stationary] | None,
    design: Callable[..., Any] | None,
    amplitude: AnyAmplitude,
) -> None:
    """Refuse what has no meaning for the way of gradients."""
    given = {"kernel": kernel is not None, "design": design is not None, "amplitude": amplitude != "calibrated"}
    for name in (name for name, is_given in given.items() if is_given):
        raise ValueError(
            f"`{name}` goes with values alone: with `gradient=True` points are draws under a surrogate with a kernel "
            f"of its own. Leave out `{name}`, or `gradient`"
        )
    if chart.discrete:
        raise ValueError(
            "`gradient=True` needs a prior with a density, or none, and a sample has no density: leave out `gradient`"
        )


def _gradients(gradients: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return gradients (k, d) with rows of NaN where they are not finite."""
    found = np.array(gradients, dtype=float)
    if found.shape != shape:
        raise ValueError(f"`gradients` must have a row for each of the points, shape {shape}, got {found.shape}")
    found[~np.isfinite(found).all(axis=1)] = np.nan
    return found
