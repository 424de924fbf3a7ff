"""Pinocchio: a robot handed over in memory, number for number, and how it lays out states."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.model import Model
from .availability import NotHere, needs_joints
from .layout import Layout, depth_first

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
