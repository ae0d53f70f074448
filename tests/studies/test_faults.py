"""A small campaign of faults, and that the campaign sees wrong answers."""

import tempfile

import pytest

pytest.importorskip("resource", reason="limits of files and descriptors are of POSIX")

from studies import faults


def test_a_small_campaign_finds_nothing_wrong():
    outcomes = faults.run(40, seed=7, without=["first run of a process", "lost worker"])
    assert [each for each in outcomes if each.verdict == faults.FAILED] == []
    assert {each.fault for each in outcomes} == set(faults.FAULTS) - {"first run of a process", "lost worker"}
    assert sum(each.verdict == faults.RESUMED for each in outcomes) > 20  # the faults were there


def judged(monkeypatch, tmp_path, disturbed, again, expected=(KeyboardInterrupt,)):
    monkeypatch.setitem(faults._truths, "thin", "right")
    monkeypatch.setitem(faults.RUNS, "thin", again)
    return faults.judge("a fault", "thin", 0, tmp_path, disturbed, expected)


def raising(error):
    def function(**options):
        raise error

    return function


@pytest.mark.parametrize(
    ("disturbed", "again", "verdict"),
    [
        (lambda: "right", lambda: "right", faults.SAME),
        (raising(KeyboardInterrupt()), lambda: "right", faults.RESUMED),
        (lambda: "wrong", lambda: "right", faults.FAILED),
        (lambda: "right", lambda: "wrong", faults.FAILED),
        (raising(KeyboardInterrupt()), lambda: "wrong", faults.FAILED),
        (raising(IndexError()), lambda: "right", faults.UNCLEAR),
        (raising(IndexError()), lambda: "wrong", faults.FAILED),
        (raising(KeyboardInterrupt()), raising(ValueError()), faults.FAILED),
    ],
)
def test_verdicts(monkeypatch, tmp_path, disturbed, again, verdict):
    assert judged(monkeypatch, tmp_path, disturbed, again).verdict == verdict


def test_a_file_that_is_left_behind_is_a_failure(monkeypatch, tmp_path):
    (tmp_path / ".half.tmp").touch()
    assert "left .half.tmp" in judged(monkeypatch, tmp_path, lambda: "right", lambda: "right").words


def test_a_run_that_hangs_is_a_failure(monkeypatch, tmp_path):
    monkeypatch.setattr(faults, "PATIENCE", 1)

    def hang():
        while True:
            pass

    assert "no end after" in judged(monkeypatch, tmp_path, hang, lambda: "right").words


def test_a_swallowed_exception_with_another_answer_is_seen(monkeypatch):
    """As SciPy's loader of direction numbers did: what is raised inside is ignored, and the result is another one."""

    def inner():
        parts = [1.0]
        parts.append(2.0)
        parts.append(3.0)
        return sum(parts)

    def swallowing(**options):
        try:
            return faults.bits(inner())
        except KeyboardInterrupt:
            return faults.bits(0.0)

    for cache in ("_truths", "_profiles"):
        monkeypatch.setattr(faults, cache, {})
    monkeypatch.setitem(faults.RUNS, "thin", swallowing)
    outcomes = [faults.exception("interrupt", "thin", seed, KeyboardInterrupt) for seed in range(40)]
    failed = [each for each in outcomes if each.verdict == faults.FAILED]
    assert all("other bits" in each.words for each in failed)
    assert any("test_faults.py" in each.place for each in failed)


def test_the_hook_acts_once_at_its_place():
    seen = []

    def called(x):
        y = x + 1
        return y

    with faults.Hook(1, 1, lambda: seen.append(len(seen))) as hook:
        for _ in range(4):
            called(0)
    assert seen == [0] and hook.place.startswith("studies/test_faults.py:")


def test_tables_count_and_list_failures():
    outcomes = [
        faults.Outcome("SIGINT", "net", 1, "a.py:3", faults.RESUMED),
        faults.Outcome("SIGINT", "net", 2, "a.py:4", faults.FAILED, "other | bits"),
        faults.Outcome("kill -9", "thin", 3, "", faults.SAME),
        faults.Outcome("SIGINT", "net", 4, "a.py:5", faults.UNCLEAR, "a riddle"),
    ]
    counted = faults.table(outcomes).set_index("fault")
    assert counted.loc["SIGINT"].tolist() == [3, 0, 1, 1, 1]
    assert counted.loc["all"].tolist() == [4, 1, 1, 1, 1]
    text = faults.markdown(outcomes)
    assert "| SIGINT | net | 2 | a.py:4 | other \\| bits |" in text
    assert "| SIGINT | net | 4 | a.py:5 | a riddle |" in text
    assert "did not pass" not in faults.markdown(outcomes[:1])


def test_the_command_writes_its_tables_and_says_when_a_fault_failed(monkeypatch, tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("<!-- begin tables -->\n<!-- end tables -->")
    outcome = faults.Outcome("SIGINT", "net", 1, "a.py:3", faults.FAILED, "hangs")
    monkeypatch.setattr(faults, "run", lambda *arguments: [outcome])
    with tempfile.TemporaryDirectory() as out:
        assert faults.main(["--out", out, "--quick", "--write-docs"], page=page) == 1
    assert "| SIGINT | 1 | 0 | 0 | 0 | 1 |" in capsys.readouterr().out
    assert "| SIGINT | 1 | 0 | 0 | 0 | 1 |" in page.read_text()
