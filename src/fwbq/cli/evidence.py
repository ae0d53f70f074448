"""``fwbq evidence``: the log evidence of a model of the user's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import _validate
from .._reason import Reason
from ..evaluation import Evaluation
from ..inference import Evidence, evidence
from . import expressions, outputs
from .console import NOT_CERTAIN, in_flags, say, say_json
from .integral import load_function
from .workers import Travelling, executor

FAILED = 1


def evidence_and_print(
    function: str,
    prior: str | None,
    how: Evaluation,
    *,
    n: int | None,
    tol: float | None,
    dim: int | None,
    start: str | None,
    scale: str | None,
    level: float,
    workers: int,
    dask: str | None,
    plot: Path | None,
    seed: int,
    as_json: bool,
) -> int:
    """Compute the evidence, print it, and return the exit code."""
    if prior is None and dim is None and start is None:
        raise ValueError(
            '`prior` is missing: give one such as "gaussian(mean=[0,0], cov=1)", or for a log joint density that '
            "includes its prior the number of parameters as `dim`, or a point of high density as `start`"
        )
    _validate.probability(level, "level")
    if plot is not None:
        _check_figure(plot)
    f = load_function(function) if dask is None else Travelling(load_function(function))
    begin, widths = _numbers(start, "start"), _numbers(scale, "scale")
    with executor(workers, dask) as where_evaluated:
        found = evidence(
            f, None if prior is None else expressions.measure(prior, "prior"), dim=dim, start=begin,
            scale=widths[0] if widths is not None and len(widths) == 1 else widths, n=n, tol=tol, rng=seed,
            **replace(how, executor=where_evaluated).keywords,
        )  # fmt: skip
    if plot is not None and found.posterior is not None:
        from ..plots import save

        save(found.plot(), plot)
    if as_json:
        say_json(_facts(found, level))
    else:
        say(in_flags(found.summary(), {name: f"--{name}" for name in ("n", "tol", "start", "scale")}))
    if found.success:
        return 0
    return NOT_CERTAIN if found.reason in (Reason.NOT_REACHED, Reason.PRECISION) else FAILED


def _facts(found: Evidence, level: float) -> dict[str, Any]:
    """Return what was found as JSON values."""
    posterior = found.posterior
    return {
        "log_evidence": found.log_evidence,
        "sd": found.sd,
        "interval": found.interval(level),
        "level": level,
        "n_evaluations": found.n_evaluations,
        "n_skipped": found.n_skipped,
        "success": found.success,
        "reason": found.reason.value,
        "status": found.status,
        "error": found.error_parts,
        "modes": [
            {"place": mode.place, "log_joint": mode.log_joint, "share": mode.share, "climbs": mode.climbs}
            for mode in found.modes
        ],
        "posterior": None if posterior is None else {"mean": posterior.mean, "sd": posterior.sd},
    }


def _check_figure(path: Path) -> None:
    """Refuse a figure that could not be written, before anything is computed for it."""
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.filetypes
    outputs.file(path, "plot", known, f".png, .pdf, .svg or another of {', '.join(sorted(known))}")


def _numbers(text: str | None, name: str) -> list[float] | None:
    """Read numbers separated by commas, in square brackets or not."""
    if text is None:
        return None
    parts = text.strip().removeprefix("[").removesuffix("]").split(",")
    try:
        return [float(part) for part in parts]
    except ValueError:
        raise ValueError(f"`{name}` must be numbers separated by commas, e.g. 0.5,-1; got {text!r}") from None
