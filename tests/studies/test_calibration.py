"""The calibration study: brute force that converges, and tables that count rightly."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate

from fwbq import chema
from studies import calibration


def test_brute_force_is_that_of_scipy():
    data = chema.Dataset.simulate(3, rng=4)
    value, left = calibration.exact_log_evidences(data, [()])

    def integrand(k):
        return np.exp(chema.log_likelihood(data, (), [[k]])[0] - value[0] - (k - 1.0) ** 2)

    prior = integrate.quad(lambda k: np.exp(-((k - 1.0) ** 2)), 0.0, 8.0, epsabs=1e-14)[0]
    assert left == 0
    assert integrate.quad(integrand, 0.0, 8.0, epsabs=1e-13)[0] / prior == pytest.approx(1.0, abs=1e-9)


def test_brute_force_converges_for_pairs():
    data, _ = calibration.dataset(3)
    value, left = calibration.exact_log_evidences(data, [("E1", "E2"), ("E4", "E9")])
    assert left == 0
    np.testing.assert_allclose(calibration.tensor_sum(data, [("E1", "E2"), ("E4", "E9")], 64), value, atol=1e-9)


def test_brute_force_with_rates_that_are_not_negative_is_that_of_scipy():
    data = chema.Dataset.simulate(3, rng=4)
    value, left = calibration.exact_log_evidences(data, [()], truncated=True)

    def integrand(k):
        log_l = chema.log_likelihood(data, (), [[k]], truncated=True)[0]
        return np.exp(log_l - value[0] - (k - 1.0) ** 2)

    prior = integrate.quad(lambda k: np.exp(-((k - 1.0) ** 2)), 0.0, 8.0, epsabs=1e-14)[0]
    assert left == 0
    assert integrate.quad(integrand, 0.0, 8.0, epsabs=1e-10)[0] / prior == pytest.approx(1.0, abs=1e-5)


def test_evidences_over_units_are_compared_with_brute_force(monkeypatch):
    """One set, one size, one model of each kind, so that it takes seconds."""
    monkeypatch.setattr(calibration, "_LEADING", 1)
    monkeypatch.setattr(calibration, "_OTHERS", 1)
    monkeypatch.setattr(calibration.kinetics, "dataset", lambda *_: (chema.Dataset.simulate(3, rng=4), {}))
    table = pd.DataFrame(calibration.coverage_over_units(0, (50,)))
    assert table["method"].tolist() == list(calibration.UNITS)
    assert (table["models"] == 2).all() and (table["not_converged"] == 0).all()
    assert (table["leader_error"] <= 6.0 * table["leader_sd"] + 1e-6).all()


def rounds() -> pd.DataFrame:
    rows = [
        (0, 10, 100, 0.60, True), (0, 20, 120, 0.96, True),
        (1, 10, 100, 0.40, False), (1, 20, 150, 0.94, True), (1, 40, 200, 0.995, True),
        (2, 10, 100, 0.92, False),
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["set", "n", "evaluations", "map_probability", "as_full"])
    return frame.assign(right=frame["as_full"], full_evaluations=1000)


def test_stops_take_the_first_round_that_gets_there_or_the_last():
    table = calibration.stops(rounds(), (0.9, 0.99)).set_index("level")
    assert table.loc[0.9, "mean_share"] == pytest.approx((0.12 + 0.15 + 0.10) / 3)
    assert table.loc[0.9, "as_full"] == pytest.approx(2 / 3)
    assert table.loc[0.9, "reached"] == 1.0
    assert table.loc[0.99, "worst_share"] == pytest.approx(0.2)
    assert table.loc[0.99, "reached"] == pytest.approx(1 / 3)


def test_the_curve_counts_rounds_by_what_was_stated():
    table = calibration.curve(rounds(), (0.0, 0.5, 0.95, 1.0))
    assert table["rounds"].tolist() == [1, 3, 2]
    assert table["right"].tolist() == pytest.approx([0.0, 2 / 3, 1.0])
    assert table["stated"].tolist() == pytest.approx([0.4, (0.6 + 0.94 + 0.92) / 3, (0.96 + 0.995) / 2])


def test_the_study_writes_its_tables_and_figure(tmp_path, monkeypatch, capsys):
    one = rounds()
    covered = pd.DataFrame(
        {"set": [0, 1], "method": "default", "n": 10, "enzymes": 2, "models": 4, "covered68": [3, 2],
         "covered95": [4, 3], "square_error": [0.04, 0.12], "median_sd": [0.1, 0.3], "right": [True, False]}
    )  # fmt: skip
    monkeypatch.setattr(
        calibration,
        "_map",
        lambda function, *_: (one if function is calibration.race else covered).to_dict("records"),
    )
    calibration.main(["--out", str(tmp_path / "new"), "--workers", "1"])
    table = pd.read_csv(tmp_path / "new" / "coverage_pooled.csv")
    assert table[["coverage95", "worst_set95", "rms_error"]].iloc[0].tolist() == pytest.approx(
        [7 / 8, 3 / 4, 0.02**0.5]
    )
    assert (tmp_path / "new" / "calibration.png").read_bytes()[:4] == b"\x89PNG"
    assert "worst_share" in capsys.readouterr().out


def test_data_sets_are_reproducible_and_different():
    (a, first), (b, second), (c, third) = (calibration.dataset(i) for i in (0, 0, 1))
    assert first == second != third
    np.testing.assert_array_equal(a.phospho, b.phospho)
    assert a.n_enzymes == c.n_enzymes == 26
