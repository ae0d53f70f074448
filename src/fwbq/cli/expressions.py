"""Measures and kernels written as text, such as ``gaussian(mean=[0, 0], cov=1)``, or as a file."""

from __future__ import annotations

import ast
import difflib
import inspect
import json
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from .. import kernels, measures
from ..kernels import Kernel, Stationary
from ..measures import Measure

T = TypeVar("T")

_MEASURES: dict[str, Callable[..., Measure]] = {
    "gaussian": measures.Gaussian,
    "mixture": measures.GaussianMixture,
    "truncated": measures.TruncatedGaussian,
    "uniform": measures.Uniform,
    "empirical": lambda points, weights=None: _empirical(points, weights),
}


def measure(text: str, option: str = "measure") -> Measure:
    """Return the measure that a text or a TOML/JSON file describes.

    Parameters
    ----------
    text : str
        ``gaussian(mean=[0, 0], cov=1)``, ``uniform(lower=[0, 0], upper=[1, 1])``,
        ``truncated(mean=[1], variance=[0.5], lower=0)``, ``mixture(weights=..., means=..., covs=...)``,
        ``lognorm(0.5)`` and the other continuous distributions of scipy.stats, ``product(norm(0, 1), gamma(2))`` of
        them for several coordinates, or the path of a file that holds the same:
        ``measure = "gaussian"`` and the arguments as further keys.
    option : str, optional
        Name of the parameter that it was given as, for messages.

    Examples
    --------
    >>> measure("gaussian(mean=[0, 0], cov=1)").dim
    2
    """
    try:
        return _from_file(Path(text)) if text.lower().endswith((".toml", ".json")) else _measure(text)
    except ValueError as error:
        told = str(error) if str(error).startswith("`measure`") else f"`measure` {_shortened(text)}: {error}"
        raise ValueError(told.replace("`measure`", f"`{option}`")) from error


def _measure(text: str) -> Measure:
    name, args, kwargs = _call(_parse(text, "measure"), "measure")
    if name == "product":
        if kwargs:
            raise ValueError(
                f"`measure` product takes distributions only, got {next(iter(kwargs))}=...: write it in "
                "the brackets of a distribution, e.g. product(norm(loc=0, scale=2))"
            )
        if not args:
            raise ValueError(
                "`measure` product needs a distribution for each coordinate: product(norm(0, 1), gamma(2))"
            )
        return _product([_frozen(arg) for arg in args], [ast.unparse(arg) for arg in args])
    if name.lower() not in _MEASURES and _family(name) is not None:
        return _product([_frozen_from(name, args, kwargs)], [text.strip()])
    return _make(
        _MEASURES,
        "measure",
        name,
        [_literal(a, "measure") for a in args],
        {k: _literal(v, "measure") for k, v in kwargs.items()},
    )


def _product(distributions: list[Any], texts: list[str]) -> Measure:
    """Return the product; a distribution that cannot be used is named as it was written."""
    try:
        return measures.Product(distributions)
    except (TypeError, ValueError) as error:
        told = str(error)
        for i, text in enumerate(texts):
            told = told.replace(f"`distributions[{i}]`", f"`{_shortened(text)}`")
        raise ValueError(told) from error


def _empirical(points: Any, weights: Any = None) -> Measure:
    if not (isinstance(points, list) and points and all(isinstance(point, list) for point in points)):
        raise ValueError("points must be a list of points, each a list of its coordinates: [[0], [1], [2.5]]")
    return measures.Empirical(points, weights)


def kernel(text: str) -> Kernel:
    """Return the kernel that a text describes; sums, products and positive factors included.

    Examples
    --------
    >>> kernel("2 * expquad(0.8) + matern32(lengthscale=[1, 2])").dim
    2
    """
    built = _kernel(_parse(text, "kernel"))
    if not isinstance(built, Kernel):
        raise ValueError(f"`kernel` {text!r} is a number; write e.g. expquad(lengthscale=1)")
    return built


def kernel_or_class(text: str) -> Kernel | type[Stationary]:
    """Return the kernel that a text describes, or for a bare name the class whose length-scales are to be found.

    Examples
    --------
    >>> kernel_or_class("matern52"), kernel_or_class("matern52(0.5)")
    (<class 'fwbq.kernels.matern.Matern52'>, Matern52(lengthscale=0.5, variance=1.0))
    """
    bare: type[Stationary] | str = kernels.named(text, Stationary) if text.strip().isidentifier() else text
    return kernel(bare) if isinstance(bare, str) else bare


def _kernel(node: ast.expr) -> Any:
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Mult):
            raise ValueError(f"`kernel` {_shortened(ast.unparse(node))!r}: {_COMBINED}")
        left, right = _kernel(node.left), _kernel(node.right)
        mixed = isinstance(left, Kernel) is not isinstance(right, Kernel)
        if (mixed and isinstance(node.op, ast.Add)) or _not_positive(left, right):
            raise ValueError(f"`kernel` {_shortened(ast.unparse(node))!r}: {_COMBINED}")
        return left + right if isinstance(node.op, ast.Add) else left * right
    if isinstance(node, ast.Constant):
        if type(node.value) not in (int, float):
            raise ValueError(f"`kernel` takes kernels and numbers, got {_shortened(repr(node.value))}")
        return node.value
    name, args, kwargs = _call(node, "kernel")
    return _make(
        kernels.texts(),
        "kernel",
        name,
        [_literal(a, "kernel") for a in args],
        {k: _literal(v, "kernel") for k, v in kwargs.items()},
    )


_COMBINED = (
    "kernels can be added, multiplied with each other and with a positive number, e.g. 2 * expquad(1) + matern32(1)"
)


