"""Does a fault ever give a wrong answer? The campaign behind docs/faults.md.

Faults are injected at random places of short runs: exceptions raised inside library calls, signals, exhausted disks and
file descriptors, workers that die or are slow, damaged files, clocks that jump. Each run is then repeated as a user
would, with the same journal. A fault is passed when the run gives the bits of an undisturbed one, or ends with a clear
error and its repetition gives them. Run it with ``python -m studies.faults --out DIR``.
"""

from __future__ import annotations

import argparse
import errno
import hashlib
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import fwbq
from fwbq import _files
from fwbq.evaluation import EvaluationError, JournalError
from studies.pages import write_tables

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
PAGE = Path(__file__).parents[1] / "docs" / "faults.md"
COUNT, QUICK_COUNT = 5000, 200
#: Seconds after which a run counts as hanging; undisturbed it takes at most one.
PATIENCE = 60
#: Verdicts: the first two pass. An error that says something else than what happened misleads, but nobody takes it for
#: an answer: it is counted by itself.
SAME, RESUMED, UNCLEAR, FAILED = "same bits", "error, then same bits", "unclear error, then same bits", "failed"
VERDICTS = (SAME, RESUMED, UNCLEAR, FAILED)
#: Lines after the beginning of a call, at most, before which an exception is raised.
_LINES = 12


# -- runs -------------------------------------------------------------------------------------------------------------


def _wave(x: Array) -> Array:
    return np.asarray(np.exp(np.sin(x[:, 0]) - 0.1 * x[:, 1] ** 2))


def _log_normal(x: Array) -> Array:
    return np.asarray(-0.5 * np.sum(((x - 0.3) / 0.2) ** 2, axis=1))


def _log_wide(x: Array) -> Array:
    return np.asarray(-0.5 * np.sum((x + 0.1) ** 2, axis=1))


def _normal(dim: int = 2) -> fwbq.Gaussian:
    return fwbq.Gaussian(np.zeros(dim), np.eye(dim))


def bits(*parts: Any) -> str:
    """Return a digest of numbers and arrays, equal only where all their bits are.

    Examples
    --------
    >>> bits(0.1 + 0.2, [1.0]) == bits(0.3, [1.0])
    False
    """
    total = hashlib.sha256()
    for part in parts:
        total.update(np.ascontiguousarray(part, dtype=np.float64).tobytes())
    return total.hexdigest()[:16]


def _integrate(**options: Any) -> str:
    found = fwbq.integrate(_wave, _normal(), n=24, rng=1, progress=False, **options)
    return bits(found.mean, found.sd, found.interval(0.95), found.points, found.values)


def _net(**options: Any) -> str:
    found = fwbq.integrate(_wave, _normal(), n=512, method="net", rng=2, progress=False, **options)
    return bits(found.mean, found.sd, found.points, found.values)


def _evidence(**options: Any) -> str:
    found = fwbq.evidence(_log_normal, _normal(), n=24, rng=3, progress=False, **options)
    return bits(found.log_evidence, found.sd, found.points, found.values)


def _compare(**options: Any) -> str:
    models = {"narrow": fwbq.Model(_log_normal, _normal()), "wide": fwbq.Model(_log_wide, _normal())}
    found = fwbq.compare_models(models, n=20, rng=4, progress=False, **options)
    return bits(found.evidences.centre, found.evidences.scale, found.map_probability, found.points)


def _select(**options: Any) -> str:
    data = fwbq.chema.Dataset.simulate(n_enzymes=3, rng=5)
    found = fwbq.chema.compare(data, max_enzymes=2, n=10, rng=5, progress=False, **options)
    return bits(found.evidences.centre, found.evidences.scale, found.map_probability)


def _thin(**options: Any) -> str:
    chain = np.cumsum(np.random.default_rng(6).normal(size=(400, 2)), axis=0)
    return bits(fwbq.thin(chain, 20).points)


#: What is disturbed: functions of `executor` and `journal` that return the bits of their answer.
RUNS: dict[str, Callable[..., str]] = {
    "integrate": _integrate, "net": _net, "evidence": _evidence, "compare_models": _compare, "select": _select,
    "thin": _thin,
}  # fmt: skip
#: Runs that evaluate a function, and so have workers and a journal.
EVALUATING = tuple(name for name in RUNS if name != "thin")


