"""Bodies that move as one node of the tree, in the algebra: coupled joints, embedded loops.

With nodes in place of bodies every operator is what it was, in independent coordinates (math notes on closed chains 0,
1.1). A node of m bodies has 6m rows of the body space and six numbers at its edge: φ(p, 𝒢) is its row of transforms,
H = X*H𝔸 the map of its members' joints, M and P diag over the members. Inside a node φ is the identity: what members
pass on to each other is in H and in φ(p, 𝒢).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .. import arrays
from ..aggregates import Full, Members, Port, stacked
from ..arrays import Array
from ..dynamics.closed.independent import Followed, loop_nodes
from ..dynamics.closed.locality import Group
from ..dynamics.coupled_links import Gathering, Lift, Slopes, coupled_nodes
from ..dynamics.links import Links
from ..model.model import Model
from ..properties import cached_property
from ..sweeps import BodyTree
from .blocks import AtNode, Unit, dense_block


@dataclass(frozen=True)
class Nodes:
    """Which bodies each node holds, and which entries of joint space are its rates."""

    members: tuple[tuple[int, ...], ...]
    columns: tuple[tuple[int, ...], ...]
    parents: tuple[int, ...]  # of the bodies

    @cached_property
    def node_of(self) -> dict[int, tuple[int, int]]:
        """(node, place among its members) of every body."""
        return {k: (i, place) for i, held in enumerate(self.members) for place, k in enumerate(held)}

    @cached_property
    def tree(self) -> BodyTree:
        outer = [self.parents[held[0]] for held in self.members]
        return BodyTree(tuple(-1 if p < 0 else self.node_of[p][0] for p in outer))

    @property
    def heights(self) -> tuple[int, ...]:
        """How many rows of the body space each node has."""
        return tuple(6 * len(held) for held in self.members)

    @property
    def rows(self) -> tuple[int, ...]:
        """The entries of the body space, node by node."""
        return tuple(6 * k + i for held in self.members for k in held for i in range(6))

    @property
    def rates(self) -> tuple[int, ...]:
        """The entries of joint space, node by node."""
        return tuple(c for where in self.columns for c in where)

    def node(self, body: int) -> int:
        """The node of a body; −1 is the world."""
        return -1 if body < 0 else self.node_of[body][0]

    def at_body(self, body: int, phi: Any) -> Any:
        """A map into the six rows of a body as one into the rows of its node."""
        if body < 0:
            return phi
        node, place = self.node_of[body]
        count = len(self.members[node])
        return phi if count == 1 else AtNode(Port(place, count, phi))


def nodes_of(model: Model, groups: Sequence[Group]) -> Nodes | None:
    """The nodes that coupled joints make, or these groups of loops; None where each body is one."""
    if groups:
        return Nodes(*loop_nodes(model, groups), model.parents)
    return Nodes(*coupled_nodes(model), model.parents) if model.couplings else None


# --- blocks ------------------------------------------------------------------------------------------


def edge_maps(links: Links) -> list[Any]:
    """φ(p, k) of every node, into all rows of its parent."""
    return [AtNode(phi) if isinstance(phi, Port) else phi for phi in links.phi]


def interface_maps(links: Links) -> list[Any]:
    """φ(p, k) of every node, (6, ·): as far as the body that it hangs on."""
    return [phi.phi if isinstance(phi, Port) else phi for phi in links.phi]


def interfaces(links: Links, like: Array) -> list[Any]:
    """The identity from every node's edge to the rows of the body that it hangs on."""
    unit = Unit(like)
    return [AtNode(Port(phi.member, phi.count, unit)) if isinstance(phi, Port) else unit for phi in links.phi]


def inertia(block: Any) -> Any:
    """A block of an inertia in the form that recursions add up: members', or (..., 6m, 6m), or (..., 6, 6)."""
    if isinstance(block, Members):
        return block.matrices
    matrix = dense_block(block)
    return matrix if matrix.shape[-1] == 6 else Full(matrix)


# --- maps from joints --------------------------------------------------------------------------------

Rows = list[Any]  # of every body, the rows (..., r of its joint, r of its node); a Unit is I, None is zero


@dataclass(frozen=True, eq=False)
class SlopeRows:
    """The rows of X and of its derivatives, of every body's joint over the rates of its node."""

    X: Rows
    by_time: Rows  # dX/dt
    by_place: Rows  # ∂(Xβ)/∂q; the same where β are rates of coordinates
    second: Rows  # ∂(Xβ̇ + ẋ)/∂q, where accelerations are given
    stiffness: Callable[[Sequence[Array]], list[Any]]  # of every node ∂X*/∂q τ of joint forces τ(k), or None


