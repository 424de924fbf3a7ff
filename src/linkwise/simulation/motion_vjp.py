"""``lw.simulate_vjp``: gradients of motions on arrays of NumPy and CuPy, which carry none themselves.

The way back is what tensors of PyTorch and arrays of JAX take by themselves (:mod:`.motion_derivatives`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import array_kinds
from ..arguments import numbers
from ..codegen.foreign.calls import run_on
from ..codegen.foreign.cuda_calls import refuse_other_numbers
from ..codegen.foreign.function import rows, summed_to
from ..errors import InputError
from ..robot.calls import refuse_other_than_robot
from ..robot.robot import Robot
from .array_trajectory import ArrayTrajectory
from .asked import Asked
from .methods import METHODS, SOLVERS
from .on_arrays import Ready, arrays_of, ready, unit_function
from .simulate import count_of, settings_of
from .steps import EXPLICIT


@dataclass(frozen=True, eq=False)
class Pullback:
    """What takes weights of a motion's samples back to what the motion was made of."""

    _ready: Ready
    _given: Mapping[str, Any]  # q0, v0, tau, external and parameters, as far as they are numbers

    def __call__(self, dq: Any = None, dv: Any = None) -> dict[str, Any]:
        """The gradients of Σ dq · q + Σ dv · v over the samples, by the names of the arguments, each of the shape that
        was given.

        ``dq`` (..., samples, nq) and ``dv`` (..., samples, nv) are the derivatives of a number by the samples; None is
        zero. A quaternion's gradient is that in its four numbers; those of forces on frames, and of parameters, are
        mappings again.
        """
        known = self._ready
        batch = known.function.batch([tuple(x.shape) for x in known.arrays])
        cast = _caster(known.library, str(known.arrays[0].dtype), known.arrays)
        weights = []
        for name, given, shape in zip(("dq", "dv"), (dq, dv), known.function.signature.shapes):
            x = cast(np.zeros(shape) if given is None else given, name)
            if tuple(x.shape[-2:]) != shape or not _goes_into(x.shape[:-2], batch):
                raise InputError(f"{name} must have shape {(*batch, *shape)}, got {tuple(x.shape)}")
            weights.append(rows(x, 2))
        found = run_on(known.library, known.function.vjp, [*known.arrays, *weights])
        return self._named([summed_to(g, tuple(x.shape)) for g, x in zip(found, known.arrays)])

    def _named(self, slopes: list[Any]) -> dict[str, Any]:
        """Gradients in the function's arrays as those in the arguments."""
        rest, robot, library = iter(slopes), self._ready.task.robot, self._ready.library
        out: dict[str, Any] = {}
        for name, given in self._given.items():
            if name == "parameters":  # in the order of the function, whose gains come first
                found = {k: next(rest) for k in self._ready.own}
                out[name] = {k: found[k].reshape(x.shape) for k, x in given.items()}
            elif isinstance(given, Mapping):
                wide = next(rest)
                parts = [wide[..., 6 * i : 6 * i + 6] for i in range(len(given))]
                out[name] = {k: summed_to(x, tuple(y.shape)) for (k, y), x in zip(given.items(), parts)}
            elif name == "q0" and robot.nq != robot.nv:
                (out[name],) = run_on(library, unit_function(robot).vjp, [given, next(rest)])
            else:
                out[name] = next(rest).reshape(given.shape)
        return out


