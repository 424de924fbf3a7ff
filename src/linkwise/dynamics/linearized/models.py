"""Linearised models of a robot: what the methods of a robot return, and the table of ways to get them.

    δT = 𝓜δa + dv δv + dq δq      (inverse; dv = A_D, dq = B_D of the Linearized dynamics paper)
    δa = 𝓜⁻¹δT + dv δv + dq δq    (forward; dv = −A_C, dq = −B_C)

δq is a tangent vector of ``robot.integrate``. External forces stay as they are in the axes of their bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import arrays
from ...arguments import number, shown
from ...arrays import Array, SameKind
from ...errors import InputError
from ...model.model import Model
from .. import springs
from ..articulated import Articulated, articulated
from ..forward.articulated_body import articulated_body
from ..inverse import split_forces
from ..links import Links, base_acceleration, evaluate
from ..referred_links import in_one_frame, one_frame_pays, own_frames
from ..tangent import transport
from . import coupled, forward
from .actuators import Actuators
from .algorithm_6 import algorithm_6
from .algorithm_6_of_nodes import algorithm_6_of_nodes
from .state_space import StateSpace, zero_order_hold
from .variations import Motion, Velocities, motion, velocity_terms


class InverseLinearization(NamedTuple):
    """δT = M δa + dv δv + dq δq, each (..., nv, nv)."""

    M: SameKind
    dv: SameKind
    dq: SameKind


class _Forward(NamedTuple):
    Minv: SameKind
    dv: SameKind
    dq: SameKind


class ForwardLinearization(_Forward):
    """δa = Minv δτ + dv δv + dq δq, each (..., nv, nv)."""

    origin: Any = None  # (robot, v), set by the robot

    def set_origin(self, robot: Any, v: Array) -> None:
        """Where this was linearised; the state's own motion enters A."""
        self.origin = (robot, v)

    def state_space(
        self, step: float | None = None, robot: Any = None, v: Any = None, *, actuators: Actuators | None = None
    ) -> StateSpace:
        """A, B of the state [δq; δv] and the input δτ: continuous, or with ``step`` [s] discrete by zero-order hold.

        With ``actuators`` (:class:`linkwise.control.Actuators`) the state is [δq; δv; δτ], and the input what drives
        them. What a compiled kernel returned does not know the robot: pass ``robot`` and the velocity ``v`` then.
        """
        origin = self.origin if robot is None else (robot, arrays.namespace(self.dv).asarray(v))
        if origin is None:
            raise InputError("this linearisation does not know its robot: call state_space(robot=robot, v=v)")
        return _assembled(self, transport(*origin), step, actuators)


def _assembled(x: ForwardLinearization, X: Array, step: float | None, actuators: Actuators | None) -> StateSpace:
    n = x.Minv.shape[-1]
    identity, zero = arrays.eye(n, like=x.Minv), arrays.zeros((n, n), like=x.Minv)
    if actuators is None:
        A = arrays.block([[X, identity], [x.dq, x.dv]])
        B = arrays.concatenate([zero, x.Minv], axis=-2)
    else:
        if not isinstance(actuators, Actuators):
            raise InputError(f"actuators must be linkwise.control.Actuators, got {shown(actuators)}")
        decay, back, gain = actuators.blocks(n, like=x.Minv)
        A = arrays.block([[X, identity, zero], [x.dq, x.dv, x.Minv], [zero, back, decay]])
        B = arrays.concatenate([zero + 0.0 * x.Minv, zero + 0.0 * x.Minv, gain + 0.0 * x.Minv], axis=-2)
    if step is None:
        return StateSpace(A, B)
    step = number(step, "the step of a discrete model", above=0.0)
    return StateSpace(*zero_order_hold(A, B, step), step)


class InverseGradient(NamedTuple):
    """The gradients of w·T, each (..., nv)."""

    dq: SameKind
    dv: SameKind
    da: SameKind


class ForwardGradient(NamedTuple):
    """The gradients of w·a, each (..., nv)."""

    dq: SameKind
    dv: SameKind
    dtau: SameKind


# --- states ------------------------------------------------------------------------------------------


def _started(
    model: Model, q: Array, v: Array, external: Array | None, for_matrices: bool = False
) -> tuple[Velocities, Any, Array]:
    """Velocity terms, external forces per body, the base's acceleration: in link frames, or where every two related
    bodies are ``for_matrices`` to meet in the frames that take fewer operations."""
    links = evaluate(model, q)
    placed = in_one_frame(links) if for_matrices and one_frame_pays(links) else own_frames(links)
    forces = split_forces(external)
    forces = None if forces is None else [placed.force(k, f) for k, f in enumerate(forces)]
    return velocity_terms(model, placed, v), forces, base_acceleration(model, q)


