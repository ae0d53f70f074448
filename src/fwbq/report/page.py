"""The page: text in HTML, data in JSON, scripts and styles, in one file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from .. import _files, _validate, plots
from ..selection import Comparison, label
from . import words
from .contents import MEMBERS, contents, draws
from .decision import Decision, decision
from .recipe import recipe


def write_report(comparison: Comparison, path: str | os.PathLike[str]) -> Path:
    """Write a comparison of models as one HTML page.

    The page opens from disk and loads nothing: plotly.js is inside (about 5 MB), and a content security policy forbids
    the network. The same comparison gives the same bytes with the same versions.

    Parameters
    ----------
    comparison : Comparison
        What :func:`fwbq.compare_models` or :func:`fwbq.chema.compare` returned.
    path : str or path
        The file to write.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    ImportError
        If plotly is not installed: ``pip install "fwbq[report]"``.

    Examples
    --------
    >>> import tempfile, fwbq
    >>> prior = fwbq.Gaussian([0.0], [[1.0]])
    >>> models = {c: fwbq.Model(lambda x, c=c: -2.0 * (x[:, 0] - float(c)) ** 2, prior) for c in ("0", "1")}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     comparison = fwbq.compare_models(models, stop=0.99, rng=0)
    ...     page = write_report(comparison, folder + "/report.html").read_text("utf-8")
    >>> "0 is the MAP with probability" in page
    True
    """
    _validate.instance(comparison, "comparison", Comparison, "pass what compare_models returned")
    _validate.some_models(len(comparison))
    plotly = _validate.extra("plotly.offline", "report", "the report")
    target = Path(path)
    text = page(comparison, plotly.get_plotlyjs())
    _files.write(target, text)
    return target


def page(comparison: Comparison, plotly: str) -> str:
    """Return the page of a comparison; `plotly` is the source of plotly.js."""
    # A model without any likelihood has the log evidence minus infinity, and no difference from another such one.
    with np.errstate(invalid="ignore"):
        shares = comparison.probabilities(draws(len(comparison)))
        said = decision(comparison, shares)
        shown = contents(comparison, shares)
    script = _asset("report.js")
    colours = "".join(
        f"--{name}:{value};"
        for name, value in (
            ("blue", plots.BLUE),
            ("sky", plots.SKY),
            ("vermillion", plots.VERMILLION),
            ("orange", plots.ORANGE),
        )
    )
    return Template(_asset("report.html")).substitute(
        policy=html.escape(_policy(plotly, script)),
        title=html.escape(f"{words.shorten(label(comparison.best))}: model comparison"),
        style=f":root{{{colours}}}\n{_asset('report.css')}",
        verdict=said.verdict,
        member="Enzyme" if "enzymes" in comparison.settings else "Member",
        decision=_decision(said),
        facts=_facts(comparison, shown),
        summary_probabilities=html.escape(_summary_probabilities(shown)),
        summary_inclusion=html.escape(_summary_inclusion(shown)),
        summary_history=html.escape(_summary_history(shown)),
        summary_error=html.escape(_summary_error(shown)),
        summary_mmd=html.escape(_summary_mmd(shown)),
        settings=_rows(
            (key, value) for key, value in flat(comparison.settings) if key.split(".")[0] not in ("mmd", "command")
        ),
        versions=_rows(_versions()),
        recipe=html.escape(recipe(comparison)),
        data=embed(shown),
        plotly=plotly,
        script=script,
    )


def embed(data: Any) -> str:
    r"""Return data as JSON that no HTML parser can take for anything else.

    Examples
    --------
    >>> embed(["</script>", "a&b", "\u2028"])
    '["\\u003c/script\\u003e","a\\u0026b","\\u2028"]'
    """
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def flat(settings: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    """Yield the settings as lines, those inside others by dotted names.

    Examples
    --------
    >>> list(flat({"n": 200, "data": {"file": "a.csv"}, "stop": None}))
    [('n', '200'), ('data.file', 'a.csv'), ('stop', '–')]
    """
    for key, value in settings.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{name}.")
        elif isinstance(value, (list, tuple)):
            yield name, ", ".join(map(str, value)) or "–"
        else:
            yield name, "–" if value is None else str(value)


def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _policy(*scripts: str) -> str:
    """Return the content security policy: these scripts, the page's own styles and images, nothing else."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _decision(said: Decision) -> str:
    remarks = "\n".join(f"<p>{html.escape(remark)}</p>" for remark in said.remarks)
    return f'<p class="headline">{html.escape(said.headline)}</p>\n{remarks}'


