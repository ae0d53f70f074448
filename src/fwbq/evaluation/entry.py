"""What the functions that users call have in common: keywords that are answered, and a number of workers."""

from __future__ import annotations

import difflib
import inspect
import logging
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from .interruption import heard
from .pool import pool

P = ParamSpec("P")
T = TypeVar("T")
_log = logging.getLogger(__name__)

#: What other libraries call an option, and what it is called here.
_ELSEWHERE = {
    "seed": "rng", "random_state": "rng", "n_jobs": "executor", "workers": "executor", "pool": "executor",
    "likelihood": "log_likelihood", "loglike": "log_likelihood", "verbose": "progress", "epsabs": "tol",
    "tolerance": "tol", "measure": "prior", "prior": "measure", "log_likelihood": "log_integrand",
}  # fmt: skip

#: Options that every such function has.
_ALWAYS = ("rng", "executor")


def entry(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function that evaluates take a number of workers as `executor`, and name keywords that it does not know.

    Its first argument is what is evaluated: it decides whether the workers are processes or threads.

    Examples
    --------
    >>> @entry
    ... def evaluate(f, *, rng=None, executor=None):
    ...     return type(executor).__name__
    >>> evaluate(abs), evaluate(abs, executor=2)
    ('NoneType', 'ProcessPoolExecutor')
    >>> evaluate(abs, seed=1)
    Traceback (most recent call last):
    ...
    TypeError: `seed` is not an option of evaluate: use `rng`, as in rng=1
    """
    parameters = inspect.signature(function).parameters.values()
    names = [each.name for each in parameters if each.kind is not inspect.Parameter.VAR_KEYWORD]
    takes_any = len(names) < len(parameters)

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        for name, value in kwargs.items():
            if name not in names and (not takes_any or _ELSEWHERE.get(name) in _ALWAYS):
                raise TypeError(_unknown(function.__name__, name, value, names))
        workers: Any = kwargs.get("executor")
        if workers is None or isinstance(workers, Executor | bool) or not isinstance(workers, int):
            return _logged(function, *args, **kwargs)
        subject = args[0] if args else next((kwargs[name] for name in names if name in kwargs), None)
        with pool(workers, subject, "executor") as executor:
            kwargs["executor"] = executor
            return _logged(function, *args, **kwargs)

    return called


def check_names(called: str, names: Iterable[str], given: Iterable[str]) -> None:
    """Raise a `TypeError` that says what is meant when a keyword that was given is none of the names of a function.

    Examples
    --------
    >>> check_names("Model", ["log_integrand", "measure"], ["prior"])
    Traceback (most recent call last):
    ...
    TypeError: `prior` is not an option of Model: did you mean `measure`? The options are log_integrand, measure
    """
    known = list(names)
    for name in given:
        if name not in known:
            raise TypeError(_unknown(called, name, None, known))


def _logged(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function, and tell the log what it returned."""
    with heard():
        result = function(*args, **kwargs)
    _log.info("%s: %r", function.__name__, result)
    return result


def _unknown(function: str, name: str, value: Any, names: list[str]) -> str:
    told = f"`{name}` is not an option of {function}: "
    meant = _ELSEWHERE.get(name)
    if meant in _ALWAYS:
        example = f", as in {meant}={value!r}" if isinstance(value, int) else ""
        return f"{told}use `{meant}`{example}"
    near = [meant] if meant in names else difflib.get_close_matches(name, names, n=1)
    also = f"did you mean `{near[0]}`? The options" if near else "the options"
    return f"{told}{also} are {', '.join(names)}"
