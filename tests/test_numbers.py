"""Numbers with the digits that their errors leave."""

import math

import numpy as np
import pytest

import fwbq
from fwbq import _numbers
from fwbq.posterior import stated, written


@pytest.mark.parametrize(
    ("value", "sd", "text"),
    [
        (1.571567721, 0.005, "1.5716 ± 0.0050"),
        (0.5773498, 5.3e-6, "0.5773498 ± 0.0000053"),
        (-12.34567, 0.0123, "-12.346 ± 0.012"),
        (-1234.5, 130.0, "-1230 ± 130"),
        (123456.0, 1299.0, "123500 ± 1300"),
        (-0.00152, 0.61, "0.00 ± 0.61"),
        (1.0, 0.0996, "1.00 ± 0.10"),  # two digits of 0.0996 are 0.10
        (2.5, 3.14e-9, "2.5000000000 ± 3.1e-09"),
        (1e-9, 1e-11, "1.000e-09 ± 1.0e-11"),
        (3e12, 2e9, "3.0000e+12 ± 2.0e+09"),
        (0.3, 0.0, "0.3 ± 0"),
        (1.0, math.inf, "1 ± inf"),
        (0.0, 1e-20, "0 ± 1.0e-20"),
    ],
)
def test_with_error(value, sd, text):
    assert _numbers.with_error(value, sd) == text


@pytest.mark.parametrize("exponent", range(-12, 9))
def test_what_is_written_is_within_half_a_unit_of_the_second_digit(exponent):
    rng = np.random.default_rng(exponent + 20)
    for value, scale in zip(rng.normal(size=20) * 100.0, rng.uniform(1.0, 10.0, 20), strict=True):
        sd = scale * 10.0**exponent
        text, error = _numbers.with_error(value, sd).split(" ± ")
        unit = 10.0 ** (math.floor(math.log10(sd)) - 1)
        assert abs(float(text) - value) <= 5.0 * unit * 1.0001  # an error of 9.96 has the unit of 10
        assert abs(float(error) - sd) <= 0.5 * 10.0 * unit


def test_results_are_written_by_it():
    p = fwbq.IntegralPosterior(1.571567721, 0.005, np.inf, 1.0)
    assert repr(p).startswith("IntegralPosterior(1.5716 ± 0.0050, 95 % in [1.5618, 1.5814]")
    assert "1.5716" in p._repr_html_() and "1.571567" not in p._repr_html_()
    assert stated(p, 0.5).startswith("1.5716 ± 0.0050, 50 % in [1.5682")
    assert written([1.0, 2.0], [0.1, 0.02], [0.8, 1.96], [1.2, 2.04])[1] == ("2.000", "0.020", "1.960", "2.040")


def test_kernels_print_short_and_keep_their_digits():
    kernel = fwbq.ExpQuad([0.123456789, 2.0], 0.9999999694663881)
    assert repr(kernel) == "ExpQuad(lengthscale=[0.1235, 2.0], variance=1.0)"
    assert kernel.spec()["variance"] == 0.9999999694663881
    assert repr(2.0 * kernel + fwbq.Matern32(1.0)).count("variance=1.0") == 2
