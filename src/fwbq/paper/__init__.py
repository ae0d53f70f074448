"""The figures of the paper, each a study that returns tables and a function that draws them.

>>> from fwbq.paper import FIGURES
>>> list(FIGURES)[:3]
['mean-elements', 'points', 'mmd']
"""

from .figures import FIGURES, Figure, make, make_each

__all__ = ["FIGURES", "Figure", "make", "make_each"]
