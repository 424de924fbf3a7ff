"""Numbers of what acts that every state has of its own, as one input of the machine code.

In this order: those of the law (:mod:`.law_numbers`), the slopes by which its forces fall, and those of passive forces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..codegen.program.trace import trace
from ..codegen.runtime.kernel import Kernel
from ..properties import cached_property
from ..robot.robot import Robot
from ..symbols.function_memory import refusing_memory
from .law_numbers import Taken
from .user_functions import Controller, UserFunction, falls, may_fall

if TYPE_CHECKING:
    from .steppers import Task

INPUT = "own"  # the name of these numbers among the inputs of compiled steps
PASSIVE = ("damping", "friction", "lower", "upper", "stiffness", "stop_damping")


@dataclass(frozen=True, eq=False)
class StateNumbers:
    """``numbers`` (states, n) of a ``law``, its ``slopes`` where there are some, and ``passive`` forces by name."""

    numbers: np.ndarray
    law: SharedLaw | None = None
    slopes: bool = False
    passive: tuple[str, ...] = ()

    @property
    def sizes(self) -> dict[str, int]:
        return {INPUT: self.numbers.shape[-1]}

    @property
    def identity(self) -> str | None:
        """What the machine code depends on, None where that is not known; the numbers are none of it."""
        if self.law is not None and self.law.identity is None:
            return None
        return repr((None if self.law is None else self.law.identity, self.slopes, self.passive))

    def placed(self, task: Task, own: Any) -> Task:
        """The task with the numbers (n,) of a state, which may be symbols, in their places."""
        nv, start, order = task.robot.nv, 0, task.order
        if self.law is not None:
            assert task.controller is not None
            start = self.law.size
            controller = self.law.controller(task.controller, own[:start])
            slopes = None
            if self.slopes:
                slopes = (own[start : start + nv], own[start + nv : start + 2 * nv])
                start += 2 * nv
            controller.__dict__["slopes"] = slopes
            task = replace(task, controller=controller)
        changed: dict[str, Any] = {}
        for name in self.passive:
            known, given = getattr(task.passive, name), own[start : start + nv]
            # Where there is no stop there is none in any state: the place of an infinite number is part of the code.
            kind = given.dtype if given.dtype.kind == "f" else object
            changed[name] = np.array([y if np.isfinite(x) else x for x, y in zip(known, given)], dtype=kind)
            start += nv
        made = replace(task, passive=replace(task.passive, **changed), own=None)
        made.__dict__["order"] = order
        return made

    def of(self, i: int) -> StateNumbers:
        """Those of one state."""
        return replace(self, numbers=self.numbers[i : i + 1])


@dataclass(frozen=True, eq=False)
class SharedLaw:
    """A controller of many states whose numbers differ: ``taken`` is that of one of them."""

    robot: Robot
    taken: Taken
    moving: bool = False  # whether the law is given the robot that moves, with the inertias of its state

    @property
    def size(self) -> int:
        return len(self.taken.numbers)

    @property
    def identity(self) -> str | None:
        return None if self.taken.identity is None else repr((self.taken.identity, self.moving))

    def controller(self, like: Controller, numbers: Any) -> Controller:
        """The controller with these numbers."""
        return replace(like, asked=_Law(like.asked.what, self.taken.on(numbers), moving=self.moving))

    @cached_property
    def kernel(self) -> Kernel:
        """Joint forces of (t, q, v, numbers), and of inertias where the law is given the robot that moves."""
        like = Controller(self.robot, _Law("the controller", self.taken.on(self.taken.numbers), moving=self.moving))

        def traced(robot: Robot, t: np.ndarray, q: np.ndarray, v: np.ndarray, *own: np.ndarray) -> np.ndarray:
            given = own[0] if own else self.taken.numbers
            return self.controller(like, given).on(robot)(t[0], q, v)

        names = ("t", "q", "v", *([INPUT] if self.size else []))
        parameters = ("inertial",) if self.moving else ()
        with refusing_memory(like.asked.function):
            return Kernel(trace(self.robot, traced, "controller", {"t": 1, INPUT: self.size}, names, parameters))

    def falls(self, numbers: np.ndarray) -> np.ndarray:
        """(2, states, nv): by what the forces fall with velocities and positions."""
        return falls(self.robot, self.kernel.program, INPUT, numbers)

    @property
    def may_fall(self) -> bool:
        """Whether the forces fall so for any numbers."""
        return may_fall(self.robot, self.kernel.program, INPUT, self.size)

    def forces(self, time: np.ndarray, q: np.ndarray, v: np.ndarray, numbers: Any, inertial: Any) -> np.ndarray:
        """τ (..., samples, nv) along motions, of numbers (..., n) and inertias (..., bodies × 10)."""
        own = [x[..., None, :] for x in ([numbers] if self.size else []) + ([inertial] if self.moving else [])]
        found: np.ndarray = self.kernel(time.astype(q.dtype)[:, None], q, v, *own)
        return found


@dataclass(frozen=True, eq=False)
class _Law(UserFunction):
    moving: bool = False

    @property
    def wants_true_robot(self) -> bool:
        return self.moving or super().wants_true_robot


@dataclass(frozen=True, eq=False)
class LawOfState(Controller):
    """The controller of one state, whose forces along its motion are those of machine code for all."""

    shared: SharedLaw | None = None
    numbers: Any = None

    def along(self, time: np.ndarray, q: np.ndarray, v: np.ndarray, parameters: Mapping[str, np.ndarray]) -> np.ndarray:
        assert self.shared is not None
        inertial = parameters.get("inertial")
        if self.shared.moving and inertial is None:
            inertial = self.robot.inertial_parameters.ravel()
        return self.shared.forces(time, q, v, self.numbers, inertial)
