"""fwbq evidence: a model of the user's, from the command line."""

import json
import sys
import warnings

import numpy as np
import pytest

from fwbq.cli.app import run

PRIOR = ["--prior", "gaussian(mean=[0,0], cov=1)"]
#: Of the Gaussian likelihood below, whose peak is 1, under a standard normal prior.
VARIANCE = 1.0 + 0.05**2
TRUTH = 2.0 * np.log(0.05) - np.log(VARIANCE) - 0.5 * (0.4**2 + 1.1**2) / VARIANCE


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """An empty current directory with a module of models; warnings are printed as notes, as on a command line."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    (tmp_path / "likelihoods.py").write_text(
        "import numpy as np\n"
        "def narrow(x):\n    return -0.5 * np.sum(((x - [0.4, -1.1]) / 0.05) ** 2, axis=1)\n"
        "def joint(x):\n    return narrow(x) - 0.5 * np.sum(x**2, axis=1) - np.log(2 * np.pi)\n"
        "def bent(x):\n    return -0.5 * (x[:, 0] - 0.5 * x[:, 1] ** 2) ** 2 - 0.1 * x[:, 0] ** 4\n"
        "def zero(x):\n    return np.full(len(x), -np.inf)\n"
        "def broken(x):\n    raise RuntimeError('no such luck')\n"
    )
    sys.modules.pop("likelihoods", None)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        yield tmp_path


def test_it_prints_the_summary(capsys):
    assert run(["evidence", "likelihoods:narrow", *PRIOR, "--n", "40"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"log evidence {TRUTH:.3f}") and "40 evaluations made" in out
    assert "parameters: 0.399 ± 0.050, -1.097 ± 0.050" in out


@pytest.mark.parametrize("arguments", [["narrow", *PRIOR], ["joint", "--dim", "2"], ["joint", "--start", "-1,1"]])
def test_prior_and_joint_density_agree(arguments, capsys):
    function, *options = arguments
    assert run(["evidence", f"likelihoods:{function}", *options, "--n", "50", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    # A Gaussian is integrated exactly but for rounding, some 1e-7 with values of thousands.
    assert found["log_evidence"] == pytest.approx(TRUTH, abs=1e-5)
    assert found["success"] and found["n_evaluations"] == 50
    assert found["posterior"]["mean"] == pytest.approx([0.4 / VARIANCE, -1.1 / VARIANCE], abs=1e-3)
    assert found["modes"][0]["share"] == pytest.approx(1.0)


def test_a_journal_gives_the_same_answer_again(capsys):
    arguments = ["evidence", "likelihoods:narrow", *PRIOR, "--n", "30", "--json", "--journal", "run.db"]
    assert run(arguments) == 0
    first = capsys.readouterr().out
    # Everything is in the journal: the function, now failing everywhere, is not called.
    sys.modules["likelihoods"].np = None
    assert run(arguments) == 0
    assert capsys.readouterr().out == first


def test_the_posterior_is_drawn_into_a_file(here):
    assert run(["evidence", "likelihoods:narrow", *PRIOR, "--n", "30", "--plot", "posterior.png"]) == 0
    assert (here / "posterior.png").read_bytes()[:4] == b"\x89PNG"


def test_failure_and_uncertainty_have_their_exit_codes(capsys):
    assert run(["evidence", "likelihoods:zero", *PRIOR, "--n", "20"]) == 1
    captured = capsys.readouterr()
    for text in captured:
        assert "zero at all 20 points" in text and "raise --n" in text and "as --start" in text
    assert run(["evidence", "likelihoods:narrow", *PRIOR, "--n", "20", "--tol", "1e-12"]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert "tolerance 1e-12 cannot be reached" in said and "a larger --tol" in said
    assert run(["evidence", "likelihoods:bent", *PRIOR, "--n", "40", "--tol", "1e-6"]) == 3
    assert "tolerance 1e-06 not reached within 40 evaluations: raise --n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["narrow"], 2, "--prior is missing"),
        (["narrow", "--prior", "gauss(1)"], 2, "--prior 'gauss' is not known"),
        (["narrow", "--prior", "gaussian(mean=[0"], 2, "--prior"),
        (["narrow", "--prior", "missing.toml"], 2, "--prior file 'missing.toml' cannot be read"),
        (["narrow", *PRIOR, "--dim", "3"], 2, "--dim is 3, but --prior has 2"),
        (["narrow", *PRIOR, "--scale", "2"], 2, "--scale goes with"),
        (["narrow", *PRIOR, "--n", "0"], 2, "--n must be"),
        (["narrow", *PRIOR, "--tol", "-1"], 2, "--tol must be"),
        (["narrow", *PRIOR, "--level", "2"], 2, "--level must lie"),
        (["narrow", *PRIOR, "--workers", "0"], 2, "--workers must be"),
        (["narrow", *PRIOR, "--start", "a,b"], 2, "--start must be numbers separated by commas"),
        (["nowhere", *PRIOR], 2, "has no 'nowhere'"),
        (["broken", *PRIOR], 1, "no such luck"),
    ],
)
def test_errors_are_one_sentence_and_speak_of_flags(arguments, code, words, capsys):
    function, *options = arguments
    assert run(["evidence", f"likelihoods:{function}", *options]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.strip().splitlines()
    assert line.startswith("fwbq: ") and words in line
