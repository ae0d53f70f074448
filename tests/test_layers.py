"""The one-way flow: a module imports only from the layers above it."""

import ast
import re
from pathlib import Path

import pytest

import fwbq

SOURCE = Path(fwbq.__file__).parent
LAYERS = [
    "_reason", "_numbers", "_html", "_files", "_lock", "_threads", "_warnings", "_extras", "_frozen", "_validate",
    "_quasi_random", "_linalg", "_gauss", "_whitening", "measures", "kernels", "embeddings", "rules", "process",
    "designs", "posterior", "transforms", "thinning", "evaluation", "integration", "inference", "selection", "chema",
    "theory", "plots", "report", "paper", "cli",
]  # fmt: skip
# Conveniences on a result object that load a lower layer only when called.
CONVENIENCES = {
    *((room, "plots") for room in ("rules", "designs", "posterior", "integration", "inference", "selection", "chema")),
    ("selection", "report"),
    ("chema", "report"),
}


def layer(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path):
    """(imported layer, inside a function) for every import of the package's own modules."""
    package = ("fwbq", *path.relative_to(SOURCE).parts[:-1])

    def walk(node, nested):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ImportFrom):
                if child.level:
                    base = package[: len(package) - child.level + 1]
                    full = (*base, *(child.module.split(".") if child.module else ()))
                else:
                    full = tuple((child.module or "").split("."))
                if full[0] == "fwbq":
                    names = [full[1]] if len(full) > 1 else [alias.name for alias in child.names]
                    yield from ((name, nested) for name in names)
            elif isinstance(child, ast.Import):
                for alias in child.names:
                    parts = alias.name.split(".")
                    if parts[0] == "fwbq" and len(parts) > 1:
                        yield parts[1], nested
            yield from walk(child, nested or isinstance(child, ast.FunctionDef))

    yield from walk(ast.parse(path.read_text()), False)


def modules(path: Path):
    """Name the first part of every module that is imported by its full name."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").split(".")[0]


PAGE = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text()
MODULES = sorted(p for p in SOURCE.rglob("*.py") if p.name not in ("__init__.py", "__main__.py") or p.parent != SOURCE)


def test_the_walk_sees_imports():
    seen = {name for path in MODULES for name, _ in imports(path)}
    assert {"_validate", "kernels", "measures"} <= seen


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_upward(path):
    own = layer(path)
    assert own in LAYERS, f"{own} has no place in the order of the layers"
    for name, nested in imports(path):
        # Not the public names of the package itself: those would load every layer.
        assert name in LAYERS or name == "__version__", f"{own} imports {name} from the package itself"
        if name in LAYERS and not (nested and (own, name) in CONVENIENCES):
            assert LAYERS.index(name) <= LAYERS.index(own), f"{own} imports {name}, which stands below it"


def test_the_package_needs_nothing_beside_it():
    """Studies and benchmarks are of the repository, not of the wheel."""
    beside = {"studies", "benchmarks", "tests"}
    assert {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if beside & set(modules(path))} == set()
    seen = {name for path in (Path(__file__).parents[1] / "studies").rglob("*.py") for name in modules(path)}
    assert "fwbq" in seen


def test_the_page_on_the_architecture_has_the_same_rooms():
    """In the same order, each with what it holds and why."""
    assert re.findall(r"^\| `(\w+)` \| .+ \| .+ \|$", PAGE, re.MULTILINE) == LAYERS


def test_the_walks_on_that_page_lead_through_files_that_exist():
    named = set(re.findall(r"`((?:\w+/)+\w+\.py)`", PAGE)) - {"tests/test_layers.py"}
    assert len(named) > 40
    assert [name for name in sorted(named) if not (SOURCE / name).exists()] == []


def test_every_file_of_the_central_rooms_is_met_on_a_walk():
    """A newcomer finds each file of these rooms on that page."""
    for room in ("rules", "process", "designs", "posterior", "evaluation", "integration", "inference", "selection"):
        paths = [path for path in (SOURCE / room).rglob("*.py") if path.name not in ("__init__.py", "progress.py")]
        files = {path.relative_to(SOURCE).as_posix() for path in paths}
        assert {name for name in files if f"`{name}`" not in PAGE} == set()


@pytest.mark.parametrize("room", LAYERS)
def test_every_room_has_its_tests(room):
    """A folder of its name, or one file; and no folder of tests is without its room."""
    tests, name = Path(__file__).parent, room.removeprefix("_")
    assert (tests / name).is_dir() or (tests / f"test_{name}.py").exists()


def test_no_folder_of_tests_is_without_its_room():
    folders = {path.name for path in Path(__file__).parent.iterdir() if any(path.glob("test_*.py"))}
    assert folders <= {*LAYERS, "studies"}  # the studies stand beside the package
