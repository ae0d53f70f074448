"""What an integration returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._reason import Reason
from ..kernels import Kernel
from ..posterior import AveragedPosterior, ColumnPosteriors, IntegralPosterior
from ..rules import Rule

if TYPE_CHECKING:
    import pandas as pd

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
    """

    posterior: IntegralPosterior | AveragedPosterior | ColumnPosteriors
    rule: Rule
    kernel: Kernel
    points: FloatArray
    values: FloatArray
    status: str
    n_skipped: int = 0
    reason: Reason = Reason.OPEN
    success: bool = True

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
        m, sd = np.atleast_1d(self.mean), np.atleast_1d(self.sd)
        low, high = (np.atleast_1d(bound) for bound in self.interval(0.95))
        lines = []
        for j in range(len(m)):
            label = "integral" if len(m) == 1 else f"integral {j + 1}"
            lines.append(f"{label:<13} {m[j]:.10g} ± {sd[j]:.2g}")
            lines.append(f"95 % interval [{low[j]:.10g}, {high[j]:.10g}]")
        skipped = f" ({self.n_skipped} skipped)" if self.n_skipped else ""
        lines.append(f"evaluations   {self.n_evaluations}{skipped}")
        lines.append(f"kernel        {self.kernel!r}")
        lines.append(f"success       {self.success} ({self.reason.name})")
        lines.append(f"status        {self.status}")
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """Return the points and values as a table: columns x1, ..., xd and value, or value1, ..., valuem.

        Examples
        --------
        >>> import numpy as np, fwbq
        >>> result = fwbq.integrate(lambda x: x[:, 0] ** 2, fwbq.Uniform([0.0], [1.0]), n=12, rng=0)
        >>> frame = result.to_frame()
        >>> list(frame.columns), bool(np.allclose(frame.value, frame.x1**2))
        (['x1', 'value'], True)
        """
        import pandas as pd

        columns = {f"x{i + 1}": x for i, x in enumerate(self.points.T)}
        if self.values.ndim == 1:
            columns["value"] = self.values
        else:
            columns |= {f"value{j + 1}": f for j, f in enumerate(self.values.T)}
        return pd.DataFrame(columns)

    def __repr__(self) -> str:
        cost = self.reason.with_count(self.n_evaluations, self.status)
        if np.ndim(self.mean):
            return f"IntegrationResult({len(self.mean)} integrals, {cost})"
        low, high = self.interval(0.95)
        return f"IntegrationResult({self.mean:.10g} ± {self.sd:.2g}, 95 % in [{low:.10g}, {high:.10g}], {cost})"
