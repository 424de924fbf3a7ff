"""Events: functions of the state whose zeros are found, recorded, and may end a motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..arguments import number, shown, unmasked, word
from ..codegen.runtime.kernel import Kernel
from ..errors import InputError
from ..properties import cached_property
from ..robot.robot import Robot
from .user_functions import UserFunction, batch_of, numbers_given, takes_robot


@dataclass(frozen=True, eq=False)
class Event:
    """Where ``function(robot, t, q, v)`` (or of t, q, v), a number per state, goes through zero.

    ``direction`` > 0 counts only zeros on the way up, < 0 on the way down. ``stop`` ends the motion there. Zeros are
    located to ``tolerance`` [s], but two within one step cancel and are not seen.
    """

    function: Callable[..., Any]
    _: KW_ONLY
    name: str = ""
    stop: bool = False
    direction: float = 0.0
    tolerance: float = 1e-12

    def __post_init__(self) -> None:
        takes_robot("an event", self.function)  # refused at once where it is not clear
        number(self.tolerance, "the tolerance of an event", above=0.0)
        number(self.direction, "the direction of an event")
        if not word(self.name, "the name of an event"):
            object.__setattr__(self, "name", getattr(self.function, "__name__", "event"))

    def crosses(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Whether values before and after have a zero of the right direction between them, the end included."""
        up, down = (before < 0) & (after >= 0), (before > 0) & (after <= 0)
        return up if self.direction > 0 else down if self.direction < 0 else up | down


@dataclass(frozen=True, eq=False)
class Crossing:
    """A zero that was found: when, of which state of the batch, and where the robot was."""

    event: str
    time: float
    state: tuple[int, ...]
    q: np.ndarray
    v: np.ndarray


def as_events(events: Any) -> tuple[Event, ...]:
    """One event or function, or several, as events with names of their own."""
    try:
        given = (events,) if isinstance(events, Event) or callable(events) else tuple(() if events is None else events)
    except TypeError:
        raise InputError(f"events are functions or lw.Event objects, or a list of them, got {shown(events)}") from None
    found = tuple(e if isinstance(e, Event) else Event(e) for e in given)
    names = [e.name for e in found]
    for name in names:
        if names.count(name) > 1 and name != "<lambda>":
            raise InputError(f"two events are named {name!r}; give them names of their own")
    if names.count("<lambda>") > 1:
        raise InputError('several events are lambdas; name them, as in lw.Event(f, name="touch down")')
    return found


@dataclass(frozen=True, eq=False)
class Watch:
    """An event's function on many states, compiled where it runs on symbols."""

    event: Event
    robot: Robot
    batch: tuple[int, ...] = ()
    callback: bool = False

    @cached_property
    def asked(self) -> UserFunction:
        return UserFunction(f"the event {self.event.name!r}", self.event.function, self.callback)

    @cached_property
    def kernel(self) -> Kernel | None:
        """The event as machine code of (t, q, v); None where it is called back."""
        traced = lambda robot, t, q, v: _one_number(self.asked(robot, t[0], q, v), ())
        return self.asked.kernel(self.robot, traced, self.event.name, {"t": 1}, ("t", "q", "v"))

    def values(self, times: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(states, rows) at flat states (states, rows, n)."""
        if self.kernel is not None:
            along: np.ndarray = self.kernel(np.asarray(times, dtype=q.dtype)[:, None], q, v)
            return along
        columns = [self.value(t, q[:, i], v[:, i]) for i, t in enumerate(times)]
        return np.stack(columns, axis=1) if columns else np.empty((len(q), 0))

    def value(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(states,) at flat states (states, n)."""
        if self.kernel is not None:
            at: np.ndarray = self.kernel(np.array([t], dtype=q.dtype), q, v)
            return at
        shape = batch_of(q, self.batch)
        shown = (x.reshape(*shape, x.shape[-1]) for x in (q, v))
        return _one_number(self.asked(self.robot, float(t), *shown), shape).reshape(len(q))


def _one_number(x: Any, shape: tuple[int, ...]) -> np.ndarray:
    out = np.array(numbers_given(unmasked(x, "what an event gives"), "an event"))
    if out.shape != shape:
        raise InputError(f"an event must give one number per state, shape {shape}, got {out.shape}")
    return out


def located(at: Callable[[float], tuple[float, Any]], before: float, after: float, width: float) -> tuple[float, Any]:
    """(part, what ``at`` gave there) of the zero between 0 and 1 of a function that changes sign.

    ``at(part)`` gives the value and anything else. By regula falsi in the Illinois form, with a bisection where that is
    slow; the result is on the far side of the zero, within ``width``.
    """
    low, high, f_low, f_high = 0.0, 1.0, before, after
    found, last = at(1.0)[1], 0
    for i in range(200):
        if high - low <= width or f_high == 0.0:
            break
        part = (low * f_high - high * f_low) / (f_high - f_low)
        if i % 3 == 2 or not low < part < high:
            part = 0.5 * (low + high)
        value, what = at(part)
        side = 1 if value == 0.0 or (value > 0) == (after > 0) else -1
        if side > 0:
            high, f_high, found = part, value, what
            f_low *= 0.5 if last == side else 1.0
        else:
            low, f_low = part, value
            f_high *= 0.5 if last == side else 1.0
        last = side
    return high, found
