"""Whether each class of a rolled program computes from its own bodies alone, as loops over bodies must.

Classes meet in what sweeps and walks carry, and nowhere else. An algorithm that looks at all bodies at once (a sum over
them, a column of the identity) would see one body per class. It is refused here, by what its values are made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import UnrollableError
from ...symbols.outputs import reachable
from ...symbols.scalar import Scalar

if TYPE_CHECKING:
    from .program import RolledProgram

CARRIED = ("carry:", "pair:")


def refuse_mixing(name: str, program: RolledProgram, own_inputs: Sequence[dict[str, range]]) -> None:
    """An error where a class reads the inputs of another; ``own_inputs`` are those of each, by array."""
    for c, own in enumerate(own_inputs):
        works = [works[c] for works in program.phases]
        works += [steps[c] for loop in program.loops for steps in loop.steps]
        works += [loop.begin[c] for loop in program.loops if c in loop.begin]
        works += [work for x in program.factors.walks for work in (x.steps[c], x.units[c])]
        for x in reachable([x for work in works for x in work.sinks]):
            if x.op == "input" and not _may_be_read(x, c, own):
                raise UnrollableError(
                    f"{name} cannot be rolled: it reads bodies of several kinds at once, outside of sweeps and walks"
                )


def _may_be_read(x: Scalar, c: int, own: dict[str, range]) -> bool:
    array, index = str(x.args[0]), x.args[1]
    if array.startswith("table:"):
        return array == f"table:{c}"
    return array.startswith(CARRIED) or index in own[array]
