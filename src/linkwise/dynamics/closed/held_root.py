"""A floating robot whose loops hold a body to the world, as a tree that grows from there.

A foot on the ground is a better root than the free joint of the trunk: where it is welded, six rates and six rows are
never posed, and where it is pinned there are three rates left. Joints between the foot and the trunk are crossed the
other way: what is inboard of joint k goes to its frame first, by φ⁻¹, and across it then, with −β̇ and −T in place of β̇
and T. No joint is closed before those inboard of it have had their say, so that straight knees lose no digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from ... import arrays
from ...arrays import Array
from ...model.joints.kinds import Free
from ...model.loops import AT_FRAME_B, TRANSMITTED
from ...model.model import Model
from ...sweeps import BodyTree
from ..links import Links, identity
from .backward import Backward
from .closures import Closure
from .loop_errors import TURNING_MOMENTS


@dataclass(frozen=True, eq=False)
class HeldRoot:
    """The tree that grows from a held body, and where the robot's bodies and joints are in it."""

    links: Links
    root: int  # the body that is held
    base: int  # the one on the free joint, which is no joint here
    place: list[int]  # of every body
    hinge: list[int]  # the node of every joint; −1 for the free one
    backward: frozenset[int]  # the joints that are crossed the other way

    def at_places(self, x: Sequence[Any]) -> list[Any]:
        """What bodies have, by node; None at others."""
        out: list[Any] = [None] * len(self.links.sizes)
        for k, node in enumerate(self.place):
            out[node] = x[k]
        return out

    def at_hinges(self, x: Sequence[Any]) -> list[Any]:
        """What joints have, by node, the other way where they are crossed so; None at others."""
        out: list[Any] = [None] * len(self.links.sizes)
        for k, node in enumerate(self.hinge):
            if node >= 0:
                out[node] = -x[k] if k in self.backward else x[k]
        return out

    def of_joints(self, y: Sequence[Array], base: Array) -> list[Array]:
        """By joint what nodes have of motions; ``base`` is the free joint's."""
        turned = (-y[node] if k in self.backward else y[node] for k, node in enumerate(self.hinge))
        return [base if node < 0 else x for node, x in zip(self.hinge, turned)]

    def closure(self, x: Closure) -> Closure:
        """A loop, by the nodes of its bodies."""
        a, b = (k if k < 0 else self.place[k] for k in x.bodies)
        return replace(x, bodies=(a, b))


def best_to_hold(model: Model, links: Links, loops: Sequence[Closure]) -> int | None:
    """The loop of most rows that holds a robot on a free joint to the world, all fixed on its body, or None."""
    found = [i for i, x in enumerate(loops) if _holds(model, links, x)]
    return min(found, key=lambda i: (-loops[i].loop.size, i)) if found else None


def _holds(model: Model, links: Links, x: Closure) -> bool:
    a, b = x.bodies
    kind = x.loop.kind
    if min(a, b) >= 0 or max(a, b) < 0 or kind not in TRANSMITTED or kind in AT_FRAME_B or kind in TURNING_MOMENTS:
        return False
    if a < 0 and kind != "weld":  # its rows are fixed in the world
        return False
    base, *path = links.tree.path(max(a, b))
    if links.Gamma[base] is not None:  # rotors that turn with the free joint have no place in a tree without it
        return False
    return isinstance(model.joints[base].kind, Free) and all(links.s[k] is None for k in path)


def held_root(links: Links, x: Closure) -> HeldRoot:
    """The tree that grows from the body that a loop holds."""
    body = max(x.bodies)
    reach = x.reach[x.bodies.index(body)]
    path = links.tree.path(body)
    no_rows = links.H[0][..., :0, :]
    hangs_on: list[int] = []
    columns: dict[str, Any] = {name: [] for name in ("names", "phi", "H", "M", "Gamma", "s", "sizes", "loads")}

    def grow(
        parent: int, phi: Any, H: Array, M: Any = 0, Gamma: Any = None, s: Any = None, name: str = "", load: Any = None
    ) -> int:
        hangs_on.append(parent)
        for key, value in zip(columns, (name, phi, H, M, Gamma, s, H.shape[-2], load)):
            columns[key].append(value)
        return len(hangs_on) - 1

    place, hinge = [-1] * len(links.sizes), [-1] * len(links.sizes)
    free = [i for i in range(6) if i not in TRANSMITTED[x.loop.kind]]
    at = -1
    if free:
        at = grow(-1, identity(links.q), arrays.eye(6, like=links.q)[free, :], name=links.names[body])
    place[body] = grow(
        at, Backward(reach) if free else identity(links.q), no_rows, links.M[body], name=links.names[body]
    )
    for p, k in reversed(list(pairwise(path))):
        hinge[k] = grow(place[k], identity(links.q), links.H[k], Gamma=links.Gamma[k], name=links.names[k])
        place[p] = grow(hinge[k], Backward(links.phi[k]), no_rows, links.M[p], name=links.names[p])
    for k, p in enumerate(links.tree.at_parents(range(len(links.sizes)), -1)):
        if place[k] < 0:
            given = (links.phi[k], links.H[k], links.M[k], links.Gamma[k], links.s[k], links.names[k], links.carried[k])
            place[k] = hinge[k] = grow(-1 if p < 0 else place[p], *given)
    tree = BodyTree(tuple(hangs_on))
    grown = replace(links, tree=tree, theta=[], **columns)
    return HeldRoot(grown, body, path[0], place, hinge, frozenset(path[1:]))
