"""A robot as a URDF or SDF file, number for number, for libraries that take nothing else.

Numbers are written with all their digits. A free base becomes the root link; otherwise the base link, bolted
to the world, is the root.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from ..model.files.urdf_writer import moments, number, rpy, text, to_urdf
from ..model.inertia import Inertia
from ..model.model import STANDARD_GRAVITY, Model
from ..model.parts import Body, Limits

_BASE = "fixed_base"
_FAR = 1e3  # limits are demanded where there are none


def floats(robot: Model) -> bool:
    """Whether the root is a free joint."""
    return robot.joints[0].kind.kind == "free"


def moving(robot: Model) -> list[Body]:
    """The bodies on revolute or prismatic joints, in the robot's order."""
    return [b for b in robot.bodies if b.joint.kind.kind != "free"]


def urdf(robot: Model) -> str:
    """The robot as a URDF: revolute and prismatic joints, the root free or fixed, without what peers stumble over."""
    far = Limits(-_FAR, _FAR, velocity=_FAR, effort=_FAR)
    bodies = tuple(
        replace(b, joint=replace(b.joint, limits=far, mimic=None)) if b.joint.kind.nv == 1 else b for b in robot.bodies
    )
    base = robot.base if floats(robot) else _held(robot.base)
    plain = replace(robot, bodies=bodies, extra_frames=(), gravity=STANDARD_GRAVITY, base=base, visuals=())
    return to_urdf(plain, floating_root=floats(robot))


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
        pose.text = f"{text(placement.l)} {text(rpy(placement.R))}"
        _texts(joint, parent=parent, child=body.name)
        axis = SubElement(joint, "axis")
        _texts(axis, xyz=text(_axis(body)))
        _texts(SubElement(axis, "limit"), lower=str(-_FAR), upper=str(_FAR))
    return tostring(root, encoding="unicode")


def _sdf_link(model: Element, name: str, inertia: Inertia, joint: str | None) -> None:
    link = SubElement(model, "link", name=name)
    if joint is not None:
        SubElement(link, "pose", relative_to=joint).text = "0 0 0 0 0 0"
    inertial = SubElement(link, "inertial")
    _texts(inertial, pose=f"{text(inertia.com)} 0 0 0", mass=number(inertia.mass))
    _texts(SubElement(inertial, "inertia"), **{k: number(x) for k, x in moments(inertia).items()})


def _held(base: Inertia) -> Inertia:
    """A base bolted to the world may weigh nothing, which files do not allow; its inertia has no effect there."""
    return base if base.mass > 0 else Inertia.sphere(1.0, 1.0)


def _texts(holder: Element, **named: str) -> None:
    for tag, value in named.items():
        SubElement(holder, tag).text = value


def _axis(body: Body) -> Any:
    return body.joint.kind.axis
