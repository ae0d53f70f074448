"""Digests of Python objects by what they compute: code, and everything the code refers to, by value.

Two objects with the same digest give the same results; line numbers, comments and docstrings do not enter. What cannot
be read (a lock, an open file, a module whose use cannot be followed) raises `Unidentified`, so that nothing is ever
guessed.
"""

from __future__ import annotations

import builtins
import dis
import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import struct
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .library import Library, library, library_constant, of_library

#: Entries of a class that say where it was written, or that Python derives from the others.
_NOT_BEHAVIOUR = frozenset(
    "__annotate__ __annotate_func__ __annotations__ __annotations_cache__ __dataclass_fields__ __dataclass_params__ "
    "__dict__ __doc__ __firstlineno__ __module__ __orig_bases__ __parameters__ __qualname__ __slotnames__ "
    "__static_attributes__ __weakref__ _abc_impl __abstractmethods__".split()
)
#: Names that the body of a class statement stores constants under which do not change what the class does.
_LABELS = frozenset(("__doc__", "__firstlineno__", "__module__", "__qualname__"))
#: Flags of a code object that change how it runs; the others say how it was compiled.
_FLAGS = (
    inspect.CO_VARARGS
    | inspect.CO_VARKEYWORDS
    | inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ITERABLE_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)
#: Built-in functions that reach names which the code does not show.
_DYNAMIC = (eval, exec, globals, builtins.__import__)
_DESCRIPTORS = (
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.WrapperDescriptorType,
)
#: Packages whose objects are pickled in another form each time they are made, though they compute the same.
_UNSTABLE = frozenset(("pytensor",))
_LENGTH = 24  # hexadecimal digits: 96 bits


class Unidentified(TypeError):
    """An object whose value cannot be read; the message says where it is and why."""


def digest(x: Any, where: str) -> str:
    """Return 24 hexadecimal digits that change whenever what `x` is or does changes.

    Parameters
    ----------
    x : object
        Numbers, strings, arrays, containers; functions, methods, classes; objects that can be pickled.
    where : str
        What it is called in an error.

    Raises
    ------
    Unidentified
        When `x`, or something that it refers to, cannot be read.

    Examples
    --------
    >>> def power(a):
    ...     return lambda x: x**a
    >>> digest(power(2), "f") == digest(power(2), "f"), digest(power(2), "f") == digest(power(3), "f")
    (True, False)
    """
    walk = _Walk()
    try:
        walk.visit(x, where)
    except RecursionError:
        raise Unidentified(f"{where} is nested too deeply to be read") from None
    return walk.digest()


@functools.lru_cache(maxsize=1024)
def code_digest(code: types.CodeType) -> str:
    """Return the digest of instructions, constants and names alone, without what the names stand for.

    Neither line numbers nor docstrings enter.
    """
    walk = _Walk()
    walk.put(code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & _FLAGS)
    walk.put(code.co_varnames, code.co_cellvars, code.co_freevars, code.co_exceptiontable)
    instructions = list(dis.get_instructions(code))
    for instruction, after in zip(instructions, [*instructions[1:], None], strict=True):
        if instruction.opcode not in dis.hasconst:
            walk.put(instruction.opname, instruction.arg)
            if instruction.opcode in dis.hasname:
                walk.put(instruction.argval)
        elif after is None or after.opname != "STORE_NAME" or after.argval not in _LABELS:
            walk.put(instruction.opname)
            walk.visit(instruction.argval, "a constant")
    return walk.digest()


