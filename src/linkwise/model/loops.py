"""Loops: two frames of a robot, or one and the world, held together as a joint that closes a chain would hold them.

A loop says which motions of ``frame_b`` against ``frame_a`` it stops. Directions are axes of ``frame_a``: a hinge turns
about its z, a slider moves along its z, a plane has it as normal (math notes on closed chains 2.1).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..arguments import is_number, one_of, shown, unmasked
from ..errors import ModelError
from ..properties import cached_property
from ..values import ByValue, fixed
from .parts import Frame

# kind → which of [N_x N_y N_z F_x F_y F_z] it can transmit, in the axes of frame a.
TRANSMITTED: dict[str, tuple[int, ...]] = {
    "weld": (0, 1, 2, 3, 4, 5),
    "revolute": (0, 1, 3, 4, 5),
    "prismatic": (0, 1, 2, 3, 4),
    "cylindrical": (0, 1, 3, 4),
    "universal": (2, 3, 4, 5),  # the first stands for a moment about x_b × y_a
    "spherical": (3, 4, 5),
    "planar": (0, 1, 5),
    "point_on_plane": (5,),
    "point_on_line": (3, 4),
    "distance": (3,),  # stands for a force along the line between the origins
    # Contacts of a hand (frame b) with an object (frame a), whose surface has the normal z there.
    "soft_finger": (2, 3, 4, 5),
    "line_on_plane": (1, 5),  # the first stands for a moment about z_a × x_b
    "rough_line": (1, 2, 3, 4, 5),
    "rolling": (3, 4, 5),  # at the point of b's ball that touches a's plane
}
# Rows that stop a rate and no position: turning and coming back another way, b may end where they would not let it go.
RATES_ONLY: dict[str, tuple[int, ...]] = {"soft_finger": (0,), "rolling": (0, 1)}
# Where b's origin moves in frame a while the loop is closed, forces act at it; elsewhere the origins coincide.
AT_FRAME_B = frozenset(
    {
        *("prismatic", "cylindrical", "planar", "point_on_plane", "point_on_line", "distance", "constrains"),
        *("line_on_plane", "rolling"),
    }
)

_NO_LENGTH = 1e-9  # what counts as nothing beside the largest number of a matrix


@dataclass(frozen=True, eq=False)
class Loop(ByValue):
    """What holds ``frame_b`` to ``frame_a`` (names, or :class:`Frame` objects; "world" is a frame too).

    ``kind``: "weld", "revolute" (about z), "prismatic" (along z), "cylindrical" (z), "universal" (x_b stays
    perpendicular to y_a), "spherical", "planar" (normal z), "point_on_plane" (b's origin in the plane of a with normal
    z), "point_on_line" (b's origin on a's z), "distance" (between the origins: ``length`` [m]); or leave it out and
    give ``constrains``, a (k, 6) matrix whose rows are the motions [ω; v] of b's origin, seen from frame a in its
    axes, that are stopped (rows that stop turns about one direction alone, or tie turning to sliding, stop a rate and
    no position). Kinds of touch are "soft_finger" (the origins together, b not spinning about a's z),
    "line_on_plane" (b's x stays in the plane of a with normal z), "rough_line" (the same without slipping: a hinge
    about x) and "rolling" (a ball about b's origin, of ``radius`` [m], rolls without slipping on that plane, which z
    enters from the ball's side). ``name`` is for messages. With ``stiffness`` [N m/rad, N/m] or ``damping``
    [N m s/rad, N s/m] the loop is soft: it pulls its frames together instead of holding them. ``dependent``
    names joints on the loop that follow the others on it, always: then it is embedded by default, with the others as
    coordinates.
    """

    frame_a: str | Frame
    frame_b: str | Frame
    kind: str = "weld"
    _: KW_ONLY
    constrains: Any = None
    length: float | None = None
    name: str = ""
    stiffness: float | None = None
    damping: float | None = None
    radius: float | None = None
    dependent: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for frame in (self.frame_a, self.frame_b):
            if not isinstance(frame, (str, Frame)):
                raise ModelError(f"a loop joins two frames, given by name or as lw.Frame, got {frame!r}")
        if not isinstance(self.name, str):
            raise ModelError(f"the name of a loop must be a text, got {shown(self.name)}")
        if not self.name:
            object.__setattr__(self, "name", f"{_name(self.frame_a)}–{_name(self.frame_b)}")
        if self.constrains is not None:
            if not isinstance(self.kind, str) or self.kind not in ("weld", "constrains"):
                raise ModelError(f"loop {self.name!r}: give a kind or constrains=, not both")
            object.__setattr__(self, "kind", "constrains")
            object.__setattr__(self, "constrains", self._checked_rows())
        else:
            one_of(self.kind, TRANSMITTED, f"kind of loop (loop {self.name!r})", error=ModelError)
        self._check_length("length", "distance")
        self._check_length("radius", "rolling")
        self._check_dependent()
        for what in ("stiffness", "damping"):
            x = getattr(self, what)
            if x is None:
                continue
            if not (is_number(x) and np.isfinite(x) and x >= 0):
                raise ModelError(f"loop {self.name!r}: {what} must be a number that is not negative, got {x!r}")
            object.__setattr__(self, what, float(x))

    def _checked_rows(self) -> np.ndarray:
        unmasked(self.constrains, f"constrains of loop {self.name!r}", ModelError)
        try:
            rows = np.array(self.constrains, dtype=float)
        except (TypeError, ValueError):
            rows = np.zeros(0)
        if rows.ndim != 2 or rows.shape[1] != 6 or not 1 <= len(rows) <= 6 or not np.isfinite(rows).all():
            raise ModelError(f"loop {self.name!r}: constrains must be a finite (k, 6) matrix with k = 1 … 6")
        if np.linalg.matrix_rank(rows) < len(rows):
            raise ModelError(f"loop {self.name!r}: rows of constrains depend on each other; leave the spare ones out")
        return fixed(rows)

    def _check_length(self, what: str, kind: str) -> None:
        """Refuse a length that is none, and one that this kind does not have."""
        x = getattr(self, what)
        if self.kind == kind:
            if not is_number(x) or not np.isfinite(x) or x <= 0:
                article = "a " if kind == "distance" else ""
                raise ModelError(
                    f"loop {self.name!r}: {article}{kind} needs {what}= [m], positive and finite, got {x!r}"
                )
            object.__setattr__(self, what, float(x))
        elif x is not None:
            raise ModelError(f"loop {self.name!r}: {what}= belongs to the kind {kind!r}, not to {self.kind!r}")

    def _check_dependent(self) -> None:
        if self.dependent is None:
            return
        given = (self.dependent,) if isinstance(self.dependent, str) else self.dependent
        if not isinstance(given, (list, tuple)) or not given or not all(isinstance(x, str) for x in given):
            raise ModelError(
                f"loop {self.name!r}: dependent= names joints that follow others, got {shown(self.dependent)}"
            )
        if len(set(given)) < len(given):
            raise ModelError(f"loop {self.name!r}: dependent= names a joint twice")
        if self.soft:
            raise ModelError(f"loop {self.name!r} is soft, so that no joint follows others by it; leave dependent= out")
        object.__setattr__(self, "dependent", tuple(given))

    @property
    def soft(self) -> bool:
        """Whether it gives."""
        return self.stiffness is not None or self.damping is not None

    @property
    def size(self) -> int:
        """How many motions it stops."""
        return len(self.constrains if self.kind == "constrains" else TRANSMITTED[self.kind])

    @property
    def holonomic_rows(self) -> tuple[bool, ...]:
        """By row, whether it stops a position, and not a rate alone."""
        if self.kind == "constrains":
            return tuple(self._is_position(row) for row in self.constrains)
        return tuple(i not in RATES_ONLY.get(self.kind, ()) for i in range(self.size))

    @property
    def holds_energy(self) -> bool:
        """Whether a spring that closes it holds energy, as a function of where its frames are.

        Of a matrix ``constrains`` so where rows slide alone or turn alone, and those that turn are orthonormal and stop
        positions.
        """
        if self.kind != "constrains":
            return True
        turns = np.array([row[:3] for row in self.constrains if row[:3].any()]).reshape(-1, 3)
        mixed = any(row[:3].any() and row[3:].any() for row in self.constrains)
        return (
            not mixed and all(self.holonomic_rows) and np.allclose(turns @ turns.T, np.eye(len(turns)), atol=_NO_LENGTH)
        )

    @cached_property
    def stopped_turns(self) -> np.ndarray:
        """The turns that ``constrains`` stops by themselves, whatever b slides: orthonormal rows (0 … 3, 3)."""
        sliding = self.constrains[:, 3:] / np.abs(self.constrains).max()
        left, sizes, _ = np.linalg.svd(sliding)
        rank = int((sizes > _NO_LENGTH).sum())
        turns = left[:, rank:].T @ (self.constrains[:, :3] / np.abs(self.constrains).max())
        _, sizes, axes = np.linalg.svd(turns)
        return fixed(axes[: int((sizes > _NO_LENGTH).sum())])

    def _is_position(self, row: np.ndarray) -> bool:
        """Whether a row of ``constrains`` is the rate of something that configurations have.

        Rates of turning are that only where the turns left over are those about one axis, or none: otherwise b comes
        back turned by another way.
        """
        turn, size = row[:3], np.abs(self.constrains).max()
        axes = self.stopped_turns
        if np.abs(turn).max() <= _NO_LENGTH * size:
            return True
        return len(axes) >= 2 and float(np.abs(turn - axes.T @ (axes @ turn)).max()) <= _NO_LENGTH * size


def _name(frame: str | Frame) -> str:
    return frame if isinstance(frame, str) else frame.name
