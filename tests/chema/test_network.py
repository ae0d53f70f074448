"""Networks: who regulates whom, the files that are written, and the score against a known graph."""

import json
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from fwbq.chema import KineticFamily, edge_auroc, hpn_dream, hpn_insilico, network
from fwbq.cli.app import run
from fwbq.cli.console import NOT_CERTAIN
from studies.networks import simulate

SMALL = {"max_enzymes": 1, "n": 20, "tol": 0.5}


@pytest.fixture(scope="module")
def one():
    return simulate(5, np.random.default_rng(3), noise=0.03)


@pytest.fixture(scope="module")
def found(one):
    return network(one.table, inhibitors=one.inhibitors, **SMALL)


def test_every_protein_is_a_substrate_of_all_others(found):
    assert [s.name for s in found.substrates] == list(found.proteins)
    every = {(a, b) for a in found.proteins for b in found.proteins if a != b}
    assert {(e.source, e.target) for e in found.edges} == every
    for edge in found.edges:
        assert 0.0 <= edge.lower <= edge.probability <= edge.upper <= 1.0
        assert edge.least <= edge.probability <= edge.most
    assert "assumed to be 1.3 times" in found.summary()


@pytest.mark.parametrize("explained", ["levels", "rates"])
def test_totals_and_inhibitors_reach_the_data(one, explained):
    """Where levels are explained, an inhibited kinase acts as at rest, else not at all."""
    found = network(one.table, inhibitors=one.inhibitors, explained=explained, substrates=["P4", "P5"], **SMALL)
    largest = one.table.groupby("variable")["value"].max()
    name, kinase = one.inhibitors[0].split(":")[0].split("=")
    substrate = next(s for s in found.substrates if s.name != kinase)
    data = substrate.dataset
    assert substrate.total == pytest.approx(1.3 * largest[substrate.name])
    activity = data.enzymes[:, data.names.index(kinase)]
    measured = one.table[one.table["variable"] == kinase].set_index(["condition", "time"])["value"]
    rest = measured.xs(0.0, level="time").mean() if explained == "levels" else 0.0
    for condition, time, value in zip(data.condition, data.times, activity, strict=True):
        part = 0.1 if name in condition.split("+") else 1.0
        assert value == pytest.approx(rest + part * (measured[condition, time] - rest), rel=1e-12)


