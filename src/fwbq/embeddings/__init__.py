"""Embeddings: the integrals of a kernel under a measure, exact where a closed form exists.

>>> import fwbq
>>> embedding = fwbq.embed(fwbq.ExpQuad(0.5), fwbq.TruncatedGaussian([1.0, 1.0], 0.5))
>>> embedding.mean([[0.3, 0.8]]).shape
(1,)
"""

from .anova import AnovaEmbedding, AnovaLine
from .base import Embedding, available, available_on_line, embed, register, table
from .blocks import BlockEmbedding, product_embedding
from .combination import Combination
from .coordinates import CoordinateEmbedding
from .cross import cross
from .empirical import EmpiricalEmbedding
from .exp_quad import ExpQuadNormal, ExpQuadUniform
from .gaussian import ExpQuadGaussians
from .masses import PointMasses, SumLine
from .matern import MaternNormal, MaternUniform
from .mixture import MixtureEmbedding
from .periodic import SobolevUniform
from .quadrature import QuadratureLine
from .random_fourier import FeatureEmbedding
from .stein import SteinEmbedding
from .transported import TransportedEmbedding
from .warped import WarpedEmbedding
from .whitened import WhitenedEmbedding

__all__ = [
    "AnovaEmbedding",
    "AnovaLine",
    "BlockEmbedding",
    "Combination",
    "CoordinateEmbedding",
    "Embedding",
    "EmpiricalEmbedding",
    "ExpQuadGaussians",
    "ExpQuadNormal",
    "ExpQuadUniform",
    "FeatureEmbedding",
    "MaternNormal",
    "MaternUniform",
    "MixtureEmbedding",
    "PointMasses",
    "QuadratureLine",
    "SobolevUniform",
    "SteinEmbedding",
    "SumLine",
    "TransportedEmbedding",
    "WarpedEmbedding",
    "WhitenedEmbedding",
    "available",
    "available_on_line",
    "cross",
    "embed",
    "product_embedding",
    "register",
    "table",
]
