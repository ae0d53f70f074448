"""The commands: demo, integrate, evidence, rule, select, thin, paper, data."""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup

from .. import __version__
from . import outputs
from .console import in_flags, say
from .interruption import ending_unanswered

#: Exit code of a command that was interrupted, as of every program that SIGINT ends.
_INTERRUPTED = 130
#: What is said where a function goes on after Ctrl-C.
_UNANSWERED = (
    "interrupted: the function did not end when it was asked to, and was left; what had finished is kept where "
    "`journal` names a file: run the same again to go on from there"
)
#: Longest text of an error: a sentence or two are read, a cell of ten megabytes that was quoted in it is not.
_LONGEST = 1000


#: What the help shows as the value of an option, in place of the type that Python has for it.
_VALUES = {
    "N": ("n", "max_enzymes", "workers", "seed", "candidates", "burn", "dim"),
    "NUMBER": ("tol", "timeout", "total", "level", "stop", "effective"),
    "NUMBERS": ("start", "scale"),
    "NAME": ("substrate", "phospho"),
    "NAMES": ("enzymes", "conditions", "substrates", "stimuli"),
    "MEASURE": ("measure", "prior"),
    "KERNEL": ("kernel",),
    "FILE": ("journal", "output", "plot", "archive", "truth", "inclusion"),
    "DIRECTORY": ("out",),
}


class _Command(TyperCommand):
    """A command whose help speaks of numbers, names and files, and shows no value for options that take none."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _in_words(super().get_params(ctx))


class _Commands(TyperGroup):
    """The same for the program itself; what an interruption says is not lost."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _in_words(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:  # of which typer would keep the exit code only
            raise _Interrupted from stop


class _Interrupted(Exception):
    """A command was interrupted; its cause says what is kept."""


def _in_words(parameters: list[Any]) -> list[Any]:
    words = {name: word for word, names in _VALUES.items() for name in names}
    for each in parameters:
        if getattr(each, "is_flag", False):
            each.metavar = ""
        elif each.param_type_name == "option" and each.metavar is None:
            each.metavar = words.get(each.name)
    return parameters


app = typer.Typer(
    name="fwbq",
    cls=_Commands,
    help=(
        "Integrals with an honest error, and the choice among models that they are for.\n\n"
        "Begin with [bold]fwbq demo[/bold]: it compares 352 models of a data set that ships with the package, writes "
        "figures and a report, and takes less than a minute."
    ),
    epilog="Exit codes: 0 done, 1 the work failed, 2 the input was wrong, 3 not certain enough when the budget ended.",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)

_MEASURE_HELP = (
    'The measure, e.g. "gaussian(mean=\\[0,0], cov=1)", "uniform(lower=\\[0], upper=\\[1])", '
    '"truncated(mean=\\[1], variance=\\[0.5], lower=0)", "lognorm(0.5)" and the other names of scipy.stats, '
    '"product(norm(0,1), gamma(2))" for several coordinates, or a TOML/JSON file.'
)
Seed = Annotated[int, typer.Option(min=0, help="Fixes everything random.")]
Dask = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help='Evaluate on a Dask cluster: the address of its scheduler, or "local" for one on this machine.',
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Quiet = Annotated[
    bool | None, typer.Option("--progress/--no-progress", help="Progress bars; by default on a terminal.")
]
Inclusion = Annotated[
    Path | None,
    typer.Option(help="Table of prior inclusion probabilities: columns enzyme, probability, and perhaps substrate."),
]
Inhibitors = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=KINASE[:EFFICACY]",
        help="In conditions treated with NAME (a word of their names) the activity of KINASE is multiplied by one "
        "minus the efficacy, 1 by default. May be given several times.",
    ),
]