def _options(name: str, folder: Path, executor: Executor | None = None) -> dict[str, Any]:
    return {} if name == "thin" else {"journal": folder / "run.db", "executor": executor}


def answer(name: str, folder: Path, executor: Executor | None = None) -> str:
    """Return the bits of a run with its journal in a folder; warnings are not shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RUNS[name](**_options(name, folder, executor))


@dataclass(frozen=True)
class Outcome:
    """One fault: where it was injected, and what came of it."""

    fault: str
    run: str
    seed: int
    place: str
    verdict: str
    words: str = ""


# -- places -----------------------------------------------------------------------------------------------------------


class Hook:
    """Do something at the k-th call of a Python function, some lines after its beginning.

    Parameters
    ----------
    at : int
        Number of the call, from 0; negative only counts.
    line : int
        Lines of that function before it is done; where it has fewer, it is done at its end.
    act : callable
        What is done; it may raise.
    """

    def __init__(self, at: int = -1, line: int = 0, act: Callable[[], None] = lambda: None) -> None:
        self.at, self.line, self.act = at, line, act
        self.calls = 0
        self.codes: list[CodeType] = []
        self.place = ""

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        number, self.calls = self.calls, self.calls + 1
        if self.at < 0:
            self.codes.append(frame.f_code)
        return self._line if number == self.at else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "exception":
            return self._line
        self.line -= 1
        if self.line < 0 or event == "return":
            sys.settrace(None)
            name = Path(frame.f_code.co_filename)
            self.place = f"{name.parent.name}/{name.name}:{frame.f_lineno}"
            self.act()
            return None
        return self._line

    def __enter__(self) -> Hook:
        sys.settrace(self._called)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)


_profiles: dict[str, list[CodeType]] = {}
_truths: dict[str, str] = {}


def truth(name: str) -> str:
    """Return the bits of an undisturbed run, computed once."""
    if name not in _truths:
        with tempfile.TemporaryDirectory() as folder:
            _truths[name] = answer(name, Path(folder))
    return _truths[name]


def _calls(name: str) -> list[CodeType]:
    """Return the functions that a run calls, in their order; computed once."""
    if name not in _profiles:
        truth(name)  # what is loaded with the first run is not counted
        with tempfile.TemporaryDirectory() as folder, Hook() as hook:
            answer(name, Path(folder))
        _profiles[name] = hook.codes
    return _profiles[name]


def _somewhere(name: str, rng: np.random.Generator, act: Callable[[], None]) -> Hook:
    """Return a hook at a random place: half of them at any call, half at any function, however often it is called."""
    calls = _calls(name)
    at = int(rng.integers(len(calls)))
    if rng.random() < 0.5:
        codes = list(dict.fromkeys(calls))
        code = codes[int(rng.integers(len(codes)))]
        at = int(rng.choice([i for i, each in enumerate(calls) if each is code]))
    return Hook(at, int(rng.integers(_LINES)), act)


# -- verdicts ---------------------------------------------------------------------------------------------------------


class HangError(Exception):
    """A run took longer than `PATIENCE`."""


@contextmanager
def _limited() -> Iterator[None]:
    """Raise `HangError` in a run that hangs."""

    def hang(*arguments: object) -> None:
        raise HangError(f"no end after {PATIENCE} s")

    before = signal.signal(signal.SIGALRM, hang)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error)[:160]}"


def judge(
    fault: str,
    name: str,
    seed: int,
    folder: Path,
    disturbed: Callable[[], str],
    expected: tuple[type[BaseException], ...],
    place: Callable[[], str] = lambda: "",
) -> Outcome:
    """Return what came of a disturbed run and of its repetition.

    Parameters
    ----------
    fault, name, seed
        Of the outcome.
    folder : Path
        Where the journal is.
    disturbed : callable
        The run; it returns its bits, or raises.
    expected : tuple of exceptions
        Those that say clearly what happened.
    place : callable
        Where it happened, once it has.
    """
    right = truth(name)
    words, verdict = "", SAME
    try:
        with _limited():
            if disturbed() != right:
                return Outcome(fault, name, seed, place(), FAILED, "other bits without an error")
    except HangError as error:
        return Outcome(fault, name, seed, place(), FAILED, _said(error))
    except BaseException as error:  # an interruption is what was injected
        words, verdict = _said(error), RESUMED if isinstance(error, expected) else UNCLEAR
    left = [path.name for path in folder.iterdir() if path.name.endswith(".tmp")]
    if left:
        return Outcome(fault, name, seed, place(), FAILED, f"left {left[0]} behind")
    try:
        with _limited():
            again = answer(name, folder)
    except BaseException as error:
        return Outcome(fault, name, seed, place(), FAILED, f"the repetition raised {_said(error)}; before: {words}")
    if again != right:
        return Outcome(fault, name, seed, place(), FAILED, f"the repetition has other bits; before: {words}")
    return Outcome(fault, name, seed, place(), verdict, words)


# -- faults -----------------------------------------------------------------------------------------------------------


def _raising(make: Callable[[], BaseException]) -> Callable[[], None]:
    def act() -> None:
        raise make()

    return act


def exception(fault: str, name: str, seed: int, make: Callable[[], BaseException]) -> Outcome:
    """Raise an exception in a random call of a run, in this process, and repeat the run here."""
    hook = _somewhere(name, np.random.default_rng(seed), _raising(make))
    kinds: tuple[type[BaseException], ...] = (type(make()), EvaluationError, JournalError)

    def disturbed() -> str:
        with hook:
            return answer(name, folder)

    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        return judge(fault, name, seed, folder, disturbed, kinds, lambda: hook.place)


def signalled(fault: str, name: str, seed: int, number: signal.Signals) -> Outcome:
    """Let a copy of this process send itself a signal in a random call of a run, and repeat the run here."""
    truth(name)
    hook = _somewhere(name, np.random.default_rng(seed), lambda: os.kill(os.getpid(), number))

    def child(folder: Path) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with hook:
            found = answer(name, folder)
        (folder / "found").write_text(found)

    def disturbed() -> str:
        process = multiprocessing.get_context("fork").Process(target=_quietly, args=(child, folder))
        process.start()
        try:
            process.join(PATIENCE)
            if process.exitcode is None:
                raise HangError(f"no end after {PATIENCE} s")
        finally:
            process.kill()
        if (folder / "found").exists():
            return (folder / "found").read_text()
        raise InterruptedError(f"the process ended with {process.exitcode}")

    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        return judge(fault, name, seed, folder, disturbed, (InterruptedError,), lambda: f"call {hook.at}")


def _quietly(function: Callable[[Path], None], folder: Path) -> None:
    """Call a function, and end without a traceback where it raises."""
    try:
        function(folder)
    except BaseException:
        os._exit(1)


@contextmanager
def _at_most(kind: int, limit: int) -> Iterator[None]:
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, before)


def full_disk(fault: str, name: str, seed: int) -> Outcome:
    """Let no file grow beyond a random size while a run goes on."""
    limit = int(np.random.default_rng(seed).integers(0, 120_000))

    def disturbed() -> str:
        with _at_most(resource.RLIMIT_FSIZE, limit):
            return answer(name, folder)

    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        return judge(fault, name, seed, folder, disturbed, (JournalError, OSError), lambda: f"{limit} bytes")


def few_descriptors(fault: str, name: str, seed: int) -> Outcome:
    """Let a run open at most a few files more than are open."""
    spare = int(np.random.default_rng(seed).integers(0, 6))

    def disturbed() -> str:
        taken = {int(each) for each in os.listdir("/proc/self/fd")}
        free = [number for number in range(max(taken) + 8) if number not in taken]
        with _at_most(resource.RLIMIT_NOFILE, free[spare]):
            return answer(name, folder)

    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        kinds = (JournalError, OSError, EvaluationError)
        return judge(fault, name, seed, folder, disturbed, kinds, lambda: f"{spare} left")


def clock(fault: str, name: str, seed: int) -> Outcome:
    """Let every clock jump by hours, forwards and back, with every look at it."""
    rng = np.random.default_rng(seed)
    names = ("time", "monotonic", "perf_counter")
    real = {each: getattr(time, each) for each in names}

    def disturbed() -> str:
        for each in names:
            setattr(time, each, lambda each=each: real[each]() + rng.normal(0.0, 1e4))
        try:
            return answer(name, folder)
        finally:
            for each in names:
                setattr(time, each, real[each])

    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        return judge(fault, name, seed, folder, disturbed, ())


class _Slow(ThreadPoolExecutor):
    """Threads in which every call waits for a random moment, so that calls end in another order."""

    def __init__(self, seed: int) -> None:
        super().__init__(3)
        self._rng, self._own = np.random.default_rng(seed), threading.Lock()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Hand a call out."""
        with self._own:
            wait = float(self._rng.exponential(2e-3))

        def later() -> Any:
            time.sleep(wait)
            return fn(*args, **kwargs)

        return super().submit(later)


