"""The table of a posterior, for notebooks."""

import numpy as np

from fwbq.posterior import IntegralPosterior
from fwbq.posterior.shown import _ROWS, written


def html(count):
    means = np.linspace(1.0, 2.0, count)
    return means, IntegralPosterior(means, np.full(count, 0.01), np.inf, np.ones(count))._repr_html_()


def test_integrals_are_numbered_from_one_with_their_numbers():
    means, text = html(3)
    cells = [written(m, 0.01, m - 0.0196, m + 0.0196)[0] for m in means]
    at = 0
    for number, (mean, sd, low, high) in zip("123", cells, strict=True):
        for cell in (number, mean, sd, f"[{low}, {high}]"):
            at = text.index(f">{cell}<", at)
    assert "The first" not in text


def test_of_many_integrals_the_first_are_shown():
    _, text = html(_ROWS + 5)
    assert f"The first {_ROWS} of {_ROWS + 5} integrals" in text
    assert text.count("<tr") == _ROWS + 1  # and the names of the columns
    assert f">{_ROWS}<" in text and f">{_ROWS + 1}<" not in text
    assert "The first" not in html(_ROWS)[1]
