"""A loop each turn of which asks one program several times, as a step of an integrator asks for accelerations.

    for each turn:
        for each call k:   arguments ← before[k](carried, stepped, constants, h, r0 … r(k−1))
                           rk ← inner(arguments, stepped, constants)
        carried ← end(carried, stepped, constants, h, r0 …)

The inner program is long and the others are short, so that the code of a turn is about as long as that of one call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...properties import cached_property
from ...symbols.outputs import reachable
from ...symbols.scalar import Guard, Scalar
from .trace import Program

LENGTH = "h"  # the name of a turn's length in time among the inputs


def result(k: int) -> str:
    """What the result of call k is called among the inputs of what comes after it."""
    return f"r{k}"


@dataclass(frozen=True, eq=False)
class Turns:
    """The programs of a turn. Each mapping gives names and how many numbers there are of each."""

    inner: Program | None  # None where nothing is called, and ``end`` is all
    before: tuple[Program, ...]
    end: Program  # its outputs take the place of what is carried
    carried: Mapping[str, int]
    arguments: Mapping[str, int]  # inputs of the inner program that ``before`` gives
    stepped: Mapping[str, int]  # inputs that have another value in every turn: "t", the time, and "tau"
    constants: Mapping[str, int]  # inputs that stay as they are

    @cached_property
    def results(self) -> int:
        """How many numbers a call gives."""
        return 0 if self.inner is None else len(self.inner.roots)

    @cached_property
    def slots(self) -> tuple[int, ...]:
        """Where the result of each call is kept: in a place of its own, or in the last one, which all others share
        that nothing asks for after the next call."""
        n = len(self.before)
        parts = [*self.before, self.end]
        later = [any(_asks(p, result(k)) for p in parts[k + 2 :]) for k in range(n)]
        own = iter(range(n))
        found = [next(own) if kept else None for kept in later]
        shared = sum(later)
        return tuple(shared if x is None else x for x in found)

    @property
    def length(self) -> int:
        """How many values all the programs have."""
        return sum(p.length for p in (*self.before, self.end, *(() if self.inner is None else (self.inner,))))


@dataclass(frozen=True, eq=False)
class Part(Program):
    """Some of the outputs of a program, of what is ``known`` where it runs."""

    known: frozenset[str] = frozenset()

    @cached_property
    def guards(self) -> list[Guard]:
        """Those that can be looked at by now; the others are for a later part."""
        return [g for g in super().guards if _names(g.nodes) <= self.known]


def part(program: Program, name: str, roots: Sequence[object], shapes: Sequence[tuple[int, ...]], known: int) -> Part:
    """Some of the outputs of a program, as a program of the inputs that they need; so many results are known."""
    later = {result(k) for k in range(known, len(program.inputs))}
    at_hand = frozenset(program.inputs.keys() - later)
    found = Part(name, program.inputs, tuple(shapes), False, tuple(roots), known=at_hand)
    used = _names([*roots, *(x for g in found.guards for x in g.nodes)])
    return replace(found, inputs={k: n for k, n in program.inputs.items() if k in used})


def _names(nodes: Sequence[object]) -> set[str]:
    """The inputs that values need."""
    return {x.args[0] for x in reachable(nodes) if x.op == "input"}


def _asks(program: Program, name: str) -> bool:
    return any(isinstance(x, Scalar) and x.op == "input" and x.args[0] == name for x in program.nodes)
