"""URDF files → :class:`Model`. What cannot be right is refused; what merely looks odd loads with a warning.

What moves is read: links with their inertials, and joints; and what links look like (:mod:`.urdf_visuals`).
Collision shapes, transmissions, sensors and unknown tags are passed over. What is done where the format leaves
room:

* **Fixed joints** are merged into the body that carries them; every link keeps its frame, under its name.
  The root link is the world's (``Model.base``); with ``floating=True``, a body on a free "root_joint".
* **Order.** Depth-first from the root, the children of a link in the order their joints have in the file.
* **Mimic joints** follow the joint they name (``Model.couplings``) and have no entry in q, unless they are left
  independent (``coupled=False``); ``Joint.mimic`` keeps the data. One that names itself, or what does not move by one
  number, moves independently, and is warned about.
* **Limits** count for revolute and prismatic joints, velocity and effort for continuous ones too. A limit
  with neither lower nor upper bounds nothing, although the format's default would pin the joint at zero;
  nor does one of :data:`UNLIMITED` or more.
* **Planar** joints move in the plane normal to their axis. (Pinocchio takes z, whatever the axis.)
* **Masses** must be finite and not negative. A link without an inertial has none.
* **Rotors, gravity** and mimic joints that are to move independently all the same are read from an element
  <linkwise>, as :mod:`linkwise.model.files.urdf_writer` writes it.
* **Inertia tensors** that no real body has are judged by :mod:`.oddities`.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ...errors import ModelError, ModelWarning
from ...spatial import Transform, rotation_from_quaternion
from ..couplings import added, make_coupling
from ..edit import float_base, merge_fixed
from ..inertia import Inertia
from ..joints.kinds import Fixed, Free, JointKind, Planar, Prismatic, Revolute
from ..model import STANDARD_GRAVITY, Model
from ..parts import Body, Frame, Joint, Limits, Mimic, Rotor, make_pose
from ..visuals import Visual
from . import xml
from .oddities import judge_inertias, mention_loose_joints
from .urdf_visuals import read_visuals
from .xml import Element, Notes, meant, shortened

M = TypeVar("M", bound=Model)

EXTENSION = "linkwise"  # the element for what the format cannot say
UNLIMITED = 1e9  # a limit so large bounds nothing [rad, m, rad/s, m/s, N m, N]

KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")

CHILDREN = {
    "robot": ("link", "joint", "material", "transmission", "gazebo", EXTENSION),
    EXTENSION: ("gravity", "rotor", "spring", "independent"),
    "link": ("inertial", "visual", "collision"),
    "inertial": ("origin", "mass", "inertia"),
    "joint": (
        *("parent", "child", "origin", "axis", "limit", "dynamics", "mimic"),
        *("calibration", "safety_controller"),
    ),
}
PRODUCTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
ATTRIBUTES = {
    "link": ("name",),
    "joint": ("name", "type"),
    "origin": ("xyz", "rpy", "quat_xyzw"),
    "mass": ("value",),
    "inertia": PRODUCTS,
    "parent": ("link",),
    "child": ("link",),
    "axis": ("xyz",),
    "limit": ("lower", "upper", "velocity", "effort"),
    "dynamics": ("damping", "friction"),
    "mimic": ("joint", "multiplier", "offset"),
    "gravity": ("xyz",),
    "rotor": ("joint", "inertia", "gear_ratio", "axis"),
    "spring": ("joint", "stiffness", "rest", "damping"),
    "independent": ("joint",),
}


def read_urdf(source: str | os.PathLike[str], floating: bool = False, coupled: bool = True, *, cls: type[M]) -> M:
    """The robot in a URDF file, given by its path or as text; ``cls`` is the class of model to make.

    With ``floating`` the root link moves freely instead of being bolted to the world; without ``coupled`` mimic joints
    move independently. Raises
    :class:`FileError` with file, line, element and reason; warns once (:class:`ModelWarning`) about all
    that looks odd, which ``Model.notes`` keeps.
    """
    robot = xml.read(source)
    _refuse_other_formats(robot)
    odd = Notes()
    if not robot.attributes.get("name", "").strip():
        odd.add(robot, "has no name; called 'robot'")
    links, joints = _named(robot, "link"), _named(robot, "joint")
    if not links:
        raise robot.error("has no <link>, so it holds no robot; a file made by xacro may have lost its parts there")
    rotors, springs, gravity, independent = _read_extension(robot, joints)
    edges = [_read_joint(e, odd, rotors.get(name), springs.get(name)) for name, e in joints.items()]
    root, edges = _tree(links, edges)
    inertias = {name: _read_inertia(e, odd) for name, e in links.items()}
    xml.look_for_misspellings(robot, CHILDREN, ATTRIBUTES, odd)

    visuals = read_visuals(robot, links, root, _pose, odd)
    model = replace(_assemble(robot, root, edges, inertias, visuals, floating, cls), gravity=gravity)
    judged = Notes()
    model = _imposed(robot, model, [e for e in edges if coupled and e.joint.name not in independent], judged)
    mention_loose_joints(model, links, judged)
    judge_inertias(model, links, inertias, judged)
    model = replace(model, notes=(*judged.lines(), *odd.lines()))
    if model.notes:
        # Two levels up: whoever called lw.load.
        warnings.warn(xml.summary(robot.source, model.notes), ModelWarning, stacklevel=3)
    return model


# --- the document ----------------------------------------------------------------------------------


def _refuse_other_formats(robot: Element) -> None:
    if robot.tag == "sdf":
        raise robot.error("is an SDF file, not a URDF; lw.load reads both")
    if robot.tag == "mujoco":
        raise robot.error("is a MuJoCo (MJCF) file, not a URDF; lw.load reads both")
    if robot.tag != "robot":
        raise robot.error("is not the root of a URDF file; that is <robot>")
    for parent in (robot, *robot.all("link"), *robot.all("joint")):
        for e in parent.children:
            if e.tag.startswith("xacro:"):
                raise e.error("is an xacro instruction; expand the file first: xacro FILE.xacro > FILE.urdf")


def _named(robot: Element, tag: str) -> dict[str, Element]:
    """The links or joints by name, in file order."""
    found: dict[str, Element] = {}
    for e in robot.all(tag):
        name = e.text("name")
        if name in found:
            raise e.error(f"duplicate {tag} name (the first is on line {found[name].line}); rename one")
        found[name] = e
    return found


# --- links -----------------------------------------------------------------------------------------


def _read_inertia(link: Element, odd: Notes) -> Inertia:
    inertial = link.only("inertial")
    if inertial is None:
        return Inertia()
    mass_element, tensor_element = inertial.only("mass"), inertial.only("inertia")
    if mass_element is None:
        raise inertial.error('has no <mass>; write <mass value="…"/>, or leave the whole <inertial> out')
    mass = mass_element.number("value")
    if mass < 0:
        raise mass_element.error(f"the mass {mass:g} kg is negative; a mass is positive, or 0 for none")
    pose = _pose(inertial)
    if tensor_element is None:
        odd.add(inertial, "has no <inertia>; taken as a point mass")
        return Inertia(mass, pose.l)
    tensor = _tensor(tensor_element, odd)
    if mass == 0 and tensor.any():
        odd.add(inertial, "has an inertia tensor but no mass; both are used as given")
    return Inertia(mass, pose.l, pose.R @ tensor @ pose.R.T)


def _tensor(element: Element, odd: Notes) -> np.ndarray:
    for name in PRODUCTS:
        if name not in element.attributes and name[1] != name[2]:
            odd.add(element, f"has no {name}; taken as 0")
    xx, xy, xz, yy, yz, zz = (element.number(n, default=None if n[1] == n[2] else 0.0) for n in PRODUCTS)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _pose(parent: Element) -> Transform:
    """The pose in the <origin> of an inertial or a joint; identity where there is none."""
    origin = parent.only("origin")
    if origin is None:
        return Transform.identity()
    at = origin.numbers("xyz", 3, default=(0, 0, 0))
    if "quat_xyzw" not in origin.attributes:
        return make_pose(at, rpy=origin.numbers("rpy", 3, default=(0, 0, 0)))
    if "rpy" in origin.attributes:
        raise origin.error("has both rpy and quat_xyzw; keep one")
    quaternion = origin.numbers("quat_xyzw", 4)
    if not 1e-6 < np.abs(quaternion).max() < 1e6:
        raise origin.error("quat_xyzw is far from unit length; a rotation is a unit quaternion (x, y, z, w)")
    return make_pose(at, rotation=rotation_from_quaternion(quaternion))


# --- joints ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Edge:
    """A joint of the file with the links it connects."""

    element: Element
    joint: Joint
    parent: str
    child: str

    @property
    def moves(self) -> bool:
        return self.joint.kind.nv > 0


def _read_joint(element: Element, odd: Notes, rotor: Rotor | None = None, spring: Element | None = None) -> Edge:
    kind = _kind(element, odd)
    dynamics, pose = element.only("dynamics"), _pose(element)
    friction = 0.0
    # Other programs that compute with URDF files leave their damping out, so that it is data here too.
    acting: dict[str, Any] = {"damping": 0.0, "damping_acts": False}
    if dynamics is not None:
        acting["damping"], friction = dynamics.number("damping", default=0.0), dynamics.number("friction", default=0.0)
    if spring is not None:
        acting |= _read_spring(spring, kind)
    limits, mimic = _limits(element, odd), _mimic(element)
    try:
        joint = Joint(
            kind,
            element.text("name"),
            at=pose.l,
            rotation=pose.R,
            limits=limits,
            friction=friction,
            **acting,
            rotor=rotor,
            mimic=mimic,
        )
    except ModelError as e:
        raise element.error(str(e)) from None
    return Edge(element, joint, _end(element, "parent"), _end(element, "child"))


def _read_spring(element: Element, kind: JointKind) -> dict[str, Any]:
    """The spring of a joint, and its damping where that acts."""
    sizes = {"stiffness": kind.nv, "rest": kind.nq, "damping": kind.nv}
    found: dict[str, Any] = {x: element.numbers(x, n) for x, n in sizes.items() if x in element.attributes}
    return found | {"damping_acts": True} if "damping" in found else found


def _end(element: Element, tag: str) -> str:
    end = element.only(tag)
    if end is None:
        raise element.error(f'has no <{tag}>; write <{tag} link="…"/>')
    return end.text("link")


def _kind(element: Element, odd: Notes) -> JointKind:
    name = element.text("type")
    if name not in KINDS:
        hint = f"; {near!r} may be meant" if (near := meant(name, KINDS)) else ""
        raise element.error(f"type={shortened(name)!r} is none of {', '.join(KINDS)}{hint}")
    if name == "fixed":
        return Fixed()
    if name == "floating":
        return Free()
    axis = _axis(element, odd)
    if name == "planar":
        if element.only("axis") is None:
            odd.add(element, "is planar without an <axis>; the format's default, normal to x, is taken")
        return Planar(normal=axis)
    return Prismatic(axis) if name == "prismatic" else Revolute(axis)


def _axis(element: Element, odd: Notes) -> np.ndarray:
    """The axis (3,), in the joint's frame and of any length; x where the file gives none."""
    given = element.only("axis")
    if given is None:
        return np.array([1.0, 0.0, 0.0])
    axis = given.numbers("xyz", 3)
    length = float(np.linalg.norm(axis))
    if length < 1e-12:
        raise given.error("the axis of a moving joint is zero; give it a direction, or make the joint fixed")
    if abs(length - 1) > 1e-3:
        odd.add(given, "the axis is not of unit length; normalised")
    return axis


