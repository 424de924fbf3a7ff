"""Local loops embedded: the bodies of a loop as one node of the tree, in rates β that the loop leaves free.

Of the joints of a group (:mod:`.locality`), the rows G of its loops that count, and γ = Ġθ̇ (math notes on closed chains
1.1, 1.2; everything is worked out from the body that the group hangs on, as if that were at rest):

    θ̇ = Xβ,   θ̈ = Xβ̇ + ẋ,   GX = 0,   Gẋ = −γ

    X orthonormal, ẋ = −G⁺γ                        by reflections: no joint is chosen, so that no choice can fail
    X = [−G_dep⁻¹G_ind; I], ẋ_dep = −G_dep⁻¹γ      where the user says which joints follow

With these the closed robot is a tree of nodes, and its forward dynamics the articulated-body algorithm over them. All
joints stay in the state. Whether loops are closed does not matter: cut or embedded, 𝓜β̇ + 𝓒 = T + G*λ and Gβ̇ = −γ are
the same equations wherever the rows that count have full rank, and where they have not, an error names the loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import arrays
from ...arrays import Array
from ...errors import ClosureError
from ...model.model import Model
from ...properties import cached_property
from ...spatial import Transform
from ...tolerances import FOLLOWED
from ..coupled_links import gathered_by, nodes_of
from ..forward.articulated_body import State, articulated_body_of, over_nodes, prepare, rotor_forces
from ..links import Links, at_rest, coriolis_acceleration, evaluate, identity
from .closures import Closure, closures
from .constraints import adjoint_blocks
from .locality import Group
from .reflections import Reflected, reflected

_SINGULAR = (
    "its rows depend on each other here, or on those of loops it shares bodies with, so that it cannot be embedded at"
    ' this configuration; use method="cut", or say which joints follow the others, lw.Loop(…, dependent=[…])'
)
_WRONG_JOINTS = (
    "the joints that dependent= names do not follow the others at this configuration (G_dep is singular); name others,"
    " or none: then no joints are chosen"
)


@dataclass(frozen=True, eq=False)
class Local:
    """A group at a configuration."""

    model: Model
    links: Links
    group: Group
    closed: list[Closure]

    @cached_property
    def places(self) -> list[slice]:
        """Where the columns of every member are."""
        ends = np.cumsum([self.links.sizes[k] for k in self.group.members])
        return [slice(int(e) - self.links.sizes[k], int(e)) for e, k in zip(ends, self.group.members)]

    @cached_property
    def G(self) -> Array:
        """The rows that count over the joints of the group, (..., m, n)."""
        place = {k: i for i, k in enumerate(self.group.members)}
        blocks = {(place[k], i): x for (k, i), x in adjoint_blocks(self.links, self.closed).items()}
        heights = [self.links.sizes[k] for k in self.group.members]
        widths = [x.loop.size for x in self.closed]
        whole = arrays.transpose(arrays.from_blocks(blocks, heights, widths, like=self.links.q))
        return self.counted(whole)

    def counted(self, x: Array) -> Array:
        """The rows that count of all rows (..., ·, c) of the group's loops."""
        starts = np.cumsum([0, *(y.loop.size for y in self.closed)])
        kept = [int(s) + i for s, rows in zip(starts, self.group.rows) for i in rows]
        return x if len(kept) == x.shape[-2] else x[..., kept, :]

    @property
    def error(self) -> Array:
        """How far the loops are from closing, by the rows that count, (..., m, 1)."""
        return self.counted(arrays.concatenate([x.error[..., :, None] for x in self.closed], axis=-2))

    def drift(self, beta: Sequence[Array]) -> Array:
        """γ = Ġθ̇, (..., m, 1), at the rates β of every body: how the loops' velocities change while no joint rate
        does."""
        links, outer = self.links, self.group.outer
        V: dict[int, Array] = {outer: at_rest(links.q)}
        A: dict[int, Array] = {outer: at_rest(links.q)}
        for k in self.group.members:
            p, phi = links.tree.parent(k), links.phi[k]
            V[k] = phi.T @ V[p] + links.H[k].mT @ beta[k]
            A[k] = phi.T @ A[p] + coriolis_acceleration(self.model, links, k, V[k], beta[k])
        return self.counted(arrays.concatenate([x.acceleration(V, A) for x in self.closed], axis=-2))

    def own(self, x: Sequence[Array]) -> Array:
        """What the joints of the members have of columns of all bodies, one below the other."""
        return arrays.concatenate([x[k] for k in self.group.members], axis=-2)

    # --- bases ---------------------------------------------------------------------------------------

    def basis(self, gamma: Array | None = None) -> tuple[Array, Array]:
        """X (..., n, r) and ẋ (..., n, 1), zeros where no γ is given."""
        if gamma is None:
            gamma = arrays.zeros((self.G.shape[-2], 1), like=self.links.q) + 0.0 * self.G[..., :1]
        if self.group.dependent is None:
            factors = reflected(arrays.transpose(self.G), self.links.q, self._said, _SINGULAR)
            return factors.complement, -factors.shortest(gamma)
        n, rest = len(self.group.columns), self.group.independent
        width = len(rest)
        asked = arrays.concatenate([self.G[..., :, rest], gamma], axis=-1)
        followed = -self._solved(self._following(self.G[..., :, list(self.group.dependent)]), asked)
        unit = arrays.eye(width, like=self.links.q)
        rows: list[Any] = [None] * n
        still = arrays.zeros((1, 1), like=self.links.q)
        for i, c in enumerate(self.group.dependent):
            rows[c] = followed[..., i : i + 1, :]
        for i, c in enumerate(rest):
            rows[c] = arrays.concatenate([unit[i : i + 1, :], still], axis=-1)
        both = arrays.concatenate(rows, axis=-2)
        return both[..., :, :width], both[..., :, width:]

    @property
    def _said(self) -> list[str]:
        return [f"loop {name!r} of robot {self.model.name!r}" for name in self.group.row_names]

    def _following(self, A: Array) -> Reflected:
        """The factors of G N for normals N (..., n, ρ): G_dep where joints are named."""
        told = [f"loops {self.group.named} of robot {self.model.name!r}"] * A.shape[-1]
        return reflected(A, self.links.q, told, _SINGULAR if self.group.dependent is None else _WRONG_JOINTS)

    def _solved(self, factors: Reflected, b: Array) -> Array:
        """y with Ay = b, for a redundant A as well, or an error where there is none."""
        y, left = factors.nearest(b)
        if left.shape[-2] == 0:
            return y
        squares = [(x * x).sum(axis=-2).sum(axis=-1) for x in (left, b, self.G)]
        bound = FOLLOWED * FOLLOWED * (squares[1] + squares[2])
        if arrays.is_symbolic(y):
            arrays.require_positive(bound - squares[0], always=True)
            return y
        if not arrays.is_eager(y):
            return arrays.where((squares[0] > bound)[..., None, None], np.nan, y)
        if np.any(squares[0].real > bound.real):
            raise ClosureError(
                f"loop {self.group.named} of robot {self.model.name!r} stops more than the joints that dependent="
                f" names can follow ({self.group.rank} rates): name more of them, or none"
            )
        return y

    # --- charts --------------------------------------------------------------------------------------

    @property
    def normals(self) -> Array:
        """N (..., n, ρ): the directions in which a group is closed, those of the joints that follow, or G*."""
        if self.group.dependent is None:
            return arrays.transpose(self.G)
        return arrays.eye(len(self.group.columns), like=self.links.q)[:, list(self.group.dependent)]

    def along(self, N: Array, wanted: Array) -> Array:
        """N(GN)⁻¹ of ``wanted`` (..., m, 1): the change along N (..., n, ρ) that opens the loops by as much."""
        return N @ self._solved(self._following(self.G @ N), wanted)


