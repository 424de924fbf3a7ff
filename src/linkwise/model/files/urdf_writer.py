"""A :class:`Model` as a URDF file, number for number: loading what was saved gives the same robot.

* **Root.** The link bolted to the world. A free joint is a joint of type "floating", at the root and elsewhere.
* **Frames** added on bodies become links on fixed joints, without mass.
* **Cylindrical and universal** joints become two joints with a link without mass between them, which is exact:
  q, v and joint forces stay as they were.
* **Spherical, helical and custom** joints have no counterpart, and are refused.
* **Limits.** The format demands numbers where a joint is unlimited: :data:`~linkwise.model.files.urdf.UNLIMITED` is
  written, and read back as no limit. An unlimited hinge is "continuous".
* **Looks** are <visual> elements (:mod:`.urdf_visuals_writer`).
* **Rotors and gravity**, which the format cannot say, go into an element <linkwise>, which linkwise reads and
  other programs pass over; a warning says so.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from ...arguments import file_path, flag
from ...arrays import as_numpy
from ...errors import ModelError, ModelWarning
from ...spatial import Transform
from ..inertia import Inertia
from ..joints.kinds import Cylindrical, Free, JointKind, Planar, Prismatic, Revolute, Universal
from ..joints.modal import Modal
from ..model import STANDARD_GRAVITY, Model, refuse_other_numbers
from ..parts import Body, Frame, Joint, Limits, Mimic
from ..visuals import Visual
from .urdf import EXTENSION, UNLIMITED
from .urdf_visuals_writer import unsayable, write_visuals

_TYPES = {
    "revolute": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "planar": "planar",
    "free": "floating",
}


def to_urdf(model: Model, *, floating_root: bool = False, folder: str | os.PathLike[str] | None = None) -> str:
    """The robot as the text of a URDF file.

    ``floating_root`` leaves a free joint at the root out, for programs that put the root link on one of their
    own (``lw.load(…, floating=True)`` is one); there may be only one body on the world then. Mesh files are named as
    seen from ``folder``, where the file will lie; without it, by their full paths.
    Raises :class:`ModelError` naming the joint that the format cannot say; warns (:class:`ModelWarning`) about
    data that other programs, or any, will not see.
    """
    refuse_other_numbers(model, "written as a file")
    parts = [part for body in model.bodies for part in _decomposed(body)]
    root_name = _root_name(model)
    if flag(floating_root, "floating_root"):
        root, *parts = _without_free_root(model, parts)
    else:
        root = Body(root_name, Free(), model.base)
    robot = Element("robot", name=model.name)
    seen_from = None if folder is None else os.path.abspath(file_path(folder, "the folder"))
    drawn: dict[str | None, list[Visual]] = {}
    for visual in model.visuals:
        drawn.setdefault(visual.body, []).append(visual)

    def write_link(body: Body, name: str | None) -> None:
        link = _write_link(robot, body.name, body.inertia)
        write_visuals(link, drawn.get(name, ()), _write_origin, number, seen_from)

    write_link(root, root.name if floating_root else None)
    for body in parts:
        write_link(body, body.name)
        _write_joint(robot, body, body.parent or root.name, _mimic(model, body.joint))
    taken = {b.joint.name for b in parts}
    for frame in model.extra_frames:
        if frame.body is None and frame.name == root.name:
            continue
        _write_link(robot, frame.name, Inertia())
        held = _unused(f"{frame.name}_fixed", taken)
        taken.add(held)
        _write_frame(robot, frame, held, frame.body or root.name)
    _write_extension(robot, model, parts)
    lost = list(_lost(model, parts, floating_root))
    if lost:
        warnings.warn(f"URDF of {model.name!r}: {'; '.join(lost)}", ModelWarning, stacklevel=3)
    indent(robot)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(robot, encoding="unicode") + "\n"


# --- what the format can say -------------------------------------------------------------------------


def _decomposed(body: Body) -> Iterator[Body]:
    """The body on joints that the format has; two for a cylindrical or universal one."""
    joint, kind = body.joint, body.joint.kind
    if kind.kind in _TYPES:
        yield body
        return
    pair: tuple[JointKind, JointKind]
    if isinstance(kind, Cylindrical):
        pair = Revolute(kind.axis), Prismatic(kind.axis)
    elif isinstance(kind, Universal):
        pair = Revolute(kind.first), Revolute(kind.second)
    else:
        if isinstance(kind, Modal):
            raise ModelError(
                f"joint {joint.name!r} is one of a flexible body, which URDF cannot say; robot.lock of its modes is"
                " a robot with that body rigid"
            )
        raise ModelError(
            f"joint {joint.name!r} is {kind.kind}, which URDF cannot say; it has revolute, prismatic, planar, floating"
            " and fixed joints (cylindrical and universal ones are two of them)"
        )
    between = f"{body.name}:first"
    first = _part(joint, 0, pair[0], f"{joint.name}:first")
    second = replace(_part(joint, 1, pair[1], joint.name), at=(0.0, 0.0, 0.0), rpy=None, rotation=None)
    yield Body(between, first, Inertia(), body.parent)
    yield Body(body.name, second, body.inertia, between)


def _part(joint: Joint, i: int, kind: JointKind, name: str) -> Joint:
    """One degree of freedom of a joint, as a joint."""
    lower, upper, velocity, effort = (x[i] for x in joint.limits.arrays(2))
    stiffness, damping, friction = (
        np.broadcast_to(np.asarray(x, float), (2,))[i] for x in (joint.stiffness, joint.damping, joint.friction)
    )
    return replace(
        joint,
        kind=kind,
        name=name,
        limits=Limits(lower, upper, velocity=velocity, effort=effort),
        stiffness=stiffness,
        rest=None if joint.rest is None else float(np.atleast_1d(joint.rest)[i]),
        damping=damping,
        friction=friction,
    )


def _without_free_root(model: Model, parts: list[Body]) -> list[Body]:
    held = [b for b in parts if b.parent is None]
    if len(held) != 1 or not isinstance(held[0].joint.kind, Free):
        raise ModelError(f"robot {model.name!r} has no single body that moves freely; leave floating_root out")
    return [held[0], *(b for b in parts if b is not held[0])]


def _root_name(model: Model) -> str:
    """The base's name, or where a body or a frame elsewhere bears it, "world"."""
    taken = {b.name for b in model.bodies}
    taken |= {f.name for f in model.extra_frames if f.body is not None or not _is_identity(f.pose)}
    return model.base_name if model.base_name not in taken else _unused("world", taken)


