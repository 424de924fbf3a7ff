"""Pinocchio from its Python wheel: one call per state, and its own batch calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...interop.availability import needs
from ...interop.layout import Layout, depth_first, full
from ...interop.pinocchio import layout, to_pinocchio
from ...robot.robot import Robot
from ..cases import Case
from ..peer import Peer, Work, needs_float64, needs_function


def in_loop(robot: Robot, case: Case, arguments: list[np.ndarray]) -> Work:
    pin, model, own = _ready(robot, case)
    tip = _add_frames(pin, model, robot)
    data = model.createData()
    call = _calls(pin, model, data, tip)[case.function]
    states = list(zip(*own.arguments(case.function, arguments)))

    def result(_: Any) -> np.ndarray:
        if case.function == "frame_poses":
            return np.stack([_poses(call(*state)) for state in states])
        if case.function.startswith("linearize"):
            return np.stack([_linearized(call(*state), own) for state in states])
        found = np.stack([np.array(call(*state)) for state in states])  # each call overwrites the last
        symmetric = case.function.startswith("mass_matrix")
        return own.result(case.function, arguments, full(found) if symmetric else found)

    if case.batch == 1:
        return Work(lambda: call(*states[0]), result)
    return Work(lambda: [call(*state) for state in states], result)


def _calls(pin: Any, model: Any, data: Any, tip: int) -> dict[str, Callable[..., Any]]:
    """Its functions by ours."""
    world, rest = pin.LOCAL_WORLD_ALIGNED, np.zeros(model.nv)

    def jacobian_dot_v(q: Any, v: Any) -> Any:
        pin.forwardKinematics(model, data, q, v, rest)
        pin.updateFramePlacement(model, data, tip)
        return pin.getFrameClassicalAcceleration(model, data, tip, world).vector

    def operational_inertia(q: Any) -> Any:
        J = pin.computeFrameJacobian(model, data, q, tip, world)
        return np.linalg.inv(J @ full(pin.computeMinverse(model, data, q)) @ J.T)

    def frame_poses(q: Any) -> Any:
        pin.framesForwardKinematics(model, data, q)
        return data.oMf

    return {name: partial(getattr(pin, call), model, data) for name, call in _CALLS.items()} | {
        "jacobian": lambda q: pin.computeFrameJacobian(model, data, q, tip, world),
        "jacobian_dot_v": jacobian_dot_v,
        "operational_inertia": operational_inertia,
        "frame_poses": frame_poses,
    }


_CALLS = {
    "forward_dynamics": "aba",
    "inverse_dynamics": "rnea",
    "mass_matrix": "crba",
    "mass_matrix_inverse": "computeMinverse",
    "linearize_inverse": "computeRNEADerivatives",
    "linearize_forward": "computeABADerivatives",
    "coriolis_matrix": "computeCoriolisMatrix",
    "centroidal_matrix": "computeCentroidalMap",
}


def _add_frames(pin: Any, model: Any, robot: Robot) -> int:
    """Put the robot's frames behind Pinocchio's own; the number of the tip's."""
    joints = {k: i + 1 for i, k in enumerate(depth_first(robot))}
    found = {}
    for i, frame in enumerate(robot.frames):
        k, pose = robot.frame(frame.name)
        placement = pin.SE3(np.array(pose.R), np.array(pose.l))
        found[frame.name] = model.addFrame(
            pin.Frame(f"frame {i}", joints.get(k, 0), 0, placement, pin.FrameType.OP_FRAME), False
        )
    return int(found[robot.tips[-1]])


def _poses(placements: Any) -> np.ndarray:
    """Of every frame but Pinocchio's own: the rotation by rows, then the position."""
    return np.stack([np.concatenate([np.ravel(x.rotation), x.translation]) for x in list(placements)[1:]])


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
    "aba, rnea, crba, computeMinverse, the derivatives and so on, one call per state from Python; results are not"
    " copied out",
    in_loop,
)
