"""Random configurations of a robot, within the limits of its joints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .joints.kinds import JointKind


def random_configurations(model: Any, rng: np.random.Generator, count: int) -> np.ndarray:
    """So many of them (count, nq), from the same random numbers whether they are drawn together or one by one.

    Joints first draw from all that their kind has (:meth:`.JointKind.random`), then, where each coordinate is a number
    by itself, from within their limits; one that is limited on one side only from within one unit of that limit.
    """
    kept = model._kept_structure
    if random_configurations not in kept:
        ways = [_ways(j.kind, model, where) for j, _, where in model.coordinates]
        evenly = all(type(x.kind).random is JointKind.random for x in ways)
        kept[random_configurations] = _together(ways) if evenly else partial(_one_by_one, ways)
    found: np.ndarray = kept[random_configurations](rng, count)
    return found


def _one_by_one(ways: list[_Ways], rng: np.random.Generator, count: int) -> np.ndarray:
    return np.array([np.concatenate([np.zeros(0), *(x.draw(rng) for x in ways)]) for _ in range(count)])


@dataclass(frozen=True, eq=False)
class _Ways:
    """How the coordinates of one joint are drawn."""

    kind: JointKind
    bounded: np.ndarray | None  # which of them within limits; None where they are not numbers by themselves
    low: np.ndarray
    high: np.ndarray

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        q = self.kind.random(rng)
        return q if self.bounded is None else np.where(self.bounded, rng.uniform(self.low, self.high), q)


def _ways(kind: JointKind, model: Any, where: slice) -> _Ways:
    if kind.nq != kind.nv:
        return _Ways(kind, None, np.zeros(0), np.zeros(0))
    lower, upper = model.lower_limits[where], model.upper_limits[where]
    low = np.where(np.isfinite(lower), lower, upper - 1.0)
    high = np.where(np.isfinite(upper), upper, lower + 1.0)
    bounded = np.isfinite(low) & np.isfinite(high)
    return _Ways(kind, bounded, np.where(bounded, low, 0.0), np.where(bounded, high, 1.0))


def _together(ways: list[_Ways]) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Where all that is drawn are numbers spread evenly: those of all states at once."""
    lows, highs, places, drawn = [np.zeros(0)], [np.zeros(0)], [np.zeros(0, int)], 0
    for x in ways:
        n = x.kind.nq
        low, high = x.kind.ranges()
        place = drawn + np.arange(n)
        if x.bounded is not None:
            low, high = np.where(x.bounded, x.low, low), np.where(x.bounded, x.high, high)
            place = np.where(x.bounded, place + n, place)
        lows, highs, places = [*lows, low], [*highs, high], [*places, place]
        drawn += n if x.bounded is None else 2 * n
    low, used = np.concatenate(lows), np.concatenate(places)
    width = np.concatenate(highs) - low
    return lambda rng, count: low + width * np.take(rng.random((count, drawn)), used, axis=1)  # one after another
