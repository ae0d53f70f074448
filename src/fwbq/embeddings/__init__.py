"""Embeddings: the integrals of a kernel under a measure, exact where a closed form exists.

>>> import fwbq
>>> embedding = fwbq.embed(fwbq.ExpQuad(0.5), fwbq.TruncatedGaussian([1.0, 1.0], 0.5))
>>> embedding.mean([[0.3, 0.8]]).shape
(1,)
"""

from .base import Embedding, available, embed, register, table
from .coordinates import CoordinateEmbedding
from .gaussian import ExpQuadGaussians

__all__ = ["CoordinateEmbedding", "Embedding", "ExpQuadGaussians", "available", "embed", "register", "table"]
