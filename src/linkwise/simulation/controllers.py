"""Where joint forces come from: a table, a function that is compiled in, or one that is called back."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import Array
from ..codegen.program.trace import trace
from ..codegen.runtime.kernel import Kernel
from ..errors import InputError
from ..robot.robot import Robot

Controller = Callable[..., Any]  # controller(robot, t, q, v) → τ (..., nv); or law(t, q, v)


@dataclass(frozen=True, eq=False)
class Law:
    """A controller and what is known of it."""

    robot: Robot
    function: Controller
    callback: bool = False  # whether it is to be called, and not compiled

    def __post_init__(self) -> None:
        refuse_other_arguments("a controller", self.function, 4 - self._knows_its_robot)

    def __call__(self, t: Any, q: Array, v: Array) -> Array:
        """τ in the batch and precision of v."""
        given = (t, q, v) if self._knows_its_robot else (self.robot, t, q, v)
        return checked(self.function(*given), self.robot, v)

    @cached_property
    def _knows_its_robot(self) -> bool:
        """Whether it is called as law(t, q, v), as those of linkwise.control are."""
        try:
            return len(inspect.signature(self.function).parameters) == 3
        except (TypeError, ValueError):  # a function that does not tell
            return False

    def on(self, robot: Robot) -> Law:
        """The same law for the robot of a trace, whose numbers may be symbols."""
        return Law(robot, self.function, self.callback)

    def at_flat(self, t: float, q: Array, v: Array, batch: tuple[int, ...]) -> Array:
        """τ (states, nv) at flat states, asked in the user's batch shape where these are all of its states."""
        shape = batch if len(q) == math.prod(batch) else q.shape[:-1]
        return self(t, q.reshape(*shape, q.shape[-1]), v.reshape(*shape, v.shape[-1])).reshape(v.shape)

    @cached_property
    def kernel(self) -> Kernel | None:
        """The law as machine code of (t, q, v); None where it does not run on symbols, for whatever reason."""
        if self.callback:
            return None
        return kernel_of(self.robot, self._traced, "controller", {"t": 1})

    def _traced(self, robot: Robot, t: Array, q: Array, v: Array) -> Array:
        return self.on(robot)(t[0], q, v)


def kernel_of(
    robot: Robot, function: Callable[..., Any], name: str, sizes: Mapping[str, int], names: Sequence[str] | None = None
) -> Kernel | None:
    """A user's function (robot, t, q, v, …) as machine code; None where it does not run on symbols."""
    try:
        return Kernel(trace(robot, function, name, sizes, names))
    except Exception:  # the function is the user's: where it is wrong, calling it back will say so
        return None


def refuse_other_arguments(what: str, function: Callable[..., Any], count: int = 4) -> None:
    """Say at once which arguments a function gets, where it does not take them."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a function that does not tell
        return
    try:
        signature.bind(*range(count))
    except TypeError:
        name = getattr(function, "__name__", type(function).__name__)
        raise InputError(f"{what} is a function of (robot, t, q, v), but {name} takes {signature}") from None


def checked(tau: Any, robot: Robot, v: Array) -> Array:
    """What a controller gave, as joint forces (..., nv) of the batch of v."""
    try:
        out = np.asarray(tau)
        out = np.broadcast_to(out, np.broadcast_shapes(out.shape, v.shape))
    except ValueError:
        raise InputError(
            f"the controller must give joint forces of shape {v.shape} (or that broadcast to it), got {np.shape(tau)}"
        ) from None
    if out.shape != v.shape:
        raise InputError(f"the controller must give joint forces of shape {v.shape}, got {np.shape(tau)}")
    if not arrays.is_symbolic(out):
        if out.dtype.kind not in "fiub":
            raise InputError(f"the controller must give real numbers, got dtype {out.dtype}")
        if not arrays.is_symbolic(v):
            out = out.astype(v.dtype, copy=False)
    return out
