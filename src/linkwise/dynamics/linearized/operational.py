"""Derivatives of how frames respond to forces, ∂Λ⁻¹/∂q and ∂Λ/∂q, in O(n).

Forces at the frames, the columns E = φW of unit ones W = I, accelerate a robot at rest by y = 𝓜⁻¹J*W and its bodies by
A. With R what comes inward from the frames less the forces f that the bodies take, a change δq_i of joint k makes

    ∂Λ⁻¹ = S + S*,    S = R*(A⁺ × h_i + ∂_iH*y) + η_i × Λ⁻¹,    h_i the i-th column of H*, η_i how it turns a frame,

as ∂(J𝓜⁻¹J*)(a,b) = (∂J y_b)_a + (∂J y_a)_b − y_a*∂𝓜 y_b, where y_a*𝓜y_b is the sum of A_a*MA_b over bodies, and no
force on joints is left, HR = 0. Couplings that bend have T_a left, and add −T_a ∂²g y_b. Forces W = Λ accelerate the
frames by one unit each: with their R, A and y, and Λ(η_i × I) in place of η_i × Λ⁻¹, that is −∂Λ = Λ∂Λ⁻¹Λ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ... import arrays
from ...arrays import Array
from ...model.model import Model
from ...spatial import Transform, cross_motion
from ..articulated import Articulated, articulated
from ..coupled_links import Lift
from ..inverse import forces_of_motion
from ..kinematics import tip_transform
from ..links import Links, carried_outward, evaluate
from ..operational import inverse_compliance, still_frames
from .frames import turned


@dataclass(frozen=True, eq=False)
class _Frames:
    """The frames of a robot at a configuration."""

    model: Model
    links: Links
    art: Articulated  # of the nodes
    placed: list[tuple[int, Transform]]  # (body, φ(k, tip)) of each, in world axes

    @property
    def width(self) -> int:
        return 6 * len(self.placed)

    @property
    def unit(self) -> Array:
        return arrays.eye(self.width, like=self.links.q)

    @property
    def are_still(self) -> bool:
        """Whether all are frames of the world."""
        return all(body < 0 for body, _ in self.placed)

    def nothing(self, height: int) -> Array:
        return arrays.zeros((height, self.width), like=self.links.q)


@dataclass(frozen=True, eq=False)
class _Pushed:
    """What forces W (6e, 6e) at the frames do to the robot at rest; each has a column for each of them."""

    own: list[Any]  # φW (..., 6, 6e) of the bodies that frames are on, 0.0 of others
    pulled: list[Array]  # HφW of every joint, (..., r, 6e)
    y: list[Array]  # how every joint accelerates, (..., r, 6e)
    A: list[Array]  # and every body, (..., 6, 6e)
    felt: list[Array]  # and every frame, (..., 6, 6e)


def compliance_derivative(model: Model, q: Array, frames: Sequence[Any]) -> Array:
    """∂Λ⁻¹/∂q, (..., 6e, 6e, nv), world axes."""
    x = _frames(model, q, frames)
    if x.are_still:
        return arrays.zeros((x.width, x.width, model.nv), like=q)
    push = _pushed(x, x.unit)
    known = [_told(x.links, body, felt) for (body, _), felt in zip(x.placed, push.felt)]

    def swung(k: int, J: Array) -> Array:
        rows = [x.nothing(6) if told[k] is None else turned(_rows(J, f), told[k]) for f, told in enumerate(known)]
        return arrays.concatenate(rows, axis=-2)

    return _changes(x, push, _transposed(push.pulled), swung)


def inertia_derivative(model: Model, q: Array, frames: Sequence[Any]) -> Array:
    """∂Λ/∂q, (..., 6e, 6e, nv), world axes; an error where J has not the rank for Λ to exist."""
    x = _frames(model, q, frames)
    if x.are_still:
        raise still_frames(model, frames)
    first = _pushed(x, x.unit)
    Lambda = inverse_compliance(model, arrays.symmetric(arrays.concatenate(first.felt, axis=-2)), frames)
    push = _pushed(x, Lambda)
    known = [_told(x.links, body, _rows(Lambda, f)) for f, (body, _) in enumerate(x.placed)]

    def swung(k: int, J: Array) -> Array:
        one = [turned(_rows(J, f), _rows(x.unit, f)) for f in range(len(known))]
        return arrays.total([x.nothing(x.width), *(W[k].mT @ y for W, y in zip(known, one) if W[k] is not None)])

    return -_changes(x, push, _transposed(first.pulled), swung)


def _frames(model: Model, q: Array, frames: Sequence[Any]) -> _Frames:
    links = evaluate(model, q)
    return _Frames(model, links, articulated(links.nodes), [tip_transform(model, links, f) for f in frames])


def _rows(W: Array, frame: int) -> Array:
    """Those of a frame in a matrix (..., 6e, ·)."""
    return W[..., 6 * frame : 6 * frame + 6, :]


def _transposed(x: list[Array]) -> list[Array]:
    return [arrays.transpose(y) for y in x]


def _pushed(x: _Frames, W: Array) -> _Pushed:
    links, tree = x.links, x.links.tree
    own: list[Any] = [0.0] * len(tree)
    for f, (body, tip) in enumerate(x.placed):
        if body >= 0:
            own[body] = own[body] + tip @ _rows(W, f)

    def inward(gathered: Any, phi: Any, H: Array, own: Any) -> Any:
        if isinstance(own, float) and isinstance(gathered, int):  # nothing is pushed here
            return 0, x.nothing(H.shape[-2])
        E = gathered + own
        return phi @ E, H @ E

    pulled = tree.inward(inward, 0, links.phi, links.H, own)
    T = arrays.transpose(links.join_columns(_transposed(pulled), x.width))
    y = links.split_rows(x.art.solve(links.nodes, T))
    A = tree.outward(lambda p, phi, H, y: phi.T @ p + H.mT @ y, x.nothing(6), links.phi, links.H, y)
    felt = [x.nothing(6) if body < 0 else tip.T @ A[body] for body, tip in x.placed]
    return _Pushed(own, pulled, y, A, felt)


def _told(links: Links, body: int, what: Array) -> list[Any]:
    """What is known at a body, at all that are inboard of it as well; None at others, or (in loops) zeros."""
    own: list[Any] = [None] * len(links.tree)
    if body < 0:
        return own
    own[body] = what

    def step(gathered: Any, own: Any) -> Any:
        here = gathered if own is None else gathered + own
        return here, None if isinstance(here, int) else here

    return links.tree.inward(step, 0, own)


def _changes(x: _Frames, push: _Pushed, J: list[Array], swung: Callable[[int, Array], Array]) -> Array:
    """S + S* for every direction of joint space; ``swung`` is what the turn of frames adds for a column of J."""
    links, rest = x.links, x.nothing(6)
    A_plus = carried_outward(links, push.A, rest)
    T, f = forces_of_motion(links, push.y, push.A, A_plus, [-E for E in push.own])
    found: list[list[Array]] = []
    for k, H in enumerate(links.H):
        kind = x.model.constants(dtype=links.q.dtype)[k].kind
        partials = kind.map_partials(links.theta[k])
        found.append([])
        for i in range(links.sizes[k]):
            U = cross_motion(A_plus[k], H[..., i : i + 1, :].mT)
            if partials is not None:
                U = U + partials[0][i] @ push.y[k]
            found[k].append(swung(k, J[k][..., i : i + 1]) - f[k].mT @ U)
    if isinstance(links.lift, Lift):
        at_rest = [arrays.zeros((r, x.width), like=links.q) for r in links.sizes]
        for k, row in links.lift.slope_accelerations(at_rest, push.y).items():
            for l, slope in row.items():
                found[l][0] = found[l][0] - T[k].mT @ slope
    n = x.width * x.width
    columns = []
    for each, r in zip(found, links.sizes):
        both = [S + arrays.transpose(S) for S in each]
        flat = [S.reshape((*S.shape[:-2], n, 1)) for S in both]
        columns.append(arrays.concatenate(flat, axis=-1) if r else arrays.zeros((n, 0), like=links.q))
    joined = links.join_columns(columns, n)
    return joined.reshape((*joined.shape[:-2], x.width, x.width, joined.shape[-1]))
