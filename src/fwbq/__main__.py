"""``python -m fwbq`` is the command line."""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not sys.flags.safe_path:
        # Python puts the current folder first on the path, where a file would take the place of an installed package.
        folder = sys.path.pop(0)
        if Path(folder).resolve() == Path(__file__).resolve().parents[1]:  # this package lies in it
            sys.path.append(folder)
    from .cli import main

    main()
