"""How arms, an object and contacts become one closed robot, and how arms come and go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from ..arguments import shown, word
from ..errors import InputError, ModelError, UnknownNameError
from ..model import edit
from ..model.contacts import Contact, frame_name
from ..model.inertia import Inertia
from ..model.joints.kinds import Free
from ..model.loops import Loop
from ..model.parts import Body, Frame, Joint
from .grasp import Grasp
from .named_loops import renamed
from .robot import Robot

OBJECT = "object"


def grasp(
    arms: Sequence[Robot],
    object: Robot | Inertia,
    contacts: Sequence[Contact],
    *,
    bases: Sequence[Any] | None = None,
    floating: bool | None = None,
    gravity: Any = None,
    name: str = "grasp",
) -> Grasp:
    """Arms that hold an object: one closed robot, whose loops are the contacts.

    ``arms`` are robots, bolted to the world or on free joints, the same one twice if need be: their bodies, joints and
    frames are named "arm_1/…", "arm_2/…" and so on. ``bases`` places them: for each arm None, a position (3,) [m], or
    (position, rpy [rad]). ``object`` is an :class:`Inertia`, which becomes a free body "object" on the joint
    "object_free", or a robot, whose names become "object/…": its base moves freely, unless ``floating`` is False (a
    door, a valve) or its root has a free joint already. ``contacts``: one for each arm in turn; or any number of them,
    each saying which ``arm`` it is of, where its hand's frame is known in several. ``gravity`` (3,) [m/s²] is that of
    the arms, if they agree.
    """
    arms = _checked_arms(arms)
    _check_contacts(contacts)
    g = _common_gravity(arms, object, gravity)
    places = _places(bases, len(arms))
    own = [f"arm_{i + 1}" for i in range(len(arms))]
    owners = [_owner(contacts, i, arms, own) for i in range(len(contacts))]
    held, prefix = _as_object(object, floating, g)
    held = _with_frames(held, [x.object_frame for x in contacts], _root(held))
    tree, loops = Robot(word(name, "name"), (), gravity=g), list[Loop]()
    for arm, label, place in zip(arms, own, places):
        tree, loops = _attached(tree, loops, arm, label, place, [x for x, o in zip(contacts, owners) if o == label])
    tree, loops = _with_object(tree, loops, held, prefix)
    named = [_resolved(x, o, arms[own.index(o)], held, prefix) for x, o in zip(contacts, owners)]
    return _made(tree, loops, tuple(own), named)


def with_arm(team: Grasp, arm: Any, contacts: Any, *, base: Any, name: str | None) -> Grasp:
    """The grasp with one more arm; its bodies come before the object's, as if it had been there from the start."""
    contacts = [contacts] if isinstance(contacts, Contact) else contacts
    _check_contacts(contacts)
    (arm,) = _checked_arms([arm])
    if not np.array_equal(arm.gravity, team.gravity):
        arm = arm.with_gravity(team.gravity)
    label = _free_name(team) if name is None else word(name, "name")
    if not label or "/" in label or label in (*team.arms, OBJECT):
        raise InputError(f"an arm needs a name that is free and has no '/', got {label!r}; there are {list(team.arms)}")
    whole = team.opened
    object_bodies = set(team.object_bodies)
    loose = replace(whole, couplings=())  # which may cross from one part to the other
    held = _part(loose, object_bodies)
    prefix = f"{OBJECT}/" if _root(held).startswith(f"{OBJECT}/") else ""
    held = _with_frames(held, [_under(prefix, x.object_frame) for x in contacts], _root(held))
    tree = _part(loose, {b.name for b in whole.bodies} - object_bodies, base=True)
    loops = [x for x in team.loops if x.name not in {c.name for c in team.contacts}]
    tree, loops = _attached(tree, loops, arm, label, _place(base, 0), contacts)
    tree, _ = _with_object(tree, [], held, "")
    of_object = {b.joint.name for b in held.bodies}
    ahead, behind = ([c for c in whole.couplings if (c.dependent in of_object) == x] for x in (False, True))
    tree = replace(tree, couplings=(*ahead, *tree.couplings, *behind))
    bare = _without_prefix(held, prefix)
    named = [_resolved(x, label, arm, bare, prefix) for x in contacts]
    return _made(tree, loops, (*team.arms, label), [*team.contacts, *named])