def _is_identity(pose: Transform) -> bool:
    return not np.any(as_numpy(pose.l)) and np.array_equal(as_numpy(pose.R), np.eye(3))


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _lost(model: Model, parts: list[Body], floating_root: bool) -> Iterator[str]:
    """What the file does not tell every reader."""
    rotors = [b.joint.name for b in parts if b.joint.rotor is not None]
    if rotors:
        yield f"other programs will not see the rotors of {', '.join(rotors)}"
    sprung = [b.joint.name for b in parts if np.any(np.asarray(b.joint.stiffness))]
    if sprung:
        yield f"other programs will not see the springs of {', '.join(sprung)}"
    if not np.array_equal(model.gravity, STANDARD_GRAVITY):
        yield f"other programs will not see that gravity is {model.gravity.tolist()}"
    for name, count in unsayable(model.visuals).items():
        yield f"{count} of the looks of {name!r} are not written: triangles of no file"
    fixed = sum(v.body is None for v in model.visuals)
    left_out = [b.joint for b in model.bodies if floating_root and b.parent is None]
    if moved := [j.name for j in left_out if not _is_identity(j.placement)]:
        yield f"the poses of {moved[0]} count from the world there, and not from its placement"
    if floating_root and fixed:
        yield f"{fixed} looks on the world are not written: there is no link for it"
    for body in parts:
        joint = body.joint
        if joint.kind.nv <= 1:
            continue
        if any(np.isfinite(x).any() for x in joint.limits.arrays(joint.kind.nv)):
            yield f"the limits of joint {joint.name!r} ({joint.kind.kind}) are not written"
        if any(np.ptp(np.atleast_1d(x)) > 0 for x in (joint.damping, joint.friction)):
            yield f"damping or friction of joint {joint.name!r} differ by direction; their means are written"


# --- elements ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Bounds:
    lower: float
    upper: float
    velocity: float
    effort: float


def _write_link(robot: Element, name: str, inertia: Inertia) -> Element:
    link = SubElement(robot, "link", name=name)
    if inertia.mass == 0 and not inertia.tensor.any():
        return link
    inertial = SubElement(link, "inertial")
    SubElement(inertial, "origin", xyz=text(inertia.com), rpy="0 0 0")
    SubElement(inertial, "mass", value=number(inertia.mass))
    SubElement(inertial, "inertia", {k: number(x) for k, x in moments(inertia).items()})
    return link


def _mimic(model: Model, joint: Joint) -> Mimic | None:
    """What a joint follows: its coupling, or the data of one that is not imposed."""
    coupling = model.dependents.get(model.joint_index.get(joint.name, -1))
    if coupling is None:
        return joint.mimic
    if coupling.ratio is None:
        raise ModelError(
            f"joint {joint.name!r} follows {', '.join(map(repr, coupling.independents))} in a way that URDF cannot say:"
            " its mimic joints follow one other by a constant ratio; uncouple it first"
        )
    return Mimic(coupling.independents[0], coupling.ratio, coupling.offset)


