"""What a class of bodies does in one loop of a rolled program, and where its results go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...symbols.scalar import Guard, Scalar

if TYPE_CHECKING:
    from .recorder import Sweep


@dataclass(frozen=True)
class Place:
    """Where results are written: "vector" is the body's own part of a vector; of a matrix, "diagonal" is its own block,
    "here" that in its rows and "there" that in its columns, beside the walk's origin. "factor" is what a body has for
    matrices that are products; "unit" that of a unit vector on its walk (:mod:`.blocks`), and "own_diagonal",
    "own_here" and "own_there" are of the entries of bodies that share a block."""

    where: str
    columns: int = 0  # of the matrix
    width: int = 0  # columns of each body; 0 are as many as it has rows

    @property
    def name(self) -> str:
        return f"{self.where}{self.columns}_{self.width}" if self.columns else self.where


@dataclass(eq=False)
class Work:
    """What a class does in one phase, at the start of walks, or when a walk comes to it."""

    hands: list[tuple[Sweep, list[Any]]] = field(default_factory=list)  # into the carries of the sweeps of this phase
    carries: dict[int, list[Any]] = field(default_factory=dict)  # walk → what it takes on from here
    forks: dict[int, list[Any]] = field(default_factory=dict)  # outward walk → what it has at this body inboard
    # (where it is written, numbers from there, value)
    outputs: list[tuple[Place, int, Any]] = field(default_factory=list)
    saves: dict[int, Scalar] = field(default_factory=dict)  # place in the body's memory → value
    loads: dict[int, int] = field(default_factory=dict)  # id of a node → its place in the body's memory
    guards: list[Guard] = field(default_factory=list)

    @property
    def sinks(self) -> list[Any]:
        """Everything that is computed."""
        handed = [x for _, slots in self.hands for x in slots]
        walked = [x for slots in (*self.carries.values(), *self.forks.values()) for x in slots]
        guarded = [x for g in self.guards for x in g.nodes]
        return [*handed, *walked, *(x for *_, x in self.outputs), *self.saves.values(), *guarded]
