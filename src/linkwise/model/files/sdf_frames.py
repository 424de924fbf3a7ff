"""The frames of an SDF file: links, joints, models and frames of their own, each placed relative to another.

A frame is known by its name with those of the models around it, as in ``arm::hand::palm``; a model's own frame ends in
``__model__``, and ``world`` is the world. A pose names what it is relative to, in the words of the model that it stands
in; without a name that is the model's frame, of a joint its child's, of a frame what it is attached to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import as_numpy
from ...spatial import Transform, rotation_from_quaternion
from ..parts import make_pose
from .xml import Element, shortened

WORLD, MODEL = "world", "__model__"
BETWEEN = "::"


def joined(scope: str, name: str) -> str:
    """A name of a model as the whole file knows it."""
    return f"{scope}{BETWEEN}{name}" if scope else name


@dataclass(frozen=True)
class Name:
    """A name in the words of a model; ``scope`` is that model's own name, "" for the outermost."""

    scope: str
    text: str


@dataclass(frozen=True)
class Placed:
    """A frame as the file places it: in what, and what it is attached to (None for links).

    ``placement`` is the frame of a model that the model's pose places.
    """

    element: Element
    pose: Transform
    base: Name
    holder: Name | None = None
    placement: Name | None = None


class Frames:
    """All frames of a file. Names are resolved when asked for: files name frames before they define them."""

    def __init__(self) -> None:
        self._placed: dict[str, Placed] = {}
        # What was found already, so that long rows of frames, each on the one before, take no longer than they are.
        self._links: dict[str, str] = {WORLD: WORLD}
        self._poses: dict[tuple[str, str], Transform] = {}

    def add(self, name: str, placed: Placed) -> None:
        if name in self._placed:
            first = self._placed[name].element
            raise placed.element.error(f"its name is that of {first.label()} on line {first.line}; rename one")
        self._placed[name] = placed

    def element(self, name: str) -> Element:
        """Where a frame, by its full name, stands in the file."""
        return self._placed[name].element

    def find(self, element: Element, name: Name) -> str:
        """The full name of what a model knows under a name; of a model, that of its frame."""
        if name.text == WORLD:
            return WORLD
        full = joined(name.scope, name.text)
        for candidate in (full, joined(full, MODEL)):
            if candidate in self._placed:
                return candidate
        raise element.error(f"{shortened(name.text)!r} names no link, joint, frame or model here; add or correct it")

    def link(self, element: Element, name: Name) -> str:
        """The full name of the link that a frame is fixed on; the world for the world's."""
        at, walked = self.find(element, name), dict[str, None]()
        while at not in self._links:
            holder = self._placed[at].holder
            if holder is None:
                self._links[at] = at
                break
            if at in walked:
                raise element.error(f"{shortened(name.text)!r} is attached to itself, by way of others")
            walked[at] = None
            at = self.find(self._placed[at].element, holder)
        self._links |= dict.fromkeys(walked, self._links[at])
        return self._links[at]

    def pose(self, outer: str, inner: str) -> Transform:
        """The pose of one frame in another, both by full names, with the model in the posture of the file.

        By what lies between them alone, so that poses relative to each other keep their digits.
        """
        a, b = {outer: Transform.identity()}, {inner: Transform.identity()}
        at_a, at_b = outer, inner
        while at_a not in b and at_b not in a and (outer, at_b) not in self._poses:
            if at_a != WORLD:
                at_a = self._step(a, at_a)
            if at_b != WORLD and at_b not in a:
                at_b = self._step(b, at_b)
        if (outer, at_b) in self._poses:
            X = self._poses[outer, at_b].compose(b[at_b])
        else:
            meet = at_a if at_a in b else at_b
            X = b[meet] if meet == outer else a[meet].inverse().compose(b[meet])
        R = np.array(as_numpy(X.R))
        R[np.abs(R) < 1e-15] = 0.0  # quarter turns have true zeros
        self._poses[outer, inner] = Transform(R, as_numpy(X.l))
        return self._poses[outer, inner]

    def _step(self, walked: dict[str, Transform], name: str) -> str:
        """From the frame that was reached last to the one that it is placed relative to."""
        at = self._placed[name]
        base = self.find(at.element, at.base)
        if base in walked:
            raise at.element.error(f"its pose is relative to itself, by way of {shortened(base)!r}; break the circle")
        walked[base] = self._own(name).compose(walked[name])
        return base

    def _own(self, name: str) -> Transform:
        """A frame's pose in what it is relative to. A model that is placed by one of its frames is behind that."""
        at = self._placed[name]
        if at.placement is None:
            return at.pose
        inside = self.find(at.element, at.placement)
        walked = {inside: Transform.identity()}
        while inside != name:
            if inside == WORLD:
                raise at.element.error(f"placement_frame={shortened(at.placement.text)!r} is not within the model")
            inside = self._step(walked, inside)
        return at.pose.compose(walked[name].inverse())


def read_pose(holder: Element) -> tuple[Transform, str]:
    """What the <pose> of an element says, and the name that it is relative to."""
    given = holder.only("pose")
    if given is None:
        return Transform.identity(), ""
    base = given.attributes.get("relative_to", given.attributes.get("frame", "")).strip()
    form = given.attributes.get("rotation_format", "euler_rpy")
    if form not in ("euler_rpy", "quat_xyzw"):
        raise given.error(f"rotation_format={shortened(form)!r} is neither euler_rpy nor quat_xyzw")
    if not given.content:
        return Transform.identity(), base
    values = given.content_numbers(6 if form == "euler_rpy" else 7)
    at, turned = values[:3], values[3:]
    if form == "euler_rpy":
        degrees = given.attributes.get("degrees", "false").strip() in ("true", "1")
        return make_pose(at, rpy=np.deg2rad(turned) if degrees else turned), base
    if not 1e-6 < np.abs(turned).max() < 1e6:
        raise given.error("the quaternion is far from unit length; a rotation is a unit quaternion (x, y, z, w)")
    return make_pose(at, rotation=rotation_from_quaternion(turned)), base
