"""Every public call with good arguments, one or two of which are then exchanged for odd ones."""

from __future__ import annotations

import functools
import inspect
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from odd_values import odd

import linkwise as lw

# Calls whose ways in are tested by themselves: drivers of motions, which run as long as they are asked to.
ELSEWHERE = {"simulate", "rollout", "diagonal_motion", "trajectory_sensitivity"}
NOT_CALLS = {"Trajectory", "Operator", "Crossing", "EnergyBooks", "IdentityReport", "Rule", "Robot", "fingerprint"}


@functools.cache
def robot() -> lw.Robot:
    """A free base, a ball and a socket, hinges, a slider: q and v of different lengths."""
    inertia = lw.Inertia.box(2.0, (0.3, 0.2, 0.1))
    joints = {"base": lw.Free(), "ball": lw.Spherical(), "hinge": lw.Revolute("y"), "slide": lw.Prismatic("x")}
    bodies, parent = [], None
    for name, kind in joints.items():
        bodies.append(lw.Body(name, lw.Joint(kind, f"{name}_joint", at=(0.1, 0.2, 0.3)), inertia, parent))
        parent = name
    return lw.assemble("mixed", bodies, [lw.Frame("tool", "slide", at=(0.1, 0, 0))])


@functools.cache
def good_values() -> dict[str, Any]:
    """By the name of a parameter: what it may be. A new name in a public call must be added here."""
    r = robot()
    rng = np.random.default_rng(0)
    q, v = r.random_configuration(0), rng.normal(size=r.nv)
    vector = dict.fromkeys(
        ("v", "a", "tau", "nu", "eps", "x", "dv", "da", "dq", "dtau", "weights", "v_ref", "a_ref"), v
    )
    three, name = np.array([0.1, 0.2, 0.9]), "base"
    return vector | {
        "q": q, "q0": q, "q1": r.random_configuration(1), "external": rng.normal(size=(len(r.bodies), 6)),
        "force": rng.normal(size=6), "forces": {"tool": np.ones(6)}, "frame": "tool", "frames": ["tool"],
        "body": 1, "prescribed": ["hinge_joint"], "joints": ["hinge_joint"], "to": "slide", "other": lw.chain(2),
        "root": "ball", "payload": lw.Inertia.sphere(1.0, 0.1), "inertias": {"ball": lw.Inertia.sphere(1.0, 0.1)},
        "gravity": three, "constants": r.constants(), "axes": "world", "spatial": True, "normalized": False,
        "tolerance": 1e-8, "prefix": "p_", "at": three, "rpy": three, "joint_name": "root",
        "rotation": np.eye(3), "rng": 0, "batch": (2,), "floating": True, "floating_root": True, "folder": ".",
        "parameters": r.inertial_parameters, "fixed": {}, "dtype": "float64", "rolled": None,
        # parts of robots
        "mass": 1.5, "com": three, "tensor": np.diag([0.1, 0.2, 0.15]), "radius": 0.1, "length": 0.5, "rounded": True,
        "size": three, "vertices": np.eye(3), "faces": np.array([[0, 1, 2]]), "file": "a.stl", "scale": three,
        "shape": lw.Box((1, 1, 1)), "colour": (0.1, 0.2, 0.3, 1.0), "axis": three, "normal": three, "pitch": 0.2,
        "first": three, "second": np.array([0.9, -0.1, 0.0]), "H": np.eye(6)[:2], "joint": lw.Revolute("x"),
        "kind": lw.Revolute("z"), "inertia": lw.Inertia(), "parent": None, "limits": lw.Limits(-1, 1),
        "damping": 0.1, "friction": 0.1, "rotor": lw.Rotor(0.1), "mimic": lw.Mimic("a"), "lower": -1.0,
        "upper": 1.0, "velocity": 2.0, "effort": 3.0, "multiplier": 1.0, "offset": 0.0, "gear_ratio": 3.0,
        "bodies": [lw.Body("one", lw.Revolute("z"), lw.Inertia.sphere(1.0, 0.1))], "base": lw.Inertia(),
        "visuals": [lw.Visual(lw.Ball(0.1))], "n": 3, "seed": 1, "source": "ur5", "stop": True, "direction": 1.0,
        "path": os.path.join(tempfile.gettempdir(), "linkwise-fuzz.urdf"),
        "function": lambda r, q, v=None: r.gravity_force(q), "lhs": lambda op: op.phi, "rhs": lambda op: op.phi,
        "trials": 2, "rotors": True, "sizes": {"v": r.nv}, "robot": r, "name": name, "branching": 0.5,
    }  # fmt: skip


