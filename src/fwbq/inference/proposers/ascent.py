"""The climb to a mode by values and gradients, and the curvature there."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..._whitening import Whitening
from ..mixture import lower_root
from ..tuning import TUNING

Array = NDArray[np.float64]
Reply = tuple[Array, Array]


class WrongGradient(ValueError):
    """The gradients that a function returned contradict its values.

    Raised with ``gradient=True``, when the log density changes otherwise from point to point than the gradients say.
    The usual causes are a sign, a factor, a gradient with respect to other parameters than the function is given, and a
    term that only the value has: the logarithm of a Jacobian, or the prior.

    Examples
    --------
    >>> import numpy as np, fwbq
    >>> def wrong(x):
    ...     return -0.5 * np.sum(x**2, axis=1), x  # the gradient is -x
    >>> try:
    ...     fwbq.evidence(wrong, start=[1.0, 2.0], gradient=True, n=40, rng=0)
    ... except fwbq.WrongGradient as error:
    ...     print(str(error)[:45])
    the gradients are not those of the values: fr
    """


@dataclass(frozen=True, eq=False)
class Top:
    """Where a climb ended.

    Attributes
    ----------
    place : (d,) array
        The highest point.
    value : float
        Its log density.
    gradient : (d,) array
    root : (d, d) array
        A root of the covariance of the Gaussian with the curvature at the top.
    began : (float, float)
        Log density where the climb began, and log volume of a standard deviation by the curvature there.
    """

    place: Array
    value: float
    gradient: Array
    root: Array
    began: tuple[float, float] = (np.nan, np.nan)

    @property
    def narrows(self) -> bool:
        """Whether the density rose on the climb only as much as it became narrower, as towards the neck of a funnel.

        Towards the top of a likelihood of many values it rises by far more.
        """
        shrank = self.began[1] - float(np.linalg.slogdet(self.root)[1])
        return shrank > len(self.place) and self.value - self.began[0] < TUNING.ascent.narrowing * shrank

    @property
    def decrement(self) -> float:
        """Length of the Newton step in standard deviations."""
        return float(np.linalg.norm(self.root.T @ self.gradient))

    @property
    def whitening(self) -> Whitening:
        """Coordinates of the Gaussian at the top, centred a Newton step on where that is a short one."""
        step = self.root @ (self.root.T @ self.gradient) if self.decrement < 1.0 else 0.0
        return Whitening(self.place + step, lower_root(self.root @ self.root.T))

    @property
    def log_mass(self) -> float:
        """Log integral of the Gaussian at the top (Laplace's method)."""
        W = self.whitening
        gain = 0.5 * self.decrement**2 if self.decrement < 1.0 else 0.0
        return self.value + gain + 0.5 * len(self.place) * float(np.log(2.0 * np.pi)) + W.log_volume

    def share(self, z: Array, step: Array) -> float:
        """Return the part of a step (d,) from a point z (d,) that is as long as the way to the top; one at most."""
        W = self.whitening
        way, length = (float(np.linalg.norm(W.forward(x[None]))) for x in (z, W.centre + step))
        return min(1.0, way / max(length, 1e-300))

    def holds(self, z: Array) -> bool:
        """Whether the point z (d,) lies within some standard deviations of the Gaussian at the top."""
        return bool(np.sum(self.whitening.forward(z[None]) ** 2) < TUNING.modes.within**2 * len(z))


#: A climb asks for points (k, d) and is sent their log densities (k,) and gradients (k, d).
Asking = Generator[Array, Reply, Top]


def usable(values: Array, gradients: Array) -> NDArray[np.bool_]:
    """Return where value (k,) and gradient (k, d) are finite."""
    return np.asarray(np.isfinite(values) & np.isfinite(gradients).all(axis=1))


def _differences(
    place: Array, value: float, gradient: Array, steps: Array, fallen: float
) -> Generator[Array, Reply, tuple[Array, Array, Array, NDArray[np.bool_]]]:
    """Ask for the points one step (k, d) away; nearer ones where the density is far lower, or where it is not usable.

    Returns the points, their values, the changes of the gradient for a whole step, and which of them are usable.
    """
    points = place + steps
    values, gradients = yield points
    factors = np.ones(len(steps))
    finite = usable(values, gradients)
    changes = np.where(finite, np.abs(value - np.where(finite, values, 0.0)), np.inf)
    far = changes > fallen
    if far.any():
        # A parabola that changes by c at a whole step changes by a half at this part of it.
        factors[far] = 1.0 / np.sqrt(np.clip(2.0 * changes[far], 1.0, 1e6))
        points = place + factors[:, None] * steps
        nearer, again = yield points[far]
        values, gradients = np.array(values), np.array(gradients)
        values[far], gradients[far] = nearer, again
        finite = usable(values, gradients)
    return points, values, np.where(finite[:, None], (gradients - gradient) / factors[:, None], 0.0), finite


def refuse_wrong_gradient(
    points: Array, values: Array, gradients: Array, place: Array, value: float | Array, at: Array
) -> None:
    """Refuse gradients that contradict the values at points (k, d) near a place (d,), or near one each (k, d).

    Over a short step the value changes by the mean of the slopes at both ends, but for terms of third order.

    Raises
    ------
    WrongGradient
    """
    steps = points - place
    expected = 0.5 * np.sum(steps * (gradients + at), axis=1)
    seen = values - value
    # What single precision leaves of a value, and changes in which the curvature matters, decide nothing.
    floor = 1e-5 * (1.0 + np.abs(value))
    size = np.abs(expected) + np.abs(seen)
    told = np.isfinite(size) & (size > floor)
    wrong = told & (np.abs(seen - expected) > TUNING.ascent.contradiction * size)
    if told.any() and np.sum(wrong) > 0.5 * np.sum(told):
        row = int(np.argmax(np.where(wrong, size, -np.inf)))
        ratio = float(seen[row] / expected[row]) if expected[row] else np.inf
        raise WrongGradient(
            f"the gradients are not those of the values: from one point to another nearby the log density changes by "
            f"{seen[row]:.3g}, while the gradients say {expected[row]:.3g} (a ratio of {ratio:.3g}). Check sign and "
            "scale of the gradient, and that it is taken with respect to the parameters that the function is given, "
            "the logarithm of a Jacobian included where the value has one"
        )


def metric_at(start: Array, value: float, gradient: Array) -> Generator[Array, Reply, Array]:
    """Return a root of the inverse of the absolute curvature at the start, by differences of gradients on every axis.

    This makes what follows independent of the units and the correlation of the parameters. Where a difference is not
    usable the axis keeps its unit.
    """
    numbers = TUNING.ascent
    steps = numbers.difference * np.eye(len(start))
    points, values, changes, finite = yield from _differences(start, value, gradient, steps, numbers.near)
    factors = (points - start)[np.arange(len(start)), np.arange(len(start))] / numbers.difference
    slopes = gradient + changes * factors[:, None]
    near, at, before = points[finite], slopes[finite], values[finite]
    try:
        refuse_wrong_gradient(near, before, at, start, value, gradient)
    except WrongGradient:
        # At a kink of the density, such as the top of a Laplace prior, right gradients look wrong too; beyond it not.
        beyond = 2.0 * near - start
        further, slopes_beyond = yield beyond
        refuse_wrong_gradient(beyond, further, slopes_beyond, near, before, at)
    H = changes / numbers.difference
    H[~finite], H[:, ~finite] = 0.0, 0.0
    H[~finite, ~finite] = 1.0
    # Relative to the diagonal: parameters of unlike size have curvatures that differ by many orders of magnitude.
    diagonal = np.abs(np.diagonal(H))
    sizes = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.maximum(diagonal, np.finfo(float).tiny)), 1.0)
    eigenvalues, axes = np.linalg.eigh(0.5 * (H + H.T) * np.outer(sizes, sizes))
    return np.asarray(sizes[:, None] * axes / np.sqrt(np.maximum(np.abs(eigenvalues), numbers.least)))


