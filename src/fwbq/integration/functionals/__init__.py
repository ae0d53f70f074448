"""Functionals of an integrand beyond its mean: variance, probabilities, quantiles, sensitivity indices."""
