"""Sensitivities to inertial parameters: regressors, forward dynamics, base parameters.

The parameters of a body are those of ``robot.inertial_parameters``: mass m, first moment h = m c, and the inertia J
about the body's origin as Jxx, Jxy, Jyy, Jxz, Jyz, Jzz. Joint forces are linear in them: T = Yπ + what rotors and
external forces add.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ... import arrays
from ...aggregates import come_in, without_port
from ...arrays import Array
from ...model.model import Model
from ...spatial import Transform, cross, skew
from ...sweeps import Pairs, unzip
from ...tolerances import INDEPENDENT
from ..articulated import Articulated, first_rows, past_joint
from ..links import Links
from ..mass_inverse import next_row
from ..node_rows import at_ports, carried_past, node_rows
from ..node_rows import next_row as node_row
from .inverse import like
from .models import forward_motion, inverse_motion
from .variations import Motion

PARAMETERS = 10  # of a body


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
    return carried_to_joints(m.links, body_regressors(m), like(m))


def body_regressors(m: Motion) -> list[Array]:
    """A(k), (..., 6, 10), of every body, body axes."""
    return [body_regressor(V, alpha) for V, alpha in zip(m.rates.V, m.alpha)]


def carried_to_joints(links: Links, A: list[Array], like: Array) -> Array:
    """HφA, (..., nv, 10 bodies), of A(k) (..., 6, 10): Y(j, k) = H(j) φ(j,k) A(k)."""

    def step(X: Any, phi: Any, H: Array) -> tuple[Any, Array]:
        return phi @ X, H @ X

    if links.lift is None:
        own = [H @ X for H, X in zip(links.H, A)]
        starts = [phi @ X for phi, X in zip(links.phi, A)]
    else:
        links = links.nodes
        own, felt = unzip([_by_members(links, k, A) for k in range(len(links.sizes))], 2)
        starts = [come_in(phi, x) for phi, x in zip(links.phi, felt)]
    kept = links.tree.inward_from_each(step, starts, links.phi, links.H)
    return links.matrix_over_bodies(own, [kept], Pairs(), like, PARAMETERS)


def _by_members(nodes: Links, k: int, A: list[Array]) -> tuple[Array, Array]:
    """N*A and F*A of a node, columns of its members side by side."""
    gathering = nodes.gathering
    assert gathering is not None
    held, inner = gathering.members[k], without_port(nodes.phi[k])
    parts = [at_ports({place: A[body]}, nodes.H[k]) for place, body in enumerate(held)]
    columns = arrays.concatenate
    return columns([nodes.H[k] @ x for x in parts], axis=-1), columns([inner @ x for x in parts], axis=-1)


def regressor(model: Model, q: Array, v: Array, a: Array) -> Array:
    """∂T/∂π of inverse dynamics, (..., nv, 10 bodies)."""
    return regressor_of(inverse_motion(model, q, v, a))


def forward_sensitivity(model: Model, q: Array, v: Array, tau: Array, external: Array | None) -> Array:
    """∂a/∂π of forward dynamics, (..., nv, 10 bodies): Algorithm 5 driven by δT = −Yδπ, with δq = δv = 0.

    With Y = HφA that is −XA, where X = 𝓜⁻¹Hφ = (I − HψK)*D⁻¹Hψ has the rows of Algorithm 6: X_i(j) carried outward
    from i, and X_i(a) = −W_i(a)*Υ(a) at the bodies a inboard of i (math notes III.2).
    """
    m, art = forward_motion(model, q, v, tau, external)
    if m.links.lift is not None:
        return _sensitivity_over_nodes(m, art)
    links = m.links
    A = body_regressors(m)
    _, U, Upsilon = first_rows(links, art)
    E = [X @ Y for X, Y in zip(Upsilon, A)]

    def inboard(W: Array, phi: Transform, H: Array, G: Array, E: Array) -> Any:
        return phi @ past_joint(W, H, G), (W.mT @ E, W)

    def outboard(X: Array, phi: Transform, H: Array, G: Array, A: Array) -> Any:
        row, _ = next_row(X, phi, H, G)
        return row, -(row @ A)

    joints = (links.phi, links.H, art.G)
    starts = [phi @ G if r else None for phi, G, r in zip(links.phi, art.G, links.sizes)]
    inner, W = links.tree.inward_from_each(inboard, starts, *joints, E).unzip(2)
    rows = [u if r else None for u, r in zip(U, links.sizes)]
    kept = links.tree.outward_from_each(outboard, rows, lambda a, i: -(W[a, i].mT @ Upsilon[a]), *joints, A)
    own = [-(u @ X) for u, X in zip(U, A)]
    return links.matrix_over_bodies(own, [kept], inner, like(m), PARAMETERS)


def _sensitivity_over_nodes(m: Motion, art: Articulated) -> Array:
    """The same where bodies move as one node (:mod:`..node_rows`)."""
    links, A = m.links.nodes, body_regressors(m)
    x = node_rows(links, art)
    given = [_by_members(links, k, A) for k in range(len(links.sizes))]
    answers = [x.answer(k, art.D_inverse[k], felt, T) for k, (T, felt) in enumerate(given)]

    def inboard(W: Any, phi: Any, H: Array, g: Array, answer: Any) -> Any:
        return carried_past(W, phi, H, g), (W.mT @ answer.yielded, W)

    def outboard(X: Any, phi: Any, H: Array, g: Array, ports: tuple[int, ...], answer: Any) -> Any:
        row, _, felt = node_row(X, phi, H, g, ports)
        return row, -(felt.mT @ answer.passed)

    inner, W = links.tree.inward_from_each(inboard, x.sent, links.phi, links.H, x.g, answers).unzip(2)

    def at_fork(a: int, i: int) -> Any:
        return x.at_fork(a, W[a, i])

    walked = (links.phi, links.H, x.g, links.ports, answers)
    kept = links.tree.outward_from_each(outboard, x.starts, at_fork, *walked)
    return links.matrix_over_bodies([-answer.own for answer in answers], [kept], inner, like(m), PARAMETERS)


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
