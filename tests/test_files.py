"""One writer for all files: the old content or the whole new one, and nothing left behind."""

import errno
import json
import os
import stat
import threading

import numpy as np
import pandas as pd
import pytest

import fwbq
from fwbq import _files
from fwbq.chema.edges import Edge, Network, Substrate


@pytest.fixture
def path(tmp_path):
    target = tmp_path / "result.txt"
    target.write_text("old")
    return target


@pytest.mark.parametrize("content", [b"new\r\n\x00", "new, \u00e9\n"])
def test_content_arrives_as_it_is(path, content):
    _files.write(path, content)
    assert path.read_bytes() == (content if isinstance(content, bytes) else content.encode())


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_an_error_leaves_the_old_file_and_nothing_else(path, monkeypatch, call, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(_files.os, call, fail)
    with pytest.raises(type(error)) as raised:
        _files.write(path, "new")
    assert path.read_text() == "old" and os.listdir(path.parent) == [path.name]
    if isinstance(error, OSError):
        assert raised.value.filename == str(path) and "cannot be written: No space left" in str(raised.value)


def test_the_first_error_is_not_hidden_by_a_second(path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    def refuse(*_, **__):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(_files.os, "fsync", full)
    monkeypatch.setattr(_files.Path, "unlink", refuse)
    with pytest.raises(OSError, match="No space left") as raised:
        _files.write(path, "new")
    assert raised.value.errno == errno.ENOSPC
    assert any("could not be removed either" in note for note in raised.value.__notes__)


def test_the_disk_has_the_file_before_it_has_the_name(path, monkeypatch):
    events = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(
        _files.os,
        "fsync",
        lambda h: events.append("folder" if stat.S_ISDIR(os.fstat(h).st_mode) else "file") or sync(h),
    )
    monkeypatch.setattr(_files.os, "replace", lambda *a: events.append("rename") or replace(*a))
    _files.write(path, "new")
    assert events == ["file", "rename"] + ["folder"] * (os.name == "posix")  # Windows opens no folder


def test_links_are_followed_and_permissions_kept(path):
    path.chmod(0o640)
    link = path.with_name("link.txt")
    link.symlink_to(path)
    _files.write(link, "new")
    assert link.is_symlink() and path.read_text() == "new" and path.stat().st_mode & 0o777 == 0o640


def test_places_that_cannot_be_written_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="its folder does not exist"):
        _files.write(tmp_path / "missing" / "x.txt", "new")
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        _files.write(tmp_path, "new")
    with pytest.raises(OSError, match="a device or a pipe"):
        _files.write(os.devnull, "new")
    long = tmp_path / ("x" * 250 + ".txt")  # the unfinished file has a short name
    _files.write(long, "new")
    assert long.read_text() == "new"


def test_writers_at_once_never_mix(path):
    contents = [str(i) * 100_000 for i in range(4)]
    threads = [threading.Thread(target=lambda c=c: [_files.write(path, c) for _ in range(20)]) for c in contents]
    for thread in threads:
        thread.start()
    seen = set()
    while any(thread.is_alive() for thread in threads):
        seen.add(path.read_text())
    for thread in threads:
        thread.join()
    assert seen <= {"old", *contents} and path.read_text() in contents
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("change", [{"n": 4}, {"more": 1}, {"checksum": ""}])
def test_a_changed_document_has_another_checksum(change):
    document = {"n": 3, "names": ("a", 1.5), "nan": float("nan"), 1: None}
    sealed = json.loads(_files.seal(document))
    content = _files.unsealed(sealed)
    assert content["names"] == ["a", 1.5] and content["1"] is None
    assert _files.unsealed(sealed | change) is None


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no pipes in folders")
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    for load in (fwbq.Comparison.load, fwbq.Integration.load, fwbq.EvidenceRun.load, fwbq.load_rule):
        with pytest.raises(ValueError, match="is a device or a pipe, not a file"):
            load(pipe)


def test_what_is_nested_too_deeply_has_no_checksum():
    nested: list = []
    for _ in range(100_000):
        nested = [nested]
    assert _files.unsealed({"n": nested, _files.CHECKSUM: "0"}) is None
    while nested:  # taken apart by hand: Python would recurse
        nested = nested.pop()


def test_no_cell_and_no_head_of_a_table_is_a_formula(tmp_path):
    frame = pd.DataFrame({"@sum": ["=cmd()", "AKT", "-2", "\tx"], "value": [-1.5, np.nan, 2.0, -0.0]})
    frame["mixed"] = [-1, "+1", None, ("=a",)]
    _files.write_table(tmp_path / "table.csv", frame)
    again = pd.read_csv(tmp_path / "table.csv")
    assert again.columns.tolist() == ["'@sum", "value", "mixed"]
    assert again["'@sum"].tolist() == ["'=cmd()", "AKT", "'-2", "'\tx"]
    np.testing.assert_array_equal(again["value"], frame["value"])
    assert again["mixed"].fillna("").tolist() == ["-1", "'+1", "", "('=a',)"]


def test_the_table_of_a_network_calculates_nothing(tmp_path):
    """Names of proteins come from the data of others."""
    edge = Edge("=cmd()", "AKT", 0.5, 0.4, 0.6, 0.3, 0.7, 0.1)
    data = fwbq.chema.Dataset.simulate(2, rng=0)
    substrate = Substrate("AKT", 1.0, (edge,), ("=cmd()",), 0.5, 0.1, 0.0, 3, 10, 0.1, True, (), data)
    Network(("=cmd()", "AKT"), (substrate,), {}).to_csv(tmp_path / "edges.csv")
    assert pd.read_csv(tmp_path / "edges.csv")["source"].tolist() == ["'=cmd()"]
