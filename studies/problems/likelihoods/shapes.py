"""Likelihoods that are not Gaussian along their axes: skewed, flat at the top, with kinks and tails; and a wide one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import integrate as quadrature

from .densities import SHAPES, AxisProduct
from .likelihood import Array, Likelihood
from .truths import standard


def _flat_log(x: Array, a: Array, b: Array, phase: Array) -> Array:
    return np.asarray(-0.5 * np.sum(a * x * x, axis=1) + np.sum(b * np.sin(0.8 * x + phase), axis=1))


def flat(d: int = 3, rng: Any = None) -> Likelihood:
    """Return a smooth likelihood about as wide as its prior."""
    g = np.random.default_rng(rng)
    a, b, phase = g.uniform(0.0, 0.3, d), g.uniform(-0.4, 0.4, d), g.uniform(0.0, 6.0, d)
    value = 0.0
    for i in range(d):
        integral, _ = quadrature.quad(
            lambda t, i=i: np.exp(-0.5 * (1.0 + a[i]) * t * t + b[i] * np.sin(0.8 * t + phase[i])),
            -10.0, 10.0, epsabs=0.0, epsrel=1e-12,
        )  # fmt: skip
        value += float(np.log(integral / np.sqrt(2.0 * np.pi)))
    return Likelihood(f"flat d={d}", partial(_flat_log, a=a, b=b, phase=phase), standard(d), value)


#: What `rotated_product` draws its shapes from.
_DRAWN = ("gumbel", "skew normal", "quartic", "logistic", "student", "laplace")


def rotated_product(
    d: int = 2, narrower: float | None = None, rng: Any = None, *, shapes: tuple[str, ...] | None = None
) -> Likelihood:
    """Return a product of shapes along random axes: Gumbel, skew-normal, quartic, logistic, Student, Laplace.

    `narrower` times narrower than the standard Gaussian prior; by default a factor between 2 and 200 at random. With
    `shapes`, names in `densities.SHAPES`, these in their order. The prior is the same along any axes, so that the
    evidence is a product of integrals over lines.
    """
    g = np.random.default_rng(rng)
    factor = 2.0 * 100.0 ** g.uniform() if narrower is None else narrower
    axes, _ = np.linalg.qr(g.standard_normal((d, d)))
    widths = 2.0 ** g.uniform(-1.0, 1.0, d) / factor * g.choice([-1.0, 1.0], d)
    centre = g.standard_normal(d)
    chosen = tuple(_DRAWN[k] for k in g.integers(len(_DRAWN), size=d)) if shapes is None else shapes
    value = sum(_line_integral(SHAPES[k].log, c, w) for k, c, w in zip(chosen, centre, widths, strict=True))
    log = AxisProduct(axes, centre, widths, chosen)
    return Likelihood(f"rotated product d={d} x{factor:.3g}", log, standard(d), float(value))


def one_shape(shape: str, d: int, rng: Any = None) -> Likelihood:
    """Return a product of the same shape along random axes, two to ten times narrower than the prior."""
    g = np.random.default_rng(rng)
    made = rotated_product(d, float(2.0 * 5.0 ** g.uniform()), g, shapes=(shape,) * d)
    return Likelihood(f"{shape} d={d}", made.log_likelihood, made.prior, made.log_evidence)


def _line_integral(shape: Callable[[Array], Array], centre: float, width: float) -> float:
    """Return the log of the integral of exp(shape((u - centre) / width)) under N(0, 1)."""

    def log_joint(u: Any) -> Array:
        return np.asarray(shape((np.asarray(u) - centre) / width) - 0.5 * np.square(u) - 0.5 * np.log(2.0 * np.pi))

    around = abs(width) * np.linspace(-60.0, 60.0, 20_001)
    tried = np.concatenate([centre + around, np.linspace(-10.0, 10.0, 20_001)])
    mode = float(tried[np.argmax(log_joint(tried))])
    top = float(log_joint(mode))
    # Pieces that end where the integrand changes: its kink or bend at the centre, and at widths around the mode.
    steps = abs(width) * np.array([0.0, 0.7, 2.0, 5.0, 12.0, 40.0])
    edges = np.unique(np.clip(np.concatenate([[-12.0, 12.0, centre], mode - steps, mode + steps]), -12.0, 12.0))
    pieces = [
        quadrature.quad(lambda u: float(np.exp(log_joint(u) - top)), a, b, epsabs=1e-13 * abs(width), epsrel=1e-11)[0]
        for a, b in pairwise(edges)
    ]
    return float(np.log(np.sum(pieces)) + top)
