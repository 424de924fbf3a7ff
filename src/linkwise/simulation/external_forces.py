"""External forces along a motion: constant ones, or functions of time and state, compiled in where they run on symbols.

The joints feel forces f on the bodies as Hφf (:meth:`Robot.external_force`), so they act as further joint forces, and
the steps need not know them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import arrays, inputs
from ..codegen.program.trace import trace
from ..codegen.runtime.kernel import Kernel
from ..errors import InputError
from ..model.parts import Frame
from ..properties import cached_property
from ..robot.robot import Robot
from .user_functions import UserFunction, batch_of, refuse_shape

INPUT = "external"  # the name of constant forces among the inputs of compiled steps


@dataclass(frozen=True, eq=False)
class ExternalForces:
    """Either constant ``numbers``, or a function ``asked`` for them, on states of a batch.

    Constant forces are numbers (n,), or (states, n): those on ``frames`` in world axes, or where that is None, one for
    every body in its own axes. A function gives either, as a mapping or as an array.
    """

    robot: Robot
    asked: UserFunction | None = None
    frames: tuple[str | Frame, ...] | None = None
    numbers: np.ndarray | None = None
    batch: tuple[int, ...] = ()

    def on(self, robot: Robot) -> ExternalForces:
        """The same for the robot of a trace, whose numbers may be symbols."""
        return replace(self, robot=robot)

    def of(self, i: int) -> ExternalForces:
        """Those on one state of a flat batch."""
        numbers = self.numbers if self.numbers is None or self.numbers.ndim == 1 else self.numbers[i : i + 1]
        return replace(self, numbers=numbers, batch=())

    @property
    def sizes(self) -> dict[str, int]:
        """The inputs that compiled steps have for it."""
        return {} if self.numbers is None else {INPUT: self.numbers.shape[-1]}

    # --- what acts -----------------------------------------------------------------------------------

    def wrenches(self, t: Any, q: np.ndarray, v: np.ndarray, numbers: np.ndarray | None = None) -> np.ndarray:
        """On every body in its own axes, (..., bodies, 6); constant ones from ``numbers`` (..., n)."""
        if self.asked is not None:
            return self._per_body(self.asked(self.robot, t, q, v), q, v)
        given = self.numbers if numbers is None else numbers
        assert given is not None
        by_six = given.reshape(*given.shape[:-1], given.shape[-1] // 6, 6)
        if self.frames is None:
            return self._per_body(by_six, q, v)
        return self._per_body({f: by_six[..., i, :] for i, f in enumerate(self.frames)}, q, v)

    def joint_forces(
        self, t: Any, q: np.ndarray, v: np.ndarray, numbers: np.ndarray | None = None, target: Any = None
    ) -> np.ndarray:
        """What it does to the joints, (..., nv)."""
        return self.robot.external_force(q, self.wrenches(t, q, v, numbers), target=target)

    def at_flat(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(states, bodies, 6) at flat states, functions asked in the user's batch shape where these are all states."""
        shape = q.shape[:-1] if self.asked is None else batch_of(q, self.batch)
        found = self.wrenches(t, q.reshape(*shape, q.shape[-1]), v.reshape(*shape, v.shape[-1]))
        return found.reshape(len(q), len(self.robot.bodies), 6)

    def _per_body(self, given: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """What was given as (..., bodies, 6) in the batch and precision of v, in memory of its own."""
        if isinstance(given, Mapping):
            given = self.robot.wrenches(q, given)
        out = inputs.forces(self.robot, given)
        if out is None:
            raise InputError("external forces are an array (..., bodies, 6) or a mapping of frames to [moment; force]")
        shape = (*v.shape[:-1], *out.shape[-2:])
        try:
            wide = np.broadcast_to(out, shape)
        except ValueError:
            refuse_shape("external forces must be", out.shape, v, self.batch, 2)
        if arrays.is_symbolic(wide) or arrays.is_symbolic(v):
            return np.array(wide)
        return wide.astype(v.dtype)

    # --- compiled ------------------------------------------------------------------------------------

    @cached_property
    def kernel(self) -> Kernel | None:
        """Forces on the bodies as machine code of (t, q, v, numbers); None where the function is called back."""

        def traced(robot: Robot, t: np.ndarray, q: np.ndarray, v: np.ndarray, *numbers: np.ndarray) -> np.ndarray:
            return self.on(robot).wrenches(t[0], q, v, *numbers)

        names = ("t", "q", "v", *self.sizes)
        sizes = {"t": 1, **self.sizes}
        if self.asked is None:
            return Kernel(trace(self.robot, traced, "external", sizes, names))
        return self.asked.kernel(self.robot, traced, "external", sizes, names)

    def along(self, time: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """At the samples of a motion: time (samples,), q (..., samples, nq) → (..., samples, bodies, 6)."""
        assert self.kernel is not None
        own = () if self.numbers is None else (self._over(q.shape[:-2]),)
        found: np.ndarray = self.kernel(time.astype(q.dtype)[:, None], q, v, *own)
        return found

    def _over(self, batch: tuple[int, ...]) -> np.ndarray:
        numbers = self.numbers
        assert numbers is not None
        return numbers if numbers.ndim == 1 else numbers.reshape(*batch, 1, numbers.shape[-1])


def external_forces(
    robot: Robot, external: Any, batch: tuple[int, ...], dtype: Any, callback: bool
) -> ExternalForces | None:
    """External forces as an argument gives them: (..., bodies, 6), {frame: (..., 6)}, a function of either, or None."""
    if external is None:
        return None
    if callable(external):
        return ExternalForces(robot, UserFunction("the external force", external, callback), batch=batch)
    if isinstance(external, Mapping):
        frames: tuple[str | Frame, ...] | None = pushed_frames(robot, external)
        parts = [inputs.vector(f, 6, f"the force on {_name(k)!r}", robot) for k, f in external.items()]
        wide = _common_batch(parts, external)
        given = np.concatenate([np.broadcast_to(x, (*wide, 6)) for x in parts], axis=-1)
    else:
        checked = inputs.forces(robot, external)
        assert checked is not None
        given, frames = checked.reshape(*checked.shape[:-2], math.prod(checked.shape[-2:])), None
    if given.dtype.kind not in "fiub" or not np.isfinite(given).all():
        raise InputError("external forces must be finite real numbers")
    try:
        numbers = given if given.ndim == 1 else np.broadcast_to(given, (*batch, given.shape[-1]))
    except ValueError:
        raise InputError(f"external {given.shape} does not fit the batch {batch} of the states") from None
    flat = numbers if numbers.ndim == 1 else numbers.reshape(-1, given.shape[-1])
    return ExternalForces(robot, None, frames, flat.astype(dtype), batch)


def pushed_frames(robot: Robot, external: Mapping[Any, Any]) -> tuple[str | Frame, ...]:
    """The frames that a mapping has forces on, which the robot must have."""
    if not external:
        raise InputError("external is an empty mapping; leave it out where nothing pushes")
    for frame in external:
        robot.frame(frame)
    return tuple(external)


def _name(frame: Any) -> Any:
    return frame.name if isinstance(frame, Frame) else frame


def _common_batch(parts: list[np.ndarray], external: Mapping[Any, Any]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(x.shape[:-1] for x in parts))
    except ValueError:
        shown = ", ".join(f"{_name(k)} {x.shape}" for k, x in zip(external, parts))
        raise InputError(f"external forces do not fit together: {shown}") from None
