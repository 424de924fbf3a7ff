"""What every algorithm starts from: φ(p, k), H(k), M(k) of all bodies at a configuration, and V, a, b.

Everything is in link frames. Accelerations inside the algorithms are spatial ones, A = α − [0; ω × v]
(math notes 12.4), so that a(k) = V × H*β and b(k) = S[V] M V; joint forces, joint accelerations and
link forces are the same in both conventions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array
from ..model.loose_joints import carried
from ..model.model import Model
from ..properties import cached_property
from ..spatial import RigidInertia, Transform, cross, cross_force, cross_motion
from ..sweeps import Pairs, Step, Tree
from .coupled_links import Coordinates, Gathering, Lift, Slopes, positions


@dataclass(frozen=True, eq=False)
class Links:
    """The leaf quantities of every body at a configuration.

    Of a robot with coupled joints they are those of all its bodies, on the tree of all joints, and ``lift`` takes joint
    space there and back; :attr:`nodes` are the same links with coupled bodies gathered, for the Riccati recursion.
    """

    tree: Tree
    names: list[str]
    phi: list[Any]  # φ(p, k): a Transform, or what stands for one at a node
    H: list[Array]  # (..., r, 6); (..., r, 6m) of a node of m bodies
    M: list[Any]  # a RigidInertia, or what stands for one
    Gamma: list[Any]  # reflected rotor inertia (r, r), or None
    s: list[Any]  # gyroscopic rotor coupling (..., 6, 1) in link axes, or None
    sizes: list[int]  # r of every joint
    q: Array  # the configuration (..., nq)
    loads: list[Any] | None = None  # (r,) the size of what each joint carries, along its directions; None where unknown
    theta: list[Array] = field(default_factory=list)  # (..., nq) the position of every joint
    lift: Any = None  # how joint space becomes columns and back, where it is not one slice after another

    @property
    def carried(self) -> list[Any]:
        """(r,) of every joint the size of what it carries, along its directions, or None where that is not known."""
        return [None] * len(self.sizes) if self.loads is None else self.loads

    @property
    def nv(self) -> int:
        return sum(self.sizes) if self.lift is None else self.lift.nv

    @property
    def nodes(self) -> Links:
        """These links with every aggregate of coupled bodies as one node: themselves where no joints are coupled."""
        return self if self._gathered is None else self._gathered  # not kept: what holds itself is freed late

    @cached_property
    def _gathered(self) -> Links | None:
        return self.lift.gathered(self) if isinstance(self.lift, Coordinates) else None

    @property
    def gathering(self) -> Gathering | None:
        """Which bodies the nodes hold, where links are those of nodes."""
        return self.lift if isinstance(self.lift, Gathering) else None

    @property
    def has_rotors(self) -> bool:
        """Whether rotors add joint inertia, so that identities such as H G = I do not hold."""
        return any(g is not None for g in self.Gamma)

    def split(self, x: Array) -> list[Array]:
        """A joint-space vector (..., nv) as one column (..., r, 1) per body."""
        return split(x, self.sizes) if self.lift is None else self.lift.expand(x[..., None])

    def split_rows(self, x: Array) -> list[Array]:
        """A joint-space matrix (..., nv, m) as one block of rows (..., r, m) per body."""
        return self.unstack(x) if self.lift is None else self.lift.expand(x)

    def unstack(self, x: Array) -> list[Array]:
        """Rows (..., Σ sizes, m) in the order of the bodies as one block per body."""
        ends = np.cumsum(self.sizes)
        return [x[..., e - r : e, :] for e, r in zip(ends, self.sizes)]

    def join(self, columns: Sequence[Array]) -> Array:
        """One column per body as a joint-space vector (..., nv)."""
        return self.join_rows(columns, 1)[..., 0]

    def join_rows(self, blocks: Sequence[Array], width: int) -> Array:
        """One block of rows per body as a joint-space matrix (..., nv, width)."""
        if self.lift is None:
            return self.stack(blocks, width)
        filled = self.lift.contract(blocks)
        return arrays.concatenate(filled, axis=-2) if filled else self.stack([], width)

    def stack(self, blocks: Sequence[Array], width: int) -> Array:
        """One block of rows per body one below the other, (..., Σ sizes, width)."""
        filled = [b for b, r in zip(blocks, self.sizes) if r]
        if not filled:
            return arrays.zeros((*self.q.shape[:-1], 0, width), like=self.q)
        return arrays.concatenate(filled, axis=-2)

    def join_columns(self, blocks: Sequence[Array], height: int) -> Array:
        """One block of columns per body as a matrix (..., height, nv)."""
        if self.lift is not None:
            rows = self.lift.contract([arrays.transpose(b) for b in blocks])
            blocks = [arrays.transpose(x) for x in rows]
            return arrays.concatenate(blocks, axis=-1) if blocks else arrays.zeros((height, 0), like=self.q)
        filled = [b for b, r in zip(blocks, self.sizes) if r]
        if not filled:
            return arrays.zeros((*self.q.shape[:-1], height, 0), like=self.q)
        return arrays.concatenate(filled, axis=-1)

    def matrix(self, diagonal: Sequence[Array], kept: Sequence[Pairs], flipped: Pairs | None, like: Array) -> Array:
        """The joint-space matrix (..., nv, nv) of a diagonal and of what walks have kept (:meth:`.Tree.matrix`)."""
        found = self.tree.matrix(self.sizes, diagonal, kept, flipped, like)
        return found if self.lift is None else self.lift.both_sides(found, self.sizes)

    def part(self, matrix: Any, rows: Sequence[int], columns: Sequence[int]) -> Any:
        """Some rows and columns of a joint-space matrix; of one from walks, where loops over bodies are recorded, those
        that joints have."""
        return matrix[..., rows, :][..., columns] if self.tree.has_single_bodies else matrix.part(rows, columns)

    def matrix_over_bodies(
        self, diagonal: Sequence[Array], kept: Sequence[Pairs], flipped: Pairs | None, like: Array, width: int
    ) -> Array:
        """The same where every body has ``width`` columns, (..., nv, width · bodies)."""
        gathering = self.gathering
        if gathering is None:
            return self.tree.matrix(self.sizes, diagonal, kept, flipped, like, [width] * len(self.sizes))
        widths = [width * len(held) for held in gathering.members]
        found = self.tree.matrix(self.sizes, diagonal, kept, flipped, like, widths)
        return gathering.over_bodies(found, width)

    def from_blocks(self, blocks: dict[tuple[int, int], Array], like: Array) -> Array:
        """The joint-space matrix (..., nv, nv) of blocks by the two bodies whose joints they are of."""
        found = arrays.from_blocks(blocks, self.sizes, self.sizes, like=like)
        return found if self.lift is None else self.lift.both_sides(found, self.sizes)

    def of_columns(self, step: Step, zero: Callable[[int], Any], own: Sequence[Sequence[Array]], *data: Any) -> Array:
        """The joint-space matrix (..., nv, nv) whose columns of k are what an inward sweep gives where k alone has
        something of its own, ``step(gathered, *own of k, *data of k)``.

        Steps are linear in what is gathered and their own, (..., r, columns), and ``zero(columns)`` is nothing
        gathered. All columns go inward together; where loops over bodies are recorded, those of each body by
        themselves.
        """
        if self.tree.has_single_bodies:
            columns = self.split_rows(arrays.eye(self.nv, like=self.q))
            whole = [[x @ e for x, e in zip(each, columns)] for each in own]
            return self.join_rows(self.tree.inward(step, zero(self.nv), *whole, *data), self.nv)
        first = [step(zero(r), *items) for r, *items in zip(self.sizes, *own, *data)]

        def onward(gathered: Any, r: int, *items: Any) -> Any:
            width = (gathered[0] if isinstance(gathered, tuple) else gathered).shape[-1]
            return step(gathered, *[arrays.zeros((r, width), like=self.q) for _ in own], *items)

        starts = [passed if r else None for (passed, _), r in zip(first, self.sizes)]
        kept = self.tree.inward_from_each(onward, starts, self.sizes, *data)
        return self.matrix([x for _, x in first], [kept], Pairs(), like=self.q)

    # --- couplings -----------------------------------------------------------------------------------

    def accelerated(self, beta: list[Array], a: Array | None) -> list[Array]:
        """θ̈ of every joint, (..., r, 1), where joint space accelerates by a (..., nv), or by nothing: Xβ̇ + ẋ."""
        own = no_motion(self) if a is None else self.split(a)
        return own if self.lift is None else [x + y for x, y in zip(own, self.drift(beta))]

    def drift(self, beta: list[Array], other: list[Array] | None = None) -> list[Any]:
        """ẋ = Ẋβ of every joint, or 0: what couplings that are not linear make of the rates; Ẋβ' of ``other`` rates."""
        return self.lift.drift(beta, other) if isinstance(self.lift, Coordinates) else [0] * len(beta)

    def slope_rates(self, beta: list[Array]) -> Slopes:
        """Ẋ, where couplings are not linear (:meth:`.Lift.slope_rates`)."""
        return self.lift.slope_rates(beta) if isinstance(self.lift, Lift) else {}

    @property
    def first_bodies(self) -> list[int | None]:
        """The body that every node is; None for aggregates."""
        if self.gathering is None:
            return list(range(len(self.sizes)))
        return [held[0] if len(held) == 1 else None for held in self.gathering.members]

    @property
    def ports(self) -> list[tuple[int, ...]]:
        """Of every node, which of its members carry others; of a single body that itself."""
        return [(0,)] * len(self.sizes) if self.gathering is None else self.gathering.ports

    def node(self, k: int) -> int:
        """The node of body k."""
        return k if self.gathering is None else self.gathering.node_of[k][0]

    def on_body(self, x: Sequence[Array], k: int) -> Array:
        """The rows of body k in columns of nodes."""
        return x[k] if self.gathering is None else self.gathering.on_body(x, k)

    def at_body(self, x: Array, k: int) -> Array:
        """Columns (..., 6, m) on body k as columns of its node."""
        return x if self.gathering is None else self.gathering.at_body(x, k)


