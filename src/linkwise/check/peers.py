"""Other libraries as oracles: the same robot handed over in memory, and the same file read by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .. import arrays
from ..interop import mujoco as mujoco_models
from ..interop import pinocchio as pinocchio_models
from ..interop.availability import NotHere, needs
from ..interop.layout import Layout, full
from ..interop.mujoco_states import MujocoStates
from ..model.files import xml
from ..model.files.mjcf import compile_mjcf
from ..model.joints.kinds import Free, Planar, Revolute
from ..robot.robot import Robot
from .findings import SKIPPED, Finding, States, compared

_CLOSE = 1e-9
_ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]


def pinocchio(robot: Robot, x: States) -> Iterator[Finding]:
    """Pinocchio's algorithms on this robot."""

    def peer() -> tuple[Layout, Callable[..., Any], Callable[..., Any]]:
        pin = needs("pinocchio", "pin")
        model = pinocchio_models.to_pinocchio(pin, robot)
        data = model.createData()
        mass = lambda q: full(np.array(pin.crba(model, data, q)))
        return pinocchio_models.layout(robot), mass, lambda q, v, a: np.array(pin.rnea(model, data, q, v, a))

    yield from _beside("Pinocchio", robot, x, peer)


def mujoco(robot: Robot, x: States) -> Iterator[Finding]:
    """MuJoCo's algorithms on this robot."""

    def peer() -> tuple[Layout, Callable[..., Any], Callable[..., Any]]:
        module = needs("mujoco", "mujoco")
        try:
            model = mujoco_models.to_mujoco(module, robot)
        except ValueError as e:  # such as bodies without mass, which it does not take
            raise NotHere(f"does not take this robot: {' '.join(str(e).split())}") from None
        return mujoco_models.layout(robot), *_mujoco_calls(module, model)

    yield from _beside("MuJoCo", robot, x, peer)


