import json

import numpy as np
import pandas as pd
import pytest

from fwbq import thin
from fwbq.cli.app import run


@pytest.fixture
def chain(tmp_path):
    states = np.random.default_rng(0).normal(size=(3000, 2)) * [1.0, 10.0]
    pd.DataFrame(states, columns=["rate", "shift"]).to_csv(tmp_path / "chain.csv", index=False, float_format="%.17g")
    np.savetxt(tmp_path / "bare.csv", states, delimiter=",", fmt="%.17g")
    np.save(tmp_path / "chain.npy", states)
    np.save(tmp_path / "chains.npy", states.reshape(3, 1000, 2))
    return tmp_path, states


@pytest.mark.parametrize("name", ["chain.csv", "bare.csv", "chain.npy", "chains.npy"])
def test_every_way_to_write_a_chain_gives_the_same_states(chain, name, capsys):
    folder, states = chain
    assert run(["thin", str(folder / name), "-n", "20", "-o", str(folder / "points.npy"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    expected = thin(states, 20)
    np.testing.assert_array_equal(np.load(folder / "points.npy"), expected.points)
    assert facts["index"] == expected.index.tolist()
    assert facts["mmd"] < facts["mmd_every"]


def test_csv_keeps_the_names_and_burn_in_is_left_out(chain, capsys):
    folder, states = chain
    arguments = ["thin", str(folder / "chain.csv"), "-n", "10", "-o", str(folder / "points.csv"), "--burn", "2000"]
    assert run(arguments) == 0
    text = capsys.readouterr().out
    assert "10 of 1000 states" in text
    assert (folder / "points.csv").read_text().partition("\n")[0] == "rate,shift"
    written = np.loadtxt(folder / "points.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(written, thin(states[2000:], 10).points)


@pytest.mark.parametrize(
    ("name", "content", "options", "words"),
    [
        ("chain.txt", "1\n", [], "must end in .csv or .npy"),
        ("missing.csv", None, [], "is not a file"),
        ("empty.csv", "", [], "cannot be read as CSV: it has no states"),
        ("head.csv", "a,b\n", [], "it has no states"),
        ("words.csv", "a,b\n1,x\n2,y\n", [], "could not convert string 'x' to float64 at row 0, column 2"),
        ("hole.csv", "a,b\n1,2\n3,\n", [], "could not convert string '' to float64 at row 1, column 2"),
        ("nan.csv", "a\n1\nnan\n3\n", ["-n", "1"], "finite"),
        ("short.csv", "a\n1\n2\n", ["-n", "3"], "-n must be at most"),
        ("short.csv", "a\n1\n2\n", ["-n", "1", "--burn", "2"], "--burn"),
        ("broken.npy", "nothing", [], "cannot be read as a NumPy array"),
    ],
)
def test_bad_input(tmp_path, name, content, options, words, capsys):
    if content is not None:
        (tmp_path / name).write_text(content)
    assert run(["thin", str(tmp_path / name), "-o", str(tmp_path / "out.csv"), *options]) == 2
    captured = capsys.readouterr().err.replace("\n", " ")
    assert words in captured
    assert not (tmp_path / "out.csv").exists()


def test_what_is_no_array_of_states_is_named(tmp_path, capsys):
    np.save(tmp_path / "number.npy", 3.0)
    np.savez(tmp_path / "archive.npz", states=np.zeros((3, 2)))
    (tmp_path / "archive.npz").rename(tmp_path / "archive.npy")
    for name, words in (("number.npy", "holds an array of shape ()"), ("archive.npy", "holds an archive of arrays")):
        assert run(["thin", str(tmp_path / name), "-o", str(tmp_path / "out.csv")]) == 2
        assert words in capsys.readouterr().err