def simulate_vjp(
    robot: Robot,
    q0: Any,
    v0: Any = None,
    controller: Any = None,
    *,
    duration: float | None = None,
    steps: int | None = None,
    step: float = 1e-3,
    method: str = "runge_kutta_4",
    every: int = 1,
    tau: Any = None,
    hold: bool = False,
    external: Any = None,
    damping: Any = None,
    friction: Any = False,
    limits: Any = False,
    implicit: bool | None = None,
    closing: str | None = None,
    closing_rate: float | None = None,
    parameters: Mapping[str, Any] | None = None,
    threads: int | None = None,
) -> tuple[ArrayTrajectory, Pullback]:
    """The motion of :func:`simulate`, and a function that takes weights of its samples back to what it was made of.

    ``run, back = lw.simulate_vjp(…)``; of a number that depends on run.q and run.v by the derivatives dq and dv,
    ``back(dq, dv)`` is the gradient in q0, v0, ``tau``, ``external`` and ``parameters``, by these names: the discrete
    adjoint of the steps, for all states of a batch at once. For arrays of NumPy, and of CuPy on their card; tensors of
    PyTorch and arrays of JAX carry gradients through :func:`simulate`. Arguments are those of :func:`simulate`, with
    gains of the controller among the ``parameters``; methods are "semi_implicit_euler", "midpoint" and "runge_kutta_4".
    A motion that is lost is NaN from there on, and so are gradients through it; the others of its batch stay as they
    are. So is, on cards, one with a joint that nothing resists; on arrays of NumPy it is a SimulationError that names
    the joint, whatever the other states.
    """
    refuse_other_than_robot(robot, "simulate_vjp")
    _refuse_without_adjoint(method)
    robot, settings = settings_of(
        robot, step, method, every, hold, damping, friction, limits, implicit, closing, closing_rate
    )
    given = arrays_of(q0, v0, tau, external, parameters)
    library = array_kinds.common(given) if array_kinds.among(given.values()) else "numpy"
    if library not in ("numpy", "cupy"):
        raise InputError(f"arrays of {library} carry gradients: lw.simulate gives a motion that has them")
    count = count_of(robot, settings, duration, steps, tau)
    typed = [str(x.dtype) for x in given.values() if hasattr(x, "dtype")]
    single = bool(typed) and all(name == "float32" for name in typed)
    cast = _caster(library, "float32" if single else "float64", given.values())
    known: dict[str, Any] = {"q0": cast(q0, "q0"), "v0": cast(np.zeros(robot.nv) if v0 is None else v0, "v0")}
    for name, x in (("tau", tau), ("external", external), ("parameters", parameters)):
        if isinstance(x, Mapping):
            known[name] = {k: cast(y, f"{name}[{k!r}]") for k, y in x.items()}
        elif x is not None and not callable(x):
            known[name] = cast(x, name)
    pushed = known.get("external", external)
    asked = Asked(controller, known.get("tau"), pushed, parameters=known.get("parameters"), threads=threads)
    arrays = arrays_of(known["q0"], known["v0"], known.get("tau"), pushed, known.get("parameters"))
    made = ready(robot, library, arrays, settings, count, asked)
    own = replace(made, arrays=[x.copy() for x in made.arrays])  # apart from what the motion records
    return made.motion(), Pullback(own, known)


def _refuse_without_adjoint(method: Any) -> None:
    """Refuse methods of :func:`simulate` that have no way back; names that are none are left to who knows them."""
    if isinstance(method, str) and method not in EXPLICIT and method in (*METHODS, *SOLVERS):
        raise InputError(
            f"gradients by lw.simulate_vjp are those of {', '.join(EXPLICIT)}, got {method!r}; by that method"
            " lw.simulate gives the motion alone"
        )


def _caster(library: str, dtype: str, like: Iterable[Any]) -> Callable[[Any, str], Any]:
    """What makes arrays of a library, in a precision and on the device of those that are there, of numbers.

    They are new arrays: the way back makes the motion again, from what it was given, whatever became of that.
    """
    if library == "numpy":
        return lambda x, name: numbers(x, name).astype(dtype, copy=False)
    cupy = sys.modules["cupy"]
    device = next(x.device for x in like if array_kinds.library(x))

    def cast(x: Any, name: str) -> Any:
        with device:
            found = array_kinds.as_one("cupy", x, name)
            if array_kinds.library(found) is None:
                return cupy.asarray(numbers(found, name), dtype)
            refuse_other_numbers(found)
            return cupy.array(found, dtype)

    return cast


def _goes_into(shape: tuple[int, ...], batch: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(tuple(shape), batch) == batch
    except ValueError:
        return False
