"""The noisy networks resemble what they are meant to resemble."""

import numpy as np

from fwbq.chema.network import SCATTERED
from fwbq.chema.replicates import scatter_share
from studies.networks import precision
from studies.signalling import PROTEINS, TIMES, simulate


def test_a_noisy_network_has_the_shape_of_the_challenge_and_is_explained_by_levels():
    one = simulate(np.random.default_rng([77, 1]))
    assert one.table["variable"].nunique() == PROTEINS == 20
    assert one.table["condition"].nunique() == 20
    assert sorted(one.table["time"].unique()) == TIMES.tolist()
    assert (one.table.groupby(["variable", "condition", "time"]).size() == 3).all()
    assert len(one.inhibitors) == 3 and len(set(one.edges)) == len(one.edges)
    assert SCATTERED < scatter_share(one.table) < 1.0


def test_precision_is_one_where_true_edges_come_first():
    class Found:
        edges = tuple(type("E", (), {"source": a, "target": b})() for a, b in ("AB", "BC", "CA"))

    assert precision(Found, [("A", "B")]) == 1.0
    assert precision(Found, [("A", "B"), ("C", "A")]) == (1.0 + 2.0 / 3.0) / 2.0
