"""The ablation: what its tables count, and that a part that is switched off is."""

import numpy as np
import pandas as pd
import pytest

import fwbq
from studies import ablation, evidence, pages
from studies.problems.likelihoods import FAMILIES

PARTS = ("widening", "nothing", "crash")
FAMILY = "gamma posterior"


class StubRun(fwbq.EvidenceRun):
    """A run with three parts of its own: one that states a larger error, one that does nothing, one that must stay."""

    def __init__(self, *arguments, without=(), **options):
        super().__init__(*arguments, **options)
        self.off = tuple(without)

    def ask(self, *arguments):
        if "crash" in self.off:
            raise RuntimeError("a part that was needed")
        return super().ask(*arguments)

    def result(self):
        return Wider(super().result(), 1.0 if "widening" in self.off else 3.0)


class Wider:
    def __init__(self, found, factor):
        self._found, self.sd = found, factor * found.sd

    def __getattr__(self, name):
        return getattr(self._found, name)


@pytest.fixture(scope="module")
def frame():
    return ablation.run(PARTS, [FAMILY], (20, 30), 1, make=StubRun)


def test_each_part_is_switched_off_on_the_same_problems(frame):
    assert len(frame) == 2 * (1 + len(PARTS))
    assert frame.groupby("n").truth.nunique().eq(1).all()
    changed = frame.groupby("without").changed.sum()
    assert changed.to_dict() == {ablation.WHOLE: 0, "widening": 2, "nothing": 0, "crash": 2}
    sds = frame.pivot_table(index="n", columns="without", values="sd")
    assert np.allclose(sds[ablation.WHOLE], 3.0 * sds["widening"], rtol=1e-12)


def test_a_run_that_breaks_is_counted(frame):
    table = ablation.by_part(frame).set_index("without")
    assert table.raised.to_dict() == {ablation.WHOLE: 0, "widening": 0, "nothing": 0, "crash": 2}
    assert table.loc["crash", "error"] == np.inf
    assert table.loc["crash", "covered"] == 0.0
    assert "a part that was needed" in frame[frame.without == "crash"].raised.iloc[0]
    assert ablation.by_family(frame).needed.tolist() == ["crash"]


def test_rows_are_those_of_the_study_of_evidences():
    own, other = ablation.one(FAMILY, 20, 3, ablation.WHOLE), evidence.one(FAMILY, 20, 3)
    assert {name: own[name] for name in other if name != "seconds"} == {k: other[k] for k in other if k != "seconds"}


def rows(without, errors, sds):
    return pd.DataFrame({
        "without": without, "family": ["a", "a", "b", "b"], "d": 1, "n": [50, 100, 50, 100], "replicate": 0,
        "error": errors, "sd": sds, "covered": [error <= 2.0 * sd for error, sd in zip(errors, sds, strict=True)],
        "seconds": 2.0, "raised": "", "changed": [without != ablation.WHOLE and error != 0.01 for error in errors],
    })  # fmt: skip


def made():
    whole = rows(ablation.WHOLE, [0.01, 0.01, 0.01, 0.0], [0.01, 0.02, 0.04, 0.0])
    less = rows("part", [0.01, 0.01, 0.09, 9.0], [0.01, 0.02, 0.01, 1.5])
    return pd.concat([whole, less], ignore_index=True)


def test_the_table_by_part_counts():
    table = ablation.by_part(made()).set_index("without")
    assert table.runs.tolist() == [4, 4]
    assert table.changed.tolist() == [0, 2]
    assert np.isnan(table.loc[ablation.WHOLE, "factor"])
    # Errors of 0.09 and 9 instead of 0.01 and 0, which counts as 1e-6.
    assert table.loc["part", "factor"] == pytest.approx(np.sqrt(9.0 * 9e6))
    assert table.missed.tolist() == [0, 1]  # an error of 9 with an sd of 1.5 was said to be possible
    assert table.covered.tolist() == [1.0, 0.5]
    assert table.loc[ablation.WHOLE, "ratio"] == pytest.approx(1.5)  # of 1, 2, 4 and 1
    assert table.seconds.tolist() == [8.0, 8.0]


def test_the_table_by_family_names_the_parts_it_needs():
    table = ablation.by_family(made()).set_index("family")
    assert table.needed.to_dict() == {"a": "", "b": "part"}
    assert table.missed.tolist() == [0, 0]
    text = ablation.markdown(made())
    assert text.count("\n| ") == 1 + 2 + 1 + 1  # "a" needs nothing and its interval holds
    assert "1 of 2." in text and "\n| a |" not in text
    assert "| b | 1 | 2 | 5.0e-03 |" in text


def test_a_density_without_a_prior_goes_by_its_start():
    problem = FAMILIES["scaled joint, d=4"](evidence.seed("scaled joint, d=4", 0))
    found = ablation.estimate(problem, 100, 0)
    assert found.n_evaluations == 100
    assert abs(found.log_evidence - problem.log_evidence) < 1e-3  # which no other start and scale would reach
    assert abs(found.log_evidence - problem.log_evidence) < 5.0 * found.sd + 1e-6


def test_the_program_writes_its_files_and_the_page(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("# Title\n" + pages.BEGIN + "former tables" + pages.END + "\nlast words\n")
    arguments = ["--out", str(tmp_path / "out"), "--quick", "--jobs", "1", "--families", FAMILY, "--parts"]
    assert ablation.main([*arguments, "--write-docs"], page=page) == 0
    names = {"ablation.csv", "parts.csv", "families.csv", "ablation.md"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    text = page.read_text()
    assert capsys.readouterr().out.strip() in text
    assert "former tables" not in text
    assert text.endswith("\nlast words\n")


def test_the_page_has_its_place_for_the_tables(tmp_path):
    text = ablation.PAGE.read_text()
    assert text.index(pages.BEGIN) < text.index(pages.END)
    without = tmp_path / "page.md"
    without.write_text("no markers")
    with pytest.raises(ValueError, match="lacks one"):
        pages.write_tables(without, "table")
