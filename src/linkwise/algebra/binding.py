"""What an operator is bound to: states of a robot, and blocks of the user's own.

An expression names places; a binding puts a state or blocks at each. Expressions of one binding meet as they are;
those of two are moved into the places of both first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from ..arrays import Array, as_numpy
from ..errors import SpaceError
from ..model.model import Model
from ..properties import cached_property
from .expression import Expression
from .leaves import Leaves, remembered
from .recipe import SPACES, OwnBlocks, build, homes_of, places_of, recipe_of
from .spaces import Space, stacked

_serials = count()

Compile = Callable[[Expression, "Binding", str | None], Any]


class State:
    """A robot at a configuration q (..., nq), with velocities v and accelerations a (..., nv) where given.

    ``compile`` makes the code that applies an expression there to arrays; without it sweeps run on the arrays.
    """

    def __init__(
        self, leaves: Leaves, q: Array, v: Array | None = None, a: Array | None = None, compile: Compile | None = None
    ) -> None:
        self.leaves, self.q, self.v, self.a, self.compile = leaves, q, v, a, compile
        self.form: State | None = None  # the same in other frames on the bodies, where expressions may be evaluated
        self.serial = next(_serials)

    @property
    def arrays(self) -> tuple[Array, ...]:
        if self.v is None and self.a is None:
            return (self.q,)
        return tuple(x for x in (self.q, self.v, self.a) if x is not None)

    @cached_property
    def numbers(self) -> Leaves:
        """The leaves at this state."""
        return self.leaves.at(self.leaves.model, self.q, self.v, self.a)

    def __getstate__(self) -> dict[str, Any]:
        model, frames, groups = self.leaves.model, self.leaves.frames, self.leaves.groups
        return {
            "model": model,
            "frames": frames,
            "groups": groups,
            "q": self.q,
            "v": self.v,
            "a": self.a,
            "compile": self.compile,
        }

    def __setstate__(self, kept: dict[str, Any]) -> None:
        from .leaves import unbound

        moving = (kept["v"] is not None, kept["a"] is not None)
        leaves = unbound(kept["model"], kept["frames"], moving, kept["groups"])
        State.__init__(self, leaves, kept["q"], kept["v"], kept["a"], kept["compile"])


class Blocks:
    """The blocks of a block diagonal that the user made."""

    def __init__(self, blocks: list[Array]) -> None:
        self.blocks = blocks
        self.serial = next(_serials)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All entries in one row, (..., Σ rows × columns)."""
        batch = np.broadcast_shapes(*(x.shape[:-2] for x in self.blocks))
        given = map(as_numpy, self.blocks)
        rows = [np.broadcast_to(x, batch + x.shape[-2:]).reshape((*batch, math.prod(x.shape[-2:]))) for x in given]
        return (np.concatenate(rows, axis=-1),)

    def __getstate__(self) -> dict[str, Any]:
        return {"blocks": self.blocks}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        Blocks.__init__(self, kept["blocks"])


class Binding:
    """States and blocks by place, in the order they were made."""

    def __init__(self, things: tuple[State | Blocks, ...]) -> None:
        self.things = things
        first = things[0]
        assert isinstance(first, State)  # blocks are made on a state's leaves
        self.state = first
        self.leaves = first.leaves
        self.compile = first.compile
        # What compiled code takes, in order; None where some of it is no NumPy array of real numbers. (No cached
        # property: its lock would cost more than the whole call.)
        self.arrays = _plain_arrays(things)

    @cached_property
    def numbers(self) -> dict[int, Leaves | OwnBlocks]:
        """What expressions are built from to run as sweeps."""
        return {i: t.numbers if isinstance(t, State) else OwnBlocks(i, t.blocks) for i, t in enumerate(self.things)}

    @property
    def leaves_by_place(self) -> list[Leaves | None]:
        """The leaves of the state at every place; None for blocks."""
        return [t.leaves if isinstance(t, State) else None for t in self.things]

    @cached_property
    def homes(self) -> tuple[Leaves | None, ...]:
        """Whose states stand at the places after the first: what tells formulas with the same names apart."""
        return tuple(t.leaves if isinstance(t, State) else None for t in self.things[1:])

    @property
    def models(self) -> list[Model]:
        """The robots, in the order of their first states."""
        return list(dict.fromkeys(t.leaves.model for t in self.things if isinstance(t, State)))

    @cached_property
    def form(self) -> Binding | None:
        """The same in other frames on the bodies, where every state has them."""
        forms = [t.form if isinstance(t, State) else t for t in self.things]
        found = tuple(t for t in forms if t is not None)
        return Binding(found) if len(found) == len(forms) else None

    @cached_property
    def batches(self) -> set[tuple[int, ...]]:
        """The batch shapes of the states."""
        return {x.shape[:-1] for t in self.things if isinstance(t, State) for x in t.arrays}

    def __reduce__(self) -> Any:
        return (Binding, (self.things,))


