"""SDF files (Gazebo's format, versions 1.4 to 1.12) → :class:`Model`. What cannot be right is refused.

What moves is read: links with their inertials, joints, frames, nested models, and what links look like
(:mod:`.sdf_visuals`). What is done where this format differs from others:

* **Names.** The links of a nested model have its name before theirs, as in ``arm::hand::palm``; so have those of all
  models where the file holds several. Every link and every <frame> keeps a frame under its name.
* **The base.** What no joint ties to the world moves freely, as the format means it: its first link is on a free joint,
  "root_joint" where there is one such, at zero where the file places it. A <static> model is part of the world.
* **Joints** act where the file places them. A link away from its joint becomes a frame of a body "link:joint" there.
* **Loops.** A joint whose child hangs on another already, or carries its parent, closes a loop (``Robot.loops``), and
  so does one that says <must_be_loop_joint>. Its limits, damping and friction are not kept.
* **Mimic** (1.11): axes follow those they name, unless they are left independent. A gearbox couples the two hinges that
  its links have on its reference body.
* **Masses.** A link without an inertial weighs 1 kg and has moments of 1 kg m², as the format says.
* What is not modelled is in ``Model.notes``; what would change the motion is also warned about.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Container
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from ...arrays import as_numpy
from ...errors import FileError, ModelError, ModelWarning
from ..edit import couple, float_base, merge_fixed
from ..inertia import Inertia
from ..joints.kinds import Fixed, Free
from ..loops import Loop
from ..model import STANDARD_GRAVITY, Model
from ..parts import Body, Frame, Joint
from . import xml
from .oddities import judge_inertias, mention_loose_joints
from .sdf_frames import BETWEEN, MODEL, WORLD, Frames, Name, Placed, joined, read_pose
from .sdf_joints import Edge, Following, bodies_of, following, loop_of, read_joint
from .sdf_visuals import read_visuals
from .xml import Element, Notes, meant, shortened

M = TypeVar("M", bound=Model)

READ = {
    "sdf": ("world", "model"),
    "world": ("gravity", "model", "frame", "joint"),
    "model": ("pose", "static", "link", "joint", "frame", "model"),
    "link": ("pose", "inertial", "visual", "gravity", "kinematic", "velocity_decay"),
    "inertial": ("pose", "mass", "inertia"),
    "joint": (
        *("pose", "parent", "child", "axis", "axis2", "physics", "thread_pitch", "screw_thread_pitch"),
        *("gearbox_ratio", "gearbox_reference_body"),
    ),
    "axis": ("xyz", "limit", "dynamics", "mimic", "use_parent_model_frame", "initial_position"),
    "axis2": ("xyz", "limit", "dynamics", "mimic", "use_parent_model_frame", "initial_position"),
    "dynamics": ("damping", "friction", "spring_reference", "spring_stiffness"),
    "limit": ("lower", "upper", "effort", "velocity", "stiffness", "dissipation"),
}
UNSET = "__default__"  # what the format's own writer puts where nothing was said


@dataclass
class SdfFile:
    """What is gathered of a file, by full names."""

    version: tuple[int, ...]
    frames: Frames = field(default_factory=Frames)
    links: dict[str, Element] = field(default_factory=dict)
    joints: dict[str, tuple[Element, str, str]] = field(default_factory=dict)  # with the model it is in, and its frame
    points: list[str] = field(default_factory=list)  # the <frame>s
    static: set[str] = field(default_factory=set)  # links that are part of the world
    moving: Notes = field(default_factory=Notes)  # what is not modelled and would change the motion, or looks odd
    idle: dict[str, int] = field(default_factory=dict)  # tags that are not read, and how many of them


def read_sdf(
    source: str | os.PathLike[str],
    floating: bool = False,
    coupled: bool = True,
    *,
    cls: type[M],
    close: Callable[..., M] | None = None,
) -> M:
    """The robot in an SDF file, given by its path or as text; ``cls`` is the class of model to make.

    With ``floating``, what is bolted to the world moves freely, unless a link of the file does so already. Without
    ``coupled``, mimic axes and gearboxes are not imposed. ``close(model, loop)`` closes a loop; without it, joints that
    close one are left out.
    """
    root = xml.read(source)
    if root.tag != "sdf":
        raise root.error("is not the root of an SDF file; that is <sdf>")
    file = SdfFile(_version(root))
    name, gravity = _gather(file, root)
    if not file.links:
        raise root.error("has no <link>, so it holds no robot; an <include>d model must be put into the file itself")
    _count_unread(file, root)
    edges = [read_joint(file, joint) for joint in file.joints]
    tree, cut = _spanned(file, [e for e in edges if not e.geared])
    taken = {WORLD, *file.links, *file.points}
    loops = [loop_of(file, e, taken) for e in cut] if close is not None else []
    inertias = {link: _inertia(file, e) for link, e in file.links.items()}
    try:
        held = [frame for _, frames in loops for frame in frames]
        model = replace(_assembled(file, name, tree, inertias, held, cls), gravity=gravity)
        for x in following(file, edges, tree) if coupled else ():
            model = _coupled(model, x)
        if floating and not any(isinstance(j.kind, Free) for j in model.joints):
            model = float_base(model, _unused("root_joint", model.joint_index))
        if close is not None:
            model = _closed(model, [loop for loop, _ in loops], close)
        bodies = {e.carrier: file.links[e.child] for e in tree}
        mention_loose_joints(model, file.links | bodies, file.moving)
        judge_inertias(model, file.links, inertias, file.moving)
    except FileError:
        raise
    except ModelError as e:
        raise root.error(str(e)) from None
    return _noted(file, root, model)


# --- the document ----------------------------------------------------------------------------------------------------


def _version(root: Element) -> tuple[int, ...]:
    """As whole numbers: 1.12 comes after 1.7."""
    text = root.attributes.get("version", "1.7").strip()
    parts = text.split(".")
    if not all(p.isascii() and p.isdigit() and len(p) < 9 for p in parts):
        raise root.error(f"version={shortened(text)!r} is no version; write one like 1.7")
    return tuple(int(p) for p in parts)


def _gather(file: SdfFile, root: Element) -> tuple[str, Any]:
    """All that has a name, from the outermost models inwards; gives the robot's name and gravity."""
    worlds = root.all("world")
    holder = worlds[0] if worlds else root
    for extra in worlds[1:]:
        file.moving.add(extra, "is a second world, and not read")
    models = holder.all("model")
    alone = len(models) == 1 and not holder.all("joint") and not holder.all("frame")
    _gather_points(file, holder, "", WORLD)
    pending = [(m, "" if alone else _name(m), Name("", WORLD), False) for m in models]
    while pending:
        model, scope, outer, static = pending.pop(0)
        static = static or _says(model, "static")
        _gather_model(file, model, scope, outer, static)
        inner = [(m, joined(scope, _name(m)), Name(scope, MODEL), static) for m in model.all("model")]
        pending[:0] = inner  # depth-first, so that links have the order of the file
    gravity = holder.only("gravity")
    named = holder if worlds and len(models) != 1 else (models or [root])[0]
    name = named.attributes.get("name", "").strip() or "robot"
    return name, STANDARD_GRAVITY if gravity is None else gravity.content_numbers(3)


