"""Inverse dynamics of closed robots: forces at chosen joints alone, of least effort where there are more than needed.

The tree's inverse dynamics gives forces τ at all joints. The loops can carry any G*λ of them, so that u at the driven
joints, S u, does the same where N*(S u − τ) = 0, with N = I − 𝓜⁻¹G*X⁺G whose columns are the motions that loops leave
(math notes on closed chains 2.5). Of all such u, that with the least u*Wu is W⁻¹A*(AW⁻¹A*)⁺N*τ, A = N*S.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import arrays
from ...arrays import Array
from ...errors import InputError
from ...model.loops import Loop
from ...model.model import Model
from ...tolerances import DAMPED_ROUNDINGS, EFFORT_DAMPING, EFFORT_LEFT, roundings
from .equations import projector

CORRECTIONS = 3


def least_effort(
    model: Model, q: Array, tau: Array, loops: Sequence[Loop], driven: Sequence[int], weights: np.ndarray
) -> Array:
    """S u, (..., nv), for joint forces τ (..., nv) of the tree; ``driven`` are the degrees of freedom of u."""
    N = projector(model, q, loops)
    wanted = N.mT @ tau[..., None]
    A = N.mT[..., :, list(driven)]
    share = arrays.constant(1.0 / weights, like=q)
    AA = arrays.symmetric((A * share) @ A.mT)
    n = AA.shape[-1]
    mean = sum(AA[..., i : i + 1, i : i + 1] for i in range(n)) / n
    damping = max(EFFORT_DAMPING, roundings(DAMPED_ROUNDINGS, arrays.precision(q))) * mean
    solve = arrays.solver_spd(AA + damping * arrays.eye(n, like=q))
    y = solve(wanted)
    change = y
    for _ in range(CORRECTIONS):
        change = solve(damping * change)
        y = y + change
    u = share[:, None] * (A.mT @ y)
    _refuse_left(model, wanted - A @ u, wanted, driven)
    rows: list[Any] = [arrays.zeros((1, 1), like=q)] * model.nv
    for i, j in enumerate(driven):
        rows[j] = u[..., i : i + 1, :]
    return arrays.concatenate(rows, axis=-2)[..., 0]


def _refuse_left(model: Model, left: Array, wanted: Array, driven: Sequence[int]) -> None:
    """An error where the driven joints cannot do it; compiled code hands such states on to NumPy, which says so."""
    most = EFFORT_LEFT**2 * (1.0 + arrays.square_length(wanted[..., 0]))
    spare = most - arrays.square_length(left[..., 0])
    if arrays.is_symbolic(left):
        arrays.require_positive(spare, always=True)
        return
    if not arrays.is_eager(left) or not np.any(spare <= 0):
        return
    size = np.abs(left[..., 0]).reshape(-1, model.nv).max(axis=0)
    names = [j.name for j, r in zip(model.joints, model.v_slices) for _ in range(r.stop - r.start)]
    worst = int(np.argmax(size))
    raise InputError(
        f"joints {', '.join(dict.fromkeys(names[j] for j in driven))} alone cannot move robot {model.name!r} so:"
        f" {size[worst]:.3g} N m or N is left over at joint {names[worst]!r}. Drive more joints (actuated=[…]), or ask"
        " for an acceleration that they and the loops allow"
    )
