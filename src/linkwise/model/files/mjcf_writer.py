"""A :class:`Model` as an MJCF file (MuJoCo's format), number for number, without the ``mujoco`` package.

* **Bodies** are nested as they carry each other, so that joints come depth first; a base with an inertia is a body
  without joints. Frames are sites.
* **Joints.** Revolute, prismatic, spherical and free joints are MuJoCo's; cylindrical and universal ones are two. A
  body without mass that carries one other, of which MuJoCo has none, becomes more joints of that one, where these mean
  the same there. Planar, helical, guided and custom joints, and the modes of flexible bodies, are refused by name.
* **Rotors** are armature, **springs** stiffness and springref, **dampers** damping, **dry friction** frictionloss,
  **limits** range and actuatorfrcrange. Joints with a limit of force have a motor, whose control is their force.
* **Couplings** by a constant ratio, and **loops** that are welds, balls and hinges, are equality constraints (of hinges
  two points on the axis), which MuJoCo keeps by soft forces. Others are refused by name.
* **Looks** are geoms that touch nothing (:mod:`.mjcf_visuals_writer`).
* What the format cannot say and leaves the motion alone is named by a warning.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from ...arguments import file_path
from ...arrays import as_numpy
from ...errors import ModelError, ModelWarning
from ...properties import cached_property
from ...spatial import Transform, quaternion_from_rotation
from ..inertia import Inertia
from ..joints.kinds import Cylindrical, Fixed, Free, JointKind, Prismatic, Revolute, Spherical, Universal
from ..joints.modal import Modal
from ..loops import Loop
from ..model import Model, refuse_other_numbers
from ..parts import WORLD, Body, Frame, Joint
from .mjcf_visuals_writer import MjcfLooks
from .urdf import UNLIMITED
from .urdf_writer import number, text

_TYPES = {Revolute: "hinge", Prismatic: "slide", Spherical: "ball", Free: "free"}
_APART = 0.1  # [m] between the two points that hold a hinge
LEAST_MOMENT = 1e-14  # [kg m²], what is written of points and rods: MuJoCo takes no moment of inertia that is nothing


def to_mjcf(model: Model, loops: Iterable[Loop] = (), *, folder: str | os.PathLike[str] | None = None) -> str:
    """The robot as the text of an MJCF file; ``loops`` are those that are closed.

    Mesh files are named as seen from ``folder``, where the file will lie; without it, by their full paths. Raises
    :class:`ModelError` naming the joint, coupling or loop that the format cannot say; warns (:class:`ModelWarning`)
    about data that are not written.
    """
    refuse_other_numbers(model, "written as a file")
    seen_from = None if folder is None else os.path.abspath(file_path(folder, "the folder"))
    return _Writer(model, tuple(loops), MjcfLooks(model.visuals, seen_from)).text()


@dataclass(frozen=True, eq=False)
class _Single:
    """One joint of MuJoCo's: a kind that it has, its name, and which freedom of a joint it is."""

    joint: Joint
    kind: JointKind
    name: str
    freedom: int | None = None