def _write_joint(robot: Element, body: Body, parent: str, mimic: Mimic | None) -> None:
    joint, kind = body.joint, body.joint.kind
    bounds = _bounds(joint) if kind.nv == 1 else None
    unbounded = bounds is not None and bounds.lower <= -UNLIMITED and bounds.upper >= UNLIMITED
    type_name = "continuous" if isinstance(kind, Revolute) and unbounded else _TYPES[kind.kind]
    element = SubElement(robot, "joint", name=joint.name, type=type_name)
    SubElement(element, "parent", link=parent)
    SubElement(element, "child", link=body.name)
    _write_origin(element, joint.placement)
    if isinstance(kind, (Revolute, Prismatic, Planar)):
        SubElement(element, "axis", xyz=text(kind.normal if isinstance(kind, Planar) else kind.axis))
    if bounds is not None:
        shown = {k: number(x) for k, x in vars(bounds).items()}
        if type_name == "continuous":
            del shown["lower"], shown["upper"]
        SubElement(element, "limit", shown)
    damping, friction = (float(np.mean(x)) for x in (joint.damping, joint.friction))
    if damping or friction:
        SubElement(element, "dynamics", damping=number(damping), friction=number(friction))
    if mimic is not None:
        SubElement(
            element,
            "mimic",
            joint=mimic.joint,
            multiplier=number(mimic.multiplier),
            offset=number(mimic.offset),
        )


def _bounds(joint: Joint) -> _Bounds:
    lower, upper, velocity, effort = (float(x[0]) for x in joint.limits.arrays(1))
    return _Bounds(*(float(np.clip(x, -UNLIMITED, UNLIMITED)) for x in (lower, upper, velocity, effort)))


def _write_frame(robot: Element, frame: Frame, joint: str, parent: str) -> None:
    element = SubElement(robot, "joint", name=joint, type="fixed")
    SubElement(element, "parent", link=parent)
    SubElement(element, "child", link=frame.name)
    _write_origin(element, frame.pose)


def _write_origin(element: Element, pose: Any) -> None:
    SubElement(element, "origin", xyz=text(pose.l), rpy=text(rpy(pose.R)))


def _write_extension(robot: Element, model: Model, parts: list[Body]) -> None:
    extension = Element(EXTENSION)
    if not np.array_equal(model.gravity, STANDARD_GRAVITY):
        SubElement(extension, "gravity", xyz=text(model.gravity))
    for body in parts:
        rotor = body.joint.rotor
        if rotor is not None:
            given = {"joint": body.joint.name, "inertia": number(rotor.inertia)}
            given["gear_ratio"] = number(rotor.gear_ratio)
            if rotor.axis is not None:
                given["axis"] = text(rotor.axis)
            SubElement(extension, "rotor", given)
        spring = _spring(body.joint)
        if spring:
            SubElement(extension, "spring", {"joint": body.joint.name, **spring})
        if body.joint.mimic is not None and model.joint_index.get(body.joint.name, -1) not in model.dependents:
            SubElement(extension, "independent", joint=body.joint.name)
    if len(extension):
        robot.append(extension)


def _spring(joint: Joint) -> dict[str, str]:
    """A joint's spring, and its damping where that acts; nothing where there is neither."""
    found, numbers = {}, {"stiffness": joint.stiffness, "damping": joint.damping if joint.damping_acts else 0.0}
    for name, x in numbers.items():
        if np.any(np.asarray(x)):
            found[name] = text(np.broadcast_to(np.asarray(x, float), (joint.kind.nv,)))
    if "stiffness" in found and joint.rest is not None:
        found["rest"] = text(np.atleast_1d(joint.rest))
    return found


# --- numbers -----------------------------------------------------------------------------------------


def number(x: Any) -> str:
    """A number with all its digits."""
    return repr(float(x))


def text(vector: Any) -> str:
    """Numbers with all their digits, separated by blanks."""
    return " ".join(number(x) for x in vector)


def moments(inertia: Inertia) -> dict[str, float]:
    """ixx, ixy, … of an inertia tensor."""
    J = inertia.tensor
    return {f"i{'xyz'[i]}{'xyz'[j]}": float(J[i, j]) for i in range(3) for j in range(i, 3)}


def rpy(R: Any) -> np.ndarray:
    """Roll, pitch and yaw of a rotation R = Rz(yaw) Ry(pitch) Rx(roll), to rounding also near pitch = ±90°."""
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    yaw = np.arctan2(R[1, 0], R[0, 0]) if np.hypot(R[0, 0], R[1, 0]) > 1e-12 else 0.0
    c, s = np.cos(yaw), np.sin(yaw)
    # With the yaw taken away, what is left of the second and third columns is the roll.
    roll = np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return np.array([roll, pitch, yaw])
