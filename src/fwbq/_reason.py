"""Why a computation ended: one enumeration for every result."""

from __future__ import annotations

from enum import Enum
from string import Formatter
from typing import Any

#: A tolerance is half the width of the interval of this level, for every result.
LEVEL_OF_TOL = 0.95


class Reason(Enum):
    """Why a computation ended; the text of a member is the message, with cause and remedy.

    A result carries the member as `reason`, for programs, and begins its `status` with the message, for people.
    Figures stand in braces and are filled in by `sentence`.

    Attributes
    ----------
    text : str
        The message.
    success : bool
        Whether what was asked for has been reached, as far as the reason alone decides. The result's own `success` is
        also false when a tolerance was asked for and not reached, whatever ended the run.

    Examples
    --------
    >>> Reason.BUDGET.sentence(n=100)
    '100 evaluations made'
    >>> Reason.BUDGET.success, Reason.NOT_REACHED.success
    (True, False)
    """

    text: str
    success: bool

    BUDGET = "budget", True, "{n} evaluations made"
    TOLERANCE = "tolerance", True, "tolerance {tol:g} reached"
    NOT_REACHED = (
        "not reached", False,
        "tolerance {tol:g} not reached within {n} evaluations: raise `n`, or accept the interval that was reached",
    )  # fmt: skip
    PRECISION = (
        "precision", False,
        "tolerance {tol:g} cannot be reached: in double precision half the width of the interval ends at {floor:.1g}. "
        "Pass a larger `tol`, or accept the interval that was reached",
    )  # fmt: skip
    RANK = (
        "rank", True,
        "stopped at {n} evaluations: in double precision the fitted kernel cannot tell further points apart, so they "
        "would not lower the error",
    )  # fmt: skip
    EXHAUSTED = "exhausted", True, "every point of the sample is evaluated ({n})"
    DESIGN = "design", True, "stopped at {n} evaluations: the design gives no further points ({status})"
    OPEN = "open", True, "{n} evaluations known; can be continued"
    DECIDED = "decided", True, "decided after {n} evaluations: the numerical error no longer matters to the decision"
    UNSEEN = (
        "unseen", False,
        "the mass of the likelihood was not found within {n} evaluations: the points seen do not bound the integral. "
        "Raise `n`, or pass a point of high likelihood as `start`",
    )  # fmt: skip
    ZERO = (
        "zero", False,
        "the likelihood is zero at all {n} points evaluated: check the model and its units, raise `n`, or pass a point "
        "of positive likelihood as `start`",
    )  # fmt: skip
    IMPROPER = (
        "improper", False,
        "the integral does not seem to exist: the density does not fall off in the tails that were looked at. Check "
        "that the prior is proper and that the log density includes it; if they are, the mass may be far from `start` "
        "or much wider or narrower than `scale`: pass a point of high density and a guess of the posterior's width",
    )  # fmt: skip

    def __new__(cls, name: str, success: bool, text: str) -> Reason:
        """Make a member whose value is its name in small letters."""
        member = object.__new__(cls)
        member._value_ = name
        member.success = success
        member.text = text
        return member

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of the figures in the text, which `sentence` needs."""
        return tuple(name for _, name, _, _ in Formatter().parse(self.text) if name)

    def with_count(self, n: int, status: str) -> str:
        """Return a status made from this reason, with the number of evaluations unless it says it by itself.

        Examples
        --------
        >>> Reason.BUDGET.with_count(30, "30 evaluations made"), Reason.TOLERANCE.with_count(30, "reached")
        ('30 evaluations made', '30 evaluations; reached')
        """
        return status if "n" in self.figures else f"{n} evaluations; {status}"

    def sentence(self, **figures: Any) -> str:
        """Return the message with its figures filled in; those that the text does not mention are ignored."""
        return self.text.format(**figures)
