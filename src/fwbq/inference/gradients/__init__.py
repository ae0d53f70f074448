"""Surrogates of values and gradients: the process, the surrogate posterior, and the judge of the last draws."""