def local(model: Model, links: Links, group: Group) -> Local:
    """A group at a configuration."""
    poses: dict[int, Transform] = {group.outer: identity(links.q)}
    for k in group.members:
        p = links.tree.parent(k)
        poses[k] = links.phi[k] if p == group.outer else poses[p].compose(links.phi[k])
    return Local(model, links, group, closures(model, links, group.loops, poses))


# --- forward dynamics ------------------------------------------------------------------------------------------------


def forward_dynamics(
    model: Model, q: Array, v: Array, tau: Array, external: Array | None, groups: Sequence[Group], rate: float = 0.0
) -> Array:
    """β̇ of all joints of the closed robot, (..., nv), its loops embedded; ``rate`` as of :mod:`.equations`."""
    x = prepare(model, q, v, tau, external)
    links = x.links
    beta = links.split(v)
    found = [local(model, links, g) for g in groups]
    drift: list[Any] = [0] * len(links.sizes)
    X: dict[int, list[Array]] = {}
    for each in found:
        gamma = each.drift(beta)
        if rate:
            gamma = gamma + 2.0 * rate * (each.G @ each.own(beta)) + rate * rate * each.error
        basis, x_dot = each.basis(gamma)
        X[each.group.members[0]] = [basis[..., where, :] for where in each.places]
        for k, where in zip(each.group.members, each.places):
            drift[k] = x_dot[..., where, :]
    state = over_nodes(*_nodes(x, X, drift, groups), drift)
    moved = articulated_body_of(state).beta_dot
    return links.join(_accelerations(state.links, X, drift, moved))


