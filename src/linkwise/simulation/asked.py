"""What acts on a motion, what is watched and how it runs, as it was given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from ..robot.robot import Robot
from . import arguments
from .external_forces import external_forces
from .noise import Noise
from .running_cost import CostFunction, RunningCost
from .steppers import Task
from .trajectory import Settings
from .user_functions import Controller, UserFunction


@dataclass(frozen=True, eq=False)
class Asked:
    """The arguments of a simulation apart from states and steps."""

    controller: Any = None
    tau: Any = None
    external: Any = None
    events: Any = ()
    parameters: Any = None
    callback: bool = False
    check: bool = True
    checkpoint: Any = None
    progress: bool | None = None
    threads: Any = None
    target: Any = None
    noise: Any = None
    cost: Any = None

    def refuse_unfit(self) -> None:
        """Refuse what does not go together, or is none."""
        if self.controller is not None and self.tau is not None:
            raise InputError("give either a controller or a table of joint forces tau, not both")
        if self.controller is not None and not callable(self.controller):
            raise InputError(
                f"a controller is a function of (robot, t, q, v), got {self.controller!r}; tables go to tau="
            )
        if self.noise is not None and not isinstance(self.noise, Noise):
            raise InputError(f"noise is a lw.Noise(scale, seed), got {self.noise!r}")
        arguments.refuse_unnamed(self.parameters)


def task_of(robot: Robot, batch: tuple[int, ...], settings: Settings, dtype: Any, asked: Asked) -> Task:
    """What is simulated, for states of a batch in one precision."""
    asked.refuse_unfit()
    called = asked.callback or asked.target == "numpy"
    controller = None
    if asked.controller is not None:
        controller = Controller(robot, UserFunction("the controller", asked.controller, called), batch)
        if asked.parameters and controller.asked.wants_true_robot and controller.kernel is None:
            raise InputError(
                "a controller that is called back has no true_robot where parameters vary, as that is in machine code;"
                " name its first parameter robot, for the robot as it is known"
            )
    return Task(
        robot,
        settings.method,
        settings.step,
        settings.passive,
        controller,
        settings.hold,
        asked.tau is not None or asked.noise is not None,
        arguments.robot_parameters(robot, asked.parameters, batch, dtype),
        arguments.thread_count(asked.threads),
        external_forces(robot, asked.external, batch, dtype, called),
        settings.coordinates,
        settings.closing,
        settings.implicit,
        None if asked.cost is None else RunningCost(robot, CostFunction("the cost", asked.cost, called), batch),
    )
