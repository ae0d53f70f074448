"""Studies behind the pages of the documentation: how often stated errors hold, on problems whose answers are known.

They are run from the root of the repository, ``python -m studies.coverage --out DIR``, and are no part of the package.
"""
