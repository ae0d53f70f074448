"""Packages that fwbq can use but does not require."""

from importlib import import_module
from typing import Any


def load(module: str, name: str, what: str) -> Any:
    """Return a module of an optional dependency; its absence is an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f'{what} needs {package}, which is not installed: pip install "fwbq[{name}]"') from error


def inference_data(posterior: Any, what: str) -> Any:
    """Return an xarray Dataset as the group `posterior` of what ArviZ reads.

    That is InferenceData before ArviZ 1.0, and a DataTree of xarray from then on: the old name is still there, with a
    warning, but no longer takes groups as arguments.
    """
    arviz, xarray = load("arviz", "arviz", what), load("xarray", "arviz", what)
    if int(arviz.__version__.partition(".")[0]) < 1:
        return arviz.InferenceData(posterior=posterior)
    return xarray.DataTree.from_dict({"posterior": posterior})
