"""The study of functionals: its references against each other, its tables."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from studies import functionals


@pytest.fixture
def small(monkeypatch):
    """References of fewer points."""
    monkeypatch.setattr(functionals, "POINTS", 12)
    monkeypatch.setattr(functionals, "PAIRS", 11)


def test_the_study_writes_its_tables(tmp_path, small):
    arguments = ["--out", str(tmp_path), "--quick", "--jobs", "1", "--rare", "0", "--cases", "gamma", "saddle"]
    assert functionals.main(arguments) == 0
    rows = pd.read_csv(tmp_path / "functionals.csv")
    # Eight numbers of each run, and two indices of each input.
    assert len(rows) == 2 * 8 + 2 * (1 + 2)
    assert (rows.low <= rows.high).all() and (rows.score >= 0.0).all()
    assert set(pd.read_csv(tmp_path / "by-size.csv").functional) == set(rows.functional)


def test_references_agree_with_the_law_where_it_is_known(small):
    (case,) = [case for case in functionals.cases() if case.name == "plane"]
    blind = functionals.Case(case.name, case.measure, case.f)
    for known, found in [
        (case.variance(), blind.variance()),
        (case.quantile(0.3), blind.quantile(0.3)),
        (case.above(1.0), blind.above(1.0)),
        *[pair for both in zip(case.indices, blind.indices, strict=True) for pair in zip(*both, strict=True)],
    ]:
        # Student's t on 7 degrees of freedom exceeds 7 with probability 2e-4.
        assert abs(found.value - known.value) < 7.0 * found.error + 1e-6 and known.error == 0.0


def test_failures_of_known_probability():
    found = {failure.name: failure for failure in functionals.failures()}
    assert found["resistance less load, index 4.75"].probability == pytest.approx(1e-6, rel=0.05)
    # 4.46e-3 and 2.86e-2 in the literature (Waarts 2000; Echard, Gayton and Lemaire 2011).
    assert found["four branches at 3"].probability == pytest.approx(4.46e-3, rel=0.01)
    assert found["oscillator, force 1"].probability == pytest.approx(2.86e-2, rel=0.01)
    # 9.09e-6 by importance sampling with a standard error of 2.5 % (Echard et al. 2013).
    assert found["oscillator, force 0.6"].probability == pytest.approx(9.09e-6, rel=0.03)
    for failure in found.values():
        if failure.probability > 1e-3:
            share = np.mean(failure.f(failure.measure.sample(100_000, rng=0)) < 0.0)
            low, high = stats.binom.interval(1.0 - 1e-6, 100_000, failure.probability)
            assert low <= 100_000 * share <= high
