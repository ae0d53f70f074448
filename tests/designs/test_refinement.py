"""Points that are moved together: the same in every unit, within their bounds."""

import numpy as np

import fwbq
from fwbq.designs.refinement import bayes_weights, descend

START = np.array([[0.05, 0.9], [0.5, 0.2], [0.93, 0.7], [0.3, 0.55]])


def moved(shift, factor, start=START):
    """The points of a square with the corner `shift` and the sides `factor`, back in the unit square."""
    square = fwbq.Uniform(np.full(2, shift), np.full(2, shift + factor))
    embedding = fwbq.embed(fwbq.ExpQuad(0.5 * factor), square)
    found = descend(embedding, shift + factor * start, bayes_weights("zero"), 60)
    return (found.points - shift) / factor, found


def test_points_do_not_depend_on_units():
    points, found = moved(0.0, 1.0)
    for shift, factor in ((2.0, 8.0), (-3.0, 0.25), (-100.0, 50.0)):
        others, other = moved(shift, factor)
        np.testing.assert_allclose(others, points, atol=1e-4)  # where the error is least it is flat
        assert abs(np.log(other.mmd2 / found.mmd2)) < 1e-5


def test_points_stay_within_bounds_and_reach_them():
    """With a length-scale far beyond the square the best points for a mean that rises towards a corner lie on edges."""
    square = fwbq.Uniform([2.0, 2.0], [10.0, 10.0])
    embedding = fwbq.embed(fwbq.ExpQuad(4.0), square)
    box = np.array([2.0, 2.0]), np.array([3.0, 10.0])  # the middle of the square is out of reach
    found = descend(embedding, np.array([[2.5, 4.0], [2.2, 8.0]]), bayes_weights("zero"), 60, box=box)
    assert np.all((found.points >= box[0]) & (found.points <= box[1]))
    np.testing.assert_allclose(found.points[:, 0], 3.0, atol=1e-6)