def evaluate(model: Model, q: Array) -> Links:
    """φ, H and M of every body at the configuration q (..., nq)."""
    constants = model.constants(dtype=q.dtype)
    symbolic = arrays.is_symbolic(q)
    phi, H, s = [], [], []
    theta = positions(model, q)
    for c, qk in zip(constants, theta):
        pose = (c.placement.by_turns() if symbolic else c.placement).compose(c.kind.transform(qk))
        phi.append(pose)
        H.append(arrays.transpose(c.kind.map(qk)))
        s.append(None if c.spin is None else _rotor_coupling(pose, c.spin))
    return Links(
        tree=model.tree,
        names=[b.name for b in model.bodies],
        phi=phi,
        H=H,
        M=[c.M for c in constants],
        Gamma=[c.reflected for c in constants],
        s=s,
        sizes=[c.kind.nv for c in constants],
        q=q,
        loads=[carried(c) for c in constants],
        theta=theta,
        lift=Lift(model, theta) if model.couplings else None,
    )


def _rotor_coupling(phi: Transform, spin: Array) -> Array:
    """[R* a γ I; 0]: the rotor's momentum per joint rate, a pure moment on the parent, in link axes."""
    moment = arrays.transpose(phi.R) @ spin[..., :, None]
    return arrays.concatenate([moment, moment * 0.0], axis=-2)