# Where a name means something else in one call.
OTHERWISE: dict[tuple[str, str], Any] = {
    ("weld", "body"): "slide",
    ("weld", "frame"): "new",
    ("compile", "parameters"): ("masses",),
    ("Body", "joint"): lw.Revolute("x"),
    ("Mimic", "joint"): "a",
    ("Rotor", "inertia"): 0.1,
    ("Event", "name"): "crossing",
    ("Frame", "body"): "slide",
    ("Visual", "body"): "slide",
    ("joint", "name"): "hinge_joint",
    ("body", "name"): "ball",
    ("Robot.compile", "name"): "mass_matrix",
    ("assemble", "frames"): [lw.Frame("f", "one")],
    ("chain", "joint"): "revolute",
    ("random_tree", "joints"): ["revolute", "free"],
    ("Custom", "H"): np.eye(6)[:2],
    ("with_constants", "bodies"): None,
    ("Event", "function"): lambda r, t, q, v: q[..., 0],
}
METHODS_OF = {"method", "target"}  # words; each call has its own, so they are left out or odd


@dataclass(frozen=True)
class Call:
    """A public call: its name, what to call, and good arguments by name."""

    name: str
    function: Callable[..., Any]
    required: tuple[str, ...]
    optional: tuple[str, ...]


@functools.cache
def public_calls() -> tuple[Call, ...]:
    return tuple(_public_calls())


def _public_calls() -> Iterator[Call]:
    for name in sorted(lw.__all__):
        member = getattr(lw, name)
        is_error = isinstance(member, type) and issubclass(member, (Exception, Warning))
        if callable(member) and not is_error and name not in NOT_CALLS | ELSEWHERE:
            yield _call(name, member, member)
    for name in sorted(n for n in dir(lw.Robot) if not n.startswith("_")):
        if callable(getattr(lw.Robot, name)) and name not in NOT_CALLS | ELSEWHERE:
            yield _call(f"Robot.{name}", getattr(lw.Robot, name), functools.partial(_on_robot, name))


def _on_robot(name: str, /, **given: Any) -> Any:
    return getattr(robot(), name)(**given)


def _call(title: str, described: Callable[..., Any], function: Callable[..., Any]) -> Call:
    parameters = inspect.signature(described).parameters.values()
    plain = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and p.name != "self"]
    required = tuple(p.name for p in plain if p.default is p.empty)
    return Call(title, function, required, tuple(p.name for p in plain if p.default is not p.empty))


def good(call: Call, parameter: str) -> Any:
    short = call.name.removeprefix("Robot.")
    for key in ((call.name, parameter), (short, parameter)):
        if key in OTHERWISE:
            return OTHERWISE[key]
    return None if parameter in METHODS_OF else good_values()[parameter]


def arguments(call: Call, rng: Random, target: str) -> dict[str, Any]:
    """Good arguments, one or two of them exchanged for odd ones."""
    given = {p: good(call, p) for p in call.required}
    given |= {p: good(call, p) for p in call.optional if p not in METHODS_OF and rng.random() < 0.3}
    if "target" in call.optional:
        given["target"] = target
    names = [*call.required, *call.optional]
    for name in rng.sample(names, min(len(names), rng.choice((1, 1, 1, 2)))):
        given[name] = odd(rng, good(call, name))
    return given