def _not_positive(*parts: Any) -> bool:
    return any(not isinstance(part, Kernel) and not 0.0 < part < float("inf") for part in parts)


def _parse(text: str, what: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError) as error:  # the last two for null bytes and for deep nesting
        reason = error.msg if isinstance(error, SyntaxError) else str(error) or "it is nested too deeply"
        shown = _shortened(text)
        raise ValueError(f"`{what}` {shown!r} cannot be read: {reason}; write e.g. {_EXAMPLES[what]}") from None


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else text[:150] + "..."


_EXAMPLES = {"measure": '"gaussian(mean=[0, 0], cov=1)"', "kernel": '"expquad(lengthscale=1)"'}


def _call(node: ast.expr, what: str) -> tuple[str, list[ast.expr], dict[str, ast.expr]]:
    if (
        not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Name)
        or any(k.arg is None for k in node.keywords)
    ):
        shown = _shortened(ast.unparse(node))
        raise ValueError(f"`{what}` {shown!r} must be a name with arguments in brackets, e.g. {_EXAMPLES[what]}")
    return node.func.id, list(node.args), {str(k.arg): k.value for k in node.keywords}


def _literal(node: ast.expr, what: str) -> Any:
    if isinstance(node, ast.Name) and node.id in ("inf", "pi"):
        return {"inf": float("inf"), "pi": 3.141592653589793}[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_literal(node.operand, what)
    if isinstance(node, ast.List | ast.Tuple):
        return [_literal(element, what) for element in node.elts]
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise ValueError(
            f"`{what}` takes numbers and lists of numbers; got {_shortened(ast.unparse(node))!r}"
        ) from None


def _family(name: str) -> Any:
    """Return the continuous distribution of scipy.stats of this name; None when there is none."""
    import scipy.stats

    found = getattr(scipy.stats, name, None)
    return found if isinstance(found, scipy.stats.rv_continuous) else None


def _frozen(node: ast.expr) -> Any:
    return _frozen_from(*_call(node, "measure"))


def _frozen_from(name: str, args: list[ast.expr], kwargs: dict[str, ast.expr]) -> Any:
    family = _family(name)
    if family is None:
        near = _meant(name, {}, "measure")
        meant = f"did you mean {near}?" if near else "write e.g. norm(0, 1), gamma(2), lognorm(0.5)"
        raise ValueError(f"`measure` names {name!r}, which is not a continuous distribution of scipy.stats: {meant}")
    try:
        return family(*[_literal(a, "measure") for a in args], **{k: _literal(v, "measure") for k, v in kwargs.items()})
    except TypeError:
        shapes = family.shapes.replace(" ", "").split(",") if family.shapes else []
        raise ValueError(_takes("measure", name, [*shapes, "loc=0", "scale=1"])) from None


def _takes(what: str, name: str, parameters: list[str]) -> str:
    return f"`{what}` {name} takes {', '.join(parameters)}; those with a value may be left out"


def _make(known: Mapping[str, Callable[..., T]], what: str, name: str, args: list[Any], kwargs: dict[str, Any]) -> T:
    if name.lower() not in known:
        also = ", product, and the continuous distributions of scipy.stats" if what == "measure" else ""
        near = _meant(name, known, what)
        meant = f"did you mean {near}? There" if near else "there"
        raise ValueError(f"`{what}` {name!r} is not known; {meant} are {', '.join(known)}{also}")
    make = known[name.lower()]
    signature = inspect.signature(make)
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        raise ValueError(_takes(what, name, [p.name + _default(p) for p in signature.parameters.values()])) from None
    try:
        return make(*args, **kwargs)
    except (TypeError, ValueError) as error:
        # The names in the message are arguments of this call, not flags.
        told = re.sub("`([^`]+)`", r"\1", str(error))
        raise ValueError(f"`{what}` {name}: {told}") from error


#: What other programs call distributions of scipy.stats.
_ELSEWHERE = {
    "normal": "norm", "lognormal": "lognorm", "exponential": "expon", "student": "t", "studentt": "t",
    "chisquare": "chi2", "weibull": "weibull_min",
}  # fmt: skip


def _meant(name: str, known: Mapping[str, Any], what: str) -> str | None:
    """Return the name that was probably meant: a known one, or for a measure a distribution of scipy.stats."""
    if what == "measure" and name.lower() in _ELSEWHERE:
        return _ELSEWHERE[name.lower()]
    near = difflib.get_close_matches(name.lower(), known, n=1)
    if not near and what == "measure":
        import scipy.stats

        distributions = [each for each in dir(scipy.stats) if _family(each) is not None]
        near = difflib.get_close_matches(name.lower(), distributions, n=1)
    return near[0] if near else None


def _default(parameter: inspect.Parameter) -> str:
    return "" if parameter.default is inspect.Parameter.empty else f"={parameter.default}"


def _from_file(path: Path) -> Measure:
    if path.exists() and not path.is_file():
        raise ValueError(f"`measure` {str(path)!r} is not a file: pass a .toml or .json file")
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"`measure` file {str(path)!r} cannot be read: {error.strerror}") from error
    try:
        document = tomllib.loads(text) if path.suffix.lower() == ".toml" else json.loads(text)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"`measure` file {str(path)!r} is not valid: {error}") from error
    if not isinstance(document, dict):
        raise ValueError(f"`measure` file {str(path)!r} must hold a table with the key measure")
    if "type" in document:
        return measures.from_spec(document)
    name = document.pop("measure", None)
    if not isinstance(name, str):
        raise ValueError(f'`measure` file {str(path)!r} must say which, e.g. measure = "gaussian"')
    if "(" in name:
        return _measure(name)
    return _make(_MEASURES, "measure", name, [], document)