@dataclass(eq=False)
class _Search:
    """A line search in progress: along `direction` from a point with a value and a slope."""

    value: float
    slope: float
    length: float
    t: float = 1.0
    low: float = 0.0
    bounded: bool = False
    best: tuple[float, Array, Array] | None = None

    def next(self, point: Array, value: float, gradient: Array, left: float) -> bool:
        """Take in the value at a point, with the slope that is left there; True when the search goes on at `t`."""
        numbers = TUNING.ascent
        fine = np.isfinite(value) and bool(np.isfinite(gradient).all())
        if not fine or value < self.value + numbers.rise * self.t * self.slope:
            self.bounded = True
            # The parabola through value and slope at the start and the value here; a tenth where there is none.
            fall = self.value + self.t * self.slope - value if fine else np.inf
            share = float(np.clip(0.5 * self.t * self.slope / fall if fall > 0.0 else 0.5, 0.1, 0.5))
            self.t = self.low + (self.t - self.low) * share
            return self.t * self.length > 1e-14
        if self.best is None or value > self.best[0]:
            self.best = value, gradient, point
        if left <= numbers.steep * self.slope or self.bounded:
            return False
        self.low = self.t
        self.t *= float(np.clip(self.slope / max(self.slope - left, 1e-300), 2.0, numbers.growth))
        return True


