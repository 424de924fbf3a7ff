"""Motion in joint and in diagonal coordinates, with small fixed steps of the same size.

The state is (q, w), where w are the joint rates v, the total rates ν, or their un-normalised form ξ
(Diagonalized dynamics paper §8). :func:`rate_coordinates` gives what a step needs to know of such a state, interpreted
or compiled; :data:`STEPS` are the steps, on the configuration manifold through ``robot.integrate``, batched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import inputs
from ..arrays import Array
from ..dynamics.articulated import articulated, smooth
from ..dynamics.diagonal.coordinates import DiagonalState, driven_rates
from ..dynamics.links import base_acceleration, evaluate
from ..errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from ..robot.robot import Robot

Force = Callable[[float, Array, Array], Array] | None  # τ(t, q, v), (..., nv); None: no joint forces


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Rates w beside q: how they come from joint rates and go back, and how the state (q, w) changes."""

    name: str
    from_joint: Callable[[Array, Array], Array]  # (q, v) → w
    to_joint: Callable[[Array, Array], Array]  # (q, w) → v
    derivative: Callable[[Array, Array, Array], tuple[Array, Array]]  # (q, w, τ) → (v, ẇ)

    def joint_forces(self, force: Force, t: float, q: Array, w: Array) -> Array:
        """τ at a state; the joint rates are worked out only where a force asks for them."""
        return np.zeros_like(w) if force is None else force(t, q, self.to_joint(q, w))


COORDINATES = ("joint", "total", "unnormalized")


def rate_coordinates(robot: Robot, name: str, compiled: bool = False) -> Coordinates:
    """``name``: "joint" (w = v), "total" (w = ν) or "unnormalized" (w = ξ); ``compiled`` runs kernels."""
    if name not in COORDINATES:
        raise UnknownNameError(f"no coordinates are named {name!r}; choose from {', '.join(COORDINATES)}")
    target = "cpu" if compiled else "numpy"
    if name == "joint":
        forward = robot.compile("forward_dynamics", target=target)
        return Coordinates(name, lambda q, v: v, lambda q, v: v, lambda q, v, tau: (v, forward(q, v, tau)))
    named = ("total_rates", "joint_rates", "diagonal_dynamics")
    return Coordinates(name, *(robot.compile(f, target=target, normalized=name == "total") for f in named))


# --- steps -----------------------------------------------------------------------------------------------


def semi_implicit_euler(robot: Robot, x: Coordinates, t: float, q: Array, w: Array, force: Force, h: float) -> Any:
    """w ← w + hẇ(q, w), then q ← q ⊕ h v(q, w): first order."""
    _, w_dot = x.derivative(q, w, x.joint_forces(force, t, q, w))
    w = w + h * w_dot
    return robot.integrate(q, h * x.to_joint(q, w)), w


def runge_kutta_4(robot: Robot, x: Coordinates, t: float, q: Array, w: Array, force: Force, h: float) -> Any:
    """The classical fourth-order step; on the manifold its commutator-free form, which needs ⊕ alone.

    Stage 4 starts from stage 2, and q moves by two exponentials; where ⊕ is addition this is the classical step.
    """

    def slope(t: float, q: Array, w: Array) -> tuple[Array, Array]:
        return x.derivative(q, w, x.joint_forces(force, t, q, w))

    v1, a1 = slope(t, q, w)
    q2 = robot.integrate(q, 0.5 * h * v1)
    v2, a2 = slope(t + 0.5 * h, q2, w + 0.5 * h * a1)
    v3, a3 = slope(t + 0.5 * h, robot.integrate(q, 0.5 * h * v2), w + 0.5 * h * a2)
    v4, a4 = slope(t + h, robot.integrate(q2, h * (v3 - 0.5 * v1)), w + h * a3)
    q = robot.integrate(q, h / 12.0 * (3.0 * v1 + 2.0 * (v2 + v3) - v4))
    q = robot.integrate(q, h / 12.0 * (3.0 * v4 + 2.0 * (v2 + v3) - v1))
    return q, w + h / 6.0 * (a1 + 2.0 * (a2 + a3) + a4)


def midpoint(robot: Robot, x: Coordinates, t: float, q: Array, w: Array, force: Force, h: float) -> Any:
    """The explicit midpoint rule, second order."""
    v, w_dot = x.derivative(q, w, x.joint_forces(force, t, q, w))
    q_mid, w_mid = robot.integrate(q, 0.5 * h * v), w + 0.5 * h * w_dot
    v, w_dot = x.derivative(q_mid, w_mid, x.joint_forces(force, t + 0.5 * h, q_mid, w_mid))
    return robot.integrate(q, h * v), w + h * w_dot


def rotation_midpoint(robot: Robot, x: Coordinates, t: float, q: Array, w: Array, force: Force, h: float) -> Any:
    """Second order, for total rates only: the Coriolis term turns ν, so it is integrated as a turn.

    At the midpoint C = Aν with the skew A = (Cν* − νC*)/ν*ν. Forces act as two half kicks around the Cayley turn
    (I + ½hA)⁻¹(I − ½hA): whatever h, what is not work of the forces leaves ½ν*ν as it is.
    """
    if x.name != "total":
        raise InputError('the step "rotation_midpoint" turns ν, and needs coordinates "total"')
    v, w_dot = x.derivative(q, w, x.joint_forces(force, t, q, w))
    q_mid, w_mid = robot.integrate(q, 0.5 * h * v), w + 0.5 * h * w_dot
    tau = x.joint_forces(force, t + 0.5 * h, q_mid, w_mid)
    v_mid, w_dot = x.derivative(q_mid, w_mid, tau)
    push = x.derivative(q_mid, np.zeros_like(w), tau)[1]  # at rest there is no C
    w = _turned(w + 0.5 * h * push, push - w_dot, w_mid, h) + 0.5 * h * push
    return robot.integrate(q, h * v_mid), w


