"""Model selection with numerical error: evidences, model probabilities, P(MAP), racing and stopping."""

from .bayes_factor import BayesFactor
from .comparison import Comparison
from .coordinates import Coordinates, LogScale, Standard
from .evidence import Earlier, Evidences
from .facade import compare_models
from .family import Family, ModelFamily
from .given import compare
from .label import label
from .map_probability import map_probabilities
from .model import Model
from .options import Options
from .race import compare_families
from .stage import Rest, Stage

__all__ = [
    "BayesFactor",
    "Comparison",
    "Coordinates",
    "Earlier",
    "Evidences",
    "Family",
    "LogScale",
    "Model",
    "ModelFamily",
    "Options",
    "Rest",
    "Stage",
    "Standard",
    "compare",
    "compare_families",
    "compare_models",
    "label",
    "map_probabilities",
]
