import io
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fwbq.chema import Dataset
from fwbq.chema.simulate import EXAMPLE

LEVELS = ([0, 1, 2, 3], [1.0, 0.8, 0.7, 0.6], [0.0, 0.2, 0.3, 0.4], np.ones((4, 2)))


def changed(position, value):
    fields = list(LEVELS)
    fields[position] = value
    return fields


def test_fields_are_copies_and_cannot_be_changed():
    times = np.arange(4.0)
    data = Dataset(times, *LEVELS[1:])
    times[0] = -5
    assert data.times[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        data.enzymes[0, 0] = 3
    with pytest.raises(AttributeError):
        data.times = times


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (changed(0, [0, 1, 1, 3]), "time 1 appears more than once"),
        (changed(0, [0, 2, 1, 3]), "times must increase; 1 comes after 2"),
        (changed(0, [0, 1, np.nan, 3]), "`times` has 1 missing"),
        (changed(0, [[0, 1, 2, 3]]), "`times` must have shape"),
        (changed(1, [1, 0.8, -0.7, 0.6]), "`substrate` has 1 negative value.*-0.7 in row 2"),
        (changed(2, [0, 0.2, 0.3]), "`phospho` has 3 rows but there are 4 times"),
        (changed(2, ["a", 0, 0, 0]), "`phospho` must be numbers"),
        (changed(3, [[1, np.inf], [1, 1], [1, 1], [1, 1]]), "`enzymes` has 1 infinite.*row 0, column 1"),
        (changed(3, np.full((4, 2), 1e200)), "use another unit"),
        (changed(3, np.ones(4)), r"`enzymes` must have shape \(T, E\)"),
        (([0, 1], [1, 1], [0, 1], np.ones((2, 1))), "too few times: 2; at least 3"),
        (([], [], [], np.ones((0, 1))), "there are no times"),
    ],
)
def test_bad_levels_are_named(fields, message):
    with pytest.raises(ValueError, match=message):
        Dataset(*fields)


def test_bad_names_are_named():
    with pytest.raises(ValueError, match=r"repeats 'a'"):
        Dataset(*LEVELS, names=["a", "a"])
    with pytest.raises(ValueError, match="3 names for 2 enzymes"):
        Dataset(*LEVELS, names=["a", "b", "c"])
    with pytest.raises(ValueError, match="single text 'ab'"):
        Dataset(*LEVELS, names="ab")
    with pytest.raises(TypeError, match="must be text"):
        Dataset(*LEVELS, names=["a", 1])
    with pytest.raises(ValueError, match="entries for 4 rows"):
        Dataset(*LEVELS, condition=["x"])
    with pytest.raises(ValueError, match="names 'z', which the data do not have"):
        Dataset(*LEVELS, regulators=["z"])
    with pytest.raises(ValueError, match="in condition 'b': 1"):
        Dataset(*LEVELS, condition=["a", "a", "a", "b"])


def test_conditions_split_select_and_combine():
    one = Dataset.simulate(3, rng=0, regulators=(1,))
    two = Dataset.simulate(3, rng=1, regulators=(1,), times=np.arange(5))
    both = Dataset.combine([one, two], ["x", "y"])
    assert both.conditions == ("x", "y") and both.n_increments == (20, 4) and both.regulators == ("E2",)
    back = both.split()
    np.testing.assert_array_equal(back[1].enzymes, two.enzymes)
    np.testing.assert_array_equal(both.rates, np.concatenate([one.rates, two.rates]))
    only = both.select(enzymes=["E3", 0], conditions=["y"])
    assert only.names == ("E3", "E1") and only.conditions == ("y",) and only.regulators is None
    np.testing.assert_array_equal(only.enzymes, two.enzymes[:, [2, 0]])
    assert both.select(enzymes=["E3", "E2"]).regulators == both.select(enzymes=["E2"]).regulators == ("E2",)
    with pytest.raises(ValueError, match="conditions of the same name"):
        Dataset.combine([one, two])
    with pytest.raises(ValueError, match="same enzymes"):
        Dataset.combine([one, Dataset.simulate(2, rng=0)], ["x", "y"])
    with pytest.raises(ValueError, match="empty"):
        Dataset.combine([])
    with pytest.raises(ValueError, match="'q'"):
        both.select(conditions=["q"])