def inverse_motion(
    model: Model, q: Array, v: Array, a: Array, external: Array | None = None, for_matrices: bool = False
) -> Motion:
    """The motion with accelerations a, ready to be linearised."""
    rates, f, base = _started(model, q, v, external, for_matrices)
    return motion(rates, rates.links.accelerated(rates.beta, a), f, base)


def forward_motion(
    model: Model, q: Array, v: Array, tau: Array, external: Array | None = None
) -> tuple[Motion, Articulated]:
    """(motion, articulated inertias) under joint forces τ."""
    if model.couplings:
        m = inverse_motion(model, q, v, articulated_body(model, q, v, tau, external).acceleration, external)
        return m, articulated(m.links.nodes)
    rates, f, base = _started(model, q, v, external)
    art = articulated(rates.links)
    a = forward.accelerations_by_articulation(rates, art, rates.links.split(tau), f, base)
    return motion(rates, a, f, base), art


# --- inverse dynamics --------------------------------------------------------------------------------


def inverse_by_algorithm_2(model: Model, q: Array, v: Array, a: Array, external: Array | None) -> Any:
    """𝓜, A_D, B_D in O(n²) (LD Algorithm 2)."""
    return coupled.inverse_matrices(inverse_motion(model, q, v, a, external, for_matrices=True))


def inverse_by_algorithm_1(model: Model, q: Array, v: Array, a: Array, external: Array | None) -> Any:
    """𝓜, A_D, B_D column by column (LD Algorithm 1 along every unit direction)."""
    m = inverse_motion(model, q, v, a, external)
    return _columns(m.links, lambda dq, dv, da: coupled.inverse_change(m, dq, dv, da))


def _columns(links: Links, run: Callable[..., Array]) -> tuple[Array, Array, Array]:
    """The three Jacobians (third, second, first argument) of a function of matrices (δq, δv, δx)."""
    n = links.nv
    one, none = arrays.eye(n, like=links.q), arrays.zeros((n, n), like=links.q)
    third, second, first = (run(*d) for d in ((none, none, one), (none, one, none), (one, none, none)))
    return third, second, first


INVERSE_LINEARIZATIONS: dict[str, Callable[..., Any]] = {
    "algorithm_1": inverse_by_algorithm_1,
    "algorithm_2": inverse_by_algorithm_2,
}


def inverse_jvp(
    model: Model, q: Array, v: Array, a: Array, dq: Array, dv: Array, da: Array, external: Array | None
) -> Array:
    """δT along (δq, δv, δa) (LD Algorithm 1)."""
    m = inverse_motion(model, q, v, a, external)
    return coupled.inverse_change(m, dq[..., None], dv[..., None], da[..., None])[..., 0]


def inverse_vjp(model: Model, q: Array, v: Array, a: Array, weights: Array, external: Array | None) -> InverseGradient:
    """∂(w·T)/∂(q, v, a) in O(n)."""
    m = inverse_motion(model, q, v, a, external)
    return InverseGradient(*(x[..., 0] for x in coupled.inverse_gradient(m, weights[..., None])))


# --- forward dynamics --------------------------------------------------------------------------------


def forward_by_algorithm_4(model: Model, q: Array, v: Array, tau: Array, external: Array | None) -> Any:
    """𝓜⁻¹, A_C, B_C through the mass matrix, O(n³) (LD Algorithm 4)."""
    if model.couplings:
        m, art = forward_motion(model, q, v, tau, external)
        _, A_D, B_D = coupled.inverse_matrices(m)
        inverse = arrays.symmetric(art.solve(m.links.nodes, arrays.eye(model.nv, like=q)))
        return inverse, inverse @ A_D, inverse @ B_D
    rates, f, base = _started(model, q, v, external, for_matrices=True)
    a, factors = forward.accelerations_by_mass(rates, rates.links.split(tau), f, base)
    return forward.algorithm_4(motion(rates, a, f, base), factors)


def forward_by_algorithm_6(model: Model, q: Array, v: Array, tau: Array, external: Array | None) -> Any:
    """𝓜⁻¹, A_C, B_C in O(n²) (LD Algorithm 6)."""
    m, art = forward_motion(model, q, v, tau, external)
    if model.couplings:
        return algorithm_6_of_nodes(m, art)
    return springs.softened(m.links, m.rates.softness, *algorithm_6(m, art))


def _forward_by_directions(run: Callable[..., list[Array]]) -> Callable[..., Any]:
    def matrices(model: Model, q: Array, v: Array, tau: Array, external: Array | None) -> Any:
        m, art = forward_motion(model, q, v, tau, external)
        Minv, dv, dq = _columns(m.links, lambda dq, dv, dtau: _forward_change(m, art, run, (dq, dv, dtau)))
        return Minv, -dv, -dq

    return matrices


