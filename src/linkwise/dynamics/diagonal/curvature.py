"""Is a robot globally diagonalisable? The curvature of the metric that its mass matrix is.

Coordinates ϑ(θ) in which 𝓜 is the unit matrix everywhere exist, locally, where and only where the Riemann tensor of
𝓜 vanishes (Diagonalized dynamics paper Lemma 2.2). The tensor is taken in the directions of the velocity v. Where v
is no rate of coordinates (quaternions, planar joints), 𝓜 is first written in exponential coordinates x about q:
v = J(x)ẋ with J = I − ½ad_x + ⅙ad_x² − …, of which two orders enter.
"""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import Array
from ...errors import InputError
from ...model.model import Model
from .. import mass
from ..linearized.second_derivatives import along_motion
from ..tangent import brackets
from .mass_sensitivity import mass_matrix_sensitivity


def curvature(model: Model, q: Array) -> Array:
    """R_hijk, (..., nv, nv, nv, nv): the Riemann symbols of the first kind of 𝓜 ((2.5), Lemma 2.2)."""
    _, second, products = _parts(model, q)
    return _riemann(second, products).astype(q.dtype)


def is_flat(model: Model, q: Array, tolerance: float) -> bool:
    """Whether every R_hijk vanishes at all the configurations q, beside the terms it is made of."""
    g, second, products = _parts(model, q)
    sizes = _half(np.abs(second)) + np.abs(products)
    # Where 𝓜 is constant all terms are rounding errors of 𝓜 itself, per radian and metre.
    scale = np.sqrt(np.sqrt(np.einsum("...ii->...i", g)))
    own = np.einsum("...h,...i,...j,...k->...hijk", scale, scale, scale, scale)
    size = own + sizes + np.swapaxes(sizes, -1, -2)
    return bool((np.abs(_riemann(second, products)) <= tolerance * size).all())


def _riemann(second: np.ndarray, products: np.ndarray) -> np.ndarray:
    """R_hijk = X_hijk − X_hikj with X_hijk = ½(∂_i∂_j g_hk + ∂_h∂_k g_ij) + {l over ij} [hk, l]."""
    X = _half(second) + products
    return np.asarray(X - np.swapaxes(X, -1, -2))


def _half(second: np.ndarray) -> np.ndarray:
    """½(∂_i∂_j g_hk + ∂_h∂_k g_ij), (..., h, i, j, k)."""
    return np.asarray(0.5 * (np.einsum("...ijhk->...hijk", second) + np.einsum("...hkij->...hijk", second)))


def _parts(model: Model, q: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """g, ∂_i∂_j g_hk (..., i, j, h, k) and {l over ij} [hk, l] (..., h, i, j, k), in float64."""
    if not arrays.is_eager(q) or np.iscomplexobj(q):
        raise InputError("the curvature is made of complex-step derivatives and needs real NumPy configurations")
    q = q.astype(np.float64)
    if model.nv == 0:
        none = np.zeros((*q.shape[:-1], 0, 0, 0, 0))
        return none.reshape(*q.shape[:-1], 0, 0), none, none
    with np.errstate(invalid="ignore"):  # NaN stays in its state, and is no news
        g, first, second = _metric(model, q)

    # [ij, k] = ½ (∂_j g_ik + ∂_i g_jk − ∂_k g_ij)
    christoffel = 0.5 * (
        np.einsum("...jik->...ijk", first) + np.einsum("...ijk->...ijk", first) - np.einsum("...kij->...ijk", first)
    )
    raised = christoffel @ np.linalg.inv(g)[..., None, :, :]  # {l over ij}
    *batch, n = christoffel.shape[:-2]
    products = raised.reshape(*batch, n * n, n) @ christoffel.reshape(*batch, n * n, n).mT  # (…, ij, hk)
    return g, second, np.einsum("...ijhk->...hijk", products.reshape(*batch, n, n, n, n))


def _metric(model: Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """g, ∂_i g and ∂_i∂_j g at x = 0 of the metric g = J*𝓜J in exponential coordinates x about q."""
    M, M_i = arrays.as_numpy(mass.composite(model, q)), arrays.as_numpy(mass_matrix_sensitivity(model, q))
    along = along_motion(model, lambda at: mass_matrix_sensitivity(model, at), q[..., None, :], np.eye(model.nv))
    M_ji = arrays.as_numpy(along)  # d/dt of M_i along direction j
    M_ij = 0.5 * (M_ji + np.swapaxes(M_ji, -4, -3))

    ad = _brackets(model)  # (i, n, n)
    J_i = -0.5 * ad
    pairs = ad[:, None] @ ad[None, :]
    J_ij = (pairs + np.swapaxes(pairs, 0, 1)) / 6.0

    half = M[..., None, :, :] @ J_i
    first = M_i + half + half.mT
    # ½ of what is not ∂_i∂_j 𝓜: 𝓜J_ij + 𝓜_jJ_i + 𝓜_iJ_j + J_i*𝓜J_j, symmetrised below
    mixed = M_i[..., None, :, :, :] @ J_i[:, None]
    inner = J_i[:, None].mT @ (M[..., None, None, :, :] @ J_i[None, :])
    half2 = M[..., None, None, :, :] @ J_ij + mixed + np.swapaxes(mixed, -4, -3) + inner
    return M, first, M_ij + half2 + half2.mT


def _brackets(model: Model) -> np.ndarray:
    """ad_i, (nv, nv, nv): column j of ad_i is the bracket [e_i, e_j] of two directions of one joint."""
    out = np.zeros((model.nv,) * 3)
    for joint, _, where in model.coordinates:
        found = brackets(joint.kind, joint.name)
        if found is not None:
            out[where, where, where] = found
    return out
