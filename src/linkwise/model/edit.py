"""Robots from robots: lock joints, merge welded bodies, cut sub-trees, weld payloads, attach, float.

Every function returns a new model of the same type and leaves its argument as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ..arguments import flag, mapping, names, shown, word
from ..errors import InputError, ModelError
from ..spatial import Transform, quaternion_exp, rotation_from_quaternion
from .couplings import Coupling, added, at_rest, make_coupling
from .flexible.body import Flexible
from .flexible.structure import flexible_bodies, on_node, shared_modes
from .inertia import Inertia, as_array, as_vector
from .joints.kinds import Fixed, Free
from .joints.modal import Modal
from .model import Model, refuse_other_numbers, with_numbers
from .parts import Body, Frame, Joint, make_pose

M = TypeVar("M", bound=Model)


def merge_fixed(model: M) -> M:
    """Bodies on fixed joints become part of their parent; their frames stay under their names.

    The frames of flexible bodies stay bodies: what is put on them later goes to their nodes.
    """
    flexible = {model.bodies[k].name for k in flexible_bodies(model)}
    home: dict[str | None, tuple[str | None, Transform]] = {None: (None, Transform.identity())}
    gathered: dict[str | None, Inertia] = {None: model.base}
    kept: list[Body] = []
    frames: list[Frame] = []
    for b in model.bodies:
        carrier, pose = home[b.parent]
        placed = pose.compose(b.joint.placement)
        if isinstance(b.joint.kind, Fixed) and b.name not in flexible:
            home[b.name] = (carrier, placed)
            gathered[carrier] = gathered[carrier] + b.inertia.moved(placed)
            frames.append(Frame.from_pose(b.name, carrier, placed))
        else:
            home[b.name] = (b.name, Transform.identity())
            gathered[b.name] = b.inertia
            kept.append(replace(b, parent=carrier, joint=_placed(b.joint, placed, pose)))
    for f in model.extra_frames:
        carrier, pose = home[f.body]
        frames.append(Frame.from_pose(f.name, carrier, pose.compose(f.pose)))
    bodies = tuple(replace(b, inertia=gathered[b.name]) for b in kept)
    visuals = tuple(x.moved(*home[x.body]) for x in model.visuals)
    return replace(model, bodies=bodies, extra_frames=tuple(frames), base=gathered[None], visuals=visuals)


def couple(
    model: M,
    dependent: str,
    independents: str | Sequence[str],
    ratio: Any = None,
    offset: Any = None,
    relation: Callable[..., Any] | None = None,
) -> M:
    """The robot with a joint that follows others; ``relation`` is a smooth function of their positions."""
    new = make_coupling(dependent, independents, ratio, offset, relation)
    for name in (new.dependent, *new.independents):
        model.joint(name)
    return replace(model, couplings=added(model.couplings, new, model.name))


def uncouple(model: M, joints: Iterable[str] | None = None) -> M:
    """The robot with these dependent joints free again (all of them, where none are named).

    Points of flexible bodies keep their modes.
    """
    modal = {model.joints[k].name for k in shared_modes(model)}
    if joints is None:
        return replace(model, couplings=tuple(c for c in model.couplings if c.dependent in modal))
    free = set(names(joints, "joints"))
    for name in free:
        if model.joint(name) not in model.dependents:
            raise InputError(f"joint {name!r} follows no other; robot {model.name!r} has {_followers(model)}")
        if name in modal:
            raise InputError(f"joint {name!r} is one of a flexible body, whose points share its modes for good")
    return replace(model, couplings=tuple(c for c in model.couplings if c.dependent not in free))


def _followers(model: Model) -> str:
    return ", ".join(repr(c.dependent) for c in model.couplings) or "no coupled joints"


def lock(model: M, joints: Iterable[str] | Mapping[str, Any], q: Any = None) -> M:
    """The robot with these joints locked, their bodies merged into their parents.

    ``joints`` maps joint names to the configuration to lock them at, or lists names to be locked where
    the full configuration ``q`` (nq,) has them (default: neutral).
    """
    if isinstance(joints, str):
        raise InputError(f"joints must be a list or a mapping of joint names, got the string {joints!r}")
    whole = model.neutral() if q is None else as_array(q, "q must be numbers")
    if whole.shape != (model.nq,):
        raise InputError(f"q must have {model.nq} numbers, got shape {whole.shape}")
    values = dict(joints) if isinstance(joints, Mapping) else dict.fromkeys(names(joints, "joints"))
    locked: dict[int, np.ndarray] = {}
    for name, value in values.items():
        i = model.joint(name)
        if i in model.dependents:
            followed = ", ".join(map(repr, model.dependents[i].independents))
            raise InputError(f"joint {name!r} follows {followed} and cannot be locked by itself; lock what it follows")
        given = whole[model.q_slices[i]]
        if value is not None:
            given = np.atleast_1d(as_array(value, f"joint {name!r} is locked at numbers"))
        if given.shape != (model.joints[i].kind.nq,):
            raise InputError(f"joint {name!r} takes {model.joints[i].kind.nq} numbers, got shape {given.shape}")
        problem = model.joints[i].kind.error(given)
        if problem:
            raise InputError(f"the configuration of joint {name!r} {problem}")
        locked[i] = given
    locked |= {k: locked[first] for k, first in shared_modes(model).items() if first in locked}
    couplings, resting = _without(
        (c for c in model.couplings if model.joint(c.dependent) not in locked),
        {model.joints[i].name: float(x[0]) for i, x in locked.items() if x.size == 1},
    )
    locked |= {model.joint(name): np.array([x]) for name, x in resting.items()}
    bodies = []
    for i, b in enumerate(model.bodies):
        if i in locked:
            pose = b.joint.placement.compose(b.joint.kind.transform(locked[i]))
            b = replace(b, joint=Joint(Fixed(), b.joint.name, at=pose.l, rotation=pose.R))
        bodies.append(b)
    return merge_fixed(replace(model, bodies=tuple(bodies), couplings=couplings))


def _without(
    couplings: Iterable[Coupling], locked: Mapping[str, float]
) -> tuple[tuple[Coupling, ...], dict[str, float]]:
    """The couplings that are left while some joints rest, and where the joints rest that follow those alone."""
    left = [(c, at_rest(c, locked)) for c in couplings]
    resting = {c.dependent: x for c, x in left if isinstance(x, float)}
    return tuple(x for _, x in left if isinstance(x, Coupling)), resting


def subtree(model: M, root: str, floating: bool = False) -> M:
    """The part of the robot from body ``root`` outward, held by the world where its parent held it.

    With ``floating`` the root body moves freely instead.
    """
    flag(floating, "floating")
    start = model.body(root)
    inside = {start}
    for i, p in enumerate(model.parents):
        if p in inside:
            inside.add(i)
    bodies = [model.bodies[i] for i in sorted(inside)]
    first = bodies[0]
    joint = Joint(Free(), f"{first.name}_free") if floating else first.joint
    bodies[0] = replace(first, parent=None, joint=joint)
    names = {b.name for b in bodies}
    frames = tuple(f for f in model.extra_frames if f.body in names)
    visuals = tuple(x for x in model.visuals if x.body in names)
    joints = {b.joint.name for b in bodies}
    couplings = tuple(c for c in model.couplings if c.dependent in joints)
    name = f"{model.name}/{root}"
    return replace(
        model,
        name=name,
        bodies=tuple(bodies),
        extra_frames=frames,
        base=Inertia(),
        visuals=visuals,
        couplings=couplings,
    )


def weld(model: M, body: str, payload: Inertia, at: Any = (0, 0, 0), rpy: Any = None, frame: str | None = None) -> M:
    """The robot with a payload fixed on a body, at the payload's pose in the body's frame.

    ``body`` may also name any frame; the pose is then relative to it. ``frame`` names the payload's frame.
    """
    index, pose = model.frame(body)
    index, placed = on_node(model, index, pose.compose(make_pose(at, rpy, what="the payload")), "the payload")
    _refuse_no_inertia(payload, "the payload")
    payload.check("the payload's inertia tensor")
    carrier = None if index < 0 else model.bodies[index].name
    frames = model.extra_frames + (() if frame is None else (Frame.from_pose(frame, carrier, placed),))
    if carrier is None:
        return replace(model, base=model.base + payload.moved(placed), extra_frames=frames)
    bodies = list(model.bodies)
    bodies[index] = replace(bodies[index], inertia=bodies[index].inertia + payload.moved(placed))
    return replace(model, bodies=tuple(bodies), extra_frames=frames)


def attach(model: M, other: Model, to: str, prefix: str = "", at: Any = (0, 0, 0), rpy: Any = None) -> M:
    """The robot with another robot bolted on at a frame; ``prefix`` keeps names apart."""
    if not isinstance(other, Model):
        raise InputError(f"what is attached must be a robot, got {shown(other)}")
    refuse_other_numbers(other, "attached")
    word(prefix, "prefix")
    index, pose = model.frame(to)
    placed = pose.compose(make_pose(at, rpy, what="the attached robot"))
    index, mount = on_node(model, index, placed, f"robot {other.name!r}")
    carrier = None if index < 0 else model.bodies[index].name
    base = Body(prefix + other.base_name, Joint(Fixed(), at=mount.l, rotation=mount.R), other.base, carrier)
    bodies = [*model.bodies, base]
    for b in other.bodies:
        parent = base.name if b.parent is None else prefix + b.parent
        mimic = b.joint.mimic and replace(b.joint.mimic, joint=prefix + b.joint.mimic.joint)
        joint = replace(b.joint, name=prefix + b.joint.name, mimic=mimic)
        bodies.append(replace(b, name=prefix + b.name, parent=parent, joint=joint))
    frames = [*model.extra_frames]
    for f in other.extra_frames:
        if prefix + f.name != base.name:
            frames.append(replace(f, name=prefix + f.name, body=base.name if f.body is None else prefix + f.body))
    brought = [replace(x, body=base.name if x.body is None else prefix + x.body) for x in other.visuals]
    visuals = (*model.visuals, *brought)
    couplings = (*model.couplings, *(c.prefixed(prefix) for c in other.couplings))
    grown = replace(model, bodies=tuple(bodies), extra_frames=tuple(frames), visuals=visuals, couplings=couplings)
    return merge_fixed(grown)


def float_base(model: M, joint_name: str = "root_joint") -> M:
    """The robot with the body that was bolted to the world moving freely."""
    if model.base.mass == 0 and not model.bodies:
        raise ModelError(f"robot {model.name!r} has no body that could float")
    if word(joint_name, "joint_name") in model.joint_index:
        raise ModelError(f"robot {model.name!r} floats already, or has a joint {joint_name!r}: give another joint_name")
    base = Body(model.base_name, Joint(Free(), joint_name), model.base)
    bodies = (base, *(replace(b, parent=base.name) if b.parent is None else b for b in model.bodies))
    frames = tuple(
        replace(f, body=base.name) if f.body is None else f for f in model.extra_frames if f.name != base.name
    )
    visuals = tuple(replace(x, body=base.name) if x.body is None else x for x in model.visuals)
    return replace(model, bodies=bodies, extra_frames=frames, base=Inertia(), visuals=visuals)


def with_inertias(model: M, inertias: Mapping[str, Inertia]) -> M:
    """The robot with new inertias for some bodies, everything else shared."""
    bodies = list(model.bodies)
    flexible = flexible_bodies(model)
    for name, inertia in mapping(inertias, "inertias").items():
        _refuse_no_inertia(inertia, f"the inertia of body {name!r}")
        if model.body(name) in flexible and inertia.mass > 0:  # it would come on top of that of its points
            raise InputError(
                f"body {name!r} of robot {model.name!r} is flexible, and its inertia is in its points; weld more to one"
                " of its nodes, or assemble the robot with another lw.Flexible"
            )
        inertia.check(f"the inertia tensor of body {name!r}")
        i = model.body(name)
        bodies[i] = replace(bodies[i], inertia=inertia)
    return replace(model, bodies=tuple(bodies))


def inertial_parameters(model: Model) -> np.ndarray:
    """(bodies, 10): mass, first moment (3), then Jxx, Jxy, Jyy, Jxz, Jyz, Jzz about the body's origin."""
    rows = []
    for c in model.constants():
        h, J = c.M.h, c.M.J
        rows.append([c.M.m, h[0], h[1], h[2], J[0, 0], J[0, 1], J[1, 1], J[0, 2], J[1, 2], J[2, 2]])
    return np.array(rows).reshape(len(model.bodies), 10)


