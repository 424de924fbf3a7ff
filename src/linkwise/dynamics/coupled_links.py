"""Coupled joints in the algorithms: θ̇ = Xβ on the tree of all bodies, and the tree of nodes on which 𝓜⁻¹ is swept.

Couplings θ_dep = g(θ_ind) leave β, the rates of the independent joints (math notes 1.1 of closed chains):

    θ̇ = Xβ,    θ̈ = Xβ̇ + ẋ,    ẋ = Σ ∂²g/∂q_i∂q_j β_iβ_j,    T = X*T_tree,    𝓜 = X*𝓜_tree X

What asks for no inverse of 𝓜 runs on the tree of all bodies as it is: :class:`Lift` is what its links split joint-space
vectors by (X) and join them by (X*). The Riccati recursion eliminates β instead, so that coupled bodies must be one
node there: :func:`gathered` makes these links, of the same sweeps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import arrays
from ..aggregates import Inside, Members, Port, rows, stacked
from ..arrays import Array
from ..model.couplings import Coupling
from ..model.model import Model
from ..properties import cached_property

if TYPE_CHECKING:
    from .links import Links


def wide(g: Any) -> Any:
    """A derivative (...) as (..., 1, 1), for products with columns; numbers stay."""
    return g if isinstance(g, float) else g[..., None, None]


class Coordinates(ABC):
    """X at a configuration: joint space of rates β that are independent, and that of all joints of the tree."""

    @property
    @abstractmethod
    def nv(self) -> int:
        """How many rates there are."""

    @abstractmethod
    def expand(self, x: Array) -> list[Array]:
        """X x of a joint-space matrix (..., nv, m), as one block of rows per body."""

    @abstractmethod
    def contract(self, blocks: Sequence[Array]) -> list[Array]:
        """X* of one block of rows per body, as blocks of rows of joint space."""

    @abstractmethod
    def drift(self, beta: list[Array], other: list[Array] | None = None) -> list[Any]:
        """ẋ = Ẋβ of every joint, or 0, at the rates β of all joints; Ẋβ' of ``other`` rates."""

    @abstractmethod
    def gathered(self, links: Links) -> Links:
        """The links of the nodes on which 𝓜⁻¹ is swept, from those of the bodies."""

    def both_sides(self, tree_matrix: Array, sizes: Sequence[int]) -> Array:
        """X*AX of a matrix (..., n, n) of the tree."""
        half = _contracted_rows(self, tree_matrix, sizes)
        return arrays.transpose(_contracted_rows(self, arrays.transpose(half), sizes))