def test_rows_of_conditions_may_be_interleaved():
    t = [0, 0, 1, 1, 2, 2]
    data = Dataset(t, np.ones(6), np.arange(6.0), np.ones((6, 1)), condition=["a", "b"] * 3)
    np.testing.assert_array_equal(data.split()[1].phospho, [1, 3, 5])
    np.testing.assert_array_equal(data.rates, [2, 2, 2, 2])


def test_pickles():
    data = pickle.loads(pickle.dumps(Dataset.example()))
    assert data.names == Dataset.example().names
    np.testing.assert_array_equal(data.rates, Dataset.example().rates)


def test_csv_gives_the_same_numbers_back(tmp_path):
    data = Dataset.combine([Dataset.simulate(4, rng=i, regulators=(1,)) for i in (1, 2)], ["a", "b,c"])
    data.to_csv(tmp_path / "d.csv", substrate="4EBP1")
    back = Dataset.from_csv(tmp_path / "d.csv", "4EBP1")
    assert back.names == data.names and back.conditions == data.conditions
    for field in ("times", "substrate", "phospho", "enzymes"):
        np.testing.assert_array_equal(getattr(back, field), getattr(data, field))


hostile = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=12).filter(
        lambda name: name not in ("S", "S*")
    ),
    min_size=2, max_size=2, unique=True,
)  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(hostile)
def test_any_text_is_a_name(names):
    data = Dataset(*LEVELS, names=names)
    text = io.StringIO()
    data.to_csv(text)
    text.seek(0)
    assert Dataset.from_csv(text).names == tuple(names)


@pytest.mark.parametrize(
    "name", ["NA", "nan", "", "=cmd()|'/c calc'!A0", "<script>", 'a"b', "../../etc", "1e5", "None", "a\nb"]
)
def test_hostile_names_are_just_names(tmp_path, name):
    data = Dataset(*LEVELS, names=[name, "x"])
    data.to_csv(tmp_path / "d.csv")
    assert Dataset.from_csv(tmp_path / "d.csv").names == (name, "x")
    assert data.columns([name]) == (0,)


COURSE = ((0, 1.0), (1, 0.8), (2, 0.5))
ROWS = ["time,variable,value", *(f"{t},{v},{x}" for t, x in COURSE for v in ("S", "S*", "AKT", "ERK"))]


def read(rows, *args, **options):
    return Dataset.from_csv(io.StringIO("\n".join(rows)), *args, **options)


def test_order_of_the_rows_is_of_no_account():
    data, shuffled = read(ROWS), read([ROWS[0], *ROWS[:0:-1]])
    assert set(data.names) == set(shuffled.names)
    np.testing.assert_array_equal(data.times, shuffled.times)


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([], {}, "is empty"),
        (ROWS[:1], {}, "no measurements"),
        (["time,variable,level", *ROWS[1:]], {}, "no column 'value'"),
        ([*ROWS[:3], "0,AKT,high", *ROWS[4:]], {}, "line 4: 'high' in column 'value' is not a number"),
        (["time,variable,value", "soon,S,1"], {}, "line 2: 'soon' in column 'time'"),
        (["time;variable;value", "0;S;1,5"], {}, "separated by semicolons: save it with commas"),
        (["time\tvariable\tvalue", "0\tS\t1.5"], {}, "separated by tabs: save it with commas"),
        ([*ROWS[:3], *ROWS[4:]], {}, r"missing values \(AKT at time 0\) leave 1 increment, and two"),
        ([*ROWS[:2], *ROWS[4:]], {}, r"missing values \(.* at time 0; AKT at time 0.* leave 1 increment"),
        ([*ROWS[:3], "0,AKT,", *ROWS[4:]], {}, r"missing values \(AKT at time 0\)"),
        ([*ROWS, "1,AKT,0.3"], {}, "'AKT' has more than one value at time 1.*replicate"),
        ([*ROWS[:3], "0,AKT,-1", *ROWS[4:]], {}, "'AKT' has the negative level -1 at time 0;"),
        (ROWS, {"substrate": "mTOR"}, "no variable is called 'mTOR' .*the table has 'S'"),
        (ROWS, {"enzymes": ["AKT", "PKA"]}, "`enzymes` names 'PKA'"),
        (ROWS, {"enzymes": ["S"]}, "cannot be one of the `enzymes`"),
        (ROWS, {"conditions": ["EGF"]}, "the table has no column 'condition'"),
        ([ROWS[0] + ",condition", *(r + ",a" for r in ROWS[1:])], {"conditions": ["EGF"]}, "`conditions` names 'EGF'"),
        (ROWS, {"total": 0.5}, "alone reaches 1"),
        (ROWS, {"replicates": "median"}, 'must be "each" or "mean"'),
        (ROWS[:9], {}, "too few times"),
        (ROWS[:3] + ROWS[5:7] + ROWS[9:11], {}, "no enzymes"),
        (["time,variable,value", '0,"S,1'], {}, "not a regular table|not a number"),
    ],
)
def test_bad_files_are_explained(rows, options, message):
    with pytest.raises(ValueError, match=message):
        read(rows, **options)