def with_inertial_parameters(model: M, parameters: Any) -> M:
    """The robot with the ten inertial parameters (bodies, 10) of every body replaced."""
    p = as_array(parameters, "inertial parameters must be numbers")
    if p.shape != (len(model.bodies), 10):
        raise InputError(f"parameters must have shape ({len(model.bodies)}, 10), got {p.shape}")
    inertias = {}
    for body, (m, hx, hy, hz, xx, xy, yy, xz, yz, zz) in zip(model.bodies, p):
        h, J = np.array([hx, hy, hz]), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if m <= 0:
            if np.any(h):
                raise ModelError(f"body {body.name!r}: a first moment {h.tolist()} needs a positive mass")
            inertias[body.name] = Inertia(m, np.zeros(3), J)
            continue
        c = h / m
        inertias[body.name] = Inertia(m, c, J - m * (c @ c * np.eye(3) - np.outer(c, c)))
    return with_inertias(model, inertias)


def with_placements(model: M, changes: Any) -> M:
    """The robot with its joints placed elsewhere, by (bodies, 6) rotation vectors and displacements in their axes."""
    given = as_array(changes, "changes of placements must be numbers")
    if given.shape != (len(model.bodies), 6):
        raise InputError(f"changes must have shape ({len(model.bodies)}, 6), got {given.shape}")
    refuse_other_numbers(model, "placed elsewhere")
    bodies = []
    for body, change in zip(model.bodies, given):
        if change.any() and isinstance(body.joint.kind, Modal):
            raise InputError(
                f"joint {body.joint.name!r} is that of a flexible body's modes, whose points stay where its shapes have"
                " them; change its frame's joint instead"
            )
        pose = body.joint.placement.compose(small_pose(change))
        joint = replace(body.joint, at=pose.l, rpy=None, rotation=pose.R) if change.any() else body.joint
        bodies.append(replace(body, joint=joint))
    return replace(model, bodies=tuple(bodies))


