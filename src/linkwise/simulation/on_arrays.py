"""``lw.simulate`` on arrays of PyTorch and JAX: the same compiled steps, arrays of the same kind out, with gradients.

The derivatives are those of the steps that are made, by the linearised algorithms and their adjoints
(:mod:`.motion_derivatives`); a motion is one function of its library, whatever the number of its steps.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import array_kinds
from ..codegen.foreign.calls import run_on
from ..codegen.foreign.function import ArrayFunction, rows
from ..codegen.program.parameters import KINDS, parameter_sizes
from ..codegen.program.trace import trace
from ..codegen.runtime.kernel import Kernel
from ..errors import InputError, SlowPathWarning
from ..model.parts import Frame
from ..robot.robot import Robot
from .adaptive import unit
from .arguments import chosen_target, thread_count
from .array_trajectory import ArrayTrajectory, as_kind, known_to_jax
from .asked import Asked
from .called import compiled_stepper
from .cards import on_card
from .external_forces import ExternalForces, external_forces, pushed_frames
from .gains import PREFIX, WHAT, names_of_gains, with_gains
from .motion_derivatives import Motions
from .motion_functions import MotionFunction, motion
from .staged import StageStepper, has_stages
from .steppers import Task
from .steps import EXPLICIT
from .trajectory import Settings
from .user_functions import Controller, UserFunction

_LIBRARIES = ("torch", "jax")


def arrays_of(q0: Any, v0: Any, tau: Any, external: Any, parameters: Any) -> dict[str, Any]:
    """What a simulation is given as arrays, by name."""
    found = {"q0": q0, "v0": v0, "tau": tau}
    if isinstance(external, Mapping):
        found |= {f"external[{k!r}]": x for k, x in external.items()}
    elif not callable(external):
        found["external"] = external
    if isinstance(parameters, Mapping):
        found |= {f"parameters[{k!r}]": x for k, x in parameters.items()}
    return {k: x for k, x in found.items() if x is not None}


def moved(robot: Robot, given: Mapping[str, Any], settings: Settings, steps: int, asked: Asked) -> ArrayTrajectory:
    """The motion of a robot from states that are arrays of another library; ``given`` are all its arrays, by name."""
    library = array_kinds.common(given)
    if library not in _LIBRARIES:
        raise InputError(
            f"lw.simulate takes no arrays of {library}; {array_kinds.TO_NUMPY[library]} brings them to NumPy"
        )
    return ready(robot, library, given, settings, steps, asked).motion()


@dataclass(frozen=True, eq=False)
class Ready:
    """A motion as a function of arrays (..., n) of one library, and what it will be called with: ``arrays``, in the
    order of the function's inputs."""

    library: str
    task: Task
    function: MotionFunction
    arrays: list[Any]
    own: Mapping[str, Any]  # parameters, and gains of the controller
    settings: Settings
    steps: int
    tau: Any

    def motion(self) -> ArrayTrajectory:
        q, v = run_on(self.library, self.function, self.arrays)
        if self.library == "jax":
            known_to_jax()
        task, every = self.task, self.settings.every
        return ArrayTrajectory(
            task.robot,
            task.times(0, self.steps // every + 1, every),
            q,
            v,
            replace(self.settings, functions={} if task.controller is None else {"controller": "compiled"}),
            forces=task.controller if self.tau is None else _at_samples(self.library, self.tau, v, every),
            parameters={k: x if array_kinds.library(x) else as_kind(self.library, x, q) for k, x in self.own.items()},
            external_forces=task.external,
        )


def ready(robot: Robot, library: str, given: Mapping[str, Any], settings: Settings, steps: int, asked: Asked) -> Ready:
    """The motion from states that are arrays of a library, and what else is given as such."""
    asked.refuse_unfit()
    _refuse_unfit(robot, library, settings, asked)
    external, pushed = _external(robot, library, asked.external)
    controller = _controller(robot, asked.controller, asked.parameters or {})
    gains = {} if controller is None else {k.removeprefix(PREFIX): n for k, n in controller.gains.items()}
    parameters = parameter_sizes(robot, tuple(x for x in asked.parameters or () if x not in gains))
    task = Task(
        robot,
        settings.method,
        settings.step,
        settings.passive,
        controller,
        settings.hold,
        asked.tau is not None,
        {name: np.zeros(n) for name, n in parameters.items()},
        thread_count(asked.threads),
        external,
        closing=settings.closing,
        implicit=settings.implicit,
        accounts=False,
    )
    function = _function(task, steps, settings.every, on_card(given.values()))
    q = with_unit_quaternions(robot, library, _tail(given["q0"], (robot.nq,), "q0"))
    v = [0.0] * robot.nv if "v0" not in given else _tail(given["v0"], (robot.nv,), "v0")
    arrays = [q, v]
    if asked.tau is not None:
        arrays.append(_tail(asked.tau, (steps, robot.nv), "tau"))
    arrays += pushed
    own = {name: _gain(asked.parameters[name], n) for name, n in gains.items()}
    own |= {name: _numbers(robot, asked.parameters[name], name, n) for name, n in parameters.items()}
    return Ready(library, task, function, [*arrays, *own.values()], own, settings, steps, asked.tau)


def _at_samples(library: str, tau: Any, v: Any, every: int) -> Any:
    """Rows of a table at the samples, in their batch; the last row holds to the end."""
    table = tau if hasattr(tau, "shape") else as_kind(library, np.asarray(tau), v)
    rows = _joined(library, [table[..., ::every, :], table[..., -1:, :]], axis=-2)
    return _module(library).broadcast_to(rows, tuple(v.shape))


def _refuse_unfit(robot: Robot, library: str, settings: Settings, asked: Asked) -> None:
    """Refuse by name what has no gradient, or no meaning on arrays that may not be known yet."""
    if library == "jax" and not hasattr(sys.modules["jax"], "ffi"):
        raise InputError("lw.simulate on arrays of JAX needs jax.ffi, which this JAX does not have; update it")
    if settings.method not in EXPLICIT or settings.coordinates != "joint":
        raise InputError(
            f'on arrays of {library} steps are those of {", ".join(EXPLICIT)} in coordinates="joint", got'
            f" {settings.method!r} in {settings.coordinates!r}; arrays of NumPy have all methods"
        )
    refused = {
        "events": bool(asked.events),
        "checkpoint": asked.checkpoint is not None,
        "callback": bool(asked.callback),
        "progress": bool(asked.progress),
        "noise": asked.noise is not None,
        "cost": asked.cost is not None,
        'target="numpy"': chosen_target(asked.target) == "numpy",
    }
    for name, is_asked in refused.items():
        if is_asked:
            raise InputError(
                f"{name} is for simulations of NumPy arrays, and on cards for those without gradients (x.detach(),"
                f" torch.no_grad()); arrays of {library} may not be known yet"
                if name in ("noise", "cost")
                else f"{name} is for simulations of NumPy arrays; those of {library} may not be known yet"
            )


def _controller(robot: Robot, given: Any, parameters: Mapping[str, Any]) -> Controller | None:
    if given is None:
        return None
    names = names_of_gains(given)
    found = Controller(robot, UserFunction(WHAT, given)) if not names else with_gains(robot, given, _shapes(parameters))
    with warnings.catch_warnings():
        warnings.simplefilter("error", SlowPathWarning)
        try:
            _ = found.kernel
        except SlowPathWarning as e:
            raise InputError(f"on arrays of other libraries a controller must be compiled in: {e}") from None
    return found


def _shapes(parameters: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The shapes of gains for one state: the last axis, or of a number none."""
    return {name: tuple(np.shape(x) if not hasattr(x, "shape") else x.shape)[-1:] for name, x in parameters.items()}


def _gain(x: Any, n: int) -> Any:
    """(..., n). One number of NumPy's is copied: PyTorch would share its memory, which gradients need later."""
    x = x if hasattr(x, "shape") else np.asarray(x, dtype=float)
    if len(x.shape):
        return x
    return x.reshape(n) if array_kinds.library(x) else np.array(x).reshape(n)


def _external(robot: Robot, library: str, given: Any) -> tuple[ExternalForces | None, list[Any]]:
    """(the external forces, their numbers as arrays of the library)."""
    if given is None or callable(given):
        found = external_forces(robot, given, (), np.float64, False)
        if found is not None and found.kernel is None:
            raise InputError("on arrays of other libraries external forces must be numbers, or run on symbols")
        return found, []
    if isinstance(given, Mapping):
        frames: tuple[str | Frame, ...] | None = pushed_frames(robot, given)
        like = next(x for x in given.values() if array_kinds.library(x)) if array_kinds.among(given.values()) else None
        parts = [_tail(x, (6,), f"the force on {k!r}") for k, x in given.items()]
        if like is None:
            parts = [np.concatenate(np.broadcast_arrays(*parts), axis=-1)]
        else:
            parts = [x if array_kinds.library(x) else as_kind(library, x, like) for x in parts]
        numbers = parts[0] if len(parts) == 1 else _joined(library, parts)
    else:
        numbers, frames = _tail(given, (len(robot.bodies), 6), "external"), None
    return ExternalForces(robot, None, frames, np.zeros(numbers.shape[-1])), [numbers]


def _numbers(robot: Robot, x: Any, name: str, n: int) -> Any:
    """Parameters of the robot (..., n), which may come as (..., bodies, numbers)."""
    x = x if hasattr(x, "shape") else np.asarray(x, dtype=float)
    by_body = (len(robot.bodies), KINDS[name])
    return rows(x, 2) if tuple(x.shape[-2:]) == by_body else _tail(x, (n,), name)


def _tail(x: Any, shape: tuple[int, ...], what: str) -> Any:
    """(..., *shape) with its numbers in a row."""
    x = x if hasattr(x, "shape") else np.asarray(x, dtype=float)
    if tuple(x.shape[-len(shape) :]) != shape:
        wanted = ", ".join(map(str, shape))
        raise InputError(f"{what} must have shape (..., {wanted}), got {tuple(x.shape)}")
    return rows(x, len(shape))


def _function(task: Task, steps: int, every: int, card: bool) -> MotionFunction:
    """The motion as a function; kept with the robot. On a card stages of a step are turns: short kernels."""
    stepper = StageStepper(task) if card and has_stages(task) else compiled_stepper(task)
    if not stepper.worthwhile:
        raise InputError(
            f"the motion of {task.robot.name!r} has no gradient as one function: {stepper.too_long}. Make the steps by"
            " calls of robot.forward_dynamics, or by a shorter method"
        )
    token = f"simulate-{stepper.loop.fingerprint}-{task.step!r}-{steps}-{every}-{task.threads}"
    found: MotionFunction | None = task.robot._code.get(token)
    if found is None:
        found = motion(Motions(stepper, steps, every), token)
        task.robot._code.keep(token, found)
    return found


def with_unit_quaternions(robot: Robot, library: str, q: Any) -> Any:
    """q with quaternions of unit length."""
    if robot.nq == robot.nv:
        return q
    (found,) = run_on(library, unit_function(robot), [q])
    return found


def unit_function(robot: Robot) -> ArrayFunction:
    """q with quaternions of unit length, as a function with derivatives."""
    kernel: Kernel | None = robot._code.get("simulate.unit")
    if kernel is None:
        kernel = Kernel(trace(robot, unit, "unit"))
        robot._code.keep("simulate.unit", kernel)
    found: ArrayFunction = kernel.as_function
    return found


# --- what the libraries call differently -----------------------------------------------------------------


def _module(library: str) -> Any:
    return sys.modules["jax.numpy" if library == "jax" else library]


def _joined(library: str, parts: Sequence[Any], axis: int = -1) -> Any:
    """Arrays one after the other along an axis, batches spread."""
    module, axes = _module(library), -axis
    batch = np.broadcast_shapes(*(tuple(x.shape[:-axes]) for x in parts))
    wide = [module.broadcast_to(x, (*batch, *x.shape[-axes:])) for x in parts]
    return module.concatenate(wide, axis)
