"""Leaves along a direction: F, P°, H°, Ṽ, … with another vector in place of θ̇ or V, and vectors that may be any."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any
from zlib import crc32

from .. import arrays
from ..arrays import Array
from ..errors import SpaceError
from ..properties import cached_property
from . import spaces
from .expression import Expression
from .kinds import own_leaves
from .vectors import VectorLeaves

if TYPE_CHECKING:
    from ..model.model import Model
    from .leaves import Leaves
    from .nodes import Nodes
    from .spaces import Space

_MOST_ALONG = 8  # directions, of leaves with numbers


class DirectedLeaves:
    """The part of :class:`Leaves` that may move by any vector."""

    if TYPE_CHECKING:
        model: Model
        bodies: Space
        joints: Space
        nodes: Nodes | None
        q: Array | None
        v: Array | None
        a: Array | None
        moving: tuple[bool, bool]
        family_key: Any
        direction: Expression | None
        still: Leaves

        own_vector: Any

    @property
    def _all(self) -> Leaves:
        """This, which is a part of Leaves."""
        whole: Any = self
        found: Leaves = whole
        return found

    def along(self, x: Expression) -> Leaves:
        """The same with x in place of θ̇ (a vector of joints) or of V (one of bodies): F, P°, H°, Ṽ, … along x.

        What does not move, such as H and P, is that of these leaves.
        """
        if x.rows not in (self.joints, self.bodies) or x.cols != spaces.NUMBER:
            raise SpaceError(f"operators move along a vector of joints or of bodies; {x} maps {x.cols} to {x.rows}")
        if self.still is not self:
            return self.still.along(x)
        if self.q is None:
            from .leaves import remembered

            return remembered(self._all, ("along", self.family_key, x.key), lambda: self._moving_along(x))
        # Equal keys of the user's own vectors say nothing about their numbers: those are told apart by where they are.
        known: dict[Any, Leaves] = self.__dict__.setdefault("_known_along", {})
        key = (x.key, *(id(leaf.blocks) for leaf in own_leaves(x)))
        found = known.get(key)
        if found is None:
            if len(known) >= _MOST_ALONG:
                known.clear()
            found = known[key] = self._moving_along(x)
        return found

    def _moving_along(self, x: Expression) -> Leaves:
        other = copy.copy(self._all)
        moving = [n for n in other.__dict__ if isinstance(getattr(VectorLeaves, n, None), cached_property)]
        for name in [*moving, *(n for n in ("_rule_instances", "_known_along") if n in other.__dict__)]:
            del other.__dict__[name]
        other.direction, other.still, other.moving = x, self._all, (True, False)
        other.v = other.a = None
        if self.q is not None:
            found = x.apply_columns(arrays.eye(1, like=self.q))
            if x.rows == self.joints:
                other.v = found[..., 0]
            else:
                other.__dict__["_velocities"] = [
                    found[..., 6 * k : 6 * k + 6, :] for k in range(len(self.model.bodies))
                ]
        return other

    @cached_property
    def has_turning_maps(self) -> bool:
        """Whether a joint's map H* changes in its own body, so that H° is not zero; maps of nodes do."""
        kinds = [j.kind for j in self.model.joints]
        return self.nodes is not None or any(x.map_partials(x.neutral()) is not None for x in kinds)

    def any_vector(self, name: str, space: str = "joints") -> Expression:
        """A vector of which nothing is known, by its name: what proofs are about."""
        place = _FIRST_PLACE + crc32(f"{space} {name}".encode())
        found: Expression = self.own_vector(place, getattr(self, space), name)
        return found


_FIRST_PLACE = 11  # behind those of blocks that rules take
