"""Calling the integrand: one point or many at a time, on executors, with a journal that survives a crash."""

from .evaluations import Evaluations
from .evaluator import Evaluator
from .failures import EvaluationError
from .journal import Journal
from .journal_file import JournalError
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
