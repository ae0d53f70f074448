"""The data that come with the package are there, and are what they are said to be."""

from importlib.resources import files

import numpy as np
import pandas as pd


def test_hare_and_lynx():
    with (files("fwbq") / "data" / "hare_lynx.csv").open() as file:
        pelts = pd.read_csv(file)
    assert pelts["year"].tolist() == list(range(1900, 1921))
    # Means as textbooks print them, in thousands.
    np.testing.assert_array_equal(pelts[["hare", "lynx"]].mean().round(2), [34.08, 20.17])
