"""Mutants: which there are, that they are what they say, and that tests tell them from the source."""

import ast

import pytest

pytest.importorskip("resource", reason="limits of processor time are of POSIX")

from studies import mutants

SOURCE = """\"\"\"a + b\"\"\"
from typing import Any

def f(x: int | None, y: Any) -> Any:
    # x + y
    if x is not None and x < 2:
        raise ValueError("no" + "where")
    assert x == y
    z: float = x * y  # a - b
    return f"{x + y}", z - (x) ** 2, "é" + y
"""


def test_operators_and_comparisons_are_found_but_no_messages_comments_and_annotations():
    found = [(each.line, each.before, each.after) for each in mutants.mutants(SOURCE)]
    assert found == [
        (6, "is not", "is"), (6, "and", "or"), (6, "<", ">="), (9, "*", "/"), (10, "-", "+"), (10, "**", "*"),
        (10, "+", "-"),
    ]  # fmt: skip


def test_each_changes_one_operator_and_is_still_python():
    for each in mutants.mutants(SOURCE):
        changed = each.applied(SOURCE)
        ast.parse(changed)
        assert changed != SOURCE
        assert len(changed) == len(SOURCE) + len(each.after) - len(each.before)


def test_draws_repeat_and_come_from_all_files():
    drawn = mutants.drawn(["rules", "posterior"], 20, seed=3)
    assert drawn == mutants.drawn(["rules", "posterior"], 20, seed=3) != mutants.drawn(["rules", "posterior"], 20, 4)
    assert [each.room for each in drawn] == ["rules"] * 20 + ["posterior"] * 20
    assert len({each.file for each in drawn}) > 4
    assert len(set(drawn)) == 40


@pytest.mark.parametrize(("test", "fate"), [("assert add(2, 3) == 5", "caught"), ("assert add(2, 0) == 2", "survived")])
def test_a_mutant_is_caught_or_survives(tmp_path, monkeypatch, test, fate):
    file = "src/fwbq/room/sums.py"
    (tmp_path / "src/fwbq/room").mkdir(parents=True)
    (tmp_path / file).write_text("def add(a, b):\n    return a + b\n")
    (tmp_path / "test_sums.py").write_text(
        f"import sys\nsys.path.insert(0, 'src/fwbq/room')\nfrom sums import add\n\n\ndef test_sum():\n    {test}\n"
    )
    monkeypatch.setitem(mutants.ROOMS, "room", ("test_sums.py",))
    (mutant,) = mutants.drawn(["room"], 5, root=tmp_path)
    found = mutants.fate(mutant, tmp_path)
    assert (found.fate, found.change, found.line) == (fate, "+ -> -", 2)
    assert "a + b" in (tmp_path / file).read_text()  # as before
    text = mutants.markdown([found])
    assert ("room/sums.py:2" in text) is (fate == "survived")


def test_a_mutant_that_loops_for_ever_is_caught_by_its_processor_time(tmp_path, monkeypatch):
    (tmp_path / "test_loop.py").write_text("def test_loop():\n    while True:\n        pass\n")
    monkeypatch.setattr(mutants, "PATIENCE", 2)
    assert not mutants.passes(["test_loop.py"], tmp_path)


def test_the_rooms_and_their_tests_are_there():
    for room, tests in mutants.ROOMS.items():
        assert (mutants.ROOT / mutants.SOURCE / room).is_dir()
        assert all((mutants.ROOT / path).exists() for path in tests)
