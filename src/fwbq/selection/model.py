"""A model to compare: a log integrand under a measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _frozen, _html, _validate
from ..evaluation import find_out_at_once
from ..evaluation.entry import check_names
from ..evaluation.evaluations import BadResult, Returns
from ..inference import Evidence, EvidenceRun, evidence
from ..inference.start import starting_point
from ..measures import Measure, Uniform, as_measure
from .coordinates import Coordinates
from .unit_cube import UnitCube

Array = NDArray[np.float64]
#: Points (n, d) to quantities of interest by name, each an array (n, ...).
Variables = Callable[[Array], Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class Model:
    r"""A model to be compared by its evidence: a log likelihood under a prior.

    The evidence is :math:`Z = \int \exp(\ell(x))\, p(\mathrm{d}x)`.

    Parameters
    ----------
    log_integrand : callable
        The log likelihood: points (n, d) to values (n,), or a point (d,) to a number. Minus infinity is a likelihood of
        zero. Without a measure, the log joint density on R^d: the log likelihood plus the log density of the normalised
        prior.
    measure : Measure or frozen scipy.stats distribution, optional
        The prior p over the parameters of the model.
    coordinates : Coordinates, optional
        Where the log likelihood is smooth; by default the measure's own, standardised.
    vectorized : bool, optional
        True when `log_integrand` takes points (n, d), False when it takes one point (d,) at a time. By default that is
        found out when it is called: one that takes points is never called with anything else, unless it raises.
    dim : int, optional
        Without a measure, the number of parameters, when `start` does not say it.
    start : array_like, shape (d,), optional
        A point of high density: needed without a measure (zeros when only `dim` is given), helpful with one.
    scale : float or array_like, optional
        Without a measure, a guess of the posterior's width in each parameter; 1 by default.
    gradient : bool
        Whether `log_integrand` returns values and gradients: points (n, d) to the pair of arrays (n,) and (n, d), or a
        point (d,) to a number and an array (d,); see :func:`fwbq.evidence`.
    variables : callable, optional
        The quantities of interest as functions of the parameters: points (n, d) to a dict of names to arrays
        (n, ...), for :meth:`fwbq.inference.Evidence.to_arviz`.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> from scipy import stats
    >>> model = fwbq.Model(lambda x: -0.5 * x[:, 0] ** 2, stats.norm())
    >>> joint = fwbq.Model(lambda x: -np.sum(x**2, axis=1) - np.log(2.0 * np.pi), start=[0.1, 0.0])
    >>> found = fwbq.compare_models({"one": model, "two": joint}, n=20, rng=0)
    >>> [bool(abs(found.log_evidence(name) + k * np.log(2)) < 0.01) for name, k in (("one", 0.5), ("two", 1.0))]
    [True, True]
    """

    log_integrand: Callable[[Array], Any]
    measure: Measure | None = None
    coordinates: Coordinates | None = None
    vectorized: bool | None = None
    _: KW_ONLY
    dim: int | None = None
    start: ArrayLike | None = None
    scale: ArrayLike | None = None
    gradient: bool = False
    variables: Variables | None = None
    _many: bool | None = field(default=None, init=False, repr=False)  # what was found out

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Answer names of other functions, such as `prior`, in words."""
        check_names("Model", (each.name for each in fields(cls) if each.init), options)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        _validate.function(self.log_integrand, "log_integrand")
        measure = None if self.measure is None else as_measure(self.measure)
        start = starting_point(measure, self.dim, self.start, called="measure")
        dim = len(start) if start is not None else measure.dim if measure is not None else None
        _frozen.freeze(self, measure=measure, start=start, dim=dim, gradient=_validate.flag(self.gradient, "gradient"))
        if self.scale is not None:
            if measure is not None:
                raise ValueError("`scale` goes with a log joint density without a measure: leave it out")
            _frozen.freeze(self, scale=_validate.positive_scalar_or_vector(self.scale, "scale"))
        if self.coordinates is not None:
            _validate.instance(
                self.coordinates, "coordinates", Coordinates, "give e.g. fwbq.selection.LogScale(offset)"
            )
            if measure is None:
                raise ValueError("`coordinates` go with a `measure`: leave them out of a log joint density")
        if self.variables is not None:
            _validate.function(self.variables, "variables")

    def __repr__(self) -> str:
        name = getattr(self.log_integrand, "__qualname__", type(self.log_integrand).__name__)
        what = f"under {self.measure!r}" if self.measure is not None else "as a log joint density"
        return f"<Model of {self.dim} parameter{'s' if self.dim != 1 else ''}: {name} {what}>"

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        name = getattr(self.log_integrand, "__qualname__", type(self.log_integrand).__name__)
        rows = [
            ("parameters", str(self.dim)),
            ("log likelihood" if self.measure is not None else "log joint density", name),
            ("prior", repr(self.measure) if self.measure is not None else "within the log joint density"),
            ("gradients", "yes" if self.gradient else "no"),
        ]
        return _html.table(rows, title="Model")

    def __call__(self, x: Array) -> Array:
        """Return the log integrand at points (n, d), (n,)."""
        if self.gradient:
            return self.with_gradients(x)[0]
        many = self._many if self.vectorized is None else self.vectorized
        given: Any = []
        if many is None:
            many, given = find_out_at_once(self.log_integrand, x)
            _frozen.freeze(self, _many=many)
        elif many:
            given = self.log_integrand(x)
        if many is False:
            given = [*given, *(self.log_integrand(row) for row in x[len(given) :])]
        return _validate.log_values(given, "log_integrand", len(x))

    def with_gradients(self, x: Array) -> tuple[Array, Array]:
        """Return the log integrand (n,) and its gradients (n, d) at points (n, d); NaN where there is no gradient.

        Examples
        --------
        >>> import numpy as np, fwbq
        >>> model = fwbq.Model(lambda x: (-0.5 * x @ x, -x), dim=2, gradient=True)
        >>> values, gradients = model.with_gradients(np.array([[1.0, 2.0]]))
        >>> values.tolist(), gradients.tolist()
        ([-2.5], [[-1.0, -2.0]])
        """
        if not self.gradient:
            raise ValueError("the model has no gradients: make it with `gradient=True`, or call it for its values")
        assert self.dim is not None
        returns = Returns(self.dim, minus_infinity=True, gradient=True)
        many = self._many if self.vectorized is None else self.vectorized
        try:
            rows = self._rows(x, returns, many)
        except BadResult as error:
            raise TypeError(f"`log_integrand` must return values and gradients: {error}") from error
        return _validate.log_values(rows[:, 0], "log_integrand", len(x)), rows[:, 1:]

    def _rows(self, x: Array, returns: Returns, many: bool | None) -> Array:
        """Return values and gradients as rows (n, 1 + d), and remember whether many points could be given at once."""
        failed: Exception | None = None
        if many is not False:
            try:
                rows = returns.rows(self.log_integrand(x.copy()), len(x))
                _frozen.freeze(self, _many=True if len(x) > 1 else self._many)
                return rows
            except Exception as error:
                if many:
                    raise
                failed = error
        try:
            rows = np.array([returns.rows(self.log_integrand(row.copy()), None) for row in x])
        except Exception:
            if failed is not None:
                raise failed from None
            raise
        _frozen.freeze(self, _many=False)
        return rows

    def evidence(self, **options: Any) -> Evidence:
        """Return the evidence of this model alone, with the posterior of its parameters.

        Parameters
        ----------
        **options
            `n`, `tol`, `executor`, `journal`, `rng` and the others of :func:`fwbq.evidence`.

        Examples
        --------
        >>> import numpy as np, fwbq
        >>> found = fwbq.Model(lambda x: -0.5 * np.sum(x**2, axis=1), dim=2).evidence(n=20, rng=0)
        >>> bool(abs(found.log_evidence - np.log(2.0 * np.pi)) < 1e-3)
        True
        """
        return evidence(
            self.log_integrand, self.measure, start=self.start, scale=self.scale,
            **{"vectorized": self.vectorized, "gradient": self.gradient, **options},
        )  # fmt: skip

    def run(self, **options: Any) -> EvidenceRun:
        """Return the evidence of this model as a dialogue; the options are those of :class:`fwbq.EvidenceRun`."""
        return EvidenceRun(self.measure, start=self.start, scale=self.scale, **{"gradient": self.gradient, **options})

    @classmethod
    def from_pymc(cls, model: Any, *, start: Mapping[str, ArrayLike] | None = None, gradient: bool = True) -> Model:
        """Return a PyMC model as a log joint density on the space of its unconstrained parameters.

        PyMC maps positive parameters to their logarithms, bounded ones to their logits, and so on; the density has the
        Jacobians of these maps, so that the evidence is that of the model. Needs PyMC (``pip install "fwbq[pymc]"``).

        Parameters
        ----------
        model : pymc.Model
            Every free variable must be continuous and have a proper prior.
        start : mapping of variable name to value, optional
            A point of high density, in the model's own variables, for all or some of the free ones; the others begin
            where PyMC begins.
        gradient : bool
            Whether the evidence is found from gradients too, which PyMC derives. False compiles the log density alone.

        Returns
        -------
        Model
            Its `variables` are those of the PyMC model, deterministic ones included:
            ``found.to_arviz(variables=model.variables)``. A journal needs a `tag` for it.

        Examples
        --------
        .. code-block:: python

            with pm.Model() as line:
                slope = pm.Normal("slope", 0.0, 5.0)
                noise = pm.HalfNormal("noise", 1.0)
                pm.Normal("y", slope * t, noise, observed=y)
            model = fwbq.Model.from_pymc(line)
            found = model.evidence(n=100)
            data = found.to_arviz(variables=model.variables)
        """
        from .pymc_density import PyMCDensity, starting_values

        density = PyMCDensity.compiled(model, gradient=_validate.flag(gradient, "gradient"))
        return cls(
            density, vectorized=True, start=starting_values(model, start), variables=density.variables,
            gradient=density.gradient,
        )  # fmt: skip

    @classmethod
    def from_jax(
        cls,
        log_density: Callable[[Any], Any],
        prior: Measure | None = None,
        *,
        dim: int | None = None,
        start: ArrayLike | None = None,
        scale: ArrayLike | None = None,
        variables: Variables | None = None,
    ) -> Model:
        """Return a model whose log density is written in JAX, with the gradients that JAX derives.

        Values and gradients of many points are computed at once, compiled, and in double precision whatever
        ``jax_enable_x64`` says. Data inside `log_density` keep their precision: NumPy arrays have the double one,
        arrays of JAX only if ``jax.config.update("jax_enable_x64", True)`` was called before they were made. Needs JAX
        (``pip install "fwbq[jax]"``).

        Parameters
        ----------
        log_density : callable
            One point (d,) to a number, by functions of JAX: the log likelihood, or without a prior the log joint
            density on R^d. Give a function of a module rather than a lambda where it is to travel to other processes.
        prior : Measure or frozen scipy.stats distribution, optional
            The prior over the parameters.
        dim, start, scale, variables
            As for `Model`.

        Returns
        -------
        Model

        Examples
        --------
        .. code-block:: python

            def log_density(x):
                return -0.5 * jnp.sum((x / 0.1) ** 2)

            found = fwbq.Model.from_jax(log_density, dim=3).evidence(n=40)
        """
        from .jax_density import JaxDensity

        density = JaxDensity.checked(log_density)
        return cls(
            density, prior, vectorized=True, dim=dim, start=start, scale=scale, variables=variables, gradient=True
        )

    @classmethod
    def from_prior_transform(
        cls,
        log_likelihood: Callable[[Array], Any],
        prior_transform: Callable[[Array], Any],
        dim: int,
        *,
        vectorized: bool = False,
        names: Sequence[str] | None = None,
    ) -> Model:
        """Return a model written for a nested sampler: a log likelihood, and a prior as a map of the unit cube.

        Parameters
        ----------
        log_likelihood : callable
            Parameters (d,) to a number, as dynesty and UltraNest have it.
        prior_transform : callable
            A point (d,) of the unit cube to parameters (d,), such that uniform points become draws from the prior.
        dim : int
            Number of parameters.
        vectorized : bool, optional
            True when both functions take (n, d) points at once.
        names : sequence of str, optional
            Names of the parameters; ``x1``, ``x2``, ... by default.

        Returns
        -------
        Model
            Its points are those of the unit cube; ``model.variables(points)`` gives the parameters, and
            ``found.to_arviz(variables=model.variables)`` draws of them.

        Examples
        --------
        >>> import numpy as np, fwbq
        >>> def log_likelihood(theta):
        ...     return -0.5 * ((theta[0] - 1.0) / 0.1) ** 2
        >>> def prior_transform(u):
        ...     return 10.0 * u - 5.0  # uniform on [-5, 5]
        >>> found = fwbq.Model.from_prior_transform(log_likelihood, prior_transform, 1).evidence(n=40, rng=0)
        >>> bool(abs(found.log_evidence - np.log(0.1 * np.sqrt(2.0 * np.pi) / 10.0)) < 0.01)
        True
        """
        size = _validate.count(dim, "dim")
        cube = UnitCube(
            _validate.function(log_likelihood, "log_likelihood"),
            _validate.function(prior_transform, "prior_transform"),
            _validate.parameter_names(names, size),
            _validate.flag(vectorized, "vectorized"),
        )
        return cls(cube, Uniform(np.zeros(size), np.ones(size)), vectorized=True, variables=cube.variables)
