"""Why a motion is lost: a step too long for forces that change fast, with the joint, the rate and what would do."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..dynamics import springs
from ..dynamics.links import evaluate
from ..errors import LinkwiseError
from .joint_forces import PassiveForces
from .steppers import Task
from .trajectory import labels

# h|λ| up to which a step of y' = λy does not grow, λ < 0 real: what explicit parts of the methods bear.
BEARS = {"runge_kutta_4": 2.785}
BEARS_ELSE = 2.0
_STEP = 1e-6  # of differences


def too_long(task: Task, q: np.ndarray, w: np.ndarray, t: float, which: str = "") -> str | None:
    """What to say where forces change too fast for the step at a state q (nq,), w (n,); None where they do not.

    The rates are the eigenvalues of the motion's derivative, [0, 1; −𝓜⁻¹K, −𝓜⁻¹K_d], without what steps take where they
    end, and without those that grow: no step makes these stay. (On differences: it is for a message.)
    """
    with np.errstate(all="ignore"):
        try:
            A = _derivative(task, q, task.velocity(q[None], w[None])[0], t)
        except (LinkwiseError, ArithmeticError):
            return None
    if not np.isfinite(A).all():
        return None
    values, vectors = np.linalg.eig(A)
    stays = values.real <= 0.1 * np.abs(values)
    worst = int(np.argmax(np.where(stays, np.abs(values), 0.0)))
    rate = float(np.abs(values[worst])) if stays[worst] else 0.0
    bears = BEARS_ELSE if task.hold else BEARS.get(task.method, BEARS_ELSE)
    if rate * task.step <= bears:
        return None
    n = task.robot.nv
    joint = labels(task.robot)[1][int(np.argmax(np.abs(vectors[n:, worst])))]
    damped = abs(values[worst].real) > abs(values[worst].imag)
    what = "is damped at λ(𝓜⁻¹K_d)" if damped else "swings at λ = √λ(𝓜⁻¹K)"
    held = " with forces held" if task.hold else ""
    return (
        f"the step of {task.step:g} s is too long: joint {joint!r}{which} {what} = {rate:.3g} 1/s, and {task.method}"
        f"{held} bears {bears:g}/λ = {bears / rate:.2g} s. Take step={_round_down(0.7 * bears / rate):g},"
        f" {_remedies(task, damped)}"
    )


def _remedies(task: Task, damped: bool) -> str:
    """What would do beside a shorter step."""
    found = []
    if task.implicit is False:
        found.append("leave out implicit=False (dampers and springs are then taken where steps end)")
    elif task.coordinates != "joint" or task.method not in ("semi_implicit_euler", "midpoint", "runge_kutta_4"):
        found.append('use method="runge_kutta_4", which takes dampers and springs where steps end')
    elif task.controller is not None and task.hold and damped:
        found.append("leave out hold=True, which holds forces for as long as a step")
    elif task.controller is not None and task.slopes is None:
        found.append(
            "give what damps as damping=, or write the controller so that it can be compiled and −d v and −k q of a"
            " joint are terms of its force, which are then taken where steps end"
        )
    radau = not (task.hold or task.table or task.parameters)
    return " or ".join([*found, *(['use method="radau", whose steps are its own'] if radau else [])]) or "or less"


def _derivative(task: Task, q: np.ndarray, v: np.ndarray, t: float) -> np.ndarray:
    """[[0, 1], [∂a/∂q, ∂a/∂v]], (2nv, 2nv)."""
    robot, n = task.robot, task.robot.nv
    passive = PassiveForces() if task.order else task.passive
    system = replace(task.system(robot, robot, None, None, "numpy"), passive=passive, coordinates="joint")
    slopes = task.slopes if task.order else None

    def accelerations(dq: np.ndarray, dv: np.ndarray) -> np.ndarray:
        at, rate = np.asarray(robot.integrate(q, dq, target="numpy")), v + dv
        total = np.zeros(n) if task.controller is None else _asked(task, t, at, rate)
        if slopes is not None:
            total = total + slopes[0] * dv + slopes[1] * dq
        if passive.active:
            total = total + passive.resistance(rate) + np.asarray(passive.stops(robot, at, rate))
        found: np.ndarray = system.accelerated(at, rate, total)[1]
        return found

    size = _STEP * (1.0 + np.abs(v).max(initial=0.0))
    columns = []
    for which in (0, 1):
        for i in range(n):
            step = np.zeros((2, n))
            step[which, i] = size
            columns.append((accelerations(*step) - accelerations(*-step)) / (2.0 * size))
    A = np.zeros((2 * n, 2 * n))
    A[:n, n:] = np.eye(n)
    A[n:] = np.stack(columns, axis=-1)
    if task.order and robot.has_springs:
        A[n:] += _own(robot, q)
    return A


def _own(robot: Any, q: np.ndarray) -> np.ndarray:
    """[𝓜⁻¹K, 𝓜⁻¹d] of the robot's own springs and dampers, (nv, 2nv)."""
    links = evaluate(robot, q)
    if robot.couplings:
        return np.zeros((robot.nv, 2 * robot.nv))
    K, d = springs.joint_space_slopes(links, springs.slopes(robot, links))
    Minv = np.asarray(robot.mass_matrix_inverse(q, target="numpy"))
    return np.asarray(np.concatenate([Minv @ np.asarray(K), Minv @ np.asarray(d)], axis=-1))


def _asked(task: Task, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    assert task.controller is not None
    found: np.ndarray = task.controller.at_flat(t, q[None], v[None])[0]
    return found


def _round_down(x: float) -> float:
    """To 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(x))
    return max(k for k in (1.0, 2.0, 5.0) if k * power <= x * (1 + 1e-12)) * power
