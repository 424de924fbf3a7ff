"""States that close: the closed configuration nearest to a guess, and how many ways are left to move.

"Nearest" is in the norm of the kinetic energy: δq = −𝓜⁻¹G*X⁺g and δβ = −𝓜⁻¹G*X⁺Gβ (math notes on closed chains 2.5).
On numbers only: how many steps it takes depends on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...arrays import as_numpy
from ...errors import ClosureError
from ...model.loops import Loop
from ...model.model import Model
from ...tolerances import CLOSED, LIGHT, RANK, RANK_ROUNDINGS, roundings
from .. import mass
from . import constraints
from .scales import force_scales, typical_length

STEPS = 100


def closed_configuration(
    model: Model,
    q: np.ndarray,
    loops: Sequence[Loop],
    kept: Sequence[int],
    integrate: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """The closed configuration next to q (states, nq), with the bodies ``kept`` not moved by their joints.

    Gauss–Newton steps, halved where they lead away; an error names the loop that does not close.
    """
    if not loops:
        return q
    free = np.ones(model.nv, dtype=bool)
    for k in kept:
        free[model.v_slices[k]] = False
    bound = CLOSED * (1.0 + typical_length(model))
    size, best = _size(model, q, loops), q
    length = np.ones(len(q))
    for _ in range(STEPS):
        open_ = size > bound
        if not open_.any():
            break
        try:
            step = np.where(open_[:, None], _step(model, best, loops, free), 0.0)
        except np.linalg.LinAlgError:  # numbers beyond all bounds: there is no step, and what is open stays open
            break
        tried = integrate(best, length[:, None] * step)
        reached = _size(model, tried, loops)
        nearer = open_ & (reached < (1.0 - 0.1 * length) * size)
        best = np.where(nearer[:, None], tried, best)
        size = np.where(nearer, reached, size)
        length = np.where(nearer, np.minimum(1.0, 2.0 * length), 0.5 * length)
        if (length[open_] < 1e-6).all():
            break
    _refuse_open(model, best, loops, size, bound, kept)
    return best


def _size(model: Model, q: np.ndarray, loops: Sequence[Loop]) -> np.ndarray:
    """The largest error of the loops in each state; infinite where one is turned the wrong way round."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        error = np.abs(as_numpy(constraints.error(model, q, loops))).max(axis=-1)
    return np.where(np.isfinite(error), error, np.inf)


def _step(model: Model, q: np.ndarray, loops: Sequence[Loop], free: np.ndarray) -> np.ndarray:
    """−𝓜⁻¹G*X⁺g over the joints that may move; a joint that nothing resists counts as light, not as an error.

    Rows that stop rates alone do not count: they say nothing of where things are.
    """
    held = np.array([row for loop in loops for row in loop.holonomic_rows])
    G = as_numpy(constraints.jacobian(model, q, loops))[..., held, :][..., :, free]
    M = as_numpy(mass.METHODS["composite"](model, q))[..., free, :][..., :, free]
    heavy = np.abs(np.diagonal(M, axis1=-2, axis2=-1)).max(axis=-1, initial=1e-12)
    M = M + (LIGHT * heavy)[..., None, None] * np.eye(M.shape[-1])
    g = as_numpy(constraints.error(model, q, loops))[..., held]
    Y = np.linalg.solve(M, G.swapaxes(-1, -2))
    step = np.zeros((len(q), model.nv))
    step[:, free] = -(Y @ (np.linalg.pinv(G @ Y, rcond=RANK, hermitian=True) @ g[..., None]))[..., 0]
    return step


def _refuse_open(
    model: Model, q: np.ndarray, loops: Sequence[Loop], size: np.ndarray, bound: float, kept: Sequence[int]
) -> None:
    if (size <= bound).all():
        return
    state = int(np.argmax(size))
    error = as_numpy(constraints.error(model, q[state], loops))
    parts = np.split(np.abs(error), np.cumsum([x.size for x in loops])[:-1])
    worst = max(range(len(loops)), key=lambda i: parts[i].max())
    left = parts[worst].max()
    where = "" if len(size) == 1 else f" in {int((size > bound).sum())} of {len(size)} states"
    held = f", keep fewer joints than {[model.joints[k].name for k in kept]}" if kept else ""
    raise ClosureError(
        f"loop {loops[worst].name!r} of robot {model.name!r} cannot be closed from here{where}: {left:.3g} is left open"
        f" (rad or m){_too_many(model, q[state], loops, kept)}. Start from a guess nearer to a closed"
        f" configuration{held}, or check the frames and lengths"
    )


def _too_many(model: Model, q: np.ndarray, loops: Sequence[Loop], kept: Sequence[int]) -> str:
    """Which loops are too many, where together they leave the joints no freedom."""
    free = model.nv - sum(len(range(*model.v_slices[k].indices(model.nv))) for k in kept)
    ranks = [int(rank(model, q, loops[: i + 1])) for i in range(len(loops))]
    if ranks[-1] < free:
        return ""
    first = next(i for i, found in enumerate(ranks) if found >= free)
    return (
        f"; the loops stop {sum(x.size for x in loops)} motions, more than its {free} free joint rates can follow, from"
        f" loop {loops[first].name!r} on: leave one out, or choose a kind that stops less"
    )


def rank(model: Model, q: np.ndarray, loops: Sequence[Loop]) -> np.ndarray:
    """The rank of G, (...): how many motions the loops stop; moments count by a length of the robot.

    G is computed in double precision; that of q says how well it closes.
    """
    if not loops:
        return np.zeros(q.shape[:-1], dtype=int)
    scaled = force_scales(model, loops)[:, None] * as_numpy(constraints.jacobian(model, q.astype(float), loops))
    values = np.linalg.svd(scaled, compute_uv=False)
    counted: np.ndarray = (values > max(RANK, roundings(RANK_ROUNDINGS, q.dtype)) * values[..., :1]).sum(axis=-1)
    return counted
