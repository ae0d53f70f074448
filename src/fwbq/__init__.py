"""Integrals with an honest error: Frank-Wolfe Bayesian quadrature and what follows from it.

>>> import numpy as np
>>> import fwbq
>>> measure = fwbq.Gaussian([0.0], [[1.0]])
>>> embedding = fwbq.embed(fwbq.ExpQuad(1.0), measure)
>>> rule = fwbq.bayes_rule(embedding, fwbq.SBQ(embedding, rng=0).take(12))
>>> bool(abs(rule.integrate(np.cos(rule.points[:, 0])) - np.exp(-0.5)) < 1e-4)
True

The public names are loaded on first use, so that ``import fwbq`` costs little.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import (
        chema,
        designs,
        embeddings,
        evaluation,
        inference,
        integration,
        kernels,
        measures,
        paper,
        plots,
        posterior,
        process,
        report,
        rules,
        selection,
        theory,
        thinning,
        transforms,
    )
    from ._reason import Reason
    from .designs import OBQ, QMC, SBQ, BlendedPairwise, FrankWolfe, MonteCarlo, RandomPivot, refine
    from .embeddings import Embedding, embed
    from .evaluation import EvaluationError, Journal, JournalError
    from .inference import Evidence, EvidenceRun, WrongGradient, evidence
    from .integration import Integration, IntegrationResult, integrate
    from .kernels import (
        Anova,
        ExpQuad,
        InverseMultiquadric,
        Kernel,
        Matern12,
        Matern32,
        Matern52,
        PeriodicSobolev,
        RandomFourier,
        Stein,
    )
    from .measures import (
        Copula,
        Discrete,
        Empirical,
        Gaussian,
        GaussianMixture,
        Measure,
        MultivariateT,
        Product,
        TruncatedGaussian,
        Uniform,
    )
    from .posterior import AveragedPosterior, ColumnPosteriors, Estimate, IntegralPosterior, condition
    from .rules import Rule, bayes_rule, load_rule, mmd2, simplex_rule, uniform_rule, weighted_rule
    from .selection import BayesFactor, Comparison, Model, compare_models
    from .selection.given import compare  # by its file: through the room mypy takes it for two names
    from .thinning import Thinned, thin, thin_arviz

__version__ = "0.2.0"

_HOME = {
    name: module
    for module, names in {
        "_reason": "Reason",
        "kernels": "Anova ExpQuad InverseMultiquadric Kernel Matern12 Matern32 Matern52 PeriodicSobolev RandomFourier"
        " Stein",
        "measures": "Copula Discrete Empirical Gaussian GaussianMixture Measure MultivariateT Product TruncatedGaussian"
        " Uniform",
        "embeddings": "Embedding embed",
        "rules": "Rule bayes_rule load_rule mmd2 simplex_rule uniform_rule weighted_rule",
        "designs": "BlendedPairwise FrankWolfe MonteCarlo OBQ QMC RandomPivot SBQ refine",
        "posterior": "AveragedPosterior ColumnPosteriors Estimate IntegralPosterior condition",
        "evaluation": "EvaluationError Journal JournalError",
        "inference": "Evidence EvidenceRun WrongGradient evidence",
        "integration": "Integration IntegrationResult integrate",
        "selection": "BayesFactor Comparison Model compare compare_models",
        "thinning": "Thinned thin thin_arviz",
    }.items()
    for name in names.split()
}
_MODULES = (
    "chema", "designs", "embeddings", "evaluation", "inference", "integration", "kernels", "measures",
    "paper", "plots", "posterior", "process", "report", "rules", "selection", "theory", "thinning", "transforms",
)  # fmt: skip

__all__ = [
    "OBQ",
    "QMC",
    "SBQ",
    "Anova",
    "AveragedPosterior",
    "BayesFactor",
    "BlendedPairwise",
    "ColumnPosteriors",
    "Comparison",
    "Copula",
    "Discrete",
    "Embedding",
    "Empirical",
    "Estimate",
    "EvaluationError",
    "Evidence",
    "EvidenceRun",
    "ExpQuad",
    "FrankWolfe",
    "Gaussian",
    "GaussianMixture",
    "IntegralPosterior",
    "Integration",
    "IntegrationResult",
    "InverseMultiquadric",
    "Journal",
    "JournalError",
    "Kernel",
    "Matern12",
    "Matern32",
    "Matern52",
    "Measure",
    "Model",
    "MonteCarlo",
    "MultivariateT",
    "PeriodicSobolev",
    "Product",
    "RandomFourier",
    "RandomPivot",
    "Reason",
    "Rule",
    "Stein",
    "Thinned",
    "TruncatedGaussian",
    "Uniform",
    "WrongGradient",
    "__version__",
    "bayes_rule",
    "chema",
    "compare",
    "compare_models",
    "condition",
    "designs",
    "embed",
    "embeddings",
    "evaluation",
    "evidence",
    "inference",
    "integrate",
    "integration",
    "kernels",
    "load_rule",
    "measures",
    "mmd2",
    "paper",
    "plots",
    "posterior",
    "process",
    "refine",
    "report",
    "rules",
    "selection",
    "simplex_rule",
    "theory",
    "thin",
    "thin_arviz",
    "thinning",
    "transforms",
    "uniform_rule",
    "weighted_rule",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
