"""``fwbq thin``: few states of a Markov chain that stand for all."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from .. import _files
from ..thinning import thin
from . import outputs
from .console import say, say_json

SUFFIXES = (".csv", ".npy")


def _read(path: Path) -> tuple[Any, list[str]]:
    """Return the states (N, d) and the names of the coordinates."""
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"`chain` {str(path)!r} must end in .csv or .npy")
    if not path.is_file():
        raise ValueError(f"`chain` {str(path)!r} is not a file: check its name and the directory")
    if path.suffix.lower() == ".npy":
        try:
            states: Any = np.load(path, mmap_mode="r")
        except (ValueError, EOFError, OSError) as error:
            raise ValueError(f"`chain` {str(path)!r} cannot be read as a NumPy array: {error}") from error
        if not isinstance(states, np.ndarray) or not 1 <= states.ndim <= 3:
            what = f"an array of shape {states.shape}" if isinstance(states, np.ndarray) else "an archive of arrays"
            raise ValueError(
                f"`chain` {str(path)!r} holds {what}: save one array of states, (N, d) or (chains, N, d), by np.save"
            )
        if states.ndim == 3:  # (chains, draws, d), as samplers write them
            states = states.reshape(-1, states.shape[-1])
        return states, [f"x{i + 1}" for i in range(states.shape[-1])]
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = csv.reader(file)
            first = next(lines, [])
            bare = all(_is_number(text) for text in first)
            if not first or not (bare or next(lines, None)):
                raise ValueError("it has no states")
        # NumPy reads every number to the last bit; what pandas makes of one depends on its version.
        states = np.loadtxt(
            path, delimiter=",", skiprows=0 if bare else 1, ndmin=2, quotechar='"', comments=None, encoding="utf-8-sig"
        )
    except (ValueError, OSError, csv.Error) as error:
        raise ValueError(
            f"`chain` {str(path)!r} cannot be read as CSV: {str(error)[:200].rstrip('.')}. Every row must hold the "
            "same number of numbers, after at most one row of names; remove columns of text and rows without a number"
        ) from error
    return states, [f"x{i + 1}" for i in range(states.shape[1])] if bare else first


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def thin_and_write(chain: Path, output: Path, *, n: int, burn: int, seed: int, as_json: bool) -> int:
    """Thin the chain, write the states chosen by the suffix of `output`, and say how close they are."""
    outputs.file(output, "--output", ("csv", "npy"), ".csv or .npy")
    states, names = _read(chain)
    if not 0 <= burn < len(states):
        raise ValueError(f"`--burn` must be at least 0 and less than the {len(states)} states, got {burn}")
    chosen = thin(states[burn:], n, rng=seed)
    if output.suffix.lower() == ".npy":
        content = io.BytesIO()
        np.save(content, chosen.points)
        _files.write(output, content.getvalue())
    else:
        import pandas as pd

        frame = pd.DataFrame(chosen.points, columns=names)
        _files.write(output, frame.to_csv(index=False, float_format="%.17g"))
    facts = {
        "states": len(states) - burn, "points": len(chosen), "dimension": int(chosen.points.shape[1]),
        "mmd": chosen.mmd, "mmd_every": chosen.mmd_every, "index": (chosen.index + burn).tolist(),
        "output": str(output),
    }  # fmt: skip
    if as_json:
        say_json(facts)
    else:
        say(f"{len(chosen)} of {facts['states']} states, in {facts['dimension']} dimensions")
        say(f"distance from the chain {chosen.mmd:.3g}; that of evenly spaced states is {chosen.mmd_every:.3g}")
        say(f"saved to {output}")
    return 0