def _nodes(x: State, X: Mapping[int, list[Array]], drift: list[Any], groups: Sequence[Group]) -> tuple[State, Links]:
    """The state with the joint forces X*(T − Γẋ) of nodes, and the nodes."""
    links = x.links
    members = nodes_of(len(links.sizes), [g.members for g in groups])
    by_node = [X.get(held[0]) for held in members]
    T = [t if isinstance(y, int) else t - y for t, y in zip(x.T, rotor_forces(links, drift))]
    forces = [
        T[held[0]] if own is None else arrays.total(y.mT @ T[k] for k, y in zip(held, own))
        for held, own in zip(members, by_node)
    ]
    widths = [links.sizes[held[0]] if own is None else own[0].shape[-1] for held, own in zip(members, by_node)]
    ends = np.cumsum(widths)
    columns = tuple(tuple(range(int(e) - w, int(e))) for e, w in zip(ends, widths))
    nodes = gathered_by(links, members, columns, by_node)
    return State(links, x.V, x.a, x.b, forces, x.base), nodes


def _accelerations(
    nodes: Links, X: Mapping[int, list[Array]], drift: list[Any], beta_dot: Sequence[Array]
) -> list[Array]:
    """θ̈ = Xβ̇ + ẋ of every body's joint."""
    gathering = nodes.gathering
    assert gathering is not None
    out: list[Any] = [None] * len(drift)
    for held, own in zip(gathering.members, beta_dot):
        if held[0] not in X:
            out[held[0]] = own
            continue
        for k, basis in zip(held, X[held[0]]):
            out[k] = basis @ own + drift[k]
    return out


# --- closed states in a chart ----------------------------------------------------------------------------------------


def closing_step(model: Model, q: Array, chart: Array, groups: Sequence[Group]) -> Array:
    """δq, (..., nv): a step of Newton's towards closed loops, along the normals N of the configuration ``chart``."""
    links, start = evaluate(model, q), evaluate(model, chart)
    zero = 0.0 * arrays.zeros((model.nv, 1), like=q) + 0.0 * q[..., :1, None]
    out = {}
    for g in groups:
        here = local(model, links, g)
        out[g] = -here.along(local(model, start, g).normals, here.error)
    return _scattered(zero, out)


def closed_velocity(model: Model, q: Array, v: Array, chart: Array, groups: Sequence[Group]) -> Array:
    """v − N(GN)⁻¹Gv, (..., nv): closed, and along the normals of ``chart`` what it takes to be so."""
    links, start = evaluate(model, q), evaluate(model, chart)
    beta = links.split(v)
    out = {}
    for g in groups:
        here = local(model, links, g)
        own = here.own(beta)
        out[g] = own - here.along(local(model, start, g).normals, here.G @ own)
    return _scattered(v[..., :, None], out)


def _scattered(x: Array, parts: Mapping[Group, Array]) -> Array:
    """x (..., nv, 1) with the entries of groups in place of its own, as (..., nv)."""
    rows: list[Array] = [x[..., i : i + 1, :] for i in range(x.shape[-2])]
    for g, part in parts.items():
        for i, c in enumerate(g.columns):
            rows[c] = part[..., i : i + 1, :]
    return arrays.concatenate(rows, axis=-2)[..., 0]
