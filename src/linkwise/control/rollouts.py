"""Rollouts under δu = αk + Kδx, all step sizes α at once: a loop in machine code, kept with the robot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array
from ..codegen.program.repeat import Repeated
from ..codegen.program.trace import Program, trace
from ..codegen.runtime.requests import request
from ..codegen.thresholds import MOST_BODIES, MOST_NODES
from ..errors import warn_of_slow_path
from ..robot.dispatch import default_target
from ..robot.robot import Robot
from ..simulation.steppers import shortest
from .steps import Steps

_CARRIED = {"q": 0, "v": 1}
_STEPPED = ("q_ref", "v_ref", "u_ref", "k", "K")
_REST = ("alpha", "lower", "upper", "h")


class Rollouts:
    """Motions of a robot by ``steps``, with inputs within ``bounds`` (lower, upper), each (m,)."""

    def __init__(self, steps: Steps, bounds: tuple[np.ndarray, np.ndarray]) -> None:
        self.steps, self.bounds = steps, bounds

    def plain(self, q0: np.ndarray, v0: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q (N+1, nq) and v (N+1, nv) under inputs u (N, m)."""
        still = np.broadcast_to(q0, (len(u) + 1, len(q0))), np.zeros((len(u) + 1, len(v0)))
        nothing = np.zeros_like(u), np.zeros((*u.shape, 2 * self.steps.robot.nv))
        Q, V, _ = self(*still, u, *nothing, np.zeros(1), start=v0)
        return Q[0], V[0]

    def __call__(
        self,
        q: np.ndarray,
        v: np.ndarray,
        u: np.ndarray,
        k: np.ndarray,
        K: np.ndarray,
        alphas: np.ndarray,
        *,
        start: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Q (α, N+1, nq), V and U (α, N, m) about the motion (q, v, u), from its first state (or velocity ``start``).

        Motions that leave all bounds are infinite, or NaN.
        """
        count, steps = len(alphas), len(u)
        Q, V, U = np.empty((count, *q.shape)), np.empty((count, *v.shape)), np.empty((count, *u.shape))
        Q[:, 0], V[:, 0] = q[0], v[0] if start is None else start
        given = {"q_ref": q[:-1], "v_ref": v[:-1], "u_ref": u, "k": k, "K": K.reshape(steps, -1)}
        given |= {"lower": self.bounds[0], "upper": self.bounds[1], "h": np.array([self.steps.step])}
        loop = self._loop()
        with np.errstate(all="ignore"):
            if loop is None:
                self._by_steps({**given, "K": K}, alphas, (Q, V, U))
            else:
                given |= {"q": Q[:, 0].copy(), "v": V[:, 0].copy(), "alpha": alphas[:, None]}
                if not loop.run(given, steps, out=(Q[:, 1:], V[:, 1:], U))[1]:
                    self._one_by_one(loop, given, steps, (Q, V, U))
        return Q, V, U

    def _one_by_one(self, loop: Repeated, given: Mapping[str, np.ndarray], steps: int, out: Any) -> None:
        """Where one of the motions meets a singular mass matrix: that one is NaN."""
        for i in range(len(out[0])):
            own = {**given, **{name: given[name][i : i + 1] for name in ("q", "v", "alpha")}}
            Q, V, U = (x[i : i + 1] for x in out)
            if not loop.run(own, steps, out=(Q[:, 1:], V[:, 1:], U))[1]:
                V[:, 1:] = np.nan

    def _by_steps(self, given: Mapping[str, np.ndarray], alphas: np.ndarray, out: Any) -> None:
        """From Python, one step after the other."""
        Q, V, U = out
        rest = {"alpha": alphas[:, None], **{name: given[name] for name in ("lower", "upper", "h")}}
        for i in range(U.shape[1]):
            here = {name: given[name][i] for name in _STEPPED}
            u = arrays.as_numpy(self._inputs(self.steps.robot, {"q": Q[:, i], "v": V[:, i], **here, **rest}))
            U[:, i] = u
            Q[:, i + 1], V[:, i + 1] = self.steps(Q[:, i], V[:, i], u)

    def _inputs(self, robot: Robot, given: Mapping[str, Array]) -> Array:
        """u = ū + αk + K(x − x̄) within the limits, (..., m)."""
        e = robot.difference(given["q_ref"], given["q"])
        x = arrays.concatenate([e, given["v"] - given["v_ref"]], axis=-1)
        K = given["K"].reshape((self.steps.inputs, 2 * robot.nv))
        u = given["u_ref"] + given["alpha"] * given["k"] + (K @ x[..., None])[..., 0]
        lower, upper = given["lower"] + 0.0 * u, given["upper"] + 0.0 * u
        u = arrays.where(arrays.less(u - lower, 0.0), lower, u)
        return arrays.where(arrays.less(upper - u, 0.0), upper, u)

    # --- machine code ----------------------------------------------------------------------------------

    def _loop(self) -> Repeated | None:
        """The loop; None where steps are made from Python."""
        robot, steps = self.steps.robot, self.steps
        if default_target() != "cpu":
            return None
        names = (*_CARRIED, *_STEPPED, *_REST)
        driven = tuple(steps.selection.argmax(axis=0).tolist())  # in the order of the inputs
        fixed = {"method": steps.method, "order": steps.order, "driven": driven}
        key = ("control.rollouts", *fixed.values())
        found: Repeated | None = robot._code.get(key, _NOT_YET)
        if found is _NOT_YET:
            found = None
            if len(robot.bodies) <= MOST_BODIES:
                found = Repeated(self._program, _CARRIED, _STEPPED, request(robot, "control.rollouts", names, fixed))
                found = found if found.is_shorter_than(MOST_NODES) else None
            if found is None:
                warn_of_slow_path(
                    f"rollouts of {robot.name!r} are made from Python, step by step: the code of one step would be"
                    f" longer than {MOST_NODES} values, or of more than {MOST_BODIES} bodies"
                )
            robot._code.keep(key, found)
        return found

    def _program(self) -> Program:
        steps, robot = self.steps, self.steps.robot
        dynamics = shortest(robot)
        names = (*_CARRIED, *_STEPPED, *_REST)
        n, m = robot.nv, steps.inputs
        sizes = {"q": robot.nq, "v": n, "q_ref": robot.nq, "v_ref": n, "u_ref": m, "k": m, "K": 2 * n * m}
        sizes |= {"alpha": 1, "lower": m, "upper": m, "h": 1}

        def one(robot: Robot, *values: Array) -> tuple[Array, Array, Array]:
            given = dict(zip(names, values))
            u = self._inputs(robot, given)
            return (*steps.moved(robot, dynamics, given["q"], given["v"], u, given["h"][0]), u)

        return trace(robot, one, "rollouts", sizes, names)


_NOT_YET: Any = object()
