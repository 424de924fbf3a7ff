"""The calls of linkwise.control and good arguments for them, by the names of their parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
from good_arguments import team

import linkwise as lw
from linkwise import control

# What laws and searches give, and what is only a name for others.
NOT_CALLS = {"Expansion", "Law", "OptimizedMotion", "LQR", "TVLQR", "ILQR", "DDP", "Steps"}


@functools.cache
def robot() -> lw.Robot:
    return lw.load("double_pendulum")


OBJECT_LAWS = ("ObjectMotion", "ObjectPDGravity")
HELD = {"Kp": 4.0, "Kd": np.full(6, 2.0), "squeeze": np.ones(6), "shares": [1.0, 2.0]}


@functools.cache
def good_values() -> dict[str, Any]:
    """By the name of a parameter: what it may be. A new name in a call of linkwise.control must be added here."""
    r = robot()
    q, v, u = np.array([0.1, 0.2]), np.array([0.3, -0.1]), np.ones((3, 2))
    return {
        "robot": r, "q": q, "v": v, "tau": np.ones(2), "q0": q, "v0": v, "u0": u, "u": u,
        "reference": q, "Kp": np.array([2.0, 3.0]), "Kd": 1.0, "base_forces": True, "gain": 2.0,
        "frame": "tip" if "tip" in r.frames else r.bodies[-1].name, "position": np.array([0.1, 0.0, 0.2]),
        "rotation": np.eye(3), "velocity": np.zeros(6), "acceleration": np.zeros(6), "damping": 1.0,
        "position_gain": 2.0, "bounds": 5.0, "force_limit": 2.0, "orientation_gain": 0.5, "stiffness": 10.0,
        "posture": q, "posture_stiffness": 1.0,
        "posture_damping": 1.0, "regularization": 0.1, "goal": control.FrameGoal(np.array([0.1, 0.0, 0.2])),
        "state": np.ones(4), "control": np.ones(2), "terminal": 2.0, "step": 0.01, "method": "midpoint",
        "actuated": [j.name for j in r.joints if j.kind.nv], "limits": (-2.0, 2.0), "iterations": 2, "tolerance": 1e-6,
        "then": None, "selection": np.eye(2), "cost": control.QuadraticCost(r, q),
        "bodies": [r.bodies[-1].name], "form": "regressor",
        "squeeze": None, "shares": None, "push": None, "joint_damping": 0.1,
        "lag": 0.1, "back": np.array([0.1, 0.2]), "model": SimpleNamespace(A=-np.eye(2), B=np.eye(2)),
        "A": np.zeros((3, 4, 4)), "B": np.ones((3, 4, 2)), "Q": np.eye(4), "R": np.eye(2),
    }  # fmt: skip


Listed = tuple[str, Callable[..., Any], tuple[Callable[..., Any], ...], dict[str, Any]]


def calls() -> Iterator[Listed]:
    """Name, what to call, what has its parameters, and those that it needs others of, or in spite of a default.

    Laws are made and then asked for forces.
    """
    along = {"q": np.ones((4, 2)), "v": np.ones((4, 2))}
    own: dict[str, dict[str, Any]] = {
        "ConfigurationControl": {"rotation": np.eye(3)},
        "OperationalSpace": {"regularization": 0.1},
        "QuadraticCost": {"u": np.ones(2)},
        "lqr_gain": {"state": np.ones(2), "control": np.ones(2)},
        **{name: {**HELD, "robot": team(), "reference": team().object_alone.neutral()} for name in OBJECT_LAWS},
    }
    for name in sorted({*control.__all__} - NOT_CALLS):
        made = getattr(control, name)
        is_law = isinstance(made, type) and issubclass(made, control.Law)
        yield f"control.{name}", functools.partial(_forces, made) if is_law else made, (made,), own.get(name, {})
    yield "control.LQR.about", functools.partial(_forces, control.LQR.about), (control.LQR.about,), {}
    yield "control.TVLQR.along", functools.partial(_forces, control.TVLQR.along), (control.TVLQR.along,), along
    for search in (control.ILQR, control.DDP):
        wanted = {"u0": np.ones((3, 2)), "method": "semi_implicit_euler"}
        yield f"control.{search.__name__}.solve", functools.partial(_solved, search), (search, search.solve), wanted
    yield "control.Steps.rollout", _rolled, (control.Steps, control.Steps.rollout), {}


def _forces(make: Callable[..., Any], **given: Any) -> Any:
    law = make(**given)
    if isinstance(law, control.AdaptiveTracking):
        return law(0.0, *law.start(np.array([0.2, 0.1])))
    if isinstance(law.robot, lw.Grasp):
        return law(0.0, law.robot.random_configuration(0), np.zeros(law.robot.nv))
    return law(0.0, np.array([0.2, 0.1]), np.array([0.0, 0.1]))


def _solved(search: Any, q0: Any, v0: Any = None, u0: Any = None, **given: Any) -> Any:
    return search(**given).solve(q0, v0, u0)


def _rolled(q0: Any, v0: Any, u: Any, **given: Any) -> Any:
    return control.Steps(**given).rollout(q0, v0, u)
