"""What a trajectory costs: ∫ ½(δx*Qδx + δu*Rδu) dt + ½δx*Q_f δx, with δx = [q ⊖ q_d; v − v_d].

Any object with the two methods of :class:`QuadraticCost`, ``value`` and ``expand``, can stand in its place.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .. import arrays, inputs
from ..arguments import numbers
from ..dynamics.tangent import commutes, step_maps, turning, turning_maps
from ..errors import InputError
from ..robot.calls import refuse_other_than_robot
from ..robot.robot import Robot
from ..values import owned
from .law import weight_matrix
from .steps import Steps, weighted_derivative
from .tracking import times


class Expansion(NamedTuple):
    """Derivatives of a cost along one trajectory, the last row that of the end: x (N+1, 2nv), xx, u (N, m), uu, ux."""

    x: np.ndarray
    xx: np.ndarray
    u: np.ndarray
    uu: np.ndarray
    ux: np.ndarray


@dataclass(frozen=True, eq=False)
class QuadraticCost:
    """Distance from a target state, and effort.

    ``q`` (nq,) and ``v`` (nv,; default at rest) are the target, or one per sample (N+1, ·) along a trajectory; ``u``
    likewise the inputs that cost nothing (default 0). Weights are numbers, diagonals or matrices: ``state`` Q
    (2nv) and ``control`` R (m) per second, ``terminal`` Q_f (2nv).
    """

    robot: Robot
    q: Any
    v: Any = None
    u: Any = 0.0
    _: KW_ONLY
    state: Any = 0.0
    control: Any = 1.0
    terminal: Any = 1.0
    _efforts: dict[int, np.ndarray] = field(default_factory=dict, init=False, repr=False)  # R by the number of inputs

    def __post_init__(self) -> None:
        refuse_other_than_robot(self.robot, "a cost")
        n = self.robot.nv
        checked = {
            "q": inputs.configuration(self.robot, self.q),
            "v": inputs.vector(np.zeros(n) if self.v is None else self.v, n, "v", self.robot),
            "u": numbers(self.u, "u"),
            "state": weight_matrix(self.state, 2 * n, "state", definite=False),
            "control": numbers(self.control, "control"),
            "terminal": weight_matrix(self.terminal, 2 * n, "terminal", definite=False),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, owned(value))

    def value(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, steps: Steps) -> np.ndarray:
        """The cost (...) of q (..., N+1, nq), v (..., N+1, nv) under u (..., N, m)."""
        x = self._errors(q, v)
        du = u - self._along(self.u, u)
        R = self._effort(steps.inputs)
        before, end = x[..., :-1, :], x[..., -1, :]
        running = (before @ self.state * before).sum(axis=(-2, -1)) + (du @ R * du).sum(axis=(-2, -1))
        cost: np.ndarray = 0.5 * steps.step * running + 0.5 * (end @ self.terminal * end).sum(axis=-1)
        return cost

    def expand(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, steps: Steps, *, exact: bool = False) -> Expansion:
        """Derivatives at one trajectory; on quaternions the second ones are Gauss and Newton's unless ``exact``."""
        h, n, e = steps.step, self.robot.nv, self._errors(q, v)
        W = np.empty((len(u) + 1, 2 * n, 2 * n))
        W[:-1], W[-1] = h * self.state, self.terminal
        slope = np.concatenate([e[:-1] @ (h * self.state), e[-1:] @ self.terminal])
        for of, (_, Z) in zip(turning(self.robot), turning_maps(self.robot, e[..., :n])):  # δ(q ⊖ q_d) = Z⁻¹δq
            Z_inverse = np.linalg.inv(arrays.as_numpy(Z))
            W[:, of] = arrays.transpose(Z_inverse) @ W[:, of]
            W[:, :, of] = W[:, :, of] @ Z_inverse
            slope[:, of] = times(arrays.transpose(Z_inverse), slope[:, of])
        if exact and not commutes(self.robot):  # ë = ∂Z⁻¹[ė]ξ = −Z⁻¹∂Z[ė]ė
            Z_inverse = np.linalg.inv(arrays.as_numpy(step_maps(self.robot, e[..., :n])[1]))
            turned = weighted_derivative(self.robot, e[..., :n], slope[..., :n])
            W[:, :n, :n] -= arrays.transpose(Z_inverse) @ turned @ Z_inverse
        R = h * self._effort(steps.inputs)
        return Expansion(
            x=slope,
            xx=W,
            u=(u - self._along(self.u, u)) @ R,
            uu=np.broadcast_to(R, (len(u), *R.shape)),
            ux=np.zeros((len(u), steps.inputs, 2 * n)),
        )

    def _effort(self, m: int) -> np.ndarray:
        """R (m, m)."""
        if m not in self._efforts:
            self._efforts[m] = weight_matrix(self.control, m, "control", definite=True)
        return self._efforts[m]

    def _errors(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        e = self.robot.difference(self._along(self.q, q), q)
        return np.concatenate([e, v - self._along(self.v, v)], axis=-1)

    def _along(self, target: np.ndarray, x: np.ndarray) -> np.ndarray:
        """A target beside samples x (..., N, n): as it is, or one per sample."""
        if target.ndim == 2 and len(target) != x.shape[-2]:
            raise InputError(
                f"a target along a trajectory needs one row per sample: {len(target)} rows, {x.shape[-2]} samples"
            )
        return target
