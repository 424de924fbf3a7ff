"""The calls of what other calls give (kernels, operators, motions) and of plots, with good arguments for them."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from good_arguments import folder

import linkwise as lw

Listed = tuple[str, Callable[..., Any], tuple[Callable[..., Any], ...], dict[str, Any]]
STATE = {"q": np.array([0.1, 0.2]), "v": np.array([0.3, 0.4]), "tau": np.array([1.0, 2.0])}
# What is asked of a thing under a sign, as functions of the thing and another.
SIGNS = {
    "@": operator.matmul, "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "[]": operator.getitem, "times from the left": lambda a, x: x * a, "applied from the left": lambda a, x: x @ a,
}  # fmt: skip


@functools.cache
def robot() -> lw.Robot:
    return lw.chain(2, seed=1)


@functools.cache
def motion(*batch: int) -> lw.Trajectory:
    q, v, _ = (np.broadcast_to(x, (*batch, 2)) for x in STATE.values())
    return lw.simulate(robot(), q, v, steps=3, step=0.005, method="semi_implicit_euler", target="numpy")


@functools.cache
def kernel(name: str) -> Any:
    return robot().compile(name)


@functools.cache
def operators() -> Any:
    q, v, _ = STATE.values()
    return robot().operators(q, v=v, a=v)


@functools.cache
def good_values() -> dict[str, Any]:
    """By the name of a parameter: what it may be. A new name in these calls must be added here."""
    q, v, tau = STATE.values()
    tip, joint = robot().tips[0], robot().joints[0].name
    drawn = {"robot": robot()} | {name: getattr(motion(), name) for name in ("time", "q", "v", "a", "tau")}
    return STATE | {
        "out": None, "threads": 1, "wrt": "q", "dtype": "float64", "robot": robot(), "joints": [joint], "joint": joint,
        "axis": 0, "frame": tip, "measured": lw.plots.Costs((2, 4), {"triangular": (3, 9)}), "theme": "dark",
        "transparent": True, "trajectory": drawn, "sizes": (2, 3), "methods": ("triangular",), "timed": False,
        "x": q, "X": np.eye(2), "target": "numpy", "axes": "body", "formal": False, "dtheta": q, "dtheta_dot": v,
        "dtheta_ddot": tau, "rule": "innovations", "index": 1, "backwards": None, "at": None, "other": q,
        "path": f"{folder()}/motion.npz", "limit": None, "duration": 0.01, "controller": None,
        "function": lambda t, q, v: q[..., 0], "options": {},
    }  # fmt: skip


def calls() -> Iterator[Listed]:
    """Name, what to call, what has its parameters, and those that it needs others of, or in spite of a default."""
    for name in ("forward_dynamics", "linearize_forward"):
        yield f"Kernel({name})", functools.partial(_called, name), (_kernel_call,), {}
    yield "Kernel.bind", _bound, (_bound,), {"out": np.zeros(2)}
    for name in ("jacobian", "code"):
        yield f"Kernel.{name}", functools.partial(_of, kernel, "forward_dynamics", name), (getattr(_Kernel, name),), {}
    yield "Operator.using", _used, (_used,), {}
    yield "Trajectory.state", _state_of, (_state_of,), {}
    for name, method in _with_parameters(lw.Operator):
        if name != "using":  # rules by place, which are above
            yield f"Operator.{name}", functools.partial(_of, getattr, operators(), "mass", name), (method,), {}
    for sign, function in SIGNS.items():
        own = {
            "*": 2.0,
            "/": 2.0,
            "times from the left": 2.0,
            "[]": (0, 0),
            "+": operators().mass,
            "-": operators().mass,
        }
        given = {"other": own[sign]} if sign in own else {}
        yield f"Operator {sign}", functools.partial(_signed, function), (_signed_by,), given
    for name, method in _with_parameters(lw.Trajectory):
        own = {"robot": None} if name == "load" else {}
        call = _read if name == "load" else functools.partial(_of, motion, name)
        yield f"Trajectory.{name}", call, (method,), own
    needed = {"costs": {"measured": good_values()["measured"]}}
    needed["measure_costs"] = {"robot": lw.chain, "sizes": (2, 3), "timed": False}
    for name in sorted({*lw.plots.__all__} - {"Costs", "legend"}):
        picture = getattr(lw.plots, name)
        own = needed.get(name, {})
        yield f"plots.{name}", picture, (picture,), own
    yield "plots.legend", lw.plots.legend, (lw.plots.legend,), {"ax": _axes()}


_Kernel = lw.codegen.runtime.kernel.Kernel


def _with_parameters(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public methods that take something by a name."""
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        parameters = inspect.signature(method).parameters.values()
        if not name.startswith("_") and {p.name for p in parameters if p.kind is not p.VAR_POSITIONAL} - {"self"}:
            yield name, method


def _kernel_call(q: Any, v: Any, tau: Any, out: Any = None, threads: Any = None) -> None:
    """What a call of these kernels takes."""


def _called(name: str, q: Any, v: Any, tau: Any, **options: Any) -> Any:
    return kernel(name)(q, v, tau, **options)


def _bound(q: Any, v: Any, tau: Any, out: Any) -> Any:
    return kernel("forward_dynamics").bind(q, v, tau, out=out)()


def _of(find: Callable[..., Any], /, *found: Any, **given: Any) -> Any:
    """A method, by its name, of what is found with the other arguments."""
    *what, name = found
    return getattr(find(*what), name)(**given)


def _signed_by(other: Any) -> None:
    """What a sign takes."""


def _signed(function: Callable[..., Any], other: Any) -> Any:
    return function(operators().mass, other)


def _used(rule: Any, at: Any = None) -> Any:
    return operators().mass.using(rule, at=at)


def _state_of(index: Any) -> Any:
    return motion(2).state(index)


def _read(path: Any, **given: Any) -> Any:
    motion().save(f"{folder()}/motion.npz")
    return lw.Trajectory.load(path, **given)


@functools.cache
def _axes() -> Any:
    return lw.plots.joints(motion()).axes[0]