def split(x: Array, sizes: Sequence[int]) -> list[Array]:
    """A stacked vector (..., Σ sizes) as columns (..., size, 1)."""
    ends = np.cumsum(sizes)
    return [x[..., e - r : e, None] for e, r in zip(ends, sizes)]


def base_acceleration(model: Model, q: Array) -> Array:
    """Gravity as the base's pseudo acceleration, [0; −g] (JPL 88-11 (2.1), math notes 3)."""
    column = np.concatenate([np.zeros(3), -np.asarray(model.gravity)])[:, None]
    return arrays.constant(column, like=q)


def wider(q: Array, *others: Array) -> Array:
    """q (..., nq) with the batch shape of all, for results that may be zero."""
    batch = np.broadcast_shapes(q.shape[:-1], *(x.shape[:-1] for x in others))
    return q if q.shape[:-1] == batch else arrays.namespace(q).broadcast_to(q, batch + q.shape[-1:])


def identity(q: Array) -> Transform:
    """The pose of the world in itself."""
    return Transform(arrays.eye(3, like=q), arrays.zeros((3,), like=q))


def at_rest(q: Array) -> Array:
    """A base that does not move, [0; 0]."""
    return arrays.zeros((6, 1), like=q)


def velocity_step(V_parent: Array, phi: Transform, H: Array, beta: Array) -> Array:
    """V(k) = φ*(k+1,k) V(k+1) + H*(k) β(k)."""
    return phi.T @ V_parent + H.mT @ beta


