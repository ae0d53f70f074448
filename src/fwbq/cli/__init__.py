"""The command line: argument parsing and printing, nothing else."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit.

    0 done, 1 the work failed, 2 the input was wrong, 3 not certain enough, 130 interrupted.
    An error is one sentence on standard error; ``--debug`` shows where it came from.
    """
    from .app import run

    sys.exit(run(sys.argv[1:]))
