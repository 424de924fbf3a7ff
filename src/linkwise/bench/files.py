"""A robot as a URDF or SDF file, number for number, for libraries that take nothing else.

Numbers are written with all their digits. A free base becomes the root link; otherwise the base link, bolted
to the world, is the root.
"""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np

from ..model.inertia import Inertia
from ..model.model import Model
from ..model.parts import Body

_BASE = "fixed_base"
_FAR = 1e3  # limits are demanded where there are none


def floats(robot: Model) -> bool:
    """Whether the root is a free joint."""
    return robot.joints[0].kind.kind == "free"


def moving(robot: Model) -> list[Body]:
    """The bodies on revolute or prismatic joints, in the robot's order."""
    return [b for b in robot.bodies if b.joint.kind.kind != "free"]


def urdf(robot: Model) -> str:
    """The robot as a URDF: revolute and prismatic joints, the root free or fixed."""
    root = Element("robot", name=robot.name)
    if not floats(robot):
        _urdf_inertial(SubElement(root, "link", name=_BASE), robot.base)
    for body in robot.bodies:
        _urdf_inertial(SubElement(root, "link", name=body.name), body.inertia)
    for body in moving(robot):
        joint = SubElement(root, "joint", name=body.joint.name, type=body.joint.kind.kind)
        SubElement(joint, "parent", link=body.parent or _BASE)
        SubElement(joint, "child", link=body.name)
        SubElement(joint, "origin", xyz=_text(body.joint.placement.l), rpy=_text(rpy(body.joint.placement.R)))
        SubElement(joint, "axis", xyz=_text(_axis(body)))
        SubElement(joint, "limit", lower=str(-_FAR), upper=str(_FAR), effort=str(_FAR), velocity=str(_FAR))
    return tostring(root, encoding="unicode")


def _urdf_inertial(link: Element, inertia: Inertia) -> None:
    inertial = SubElement(link, "inertial")
    SubElement(inertial, "origin", xyz=_text(inertia.com), rpy="0 0 0")
    SubElement(inertial, "mass", value=repr(float(inertia.mass)))
    SubElement(inertial, "inertia", {k: repr(x) for k, x in _moments(inertia).items()})


def sdf(robot: Model) -> str:
    """The robot as an SDF of version 1.7."""
    root = Element("sdf", version="1.7")
    model = SubElement(root, "model", name=robot.name)
    if not floats(robot):
        _sdf_link(model, _BASE, _held(robot.base), None)
        world = SubElement(model, "joint", name="to_the_world", type="fixed")
        _texts(world, parent="world", child=_BASE)
    for body in robot.bodies:
        _sdf_link(model, body.name, body.inertia, None if body.joint.kind.kind == "free" else body.joint.name)
    for body in moving(robot):
        joint = SubElement(model, "joint", name=body.joint.name, type=body.joint.kind.kind)
        parent, placement = body.parent or _BASE, body.joint.placement
        pose = SubElement(joint, "pose", relative_to=parent)
        pose.text = f"{_text(placement.l)} {_text(rpy(placement.R))}"
        _texts(joint, parent=parent, child=body.name)
        axis = SubElement(joint, "axis")
        _texts(axis, xyz=_text(_axis(body)))
        _texts(SubElement(axis, "limit"), lower=str(-_FAR), upper=str(_FAR))
    return tostring(root, encoding="unicode")


def _sdf_link(model: Element, name: str, inertia: Inertia, joint: str | None) -> None:
    link = SubElement(model, "link", name=name)
    if joint is not None:
        SubElement(link, "pose", relative_to=joint).text = "0 0 0 0 0 0"
    inertial = SubElement(link, "inertial")
    _texts(inertial, pose=f"{_text(inertia.com)} 0 0 0", mass=repr(float(inertia.mass)))
    _texts(SubElement(inertial, "inertia"), **{k: repr(x) for k, x in _moments(inertia).items()})


def _held(base: Inertia) -> Inertia:
    """A base bolted to the world may weigh nothing, which files do not allow; its inertia has no effect there."""
    return base if base.mass > 0 else Inertia.sphere(1.0, 1.0)


def _texts(holder: Element, **named: str) -> None:
    for tag, text in named.items():
        SubElement(holder, tag).text = text


def _moments(inertia: Inertia) -> dict[str, float]:
    J = inertia.tensor
    return {f"i{'xyz'[i]}{'xyz'[j]}": float(J[i, j]) for i in range(3) for j in range(i, 3)}


def _axis(body: Body) -> Any:
    return body.joint.kind.axis


def _text(vector: Any) -> str:
    return " ".join(repr(float(x)) for x in vector)


def rpy(R: Any) -> np.ndarray:
    """Roll, pitch and yaw of a rotation R = Rz(yaw) Ry(pitch) Rx(roll), to rounding also near pitch = ±90°."""
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    yaw = np.arctan2(R[1, 0], R[0, 0]) if np.hypot(R[0, 0], R[1, 0]) > 1e-12 else 0.0
    c, s = np.cos(yaw), np.sin(yaw)
    # With the yaw taken away, what is left of the second and third columns is the roll.
    roll = np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return np.array([roll, pitch, yaw])
