"""The worst-case error of weights at points, under the kernel and the measure of an embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _validate
from .._linalg import CholeskyFactor, Factor, LowRankFactor
from ..embeddings import Embedding
from .feature_worst_case import FeatureWorstCase
from .gram_worst_case import GramWorstCase
from .worst_case import Evaluation, WorstCase, streamed_evaluation

if TYPE_CHECKING:
    pass


FloatArray = NDArray[np.float64]


def points_of(embedding: Embedding, points: ArrayLike) -> FloatArray:
    """Return checked points (n, d), at least one."""
    _validate.instance(embedding, "embedding", Embedding, "pass fwbq.embed(kernel, measure)")
    return _validate.at_least_one_point(_validate.points(points, "points", embedding.dim), "points")


def has_features(embedding: Embedding) -> bool:
    """Return whether the kernel is an inner product of finitely many features whose integrals are known."""
    return hasattr(embedding.kernel, "features") and hasattr(embedding, "mean_features")


def _feature_problem(embedding: Any, x: FloatArray) -> FeatureWorstCase:
    return FeatureWorstCase(embedding.kernel.features(x), embedding.mean_features, embedding.accuracy)


def gram_problem(embedding: Embedding, x: FloatArray, K: FloatArray) -> GramWorstCase:
    """Return the squared error at points x as a function of the weights, by the Gram matrix K."""
    return GramWorstCase(K, embedding.mean(x), embedding.variance, embedding.accuracy)


def problem_of(embedding: Embedding, x: FloatArray) -> WorstCase:
    """Return the squared error at points x as a function of the weights, by features where there are some."""
    if has_features(embedding):
        return _feature_problem(embedding, x)
    return gram_problem(embedding, x, embedding.kernel(x))


def evaluate(embedding: Embedding, x: FloatArray, w: FloatArray) -> Evaluation:
    """Return the squared error of weights w at points x, with what float64 leaves uncertain of it."""
    if has_features(embedding):
        return _feature_problem(embedding, x).evaluate(w)
    return streamed_evaluation(embedding.kernel, x, w, embedding.mean(x), embedding.variance, embedding.accuracy)


def factorise(embedding: Any, x: FloatArray) -> Factor:
    """Return a factor of the Gram matrix at points x: of the features, where they are fewer than the points."""
    if has_features(embedding):
        features = embedding.kernel.features(x)
        if features.shape[1] < len(x):
            return LowRankFactor.of(features)
    return CholeskyFactor.of(embedding.kernel(x))