@dataclass(frozen=True, eq=False)
class Lift(Coordinates):
    """Those of coupled joints: the rates of the joints that follow no other."""

    model: Model
    theta: list[Array]  # (..., nq) of every joint

    @property
    def nv(self) -> int:
        return self.model.nv

    @cached_property
    def _followed(self) -> dict[int, list[int]]:
        """The bodies whose joints each dependent one follows."""
        index = self.model.joint_index
        return {k: [index[n] for n in c.independents] for k, c in self.model.dependents.items()}

    @cached_property
    def slopes(self) -> dict[int, list[tuple[int, Any]]]:
        """(body, ∂g/∂q of its joint) of all joints that each dependent one follows."""
        out = {}
        for k, c in self.model.dependents.items():
            first = self._derivatives(k, c, 1)
            out[k] = [(j, first[i,]) for i, j in enumerate(self._followed[k])]
        return out

    def _derivatives(self, k: int, c: Coupling, order: int) -> dict[tuple[int, ...], Any]:
        at = [self.theta[j][..., 0] for j in self._followed[k]]
        return {where: r(at)[0] for where, r in c.relation.derivatives[order - 1].items()}

    @cached_property
    def _bends(self) -> dict[int, dict[tuple[int, ...], Any]]:
        """∂²g by sorted bodies, of every dependent joint."""
        return self._nonlinear(2)

    @cached_property
    def _twists(self) -> dict[int, dict[tuple[int, ...], Any]]:
        """∂³g by sorted bodies, of every dependent joint."""
        return self._nonlinear(3)

    def _nonlinear(self, order: int) -> dict[int, dict[tuple[int, ...], Any]]:
        out = {}
        for k, c in self.model.dependents.items():
            if c.ratios is None:  # all further derivatives of a linear one are zero
                followed = self._followed[k]
                found = {tuple(sorted(followed[i] for i in w)): x for w, x in self._derivatives(k, c, order).items()}
                out[k] = {w: x for w, x in found.items() if not (isinstance(x, float) and x == 0.0)}
        return out

    # --- X and X* ------------------------------------------------------------------------------------

    def expand(self, x: Array) -> list[Array]:
        own = [x[..., where, :] for where in self.model.v_slices]
        for k, slopes in self.slopes.items():
            own[k] = _sum(wide(g) * own[j] for j, g in slopes)
        return own

    def contract(self, blocks: Sequence[Array]) -> list[Array]:
        total = list(blocks)
        for k, slopes in self.slopes.items():
            for j, g in slopes:
                total[j] = total[j] + wide(g) * total[k]
        return [x for k, x in enumerate(total) if k not in self.slopes and self.model.joints[k].kind.nv]

    def slope_rates(self, beta: Sequence[Array]) -> Slopes:
        """Ẋ = dX/dt while the joints move by β (..., r, 1 of every body): Ẋ_kl = Σ ∂²g_k/∂q_l∂q_i β_i."""
        return {k: _along(terms, lambda i: beta[i]) for k, terms in self._bends.items()}

    def slope_accelerations(self, beta: Sequence[Array], beta_dot: Sequence[Array]) -> Slopes:
        """Ẍ with Ẍ δq = ∂θ̈/∂q δq = g″[δq, β̇] + g‴[δq, β, β]."""
        out = {k: _along(terms, lambda i: beta_dot[i]) for k, terms in self._bends.items()}
        for k, terms in self._twists.items():
            for l, x in _along(terms, lambda i, j: beta[i] * beta[j] if i == j else 2.0 * (beta[i] * beta[j])).items():
                out[k][l] = out[k][l] + x if l in out[k] else x
        return out

    def stiffness_times(self, T: Sequence[Array], dq: Sequence[Array]) -> list[Any]:
        """𝒦δq, the geometric stiffness of couplings that carry joint forces T: Σ T_k ∂²g_k δq, or 0, of every body."""
        out: list[Any] = [0] * len(T)
        for k, terms in self._bends.items():
            for (i, j), x in terms.items():
                load = wide(x) * T[k]
                out[i] = out[i] + load * dq[j]
                if i != j:
                    out[j] = out[j] + load * dq[i]
        return out

    def drift(self, beta: list[Array], other: list[Array] | None = None) -> list[Any]:
        return times(self.slope_rates(beta), beta if other is None else other)

    def gathered(self, links: Links) -> Links:
        return gathered(links)


def _contracted_rows(lift: Coordinates, A: Array, sizes: Sequence[int]) -> Array:
    ends = np.cumsum(sizes)
    return arrays.concatenate(lift.contract([A[..., e - r : e, :] for e, r in zip(ends, sizes)]), axis=-2)


Slopes = dict[
    int, dict[int, Any]
]  # entries (..., 1, 1) of a matrix over all joints, by dependent body and followed one


def _along(terms: dict[tuple[int, ...], Any], weight: Any) -> dict[int, Any]:
    """By each body l, the sum of derivatives of which l is one direction, the others weighted."""
    out: dict[int, Any] = {}
    for where, x in terms.items():
        for l in dict.fromkeys(where):
            others = list(where)
            others.remove(l)
            term = wide(x) * weight(*others)
            out[l] = out[l] + term if l in out else term
    return out


def times(slopes: Slopes, y: Sequence[Array]) -> list[Any]:
    """Ẋy of one block of rows per body, or 0."""
    out: list[Any] = [0] * len(y)
    for k, row in slopes.items():
        for l, x in row.items():
            out[k] = out[k] + x * y[l]
    return out


def adjoint_times(slopes: Slopes, y: Sequence[Array]) -> list[Any]:
    """Ẋ*y of one block of rows per body, or 0."""
    out: list[Any] = [0] * len(y)
    for k, row in slopes.items():
        for l, x in row.items():
            out[l] = out[l] + x * y[k]
    return out


def _sum(terms: Any) -> Any:
    first, *rest = terms
    for x in rest:
        first = first + x
    return first


def positions(model: Model, q: Array) -> list[Array]:
    """The position (..., nq) of every joint, those that follow others included."""
    theta: list[Any] = [q[..., where] for where in model.q_slices]
    for k, c in model.dependents.items():
        value = c.relation([theta[model.joint_index[n]] for n in c.independents])[0]  # of modes, one by one
        theta[k] = q[..., :1] * 0.0 + value if isinstance(value, (int, float)) else value
    return theta


