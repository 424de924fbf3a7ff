"""What is too long as one program of a closed robot with many loops, from other compiled calls.

Matrices of linearised dynamics are changes along every direction (forward_dynamics_jvp, a batch of directions), and
inertial parameters act as the forces that the regressor says (mass_solve): each is found by elimination in O(n).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import array_kinds, arrays, inputs
from ..arrays import Array
from ..dynamics.closed.locality import independent_entries
from ..dynamics.linearized.models import ForwardLinearization


def _one_more_axis(robot: Any, q: Any, *others: Any) -> tuple[Any, list[Any]]:
    """(units of joint space, the arrays with an axis for them), all of the kind and precision of q."""
    foreign = array_kinds.library(q) is not None
    state = q if foreign else inputs.configuration(robot, q)
    units: Any = np.eye(robot.nv).tolist() if foreign else arrays.eye(robot.nv, like=state)
    given = [x if array_kinds.library(x) is not None else np.asarray(x) for x in others]
    return units, [state[..., None, :], *(x[..., None, :] for x in given)]


def _pushed(external: Any) -> dict[str, Any]:
    """Forces on bodies with an axis for directions, if there are any."""
    if external is None:
        return {}
    given = external if array_kinds.library(external) is not None else np.asarray(external)
    return {"external": given[..., None, :, :]}


def linearized(
    robot: Any, q: Any, v: Any, tau: Any, external: Any = None, method: str | None = None
) -> ForwardLinearization:
    """Minv, dv and dq, column by column; where v or τ has a NaN, so have all three, Minv as well."""
    units, state = _one_more_axis(robot, q, v, tau)
    none: Any = np.zeros((robot.nv, robot.nv)).tolist() if isinstance(units, list) else 0.0 * units
    found = []
    for along in ((none, none, units), (none, units, none), (units, none, none)):
        found.append(arrays.transpose(robot.forward_dynamics_jvp(*state, *along, **_pushed(external))))
    out = ForwardLinearization(*found)
    out.set_origin(robot, v)
    return out


def linearized_in_independent_rates(robot: Any, q: Any, v: Any, tau: Any, external: Any = None) -> ForwardLinearization:
    """The same in the rates of independent joints, θ̇ = Xβ; a change of these turns X, which projections know."""
    X: Array = robot.embedded_basis(q)
    chosen = list(independent_entries(robot, robot.loop_groups))
    given = v if array_kinds.library(v) is not None else np.asarray(v)
    v = (X @ given[..., chosen, None])[..., 0]
    P, by_v, by_q = linearized(robot, q, v, tau, external)
    n = robot.nv
    undone = robot.linearize_projection(q, v)[..., n:, :n] @ X
    bent = undone - X @ undone[..., chosen, :]
    P, by_v, by_q = (x[..., chosen, :] for x in (P, by_v, by_q))
    return ForwardLinearization(P[..., :, chosen], by_v @ X, by_q @ X + by_v @ bent)


def sensitivity(robot: Any, q: Any, v: Any, tau: Any, external: Any = None, of: str = "inertial") -> Array:
    """∂a/∂π = −P Y of the motion that there is."""
    a = robot.forward_dynamics(q, v, tau, **({} if external is None else {"external": external}))
    Y: Array = robot.inverse_dynamics_regressor(q, v, a)
    _, state = _one_more_axis(robot, q)
    found: Array = robot.mass_solve(*state, -arrays.transpose(Y))
    return arrays.transpose(found)