def _turned(w: Array, C: Array, nu: Array, h: float) -> Array:
    """(I + ½hA)⁻¹(I − ½hA)w for A = (Cν* − νC*)/ν*ν with C ⊥ ν, a turn in their plane; w where ν = 0."""
    square = (nu * nu).sum(axis=-1, keepdims=True)
    safe = np.where(square == 0.0, 1.0, square)
    C = C - nu * ((nu * C).sum(axis=-1, keepdims=True) / safe)  # rounding aside, it is orthogonal already

    def A(x: Array) -> Array:
        dot = [(y * x).sum(axis=-1, keepdims=True) for y in (nu, C)]
        return (C * dot[0] - nu * dot[1]) / safe

    # A³ = −ω²A in the plane, ω² = |C|²/|ν|², so the Cayley transform is a quadratic in A.
    omega2 = (C * C).sum(axis=-1, keepdims=True) / safe
    Aw = A(w)
    return w - (h * Aw - 0.5 * h * h * A(Aw)) / (1.0 + 0.25 * h * h * omega2)


STEPS = {
    "semi_implicit_euler": semi_implicit_euler,
    "midpoint": midpoint,
    "runge_kutta_4": runge_kutta_4,
    "rotation_midpoint": rotation_midpoint,
}


# --- motion ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Motion:
    """t (steps+1,), q (steps+1, ..., nq), joint rates v and the integrated rates w (steps+1, ..., nv)."""

    t: Array
    q: Array
    v: Array
    w: Array


def motion(
    robot: Robot,
    q: Any,
    v: Any,
    step: float,
    steps: int,
    force: Force = None,
    coordinates: str | Coordinates = "total",
    method: str = "runge_kutta_4",
) -> Motion:
    """The motion from (q, v) in ``steps`` steps of size ``step`` [s].

    ``force(t, q, v)`` gives joint forces (..., nv); without it there are none. ``coordinates`` is one of
    :data:`COORDINATES`, or what :func:`rate_coordinates` made, compiled say. ``method`` is one of :data:`STEPS`, or
    "two_sweep": the paper's own order of Algorithm 8.1, for coordinates "unnormalized" (see :func:`two_sweep`).
    """
    if method not in (*STEPS, "two_sweep"):
        raise UnknownNameError(f"no step is named {method!r}; choose from {', '.join(STEPS)}, two_sweep")
    if not (np.isfinite(step) and isinstance(steps, (int, np.integer)) and steps >= 0):
        raise InputError(f"a motion needs a finite step and a whole number of steps ≥ 0, got {step=}, {steps=}")
    checked = {"q": inputs.configuration(robot, q), "v": inputs.vector(v, robot.nv, "v", robot)}
    batch, (q, v) = inputs.together(robot, **checked)
    q, v = np.broadcast_to(q, (*batch, robot.nq)), np.broadcast_to(v, (*batch, robot.nv))
    x = rate_coordinates(robot, coordinates) if isinstance(coordinates, str) else coordinates
    if method == "two_sweep":
        if x.name != "unnormalized":
            raise InputError('the step "two_sweep" is for coordinates "unnormalized", as in Algorithm 8.1')
        return two_sweep(robot, q, x.from_joint(q, v), step, steps, force)
    w = x.from_joint(q, v)
    kept = [(q, v, w)]
    for i in range(steps):
        q, w = STEPS[method](robot, x, i * step, q, w, force, step)
        kept.append((q, x.to_joint(q, w), w))
    return _collected(kept, step)


def _collected(kept: list[tuple[Array, Array, Array]], step: float) -> Motion:
    q, v, w = (np.stack(part) for part in zip(*kept))
    return Motion(step * np.arange(len(q)), q, v, w)


def two_sweep(robot: Robot, q: Array, xi: Array, step: float, steps: int, force: Force) -> Motion:
    """Algorithm 8.1 in the order it is printed: two sweeps a step, each from what the last one left.

    Inward at θ: P, D, G, P° and ξ̇, with the velocities V, θ̇ of the *last* step; ξ ← ξ + hξ̇; outward: θ̇, V from ξ
    with the G just made; θ ← θ ⊕ hθ̇. V is thus one step old where it is used, which costs an error of first order
    in h; :func:`semi_implicit_euler` spends a third sweep to avoid it.
    """
    links = evaluate(robot, q)
    beta, V = smooth(links, articulated(links), links.split(xi))
    v = links.join(beta)
    kept = [(q, v, xi)]
    for i in range(steps):
        art = articulated(links)
        x = DiagonalState(robot, links, art, links.split(xi), beta, V)
        tau = links.split(np.zeros_like(v) if force is None else force(i * step, q, v))
        mu = driven_rates(x, x.rates(), tau, base_acceleration(robot, q))
        xi = xi + step * links.join([Di @ m for Di, m in zip(art.D_inverse, mu)])
        beta, V = smooth(links, art, links.split(xi))
        v = links.join(beta)
        q = robot.integrate(q, step * v)
        links = evaluate(robot, q)
        kept.append((q, v, xi))
    return _collected(kept, step)
