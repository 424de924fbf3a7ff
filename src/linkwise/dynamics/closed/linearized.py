"""Linearised models of closed robots, from the open tree's algorithms (math notes on closed chains 2.6).

With the loops' forces as external ones, fixed in body axes, the tree's inverse dynamics changes by 𝓜δβ̇ + A_Dδβ + B_Dδq;
what turns those forces adds to B_D, which makes B̂. With δ(Gβ̇ + Ġβ) = Gδβ̇ + c_vδβ + c_qδq,

    δβ̇ = PδT − (PA_D + Z*c_v)δβ − (PB̂ + Z*c_q)δq         Z = X⁺G𝓜⁻¹

These are derivatives of β̇ as a function of all q and β; a change that keeps the loops closed has Gδq = 0 and
Gδβ + ∂(Gβ)/∂q δq = 0. All this is done for the core, the bodies that loops hold; branches on it follow by Algorithm 6
of the Linearized dynamics paper (:mod:`.branches`). Of robots with coupled joints the core is everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ... import arrays
from ...arrays import Array
from ...model.joints.kinds import Free
from ...model.loops import Loop
from ...model.model import Model
from .. import springs
from ..articulated import articulated
from ..inverse import split_forces
from ..linearized import coupled
from ..linearized.algorithm_6 import Hanging, algorithm_6_on_a_body
from ..linearized.inertial_parameters import regressor_of
from ..linearized.inverse import algorithm_2, like
from ..linearized.variations import (
    Motion,
    Velocities,
    joint_variations,
    motion,
    velocity_terms,
    with_free_bases,
    without_free_bases,
)
from ..links import Links, at_rest, base_acceleration, evaluate, identity
from ..mass import from_composites
from ..referred_links import own_frames
from .branches import (
    Branches,
    branches_on,
    columns_of,
    composite_rates,
    composites,
    core_bodies,
    part_of_links,
    part_of_motion,
)
from .closures import Closure, closures, in_base_axes, in_body_axes
from .constraints import stacked
from .cut_matrices import CutMatrices, cut_by_factors, cut_by_inverse, cut_by_welds
from .equations import factored, forward_dynamics
from .loop_variations import LoopVariation, loop_jacobian, loop_variations, point
from .soft import with_springs

Matrices = tuple[Array, Array, Array]


def linearize_forward(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    external: Array | None,
    loops: Sequence[Loop],
    soft: Sequence[Loop] = (),
) -> Matrices:
    """∂β̇/∂T, ∂β̇/∂β, ∂β̇/∂q of the closed robot, each (..., nv, nv); ``soft`` are the loops that give."""
    rates = velocity_terms(model, own_frames(evaluate(model, q)), v)
    found = closures(model, rates.links, [*loops, *soft])
    held = [_best_axes(model, rates.links, in_body_axes(x)) for x in found[: len(loops)]]
    f = split_forces(with_springs(model, q, v, external, soft))
    run = _with_couplings if model.couplings else _with_branches
    P, A_C, B_C = run(State(model, rates, tau, f, held, found[len(loops) :]))
    return P, -A_C, -B_C


def _best_axes(model: Model, links: Links, x: Closure) -> Closure:
    """A weld to the world of a body that the first body carries, which is free to move, in axes of that one."""
    welded = x.loop.kind == "weld" and x.bodies[0] < 0 <= x.bodies[1]
    if model.couplings or not welded or not isinstance(model.joints[0].kind, Free):
        return x
    return in_base_axes(links, x) if links.tree.path(x.bodies[1])[0] == 0 else x


def mass_inverse(model: Model, q: Array, loops: Sequence[Loop]) -> Array:
    """P alone, (..., nv, nv): on symbols the rest is never computed, and it takes about a quarter of the operations of
    :func:`.equations.mass_inverse` (a humanoid on two welded feet 17,700 instead of 63,658)."""
    nothing = arrays.zeros((model.nv,), like=q)
    return linearize_forward(model, q, nothing, nothing, None, loops)[0]


def _with_softness(A_D: Array, B_D: Array, soft: Sequence[LoopVariation]) -> tuple[Array, Array]:
    for x in soft:
        A, B = x.softness()
        A_D, B_D = A_D + A, B_D + B
    return A_D, B_D


class State(NamedTuple):
    """A closed robot under forces."""

    model: Model
    rates: Velocities
    tau: Array
    external: list[Array] | None  # with those of soft loops
    loops: list[Closure]
    soft: list[Closure]

    @property
    def base(self) -> Array:
        """Gravity, as the world's acceleration."""
        return base_acceleration(self.model, self.rates.links.q)

    @property
    def kinds(self) -> list[Loop]:
        return [x.loop for x in self.loops]

    def left_over(self) -> tuple[Array, Array]:
        """T − 𝓒 (..., nv, 1), and Ġβ (..., m, 1): what joints and loops ask of β̇."""
        links = self.rates.links
        still = motion(self.rates, links.accelerated(self.rates.beta, None), self.external, self.base)
        opening = [x.acceleration(self.rates.V, still.alpha, self.base) for x in self.loops]
        return (self.tau - links.join(still.T))[..., None], stacked(opening, links.q, 1)

    def moving(self, a: Array, lam: Array) -> tuple[Motion, list[Array]]:
        """The motion with accelerations a (..., nv) and the loops' forces beside the external ones; λ by loop."""
        links = self.rates.links
        f = list(self.external or [at_rest(links.q) for _ in links.names])
        parts, start = [], 0
        for x in self.loops:
            parts.append(lam[..., start : start + x.loop.size, :])
            start += x.loop.size
            for body, F in x.forces(parts[-1]).items():
                f[body] = f[body] + F
        return motion(self.rates, links.accelerated(self.rates.beta, a), f, self.base), parts