@dataclass(frozen=True, eq=False)
class _Writer:
    model: Model
    loops: tuple[Loop, ...]
    looks: MjcfLooks

    def text(self) -> str:
        model = self.model
        top = Element("mujoco", model=model.name)
        SubElement(top, "compiler", angle="radian", autolimits="true", balanceinertia="false")
        SubElement(top, "option", gravity=text(model.gravity))
        self.looks.write_assets(top)
        world = SubElement(top, "worldbody")
        self._write_frames(world, None)
        self.looks.write(world, None)
        bolted = self._base(world)
        for body in self._carried_by(None):
            self._write_body(world if isinstance(body.joint.kind, Free) else bolted, body)
        self._write_equalities(top)
        self._write_motors(top)
        lost = [*self._lost(), *self.looks.lost]
        if lost:
            warnings.warn(f"MJCF of {model.name!r}: {'; '.join(lost)}", ModelWarning, stacklevel=4)
        indent(top)
        return tostring(top, encoding="unicode") + "\n"

    # --- bodies ------------------------------------------------------------------------------------------

    def _base(self, world: Element) -> Element:
        """What bodies bolted to the world hang on."""
        base = self.model.base
        if not base.mass:
            return world
        element = SubElement(world, "body", name=self._base_name or self.model.base_name)
        _write_inertia(element, base)
        return element

    @cached_property
    def _base_name(self) -> str | None:
        """The name of the body that is the base, that of a frame at the world's origin if there is one; or None."""
        if not self.model.base.mass:
            return None
        held = [f for f in self.model.extra_frames if f.body is None and f.name != WORLD]
        at_origin = [f.name for f in held if _is_identity(f.pose)]
        if at_origin:
            return self.model.base_name if self.model.base_name in at_origin else at_origin[0]
        taken = {WORLD, *(b.name for b in self.model.bodies), *(f.name for f in self.model.extra_frames)}
        name = self.model.base_name if self.model.base_name != WORLD else "base"
        while name in taken:
            name += "_"
        return name

    def _carried_by(self, name: str | None) -> list[Body]:
        return self._children.get(name, [])

    @cached_property
    def _children(self) -> dict[str | None, list[Body]]:
        found: dict[str | None, list[Body]] = {}
        for body in self.model.bodies:
            found.setdefault(body.parent, []).append(body)
        return found

    def _write_body(self, holder: Element, body: Body) -> None:
        """A body and all it carries; where it has no mass, as joints of the one that it carries."""
        members = [body]
        while _is_massless(members[-1]) and any(m.joint.kind.nv for m in members):
            carried = self._carried_by(members[-1].name)
            if isinstance(members[-1].joint.kind, (Free, Spherical)) and any(_is_weight(x) for x in carried):
                break  # the mass that MuJoCo asks for
            if len(carried) != 1 or not _may_follow([m.joint for m in members], carried[0].joint):
                raise ModelError(
                    f"body {members[-1].name!r} moves, has no mass and carries {len(carried)} bodies, and MuJoCo takes"
                    " no such body: give it a small inertia (robot.with_inertias)"
                )
            members.append(carried[0])
        last = members[-1]
        seen = [m.joint.placement for m in members]  # each in the one before, at zero
        pose = Transform(np.asarray(seen[0].R), np.asarray(seen[0].l))
        for x in seen[1:]:
            pose = pose.compose(x)
        element = SubElement(holder, "body", {"name": last.name, **_placed(pose)})
        if last.inertia.mass or last.inertia.tensor.any():
            _write_inertia(element, last.inertia)
        for i, member in enumerate(members):
            back = Transform.identity()  # of this member, seen from the last
            for x in seen[i + 1 :]:
                back = back.compose(x)
            back = back.inverse()
            for single in _singles(member.joint):
                self._write_joint(element, single, back)
            self._write_frames(element, member.name, back)
            self.looks.write(element, member.name, back)
        for child in self._carried_by(last.name):
            self._write_body(element, child)

    def _write_frames(self, element: Element, body: str | None, back: Transform | None = None) -> None:
        own = [f for f in self.model.extra_frames if f.body == body and (body or f.name != self._base_name)]
        for frame in [*own, *(f for f in self._loop_sites if f.body == body)]:
            pose = frame.pose if back is None else back.compose(frame.pose)
            SubElement(element, "site", {"name": frame.name, **_placed(pose)})

    # --- joints ------------------------------------------------------------------------------------------

    def _write_joint(self, element: Element, single: _Single, back: Transform) -> None:
        joint, kind = single.joint, single.kind
        if isinstance(kind, Free):
            _refuse_inner_free(self.model, joint)
        said = {"name": single.name, "type": _TYPES[type(kind)]}
        if isinstance(kind, (Revolute, Prismatic)):
            said["axis"] = text(as_numpy(back.R) @ kind.axis)
        if isinstance(kind, (Revolute, Spherical)) and as_numpy(back.l).any():
            said["pos"] = text(back.l)
        said |= _limits(single) | _resistance(single)
        if joint.rotor is not None:
            said["armature"] = number(joint.rotor.reflected)
        SubElement(element, "joint", said)

    # --- what ties joints and bodies -----------------------------------------------------------------------

    def _write_equalities(self, top: Element) -> None:
        couplings, loops = self.model.couplings, self.loops
        if not (couplings or loops):
            return
        ties = SubElement(top, "equality")
        for c in couplings:
            if c.ratio is None:
                raise ModelError(
                    f"joint {c.dependent!r} follows {', '.join(map(repr, c.independents))} in a way that is not written"
                    " to MJCF, where joints follow one other by a constant ratio; uncouple it first"
                )
            poly = text([c.offset, c.ratio, 0.0, 0.0, 0.0])
            SubElement(ties, "joint", joint1=c.dependent, joint2=c.independents[0], polycoef=poly)
        for loop in loops:
            tag = "weld" if loop.kind == "weld" else "connect"
            for name, a, b in self._tied(loop):
                SubElement(ties, tag, name=name, site1=a.name, site2=b.name)

    @cached_property
    def _ties(self) -> dict[int, list[tuple[str, Frame, Frame]]]:
        """The pairs of sites that each loop holds together."""
        taken = {WORLD, *(b.name for b in self.model.bodies), *(f.name for f in self.model.extra_frames)}
        found: dict[int, list[tuple[str, Frame, Frame]]] = {}
        for i, loop in enumerate(self.loops):
            _refuse_unsayable(loop)
            points = (0.0, _APART) if loop.kind == "revolute" else (0.0,)
            found[i] = []
            for k, z in enumerate(points):
                name = loop.name if k == 0 else f"{loop.name}:axis"
                ends = [self._site(x, f"{name}:{p}", z, taken) for x, p in zip((loop.frame_a, loop.frame_b), "ab")]
                found[i].append((name, ends[0], ends[1]))
        return found

    def _tied(self, loop: Loop) -> list[tuple[str, Frame, Frame]]:
        return self._ties[next(i for i, x in enumerate(self.loops) if x is loop)]

    @cached_property
    def _loop_sites(self) -> list[Frame]:
        return [x for pairs in self._ties.values() for _, a, b in pairs for x in (a, b)]

    def _site(self, frame: str | Frame, name: str, z: float, taken: set[str]) -> Frame:
        """A site at a frame of the robot, z along its axis."""
        if isinstance(frame, Frame):
            body, pose = frame.body, frame.pose
        elif frame == WORLD:
            body, pose = None, Transform.identity()
        else:
            index, pose = self.model.frame(frame)
            body = None if index < 0 else self.model.bodies[index].name
        while name in taken:
            name += "_"
        taken.add(name)
        at = pose.apply(np.array([0.0, 0.0, z]))
        return Frame(name, body, at=as_numpy(at), rotation=as_numpy(pose.R))

    def _write_motors(self, top: Element) -> None:
        free = [j for k, j in enumerate(self.model.joints) if k not in self.model.dependents]
        known = [(single.name, _effort(single)) for joint in free for single in _singles(joint)]
        driven = [(name, effort) for name, effort in known if effort]
        if not driven:
            return
        motors = SubElement(top, "actuator")
        for name, effort in driven:
            SubElement(motors, "motor", name=name, joint=name, ctrlrange=text([-effort, effort]))

    # --- what is not said --------------------------------------------------------------------------------

    def _lost(self) -> Iterator[str]:
        joints = self.model.joints
        spun = [j.name for j in joints if j.rotor is not None and j.rotor.axis is not None]
        if spun:
            yield f"the gyroscopic effects of the rotors of {', '.join(spun)} are not written"
        quick = [j.name for j in joints if np.isfinite(j.limits.arrays(j.kind.nv)[2]).any()]
        if quick:
            yield f"limits of speed are not written ({', '.join(quick[:3])}{', …' if len(quick) > 3 else ''})"
        bounded = [j.name for j in joints if isinstance(j.kind, (Spherical, Free)) and _is_bounded(j)]
        if bounded:
            yield f"limits of ball and free joints are not written ({', '.join(bounded)})"
        idle = [x.name for j in joints for x in _singles(j) if _effort(x) == 0.0]
        if idle:
            yield f"that nothing drives {', '.join(idle)} is said by no motor alone"
        data = [j.name for j in joints if np.any(np.asarray(j.damping)) and not j.damping_acts]
        if data:
            yield f"damping that is data here acts there: {', '.join(data)}"
        moved = [j.name for j in joints if isinstance(j.kind, Free) and not _is_identity(j.placement)]
        if moved:
            yield f"the poses of {', '.join(moved)} count from the world there, and not from their placements"
        if self.loops:
            yield "loops are kept by soft forces there"