def slow_workers(fault: str, name: str, seed: int) -> Outcome:
    """Let workers answer late and in another order."""

    def disturbed() -> str:
        with _Slow(seed) as executor:
            return answer(name, folder, executor)

    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        return judge(fault, name, seed, folder, disturbed, ())


class _Dying(ProcessPoolExecutor):
    """A pool of processes of which one ends itself in place of a call."""

    def __init__(self, at: int) -> None:
        super().__init__(2, multiprocessing.get_context("fork"))
        self._left = at

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Hand a call out, or the one that kills its worker."""
        self._left -= 1
        if self._left == -1:
            return super().submit(os._exit, 1)
        return super().submit(fn, *args, **kwargs)


def lost_worker(fault: str, name: str, seed: int) -> Outcome:
    """Let a worker process die in place of a random call, and repeat the run without workers."""
    at = int(np.random.default_rng(seed).integers(0, 16))

    def disturbed() -> str:
        with _Dying(at) as executor:
            return answer(name, folder, executor)

    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        return judge(fault, name, seed, folder, disturbed, (EvaluationError,), lambda: f"call {at}")


def _damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Return a content with flipped bits, cut short, or with a part of it overwritten."""
    changed = bytearray(data)
    kind = int(rng.integers(3))
    if kind == 0:
        for position in rng.integers(8 * len(changed), size=int(rng.integers(1, 9))):
            changed[position // 8] ^= 1 << position % 8
    elif kind == 1:
        del changed[int(rng.integers(len(changed))) :]
    else:
        start = int(rng.integers(len(changed)))
        size = min(int(rng.integers(1, 4096)), len(changed) - start)
        changed[start : start + size] = rng.bytes(size) if rng.random() < 0.5 else bytes(size)
    return bytes(changed)


def damaged_journal(fault: str, name: str, seed: int) -> Outcome:
    """Damage the journal of a finished run and repeat the run; where the journal is refused, without it."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        answer(name, folder)
        path = folder / "run.db"
        path.write_bytes(_damaged(path.read_bytes(), rng))

        def disturbed() -> str:
            try:
                return answer(name, folder)
            except JournalError:
                for each in folder.iterdir():
                    each.unlink()  # as the message says: it is moved away
                raise

        return judge(fault, name, seed, folder, disturbed, (JournalError,))


def damaged_result(fault: str, name: str, seed: int) -> Outcome:
    """Damage a saved rule, run or comparison: it is refused, or it says what it said."""
    rng = np.random.default_rng(seed)
    kinds: list[tuple[str, Callable[[Path], Any], Callable[[Path], str]]] = [
        ("rule.json", _rule().save, lambda path: bits(fwbq.load_rule(path).weights, fwbq.load_rule(path).points)),
        ("rule.npz", _rule().save, lambda path: bits(fwbq.load_rule(path).weights, fwbq.load_rule(path).points)),
        ("run.json", _asked().save, lambda path: bits(fwbq.Integration.load(path).ask(8))),
        ("comparison.json", _compared().save, lambda path: bits(fwbq.Comparison.load(path).probabilities(20))),
    ]
    file, save, read = kinds[int(rng.integers(len(kinds)))]
    with tempfile.TemporaryDirectory() as where:
        path = Path(where) / file
        save(path)
        right = read(path)
        whole = path.read_bytes()
        path.write_bytes(_damaged(whole, rng))
        try:
            with _limited():
                found = read(path)
        except ValueError as error:
            path.write_bytes(whole)
            verdict = RESUMED if read(path) == right else FAILED
            return Outcome(fault, "files", seed, file, verdict, _said(error))
        except BaseException as error:
            return Outcome(fault, "files", seed, file, FAILED, f"not a clear error: {_said(error)}")
    same = found == right
    return Outcome(fault, "files", seed, file, SAME if same else FAILED, "" if same else "other bits without an error")


def _rule() -> fwbq.Rule:
    return fwbq.SBQ(fwbq.embed(fwbq.ExpQuad(1.0), _normal()), rng=0).rule(12)


def _asked() -> fwbq.Integration:
    run = fwbq.Integration(_normal(), rng=0)
    points = run.ask(8)
    run.tell(points, _wave(points))
    return run


def _compared() -> fwbq.Comparison:
    return fwbq.compare({"a": (-3.0, 0.1), "b": (-3.5, 0.2), "c": (-9.0, 0.1)})


_FRESH = """
import os, signal, sys
from pathlib import Path
name, at, line, kind, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], Path(sys.argv[5])
sys.argv = sys.argv[:1]
from studies import faults
signal.signal(signal.SIGINT, signal.default_int_handler)
def act():
    if kind == "SIGINT":
        os.kill(os.getpid(), signal.SIGINT)
    else:
        raise {"KeyboardInterrupt": KeyboardInterrupt, "MemoryError": MemoryError}[kind]
