"""Nets, and kernels whose Gram matrix on them a fast transform diagonalises."""

from .fit import fit
from .hadamard import walsh_hadamard
from .net import SobolNet
from .polynomial import Polynomial, polynomial_part
from .posterior import NetPosterior, net_posterior

__all__ = ["NetPosterior", "Polynomial", "SobolNet", "fit", "net_posterior", "polynomial_part", "walsh_hadamard"]
