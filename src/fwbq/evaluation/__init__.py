"""Calling the integrand: one point or many at a time, on executors, with a journal that survives a crash."""

from .evaluator import EvaluationError, Evaluations, Evaluator
from .journal import Journal, JournalError
from .ordered import in_order
from .progress import Progress
from .tags import function_identity, function_tag

__all__ = [
    "EvaluationError",
    "Evaluations",
    "Evaluator",
    "Journal",
    "JournalError",
    "Progress",
    "function_identity",
    "function_tag",
    "in_order",
]
