"""The methods with fixed steps, by name, and what each admits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..arguments import flag, one_of
from ..arrays import Array, SameKind
from ..errors import InputError, NotAdmittedError
from ..robot.calls import refuse_other_than_robot
from ..robot.robot import Robot
from .diagonal_steps import rotation_midpoint, two_sweep, velocities_to_remember
from .implicit import PARTS
from .steps import EXPLICIT
from .system import COORDINATES
from .variational import joint_without_group, variational


@dataclass(frozen=True)
class Method:
    """A step (system, t, q, w, h) → (q', w'), and the coordinates it admits.

    ``remembered(robot, q, rates)`` is what w holds beside rates and energies at the start, (..., n).
    """

    step: Callable[..., tuple[SameKind, SameKind]]
    coordinates: tuple[str, ...] = COORDINATES
    remembered: Callable[[Robot, Array, Array], Array] | None = None


METHODS = {
    **{name: Method(step) for name, step in EXPLICIT.items()},
    "variational": Method(variational, ("joint",)),
    "rotation_midpoint": Method(rotation_midpoint, ("total",)),
    "two_sweep": Method(two_sweep, ("unnormalized",), velocities_to_remember),
}
# What they are called elsewhere, for those who look for them.
CALLED_ELSEWHERE = {
    **dict.fromkeys(["euler", "explicit_euler", "forward_euler", "implicit_euler"], "semi_implicit_euler"),
    **dict.fromkeys(["semi_implicit", "semiimplicit_euler", "symplectic_euler", "symplectic"], "semi_implicit_euler"),
    **dict.fromkeys(["rk4", "runge_kutta", "rungekutta4", "rungekutta"], "runge_kutta_4"),
    **dict.fromkeys(["rk2", "runge_kutta_2", "heun"], "midpoint"),
    **dict.fromkeys(["verlet", "leapfrog", "stormer_verlet", "velocity_verlet"], "variational"),
    **dict.fromkeys(["ode45", "dopri5", "dormand_prince", "runge_kutta_45"], "rk45"),
    **dict.fromkeys(["dopri8", "dop_853"], "dop853"),
}
SOLVERS = {"rk23": "RK23", "rk45": "RK45", "dop853": "DOP853", "radau": "Radau", "bdf": "BDF", "lsoda": "LSODA"}


def refuse_unfit(robot: Robot, method: str, coordinates: str, implicit: bool | None = None) -> None:
    """Refuse names that are none, and a method that has no meaning for a robot or for these coordinates."""
    refuse_other_than_robot(robot, "simulate")
    one_of(method, [*METHODS, *SOLVERS], "method", also=CALLED_ELSEWHERE)
    one_of(coordinates, COORDINATES, "kind of coordinates")
    admitted = METHODS[method].coordinates if method in METHODS else ("joint",)
    if coordinates not in admitted:
        choice = " or ".join(f"coordinates={name!r}" for name in admitted)
        raise InputError(f"the method {method!r} needs {choice}, got {coordinates!r}")
    if implicit is not None:
        flag(implicit, "implicit")
    if implicit and (coordinates != "joint" or method not in PARTS):
        raise InputError(
            f"implicit=True takes springs, dampers and friction where steps end, by {', '.join(PARTS)} in"
            f' coordinates="joint"; got {method} in {coordinates!r}'
        )
    joint = joint_without_group(robot) if method == "variational" else None
    if joint is not None:
        raise NotAdmittedError(
            f"the variational step needs joints that are groups, and {joint!r} is a custom joint whose columns do not"
            ' commute; use method="runge_kutta_4"'
        )
