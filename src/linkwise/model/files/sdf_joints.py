"""The joints of an SDF file: between which links, of which kind, and what they are where they close a loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import pi
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...arrays import as_numpy
from ...errors import ModelError
from ...spatial import Transform
from ..inertia import Inertia
from ..joints.kinds import Fixed, Helical, JointKind, Prismatic, Revolute, Spherical, Universal
from ..loops import Loop
from ..parts import Body, Frame, Joint, Limits, Mimic
from .sdf_frames import MODEL, WORLD, Name, joined
from .urdf import UNLIMITED
from .xml import Element, meant, shortened

if TYPE_CHECKING:
    from .sdf import SdfFile

AXES = {  # kind → how many axes it has
    **dict.fromkeys(("revolute", "continuous", "prismatic", "screw"), 1),
    **dict.fromkeys(("universal", "revolute2", "gearbox"), 2),
    **dict.fromkeys(("ball", "fixed"), 0),
}
LOOPS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "universal": "universal",
    "ball": "spherical",
    "fixed": "weld",
}
NOTHING = 1e-14  # m: what is left of sums of lengths that cancel


@dataclass(frozen=True, eq=False)
class Axis:
    """An axis of a joint: its direction (3,) in the child link's axes, and what belongs to it."""

    element: Element
    direction: np.ndarray
    limits: Limits
    damping: float
    friction: float
    stiffness: float
    rest: float


@dataclass(frozen=True, eq=False)
class Edge:
    """A joint of the file between two links (the parent may be the world), by full names."""

    element: Element
    name: str
    scope: str
    type: str
    parent: str
    child: str
    between: Transform  # the pose of the child in the parent
    origin: np.ndarray  # of the joint, in the child's axes
    axes: tuple[Axis, ...]
    must_be_cut: bool

    @property
    def geared(self) -> bool:
        return self.type == "gearbox"

    @property
    def carrier(self) -> str:
        """The name of the body at the joint, where the link is away from it."""
        return f"{self.child}:{self.element.text('name').strip()}"


def read_joint(file: SdfFile, name: str) -> Edge:
    element, scope, frame = file.joints[name]
    kind = element.text("type").strip()
    if kind not in AXES:
        hint = f"; {near!r} may be meant" if (near := meant(kind, list(AXES))) else ""
        raise element.error(f"type={shortened(kind)!r} is none of {', '.join(AXES)}{hint}")
    parent, child = (file.frames.link(element, Name(scope, element.child_text(tag))) for tag in ("parent", "child"))
    if child == WORLD:
        raise element.error("its child is the world; the world is a parent")
    if parent == child:
        raise element.error(f"joins {shortened(child)!r} to itself; a joint is between two links")
    origin = np.array(as_numpy(file.frames.pose(child, frame).l))
    origin[np.abs(origin) < NOTHING] = 0.0
    axes = tuple(_axis(file, element, frame, scope, child, tag) for tag in ("axis", "axis2")[: AXES[kind]])
    physics = element.only("physics")
    simbody = None if physics is None else physics.only("simbody")
    cut = simbody is not None and simbody.child_text("must_be_loop_joint", "false") in ("true", "1")
    return Edge(element, name, scope, kind, parent, child, file.frames.pose(parent, child), origin, axes, cut)


def _axis(file: SdfFile, element: Element, own: str, scope: str, child: str, tag: str) -> Axis:
    given = element.only(tag)
    if given is None and tag == "axis2" and element.text("type") == "gearbox":
        given = element.only("axis")
    if given is None:
        raise element.error(f"has no <{tag}>; write <{tag}><xyz>0 0 1</xyz></{tag}>")
    xyz = given.only("xyz")
    direction = np.array([0.0, 0.0, 1.0]) if xyz is None else xyz.content_numbers(3)
    length = float(np.linalg.norm(direction))
    if not length > 1e-12:
        raise (xyz or given).error("the axis of a joint is zero; give it a direction, or make the joint fixed")
    if abs(length - 1) > 1e-3:
        file.moving.add(xyz or given, "the axis is not of unit length; normalised")
    named = "" if xyz is None else xyz.attributes.get("expressed_in", "").strip()
    # Before 1.5 axes were given in the model's frame; until 1.6 they could be.
    by_model = given.child_text("use_parent_model_frame", "true" if file.version < (1, 5) else "false")
    named = named or (MODEL if by_model in ("true", "1") else "")
    frame = file.frames.find(given, Name(scope, named)) if named else own
    turned = as_numpy(file.frames.pose(child, frame).R) @ (direction / length)
    wanted = ("damping", "friction", "spring_stiffness", "spring_reference")
    acting = [0.0] * len(wanted)
    if (dynamics := given.only("dynamics")) is not None:
        acting = [dynamics.child_number(x, 0.0) for x in wanted]
    return Axis(given, turned, _limits(given, element.text("type")), *acting)


