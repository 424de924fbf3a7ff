"""Robots with springs and dampers in all joints that can have one."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import trees

import linkwise as lw


def sprung_joint(joint: lw.Joint, rng: np.random.Generator) -> lw.Joint:
    """A joint with a spring of random numbers, as its kind has them, and a damper."""
    kind: Any = joint.kind
    if not kind.nv or not getattr(kind, "commutes", True):
        return joint
    k = rng.uniform(1, 5, kind.nv)
    if kind.kind in ("spherical", "free"):
        k = np.repeat(k[::3], 3)
    return replace(joint, stiffness=k, rest=kind.random(rng), damping=rng.uniform(0.1, 1, kind.nv))


def sprung(robot: lw.Robot, seed: int = 0) -> lw.Robot:
    """The robot with a spring and a damper in every joint that can have them."""
    rng = np.random.default_rng(seed)
    bodies = tuple(replace(b, joint=sprung_joint(b.joint, rng)) for b in robot.bodies)
    return replace(robot, bodies=bodies)


@cache
def tree(name: str) -> lw.Robot:
    """One of :mod:`trees`, with springs."""
    return sprung(trees.robot(name))
