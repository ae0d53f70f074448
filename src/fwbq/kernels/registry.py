"""The kernels that can be named: in files, on the command line, and as classes whose length-scales are found.

A new class of kernels is registered in one place, by the decorator in front of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .. import _files
from .base import Kernel

AnyKernel = TypeVar("AnyKernel", bound=Kernel)

_CLASSES: dict[str, type[Kernel]] = {}
_TEXTS: dict[str, type[Kernel]] = {}


def register(text: str | None = None) -> Callable[[type[AnyKernel]], type[AnyKernel]]:
    """Return a decorator that registers a class of kernels under its name.

    The class needs ``_from_spec``, which makes a kernel from what its ``spec()`` returned.

    Parameters
    ----------
    text : str, optional
        What a kernel of the class is called in texts, as on the command line; by default it cannot be written there.
    """

    def add(cls: type[AnyKernel]) -> type[AnyKernel]:
        if not any("_from_spec" in vars(base) for base in cls.__mro__ if base is not Kernel):
            raise TypeError(f"`{cls.__name__}` cannot be registered: give it a class method _from_spec(spec)")
        for table, name in ((_CLASSES, cls.__name__), (_TEXTS, text)):
            if name is not None and name in table:
                raise ValueError(f"`{cls.__name__}` cannot be registered as {name!r}: {table[name]!r} is; rename it")
        _CLASSES[cls.__name__] = cls
        if text is not None:
            _TEXTS[text] = cls
        return cls

    return add


def classes(base: type[Any]) -> dict[str, type[Any]]:
    """Return the registered classes that derive from a base, by their names.

    Examples
    --------
    >>> from fwbq.kernels import Stationary
    >>> sorted(classes(Stationary))
    ['ExpQuad', 'Matern12', 'Matern32', 'Matern52']
    """
    return {name: cls for name, cls in _CLASSES.items() if issubclass(cls, base)}


def texts() -> dict[str, type[Kernel]]:
    """Return the registered classes by what they are called in texts.

    Examples
    --------
    >>> sorted(texts())
    ['expquad', 'matern12', 'matern32', 'matern52', 'periodic']
    """
    return dict(_TEXTS)


def named(kernel: Any, base: type[Any]) -> Any:
    """Return the class that a name such as ``"matern52"`` stands for; anything that is no text as it is.

    Parameters
    ----------
    kernel : str or any
        What a user gave as `kernel`.
    base : type
        Classes that can be named derive from it.

    Examples
    --------
    >>> from fwbq.kernels import Stationary
    >>> named("matern52", Stationary)
    <class 'fwbq.kernels.matern.Matern52'>
    """
    if not isinstance(kernel, str):
        return kernel
    known = {text: cls for text, cls in _TEXTS.items() if issubclass(cls, base)}
    found = known.get(kernel.strip().lower())
    if found is None:
        raise ValueError(
            f"`kernel` {kernel!r:.60} is not known: the names are {', '.join(known)}; for given length-scales pass a "
            "kernel, such as Matern52(0.3)"
        )
    return found


def from_spec(spec: dict[str, Any]) -> Kernel:
    """Rebuild a kernel from what its ``spec()`` returned, also after a trip through JSON.

    Parameters
    ----------
    spec : dict

    Examples
    --------
    >>> import json
    >>> from fwbq import ExpQuad
    >>> from_spec(json.loads(json.dumps(ExpQuad(0.1).spec())))
    ExpQuad(lengthscale=0.1, variance=1.0)
    """
    name = _files.spec_type(spec, "kernel", _CLASSES)
    with _files.reading_spec("kernel", name):
        return _CLASSES[name]._from_spec(spec)
