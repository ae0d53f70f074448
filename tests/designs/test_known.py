"""Designs that go on from points already there."""

import numpy as np
import pytest

import fwbq
from fwbq.designs import Spread
from fwbq.designs.partial_cholesky import PartialCholesky
from fwbq.kernels import Kernel
from fwbq.selection.coordinates import LogScale

SQUARE = fwbq.Uniform([0.0, 0.0], [1.0, 1.0])
NESTED = {
    "SBQ": lambda e, c, known=None: fwbq.SBQ(e, c, rng=0, known=known),
    "SBQ, constant": lambda e, c, known=None: fwbq.SBQ(e, c, rng=0, known=known, prior_mean="constant"),
    "herding": lambda e, c, known=None: fwbq.FrankWolfe(e, candidates=c, known=known),
    "open-loop": lambda e, c, known=None: fwbq.FrankWolfe(e, step="open-loop", candidates=c, known=known),
    "line-search": lambda e, c, known=None: fwbq.FrankWolfe(e, step="line-search", candidates=c, known=known),
}


@pytest.fixture(scope="module")
def embedding():
    return fwbq.embed(fwbq.Matern52(0.5), SQUARE)


@pytest.fixture(scope="module")
def candidates():
    return np.random.default_rng(0).random((200, 2))


@pytest.mark.parametrize("name", NESTED)
def test_from_its_own_points_a_design_goes_on_as_itself(name, embedding, candidates):
    whole = NESTED[name](embedding, candidates)
    points = whole.take(12)
    rest = NESTED[name](embedding, candidates, known=points[:7])
    np.testing.assert_array_equal(rest.take(5), points[7:])
    np.testing.assert_array_equal(rest.known, points[:7])
    np.testing.assert_array_equal(rest.trace.index, whole.trace.index[7:])
    # mmd2 is a difference of numbers of the size of the kernel's variance, 1: equal to a few hundred roundings.
    np.testing.assert_allclose(rest.trace.mmd2, whole.trace.mmd2[7:], rtol=0, atol=1e-13)
    joint, own = rest.rule(5), whole.rule(12)
    np.testing.assert_array_equal(joint.points, own.points)
    np.testing.assert_allclose(joint.weights, own.weights, rtol=0, atol=1e-9)


@pytest.mark.parametrize("prior_mean", ["zero", "constant"])
def test_the_next_point_lowers_the_error_of_the_joint_rule_most(embedding, candidates, prior_mean):
    """By the definition: the rule on known points and candidate, for every candidate."""
    known = np.random.default_rng(1).random((15, 2))  # none of them a candidate
    design = fwbq.SBQ(embedding, candidates, rng=0, known=known, prior_mean=prior_mean)
    point = design.take(1)[0]
    errors = [fwbq.bayes_rule(embedding, [*known, x], prior_mean=prior_mean).mmd2 for x in candidates]
    np.testing.assert_array_equal(point, candidates[int(np.argmin(errors))])
    assert design.trace.mmd2[0] == pytest.approx(min(errors), abs=1e-13)
    assert design.rule(1).mmd2 == min(errors)
    assert len(design.rule(1)) == 16


def test_weighted_sample_as_candidates():
    """Nodes of a weighted sample as candidates, known points elsewhere: the use of an evidence under a surrogate."""
    rng = np.random.default_rng(2)
    nodes, weights = rng.normal(size=(300, 3)), rng.random(300)
    measure = fwbq.Empirical(nodes, weights / weights.sum())
    embedding = fwbq.embed(fwbq.Matern52([1.0, 2.0, 0.7]), measure)
    known = rng.normal(size=(40, 3))
    design = fwbq.SBQ(embedding, nodes, known=known)
    design.take(6)
    K, cross = embedding.kernel(known), embedding.kernel(known, nodes)
    mean = embedding.kernel(nodes) @ measure.weights
    chosen: list[int] = []
    for _ in range(6):  # the definition, from scratch for each point
        x = np.concatenate([known, nodes[chosen]])
        K, cross = embedding.kernel(x), embedding.kernel(x, nodes)
        z = np.concatenate([embedding.kernel(known, nodes) @ measure.weights, mean[chosen]])
        solved = np.linalg.solve(K, cross)
        left = 1.0 - np.sum(cross * solved, axis=0)
        gain = np.where(left > 1e-9, (mean - z @ solved) ** 2 / np.maximum(left, 1e-9), 0.0)
        chosen.append(int(gain.argmax()))
    assert design.trace.index.tolist() == chosen


@pytest.mark.parametrize("name", ["SBQ", "SBQ, constant"])
def test_points_that_repeat_are_passed_over(name, candidates):
    embedding = fwbq.embed(fwbq.ExpQuad(0.5), SQUARE)
    twice = np.concatenate([candidates[:3], candidates[:3], candidates[:3] + 1e-12])
    design = NESTED[name](embedding, candidates, known=twice)
    np.testing.assert_array_equal(design.take(4), NESTED[name](embedding, candidates, known=candidates[:3]).take(4))
    assert not {0, 1, 2} & set(design.trace.index.tolist())


def test_random_pivot_draws_from_the_variance_that_is_left():
    """Known points fill the left half: with a short length-scale hardly any variance is left there."""
    left = np.stack(np.meshgrid(np.linspace(0.0, 0.5, 30), np.linspace(0.0, 1.0, 60)), axis=-1).reshape(-1, 2)
    embedding = fwbq.embed(fwbq.ExpQuad(0.1), SQUARE)
    design = fwbq.RandomPivot(embedding, 2000, rng=0, known=left)
    assert np.all(design.take(20)[:, 0] > 0.5)
    assert design.rule(1).points[:, 0].min() == 0.0


