"""In which frames a program is traced: the user's, or others on the same bodies where that cannot be seen.

Results in joint space are the same in any frames, and in the normal form (:mod:`...model.normal_form`) they take fewer
operations. So a program is traced in the user's frames and in each normal form, and the shortest is taken. What may
come from other frames is decided by what is asked of the robot, call by call, never by comparing numbers:

* a method that is declared to be in joint space (``@compiled(joint_space=True)``), called without external forces;
* an operator expression that is proved to be the same in any frames (:mod:`...algebra.frame_freedom`).

A function of the user's gets a :func:`stand_in`: its own robot, in its own frames, which hands just these two to a
normal form. Everything else it can ask for (poses, Jacobians, link forces, P, V, blocks …) is the robot's own.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ...model.normal_form import normal_form
from ..facts import Facts, catalogue
from .trace import Program


def normal_forms(robot: Any) -> list[tuple[str, Any]]:
    """(what it is, the robot in it) of every normal form."""
    return [("normal form", normal_form(robot)[0]), ("normal form, origins kept", normal_form(robot, slide=False)[0])]


def shortest(candidates: list[tuple[str, Program]]) -> tuple[str, Program]:
    """The program with the fewest operations; the first of several that have as many."""
    return min(candidates, key=lambda named: named[1].operations.total)


def stand_in(robot: Any, form: Any) -> Any:
    """The robot, answering in its own frames, but for what ``form`` answers alike and in fewer operations."""
    own: Any = type(robot)
    cls = _stand_in_class(own)
    out = cls.__new__(cls)
    out.__dict__.update(robot.__getstate__(), form=form)
    return out


@lru_cache(maxsize=16)
def _stand_in_class(cls: Any) -> Any:
    declared = {name: _elsewhere(getattr(cls, name)) for name, facts in catalogue(cls).items() if facts.joint_space}
    own = {"__doc__": cls.__doc__, "form": None, "operators": _operators(cls.operators)}
    return type(cls.__name__, (cls,), own | declared)


def _elsewhere(method: Any) -> Callable[..., Any]:
    """A method asked of the other form where no frame shows."""
    facts: Facts = method.facts
    names = tuple(inspect.signature(method.plain).parameters)[1:]

    @functools.wraps(method)
    def call(self: Any, *args: Any, **named: Any) -> Any:
        given = dict(zip(names, args)) | named
        shown = facts.shows_frames([n for n in facts.arrays if given.get(n) is not None])
        if shown or self.form is None:
            return method(self, *args, **named)
        out = method(self.form, *args, **named)
        if hasattr(out, "set_origin"):  # a result that knows its robot and velocity
            out.set_origin(self, given["v"])
        return out

    return call


def _operators(make: Callable[..., Any]) -> Callable[..., Any]:
    """The operators of the robot; those of the other form beside them, for expressions that show no frame."""

    @functools.wraps(make)
    def operators(self: Any, *args: Any, **named: Any) -> Any:
        out = make(self, *args, **named)
        if self.form is not None:
            out.state.form = make(self.form, *args, **named).state
        return out

    return operators
