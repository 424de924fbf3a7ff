"""Sensitivities to inertial parameters: regressors, forward dynamics, base parameters.

The parameters of a body are those of ``robot.inertial_parameters``: mass m, first moment h = m c, and the inertia J
about the body's origin as Jxx, Jxy, Jyy, Jxz, Jyz, Jzz. Joint forces are linear in them: T = Yπ + what rotors and
external forces add.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ... import arrays
from ...arrays import Array
from ...model.model import Model
from ...spatial import cross, skew
from ...tolerances import INDEPENDENT
from ..links import Links
from .inverse import like
from .models import forward_motion, inverse_motion
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
    turning = times_tensor(wd) + tilde @ times_tensor(w)
    none = 0.0 * c
    mass = arrays.concatenate([none, c], axis=-2)
    inertia = arrays.concatenate([turning, 0.0 * turning], axis=-2)
    return arrays.concatenate([mass, first_moment, inertia], axis=-1)


def times_tensor(x: Array) -> Array:
    """L (..., 3, 6) with Jx = L [Jxx, Jxy, Jyy, Jxz, Jyz, Jzz]."""
    a, b, c = x[..., 0, 0], x[..., 1, 0], x[..., 2, 0]
    return arrays.matrix([[a, b, 0.0, c, 0.0, 0.0], [0.0, a, b, 0.0, c, 0.0], [0.0, 0.0, 0.0, a, b, c]])


def regressor_of(m: Motion) -> Array:
    """Y (..., nv, 10 bodies), from the bodies inward."""
    A = [body_regressor(V, alpha) for V, alpha in zip(m.rates.V, m.alpha)]
    return carried_to_joints(m.links, A, like(m))


def carried_to_joints(links: Links, A: list[Array], like: Array) -> Array:
    """HφA, (..., nv, 10 bodies), of A(k) (..., 6, 10): Y(j, k) = H(j) φ(j,k) A(k)."""
    blocks: dict[tuple[int, int], Array] = {}
    for k, X in enumerate(A):
        for j in links.tree.path(k)[::-1]:
            if links.sizes[j]:
                blocks[j, k] = links.H[j] @ X
            X = links.phi[j] @ X
    widths = [10] * len(links.sizes)
    Y = arrays.from_blocks(blocks, links.sizes, widths, like=like)
    return Y if links.lift is None else links.join_rows(links.unstack(Y), sum(widths))


def regressor(model: Model, q: Array, v: Array, a: Array) -> Array:
    """∂T/∂π of inverse dynamics, (..., nv, 10 bodies)."""
    return regressor_of(inverse_motion(model, q, v, a))


def forward_sensitivity(model: Model, q: Array, v: Array, tau: Array, external: Array | None) -> Array:
    """∂a/∂π of forward dynamics, (..., nv, 10 bodies): Algorithm 5 driven by δT = −Yδπ, with δq = δv = 0."""
    m, art = forward_motion(model, q, v, tau, external)
    return art.solve(m.links.nodes, -regressor_of(m))


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
    W = arrays.as_numpy(regressor(model, q, v, a)).reshape(count * model.nv, 10 * bodies)
    tips_first = np.arange(10 * bodies).reshape(bodies, 10)[::-1].ravel()
    columns, projection = combinations(W, tips_first)
    from ...model.edit import inertial_parameters

    return BaseParameters(columns, projection, projection @ inertial_parameters(model).ravel())


def combinations(W: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(columns, projection) with Wπ = W[:, columns] projection π: what can be told apart of unknowns π by W.

    Unknowns are taken in ``order``; one whose column depends on those before it is expressed by them.
    """
    independent, rest = _independent_columns(W, order)
    K = np.linalg.lstsq(W[:, independent], W[:, rest], rcond=None)[0]
    K[np.abs(K) < INDEPENDENT * max(1.0, np.abs(K).max(initial=0.0))] = 0.0
    projection = np.zeros((len(independent), W.shape[1]))
    projection[np.arange(len(independent)), independent] = 1.0
    projection[:, rest] = K
    return independent, projection


def _independent_columns(W: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns, sorted, that span W, each taken in turn unless those before it span it already; and the others."""
    basis = np.zeros((W.shape[0], 0))
    kept, rest = [], []
    floor = INDEPENDENT * np.linalg.norm(W, axis=0).max()
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