def _plain_arrays(things: tuple[State | Blocks, ...]) -> tuple[np.ndarray, ...] | None:
    found: list[Any] = []
    for thing in things:
        for x in thing.arrays if isinstance(thing, State) else thing.blocks:
            if type(x) is not np.ndarray or x.dtype.char not in "df":
                return None
        found += thing.arrays
    return tuple(found)


def merged(bindings: Sequence[Binding]) -> Binding:
    """The places of several bindings in one, in the order their things were made."""
    things = {id(t): t for b in bindings for t in b.things}
    return Binding(tuple(sorted(things.values(), key=lambda t: t.serial)))


def moved(op: Expression, old: Binding, new: Binding) -> Expression:
    """An expression of one binding with the places of another that has all its things."""
    where = {id(t): i for i, t in enumerate(new.things)}
    places = tuple(where[id(t)] for t in old.things)
    if places == tuple(range(len(places))):
        return op
    homes = tuple(t.leaves if isinstance(t, State) else None for t in old.things)

    def make() -> tuple[Expression, Any, Any]:
        things = {i: OwnBlocks(p) if h is None else placed(h, p) for i, (p, h) in enumerate(zip(places, homes))}
        return build(recipe_of(op), things).with_used(op.used), op, homes

    return remembered(new.leaves, ("moved", id(op), places, tuple(map(id, homes))), make)[0]


def placed(leaves: Leaves, place: int) -> Leaves:
    """Unbound leaves whose state stands at another place."""
    if place == leaves.place:
        return leaves
    make = lambda: Leaves(leaves.model, leaves.frames, moving=leaves.moving, place=place, groups=leaves.groups)
    return remembered(leaves, ("placed", place), make)


def trimmed(op: Expression, binding: Binding) -> tuple[Expression, Binding]:
    """An expression with the places that it names alone; a constant keeps the first."""
    if len(binding.things) == 1:
        return op, binding
    recipe = recipe_of(op)
    named = set(places_of(recipe)) or {0}
    stands_in = {p: _stand_in(p, named, binding) for p in homes_of(recipe)}  # identities take any state of their robot
    named |= set(stands_in.values())
    if len(named) == len(binding.things):
        return op, binding
    fewer = Binding(tuple(t for i, t in enumerate(binding.things) if i in named))
    where = {p: i for i, p in enumerate(sorted(named))}
    things: dict[int, Leaves | OwnBlocks] = {}
    for p, kept in ({p: p for p in named} | stands_in).items():
        thing, i = binding.things[kept], where[kept]
        things[p] = placed(thing.leaves, i) if isinstance(thing, State) else OwnBlocks(i)
    return build(recipe, things).with_used(op.used), fewer


def _stand_in(place: int, named: set[int], binding: Binding) -> int:
    """A place among those named whose state is of the same robot and frames, or the place itself."""
    home = _home(binding, place)
    if place in named:
        return place
    return next((p for p in sorted(named) if _home(binding, p) is home), place)


def _home(binding: Binding, place: int) -> Leaves | None:
    thing = binding.things[place]
    return thing.leaves if isinstance(thing, State) else None


def rooted(space: Space, binding: Binding) -> Space:
    """A space of an expression, with the state that its robot stands in there."""
    if space.parts:
        return stacked(tuple(rooted(part, binding) for part in space.parts))
    return space if space.kind in ("own", "number") else replace(space, state=binding.things[space.place])


def settled(space: Space, binding: Binding, otherwise: State) -> Space:
    """A space the user gave, as the expressions of a binding have it; of no state, where it is one of ``otherwise``."""
    if space.parts:
        return stacked(tuple(settled(part, binding, otherwise) for part in space.parts))
    if space.kind in ("own", "number"):
        return space
    state = otherwise if space.state is None else space.state
    found: Space = getattr(placed(state.leaves, binding.things.index(state)), SPACES[space.kind])
    if found != space:
        raise SpaceError(f"take {space} from operators of its robot, robot.operators(q), so that its state is known")
    return found


def unbound_things(binding: Binding) -> dict[int, Leaves | OwnBlocks]:
    """What expressions of a binding are made of."""
    return {i: placed(t.leaves, i) if isinstance(t, State) else OwnBlocks(i) for i, t in enumerate(binding.things)}