def _limits(axis: Element, kind: str) -> Limits:
    given = axis.only("limit")
    if given is None:
        return Limits()
    bounds: dict[str, Any] = {}
    for tag in ("lower", "upper", "velocity", "effort"):
        text = given.child_text(tag, "inf").lower().lstrip("+-")
        x = None if text in ("inf", "infinity") else given.child_number(tag)
        most = tag in ("velocity", "effort")
        bounds[tag] = None if x is None or abs(x) >= UNLIMITED or (most and x < 0) else x
    if kind == "continuous":
        bounds |= {"lower": None, "upper": None}
    lower, upper = bounds["lower"], bounds["upper"]
    if lower is not None and upper is not None and lower > upper:
        raise given.error(f"the lower limit {lower:g} exceeds the upper {upper:g}; swap them")
    return Limits(**bounds)


# --- in the tree -----------------------------------------------------------------------------------------------------


def bodies_of(edge: Edge, inertia: Inertia) -> list[Body]:
    """A link on its joint; where they are apart, a body at the joint that carries the link."""
    anchor = np.zeros(3) if edge.type in ("prismatic", "fixed") else edge.origin
    parent = None if edge.parent == WORLD else edge.parent
    mimic = None
    if len(edge.axes) == 1 and (given := edge.axes[0].element.only("mimic")) is not None:
        mimic = Mimic(given.attributes.get("joint", ""), *_ratio(given))
    try:
        joint = Joint(
            _kind(edge),
            edge.name,
            at=edge.between.apply(anchor),
            rotation=edge.between.R,
            limits=_gathered(edge.axes),
            stiffness=[x.stiffness for x in edge.axes] if edge.axes else 0.0,
            rest=[x.rest for x in edge.axes] if any(x.stiffness for x in edge.axes) else None,
            damping=[x.damping for x in edge.axes] if edge.axes else 0.0,
            damping_acts=any(
                x.stiffness for x in edge.axes
            ),  # that of joints without springs is data, as in URDF files
            friction=[x.friction for x in edge.axes] if edge.axes else 0.0,
            mimic=mimic,
        )
        if not anchor.any():
            return [Body(edge.child, joint, inertia, parent)]
        there = edge.carrier
        held = Joint(Fixed(), f"{there}:fixed", at=-anchor)
        return [Body(there, joint, parent=parent), Body(edge.child, held, inertia, there)]
    except ModelError as e:
        raise edge.element.error(str(e)) from None


def _kind(edge: Edge) -> JointKind:
    axes = [x.direction for x in edge.axes]
    if edge.type in ("universal", "revolute2"):
        return Universal(*axes)
    if edge.type == "screw":
        return Helical(axes[0], _pitch(edge.element))
    if edge.type in ("ball", "fixed"):
        return Spherical() if edge.type == "ball" else Fixed()
    return Prismatic(axes[0]) if edge.type == "prismatic" else Revolute(axes[0])


def _pitch(joint: Element) -> float:
    """[m/rad]: of metres a turn, right-handed; or of the older radians a metre, left-handed."""
    old = joint.only("thread_pitch")
    if joint.only("screw_thread_pitch") is not None or old is None:
        return joint.child_number("screw_thread_pitch", 1.0) / (2 * pi)
    turns = joint.child_number("thread_pitch")
    if not abs(turns) > 1e-12:
        raise old.error("a screw of 0 radians a metre would not turn; make the joint prismatic")
    return -1.0 / turns


def _gathered(axes: Sequence[Axis]) -> Limits:
    """Limits of all axes, as a joint has them."""
    if len(axes) < 2:
        return axes[0].limits if axes else Limits()
    each = {name: [getattr(x.limits, name) for x in axes] for name in ("lower", "upper", "velocity", "effort")}
    none = {"lower": -np.inf}
    return Limits(
        **{
            name: None if all(x is None for x in xs) else [none.get(name, np.inf) if x is None else x for x in xs]
            for name, xs in each.items()
        }
    )


