"""Do the tests see a fault of the source? The study behind the second part of docs/faults.md.

In a copy of the project one operator or comparison is turned round, at a place drawn at random, and the tests of its
room run. A mutant that they do not notice survives: a test is missing, or the code does nothing. Run it with
``python -m studies.mutants --out DIR``.
"""

from __future__ import annotations

import argparse
import ast
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

import numpy as np

from fwbq import _files

if TYPE_CHECKING:
    import pandas as pd

ROOT = Path(__file__).parents[1]
SOURCE = Path("src") / "fwbq"
#: The rooms of the numerical core, and the tests of each beside the examples in its own files.
ROOMS: dict[str, tuple[str, ...]] = {
    "_linalg": ("tests/test_linalg.py",),
    "measures": ("tests/measures",),
    "kernels": ("tests/kernels", "tests/embeddings/test_relations.py"),
    "embeddings": ("tests/embeddings",),
    "rules": ("tests/rules",),
    "process": ("tests/process",),
    "designs": ("tests/designs",),
    "posterior": ("tests/posterior",),
    "transforms": ("tests/transforms",),
}
COUNT, QUICK_COUNT = 60, 10
#: Seconds of processor time that the tests of a room may take; a mutant that loops for ever is noticed by that.
PATIENCE = 600
#: Times as many seconds by the clock: a busy machine is no reason to count a mutant as noticed, a deadlock is.
_WAITING = 30
CAUGHT, SURVIVED = "caught", "survived"

#: What an operator is turned into: its class, how it is written, and what is written in its place.
_TURNED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.Pow: ("**", "*"),
    ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "*"), ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"),
    ast.Lt: ("<", ">="), ast.LtE: ("<=", ">"), ast.Gt: (">", "<="), ast.GtE: (">=", "<"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"), ast.And: ("and", "or"), ast.Or: ("or", "and"),
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One operator turned round: the file, the line, the place of the operator in the text, and what it becomes."""

    room: str
    file: str
    line: int
    start: int
    before: str
    after: str

    def applied(self, text: str) -> str:
        """Return the text of the file with the operator turned round."""
        stop = self.start + len(self.before)
        assert text[self.start : stop] == self.before
        return text[: self.start] + self.after + text[stop:]


@dataclass(frozen=True)
class Fate:
    """What became of a mutant."""

    room: str
    file: str
    line: int
    change: str
    fate: str
    source: str


def mutants(text: str, room: str = "", file: str = "") -> list[Mutant]:
    r"""Return every mutant of a source text; messages, assertions and annotations are left alone.

    Examples
    --------
    >>> for each in mutants("def f(x):\n    return x + 1 if x < 2 else -x * 3\n"):
    ...     each.line, each.before, each.after
    (2, '+', '-')
    (2, '<', '>=')
    (2, '*', '/')
    """
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    raw = text.encode()

    def at(line: int, column: int) -> int:
        return starts[line - 1] + column

    found = []
    for left, operator, right in _operations(ast.parse(text)):
        begin = at(left.end_lineno or 0, left.end_col_offset or 0)
        end = at(right.lineno, right.col_offset)
        before, after = _TURNED[type(operator)]
        between = raw[begin:end].decode()
        if "#" in between or between.count(before) != 1:  # a comment between them, or an operator that is not there
            continue
        place = len(raw[:begin].decode()) + between.index(before)
        found.append(Mutant(room, file, text.count("\n", 0, place) + 1, place, before, after))
    return sorted(found, key=lambda each: each.start)


def _operations(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.AST, ast.expr]]:
    """Yield the operand before each operator, the operator, and the operand after it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.JoinedStr, ast.Assert, ast.Raise, ast.AnnAssign)):
            if isinstance(node, ast.AnnAssign) and node.value is not None:
                yield from _operations(ast.Expression(node.value))
            continue
        if isinstance(node, ast.BinOp) and type(node.op) in _TURNED:
            yield node.left, node.op, node.right
        elif isinstance(node, ast.Compare):
            for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
                yield left, operator, right
        elif isinstance(node, ast.BoolOp):
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield left, node.op, right
        yield from _operations(node)


def drawn(rooms: Sequence[str], count: int, seed: int = 0, root: Path = ROOT) -> list[Mutant]:
    """Return mutants drawn at random, `count` of each room; the same for the same seed and source.

    Examples
    --------
    >>> drawn(["rules"], 3) == drawn(["rules"], 3)
    True
    """
    out = []
    for room in rooms:
        files = sorted((root / SOURCE / room).rglob("*.py"))
        every = [each for path in files for each in mutants(path.read_text(), room, path.relative_to(root).as_posix())]
        rng = np.random.default_rng([seed, *room.encode()])
        out += [every[i] for i in rng.permutation(len(every))[:count]]
    return out


