"""Pinocchio from its Python wheel: one call per state, and its own batch calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...interop.layout import Layout, depth_first, full
from ...model.model import Model
from ...robot.robot import Robot
from ..cases import Case
from ..peer import NotHere, Peer, Work, needs, needs_float64, needs_function, needs_joints

_ALIGNED = {(1, 0, 0): "X", (0, 1, 0): "Y", (0, 0, 1): "Z"}
KINDS = ("revolute", "prismatic", "free", "spherical")


def to_pinocchio(pin: Any, robot: Model) -> Any:
    """The robot as a Pinocchio model, number for number.

    Its bodies are numbered depth first, without which some of Pinocchio's algorithms give wrong results.
    """
    needs_memory(robot)
    needs_joints(robot, *KINDS, free_base_only=False)
    model = pin.Model()
    model.gravity.linear = np.array(robot.gravity)
    indices: dict[int, int] = {}
    for k in depth_first(robot):
        body, parent = robot.bodies[k], robot.parents[k]
        placement = pin.SE3(np.array(body.joint.placement.R), np.array(body.joint.placement.l))
        joint = _joint(pin, body.joint.kind)
        index = model.addJoint(0 if parent < 0 else indices[parent], joint, placement, body.joint.name)
        inertia = pin.Inertia(body.inertia.mass, np.array(body.inertia.com), np.array(body.inertia.tensor))
        model.appendBodyToJoint(index, inertia, pin.SE3.Identity())
        indices[k] = index
    return model


def needs_memory(robot: Model) -> None:
    """Refuse robots for which Pinocchio's data, of more than 4 nv³ numbers, would not fit into most memories."""
    if 32 * robot.nv**3 > 8e9:
        raise NotHere(f"its data for {robot.nv} joints take {32e-9 * robot.nv**3:.0f} GB")


def joint_letter(kind: Any) -> str:
    """X, Y or Z where the axis is that of a coordinate, else nothing: aligned joints are quicker there."""
    return _ALIGNED.get(tuple(kind.axis.tolist()), "")


def _joint(pin: Any, kind: Any) -> Any:
    if kind.kind == "free":
        return pin.JointModelFreeFlyer()
    if kind.kind == "spherical":
        return pin.JointModelSpherical()
    letter, short = joint_letter(kind), "R" if kind.kind == "revolute" else "P"
    if letter:
        return getattr(pin, f"JointModel{short}{letter}")()
    return getattr(pin, f"JointModel{kind.kind.capitalize()}Unaligned")(np.array(kind.axis))


def layout(robot: Model) -> Layout:
    """Depth first; free joints with the linear part first, in body axes."""
    return Layout(robot, depth_first(robot))


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
