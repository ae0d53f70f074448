"""The parts that can be switched off: every name is read once, and unknown names are refused."""

import re
from pathlib import Path

import pytest

import fwbq
from fwbq.inference.parts import ALL, DESCRIPTIONS, PARTS, Parts

ROOM = Path(fwbq.inference.__file__).parent
#: The doubts about what is unseen are asked for by their own names, in one place.
DOUBTS = {doubt.name for doubt in fwbq.inference.doubts.DOUBTS}


def test_every_part_is_read_and_in_one_place_of_each_way():
    source = "\n".join(path.read_text() for path in ROOM.rglob("*.py") if path.name != "parts.py")
    read = re.findall(r'"([a-z ]+)" (?:not )?in (?:\w+\.)*_?parts\b', source)
    # Both ways, of values and of gradients, begin further climbs.
    assert sorted(read) == sorted([*(set(PARTS) - DOUBTS), "further climbs"])
    assert DOUBTS <= set(PARTS)


def test_all_parts_are_on_unless_they_are_named():
    assert all(part in ALL for part in PARTS)
    some = Parts.checked(["bend", "probes"])
    assert [part for part in PARTS if part not in some] == ["probes", "bend"]
    assert Parts.checked("bend") == Parts.checked(["bend"])


def test_unknown_names_are_refused_and_all_names_listed():
    with pytest.raises(ValueError, match="`without` has 'bends'") as error:
        Parts.checked(["bends"])
    assert all(part in str(error.value) for part in PARTS)
    with pytest.raises(KeyError):
        assert "bends" in ALL


def test_every_part_says_what_it_does():
    assert all(len(text) > 20 for text in DESCRIPTIONS.values())