def climb(
    start: Array,
    root: Array | None,
    budget: int,
    tops: tuple[Top, ...] = (),
    first: tuple[float, Array] | None = None,
) -> Asking:
    """Climb from a start by quasi-Newton steps (BFGS), and return the top with the metric that the steps have learnt.

    Parameters
    ----------
    start : (d,) array
    root : (d, d) array or None
        A root of the metric to begin with; by differences of gradients at the start when None.
    budget : int
        Most evaluations.
    tops : tuple of Top
        Modes that are known: the climb ends when it reaches one.
    first : tuple of float and (d,) array, optional
        Log density and gradient at the start, where they are known.
    """
    numbers = TUNING.ascent
    spent = 0
    if first is None:
        values, gradients = yield start[None]
        first, spent = (float(values[0]), gradients[0]), 1
    x, (value, g) = start, first
    if not (np.isfinite(value) and np.isfinite(g).all()):
        return Top(x, -np.inf, np.zeros(len(x)), np.eye(len(x)) if root is None else root)
    if root is None:
        root = yield from metric_at(start, value, g)
        spent += len(start)
    B = root @ root.T
    began = value, float(np.linalg.slogdet(root)[1])
    longest = numbers.longest
    # A metric from elsewhere may be far too narrow here, so that no step seems worth it: one is made, and the metric is
    # scaled to the change of the gradient along it. Where tops are known nobody measures the curvature afterwards.
    updated, tested = False, not tops
    while spent < budget and not any(top.holds(x) for top in tops):
        direction = B @ g
        arrived = updated and 0.5 * float(g @ direction) <= numbers.arrived
        if not direction.any() or (arrived and tested):
            break
        if arrived:
            # Where no mode is known the metric may still be too narrow, or it has learnt of a curvature that was far
            # away: a longer step in the metric that it began with must not rise.
            B, updated = root @ root.T, False
            direction = numbers.growth * (B @ g)
        # Moves longer than anything seen before are cut, in units of the coordinates.
        # Near a mode that is known they are no longer than the way there, in its standard deviations.
        direction = direction * min((top.share(x, direction) for top in tops), default=1.0)
        length = float(np.max(np.abs(direction)))
        if length > longest:
            direction, length = direction * (longest / length), longest
            longest *= numbers.growth
        search = _Search(value, float(direction @ g), length / (1.0 + float(np.max(np.abs(x)))))
        going = True
        while going and spent < budget:
            point = x + search.t * direction
            values, gradients = yield point[None]
            spent += 1
            going = search.next(point, float(values[0]), gradients[0], float(direction @ gradients[0]))
        tested = tested or (arrived and search.t < 1.0)
        if search.best is None:
            break
        value, after, point = search.best
        s, y = point - x, g - after
        sy = float(s @ y)
        if sy > 1e-12 * float(np.linalg.norm(s) * np.linalg.norm(y)):
            if not updated:
                B, updated = B * max(1.0, sy / float(y @ B @ y)), True
            u = B @ y
            B = B + (1.0 + float(y @ u) / sy) * np.outer(s, s) / sy - (np.outer(s, u) + np.outer(u, s)) / sy
            B = 0.5 * (B + B.T)
        x, g = point, after
    eigenvalues, axes = np.linalg.eigh(B)
    return Top(x, value, g, axes * np.sqrt(np.maximum(eigenvalues, 1e-14 * eigenvalues[-1])), began)


