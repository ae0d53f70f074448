"""Numbers as they stand in the data of the page."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike


def numbers(values: ArrayLike, digits: int = 6) -> list[float | None]:
    """Return numbers rounded to significant digits; what is not finite becomes None.

    Examples
    --------
    >>> numbers([0.12345678, float("inf"), 3.0])
    [0.123457, None, 3.0]
    """
    flat = np.asarray(values, dtype=np.float64).ravel().tolist()
    return [float(f"{x:.{digits}g}") if math.isfinite(x) else None for x in flat]