def velocities(links: Links, beta: list[Array]) -> list[Array]:
    """V = φ*H*β (Operator algebra paper §2, Unified formulation paper (21))."""
    return links.tree.outward(velocity_step, at_rest(links.q), links.phi, links.H, beta)


def acceleration_step(A_parent: Array, phi: Transform, H: Array, beta_dot: Array, a: Array) -> Array:
    """α(k) = φ*(k+1,k) α(k+1) + H*(k) β̇(k) + a(k), added up as the articulated-body algorithm does it."""
    return phi.T @ A_parent + a + H.mT @ beta_dot


def accelerations(links: Links, beta_dot: list[Array], a: list[Array], base: Array) -> list[Array]:
    """α = φ*(H*β̇ + a) (Unified formulation paper (21)), from the base's (pseudo) acceleration."""
    return links.tree.outward(acceleration_step, base, links.phi, links.H, beta_dot, a)


def carried_outward(links: Links, x: list[Array], start: Array) -> list[Array]:
    """x⁺(k) = φ*(k+1,k) x(k+1): what an outward sweep gave, seen from every body before its joint moves."""
    return [phi.T @ inboard for phi, inboard in zip(links.phi, links.tree.at_parents(x, start))]


def coriolis_accelerations(model: Model, links: Links, V: list[Array], beta: list[Array]) -> list[Array]:
    """a(k) = V(k) × H*(k)β(k), plus dH*/dt β where the joint's map turns in its own body."""
    return [coriolis_acceleration(model, links, k, V[k], beta[k]) for k in range(len(links.sizes))]


def coriolis_acceleration(model: Model, links: Links, k: int, V: Array, beta: Array) -> Array:
    """a(k) of one body."""
    a = cross_motion(V, links.H[k].mT @ beta)
    rate = model.constants(dtype=links.q.dtype)[k].kind.map_rate(links.theta[k], beta)
    return a if rate is None else a + rate


def gyroscopic_forces(
    model: Model, links: Links, V: list[Array], beta: list[Array], external: list[Array] | None
) -> list[Array]:
    """b(k) = S[V] M V (math notes 12.4), less external forces (12.5), plus what spinning rotors add.

    A rotor on body p with momentum s β̇ turns with p: it asks p for the extra moment ω(p) × s β.
    """
    b = [_gyroscopic_force(v, m) for v, m in zip(V, links.M)]
    return applied_forces(model, links, V, beta, b, external)


def _gyroscopic_force(V: Array, M: Any) -> Array:
    """S[V] M V; of a body whose centre of mass is its origin [ω × Jω; ω × mv], as v × mv is nothing."""
    if not (isinstance(M, RigidInertia) and arrays.is_symbolic(V) and arrays.is_eager(M.h) and not M.h.any()):
        return cross_force(V, M @ V)
    w, momentum = V[..., :3, :], M @ V
    return arrays.concatenate([cross(w, momentum[..., :3, :]), cross(w, momentum[..., 3:, :])], axis=-2)


def applied_forces(
    model: Model, links: Links, V: list[Array], beta: list[Array], b: list[Array], external: list[Array] | None
) -> list[Array]:
    """b with what spinning rotors add, less external forces."""

    def moment(spin: Array, V: Array, beta: Array) -> Array:
        return cross(V[..., :3, :], spin * beta)

    b = with_rotor_moments(links, b, spinning_rotors(model, links, V, beta), moment)
    if external is not None:
        b = [x - f for x, f in zip(b, external)]
    return b


