"""What a run knows: the points it has asked for, the values it was told, and what it made of them; one value."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _validate, kernels
from .._reason import Reason
from ..kernels import Kernel
from ..measures import Measure
from .frame import in_scores

FloatArray = NDArray[np.float64]

#: Relative difference of two values of one point that is rounding.
SAME = 1e-8
#: Entries of `State.record` that every file of a run has.
ENTRIES = ("entropy", "asked", "waiting", "known", "width", "counts", "search", "ended")


@dataclass(frozen=True, eq=False)
class State:
    """The state of a run. Each method that adds to it returns a new state and leaves the old one as it was.

    Points are found by their bytes; a zero in them is never -0.0.

    Attributes
    ----------
    entropy : list of int
        Two numbers, from which every seed of the run is spawned.
    asked : tuple of (d,) arrays
        All points asked for, in order, repeats included.
    waiting : dict
        From the points asked for that have no value to their places in `asked`.
    known : dict
        From the points that have a value to the pair of them: (d,) array, () or (m,) array.
    width : int or None
        Number m of columns; 0 for a single integral, None as long as there is no value.
    skipped : int
        Number of points given up.
    asks : int
        Number of batches chosen under a fitted kernel.
    spread : int
        Number of evenly spread points.
    search : (int, Kernel) or None
        Number of values at the last fit, and the kernel for the choice of points that it found.
    leading : Kernel or None
        The most probable kernel of that fit.
    scores : bool or None
        Whether these kernels are of the normal scores of skew inputs (`fwbq.integration.frame.in_scores`); None before
        the first fit.
    filled : int or None
        Number of points that the kernel of the last fit could tell apart, if points were then chosen under a rougher
        one.
    ended : str or None
        Why there were fewer points than asked for.
    reason : Reason or None
        The same, as a member of the enumeration.
    """

    entropy: list[int]
    asked: tuple[FloatArray, ...] = ()
    waiting: dict[bytes, int] = field(default_factory=dict)
    known: dict[bytes, tuple[FloatArray, FloatArray]] = field(default_factory=dict)
    width: int | None = None
    skipped: int = 0
    asks: int = 0
    spread: int = 0
    search: tuple[int, Kernel] | None = None
    leading: Kernel | None = None
    scores: bool | None = None
    filled: int | None = None
    ended: str | None = None
    reason: Reason | None = None

    def seed(self, *key: int) -> np.random.SeedSequence:
        """Return the seed of one purpose."""
        return np.random.SeedSequence(self.entropy, spawn_key=key)

    def with_asked(self, points: FloatArray) -> State:
        """Add points (n, d) that were asked for."""
        waiting = dict(self.waiting)
        for place, point in enumerate(points, start=len(self.asked)):
            if point.tobytes() not in self.known:
                waiting.setdefault(point.tobytes(), place)
        return replace(self, asked=(*self.asked, *points), waiting=waiting)

    def with_told(self, points: FloatArray, values: FloatArray) -> State:
        """Add values (n,) or (n, m) at points (n, d).

        Raises
        ------
        ValueError
            When they are of another width, or contradict what is known.
        """
        if not len(points):
            return self
        width = 0 if values.ndim == 1 else values.shape[1]
        if self.width not in (None, width):
            shapes = ["(n,)" if w == 0 else f"(n, {w})" for w in (self.width, width)]
            raise ValueError(f"`values` must have shape {shapes[0]} like the values told before, got {shapes[1]}")
        known, waiting = dict(self.known), dict(self.waiting)
        for point, value in zip(points, values, strict=True):
            before = known.setdefault(point.tobytes(), (point.copy(), np.array(value)))[1]
            if not same_value(before, value):
                raise ValueError(
                    f"`values` at the point {point.tolist()} is {value.tolist()}, but {before.tolist()} was told "
                    "before: an integrand has one value at a point (if it is noisy, average, or move the point)"
                )
            waiting.pop(point.tobytes(), None)
        return replace(self, known=known, waiting=waiting, width=width)

    def without(self, points: FloatArray) -> State:
        """Give up points (n, d) that are waited for.

        Raises
        ------
        ValueError
            For a point that is not waited for.
        """
        refuse_not_waiting(points, self.waiting.keys())
        gone = {point.tobytes() for point in points}
        waiting = {key: place for key, place in self.waiting.items() if key not in gone}
        return replace(self, waiting=waiting, skipped=self.skipped + len(gone))

    def ending(self, reason: Reason | None, n: int, status: str = "") -> State:
        """Note why there are fewer points than asked for, or that there are not."""
        return replace(self, reason=reason, ended=None if reason is None else reason.sentence(n=n, status=status))

    def data(self) -> tuple[FloatArray, FloatArray]:
        """Return all points (n, d) and their values, in an order that does not depend on the order of telling."""
        _validate.some_values(len(self.known))
        known = [self.known[key] for key in self._order()]
        return np.array([x for x, _ in known]), np.array([f for _, f in known])

    def everywhere(self, dim: int) -> FloatArray:
        """Return all points known and waiting, (n, dim), in an order that does not depend on the order of telling."""
        known = [self.known[key][0] for key in self._order()]
        waiting = [self.asked[place] for place in sorted(self.waiting.values())]
        return np.array([*known, *waiting]).reshape(-1, dim)

    def _order(self) -> list[bytes]:
        """Keys of the known points in the order asked, then those never asked for, sorted."""
        place: dict[bytes, int] = {}
        for j, point in enumerate(self.asked):
            place.setdefault(point.tobytes(), j)
        last = len(self.asked)
        return sorted(self.known, key=lambda key: (place.get(key, last), tuple(self.known[key][0])))

    def record(self) -> dict[str, Any]:
        """Return the state as strict JSON can hold it, exact to the bit."""
        return {
            "entropy": self.entropy,
            "asked": [point.tolist() for point in self.asked],
            "waiting": sorted(self.waiting.values()),
            "known": [[point.tolist(), value.tolist()] for point, value in self.known.values()],
            "width": self.width,
            "counts": [self.skipped, self.asks, self.spread],
            "search": None if self.search is None else [self.search[0], self.search[1].spec()],
            "leading": None if self.leading is None else self.leading.spec(),
            "scores": self.scores,
            "filled": self.filled,
            "ended": self.ended,
            "reason": None if self.reason is None else self.reason.name,
        }

    @classmethod
    def of_record(cls, content: dict[str, Any], measure: Measure) -> State:
        """Return the state of a `record`, every entry of which is checked.

        Raises
        ------
        ValueError
            When an entry is not what `record` could have written.
        """
        asked = _asked(content["asked"], measure)
        known = _known(content["known"], measure, content["width"])
        skipped, asks, spread = whole_numbers(content["counts"], "counts", 2**63, 3)
        return cls(
            entropy=whole_numbers(content["entropy"], "entropy", 2**63, 2),
            asked=asked,
            waiting=_waiting(content["waiting"], asked, known),
            known=known,
            width=content["width"],
            skipped=skipped,
            asks=asks,
            spread=spread,
            search=_search(content["search"]),
            # What follows was not in the first format, but for the end.
            leading=_leading(content.get("leading")),
            scores=_scores(content.get("scores", None if content["search"] is None else False), measure),
            filled=_filled(content.get("filled")),
            ended=_ended(content["ended"]),
            reason=_reason(content.get("reason")),
        )


def _asked(record: Any, measure: Measure) -> tuple[FloatArray, ...]:
    require(isinstance(record, list), "asked is not a list of points")
    if not record:
        return ()
    points = _validate.points(record, "asked", measure.dim) + 0.0
    outside = np.any((points < measure.lower) | (points > measure.upper), axis=1)
    require(not outside.any(), f"the point {points[outside.argmax()].tolist()} lies outside the support of the measure")
    return tuple(point.copy() for point in points)


def _known(record: Any, measure: Measure, width: Any) -> dict[bytes, tuple[FloatArray, FloatArray]]:
    pairs = isinstance(record, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in record)
    require(pairs, "known is not a list of points with their values")
    require((width is None) == (not record), "width and known values do not fit")
    if not record:
        return {}
    require(type(width) is int and width >= 0, "width is not a whole number")
    points = _validate.points([point for point, _ in record], "known", measure.dim) + 0.0
    values = _validate.values([value for _, value in record], "known values", len(points))
    require(values.shape[1:] == ((width,) if width else ()), "known values do not have the width that is given")
    known = {point.tobytes(): (point.copy(), np.array(value)) for point, value in zip(points, values, strict=True)}
    require(len(known) == len(points), "a known point comes twice")
    return known


def _waiting(record: Any, asked: tuple[FloatArray, ...], known: dict[bytes, Any]) -> dict[bytes, int]:
    rows = whole_numbers(record, "waiting", len(asked))
    waiting = {asked[row].tobytes(): row for row in rows}
    require(
        len(waiting) == len(rows) and not waiting.keys() & known.keys(), "waiting has a point that is not waited for"
    )
    return waiting


def _search(record: Any) -> tuple[int, Kernel] | None:
    if record is None:
        return None
    require(isinstance(record, list) and len(record) == 2, "search is not a number of values and a kernel")
    return _validate.count(record[0], "search"), kernels.from_spec(record[1])


def _leading(record: Any) -> Kernel | None:
    require(record is None or isinstance(record, dict), "leading is not a kernel")
    return None if record is None else kernels.from_spec(record)


def _scores(record: Any, measure: Measure) -> bool | None:
    require(record is None or type(record) is bool, "scores is not true or false")
    require(not record or in_scores(measure) is not None, "scores are of a measure without skew inputs")
    return None if record is None else bool(record)


def _filled(record: Any) -> int | None:
    return None if record is None else _validate.count(record, "filled")


def _ended(record: Any) -> str | None:
    require(record is None or isinstance(record, str), "ended is not a text")
    return None if record is None else str(record)


def _reason(record: Any) -> Reason | None:
    known = record is None or (isinstance(record, str) and record in Reason.__members__)
    require(known, f"its reason {record!r:.60} is unknown")
    return None if record is None else Reason[record]


def same_value(before: ArrayLike, value: ArrayLike) -> bool:
    """Whether two values of one point are the same but for rounding: a vectorised f may round otherwise among others.

    They may differ by `SAME`, relative to the larger of one and their size.

    Examples
    --------
    >>> same_value(1.0, 1.0 + 1e-12), same_value(1.0, 1.001)
    (True, False)
    """
    return bool(np.all(np.isclose(before, value, rtol=SAME, atol=SAME)))


def refuse_not_waiting(points: FloatArray, waiting: Collection[bytes]) -> None:
    """Refuse to give up points (n, d) that are not among those `waiting`, which are named by their bytes.

    Raises
    ------
    ValueError
        Naming the first of them.
    """
    for point in points:
        if point.tobytes() not in waiting:
            raise ValueError(
                f"`points` has {point.tolist()}, which is not waiting for a value: skip points that `ask` returned and "
                "that were not told"
            )


def whole_numbers(record: Any, name: str, limit: int, length: int | None = None) -> list[int]:
    """Return a list of whole numbers below a limit, or raise."""
    fits = isinstance(record, list) and all(type(each) is int and 0 <= each < limit for each in record)
    number = "" if length is None else f"{length} "
    require(
        fits and length in (None, len(record)), f"{name} is not a list of {number}whole numbers from 0 to {limit - 1}"
    )
    return list(record)


def require(good: bool, problem: str) -> None:
    """Raise the error of a damaged file, unless the condition `good` holds."""
    if not good:
        raise ValueError(f"is damaged: {problem}")
