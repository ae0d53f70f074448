"""What an integration returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _frozen, _html, _validate
from .._reason import Reason
from .._threads import one_blas_thread
from ..kernels import Kernel
from ..posterior import AveragedPosterior, ColumnPosteriors, IntegralPosterior, stated, written
from ..rules import Rule

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ..posterior import Estimate
    from .exceedance import Exceedance
    from .fitted import FittedProcess
    from .functionals.functionals import Functionals
    from .functionals.sobol import SobolIndices
    from .model import KernelModel

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class IntegrationResult:
    """The posterior of an integral, and how it came about.

    Attributes
    ----------
    posterior : IntegralPosterior, AveragedPosterior or ColumnPosteriors
        The distribution of the integral, or of m integrals; `mean`, `sd` and `interval` are its own.
    rule : Rule
        The Bayesian quadrature rule of `kernel` on the points evaluated. When several kernels were averaged, `mean` is
        the average of their rules' estimates, and this is the rule of the most probable one (for m integrals jointly).
    kernel : Kernel
        The kernel that was given, or the most probable one; like `rule` and `points` in the coordinates of f. For a
        Gaussian measure with correlated coordinates and no kernel given it is a `fwbq.kernels.Whitened` kernel.
    points : (n, d) array
        Where f was evaluated.
    values : (n,) or (n, m) array
        Its values there.
    status : str
        Why it stopped, and anything that a reader should know.
    n_skipped : int
        Points at which f failed, under ``on_error="skip"``.
    reason : Reason
        Why it stopped, for programs: the sentence of this member begins the status.
    success : bool
        Whether what was asked for was reached: the tolerance if there was one, else all evaluations that were asked
        for or could be of use.
    model : KernelModel or None
        What was believed before any value was known: `process` and `at` come from it. None for a net.
    target : Exceedance or None
        The event whose probability `mean` is; None when `mean` is the integral of f.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> result = fwbq.integrate(lambda x: np.cos(x[:, 0]), fwbq.Gaussian([0.0], [[1.0]]), n=20, rng=0)
    >>> round(result.mean, 4), result.n_evaluations, result.success  # the exact value is exp(-1/2) = 0.6065
    (0.6065, 20, True)
    """

    posterior: IntegralPosterior | AveragedPosterior | ColumnPosteriors | Estimate
    rule: Rule
    kernel: Kernel
    points: FloatArray
    values: FloatArray
    status: str
    n_skipped: int = 0
    reason: Reason = Reason.OPEN
    success: bool = True
    model: KernelModel | None = field(default=None, repr=False)
    target: Exceedance | None = None

    def __post_init__(self) -> None:
        _frozen.lock(self)

    @property
    def mean(self) -> Any:
        """The estimate: a float, or an (m,) array."""
        return self.posterior.mean

    @property
    def sd(self) -> Any:
        """Posterior standard deviation."""
        return self.posterior.sd

    @property
    def n_evaluations(self) -> int:
        """Number of points at which f is known."""
        return len(self.points)

    @property
    def effective_size(self) -> float:
        """Number of equally probable kernels that the answer is averaged over, in effect (of the worst integral).

        One when the kernel was given; close to one, a single kernel decides, and the average adds nothing.
        """
        return self.posterior.effective_size

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return the central interval that holds the integral with probability `level`."""
        return self.posterior.interval(level)

    def summary(self) -> str:
        """Return the answer in a few readable lines.

        Examples
        --------
        >>> import numpy as np, fwbq
        >>> result = fwbq.integrate(lambda x: abs(x[:, 0] - 0.3), fwbq.Uniform([0.0], [1.0]), n=12, rng=0)
        >>> print(result.summary().splitlines()[2])
        evaluations   12
        """
        lines = []
        found = written(self.mean, self.sd, *self.interval(0.95))
        for j, (m, sd, low, high) in enumerate(found):
            label = self._label if len(found) == 1 else f"integral {j + 1}"
            lines.append(f"{label:<13} {m} ± {sd}")
            lines.append(f"95 % interval [{low}, {high}]")
        skipped = f" ({self.n_skipped} skipped)" if self.n_skipped else ""
        lines.append(f"evaluations   {self.n_evaluations}{skipped}")
        lines.append(f"kernel        {self.kernel!r}")
        lines.append(f"kernels       {self.effective_size:.2g} in the average, in effect")
        lines.append(f"success       {self.success} ({self.reason.name})")
        lines.append(f"status        {self.status}")
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """Return the points and values as a table: columns x1, ..., xd and value, or value1, ..., valuem.

        Where the measure names its inputs, the columns have these names.

        Examples
        --------
        >>> import numpy as np, fwbq
        >>> result = fwbq.integrate(lambda x: x[:, 0] ** 2, fwbq.Uniform([0.0], [1.0]), n=12, rng=0)
        >>> frame = result.to_frame()
        >>> list(frame.columns), bool(np.allclose(frame.value, frame.x1**2))
        (['x1', 'value'], True)
        """
        import pandas as pd

        columns = dict(zip(self.rule.names, self.points.T, strict=True))
        if self.values.ndim == 1:
            columns["value"] = self.values
        else:
            columns |= {f"value{j + 1}": f for j, f in enumerate(self.values.T)}
        return pd.DataFrame(columns)

    @cached_property
    @one_blas_thread
    def process(self) -> FittedProcess:
        """The process on f, given its values: the distribution of f at any point, and draws of whole functions.

        Computed at the first use, by one more fit. Only for one integrand with at least three values.
        """
        return self._some_model().fitted(self.points, self.values)

    @one_blas_thread
    def at(self, n: int) -> IntegrationResult:
        """Return what the first `n` evaluations alone would have given.

        Examples
        --------
        >>> import numpy as np, fwbq
        >>> result = fwbq.integrate(lambda x: np.cos(x[:, 0]), fwbq.Gaussian([0.0], [[1.0]]), n=20, rng=0)
        >>> result.at(10).n_evaluations, bool(result.at(10).sd > result.sd)
        (10, True)
        """
        count = _validate.count(n, "n")
        if count > self.n_evaluations:
            raise ValueError(f"`n` must be at most the {self.n_evaluations} evaluations there are, got {count}")
        model = self._some_model()
        conclude = model.conclude if self.target is None else partial(self.target.conclude, model)
        return replace(conclude(self.points[:count], self.values[:count]), model=model)

    @cached_property
    def _functionals(self) -> Functionals:
        from .functionals.functionals import Functionals

        return Functionals(self)

    @one_blas_thread
    def variance(self) -> Estimate:
        r"""Return the variance of f under the measure, :math:`\int f^2\,dp - (\int f\,dp)^2`, with its error.

        This and the other functionals come from the same evaluations as the mean. Functions are drawn from the fitted
        process (`process`), the functional of each is computed on thousands of nodes, and the error is what differs
        between them, widened as that of the mean is. A net has no process: there the functionals are those of its
        values, with a wider error. For m columns of values each functional has m numbers.

        Examples
        --------
        >>> import numpy as np, fwbq
        >>> result = fwbq.integrate(lambda x: np.exp(x[:, 0]), fwbq.Uniform([0.0], [1.0]), n=20, rng=0)
        >>> truth = (np.e**2 - 1) / 2 - (np.e - 1) ** 2
        >>> low, high = result.variance().interval(0.95)
        >>> bool(low < truth < high)
        True
        """
        return self._functionals.variance()

    @one_blas_thread
    def std(self) -> Estimate:
        """Return the standard deviation of f under the measure, with its error; see :meth:`variance`.

        It says how much f varies with its inputs. How far off the estimate of the integral may be is `sd`.
        """
        return self._functionals.std()

    @one_blas_thread
    def probability(self, *, above: float | None = None, below: float | None = None) -> Estimate:
        """Return the probability that f is above, or below, a threshold, with its error; see :meth:`variance`.

        Small probabilities are computed on nodes that are moved into the tail. The interval stays within 0 and 1, and
        has a width also when no value has met the event: it reaches at least to what the evaluations may have missed.

        Parameters
        ----------
        above, below : float
            The threshold; exactly one of the two.

        Examples
        --------
        >>> import numpy as np, fwbq
        >>> result = fwbq.integrate(lambda x: x[:, 0] + x[:, 1], fwbq.Gaussian([0.0, 0.0], np.eye(2)), n=20, rng=0)
        >>> low, high = result.probability(above=3.0).interval(0.95)
        >>> bool(low < 0.016947 < high)
        True
        """
        return self._functionals.probability(above, below)

    @one_blas_thread
    def quantile(self, q: float) -> Estimate:
        """Return the value that f stays below with probability `q`, with its error; see :meth:`variance`.

        Parameters
        ----------
        q : float
            Between 0 and 1, both excluded.
        """
        return self._functionals.quantile(q)

    @one_blas_thread
    def sobol(self, names: Sequence[str] | None = None) -> SobolIndices:
        """Return how much of the variance of f each input makes: first-order and total Sobol indices.

        Parameters
        ----------
        names : sequence of str, optional
            Names of the inputs; by default those of the measure.

        Returns
        -------
        SobolIndices
            With `first` and `total`, `to_frame()` and `plot()`.

        Raises
        ------
        ValueError
            When the inputs depend on each other, or when there is no process (a net).
        """
        return self._functionals.sobol(names)

    def plot_sobol(self, ax: Axes | None = None, *, names: Sequence[str] | None = None) -> Axes:
        """Draw the Sobol indices as bars with their 95 % intervals; see :func:`fwbq.plots.sobol`."""
        return self.sobol(names).plot(ax)

    @one_blas_thread
    def plot_effects(self, axes: Any = None, *, names: Sequence[str] | None = None) -> list[Axes]:
        """Draw the mean of f against each input, the others varying, with bands; see :func:`fwbq.plots.effects`."""
        from ..plots import effects

        return effects(self._functionals.effects(names), axes)

    @property
    def _label(self) -> str:
        return "integral" if self.target is None else str(self.target)

    def _some_model(self) -> KernelModel:
        if self.model is None:
            raise ValueError(
                'this result has no process to look at: it comes from a net, or from a file. Use `method="process"`'
            )
        if self.values.ndim > 1:
            raise ValueError(f"this result is of {self.values.shape[1]} integrals: integrate one column by itself")
        if self.n_evaluations < 3:
            raise ValueError(f"a process needs at least three values to be fitted, and there are {self.n_evaluations}")
        return self.model

    def convergence(self, sizes: Sequence[int] | None = None) -> pd.DataFrame:
        """Return estimates from the first evaluations alone, a row for each n.

        Parameters
        ----------
        sizes : sequence of int, optional
            The n; by default eight from 4 to all evaluations, evenly spread on a logarithmic scale. Each is a fit.

        Returns
        -------
        DataFrame
            ``n``, ``mean``, ``sd``, ``lower`` and ``upper`` (95 % interval).
        """
        import pandas as pd

        if sizes is None:
            spread = np.geomspace(min(4, self.n_evaluations), self.n_evaluations, 8)
            sizes = sorted({round(n) for n in spread.tolist()})
        found = [self if n == self.n_evaluations else self.at(n) for n in sizes]
        bounds = [each.interval(0.95) for each in found]
        return pd.DataFrame(
            {
                "n": list(sizes),
                "mean": [each.mean for each in found],
                "sd": [each.sd for each in found],
                "lower": [low for low, _ in bounds],
                "upper": [high for _, high in bounds],
            }
        )

    def plot(self, ax: Axes | None = None, *, truth: float | None = None) -> Axes:
        """Draw the posterior of the integral; see :func:`fwbq.plots.integral`.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.
        truth : float, optional
            The known value, drawn as a line.
        """
        from ..plots import integral

        return integral(self, ax, truth=truth)

    def plot_process(
        self, ax: Axes | None = None, *, coordinates: int | tuple[int, int] = 0, at: ArrayLike | None = None
    ) -> Axes:
        """Draw a slice of the fitted process through a point; see :func:`fwbq.plots.process_slice`.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.
        coordinates : int or pair of int, optional
            Along which coordinates: one gives a curve with bands, two a map.
        at : (d,) array_like, optional
            The point that the slice goes through; by default the expectation of the measure.
        """
        from ..plots import process_slice

        return process_slice(self, ax, coordinates=coordinates, at=at)

    def plot_convergence(self, ax: Axes | None = None, *, truth: float | None = None) -> Axes:
        """Draw the estimate and its 95 % interval against n; see :func:`fwbq.plots.convergence`."""
        from ..plots import convergence

        return convergence(self, ax, truth=truth)

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        found = written(self.mean, self.sd, *self.interval(0.95))
        m, sd, low, high = found[0]
        rows = [(self._label, f"{m} ± {sd}"), ("95 % interval", f"[{low}, {high}]")]
        if len(found) > 1:
            shown = [f"{m} ± {sd}" for m, sd, _, _ in found[:8]]
            rows = [(f"{len(found)} integrals", ", ".join(shown) + (", …" if len(found) > 8 else ""))]
        rows += [
            ("evaluations", f"{self.n_evaluations}" + (f" ({self.n_skipped} skipped)" if self.n_skipped else "")),
            ("kernel", repr(self.kernel)),
            ("success", "yes" if self.success else "no"),
            ("status", self.status),
        ]
        return _html.table(rows, title="Integral")

    def __repr__(self) -> str:
        cost = self.reason.with_count(self.n_evaluations, self.status)
        if np.size(self.mean) > 1:
            return f"IntegrationResult({len(self.mean)} integrals, {cost})"
        what = "" if self.target is None else f"{self._label} = "
        return f"IntegrationResult({what}{stated(self)}, {cost})"