# --- nodes -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Gathering:
    """Which bodies each node holds, and where the nodes' β are in joint space."""

    members: tuple[tuple[int, ...], ...]
    columns: tuple[tuple[int, ...], ...]  # of every node, the entries of v that are its β
    inside: list[Inside | None]
    X: list[list[Array] | None]  # of every aggregate, X of each member (..., r of its joint, r)
    ports: list[tuple[int, ...]]  # of every node, the places of its members that carry others

    @cached_property
    def node_of(self) -> dict[int, tuple[int, int]]:
        """(node, place among its members) of every body."""
        return {k: (i, place) for i, held in enumerate(self.members) for place, k in enumerate(held)}

    @property
    def nv(self) -> int:
        return sum(map(len, self.columns))

    @cached_property
    def _back(self) -> list[int]:
        return [int(i) for i in np.argsort([c for where in self.columns for c in where])]

    def expand(self, x: Array) -> list[Array]:
        """The rows (..., nv, m) of every node's own β."""
        return [x[..., list(where), :] for where in self.columns]

    def contract(self, blocks: Sequence[Array]) -> list[Array]:
        """The blocks of all nodes, row by row in the order of joint space."""
        parts = [b[..., i : i + 1, :] for b, where in zip(blocks, self.columns) for i in range(len(where))]
        return [parts[i] for i in self._back]

    def both_sides(self, matrix: Array, sizes: Sequence[int]) -> Array:
        """A matrix over the nodes in the order of joint space."""
        if self._back == list(range(len(self._back))):
            return matrix
        return matrix[..., self._back, :][..., :, self._back]

    def over_bodies(self, matrix: Array, width: int) -> Array:
        """A matrix with ``width`` columns for every body, from nodes to the order of joint space and of all bodies."""
        if self._back != list(range(len(self._back))):
            matrix = matrix[..., self._back, :]
        order = [k for held in self.members for k in held]
        if order == sorted(order):
            return matrix
        return matrix[..., [width * int(i) + j for i in np.argsort(order) for j in range(width)]]

    def joint_rows(self, x: Sequence[Array]) -> list[Array]:
        """X x of every body's joint, from one block of rows per node."""
        out: list[Any] = [None] * len(self.node_of)
        for held, basis, own in zip(self.members, self.X, x):
            for i, k in enumerate(held):
                out[k] = own if basis is None else basis[i] @ own
        return out

    def joint_columns(self, q: Array) -> list[Array]:
        """X of every body's joint, (..., r of the joint, r of its node)."""
        return self.joint_rows([arrays.eye(len(own), like=q) for own in self.columns])

    def rotors_bent(self, Gamma: Sequence[Array | None], X: list[Array], X_dot: Sequence[Any]) -> list[Any]:
        """X*ΓẊ of every node, 0 where no coupling bends or nothing is geared to it."""
        spun: list[Any] = [0 if isinstance(y, int) or G is None else x.mT @ (G @ y) for x, y, G in zip(X, X_dot, Gamma)]
        return [arrays.total(spun[k] for k in held) for held in self.members]

    # --- what bodies have, as what nodes have --------------------------------------------------------

    def stacked(self, x: Sequence[Array]) -> list[Array]:
        """Columns of bodies as columns of nodes, members one below the other."""
        return [x[held[0]] if len(held) == 1 else stacked([x[k] for k in held]) for held in self.members]

    def diagonal(self, x: Sequence[Any]) -> list[Any]:
        """Inertias of bodies, or how they change, as those of nodes."""
        pairs = zip(self.members, self.inside)
        return [x[held[0]] if inside is None else Members([x[k] for k in held]) for held, inside in pairs]

    def members_of(self, P: Sequence[Any]) -> list[Any]:
        """Inertias of nodes as those of bodies."""
        nodes = [self.node_of[k] for k in range(len(self.node_of))]
        return [P[i].parts[place] if isinstance(P[i], Members) else P[i] for i, place in nodes]

    def spread(self, x: Sequence[Array]) -> list[Array]:
        """𝔸*x: what joints add to their own bodies, felt by all that is outboard of them inside the node."""
        out = []
        for held, inside in zip(self.members, self.inside):
            if inside is None:
                out.append(x[held[0]])
                continue
            start = 0.0 * x[held[0]]
            out.append(stacked(inside.spread(start, [x[k] for k in held])))
        return out

    def on_body(self, x: Sequence[Array], k: int) -> Array:
        """The rows of body k in columns of nodes."""
        node, place = self.node_of[k]
        return x[node] if self.inside[node] is None else x[node][..., rows(place), :]

    def at_body(self, x: Array, k: int) -> Array:
        """Columns (..., 6, m) on body k as columns of its node."""
        node, place = self.node_of[k]
        if self.inside[node] is None:
            return x
        return stacked([x if i == place else 0.0 * x for i in range(len(self.members[node]))])