# --- joints of one freedom -------------------------------------------------------------------------------


def _singles(joint: Joint) -> list[_Single]:
    """A joint as joints that MuJoCo has."""
    kind = joint.kind
    if isinstance(kind, Fixed):
        return []
    if type(kind) in _TYPES:
        return [_Single(joint, kind, joint.name, 0 if kind.nv == 1 else None)]
    if isinstance(kind, Cylindrical):
        pair: tuple[JointKind, JointKind] = Revolute(kind.axis), Prismatic(kind.axis)
    elif isinstance(kind, Universal):
        pair = Revolute(kind.first), Revolute(kind.second)
    else:
        what = "one of a flexible body" if isinstance(kind, Modal) else kind.kind
        raise ModelError(
            f"joint {joint.name!r} is {what}, which is not written to MJCF; it has hinges, slides, balls and free"
            " joints (cylindrical and universal ones are two of them)"
        )
    return [_Single(joint, pair[0], f"{joint.name}:first", 0), _Single(joint, pair[1], joint.name, 1)]


def _refuse_inner_free(model: Model, joint: Joint) -> None:
    body = next(b for b in model.bodies if b.joint.name == joint.name)
    if body.parent is not None:
        raise ModelError(
            f"joint {joint.name!r} is free and sits on body {body.parent!r}; MJCF has free joints on the world alone"
        )