def without_arm(team: Grasp, arm: str) -> Grasp:
    """The grasp without an arm."""
    gone = {team.bodies[i].name for i in team._bodies_of(arm)}
    left = [x for x in team.contacts if team._owner(x.hand_frame) != arm]
    if not left:
        raise InputError(f"{arm} is the only arm of grasp {team.name!r} that holds the object; nothing would be left")
    kept = _part(team.opened, {b.name for b in team.bodies} - gone, base=True)
    kept = replace(kept, extra_frames=tuple(f for f in kept.extra_frames if not f.name.startswith(f"{arm}/")))
    own = {x.name for x in team.contacts}
    loops = [x for x in team.loops if x.name not in own and not _reaches(x, arm)]
    return _made(kept, loops, tuple(a for a in team.arms if a != arm), left)


def object_alone(team: Grasp) -> Robot:
    """The object as a robot of its own, with the loops that no arm is in."""
    whole, own = team.opened, {-1, *team._bodies_of(None)}
    loops = [x for x in team.loops if {team.frame(f)[0] for f in (x.frame_a, x.frame_b)} <= own]
    alone = replace(_part(whole, set(team.object_bodies)), name=f"{team.name}/{OBJECT}")
    if not loops:
        return alone
    ends = {f for x in loops for f in (x.frame_a, x.frame_b)}
    fixed = (f for f in whole.extra_frames if f.body is None and f.name in ends)
    return replace(alone, extra_frames=(*alone.extra_frames, *fixed)).close(*loops)


def _reaches(loop: Loop, arm: str) -> bool:
    return any(frame_name(f).startswith(f"{arm}/") for f in (loop.frame_a, loop.frame_b))


def _made(tree: Robot, loops: Iterable[Loop], arms: tuple[str, ...], contacts: Iterable[Contact]) -> Grasp:
    given = {f.name: getattr(tree, f.name) for f in fields(Robot) if f.name != "numbers"}
    given["base"] = Inertia()  # what the world holds matters to nothing here
    return Grasp(**given, loops=tuple(loops), arms=arms, contacts=tuple(contacts))


# --- parts -----------------------------------------------------------------------------------------------------------


def _part(whole: Robot, bodies: set[str], base: bool = False) -> Robot:
    """Some of the trees of a robot, with what sits on them (and, with ``base``, on the world)."""
    kept = tuple(b for b in whole.bodies if b.name in bodies)
    joints = {b.joint.name for b in kept}
    return replace(
        whole,
        bodies=kept,
        extra_frames=tuple(f for f in whole.extra_frames if f.body in bodies or (base and f.body is None)),
        visuals=tuple(x for x in whole.visuals if x.body in bodies or (base and x.body is None)),
        couplings=tuple(c for c in whole.couplings if c.dependent in joints),
    )


def _attached(
    tree: Robot, loops: list[Loop], arm: Robot, label: str, place: tuple[Any, Any], contacts: Sequence[Contact]
) -> tuple[Robot, list[Loop]]:
    """The tree with an arm on the world, the frames of its contacts beside its own."""
    prefix = f"{label}/"
    arm = _with_frames(arm, [x.hand_frame for x in contacts], None)
    if any(b.name == arm.base_name for b in arm.bodies):  # a base that floats has the name that its mount would get
        arm = replace(arm, base_name="mount")
    grown = edit.attach(tree, arm.opened, "world", prefix, *place)
    return grown, [*loops, *(renamed(x, prefix, prefix + arm.base_name) for x in arm.loops)]


def _with_object(tree: Robot, loops: list[Loop], held: Robot, prefix: str) -> tuple[Robot, list[Loop]]:
    """The tree with the object's bodies last."""
    bare = held.opened
    moved = [
        replace(
            b,
            name=prefix + b.name,
            parent=None if b.parent is None else prefix + b.parent,
            joint=replace(
                b.joint,
                name=prefix + b.joint.name,
                mimic=b.joint.mimic and replace(b.joint.mimic, joint=prefix + b.joint.mimic.joint),
            ),
        )
        for b in bare.bodies
    ]
    frames = [
        replace(f, name=prefix + f.name, body=None if f.body is None else prefix + f.body) for f in bare.extra_frames
    ]
    looks = [replace(x, body=None if x.body is None else prefix + x.body) for x in bare.visuals]
    grown = replace(
        tree,
        bodies=(*tree.bodies, *moved),
        extra_frames=(*tree.extra_frames, *frames),
        visuals=(*tree.visuals, *looks),
        couplings=(*tree.couplings, *(c.prefixed(prefix) for c in bare.couplings)),
    )
    return grown, [*loops, *(renamed(x, prefix, "world") for x in held.loops)]


