"""How the loops of a robot are kept closed along a motion: by projection after each step, or by Baumgarte's terms.

    projection   q ← q ⊕ (−𝓜⁻¹G*X⁺g), then v ← v − 𝓜⁻¹G*X⁺Gv: the least change in kinetic energy
    Baumgarte    Gβ̇ + Ġβ + 2ωGβ + ω²g = 0, ω the rate at which errors die away

(math notes 13.7, and on closed chains 2.5)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import number, one_of
from ..arrays import Array
from ..errors import ClosureError, InputError, NotAdmittedError
from ..robot.robot import Robot

CLOSINGS = ("projection", "baumgarte", "none")
RATE = 0.2  # of Baumgarte's terms, by the step (math notes 13.7)
ADAPTIVE_RATE = 10.0  # [1/s] where steps are the solver's own
OPEN = 1e-6  # an error [rad, m; rad/s, m/s] beyond which a start counts as open, in double precision


@dataclass(frozen=True)
class Closing:
    """What keeps loops closed; the rate [1/s] of Baumgarte's terms, and how often a projection of q is repeated."""

    how: str = "none"
    rate: float = 0.0
    repeated: int = 1

    @property
    def options(self) -> dict[str, float]:
        """What forward dynamics is called with."""
        return {"closing_rate": self.rate} if self.how == "baumgarte" else {}

    def after_step(
        self, robot: Any, q: np.ndarray, w: np.ndarray, target: str | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The state after a step, brought back to where the loops are closed."""
        if self.how != "projection":
            return q, w
        for _ in range(self.repeated):
            q = robot.integrate(q, robot.closing_step(q, target=target), target=target)
        n = robot.nv
        v = robot.closed_velocity(q, w[..., :n], target=target)
        return q, v if w.shape[-1] == n else np.concatenate([v, w[..., n:]], axis=-1)


LEFT = Closing()  # as steps leave them


def chosen(
    robot: Robot, closing: str | None, rate: float | None, method: str, coordinates: str, step: float, adaptive: bool
) -> Closing:
    """The closing that was asked for, or the one that suits."""
    if closing is not None:
        one_of(closing, CLOSINGS, "way to keep loops closed")
    if not robot.loops:
        if closing not in (None, "none") or rate is not None:
            raise InputError(f"robot {robot.name!r} has no loops to be kept closed; leave closing out")
        return LEFT
    if method == "variational" or coordinates != "joint":
        what = "the variational step" if method == "variational" else f"coordinates={coordinates!r}"
        raise NotAdmittedError(
            f"{what} needs coordinates that are independent, and robot {robot.name!r} has {len(robot.loops)} loops that"
            ' are cut; use coordinates="joint" with "semi_implicit_euler", "midpoint" or "runge_kutta_4"'
        )
    how = closing or ("baumgarte" if adaptive else "projection")
    if adaptive and how == "projection":
        raise InputError(f'{method} chooses its own steps: closing is "baumgarte" (the default there) or "none"')
    if how != "baumgarte":
        if rate is not None:
            raise InputError(f'closing_rate is that of closing="baumgarte", not of {how!r}')
        return Closing(how, repeated=1 if method == "runge_kutta_4" else 2)  # its errors are small already
    if rate is None:
        return Closing(how, ADAPTIVE_RATE if adaptive else RATE / step)
    return Closing(how, number(rate, "closing_rate [1/s]", above=0.0))


def refuse_open(robot: Any, q: Array, v: Array) -> None:
    """Refuse states (states, n) at which loops are open, or come apart; names the worst loop."""
    if not robot.loops:
        return
    bound = OPEN * float(np.sqrt(np.finfo(q.dtype).eps / np.finfo(float).eps))
    for error, of, unit, remedy in (
        (robot.loop_error(q), "is open", "rad or m", "q0 = robot.closed_configuration(q0)"),
        (robot.loop_velocity(q, v), "comes apart", "rad/s or m/s", "v0 = robot.closed_velocity(q0, v0)"),
    ):
        size = np.where(robot.rigid_rows, np.abs(error), 0.0)
        if size.size and not np.nanmax(size) <= bound:
            state, row = (int(i) for i in np.unravel_index(np.nanargmax(size), size.shape))
            loop = robot.loops[int(np.searchsorted(np.cumsum([x.size for x in robot.loops]), row, side="right"))]
            where = f" in state {state} of the batch" if len(size) > 1 else ""
            raise ClosureError(
                f"the motion would start where loop {loop.name!r} of robot {robot.name!r} {of}{where}, by"
                f" {size[state, row]:.3g} ({unit}); close it first: {remedy}"
            )
