import numpy as np
import pandas as pd
import pytest

from studies import kinetics


def test_the_data_sets_are_drawn_anew_in_units_that_nobody_chose():
    (one, settings), (again, _), (other, _) = (kinetics.dataset(number) for number in (4, 4, 5))
    np.testing.assert_array_equal(one.enzymes, again.enzymes)
    assert len(one.conditions) == settings["conditions"] and len(one.regulators) == settings["regulators"]
    means = np.concatenate([data.enzymes.mean(axis=0) for data in (one, other)])
    assert means.max() / means.min() > 100.0
    assert not np.array_equal(kinetics.dataset(4, 1)[0].phospho, one.phospho)


def test_the_truth_is_in_the_set_that_holds_ninety_per_cent(build_comparison):
    names = [("a",), ("b",), ("c",), ()]
    logs = np.log([0.6, 0.25, 0.1, 0.05])
    found = build_comparison(names, logs, sds=(0.1, 1e-6))
    judged = [kinetics.judged(found, name) for name in names]
    assert [each["first"] for each in judged] == [True, False, False, False]
    assert [each["in_90"] for each in judged] == [True, True, True, False]
    assert judged[1]["log_probability"] == pytest.approx(np.log(0.25), abs=1e-4)


def test_tables_count_what_the_rows_say():
    way, *_, last = kinetics.WAYS
    row = {
        "first": True,
        "in_90": True,
        "log_probability": -1.0,
        "leader": 0.95,
        "stays": 4,
        "q2": 0.5,
        "p_value": 0.01,
    }
    more = {"included": [0.95], "not_included": [0.05, 0.2]}
    rows = pd.DataFrame(
        [
            {"way": way} | row | more,
            {"way": way} | row | more | {"first": False, "log_probability": -3.0},
            {"way": last} | row | more,
            {"way": last} | row | more | {"first": False, "stays": 2, "q2": 0.05, "leader": 0.5},
            {"way": "without the regulators", "q2": -0.2, "p_value": 0.5, "leader": 0.4},
        ]
    )
    found = kinetics.found_table(rows).set_index("way")
    assert found.loc[way, "first"] == 0.5 and found.loc[way, "log_probability"] == -2.0 and found.loc[way, "sets"] == 2
    table = kinetics.checks_table(rows).set_index("q2_below")
    assert table.loc[0.1, "with"] == 0.5 and table.loc[0.0, "without"] == 1.0
    stays = kinetics.sensitivity_table(rows).set_index("stays first")["right"]
    assert (stays["in all four"], stays["in fewer"], stays["stated 0.9 or more"]) == (1.0, 0.0, 1.0)
    inclusion = kinetics.inclusion_table(rows)
    assert inclusion[inclusion["low"] == 0.9]["true"].tolist() == [1.0, 1.0]