def _limits(element: Element, odd: Notes) -> Limits:
    kind, limit = element.text("type"), element.only("limit")
    bounded = kind in ("revolute", "prismatic")
    if limit is None:
        if bounded:
            odd.add(element, "has no <limit>; taken as unlimited")
        return Limits()
    lower, upper = limit.number("lower", default=0.0), limit.number("upper", default=0.0)
    most = {n: limit.number(n) if n in limit.attributes else None for n in ("velocity", "effort")}
    if kind not in ("revolute", "prismatic", "continuous"):
        return Limits()
    if any(x is not None and x <= 0 for x in most.values()):
        odd.add(limit, "a velocity or effort limit is not positive; kept as given")
    most = {n: None if x is not None and x >= UNLIMITED else x for n, x in most.items()}
    if not bounded:
        return Limits(**most)
    if "lower" not in limit.attributes and "upper" not in limit.attributes:
        odd.add(limit, "has neither lower nor upper; positions taken as unlimited")
        return Limits(**most)
    if lower > upper:
        raise limit.error(f"the lower limit {lower:g} exceeds the upper {upper:g} (0 where left out); swap them")
    if lower == upper:
        odd.add(limit, "lower equals upper, so the joint could not move; kept as given")
    return Limits(None if lower <= -UNLIMITED else lower, None if upper >= UNLIMITED else upper, **most)