def slope_rows(bodies: Links, nodes: Links, beta: list[Array], a: Array | None) -> SlopeRows:
    """X and its derivatives at rates β of every joint, and at accelerations a of joint space where given."""
    gathering = nodes.gathering
    assert gathering is not None
    X: Rows = [Unit(bodies.q)] * len(bodies.sizes)
    for held, own in zip(gathering.members, gathering.X):
        for k, x in zip(held, own or ()):
            X[k] = x
    beta_dot = None if a is None else bodies.split(a)
    if isinstance(bodies.lift, Lift):
        return _of_couplings(bodies.lift, gathering, X, beta, beta_dot)
    return _of_loops(bodies, gathering, X, beta, beta_dot)


def _of_couplings(
    lift: Lift, gathering: Gathering, X: Rows, beta: list[Array], beta_dot: list[Array] | None
) -> SlopeRows:
    first = _rows(lift.slope_rates(beta), gathering, lift)
    second = {} if beta_dot is None else lift.slope_accelerations(beta, beta_dot)

    def stiffness(loads: Sequence[Array]) -> list[Any]:
        out: list[Any] = []
        for held, where in zip(gathering.members, gathering.columns):
            none = arrays.zeros((1, len(where)), like=lift.theta[held[0]])
            bent = lift.stiffness_times(loads, [X[k] if k in held else none for k in range(len(X))])
            free = [bent[k] + 0.0 * X[k] for k in held if k not in lift.slopes and not isinstance(X[k], Unit)]
            out.append(arrays.concatenate(free, axis=-2) if free else None)
        return out

    return SlopeRows(X, first, first, _rows(second, gathering, lift), stiffness)


def _rows(slopes: Slopes, gathering: Gathering, lift: Lift) -> Rows:
    out: Rows = [None] * len(gathering.node_of)
    for k, row in slopes.items():
        columns = gathering.columns[gathering.node_of[k][0]]
        unit = arrays.eye(len(columns), like=lift.theta[k])
        places = {j: columns.index(lift.model.v_slices[j].start) for j in row}
        out[k] = arrays.total(x * unit[places[j] : places[j] + 1, :] for j, x in row.items()) if row else None
    return out


def _of_loops(
    bodies: Links, gathering: Gathering, X: Rows, beta: list[Array], beta_dot: list[Array] | None
) -> SlopeRows:
    lift = bodies.lift
    assert isinstance(lift, Followed)
    found = lift.bends(bodies.q, beta, beta_dot)
    places = {x.group.members[0]: x.places for x in lift.found}

    def rows_of(name: str) -> Rows:
        out: Rows = [None] * len(X)
        for first, bends in found.items():
            whole = getattr(bends, name)
            for k, where in zip(gathering.members[gathering.node_of[first][0]], places[first]):
                out[k] = None if whole is None else whole[..., where, :]
        return out

    def stiffness(loads: Sequence[Array]) -> list[Any]:
        carried = [arrays.concatenate([loads[k] for k in held], axis=-2) for held in gathering.members]
        pairs = zip(gathering.members, carried)
        return [found[held[0]].stiffness(x) if held[0] in found else None for held, x in pairs]

    return SlopeRows(X, rows_of("by_time"), rows_of("by_place"), rows_of("second"), stiffness)


def spread(gathering: Gathering, links: Links, terms: Sequence[tuple[Sequence[Array], Rows]]) -> list[Array]:
    """𝔸* Σ B(k) X(k) of every node, (..., 6m, r), from maps B(k) (..., 6, r of joint k) and rows X(k)."""
    out = []
    for held, inside, where in zip(gathering.members, gathering.inside, gathering.columns):
        zero = arrays.zeros((6, len(where)), like=links.q)
        own = [arrays.total([zero, *(_times(B[k], X[k]) for B, X in terms if X[k] is not None)]) for k in held]
        out.append(own[0] if inside is None else stacked(inside.spread(zero, own)))
    return out


def stacked_maps(gathering: Gathering, own: Sequence[Array], X: Rows) -> list[Array]:
    """B(k) X(k) of the members of every node, one below the other, (..., 6m, r)."""
    return gathering.stacked([_times(B, x) for B, x in zip(own, X)])


def node_stiffness(
    gathering: Gathering, own: Sequence[Array], loads: Sequence[Array], slopes: SlopeRows
) -> list[Array]:
    """∂X*/∂q τ + Σ X*(k) own(k) X(k) of every node, (..., r, r), where joints carry the ``loads`` τ(k)."""
    out = []
    for held, basis, bent in zip(gathering.members, gathering.X, slopes.stiffness(loads)):
        terms = [own[held[0]]] if basis is None else [x.mT @ (own[k] @ x) for k, x in zip(held, basis)]
        out.append(arrays.total(terms if bent is None else [*terms, bent]))
    return out


def _times(B: Array, X: Any) -> Array:
    return B if isinstance(X, Unit) else B @ X
