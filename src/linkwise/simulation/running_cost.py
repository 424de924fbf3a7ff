"""A running cost along a motion: what a user's function of the state and the forces adds up to."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..codegen.runtime.kernel import Kernel
from ..errors import InputError
from ..properties import cached_property
from ..robot.robot import Robot
from .user_functions import UserFunction, batch_of, numbers_given

_GIVEN = ("robot", "t", "q", "v", "tau")


class CostFunction(UserFunction):
    """A function that is given what the names of its parameters ask for, of robot, t, q, v and tau."""

    def __post_init__(self) -> None:
        _ = self._asked

    @cached_property
    def _asked(self) -> tuple[str, ...]:
        how = "a running cost is a function of some of (robot, t, q, v, tau), by these names"
        if not callable(self.function):
            raise InputError(f"{how}, got {self.function!r}")
        try:
            known = inspect.signature(self.function).parameters.values()
        except (TypeError, ValueError):
            raise InputError(f"{how}, and {self.function!r} does not say what it takes") from None
        named = tuple(p.name for p in known if p.name in _GIVEN)
        others = [p.name for p in known if p.name not in _GIVEN and p.default is p.empty]
        if others or not named:
            raise InputError(f"{how}; this one takes {', '.join(others) or 'none of them'}")
        return named

    def __call__(self, robot: Robot, t: Any, q: np.ndarray, v: np.ndarray, tau: Any = None) -> Any:
        given = {"robot": robot, "t": t, "q": np.array(q), "v": np.array(v), "tau": np.array(tau)}
        return self.function(**{name: given[name] for name in self._asked})


@dataclass(frozen=True, eq=False)
class RunningCost:
    """A user's cost per time, for states of a batch. It is taken where steps start, and adds up with their length."""

    robot: Robot
    asked: CostFunction
    batch: tuple[int, ...] = ()

    def rate(self, robot: Robot, t: Any, q: np.ndarray, v: np.ndarray, tau: Any) -> np.ndarray:
        """(..., 1) at states (..., nq)."""
        if arrays.is_symbolic(q):
            found = numbers_given(self.asked(robot, t, q, v, tau), "the cost").astype(object)
            if found.size != 1:
                raise InputError(f"the cost must be one number for each state, got shape {found.shape}")
            return found.reshape(1)
        shape = batch_of(q, self.batch)
        wide = [x.reshape(*shape, x.shape[-1]) for x in (q, v, np.broadcast_to(tau, v.shape))]
        found = numbers_given(self.asked(robot, t, *wide), "the cost")
        if found.size not in (1, len(q)):
            raise InputError(f"the cost must be one number for each state, of shape {shape}, got {found.shape}")
        return np.broadcast_to(found.reshape(-1, 1), (len(q), 1)).astype(q.dtype)

    @cached_property
    def kernel(self) -> Kernel | None:
        """The cost as machine code of (t, q, v, tau); None where it is called back."""

        def traced(robot: Robot, t: Any, q: Any, v: Any, tau: Any) -> np.ndarray:
            return self.rate(robot, t[0], q, v, tau)

        return self.asked.kernel(self.robot, traced, "cost", {"t": 1}, ("t", "q", "v", "tau"))