# --- robots with coupled joints --------------------------------------------------------------------------------------


def _with_couplings(x: State) -> Matrices:
    links = x.rates.links
    inverse = arrays.symmetric(articulated(links.nodes).solve(links.nodes, arrays.eye(links.nv, like=links.q)))
    cut = cut_by_inverse(x.model, x.kinds, inverse, _stacked_jacobian(links, x.loops))
    left, opening = x.left_over()
    m, lam = x.moving(cut.motions(left, -opening)[..., 0], cut.forces(left, opening))
    _, A_D, B_D = coupled.inverse_matrices(m)
    changes = loop_variations(m, joint_variations(m), [*x.loops, *x.soft], x.base, like(m))
    return cut.P, *_closed(cut, A_D, B_D, changes, lam)


def _stacked_jacobian(links: Links, loops: Sequence[Closure]) -> Array:
    """G, (..., m, nv)."""
    return stacked([loop_jacobian(links, x) for x in loops], links.q, links.nv)


def _closed(
    cut: CutMatrices,
    A_D: Array,
    B_D: Array,
    changes: list[LoopVariation],
    lam: list[Array],
    through: Sequence[int] = (),
) -> tuple[Array, Array]:
    """PA_D + Z*c_v and PB̂ + Z*c_q; of ``changes`` the first, as many as λ has parts, are those of rigid loops.

    ``through``: see :meth:`.HeldCut.motions`.
    """
    rigid, soft = changes[: len(lam)], changes[len(lam) :]
    A_D, B_hat = _with_softness(A_D, B_D, soft)
    for x, part in zip(rigid, lam):
        B_hat = B_hat + x.forces_by_q(part)
    if not rigid:
        return cut.P @ A_D, cut.P @ B_hat
    c_v = arrays.concatenate([x.acceleration_by_v() for x in rigid], axis=-2)
    c_q = arrays.concatenate([x.acceleration_by_q() for x in rigid], axis=-2)
    return cut.motions(A_D, c_v, through), cut.motions(B_hat, c_q, through)


# --- single bodies: the core, and the branches on it ------------------------------------------------------------------


class _Core(NamedTuple):
    """The core of a robot at a configuration, its equations as matrices, and how its bodies carry branches."""

    bodies: list[int]
    links: Links
    loops: list[Closure]
    soft: list[Closure]
    branches: list[Branches]
    R: list[Any]
    cut: CutMatrices
    J: list[Array]  # (..., 6, n) of the bodies that carry branches, at their origins in their axes
    through: list[int]  # by rate, the weld that holds its joint, of those that hold the base