def test_a_spreadsheet_is_not_a_table(tmp_path):
    (tmp_path / "d.csv").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\xff\xfe")
    with pytest.raises(ValueError, match="UTF-8"):
        Dataset.from_csv(tmp_path / "d.csv")
    with pytest.raises(FileNotFoundError):
        Dataset.from_csv(tmp_path / "absent.csv")


def test_replicates_are_averaged_when_asked():
    second = [row.rsplit(",", 1)[0] + ",2.0,2" for row in ROWS[1:]]
    rows = [ROWS[0] + ",replicate", *(row + ",1" for row in ROWS[1:]), *second]
    np.testing.assert_allclose(read(rows, replicates="mean").phospho, [1.5, 1.4, 1.25])


def test_total_substrate_is_an_assumption_that_can_be_stated():
    rows = [row for row in ROWS if ",S," not in row]
    with pytest.raises(ValueError, match="state the total amount with `total`"):
        read(rows)
    np.testing.assert_allclose(read(rows, total=3.0).substrate, [2.0, 2.2, 2.5])


def test_frames_are_read_like_files():
    frame = pd.read_csv(io.StringIO("\n".join(ROWS)))
    assert Dataset.from_frame(frame).names == ("AKT", "ERK")


def test_units():
    data = Dataset.example()
    other = data.rescaled(time=2.0, level=4.0, enzymes=np.arange(1, 27))
    np.testing.assert_allclose(other.rates, data.rates / 2)
    np.testing.assert_allclose(other.enzymes[:, 3], data.enzymes[:, 3] / 4)
    with pytest.raises(ValueError, match="time"):
        data.rescaled(time=0.0)


def test_the_shipped_set_is_made_by_its_recipe():
    data, again = Dataset.example(), Dataset.simulate(**EXAMPLE)
    assert data.names == again.names and data.regulators == again.regulators == ("E7", "E19")
    # The solver may differ in the last digits between versions of SciPy.
    np.testing.assert_allclose(data.phospho, again.phospho, rtol=1e-7)
    np.testing.assert_allclose(data.enzymes, again.enzymes, rtol=1e-12)


def test_simulation_solves_the_kinetics():
    # With one enzyme and no noise, the slope at every time is that of the model.
    t = np.linspace(0, 1, 2001)
    data = Dataset.simulate(1, rng=0, regulators=(0,), times=t, noise=0.0, rates=[0.8, 1.1], constants=[0.6, 0.9])
    y_p, y_s = data.phospho, data.substrate
    slope = 1.1 * data.enzymes[:, 0] * y_s / (y_s + 0.9) - 0.8 * y_p / (y_p + 0.6)
    np.testing.assert_allclose(np.gradient(y_p, t)[1:-1], slope[1:-1], atol=3e-4)


def test_simulation_is_seeded_and_its_noise_is_what_was_asked():
    a, b = Dataset.simulate(5, rng=7), Dataset.simulate(5, rng=7)
    np.testing.assert_array_equal(a.phospho, b.phospho)
    t = np.linspace(0, 10, 400)
    clean, noisy = (Dataset.simulate(20, rng=7, times=t, noise=s) for s in (0.0, 0.03))
    assert np.std(np.log(noisy.enzymes / clean.enzymes)) == pytest.approx(0.03, rel=0.05)
    assert np.all(clean.substrate >= 0) and np.all(clean.phospho >= 0)


def test_simulation_checks_its_settings():
    for options, message in [
        ({"regulators": 9}, "9 regulators among 3"),
        ({"regulators": ("E9",)}, "no enzyme is called"),
        ({"rates": [1.0]}, "`rates` has 1 values"),
        ({"initial": 5.0}, "more than the total"),
        ({"noise": -1.0}, "noise"),
        ({"times": [0, 1]}, "too few times"),
    ]:
        with pytest.raises(ValueError, match=message):
            Dataset.simulate(3, rng=0, **options)


def test_repr_is_short():
    assert repr(Dataset.example()) == "Dataset(21 times, 26 enzymes, 1 condition)"
