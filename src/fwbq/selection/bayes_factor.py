"""The ratio of two evidences, with what the numerical error leaves open and what it says about the models."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from .. import _html
from .._numbers import short, with_digits_of
from ..posterior import Estimate

#: Kass and Raftery, "Bayes factors", Journal of the American Statistical Association 90 (1995), section 3.2: what a
#: Bayes factor says, by twice its natural logarithm, from the value at which each of the words begins.
_WORDS = (
    (0.0, "not worth more than a bare mention"),
    (2.0, "positive"),
    (6.0, "strong"),
    (10.0, "very strong"),
)
#: Level of the interval that is printed, and by whose ends the words are chosen.
_LEVEL = 0.95
#: Factors between this number and its inverse are written out, others as powers of ten.
_LARGE = 1e6


@dataclass(frozen=True, eq=False)
class BayesFactor:
    r"""How many times more probable the data are under one model than under another.

    The logarithm is known up to an error; the factor is its exponential, so that an interval of the factor is the
    exponential of an interval of the logarithm.

    Attributes
    ----------
    log : Estimate
        The natural logarithm, with its numerical error.
    first, second : str
        The models, as people read their names.

    Examples
    --------
    >>> from fwbq import Estimate
    >>> factor = BayesFactor(Estimate(3.4, 0.1, 0.1), "line", "constant")
    >>> factor
    BayesFactor(30.0, 95 % in [24.6, 36.5]: strong evidence for line against constant)
    >>> round(factor.mean, 1), factor.words
    (30.0, 'strong evidence for line against constant')
    """

    log: Estimate
    first: str
    second: str

    @property
    def mean(self) -> float:
        """The estimate, with half of the probability on each side; infinite above the largest float64."""
        return _exp(self.log.mean)

    @property
    def sd(self) -> float:
        """Half the width of the central 68.27 % interval; infinite where nothing is known."""
        low, high = self.interval(float(2.0 * ndtr(1.0) - 1.0))
        return math.inf if math.isinf(high) else 0.5 * (high - low)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval that holds the factor with probability `level`."""
        low, high = self.log.interval(level)
        return _exp(low), _exp(high)

    @property
    def words(self) -> str:
        """What it says by the scale of Kass and Raftery (1995), at both ends of its 95 % interval.

        Twice the logarithm below 2 is not worth more than a bare mention, from 2 on positive evidence, from 6 on strong
        and from 10 on very strong.
        """
        low, high = self.log.interval(_LEVEL)
        weak, strong = sorted((_grade(low), _grade(high)))
        if low < 0.0 < high:
            if strong == 0:
                return f"a difference {_WORDS[0][1]}"
            return "the numerical error leaves open which of the two is favoured: raise `n` of both"
        favoured, other = (self.first, self.second) if low >= 0.0 else (self.second, self.first)
        names = f"for {favoured} against {other}"
        if strong == 0:
            return f"evidence {names} that is {_WORDS[0][1]}"
        if weak == 0:
            return f"at most {_WORDS[strong][1]} evidence {names}"
        grades = _WORDS[strong][1] if weak == strong else f"{_WORDS[weak][1]} to {_WORDS[strong][1]}"
        return f"{grades} evidence {names}"

    def __float__(self) -> float:
        return self.mean

    def __repr__(self) -> str:
        mean, low, high = self._written()
        return f"BayesFactor({mean}, 95 % in [{low}, {high}]: {self.words})"

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        mean, low, high = self._written()
        rows = [
            ("Bayes factor", mean),
            ("95 % interval", f"[{low}, {high}]"),
            ("natural logarithm", repr(self.log).removeprefix("Estimate(").removesuffix(")")),
            ("Kass and Raftery", self.words),
        ]
        return _html.table(rows, title=f"{self.first} against {self.second}")

    def _written(self) -> tuple[str, str, str]:
        """Return the factor and the ends of its interval with the digits that its error leaves."""
        ends = self.log.interval(_LEVEL)
        if all(abs(x) < math.log(_LARGE) for x in (self.log.mean, *ends)):
            mean, low, high = with_digits_of(self.sd, self.mean, *self.interval(_LEVEL))
            return mean, low, high
        mean, low, high = (_power(x) for x in (self.log.mean, *ends))
        return mean, low, high


def _grade(log: float) -> int:
    """Return the place in the scale of a natural logarithm of a Bayes factor, whichever model it favours."""
    return int(np.searchsorted([start for start, _ in _WORDS], 2.0 * abs(log), side="right")) - 1


def _exp(log: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(log))


def _power(log: float) -> str:
    """Return the exponential of a number as a power of ten where it is very large or very small."""
    if not math.isfinite(log) or abs(log) < math.log(_LARGE):
        return short(_exp(log))
    return f"10^{log / math.log(10.0):.1f}"
