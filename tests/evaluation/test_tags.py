"""The identity of a function: another when its values could change, the same when only its text does."""

import collections
import enum
import functools
import importlib
import itertools
import math
import os
import subprocess
import sys
import textwrap
import threading
import types

import numpy as np
import pandas as pd
import pytest
from scipy import interpolate, special, stats
from scipy.stats import norm

import fwbq
from fwbq.evaluation import Evaluator, Journal, JournalError, function_identity, function_tag
from fwbq.evaluation.fingerprint import digest

SCALE = 2.0
TABLE = np.arange(3.0)


def helper(x):
    return SCALE * x


def uses_helper(x):
    return helper(x) + TABLE.sum()


def factorial(n):
    return 1 if n == 0 else n * factorial(n - 1)


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def constant(value):
    """A function of x that holds `value` in its closure and nothing else."""
    return lambda x: value


def with_default(a):
    def f(x, a=a):
        return a * x

    return f


def with_keyword_default(a):
    def f(x, *, a=a):
        return a * x

    return f


def with_attribute(a):
    def f(x):
        return f.a * x

    f.a = a
    return f


def twice(f):
    @functools.wraps(f)
    def wrapper(x):
        return 2.0 * f(x)

    return wrapper


class Scaled:
    factor = 1.0

    def __init__(self, a):
        self.a = a

    def __call__(self, x):
        return self.factor * self.a * x

    def method(self, x):
        return self(x)


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a

    def __call__(self, x):
        return self.a * x


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


Pair = collections.namedtuple("Pair", "a b")


def power(x, a):
    return x**a


def nested_in(a):
    def inner(x):
        return a * x

    return lambda x: inner(x) + 1.0


def loop(a):
    """Two functions that hold each other."""

    def first(x, n=3):
        return a if n == 0 else second(x, n - 1)

    def second(x, n):
        return first(x, n)

    return first


