"""All bodies of a robot in one array: φ, H and M with an axis for the bodies, and V, a, b from them.

Joints of one kind are evaluated together, whatever their axes: a hinge about any axis is one about z between two
constant rotations. Velocities come by doubling: after i rounds a body has the motion of the 2ⁱ bodies inboard of it.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ... import arrays
from ...arrays import Array
from ...model.joints.axes import turn_from_z
from ...model.joints.kinds import Cylindrical, Helical, JointKind, Prismatic, Revolute
from ...model.loose_joints import carried
from ...model.model import BodyConstants, Model
from ...properties import cached_property
from ...spatial import Transform, cross, cross_force, cross_motion

_AXIAL = (Revolute, Prismatic, Helical, Cylindrical)


@dataclass(frozen=True, eq=False)
class Alike:
    """Joints that are evaluated together: of one kind, but for the direction of its axis."""

    bodies: np.ndarray  # (m,)
    kind: JointKind
    before: Transform  # (m, …) the constant pose before the joint
    after: Any  # (m, 3, 3) the constant rotation after it, or None
    H: Any  # (m, r, 6) where the map is constant and differs, or None
    q: np.ndarray  # (m, nq) where their numbers are in q
    v: np.ndarray  # (m, r) where their numbers are in v


def alike(model: Model, dtype: Any) -> list[Alike]:
    """The joints of a robot by kind."""
    constants = model.constants(dtype=dtype)
    groups: dict[Any, list[int]] = {}
    for k, c in enumerate(constants):
        groups.setdefault(_key(c.kind), []).append(k)
    return [_alike(model, constants, np.array(bodies)) for bodies in groups.values()]


def _key(kind: JointKind) -> Any:
    """The same for kinds that move alike but for their axis. What cannot be pickled is like no other."""
    if type(kind) in _AXIAL:
        return type(kind), getattr(kind, "pitch", None)
    try:
        return pickle.dumps(kind)
    except (pickle.PicklingError, AttributeError, TypeError):
        return id(kind)


def _alike(model: Model, constants: Sequence[BodyConstants], bodies: np.ndarray) -> Alike:
    own = [constants[k] for k in bodies]
    R, l = (arrays.stack([getattr(c.placement, x) for c in own], axis=0) for x in ("R", "l"))
    kind, after, H = own[0].kind, None, None
    if type(kind) in _AXIAL:
        about: list[Any] = [c.kind for c in own]
        turns = np.stack([turn_from_z(x.axis) for x in about]).astype(arrays.precision(R))
        kind = type(about[0])("z", *([about[0].pitch] if isinstance(kind, Helical) else []))
        R, after, H = R @ turns, turns.swapaxes(-1, -2), np.stack([x.H_star.T for x in about]).astype(turns.dtype)
    places = [
        np.array([range(x[k].start, x[k].stop) for k in bodies], dtype=int) for x in (model.q_slices, model.v_slices)
    ]
    q, v = (x.reshape(len(own), -1) for x in places)
    return Alike(bodies, kind, Transform(R, l), after, H, q, v)


@dataclass(frozen=True, eq=False)
class Constants:
    """What of a robot does not hang on its state, in one precision."""

    joints: list[Alike]
    M: Array  # (n, 6, 6)
    order: np.ndarray  # where each body is, the joints of one kind after those of another
    sizes: np.ndarray  # (n,) r of every joint
    row: np.ndarray  # (n,) which of the bodies with a joint of this size it is
    Gamma: dict[int, Array]  # (n_r, r, r) reflected inertias by the size of the joint
    carried: dict[int, Array]  # (n_r, r) the size of what the joints carry, along their directions
    near: dict[int, Array]  # (n_r, r) the same of the body and its children alone
    spins: tuple[np.ndarray, Any]  # the bodies whose rotors turn with the parent, and (m, 3, 1) their momenta there

    def of_size(self, r: int) -> np.ndarray:
        """The bodies with a joint of this size."""
        return np.flatnonzero(self.sizes == r)


def constants(model: Model, dtype: Any) -> Constants:
    """Those of a robot."""
    own = model.constants(dtype=dtype)
    joints = alike(model, dtype)
    sizes = np.array([c.kind.nv for c in own], dtype=int)
    row = np.zeros(len(own), dtype=int)
    Gamma, loads, near = {}, {}, {}
    for r in map(int, sorted(set(sizes.tolist()))):
        alike_in_size = np.flatnonzero(sizes == r)
        row[alike_in_size] = np.arange(alike_in_size.size)
        held = [own[k] for k in alike_in_size]
        none = np.zeros((r, r), arrays.precision(own[0].M.J))
        Gamma[r] = arrays.stack([none if c.reflected is None else c.reflected for c in held], axis=0)
        loads[r] = arrays.stack([carried(c) for c in held], axis=0)
        near[r] = arrays.stack([carried_nearby(model, int(k)) for k in alike_in_size], axis=0)
    spinning = np.array([k for k, c in enumerate(own) if c.spin is not None], dtype=int)
    momenta = arrays.stack([own[k].spin[:, None] for k in spinning], axis=0) if spinning.size else None
    order = np.argsort(np.concatenate([x.bodies for x in joints])) if joints else np.zeros(0, int)
    M = arrays.stack([c.M.matrix for c in own], axis=0) if own else np.zeros((0, 6, 6))
    return Constants(joints, M, order, sizes, row, Gamma, loads, near, (spinning, momenta))


def carried_nearby(model: Model, k: int) -> Array:
    """(r,) the size that D of body k can have where of all it carries its children alone count."""
    own = model.constants()
    c = own[k]
    inertia, mass = c.M.J[0, 0] + c.M.J[1, 1] + c.M.J[2, 2], c.M.m
    for child in (own[i] for i in model.children[k]):
        J, l = child.M.J, child.placement.l
        inertia = inertia + J[0, 0] + J[1, 1] + J[2, 2] + child.M.m * (l * l).sum(axis=-1)
        mass = mass + child.M.m
    return carried(replace(c, load=(inertia, mass)))


@dataclass(frozen=True, eq=False)
class Stacked:
    """The leaf quantities of all bodies at a configuration."""

    model: Model
    fixed: Constants
    q: Array
    phi: Transform  # φ(p, k) of every body, (..., n, …)
    H: dict[int, Array]  # (..., n_r, r, 6) by the size r of the joint
    s: dict[int, Any]  # (..., n_r, 6, r) gyroscopic couplings, where there are any

    @cached_property
    def phi_matrix(self) -> Array:
        """φ(p, k), (..., n, 6, 6)."""
        return self.phi.matrix

    def in_order(self, parts: Sequence[Array]) -> Array:
        """One array per kind of joints, (..., m, i, j), as one for all bodies."""
        return joined(parts)[..., self.fixed.order, :, :]

    def of_size(self, r: int, x: Array) -> Array:
        """(..., n_r, i, j): those of all bodies whose joints have this size."""
        return x[..., self.fixed.of_size(r), :, :]

    # --- motion --------------------------------------------------------------------------------------

    def moving(self, v: Array) -> tuple[Array, Array, Array]:
        """V, a and b of all bodies, each (..., n, 6, 1), without external forces (:mod:`..links`)."""
        own, rates = [], []
        for x in self.fixed.joints:
            beta = v[..., x.v][..., None]
            H, theta = _map(x, self.q), self.q[..., x.q]
            motion = arrays.transpose(H) @ beta
            rate = x.kind.map_rate(theta, beta) if x.H is None else None
            own.append(motion)
            rates.append(motion * 0.0 if rate is None else rate)
        relative = self.in_order(own)
        V = self.carried_outward(relative)
        a = cross_motion(V, relative) + self.in_order(rates)
        return V, a, cross_force(V, self.fixed.M @ V) + self._spinning(V, v)

    def carried_outward(self, x: Array) -> Array:
        """φ*x, (..., n, 6, m): y(k) = φ*(p,k) y(p) + x(k), in ⌈log₂ depth⌉ rounds of doubling."""
        for phi, there in self.jumps():
            x = x + phi.T @ _with_none(x)[..., there, :, :]
        return x

    @property
    def _inboard(self) -> np.ndarray:
        """The body that each hangs on; −1 for the world."""
        tree = self.model.tree
        return np.array([tree.parent(k) for k in range(len(tree))], dtype=int)

    def jumps(self) -> Any:
        """(φ from where a body's motion has come so far, what is there) of every round; n is the world."""
        inboard = self._inboard
        n = len(inboard)
        there = np.where(inboard < 0, n, inboard)
        phi = self.phi
        while (there < n).any():
            yield phi, there
            R, l = _with_none(phi.R, arrays.eye(3, like=phi.R)), _with_none(phi.l[..., None])
            phi = Transform(R[..., there, :, :], l[..., there, :, :][..., 0]).compose(phi)
            there = np.append(there, n)[there]

    def _spinning(self, V: Array, v: Array) -> Any:
        """What rotors that turn with their parents ask of these, ω(p) × sβ (:func:`..links.gyroscopic_forces`)."""
        bodies, momenta = self.fixed.spins
        inboard = self._inboard
        held = np.flatnonzero(inboard[bodies] >= 0)
        if not held.size:
            return 0.0
        bodies = bodies[held]
        starts = [self.model.v_slices[k].start for k in bodies]
        omega = V[..., inboard[bodies], :3, :]
        moment = cross(omega, momenta[held] * v[..., starts][..., None, None])
        asked = _with_none(arrays.concatenate([moment, moment * 0.0], axis=-2))
        wheels = padded(
            [[int(i) for i in np.flatnonzero(inboard[bodies] == k)] for k in range(len(inboard))], len(held)
        )
        return asked[..., wheels, :, :].sum(axis=-3)


def evaluate(model: Model, fixed: Constants, q: Array) -> Stacked:
    """φ and H of all bodies at the configuration q (..., nq)."""
    rotations, offsets, maps = [], [], []
    for x in fixed.joints:
        pose = x.before.compose(x.kind.transform(q[..., x.q]))
        rotations.append(_for_each(pose.R if x.after is None else pose.R @ x.after, len(x.bodies)))
        offsets.append(_for_each(pose.l[..., None], len(x.bodies)))
        maps.append(_for_each(_map(x, q), len(x.bodies)))
    phi = Transform(joined(rotations)[..., fixed.order, :, :], joined(offsets)[..., fixed.order, :, :][..., 0])
    H: dict[int, Array] = {}
    for r in fixed.Gamma:
        parts = [(x, h) for x, h in zip(fixed.joints, maps) if h.shape[-2] == r]
        order = np.argsort(np.concatenate([x.bodies for x, _ in parts]))
        H[r] = joined([h for _, h in parts])[..., order, :, :]
    return Stacked(model, fixed, q, phi, H, _couplings(fixed, phi))


def _couplings(fixed: Constants, phi: Transform) -> dict[int, Any]:
    """s = [R*σ; 0] of joints with a gyroscopic rotor, σ its momentum in the parent's axes; zero at the others."""
    bodies, momenta = fixed.spins
    out: dict[int, Any] = dict.fromkeys(fixed.Gamma)
    if bodies.size:  # they are of one degree of freedom
        every = np.full(len(fixed.sizes), bodies.size)
        every[bodies] = np.arange(bodies.size)
        turned = arrays.transpose(phi.R) @ _with_none(momenta)[every]
        out[1] = arrays.concatenate([turned, turned * 0.0], axis=-2)[..., fixed.of_size(1), :, :]
    return out


def _map(x: Alike, q: Array) -> Array:
    """H of joints of one kind, (..., m, r, 6)."""
    return x.H if x.H is not None else arrays.transpose(x.kind.map(q[..., x.q]))


def _for_each(x: Array, count: int) -> Array:
    """(..., m, i, j), also of what is the same for all m."""
    batch = x.shape[:-2] if x.ndim > 2 else (count,)
    return arrays.namespace(x).broadcast_to(x, (*batch[:-1], count, *x.shape[-2:]))


# --- arrays with an axis for the bodies ---------------------------------------------------------------


def joined(parts: Sequence[Array]) -> Array:
    """Arrays (..., m, i, j) one after another along the axis of the bodies, their batches broadcast."""
    xp = arrays.namespace(*parts)
    batch = np.broadcast_shapes(*(x.shape[:-3] for x in parts))
    return xp.concatenate([xp.broadcast_to(x, batch + x.shape[-3:]) for x in parts], axis=-3)


def _with_none(x: Array, none: Array | None = None) -> Array:
    """(..., n + 1, i, j): with what stands for no body, zero or ``none``, at the end."""
    return joined([x, (arrays.zeros(x.shape[-2:], like=x) if none is None else none)[None]])


def padded(rows: Sequence[Sequence[int]], filler: int) -> np.ndarray:
    """Lists of places as one array, filled up."""
    width = max((len(row) for row in rows), default=0)
    return np.array([[*row, *[filler] * (width - len(row))] for row in rows], dtype=int).reshape(len(rows), width)
