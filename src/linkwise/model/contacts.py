"""Contacts: how a hand holds an object, which forces it can give it there, and when friction lets them be.

Of the forces [N; F] at the point where they touch, in the axes of the object's contact frame, a contact transmits Wλ
and leaves the motions Uμ free, W*U = 0 (math notes on closed chains 3.1).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..arguments import shown
from ..errors import ModelError, did_you_mean
from ..values import ByValue
from .loops import TRANSMITTED, Loop
from .parts import Frame

# kind → the loop that stands for it, between the object's frame (a) and the hand's (b); None: rows of its own.
LOOP_KINDS: dict[str, str | None] = {
    "rigid": "weld",
    "soft_finger": "soft_finger",
    "hard_finger": "spherical",
    "frictionless_point": "point_on_plane",
    "line": "line_on_plane",
    "plane": "planar",
    "sliding": None,
    "rolling": "rolling",
}
SLIDING = (0, 1, 2, 4, 5)  # all but F_x
WITH_FRICTION = ("soft_finger", "hard_finger", "line", "rolling")
WITH_TORSION = ("soft_finger", "line")
NORMAL = 5  # of [N; F]
TANGENTIAL = (3, 4)
SPIN = 2


@dataclass(frozen=True, eq=False)
class Contact(ByValue):
    """A hand on an object: ``hand_frame`` of an arm holds ``object_frame`` (names, or :class:`Frame` objects).

    The object's frame is the contact frame: its z is the normal that enters the object, so that a hand that pushes has
    F_z > 0. A frame of the object without a body sits on its root body. ``kind`` says what is transmitted:

    - "rigid": all, the two frames coincide;
    - "hard_finger", a point with friction: F_x F_y F_z, the origins coincide;
    - "soft_finger": F_x F_y F_z N_z, the origins coincide and the hand does not spin about z;
    - "frictionless_point": F_z, the hand's origin stays in the plane z = 0;
    - "line": F_z N_y, the hand's x stays in that plane; with ``friction`` also F_x F_y N_z, a hinge about x;
    - "plane": F_z N_x N_y, the hand slides and spins on the plane;
    - "sliding": all but F_x, the hand slides along x;
    - "rolling": F_x F_y F_z, a ball of ``radius`` [m] about the hand's origin rolls on the plane without slipping.

    ``friction`` is Coulomb's coefficient μ, ``torsion`` [m] the same for spinning: (F_x² + F_y²)/μ² + N_z²/γ² ≤ F_z².
    Without them a contact holds tangentially whatever comes, and nothing is known of its cone. ``arm`` says whose hand
    it is, by place among the arms (0, 1, …) or by name ("arm_1"), where that is not clear. ``name`` is for messages.
    """

    hand_frame: str | Frame
    object_frame: str | Frame
    kind: str = "rigid"
    _: KW_ONLY
    friction: float | None = None
    torsion: float | None = None
    radius: float | None = None
    arm: int | str | None = None
    name: str = ""

    def __post_init__(self) -> None:
        for label in ("hand_frame", "object_frame"):
            frame = getattr(self, label)
            if not isinstance(frame, (str, Frame)) or frame == "":
                raise ModelError(f"a contact's {label} is a name or an lw.Frame, got {shown(frame)}")
        if not isinstance(self.name, str):
            raise ModelError(f"the name of a contact must be a text, got {shown(self.name)}")
        if not self.name:
            object.__setattr__(self, "name", f"{frame_name(self.hand_frame)}–{frame_name(self.object_frame)}")
        if not isinstance(self.kind, str) or self.kind not in LOOP_KINDS:
            meant = did_you_mean(str(self.kind), LOOP_KINDS) or f"choose from {', '.join(LOOP_KINDS)}"
            raise ModelError(f"contact {self.name!r}: no kind of contact is named {shown(self.kind)}; {meant}")
        if isinstance(self.arm, bool) or not (self.arm is None or isinstance(self.arm, (int, str))):
            raise ModelError(f"contact {self.name!r}: arm= is a place among the arms or a name, got {shown(self.arm)}")
        self._check("friction", WITH_FRICTION, "")
        self._check("torsion", WITH_TORSION, " [m]")
        self._check("radius", ("rolling",), " [m]")
        if self.torsion is not None and self.friction is None:
            raise ModelError(f"contact {self.name!r}: torsion= goes with friction=; give both")
        if self.kind == "rolling" and self.radius is None:
            raise ModelError(f"contact {self.name!r}: a rolling contact needs radius= [m], that of the hand's ball")

    def _check(self, label: str, kinds: tuple[str, ...], unit: str) -> None:
        x = getattr(self, label)
        if x is None:
            return
        if self.kind not in kinds:
            raise ModelError(
                f"contact {self.name!r}: {label}= is for {', '.join(kinds)}, and a {self.kind!r} contact has none"
            )
        if isinstance(x, bool) or not isinstance(x, (int, float, np.floating)) or not np.isfinite(x) or x <= 0:
            raise ModelError(f"contact {self.name!r}: {label}={unit} must be positive and finite, got {shown(x)}")
        object.__setattr__(self, label, float(x))

    @property
    def transmitted(self) -> tuple[int, ...]:
        """Which of [N_x N_y N_z F_x F_y F_z] it transmits, row by row of λ."""
        kind = self._loop_kind
        return SLIDING if kind is None else TRANSMITTED[kind]

    @property
    def size(self) -> int:
        """How many forces it transmits."""
        return len(self.transmitted)

    @property
    def _loop_kind(self) -> str | None:
        return "rough_line" if self.kind == "line" and self.friction is not None else LOOP_KINDS[self.kind]

    @property
    def W(self) -> np.ndarray:
        """(6, m): a basis of what it transmits at the point of touch, in the contact frame's axes."""
        return np.eye(6)[:, list(self.transmitted)]

    @property
    def U(self) -> np.ndarray:
        """(6, 6 − m), the dual of W: a basis of the motions that it leaves free, W*U = 0."""
        return np.eye(6)[:, [i for i in range(6) if i not in self.transmitted]]

    @property
    def loop(self) -> Loop:
        """The same as a loop, of which the object's frame is frame a and the hand's is frame b."""
        ends, kind = (self.object_frame, self.hand_frame), self._loop_kind
        if kind is None:
            return Loop(*ends, constrains=self.W.T, name=self.name)
        return Loop(*ends, kind, name=self.name, radius=self.radius)

    @property
    def presses(self) -> bool:
        """Whether it can push and not pull, so that its normal force must not be negative."""
        return self.kind not in ("rigid", "sliding")

    @property
    def tangents(self) -> dict[int, float]:
        """Row of λ → the coefficient that bounds it, of what friction holds: |(λ_i/c_i)| ≤ F_z; none if unbounded."""
        if self.friction is None:
            return {}
        bounds: dict[int, Any] = dict.fromkeys(TANGENTIAL, self.friction)
        bounds[SPIN] = self.torsion
        return {i: bounds[k] for i, k in enumerate(self.transmitted) if bounds.get(k) is not None}


def frame_name(frame: str | Frame) -> str:
    return frame if isinstance(frame, str) else frame.name