with faults.Hook(at, line, act) as hook:
    found = faults.answer(name, folder)
print(hook.calls if at < 0 else "", found, sep="\\n")
"""
_fresh_calls: dict[str, int] = {}


def _fresh(name: str, at: int, line: int, kind: str, folder: Path) -> list[str]:
    """Make a run in a process of its own that has not computed anything yet; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", _FRESH, name, str(at), str(line), kind, str(folder)], capture_output=True, text=True,
        timeout=PATIENCE, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    if done.returncode:
        raise InterruptedError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else str(done.returncode))
    return done.stdout.splitlines()


def fresh_process(fault: str, name: str, seed: int) -> Outcome:
    """Raise an exception while the first run of a process loads what it needs, tables and modules."""
    rng = np.random.default_rng(seed)
    if name not in _fresh_calls:
        with tempfile.TemporaryDirectory() as where:
            _fresh_calls[name] = int(_fresh(name, -1, 0, "", Path(where))[0])
    at, line = int(rng.integers(_fresh_calls[name])), int(rng.integers(_LINES))
    kind = str(rng.choice(["KeyboardInterrupt", "MemoryError", "SIGINT"]))
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        return judge(
            fault, name, seed, folder, lambda: _fresh(name, at, line, kind, folder)[1], (InterruptedError,),
            lambda: f"{kind} in call {at} of {_fresh_calls[name]}",
        )  # fmt: skip


