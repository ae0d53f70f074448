"""The state of a comparison after a round, and the models that no round has seen."""

from dataclasses import dataclass

from .evidence import Evidences


@dataclass(frozen=True, eq=False)
class Stage:
    """The state of the comparison after one round of evaluations.

    Attributes
    ----------
    n : int
        Points that the models in contention had been evaluated at.
    evaluations : int
        Evaluations of all models together up to here.
    contenders : int
        Models evaluated in the round: those in contention, and others, up to 20 in all, from whose values the shared
        length-scales are found.
    evidences : Evidences
        Posteriors of all models.
    best : int
        Position of the leading model.
    map_probability : float
        P(the leading model is the true MAP).
    """

    n: int
    evaluations: int
    contenders: int
    evidences: Evidences
    best: int
    map_probability: float


@dataclass(frozen=True, eq=False)
class Rest:
    """Models that were screened and are not listed.

    Attributes
    ----------
    count : int
        How many.
    log_weight : float
        Log of the sum of their evidences times prior probabilities, relative to the listed ones' scale.
    """

    count: int
    log_weight: float