@pytest.mark.parametrize("workers", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_workers_change_nothing(one, found, workers):
    with workers(2) as pool:
        other = network(one.table, inhibitors=one.inhibitors, executor=pool, **SMALL)
    assert other.to_frame().equals(found.to_frame())


def test_a_dask_cluster_changes_nothing(one, found):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        other = network(one.table, inhibitors=one.inhibitors, executor=client.get_executor(), **SMALL)
    assert other.to_frame().equals(found.to_frame())


def evaluated_again(*_):
    raise AssertionError("a likelihood of the journal is evaluated again")


def test_a_journal_is_all_that_a_second_run_needs(one, tmp_path, monkeypatch):
    """In several rounds: an error of 0 is not reached, so that 50 and then 60 points are taken."""
    options = {"inhibitors": one.inhibitors, "substrates": ["P2"], "max_enzymes": 1, "n": 60, "tol": 1e-300}
    plain = network(one.table, **options)
    kept = network(one.table, journal=tmp_path / "j", **options)
    assert plain.to_frame().equals(kept.to_frame())
    assert [path.name for path in (tmp_path / "j").glob("*.db")] == ["002.db"]
    assert plain.substrates[0].points == 60
    monkeypatch.setattr(KineticFamily, "log_integrands", evaluated_again)
    assert network(one.table, journal=tmp_path / "j", **options).to_frame().equals(plain.to_frame())


def test_graphs_are_written_for_other_programs(found, tmp_path):
    found.to_graphml(tmp_path / "n.graphml")
    space = "{http://graphml.graphdrawing.org/xmlns}"
    root = ElementTree.parse(tmp_path / "n.graphml").getroot()
    assert len(root.findall(f".//{space}node")) == 5 and len(root.findall(f".//{space}edge")) == 20
    found.to_sif(tmp_path / "n.sif", least=0.5)
    lines = [line.split("\t") for line in (tmp_path / "n.sif").read_text().splitlines()]
    assert sorted((a, c) for a, _, c in (x for x in lines if len(x) == 3)) == sorted(
        (e.source, e.target) for e in found.edges if e.probability >= 0.5
    )
    page = found.report(tmp_path / "r.html").read_text("utf-8")
    assert page.count("<section id=") == 5 and "<script" not in page


def test_the_command_writes_everything(one, tmp_path, capsys):
    one.table.to_csv(tmp_path / "d.csv", index=False)
    pd.DataFrame(one.edges, columns=["source", "target"]).to_csv(tmp_path / "t.csv", index=False)
    command = ["network", str(tmp_path / "d.csv"), "--max-enzymes", "1", "-n", "20", "--tol", "0.5"]
    command += ["--substrates", "P4,P5"]
    assert run([*command, "--truth", str(tmp_path / "t.csv"), "--out", str(tmp_path / "o"), "--report"]) == 0
    said = capsys.readouterr().out
    names = {path.name for path in (tmp_path / "o").iterdir()}
    assert names == {"edges.csv", "substrates.csv", "network.graphml", "network.sif", "network.png", "report.html"}
    edges = pd.read_csv(tmp_path / "o" / "edges.csv")
    assert sorted(set(edges["target"])) == ["P4", "P5"] and len(edges) == 8
    # Only edges that were looked at are judged: those to P4 and P5.
    scores = {(e.source, e.target): e.probability for e in edges.itertuples()}
    assert f"{edge_auroc(scores, one.edges):.3f}" in said
    assert run([*command, "--out", str(tmp_path / "o"), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["edges"]) == 8
    assert run(["network", str(tmp_path / "absent.csv")]) == 2
    assert run([*command, "--inhibitor", "P1i"]) == 2
    assert "NAME=KINASE" in capsys.readouterr().err


def test_an_error_that_is_too_large_is_said_and_is_the_exit_code(one, tmp_path, capsys):
    one.table.to_csv(tmp_path / "d.csv", index=False)
    command = ["network", str(tmp_path / "d.csv"), "--substrates", "P4", "-n", "10", "--tol", "1e-9"]
    assert run([*command, "--out", str(tmp_path / "o")]) == NOT_CERTAIN
    assert "Not decided at 10 points" in capsys.readouterr().out


def test_proteins_that_never_change_are_enzymes_only(one):
    table = one.table.copy()
    table.loc[table["variable"] == "P1", "value"] = 2.0
    table.loc[table["variable"] == "P2", "value"] = np.nan
    found = network(table, **SMALL)
    assert found.proteins == ("P1", "P3", "P4", "P5")
    assert [s.name for s in found.substrates] == ["P3", "P4", "P5"]
    assert "their levels never change: P1" in found.summary()
    assert {e.source for e in found.edges} == set(found.proteins)
    named = network(table, substrates=["P1"], **SMALL)
    assert named.substrates[0].q2 == 0.0 and "no model predicts the rates" in named.edges[0].doubt


def test_enzymes_in_proportion_are_named(one):
    twin = one.table[one.table["variable"] == "P3"].assign(variable="P3 twin")
    found = network(pd.concat([one.table, twin.assign(value=3.0 * twin["value"])]), substrates=["P5"], **SMALL)
    doubt = {e.source: e.doubt for e in found.edges}
    assert "in proportion to P3 twin" in doubt["P3"] and "in proportion to P3" in doubt["P3 twin"]
    assert "in proportion" not in doubt["P1"]
    assert "P3 twin" in found.substrates[0].notes[-1]


def test_the_figure_has_an_arrow_for_every_probable_edge(found):
    axes = found.plot(least=0.3)
    probable = [edge for edge in found.edges if edge.probability >= 0.3]
    assert probable and len(axes.patches) == len(probable)
    assert {text.get_text() for text in axes.texts} == set(found.proteins)


def test_names_are_written_as_text_whatever_they_hold(one, tmp_path):
    name = '<b>&\x00\uffff "P4"\t=1'
    table = one.table.replace({"variable": {"P4": name}})
    found = network(table, substrates=[name], **SMALL)
    found.to_graphml(tmp_path / "n.graphml")
    words = [node.text for node in ElementTree.parse(tmp_path / "n.graphml").iter() if node.get("key") == "name"]
    assert words[3] == '<b>& "P4"\t=1'
    found.to_sif(tmp_path / "n.sif", least=0.0)
    assert all(line.count("\t") == 2 for line in (tmp_path / "n.sif").read_text().splitlines())
    page = found.report(tmp_path / "r.html").read_text("utf-8")
    assert "<b>" not in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"total": 0.5}, "`total` is in units"),
        ({"inhibitors": ["X=P1"]}, "no condition was treated"),
        ({"inhibitors": ["P1i=Q"]}, "`inhibitors` names"),
        ({"substrates": ["Q"]}, "`substrates` names"),
        ({"substrates": ["P1"], "enzymes": ["P1"]}, "no enzyme is left"),
        ({"totals": {"P1": 1e-9}}, "alone reaches .*the substrate 'P1'"),
        ({"totals": {"Q": 1.0}}, "`totals` names"),
        ({"conditions": ["S9"]}, "`conditions` names"),
        ({"replicates": "median"}, "`replicates` must be"),
        ({"max_enzymes": 0}, "`max_enzymes`"),
    ],
)
def test_bad_arguments_are_explained(one, options, message):
    with pytest.raises(ValueError, match=message):
        network(one.table, **(SMALL | options))