# --- closing loops ---------------------------------------------------------------------------------------------------


def loop_of(file: SdfFile, edge: Edge, taken: set[str]) -> tuple[Loop, list[Frame]]:
    """The loop that a joint closes, and the frames on its parent (a) and its child (b) that it holds together."""
    if edge.type not in LOOPS:
        raise edge.element.error(f"closes a loop, which a {edge.type} joint cannot here; let another joint close it")
    if any(x.damping or x.friction or x.stiffness for x in edge.axes):
        file.moving.add(edge.element, "closes a loop; its spring, damping and friction are not modelled")
    inside = Transform(_axes(edge), edge.origin)
    frames = []
    for part, link, pose in (("a", edge.parent, edge.between.compose(inside)), ("b", edge.child, inside)):
        name = f"{edge.name}:{part}"
        while name in taken:
            name += "_"
        taken.add(name)
        frames.append(Frame.from_pose(name, None if link == WORLD else link, pose))
    return Loop(frames[0].name, frames[1].name, LOOPS[edge.type], name=edge.name), frames


def _axes(edge: Edge) -> np.ndarray:
    """The axes of a loop's frames in the child's: z along the joint's axis; of a Cardan joint y and x along the two."""
    if not edge.axes:
        return np.eye(3)
    z = edge.axes[0].direction
    if edge.type == "universal":
        first, second = (x.direction for x in edge.axes)
        if abs(first @ second) > 1e-9:
            raise edge.element.error("closes a loop, for which the axes of a universal joint must be perpendicular")
        return np.stack([second, first, np.cross(second, first)], axis=-1)
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x = x / np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=-1)


# --- following -------------------------------------------------------------------------------------------------------


class Following(NamedTuple):
    """A joint that follows another, q = ratio q(target) + offset, and what says so."""

    element: Element
    dependent: str
    target: str
    ratio: float
    offset: float


def following(file: SdfFile, edges: Sequence[Edge], tree: Sequence[Edge]) -> Iterator[Following]:
    """What mimic axes and gearboxes impose."""
    single = {e.name: e for e in tree if len(e.axes) == 1}
    for e in edges:
        if e.geared:
            found = _gears(e, list(single.values()))
            if found is None:
                file.moving.add(e.element, "is not modelled: its links have no such hinges on its reference body")
            else:
                yield found
            continue
        for axis in e.axes:
            if (mimic := axis.element.only("mimic")) is None:
                continue
            target = joined(e.scope, mimic.text("joint").strip())
            if target not in file.joints:
                raise mimic.error(f"{shortened(target)!r} names no joint; correct it")
            if e.name not in single or target not in single:
                file.moving.add(mimic, "is not imposed: both joints must have one axis, and close no loop")
            else:
                yield Following(mimic, e.name, target, *_ratio(mimic))


def _ratio(mimic: Element) -> tuple[float, float]:
    """(ratio, offset) of q = multiplier (q_leader − reference) + offset."""
    multiplier = mimic.child_number("multiplier")
    return multiplier, mimic.child_number("offset", 0.0) - multiplier * mimic.child_number("reference", 0.0)


def _gears(gear: Edge, single: Sequence[Edge]) -> Following | None:
    """θ₂ = −ratio θ₁, both angles from the reference body to the two links."""
    ratio = gear.element.child_number("gearbox_ratio", 1.0)
    reference = gear.element.child_text("gearbox_reference_body", "")
    hinges = []
    for link, axis in ((gear.parent, gear.axes[0].direction), (gear.child, gear.axes[1].direction)):
        on = [e for e in single if e.child == link and e.type in ("revolute", "continuous")]
        if not on or on[0].parent.split("::")[-1] != reference.split("::")[-1]:
            return None
        hinges.append((on[0], axis))
    # Axes of the gearbox are in its child's axes, those of hinges in their own child's.
    to_child = [np.eye(3) if e.child == gear.child else as_numpy(gear.between.R).T for e, _ in hinges]
    along = [float(R @ e.axes[0].direction @ axis) for R, (e, axis) in zip(to_child, hinges)]
    if any(abs(abs(x) - 1) > 1e-6 for x in along):
        return None
    turns = -ratio * float(np.sign(along[0] * along[1]))
    return Following(gear.element, hinges[1][0].name, hinges[0][0].name, turns, 0.0)
