"""Points at which f failed, and the error that names them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class EvaluationError(RuntimeError):
    """The integrand failed at a point, which the message names.

    Attributes
    ----------
    failures : tuple of Failure
        All points known to have failed, by row. The exception that f raised at the first is the ``__cause__``.
    """

    def __init__(self, message: str, failures: "tuple[Failure, ...]" = ()) -> None:
        super().__init__(message)
        self.failures = failures


@dataclass(frozen=True, eq=False)
class Failure:
    """A point at which f could not be evaluated.

    Attributes
    ----------
    index : int
        Row of the batch.
    point : (d,) array
    reason : str
    cause : Exception or None
        What f raised.
    """

    index: int
    point: FloatArray
    reason: str
    cause: BaseException | None = None

    def __str__(self) -> str:
        return f"{written(self.point)}: {self.reason}"


def written(point: FloatArray) -> str:
    """Return a point, or a value, as messages show it."""
    numbers = [repr(float(value)) for value in np.ravel(point)]
    text = ", ".join(numbers if len(numbers) <= 12 else [*numbers[:10], f"… ({len(numbers)} in all)"])
    return text if np.ndim(point) == 0 else f"[{text}]"


def words(width: int | None) -> str:
    """Return what f returns at a point, in words: its number of values, None for a plain number."""
    return "a number" if width is None else f"a vector of {width}"