def copied(target: Path, root: Path = ROOT) -> Path:
    """Copy what the tests need."""
    for name in ("src", "tests", "studies", "benchmarks", "docs", "examples"):
        shutil.copytree(root / name, target / name, ignore=shutil.ignore_patterns("__pycache__", "_build", "gallery"))
    for path in root.iterdir():
        if path.is_file():
            shutil.copy(path, target)
    return target


def passes(tests: Sequence[str], tree: Path) -> bool:
    """Return whether tests pass in a copy of the project."""
    environment = {**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, timeout=_WAITING * PATIENCE, preexec_fn=_limited
        )
    except subprocess.TimeoutExpired:
        return False
    if done.returncode == -signal.SIGXCPU:
        return False
    if done.returncode not in (0, 1, 2):  # 1: a test failed, 2: a module could not be imported
        raise RuntimeError(f"pytest ended with {done.returncode}: {done.stdout.decode()[-2000:]}")
    return done.returncode == 0


def _limited() -> None:
    """Limit the processor time of this process."""
    resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE + 10))


def fate(mutant: Mutant, tree: Path) -> Fate:
    """Return what becomes of a mutant in a copy of the project, which is as before afterwards."""
    path = tree / mutant.file
    text = path.read_text()
    path.write_text(mutant.applied(text))
    try:
        survived = passes([mutant.file, *ROOMS[mutant.room]], tree)
    finally:
        path.write_text(text)
    line = text.splitlines()[mutant.line - 1].strip()
    change = f"{mutant.before} -> {mutant.after}"
    return Fate(mutant.room, mutant.file, mutant.line, change, SURVIVED if survived else CAUGHT, line)


def run(which: Sequence[Mutant], jobs: int = 1) -> list[Fate]:
    """Return the fate of each mutant; in every job a copy of the project of its own."""
    with tempfile.TemporaryDirectory() as folder:
        trees: SimpleQueue[Path] = SimpleQueue()
        for i in range(jobs):
            trees.put(copied(Path(folder) / str(i)))

        def one(mutant: Mutant) -> Fate:
            tree = trees.get()
            try:
                return fate(mutant, tree)
            finally:
                trees.put(tree)

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(one, which))


def table(fates: Sequence[Fate]) -> pd.DataFrame:
    """Return the share of mutants caught in each room."""
    import pandas as pd

    frame = pd.DataFrame([asdict(each) for each in fates])
    caught = (frame.fate == CAUGHT).groupby(frame.room, sort=False)
    return pd.DataFrame({"mutants": caught.size(), "caught": caught.sum(), "share": caught.mean()}).reset_index()


def markdown(fates: Sequence[Fate]) -> str:
    """Return the share of each room, and the survivors."""
    lines = ["| room | mutants | caught |", "|---|---|---|"]
    for row in table(fates).to_dict("records"):
        lines.append(f"| {row['room']} | {row['mutants']} | {row['caught']} ({row['share']:.0%}) |")
    lines += ["", "| survivor | change | line |", "|---|---|---|"]
    for each in fates:
        if each.fate == SURVIVED:
            source = each.source.replace("|", "\\|")
            lines.append(f"| {each.file.removeprefix('src/fwbq/')}:{each.line} | `{each.change}` | `{source}` |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw mutants, run the tests on each, print the shares and the survivors, write ``mutants.csv`` and ``.md``."""
    import pandas as pd

    parser = argparse.ArgumentParser(prog="python -m studies.mutants", description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, help="directory for the tables")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_COUNT} mutants of each room")
    parser.add_argument("--count", type=int, help=f"mutants of each room; {COUNT} by default")
    parser.add_argument("--seed", type=int, default=0, help="of the draws")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 2), help="processes")
    parser.add_argument("--rooms", nargs="*", default=list(ROOMS), choices=list(ROOMS), metavar="ROOM")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    count = options.count or (QUICK_COUNT if options.quick else COUNT)
    fates = run(drawn(options.rooms, count, options.seed), options.jobs)
    frame = pd.DataFrame([asdict(each) for each in fates])
    _files.write(options.out / "mutants.csv", frame.to_csv(index=False, lineterminator="\n"))
    text = markdown(fates)
    _files.write(options.out / "mutants.md", text)
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
