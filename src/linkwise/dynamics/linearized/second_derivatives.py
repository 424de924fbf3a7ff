"""Second derivatives along a direction: how gradients of w·T and w·a change.

The gradients are those of the adjoint sweeps (``robot.inverse_dynamics_vjp``, ``robot.forward_dynamics_vjp``). Their
derivative along a direction is taken exactly: on symbols by the compiler's forward mode, on numbers by a complex
step, on JAX arrays by its own forward mode. In tangent coordinates, with g(ξ) = w·f(q ⊕ ξ), the second derivative
is made symmetric as that of g is: L_aL_b − ½L_[a,b] (joints with quaternions do not commute).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ... import arrays
from ...arrays import Array
from ...model.model import Model
from ...symbols.derivative import along
from ..tangent import configuration_rate, transport


def gradient_change(
    model: Model,
    gradient: Callable[..., Sequence[Array]],
    q: Array,
    others: Sequence[Array],
    dq: Array,
    changes: Sequence[Array],
) -> list[Array]:
    """d/dε of gradient(q ⊕ ε dq, others + ε changes), made symmetric in its first part, each (..., nv)."""
    values, out = with_directional(gradient, [q, *others], [configuration_rate(model, q, dq), *changes])
    # ½ L_[a, dq] g for all a at once: transport(dq) a = −[dq, a]
    out[0] = out[0] + 0.5 * (arrays.transpose(transport(model, dq)) @ values[0][..., :, None])[..., 0]
    return out


def along_motion(model: Model, function: Callable[[Array], Array], q: Array, v: Array) -> Array:
    """The rate of an array that depends on q, while the robot moves by v."""
    return directional(lambda at: [function(at)], [q], [configuration_rate(model, q, v)])[0]


def directional(function: Callable[..., Sequence[Array]], points: list[Array], directions: list[Array]) -> list[Array]:
    """The derivatives of a function's arrays along directions of its arguments."""
    return with_directional(function, points, directions)[1]


def with_directional(
    function: Callable[..., Sequence[Array]], points: list[Array], directions: list[Array]
) -> tuple[list[Array], list[Array]]:
    """A function's arrays, and their derivatives along directions of its arguments."""
    if any(arrays.is_symbolic(x) for x in points):
        return _on_symbols(function, points, directions)
    if all(arrays.is_numpy(x) for x in points):
        return _by_complex_step(function, points, directions)
    import jax

    values, changes = jax.jvp(lambda *x: tuple(function(*x)), tuple(points), tuple(directions))
    return list(values), list(changes)


_STEP = 1e-30


def _by_complex_step(
    function: Callable[..., Sequence[Array]], points: list[Array], directions: list[Array]
) -> tuple[list[Array], list[Array]]:
    single = all(x.dtype == np.float32 for x in points)
    moved = [x + 1j * _STEP * d for x, d in zip(points, directions)]
    with np.errstate(invalid="ignore"):  # NaN in, NaN out, without complaints from complex arithmetic
        found = function(*moved)
        values, out = [y.real for y in found], [y.imag / _STEP for y in found]
    if single:
        values, out = ([y.astype(np.float32) for y in part] for part in (values, out))
    return values, out


def _on_symbols(
    function: Callable[..., Sequence[Array]], points: list[Array], directions: list[Array]
) -> tuple[list[Array], list[Array]]:
    outputs = [np.asarray(y, dtype=object) for y in function(*points)]
    variables = [x for p in points for x in np.asarray(p, dtype=object).ravel()]
    seeds = [
        x for p, d in zip(points, directions) for x in np.broadcast_to(np.asarray(d, dtype=object), p.shape).ravel()
    ]
    flat = along([x for y in outputs for x in y.ravel()], variables, seeds)
    out: list[Array] = []
    start = 0
    for y in outputs:
        part = np.empty(y.size, dtype=object)
        part[:] = flat[start : start + y.size]
        out.append(part.reshape(y.shape))
        start += y.size
    return [*outputs], out
