"""Expressions as plain data, and back: to bind them, to move them, to store them, to name their code.

A recipe is nested tuples of names and numbers. A leaf says at which *place* of the binding its state stands, so that
a formula may be built again from other leaves: those of another configuration, of another robot, of symbols.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pickle import PicklingError
from typing import Any

from ..arrays import Array
from .derivative import Direction
from .expression import Expression, Identity, Inclusion, Product, Sum, Zero, product, total
from .kinds import Leaf, UserBlockDiagonal, UserColumn, UserMatrix, all_leaves, own_leaves
from .leaves import Leaves
from .rate import Rate
from .spaces import NUMBER, Space, own_space, stacked

Recipe = tuple[Any, ...]

SPACES = {"body": "bodies", "joint": "joints", "tip": "tips", "edge": "edges", "base": "base", "inertial": "inertial"}


@dataclass(frozen=True)
class OwnBlocks:
    """Blocks of the user's own at a place of a binding, with their numbers where they have any."""

    place: int
    blocks: list[Array] | None = None


Things = Mapping[int, Leaves | OwnBlocks]


# --- an expression as data -----------------------------------------------------------------------------


def recipe_of(op: Expression) -> Recipe:
    """The recipe of an expression of unbound leaves."""
    if isinstance(op, Product):
        return ("product", *map(recipe_of, op.factors))
    if isinstance(op, Sum):
        return ("sum", *((c, recipe_of(t)) for c, t in op.terms))
    if isinstance(op, Identity):
        return ("I", _name(op.rows))
    if isinstance(op, Zero):
        return ("zero", _name(op.rows), _name(op.cols))
    if isinstance(op, Inclusion):
        return ("part", _name(op.stack), op.index, op.flipped)
    assert isinstance(op, Leaf)
    return _leaf_recipe(op)


def _leaf_recipe(leaf: Leaf) -> Recipe:
    if isinstance(leaf, UserBlockDiagonal):
        return ("own", leaf.owner.place, leaf.place, leaf.space, leaf.name, leaf.flipped)
    if isinstance(leaf, UserColumn):
        return ("vector", leaf.owner.place, leaf.place, _name(leaf.upright().rows), leaf.name, leaf.flipped)
    if isinstance(leaf, UserMatrix):
        upright = leaf.upright()
        spaces = (_name(upright.rows), _name(upright.cols))
        return ("matrix", leaf.owner.place, leaf.place, spaces, leaf.name, leaf.flipped)
    if isinstance(leaf, Rate):
        parts = [None if x is None else recipe_of(x) for x in (leaf.along.q, leaf.along.v, leaf.along.a)]
        return ("rate", recipe_of(leaf.inner), leaf.along.time, *parts)
    if leaf.inverse_of is not None:
        return ("inverse", recipe_of(leaf.inverse_of), leaf.flipped)
    home = (leaf.owner.place, _family_recipe(leaf.owner))
    if leaf.driver is not None:
        kind, X = leaf.driver
        return ("driven", *home, leaf.name, leaf.flipped, kind, recipe_of(X))
    return ("leaf", *home, leaf.name, leaf.flipped)


def _family_recipe(owner: Leaves) -> Recipe | None:
    """The inertia X, the Γ and whether rotors couple, of a family that is not the robot's own; what it moves along."""
    if owner.direction is not None:
        return ("along", recipe_of(owner.direction), _family_recipe(owner.still))
    if owner.is_default:
        return None
    Gamma, coupling = owner._measurement
    return (recipe_of(owner.M), None if Gamma is None else recipe_of(Gamma), coupling is not None)


def _name(space: Space) -> tuple[Any, ...]:
    """What tells a space: of a robot, by the place of its state."""
    if space.kind == "stack":
        return ("stack", *map(_name, space.parts))
    if space.kind == "own":
        return ("free", *space.key[3:])
    return ("number",) if space.kind == "number" else ("at", SPACES[space.kind], space.place)


_OWN = ("own", "vector", "matrix")


def places_of(recipe: Any) -> Iterator[int]:
    """The places of a binding whose numbers a recipe takes."""
    if not isinstance(recipe, tuple) or not recipe or recipe[0] in ("I", "zero", "part"):
        return
    if recipe[0] in ("leaf", "driven"):
        yield recipe[1]
    elif recipe[0] in _OWN:
        yield from recipe[1:3]
        return
    for part in recipe:
        yield from places_of(part)


