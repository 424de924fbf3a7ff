"""Controllers with numbers of their own that are inputs: gains, of which a motion has gradients.

They are the controller's parameters by keyword, as ``def law(t, q, v, *, stiffness)``, and come with the parameters of
the robot. ``functools.partial(law, stiffness=…)`` is the same controller with numbers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..codegen.runtime.kernel import Kernel
from ..errors import InputError
from ..properties import cached_property
from ..robot.robot import Robot
from .user_functions import Controller, UserFunction

WHAT = "the controller"
PREFIX = "gain_"  # of the names that gains have among the inputs of steps


def names_of_gains(function: Any) -> tuple[str, ...]:
    """The parameters that a controller takes by keyword alone and cannot do without."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(p.name for p in found if p.kind is p.KEYWORD_ONLY and p.default is p.empty)


@dataclass(frozen=True, eq=False)
class GainedController(Controller):
    """A controller whose gains, with their shapes for one state, are inputs of the steps."""

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def gains(self) -> dict[str, int]:
        return {PREFIX + name: int(np.prod(shape)) for name, shape in self.shapes.items()}

    def on(self, robot: Robot) -> Controller:
        seen = robot if self.asked.wants_true_robot else self.robot
        return GainedController(seen, self.asked, self.batch, self.shapes)

    def with_gains(self, given: Mapping[str, np.ndarray]) -> Controller:
        bound = {name: given[PREFIX + name].reshape(shape)[()] for name, shape in self.shapes.items()}
        return Controller(self.robot, UserFunction(WHAT, partial(self.asked.function, **bound)), self.batch)

    @cached_property
    def kernel(self) -> Kernel | None:
        return self.kernel_with(())

    def kernel_with(self, parameters: tuple[str, ...]) -> Kernel:
        def traced(robot: Robot, t: np.ndarray, q: np.ndarray, v: np.ndarray, *gains: np.ndarray) -> np.ndarray:
            return self.on(robot).with_gains(dict(zip(self.gains, gains)))(t[0], q, v)

        names = ("t", "q", "v", *self.gains)
        found = self.asked.kernel(self.robot, traced, "controller", {"t": 1, **self.gains}, names, parameters)
        assert found is not None
        return found

    @property
    def slopes(self) -> None:
        """None: no terms of it are taken where steps end, as its gains are not known."""
        return None


def with_gains(robot: Robot, function: Callable[..., Any], given: Mapping[str, tuple[int, ...]]) -> GainedController:
    """The controller whose gains have these shapes for one state."""
    names = names_of_gains(function)
    if missing := [name for name in names if name not in given]:
        raise InputError(f"the controller takes {missing[0]} by keyword; give it in parameters={{{missing[0]!r}: …}}")
    shapes = {name: given[name] for name in names}
    known = partial(function, **{name: np.zeros(shape) for name, shape in shapes.items()})
    return GainedController(robot, UserFunction(WHAT, known), (), shapes)
