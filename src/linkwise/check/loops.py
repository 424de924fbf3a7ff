"""Closed robots: accelerations and loop forces against the equations that they solve, at closed states."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..robot.closed import ClosedRobot
from .findings import FAILED, PASSED, SKIPPED, WARNED, Finding, States, compared

_CLOSE = 1e-8  # relative; loops may be badly conditioned next to singular postures
_STEP = 1e-6  # of central differences [s]


def closed_states(robot: ClosedRobot, x: States) -> np.ndarray:
    """Closed configurations (count, nq) next to neutral, a random way along what the loops leave free."""
    q = robot.closed_configuration(robot.neutral())
    v = robot.closed_velocity(np.broadcast_to(q, x.q.shape), 0.1 * x.v, target="numpy")
    return robot.closed_configuration(robot.integrate(np.broadcast_to(q, x.q.shape), v, target="numpy"))


def closing(robot: ClosedRobot, x: States) -> Iterator[Finding]:
    """The loops close, and leave something free."""
    q = closed_states(robot, x)
    open_by = float(np.abs(robot.loop_error(q, target="numpy")).max())
    yield Finding("loops, closed", PASSED if open_by < 1e-9 else FAILED, f"next to neutral, to {open_by:.1e}")
    free = np.atleast_1d(robot.mobility(q))
    detail = f"{free.min()} of {robot.nv} degrees of freedom are left"
    yield Finding("loops, mobility", PASSED if free.min() > 0 else WARNED, detail)


def motion(robot: ClosedRobot, x: States) -> Iterator[Finding]:
    """𝓜a + bias = τ + G*λ with a that keeps the loops closed, and λ that do no work."""
    if robot.soft_loops:
        yield Finding("loops, motion", SKIPPED, "some are soft")
        return
    q = closed_states(robot, x)
    v = robot.closed_velocity(q, x.v, target="numpy")
    a = robot.forward_dynamics(q, v, x.tau, target="numpy")
    M, bias = robot.mass_matrix(q, target="numpy"), robot.bias_force(q, v, target="numpy")
    pulls = (M @ a[..., None])[..., 0] + bias - x.tau  # G*λ
    size = float(max(np.abs(bias).max(), np.abs(x.tau).max()))
    G = robot.loop_jacobian(q, target="numpy")
    left = pulls - (_onto_rows(G) @ pulls[..., None])[..., 0]
    yield compared("loops, equations of motion", left, 0.0, _CLOSE, "what is left is a pull of the loops", size)
    power = (pulls * v).sum(-1)
    yield compared("loops, power", power, 0.0, _CLOSE, "they do no work", size * float(np.abs(v).max()))

    def opening(t: float) -> np.ndarray:
        there = robot.integrate(q, t * v, target="numpy")
        return np.asarray(robot.loop_velocity(there, v + t * a, target="numpy"))

    rate = (opening(_STEP) - opening(-_STEP)) / (2 * _STEP)
    scale = float(np.abs(a).max() + np.square(v).max())
    yield compared("loops, accelerations", rate, 0.0, 1e-6, "they stay closed; central differences", scale)


def machine_code(robot: ClosedRobot, x: States) -> Iterator[Finding]:
    """Machine code gives what NumPy gives."""
    q = closed_states(robot, x)
    v = robot.closed_velocity(q, x.v, target="numpy")
    expected = robot.forward_dynamics(q, v, x.tau, target="numpy")
    yield compared("loops, machine code", robot.compile("forward_dynamics")(q, v, x.tau), expected, _CLOSE, "as NumPy")


CHECKS = (closing, motion, machine_code)


def _onto_rows(G: np.ndarray) -> np.ndarray:
    """The projector (count, nv, nv) onto what rows of G span."""
    projector: np.ndarray = np.linalg.pinv(G, rcond=1e-9) @ G
    return projector
