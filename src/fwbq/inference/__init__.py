"""The evidence of one model: a surrogate of the log joint density, nodes where its mass is, points that improve it."""

from .facade import evidence
from .result import Evidence, FoundMode, Posterior
from .run import EvidenceRun

__all__ = ["Evidence", "EvidenceRun", "FoundMode", "Posterior", "evidence"]