Inject = Callable[[str, str, int], Outcome]

#: Faults: how one is injected, into which runs, and its share of the campaign.
FAULTS: dict[str, tuple[Inject, Sequence[str], int]] = {
    "KeyboardInterrupt in a call": (partial(exception, make=KeyboardInterrupt), tuple(RUNS), 25),
    "MemoryError in a call": (partial(exception, make=MemoryError), tuple(RUNS), 25),
    "ENOSPC in a call": (partial(exception, make=lambda: OSError(errno.ENOSPC, "No space left")), tuple(RUNS), 5),
    "EMFILE in a call": (partial(exception, make=lambda: OSError(errno.EMFILE, "Too many files")), tuple(RUNS), 5),
    "kill -9": (partial(signalled, number=signal.SIGKILL), tuple(RUNS), 8),
    "SIGINT": (partial(signalled, number=signal.SIGINT), tuple(RUNS), 8),
    "SIGTERM": (partial(signalled, number=signal.SIGTERM), tuple(RUNS), 4),
    "full disk": (full_disk, EVALUATING, 5),
    "no file descriptors": (few_descriptors, tuple(RUNS), 5),
    "clock jumps": (clock, tuple(RUNS), 3),
    "slow workers": (slow_workers, EVALUATING, 5),
    "lost worker": (lost_worker, EVALUATING, 5),
    "damaged journal": (damaged_journal, EVALUATING, 10),
    "damaged result": (damaged_result, ("files",), 10),
    "first run of a process": (fresh_process, tuple(RUNS), 3),
}