def _forward_change(m: Motion, art: Articulated, run: Callable[..., list[Array]], along: Sequence[Array]) -> Array:
    """δa, (..., nv, w), along joint-space matrices (δq, δv, δτ); over nodes ρ = A_Dδv + B_Dδq is Algorithm 1's."""
    links = m.links
    if links.lift is None:
        return links.join_rows(run(m, art, *map(links.split_rows, along)), along[0].shape[-1])
    dq, dv, dtau = along
    return art.solve(links.nodes, dtau - coupled.inverse_change(m, dq, dv, None))


def _algorithm_3(m: Motion, _: Any, dq: list[Array], dv: list[Array], dtau: list[Array]) -> list[Array]:
    return forward.algorithm_3(m, dq, dv, dtau)


FORWARD_DIRECTIONS: dict[str, Callable[..., list[Array]]] = {
    "algorithm_3": _algorithm_3,
    "algorithm_5": forward.algorithm_5,
    "algorithm_5_ii": forward.algorithm_5_ii,
}

# Each gives 𝓜⁻¹, A_C and B_C; those made for one direction are run along all of them.
FORWARD_LINEARIZATIONS: dict[str, Callable[..., Any]] = {
    "algorithm_3": _forward_by_directions(_algorithm_3),
    "algorithm_4": forward_by_algorithm_4,
    "algorithm_5": _forward_by_directions(forward.algorithm_5),
    "algorithm_5_ii": _forward_by_directions(forward.algorithm_5_ii),
    "algorithm_6": forward_by_algorithm_6,
}


def quickest_forward(model: Model, products_of_one: int, products_of_two: int) -> str:
    """The method that is quickest for this robot, by its structure; by walks where those are all there is.

    Algorithm 4 takes :func:`elimination_products`, where Algorithm 6 takes about ``products_of_one`` for each degree of
    freedom and ``products_of_two`` for each two of :func:`meeting_pairs`.
    """
    if not model.tree.has_single_bodies:
        return "algorithm_6"
    spinning = any(c.spin is not None for c in model.constants())
    if model.couplings:
        return "algorithm_4" if spinning else "algorithm_6"
    instead = products_of_one * model.nv + products_of_two * meeting_pairs(model)
    return "algorithm_4" if spinning or elimination_products(model) < instead else "algorithm_6"


def elimination_products(model: Model) -> int:
    """How many products (I − HψK)*D⁻¹(I − HψK)X takes for an X with the zeros of A_D.

    For every degree of freedom, those outboard of it times those related to it.
    """
    return sum(r * out * (out + to_base - r) for r, out, to_base in _freedoms(model))


def meeting_pairs(model: Model) -> int:
    """How many two degrees of freedom are neither inboard of the other, but both outboard of a third."""
    related = sum(r * (2 * to_base - r) for r, _, to_base in _freedoms(model))
    return (sum(out**2 for r, out, to_base in _freedoms(model) if r and to_base == r) - related) // 2


def _freedoms(model: Model) -> list[tuple[int, int, int]]:
    """Of each body's joint, its degrees of freedom, those from it outward, and those from it to the base."""
    sizes = [j.kind.nv for j in model.joints]
    inboard = model.tree.outward(lambda to_base, r: to_base + r, 0, sizes)
    outboard = model.tree.inward(lambda out, r: (out + r, out + r), 0, sizes)
    return list(zip(sizes, outboard, inboard))


def linearize_forward(
    model: Model, q: Array, v: Array, tau: Array, external: Array | None, run: Callable[..., Any]
) -> ForwardLinearization:
    """𝓜⁻¹, −A_C and −B_C."""
    Minv, A_C, B_C = run(model, q, v, tau, external)
    return ForwardLinearization(Minv, -A_C, -B_C)


def forward_jvp(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    along: Sequence[Array],
    external: Array | None,
    run: Callable[..., list[Array]],
) -> Array:
    """δa along (δq, δv, δτ) in O(n) (LD Algorithm 5)."""
    m, art = forward_motion(model, q, v, tau, external)
    return _forward_change(m, art, run, [d[..., None] for d in along])[..., 0]


def forward_vjp(
    model: Model, q: Array, v: Array, tau: Array, weights: Array, external: Array | None
) -> ForwardGradient:
    """∂(w·a)/∂(q, v, τ) in O(n): with u = 𝓜⁻¹w, which is the gradient in τ, the others are −A_D*u and −B_D*u."""
    m, art = forward_motion(model, q, v, tau, external)
    u = art.solve(m.links.nodes, weights[..., None])
    gq, gv, _ = coupled.inverse_gradient(m, u)
    return ForwardGradient(-gq[..., 0], -gv[..., 0], u[..., 0])
