"""The same links seen from other frames: which body's axes and origin each body's quantities are referred to.

The papers refer everything to one inertially fixed point 𝓘, where link-to-link transfers are the identity
(Linearized dynamics paper §2); link frames are the other extreme. Every algorithm that takes :class:`Links`
runs in either, or in any mixture: the cheapest is the one with the fewest entries that depend on q.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .. import arrays
from ..arrays import Array
from ..spatial import RigidInertia, Transform, congruence, cross
from .links import Links, identity


@dataclass(frozen=True, eq=False)
class Placed:
    """Links in chosen frames, and where each body's own frame lies in its reference frame."""

    links: Links
    at: list[Transform | None]  # pose of body k in the frame of its reference; None where that is its own

    def motion(self, k: int, X: Array) -> Array:
        """Columns of motions given in body k's own frame, (..., 6, m), seen from its reference frame."""
        pose = self.at[k]
        return X if pose is None else outward_motion(pose, X)

    def compliance(self, k: int, Upsilon: Array) -> Array:
        """A symmetric Υ (..., 6, 6) that takes forces on body k to its motions, seen from its reference frame."""
        return Upsilon if self.at[k] is None else self.motion(k, arrays.transpose(self.motion(k, Upsilon)))

    def turned(self, k: int, x: Array) -> Array:
        """Columns of vectors (..., 3, m) in body k's own axes, seen from those of its reference."""
        pose = self.at[k]
        return x if pose is None else pose.R @ x

    def force(self, k: int, f: Array) -> Array:
        """A force on body k, given in its own frame, seen from its reference frame."""
        pose = self.at[k]
        return f if pose is None else pose @ f


def outward_motion(pose: Transform, X: Array) -> Array:
    """φ⁻*(c, k) X: a motion of a frame k, seen from the frame c in which k has this pose."""
    w = pose.R @ X[..., :3, :]
    return arrays.concatenate([w, pose.R @ X[..., 3:, :] + cross(pose.l[..., :, None], w)], axis=-2)


def own_frames(links: Links) -> Placed:
    """Every body in its own frame."""
    return Placed(links, [None] * len(links.tree))


def referred(links: Links, reference: Sequence[int]) -> Placed:
    """Body k in the frame of body ``reference[k]``; bodies with one reference must be connected."""
    at = _poses(links, reference)
    phi, H, M, s = [], [], [], []
    for k, pose in enumerate(at):
        p = links.tree.parent(k)
        if p >= 0 and reference[p] == reference[k]:
            phi.append(identity(links.q))
        else:
            above = None if p < 0 else at[p]
            outer = links.phi[k] if above is None else above.compose(links.phi[k])
            phi.append(outer if pose is None else _after(outer, pose))
        H.append(links.H[k] if pose is None else arrays.transpose(outward_motion(pose, arrays.transpose(links.H[k]))))
        M.append(links.M[k] if pose is None else congruence(pose, links.M[k]))
        s.append(links.s[k] if pose is None or links.s[k] is None else pose @ links.s[k])
    return Placed(replace(links, phi=phi, H=H, M=M, s=s), at)


def in_one_frame(links: Links) -> Placed:
    """All bodies of a branch of the world in the frame of its first body, so that it does not matter where that is.

    Transfers φ are the identity, but for the first body's from the world. By a sweep, so that it can be rolled; of a
    walk over pairs of bodies H(j)φ(j,k)x remains H(j)x.
    """
    tree, one = links.tree, identity(links.q)
    first = [tree.on_world(k) for k in range(len(tree))]

    def step(parent: Transform, phi: Transform, first: bool) -> Transform:
        return one if first else parent.compose(phi)

    at = tree.outward(step, one, links.phi, first)
    H = [arrays.transpose(outward_motion(pose, arrays.transpose(H))) for pose, H in zip(at, links.H)]
    M = [congruence(pose, M) for pose, M in zip(at, links.M)]
    s = [None if x is None else pose @ x for pose, x in zip(at, links.s)]
    phi = [phi if alone else one for phi, alone in zip(links.phi, first)]
    return Placed(replace(links, phi=phi, H=H, M=M, s=s), at)


def where_walks_meet(links: Links) -> Placed:
    """One frame for all where what is carried from body to body goes along every path by itself, as in loops; there a
    column is turned and moved for each pair of bodies otherwise. What sweeps find is more exact in link frames."""
    return own_frames(links) if links.tree.has_single_bodies else in_one_frame(links)


TURNS = 1.5  # by which a column is turned on its way to the next body, from which one frame takes fewer operations
MEETINGS = 2.5  # of a body with columns from outboard, for that to be worth what moving it to that frame takes


def one_frame_pays(links: Links) -> bool:
    """Whether columns that meet every body inboard take fewer operations in one frame for all than in link frames.

    Link frames have sparse H, and a column is turned for each body that it meets. Where axes are aligned that is once,
    and twice or three times in general. The matrices of linearised inverse dynamics, link frames against one: a chain
    of general geometry, 4 links 1,768 against 1,897, 6 links 3,810 against 3,796, 10 links 9,458 against 8,398, 18
    links 27,051 against 20,818 operations; one with aligned axes, 30 links 37,101 against 42,901; an arm 2,810 against
    3,839; a humanoid 18,314 against 22,636; trees of all kinds of joints, 8 bodies 14,067 against 11,093. Loops know no
    zeros; there it is 10 links 12,435 against 11,805, 30 links 76,605 against 55,515. Where no operations are counted
    link frames do.
    """
    tree = links.tree
    if not (arrays.is_symbolic(links.q) and all(isinstance(M, RigidInertia) for M in links.M)):
        return False
    if not tree.has_single_bodies:
        return True
    columns = tree.inward(lambda outboard, r: (outboard + r, outboard + r), 0, links.sizes)
    met = [0 if tree.on_world(k) else x for k, x in enumerate(columns)]
    turned = sum(x * _turns(phi) for x, phi in zip(met, links.phi) if x)
    return turned > TURNS * sum(met) and sum(met) > MEETINGS * len(tree)


def _turns(phi: Transform) -> float:
    """How often a column is turned about a coordinate axis by φ; a matrix does what two and a half turns do."""
    if phi.turns is None:
        return 2.5
    return len([t for t in phi.turns if arrays.is_symbolic(np.asarray(t.c)) or t.c * t.s != 0.0])


def _poses(links: Links, reference: Sequence[int]) -> list[Transform | None]:
    """The pose of every body in its reference frame, composed along the tree from the references."""
    found: dict[int, Transform | None] = {k: None for k, c in enumerate(reference) if c == k}
    neighbours: list[list[tuple[int, bool]]] = [[] for _ in reference]
    for k in range(len(links.tree)):
        p = links.tree.parent(k)
        if p >= 0 and reference[p] == reference[k]:
            neighbours[p].append((k, True))
            neighbours[k].append((p, False))
    waiting = list(found)
    for k in waiting:  # grows while it is walked
        for other, outboard in neighbours[k]:
            if other not in found:
                step = links.phi[other] if outboard else links.phi[k]
                found[other] = _next(found[k], step, outboard)
                waiting.append(other)
    return [found[k] for k in range(len(reference))]


def _next(pose: Transform | None, phi: Transform, outboard: bool) -> Transform:
    if outboard:
        return phi if pose is None else pose.compose(phi)
    return phi.inverse() if pose is None else _after(pose, phi)


def _after(outer: Transform, inner: Transform) -> Transform:
    """outer ∘ inner⁻¹, with one product fewer than inverting first."""
    R = outer.R @ arrays.transpose(inner.R)
    return Transform(R, outer.l - (R @ inner.l[..., None])[..., 0])
