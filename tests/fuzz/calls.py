"""Every public call with good arguments, one or two of which are then exchanged for odd ones."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import control_arguments
import result_arguments
from good_arguments import CALLED_ON, METHODS, NEEDED, closed_robot, embedded_robot, good_values, otherwise, robot, team
from odd_values import odd

import linkwise as lw
from linkwise.robot.closed import ClosedRobot
from linkwise.robot.embedded import EmbeddedLoops

# What calls give, and nobody makes by hand.
NOT_CALLS = {
    "Trajectory",
    "Operator",
    "Crossing",
    "EnergyAccount",
    "IdentityReport",
    "Rule",
    "Robot",
    "fingerprint",
    "Grasp",
    "Formula",
    "Proof",
    "Space",
    "Reach",
    "Equilibrium",
    "Modes",
    "Identification",
    "Excitation",
    "Calibration",
}
SHAPES = ("box", "cylinder", "point", "sphere")  # inertias of which
FLEXIBLE = ("beam", "from_integrals", "load")  # ways to one
MAY_BE_FUNCTIONS = ("goal", "reference", "posture")  # what another function raises is its own
WORDS = ("method", "target")  # each call has its own


@dataclass(frozen=True)
class Call:
    """A public call: its name, what to call, the names of its parameters, and good arguments by name."""

    name: str
    function: Callable[..., Any]
    required: tuple[str, ...]
    optional: tuple[str, ...]
    good: Mapping[str, Any]


@functools.cache
def public_calls() -> tuple[Call, ...]:
    return tuple(_public_calls())


def _public_calls() -> Iterator[Call]:
    for name in sorted(lw.__all__):
        member = getattr(lw, name)
        is_error = isinstance(member, type) and issubclass(member, (Exception, Warning))
        if callable(member) and not is_error and name not in NOT_CALLS:
            yield _call(name, member, _derived if name == "derive" else member)
    yield _call("loops.simulate", lw.simulate, lw.simulate)
    for name in SHAPES:
        yield _call(f"Inertia.{name}", getattr(lw.Inertia, name), getattr(lw.Inertia, name))
    for name in FLEXIBLE:
        yield _call(f"Flexible.{name}", getattr(lw.Flexible, name), getattr(lw.Flexible, name))
    for name in sorted(n for n in dir(lw.Robot) if not n.startswith("_")):
        if callable(getattr(lw.Robot, name)) and name not in NOT_CALLS:
            own = CALLED_ON.get(name, robot)
            yield _call(f"Robot.{name}", getattr(lw.Robot, name), functools.partial(_of, own, name))
    for name in sorted(n for n in vars(ClosedRobot) if not n.startswith("_")):
        method = getattr(ClosedRobot, name)
        if callable(method) and not getattr(method, "refuses", False):
            yield _call(f"Closed.{name}", getattr(ClosedRobot, name), functools.partial(_of, closed_robot, name))
    for name in sorted(n for n in vars(EmbeddedLoops) if not n.startswith("_")):
        if callable(getattr(EmbeddedLoops, name)):
            own = functools.partial(_of, embedded_robot, name)
            yield _call(f"Embedded.{name}", getattr(EmbeddedLoops, name), own)
    for name in sorted(n for n in vars(lw.Grasp) if not n.startswith("_")):
        if callable(getattr(lw.Grasp, name)) and name not in ("close", "floating"):  # like the others; refused
            yield _call(f"Grasp.{name}", getattr(lw.Grasp, name), functools.partial(_of, team, name))
    for name, function, described, own in control_arguments.calls():
        yield _listed(name, function, described, control_arguments.good_values() | own, own)
    for name, function, described, own in result_arguments.calls():
        yield _listed(name, function, described, result_arguments.good_values() | own, own)


def _listed(
    name: str,
    function: Callable[..., Any],
    described: tuple[Callable[..., Any], ...],
    good: Mapping[str, Any],
    needed: Iterable[str],
) -> Call:
    required, optional = _parameters(*described)
    required += tuple(p for p in needed if p not in required)
    return Call(name, function, required, tuple(p for p in optional if p not in needed), good)


def _derived(start: Any, lines: Any, **given: Any) -> Any:
    return lw.derive(start, *(lines if isinstance(lines, (list, tuple)) else (lines,)), **given)


def _of(own: Callable[[], lw.Robot], name: str, /, **given: Any) -> Any:
    if name == "close":
        return (
            own().close(*given["loops"]) if isinstance(given["loops"], (list, tuple)) else own().close(given["loops"])
        )
    return getattr(own(), name)(**given)


def _call(title: str, described: Callable[..., Any], function: Callable[..., Any]) -> Call:
    required, optional = _parameters(described)
    short = title.rpartition(".")[2]
    needed = NEEDED.get(short, ())
    required += tuple(p for p in needed if p not in required)
    own = {p: x for name in (short, title) for (call, p), x in otherwise().items() if call == name}
    words = {"method": METHODS[short][0]} if short in METHODS else {}
    optional = tuple(p for p in optional if p not in needed)
    return Call(title, function, required, optional, {**good_values(), **words, **own, "target": "numpy"})


def _parameters(*described: Callable[..., Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of parameters without and with defaults."""
    every = {p.name: p for function in described for p in inspect.signature(function).parameters.values()}
    plain = [p for p in every.values() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and p.name != "self"]
    required = tuple(p.name for p in plain if p.default is p.empty)
    return required, tuple(p.name for p in plain if p.default is not p.empty)


def arguments(call: Call, rng: Random, target: str) -> dict[str, Any]:
    """Good arguments, one or two of them exchanged for odd ones."""
    given = {p: call.good[p] for p in call.required}
    given |= {p: call.good[p] for p in call.optional if p not in WORDS and rng.random() < 0.3}
    short = call.name.rpartition(".")[2]
    if "method" in call.optional and short in METHODS and rng.random() < 0.5:
        given["method"] = rng.choice(METHODS[short])
    if "target" in call.optional:
        given["target"] = target
    names = [*call.required, *call.optional]
    for name in rng.sample(names, min(len(names), rng.choice((1, 1, 1, 2)))):
        given[name] = odd(rng, call.good[name], name in MAY_BE_FUNCTIONS)
    return given
