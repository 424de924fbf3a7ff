"""What control laws share: being called and compiled, gains, and which joints are driven.

A law is a frozen object, ``law(t, q, v) → τ``, for any leading batch dimensions. Laws are pure functions of arrays, so
that ``law.compile()`` gives machine code of (t, q, v), with exact operation counts.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from .. import arrays, inputs
from ..arguments import flag, names, numbers
from ..arrays import Array, SameKind
from ..errors import InputError, NotAdmittedError
from ..model.joints.kinds import Free
from ..robot.calls import refuse_other_than_robot
from ..robot.coupled import refuse_following
from ..robot.robot import Robot
from ..robot.underactuated import undriven_joints
from ..values import owned

C = TypeVar("C", bound=type)


def made_by(call: str) -> Callable[[C], C]:
    """Mark a law whose fields are results, not what a user has: called as if it had them, it names the ``call``."""

    def decorate(law: C) -> C:
        init = law.__init__  # type: ignore[misc]  # of a class, which is not instantiated here
        signature = inspect.signature(init)

        @functools.wraps(init)
        def make(self: Any, *args: Any, **named: Any) -> None:
            try:
                signature.bind(self, *args, **named)
            except TypeError:
                raise InputError(
                    f"{law.__name__} is made by lw.control.{call}, which computes its gain; {law.__name__}(…) itself"
                    " takes a law that was computed before, with all of its fields"
                ) from None
            init(self, *args, **named)

        law.__init__ = make  # type: ignore[misc]
        return law

    return decorate


@dataclass(frozen=True, eq=False)
class Law:
    """Joint forces (..., nv) from the time t [s], the configuration q (..., nq) and the velocity v (..., nv)."""

    robot: Robot

    def __post_init__(self) -> None:
        self._set(**vars(self))

    def __call__(self, t: Any, q: Any, v: Any) -> SameKind:
        """The joint forces, in the precision of the state."""
        q, v = state(self.robot, q, v)
        tau = self.forces(t, q, v)
        return arrays.constant(tau, like=q)

    def forces(self, t: Any, q: Array, v: Array) -> SameKind:
        """What each law is, for states that are checked already."""
        raise NotImplementedError

    def compile(self, *, target: str = "cpu") -> Any:
        """The law as a kernel of (t, q, v), t of shape (..., 1); targets are those of :func:`linkwise.compile`."""
        from ..codegen.pipeline import compile_function
        from ..codegen.runtime.remade import made

        def law(robot: Robot, t: Array, q: Array, v: Array) -> SameKind:
            return self(t[..., 0] if t.ndim == 1 else t, q, v)

        return made(compile_function(law, self.robot, target=target, sizes={"t": 1}), self.compile, target=target)

    def _set(self, **values: Any) -> None:
        """Fields as checked arrays of its own, in a frozen object; functions stay the caller's."""
        for name, value in values.items():
            object.__setattr__(self, name, value if callable(value) else owned(value))


def vector_gain(gain: Any, n: int, what: str, positive: bool = True) -> np.ndarray:
    """A gain as (n,) numbers from one number or n, positive (or not negative)."""
    given = numbers(gain, what)
    try:
        out = np.broadcast_to(given, (n,))
    except ValueError:
        raise InputError(f"{what} must be one number or {n}, got shape {np.shape(gain)}") from None
    if not np.isfinite(out).all() or (out < 0).any() or (positive and (out == 0).any()):
        raise InputError(f"{what} must be {'positive' if positive else 'zero or more'}, got {gain}")
    return out