def _gather_model(file: SdfFile, model: Element, scope: str, outer: Name, static: bool) -> None:
    pose, base = read_pose(model)
    links, models = model.all("link"), model.all("model")
    held = _given(model, "canonical_link") or next((_name(e) for e in [*links, *models]), "")
    if not held:
        raise model.error("has no <link>; a model without any is no robot")
    placement = _given(model, "placement_frame")
    place = Name(scope, placement) if placement else None
    around = Name(outer.scope, base) if base else outer
    file.frames.add(joined(scope, MODEL), Placed(model, pose, around, Name(scope, held), place))
    for e in links:
        name = joined(scope, _name(e))
        pose, base = read_pose(e)
        file.frames.add(name, Placed(e, pose, Name(scope, base or MODEL)))
        file.links[name] = e
        if static:
            file.static.add(name)
        _note_forces(file, e)
    _gather_points(file, model, scope, MODEL)


def _gather_points(file: SdfFile, holder: Element, scope: str, default: str) -> None:
    """The frames and joints of a model or of the world."""
    for e in holder.all("frame"):
        name, (pose, base) = joined(scope, _name(e)), read_pose(e)
        on = _given(e, "attached_to") or default
        file.frames.add(name, Placed(e, pose, Name(scope, base or on), Name(scope, on)))
        file.points.append(name)
    for e in holder.all("joint"):
        name, (pose, base) = joined(scope, _name(e)), read_pose(e)
        child = e.child_text("child")
        if name in file.joints:
            raise e.error(f"its name is that of the joint on line {file.joints[name][0].line}; rename one")
        # Until 1.6 a joint could have the name of a link, as nothing could be placed relative to it.
        frame = f"{name}:frame" if file.version < (1, 7) else name
        file.frames.add(frame, Placed(e, pose, Name(scope, base or child), Name(scope, child)))
        file.joints[name] = (e, scope, frame)


