"""Whether each class of a rolled program computes from its own bodies alone, as loops over bodies must.

Classes meet in what sweeps and walks carry, and nowhere else. An algorithm that looks at all bodies at once (a sum over
them, a column of the identity) would see one body per class. It is refused here, by what its values are made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import UnrollableError
from ...symbols.outputs import reachable
from ...symbols.scalar import Scalar

if TYPE_CHECKING:
    from .program import RolledProgram
    from .work import Work

CARRIED = ("carry:", "pair:")


def refuse_mixing(name: str, program: RolledProgram, own_inputs: Sequence[dict[str, range]]) -> None:
    """An error where a class reads the inputs of another; ``own_inputs`` are those of each, by array."""
    _part_guards(name, program, own_inputs)
    for c, own in enumerate(own_inputs):
        if not _are_own([x for work in _works(program, c) for x in work.sinks], c, own):
            raise _mixed(name)


def _part_guards(name: str, program: RolledProgram, own_inputs: Sequence[dict[str, range]]) -> None:
    """Each class keeps its own guards: of a pivot that several compute alike, each has one of its own size."""
    found: set[Any] = set()
    kept: set[Any] = set()
    for c, own in enumerate(own_inputs):
        for work in _works(program, c):
            found.update(g.key for g in work.guards)
            work.guards = [g for g in work.guards if _are_own(g.nodes, c, own)]
            kept.update(g.key for g in work.guards)
    if found - kept:
        raise _mixed(name)


def _works(program: RolledProgram, c: int) -> list[Work]:
    works = [works[c] for works in program.phases]
    works += [steps[c] for loop in program.loops for steps in loop.steps]
    works += [loop.begin[c] for loop in program.loops if c in loop.begin]
    return works + [work for x in program.factors.walks for work in (x.steps[c], x.units[c])]


def _are_own(values: Sequence[Any], c: int, own: dict[str, range]) -> bool:
    return all(_may_be_read(x, c, own) for x in reachable(values) if x.op == "input")


def _mixed(name: str) -> UnrollableError:
    return UnrollableError(
        f"{name} cannot be rolled: it reads bodies of several kinds at once, outside of sweeps and walks"
    )


def _may_be_read(x: Scalar, c: int, own: dict[str, range]) -> bool:
    array, index = str(x.args[0]), x.args[1]
    if array.startswith("table:"):
        return array == f"table:{c}"
    return array.startswith(CARRIED) or index in own[array]
