import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy

import fwbq
from fwbq.cli import expressions, select
from fwbq.cli.app import run
from fwbq.cli.console import shorten
from fwbq.cli.integral import load_function

DATA = fwbq.chema.Dataset.example()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty current directory with a module of integrands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    (tmp_path / "integrands.py").write_text(
        "import numpy as np\n"
        "def bump(x):\n    return np.exp(-0.5 * np.sum(x**2, axis=1))\n"
        "def both(x):\n    return np.stack([np.cos(x[:, 0]), np.sin(x[:, 0])], axis=1)\n"
        "def broken(x):\n    raise RuntimeError('no such luck')\n"
        "number = 3\n"
    )
    sys.modules.pop("integrands", None)
    return tmp_path


@pytest.fixture(autouse=True)
def warnings_as_before(monkeypatch):
    import warnings

    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # the command line prints them as notes
        yield


def error_of(arguments, capsys):
    code = run(arguments)
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("fwbq: ")
    return code, lines[0]


def test_help_teaches(capsys):
    assert run(["--help"]) == 0
    text = capsys.readouterr().out
    for command in ("demo", "integrate", "evidence", "rule", "select", "thin", "paper", "data"):
        assert command in text
    assert "fwbq demo" in text and "Exit codes" in text


@pytest.mark.parametrize("command", ["demo", "integrate", "evidence", "rule", "select", "thin", "paper", "data"])
def test_every_command_has_an_example(command, capsys):
    assert run([command, "--help"]) == 0
    assert f"fwbq {command}" in capsys.readouterr().out.split("Example")[-1]