def _name(element: Element) -> str:
    name = element.text("name").strip()
    if BETWEEN in name or name in (WORLD, MODEL):
        raise element.error(f"name={shortened(name)!r} means something else in this format; rename it")
    return name


def _given(element: Element, attribute: str) -> str:
    """An attribute, or "" where nothing was said."""
    text = element.attributes.get(attribute, "").strip()
    return "" if text == UNSET else text


def _says(element: Element, tag: str, default: str = "false") -> bool:
    return element.child_text(tag, default) in ("true", "1")


# --- links -----------------------------------------------------------------------------------------------------------


def _inertia(file: SdfFile, link: Element) -> Inertia:
    inertial = link.only("inertial")
    if inertial is None:
        file.moving.add(link, "has no <inertial>; the format's default is taken, 1 kg and moments of 1 kg m²")
        return Inertia(1.0, np.zeros(3), np.eye(3))
    if inertial.attributes.get("auto", "").strip() in ("true", "1"):
        raise inertial.error("is to be worked out of collision shapes, which are not read; write mass and inertia")
    mass = inertial.child_number("mass", 1.0)
    if mass < 0:
        raise inertial.error(f"the mass {mass:g} kg is negative; a mass is positive, or 0 for none")
    pose, base = read_pose(inertial)
    if base:
        raise inertial.error("its pose is that in its link, and cannot be relative to something else")
    given = inertial.only("inertia")
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    usual = [float(n[1] == n[2]) for n in names]
    xx, xy, xz, yy, yz, zz = usual if given is None else (given.child_number(*x) for x in zip(names, usual))
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    R = as_numpy(pose.R)
    return Inertia(mass, pose.l, R @ tensor @ R.T)


def _note_forces(file: SdfFile, link: Element) -> None:
    """What acts on a link in Gazebo and not here."""
    if not _says(link, "gravity", "true"):
        file.moving.add(link, "is to feel no gravity; here it does")
    if _says(link, "kinematic"):
        file.moving.add(link, "is kinematic; here it moves by its forces")
    decay = link.only("velocity_decay")
    if decay is not None and any(decay.child_number(x, 0.0) != 0.0 for x in ("linear", "angular")):
        file.moving.add(link, "its velocity is to decay; here it does not")


# --- the tree --------------------------------------------------------------------------------------------------------


def _spanned(file: SdfFile, edges: list[Edge]) -> tuple[list[Edge], list[Edge]]:
    """The joints of the tree, depth-first and in the order of the file, and those that close loops."""
    holder: dict[str, Edge] = {}
    cut = []
    groups: dict[str, str] = {}  # link → another of its tree; two ends in one tree would close a loop

    def root(link: str) -> str:
        while (up := groups.get(link, link)) != link:
            groups[link] = link = groups.get(up, up)
        return link

    for e in edges:
        if e.child in file.static:
            continue  # the world does not move
        parent = WORLD if e.parent in file.static else e.parent
        if e.must_be_cut or e.child in holder or root(parent) == root(e.child):
            cut.append(e)
        else:
            holder[e.child] = e
            groups[root(e.child)] = root(parent)
    leaving: dict[str, list[Edge]] = {}
    for e in edges:
        if holder.get(e.child) is e:
            leaving.setdefault(e.parent, []).append(e)
    ordered: list[Edge] = []
    roots = [WORLD, *(link for link in file.links if link not in holder)]
    pending = [e for link in reversed(roots) for e in reversed(leaving.get(link, []))]
    while pending:
        e = pending.pop()
        ordered.append(e)
        pending += reversed(leaving.get(e.child, []))
    return ordered, cut