def run(arguments: Sequence[str]) -> int:
    """Run the command line on arguments and return its exit code."""
    debug = "--debug" in arguments
    arguments = [a for a in arguments if a != "--debug"] or ["--help"]
    flags = _flags(arguments)
    warnings.showwarning = lambda message, *_, **__: _write(f"note: {message}", flags)
    try:
        with ending_unanswered(lambda: _fail(_UNANSWERED, _INTERRUPTED, flags)):
            outcome = app(
                args=list(arguments), prog_name="fwbq", standalone_mode=False, obj=shlex.join(["fwbq", *arguments])
            )
        return int(outcome) if isinstance(outcome, int) else 0
    except KeyboardInterrupt:
        return _fail("interrupted", _INTERRUPTED)
    except _Interrupted as stop:
        return _fail(
            ": ".join(["interrupted", *getattr(stop.__cause__, "__notes__", ())]).rstrip("."), _INTERRUPTED, flags
        )
    except Exception as error:
        if debug:
            raise
        return _report(error, flags)


def _flags(arguments: Sequence[str]) -> dict[str, str]:
    """Return what to write for each parameter of the command that is called, so that messages speak of flags.

    A flag that switches something off has the value that it gives too: ``vectorized=False`` is ``--scalar``.
    """
    commands: dict[str, Any] = getattr(typer.main.get_command(app), "commands", {})
    chosen = next((commands[a] for a in arguments if a in commands), None)
    flags: dict[str, str] = {}
    for parameter in [] if chosen is None else chosen.params:
        flags[parameter.name] = parameter.opts[0] if parameter.param_type_name == "option" else parameter.name
        if parameter.secondary_opts:
            flags |= {
                f"{parameter.name}=True": parameter.opts[0],
                f"{parameter.name}=False": parameter.secondary_opts[0],
            }
    # Names that a command gives to parameters of the library.
    renamed = {"rng": "seed", "evidence": "method"}
    return flags | {name: flags[own] for name, own in renamed.items() if own in flags and name not in flags}


def _report(error: Exception, flags: dict[str, str]) -> int:
    """Print one sentence for an error and return the exit code that fits."""
    from ..evaluation import EvaluationError, JournalError

    if isinstance(error, typer.Exit):
        return int(error.exit_code)
    if isinstance(error, typer.Abort):
        return _fail("interrupted", _INTERRUPTED)
    if hasattr(error, "format_message"):  # wrong usage, told by the parser
        context = getattr(error, "ctx", None)
        hint = f" (see {context.command_path} --help)" if context is not None else ""
        return _fail((_not_a_number(error) or error.format_message().replace("Value error, ", "")) + hint, 2)
    if isinstance(error, RecursionError):
        return _fail("the input is nested too deeply to be read: write it with fewer brackets", 2)
    if isinstance(error, EvaluationError | RuntimeError) and not isinstance(error, JournalError):
        return _fail(str(error), 1, flags)
    if isinstance(error, OSError):
        where = f" {error.filename!r}" if error.filename is not None else ""
        return _fail(f"cannot use{where}: {error.strerror or error}", 2)
    if isinstance(
        error, ImportError | AttributeError | KeyError | TypeError | ValueError | JournalError | ArithmeticError
    ):
        return _fail(str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error), 2, flags)
    return _fail(f"{type(error).__name__}: {error}", 1)


def _not_a_number(error: Any) -> str | None:
    """Return one sentence for a text that is not the number it should be; None for any other wrong usage.

    Typer may convert by a library whose messages speak of parsing strings; what it was given is in the cause.
    """
    cause, parameter = error.__cause__ or error.__context__, getattr(error, "param", None)
    if parameter is None or not hasattr(cause, "errors"):
        return None
    found = cause.errors()[0]
    kinds = {"int": "a whole number", "float": "a number", "greater_than_equal": "a whole number >= 0"}
    kind = next((words for name, words in kinds.items() if str(found["type"]).startswith(name)), None)
    return None if kind is None else f"{parameter.opts[0]} must be {kind}, got {str(found['input'])!r}"


def _fail(text: str, code: int, flags: dict[str, str] | None = None) -> int:
    _write(text, flags or {})
    return code


def _write(text: str, flags: dict[str, str]) -> None:
    """Write one line to standard error, with parameters named as the flags that set them."""
    sys.stderr.write(f"fwbq: {in_flags(_sentence(text), flags)}\n")


