"""Likelihoods with known evidence, by families: narrow, bent, heavy-tailed, cut, with several modes, without a prior.

A family is a function of a seed; every call with another seed is another problem of the same kind. There is a file for
each kind. `STUDY` holds the families of the study of evidences (and Lotka-Volterra, whose data are given), `FURTHER`
those that the ablation adds to them, and `FAMILIES` all.

>>> problem = FAMILIES["ring"](3)
>>> problem.dim, problem.gradient is None
(2, False)
>>> len(FURTHER) >= 30
True
"""

from collections.abc import Callable
from typing import Any

from .bounds import beta_posterior, beyond_the_end, on_the_boundary, rare_events, truncated
from .cliffs import ball, cut, floor, ordered, plateau, soft_step, step, strip
from .gaussians import badly_scaled, correlated, gaussian, gaussian_in_box, gaussian_in_corner, in_the_tail, shifted
from .hierarchies import free_funnel, funnel, schools, standardised_effects
from .joints import (
    banana_joint,
    double_well,
    gaussian_joint,
    scaled_joint,
    shapes_joint,
    student_joint,
    two_modes_joint,
)
from .labels import product_of_two, three_labels, two_labels, weighted_labels
from .likelihood import Likelihood
from .modes import needle, spike_and_slab, three_modes, two_modes, unequal_modes
from .priors import (
    gamma_posterior,
    half_cauchy,
    heavy_tailed_prior,
    log_normal_posterior,
    mixture_prior,
    periodic,
    sample_prior,
    unlike_priors,
)
from .regressions import (
    conjugate_regression,
    correlated_prior,
    decay,
    logistic,
    logistic_many,
    not_centred,
    poisson,
    poisson_many,
    process_regression,
    unknown_noise,
)
from .ridges import banana, shell, two_bananas, wave
from .shapes import flat, one_shape, rotated_product
from .tails import cauchy_data, student
from .truths import tensor_log_evidence

__all__ = [
    "FAMILIES",
    "FURTHER",
    "LIKELIHOODS",
    "STUDY",
    "Likelihood",
    "Maker",
    "banana",
    "cut",
    "gaussian",
    "rotated_product",
    "tensor_log_evidence",
    "two_modes",
]

Maker = Callable[[Any], Likelihood]


def _of(make: Callable[..., Likelihood], *arguments: Any, **options: Any) -> Maker:
    """Return the maker of a family whose last argument is the seed."""
    return lambda rng: make(*arguments, rng=rng, **options)


LIKELIHOODS: dict[str, Maker] = {
    "gaussian, d=1, 200 times narrower": _of(gaussian, 1, 200.0),
    "gaussian, d=2, 200 times narrower": _of(gaussian, 2, 200.0),
    "gaussian, d=3, 50 times narrower": _of(gaussian, 3, 50.0),
    "gaussian, d=6, 5 times narrower": _of(gaussian, 6, 5.0),
    "gaussian in a box, d=2, 30 times narrower": _of(gaussian_in_box, 2, 30.0),
    "banana": banana,
    "student": _of(student),
    "logistic": _of(logistic),
    "poisson": _of(poisson),
    "process regression": _of(process_regression),
    "cut": _of(cut),
    "flat": _of(flat),
    "two modes": _of(two_modes),
    "spike and slab": _of(spike_and_slab),
    "ring": _of(shell, 2, (0.8, 1.5), (0.15, 0.3)),
    "rotated product": _of(rotated_product),
    "funnel": funnel,
    "decay": _of(decay),
}
"""The families that tests and benchmarks of the engine draw on."""

STUDY: dict[str, Maker] = {
    **LIKELIHOODS,
    "gaussian, d=10, 5 times narrower": _of(gaussian, 10, 5.0),
    "gaussian, d=12, 3 times narrower": _of(gaussian, 12, 3.0),
    "logistic, d=6": _of(logistic_many),
    "gamma posterior": gamma_posterior,
    "beta posterior": beta_posterior,
    "log-normal posterior": log_normal_posterior,
    "three modes": three_modes,
    "correlated prior": correlated_prior,
    "heavy-tailed prior": heavy_tailed_prior,
}
"""The 27 families of the study of evidences that are drawn at random."""

