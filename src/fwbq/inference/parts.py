"""The parts of the engine that can be switched off one by one: what each is worth is a row of the ablation study."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

#: Every part, with what it does.
DESCRIPTIONS = {
    # who proposes points
    "race": "several first climbs side by side, from five dimensions on",
    "further climbs": "climbs from points that the modes found so far do not explain",
    "exchange": "evaluate the top with exchanged parameters, and carry modes there",
    "exploration": "look for modes of a hundredth of the mass that no value contradicts",
    "probes": "without a prior, points far out that show whether the density falls off",
    "metric": "without a prior, widths on every axis and correlations at the start",
    "draws": "from five dimensions on, the curvature at the top and draws that judge the surrogate",
    # how a climb goes
    "bend": "models of the logarithm of deep falls beside models of the values",
    "local processes": "Gaussian processes beside quadratics as models of a climb",
    "dip": "ask on the way from a deep start to a mode whether there is a dip between them",
    # how the surrogate is made
    "sunken": "take values far below what the surrogate expects near the top for zeros",
    "sign process": "model where the likelihood is zero",
    "faint": "discount small chances of a positive likelihood",
    "far": "lower the mean of the process far out, where it knows little",
    "strays": "lower a process that has its mass far from every point",
    "sum of modes": "a mean that is the sum of Gaussians at the modes",
    # what is added to the stated error
    "inflation": "widen the error by how far predictions were off",
    "boundary": "the error from where the likelihood is zero",
    "rising": "a top that still rises, or climbs that have not arrived",
    "starts": "starts that no climb has followed",
    "tails": "mass beyond the probes, without a prior",
    "failures": "mass where the function failed",
    "outline": "a support that few positive values outline",
    "noise": "a noise of the values, such as that of a solver",
}
#: Their names, as `EvidenceRun` takes them in `without`.
PARTS = tuple(DESCRIPTIONS)


@dataclass(frozen=True)
class Parts:
    """Which parts are switched on.

    Attributes
    ----------
    without : frozenset of str
        Names of those that are switched off.

    Examples
    --------
    >>> parts = Parts.checked(["bend"])
    >>> "bend" in parts, "probes" in parts
    (False, True)
    """

    without: frozenset[str] = frozenset()

    @classmethod
    def checked(cls, without: Iterable[str]) -> Parts:
        """Return the parts without those named.

        Raises
        ------
        ValueError
            For a name that is no part.
        """
        names = [without] if isinstance(without, str) else list(without)
        unknown = [name for name in names if name not in PARTS]
        if unknown:
            raise ValueError(
                f"`without` has {unknown[0]!r}, which is no part of the engine: name some of {', '.join(PARTS)}"
            )
        return cls(frozenset(names))

    def __contains__(self, name: object) -> bool:
        if name not in PARTS:
            raise KeyError(name)
        return name not in self.without


ALL = Parts()