def homes_of(recipe: Any) -> Iterator[int]:
    """The places of the robots whose spaces a recipe names."""
    if isinstance(recipe, tuple) and recipe:
        if recipe[0] == "at":
            yield recipe[2]
        elif recipe[0] != "free":
            for part in recipe:
                yield from homes_of(part)


# --- and back ------------------------------------------------------------------------------------------


def build(recipe: Recipe, things: Things) -> Expression:
    """The expression of a recipe, from the leaves at each place."""
    kind = recipe[0]
    if kind == "product":
        return product([build(r, things) for r in recipe[1:]])
    if kind == "sum":
        return total([(c, build(r, things)) for c, r in recipe[1:]])
    if kind == "I":
        return Identity(_space(recipe[1], things))
    if kind == "zero":
        return Zero(_space(recipe[1], things), _space(recipe[2], things))
    if kind == "part":
        return Inclusion(_space(recipe[1], things), recipe[2], recipe[3])
    if kind == "rate":
        q, v, a = (None if x is None else build(x, things) for x in recipe[3:])
        return Rate.of(build(recipe[1], things), Direction(q, v, a, time=recipe[2]))
    out = _built_leaf(recipe, things)
    return out.T if _is_flipped(recipe) else out


def _is_flipped(recipe: Recipe) -> bool:
    flipped: bool = recipe[{"own": 5, "vector": 5, "matrix": 5, "inverse": 2}.get(recipe[0], 4)]
    return flipped


def _built_leaf(recipe: Recipe, things: Things) -> Expression:
    from .inverse import inverse

    if recipe[0] == "inverse":
        return inverse(build(recipe[1], things))
    home = things[recipe[1]]
    assert isinstance(home, Leaves)
    if recipe[0] in _OWN:
        return _built_own(recipe, home, things)
    home = _family(recipe[2], home, things)
    if recipe[0] == "driven":
        _, _, _, name, _, kind, X = recipe
        return home.recursion(build(X, things), kind, name)
    return home.leaf(recipe[3])


def _family(recipe: Any, home: Leaves, things: Things) -> Leaves:
    if recipe is None:
        return home
    if recipe[0] == "along":
        return _family(recipe[2], home, things).along(build(recipe[1], things))
    X, Gamma, coupled = recipe
    noise = None if Gamma is None else build(Gamma, things)
    return home.with_inertia(build(X, things), noise, home.rotor_coupling if coupled else None)


def _built_own(recipe: Recipe, home: Leaves, things: Things) -> Expression:
    kind, _, place, space, name, _ = recipe
    own = things[place]
    assert isinstance(own, OwnBlocks)
    if kind == "own":
        return home.own_blocks(own.place, space, name, own.blocks)
    if kind == "vector":
        return home.own_vector(own.place, _space(space, things), name, own.blocks)
    rows, cols = (_space(x, things) for x in space)
    return home.own_matrix(own.place, rows, cols, name, own.blocks)


def _space(name: tuple[Any, ...], things: Things) -> Space:
    """The space of that name."""
    if name[0] == "stack":
        return stacked(tuple(_space(part, things) for part in name[1:]))
    if name[0] == "free":
        return own_space(*name[1:])
    if name[0] == "number":
        return NUMBER
    found: Space = getattr(things[name[2]], name[1])
    return found


# --- pickles -------------------------------------------------------------------------------------------


def pickled(op: Expression) -> Any:
    """An expression of unbound leaves as its recipe, with the robots at its places."""
    from .rules import is_known

    homes = {leaf.owner.place: leaf.owner.root for leaf in all_leaves(op)}
    if any(x.q is not None for x in homes.values()):
        raise PicklingError(f"{op} is of leaves with numbers; pickle the operator, which has its state")
    kept = {p: (x.model, x.frames, x.moving, x.groups) for p, x in homes.items()}
    spaces = {x.place: x for space in (op.rows, op.cols) for x in space.leaves if x.kind not in ("own", "number")}
    kept |= {p: (x.key[1], (), (True, True), ()) for p, x in spaces.items() if p not in kept}
    own = sorted({leaf.place for leaf in own_leaves(op)})
    return _unpickled, (recipe_of(op), kept, own, tuple(r.name for r in op.used if is_known(r)))


def _unpickled(recipe: Recipe, kept: dict[int, Any], own: list[int], used: tuple[str, ...]) -> Expression:
    from .binding import placed
    from .leaves import unbound
    from .rules import rule

    things: dict[int, Leaves | OwnBlocks] = {p: placed(unbound(*home), p) for p, home in kept.items()}
    things |= {p: OwnBlocks(p) for p in own}
    return build(recipe, things).with_used([rule(name) for name in used])