# Each makes a function from a value; 1 and 2 give functions that differ.
MAKERS = {
    "closure": constant,
    "closure of a closure": nested_in,
    "default": with_default,
    "keyword default": with_keyword_default,
    "attribute": with_attribute,
    "partial, positional": lambda a: functools.partial(lambda a, x: a * x, a),
    "partial, keyword": lambda a: functools.partial(power, a=a),
    "partial, a keyword that is called code": lambda a: functools.partial(lambda x, code: x, code=a),
    "partial of a partial": lambda a: functools.partial(functools.partial(power, a=a)),
    "callable object": Scaled,
    "slots": Slotted,
    "bound method": lambda a: Scaled(a).method,
    "wrapped": lambda a: twice(constant(a)),
    "cached": lambda a: functools.lru_cache(constant(a)),
    "np.vectorize": lambda a: np.vectorize(constant(a)),
    "functions that hold each other": loop,
    "int": lambda a: constant(10**30 + a),
    "float": lambda a: constant(float(a)),
    "sign of zero": lambda a: constant(0.0 if a == 1 else -0.0),
    "number or flag": lambda a: constant(1 if a == 1 else True),
    "integer or float": lambda a: constant(1 if a == 1 else 1.0),
    "complex": lambda a: constant(a * 1j),
    "string": lambda a: constant(str(a)),
    "long string": lambda a: constant("x" * 100 + str(a)),
    "bytes": lambda a: constant(bytes([a])),
    "none": lambda a: constant(None if a == 1 else 0),
    "array": lambda a: constant(np.array([0.0, a])),
    "shape": lambda a: constant(np.zeros((a, 2 // a))),
    "dtype": lambda a: constant(np.zeros(3, "<i8" if a == 1 else "<f8")),
    "array of objects": lambda a: constant(np.array([None, a], dtype=object)),
    "numpy number": lambda a: constant(np.float32(a)),
    "masked array": lambda a: constant(np.ma.array([1.0, 2.0], mask=[a == 1, False])),
    "list": lambda a: constant([0, [a]]),
    "tuple": lambda a: constant((0, (a,))),
    "tuple or list": lambda a: constant((0,) if a == 1 else [0]),
    "dict": lambda a: constant({"a": a}),
    "order of a dict": lambda a: constant({"a": 0, "b": 0} if a == 1 else {"b": 0, "a": 0}),
    "set": lambda a: constant({"a", "b", a}),
    "nested function in a list": lambda a: constant([constant(a)]),
    "named tuple": lambda a: constant(Pair(a, 0)),
    "enumeration": lambda a: constant(Colour(a)),
    "data frame": lambda a: constant(pd.DataFrame({"x": [1.0, a], "y": ["u", "v"]})),
    "frozen distribution": lambda a: stats.gamma(float(a)).logpdf,
    "spline": lambda a: interpolate.CubicSpline([0.0, 1.0, 2.0], [0.0, a, 4.0]),
    "generator": lambda a: constant(np.random.default_rng(a)),
    "measure": lambda a: fwbq.Gaussian([0.0], float(a)).log_density,
    "embedding": lambda a: fwbq.embed(fwbq.ExpQuad(float(a)), fwbq.Uniform([0.0], [1.0])).mean,
    "library function": lambda a: (np.sin, np.cos)[a - 1],
    "library function in a closure": lambda a: constant((special.erf, special.erfc)[a - 1]),
    "method of a library's object": lambda a: (norm.pdf, norm.cdf)[a - 1],
    "built-in": lambda a: (math.exp, math.log)[a - 1],
    "bound built-in": lambda a: {a: 1}.get,
}


@pytest.mark.parametrize("name", MAKERS)
def test_another_value_is_another_function_and_the_same_value_the_same(name):
    make = MAKERS[name]
    assert function_tag(make(1)) == function_tag(make(1))
    assert function_tag(make(1)) != function_tag(make(2))
    assert digest(make(1), "f") == digest(make(1), "f") != digest(make(2), "f")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda x: x + 1.0, lambda x: x + 2.0),
        (lambda x: x + 1.0, lambda x: x - 1.0),
        (lambda x: [y + 1.0 for y in x], lambda x: [y + 2.0 for y in x]),
        (lambda x: math.sin(x), lambda x: math.cos(x)),
        (lambda x, y=1: x, lambda y, x=1: x),
        (lambda *x: x, lambda x: x),
        (lambda x: x in {"a", "b"}, lambda x: x in {"a", "c"}),
    ],
)
def test_other_code_is_another_function(first, second):
    assert digest(first, "f") != digest(second, "f")


def written(tmp_path, source, name="f", module="identified"):
    """Import a function from source code; each call is a fresh module of the same name."""
    (tmp_path / f"{module}.py").write_text(textwrap.dedent(source))
    importlib.invalidate_caches()
    for known in [known for known in sys.modules if known.startswith("identified")]:
        del sys.modules[known]
    return getattr(importlib.import_module(module), name)


