"""How a model is called where people read it."""

from collections.abc import Hashable


def label(name: Hashable) -> str:
    """Return a name as people read it: tuples of enzymes in braces.

    Examples
    --------
    >>> label(("mTOR", "S6K")), label(()), label("linear")
    ('{mTOR, S6K}', '{}', 'linear')
    """
    return "{" + ", ".join(map(str, name)) + "}" if isinstance(name, tuple) else str(name)
