"""linkwise itself: kernels, the calls for one state, and the same functions through JAX."""

from __future__ import annotations

import numpy as np

from ...interop.availability import NotHere
from ...robot.robot import Robot
from ..cases import Case, frame_of, stacked
from ..peer import Peer, Work, needs_float64
from .jax_calls import prepared


def kernel(robot: Robot, case: Case, arguments: list[np.ndarray]) -> Work:
    kernel = robot.compile(case.function, **frame_of(robot, case.function))
    if case.batch == 1:
        single = [x[0] for x in arguments]
        return Work(lambda: kernel(*single, threads=1), lambda y: stacked(y)[None], kernel.operations)
    first = kernel(*arguments, threads=1)
    out = [np.empty_like(x) for x in first] if isinstance(first, tuple) else np.empty_like(first)
    given = out if isinstance(out, list) else [out]
    call = kernel.bind(*arguments, out=out)  # as compiled peers are given addresses once
    return Work(call, lambda _: stacked(kernel.signature.result(given)), kernel.operations)


def quick(robot: Robot, case: Case, arguments: list[np.ndarray]) -> Work:
    _needs_one_state(case)
    kernel = robot.compile(case.function, **frame_of(robot, case.function))
    call, single = kernel.quick, [x[0] for x in arguments]
    return Work(lambda: call(*single), lambda y: stacked(y)[None], kernel.operations)


def default_call(robot: Robot, case: Case, arguments: list[np.ndarray]) -> Work:
    frame = frame_of(robot, case.function)
    # The look-up of the method, and of its code in the robot's store, are part of a call.
    if case.batch == 1:
        single = [x[0] for x in arguments]
        return Work(lambda: getattr(robot, case.function)(*single, **frame), lambda y: stacked(y)[None])
    return Work(lambda: getattr(robot, case.function)(*arguments, **frame), stacked)


def through_jax(robot: Robot, case: Case, arguments: list[np.ndarray]) -> Work:
    frame = frame_of(robot, case.function)
    return prepared(case, lambda: robot.compile(case.function, target="jax", **frame), arguments)


def _needs_one_state(case: Case) -> None:
    needs_float64(case)
    if case.batch != 1:
        raise NotHere("for one state only")


KERNEL = Peer(
    "linkwise",
    ("linkwise", "llvmlite"),
    "robot.compile(function), one call for the batch on one thread, into arrays that are there already: kernel.bind;"
    " for a batch of 1, one call on one state, giving a new array",
    kernel,
)
QUICK = Peer("linkwise, kernel.quick", ("linkwise",), "kernel.quick on one state, giving a new array", quick)
DEFAULT = Peer(
    "linkwise, default call",
    ("linkwise",),
    "robot.forward_dynamics(q, v, tau) and so on, one call for the batch, checks of what is given included, giving new"
    " arrays",
    default_call,
)
JAX = Peer(
    "linkwise through JAX",
    ("linkwise", "jax"),
    "robot.compile(function, target='jax'), jitted over the batch, arrays on the device already, until ready",
    through_jax,
)