def _assembled(
    file: SdfFile, name: str, tree: list[Edge], inertias: dict[str, Inertia], frames: list[Frame], cls: type[M]
) -> M:
    """The model with its fixed joints merged."""
    held = {e.child for e in tree}
    roots = [link for link in file.links if link not in held]
    loose = [link for link in roots if link not in file.static]
    taken = {WORLD, *file.links, *file.points, *(f.name for f in frames)}
    bodies: dict[str, list[Body]] = {}
    for link in roots:
        pose = file.frames.pose(WORLD, link)
        free = link not in file.static
        joint = "root_joint" if loose == [link] else f"{link}_free"
        joint = _unused(joint, file.joints) if free else f"{link}:fixed"
        kind = Free() if free else Fixed()
        bodies[link] = [Body(link, Joint(kind, joint, at=pose.l, rotation=pose.R), inertias[link])]
    for e in tree:
        bodies[e.child] = bodies_of(e, inertias[e.child])
    points = [_point(file, name) for name in file.points]
    base = _unused("base", taken)
    parts = tuple(b for own in bodies.values() for b in own)
    model = cls(name, parts, (*points, *frames), base_name=base, visuals=tuple(read_visuals(file)))
    return merge_fixed(model)


def _point(file: SdfFile, name: str) -> Frame:
    """A <frame> on the link that it is attached to."""
    element, scope = file.frames.element(name), name.rpartition(BETWEEN)[0]
    link = file.frames.link(element, Name(scope, name.rpartition(BETWEEN)[2]))
    return Frame.from_pose(name, None if link == WORLD else link, file.frames.pose(link, name))


def _unused(name: str, taken: Container[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _coupled(model: M, x: Following) -> M:
    try:
        return couple(model, x.dependent, x.target, x.ratio, x.offset)
    except ModelError as e:
        raise x.element.error(f"{x.dependent!r} cannot follow {x.target!r}: {e}") from None


def _closed(model: M, loops: list[Loop], close: Callable[..., M]) -> M:
    for loop in loops:
        ends = [model.frame(x)[0] for x in (loop.frame_a, loop.frame_b)]
        if ends[0] != ends[1]:  # (between links without a joint that moves, there is nothing to hold)
            model = close(model, loop)
    return model


# --- what is not read ------------------------------------------------------------------------------------------------


def _count_unread(file: SdfFile, root: Element) -> None:
    """Tags that stand where the reader looks, and are none of those it knows."""
    pending = [root]
    while pending:
        element = pending.pop()
        for child in element.children:
            if child.tag in READ[element.tag]:
                pending += [child] if child.tag in READ else []
            elif child.tag == "include":
                file.moving.add(child, "is not followed; put the model itself into the file")
            elif near := meant(child.tag, READ[element.tag]):
                file.moving.add(child, f"the tag is not read; <{near}> may be meant")
            else:
                file.idle[child.tag] = file.idle.get(child.tag, 0) + 1


def _noted(file: SdfFile, root: Element, model: M) -> M:
    """The model with its notes; one warning about those that count."""
    moving = file.moving.lines()
    idle = ", ".join(f"{n} <{shortened(tag)}>" for tag, n in sorted(file.idle.items()))
    model = replace(model, notes=(*moving, *([f"not read: {idle}"] if idle else [])))
    if moving:
        # Three levels up: whoever called lw.load.
        said = xml.summary(root.source, moving, heading="loaded, but not all of it is modelled:")
        warnings.warn(said, ModelWarning, stacklevel=4)
    return model
