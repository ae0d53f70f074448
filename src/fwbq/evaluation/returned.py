"""What f returned, as an array: lists, tables and tensors of other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def as_array(value: Any) -> NDArray[Any]:
    """Return what f returned as a NumPy array, of whatever shape and type.

    Numbers, lists, pandas and xarray objects and JAX arrays convert themselves. A PyTorch tensor is detached from its
    graph and moved to main memory first; an array that offers only the DLPack protocol is taken by that.

    Examples
    --------
    >>> as_array([1.0, 2.0])
    array([1., 2.])
    >>> import pandas as pd
    >>> as_array(pd.Series([1, 2])).shape
    (2,)
    """
    if isinstance(value, (list, tuple)) and any(_is_tensor(each) for each in value):
        return np.asarray([as_array(each) for each in value])
    if _is_tensor(value):
        value = value.detach()
        value = value.cpu() if callable(getattr(value, "cpu", None)) else value
    if not hasattr(value, "__array__") and hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    return np.asarray(value)


def without_lone_column(values: FloatArray, n: int | None) -> FloatArray:
    """Return values (n, 1) as (n,), because one column is one integral; every other array as it is.

    Parameters
    ----------
    values : (n,) or (n, m) array
    n : int or None
        Number of points; None for one point that was given as (d,), whose lone value (1,) is a number.

    Examples
    --------
    >>> without_lone_column(np.ones((3, 1)), 3).shape, without_lone_column(np.ones(1), None).shape
    ((3,), ())
    """
    axes = 1 if n is None else 2
    return np.asarray(values[..., 0]) if values.ndim == axes and values.shape[-1] == 1 else values


def _is_tensor(value: Any) -> bool:
    """Whether a value may be part of a graph of PyTorch, which does not convert itself."""
    return callable(getattr(value, "detach", None))
