"""Names of the package that messages and docstrings mention exist, in a fresh process, under exactly these names."""

import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import fwbq

SOURCE = Path(fwbq.__file__).parent
NAME = re.compile(r"(?<![\w/.@-])fwbq((?:\.[A-Za-z_]\w*)+)")

RESOLVE = """
import importlib, sys
import fwbq
for name in sys.stdin.read().split():
    thing, seen = fwbq, "fwbq"
    for part in name.split("."):
        seen += "." + part
        try:
            thing = getattr(thing, part)
        except AttributeError:
            try:
                thing = importlib.import_module(seen)
            except ImportError:
                print(name)
                break
"""


def mentioned():
    found = {}
    for path in SOURCE.rglob("*.py"):
        for match in NAME.finditer(path.read_text()):
            found.setdefault(match.group(1)[1:], str(path.relative_to(SOURCE)))
    return found


def test_every_name_that_is_mentioned_resolves():
    names = mentioned()
    assert {"bayes_rule", "evidence"} <= set(names), "the search finds no names: its pattern is wrong"
    run = subprocess.run(
        [sys.executable, "-c", RESOLVE], input="\n".join(names), capture_output=True, text=True, check=True
    )
    missing = {name: names[name] for name in run.stdout.split()}
    assert not missing


def test_every_room_loads_on_first_use():
    rooms = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()} - {
        "_linalg",
        "_validate",
        "cli",
    }
    assert {"selection", "paper", "process"} <= rooms <= set(fwbq.__all__)
    for room in sorted(rooms):
        subprocess.run([sys.executable, "-c", f"import fwbq; fwbq.{room}"], check=True)


def test_every_public_name_resolves_in_a_fresh_process():
    code = "import fwbq; [getattr(fwbq, name) for name in fwbq.__all__]"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_public_names_are_those_of_the_list():
    """A name that appears or goes away changes the list too, on purpose; CONTRIBUTING.md says how one goes."""
    assert sorted(fwbq.__all__) == (Path(__file__).parent / "public_names.txt").read_text().split()


def test_every_public_name_is_in_the_reference_and_has_an_example():
    reference = (Path(__file__).parents[1] / "docs" / "api.md").read_text()
    listed = {line.strip().rpartition(".")[2] for line in reference.splitlines() if line.startswith("   ")}
    names = [name for name in fwbq.__all__ if name != "__version__" and not inspect.ismodule(getattr(fwbq, name))]
    assert [name for name in names if name not in listed] == []
    names = [name for name in names if not name.endswith("Error")]  # which are raised, not made
    assert [name for name in names if not shows_something(getattr(fwbq, name))] == []


def shows_something(thing):
    """Whether its docstring has an example with a result, and not only that something is true."""
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(thing) or "")
    return not {each.want.strip() for each in examples} <= {"", "True", "False"}