def _under(prefix: str, frame: str | Frame) -> str | Frame:
    """A frame of the object, given under the object's own names, as it is called in the whole."""
    if isinstance(frame, str):
        return frame
    return replace(frame, name=prefix + frame.name, body=None if frame.body is None else prefix + frame.body)


def _without_prefix(held: Robot, prefix: str) -> Robot:
    """An object under its own names, for the frames that contacts name."""
    n = len(prefix)
    bodies = [
        replace(b, name=b.name[n:], parent=b.parent and b.parent[n:], joint=replace(b.joint, name=b.joint.name[n:]))
        for b in held.bodies
    ]
    own = [f for f in held.extra_frames if f.name.startswith(prefix)]
    frames = [replace(f, name=f.name[n:], body=f.body and f.body[n:]) for f in own]
    return replace(held, bodies=tuple(bodies), extra_frames=tuple(frames), visuals=())


def _with_frames(robot: Robot, given: Sequence[str | Frame], root: str | None) -> Robot:
    """The robot with the frames that contacts brought along; those without a body sit on ``root``."""
    kept = {f.name: f for f in robot.extra_frames}
    for f in given:
        if isinstance(f, Frame):
            f = replace(f, body=root) if f.body is None else f
            if kept.setdefault(f.name, f) != f:
                raise ModelError(f"robot {robot.name!r}: another frame is named {f.name!r} already")
    return replace(robot, extra_frames=tuple(kept.values()))


def _as_object(given: Robot | Inertia, floating: bool | None, gravity: Any) -> tuple[Robot, str]:
    """The object as a robot that can move, and what goes before its names."""
    if not (floating is None or isinstance(floating, bool)):
        raise InputError(f"floating must be True, False or None, got {shown(floating)}")
    if isinstance(given, Inertia):
        if floating is False:
            raise InputError("an object that is an lw.Inertia moves freely; leave floating out")
        if not given.mass > 0:
            raise ModelError("the object's inertia has no mass, so that contact forces would not be determined")
        given.check("the object's inertia tensor")
        return Robot(OBJECT, (Body(OBJECT, Joint(Free(), "object_free"), given),), gravity=gravity), ""
    if not isinstance(given, Robot):
        raise InputError(f"the object must be a robot or an lw.Inertia, got {shown(given)}")
    free = any(b.parent is None and isinstance(b.joint.kind, Free) for b in given.bodies)
    if free or floating is False:
        return given, f"{OBJECT}/"
    return given.floating(), f"{OBJECT}/"


def _root(held: Robot) -> str:
    """The body that the object's frames sit on by default."""
    roots = [b.name for b in held.bodies if b.parent is None]
    if not roots:
        raise ModelError(f"the object {held.name!r} has no body that moves")
    return roots[0]


# --- what was given --------------------------------------------------------------------------------------------------


def _checked_arms(arms: Any) -> list[Robot]:
    if isinstance(arms, Robot):
        raise InputError("arms must be a list of robots: lw.grasp([arm, …], object, contacts)")
    if not isinstance(arms, Iterable) or isinstance(arms, (str, bytes, np.ndarray)):
        raise InputError(f"arms must be a list of robots, got {shown(arms)}")
    found = list(arms)
    if not found:
        raise InputError("a grasp needs at least one arm: lw.grasp([arm, …], object, contacts)")
    for i, arm in enumerate(found):
        if not isinstance(arm, Robot):
            raise InputError(f"arm {i} must be a robot, such as lw.load gives, got {shown(arm)}")
        if not arm.nv:
            raise ModelError(f"arm {i}, {arm.name!r}, has no joint that moves; contacts with the world are lw.Loop")
    return found


def _check_contacts(contacts: Any) -> None:
    if isinstance(contacts, Contact) or not isinstance(contacts, Sequence) or isinstance(contacts, (str, bytes)):
        raise InputError(f"contacts must be a list of lw.Contact, got {shown(contacts)}")
    if not contacts:
        raise InputError("a grasp needs at least one contact: lw.Contact(hand_frame, object_frame, kind)")
    for x in contacts:
        if not isinstance(x, Contact):
            raise InputError(f"contacts must be lw.Contact objects, got {shown(x)}")