def _of(single: _Single, x: Any, what: str) -> float:
    """A number of a joint, of the freedom that this is; where it is all of them, they must be alike."""
    numbers = np.broadcast_to(np.asarray(x, dtype=float), (single.joint.kind.nv,))
    if single.freedom is not None:
        return float(numbers[single.freedom])
    if np.ptp(numbers) > 0.0:
        raise ModelError(
            f"{what} of joint {single.joint.name!r} ({single.kind.kind}) differs by direction, which MJCF cannot say"
        )
    return float(numbers[0])


def _effort(single: _Single) -> float | None:
    """The most force of a joint of one freedom, None where there is no limit."""
    if single.freedom is None:
        return None
    effort = float(single.joint.limits.arrays(single.joint.kind.nv)[3][single.freedom])
    return effort if effort < UNLIMITED else None


def _is_bounded(joint: Joint) -> bool:
    """Whether a joint has limits of position or force."""
    lower, upper, _, effort = joint.limits.arrays(joint.kind.nv)
    return bool((lower > -UNLIMITED).any() or (upper < UNLIMITED).any() or (effort < UNLIMITED).any())


def _limits(single: _Single) -> dict[str, str]:
    if single.freedom is None:
        return {}
    lower, upper, _, _ = (float(x[single.freedom]) for x in single.joint.limits.arrays(single.joint.kind.nv))
    said = {}
    if lower > -UNLIMITED or upper < UNLIMITED:
        said["range"] = text(np.clip([lower, upper], -UNLIMITED, UNLIMITED))
    effort = _effort(single)
    if effort is not None and effort > 0.0:
        said["actuatorfrcrange"] = text([-effort, effort])
    return said


def _resistance(single: _Single) -> dict[str, str]:
    joint = single.joint
    stiffness = _of(single, joint.stiffness, "the stiffness")
    said = {"stiffness": number(stiffness)} if stiffness else {}
    if stiffness and joint.rest is not None:
        rest = np.atleast_1d(np.asarray(joint.rest, dtype=float))
        if single.freedom is not None:
            said["springref"] = number(np.broadcast_to(rest, (joint.kind.nq,))[single.freedom])
        elif not np.allclose(rest, joint.kind.neutral()):
            raise ModelError(
                f"the spring of joint {joint.name!r} ({single.kind.kind}) rests away from its zero, which MJCF has not"
            )
    for tag, x in (("damping", joint.damping), ("frictionloss", joint.friction)):
        value = _of(single, x, tag)
        if value:
            said[tag] = number(value)
    return said


# --- what loops are ---------------------------------------------------------------------------------------


def _refuse_unsayable(loop: Loop) -> None:
    if loop.kind not in ("weld", "spherical", "revolute") or loop.stiffness is not None or loop.damping is not None:
        what = "soft" if loop.stiffness is not None or loop.damping is not None else f"of kind {loop.kind!r}"
        raise ModelError(
            f"loop {loop.name!r} is {what}, which is not written to MJCF: welds, balls (spherical) and hinges"
            " (revolute) are; robot.opened.to_mjcf() writes the tree without loops"
        )


# --- elements ------------------------------------------------------------------------------------------------


def _is_massless(body: Body) -> bool:
    return not body.inertia.mass


def _is_weight(body: Body) -> bool:
    """Whether a body is mass fixed to the one that carries it."""
    return isinstance(body.joint.kind, Fixed) and not _is_massless(body)


def _may_follow(joints: Sequence[Joint], last: Joint) -> bool:
    """Whether a body may have these joints and then this one. Free ones are alone, after balls nothing turns."""
    if any(isinstance(j.kind, Free) for j in (*joints, last)):
        return False
    ends_turns = any(isinstance(j.kind, Spherical) for j in joints)
    straight = isinstance(last.kind, (Fixed, Prismatic)) and np.array_equal(as_numpy(last.placement.R), np.eye(3))
    return (straight or not ends_turns) and sum(j.kind.nv for j in (*joints, last)) <= 6


def _is_identity(pose: Transform) -> bool:
    return not np.any(as_numpy(pose.l)) and np.array_equal(as_numpy(pose.R), np.eye(3))


def _placed(pose: Transform) -> dict[str, str]:
    """pos and quat (w first) of a pose; nothing of what is zero."""
    said = {}
    if np.any(as_numpy(pose.l)):
        said["pos"] = text(pose.l)
    if not np.array_equal(as_numpy(pose.R), np.eye(3)):
        x, y, z, w = as_numpy(quaternion_from_rotation(np.asarray(pose.R, dtype=float)))
        said["quat"] = text([w, x, y, z])
    return said


def _write_inertia(element: Element, inertia: Inertia) -> None:
    J = np.array(inertia.tensor)
    if np.linalg.eigvalsh(J)[0] < LEAST_MOMENT:
        J = J + LEAST_MOMENT * np.eye(3)
    full = [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]
    SubElement(element, "inertial", pos=text(inertia.com), mass=number(inertia.mass), fullinertia=text(full))
