"""Warnings that point at the line of the user's that called the library."""

from __future__ import annotations

import inspect
import os
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parent) + os.sep


def warn(message: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn at the innermost line outside this package, however deep inside it the warning arises.

    A fixed ``stacklevel`` blames the wrong line as soon as a function is decorated or called from another place.
    """
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
