"""Embedded loops whose dependent joints are named: the rates of the other joints as joint space, θ̇ = Xβ.

With X = [−G_dep⁻¹G_ind; I] (math notes on closed chains 1.1) a closed robot is a tree of nodes in minimal coordinates,
and 𝓜 = X*𝓜_tree X, its factors, its inverse and the operators of the algebra are those of that tree: :class:`Followed`
is to loops what :class:`linkwise.dynamics.coupled_links.Lift` is to coupled joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ... import arrays
from ...arrays import Array
from ...errors import NotAdmittedError
from ...model.model import Model
from ...properties import cached_property
from ..articulated import articulated
from ..coupled_links import Coordinates, gathered_by, nodes_of
from ..linearized.second_derivatives import along_motion, directional
from ..links import Links, evaluate
from ..tangent import configuration_rate
from .embedding import Local, local
from .locality import Group, independent_entries


@dataclass(frozen=True, eq=False)
class Followed(Coordinates):
    """X of loops at a configuration; all their groups name the joints that follow."""

    model: Model
    found: list[Local]

    @property
    def groups(self) -> list[Group]:
        return [x.group for x in self.found]

    @cached_property
    def entries(self) -> list[int]:
        """The entries of v that are β."""
        return independent_entries(self.model, self.groups)

    @property
    def nv(self) -> int:
        return len(self.entries)

    @cached_property
    def _places(self) -> dict[int, int]:
        return {entry: i for i, entry in enumerate(self.entries)}

    @cached_property
    def rows(self) -> dict[int, list[Array]]:
        """X of every member (..., r of its joint, r), by the first body of its group."""
        out = {}
        for each in self.found:
            basis = each.basis()[0]
            out[each.group.members[0]] = [basis[..., where, :] for where in each.places]
        return out

    def expand(self, x: Array) -> list[Array]:
        out: list[Any] = [None] * len(self.model.bodies)
        for g in self.groups:
            own = x[..., [self._places[i] for i in free_columns(g)], :]
            for k, basis in zip(g.members, self.rows[g.members[0]]):
                out[k] = basis @ own
        for k in self._single:
            out[k] = x[..., [self._places[i] for i in self._entries(k)], :]
        return out

    def contract(self, blocks: Sequence[Array]) -> list[Array]:
        rows: list[Any] = [None] * self.nv
        for k in self._single:
            for i, entry in enumerate(self._entries(k)):
                rows[self._places[entry]] = blocks[k][..., i : i + 1, :]
        for g in self.groups:
            own = arrays.total(x.mT @ blocks[k] for k, x in zip(g.members, self.rows[g.members[0]]))
            for i, entry in enumerate(free_columns(g)):
                rows[self._places[entry]] = own[..., i : i + 1, :]
        return rows

    def drift(self, beta: list[Array], other: list[Array] | None = None) -> list[Any]:
        if other is not None:
            raise NotAdmittedError("of embedded loops Ẋ is known along their own motion alone")
        out: list[Any] = [0] * len(beta)
        for each in self.found:
            x_dot = each.basis(each.drift(beta))[1]
            for k, where in zip(each.group.members, each.places):
                out[k] = x_dot[..., where, :]
        return out

    def bends(self, q: Array, beta: list[Array], beta_dot: list[Array] | None) -> dict[int, Bends]:
        """How X changes with the configuration, by the first body of each group, at rates β and β̇ of all joints."""
        return {x.group.members[0]: _bends(self.model, q, x, beta, beta_dot) for x in self.found}

    def gathered(self, links: Links) -> Links:
        members, columns = loop_nodes(self.model, self.groups)
        return gathered_by(links, members, columns, [self.rows.get(held[0]) for held in members])

    @cached_property
    def _single(self) -> list[int]:
        """The bodies that are on no loop."""
        held = {k for g in self.groups for k in g.members}
        return [k for k in range(len(self.model.bodies)) if k not in held]

    def _entries(self, k: int) -> range:
        return range(*self.model.v_slices[k].indices(self.model.nv))


# --- how X changes -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Bends:
    """Derivatives of X (..., n, r) of one group along its own motions X e_i, exact."""

    slopes: list[Array]  # ∂X/∂q_i
    by_time: Array  # dX/dt
    by_place: Array  # ∂(Xβ)/∂q
    second: Array | None  # ∂(Xβ̇ + ẋ)/∂q

    def stiffness(self, loads: Array) -> Array:
        """∂X*/∂q τ, (..., r, r), of joint forces τ (..., n, 1)."""
        return arrays.concatenate([x.mT @ loads for x in self.slopes], axis=-1)


def _bends(model: Model, q: Array, here: Local, beta: list[Array], beta_dot: list[Array] | None) -> Bends:
    group = here.group
    X = here.basis()[0]
    own = [x[..., group.independent, :] for x in (here.own(beta), *(() if beta_dot is None else (here.own(beta_dot),)))]

    def basis_at(at: Array) -> Array:
        return local(model, evaluate(model, at), group).basis()[0]

    def accelerations_at(at: Array) -> Array:
        there = local(model, evaluate(model, at), group)
        rates: list[Any] = [None] * len(model.bodies)
        basis = there.basis()[0]
        for k, where in zip(group.members, there.places):
            rates[k] = basis[..., where, :] @ own[0]
        moved: Array = basis @ own[1] + there.basis(there.drift(rates))[1]
        return moved

    slopes, second = [], []
    for i in range(len(group.independent)):
        along = [configuration_rate(model, q, _scattered(model, group, X[..., i]))]
        slopes.append(directional(lambda at: [basis_at(at)], [q], along)[0])
        if beta_dot is not None:
            second.append(directional(lambda at: [accelerations_at(at)], [q], along)[0])
    return Bends(
        slopes,
        arrays.total(x * own[0][..., i : i + 1, :] for i, x in enumerate(slopes)),
        arrays.concatenate([x @ own[0] for x in slopes], axis=-1),
        arrays.concatenate(second, axis=-1) if second else None,
    )


def _scattered(model: Model, group: Group, x: Array) -> Array:
    """Rates (..., nv) of all joints, those of the group x (..., n), the others at rest."""
    still = 0.0 * x[..., :1]
    place = {entry: i for i, entry in enumerate(group.columns)}
    parts = [x[..., place[e] : place[e] + 1] if e in place else still for e in range(model.nv)]
    return arrays.concatenate(parts, axis=-1)


def free_columns(group: Group) -> list[int]:
    """The entries of v of the joints of a group that no other follows."""
    return [group.columns[c] for c in group.independent]


def loop_nodes(
    model: Model, groups: Sequence[Group]
) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
    """The bodies of every node that these loops make, and which of the independent rates are its own."""
    members = nodes_of(len(model.bodies), [g.members for g in groups])
    own = {g.members[0]: free_columns(g) for g in groups}
    places = {entry: i for i, entry in enumerate(independent_entries(model, groups))}
    entries = [own.get(h[0], range(*model.v_slices[h[0]].indices(model.nv))) for h in members]
    return members, tuple(tuple(places[i] for i in where) for where in entries)


def followed_links(model: Model, q: Array, groups: Sequence[Group]) -> Links:
    """The links of all bodies at a configuration, joint space being the rates that loops leave."""
    links = evaluate(model, q)
    return replace(links, lift=Followed(model, [local(model, links, g) for g in groups]))


def basis(model: Model, q: Array, groups: Sequence[Group]) -> Array:
    """X, (..., nv, r): the rates of all joints of the closed robot are X β."""
    links = followed_links(model, q, groups)
    return links.stack(links.split_rows(arrays.eye(links.nv, like=q)), links.nv)


def inertia_rates(model: Model, q: Array, links: Links, beta: list[Array], groups: Sequence[Group]) -> Array:
    """P°(k), (..., bodies, 6, 6), in the axes of each body, of the nodes that loops make, at rates β of all joints."""

    def inertias(at: Array) -> Array:
        nodes = followed_links(model, at, groups).nodes
        assert nodes.gathering is not None
        return arrays.stack(nodes.gathering.members_of(articulated(nodes).P), axis=-3)

    return along_motion(model, inertias, q, links.stack(beta, 1)[..., 0])
