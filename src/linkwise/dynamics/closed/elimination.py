"""The equations of a closed robot, 𝓜y − G*λ = T and Gy = b, solved in O(n) and what loops really couple.

Every loop is closed as soon as both its ends are outboard: at their nearest common ancestor, before its joint (math
notes on closed chains 2.3). Beside the articulated inertia P and the force z, a body hands on the columns K of the
loops that are open there, and their compliance L with the body held: f = Pα + z − Kλ, c = K*α + Lλ + r = 0.

    close    λ = −L⁻¹(K*α + r + L_oλ_o):  P += KL⁻¹K*,  z += KL⁻¹r,  and of the loops o that stay open
             K_o −= KL⁻¹L_o,  L_oo −= L_o*L⁻¹L_o,  r_o −= L_o*L⁻¹r
    joint    ε = T − Hz:  r += (HK)*D⁻¹ε,  L += (HK)*D⁻¹HK,  K ← φ(K − GHK),  P and z as always
    outward  β̇ = D⁻¹(ε + HKλ) − G*α⁺,  then λ of the loops that were closed here, the last one first

So loops in series cost as many operations each, however many there are; where all close at the world, L is G𝓜⁻¹G* of
the Operator algebra paper §5, application 3, eliminated loop by loop with the blocks that are not zero.

Loops may be redundant. L is damped by E, some ε in units of the robot. Where forces are asked for, λ is corrected:
δ ← (X + E)⁻¹Eδ, which leaves a direction of X with eigenvalue μ wrong by (ε/(μ + ε))^k, and goes to the λ of least norm
in E (math notes 2.4); where accelerations are, pivots are corrected instead. No
choice depends on numbers, so that the same steps run on numbers, symbols and JAX arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ... import arrays
from ...aggregates import whole
from ...arrays import Array
from ...model.model import Model
from ...spatial import congruence
from ...tolerances import ACCELERATION_DAMPING, FORCE_DAMPING
from ..articulated import matrix_of, riccati_step
from ..kinematics import tip_transform
from ..links import Links
from .closures import Closure
from .damped_solver import damped_solver
from .scales import damping

Columns = dict[Hashable, Array]  # by loop
WORLD = -1


class Precision(NamedTuple):
    """ε in double precision, and how often λ is corrected; 0 where pivots are, once (:mod:`.damped_solver`)."""

    damping: float
    corrections: int


ACCELERATIONS = Precision(ACCELERATION_DAMPING, 0)  # they are unique: forces that do nothing may be off
FORCES = Precision(FORCE_DAMPING, 3)  # of least norm to the roundings of X over ε


@dataclass(frozen=True, eq=False)
class Closed:
    """A loop eliminated: b ↦ L⁻¹b, its columns K, and how it couples with the loops that are still open."""

    key: Hashable
    solve: Callable[[Array], Array]
    K: Array
    coupled: Columns


@dataclass(frozen=True, eq=False)
class Node:
    """What a body keeps of the inward sweep: the loops closed at it, and its joint."""

    closed: list[Closed]
    D_inverse: Array
    G: Array
    HK: Columns  # of the loops that are open across the joint


@dataclass(eq=False)
class _Gathered:
    """What children have passed on: P, K of open loops, and the blocks of L, each pair once."""

    P: Any = 0
    K: Columns = field(default_factory=dict)
    L: dict[tuple[Hashable, Hashable], Array] = field(default_factory=dict)

    def block(self, s: Hashable, t: Hashable) -> Any:
        """L(s, t), or None where the loops do not couple."""
        if (s, t) in self.L:
            return self.L[s, t]
        return self.L[t, s].mT if (t, s) in self.L else None

    def add(self, s: Hashable, t: Hashable, x: Array) -> None:
        if (t, s) in self.L and s != t:
            s, t, x = t, s, x.mT
        self.L[s, t] = self.L[s, t] + x if (s, t) in self.L else x

    def coupled(self, s: Hashable) -> list[Hashable]:
        return [b if a == s else a for a, b in self.L if s in (a, b) and a != b]

    def drop(self, s: Hashable) -> None:
        self.K.pop(s, None)
        for pair in [pair for pair in self.L if s in pair]:
            del self.L[pair]


@dataclass(frozen=True, eq=False)
class Elimination:
    """The equations of a closed robot at a configuration, factored."""

    links: Links
    loops: list[Closure]
    nodes: list[Node]
    at_world: list[Closed]
    damped: list[Array]  # the diagonal of E, (m,) by loop
    corrections: int
    compliance: Any = None  # J P J*, (..., 6e, 6e), of the tips that were asked for

    def solve(self, T: Array | None, b: Array | None, columns: int = 1) -> tuple[Array, Array]:
        """(y, λ), (..., nv, c) and (..., m, c), for T (..., nv, c) and b (..., m, c); None stands for zeros."""
        nodes = self.links.nodes
        y, _, lam = self.solve_nodes(None if T is None else nodes.split_rows(T), self.split(b), columns)
        rows = [lam[i] for i in range(len(self.loops))] or [arrays.zeros((0, columns), like=self.links.q)]
        return nodes.join_rows(y, columns), arrays.concatenate(rows, axis=-2)

    def solve_nodes(
        self, T: Sequence[Any] | None, b: Sequence[Any], columns: int = 1, loads: Sequence[Any] | None = None
    ) -> tuple[list[Array], list[Array], Columns]:
        """(y, α, λ) by node and loop; ``loads`` are the forces that nodes ask for at rest, z; None stands for zeros."""
        epsilon, r = self._inward(T, b, columns, loads)
        delta = r
        changes = epsilon
        for _ in range(self.corrections if self.loops else 0):
            _, _, lam = self._outward(changes, delta)
            changes, delta = self._inward(None, [E[:, None] * lam[i] for i, E in enumerate(self.damped)], columns)
            epsilon = [x + dx for x, dx in zip(epsilon, changes)]
            r = {i: x + delta[i] for i, x in r.items()}
        return self._outward(epsilon, r)

    def split(self, b: Array | None) -> list[Any]:
        """Rows (..., m, c) of all loops as one block per loop."""
        if b is None:
            return [None] * len(self.loops)
        out, start = [], 0
        for x in self.loops:
            out.append(b[..., start : start + x.loop.size, :])
            start += x.loop.size
        return out

    def _inward(
        self, T: Sequence[Any] | None, b: Sequence[Any], columns: int, loads: Sequence[Any] | None = None
    ) -> tuple[list[Array], Columns]:
        """ε of every joint, and r of every loop where it is closed."""
        links, q = self.links.nodes, self.links.q
        tree = links.tree
        forces = [None] * len(tree) if T is None else T
        nothing = [arrays.zeros((x.loop.size, columns), like=q) for x in self.loops]
        r: Columns = {i: zero if x is None else -x for i, (x, zero) in enumerate(zip(b, nothing))}
        still = [arrays.zeros((H.shape[-1], columns), like=q) for H in links.H]
        z: list[Any] = still if loads is None else [x if y is None else y for x, y in zip(still, loads)]
        epsilon: list[Any] = [None] * len(tree)
        for k in reversed(range(len(tree))):
            node = self.nodes[k]
            for x in node.closed:
                z[k] = z[k] + _eliminate(x, r)
            Hz = links.H[k] @ z[k]
            epsilon[k] = -Hz if forces[k] is None else forces[k] - Hz
            nu = node.D_inverse @ epsilon[k]
            for s, HK in node.HK.items():
                if s in r:
                    r[s] = r[s] + HK.mT @ nu
            p = tree.parent(k)
            if p >= 0:
                z[p] = z[p] + links.phi[k] @ (z[k] + node.G @ epsilon[k])
        for x in self.at_world:
            _eliminate(x, r)
        return epsilon, r

    def _outward(self, epsilon: list[Array], r: Columns) -> tuple[list[Array], list[Array], Columns]:
        """y of every joint, α of every node and λ of every loop."""
        links = self.links.nodes
        lam: Columns = {}
        for x in reversed(self.at_world):
            lam[x.key] = -x.solve(_with_others(r[x.key], x, lam))
        alpha: list[Any] = []
        y = []
        for k in range(len(links.tree)):
            node, p = self.nodes[k], links.tree.parent(k)
            push = epsilon[k]
            for s, HK in node.HK.items():
                if s in lam:
                    push = push + HK @ lam[s]
            beta_dot = node.D_inverse @ push
            if p >= 0:
                inboard = links.phi[k].T @ alpha[p]
                beta_dot = beta_dot - node.G.mT @ inboard
                alpha.append(inboard + links.H[k].mT @ beta_dot)
            else:
                alpha.append(links.H[k].mT @ beta_dot)
            y.append(beta_dot)
            for x in reversed(node.closed):
                lam[x.key] = -x.solve(_with_others(x.K.mT @ alpha[k] + r[x.key], x, lam))
        return y, alpha, lam


def _eliminate(x: Closed, r: Columns) -> Any:
    """KL⁻¹r, and what that leaves of the others' r."""
    y = x.solve(r[x.key])
    for o, L in x.coupled.items():
        if o in r:
            r[o] = r[o] - L.mT @ y
    return x.K @ y