@pytest.fixture
def importable(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    for known in [known for known in sys.modules if known.startswith("identified")]:
        del sys.modules[known]


ORIGINAL = """
    import numpy as np
    import identified_constants as constants
    from identified_constants import offset

    N = 3

    class Base:
        weight = 1.0
        def scale(self, x):
            return self.weight * x

    class Child(Base):
        def __call__(self, x):
            return self.scale(x)

    child = Child()

    def helper(x):
        return deeper(x) * N

    def deeper(x):
        return np.sin(x)

    def f(x):
        from identified_constants import late
        import identified_constants as again
        inner = lambda y: helper(y) + constants.K
        return inner(x) + offset(x) + child(x) + late + again.LAST
    """
CONSTANTS = """
    K = 5.0
    late = 1.0
    LAST = 2.0
    UNUSED = 0

    def offset(x):
        return x + hidden

    hidden = 7.0
    """
# (file, from, to): changes that can change values ...
CHANGES = [
    ("main", "N = 3", "N = 4"),
    ("main", "weight = 1.0", "weight = 2.0"),
    ("main", "self.weight * x", "self.weight + x"),
    ("main", "return self.scale(x)", "return self.scale(x) + 1"),
    ("main", "return np.sin(x)", "return np.cos(x)"),
    ("main", "deeper(x) * N", "deeper(x) + N"),
    ("main", "helper(y) + constants.K", "helper(y) - constants.K"),
    ("constants", "K = 5.0", "K = 6.0"),
    ("constants", "late = 1.0", "late = 1.5"),
    ("constants", "LAST = 2.0", "LAST = 2.5"),
    ("constants", "x + hidden", "x - hidden"),
    ("constants", "hidden = 7.0", "hidden = 8.0"),
]
# ... and changes that cannot.
REMARKS = [
    ("main", "N = 3", "N = 3  # three"),
    ("main", "import numpy as np", "# a comment\n\n\n    import numpy as np"),
    ("main", "def helper(x):\n", 'def helper(x):\n        """Say what it does."""\n'),
    ("main", "class Base:\n", 'class Base:\n        """A class."""\n'),
    ("main", "def f(x):\n", 'def f(x):\n        """Doc."""\n        # comment\n\n'),
    ("main", "return deeper(x) * N", "return (\n            deeper(x)\n            * N\n        )"),
    ("constants", "UNUSED = 0", "UNUSED = 1"),
    ("constants", "def offset(x):", "def unused(x):\n        return x\n\n    def offset(x):"),
]


@pytest.mark.parametrize(
    ("change", "matters"), [*((c, True) for c in CHANGES), *((c, False) for c in REMARKS)], ids=lambda c: str(c)[:60]
)
def test_a_change_of_the_program_counts_where_it_can_change_values(importable, change, matters):
    def tag(main, constants):
        (importable / "identified_constants.py").write_text(textwrap.dedent(constants))
        return function_tag(written(importable, main))

    before = tag(ORIGINAL, CONSTANTS)
    file, old, new = change
    sources = {"main": ORIGINAL, "constants": CONSTANTS}
    assert old in sources[file]
    sources[file] = sources[file].replace(old, new)
    assert (tag(**sources) != before) is matters


def test_a_docstring_that_the_code_reads_counts(importable):
    source = 'def f(x):\n    "abc"\n    return x * len("abc")\n'
    assert function_tag(written(importable, source)) != function_tag(written(importable, source.replace("abc", "abcd")))


def test_a_library_that_f_imports_counts_the_same_before_and_after(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "from fwbq.evaluation import function_tag\n"
        "def f(x):\n"
        "    import hypothesis\n"
        "    from xml.dom import minidom\n"
        "    return x\n"
        "assert 'hypothesis' not in sys.modules and 'xml.dom.minidom' not in sys.modules\n"
        "before = function_tag(f)\n"
        "f(1)\n"
        "assert function_tag(f) == before\n"
    )
    subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)


def test_a_module_that_cannot_be_imported_is_named(tmp_path):
    def f(x):
        import not_there

        return not_there.g(x)

    with pytest.raises(
        TypeError, match=r"the module 'not_there', which it imports, cannot be imported here.*Pass `tag`"
    ):
        function_tag(f)


def test_globals_count_at_the_time_of_the_call(monkeypatch):
    before = function_tag(uses_helper)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert function_tag(uses_helper) != before
    monkeypatch.undo()
    assert function_tag(uses_helper) == before


def test_recursive_functions_have_an_end():
    assert function_tag(factorial) != function_tag(even) != function_tag(odd)


def test_names_say_where_a_function_comes_from():
    assert function_tag(uses_helper).startswith(f"{__name__}:uses_helper#")
    assert function_tag(functools.partial(power, a=1)).startswith(f"partial({__name__}:power)#")
    assert function_tag(Scaled(1.0)).startswith(f"{__name__}:Scaled#")
    identity = function_identity(with_default(2.5))
    assert identity["default a"] == "2.5" and set(identity) == {"name", "code", "default a"}
    assert set(function_identity(uses_helper)) == {"name", "code", "global TABLE", "global helper"}


