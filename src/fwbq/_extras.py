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