def _with_others(total: Array, x: Closed, lam: Columns) -> Array:
    for o, L in x.coupled.items():
        if o in lam:
            total = total + L @ lam[o]
    return total


# --- factors ---------------------------------------------------------------------------------------------------------


def eliminate(
    model: Model, links: Links, loops: list[Closure], precision: Precision = ACCELERATIONS, frames: Sequence[Any] = ()
) -> Elimination:
    """The closed robot's equations at a configuration, and how it yields at the tips of ``frames``, in world axes."""
    damped = damping(model, [x.loop for x in loops], links.q, precision.damping)
    own = _own_columns(model, links, loops, frames)
    closes: dict[int, list[int]] = {}
    for i, x in enumerate(loops):
        closes.setdefault(_closed_at(links, common_ancestor(links, *x.bodies)), []).append(i)

    bodies, links = links, links.nodes
    tree = links.tree
    gathered = [_Gathered() for _ in range(len(tree))]
    world = _Gathered()
    nodes: list[Any] = [None] * len(tree)
    for k in reversed(range(len(tree))):
        here = gathered[k]
        here.P = here.P + matrix_of(links.M[k])
        here.K = {s: whole(K) for s, K in here.K.items()}
        for s, F in own[k].items():
            here.K[s] = here.K[s] + F if s in here.K else F
        closed = _close(here, closes.get(k, []), damped, precision)
        nodes[k] = _cross(links, k, here, closed, world if tree.on_world(k) else gathered[tree.parent(k)])
    # A loop whose ends move with no joint has no compliance at all.
    for i in closes.get(WORLD, []):
        world.K.setdefault(i, arrays.zeros((6, loops[i].loop.size), like=links.q))
    at_world = _close(world, closes.get(WORLD, []), damped, precision)
    return Elimination(
        bodies, loops, nodes, at_world, damped, precision.corrections, _yielding(links, world, len(frames))
    )