def small_pose(change: np.ndarray) -> Transform:
    """The pose of a rotation vector and a displacement (6,)."""
    return Transform(rotation_from_quaternion(quaternion_exp(change[:3])), change[3:])


def with_springs(
    model: M,
    springs: Mapping[str, Mapping[str, Any]] | None = None,
    damping_acts: bool | None = None,
    but: Container[int] = (),
) -> M:
    """The robot with other springs and dampers in some joints: by joint, what :class:`.Joint` takes as ``stiffness``,
    ``rest`` and ``damping``. Damping that is given acts; ``damping_acts`` says so, or not, of all joints ``but`` some
    (by their bodies)."""
    given = {} if springs is None else mapping(springs, "springs")
    changed: dict[int, dict[str, Any]] = (
        {}
        if damping_acts is None
        else {i: {"damping_acts": flag(damping_acts, "damping_acts")} for i in range(len(model.bodies)) if i not in but}
    )
    for name, numbers in given.items():
        own = dict(mapping(numbers, f"the spring of joint {name!r}"))
        if odd := sorted(map(str, own.keys() - {"stiffness", "rest", "damping"})):
            raise InputError(f"the spring of joint {name!r} has stiffness, rest and damping, not {', '.join(odd)}")
        changed.setdefault(model.joint(name), {}).update(own | ({"damping_acts": True} if "damping" in own else {}))
    bodies = list(model.bodies)
    for i, numbers in changed.items():
        bodies[i] = replace(bodies[i], joint=replace(bodies[i].joint, **numbers))
    return replace(model, bodies=tuple(bodies))


def with_gravity(model: M, gravity: Any) -> M:
    """The robot under another gravity (3,) [m/s²]."""
    if model.numbers is not None:
        return with_numbers(model, model.numbers, gravity=as_vector(gravity, "gravity"))
    return replace(model, gravity=gravity)


def _refuse_no_inertia(x: Any, what: str) -> None:
    if isinstance(x, Flexible):
        raise InputError(f"{what} is an lw.Flexible, which goes into the lw.Body that a robot is assembled from")
    if not isinstance(x, Inertia):
        raise InputError(f"{what} must be an lw.Inertia, got {x!r}")


def _placed(joint: Joint, placed: Transform, carrier: Transform) -> Joint:
    """The joint at its place on the body that now carries it; a rotor's axis turns into that body's axes."""
    rotor = joint.rotor
    if rotor is not None and rotor.axis is not None:
        rotor = replace(rotor, axis=carrier.R @ rotor.axis)
    return replace(joint, at=placed.l, rpy=None, rotation=placed.R, rotor=rotor)