def curvature(top: Top) -> Generator[Array, Reply, tuple[Top, float]]:
    """Measure the curvature at the top by differences of gradients, one standard deviation along the axes of its root.

    Returns the top with its new root, and the smallest curvature relative to what the old root had led to expect: one
    where that was right.
    """
    numbers = TUNING.ascent
    S = top.root
    _, _, changes, finite = yield from _differences(top.place, top.value, top.gradient, S.T, numbers.fallen)
    J = -changes @ S
    J[~finite] = np.eye(len(S))[~finite]
    H = 0.5 * (J + J.T)
    # Relative to the diagonal, so that one steep axis hides no other.
    sizes = 1.0 / np.sqrt(np.maximum(np.abs(np.diagonal(H)), numbers.flat**2))
    eigenvalues, axes = np.linalg.eigh(H * np.outer(sizes, sizes))
    root = (S * sizes) @ (axes / np.sqrt(np.maximum(np.abs(eigenvalues), numbers.flat)))
    return replace(top, root=root), float(eigenvalues[0])


def find_top(start: Array, root: Array | None, budget: int, tops: tuple[Top, ...] = ()) -> Asking:
    """Climb, measure the curvature, climb again in its metric, until the Newton step is below one standard deviation.

    Parameters
    ----------
    start : (d,) array
    root : (d, d) array or None
        As for `climb`.
    budget : int
        Evaluations that it may spend; at least one climb and one measurement are made.
    tops : tuple of Top
        Modes that are known: it ends, without a measurement, when it reaches one.
    """
    d = len(start)
    spent = 0
    place = start
    first: tuple[float, Array] | None = None
    began: tuple[float, float] | None = None
    for _ in range(TUNING.ascent.passes):
        asking = climb(place, root, max(8 + d, budget - spent - d), tops, first)
        try:
            points = next(asking)
            while True:
                spent += len(points)
                points = asking.send((yield points))
        except StopIteration as end:
            top: Top = end.value
        began = began or top.began
        gained = top.value - (first[0] if first is not None else -np.inf)
        if not np.isfinite(top.value) or any(known.holds(top.place) for known in tops):
            return top
        top, least = yield from curvature(replace(top, began=began))
        spent += d
        place, root, first = top.place, top.root, (top.value, top.gradient)
        # A climb in the metric that was measured last, which gains nothing, was at the top before.
        right = least > TUNING.ascent.right or gained < TUNING.ascent.arrived
        if (top.decrement < 1.0 and right) or spent + d > budget:
            break
    return top


@dataclass(eq=False)
class Ascent:
    """A climb in progress, which asks for points and is told what was found there.

    What it does is a function of its arguments and of the replies, so that it is written down as these.

    Attributes
    ----------
    start : (d,) array
    root : (d, d) array or None
    budget : int
    further : bool
        Whether it is a short one, without a measurement of the curvature.
    tops : tuple of Top
        Modes at which it ends.
    wide : bool
        Whether it began far from them, at a point of the spread.
    rows : list of int
        Rows of the data that it was told, in order.
    highest : int
        The row of the highest of them.
    top : Top or None
        Where it ended.
    counted : bool
        Whether the run has taken note of where it ended.
    points : (k, d) array
        Points that it asks for; empty when it has ended.
    """

    start: Array
    root: Array | None
    budget: int
    further: bool = False
    tops: tuple[Top, ...] = ()
    wide: bool = False

    def __post_init__(self) -> None:
        self.rows: list[int] = []
        self.highest, self._height = -1, -np.inf
        self.top: Top | None = None
        self.counted = False
        self._asking = (
            climb(self.start, self.root, self.budget, self.tops)
            if self.further
            else find_top(self.start, self.root, self.budget, self.tops)
        )
        self.points = next(self._asking)

    def tell(self, rows: list[int], values: Array, gradients: Array) -> None:
        """Take in log densities (k,) and gradients (k, d) at the points asked for, which stand in rows of the data."""
        self.rows += rows
        heights = np.where(usable(values, gradients), values, -np.inf)
        if heights.max() > self._height:
            self.highest, self._height = rows[int(np.argmax(heights))], float(heights.max())
        try:
            self.points = self._asking.send((np.array(values), np.array(gradients)))
        except StopIteration as end:
            self.top, self.points = end.value, self.points[:0]
