"""Nets, and kernels whose Gram matrix on them a fast transform diagonalises."""

from .fit import fit
from .hadamard import walsh_hadamard
from .net import SobolNet
from .posterior import NetPosterior, net_posterior

__all__ = ["NetPosterior", "SobolNet", "fit", "net_posterior", "walsh_hadamard"]
