"""Run every benchmark of this directory and print one report in Markdown: ``python -m benchmarks [name ...]``.

Each ``bench_*.py`` runs in a process of its own, so that none warms up another. Names choose some of them.
"""

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent


def title(script: Path) -> str:
    """First line of the script's docstring, without its full stop."""
    return script.read_text().split('"""', 2)[1].strip().splitlines()[0].rstrip(".")


def main(names: list[str]) -> int:
    """Run the benchmarks called `names`, or all; return how many failed."""
    scripts = sorted(HERE.glob("bench_*.py"))
    known = {script.stem.removeprefix("bench_"): script for script in scripts}
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no benchmark is called {unknown[0]!r}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    environment = {"OPENBLAS_NUM_THREADS": "1"} | dict(os.environ)
    processor = platform.processor() or platform.machine()
    print(f"# Benchmarks, {datetime.now(UTC):%Y-%m-%d}, {processor}, {os.cpu_count()} cores\n", flush=True)
    failed = 0
    for name in names or known:
        print(f"## {title(known[name])}\n", flush=True)
        failed += subprocess.run([sys.executable, str(known[name])], env=environment, check=False).returncode != 0
        print(flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
