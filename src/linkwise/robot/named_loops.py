"""Loops and the frames that they name: renamed, brought along, checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..errors import ModelError
from ..model.loops import Loop
from ..model.model import Model
from ..model.parts import Frame


def renamed(loop: Loop, prefix: str, world: str) -> Loop:
    """A loop of a robot that is attached to another, whose world is the frame ``world`` there."""

    def name(frame: Any) -> str:
        return world if frame_name(frame) == "world" else prefix + frame_name(frame)

    dependent = None if loop.dependent is None else tuple(prefix + x for x in loop.dependent)
    a, b = name(loop.frame_a), name(loop.frame_b)
    return replace(loop, frame_a=a, frame_b=b, name=prefix + loop.name, dependent=dependent)


def frame_name(frame: str | Frame) -> str:
    """The name of a frame given by it or as it is."""
    return frame if isinstance(frame, str) else frame.name


def with_names(loops: Iterable[Loop], frames: Iterable[Frame]) -> tuple[tuple[Loop, ...], tuple[Frame, ...]]:
    """Loops between named frames, and the frames with those that loops brought along."""
    kept = {f.name: f for f in frames}
    named = []
    for loop in loops:
        for frame in (loop.frame_a, loop.frame_b):
            if isinstance(frame, Frame) and kept.setdefault(frame.name, frame) != frame:
                raise ModelError(f"loop {loop.name!r}: another frame is named {frame.name!r} already")
        named.append(replace(loop, frame_a=frame_name(loop.frame_a), frame_b=frame_name(loop.frame_b)))
    return tuple(named), tuple(kept.values())


def check_loop(robot: Model, loop: Loop) -> None:
    """Refuse a loop of a body with itself."""
    (a, _), (b, _) = robot.frame(loop.frame_a), robot.frame(loop.frame_b)
    if a == b:
        where = "the world" if a < 0 else f"body {robot.bodies[a].name!r}"
        raise ModelError(
            f"robot {robot.name!r}: loop {loop.name!r} joins {where} to itself (frames {frame_name(loop.frame_a)!r} and"
            f" {frame_name(loop.frame_b)!r}); a loop joins two bodies that can move against each other"
        )
