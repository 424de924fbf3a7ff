"""How far a loop is from closing, how that changes as its frames move, and what a spring that closes it holds.

Of frames a and b, with everything in frame a's axes at its origin, E = R_a*R_b and d = R_a*(x_b − x_a). A displacement
D = [ω; v] of b against a, at a's origin, changes them by δE = ω̃E and δd = v + ω × d.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ... import arrays
from ...arrays import Array
from ...model.loops import RATES_ONLY, TRANSMITTED, Loop
from ...spatial import cross

# Loops whose first row is a moment that turns with b: s (x_b × e) with this sign and this axis e of frame a.
TURNING_MOMENTS = {"universal": (1.0, 1), "line_on_plane": (-1.0, 2)}
Entries = Callable[[int, int], Array]  # those of a matrix


def error(loop: Loop, E: Array, d: Array) -> Array:
    """How far a loop is from closing, (..., m) [rad, m]: zero where it is closed, with the rate Gβ there."""
    if loop.kind == "distance" and loop.length is not None:
        size = arrays.square_length(d)[..., None]
        return (0.5 / loop.length) * size - 0.5 * loop.length
    turn = _turn(loop, E)
    if loop.kind == "constrains":
        return _constrained(loop, turn[..., :, None], d[..., :, None])[..., 0]
    radius = 0.0 if loop.radius is None else loop.radius  # b's plane is one radius away
    rows = []
    for row, i in enumerate(TRANSMITTED[loop.kind]):
        if row in RATES_ONLY.get(loop.kind, ()):
            rows.append(0.0 * d[..., 0])
        elif i >= 3:
            rows.append(d[..., i - 3] + radius if radius else d[..., i - 3])
        else:
            rows.append(turn[..., i])
    return arrays.stack(rows, axis=-1)


def error_change(loop: Loop, E: Array, d: Array, D: Array) -> Array:
    """The change of the error, (..., m, n), with displacements D (..., 6, n); near closing, W*D."""
    moved = D[..., 3:, :] + cross(D[..., :3, :], d[..., :, None])
    if loop.kind == "distance":
        return (d[..., None, :] @ moved) / loop.length
    turn = _turn_change(loop, E, D[..., :3, :])
    if loop.kind == "constrains":
        return _constrained(loop, turn, moved)
    rows = []
    for row, i in enumerate(TRANSMITTED[loop.kind]):
        x = moved[..., i - 3 : i - 2, :] if i >= 3 else turn[..., i : i + 1, :]
        rows.append(0.0 * x if row in RATES_ONLY.get(loop.kind, ()) else x)
    return arrays.concatenate(rows, axis=-2)


def _constrained(loop: Loop, turn: Array, moved: Array) -> Array:
    held = loop.constrains * np.array(loop.holonomic_rows)[:, None]
    rows: Array = arrays.constant(held, like=moved) @ arrays.concatenate([turn, moved], axis=-2)
    return rows


# --- turns -----------------------------------------------------------------------------------------------------------


def leaning_axis(loop: Loop) -> np.ndarray | None:
    """The axis (3,) of a, also one of b, that a loop keeps in its direction, if it leaves turns about it; or None."""
    if loop.kind == "constrains":
        return np.cross(*loop.stopped_turns) if len(loop.stopped_turns) == 2 else None
    turns = [i for i in TRANSMITTED[loop.kind] if i < 3]
    return np.eye(3)[2] if turns == [0, 1] else None


def _stops_all_turns(loop: Loop) -> bool:
    if loop.kind == "constrains":
        return len(loop.stopped_turns) == 3
    return set(TRANSMITTED[loop.kind]) >= {0, 1, 2}


def _turn(loop: Loop, E: Array) -> Array:
    """The error's turn about a's axes, (..., 3); rows that a loop does not stop may hold anything.

    ½vee(E − E*) and (−E₂₃, E₁₃) for small angles, but 2 tan(angle/2) long, and so not zero at π.
    """
    numerator, denominator = _turn_parts(loop, lambda i, j: E[..., i, j])
    turn = arrays.stack(numerator, axis=-1)
    return turn if denominator is None else arrays.stack([2.0 / denominator], axis=-1) * turn


def _turn_change(loop: Loop, E: Array, turned: Array) -> Array:
    """Its change, (..., 3, n), with turns (..., 3, n) of b."""
    columns = [cross(turned, E[..., :, j : j + 1]) for j in range(3)]  # of δE = ω̃E
    numerator, denominator = _turn_parts(loop, lambda i, j: E[..., i, j])
    changes, change = _turn_parts(loop, lambda i, j: columns[j][..., i, :], constant=0.0)
    out = arrays.stack(changes, axis=-2)
    if denominator is None or change is None:
        return out
    s = arrays.stack([2.0 / denominator], axis=-1)[..., None]
    was = arrays.stack(numerator, axis=-1)[..., :, None]
    return s * out - (0.5 * s * s) * was * change[..., None, :]


def _turn_parts(loop: Loop, E: Entries, constant: float = 1.0) -> tuple[list[Array], Array | None]:
    """Numerator and denominator of the turn, both but for a constant linear in E; None where there is none."""
    if loop.kind in TURNING_MOMENTS:
        sign, e = TURNING_MOMENTS[loop.kind]
        x = sign * E(e, 0)
        return [x, x, x], None
    if loop.kind == "rough_line":
        return [0.0 * E(0, 0), -E(2, 0), E(1, 0)], None
    axis = leaning_axis(loop)
    if axis is None:
        vee = [E(2, 1) - E(1, 2), E(0, 2) - E(2, 0), E(1, 0) - E(0, 1)]
        return (
            (vee, constant + E(0, 0) + E(1, 1) + E(2, 2)) if _stops_all_turns(loop) else ([0.0 * x for x in vee], None)
        )
    n = axis.tolist()  # plain numbers, which leave single precision as it is
    away = [_weighted(n, [E(i, j) for j in range(3)]) for i in range(3)]  # En
    cosine = _weighted(n, away)
    lean = [n[(i + 1) % 3] * away[(i + 2) % 3] - n[(i + 2) % 3] * away[(i + 1) % 3] for i in range(3)]  # n × En
    return lean, constant + cosine


def _weighted(weights: list[float], items: list[Array]) -> Array:
    kept = [w * x for w, x in zip(weights, items) if w]
    return arrays.total(kept)


# --- springs ---------------------------------------------------------------------------------------------------------


def spring_energy(loop: Loop, E: Array, d: Array) -> Array:
    """What the spring of a soft loop holds, (...) [J]: the integral of its forces along any way from where it closes.

    ½k g² along slides and about turning moments. A turn by θ against 2k tan(θ/2) holds −4k ln cos(θ/2). Only for loops
    with :attr:`.Loop.holds_energy`.
    """
    k = loop.stiffness or 0.0
    g = error(loop, E, d)
    slides = [i for i, x in enumerate(TRANSMITTED.get(loop.kind, ())) if x >= 3]
    if loop.kind == "constrains":
        slides = [i for i, row in enumerate(loop.constrains) if not row[:3].any()]
    if loop.kind in TURNING_MOMENTS or loop.kind == "distance":
        slides = list(range(loop.size))
    held = arrays.total([0.0 * d[..., 0], *(g[..., i] * g[..., i] for i in slides)]) * (0.5 * k)
    if len(slides) == loop.size:
        return held
    _, denominator = _turn_parts(loop, lambda i, j: E[..., i, j])
    if loop.kind == "rough_line":
        return held + k * (1.0 - E[..., 0, 0])
    if denominator is None:  # a rate alone is stopped
        return held
    return held - 2.0 * k * arrays.log(denominator / (4.0 if leaning_axis(loop) is None else 2.0))