def common_ancestor(links: Links, a: int, b: int) -> int:
    """The nearest body that carries both, or is one of them; −1 is the world."""
    inboard = {a, *links.tree.inboard(a)} if a >= 0 else set()
    return next((k for k in ([b, *links.tree.inboard(b)] if b >= 0 else []) if k in inboard), WORLD)


def _closed_at(links: Links, meet: int) -> int:
    """The node at which a loop is closed whose branches meet at a body: the nearest that is one body, or the world.

    Among coupled bodies it stays open: closed there, it would couple their inertias, which are kept apart.
    """
    single = links.nodes.first_bodies
    while meet != WORLD and single[links.nodes.node(meet)] is None:
        meet = links.tree.parent(meet)
    return meet if meet == WORLD else links.nodes.node(meet)


def _own_columns(model: Model, links: Links, loops: list[Closure], frames: Sequence[Any]) -> list[Columns]:
    """𝓑 by node and loop, and the forces at tips beside it."""
    nodes = links.nodes
    out: list[Columns] = [{} for _ in nodes.sizes]

    def add(body: int, key: Hashable, F: Array) -> None:
        held, column = out[nodes.node(body)], nodes.at_body(F, body)
        held[key] = held[key] + column if key in held else column

    for i, x in enumerate(loops):
        for body, F in x.forces(arrays.eye(x.loop.size, like=links.q)).items():
            add(body, i, F)
    for i, frame in enumerate(frames):
        body, tip = tip_transform(model, links, frame)
        if body >= 0:
            add(body, ("tip", i), tip @ arrays.eye(6, like=links.q))
    return out