def _sentence(text: str) -> str:
    """Return the text on one line, cut in the middle where it is too long to be read."""
    line = " ".join(text[: 10 * _LONGEST].split())
    if len(text) <= _LONGEST:
        return line
    ending = " ".join(text[-_LONGEST // 4 :].split())
    return f"{line[: 3 * _LONGEST // 4]} ... {ending}"


def _version(wanted: bool) -> None:
    if wanted:
        from platform import python_version

        import numpy
        import scipy

        say(f"fwbq {__version__} (NumPy {numpy.__version__}, SciPy {scipy.__version__}, Python {python_version()})")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the versions of fwbq, NumPy and SciPy."
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
) -> None:
    """Take the options before a command; `run` reads --debug wherever it stands."""


@app.command(cls=_Command, epilog="Example: [bold]fwbq demo --out out[/bold]")
def demo(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Directory for tables, figures and the report.")] = Path("fwbq-demo"),
    seed: Seed = 0,
    progress: Quiet = None,
) -> int:
    """Choose among 352 models of the data set that ships with the package, and write the report."""
    from ..chema import Dataset
    from ..evaluation import Evaluation
    from .select import compare_and_write

    data = Dataset.example()
    say(
        "Simulated time courses of a substrate and 26 enzymes; "
        f"its true regulators are {', '.join(data.regulators or ())}. The units are the paper's."
    )
    return compare_and_write(
        data, out, Evaluation(progress=progress), n=200, stop=0.95, max_enzymes=2, units="given", rates=None,
        method="log", truncated=False, seed=seed, workers=1, dask=None, report=True, as_json=False,
        command=str(context.obj), source="fwbq.chema.Dataset.example()", optional_report=True,
    )  # fmt: skip


@app.command(
    cls=_Command,
    epilog=(
        "Examples:\n\n[bold]fwbq select data.csv --substrate S --stop 0.95 --out result --report[/bold]\n\n"
        "[bold]fwbq select arrays.csv --phospho 4EBP1_pS65 --total 3 --journal run.db --out result[/bold]"
    ),
)
def select(
    context: typer.Context,
    data: Annotated[
        Path,
        typer.Argument(
            help="Tidy CSV (time, variable, value; optional condition, replicate, cell_line) or MIDAS file."
        ),
    ],
    substrate: Annotated[str, typer.Option(help="The unphosphorylated substrate.")] = "S",
    phospho: Annotated[
        str | None, typer.Option(help="Its phosphorylated form; by default the substrate's name with a star.")
    ] = None,
    enzymes: Annotated[
        str | None, typer.Option(help="Candidate enzymes, separated by commas; by default every other variable.")
    ] = None,
    total: Annotated[
        float | None, typer.Option(help="Total substrate T when only the phospho form was measured: y_S = T - y_S*.")
    ] = None,
    conditions: Annotated[str | None, typer.Option(help="Only these conditions, separated by commas.")] = None,
    replicates: Annotated[
        Literal["each", "mean"],
        typer.Option(help="each: rates of every replicate are in the likelihood. mean: replicates are averaged first."),
    ] = "each",
    inhibitor: Inhibitors = None,
    basal: Annotated[bool, typer.Option("--basal", help="A basal rate, without an enzyme, in every model.")] = False,
    inclusion: Inclusion = None,
    max_enzymes: Annotated[int, typer.Option(help="Most enzymes in a model.")] = 2,
    n: Annotated[int, typer.Option("--n", "-n", help="Most points for each model.")] = 200,
    stop: Annotated[
        float | None,
        typer.Option(
            help="Stop when P(MAP), the probability that the leading model is the best given the numerical error, "
            "reaches this, e.g. 0.95."
        ),
    ] = None,
    units: Annotated[
        Literal["data", "given"],
        typer.Option(
            help="In which units the priors are meant. data: levels in their means, time by the rates of change, so "
            "that the answer does not depend on the units of the file. given: those of the file, as in the paper."
        ),
    ] = "data",
    rates: Annotated[
        Literal["shared", "own"],
        typer.Option(
            help="Whether the conditions of one cell line (column cell_line) share the rates V and the noise, or each "
            "has its own. Cell lines always have their own."
        ),
    ] = "shared",
    method: Annotated[
        Literal["log", "fwbq", "fwlsbq", "sbq"],
        typer.Option(
            help="log: a process on the log likelihood. The others are the paper's: Bayesian quadrature of the "
            "likelihood at the points of Frank-Wolfe, with line search, or of sequential Bayesian quadrature."
        ),
    ] = "log",
    truncated: Annotated[
        bool | None,
        typer.Option(
            "--truncated/--closed-form",
            help="Rates V >= 0, as the prior declares, or the closed form of the paper, where they may be negative. By "
            "default V >= 0 for up to 5,000 models with at most two enzymes.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Directory for tables and figures.")] = Path("fwbq-select"),
    journal: Annotated[
        Path | None, typer.Option(help="Keep every evaluation in this file; the same command goes on after a crash.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that evaluate likelihoods.")] = 1,
    dask: Dask = None,
    report: Annotated[bool, typer.Option("--report", help="Write report.html too.")] = False,
    seed: Seed = 0,
    as_json: AsJson = False,
    progress: Quiet = None,
) -> int:
    """Choose among kinetic models of your own data, with the numerical error carried to the decision."""
    from ..evaluation import Evaluation
    from .select import compare_and_write, data_source, read_data

    reading: dict[str, Any] = {
        "phospho": phospho,
        "enzymes": _split(enzymes, "enzymes"),
        "total": total,
        "conditions": _split(conditions, "conditions"),
        "replicates": None if replicates == "each" else replicates,
        "inhibitors": inhibitor,
    }
    dataset = read_data(data, substrate, **reading)
    return compare_and_write(
        dataset, out, Evaluation(journal=journal, progress=progress), n=n, stop=stop, max_enzymes=max_enzymes,
        units=units, rates=rates, basal=basal, inclusion=inclusion, method=method, truncated=truncated, seed=seed,
        workers=workers, dask=dask, report=report, as_json=as_json, command=str(context.obj),
        source=data_source(data, substrate, **reading),
    )  # fmt: skip


@app.command(
    cls=_Command,
    epilog=(
        "Examples:\n\n[bold]fwbq network levels.csv --inhibitor AKTi=AKT:0.9 --out network --report[/bold]\n\n"
        "[bold]fwbq network insilico/insilico.csv --truth insilico/truth.csv --out insilico-network[/bold]"
    ),
)
def network(
    data: Annotated[
        Path, typer.Argument(help="Tidy CSV or MIDAS file of phosphorylated levels; every variable is a protein.")
    ],
    substrates: Annotated[
        str | None, typer.Option(help="Proteins looked at as substrates, separated by commas; by default all.")
    ] = None,
    enzymes: Annotated[
        str | None, typer.Option(help="Proteins looked at as enzymes, separated by commas; by default all.")
    ] = None,
    total: Annotated[
        float, typer.Option(help="Total of each protein in units of its largest level: an assumption, to be stated.")
    ] = 1.3,
    conditions: Annotated[str | None, typer.Option(help="Only these conditions, separated by commas.")] = None,
    replicates: Annotated[
        Literal["each", "mean"] | None,
        typer.Option(help="With --explain rates: each replicate in the likelihood (default), or mean: averaged first."),
    ] = None,
    inhibitor: Inhibitors = None,
    stimuli: Annotated[
        str | None, typer.Option(help="Words of the conditions' names that are stimuli, separated by commas.")
    ] = None,
    max_enzymes: Annotated[
        int | None,
        typer.Option(help="Most regulators in a model; by default 3, or 2 where that makes more than 5,000 models."),
    ] = None,
    basal: Annotated[bool, typer.Option("--basal/--no-basal", help="A basal rate in every model.")] = True,
    effective: Annotated[
        float | None,
        typer.Option(help="How many increments the likelihood counts for at most: they share errors. inf: all."),
    ] = 20.0,
    inclusion: Inclusion = None,
    units: Annotated[
        Literal["data", "given"], typer.Option(help="In which units the priors are meant; see fwbq select.")
    ] = "data",
    rates: Annotated[
        Literal["shared", "own"], typer.Option(help="Whether conditions of one cell line share rates and noise.")
    ] = "shared",
    explain: Annotated[
        Literal["auto", "levels", "rates"],
        typer.Option(help="Whole courses, or rates of change; auto: courses where replicates scatter much."),
    ] = "auto",
    truncated: Annotated[
        bool,
        typer.Option("--truncated/--closed-form", help="With --explain rates: V >= 0, or of either sign (default)."),
    ] = False,
    n: Annotated[int, typer.Option("--n", "-n", help="Most points for each model.")] = 200,
    tol: Annotated[
        float, typer.Option(help="Stop when the numerical error of every edge (95 %) is at most this.")
    ] = 0.05,
    truth: Annotated[
        Path | None, typer.Option(help="The true graph, where it is known: AUROC of the edges is printed.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Directory for tables, graphs and figures.")] = Path("fwbq-network"),
    journal: Annotated[
        Path | None, typer.Option(help="Directory for journals: the same command goes on after a crash.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes, each with a substrate at a time.")] = 1,
    dask: Dask = None,
    report: Annotated[bool, typer.Option("--report", help="Write report.html too.")] = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> int:
    """Infer which proteins regulate which, each in turn as the substrate of all others."""
    from .network import infer_and_write

    return infer_and_write(
        data, out, report=report, truth=truth, workers=workers, dask=dask, as_json=as_json,
        substrates=_split(substrates, "substrates"), enzymes=_split(enzymes, "enzymes"), total=total,
        conditions=_split(conditions, "conditions"), replicates=replicates, inhibitors=inhibitor or (),
        stimuli=_split(stimuli, "stimuli") or (), max_enzymes=max_enzymes, basal=basal,
        effective=None if effective == float("inf") else effective, inclusion=inclusion,
        units=units, rates=rates, explained=None if explain == "auto" else explain, truncated=truncated, n=n, tol=tol,
        journal=journal, rng=seed,
    )  # fmt: skip


def _split(text: str | None, option: str) -> list[str] | None:
    """Return the names in a list separated by commas."""
    if text is None:
        return None
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise ValueError(f"`{option}` names nothing: write names separated by commas, or leave it out")
    return names


@app.command(
    cls=_Command,
    epilog=(
        'Example: [bold]fwbq integrate package.module:function --measure "gaussian(mean=\\[0,0], cov=1)" --n 100 '
        "--journal run.db[/bold]"
    ),
)
def integrate(
    function: Annotated[str, typer.Argument(help="package.module:function, found from the current directory.")],
    measure: Annotated[str, typer.Option(help=_MEASURE_HELP)],
    n: Annotated[int | None, typer.Option("--n", "-n", help="Number of evaluations; 100 by default.")] = None,
    tol: Annotated[float | None, typer.Option(help="Stop when half the 95 % interval is at most this.")] = None,
    method: Annotated[
        Literal["auto", "process", "net"],
        typer.Option(help="process: up to some hundreds of evaluations; net: hundreds to millions, 2^m of them."),
    ] = "auto",
    kernel: Annotated[
        str | None, typer.Option(help='Kernel, e.g. "matern52(lengthscale=1)", or "matern52" to have it fitted.')
    ] = None,
    level: Annotated[float, typer.Option(help="Level of the interval that is printed.")] = 0.95,
    journal: Annotated[
        Path | None, typer.Option(help="Keep every evaluation in this file; nothing is paid for twice.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that evaluate the function.")] = 1,
    dask: Dask = None,
    vectorized: Annotated[
        bool | None, typer.Option("--vectorized/--scalar", help="Whether the function takes (n, d) points.")
    ] = None,
    on_error: Annotated[
        Literal["raise", "skip"], typer.Option(help="What to do when the function fails at a point.")
    ] = "raise",
    timeout: Annotated[float | None, typer.Option(help="Seconds per evaluation.")] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    progress: Quiet = None,
) -> int:
    """Integrate a Python function under a measure and say how far off the answer may be."""
    from ..evaluation import Evaluation
    from .integral import integrate_and_print

    how = Evaluation(
        journal=journal, tag=function, vectorized=vectorized, on_error=on_error, timeout=timeout, progress=progress
    )
    return integrate_and_print(
        function, measure, how, n=n, tol=tol, method=method, kernel=kernel, level=level, workers=workers, dask=dask,
        seed=seed, as_json=as_json,
    )  # fmt: skip


@app.command(
    cls=_Command,
    epilog=(
        'Examples:\n\n[bold]fwbq evidence model:log_likelihood --prior "gaussian(mean=\\[0], cov=1)" --n 200[/bold]\n\n'
        "[bold]fwbq evidence model:log_joint --dim 3 --start 0.5,1,-2 --journal run.db[/bold]"
    ),
)
def evidence(
    function: Annotated[str, typer.Argument(help="package.module:log_likelihood, found from the current directory.")],
    prior: Annotated[
        str | None,
        typer.Option(
            help=_MEASURE_HELP.replace("measure", "prior") + " Left out, the function is a log joint density."
        ),
    ] = None,
    n: Annotated[int | None, typer.Option("--n", "-n", help="Number of evaluations; 200 by default.")] = None,
    tol: Annotated[
        float | None, typer.Option(help="Stop when half the 95 % interval of the log evidence is at most this.")
    ] = None,
    dim: Annotated[int | None, typer.Option(help="Without a prior: the number of parameters.")] = None,
    start: Annotated[str | None, typer.Option(help="A point of high density, numbers separated by commas.")] = None,
    scale: Annotated[
        str | None,
        typer.Option(help="Without a prior: a guess of the posterior's width, one number or one for each parameter."),
    ] = None,
    level: Annotated[float, typer.Option(help="Level of the interval in --json.")] = 0.95,
    journal: Annotated[
        Path | None, typer.Option(help="Keep every evaluation in this file; nothing is paid for twice.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that evaluate the function.")] = 1,
    dask: Dask = None,
    vectorized: Annotated[
        bool | None, typer.Option("--vectorized/--scalar", help="Whether the function takes (n, d) points.")
    ] = None,
    on_error: Annotated[
        Literal["raise", "skip"], typer.Option(help="What to do when the function fails at a point.")
    ] = "raise",
    timeout: Annotated[float | None, typer.Option(help="Seconds per evaluation.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the posterior into this file, e.g. posterior.png.")] = None,
    seed: Annotated[int, typer.Option("--seed", "--rng", min=0, help="Fixes everything random.")] = 0,
    as_json: AsJson = False,
    progress: Quiet = None,
) -> int:
    """Compute the log evidence of a model, how far off it may be, and the posterior of its parameters."""
    from ..evaluation import Evaluation
    from .evidence import evidence_and_print

    how = Evaluation(
        journal=journal, tag=function, vectorized=vectorized, on_error=on_error, timeout=timeout, progress=progress
    )
    return evidence_and_print(
        function, prior, how, n=n, tol=tol, dim=dim, start=start, scale=scale, level=level, workers=workers, dask=dask,
        plot=plot, seed=seed, as_json=as_json,
    )  # fmt: skip


@app.command(
    cls=_Command,
    epilog=(
        'Example: [bold]fwbq rule --measure "uniform(lower=\\[0,0], upper=\\[1,1])" --kernel "matern52(0.3)" '
        "--n 100 --design sbq -o rule.csv[/bold]"
    ),
)
def rule(
    measure: Annotated[str, typer.Option(help=_MEASURE_HELP)],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="rule.json, rule.npz (both read by fwbq) or rule.csv.")
    ],
    kernel: Annotated[
        str | None,
        typer.Option(
            help='The kernel, e.g. "expquad(lengthscale=0.8)"; by default expquad with the standard deviations of the '
            "measure as length-scales."
        ),
    ] = None,
    n: Annotated[int, typer.Option("--n", "-n", help="Number of points.")] = 100,
    design: Annotated[
        Literal["sbq", "fw", "fwls", "pairwise", "pivot", "qmc", "mc", "obq"],
        typer.Option(help="How points are chosen."),
    ] = "sbq",
    weights: Annotated[
        Literal["bayes", "design", "simplex", "uniform"],
        typer.Option(help="Bayesian quadrature weights, the design's own, positive ones, 1/n."),
    ] = "bayes",
    prior_mean: Annotated[
        Literal["constant", "zero"],
        typer.Option(
            help="For Bayesian weights: an unknown constant (weights that sum to one), or zero, as in the paper."
        ),
    ] = "constant",
    candidates: Annotated[int, typer.Option(help="Candidates that the design searches.")] = 10_000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> int:
    """Make a quadrature rule, for use from any language."""
    from .rule import rule_and_write

    return rule_and_write(
        measure,
        output,
        kernel=kernel,
        n=n,
        design=design,
        weights=weights,
        prior_mean=prior_mean,
        candidates=candidates,
        seed=seed,
        as_json=as_json,
    )


@app.command(cls=_Command, epilog="Example: [bold]fwbq thin chain.csv -n 100 -o points.csv[/bold]")
def thin(
    chain: Annotated[Path, typer.Argument(help="chain.csv (a column per coordinate) or chain.npy, (N, d).")],
    output: Annotated[Path, typer.Option("--output", "-o", help="points.csv or points.npy.")],
    n: Annotated[int, typer.Option("--n", "-n", help="How many states to choose.")] = 100,
    burn: Annotated[int, typer.Option(help="States at the beginning to leave out.")] = 0,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> int:
    """Choose few states of a Markov chain whose averages are close to those of the whole chain."""
    from .thin import thin_and_write

    return thin_and_write(chain, output, n=n, burn=burn, seed=seed, as_json=as_json)


@app.command(
    cls=_Command,
    epilog="Examples: [bold]fwbq paper all --out figures[/bold], [bold]fwbq paper models --method fwbq[/bold]",
)
def paper(
    figure: Annotated[
        Literal["all", "mean-elements", "points", "mmd", "estimates", "models", "truncated", "features", "bounds"],
        typer.Argument(help="Which figure."),
    ] = "all",
    out: Annotated[Path, typer.Option(help="Directory for figures and their tables.")] = Path("fwbq-paper"),
    method: Annotated[
        Literal["log", "fwbq", "fwlsbq", "sbq"],
        typer.Option(help="For the figure of models: the process on the log likelihood, or the paper's own methods."),
    ] = "log",
    workers: Annotated[int, typer.Option(help="Processes; each figure is computed in one.")] = 1,
    dask: Dask = None,
    seed: Seed = 0,
    progress: Quiet = None,
) -> int:
    """Reproduce the figures of the paper, each with its data as CSV."""
    from ..evaluation import Progress
    from ..paper import FIGURES, make_each
    from .workers import executor

    outputs.directory(out, "out")
    names = list(FIGURES) if figure == "all" else [figure]
    with executor(workers, dask) as where, Progress(len(names), "paper", progress) as bar:
        for name, files in make_each(names, out, seed=seed, method=method, executor=where):
            bar.advance(1)
            say(f"{files[0]}  {FIGURES[name].title}")
    return 0


@app.command(cls=_Command, epilog="Example: [bold]fwbq data hpn-dream data[/bold]")
def data(
    name: Annotated[Literal["hpn-dream", "hpn-dream-insilico", "example"], typer.Argument(help="Which data set.")],
    directory: Annotated[Path, typer.Argument(help="Where to put it.")],
    archive: Annotated[
        Path | None, typer.Option(help="A copy of the source archive, when no index can be reached.")
    ] = None,
) -> int:
    """Fetch the public HPN-DREAM time courses or their in-silico network, or write the example, as tidy CSV."""
    from ..chema import Dataset, hpn_dream, hpn_insilico

    outputs.directory(directory, "directory")
    if name == "example":
        path = directory / "simulated26.csv"
        Dataset.example().to_csv(path)
        say(f"{path}  26 enzymes, simulated; the true regulators are {', '.join(Dataset.example().regulators or ())}")
        return 0
    source = hpn_dream if name == "hpn-dream" else hpn_insilico
    for what, path in source.fetch(directory, archive=archive).items():
        say(f"{path}  {what}")
    say()
    say(source.NOTICE.rstrip())
    return 0
