"""Derivatives as a person asks for them: by time, along changes of the state, by one joint; worked out or formal."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..arguments import flag, one_of, whole
from ..arrays import ArrayLike
from ..errors import InputError, SpaceError
from ..model.model import Model
from .binding import Binding, State, merged, moved, trimmed
from .derivative import TIME, Direction, derivative, inertial
from .expression import Expression
from .operator import Operator, bound
from .operators import Operators
from .rate import Rate

_NAMES = ("δθ", "δθ̇", "δθ̈")


def by_time(op: Expression, axes: str, formal: bool) -> Expression:
    """d/dt of an expression, in the axes of the bodies or in inertial ones."""
    ring = Rate.of(op, TIME) if formal else derivative(op, TIME)
    return inertial(op, ring) if axes == "inertial" else ring


def along_direction(op: Expression, changes: tuple[Expression | None, ...], formal: bool) -> Expression:
    """The derivative of an expression along changes of θ, θ̇ and θ̈."""
    q, v, a = changes
    direction = Direction(q, v, a)
    return Rate.of(op, direction) if flag(formal, "formal") else derivative(op, direction)


def along(op: Operator, changes: tuple[Operator | ArrayLike | None, ...], formal: bool) -> Operator:
    """The same of a formula at a state, along vectors or arrays."""
    home = _home(op)
    given = [_vector(home, x, name) for x, name in zip(changes, _NAMES)]
    both = merged([op.binding, *(x.binding for x in given if x is not None)])
    directions = tuple(None if x is None else moved(x.expression, x.binding, both) for x in given)
    return bound(*trimmed(along_direction(moved(op.expression, op.binding, both), directions, formal), both))


def by_joint(op: Operator, joint: str | int, axis: int) -> Operator:
    """∂/∂θ of one joint."""
    home = _home(op)
    if home.joints.dimension != home.model.nv:
        raise InputError("where loops are embedded, joints have no angles of their own: use variation(dtheta)")
    at = _joint_index(home.model, joint)
    x = np.zeros(home.joints.dimension)
    x[_velocity_index(home.model, at, axis)] = 1.0
    name = "e_" + re.sub(r"\W", "_", home.model.joints[at].name, flags=re.ASCII) + (f"_{axis}" if axis else "")
    return along(op, (home.vector(x, "joints", name), None, None), formal=False)


def _vector(home: Operators, x: Any, name: str) -> Operator | None:
    """A change of θ, θ̇ or θ̈ as a vector of joint space."""
    if x is None:
        return None
    out = x if isinstance(x, Operator) else home.vector(x, "joints", name)
    if not (out.is_vector and out.rows == home.joints):
        raise SpaceError(f"a change of θ, θ̇ or θ̈ is a vector of {home.joints}; {out} maps {out.cols} to {out.rows}")
    return out


def _home(op: Operator) -> Operators:
    """The operators of the one state that a formula is at."""
    states = [t for t in op.binding.things if isinstance(t, State)]
    if len(states) != 1:
        raise InputError(f"{op} is at {len(states)} states; a variation is of a formula at one")
    return Operators(states[0].leaves, Binding((states[0],)))


def _joint_index(model: Model, joint: Any) -> int:
    names = [j.name for j in model.joints]
    if isinstance(joint, str):
        return names.index(one_of(joint, names, "joint"))
    return whole(joint, "joint", least=-len(names), most=len(names) - 1) % len(names)


def _velocity_index(model: Model, at: int, axis: int) -> int:
    """Which velocity of a robot belongs to that axis of a joint."""
    where = model.v_slices[at]
    start, stop = int(where.start), int(where.stop)
    if whole(axis, "axis") >= stop - start:
        raise InputError(
            f"joint {model.joints[at].name!r} has {stop - start} velocities of its own, so there is none of axis {axis}"
        )
    return start + axis