def test_version(capsys):
    assert run(["--version"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"fwbq {fwbq.__version__} (NumPy {np.__version__}, SciPy {scipy.__version__}, Python 3.")
    assert out.count("\n") == 1


def test_integrate_prints_text(here, capsys):
    assert run(["integrate", "integrands:bump", "--measure", "gaussian(mean=[0,0], cov=1)", "--n", "30"]) == 0
    out = capsys.readouterr().out
    assert "integrands:bump" in out and "30 evaluations" in out
    assert "\x1b" not in out


def test_integrate_json_and_journal(here, capsys):
    arguments = ["integrate", "integrands:bump", "--measure", "gaussian(mean=[0,0], cov=1)", "--n", "30", "--json"]
    arguments += ["--journal", "run.db"]
    assert run(arguments) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["mean"] == pytest.approx(0.5, abs=0.01)
    low, high = first["interval"]
    assert low < 0.5 < high
    assert run(arguments) == 0
    assert json.loads(capsys.readouterr().out) == first


def test_integrate_on_a_net(here, capsys):
    arguments = ["integrate", "integrands:bump", "--measure", "gaussian(mean=[0,0], cov=1)", "--n", "600", "--json"]
    assert run([*arguments, "--method", "net"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["n_evaluations"] == 512
    assert "Sobol net" in facts["status"]


def test_integrate_several_outputs(here, capsys):
    assert run(["integrate", "integrands:both", "--measure", "gaussian(mean=[1], cov=0.5)", "--n", "15", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mean"] == pytest.approx(
        [np.cos(1) * np.exp(-0.25), np.sin(1) * np.exp(-0.25)], abs=0.01
    )


def test_integrate_says_when_the_tolerance_was_not_reached(here, capsys):
    arguments = [
        "integrate",
        "integrands:bump",
        "--measure",
        "gaussian(mean=[0,0,0], cov=9)",
        "--n",
        "8",
        "--tol",
        "1e-12",
    ]
    assert run(arguments) == 3
    assert "fwbq: note: tolerance 1e-12 not reached" in capsys.readouterr().err


@pytest.mark.parametrize("tol", [0.3, 0.01])
def test_integrate_ends_at_the_tolerance(here, tol, capsys):
    measure = ["--measure", "gaussian(mean=[0], cov=1)"]
    assert run(["integrate", "integrands:bump", *measure, "--n", "200", "--tol", str(tol), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert f"tolerance {tol:g} reached" in facts["status"]
    low, high = facts["interval"]
    assert (high - low) / 2.0 <= tol
    assert facts["n_evaluations"] < 200


def test_errors_are_one_sentence(here, capsys):
    gaussian = ["--measure", "gaussian(mean=[0], cov=1)"]
    for arguments, code, word in (
        (["integrate", "integrands:bump", "--measure", "gaussian(mean=[0], cov=-1)"], 2, "cov"),
        (["integrate", "integrands:bump", "--measure", "gauss(1)"], 2, "not known"),
        (["integrate", "integrands:bump", "--measure", "gaussian(mean=[0"], 2, "cannot be read"),
        (["integrate", "integrands:bump", "--measure", "missing.toml"], 2, "missing.toml"),
        (["integrate", "integrands", *gaussian], 2, "package.module:function"),
        (["integrate", "nowhere_at_all:f", *gaussian], 2, "cannot be imported"),
        (["integrate", "integrands:none", *gaussian], 2, "has no"),
        (["integrate", "integrands:number", *gaussian], 2, "function"),
        (["integrate", "integrands:broken", *gaussian], 1, "no such luck"),
        (["integrate", "integrands:bump", *gaussian, "--n", "many"], 2, "--n"),
        (["select", "missing.csv"], 2, "does not exist"),
        (["rule", *gaussian, "-o", "rule.txt"], 2, ".json"),
        (["paper", "nothing"], 2, "nothing"),
        (["unheard-of"], 2, "unheard-of"),
    ):
        got, text = error_of(arguments, capsys)
        assert got == code, text
        assert word in text


def test_debug_shows_where_it_came_from(here):
    with pytest.raises(ValueError, match="not known"):
        run(["integrate", "integrands:bump", "--measure", "gauss(1)", "--debug"])


@pytest.mark.parametrize("suffix", ["json", "npz", "csv"])
@pytest.mark.parametrize("design", ["sbq", "fw", "qmc"])
def test_rules_for_other_languages(here, capsys, suffix, design):
    arguments = ["rule", "--measure", "uniform(lower=[0,0], upper=[1,2])", "--kernel", "2 * matern52(0.5)", "--n", "16"]
    arguments += ["--candidates", "500", "--design", design, "-o", f"rule.{suffix}", "--json"]
    assert run(arguments) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["points"] == 16 and facts["mmd"] > 0
    if suffix == "csv":
        table = pd.read_csv("rule.csv")
        points, weights = table[["x1", "x2"]].to_numpy(), table["weight"].to_numpy()
        embedding = fwbq.embed(2 * fwbq.Matern52(0.5), fwbq.Uniform([0, 0], [1, 2]))
        assert fwbq.mmd2(embedding, points, weights) == pytest.approx(facts["mmd"] ** 2, rel=1e-9)
    else:
        assert fwbq.load_rule(f"rule.{suffix}").mmd == facts["mmd"]


@pytest.mark.parametrize("weights", ["design", "simplex", "uniform"])
def test_rule_weights(here, capsys, weights):
    arguments = ["rule", "--measure", "gaussian(mean=[0], cov=1)", "--n", "9", "--design", "fw", "--weights", weights]
    assert run([*arguments, "--candidates", "200", "-o", "rule.npz"]) == 0
    rule = fwbq.load_rule("rule.npz")
    assert rule.weights.sum() == pytest.approx(1.0)
    assert np.all(rule.weights >= 0)


def test_select_writes_everything(here, capsys):
    DATA.select(enzymes=["E7", "E19", "E1", "E2"]).to_csv("data.csv")
    assert run(["select", "data.csv", "--n", "50", "--stop", "0.9", "--out", "result", "--journal", "run.db"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("{E7, E19} is the most probable of 11 models: posterior probability 0.9")
    assert out.count("maximum a posteriori") == 1 and out.index("next is") < out.index("The leading")
    expected = {
        "comparison.json",
        "ranking.csv",
        "history.csv",
        "inclusion.csv",
        "probabilities.csv",
        "numerical-error.csv",
        "checks.csv",
        "units.csv",
    }
    expected |= {"model-probabilities.png", "map-probability.png", "inclusion.png", "numerical-error.png"}
    assert {p.name for p in Path("result").iterdir()} == expected
    assert pd.read_csv("result/ranking.csv")["probability"].sum() == pytest.approx(1.0)
    found = fwbq.Comparison.load("result/comparison.json")
    assert found.best == ("E7", "E19")
    assert found.settings["command"].startswith("fwbq select data.csv --n 50")
    # The same command again takes everything from the journal and finds the same.
    assert run(["select", "data.csv", "--n", "50", "--stop", "0.9", "--out", "again", "--journal", "run.db"]) == 0
    first, again = (json.loads(Path(f"{name}/comparison.json").read_text()) for name in ("result", "again"))
    for document in (first, again):
        document["settings"].pop("command"), document.pop("checksum")
    assert first == again


def test_a_terminal_of_eighty_columns_is_enough(here, capsys, monkeypatch):
    monkeypatch.setattr("fwbq.cli.console.is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    names = [f"E{i}" for i in range(101, 107)]
    Dataset = fwbq.chema.Dataset
    six = Dataset(DATA.times, DATA.substrate, DATA.phospho, DATA.enzymes[:, :6], names)
    six.to_csv("data.csv")
    assert run(["select", "data.csv", "--n", "10", "--max-enzymes", "3", "--out", "result", "--no-progress"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    first = next(i for i, line in enumerate(lines) if line.lstrip().startswith("───"))
    assert all(line.split()[-1] == "10" for line in lines[first + 1 : first + 11])  # a line for each model
    assert any("{E101, " in line for line in lines)
    assert not any(line.endswith("-") for line in lines)


def test_select_says_when_undecided(here, capsys):
    DATA.select(enzymes=["E7", "E19", "E11"]).to_csv("data.csv")
    assert run(["select", "data.csv", "--n", "4", "--stop", "0.999", "--out", "result", "--json"]) == 3
    summary = json.loads(capsys.readouterr().out)
    assert summary["map_probability"] < 0.999
    assert summary["n_models"] == 7


def test_data_example(here, capsys):
    assert run(["data", "example", "shipped"]) == 0
    again = fwbq.chema.Dataset.from_csv(Path("shipped/simulated26.csv"))
    assert again.names == DATA.names
    assert np.array_equal(again.enzymes, DATA.enzymes)


def test_measures_from_files(here):
    Path("m.toml").write_text('measure = "truncated"\nmean = [1.0, 1.0]\nvariance = [0.5, 0.5]\nlower = 0.0\n')
    assert expressions.measure("m.toml").dim == 2
    Path("m.json").write_text(json.dumps(fwbq.Gaussian([0.0, 1.0], np.eye(2)).spec()))
    assert expressions.measure("m.json").mean.tolist() == [0.0, 1.0]
    Path("e.toml").write_text('measure = "product(norm(0, 1), gamma(2))"\n')
    assert expressions.measure("e.toml").dim == 2


@pytest.mark.parametrize(
    "text", ["__import__('os').system('true')", "gaussian(mean=open('x'))", "expquad(().__class__)", "2"]
)
def test_expressions_evaluate_nothing(text):
    for read in (expressions.measure, expressions.kernel):
        with pytest.raises(ValueError):
            read(text)


def test_infinity_in_expressions():
    assert expressions.measure("truncated(mean=[0], variance=[1], lower=-inf, upper=2)").upper.tolist() == [2.0]


def test_names_are_shortened_and_cleaned():
    assert shorten("a\x1b[31mb\n") == "a?[31mb?"
    assert len(shorten("x" * 10_000)) == 60


def test_python_dash_m_and_plain_output(tmp_path):
    environment = os.environ | {"NO_COLOR": "1", "FORCE_COLOR": ""}
    done = subprocess.run(
        [sys.executable, "-m", "fwbq", "rule", "--measure", "gaussian(mean=[0], cov=1)", "--n", "5", "-o", "r.csv"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "5 points in 1 dimension\n" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def test_completion_is_offered(capsys):
    assert run(["--help"]) == 0
    assert "--install-completion" in capsys.readouterr().out


def test_tolerance_is_half_the_width_of_the_interval(here, capsys):
    """The exit code says what the status says, also where the standard deviation is below the tolerance."""
    arguments = ["integrate", "integrands:bump", "--measure", "gaussian(mean=[0,0], cov=9)", "--n", "25", "--json"]
    assert run([*arguments, "--tol", "1e-12"]) == 3
    low, high = json.loads(capsys.readouterr().out)["interval"]
    half = (high - low) / 2
    assert run([*arguments, "--tol", repr(0.9 * half)]) == 3
    missed = json.loads(capsys.readouterr().out)
    assert "not reached" in missed["status"] and missed["sd"] < 0.9 * half
    assert run([*arguments, "--tol", repr(1.1 * half)]) == 0
    assert "not reached" not in json.loads(capsys.readouterr().out)["status"]


@pytest.mark.parametrize("unit", [1.0, 1000.0, 1e-6])
def test_rules_follow_the_scale_of_the_measure(here, capsys, unit):
    arguments = ["rule", "--measure", f"uniform(lower=[0,0], upper=[{unit},{unit}])", "--n", "20", "-o", "rule.csv"]
    assert run(arguments) == 0
    assert "note" not in capsys.readouterr().err
    table = pd.read_csv("rule.csv")
    weights = table["weight"].to_numpy()
    assert len(weights) == 20
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert weights @ (table["x1"].to_numpy() / unit) ** 2 == pytest.approx(1 / 3, abs=0.02)


def test_large_weights_are_said(here, capsys):
    arguments = ["rule", "--measure", "uniform(lower=[0], upper=[1])", "--kernel", "expquad(1)", "--n", "5"]
    assert run([*arguments, "--prior-mean", "zero", "-o", "rule.json"]) == 0
    assert "absolute weights sum to" in capsys.readouterr().err
    assert fwbq.load_rule("rule.json").sum_abs_weights > 100


@pytest.mark.parametrize("arguments", [[], ["-h"]])
def test_no_arguments_are_a_request_for_help(capsys, arguments):
    assert run(arguments) == 0
    captured = capsys.readouterr()
    assert "Usage" in captured.out and "integrate" in captured.out and captured.err == ""


@pytest.mark.parametrize(
    "command",
    [[], *([name] for name in "demo integrate evidence rule select network thin paper data".split())],
)
def test_flags_take_no_value(command, capsys):
    assert run([*command, "--help"]) == 0
    text = capsys.readouterr().out
    assert "--help" in text and "bool" not in text.lower()
    options = text.split("Options")[-1]
    assert not any(python in options for python in ("<int", "<float", "<str", "<path", "INTEGER", "FLOAT", "TEXT"))


def test_hostile_input_is_refused_briefly(here, capsys):
    cell = "x" * 10_000_000
    (here / "cell.csv").write_text(f"time,variable,value\n0,S,{cell}\n1,S,1\n")
    nested = "[" * 3000 + "0" + "]" * 3000
    many = "+".join(["expquad(1)"] * 20_000)
    square = ["--measure", "uniform(lower=[0], upper=[1])"]
    for arguments, word in (
        (["select", "cell.csv"], "column 'value'"),
        (["select", os.devnull], "file"),
        (["rule", "--measure", "product(norm(0), cov=2)", "-o", "r.csv"], "cov"),
        (["rule", *square, "--kernel", "'a' * 800000000", "-o", "r.csv"], "numbers"),
        (["rule", *square, "--kernel", many, "-o", "r.csv"], "nested"),
        (["rule", "--measure", f"uniform(lower={nested}, upper=[1])", "-o", "r.csv"], "nested"),
        (["rule", "--measure", "product(levy_stable(1.5, 0))", "-o", "r.csv"], "levy_stable"),
        (["rule", "--measure", "product(studentized_range(3, 10))", "-o", "r.csv"], "studentized_range"),
    ):
        code, text = error_of(arguments, capsys)
        assert code == 2, text
        assert word in text and len(text) < 1100


BUMP = ["integrate", "integrands:bump", "--n", "10", "--measure"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*BUMP, "gaussian(mean=[0], covariance=1)"], "--measure gaussian takes mean, cov"),
        ([*BUMP, "gaussian(mean=[0], cov=-1)"], "--measure gaussian: cov must be positive definite"),
        ([*BUMP, "gauss(0, 1)"], "did you mean gaussian? There are gaussian, mixture"),
        ([*BUMP, "normal(0, 1)"], "--measure 'normal' is not known; did you mean norm?"),
        ([*BUMP, "exponential()"], "did you mean expon?"),
        ([*BUMP, "product(normal(0, 1))"], "did you mean norm?"),
        ([*BUMP, "norm()", "--kernel", "matern51"], "--kernel 'matern51' is not known: the names are expquad"),
        ([*BUMP, "norm(scale=-1)"], "`norm(scale=-1)` must be a proper distribution"),
        ([*BUMP, "product(norm(), lognorm(-1))"], "`lognorm(-1)` must be a proper distribution"),
        ([*BUMP, "product()"], "--measure product needs a distribution for each coordinate"),
        ([*BUMP, "product(norm)"], "--measure 'norm' must be a name with arguments in brackets"),
        ([*BUMP, "empirical(points=[0, 1])"], "--measure empirical: points must be a list of points"),
        ([*BUMP, "norm()", "--kernel", "expquad(1) + 1"], "--kernel 'expquad(1) + 1': kernels can be added"),
        ([*BUMP, "norm()", "--kernel", "expquad(1) - matern12(1)"], "kernels can be added"),
        ([*BUMP, "norm()", "--kernel", "-1 * expquad(1)"], "with a positive number"),
        ([*BUMP, "norm()", "--kernel", "0 * expquad(1)"], "with a positive number"),
        ([*BUMP, "norm()", "--method", "net"], "--n must be at least 64, got 10: a net has at least that many points"),
        ([*BUMP, "norm()", "--n", "ten"], "--n must be a whole number, got 'ten' (see fwbq integrate --help)"),
        ([*BUMP, "norm()", "--tol", "5%"], "--tol must be a number, got '5%'"),
        ([*BUMP, "norm()", "--seed", "-1"], "--seed must be a whole number >= 0, got '-1'"),
        (["integrate", "wrong_syntax:f", "--measure", "norm()"], "is not valid Python"),
        (["integrate", "wrong_import:f", "--measure", "norm()"], "it imports 'nowhere_at_all', which is not installed"),
        (["integrate", "wrong_value:f", "--measure", "norm()"], "cannot be imported: it raised ValueError: no data"),
        (["integrate", "nowhere_at_all:f", "--measure", "norm()"], "there is no nowhere_at_all.py here"),
        (["rule", "--measure", "mixture([0.5, 0.6], [[0], [1]], [1, 1])", "-o", "r.csv"], "mixture: weights must sum"),
        (
            ["rule", "--measure", "norm()", "--kernel", "periodic(2)", "-o", "r.csv"],
            "periodic with one on the unit cube",
        ),
        (["rule", "--measure", "norm()", "-o", "no/r.csv"], "--output 'no/r.csv': the directory 'no' does not exist"),
        (["thin", "integrands.py", "-o", "no/x.csv"], "--output 'no/x.csv': the directory 'no' does not exist"),
        (["thin", "absent.csv", "-o", "x.csv"], "chain 'absent.csv' is not a file"),
        (["select", "data.csv", "--out", "integrands.py"], "--out 'integrands.py' must be a directory"),
        (["select", "data.csv", "--phospho", "S"], "--phospho and --substrate are both 'S'"),
        (["select", "data.csv", "--substrate", "Q"], "no variable is called 'Q'"),
        (["select", "data.csv", "--enzymes", ","], "--enzymes names nothing"),
        (["paper", "points", "--out", "integrands.py"], "--out 'integrands.py' must be a directory"),
        (["data", "example", "integrands.py"], "must be a directory, but 'integrands.py' is a file"),
        ([*BUMP, "gamma()"], "--measure gamma takes a, loc=0, scale=1"),
        ([*BUMP, "gamma(-2)"], "--measure gamma(-2): "),
        ([*BUMP, "nothing(1)"], "--measure 'nothing' is not known"),
        ([*BUMP, "norm(0, 1)", "--kernel", "expquad()"], "--kernel expquad takes lengthscale, variance=1.0"),
        (["integrate", "integrands:absent", "--measure", "norm(0, 1)"], "function 'integrands:absent'"),
        (["rule", "--measure", "norm(0, 1)", "-o", "rule.txt"], "--output 'rule.txt' must end in"),
        (["rule", "--measure", "norm(0, 1)", "--design", "none", "-o", "r.csv"], "'--design': 'none' is not one of"),
        (
            ["integrate", "./integrands.py:bump", "--measure", "norm()"],
            "change to its directory and write integrands:bump",
        ),
        (
            ["evidence", "integrands:bump", "--dim", "2", "--scale", "1,2,3"],
            "--scale must be one number, or one for each",
        ),
        (["evidence", "integrands:bump", "--dim", "2", "--plot", "p.xyz"], "--plot 'p.xyz' must end in .png"),
        (["evidence", "integrands:bump", "--dim", "2", "--plot", "no/p.png"], "the directory 'no' does not exist"),
    ],
)
def test_errors_speak_of_flags(here, capsys, arguments, words):
    DATA.select(enzymes=["E7", "E19"]).to_csv("data.csv")
    Path("wrong_syntax.py").write_text("def f(x: return")
    Path("wrong_import.py").write_text("import nowhere_at_all")
    Path("wrong_value.py").write_text("raise ValueError('no data')")
    code, message = error_of(arguments, capsys)
    assert code == 2
    assert words in message
    for python in (
        "broadcast",
        "__init__",
        "_parse_args",
        "Value error",
        "`--",
        "rng=",
        "parse string",
        "[:, None]",
        "distributions[",
    ):
        assert python not in message


def test_remedies_are_flags_too(here, capsys):
    _, message = error_of(["integrate", "integrands:broken", "--measure", "norm(0, 1)", "--n", "10"], capsys)
    assert "--vectorized or --scalar" in message and "vectorized=" not in message
    arguments = ["integrate", "integrands:broken", "--measure", "norm(0, 1)", "--n", "10", "--vectorized"]
    code, message = error_of(arguments, capsys)
    assert code == 1
    assert "--on-error skip" in message and "on_error" not in message
    assert "because of --vectorized: if it takes one point at a time, of shape (d,), leave that out" in message
    assert run(["integrate", "integrands:bump", "--measure", "norm()", "--n", "8", "--tol", "1e-12"]) == 3
    printed = capsys.readouterr()
    assert "raise --n, or accept" in printed.out and "raise --n, or accept" in printed.err
    DATA.select(enzymes=["E7", "E19", "E11"]).to_csv("data.csv")
    assert run(["select", "data.csv", "--method", "fwbq", "--n", "5", "--out", "result"]) == 0
    assert "use --method log, or more points" in capsys.readouterr().err


def test_factors_of_a_kernel_may_be_combined():
    assert expressions.kernel("2 * 3 * expquad(1)").diag(np.zeros((1, 1)))[0] == pytest.approx(6.0)


def test_a_distribution_of_scipy_is_a_measure():
    from scipy import stats

    one = expressions.measure("lognorm(0.5, scale=2)")
    assert one.dim == 1
    assert one.mean[0] == pytest.approx(stats.lognorm(0.5, scale=2).mean(), rel=1e-15)


# -- what is imported from the current directory ----------------------------------------------------------------------


def in_a_process(folder, *arguments):
    """Run the command as it is installed: with the folder of the script, not the current one, on the import path."""
    code = "import sys; sys.path = [p for p in sys.path if p]; from fwbq.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, "integrate", *arguments], cwd=folder, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize("function", ["scipy.special:j0", "integrands:bump"])
def test_a_file_in_the_folder_does_not_take_the_place_of_a_package(tmp_path, function):
    """Of a file that has the name of a package nothing is run, when the function is loaded or later."""
    for name in ("threadpoolctl", "typing_extensions"):
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name} of the folder was run')\n")
    (tmp_path / "scipy").mkdir()  # a folder without __init__.py is no package where there is one of its name
    (tmp_path / "integrands.py").write_text("def bump(x):\n    return (-0.5 * (x**2).sum(axis=1))\n")
    arguments = [function, "--measure", "norm(0,1)", "--n", "20", "--json"]
    as_module = subprocess.run(
        [sys.executable, "-m", "fwbq", "integrate", *arguments], cwd=tmp_path, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    for done in (in_a_process(tmp_path, *arguments), as_module):
        assert done.returncode == 0, done.stderr
        assert "of the folder was run" not in done.stderr + done.stdout


def test_a_module_of_the_folder_comes_first_and_finds_its_neighbours_also_later(tmp_path):
    (tmp_path / "colorsys.py").write_text("def f(x):\n    return x[:, 0] + 1.0\n")  # the name of a standard module
    (tmp_path / "neighbour.py").write_text("SHIFT = 2.0\n")
    (tmp_path / "later.py").write_text("SCALE = 3.0\n")
    (tmp_path / "own.py").write_text(
        "import colorsys\nimport neighbour\n"
        "def f(x):\n    import later\n    return later.SCALE * (colorsys.f(x) + neighbour.SHIFT)\n"
    )
    for workers in ("1", "2"):
        done = in_a_process(
            tmp_path, "own:f", "--measure", "norm(0,1)", "--n", "20", "--json", "--vectorized", "--workers", workers
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["mean"] == pytest.approx(9.0, abs=1e-4)  # its sd is 6e-6
    done = in_a_process(tmp_path, "colorsys:f", "--measure", "norm(0,1)", "--n", "20", "--json")
    assert json.loads(done.stdout)["mean"] == pytest.approx(1.0, abs=1e-4)


def test_the_import_path_of_the_process_stays_for_a_package_that_is_installed(here):
    before = list(sys.path)
    load_function("scipy.special:j0")
    assert sys.path == before
    load_function("integrands:bump")
    assert sys.path == [*before, str(here)]
    load_function("integrands:both")
    assert sys.path == [*before, str(here)]


def test_no_cell_of_a_table_is_a_formula(tmp_path):
    found = fwbq.compare({("=cmd()", "B"): (-3.0, 0.1), ("@sum", "-2"): (-4.0, 0.1), ("safe",): (-5.0, 0.1)})
    select.write(found, tmp_path)
    for name in ("inclusion", "ranking", "history", "probabilities"):
        lines = (tmp_path / f"{name}.csv").read_text().splitlines()
        cells = [cell.strip('"') for line in lines for cell in line.split(",")]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "@"))]
    assert pd.read_csv(tmp_path / "inclusion.csv")["name"].tolist() == ["'=cmd()", "B", "'@sum", "'-2", "safe"]


def test_replicates_and_inhibitors_reach_the_comparison(tmp_path, capsys):
    one = fwbq.chema.Dataset.simulate(3, rng=0)
    both = fwbq.chema.Dataset.combine([one, one], ["EGF", "EGF+AKTi"]).to_frame()
    pd.concat([both.assign(replicate=1), both.assign(replicate=2, value=1.1 * both["value"])]).to_csv(
        tmp_path / "data.csv", index=False
    )
    command = ["select", str(tmp_path / "data.csv"), "--out", str(tmp_path / "out"), "-n", "10", "--json"]
    assert run([*command, "--inhibitor", "AKTi=E2:0.9"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "40 degrees of freedom" in found["settings"]["notes"][0]
    assert "inhibited(['AKTi=E2:0.9'])" in found["settings"]["data"]
    assert run([*command, "--inhibitor", "MEKi=E2"]) == 2
    assert "no condition was treated with the inhibitor 'MEKi'" in capsys.readouterr().err.replace("\n", " ")


def without_plotly(monkeypatch):
    real = fwbq._extras.load

    def load(name, *args):
        if name.startswith("plotly"):
            raise ImportError('the report needs plotly: pip install "fwbq[report]"')
        return real(name, *args)

    monkeypatch.setattr(fwbq._extras, "load", load)


def test_the_demo_prints_its_ranking_without_what_the_report_needs(here, capsys, monkeypatch):
    without_plotly(monkeypatch)
    assert run(["demo", "--out", "demo", "--no-progress"]) == 0
    out = capsys.readouterr().out
    assert "The leading 10 of 352 models" in out and "{E7, E19} is the most probable" in out
    assert 'The report was not written: the report needs plotly: pip install "fwbq[report]"' in out
    assert not Path("demo/report.html").exists() and Path("demo/ranking.csv").exists()


def test_a_report_that_was_asked_for_is_refused_before_anything_is_computed(here, capsys, monkeypatch):
    without_plotly(monkeypatch)
    DATA.select(enzymes=["E7", "E19"]).to_csv("data.csv")
    assert run(["select", "data.csv", "--report", "--out", "result"]) != 0
    assert "needs plotly" in capsys.readouterr().err and not any(Path("result").iterdir())


def test_select_in_other_units_prints_the_same(here, capsys):
    small = DATA.select(enzymes=["E7", "E19", "E1"])
    small.to_csv("one.csv", "4EBP1", "p4EBP1")
    small.rescaled(time=60.0, level=1e-3, phospho=7.0, enzymes=[1e-6, 3.0, 1e6]).to_csv("two.csv", "4EBP1", "p4EBP1")
    options = ["--substrate", "4EBP1", "--phospho", "p4EBP1", "--n", "20", "--no-progress"]
    printed = []
    for name in ("one", "two"):
        assert run(["select", f"{name}.csv", *options, "--out", name]) == 0
        lines = capsys.readouterr().out.splitlines()
        printed.append([line for line in lines if not line.startswith(("Units:", "written"))])
    assert printed[0] == printed[1] and any(line.startswith("Fit:") for line in printed[0])
    first, second = (pd.read_csv(f"{name}/ranking.csv") for name in ("one", "two"))
    assert first.equals(second)
    units = [pd.read_csv(f"{name}/units.csv").set_index("variable")["unit"] for name in ("one", "two")]
    assert units[0]["p4EBP1"] / units[1]["p4EBP1"] == pytest.approx(7.0)
    assert units[0]["time"] / units[1]["time"] == pytest.approx(60.0)


def test_select_in_the_units_of_the_file_with_own_rates(here, capsys):
    small = DATA.select(enzymes=["E7", "E19"])
    fwbq.chema.Dataset.combine([small, small.rescaled(level=2.0)], ["EGF", "serum"]).to_csv("data.csv")
    arguments = ["select", "data.csv", "--units", "given", "--rates", "own", "--closed-form", "--n", "20", "--json"]
    assert run([*arguments, "--out", "result"]) == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert (settings["units"], settings["rates"]) == ("given", "own") and "not truncated" in settings["likelihood"]
