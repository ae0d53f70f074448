"""What may be missing from the error that the surrogate states: one file each, with the sentence that says so."""

from .case import Case
from .failures import Failures
from .noise import Noise
from .outline import Outline
from .rising import Rising
from .starts import Starts
from .tails import Tails

#: What the surrogate does not know of: their squares add up to the part of the error that is called unseen.
DOUBTS = (Rising(), Starts(), Tails(), Failures(), Outline(), Noise())

__all__ = ["DOUBTS", "Case", "Failures", "Noise", "Outline", "Rising", "Starts", "Tails"]