def _mimic(element: Element) -> Mimic | None:
    given = element.only("mimic")
    if given is None or element.text("type") == "fixed":
        return None
    multiplier, offset = given.number("multiplier", default=1.0), given.number("offset", default=0.0)
    return Mimic(given.text("joint"), multiplier, offset)


# --- what the format cannot say --------------------------------------------------------------------


def _read_extension(
    robot: Element, joints: dict[str, Element]
) -> tuple[dict[str, Rotor], dict[str, Element], Any, set[str]]:
    """The rotors and the springs by joint, gravity, and the mimic joints that move independently, of the element
    <linkwise>."""
    extension = robot.only(EXTENSION)
    rotors: dict[str, Rotor] = {}
    if extension is None:
        return rotors, {}, STANDARD_GRAVITY, set()
    for e in (*extension.all("rotor"), *extension.all("spring")):
        if e.text("joint") not in joints:
            raise e.error(f"its joint {shortened(e.text('joint'))!r} does not exist; correct it")
    springs = {e.text("joint"): e for e in extension.all("spring")}
    for e in extension.all("rotor"):
        name = e.text("joint")
        axis = e.numbers("axis", 3) if "axis" in e.attributes else None
        try:
            rotors[name] = Rotor(e.number("inertia"), e.number("gear_ratio", default=1.0), axis=axis)
        except ModelError as reason:
            raise e.error(str(reason)) from None
    gravity = extension.only("gravity")
    independent = {e.text("joint") for e in extension.all("independent")}
    return rotors, springs, STANDARD_GRAVITY if gravity is None else gravity.numbers("xyz", 3), independent


