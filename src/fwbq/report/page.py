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

from .. import __version__, _extras, _files, _validate, plots
from ..chema import Dataset
from ..selection import Comparison, label
from . import words
from .contents import MEMBERS, contents
from .decision import Decision, decision
from .recipe import recipes


def write_report(comparison: Comparison, path: str | os.PathLike[str], dataset: Dataset | None = None) -> Path:
    """Write a comparison of models as one HTML page.

    The page opens from disk and loads nothing: plotly.js is inside (about 5 MB), and a content security policy forbids
    the network. The same comparison gives the same bytes with the same versions.

    Parameters
    ----------
    comparison : Comparison
        What :func:`fwbq.compare_models` or :func:`fwbq.chema.compare` returned.
    path : str or path
        The file to write.
    dataset : fwbq.chema.Dataset, optional
        The data that kinetic models were compared on: the page then shows them, and the curves of the leading models.

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
    >>> "0 is the most probable of 2 models" in page
    True
    """
    _validate.instance(comparison, "comparison", Comparison, "pass what compare_models returned")
    if len(comparison) == 0:
        raise ValueError("`comparison` holds no model: nothing can be reported; compare at least one")
    if dataset is not None:
        _validate.instance(dataset, "dataset", Dataset, "pass the data set that the models were compared on")
    plotly = _extras.load("plotly.offline", "report", "the report")
    target = Path(path)
    text = page(comparison, plotly.get_plotlyjs(), dataset)
    _files.write(target, text)
    return target


def page(comparison: Comparison, plotly: str, dataset: Dataset | None = None) -> str:
    """Return the page of a comparison; `plotly` is the source of plotly.js."""
    # A model without any likelihood has the log evidence minus infinity, and no difference from another such one.
    with np.errstate(invalid="ignore"):
        shares = comparison.probabilities()
        said = decision(comparison, shares)
        shown = contents(comparison, shares, dataset)
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
        summary_fits=html.escape(_summary_fits(shown)),
        forms=html.escape(_forms(shown)),
        constants=_constants(shown),
        settings=_rows(_settings(comparison)),
        versions=_rows(_versions()),
        recipes="\n".join(
            f'<h3>{title}</h3>\n<pre tabindex="0" aria-label="{title}"><code>{html.escape(text)}</code></pre>'
            for title, text in recipes(comparison)
        ),
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
    rest = "\n".join(f"<p>{html.escape(remark)}</p>" for remark in said.remarks)
    ranking = f'<p class="ranking">{html.escape(said.ranking)}</p>\n' if said.ranking else ""
    return f'<p class="headline">{html.escape(said.headline)}</p>\n{ranking}{rest}'


def _facts(comparison: Comparison, shown: dict[str, Any]) -> str:
    models = shown["models"]
    row = {key: values[shown["best"]] for key, values in models.items()}
    facts = []
    if comparison.n_models > 1:
        facts.append(("Posterior probability", *_probability(row), words.shorten(row["name"], 28)))
        others = [i for i in range(len(models["name"])) if i != shown["best"]]
        if others:
            second = {key: values[others[0]] for key, values in models.items()}
            facts.append(("Runner-up", *_probability(second), words.shorten(second["name"], 28)))
        facts.append(("P(MAP)", words.probability(row["map"]), "", "that it is first, given the numerical error"))
    facts += [
        ("Log evidence", words.log_evidence(_nan(row["logEvidence"]), _nan(row["sd"])), "", "natural logarithm"),
        (
            "Evaluations",
            f"{comparison.n_evaluations:,}",
            "",
            f"of {comparison.n_models:,} model{'s' if comparison.n_models > 1 else ''}; {row['evaluations']:,} of the "
            "leading one",
        ),
    ]
    return "\n".join(
        f"<div><dt>{html.escape(term)}</dt><dd>{html.escape(value)}"
        f"<small>{html.escape('; '.join(filter(None, (more, note))))}</small></dd></div>"
        for term, value, more, note in facts
    )


def _probability(row: dict[str, Any]) -> tuple[str, str]:
    """Return the probability of a model, and its range."""
    value, _, more = words.with_range(*(_nan(row[key]) for key in ("probability", "q05", "q95"))).partition(" (")
    return value, more.removesuffix(")")


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
        most = words.probability(_nan(inclusion["others"][0]))
        text += f" The first {MEMBERS} of {inclusion['total']:,} are drawn; the next has {most}."
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


def _summary_fits(shown: dict[str, Any]) -> str:
    if not shown["fits"]:
        return ""
    conditions = shown["fits"]["conditions"]
    measured = sum(rate is not None for condition in conditions for rate in condition["rates"])
    said = []
    for j, model in enumerate(conditions[0]["models"]):
        inside = sum(condition["models"][j]["covered"] for condition in conditions)
        said.append(f"{words.shorten(model['name'])} {inside} of {measured}")
    text = f"Measured rates inside the 90 % band: {', '.join(said)}." if said else ""
    if shown["fits"]["without"]:
        names = ", ".join(words.shorten(name) for name in shown["fits"]["without"])
        text += f" No curve is drawn for {names}: no draw of its rates is positive, the data contradict it."
    if shown["fits"]["astray"]:
        names = ", ".join(words.shorten(name) for name in shown["fits"]["astray"])
        text += (
            f" Mind: the bands of {names} leave the measured levels by more than their range: such a model says little "
            "about the course."
        )
    if shown["fits"]["total"] > len(conditions):
        text += f" The first {len(conditions)} of {shown['fits']['total']:,} conditions are shown."
    return text


