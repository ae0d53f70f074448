"""Designs: nested sequences of points chosen for an embedding, each with its own weights and a trace."""

from .base import Design, Trace

__all__ = ["Design", "Trace"]