# --- the tree --------------------------------------------------------------------------------------


def _tree(links: dict[str, Element], edges: list[Edge]) -> tuple[str, list[Edge]]:
    """The root link and the joints depth-first; refuses whatever is not one tree over all the links."""
    holder: dict[str, Edge] = {}
    leaving: dict[str, list[Edge]] = {}
    for e in edges:
        for end, name in (("parent", e.parent), ("child", e.child)):
            if name not in links:
                raise e.element.error(f"its {end} link {shortened(name)!r} does not exist; add or correct it")
        if e.child in holder:
            raise e.element.error(
                f"its child {shortened(e.child)!r} already hangs on joint {holder[e.child].joint.name!r}"
                f" (line {holder[e.child].element.line}); a link has one parent"
            )
        holder[e.child] = e
        leaving.setdefault(e.parent, []).append(e)
    roots = [name for name in links if name not in holder]
    if len(roots) > 1:
        raise links[roots[1]].error(
            f"is a second root beside {shortened(roots[0])!r} ({len(roots)} links have no parent joint);"
            " a robot has one, so connect them by joints"
        )
    ordered: list[Edge] = []
    pending = leaving.get(roots[0], [])[::-1] if roots else []
    while pending:
        e = pending.pop()
        ordered.append(e)
        pending += leaving.get(e.child, [])[::-1]
    if len(ordered) < len(edges):
        reached = {e.child for e in ordered}
        cycle = _cycle(next(e for e in edges if e.child not in reached), holder)
        names = [cycle[-1].child, *(e.child for e in cycle)]
        shown = names if len(names) < 10 else [*names[:8], "…", names[-1]]
        raise max(cycle, key=lambda e: e.element.line).element.error(
            f"closes a cycle: {' → '.join(map(shortened, shown))}; a robot is a tree, so remove a joint"
        )
    return roots[0], ordered


def _cycle(lost: Edge, holder: dict[str, Edge]) -> list[Edge]:
    """The joints, parent before child, of the cycle that keeps ``lost`` from the root."""
    walked: dict[str, Edge] = {}
    at = lost.child
    while at not in walked:
        walked[at] = holder[at]
        at = holder[at].parent
    names = list(walked)
    return [walked[n] for n in names[: names.index(at) : -1]] + [walked[at]]


def _assemble(
    robot: Element,
    root: str,
    edges: list[Edge],
    inertias: dict[str, Inertia],
    visuals: list[Visual],
    floating: bool,
    cls: type[M],
) -> M:
    def parent(e: Edge) -> str | None:
        return None if e.parent == root else e.parent

    bodies = [Body(e.child, e.joint, inertias[e.child], parent(e)) for e in edges]
    name = robot.attributes.get("name", "").strip() or "robot"
    model = cls(name, tuple(bodies), (Frame(root),), base=inertias[root], base_name=root, visuals=tuple(visuals))
    try:
        model = merge_fixed(model)
        if not floating:
            return model
        taken = {j.name for j in model.joints}
        joint_name = "root_joint"
        while joint_name in taken:
            joint_name += "_"
        return float_base(model, joint_name)
    except ModelError as e:
        raise robot.error(str(e)) from None


# --- what looks odd about the whole ----------------------------------------------------------------


def _imposed(robot: Element, model: M, edges: list[Edge], notes: Notes) -> M:
    """The model with its mimic joints coupled to those they name."""
    moving = {e.joint.name: e.joint.kind.nv for e in edges if e.moves}
    couplings = model.couplings
    for e in edges:
        mimic = e.joint.mimic
        if mimic is None:
            continue
        why = _not_to_be_followed(e.joint, mimic.joint, moving)
        if why is not None:
            notes.add(e.element, f"mimics {shortened(mimic.joint)!r}, {why}, so that it moves independently")
            continue
        try:
            new = make_coupling(e.joint.name, mimic.joint, mimic.multiplier, mimic.offset, None)
            couplings = added(couplings, new, model.name)
        except ModelError as error:
            raise e.element.error(f"cannot mimic {mimic.joint!r}: {error}") from None
    return replace(model, couplings=couplings) if couplings != model.couplings else model


def _not_to_be_followed(joint: Joint, target: str, moving: dict[str, int]) -> str | None:
    if target == joint.name:
        return "which is the joint itself"
    if target not in moving:
        return "which does not exist or does not move"
    if moving[target] != 1 or joint.kind.nv != 1:
        return "and one of the two has several degrees of freedom"
    return None
