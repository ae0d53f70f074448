"""Calling the integrand: one point or many at a time, on executors, with a journal that survives a crash."""

from .calls import find_out_at_once
from .entry import entry
from .evaluation import Evaluation
from .evaluations import Evaluations
from .evaluator import Evaluator, evaluating, what_is_kept
from .executors import checked_executor
from .failures import EvaluationError
from .journal import Journal
from .journal_file import JournalError
from .ordered import in_order
from .pool import pool
from .progress import Progress
from .tags import function_identity, function_tag

__all__ = [
    "Evaluation",
    "EvaluationError",
    "Evaluations",
    "Evaluator",
    "Journal",
    "JournalError",
    "Progress",
    "checked_executor",
    "entry",
    "evaluating",
    "find_out_at_once",
    "function_identity",
    "function_tag",
    "in_order",
    "pool",
    "what_is_kept",
]
