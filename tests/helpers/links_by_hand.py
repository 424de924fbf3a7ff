"""Robots written out as plain numbers, and what each edit call does to them, worked out by hand.

The oracle of :mod:`test_paths`: nothing of linkwise but ``assemble`` is used, on bodies as they stand.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

import linkwise as lw

I3 = np.eye(3)
KINDS = {"revolute": lw.Revolute, "prismatic": lw.Prismatic}


def turn(axis, angle):
    """The rotation about a unit vector, by Rodrigues' formula."""
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return I3 + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def after(one, other):
    """One pose (R, p), then another in its frame."""
    return one[0] @ other[0], one[1] + one[0] @ other[1]


@dataclass(frozen=True)
class Mass:
    """Mass, centre of mass and tensor about it."""

    m: float = 0.0
    c: np.ndarray = field(default_factory=lambda: np.zeros(3))
    J: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))

    def seen_from(self, pose):
        R, p = pose
        return Mass(self.m, p + R @ self.c, R @ self.J @ R.T)

    def plus(self, other):
        m = self.m + other.m
        if m == 0:
            return self
        c = (self.m * self.c + other.m * other.c) / m
        parts = [x.J + x.m * ((x.c - c) @ (x.c - c) * I3 - np.outer(x.c - c, x.c - c)) for x in (self, other)]
        return Mass(m, c, parts[0] + parts[1])

    def times(self, factor):
        return Mass(factor * self.m, self.c, factor * self.J)

    @property
    def inertia(self):
        return lw.Inertia(self.m, self.c, self.J)


@dataclass(frozen=True)
class Link:
    """A body, the kind and axis of its joint, and where that sits in its parent."""

    name: str
    parent: str | None
    kind: str
    axis: tuple
    pose: tuple
    mass: Mass

    @property
    def body(self):
        kind = KINDS[self.kind](self.axis) if self.kind in KINDS else {"fixed": lw.Fixed, "free": lw.Free}[self.kind]()
        joint = lw.Joint(kind, f"{self.name}_joint", at=self.pose[1], rotation=self.pose[0])
        return lw.Body(self.name, joint, self.mass.inertia, self.parent)


