"""The answer does not depend on the units of the person who measured; what is reported comes back in them."""

import numpy as np
import pytest

from fwbq.chema import Dataset, Units, compare, fit, log_likelihood, natural_units

DATA = Dataset.example().select(enzymes=["E7", "E19", "E11", "E3"])
POWERS = [-6.0, -2.5, 1.0, 3.7, 6.0]


def scrambled(data, seed):
    """The same measurements in other units, each of them a factor between 1e-6 and 1e6 away."""
    rng = np.random.default_rng(seed)
    units = 10.0 ** rng.uniform(-6.0, 6.0, 3 + data.n_enzymes)
    return data.rescaled(time=units[0], level=units[1], phospho=units[2], enzymes=units[3:])


def test_normalised_levels_and_rates():
    data = scrambled(DATA, 0).normalised()
    # Nine digits are kept of every number.
    np.testing.assert_allclose(data.enzymes.mean(axis=0), 1.0, rtol=1e-8)
    np.testing.assert_allclose([data.substrate.mean(), data.phospho.mean()], 1.0, rtol=1e-8)
    assert np.sqrt(np.mean(data.rates**2)) == pytest.approx(1 / 3, rel=1e-7)
    assert data.times[0] == 0.0 and data.names == DATA.names and data.regulators == DATA.regulators


def test_the_units_are_the_factors_between_the_two():
    units, scaled = natural_units(DATA), DATA.normalised()
    np.testing.assert_allclose(scaled.enzymes * units.enzymes, DATA.enzymes, rtol=1e-8)
    np.testing.assert_allclose(scaled.substrate * units.substrate, DATA.substrate, rtol=1e-8)
    np.testing.assert_allclose(scaled.times * units.time, DATA.times, rtol=1e-7)
    np.testing.assert_allclose(scaled.rates * units.rate, DATA.rates, rtol=0, atol=1e-6 * np.abs(DATA.rates).max())


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("what", ["time", "level", "phospho", "enzymes"])
def test_no_unit_changes_a_bit_of_the_normalised_data(what, power):
    other = DATA.rescaled(**{what: 10.0**power}).normalised()
    for name in ("times", "substrate", "phospho", "enzymes"):
        np.testing.assert_array_equal(getattr(other, name), getattr(DATA.normalised(), name))


@pytest.mark.parametrize("seed", range(3))
def test_the_comparison_is_the_same_in_every_digit(seed):
    here, there = (compare(data, n=20, rng=0, progress=False) for data in (DATA, scrambled(DATA, seed)))
    assert here.to_frame().equals(there.to_frame())
    assert here.inclusion().equals(there.inclusion())
    assert there.settings["units"] == "data"
    ratio = there.settings["factors"]["time"] / here.settings["factors"]["time"]
    assert ratio == pytest.approx(scrambled(DATA, seed).times[1] / DATA.times[1], rel=1e-8)


def test_the_units_of_the_file_are_those_of_the_prior_when_asked_for():
    other = DATA.rescaled(time=30.0)
    raw = compare(other, units="given", n=20, rng=0, progress=False)
    assert raw.settings["factors"]["time"] == 1.0
    # The evidences of the raw units are those of the same numbers, and differ from those of other units.
    here = compare(DATA, units="given", n=20, rng=0, progress=False)
    assert np.abs(raw.evidences.log_median - here.evidences.log_median).max() > 1.0
    with pytest.raises(ValueError, match="`units` must be one of 'data', 'given'"):
        compare(DATA, units="seconds")


def test_constants_come_back_in_the_units_of_the_data():
    """Rates X(K) V with constants in the user's units are those of the draws."""
    other = scrambled(DATA, 1)
    found = fit(other, ("E7", "E19"), draws=5, rng=0)
    (course,) = found.courses
    here = fit(DATA, ("E7", "E19"), draws=5, rng=0)
    for i in range(5):
        k, v = found.constants[i], course.velocities[i]
        left = -other.phospho / (other.phospho + k[0]) * v[0]
        for j, name in enumerate(("E7", "E19")):
            level = other.enzymes[:, other.names.index(name)]
            left = left + v[1 + j] * level * other.substrate / (other.substrate + k[1 + j])
        # Normalised levels have nine digits, and so have the rates made of them.
        np.testing.assert_allclose(left[:-1], course.rates[i], rtol=0, atol=1e-7 * np.abs(course.rates).max())
    ratio = other.phospho[0] / DATA.phospho[0]
    np.testing.assert_allclose(found.constants[:, 0], here.constants[:, 0] * ratio, rtol=1e-8)


def test_levels_that_are_always_zero_and_rates_of_zero_keep_their_units():
    still = Dataset([0, 1, 2], [0, 0, 0], [2, 2, 2], [[0.0], [0.0], [0.0]])
    units = natural_units(still)
    assert (units.time, units.substrate, units.phospho, float(units.enzymes[0])) == (1.0, 1.0, 2.0, 1.0)
    assert not still.normalised().enzymes.any()


def test_a_change_of_units_is_a_change_of_the_priors():
    """K in units of the level, V in units of level per time and enzyme: the likelihood of the prior that is moved."""
    units = Units(2.0, 3.0, 5.0, np.array([0.5, 1.0, 1.0, 1.0]))
    other = DATA.rescaled(time=2.0, level=3.0, phospho=5.0, enzymes=units.enzymes)
    k = np.array([[0.4, 0.7]])
    n, y = 20, DATA.rates
    phospho, substrate, enzyme = DATA.phospho[:-1], DATA.substrate[:-1], DATA.enzymes[:-1, 0]
    K = k[0] * units.constants(1)
    x = np.column_stack([-phospho / (phospho + K[0]), enzyme * substrate / (substrate + K[1])])
    mean = units.velocities([0])  # of the prior of V, in the old units
    rest = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    fitted = y - rest - x @ mean
    b = ((n + 1) * rest @ rest + fitted @ fitted) / (2 * (n + 1)) / units.rate**2
    expected = log_likelihood(other, ("E7",), k)[0]
    from scipy.special import gammaln

    assert expected == pytest.approx(
        gammaln(n / 2) - np.log(2) - n / 2 * np.log(2 * np.pi * b) - np.log(n + 1), abs=1e-10
    )
