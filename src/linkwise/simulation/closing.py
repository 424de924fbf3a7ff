"""How the loops of a robot are kept closed along a motion: by projection after each step, by Baumgarte's terms, or by
stepping coordinates of embedded loops.

    projection   q ← q ⊕ (−𝓜⁻¹G*X⁺g), then v ← v − 𝓜⁻¹G*X⁺Gv: the least change in kinetic energy
    Baumgarte    Gβ̇ + Ġβ + 2ωGβ + ω²g = 0, ω the rate at which errors die away
    embedded     q ← q ⊕ (−N(GN)⁻¹g), until it closes, then v ← v − N(GN)⁻¹Gv, at every stage of a step

Where loops are embedded, what is across N are coordinates, and closing leaves them as they are: a step is that of the
ordinary differential equation in these, of its order and with no drift. N are the directions of the joints that loops
name as dependent, the same for ever; elsewhere G* at the start of the step, a chart of its own for each.

(math notes 13.7, and on closed chains 1.6, 2.5)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import number, one_of
from ..dynamics.closed.scales import typical_length
from ..errors import ClosureError, InputError, NotAdmittedError, SimulationError
from ..robot.closed_methods import refuse_unfit
from ..tolerances import CLOSED, RANK_ROUNDINGS, roundings

CLOSINGS = ("projection", "embedded", "baumgarte", "none")
RATE = 0.2  # of Baumgarte's terms, by the step (math notes 13.7)
ADAPTIVE_RATE = 10.0  # [1/s] where steps are the solver's own
AT_STAGES, AFTER_STEPS = 2, 3  # steps of Newton's: from errors of h² to h⁸, and to h¹⁶ or what roundings leave
OPEN = 1e-6  # an error [rad, m; rad/s, m/s] beyond which a start counts as open, in double precision


@dataclass(frozen=True)
class Closing:
    """What keeps loops closed; the rate [1/s] of Baumgarte's terms, and how often a projection of q is repeated."""

    how: str = "none"
    rate: float = 0.0
    repeated: int = 1

    @property
    def options(self) -> dict[str, Any]:
        """What forward dynamics is called with."""
        if self.how == "baumgarte":
            return {"closing_rate": self.rate}
        return {"method": "embedded"} if self.is_embedded else {}

    @property
    def advice(self) -> str:
        """What else may be wrong where a motion is lost."""
        if not self.is_embedded:
            return ""
        return ' close the loops by closing="projection" (one may have lost its rank, or joints that it names follow),'

    @property
    def is_embedded(self) -> bool:
        return self.how == "embedded"

    def at_stage(
        self, robot: Any, q: Any, w: Any, start: Any, target: str | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The state at a stage of a step from ``start``, as the forces and accelerations there see it."""
        return _embedded(robot, q, w, start, AT_STAGES, target) if self.is_embedded else (q, w)

    def after_step(
        self, robot: Any, q: np.ndarray, w: np.ndarray, start: np.ndarray, target: str | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The state after a step from ``start``, brought back to where the loops are closed."""
        if self.is_embedded:
            return _embedded(robot, q, w, start, AFTER_STEPS, target)
        if self.how != "projection":
            return q, w
        for _ in range(self.repeated):
            q = robot.integrate(q, robot.closing_step(q, target=target), target=target)
        return q, _with_velocity(robot, w, robot.closed_velocity(q, w[..., : robot.nv], target=target))

    def refuse_opened(
        self, robot: Any, q: np.ndarray, step: Callable[[int], int], parameters: Mapping[str, np.ndarray]
    ) -> None:
        """Refuse states (states, rows, nq) in which embedded loops were not closed by so many steps of Newton's."""
        if not self.is_embedded or not q.size:
            return
        error = np.where(robot.rigid_rows, np.abs(_at_loops(robot, "loop_error", parameters, q)), 0.0)
        bound = max(CLOSED, roundings(RANK_ROUNDINGS, q.dtype)) * (1.0 + typical_length(robot))
        if not (error > bound).any():
            return
        state, row, entry = (int(i) for i in np.argwhere(error > bound)[0])
        raise SimulationError(
            f"step {step(row)}: loop {_loop_of(robot, entry).name!r} of robot {robot.name!r} is open by"
            f" {error[state, row, entry]:.3g} (rad or m): {AFTER_STEPS} steps of Newton's did not close it; take a"
            ' smaller step, or closing="projection"'
        )


def _at_loops(robot: Any, name: str, parameters: Mapping[str, np.ndarray], *state: np.ndarray) -> np.ndarray:
    """loop_error or loop_velocity at states (states, ..., n), with the robot's numbers that were given."""
    offsets = parameters.get("offsets")  # inertias neither open loops nor move them
    if offsets is None:
        return np.asarray(getattr(robot, name)(*state))
    if offsets.ndim > 1:
        offsets = offsets.reshape(len(offsets), *[1] * (state[0].ndim - 2), -1)
    return np.asarray(robot.compile(name, parameters=("offsets",))(*state, offsets))


def _loop_of(robot: Any, row: int) -> Any:
    """The loop that a row of the loops' errors belongs to."""
    return robot.loops[int(np.searchsorted(np.cumsum([x.size for x in robot.loops]), row, side="right"))]


def _embedded(
    robot: Any, q: np.ndarray, w: np.ndarray, chart: np.ndarray, times: int, target: str | None
) -> tuple[np.ndarray, np.ndarray]:
    for _ in range(times):
        q = robot.integrate(q, robot.embedded_step(q, chart, target=target), target=target)
    return q, _with_velocity(robot, w, robot.embedded_velocity(q, w[..., : robot.nv], chart, target=target))


def _with_velocity(robot: Any, w: np.ndarray, v: np.ndarray) -> np.ndarray:
    return v if w.shape[-1] == robot.nv else np.concatenate([v, w[..., robot.nv :]], axis=-1)


LEFT = Closing()  # as steps leave them


def chosen(
    robot: Any, closing: str | None, rate: float | None, method: str, coordinates: str, step: float, adaptive: bool
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
    how = closing or ("baumgarte" if adaptive else _default(robot))
    if adaptive and how in ("projection", "embedded"):
        raise InputError(f'{method} chooses its own steps: closing is "baumgarte" (the default there) or "none"')
    if how == "embedded":
        refuse_unfit(robot, robot.loop_groups)
    if how != "baumgarte":
        if rate is not None:
            raise InputError(f'closing_rate is that of closing="baumgarte", not of {how!r}')
        return Closing(how, repeated=1 if method == "runge_kutta_4" else 2)  # its errors are small already
    if rate is None:
        return Closing(how, ADAPTIVE_RATE if adaptive else RATE / step)
    return Closing(how, number(rate, "closing_rate [1/s]", above=0.0))


def _default(robot: Any) -> str:
    """Embedded where forward dynamics is."""
    return "embedded" if robot.default_method == "embedded" else "projection"


def refuse_open(robot: Any, q: np.ndarray, v: np.ndarray, parameters: Mapping[str, np.ndarray]) -> None:
    """Refuse states (states, n) at which loops are open, or come apart; names the worst loop.

    ``parameters`` are numbers of the robot, (states, n) or (n,).
    """
    if not robot.loops:
        return
    whose = ", of a robot with the offsets that were given (robot.with_constants)" if "offsets" in parameters else ""
    bound = OPEN * float(np.sqrt(np.finfo(q.dtype).eps / np.finfo(float).eps))
    for name, at, of, unit, remedy in (
        ("loop_error", (q,), "is open", "rad or m", "q0 = robot.closed_configuration(q0)"),
        ("loop_velocity", (q, v), "comes apart", "rad/s or m/s", "v0 = robot.closed_velocity(q0, v0)"),
    ):
        size = np.where(robot.rigid_rows, np.abs(_at_loops(robot, name, parameters, *at)), 0.0)
        if size.size and not np.nanmax(size) <= bound:
            state, row = (int(i) for i in np.unravel_index(np.nanargmax(size), size.shape))
            loop = _loop_of(robot, row)
            where = f" in state {state} of the batch" if len(size) > 1 else ""
            raise ClosureError(
                f"the motion would start where loop {loop.name!r} of robot {robot.name!r} {of}{where}, by"
                f" {size[state, row]:.3g} ({unit}); close it first: {remedy}{whose}"
            )
