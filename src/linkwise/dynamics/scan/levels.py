"""Which bodies and segments meet in which step of a scan: rake and compress (math notes 6.2), from the tree alone.

A *segment* is a run of bodies whose joints are closed: it hangs on the body inboard of it, and at most one body, at its
*port*, hangs on it that it does not hold. In one level, side by side,

* bodies close: their own joint is eliminated, what has finished on them (segments without a port) folded into their
  inertia, and they become segments. A body may do so while one of its children is still open: that one is at its port;
* segments meet: one that has another at its port becomes one with it.

Each level takes away a share of what is left, so that there are O(log n) of them for any tree.

**Light bodies.** To close a body before what it carries divides by its own D = HMH* + Γ alone, not by that of all it
carries. Where its own is the much smaller, digits are lost as the ratio (math notes 14.6 (a)), and where it is none
there is nothing to divide by. Such bodies wait until the segment outboard of them is there, and take it in. So does
every other body of a chain, as that costs less than two segments that meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from ... import arrays, singularity
from ...model.model import BodyConstants, Model
from .stacked import carried_nearby, padded

# Of D against what the body and its children may have along the same directions: joints that are lighter wait. Errors
# grow as this (n = 64, every second link lighter by s: 1e-15 / s); links of one make have 3 to 30.
_LIGHT = 100.0

# How many such bodies in a row may wait for each other before one that has any inertia of its own goes on: a run of
# roll joints along slender links would be one long sweep. Joints that have less than 1/_NONE of it wait nevertheless.
_RUN = 8
_NONE = 1e8


@dataclass(frozen=True, eq=False)
class Closing:
    """Bodies with joints of one size that close in a level."""

    size: int
    bodies: np.ndarray  # (m,)
    held: np.ndarray  # (m, c) places of the segments that fold into them; 0 is none
    through: np.ndarray  # (m,) place of the one among them whose port stays open; 0 is none
    is_open: np.ndarray  # (m,) whether something is still to come at the port


@dataclass(frozen=True, eq=False)
class Level:
    """One step. Places are those of the segments before it, the first of which, 0, is no segment at all."""

    kept: np.ndarray  # (m,) that stay as they are
    closings: tuple[Closing, ...]
    outer: np.ndarray  # (m,) those that meet, the outboard and
    inner: np.ndarray  # the inboard one of each pair


@dataclass(frozen=True, eq=False)
class _Segment:
    top: int  # its innermost body
    port: int | None  # the body that hangs on it and is not part of it


def levels(model: Model) -> tuple[Level, ...]:
    """The levels of a scan over this robot; in the end there is one segment for each body on the world."""
    waits = waiting(model)
    left = set(range(len(model.bodies)))
    segments: list[_Segment] = []
    out = []
    while left or any(s.port is not None for s in segments):
        level, segments = _level(model, waits, left, segments)
        out.append(level)
    return tuple(out)


def _level(
    model: Model, waits: Sequence[bool], left: set[int], segments: list[_Segment]
) -> tuple[Level, list[_Segment]]:
    place = {s.top: i + 1 for i, s in enumerate(segments)}  # by the innermost body
    found = [_closed(model, waits[k], k, place, segments) for k in sorted(left)]
    closed = sorted((x for x in found if x is not None), key=lambda x: (model.joints[x.body].kind.nv, x.body))
    left.difference_update(x.body for x in closed)
    taken = {i for x in closed for i in x.held}
    pairs = _pairs(place, taken, segments)
    taken.update(i for pair in pairs for i in pair)
    kept = [i for i in range(1, len(segments) + 1) if i not in taken]
    after = [segments[i - 1] for i in kept] + [_Segment(x.body, x.port) for x in closed]
    after += [_Segment(segments[j - 1].top, segments[i - 1].port) for i, j in pairs]
    by_size = groupby(closed, lambda x: model.joints[x.body].kind.nv)
    closings = tuple(_closing(r, list(group)) for r, group in by_size)
    outer, inner = (_row(pair[side] for pair in pairs) for side in (0, 1))
    return Level(_row(kept), closings, outer, inner), after


class _Joint(NamedTuple):
    """A body that closes."""

    body: int
    held: list[int]  # the segments that fold into it
    through: int  # the one among them whose port stays open, or 0
    port: int | None


def _closed(model: Model, waits: bool, k: int, place: dict[int, int], segments: list[_Segment]) -> _Joint | None:
    """Body k where it can close; else None."""
    finished = [place[c] for c in model.children[k] if c in place and segments[place[c] - 1].port is None]
    pending = [c for c in model.children[k] if place.get(c) not in finished]
    if not pending:
        return _Joint(k, finished, 0, None)
    if len(pending) > 1 or (waits and pending[0] not in place):
        return None
    if not waits:
        return _Joint(k, finished, 0, pending[0])
    through = place[pending[0]]
    return _Joint(k, [*finished, through], through, segments[through - 1].port)


def _closing(size: int, joints: list[_Joint]) -> Closing:
    held = padded([x.held for x in joints], 0)
    is_open = np.array([x.port is not None for x in joints])
    return Closing(size, _row(x.body for x in joints), held, _row(x.through for x in joints), is_open)


def _pairs(place: dict[int, int], taken: set[int], segments: list[_Segment]) -> list[tuple[int, int]]:
    """(outboard, inboard) segments that meet: every two neighbours along each run of them, from its outer end."""
    free = {i for i in range(1, len(segments) + 1) if i not in taken}
    ports = {i: segments[i - 1].port for i in free}
    outboard = {i: place[c] for i, c in ports.items() if c is not None and place.get(c) in free}
    inboard = {j: i for i, j in outboard.items()}
    found = []
    for i in sorted(free - set(outboard)):
        outer: int | None = i
        while outer is not None and (inner := inboard.get(outer)) is not None:
            found.append((outer, inner))
            outer = inboard.get(inner)
    return found


def _row(places: Any) -> np.ndarray:
    return np.array(list(places), dtype=int)


# --- who waits ---------------------------------------------------------------------------------------


def waiting(model: Model) -> list[bool]:
    """Which bodies wait for the segment outboard of them before they close; those that carry nothing do not."""
    ratios = [_lightness(model, k) for k in range(len(model.bodies))]
    out = [False] * len(ratios)
    run = [0] * len(ratios)  # how many in a row wait, this one included
    for k in reversed(range(len(ratios))):
        children = model.children[k]
        behind = max((run[c] for c in children), default=0)
        light = ratios[k] > (_LIGHT if behind < _RUN else _NONE)
        out[k] = bool(children) and (light or (len(children) == 1 and not behind))
        run[k] = behind + 1 if out[k] else 0
    return out


def _lightness(model: Model, k: int) -> float:
    """Σ c_j (D⁻¹)_jj of the body alone, c_j what it and its children may have along direction j of its joint."""
    constants = model.constants()
    c = constants[k]
    if not c.kind.nv or not all(_is_known(constants[i]) for i in (k, *model.children[k])):
        return 0.0
    H = c.kind.H_star.T
    D = H @ arrays.as_numpy(c.M.matrix) @ H.T + (0.0 if c.reflected is None else c.reflected)
    sizes = arrays.as_numpy(carried_nearby(model, k))
    if len(D) == 1:
        return float(sizes[0] / D[0, 0]) if D[0, 0] > 0.0 else float("inf")
    found, singular = singularity.inverse(D, sizes)
    return float("inf") if bool(np.any(singular)) else float(np.sum(sizes * np.diagonal(arrays.as_numpy(found))))


def _is_known(c: BodyConstants) -> bool:
    """Whether its numbers can be looked at now, and are no tracers of JAX."""
    return all(arrays.is_eager(x) for x in (c.M.J, c.M.h, c.placement.l))
