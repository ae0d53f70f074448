"""What is published: one version, a page that stands by itself, and everything that the suite needs."""

import re
import tomllib
from pathlib import Path

import pytest

import fwbq

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RECIPE = (ROOT / "recipe" / "meta.yaml").read_text()
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text()


def test_the_version_stands_in_one_place():
    assert PROJECT["project"]["dynamic"] == ["version"] and "version" not in PROJECT["project"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "fwbq.__version__"}
    source = (ROOT / "src" / "fwbq" / "__init__.py").read_text()
    # What the recipe looks for in the source.
    pattern = re.search(r"regex_pattern='(.+)'", RECIPE)
    assert pattern is not None
    found = re.search(pattern[1], source)
    assert found is not None and found[1] == fwbq.__version__
    assert not re.search(r"^version:", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)


def test_the_readme_stands_by_itself():
    """A package index shows it without the repository: nothing in it leads to a file beside it."""
    text = (ROOT / "README.md").read_text()
    targets = re.findall(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"", text)
    assert [a or b for a, b in targets if not (a or b).startswith(("https://", "#"))] == []


def test_the_recipe_needs_what_the_package_needs():
    for requirement in PROJECT["project"]["dependencies"]:
        name, least = requirement.split(">=")
        name = {"matplotlib": "matplotlib-base"}.get(name, name)
        assert f"- {name} >={least}" in RECIPE
    assert f"- python {PROJECT['project']['requires-python']}" in RECIPE


def test_the_workflow_runs_every_version_that_is_claimed():
    claimed = [each.rpartition(" :: ")[2] for each in PROJECT["project"]["classifiers"] if "Python :: 3." in each]
    matrix = re.search(r"python: \[(.+)\]", WORKFLOW)
    assert matrix is not None and re.findall(r"[\d.]+", matrix[1]) == claimed
    assert "secrets." not in WORKFLOW


def test_the_source_distribution_is_told_of_every_folder_that_the_suite_reads():
    told = (ROOT / "MANIFEST.in").read_text()
    for folder in ("benchmarks", "docs", "examples", "studies", "tests"):
        assert f"graft {folder}\n" in told
    for name in re.findall(r"^include (.+)$", told, re.MULTILINE)[0].split():
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("name", ["fcntl", "resource", "pwd", "grp", "termios"])
def test_no_module_of_one_system_is_imported(name):
    pattern = re.compile(rf"^\s*(?:import {name}\b|from {name} import)", re.MULTILINE)
    assert [str(path) for path in (ROOT / "src").rglob("*.py") if pattern.search(path.read_text())] == []
