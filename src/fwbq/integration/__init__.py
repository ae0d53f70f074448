"""One call from a function and a measure to a posterior of the integral."""

from .facade import integrate
from .functionals.sobol import SobolIndices
from .result import IntegrationResult
from .run import Integration

__all__ = ["Integration", "IntegrationResult", "SobolIndices", "integrate"]
