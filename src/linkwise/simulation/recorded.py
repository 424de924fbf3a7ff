"""A system whose accelerations are noted when a step is traced, with their derivatives: the linearised algorithms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Array, SameKind
from ..codegen.facts import has_adjoint
from ..dynamics import coordinate_gradients
from ..dynamics.reference_parameters import parameter_forces
from ..symbols.derivative import Call
from ..symbols.scalar import Scalar
from .system import System


@dataclass(frozen=True, eq=False)
class RecordedSystem(System):
    """``calls`` receives forward dynamics with its adjoint and its derivative along directions, both in O(n).

    ``inertial`` says that the inertial parameters are inputs of that name, which it depends on. Where it depends on
    the state by its constants too (friction, stops at the end of a step), or loops are closed, nothing is noted:
    derivatives are then those of the program, value by value.
    """

    calls: list[Call] = field(default_factory=list)
    inertial: bool = False

    def acceleration(self, model: Any, q: Array, v: Array, total: Array) -> SameKind:
        a = super().acceleration(model, q, v, total)
        own = self.passive.falls_as_it_is or model is self.dynamics
        if own and not self.closing.options and has_adjoint(model, "forward_dynamics"):
            self.calls.append(forward_dynamics_call(model, q, v, total, a, self._parameters(q)))
        return a

    def _parameters(self, q: Any) -> np.ndarray | None:
        graph = next((x.graph for x in q if isinstance(x, Scalar)), None)
        found: np.ndarray | None = None
        if self.inertial and graph is not None:
            found = graph.inputs("inertial", 10 * len(self.robot.bodies))
        return found


def forward_dynamics_call(
    model: Any, q: Array, v: Array, tau: Array, a: Array, inertial: np.ndarray | None = None
) -> Call:
    """a = FD(q, v, τ; π) of one state of symbols, with LD Algorithm 5 and its adjoint as derivatives.

    By inertial parameters: 𝓜 δa = −Y(q, v, a) δπ.
    """
    state = [np.asarray(x, dtype=object).view(np.ndarray) for x in (q, v, tau, a)]
    q, v, tau, a = state
    nq, nv = model.nq, model.nv

    def adjoint(weights: list[Any]) -> list[Any]:
        back = model.forward_dynamics_vjp(q, v, tau, _symbols(weights))
        found = [coordinate_gradients.gradient_in_numbers(model, q, back.dq), back.dv, back.dtau]
        if inertial is not None:
            found.append(-model.parameter_gradient(q, v, v, a, back.dtau).ravel())
        return [x for part in found for x in np.asarray(part)]

    def direction(changes: list[Any]) -> list[Any]:
        dq, dv, dtau, dp = np.split(_symbols(changes), [nq, nq + nv, nq + 2 * nv])
        if inertial is not None and any(isinstance(x, Scalar) or x for x in dp):
            forces = parameter_forces(model, q, v, v, a, dp.reshape(len(model.bodies), 10))
            dtau = dtau - model.external_force(q, forces)
        along = coordinate_gradients.direction_in_tangent(model, q, dq)
        return list(np.asarray(model.forward_dynamics_jvp(q, v, tau, along, dv, dtau)))

    more = () if inertial is None else inertial
    return Call((*state[0], *state[1], *state[2], *more), tuple(state[3]), adjoint, direction)


def _symbols(numbers: list[Any]) -> np.ndarray:
    out = np.empty(len(numbers), dtype=object)
    out[:] = numbers
    return out
