"""The evidence of one model: a surrogate of the log joint density, nodes where its mass is, points that improve it."""

from .facade import MOST_FITTED, evidence, too_many
from .parts import PARTS
from .proposers.ascent import WrongGradient
from .result import Evidence, FoundMode, Posterior
from .run import EvidenceRun

__all__ = [
    "MOST_FITTED",
    "PARTS",
    "Evidence",
    "EvidenceRun",
    "FoundMode",
    "Posterior",
    "WrongGradient",
    "evidence",
    "too_many",
]