def _common_gravity(arms: Sequence[Robot], held: Any, gravity: Any) -> Any:
    if gravity is not None:
        return gravity
    for i, arm in enumerate(arms):
        if not np.array_equal(arm.gravity, arms[0].gravity):
            raise ModelError(
                f"arms 0 and {i} are under different gravity, {arms[0].gravity.tolist()} and {arm.gravity.tolist()};"
                " say which holds: gravity="
            )
    if isinstance(held, Robot) and not np.array_equal(held.gravity, arms[0].gravity):
        raise ModelError(
            f"the object {held.name!r} and the arms are under different gravity, {held.gravity.tolist()} and"
            f" {arms[0].gravity.tolist()}; say which holds: gravity="
        )
    return arms[0].gravity


def _places(bases: Any, n: int) -> list[tuple[Any, Any]]:
    if bases is None:
        return [((0, 0, 0), None)] * n
    if not _is_list(bases) or len(bases) != n:
        raise InputError(f"bases must have one place for each of the {n} arms, got {shown(bases)}")
    return [_place(x, i) for i, x in enumerate(bases)]


def _place(x: Any, i: int) -> tuple[Any, Any]:
    """(position, rpy) from None, a position, or both."""
    if x is None:
        return (0, 0, 0), None
    if _is_list(x):
        if len(x) == 3 and all(np.ndim(e) == 0 for e in x):
            return x, None
        if len(x) == 2:
            return x[0], x[1]
    raise InputError(f"the base of arm {i} is None, a position (3,) [m] or (position, rpy), got {shown(x)}")


def _is_list(x: Any) -> bool:
    return (isinstance(x, Sequence) and not isinstance(x, (str, bytes))) or (isinstance(x, np.ndarray) and x.ndim > 0)


def _owner(contacts: Sequence[Contact], i: int, arms: Sequence[Robot], own: Sequence[str]) -> str:
    """The arm whose hand a contact is."""
    x = contacts[i]
    if isinstance(x.arm, int):
        if not 0 <= x.arm < len(arms):
            raise InputError(f"contact {x.name!r}: there is no arm {x.arm}; arms are counted from 0 to {len(arms) - 1}")
        return own[x.arm]
    if x.arm is not None:
        if x.arm not in own:
            raise UnknownNameError(f"contact {x.name!r}: no arm is named {x.arm!r}; there are {', '.join(own)}")
        return x.arm
    if len(contacts) == len(arms) and all(y.arm is None for y in contacts):
        return own[i]
    knowing = [name for arm, name in zip(arms, own) if _has(arm, x.hand_frame)]
    if len(knowing) == 1:
        return knowing[0]
    what = "no arm has" if not knowing else f"{', '.join(knowing)} have"
    raise InputError(
        f"contact {x.name!r}: whose hand is it? {what} a frame {frame_name(x.hand_frame)!r}; say so with arm=, one of"
        f" {', '.join(own)}"
    )


def _has(arm: Robot, frame: str | Frame) -> bool:
    if isinstance(frame, Frame):
        return frame.body in arm.body_index
    return frame in {f.name for f in arm.frames}


def _resolved(x: Contact, label: str, arm: Robot, held: Robot, prefix: str) -> Contact:
    """A contact between frames of the whole tree, known to be there."""
    for what, robot, frame in (("arm", arm, x.hand_frame), ("object", held, frame_name(x.object_frame))):
        try:
            body, _ = robot.frame(frame)
        except UnknownNameError as e:
            which = f"{label} ({robot.name!r})" if what == "arm" else f"the object ({robot.name!r})"
            raise UnknownNameError(f"contact {x.name!r}, on {which}: {e}") from None
        if body < 0:
            raise ModelError(
                f"contact {x.name!r}: frame {frame_name(frame)!r} of the {what} is fixed to the world; a contact joins"
                " a body of an arm to a body of the object"
            )
    hand, handle = f"{label}/{frame_name(x.hand_frame)}", prefix + frame_name(x.object_frame)
    auto = f"{frame_name(x.hand_frame)}–{frame_name(x.object_frame)}"
    return replace(
        x, hand_frame=hand, object_frame=handle, arm=label, name=f"{hand}–{handle}" if x.name == auto else x.name
    )


def _free_name(team: Grasp) -> str:
    i = len(team.arms) + 1
    while f"arm_{i}" in team.arms:
        i += 1
    return f"arm_{i}"