def _facts(comparison: Comparison, shown: dict[str, Any]) -> str:
    row = {key: values[shown["best"]] for key, values in shown["models"].items()}
    facts = (
        []
        if comparison.n_models == 1
        else [
            ("P(MAP)", words.probability(row["map"]), "given the numerical error"),
            ("Posterior probability", words.probability(row["probability"]), words.interval(row["q05"], row["q95"])),
        ]
    )
    facts += [
        ("Log evidence", words.with_error(_nan(row["logEvidence"]), _nan(row["sd"])), "natural logarithm"),
        ("Models", f"{comparison.n_models:,}", f"{len(shown['models']['name']):,} listed"),
        ("Evaluations", f"{comparison.n_evaluations:,}", f"{row['evaluations']:,} of the leading model"),
    ]
    return "\n".join(
        f"<div><dt>{html.escape(term)}</dt><dd>{html.escape(value)}<small>{html.escape(note)}</small></dd></div>"
        for term, value, note in facts
    )


def _nan(x: float | None) -> float:
    return float("nan") if x is None else x


def _top(names: list[str], values: list[float | None]) -> str:
    first = [
        f"{words.shorten(name)} {words.probability(_nan(p))}" for name, p in zip(names[:3], values[:3], strict=True)
    ]
    return ", ".join(first)


def _summary_probabilities(shown: dict[str, Any]) -> str:
    models = shown["models"]
    return f"Most probable: {_top(models['name'], models['probability'])}."


def _summary_inclusion(shown: dict[str, Any]) -> str:
    inclusion = shown["inclusion"]
    if not inclusion["name"]:
        return ""
    text = f"Highest: {_top(inclusion['name'], inclusion['probability'])}."
    if inclusion["total"] > MEMBERS:
        text += f" The first {MEMBERS} of {inclusion['total']:,} are drawn."
    return text


def _summary_history(shown: dict[str, Any]) -> str:
    history = shown["history"]
    if not history["n"]:
        return ""
    first, last = (
        f"{words.probability(_nan(history['map'][i]))} after {history['evaluations'][i]:,} evaluations" for i in (0, -1)
    )
    return f"From {first} to {last}." if len(history["n"]) > 1 else f"{last[:1].upper()}{last[1:]}."


def _summary_error(shown: dict[str, Any]) -> str:
    error = shown["error"]
    known = [(n, m) for n, m in zip(error["n"], error["median"], strict=True) if m is not None]
    if not known:
        return ""
    (n0, m0), (n1, m1) = known[0], known[-1]
    return f"The median over the models goes from {m0:.2g} at {n0:,} points to {m1:.2g} at {n1:,}."


def _summary_mmd(shown: dict[str, Any]) -> str:
    return " ".join(
        f"{curve['name'] + ': ' if curve['name'] else ''}from {curve['mmd'][0]:.2g} at {curve['n'][0]:,.0f} points to "
        f"{curve['mmd'][-1]:.2g} at {curve['n'][-1]:,.0f}."
        for curve in shown["mmd"]
    )


def _rows(pairs: Iterable[tuple[str, str]]) -> str:
    cells = ((html.escape(words.clean(key, 100)), html.escape(words.clean(value, 1000))) for key, value in pairs)
    return "\n".join(f'<tr><th scope="row">{key}</th><td>{value}</td></tr>' for key, value in cells)


def _versions() -> list[tuple[str, str]]:
    """Return what the page was written with; what the comparison was made with stands among its settings."""
    return [
        ("Python", platform.python_version()),
        *((name, version(name)) for name in ("fwbq", "numpy", "scipy", "plotly")),
    ]