def test_nothing_left_beside_the_known_points(candidates):
    embedding = fwbq.embed(fwbq.Matern12(0.5), SQUARE)
    design = fwbq.SBQ(embedding, candidates[:5], known=candidates[:5])
    with pytest.warns(RuntimeWarning, match=r"only 0 of the 1 points .* beside the 5 known points"):
        assert len(design.take(1)) == 0


def test_kernel_that_is_zero_at_a_known_point():
    """A Gram matrix with a row of zeros: the point can be no pivot."""

    class Linear(Kernel):
        """k(x, y) = x y."""

        dim = 1

        def _gram(self, x, y):
            return x @ y.T

        def _diagonal(self, x):
            return x[:, 0] ** 2

        def _gradients(self, x, y):
            raise NotImplementedError

        def spec(self):
            raise NotImplementedError

    points = np.array([[1.0], [2.0]])
    alone = PartialCholesky(Linear(), points, np.array([[0.0]]))
    np.testing.assert_array_equal(alone.variance, [1.0, 4.0])
    both = PartialCholesky(Linear(), points, np.array([[0.0], [3.0]]))
    assert np.all(np.isinf(both.variance))  # rank one: nothing is left


def test_first_point_and_known_points_contradict(embedding, candidates):
    with pytest.raises(ValueError, match="`initial`"):
        fwbq.FrankWolfe(embedding, candidates=candidates, initial=3, known=candidates[:2])


@pytest.mark.parametrize("known", [[0.5, 0.5], [[0.5]], [[np.nan, 0.0]]])
def test_known_points_are_checked(embedding, candidates, known):
    with pytest.raises(ValueError, match="`known`"):
        fwbq.SBQ(embedding, candidates, known=known)


class TestBlendedPairwise:
    def test_known_points_have_their_best_weights_and_the_error_falls(self, embedding, candidates):
        known = np.random.default_rng(3).random((8, 2))
        design = fwbq.BlendedPairwise(embedding, candidates=candidates, known=known)
        first = fwbq.simplex_rule(embedding, known)
        errors = [design.rule(n).mmd2 for n in range(1, 11)]
        assert errors[0] < first.mmd2
        assert np.all(np.diff(errors) < 0.0)
        rule = design.rule(10)
        assert rule.weights.min() > 0.0 and rule.weights.sum() == pytest.approx(1.0)
        assert {tuple(x) for x in rule.points} <= {tuple(x) for x in [*known, *design.take(10)]}
        assert design.trace.mmd2[9] == pytest.approx(rule.mmd2, rel=1e-6)

    def test_corrective_goes_on_as_itself(self, embedding, candidates):
        """With the best weights after every entry, the state after n points depends on these points only."""
        whole = fwbq.BlendedPairwise(embedding, corrective=True, candidates=candidates)
        points = whole.take(10)
        rest = fwbq.BlendedPairwise(embedding, corrective=True, candidates=candidates, known=points[:6])
        np.testing.assert_array_equal(rest.take(4), points[6:])
        np.testing.assert_allclose(rest.trace.mmd2, whole.trace.mmd2[6:], rtol=1e-6)

    def test_repeated_points_are_one_atom(self, embedding, candidates):
        twice = np.concatenate([candidates[:3], candidates[:3]])
        design = fwbq.BlendedPairwise(embedding, candidates=candidates, known=twice)
        assert len(design.known) == 3
        np.testing.assert_array_equal(
            design.take(4), fwbq.BlendedPairwise(embedding, candidates=candidates, known=candidates[:3]).take(4)
        )

    def test_nothing_to_add(self):
        embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Empirical([[0.0], [1.0]]))
        design = fwbq.BlendedPairwise(embedding, known=[[0.0], [1.0]])
        with pytest.warns(RuntimeWarning, match="only 0 of the 1 points asked for exist: optimal on the simplex"):
            assert len(design.take(1)) == 0

    def test_first_point_and_known_points_contradict(self, embedding, candidates):
        with pytest.raises(ValueError, match="`initial`"):
            fwbq.BlendedPairwise(embedding, candidates=candidates, initial=3, known=candidates[:2])


class TestSpread:
    measure = fwbq.TruncatedGaussian([1.0, 1.0], [0.5, 0.5])

    def test_nested_and_distinct(self):
        long = Spread(self.measure, LogScale([1.0, 1.0])).take(60)
        np.testing.assert_array_equal(Spread(self.measure, LogScale([1.0, 1.0])).take(20), long[:20])
        assert len(np.unique(long, axis=0)) == 60

    def test_goes_on_from_its_own_points(self):
        long = Spread(self.measure, LogScale([1.0, 1.0])).take(60)
        rest = Spread(self.measure, LogScale([1.0, 1.0]), known=long[:25]).take(35)
        np.testing.assert_array_equal(rest, long[25:])

    def test_keeps_away_from_known_points(self):
        known = Spread(self.measure, LogScale([1.0, 1.0])).take(30)
        new = Spread(self.measure, LogScale([1.0, 1.0]), known=known).take(10)
        nearest = np.linalg.norm(new[:, None] - known, axis=2).min()
        assert nearest > 0.1

    def test_ends_with_the_sample(self):
        design = Spread(fwbq.Empirical([[0.0], [1.0], [1.0]]), LogScale([2.0]))
        with pytest.warns(RuntimeWarning, match="only 2 of the 5 points"):
            assert sorted(design.take(5)[:, 0]) == [0.0, 1.0]