def _mujoco_calls(module: Any, model: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The mass matrix and inverse dynamics of the rigid bodies alone."""
    off = module.mjtDisableBit
    model.opt.disableflags |= off.mjDSBL_CONSTRAINT | off.mjDSBL_SPRING | off.mjDSBL_DAMPER
    model.opt.density = model.opt.viscosity = 0.0
    model.body_gravcomp[:] = 0.0
    data = module.MjData(model)

    def mass(q: np.ndarray) -> np.ndarray:
        data.qpos[:], data.qvel[:] = q, 0.0
        module.mj_forward(model, data)
        M = np.zeros((model.nv, model.nv))
        module.mj_fullM(model, data, M)
        return M

    def inverse(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
        module.mj_inverse(model, data)
        tau: np.ndarray = data.qfrc_inverse.copy()
        return tau

    return mass, inverse


def _beside(name: str, robot: Robot, x: States, make: Callable[[], Any]) -> Iterator[Finding]:
    try:
        layout, mass, inverse = make()
    except NotHere as e:
        yield Finding(name, SKIPPED, str(e))
        return
    rows = range(len(x.q))
    for function, call, arguments in (("mass_matrix", mass, [x.q]), ("inverse_dynamics", inverse, [x.q, x.v, x.a])):
        theirs = layout.arguments(function, list(arguments))
        found = layout.result(function, list(arguments), np.stack([call(*(y[i] for y in theirs)) for i in rows]))
        expected = _of_bodies(robot, x) if function == "inverse_dynamics" else robot.mass_matrix(x.q, target="numpy")
        yield compared(f"{name}, {function.replace('_', ' ')}", found, expected, _CLOSE, "same robot, its algorithm")


def _of_bodies(robot: Robot, x: States) -> np.ndarray:
    """The joint forces that move the bodies, without what springs and dampers of joints ask."""
    tau = robot.inverse_dynamics(x.q, x.v, x.a, target="numpy")
    return arrays.as_numpy(tau - robot.spring_force(x.q, x.v, target="numpy"))


CHECKS = (pinocchio, mujoco)


# --- the file itself ---------------------------------------------------------------------------------


def same_file(robot: Robot, source: str | None, x: States) -> Iterator[Finding]:
    """The file as another library reads it: Pinocchio for URDF, MuJoCo for MJCF."""
    if source is None or not Path(source).is_file():
        return
    tag = xml.root_tag(source)
    if tag == "sdf":
        yield Finding("the file elsewhere", SKIPPED, "neither Pinocchio nor MuJoCo reads SDF files")
        return
    name, read = ("MuJoCo", _mujoco_file) if tag == "mujoco" else ("Pinocchio", _pinocchio_file)
    label = f"the file in {name}"
    try:
        yield from read(label, robot, source, x)
    except NotHere as e:
        yield Finding(label, SKIPPED, str(e))


def _mujoco_file(label: str, robot: Robot, source: str, x: States) -> Iterator[Finding]:
    module = needs("mujoco", "mujoco")
    model, _ = compile_mjcf(source)
    if model.nq != robot.nq:
        raise NotHere("the base was made to float here")
    states = MujocoStates(robot, model.qpos0)
    mass, inverse = _mujoco_calls(module, model)
    T = states.velocity_map(x.q)
    M = np.stack([T[i].T @ mass(states.qpos(x.q[i])) @ T[i] for i in range(len(x.q))])
    yield compared(f"{label}, mass matrix", M, robot.mass_matrix(x.q, target="numpy"), _CLOSE, "as it reads it")
    qpos, qvel, qacc = states.qpos(x.q), states.qvel(x.q, x.v), states.qacc(x.q, x.v, x.a)
    forces = states.tau(x.q, np.stack([inverse(*rows) for rows in zip(qpos, qvel, qacc)]))
    yield compared(f"{label}, inverse dynamics", forces, _of_bodies(robot, x), _CLOSE, "as it reads it")


def _pinocchio_file(label: str, robot: Robot, source: str, x: States) -> Iterator[Finding]:
    pin = needs("pinocchio", "pin")
    if any(j.rotor is not None for j in robot.joints):
        raise NotHere("it does not read rotors")
    if any(isinstance(j.kind, Planar) and tuple(j.kind.normal) != (0, 0, 1) for j in robot.joints):
        raise NotHere("it takes planar joints as normal to z")
    model = _pinocchio_model(pin, robot, source)
    data = model.createData()
    model.gravity.linear = np.array(robot.gravity)
    ids = [model.getJointId(j.name) for j in robot.joints]
    if model.nv != robot.nv or any(i >= model.njoints for i in ids):
        raise NotHere("its joints are others; mimic joints, say")
    order = _velocity_order(robot, model, ids)
    back = np.argsort(order)
    M, forces = [], []
    for q, v, a in zip(x.q, x.v, x.a):
        theirs = _pinocchio_q(robot, model, ids, q)
        M.append(full(np.array(pin.crba(model, data, theirs)))[order][:, order])
        forces.append(np.array(pin.rnea(model, data, theirs, v[back], a[back]))[order])
    yield compared(f"{label}, mass matrix", M, robot.mass_matrix(x.q, target="numpy"), _CLOSE, "as it reads it")
    yield compared(f"{label}, inverse dynamics", forces, _of_bodies(robot, x), _CLOSE, "as it reads it")


def _pinocchio_model(pin: Any, robot: Robot, source: str) -> Any:
    root = robot.joints[0]
    floats = isinstance(root.kind, Free) and root.name.startswith("root_joint")
    try:
        return pin.buildModelFromUrdf(source, pin.JointModelFreeFlyer()) if floats else pin.buildModelFromUrdf(source)
    except (ValueError, RuntimeError) as e:
        raise NotHere(f"does not read this file: {' '.join(str(e).split())[:120]}") from None


def _velocity_order(robot: Robot, model: Any, ids: list[int]) -> np.ndarray:
    order: list[int] = []
    for joint, i in zip(robot.joints, ids):
        own = _ANGULAR_FIRST if isinstance(joint.kind, Free) else range(joint.kind.nv)
        order += [model.idx_vs[i] + k for k in own]
    return np.array(order, dtype=int)


def _pinocchio_q(robot: Robot, model: Any, ids: list[int], q: np.ndarray) -> np.ndarray:
    """q as Pinocchio has it: unbounded angles as cos and sin."""
    out = np.zeros(model.nq)
    for i, joint, own in zip(ids, robot.joints, robot.q_slices):
        x, start, count = q[own], model.idx_qs[i], model.nqs[i]
        if isinstance(joint.kind, Planar):
            x = np.array([x[0], x[1], np.cos(x[2]), np.sin(x[2])])
        elif isinstance(joint.kind, Revolute) and count == 2:
            x = np.array([np.cos(x[0]), np.sin(x[0])])
        out[start : start + count] = x
    return out