def _core(x: State) -> _Core:
    links = x.rates.links
    bodies = core_bodies(links, [k for loop in (*x.loops, *x.soft) for k in loop.bodies])
    own, place = part_of_links(links, bodies), {-1: -1} | {k: i for i, k in enumerate(bodies)}
    branches = branches_on(links, bodies)
    loops, soft = ([_renumbered(loop, place) for loop in some] for some in (x.loops, x.soft))
    R = composites(own, branches)
    mass, G = from_composites(own, R), _stacked_jacobian(own, loops)
    welds = [i for i, loop in enumerate(loops) if loop.seen is not None]
    through: list[int] = []
    if welds:
        ends = np.cumsum([0, *(loop.loop.size for loop in loops)])
        joints = part_of_links(own, range(1, len(own.sizes)))
        cut: CutMatrices = cut_by_welds(x.model, x.kinds, joints, mass, G, [int(ends[i]) for i in welds])
        legs = [set(own.tree.path(loops[i].bodies[1])[1:]) for i in welds]
        found = [next((w for w, leg in enumerate(legs) if k in leg), 0) for k in range(len(own.sizes))]
        through = [w for w, r in zip(found, own.sizes) for _ in range(r)]
    else:
        cut = cut_by_factors(x.model, x.kinds, own, mass, G)
    return _Core(bodies, own, loops, soft, branches, R, cut, [_jacobian(own, b.on) for b in branches], through)


def _renumbered(x: Closure, place: dict[int, int]) -> Closure:
    """A loop with its bodies by other numbers."""
    seen = None if x.seen is None else {place[k]: X for k, X in x.seen.items()}
    return replace(x, bodies=(place[x.bodies[0]], place[x.bodies[1]]), seen=seen)


def _jacobian(links: Links, body: int) -> Array:
    """How a body moves with all joints, (..., 6, n), in its own axes at its origin."""
    columns = [arrays.zeros((6, r), like=links.q) for r in links.sizes]
    X = identity(links.q)
    for k in links.tree.path(body)[::-1]:
        columns[k] = X.T @ links.H[k].mT
        X = links.phi[k].compose(X)
    return links.join_columns(columns, 6)


def _with_branches(x: State) -> Matrices:
    links, core = x.rates.links, _core(x)
    order = [columns_of(links, core.bodies), *(columns_of(links, b.bodies[1:]) for b in core.branches)]
    m, lam = x.moving(*_accelerated(x, core, order))

    own = part_of_motion(m, core.links, core.bodies)
    hanging = [b.moving(m) for b in core.branches]
    variations, answers = without_free_bases(own, joint_variations(own))
    R_hat = composite_rates(own, list(zip(core.branches, hanging)))
    _, A_D, B_D = algorithm_2(own, variations, (core.R, R_hat))
    changes = loop_variations(own, variations, [*core.loops, *core.soft], x.base, like(m))
    A, B = _closed(core.cut, A_D, B_D, changes, lam, core.through)

    blocks = {(0, 0): (core.cut.P, *with_free_bases(core.links, answers, A, B))}
    found: list[tuple[Hanging, Array]] = []
    for i, (b, moved, J) in enumerate(zip(core.branches, hanging, core.J), start=1):
        PJ = core.cut.P @ J.mT
        h = algorithm_6_on_a_body(moved, b.art, arrays.symmetric(J @ PJ))
        blocks[i, i] = h.matrices
        blocks[0, i] = (-(PJ @ h.W), PJ @ h.Y_A, PJ @ h.Y_B)
        carrier = point(own, variations, b.on, identity(links.q), x.base, like(m))
        A_i = h.W.mT @ (carrier.lambda_v - J @ A) + h.Q.mT @ J[..., :3, :]
        B_i = h.W.mT @ (carrier.lambda_q - J @ B) + h.Q.mT @ carrier.theta_q[..., :3, :]
        blocks[i, 0] = (arrays.transpose(blocks[0, i][0]), A_i, B_i)
        for j, (other, J_other) in enumerate(found, start=1):
            Omega = J @ (core.cut.P @ J_other.mT)
            blocks[i, j] = _beside(h, other, Omega)
            blocks[j, i] = _beside(other, h, arrays.transpose(Omega))
        found.append((h, J))
    # of the core they are in A_D and B_D already
    branched = [None if k in core.bodies else x for k, x in enumerate(m.rates.softness)]
    return springs.softened(links, branched, *_in_order(blocks, order, like(m)))


def _accelerated(x: State, core: _Core, order: list[np.ndarray]) -> tuple[Array, Array]:
    """β̇ (..., nv) and λ (..., m, 1) of the closed robot."""
    left, opening = x.left_over()
    parts = [left[..., columns, :] for columns in order]
    for b, T, J in zip(core.branches, parts[1:], core.J):
        parts[0] = parts[0] - J.mT @ (b.W @ T)
    found = [core.cut.motions(parts[0], -opening)]
    for b, T, J in zip(core.branches, parts[1:], core.J):
        found.append(b.art.solve(b.links, T) - b.W.mT @ (J @ found[0]))
    a = arrays.concatenate(found, axis=-2)[..., np.argsort(np.concatenate(order)), 0]
    return a, core.cut.forces(parts[0], opening)