def plan(count: int, seed: int = 0, without: Sequence[str] = ()) -> list[tuple[str, str, int]]:
    """Return the faults of a campaign: name, run and seed of each, in the proportions of `FAULTS`.

    Examples
    --------
    >>> len(plan(200)), plan(200) == plan(200)
    (200, True)
    """
    names = [name for name in FAULTS if name not in without]
    weights = np.array([FAULTS[name][2] for name in names], dtype=float)
    ends = np.round(np.cumsum(weights / weights.sum()) * count).astype(int)
    out: list[tuple[str, str, int]] = []
    for name, stop in zip(names, ends, strict=True):
        runs = FAULTS[name][1]
        while len(out) < stop:
            i = len(out)
            out.append((name, runs[i % len(runs)], seed * 1_000_000 + i))
    return out


def inject(item: tuple[str, str, int]) -> Outcome:
    """Inject one fault of a plan."""
    fault, name, seed = item
    before = set(os.listdir("/proc/self/fd"))
    outcome = FAULTS[fault][0](fault, name, seed)
    leaked = set(os.listdir("/proc/self/fd")) - before
    if len(leaked) > 4 and outcome.verdict != FAILED:  # a pool or a module that is loaded may leave some
        return Outcome(fault, name, seed, outcome.place, FAILED, f"{len(leaked)} files stay open")
    return outcome


def run(count: int, seed: int = 0, jobs: int = 1, without: Sequence[str] = ()) -> list[Outcome]:
    """Return the outcomes of a campaign."""
    items = plan(count, seed, without)
    if jobs == 1:
        return [inject(item) for item in items]
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(inject, items, chunksize=max(1, len(items) // (20 * jobs))))


def table(outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """Return how often each fault ended in which way."""
    import pandas as pd

    counts = Counter((each.fault, each.verdict) for each in outcomes)
    faults = [fault for fault in FAULTS if any(each.fault == fault for each in outcomes)]
    rows = [
        {"fault": fault, "injected": sum(counts[fault, verdict] for verdict in VERDICTS)}
        | {verdict: counts[fault, verdict] for verdict in VERDICTS}
        for fault in faults
    ]
    total = pd.DataFrame(rows)
    total.loc[len(total)] = ["all", *total.iloc[:, 1:].sum()]
    return total


def markdown(outcomes: Sequence[Outcome]) -> str:
    """Return the tables of the page."""
    counted = table(outcomes)
    lines = ["| " + " | ".join(counted.columns) + " |", "|---" * len(counted.columns) + "|"]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in counted.itertuples(index=False)]
    failed = [each for each in outcomes if each.verdict in (UNCLEAR, FAILED)]
    if failed:
        lines += ["", "What did not pass:", "", "| fault | run | seed | place | what |", "|---|---|---|---|---|"]
        lines += [f"| {e.fault} | {e.run} | {e.seed} | {e.place} | {_cell(e.words)} |" for e in failed]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def main(arguments: Sequence[str] | None = None, *, page: Path = PAGE) -> int:
    """Inject the faults, print the table, write ``faults.csv`` and ``faults.md``; exit code 1 where one failed."""
    import pandas as pd

    parser = argparse.ArgumentParser(prog="python -m studies.faults", description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, help="directory for the tables")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_COUNT} faults: two minutes")
    parser.add_argument("--count", type=int, help=f"how many faults; {COUNT} by default")
    parser.add_argument("--seed", type=int, default=0, help="of the campaign")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 2), help="processes")
    parser.add_argument("--write-docs", action="store_true", help=f"put the tables into docs/{PAGE.name}")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    count = options.count or (QUICK_COUNT if options.quick else COUNT)
    outcomes = run(count, options.seed, options.jobs)
    frame = pd.DataFrame([asdict(each) for each in outcomes])
    _files.write(options.out / "faults.csv", frame.to_csv(index=False, lineterminator="\n"))
    text = markdown(outcomes)
    _files.write(options.out / "faults.md", text)
    if options.write_docs:
        write_tables(page, text)
    sys.stdout.write(text)
    return int(any(each.verdict == FAILED for each in outcomes))


if __name__ == "__main__":
    from studies import faults  # under its own name, by which journals know the functions

    sys.exit(faults.main())
