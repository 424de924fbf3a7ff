"""Joints of a user's own whose map depends on q: cams, curved rails, whatever a smooth pose R(q), p(q) can say.

The function is traced once, on symbols, and kept as its operations (:mod:`..relations`). From it follow, exactly,

    H*(q) = [vee(R*∂ᵢR); R*∂ᵢp]        ∂H*/∂q_i        ∂²H*/∂q_i∂q_j

column by column, which is all that algorithms and linearised models ask of a joint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ... import arrays
from ...arguments import shown, whole
from ...arrays import Array
from ...errors import ModelError, UntraceableError
from ...spatial import Transform
from ...symbols.array import Symbols
from ...symbols.creation import arrays_take_symbols
from ...symbols.derivative import along
from ...symbols.function_memory import refusing_memory
from ...symbols.scalar import Graph, Scalar, Truth
from ..inertia import as_array
from ..relations import INPUT, JUMPS, Relation, recorded
from .kinds import JointKind

_MOST = 6
_STEP = 1e-5  # of the differences that derivatives are compared with
_AGREE = 1e-6


@dataclass(frozen=True, eq=False)
class Guided(JointKind):
    """A joint of your own: ``pose(q₁, …, qₙ)`` gives the body's rotation and place, (R (3, 3), p (3,) [m]), in the
    joint's placement, or p alone where it does not turn.

    ``pose`` is any smooth function written with NumPy's functions. ``freedoms`` is how many coordinates it takes, and
    ``neutral_at`` (n,) where they are neutral, zero by default. The joint's map H*(q) and its derivatives follow from
    it. It is checked there, and at some points around, that R is a rotation, that the joint moves by each coordinate,
    and that derivatives are those of differences.
    """

    pose: Any = field(compare=False, repr=False)
    freedoms: int = 1
    neutral_at: Any = None
    poses: Relation = field(init=False, repr=False)  # R row by row, then p
    maps: Relation = field(init=False, repr=False)  # H* row by row
    first: tuple[Relation, ...] = field(init=False, repr=False)  # ∂H*/∂q_i
    second: tuple[tuple[Relation, ...], ...] = field(init=False, repr=False)  # ∂²H*/∂q_i∂q_j

    def __post_init__(self) -> None:
        n = whole(self.freedoms, "the freedoms of a guided joint", least=1, most=_MOST)
        x = Graph().inputs(INPUT, n)
        R, p = _traced(self.pose, x, n)
        columns = [_column(R, p, x, i) for i in range(n)]
        H = [columns[i][row] for row in range(6) for i in range(n)]
        first = [_along(H, x, i) for i in range(n)]
        second = [[_along(d, x, j) for j in range(n)] for d in first]
        neutral = np.zeros(n) if self.neutral_at is None else _point(self.neutral_at, n)
        kept = {
            "neutral_at": neutral,
            "poses": recorded(n, [*R.ravel(), *p]),
            "maps": recorded(n, H),
            "first": tuple(recorded(n, d) for d in first),
            "second": tuple(tuple(recorded(n, d) for d in row) for row in second),
            "pose": None,  # told by its operations
        }
        for name, value in kept.items():
            object.__setattr__(self, name, value)
        self._set(n, np.zeros((6, n)))
        self._set(n, arrays.as_numpy(self.map(neutral)))
        self._check()

    def transform(self, q: Array) -> Transform:
        found = self._evaluated(self.poses, q)
        return Transform(arrays.matrix([found[3 * i : 3 * i + 3] for i in range(3)]), arrays.stack(found[9:]))

    def map(self, q: Array) -> Array:
        return self._matrix(self.maps, q)

    def map_derivative(self, q: Array, v: Array) -> Array:
        return arrays.total(self._matrix(d, q) * v[..., i : i + 1, :] for i, d in enumerate(self.first))

    def map_partials(self, q: Array) -> tuple[list[Array], list[list[Array]]]:
        return [self._matrix(d, q) for d in self.first], [[self._matrix(d, q) for d in row] for row in self.second]

    def neutral(self) -> np.ndarray:
        return np.array(self.neutral_at)

    def random(self, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(self.neutral_at + rng.uniform(-1, 1, self.nq))

    def _evaluated(self, relation: Relation, q: Array) -> list[Any]:
        """The results at q (..., n), each of its batch and precision."""
        none = 0.0 * q[..., 0]
        return [none + y for y in relation([q[..., i] for i in range(self.nq)])]

    def _matrix(self, relation: Relation, q: Array) -> Array:
        found = self._evaluated(relation, q)
        return arrays.matrix([found[self.nv * i : self.nv * (i + 1)] for i in range(6)])

    # --- checks --------------------------------------------------------------------------------------

    def _check(self) -> None:
        jumps = sorted({op for op, *_ in self.poses.steps} & JUMPS)
        if jumps:
            raise ModelError(f"the pose of a guided joint must be smooth, and {jumps[0]} jumps; write it without")
        points = self.neutral_at + 0.3 * np.random.default_rng(0).uniform(-1, 1, (4, self.nq))
        for q in (self.neutral_at, *points):
            with np.errstate(all="ignore"):
                R, p, H = arrays.as_numpy(self.transform(q).R), arrays.as_numpy(self.transform(q).l), self.map(q)
            if not (np.isfinite(R).all() and np.isfinite(p).all() and np.isfinite(arrays.as_numpy(H)).all()):
                raise ModelError(f"the pose of a guided joint, or its slope, is not finite at q = {q.tolist()}")
            if np.abs(R @ R.T - np.eye(3)).max() > 1e-9 or np.linalg.det(R) < 0:
                raise ModelError(f"a guided joint: R is no rotation matrix at q = {q.tolist()} (R R* ≠ I or det R < 0)")
            self._check_slopes(q, R, arrays.as_numpy(H))
        if np.linalg.matrix_rank(self.H_star) < self.nv:
            raise ModelError(
                f"a guided joint must move by each of its coordinates; at q = {self.neutral_at.tolist()} its map H* has"
                f" rank {np.linalg.matrix_rank(self.H_star)} of {self.nv}. Give neutral_at= another place, or fewer"
                " freedoms"
            )

    def _check_slopes(self, q: np.ndarray, R: np.ndarray, H: np.ndarray) -> None:
        for i, e in enumerate(np.eye(self.nq)):
            ahead, behind = (self.transform(q + s * _STEP * e) for s in (1, -1))
            turned = R.T @ arrays.as_numpy(ahead.R - behind.R) / (2 * _STEP)
            moved = R.T @ arrays.as_numpy(ahead.l - behind.l) / (2 * _STEP)
            found = np.concatenate([[turned[2, 1], turned[0, 2], turned[1, 0]], moved])
            if np.abs(found - H[:, i]).max() > _AGREE * max(1.0, float(np.abs(H[:, i]).max())):
                raise ModelError(
                    f"a guided joint: the slope of its pose by coordinate {i} at q = {q.tolist()} is not that of"
                    " differences, so that the function is not smooth there; write it without kinks"
                )


def _traced(pose: Any, x: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """R (3, 3) and p (3,) of symbols."""
    if not callable(pose):
        raise ModelError(f"the pose of a guided joint is a function of {n} coordinates, got {shown(pose)}")
    function: Callable[..., Any] = pose
    given = x.view(Symbols)
    try:
        with refusing_memory(function), arrays_take_symbols():
            found = function(*(given[..., i] for i in range(n)))
    except UntraceableError as e:
        raise ModelError(f"the pose of a guided joint must be one smooth function of NumPy's functions; {e}") from e
    except (TypeError, AttributeError, ValueError) as e:
        raise ModelError(f"the pose of a guided joint cannot be evaluated for {n} coordinates: {e}") from e
    R, p = found if isinstance(found, tuple) and len(found) == 2 else (np.eye(3), found)
    return _entries(R, (3, 3), "R"), _entries(p, (3,), "p")


def _entries(given: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    found = np.empty(shape, dtype=object)
    rows = np.asarray(given, dtype=object)
    if rows.shape != shape:
        raise ModelError(
            f"the pose of a guided joint is (R, p), R (3, 3) and p (3,), or p alone; {what} has shape {rows.shape}"
        )
    for where, entry in np.ndenumerate(rows):
        value = entry.item() if isinstance(entry, np.ndarray) and entry.size == 1 else entry
        if isinstance(value, (Truth, bool)) or not isinstance(value, (Scalar, int, float, np.generic)):
            raise ModelError(f"the pose of a guided joint: {what} has an entry that is no number, {shown(value)}")
        found[where] = value if isinstance(value, Scalar) else float(value)
    return found


def _along(outputs: Iterable[Any], x: np.ndarray, i: int) -> list[Any]:
    """The derivatives of symbols along one input."""
    return list(along(list(outputs), list(x), [float(j == i) for j in range(len(x))]))


def _column(R: np.ndarray, p: np.ndarray, x: np.ndarray, i: int) -> list[Any]:
    """[vee(R*∂ᵢR); R*∂ᵢp], six symbols."""
    dR, dp = np.empty((3, 3), dtype=object), np.empty(3, dtype=object)
    dR.ravel()[:] = _along(R.ravel(), x, i)
    dp[:] = _along(p, x, i)
    turn = R.T @ dR
    return [turn[2, 1], turn[0, 2], turn[1, 0], *(R.T @ dp)]


def _point(given: Any, n: int) -> np.ndarray:
    found = np.array(as_array(given, "where a guided joint is neutral must be numbers")).reshape(-1)
    if found.shape != (n,) or not np.isfinite(found).all():
        raise ModelError(f"where a guided joint is neutral is {n} finite numbers, got {shown(given)}")
    found.setflags(write=False)
    return found
