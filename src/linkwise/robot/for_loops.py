"""What a method of a robot means where loops are closed: a fact of its decorator, ``@compiled(…, loops=…)``.

A closed robot has versions of its own of some methods. Of the others it answers as the tree that is left when the loops
are cut does, or refuses, in words: as the decorator says, and where that says nothing it refuses.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from ..errors import NotAdmittedError

Method = TypeVar("Method")


@dataclass(frozen=True)
class ForLoops:
    """Why a method is ``refused`` to robots with loops, if it is, or ``refused_if_soft``: to those with soft ones."""

    refused: str = ""
    refused_if_soft: str = ""


UNSAID = ForLoops(
    "nothing says what it is where loops are closed, as loops= of its decorator does; robot.opened has it for the tree"
    " that is left when the loops are cut"
)
AS_TREE = ForLoops()  # the same function of positions and motions
NEEDS_TREE = ForLoops(
    "it factors the mass matrix of a tree; robot.opened has it for the tree that is left when the loops are cut, and"
    " robot.operators(q, embedded=True) in independent rates, where loops name the joints that follow"
)
NEEDS_INDEPENDENT = ForLoops(
    "diagonal coordinates need coordinates that are independent, and loops are cut here; robot.operators(q,"
    " embedded=True) has the factors m and ell where loops name the joints that follow"
)
ONE_DERIVATIVE = ForLoops("of closed robots there are first derivatives; kernel.jacobian of compiled code has this one")
CUT_ALONE = ForLoops("robot.opened has it for the tree, with the loops' forces as external ones")
RIGID_ALONE = ForLoops(  # derivatives of the tree's inverse dynamics, which those of springs would have to be added to
    refused_if_soft="derivatives of inverse dynamics with its forces are those of compiled code:"
    " robot.compile('inverse_dynamics').jacobian('q')"
)


def for_loops(said: ForLoops) -> Callable[[Method], Method]:
    """Mark a method that is not ``@compiled``."""

    def mark(method: Method) -> Method:
        function: Any = method
        function.loops = said
        return method

    return mark


def inherited(cls: Any, own: type) -> dict[str, ForLoops]:
    """What the marked methods say that a class of closed robots has from elsewhere than its ``own`` classes."""
    marked = inspect.getmembers(cls, lambda x: isinstance(getattr(x, "loops", None), ForLoops))
    owners = {name: next(kind for kind in cls.__mro__ if name in vars(kind)) for name, _ in marked}
    return {name: method.loops for name, method in marked if not issubclass(owners[name], own)}


def put_refusals(cls: Any, own: type) -> None:
    """Give a class of closed robots refusals in place of what its inherited methods say they are not."""
    for name, said in inherited(cls, own).items():
        if said.refused:
            setattr(cls, name, _refusing(name, said.refused))
        elif said.refused_if_soft:
            setattr(cls, name, _refusing_soft(getattr(cls, name)))


def refuse_method(robot: Any, name: str, method: str | None) -> None:
    """Refuse the name of a method where closed robots have one way to do it."""
    if method is not None:
        raise NotAdmittedError(
            f"{name} of robot {robot.name!r}, which has loops, has one way to do it; leave method={method!r} out"
        )


def _refusing(name: str, why: str) -> Callable[..., NoReturn]:
    """A method that refuses; compiling it says the same."""

    def refuse(self: Any, *args: Any, **named: Any) -> NoReturn:
        raise NotAdmittedError(f"{name} of robot {self.name!r}, which has {len(self.loops)} loops: {why}")

    refuse.__name__, refuse.__doc__ = name, f"Refused for robots with loops: {why}."
    refuse.__dict__["refuses"] = True
    return refuse


def _refusing_soft(method: Any) -> Any:
    """A method of the catalogue that refuses robots with soft loops, and is as it was for others."""
    plain: Callable[..., Any] = method.plain

    @functools.wraps(plain)
    def call(self: Any, *args: Any, **named: Any) -> Any:
        if self.soft_loops:
            raise NotAdmittedError(
                f"{plain.__name__} of robot {self.name!r}: loop {self.soft_loops[0].name!r} is soft, and"
                f" {method.loops.refused_if_soft}"
            )
        return plain(self, *args, **named)

    return method.again(call)
