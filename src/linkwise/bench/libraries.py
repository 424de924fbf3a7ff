"""The libraries that are measured. Each makes, for a robot and a function, a call that runs a whole batch.

A library that is not installed, or does not have a function, is left out of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..robot import Robot
from .cases import Case

Call = Callable[[], np.ndarray]
Maker = Callable[[Robot, Case, list[np.ndarray]], Call | None]


def linkwise_cpu(robot: Robot, case: Case, arguments: list[np.ndarray]) -> Call:
    """The compiled kernel on one thread."""
    kernel = robot.compile(case.function)
    out = np.empty((case.batch, *kernel.program.shapes[0]), case.dtype)
    return lambda: kernel(*arguments, out=out, threads=1)


def linkwise_jax(robot: Robot, case: Case, arguments: list[np.ndarray]) -> Call | None:
    """The same functions through JAX, jitted over the batch."""
    try:
        import jax
    except ImportError:
        return None
    if case.dtype == "float64":
        jax.config.update("jax_enable_x64", True)
    function = robot.compile(case.function, target="jax")
    device = [jax.numpy.asarray(x) for x in arguments]
    return lambda: np.asarray(function(*device))


def pinocchio_loop(robot: Robot, case: Case, arguments: list[np.ndarray]) -> Call | None:
    """One Python call per state."""
    peer = _pinocchio(robot, case)
    if peer is None:
        return None
    pin, model, convert, back = peer
    data = model.createData()
    q, *rest = convert(arguments)
    rows = range(case.batch)
    run: dict[str, Callable[[int], Any]] = {
        "forward_dynamics": lambda i: pin.aba(model, data, q[i], rest[0][i], rest[1][i]),
        "inverse_dynamics": lambda i: pin.rnea(model, data, q[i], rest[0][i], rest[1][i]),
        "mass_matrix": lambda i: pin.crba(model, data, q[i]),
        "mass_matrix_inverse": lambda i: pin.computeMinverse(model, data, q[i]),
    }
    one = run[case.function]

    def call() -> np.ndarray:
        return back(np.stack([np.array(one(i)) for i in rows]))

    call.timed = lambda: [one(i) for i in rows]  # type: ignore[attr-defined]  # copying out is not its work
    return call


def pinocchio_batch(robot: Robot, case: Case, arguments: list[np.ndarray]) -> Call | None:
    """Its own batch calls, on one thread."""
    peer = _pinocchio(robot, case)
    if peer is None or case.function not in ("forward_dynamics", "inverse_dynamics"):
        return None
    pin, model, convert, back = peer
    pool = pin.ModelPool(model, 1)
    columns = [np.asfortranarray(x.T) for x in convert(arguments)]
    out = np.asfortranarray(np.zeros((model.nv, case.batch)))
    run = pin.abaInParallel if case.function == "forward_dynamics" else pin.rneaInParallel

    def call() -> np.ndarray:
        run(1, pool, *columns, out)
        return back(out.T)

    call.timed = lambda: run(1, pool, *columns, out)  # type: ignore[attr-defined]
    return call


def _pinocchio(robot: Robot, case: Case) -> Any:
    if case.dtype != "float64":
        return None
    try:
        import pinocchio as pin
    except ImportError:
        return None
    from .pinocchio_model import conversions, to_pinocchio

    model = to_pinocchio(pin, robot)
    return (pin, model, *conversions(robot)) if model is not None else None


LIBRARIES: dict[str, Maker] = {
    "linkwise": linkwise_cpu,
    "linkwise (JAX)": linkwise_jax,
    "Pinocchio, batch call": pinocchio_batch,
    "Pinocchio, Python loop": pinocchio_loop,
}
