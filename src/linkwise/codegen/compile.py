"""``robot.compile(name)`` and ``lw.compile(function, robot)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputError, UnknownNameError
from .c import CSource
from .jax import jitted
from .kernel import Kernel
from .program import trace

if TYPE_CHECKING:
    from ..robot import Robot

# The catalogue: what each function takes as arrays; everything else is fixed when it is compiled.
SIGNATURES: dict[str, tuple[str, ...]] = {
    "pose": ("q",),
    "velocity": ("q", "v"),
    "acceleration": ("q", "v", "a"),
    "jacobian": ("q",),
    "jacobian_dot_v": ("q", "v"),
    "jacobian_outer": ("q",),
    "jacobian_inner": ("q",),
    "inverse_dynamics": ("q", "v", "a"),
    "bias_force": ("q", "v"),
    "gravity_force": ("q",),
    "mass_matrix": ("q",),
    "mass_matrix_inverse": ("q",),
    "mass_times": ("q", "x"),
    "mass_solve": ("q", "tau"),
    "innovations_factors": ("q",),
    "inverse_factors": ("q",),
    "coriolis_matrix": ("q", "v"),
    "forward_dynamics": ("q", "v", "tau"),
    "operational_inertia": ("q",),
    "operational_compliance": ("q",),
    "operational_bias": ("q", "v"),
    "energy": ("q", "v"),
    "kinetic_energy": ("q", "v"),
    "potential_energy": ("q",),
    "center_of_mass": ("q",),
    "center_of_mass_jacobian": ("q",),
    "momentum": ("q", "v"),
    "momentum_matrix": ("q",),
    "centroidal_momentum": ("q", "v"),
    "centroidal_matrix": ("q",),
    "centroidal_bias": ("q", "v"),
    "linearize_inverse": ("q", "v", "a"),
    "linearize_forward": ("q", "v", "tau"),
    "inverse_dynamics_jvp": ("q", "v", "a", "dq", "dv", "da"),
    "inverse_dynamics_vjp": ("q", "v", "a", "weights"),
    "inverse_dynamics_hvp": ("q", "v", "a", "weights", "dq", "dv", "da"),
    "forward_dynamics_jvp": ("q", "v", "tau", "dq", "dv", "dtau"),
    "forward_dynamics_vjp": ("q", "v", "tau", "weights"),
    "forward_dynamics_hvp": ("q", "v", "tau", "weights", "dq", "dv", "dtau"),
    "linearize_velocity": ("q", "v"),
    "linearize_acceleration": ("q", "v", "a"),
    "operational_compliance_derivative": ("q",),
    "operational_inertia_derivative": ("q",),
    "inverse_dynamics_regressor": ("q", "v", "a"),
    "forward_dynamics_sensitivity": ("q", "v", "tau"),
}

TARGETS = ("cpu", "numpy", "jax", "c")


def compile_function(
    function: Callable[..., Any],
    robot: Robot,
    target: str = "cpu",
    sizes: Mapping[str, int] | None = None,
    dtype: str = "float64",
    parameters: Sequence[str] = (),
) -> Any:
    """A user's ``function(robot, q, …)`` compiled for one robot.

    It may use any method of the robot and any operator expression. Its arguments after the robot are
    vectors, of lengths known by name (q; v, a, tau, x, dv) or given in ``sizes``. ``target`` is "cpu" (a
    :class:`Kernel`), "jax" (a jitted function), "c" (a :class:`CSource`, of ``dtype``) or "numpy".
    ``parameters`` ("inertial", "offsets") keeps those numbers of the robot as further inputs.
    """
    _check_target(target)
    if target == "numpy":
        return lambda *arrays: function(robot, *arrays)
    if target == "jax":
        return jitted(function, robot)
    program = trace(robot, function, sizes=sizes, parameters=parameters)
    return Kernel(program) if target == "cpu" else CSource(program, robot.name, dtype)


def compile_named(
    robot: Robot,
    name: str,
    target: str = "cpu",
    dtype: str = "float64",
    parameters: Sequence[str] = (),
    **fixed: Any,
) -> Any:
    """A function of the catalogue compiled for one robot; ``fixed`` holds its other arguments (frame=…)."""
    _check_target(target)
    if name not in SIGNATURES:
        raise UnknownNameError(f"no function {name!r} to compile; choose from {', '.join(SIGNATURES)}")
    names = SIGNATURES[name]

    def call(robot: Robot, *arrays: Any) -> Any:
        return getattr(robot, name)(**dict(zip(names, arrays)), **fixed)

    if target == "numpy":
        return lambda *arrays: call(robot, *arrays)
    if target == "jax":
        return jitted(call, robot)
    program = trace(robot, call, name, names=names, parameters=parameters)
    return Kernel(program) if target == "cpu" else CSource(program, robot.name, dtype)


def _check_target(target: str) -> None:
    if target not in TARGETS:
        raise InputError(f"target must be one of {', '.join(TARGETS)}, got {target!r}")