def _close(here: _Gathered, keys: Sequence[int], damped: Sequence[Array], precision: Precision) -> list[Closed]:
    """Eliminate these loops one by one, those first that couple with the fewest others."""
    left, out = list(keys), []
    while left:
        s = min(left, key=lambda i: (len(here.coupled(i)), i))
        left.remove(s)
        solve = _solver(here.L.get((s, s)), damped[s], precision)
        K = here.K[s]
        coupled = {o: here.block(s, o) for o in here.coupled(s)}
        here.drop(s)
        weighted = solve(K.mT)
        here.P = here.P + arrays.symmetric(K @ weighted)
        for i, (o, L) in enumerate(coupled.items()):
            here.K[o] = here.K[o] - weighted.mT @ L
            answer = solve(L)
            for p, other in list(coupled.items())[: i + 1]:
                change = -(answer.mT @ other)
                here.add(o, p, arrays.symmetric(change) if o == p else change)
        out.append(Closed(s, solve, K, coupled))
    return out


def _solver(compliance: Array | None, e: Array, precision: Precision) -> Callable[[Array], Array]:
    E = e[:, None] * arrays.eye(len(e), like=e)
    if not precision.corrections:
        return damped_solver(0.0 * E if compliance is None else arrays.symmetric(compliance), e)
    return arrays.solver_spd(E if compliance is None else arrays.symmetric(compliance + E))


def _cross(links: Links, k: int, here: _Gathered, closed: list[Closed], inboard: _Gathered) -> Node:
    """Past the joint of body k: what the parent gathers."""
    _, _, D_inverse, G, P_plus = riccati_step(
        here.P, links.H[k], links.Gamma[k], links.s[k], links.names[k], links.carried[k]
    )
    HK = {s: links.H[k] @ K for s, K in here.K.items()}
    for pair, x in here.L.items():
        inboard.add(*pair, x)
    for i, (s, x) in enumerate(HK.items()):
        nu = D_inverse @ x
        for t in list(HK)[: i + 1]:
            product = HK[t].mT @ nu
            inboard.add(t, s, arrays.symmetric(product) if s == t else product)
        passed = links.phi[k] @ (here.K[s] - G @ x)
        inboard.K[s] = inboard.K[s] + passed if s in inboard.K else passed
    inboard.P = inboard.P + congruence(links.phi[k], P_plus)
    return Node(closed, D_inverse, G, HK)


def _yielding(links: Links, world: _Gathered, tips: int) -> Any:
    """J P J*, the compliance that is left of tips once all loops are closed."""
    if not tips:
        return None
    pairs = [(i, j) for i in range(tips) for j in range(tips)]
    found = {pair: world.block(("tip", pair[0]), ("tip", pair[1])) for pair in pairs}
    blocks = {pair: x for pair, x in found.items() if x is not None}
    sizes = [6] * tips
    return arrays.symmetric(arrays.from_blocks(blocks, sizes, sizes, like=links.q))
