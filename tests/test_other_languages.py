"""The R code of docs/other-languages.md, run by R where it is installed."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fwbq.cli.app import run

PAGE = Path(__file__).parents[1] / "docs" / "other-languages.md"
CODE = re.findall(r"^```{code-block} r\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_the_page_shows_both_formats():
    assert ["csv" in code for code in CODE] == [True, False]
    assert "json" in CODE[1]


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")
@pytest.mark.parametrize("kind", ["csv", "json"])
def test_r_integrates_with_a_rule(tmp_path, kind):
    code = CODE[kind == "json"]
    if kind == "json":
        package = subprocess.run(["Rscript", "-e", "library(jsonlite)"], capture_output=True)
        if package.returncode:
            pytest.skip("needs R's package jsonlite")
    run(["rule", "--measure", "gaussian(mean=[0,0], cov=1)", "--kernel", "matern52(1)", "-n", "50",
         "-o", str(tmp_path / f"rule.{kind}")])  # fmt: skip
    (tmp_path / "code.R").write_text(code)
    done = subprocess.run(["Rscript", "code.R"], cwd=tmp_path, capture_output=True, text=True, check=True)
    estimate = float(done.stdout.splitlines()[0].split()[1])
    assert abs(estimate - 0.36787944) < 0.01  # the worst-case error of the rule is 0.008