def map_rates(model: Model, links: Links, beta: list[Array]) -> list[Array | None]:
    """H°* = dH*/dt of every joint in its own body's axes, (..., 6, r); None where the map is constant."""
    kinds = [c.kind for c in model.constants(dtype=links.q.dtype)]
    return [kind.map_derivative(x, b) for kind, x, b in zip(kinds, links.theta, beta)]


def spinning_rotors(model: Model, links: Links, V: list[Array], *others: list[Array]) -> list[Any]:
    """(s, V(p), others(k)) at joints whose rotor turns with a moving parent p, s (..., 3, 1) in p's axes; else None."""
    spins = [c.spin for c in model.constants(dtype=links.q.dtype)]
    if all(spin is None for spin in spins):
        return [None] * len(spins)
    inboard = links.tree.at_parents(V, at_rest(links.q))
    return [
        None if spin is None or links.tree.on_world(k) else (spin[..., :, None], inboard[k], *(x[k] for x in others))
        for k, spin in enumerate(spins)
    ]


def with_rotor_moments(links: Links, b: list[Array], rotors: list[Any], moment: Callable[..., Array]) -> list[Array]:
    """b with the moments that rotors ask of the bodies that carry them."""
    asked = [None if x is None else moment(*x) for x in rotors]
    passed = [None if x is None else arrays.concatenate([x, x * 0.0], axis=-2) for x in asked]
    return [x if isinstance(y, int) else x + y for x, y in zip(b, links.tree.from_children(passed))]


# --- the papers' own convention: classical accelerations ---------------------------------------------


def classical_coriolis(model: Model, links: Links, V: list[Array], beta: list[Array]) -> list[Array]:
    """a(k) of classical accelerations (UF (15), JPL 88-11 (2.17)): no linear velocity enters.

    angular  ω × ω_rel,    linear  R*(ω(p) × (ω(p) × l)) + (2ω − ω_rel) × u,    [ω_rel; u] = H*β.
    """
    out = []
    inboard = links.tree.at_parents(V, at_rest(links.q))
    for k, c in enumerate(model.constants(dtype=links.q.dtype)):
        relative = links.H[k].mT @ beta[k]
        turning, sliding = relative[..., :3, :], relative[..., 3:, :]
        w, phi = V[k][..., :3, :], links.phi[k]
        linear = phi.rotation.T @ centripetal(inboard[k][..., :3, :], phi.l[..., :, None])
        linear = linear + cross(2.0 * w - turning, sliding)
        a = arrays.concatenate([cross(w, turning), linear], axis=-2)
        rate = c.kind.map_rate(links.theta[k], beta[k])
        out.append(a if rate is None else a + rate)
    return out


def classical_gyroscopic(M: RigidInertia, V: Array) -> Array:
    """b(k) = [ω × Jω; ω × (ω × h)] of classical accelerations (UF (16), JPL 88-11 (2.18))."""
    w = V[..., :3, :]
    return arrays.concatenate([cross(w, M.J @ w), centripetal(w, M.h[..., :, None])], axis=-2)


def centripetal(w: Array, x: Array) -> Array:
    """ω × (ω × x) of columns, from the six products of ω's entries, which all points of a body share."""
    a, b, c = w[..., 0:1, :], w[..., 1:2, :], w[..., 2:3, :]
    x, y, z = x[..., 0:1, :], x[..., 1:2, :], x[..., 2:3, :]
    ab, ac, bc = a * b, a * c, b * c
    aa, bb, cc = a * a, b * b, c * c
    rows = [ab * y + ac * z - (bb + cc) * x, ab * x + bc * z - (aa + cc) * y, ac * x + bc * y - (aa + bb) * z]
    return arrays.concatenate(rows, axis=-2)


def no_motion(links: Links) -> list[Array]:
    """Zero columns, one per joint (and node)."""
    return [arrays.zeros((r, 1), like=links.q) for r in links.sizes]


def still(links: Links) -> list[Array]:
    """Zero spatial columns, one per body."""
    return [arrays.zeros((H.shape[-1], 1), like=links.q) for H in links.H]
