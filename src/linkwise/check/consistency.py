"""The algorithms against each other and against finite differences, at random states."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..dynamics.forward.methods import FORWARD_METHODS
from ..errors import NotAdmittedError
from ..robot.robot import Robot
from .findings import FAILED, PASSED, Finding, States, compared

_STEP = 1e-6  # of central differences [s]
_DIFFERENCED = 1e-6  # what they may be off, relative to the numbers differenced
_CLOSE = 1e-9
_MOST_METHODS = 60  # degrees of freedom up to which all forward methods are compared


def mass_matrix(robot: Robot, x: States) -> Iterator[Finding]:
    """Three ways to make it; symmetric and positive definite."""
    M = robot.mass_matrix(x.q, target="numpy")
    for method in ("symmetric", "direct"):
        other = robot.mass_matrix(x.q, method=method, target="numpy")
        yield compared(f"mass matrix, {method}", other, M, _CLOSE, "as the composite one")
    least = float(np.linalg.eigvalsh(M)[:, 0].min())
    status = PASSED if least > 0 else FAILED
    yield Finding("mass matrix, definite", status, f"least eigenvalue {least:.3g}")
    product = robot.mass_matrix_inverse(x.q, target="numpy") @ M
    condition = float(np.linalg.cond(M).max())
    tolerance = max(_CLOSE, 1e-13 * condition)
    yield compared("mass matrix, inverse", product, np.broadcast_to(np.eye(robot.nv), M.shape), tolerance)


def inverse_dynamics(robot: Robot, x: States) -> Iterator[Finding]:
    """𝓜a + bias."""
    M, bias = robot.mass_matrix(x.q, target="numpy"), robot.bias_force(x.q, x.v, target="numpy")
    expected = (M @ x.a[..., None])[..., 0] + bias
    yield compared(
        "inverse dynamics",
        robot.inverse_dynamics(x.q, x.v, x.a, target="numpy"),
        expected,
        _CLOSE,
        "mass matrix times a, plus bias",
    )


def forward_dynamics(robot: Robot, x: States) -> Iterator[Finding]:
    """Undoes inverse dynamics; every method gives the same."""
    tau = robot.inverse_dynamics(x.q, x.v, x.a, target="numpy")
    condition = float(np.linalg.cond(robot.mass_matrix(x.q, target="numpy")).max())
    # Accelerations come of forces through 𝓜⁻¹, which magnifies their rounding by its condition.
    tolerance = max(_CLOSE, 1e-13 * condition)
    scale = float(np.abs(x.a).max())
    for method in FORWARD_METHODS if robot.nv <= _MOST_METHODS else ("articulated_body",):
        if "conjugate_gradient" in method:
            continue  # iterative: it stops at a tolerance of its own
        try:
            a = robot.forward_dynamics(x.q, x.v, tau, method=method, target="numpy")
        except NotAdmittedError:
            continue
        yield compared(f"forward dynamics, {method}", a, x.a, tolerance, "undoes inverse dynamics", scale)


def compiled_code(robot: Robot, x: States) -> Iterator[Finding]:
    """Machine code gives what NumPy gives."""
    for name, arguments in (("inverse_dynamics", (x.q, x.v, x.a)), ("forward_dynamics", (x.q, x.v, x.tau))):
        expected = getattr(robot, name)(*arguments, target="numpy")
        condition = float(np.linalg.cond(robot.mass_matrix(x.q, target="numpy")).max())
        tolerance = max(_CLOSE, 1e-13 * condition) if name == "forward_dynamics" else _CLOSE
        found = robot.compile(name)(*arguments)
        yield compared(f"machine code, {name.replace('_', ' ')}", found, expected, tolerance, "as NumPy")


def velocities(robot: Robot, x: States) -> Iterator[Finding]:
    """Jv against central differences of poses."""
    ahead, behind = _shifted(robot, x, _STEP), _shifted(robot, x, -_STEP)
    for tip in robot.tips[:8]:
        (_, p1), (_, p0) = (robot.pose(q, tip, target="numpy") for q in (ahead, behind))
        J = robot.jacobian(x.q, tip, target="numpy")
        found = (J @ x.v[..., None])[..., 3:, 0]
        scale = max(float(np.abs(found).max()), float(np.abs(p1).max()), 1e-3)
        yield compared(f"velocity of {tip}", found, (p1 - p0) / (2 * _STEP), _DIFFERENCED, "central differences", scale)


def gravity(robot: Robot, x: States) -> Iterator[Finding]:
    """Gravity forces, and those of springs, are the slope of the potential energy."""
    g = robot.gravity_force(x.q, target="numpy") + robot.spring_force(x.q, 0.0 * x.v, target="numpy")
    slope = _slope(robot, x, lambda q: robot.potential_energy(q, target="numpy"))
    scale = max(float(np.abs(slope).max()), 1e-3 * robot.total_mass)
    yield compared("gravity", (g * x.v).sum(-1), slope, _DIFFERENCED, "slope of the potential energy", scale)


def energy(robot: Robot, x: States) -> Iterator[Finding]:
    """The rate of the energy is the power of the joint forces, less what dampers take."""
    tau = robot.inverse_dynamics(x.q, x.v, x.a, target="numpy")
    held = [robot.spring_force(x.q, v, target="numpy") for v in (x.v, 0.0 * x.v)]
    power = ((tau - (held[0] - held[1])) * x.v).sum(-1)

    def total(t: float) -> np.ndarray:
        kinetic, potential = robot.energy(_shifted(robot, x, t), x.v + t * x.a, target="numpy")
        return kinetic + potential

    rate = (total(_STEP) - total(-_STEP)) / (2 * _STEP)
    scale = max(float(np.abs(power).max()), float(np.abs(total(0.0)).max()))
    yield compared("energy", rate, power, _DIFFERENCED, "its rate is the power of the joints", scale)


CHECKS = (mass_matrix, inverse_dynamics, forward_dynamics, compiled_code, velocities, gravity, energy)


def _shifted(robot: Robot, x: States, t: float) -> np.ndarray:
    return robot.integrate(x.q, t * x.v, target="numpy")


def _slope(robot: Robot, x: States, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    ahead, behind = (function(_shifted(robot, x, t)) for t in (_STEP, -_STEP))
    slope: np.ndarray = (ahead - behind) / (2 * _STEP)
    return slope
