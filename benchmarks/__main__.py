"""Run every benchmark of this directory and print one report in Markdown.

``python -m benchmarks [--write] [name ...]``. Each ``bench_*.py`` runs in a process of its own, so that none warms up
another. Names choose some of them. ``--write`` also puts the report into benchmarks/report.md.
"""

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from studies.pages import write_tables

HERE = Path(__file__).parent
PAGE = HERE / "report.md"


def title(script: Path) -> str:
    """First line of the script's docstring, without its full stop."""
    return script.read_text().split('"""', 2)[1].strip().splitlines()[0].rstrip(".")


def fenced(text: str) -> str:
    """Return the report with text of several lines set as printed, so that lines and columns stay."""
    blocks = [block.strip("\n") for block in text.strip("\n").split("\n\n") if block.strip()]
    return "\n\n".join(b if b.startswith("|") or "\n" not in b else f"```text\n{b}\n```" for b in blocks) + "\n"


def run(script: Path) -> tuple[str, bool]:
    """Run a benchmark, showing what it prints as it comes; return the text and whether it went well."""
    environment = {"OPENBLAS_NUM_THREADS": "1"} | dict(os.environ)
    lines = []
    command = [sys.executable, "-m", f"{HERE.name}.{script.stem}"]
    with subprocess.Popen(command, env=environment, cwd=HERE.parent, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return "".join(lines), process.returncode == 0


def main(arguments: list[str]) -> int:
    """Run the benchmarks named in the arguments, or all; return how many failed."""
    write = "--write" in arguments
    names = [a for a in arguments if a != "--write"]
    known = {script.stem.removeprefix("bench_"): script for script in sorted(HERE.glob("bench_*.py"))}
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no benchmark is called {unknown[0]!r}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    when = f"Measured on {datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, {os.cpu_count()} cores.\n"
    print(when, flush=True)
    report, failed = [when], 0
    for name in names or known:
        heading = f"## {title(known[name])}\n"
        print(heading, flush=True)
        text, well = run(known[name])
        print(flush=True)
        report += [heading, fenced(text)]
        failed += not well
    if write:
        write_tables(PAGE, "\n".join(report))
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