def weight_matrix(weight: Any, n: int, what: str, definite: bool) -> np.ndarray:
    """A symmetric weight (n, n) from one number, n numbers or a matrix; positive definite, or semidefinite."""
    out = numbers(weight, what)
    if out.ndim == 0:
        out = np.full(n, float(out))
    if out.ndim == 1 and out.shape == (n,):
        out = np.diag(out)
    if out.shape != (n, n):
        raise InputError(f"{what} must be one number, {n} numbers or a {n}×{n} matrix, got shape {np.shape(weight)}")
    scale = np.abs(out).max(initial=0.0)
    if not np.isfinite(out).all() or np.abs(out - out.T).max(initial=0.0) > 1e-9 * scale:
        raise InputError(f"{what} must be a finite symmetric matrix")
    symmetric: np.ndarray = 0.5 * out + 0.5 * out.T
    lowest = np.linalg.eigvalsh(symmetric / (scale or 1.0)).min(initial=np.inf) * (scale or 1.0)
    if lowest < -1e-12 * scale or (definite and lowest <= 0):
        raise InputError(f"{what} must be positive {'definite' if definite else 'semidefinite'}; eigenvalue {lowest:g}")
    return symmetric


# --- which joints are driven -------------------------------------------------------------------------


def driven_joints(robot: Robot) -> list[str]:
    """Joints that a motor can drive: all that move, but free joints, modes, and those whose effort limit is zero."""
    refuse_other_than_robot(robot, "a control law")
    passive = undriven_joints(robot)
    return [joint.name for joint, _, _ in robot.coordinates if joint.kind.nv and joint.name not in passive]


def selection(robot: Robot, actuated: Iterable[str] | None) -> np.ndarray:
    """S (nv, m) with τ = S u for the inputs u of the ``actuated`` joints; default: :func:`driven_joints`."""
    refuse_other_than_robot(robot, "a selection of joints")
    chosen = driven_joints(robot) if actuated is None else names(actuated, "actuated", "joint names")
    refuse_following(robot, chosen, "driven", "actuated")
    columns = [i for name in chosen for i in range(*robot.v_slices[robot.joint(name)].indices(robot.nv))]
    if not columns:
        raise InputError(f"no joint of robot {robot.name!r} is driven; name some in actuated=[…]")
    if len(set(columns)) != len(columns):
        raise InputError(f"actuated names a joint twice: {', '.join(chosen)}")
    return np.eye(robot.nv)[:, columns]


def require_full_actuation(robot: Robot, law: Law, base_forces: bool) -> None:
    """Refuse robots with joints that nothing drives. ``base_forces`` says that a floating base has thrusters."""
    driven = set(driven_joints(robot))
    flag(base_forces, "base_forces")
    idle = [j.name for j, _, _ in robot.coordinates if j.kind.nv and j.name not in driven]
    if base_forces:
        idle = [name for name in idle if not isinstance(robot.joints[robot.joint(name)].kind, Free)]
    if idle:
        raise NotAdmittedError(
            f"{type(law).__name__} needs forces at every joint, and nothing drives {idle[0]!r} of robot {robot.name!r}."
            " LQR, TVLQR and ILQR take actuated=[…]; for a free base with thrusters set base_forces=True"
        )


def state(robot: Robot, q: Any, v: Any) -> tuple[Array, Array]:
    """q and v as arrays of one precision, checked."""
    checked = {"q": inputs.configuration(robot, q), "v": inputs.vector(v, robot.nv, "v", robot)}
    _, (q, v) = inputs.together(robot, **checked)
    return q, v


def static_force(robot: Robot, q: Array) -> SameKind:
    """The joint forces (..., nv) that hold bodies against gravity, and the springs of joints."""
    gravity = robot.gravity_force(q)
    return gravity + robot.spring_force(q, _still(robot, q)) if robot.has_springs else gravity


def damper_power(robot: Robot, q: Array, v: Array) -> Any:
    """What the dampers of joints take, (...) [W]; 0 where no joint has one."""
    if not robot.has_springs:
        return 0.0
    held = robot.spring_force(q, v) - robot.spring_force(q, _still(robot, q))
    return (held * v).sum(axis=-1)


def _still(robot: Robot, q: Array) -> Array:
    return arrays.zeros((*q.shape[:-1], robot.nv), like=q)