FURTHER: dict[str, Maker] = {
    "gaussian, d=2, 1e4 times narrower": _of(gaussian, 2, 1e4),
    "gaussian in a corner, d=3": _of(gaussian_in_corner, 3),
    "badly scaled, d=4": _of(badly_scaled, 4),
    "correlated 0.999, d=3": _of(correlated, 3, 0.999),
    "correlated 0.99999, d=4": _of(correlated, 4, 0.99999),
    "in the tail, d=2": _of(in_the_tail, 2),
    "constant of 1e6, d=3": _of(shifted, 3),
    "unequal modes, d=1": _of(unequal_modes, 1),
    "unequal modes, d=2": _of(unequal_modes, 2),
    "unequal modes, d=3": _of(unequal_modes, 3),
    "two modes, d=5": _of(two_modes, 5, 4.0, 0.8),
    "needle, d=1": _of(needle, 1),
    "needle, d=2": _of(needle, 2),
    "two labels": two_labels,
    "three labels": three_labels,
    "labels with a weight": weighted_labels,
    "product of two": product_of_two,
    "step, d=1": _of(step, 1),
    "step, d=2": _of(step, 2),
    "floor of -1e10, d=3": _of(floor, 3),
    "soft step, d=2": _of(soft_step, 2),
    "strip, d=2": _of(strip, 2),
    "ball, d=3": _of(ball, 3),
    "ordered, d=3": _of(ordered, 3),
    "plateau, d=2": _of(plateau, 2),
    "truncated, d=3": _of(truncated, 3),
    "beyond the end, d=2": _of(beyond_the_end, 2),
    "on the boundary, d=3": _of(on_the_boundary, 3),
    "rare events, d=2": _of(rare_events, 2),
    "student with 1 degree, d=2": _of(student, 2, 1.0),
    "student with 2 degrees, d=3": _of(student, 3, 2.0),
    "student with 3 degrees, d=2": _of(student, 2, 3.0),
    "student with 5 degrees, d=5": _of(student, 5, 5.0),
    "Cauchy data": _of(cauchy_data),
    "strong banana": _of(banana, bends=(1.5, 3.0), widths=(0.05, 0.1)),
    "two bananas": two_bananas,
    "wave": wave,
    "shell, d=3": _of(shell, 3, (1.0, 1.8), (0.15, 0.3)),
    "shell, d=5": _of(shell, 5, (1.5, 2.5), (0.3, 0.5)),
    "quartic, d=3": _of(one_shape, "quartic", 3),
    "flat top, d=2": _of(one_shape, "flat top", 2),
    "gumbel, d=4": _of(one_shape, "gumbel", 4),
    "skew normal, d=3": _of(one_shape, "skew normal", 3),
    "log gamma, d=2": _of(one_shape, "log gamma", 2),
    "laplace, d=2": _of(one_shape, "laplace", 2),
    "cauchy, d=2": _of(one_shape, "cauchy", 2),
    "standardised effects, d=5": _of(standardised_effects, 5),
    "schools": _of(schools),
    "funnel without a prior, d=3": _of(free_funnel, 3),
    "unknown noise, d=3": _of(unknown_noise, 3),
    "unknown noise, d=5": _of(unknown_noise, 5),
    "unknown noise, d=8": _of(unknown_noise, 8),
    "not centred": not_centred,
    "logistic, d=8": _of(logistic_many, 8, 120),
    "poisson, d=6": _of(poisson_many),
    "conjugate regression, d=4": _of(conjugate_regression, 4),
    "unlike priors": unlike_priors,
    "half-Cauchy, d=2": _of(half_cauchy, 2),
    "mixture prior, d=2": _of(mixture_prior, 2),
    "sample as prior, d=2": _of(sample_prior, 2),
    "periodic, d=2": _of(periodic, 2),
    "gaussian joint, d=3": _of(gaussian_joint, 3),
    "scaled joint, d=4": _of(scaled_joint, 4),
    "student joint, 3 degrees, d=2": _of(student_joint, 2, 3.0),
    "student joint, 1 degree, d=2": _of(student_joint, 2, 1.0),
    "two modes joint, d=2": _of(two_modes_joint, 2),
    "banana joint": banana_joint,
    "shapes joint, d=3": _of(shapes_joint, 3),
    "double well": double_well,
}
"""Families that the parts of the engine were made for, beside those of the study."""

FAMILIES: dict[str, Maker] = {**STUDY, **FURTHER}
"""Every family by name."""