def references(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of everything that the code of a function takes from outside it, sorted by name.

    Closure variables are ``closure a``, module-level names ``global a``; an attribute of one of the user's own modules
    is ``global module.attribute``; what the code imports itself is ``import module.attribute``. Installed modules are
    given as themselves. Of a function that a library made, the closure is all that the library's version does not say.
    """
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield f"closure {name}", cell
    if library(function.__module__ or "") is not None:
        return
    found: dict[str, Any] = {}
    for name, path in sorted(_global_names(function.__code__)):
        value = function.__globals__.get(name, getattr(builtins, name, _ABSENT))
        label = f"global {name}"
        for attribute in path:
            if not isinstance(value, types.ModuleType) or library(value.__name__) is not None:
                break
            label += f".{attribute}"
            value = getattr(value, attribute, _ABSENT)
        found[label] = value
    for name, level, attributes in sorted(_imports(function.__code__)):
        full = importlib.util.resolve_name("." * level + name, function.__globals__.get("__package__") or "")
        version = library(full.partition(".")[0])
        if version is None:  # not installed, or not imported yet
            module = _imported(full)
            version = library(full)
        if version is not None:
            found[f"import {full}"] = Library(full, version)
            continue
        used = attributes or [name for name in _names(function.__code__) if hasattr(module, name)]
        if used:
            found.update((f"import {full}.{name}", _member(module, name)) for name in used)
        else:
            found[f"import {full}"] = module
    yield from sorted(found.items())


class _Absent:
    """The value of a name that is not defined."""


_ABSENT = _Absent()


class _Walk:
    """One traversal; an object that is met again is written as the number under which it was met first."""

    def __init__(self, met: dict[int, int] | None = None) -> None:
        self._hash = hashlib.sha256()
        self._met = dict(met or {})
        self._alive: list[Any] = []  # objects made on the way, whose id must not be given to another

    def digest(self) -> str:
        return self._hash.hexdigest()[:_LENGTH]

    def put(self, *tokens: Any) -> None:
        for token in tokens:
            data = token if isinstance(token, bytes) else str(token).encode("utf-8", "surrogatepass")
            self._hash.update(struct.pack("<Q", len(data)))
            self._hash.update(data)

    def visit(self, x: Any, where: str) -> None:
        kind = type(x)
        if x is None or x is Ellipsis or x is NotImplemented or kind in (bool, int, str, bytes, range):
            self.put(kind.__name__, x if kind is bytes else repr(x))
        elif kind in (float, complex):
            self.put(kind.__name__, struct.pack("<2d", x.real, x.imag))
        elif kind is tuple:
            self._sequence(x, where)
        elif kind is types.CodeType:
            self.put("code", code_digest(x))
        elif kind is _Absent:
            self.put("absent")
        elif kind is Library:
            self.put("library", x.name, x.version)
        elif kind is types.CellType:
            self._cell(x, where)
        elif isinstance(x, (np.generic, np.dtype)) or kind is np.ndarray:
            self._array(x, where)
        elif id(x) in self._met:
            self.put("met", self._met[id(x)])
        else:
            self._met[id(x)] = len(self._met)
            self._alive.append(x)
            self._object(x, where)

    def _sequence(self, items: Iterable[Any], where: str) -> None:
        listed = list(items)
        self.put("sequence", len(listed))
        for item in listed:
            self.visit(item, where)

    def _cell(self, cell: types.CellType, where: str) -> None:
        try:
            contents = cell.cell_contents
        except ValueError:
            contents = _ABSENT
        self.visit(contents, where)

    def _array(self, x: Any, where: str) -> None:
        dtype = x if isinstance(x, np.dtype) else x.dtype
        self.put("array", dtype.str, dtype.descr if dtype.names else "")
        if x is dtype:
            return
        if dtype.hasobject:
            self._sequence(x.ravel().tolist(), where)
            return
        # The order in memory may change the rounding of sums.
        self.put(x.shape, x.flags.f_contiguous and not x.flags.c_contiguous, x.tobytes())

    def _object(self, x: Any, where: str) -> None:
        kind = type(x)
        if kind in (list, dict, set, frozenset):
            self._container(x, where)
        elif isinstance(x, types.ModuleType):
            self._module(x, where)
        elif isinstance(x, types.FunctionType):
            self._function(x, where)
        elif isinstance(x, types.MethodType):
            self.put("method")
            self._sequence((x.__func__, x.__self__), where)
        elif isinstance(x, types.BuiltinFunctionType | types.MethodWrapperType):
            self._builtin(x, where)
        elif isinstance(x, _DESCRIPTORS):
            self.put("descriptor", x.__name__)
        elif isinstance(x, type):
            self._class(x, where)
        elif isinstance(x, (staticmethod, classmethod)):
            self.put(kind.__name__)
            self.visit(x.__func__, where)
        elif isinstance(x, property):
            self.put("property")
            self._sequence((x.fget, x.fset, x.fdel), where)
        elif isinstance(x, functools.cached_property):
            self.put("cached_property")
            self.visit(x.func, where)
        else:
            self._instance(x, where)

    def _container(self, x: Any, where: str) -> None:
        kind = type(x).__name__
        if isinstance(x, set | frozenset):
            self.put(kind, len(x), *sorted(self._apart(item, where) for item in x))
            return
        self.put(kind)
        self._sequence((item for pair in x.items() for item in pair) if isinstance(x, dict) else x, where)

    def _apart(self, item: Any, where: str) -> str:
        """Digest an element whose place has no meaning, whatever was met in other elements."""
        walk = _Walk(self._met)
        walk.visit(item, where)
        self._alive.append(walk)
        return walk.digest()

    def _module(self, module: types.ModuleType, where: str) -> None:
        version = library(module.__name__)
        if version is None:
            raise Unidentified(
                f"{where} is the module {module.__name__!r}, and which parts of it are used cannot be seen"
            )
        self.put("module", module.__name__, version)

    def _function(self, x: types.FunctionType, where: str) -> None:
        self.put("function", code_digest(x.__code__))
        if of_library(x):
            self.put(x.__module__, x.__qualname__, library(x.__module__))
            return
        inside = (x.__defaults__, x.__kwdefaults__, sorted(x.__dict__.items()))
        self._sequence(inside, f"a default or an attribute of {where}")
        for name, value in references(x):
            self.put(name)
            self.visit(value, f"{where} -> {name}")

    def _builtin(self, x: Any, where: str) -> None:
        if any(x is each for each in _DYNAMIC):
            raise Unidentified(f"{where} is {x.__name__}, and which names it reaches cannot be seen")
        owner = x.__self__
        self.put("builtin", x.__qualname__)
        if isinstance(owner, types.ModuleType) or owner is None:
            module = x.__module__ or getattr(owner, "__name__", "")
            version = library(module)
            self.put(module, version)
            if version is None:  # an extension module of the user's own
                file = getattr(sys.modules.get(module), "__file__", None)
                if file is None:
                    raise Unidentified(f"{where} is a compiled function whose module has no file")
                self.put(Path(file).read_bytes())
        else:
            self.visit(owner, where)

    def _class(self, x: type, where: str) -> None:
        if of_library(x):
            self.put("library class", x.__module__, x.__qualname__, library(x.__module__))
            return
        self.put("class", x.__qualname__)
        self.visit(type(x), where)
        self._sequence(x.__bases__, where)
        for name in sorted(vars(x).keys() - _NOT_BEHAVIOUR):
            self.put(name)
            self.visit(vars(x)[name], f"{where} -> {x.__qualname__}.{name}")

    def _instance(self, x: Any, where: str) -> None:
        kind = type(x)
        named = library_constant(x)
        if named is not None:
            self.put("library constant", *named)
            return
        if all(isinstance(getattr(x, name, None), str) for name in ("__module__", "__qualname__")) and of_library(x):
            self.put("library function", x.__module__, x.__qualname__, library(x.__module__))  # compiled by Cython
            return
        if kind.__module__.partition(".")[0] in _UNSTABLE:
            raise Unidentified(f"{where} is a {kind.__name__} of {kind.__module__}, whose content has no fixed form")
        self.put("instance")
        self.visit(kind, where)
        try:
            state = x.__reduce_ex__(4)
        except RecursionError:
            raise
        except Exception as error:
            raise Unidentified(f"{where} is a {kind.__name__}, which cannot be read ({error})") from error
        if isinstance(state, str):  # pickled by name alone, as functools.lru_cache does
            if not hasattr(x, "__wrapped__"):
                raise Unidentified(f"{where} is a {kind.__name__}, which has a name but no value that can be read")
            self.visit(x.__wrapped__, where)
            return
        self._alive.append(state)
        for part in state[:3]:
            self.visit(part, where)
        for items in state[3:5]:
            self.visit(None if items is None else [*items], where)


def _imported(name: str) -> types.ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise Unidentified(f"the module {name!r}, which it imports, cannot be imported here ({error})") from error


def _member(module: types.ModuleType, name: str) -> Any:
    """Return what ``from module import name`` gives: an attribute, or a module inside a package."""
    return getattr(module, name) if hasattr(module, name) else _imported(f"{module.__name__}.{name}")


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object and those of the functions, comprehensions and classes inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _names(code: types.CodeType) -> list[str]:
    return sorted({name for each in _codes(code) for name in each.co_names})


@functools.lru_cache(maxsize=1024)
def _global_names(code: types.CodeType) -> frozenset[tuple[str, tuple[str, ...]]]:
    """Return the module-level names that code reads, each with the attributes taken from it at once."""
    found: set[tuple[str, tuple[str, ...]]] = set()
    for each in _codes(code):
        instructions = [i for i in dis.get_instructions(each) if i.opname not in ("EXTENDED_ARG", "PUSH_NULL")]
        for k, instruction in enumerate(instructions):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"):
                path = []
                for after in instructions[k + 1 :]:
                    if after.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
                        break
                    path.append(str(after.argval))
                found.add((str(instruction.argval), tuple(path)))
    return frozenset(found)


@functools.lru_cache(maxsize=1024)
def _imports(code: types.CodeType) -> frozenset[tuple[str, int, tuple[str, ...]]]:
    """Return (module, level, names) of the import statements in code."""
    found = set()
    for each in _codes(code):
        instructions = [i for i in dis.get_instructions(each) if i.opname != "EXTENDED_ARG"]
        for k, instruction in enumerate(instructions):
            if instruction.opname == "IMPORT_NAME":  # the level and the names wanted are loaded before it
                level, names = (before.argval for before in instructions[k - 2 : k])
                found.add((str(instruction.argval), int(level), tuple(names or ())))
    return frozenset(found)
