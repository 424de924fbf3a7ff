"""Which bodies a loop gathers, and how many motions it stops by structure: what embedding it needs, for all states.

A loop gathers the bodies on its two branches, as far as their nearest common ancestor, which is none of them; loops
that share a body make one group (math notes on closed chains 1.3). Which rows of a loop count is proved from the
screws of its joints: all motions of its branches lie in the Lie algebra 𝔤 that these generate, and 𝔤 is carried into
itself by them, so that in frame a it is one constant subspace B. Rows of W*B that depend on others for every place of
frame b do so at every configuration, closed or not: of a hinge that closes a planar or a spherical linkage two rows
count. What hangs on lengths alone (Bennett's and Bricard's linkages) is no such proof: there the user
says which joints follow, ``Loop(…, dependent=[…])``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import as_numpy, is_symbolic
from ...errors import ModelError, did_you_mean
from ...model.flexible.structure import grouped
from ...model.joints.kinds import Custom, JointKind, Universal
from ...model.loops import Loop
from ...model.model import Model
from ...spatial import Transform, cross_motion_matrix
from ...tolerances import SCREWS
from .closures import transmitted
from .loop_errors import TURNING_MOMENTS

_X_ALONG_EACH = [np.roll(np.eye(3), i, axis=0) for i in range(3)]  # turns that take x along x, y and z
# Beyond these a group is not embedded unasked. Freedoms: a node of r rates inverts a matrix of r × r, and six are what
# a free body has (math notes on closed chains 1.2). Rows: loops that share a platform are one
# dense node, where cut ones couple in few blocks (a delta arm of 18 rows 10581 operations against 7022, a Stewart
# platform 15965 against 6315; a four-bar of 2 in a chain 527 against 561).
MOST_FREEDOMS = 6
MOST_ROWS = 6


@dataclass(frozen=True, eq=False)
class Group:
    """Bodies that loops make one node of the tree."""

    members: tuple[int, ...]  # in order; all hang on one body or on each other
    outer: int  # the body that they hang on, −1 the world
    loops: tuple[Loop, ...]
    rows: tuple[tuple[int, ...], ...]  # by loop, those that count
    columns: tuple[int, ...]  # the entries of v that are the members'
    dependent: tuple[int, ...] | None  # places among the columns of the joints that the user says follow

    @property
    def rank(self) -> int:
        """How many motions the loops stop."""
        return sum(map(len, self.rows)) if self.dependent is None else len(self.dependent)

    @property
    def freedoms(self) -> int:
        """How many are left."""
        return len(self.columns) - self.rank

    @property
    def independent(self) -> list[int]:
        """Places among the columns of the joints that no other follows; of all, where none are said to follow."""
        return [c for c in range(len(self.columns)) if c not in (self.dependent or ())]

    @property
    def row_names(self) -> list[str]:
        """Of every row that counts, the loop that it is of."""
        return [x.name for x, rows in zip(self.loops, self.rows) for _ in rows]

    @property
    def named(self) -> str:
        return ", ".join(repr(x.name) for x in self.loops)


def groups(model: Model, loops: Sequence[Loop]) -> tuple[Group, ...]:
    """The groups that these loops make, in the order of their first bodies."""
    found: list[tuple[set[int], list[Loop]]] = []
    for loop in loops:
        bodies, own = set(between(model, loop)), [loop]
        for other in [x for x in found if x[0] & bodies]:
            found.remove(other)
            bodies |= other[0]
            own = [*other[1], *own]
        found.append((bodies, own))
    return tuple(sorted((_group(model, *x) for x in found), key=lambda g: g.members))


def independent_entries(model: Model, found: Sequence[Group]) -> list[int]:
    """The entries of v that are left where joints of these groups follow others."""
    following = {g.columns[c] for g in found for c in g.dependent or ()}
    return [i for i in range(model.nv) if i not in following]


def between(model: Model, loop: Loop) -> list[int]:
    """The bodies on the two branches of a loop, up to where they meet."""
    a, b = (model.tree.path(model.frame(f)[0]) for f in (loop.frame_a, loop.frame_b))
    return sorted(set(a) ^ set(b))


def _group(model: Model, bodies: set[int], loops: list[Loop]) -> Group:
    members = tuple(sorted(bodies))
    columns = tuple(i for k in members for i in range(*model.v_slices[k].indices(model.nv)))
    named = [name for loop in loops for name in loop.dependent or ()]
    dependent = None
    if named:
        dependent = tuple(columns.index(i) for i in _entries(model, loops, named, members))
    rows = tuple(_rows_that_count(model, x) if dependent is None else tuple(range(x.size)) for x in loops)
    return Group(members, model.tree.parent(members[0]), tuple(loops), rows, columns, dependent)


def _entries(model: Model, loops: Sequence[Loop], named: Sequence[str], members: Sequence[int]) -> list[int]:
    """The entries of v of joints that are said to follow."""
    own = {model.joints[k].name: k for k in members}
    out: list[int] = []
    for name in dict.fromkeys(named):
        if name not in own:
            loop = next(x for x in loops if name in (x.dependent or ()))
            raise ModelError(
                f"robot {model.name!r}: joint {name!r}, which dependent= of loop {loop.name!r} names, is not on the"
                f" loop; {did_you_mean(name, list(own)) or 'choose from ' + ', '.join(own)}"
            )
        out += range(*model.v_slices[own[name]].indices(model.nv))
    return out


def refusal(model: Model, group: Group) -> str | None:
    """Why loops are not embedded; None where they are."""
    if model.couplings:
        return f"the robot has {grouped(model)}, and loops are embedded on trees of free joints"
    for k in group.members:
        if model.constants()[k].spin is not None:
            return (
                f"joint {model.joints[k].name!r} on loop {group.named} has a rotor with an axis; model that rotor as a"
                " body of its own"
            )
    if group.freedoms < 1:
        return (
            f"loop {group.named} stops {group.rank} motions by structure, and its bodies have {len(group.columns)}"
            " joint rates: it moves, if at all, by its special lengths; name the joints that follow the others,"
            " lw.Loop(…, dependent=[…])"
        )
    if group.dependent is not None and group.rank > sum(x.size for x in group.loops):
        return (
            f"dependent= of loop {group.named} names joints of {group.rank} rates, and the loop stops no more than"
            f" {sum(x.size for x in group.loops)} motions; name fewer"
        )
    return None


# --- what is redundant by structure ----------------------------------------------------------------------------------


def _rows_that_count(model: Model, loop: Loop) -> tuple[int, ...]:
    B = _algebra(model, loop)
    if B is None:
        return tuple(range(loop.size))
    # W is affine in where b's origin is and in b's x, with which some moments turn: what holds at these places and for
    # these axes holds for all.
    places = [np.zeros(3), *np.eye(3)]
    turned = _X_ALONG_EACH if loop.kind in TURNING_MOMENTS else _X_ALONG_EACH[:1]
    stacked = np.concatenate([transmitted(loop, E, d).T @ B for E in turned for d in places], axis=1)
    return _independent(stacked)


def _independent(A: np.ndarray) -> tuple[int, ...]:
    """Rows of A on which all others depend, the longest of what is left first."""
    left, chosen = A.copy(), []
    size = np.linalg.norm(A, axis=1)
    for _ in range(min(A.shape)):
        share = np.divide(np.linalg.norm(left, axis=1), size, out=np.zeros(len(A)), where=size > SCREWS)
        i = int(np.argmax(np.round(share, 9)))  # of equals the first
        if share[i] <= SCREWS:
            break
        along = left[i] / np.linalg.norm(left[i])
        left = left - np.outer(left @ along, along)
        chosen.append(i)
    return tuple(sorted(chosen))


def _algebra(model: Model, loop: Loop) -> np.ndarray | None:
    """B, (6, dim): the Lie algebra of a loop's joints in frame a, or None where all motions must be reckoned with."""
    bodies = between(model, loop)
    constants = model.constants()
    kinds = [constants[k].kind for k in bodies]
    if any(is_symbolic(constants[k].placement.l) for k in bodies) or not all(map(_is_known, kinds)):
        return None
    poses: dict[int, Transform] = {}
    screws = []
    for k in bodies:
        kind, p = constants[k].kind, model.tree.parent(k)
        own = constants[k].placement.compose(kind.transform(kind.neutral()))
        poses[k] = poses[p].compose(own) if p in poses else own
        screws.append(as_numpy(poses[k].inverse().T @ kind.map(kind.neutral())))
    a, on_a = model.frame(loop.frame_a)
    pose = poses[a].compose(on_a) if a in poses else on_a
    span = _span(as_numpy(pose.T @ np.concatenate(screws, axis=1)))
    while True:
        brackets = [as_numpy(cross_motion_matrix(x[:, None])) @ span for x in span.T]
        larger = _span(np.concatenate([span, *brackets], axis=1))
        if larger.shape[1] == span.shape[1]:
            return span
        span = larger


def _is_known(kind: JointKind) -> bool:
    """Whether a joint moves within the Lie algebra of its map: a constant one, or that of two axes that meet."""
    constant = type(kind).map is JointKind.map and not isinstance(kind, Custom)
    return constant or isinstance(kind, Universal)


def _span(A: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the columns of A (6, ·)."""
    left, values, _ = np.linalg.svd(A)
    return left[:, : int((values > SCREWS * values[:1]).sum())] if values.size else np.zeros((6, 0))
