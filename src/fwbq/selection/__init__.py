"""Model selection with numerical error: evidences, model probabilities, P(MAP), racing and stopping."""

from .comparison import Comparison, Rest, Stage, label
from .coordinates import Coordinates, LogScale, Standard
from .evidence import Earlier, Evidences
from .map_probability import map_probabilities
from .model import Family, Model, ModelFamily
from .race import compare_families, compare_models

__all__ = [
    "Comparison",
    "Coordinates",
    "Earlier",
    "Evidences",
    "Family",
    "LogScale",
    "Model",
    "ModelFamily",
    "Rest",
    "Stage",
    "Standard",
    "compare_families",
    "compare_models",
    "label",
    "map_probabilities",
]