def _beside(rows: Hanging, columns: Hanging, Omega: Array) -> Matrices:
    """The blocks of branches on different bodies, of which one yields by Ω to a force on the other."""
    X = rows.W.mT @ Omega
    return X @ columns.W, -(X @ columns.Y_A), -(X @ columns.Y_B)


def _in_order(blocks: dict[tuple[int, int], Matrices], order: list[np.ndarray], similar: Array) -> Matrices:
    """The matrices with rows and columns in the order of joint space."""
    sizes, back = [len(x) for x in order], np.argsort(np.concatenate(order))
    out = []
    for i in range(3):
        whole = arrays.from_blocks({key: x[i] for key, x in blocks.items()}, sizes, sizes, like=similar)
        out.append(whole[..., back, :][..., :, back])
    return out[0], out[1], out[2]


# --- inertial parameters ---------------------------------------------------------------------------------------------


def sensitivity(model: Model, q: Array, v: Array, tau: Array, external: Array | None, loops: Sequence[Loop]) -> Array:
    """∂β̇/∂π of the closed robot, (..., nv, 10 bodies): P(−Y)."""
    a, lam, opened = forward_dynamics(model, q, v, tau, external, loops)
    rates = velocity_terms(model, own_frames(evaluate(model, q)), v)
    m, _ = State(model, rates, tau, split_forces(external), opened.loops, []).moving(a, lam[..., None])
    Y = regressor_of(m)
    return opened.solve(-Y, None, Y.shape[-1])[0]


# --- states that stay closed -----------------------------------------------------------------------------------------


def _moving_loops(model: Model, q: Array, v: Array, loops: Sequence[Loop]) -> list[LoopVariation]:
    """The loops' variations at a velocity."""
    rates = velocity_terms(model, own_frames(evaluate(model, q)), v)
    m = motion(rates, rates.links.accelerated(rates.beta, None), None, at_rest(q))
    return loop_variations(m, joint_variations(m), closures(model, rates.links, loops), at_rest(q), like(m))


def in_independent_rates(
    model: Model, q: Array, v: Array, matrices: Matrices, X: Array, entries: Sequence[int], loops: Sequence[Loop]
) -> Matrices:
    """The linearised model in the rates β of independent joints, each (..., r, r), from that in all, θ̇ = Xβ.

    A closed change has δq = Xδq_ind and δθ̇ = Xδβ + ∂(Xβ)/∂q δq_ind, whose last part undoes ∂(Gβ)/∂q Xδq_ind without
    the independent joints; ``entries`` are theirs.
    """
    chosen = list(entries)
    opening = stacked([x.velocity_by_q() @ X for x in _moving_loops(model, q, v, loops)], q, len(chosen))
    undone = factored(model, q, loops).solve(None, -opening, len(chosen))[0]
    bent = undone - X @ undone[..., chosen, :]
    P, by_v, by_q = (x[..., chosen, :] for x in matrices)
    return P[..., :, chosen], by_v @ X, by_q @ X + by_v @ bent


def projection(model: Model, q: Array, v: Array, loops: Sequence[Loop]) -> Array:
    """(..., 2nv, 2nv): what projection leaves of a change [δq; δβ] of a closed state.

    δq ← Nδq,  δβ ← Nδβ − 𝓜⁻¹G*X⁺ ∂(Gβ)/∂q Nδq,  with N = I − 𝓜⁻¹G*X⁺G; for δq, G without rows of rates alone.
    """
    n = model.nv
    if not loops:  # all of them are soft
        return arrays.eye(2 * n, like=q)
    opened = factored(model, q, loops)
    changes = _moving_loops(model, q, v, loops)
    G = arrays.concatenate([x.closure.W.mT @ x.D for x in changes], axis=-2)
    dG = arrays.concatenate([x.velocity_by_q() for x in changes], axis=-2)
    N = arrays.eye(n, like=q) - opened.solve(None, G, n)[0]
    held = [row for loop in loops for row in loop.holonomic_rows]
    N_q = N
    if not all(held):
        N_q = arrays.eye(n, like=q) - opened.solve(None, arrays.constant(np.array(held) * 1.0, q)[:, None] * G, n)[0]
    back = -opened.solve(None, dG @ N_q, n)[0]
    return arrays.block([[N_q, arrays.zeros((n, n), like=q)], [back, N]])