@dataclass(frozen=True)
class Plan:
    """A whole robot. Each method does by hand what the call of that name does to a robot."""

    links: tuple
    frames: dict
    base: Mass
    gravity: tuple = (0.0, 0.0, -9.81)
    couplings: tuple = ()  # (link that follows, link that leads, ratio, offset)
    loops: tuple = ()  # between the world and frames of the plan

    def build(self):
        frames = [lw.Frame(k, body, at=p, rotation=R) for k, (body, (R, p)) in self.frames.items()]
        robot = lw.assemble(
            "by hand", [x.body for x in self.links], frames, gravity=self.gravity, base=self.base.inertia
        )
        for follower, leader, ratio, offset in self.couplings:
            robot = robot.couple(f"{follower}_joint", f"{leader}_joint", ratio=ratio, offset=offset)
        return robot.close(*self.loops) if self.loops else robot

    def link(self, name):
        return next(x for x in self.links if x.name == name)

    def of_one_freedom(self):
        """The links whose joints have positions of their own, which follow no other."""
        following = {c[0] for c in self.couplings}
        return [x.name for x in self.links if x.kind in KINDS and x.name not in following]

    def is_sound(self):
        """Whether something moves, loops end on bodies that do, and leaders are there where followers are."""
        there = {x.name for x in self.links}
        ends = [self.frames.get(loop.frame_b, (None,))[0] for loop in self.loops]
        led = all(c[1] in there for c in self.couplings)
        return bool(self.of_one_freedom()) and led and all(body in there for body in ends)

    def couple(self, follower, leader, ratio, offset):
        return replace(self, couplings=(*self.couplings, (follower, leader, ratio, offset)))

    def uncouple(self, follower=None):
        left = () if follower is None else tuple(c for c in self.couplings if c[0] != follower)
        return replace(self, couplings=left)

    def close(self, loop, body, at):
        return replace(self, frames=self.frames | {loop.frame_b: (body, (I3, at))}, loops=(*self.loops, loop))

    def opened(self):
        return replace(self, loops=())

    def _with(self, name, **changes):
        return replace(self, links=tuple(replace(x, **changes) if x.name == name else x for x in self.links))

    def with_gravity(self, gravity):
        return replace(self, gravity=gravity)

    def with_inertias(self, name, mass):
        return self._with(name, mass=mass)

    def heavier(self, factor):
        """``with_inertial_parameters`` and ``with_constants``, every body's parameters times a factor."""
        return replace(self, links=tuple(replace(x, mass=x.mass.times(factor)) for x in self.links))

    def weld(self, name, mass, at):
        return self._with(name, mass=self.link(name).mass.plus(mass.seen_from((I3, at))))

    def merge_fixed(self):
        plan = self
        for x in self.links:
            if x.kind == "fixed":
                plan = plan._merged(plan.link(x.name))
        return plan

    def _merged(self, gone):
        """Without one body, which its parent (or the base) takes over."""
        home, moved = gone.parent, gone.mass.seen_from(gone.pose)
        links = []
        for x in self.links:
            if x.name == home:
                x = replace(x, mass=x.mass.plus(moved))
            if x.parent == gone.name:
                x = replace(x, parent=home, pose=after(gone.pose, x.pose))
            if x.name != gone.name:
                links.append(x)
        frames = {
            k: (home, after(gone.pose, pose)) if body == gone.name else (body, pose)
            for k, (body, pose) in self.frames.items()
        }
        base = self.base.plus(moved) if home is None else self.base
        return replace(self, links=tuple(links), frames=frames, base=base)

    def lock(self, name, value):
        """What follows the joint rests with it."""
        resting = {name: value} | {c[0]: c[2] * value + c[3] for c in self.couplings if c[1] == name}
        plan = replace(self, couplings=tuple(c for c in self.couplings if c[1] != name))
        for rested, where in resting.items():
            x = plan.link(rested)
            axis = np.array(x.axis)
            moved = (turn(axis, where), np.zeros(3)) if x.kind == "revolute" else (I3, where * axis)
            plan = plan._with(rested, kind="fixed", pose=after(x.pose, moved))
        return plan.merge_fixed()

    def subtree(self, root):
        inside = {root}
        for x in self.links:
            if x.parent in inside:
                inside.add(x.name)
        links = tuple(x for x in self.links if x.name in inside)
        frames = {k: f for k, f in self.frames.items() if f[0] in inside}
        couplings = tuple(c for c in self.couplings if c[0] in inside)
        plan = replace(self, links=links, frames=frames, base=Mass(), couplings=couplings, loops=())
        return plan._with(root, parent=None)

    def attach(self, other, to, prefix, at):
        (finger,) = other.links
        added = replace(finger, name=prefix + finger.name, parent=to, pose=after((I3, at), finger.pose))
        return replace(self, links=(*self.links, added)).merge_fixed()

    def floating(self):
        root = Link("base", None, "free", (0, 0, 1), (I3, np.zeros(3)), self.base)
        links = tuple(replace(x, parent="base") if x.parent is None else x for x in self.links)
        frames = {k: ("base" if body is None else body, pose) for k, (body, pose) in self.frames.items()}
        return replace(self, links=(root, *links), frames=frames, base=Mass())


def start():
    """A small tree with a fixed body in its middle and a frame at its end."""
    mass = lambda m, x: Mass(m, np.array([x, 0.05, 0.1]), np.diag([0.02, 0.03, 0.04]) * m)
    tilted = turn((0.6, 0.0, 0.8), 0.7)
    return Plan(
        (
            Link("a", None, "revolute", (0, 0, 1), (turn((1, 0, 0), 0.3), np.array([0.1, 0, 0.2])), mass(2.0, 0.1)),
            Link("b", "a", "prismatic", (1, 0, 0), (tilted, np.array([0, 0.3, 0.1])), mass(1.0, 0.2)),
            Link("c", "b", "fixed", (0, 0, 1), (turn((0, 1, 0), 0.4), np.array([0.2, 0, 0])), mass(0.5, 0.0)),
            Link("d", "c", "revolute", (0, 0.6, 0.8), (I3, np.array([0.0, 0, 0.3])), mass(0.7, -0.1)),
            Link("e", "a", "revolute", (0, 1, 0), (tilted.T, np.array([0.0, -0.2, 0.1])), mass(0.4, 0.1)),
        ),
        {"tool": ("d", (tilted, np.array([0.1, 0.0, 0.2])))},
        mass(3.0, 0.05),
    )


def finger():
    """Another robot to bolt on: one link on a massless base."""
    link = Link(
        "finger",
        None,
        "revolute",
        (1, 0, 0),
        (turn((0, 0, 1), 0.5), np.array([0.0, 0.1, 0.0])),
        Mass(0.3, np.array([0.0, 0.1, 0.05]), np.diag([0.01, 0.012, 0.013])),
    )
    return Plan((link,), {}, Mass())
