"""The options of a comparison, checked."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import __version__, _frozen, _validate
from ..designs import checked_design
from ..evaluation import Evaluation
from ..kernels import Kernel, Stationary, named
from ..posterior import AnyAmplitude, checked_amplitude

#: Points of the last round by default, the most in the box plots of the paper, and of the first one, the fewest there;
#: from round to round they double.
_BUDGET = 200
_FIRST = 10
LEAST = 3  # points: an amplitude and a constant are learnt from them, and one degree of freedom must remain
#: Least log prior probability: that of a model whose prior probability is zero. Evidences differ by less, and
#: differences of it stay finite.
NEVER = -1e6
#: The options of an evaluation that a comparison has, whatever its models are; `tag` and `vectorized` belong to models
#: that are given as functions.
_CALLS = ("executor", "journal", "version", "on_error", "timeout", "progress", "recheck")


@dataclass(frozen=True, eq=False, kw_only=True)
class Options:
    """The options of :func:`fwbq.compare_models`, which says what each means, but for those about its `models`.

    Attributes
    ----------
    evaluation : Evaluation
        Those that say how log integrands are called and where their values are kept.
    sizes : tuple of int
        Points of each round, from `n` and `stages`.
    seed : int
        Drawn from `rng`.
    process_kernel : Kernel, class of kernel or None
        The kernel, or the class that its name stands for.
    process_amplitude : {"calibrated", "marginal", "ml", "loo"} or float
        The amplitude, or the one that goes with `evidence`.
    """

    n: int | None = None
    stop: float | None = None
    tol: float | None = None
    stages: Sequence[int] | None = None
    prior: Mapping[Any, float] | None = None
    evidence: str = "log"
    kernel: Kernel | type[Stationary] | str | None = None
    amplitude: AnyAmplitude | None = None
    design: Callable[..., Any] | None = None
    race: bool = True
    budget: int | None = None
    rng: Any = None
    evaluation: Evaluation = field(default_factory=Evaluation)
    sizes: tuple[int, ...] = field(init=False)
    seed: int = field(init=False)
    process_kernel: Kernel | type[Stationary] | None = field(init=False)
    process_amplitude: AnyAmplitude = field(init=False)

    def __post_init__(self) -> None:
        _validate.choice(self.evidence, "evidence", ("log", "linear"))
        checked_design(self.design)
        usual: AnyAmplitude = "marginal" if self.evidence == "linear" else "calibrated"
        _frozen.freeze(
            self,
            sizes=_sizes(self.n, self.stages),
            process_kernel=named(self.kernel, Stationary),
            stop=None if self.stop is None else _validate.probability(self.stop, "stop"),
            tol=None if self.tol is None else _validate.positive(self.tol, "tol"),
            budget=None if self.budget is None else _validate.count(self.budget, "budget"),
            seed=int(_validate.generator(self.evaluation.seed(self.rng)).integers(2**31)),
            process_amplitude=checked_amplitude(usual if self.amplitude is None else self.amplitude),
        )

    @classmethod
    def of(cls, function: str = "a comparison", /, **keywords: Any) -> Options:
        """Return the options that keywords of `compare_models` give, those of an `Evaluation` among them.

        Parameters
        ----------
        function : str, positional
            What the user called, by which a message about an unknown keyword names it.
        **keywords

        Examples
        --------
        >>> options = Options.of(n=50, stop=0.95, on_error="skip")
        >>> options.n, options.evaluation.on_error
        (50, 'skip')
        """
        own = {each.name for each in fields(cls) if each.init} - {"evaluation"}
        unknown = sorted(keywords.keys() - own - set(_CALLS))
        if unknown:
            raise TypeError(
                f"`{unknown[0]}` is not an option of {function}: beside those of its own the options are "
                f"{', '.join(sorted({*own, *_CALLS}))}"
            )
        evaluation = Evaluation(**{name: keywords.pop(name) for name in _CALLS if name in keywords})
        return cls(evaluation=evaluation, **keywords)

    def with_stages(self, stages: Sequence[int]) -> Options:
        """Return the same options, with the same seed, for other rounds."""
        other = copy(self)
        _frozen.freeze(other, stages=stages, sizes=_sizes(self.n, stages))
        return other

    def with_prior(self, prior: Mapping[Any, float]) -> Options:
        """Return the same options, with the same seed, under other prior probabilities."""
        other = copy(self)
        _frozen.freeze(other, prior=prior)
        return other

    def log_prior(self, names: tuple[Hashable, ...]) -> NDArray[np.float64]:
        """Return the log prior probabilities of the models, (m,)."""
        return log_prior(self.prior, names)

    def remembered(self) -> dict[str, Any]:
        """Return what the result keeps of them, JSON-able."""
        kernel = self.process_kernel
        return {
            "version": __version__, "rng": int(self.rng) if isinstance(self.rng, int | np.integer) else None,
            "seed": self.seed, "n": self.sizes[-1], "stages": list(self.sizes), "stop": self.stop, "tol": self.tol,
            "evidence": self.evidence,
            "kernel": kernel.__name__ if isinstance(kernel, type) else None if kernel is None else repr(kernel),
            "amplitude": None if self.amplitude is None else self.process_amplitude, "race": self.race,
            "budget": self.budget,
        }  # fmt: skip


def log_prior(prior: Mapping[Any, float] | None, names: tuple[Hashable, ...]) -> NDArray[np.float64]:
    """Return the log prior probabilities of models, (m,), from weights; equal ones without them.

    Examples
    --------
    >>> log_prior({"a": 3.0, "b": 1.0}, ("a", "b")).round(3).tolist()
    [-0.288, -1.386]
    """
    if prior is None:
        return np.full(len(names), -np.log(len(names)))
    weights = _weights(prior, names)
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(weights / weights.sum()), NEVER))


def _sizes(n: int | None, stages: Sequence[int] | None) -> tuple[int, ...]:
    if stages is None:
        most = _validate.count(_BUDGET if n is None else n, "n", minimum=LEAST)
        doubled, size = [], _FIRST
        while size < most:
            doubled.append(size)
            size *= 2
        return (*doubled, most)
    sizes = tuple(_validate.count(s, "stages", minimum=LEAST) for s in stages)
    if n is not None and (not sizes or n != sizes[-1]):
        raise ValueError(f"`n` is {n}, but `stages` end at {sizes[-1] if sizes else None}: give one of the two")
    if not sizes or list(sizes) != sorted(set(sizes)):
        raise ValueError(
            f"`stages` must be increasing numbers of points, e.g. (10, 50, 100, 200), got {_validate.shown(sizes)}"
        )
    return sizes


def _weights(prior: Mapping[Any, float], names: tuple[Hashable, ...]) -> NDArray[np.float64]:
    """Return the prior weights of the models, one for each, not all zero; shape (m,)."""
    if not hasattr(prior, "keys"):
        raise TypeError(f"`prior` must map the name of every model to its probability, got {type(prior).__name__}")
    missing = [name for name in names if name not in prior]
    unknown = [name for name in prior if name not in set(names)]
    if missing or unknown:
        raise ValueError(
            "`prior` must have a probability for each model and no others: "
            f"missing {missing[:3]}, unknown {unknown[:3]}"
        )
    weights = np.array([_validate.nonnegative(prior[name], f"prior[{name!r}]") for name in names])
    if not weights.sum() > 0.0:
        raise ValueError("`prior` must give at least one model a positive probability")
    return weights