def gathered(links: Links) -> Links:
    """The links of the nodes that coupled bodies make."""
    lift = links.lift
    assert isinstance(lift, Lift)
    members, columns = coupled_nodes(lift.model)
    X = [None if len(held) == 1 else _slopes(lift, held, c, links) for held, c in zip(members, columns)]
    return gathered_by(links, members, columns, X)


def gathered_by(
    links: Links,
    members: tuple[tuple[int, ...], ...],
    columns: tuple[tuple[int, ...], ...],
    X: list[list[Array] | None],
) -> Links:
    """The links of nodes that hold these members, whose rates are θ̇ = Xβ, β the entries ``columns`` of joint space."""
    from .links import Links

    inside = [None if x is None else _inside(links, held) for held, x in zip(members, X)]
    nodes = links.tree.of_nodes(members, [x is not None for x in X])
    phi, H, M, Gamma, s, names, loads = [], [], [], [], [], [], []
    for held, own, x, port in zip(members, inside, X, nodes.hangs_on):
        first = held[0]
        outer: Any = links.phi[first] if own is None else own
        phi.append(outer if port is None else Port(*port, outer))
        if own is None or x is None:
            H.append(links.H[first])
            M.append(links.M[first])
            Gamma.append(links.Gamma[first])
            s.append(links.s[first])
            names.append(links.names[first])
            loads.append(links.carried[first])
            continue
        N = own.spread(arrays.zeros((6, x[0].shape[-1]), like=links.q), [links.H[k].mT @ y for k, y in zip(held, x)])
        H.append(arrays.transpose(stacked(N)))
        M.append(Members([links.M[k] for k in held]))
        Gamma.append(_reflected(links, held, x))
        s.append(None)
        names.append(" + ".join(links.names[k] for k in held))
        loads.append(_carried(links, held, x))
    gathering = Gathering(members, columns, inside, X, nodes.ports)
    sizes = [len(c) for c in columns]
    return Links(nodes.tree, names, phi, H, M, Gamma, s, sizes, links.q, loads, links.theta, gathering)


def coupled_nodes(model: Model) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
    """The bodies of every node that couplings make, and the entries of v that are its β."""
    members = nodes_of(len(model.bodies), model.aggregates)
    return members, tuple(tuple(c for k in held for c in _entries(model.v_slices[k])) for held in members)


def nodes_of(bodies: int, aggregates: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """The bodies of every node, those of aggregates together, in the order of their first."""
    group = {k: held for held in aggregates for k in held}
    return tuple(group.get(k, (k,)) for k in range(bodies) if k not in group or group[k][0] == k)


def _entries(where: slice) -> range:
    return range(where.start, where.stop)


def _inside(links: Links, held: tuple[int, ...]) -> Inside:
    return Inside(links.tree.within(held), [links.phi[k] for k in held])


def _slopes(lift: Lift, held: tuple[int, ...], columns: tuple[int, ...], links: Links) -> list[Array]:
    """X of every member, (..., r of its joint, r of the node)."""
    unit = arrays.eye(len(columns), like=links.q)
    rows_of: dict[int, Array] = {}
    for k in held:
        if k not in lift.slopes:
            rows_of[k] = unit[[columns.index(c) for c in _entries(lift.model.v_slices[k])], :]
    for k in held:
        if k in lift.slopes:
            rows_of[k] = _sum(wide(g) * rows_of[j] for j, g in lift.slopes[k])
    return [rows_of[k] for k in held]


def _reflected(links: Links, held: tuple[int, ...], X: list[Array]) -> Array | None:
    """X*ΓX, the inertia of rotors as the node's β feel it."""
    terms = [x.mT @ links.Gamma[k] @ x for k, x in zip(held, X) if links.Gamma[k] is not None]
    return arrays.symmetric(_sum(terms)) if terms else None


def _carried(links: Links, held: tuple[int, ...], X: list[Array]) -> Any:
    """(..., r) the size of what each of the node's β carries: Σ X² of what the members' joints do."""
    loads = [(links.carried[k], x) for k, x in zip(held, X)]
    if any(load is None for load, _ in loads):
        return None
    return _sum((x * x * load[:, None]).sum(axis=-2) for load, x in loads)
