"""The kinds of leaf. With E(k) the map across the edge from body k to its parent p:

block diagonal   y(k) = X(k) x(k)                       H, M, P, D, G, τ, τ̄, R, Υ, …
shift            y(p) = Σ_k E(k) x(k)                   E_φ, E_ψ, K, S
propagation      y(k) = x(k) + Σ_j E(j) y(j)            φ = (I − E_φ)⁻¹, ψ = (I − E_ψ)⁻¹
pick             y(body of t) = Σ_t φ(body, t) x(t)     B
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import arrays
from ..properties import cached_property
from ..sweeps import Tree
from . import spaces
from .blocks import act, act_adjoint, plus
from .expression import Blocks, Expression, Product, Sum
from .spaces import Space, Structure

if TYPE_CHECKING:
    from .leaves import Leaves

_SYMMETRIC = {
    "M",
    "P",
    "P_plus",
    "D",
    "D_inverse",
    "R",
    "Upsilon",
    "Upsilon_plus",
    "rotor_inertia",
    "P_ring",
    "Pi_dot",
    "D_ring",
}

# What is along a direction: θ̇, or what stands in its place (:meth:`.leaves.Leaves.along`).
MOVING = {"F", "V_tilde", "M_hat", "Omega_tilde", "Omega_tips", "H_ring", "P_ring", "D_ring", "G_ring", "tau_bar_ring"}
MOVING |= {"E_psi_ring", "D_root_ring", "H_ring_ring"}


class Leaf(Expression):
    """A named operator with blocks computed on demand; ``flipped`` makes it the adjoint."""

    def __init__(
        self, owner: Leaves, name: str, rows: Space, cols: Space, relations: Structure, blocks: Callable[[], list[Any]]
    ) -> None:
        self.owner = owner if name in MOVING else owner.still
        self.name, self.rows, self.cols, self.relations = name, rows, cols, relations
        self._blocks = blocks
        self.flipped = False
        self.token: Any = None  # sets apart leaves of one name, such as block diagonals of the user's own
        # A block diagonal of the user's own may bear any name, so its name says nothing.
        self.symmetric = name in _SYMMETRIC and not isinstance(self, (UserBlockDiagonal, UserColumn, UserMatrix))
        self.inverse_of: Expression | None = None  # the expression whose inverse this leaf holds
        self.driver: Any = None  # (kind, X) of a block diagonal that a recursion driven by X gives

    @cached_property
    def blocks(self) -> list[Any]:
        return self._blocks()

    @property
    def tree(self) -> Tree:
        return self.owner.tree

    @property
    def T(self) -> Leaf:
        if self.symmetric:
            return self
        out = self.copy()
        out.__dict__.pop("key", None)
        out.flipped = not self.flipped
        out.rows, out.cols = self.cols, self.rows
        out.relations = spaces.adjoint(self.relations)
        return out

    def copy(self) -> Leaf:
        out: Leaf = object.__new__(type(self))  # (copy.copy would go by the pickle)
        out.__dict__.update(self.__dict__)
        return out

    @property
    def inside(self) -> list[Expression]:
        """The expressions that the leaf is made of."""
        owner = self.owner
        found = [owner.direction, self.inverse_of, None if self.driver is None else self.driver[1]]
        found += [] if owner.is_default else [owner.M, owner.joint_noise]
        return [x for x in found if x is not None]

    def _key(self) -> Any:
        return (self.owner.leaf_key(self.name), self.token, self.flipped)

    def upright(self) -> Leaf:
        """The leaf itself, where this is its adjoint."""
        return self.T if self.flipped else self


class BlockDiagonal(Leaf):
    """y(k) = X(k) x(k)."""

    def forward(self, x: Blocks) -> Blocks:
        apply = act_adjoint if self.flipped else act
        return [apply(X, y) for X, y in zip(self.blocks, x)]


class Shift(Leaf):
    """y(p) = Σ_k E(k) x(k); its adjoint y(k) = E*(k) x(p)."""

    def forward(self, x: Blocks) -> Blocks:
        if self.flipped:
            return _spread(self.tree, self.blocks, x)
        return _shifted(self.tree, self.blocks, x, len(self.rows.sizes))


def _shifted(tree: Tree, edges: list[Any], x: Blocks, size: int) -> Blocks:
    """y(p) = Σ_k E(k) x(k)."""
    out: Blocks = [None] * size
    for k, (E, p) in enumerate(zip(edges, tree.parents)):
        if p >= 0:
            out[p] = plus(out[p], act(E, x[k]))
    return out


def _spread(tree: Tree, edges: list[Any], x: Blocks) -> Blocks:
    """y(k) = E*(k) x(p)."""
    return [None if p < 0 else act_adjoint(E, x[p]) for E, p in zip(edges, tree.parents)]


class Propagation(Leaf):
    """y = (I − E)⁻¹ x: inward y(k) = x(k) + Σ_j E(j) y(j); its adjoint outward y(k) = x(k) + E*(k) y(p)."""

    def forward(self, x: Blocks) -> Blocks:
        if self.flipped:
            return self.tree.outward(lambda y, E, x: plus(x, act_adjoint(E, y)), None, self.blocks, x)
        return _gather(self.tree, self.blocks, x)


class StrictPropagation(Leaf):
    """(I − E)⁻¹ − I = E (I − E)⁻¹."""

    def forward(self, x: Blocks) -> Blocks:
        if self.flipped:
            full = self.tree.outward(lambda y, E, x: plus(x, act_adjoint(E, y)), None, self.blocks, x)
            return _spread(self.tree, self.blocks, full)
        return _shifted(self.tree, self.blocks, _gather(self.tree, self.blocks, x), len(x))


class Pick(Leaf):
    """B: forces at the tips, moved to their bodies; its adjoint reads tip velocities off the bodies."""

    def forward(self, x: Blocks) -> Blocks:
        bodies = self.owner.tip_nodes
        if self.flipped:
            return [None if b < 0 else act_adjoint(E, x[b]) for E, b in zip(self.blocks, bodies)]
        out: Blocks = [None] * len(self.rows.sizes)
        for E, b, y in zip(self.blocks, bodies, x):
            if b >= 0:
                out[b] = plus(out[b], act(E, y))
        return out


class Entry(Leaf):
    """y(k) = X(k) x: what one block gives to many; its adjoint gathers."""

    def forward(self, x: Blocks) -> Blocks:
        if self.flipped:
            parts = [X.mT @ y for X, y in zip(self.blocks, x) if y is not None and X is not None]
            return [arrays.total(parts)] if parts else [None]
        return [act(X, x[0]) for X in self.blocks]


class Column(Entry):
    """A vector, as an operator from the numbers to its space."""


class UserColumn(Column):
    """A vector that the user gave; equal only to itself and its copies."""

    place: int  # where its numbers stand in the binding


class SmallMatrix(Leaf):
    """A full matrix between small spaces (the tips'), kept as it is."""

    def forward(self, x: Blocks) -> Blocks:
        matrix = self.blocks[0]
        matrix = matrix.mT if self.flipped else matrix
        width = next((y.shape[-1] for y in x if y is not None), None)
        if width is None:
            return [None] * len(self.rows.sizes)
        filled = [arrays.zeros((r, width), like=matrix) if y is None else y for y, r in zip(x, self.cols.sizes)]
        return self.rows.split(matrix @ self.cols.ordered(arrays.concatenate(filled, axis=-2)))


class UserMatrix(SmallMatrix):
    """A matrix between any two spaces that the user made; equal only to itself and its copies."""

    place: int  # where its numbers stand in the binding


def _gather(tree: Tree, edges: list[Any], x: Blocks) -> Blocks:
    def step(gathered: Any, E: Any, x: Any) -> Any:
        y = x if isinstance(gathered, int) else plus(x, gathered)
        return _zero_if_none(act(E, y)), y

    return tree.inward(step, 0, edges, x)


def _zero_if_none(x: Any) -> Any:
    return 0 if x is None else x


class UserBlockDiagonal(BlockDiagonal):
    """A block diagonal that the user made; equal only to itself and its copies."""

    place: int  # where its blocks stand in the binding
    space: str  # "bodies", "joints", "tips" or "edges"


def leaves_of(op: Expression) -> list[Leaf]:
    """Every leaf of an expression, in order."""
    if isinstance(op, Leaf):
        return [op]
    parts = op.factors if isinstance(op, Product) else [t for _, t in op.terms] if isinstance(op, Sum) else []
    return [leaf for part in parts for leaf in leaves_of(part)]


def families_of(op: Expression) -> list[Leaves]:
    """The families whose leaves appear in an expression."""
    found: dict[Any, Leaves] = {}
    for leaf in leaves_of(op):
        found.setdefault(leaf.owner.identity, leaf.owner)
    return list(found.values())


def all_leaves(op: Expression) -> list[Leaf]:
    """Every leaf of an expression, and those that its leaves are made of: directions, drivers, inertias."""
    out = leaves_of(op)
    return out + [x for leaf in out for inner in leaf.inside for x in all_leaves(inner)]


def own_leaves(op: Expression) -> list[Any]:
    """The block diagonals, vectors and matrices of the user's own that an expression rests on."""
    return [x for x in all_leaves(op) if isinstance(x, (UserBlockDiagonal, UserColumn, UserMatrix))]
