"""Pinocchio from its Python wheel: one call per state, and its own batch calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...interop.availability import needs
from ...interop.layout import Layout, full
from ...interop.pinocchio import layout, to_pinocchio
from ...robot.robot import Robot
from ..cases import Case
from ..peer import Peer, Work, needs_float64, needs_function


def in_loop(robot: Robot, case: Case, arguments: list[np.ndarray]) -> Work:
    pin, model, own = _ready(robot, case)
    data = model.createData()
    call = getattr(pin, _CALLS[case.function])
    states = list(zip(*own.arguments(case.function, arguments)))

    def result(_: Any) -> np.ndarray:
        if case.function.startswith("linearize"):
            return np.stack([_linearized(call(model, data, *state), own) for state in states])
        found = np.stack([np.array(call(model, data, *state)) for state in states])  # each call overwrites the last
        return own.result(case.function, arguments, full(found) if found.ndim == 3 else found)

    if case.batch == 1:
        return Work(lambda: call(model, data, *states[0]), result)
    return Work(lambda: [call(model, data, *state) for state in states], result)


_CALLS = {
    "forward_dynamics": "aba",
    "inverse_dynamics": "rnea",
    "mass_matrix": "crba",
    "mass_matrix_inverse": "computeMinverse",
    "linearize_inverse": "computeRNEADerivatives",
    "linearize_forward": "computeABADerivatives",
}


def _linearized(found: Any, own: Layout) -> np.ndarray:
    """(by q, by v, M or M⁻¹) of Pinocchio as linkwise stacks them."""
    by_q, by_v, matrix = (np.array(x) for x in found)
    return own.linearized(matrix, by_v, by_q)


def in_batch(robot: Robot, case: Case, arguments: list[np.ndarray]) -> Work:
    needs_function(case, ("forward_dynamics", "inverse_dynamics"))
    pin, model, own = _ready(robot, case)
    pool = pin.ModelPool(model, 1)
    columns = [np.asfortranarray(x.T) for x in own.arguments(case.function, arguments)]
    out = np.zeros((model.nv, case.batch), order="F")
    call = pin.abaInParallel if case.function == "forward_dynamics" else pin.rneaInParallel
    return Work(lambda: call(1, pool, *columns, out), lambda _: own.result(case.function, arguments, out.T))


def _ready(robot: Robot, case: Case) -> tuple[Any, Any, Layout]:
    needs_float64(case)
    pin = needs("pinocchio", "pin")
    return pin, to_pinocchio(pin, robot), layout(robot)


BATCH = Peer("Pinocchio, batch call", ("pin",), "abaInParallel, rneaInParallel on one thread", in_batch)
LOOP = Peer(
    "Pinocchio, Python loop",
    ("pin",),
    "aba, rnea, crba, computeMinverse or the derivatives, one call per state from Python; results are not copied out",
    in_loop,
)