def _forms(shown: dict[str, Any]) -> str:
    plain, starred = (words.shorten(name) for name in shown["fits"].get("forms", ("S", "S*")))
    return f"the substrate {plain} and its phosphorylated form {starred}"


def _constants(shown: dict[str, Any]) -> str:
    """Return the table of the constants of the leading models; nothing without data."""
    rows = shown["fits"].get("constants", []) if shown["fits"] else []
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{name}</th>' for name in ("Model", "Constant", "Median", "90 % interval", "Unit"))
    body = "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(words.shorten(cell, 80))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        "<details><summary>Constants and rates of the leading models, in the units of the data</summary>\n"
        f'<div class="scroll" tabindex="0" role="region" aria-label="Constants and rates"><table class="plain">'
        f"<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div></details>"
    )


#: Settings as people read them, in this order; others follow under their own names.
_SETTINGS = {
    "data": "Data",
    "likelihood": "Likelihood",
    "units": "Units of the priors",
    "rates": "Rates V and noise of the conditions of a cell line",
    "enzymes": "Candidate enzymes",
    "max_enzymes": "Most enzymes in a model",
    "basal": "Basal rate, without any enzyme",
    "explained": "What the models explain",
    "effective": "Effective number of increments",
    "inclusion": "Prior inclusion probabilities",
    "notes": "Notes on the data",
    "rank_deficient_models": "Models whose enzymes the data cannot tell apart",
    "method": "Method",
    "screen": "Screen",
    "screen.top": "Fewest models of each size that the screen keeps",
    "screen.level": "Probability that an evidence lies above its interval, in the screen",
    "rounds": "Rounds of the screen",
    "evidence": "Process",
    "kernel": "Kernel",
    "amplitude": "Amplitude",
    "n": "Most points for each model",
    "stages": "Rounds, in points for each model",
    "stop": "Stop when P(MAP) reaches",
    "tol": "Stop when the leading probability is known to",
    "budget": "Most evaluations in all",
    "race": "Models that cannot win leave the race",
    "rng": "Seed given",
    "version": "Computed with fwbq",
}
# Said elsewhere on the page, or of no use to a reader: `seed` is drawn from the one that was given.
_UNSAID = ("command", "reason", "seed", "factors", "forms", "conditions", "cell_lines", "checks")
_PROCESSES = {
    "log": "Gaussian process on the log likelihood, Matern-5/2 with fitted length-scales",
    "linear": "Bayesian quadrature of the likelihood itself, as in the paper",
}


def _settings(comparison: Comparison) -> Iterable[tuple[str, str]]:
    """Yield the settings under names that a reader understands; what was not set is left out."""
    given = {key: value for key, value in comparison.settings.items() if value not in (None, []) and key not in _UNSAID}
    if given.get("evidence") in _PROCESSES and "kernel" not in given:
        given["evidence"] = _PROCESSES[given["evidence"]]
    if "rounds" in given:
        given["rounds"] = _rounds(given["rounds"])
    ordered = {key: given.pop(key) for key in _SETTINGS if key in given}
    if "rng" not in ordered and "seed" in comparison.settings:
        ordered["rng"] = "none"
    for key, value in flat(ordered | given):
        said = {"True": "yes", "False": "no"}.get(value, value)
        yield _setting(key), said


def _setting(key: str) -> str:
    """Return the name of a setting for readers, such as ``Prior inclusion probabilities: E7`` for ``inclusion.E7``."""
    head, _, rest = key.partition(".")
    return _SETTINGS[key] if key in _SETTINGS else f"{_SETTINGS[head]}: {rest}" if head in _SETTINGS else key


def _rounds(rounds: Any) -> Any:
    """Return what each round of a screen kept, in words; as it is when it was written by another version."""
    try:
        return "; ".join(
            f"{row['models']:,} models of {row['enzymes']} enzymes at {row['n']} points, {row['survived']:,} kept"
            for row in rounds
        )
    except (TypeError, KeyError, ValueError):
        return rounds


def _rows(pairs: Iterable[tuple[str, str]]) -> str:
    cells = ((html.escape(words.clean(key, 100)), html.escape(words.clean(value, 1000))) for key, value in pairs)
    return "\n".join(f'<tr><th scope="row">{key}</th><td>{value}</td></tr>' for key, value in cells)


def _versions() -> list[tuple[str, str]]:
    """Return what the page was written with; what the comparison was made with stands among its settings."""
    return [
        ("Python", platform.python_version()),
        ("fwbq", __version__),
        *((name, version(name)) for name in ("numpy", "scipy", "plotly")),
    ]
