"""A linkwise robot as a Pinocchio model, number for number, so that both compute the same thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..model.model import Model

_ALIGNED = {(1, 0, 0): "X", (0, 1, 0): "Y", (0, 0, 1): "Z"}


def to_pinocchio(pin: Any, robot: Model) -> Any:
    """The model, or None where a joint kind has no counterpart.

    Its bodies are numbered depth first, without which some of Pinocchio's algorithms give wrong results.
    """
    model = pin.Model()
    model.gravity.linear = np.array(robot.gravity)
    indices: dict[int, int] = {}
    for k in depth_first(robot):
        body, parent = robot.bodies[k], robot.parents[k]
        joint = _joint(pin, body.joint.kind)
        if joint is None or body.joint.rotor is not None:
            return None
        placement = pin.SE3(np.array(body.joint.placement.R), np.array(body.joint.placement.l))
        index = model.addJoint(0 if parent < 0 else indices[parent], joint, placement, body.joint.name)
        inertia = pin.Inertia(body.inertia.mass, np.array(body.inertia.com), np.array(body.inertia.tensor))
        model.appendBodyToJoint(index, inertia, pin.SE3.Identity())
        indices[k] = index
    return model


def depth_first(robot: Model) -> list[int]:
    """The bodies in depth-first order."""
    order: list[int] = []
    waiting = [k for k, p in enumerate(robot.parents) if p < 0][::-1]
    while waiting:
        k = waiting.pop()
        order.append(k)
        waiting.extend(reversed(robot.children[k]))
    return order


def _joint(pin: Any, kind: Any) -> Any:
    """The quickest joint model that fits: those for coordinate axes where the axis is one."""
    if kind.kind in ("revolute", "prismatic"):
        letter = _ALIGNED.get(tuple(kind.axis.tolist()))
        short = "R" if kind.kind == "revolute" else "P"
        if letter:
            return getattr(pin, f"JointModel{short}{letter}")()
        return getattr(pin, f"JointModel{kind.kind.capitalize()}Unaligned")(np.array(kind.axis))
    if kind.kind == "free":
        return pin.JointModelFreeFlyer()
    if kind.kind == "spherical":
        return pin.JointModelSpherical()
    return None


def conversions(robot: Model) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """(arguments to Pinocchio's order, results back): it puts linear velocities of free joints first."""
    of_q, of_v = [], []
    for k in depth_first(robot):
        where = robot.v_slices[k]
        entries = np.arange(where.start, where.stop)
        of_v.append(np.roll(entries, -3) if robot.joints[k].kind.kind == "free" else entries)
        of_q.append(np.arange(robot.q_slices[k].start, robot.q_slices[k].stop))
    order, order_q = np.concatenate(of_v), np.concatenate(of_q)
    inverse = np.argsort(order)

    def convert(arguments: list[np.ndarray]) -> list[np.ndarray]:
        moved = [arguments[0][..., order_q], *(x[..., order] for x in arguments[1:])]
        return [np.ascontiguousarray(x) for x in moved]

    def back(result: np.ndarray) -> np.ndarray:
        if result.ndim == 2:
            return result[..., inverse]
        upper = np.triu(result)
        full = upper + np.swapaxes(np.triu(result, 1), -1, -2)
        return full[..., inverse, :][..., :, inverse]

    return convert, back