def test_tags_are_the_same_in_another_process(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np\n"
        "from scipy import stats\n"
        "from fwbq.evaluation import function_tag\n"
        "words = {'a', 'b', 'c', 'd'}\n"
        "prior = stats.norm(1.0)\n"
        "class C:\n"
        "    def __init__(self): self.words = words\n"
        "    def __call__(self, x): return x in self.words\n"
        "def f(x): return x in words and prior.pdf(x) + np.exp(x)\n"
        "print(function_tag(f), function_tag(lambda x: x in {'a', 'b', 'c', 'd'}), function_tag(C()))\n"
    )
    tags = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, env=environment)
        tags.add(run.stdout)
    assert len(tags) == 1 and tags.pop().startswith("script:f#")


def test_what_cannot_be_identified_is_refused_with_the_remedy(tmp_path):
    refused = {
        "closure value is a lock, which cannot be read": constant(threading.Lock()),
        "closure value is a generator": constant(i for i in range(3)),
        "global eval is eval": lambda x: eval("x"),
        "closure value is the module 'made_up'": constant(types.ModuleType("made_up")),
        "object is a ufunc": np.frompyfunc(power, 2, 1),
        "default a -> closure value is a lock": with_default(constant(threading.Lock())),
    }
    for words, f in refused.items():
        path = tmp_path / "run.db"
        with pytest.raises(TypeError, match=rf"{words}.*Pass `tag`, a name of your own for f"):
            Evaluator(f, 1, journal=path)
        assert not path.exists()
        Evaluator(f, 1, journal=path, tag="mine").close()
        Evaluator(f, 1)  # without a journal nobody asks
        path.unlink()


# -- on a journal -----------------------------------------------------------------------------------------------------

UNIT = fwbq.Uniform([0.0], [1.0])


def square(a):
    return lambda x: a * x[:, 0] ** 2


def test_a_changed_closure_is_not_answered_from_the_journal(tmp_path):
    path = tmp_path / "run.db"
    assert fwbq.integrate(square(1.0), UNIT, n=8, journal=path).mean == pytest.approx(1 / 3, rel=1e-3)
    with pytest.raises(JournalError, match=r'function\.closure a: "1\.0" in the journal, "5\.0" here'):
        fwbq.integrate(square(5.0), UNIT, n=8, journal=path)
    again = fwbq.integrate(square(1.0), UNIT, n=8, journal=path)
    assert again.mean == pytest.approx(1 / 3, rel=1e-3)


def test_one_open_journal_keeps_functions_apart(tmp_path):
    with Journal(tmp_path / "run.db", {"study": "both"}) as journal:
        alone = [fwbq.integrate(square(a), UNIT, n=8, rng=0) for a in (1.0, 5.0)]
        for _, (a, reference) in itertools.product(range(2), zip((1.0, 5.0), alone, strict=True)):
            found = fwbq.integrate(square(a), UNIT, n=8, journal=journal)
            assert (found.mean, found.sd) == (reference.mean, reference.sd)
        assert len(journal) == sum(result.n_evaluations for result in alone)  # the second time nothing was evaluated
        for options in ({"tag": "square"}, {"tag": "square", "version": "2"}, {"version": "2"}):
            before = len(journal)
            fwbq.integrate(square(1.0), UNIT, n=8, journal=journal, **options)
            assert len(journal) == before + 8


def test_a_journal_made_with_another_way_of_calling_is_refused(tmp_path):
    with Evaluator(np.abs, 1, vectorized=True, journal=tmp_path / "run.db", tag="abs") as evaluate:
        evaluate([[1.0], [2.0]])
    with pytest.raises(JournalError, match="was made with vectorized=True, this call says vectorized=False"):
        Evaluator(np.abs, 1, vectorized=False, journal=tmp_path / "run.db", tag="abs")
    for vectorized in (None, True):
        with Evaluator(np.abs, 1, vectorized=vectorized, journal=tmp_path / "run.db", tag="abs") as evaluate:
            assert evaluate([[1.0], [2.0]]).n_new == 0


@pytest.mark.parametrize("options", [{"tag": 1}, {"version": 2}])
def test_tags_and_versions_are_texts(options, tmp_path):
    with pytest.raises(TypeError, match=rf"`{next(iter(options))}` must be a text"):
        Evaluator(np.abs, 1, journal=tmp_path / "run.db", **options)