def test_auroc_is_the_share_of_pairs_in_the_right_order():
    rng = np.random.default_rng(0)
    names = [f"P{i}" for i in range(6)]
    edges = [(a, b) for a in names for b in names if a != b]
    score = {edge: float(x) for edge, x in zip(edges, rng.integers(0, 8, len(edges)) / 8, strict=True)}
    true = [edge for edge in edges if rng.random() < 0.3]
    pairs = [(score[t], score[f]) for t in true for f in edges if f not in true]
    expected = np.mean([1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs])
    assert edge_auroc(score, [*true, ("P0", "P0")]) == pytest.approx(expected, rel=1e-12)


GRAPHS = [
    "source,target\nA,B\nB,C\n",
    "NaN,1,0\n0,NaN,1\n0,0,NaN\n",  # as in the archive
    "1,1,0\n0,0,1.0\n0,0,\n",
    "A,B,C\n0,1,0\n0,0,1\n0,0,0\n",
    ",A,B,C\nA,0,1,0\nB,0,0,1\nC,0,0,0\n",
]


@pytest.mark.parametrize("text", GRAPHS)
def test_graphs_are_read_in_every_form(tmp_path, text):
    (tmp_path / "g.csv").write_text(text)
    assert hpn_insilico.read_graph(tmp_path / "g.csv").edges(["A", "B", "C"]) == [("A", "B"), ("B", "C")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A,B\n0,7\n0,0\n", r"is no graph.*'7'"),
        ("0,0.5\n0,0\n", r"is no graph.*"),
        ("0,NaN\n0,0\n", r"is no graph.*'NaN'"),
        ("0,1,0\n0,0,1\n", r"is no graph"),
        ("", r"is empty"),
    ],
)
def test_a_table_that_is_no_graph_is_refused(tmp_path, text, message):
    (tmp_path / "g.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        hpn_insilico.read_graph(tmp_path / "g.csv")


def test_a_graph_of_other_proteins_is_refused(tmp_path, found):
    (tmp_path / "g.csv").write_text(GRAPHS[1])
    with pytest.raises(ValueError, match="has 3 rows for 5 proteins"):
        hpn_insilico.read_graph(tmp_path / "g.csv").edges(found.proteins)
    with pytest.raises(ValueError, match=r"`truth` names .*'X'"):
        found.auroc([("X", "P1")])


def test_the_in_silico_files_are_taken_from_the_archive(tmp_path, monkeypatch):
    import io
    import tarfile

    monkeypatch.setattr(hpn_dream, "verify", lambda path: None)
    arms = [(1, 0, t) for t in range(4)] + [(1, 1, t) for t in range(4)] + [(0, 1, 0)]
    rows = [f"1,{lig},{inh},{t},1.{t},2.{t},3.{t}" for lig, inh, t in arms]
    midas = "TR:insilico:CellLine,TR:LIG1:Stimuli,TR:INH1:Inhibitors,DA:ALL,DV:A,DV:B,DV:C\n" + "\n".join(rows) + "\n"
    folder = "dreamtools-1.3.0/dreamtools/dream8/D8C1"
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name, text in (("data/MD_insilico.csv", midas), ("goldstandard/TrueGraph.csv", GRAPHS[1])):
            info = tarfile.TarInfo(f"{folder}/{name}")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    files = hpn_insilico.fetch(tmp_path / "out", archive=path)
    assert pd.read_csv(files["truth"]).to_numpy().tolist() == [["A", "B"], ["B", "C"]]
    # The arm that was measured once has no rate of change.
    assert set(pd.read_csv(files["data"])["condition"]) == {"insilico LIG1", "insilico LIG1+INH1"}
