"""Sensitivities to inertial parameters: regressors, forward dynamics, base parameters, trajectories.

The parameters of a body are those of ``robot.inertial_parameters``: mass m, first moment h = m c, and the inertia J
about the body's origin as Jxx, Jxy, Jyy, Jxz, Jyz, Jzz. Joint forces are linear in them: T = Yπ + what rotors and
external forces add.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ... import arrays
from ...arrays import Array
from ...errors import InputError, UnknownNameError
from ...model.model import Model
from ...spatial import cross, skew
from .inverse import like
from .models import forward_motion, inverse_motion
from .step_derivatives import STEPS, Accelerate, Varied
from .variations import Motion


def body_regressor(V: Array, alpha: Array) -> Array:
    """A (..., 6, 10) with Mα + S[V]MV = Aπ: the force that moves a body, by its parameters.

    With the classical acceleration c = α_v + ω × v of the origin: m gives [0; c], h gives [−c̃; ω̇~ + ω̃ω̃]h and J
    gives [Jω̇ + ω × Jω; 0].
    """
    w, v = V[..., :3, :], V[..., 3:, :]
    wd = alpha[..., :3, :]
    c = alpha[..., 3:, :] + cross(w, v)
    tilde = skew(w[..., 0])
    first_moment = arrays.concatenate([-skew(c[..., 0]), skew(wd[..., 0]) + tilde @ tilde], axis=-2)
    turning = _times_tensor(wd) + tilde @ _times_tensor(w)
    none = 0.0 * c
    mass = arrays.concatenate([none, c], axis=-2)
    inertia = arrays.concatenate([turning, 0.0 * turning], axis=-2)
    return arrays.concatenate([mass, first_moment, inertia], axis=-1)


def _times_tensor(x: Array) -> Array:
    """L (..., 3, 6) with Jx = L [Jxx, Jxy, Jyy, Jxz, Jyz, Jzz]."""
    a, b, c = x[..., 0, 0], x[..., 1, 0], x[..., 2, 0]
    return arrays.matrix([[a, b, 0.0, c, 0.0, 0.0], [0.0, a, b, 0.0, c, 0.0], [0.0, 0.0, 0.0, a, b, c]])


def regressor_of(m: Motion) -> Array:
    """Y (..., nv, 10 bodies), from the bodies inward: Y(j, k) = H(j) φ(j,k) A(k)."""
    links = m.links
    blocks: dict[tuple[int, int], Array] = {}
    for k, (V, alpha) in enumerate(zip(m.rates.V, m.alpha)):
        X = body_regressor(V, alpha)
        for j in links.tree.path(k)[::-1]:
            if links.sizes[j]:
                blocks[j, k] = links.H[j] @ X
            X = links.phi[j] @ X
    return arrays.from_blocks(blocks, links.sizes, [10] * len(links.sizes), like=like(m))


def regressor(model: Model, q: Array, v: Array, a: Array) -> Array:
    """∂T/∂π of inverse dynamics, (..., nv, 10 bodies)."""
    return regressor_of(inverse_motion(model, q, v, a))


def forward_sensitivity(model: Model, q: Array, v: Array, tau: Array, external: Array | None) -> Array:
    """∂a/∂π of forward dynamics, (..., nv, 10 bodies): Algorithm 5 driven by δT = −Yδπ, with δq = δv = 0."""
    m, art = forward_motion(model, q, v, tau, external)
    return art.solve(m.links, -regressor_of(m))


# --- base parameters -----------------------------------------------------------------------------------


class BaseParameters(NamedTuple):
    """The combinations of inertial parameters that motion can tell apart.

    ``projection`` (base, 10 bodies) gives them, β = projection @ π, and ``columns`` (base,) are the parameters that
    stand for them: Y π = Y[..., columns] β for every regressor Y. ``values`` are those of the robot.
    """

    columns: np.ndarray
    projection: np.ndarray
    values: np.ndarray


def base_parameters(model: Model, states: int = 0, seed: int = 0) -> BaseParameters:
    """By an orthogonal factorisation of regressors at random states, parameters taken in order, tips first.

    A parameter whose column depends on those before it is expressed by them. The rank is that of the whole.
    """
    bodies = len(model.bodies)
    if not model.nv:
        return BaseParameters(np.zeros(0, int), np.zeros((0, 10 * bodies)), np.zeros(0))
    count = states or 4 + 20 * bodies // model.nv + 4 * bodies
    rng = np.random.default_rng(seed)
    q = model.random_configuration(rng, count)
    v, a = rng.normal(size=(2, count, model.nv))
    W = regressor(model, q, v, a).reshape(count * model.nv, 10 * bodies)
    order = np.arange(10 * bodies).reshape(bodies, 10)[::-1].ravel()
    independent, rest = _independent_columns(W, order)
    K = np.linalg.lstsq(W[:, independent], W[:, rest], rcond=None)[0]
    K[np.abs(K) < 1e-10 * max(1.0, np.abs(K).max(initial=0.0))] = 0.0
    projection = np.zeros((len(independent), 10 * bodies))
    projection[np.arange(len(independent)), independent] = 1.0
    projection[:, rest] = K
    from ...model.edit import inertial_parameters

    return BaseParameters(independent, projection, projection @ inertial_parameters(model).ravel())


def _independent_columns(W: np.ndarray, order: np.ndarray, tolerance: float = 1e-10) -> tuple[np.ndarray, np.ndarray]:
    """Columns, sorted, that span W, each taken in turn unless those before it span it already; and the others."""
    basis = np.zeros((W.shape[0], 0))
    kept, rest = [], []
    floor = tolerance * np.linalg.norm(W, axis=0).max()
    for j in order:
        column = W[:, j]
        left = column - basis @ (basis.T @ column)
        left = left - basis @ (basis.T @ left)  # once more, against rounding
        if np.linalg.norm(left) > floor:
            basis = np.column_stack([basis, left / np.linalg.norm(left)])
            kept.append(j)
        else:
            rest.append(j)
    return np.sort(np.array(kept, dtype=int)), np.sort(np.array(rest, dtype=int))


# --- trajectories --------------------------------------------------------------------------------------


class TrajectorySensitivity(NamedTuple):
    """A motion at times 0, step, 2 step, … and its derivatives with respect to the inertial parameters.

    q (steps + 1, ..., nq), v (steps + 1, ..., nv); dq (tangent at q) and dv (steps + 1, ..., nv, parameters).
    """

    q: Array
    v: Array
    dq: Array
    dv: Array


def trajectory_sensitivity(
    robot: Any, q: Array, v: Array, tau: Array, step: float, columns: Any = None, method: str = "semi_implicit"
) -> TrajectorySensitivity:
    """The explicit steps of :func:`linkwise.simulate` and their exact derivatives, carried from step to step.

    ``tau`` (steps, ..., nv) holds the joint forces of every step; ``columns`` picks parameters (default: all).
    """
    if not (np.isfinite(step) and step > 0):
        raise InputError(f"the step must be positive, got {step}")
    if method not in STEPS:
        raise UnknownNameError(f"no step with derivatives is named {method!r}; choose from {', '.join(STEPS)}")
    picked = _picked(columns, 10 * len(robot.bodies))
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], tau.shape[1:-1])
    none = np.zeros((*batch, robot.nv, len(picked)), dtype=q.dtype)
    x = Varied(np.broadcast_to(q, batch + q.shape[-1:]), none), Varied(np.broadcast_to(v, batch + v.shape[-1:]), none)
    found = [x]
    for force in tau:
        x = STEPS[method](robot, _accelerate(robot, force, picked), *x, step)
        found.append(x)
    kept = [(q.value, v.value, q.change, v.change) for q, v in found]
    return TrajectorySensitivity(*(np.stack(part) for part in zip(*kept)))


def _accelerate(robot: Any, tau: Array, picked: np.ndarray) -> Accelerate:
    """a(q, v) under fixed joint forces: δa = dq δq + dv δv + ∂a/∂π δπ."""

    def accelerate(q: Varied, v: Varied) -> Varied:
        model = robot.linearize_forward(q.value, v.value, tau)
        by_parameters = robot.forward_dynamics_sensitivity(q.value, v.value, tau)[..., picked]
        value = robot.forward_dynamics(q.value, v.value, tau)
        return Varied(value, model.dq @ q.change + model.dv @ v.change + by_parameters)

    return accelerate


def _picked(columns: Any, count: int) -> np.ndarray:
    """Indices of parameters, or an error that names those that are none."""
    if columns is None:
        return np.arange(count)
    picked = np.asarray(columns)
    if picked.size == 0:
        return np.zeros(0, dtype=int)
    if picked.ndim != 1 or picked.dtype.kind not in "iu" or picked.min() < -count or picked.max() >= count:
        raise InputError(f"columns are indices of the {count} inertial parameters, got {columns!r}")
    return picked
