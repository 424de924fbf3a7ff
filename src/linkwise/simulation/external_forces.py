"""External forces along a motion: constant ones, or functions of time and state, compiled in where they run on symbols.

The joints feel forces f on the bodies as Hφf (:meth:`Robot.external_force`), so they act as further joint forces, and
the integrators need not know them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .. import arrays, inputs
from ..arrays import Array
from ..codegen.program.trace import trace
from ..codegen.runtime.kernel import Kernel
from ..errors import InputError
from ..robot.robot import Robot
from .controllers import kernel_of, refuse_other_arguments

INPUT = "external"  # the name of constant forces among the inputs of compiled steps


@dataclass(frozen=True, eq=False)
class Pushes:
    """Either constant ``numbers``, or a ``function`` of (robot, t, q, v).

    Constant forces are numbers (n,), or (states, n): those on ``frames`` in world axes, or where that is None, one for
    every body in its own axes. A function gives either, as a mapping or as an array.
    """

    robot: Robot
    function: Callable[..., Any] | None = None
    frames: tuple[str, ...] | None = None
    numbers: np.ndarray | None = None
    callback: bool = False  # whether the function is to be called, and not compiled

    def on(self, robot: Robot) -> Pushes:
        """The same for the robot of a trace, whose numbers may be symbols."""
        return replace(self, robot=robot)

    def of(self, i: int) -> Pushes:
        """Those on one state of a flat batch."""
        shared = self.numbers is None or self.numbers.ndim == 1
        return self if shared else replace(self, numbers=self.numbers[i : i + 1])  # type: ignore[index]

    @property
    def sizes(self) -> dict[str, int]:
        """The inputs that compiled steps have for it."""
        return {} if self.numbers is None else {INPUT: self.numbers.shape[-1]}

    # --- what acts -----------------------------------------------------------------------------------

    def wrenches(self, t: Any, q: Array, v: Array, numbers: Array | None = None) -> Array:
        """On every body in its own axes, (..., bodies, 6); constant ones from ``numbers`` (..., n)."""
        if self.function is not None:
            return _per_body(self.robot, self.function(self.robot, t, q, v), q, v)
        given = self.numbers if numbers is None else numbers
        assert given is not None
        by_six = given.reshape(*given.shape[:-1], given.shape[-1] // 6, 6)
        if self.frames is None:
            return _per_body(self.robot, by_six, q, v)
        return _per_body(self.robot, {f: by_six[..., i, :] for i, f in enumerate(self.frames)}, q, v)

    def joint_forces(self, t: Any, q: Array, v: Array, numbers: Array | None = None, target: Any = None) -> Array:
        """What it does to the joints, (..., nv)."""
        return self.robot.external_force(q, self.wrenches(t, q, v, numbers), target=target)

    def at_flat(self, t: float, q: Array, v: Array, batch: tuple[int, ...]) -> Array:
        """(states, bodies, 6) at flat states, functions asked in the user's batch shape where these are all states."""
        whole = self.function is not None and len(q) == math.prod(batch)
        shape = batch if whole else q.shape[:-1]
        found = self.wrenches(t, q.reshape(*shape, q.shape[-1]), v.reshape(*shape, v.shape[-1]))
        return found.reshape(len(q), len(self.robot.bodies), 6)

    # --- compiled ------------------------------------------------------------------------------------

    @cached_property
    def kernel(self) -> Kernel | None:
        """Forces on the bodies as machine code of (t, q, v, numbers); None where the function needs Python."""
        if self.callback:
            return None

        def traced(robot: Robot, t: Array, q: Array, v: Array, *numbers: Array) -> Array:
            return self.on(robot).wrenches(t[0], q, v, *numbers)

        names = ("t", "q", "v", *self.sizes)
        sizes = {"t": 1, **self.sizes}
        if self.function is None:
            return Kernel(trace(self.robot, traced, "external", sizes, names))
        return kernel_of(self.robot, traced, "external", sizes, names)

    def along(self, time: np.ndarray, q: Array, v: Array) -> Array:
        """At the samples of a motion: time (samples,), q (..., samples, nq) → (..., samples, bodies, 6)."""
        assert self.kernel is not None
        own = () if self.numbers is None else (self._over(q.shape[:-2]),)
        return self.kernel(time.astype(q.dtype)[:, None], q, v, *own)

    def _over(self, batch: tuple[int, ...]) -> np.ndarray:
        numbers = self.numbers
        assert numbers is not None
        return numbers if numbers.ndim == 1 else numbers.reshape(*batch, 1, numbers.shape[-1])


def pushes(robot: Robot, external: Any, batch: tuple[int, ...], dtype: Any, callback: bool) -> Pushes | None:
    """External forces as an argument gives them: (..., bodies, 6), {frame: (..., 6)}, a function of either, or None."""
    if external is None:
        return None
    if callable(external):
        refuse_other_arguments("an external force", external)
        return Pushes(robot, external, callback=callback)
    if isinstance(external, Mapping):
        if not external:
            raise InputError("external is an empty mapping; leave it out where nothing pushes")
        for frame in external:
            robot.frame(frame)
        parts = [inputs.vector(f, 6, f"the force on {k!r}", robot) for k, f in external.items()]
        wide = np.broadcast_shapes(*(x.shape[:-1] for x in parts))
        given = np.concatenate([np.broadcast_to(x, (*wide, 6)) for x in parts], axis=-1)
        frames: tuple[str, ...] | None = tuple(str(k) for k in external)
    else:
        checked = inputs.forces(robot, external)
        given, frames = checked.reshape(*checked.shape[:-2], -1), None  # type: ignore[union-attr]
    if given.dtype.kind not in "fiub" or not np.isfinite(given).all():
        raise InputError("external forces must be finite real numbers")
    try:
        numbers = given if given.ndim == 1 else np.broadcast_to(given, (*batch, given.shape[-1]))
    except ValueError:
        raise InputError(f"external {given.shape} does not fit the batch {batch} of the states") from None
    flat = numbers if numbers.ndim == 1 else numbers.reshape(-1, given.shape[-1])
    return Pushes(robot, None, frames, flat.astype(dtype))


def _per_body(robot: Robot, given: Any, q: Array, v: Array) -> Array:
    """What was given as (..., bodies, 6) in the batch and precision of v."""
    if isinstance(given, Mapping):
        given = robot.wrenches(q, given)
    out = inputs.forces(robot, given)
    if out is None:
        raise InputError("external forces are an array (..., bodies, 6) or a mapping of frames to [moment; force]")
    shape = (*v.shape[:-1], *out.shape[-2:])
    try:
        out = np.broadcast_to(out, shape)
    except ValueError:
        raise InputError(f"external forces must have shape {shape}, or broadcast to it, got {out.shape}") from None
    return out if arrays.is_symbolic(out) or arrays.is_symbolic(v) else out.astype(v.dtype, copy=False)
