"""Walks from each body recorded: one loop over the bodies that start, with loops inside it over those they reach.

What a walk carries is a symbol ``pair:INDEX`` per slot. Bodies whose walks carry arrays of the same shapes (joints with
the same number of degrees of freedom) share a loop, which then does all of their walks one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from ...arrays import Array
from ...errors import UnrollableError
from ...sweeps import Pairs, Step
from ...symbols.outputs import reachable
from ...symbols.results import flatten, rebuild
from ...symbols.scalar import Graph, Scalar
from .recorder import Pattern, SweepRecorder

PAIRS = 1_000_000  # the phase of what depends on two bodies: after all sweeps


@dataclass(eq=False)
class Walk:
    """One walk from each body of some classes: inward to the base, or outward to all that are not inboard."""

    index: int
    outward: bool
    start: dict[int, list[Any]]  # per class that starts, what each slot is first
    handed: list[list[Any]]  # per class that is reached, what each slot becomes
    at_forks: list[list[Any]] = field(default_factory=list)  # outward: per class, the slots at bodies inboard
    forked_from: Walk | None = None  # the inward walk whose slots these are made of


@dataclass(eq=False)
class PairLoop:
    """A loop over the bodies of some classes, and the walks that each of them does."""

    origins: tuple[int, ...]
    walks: list[Walk] = field(default_factory=list)


class RecordedPairs(Pairs):
    """What walks have kept for pairs of classes, and which walk it was, by the class it starts from."""

    def __init__(self, kept: Any = (), walks: dict[int, Walk] | None = None) -> None:
        super().__init__(kept)
        self.walks = {} if walks is None else walks

    def mapped(self, function: Callable[[Any], Any]) -> RecordedPairs:
        return RecordedPairs(super().mapped(function), self.walks)


def _refused(*_: Any, **__: Any) -> NoReturn:
    raise UnrollableError("a matrix from walks can be a result of rolled code; nothing can be computed from it there")


class RecordedMatrix:
    """A joint-space matrix of blocks: by class on the diagonal, by walk and class beside it. (Of a result it is a leaf,
    as an array is.) It can be negated and returned; what else arrays can do is refused. ``width`` is how many columns
    each body has; 0 are as many as it has rows. One that ``is_part`` has rows and columns of some joints."""

    __array_ufunc__ = None
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = __getitem__ = _refused
    dtype = mT = property(_refused)

    def __init__(
        self,
        diagonal: list[Any],
        kept: list[RecordedPairs],
        flipped: RecordedPairs | None,
        shape: tuple[int, int],
        width: int = 0,
        is_part: bool = False,
    ) -> None:
        self.is_part = is_part
        self.diagonal, self.kept, self.flipped, self.shape, self.width = diagonal, kept, flipped, shape, width

    @property
    def is_one_sided(self) -> bool:
        """Whether blocks of bodies inboard of each other are left out, which are zero."""
        return self.flipped is not None and not (self.flipped and any(self.kept))

    def part(self, rows: Sequence[int], columns: Sequence[int]) -> RecordedMatrix:
        """The rows and columns of some joints, of a matrix that has no other blocks."""
        return RecordedMatrix(self.diagonal, self.kept, self.flipped, (len(rows), len(columns)), is_part=True)

    def __neg__(self) -> RecordedMatrix:
        flipped = None if self.flipped is None else self.flipped.mapped(_negative)
        diagonal, kept = [_negative(x) for x in self.diagonal], [pairs.mapped(_negative) for pairs in self.kept]
        return RecordedMatrix(diagonal, kept, flipped, self.shape, self.width, self.is_part)


def _negative(x: Any) -> Any:
    return None if x is None else -x


class RecordedTree(SweepRecorder):
    """The tree of classes of bodies that an algorithm is rolled with: sweeps, walks, and the matrices they make.

    ``roots`` says of each class whether all its bodies hang on the world, ``sizes`` has its degrees of freedom;
    ``branching`` is whether some body of the robot, or the world, has two children.
    """

    def __init__(self, graph: Graph, roots: Sequence[bool], sizes: Sequence[int], branching: bool) -> None:
        super().__init__(graph, roots)
        self.sizes, self.branching = sizes, branching
        self.loops: dict[tuple[int, ...], PairLoop] = {}  # by the classes that start

    def inward_from_each(self, step: Step, starts: Sequence[Any], *data: Sequence[Any]) -> Pairs:
        return self._walks(self._run(step, data, outward=False), starts, None, outward=False)

    def outward_from_each(
        self, step: Step, starts: Sequence[Any], at_fork: Callable[[int, int], Any], *data: Sequence[Any]
    ) -> Pairs:
        run = self._run(step, data, outward=True)
        return self._walks(run, starts, at_fork if self.branching else None, outward=True)

    def _run(self, step: Step, data: Sequence[Any], outward: bool) -> Callable[[Any], list[Any]]:
        """A step of every class, with what has come to it, by ports."""
        return lambda versions: [step(versions[0], *items) for items in zip(*data)]

    def _carried(self, c: int, x: Any, outward: bool) -> list[Any]:
        """The arrays that a walk takes on from a class."""
        return flatten(x)[0]

    def _kind_of_start(self, c: int, x: Any, outward: bool) -> Any:
        """Walks of classes for which this is the same share a loop."""
        return self.sizes[c]

    def matrix(
        self,
        sizes: Sequence[int],
        diagonal: Sequence[Any],
        kept: Sequence[Any],
        flipped: Any,
        like: Array,
        widths: Sequence[int] | None = None,
    ) -> Any:
        rows, width = sum(sizes), 0 if widths is None else self._columns_of_a_body(widths)
        flipped = RecordedPairs() if flipped == {} else flipped
        return RecordedMatrix(list(diagonal), list(kept), flipped, (rows, width * len(sizes) or rows), width)

    def _columns_of_a_body(self, widths: Sequence[int]) -> int:
        """How many columns each body has, of a matrix in which each class has so many."""
        return widths[0]

    def _walks(
        self, run: Callable[[Any], list[Any]], starts: Sequence[Any], at_fork: Any, outward: bool
    ) -> RecordedPairs:
        """The walks of all classes that start, by the shapes of what they carry; kept for (class, class)."""
        groups: dict[Any, list[int]] = {}
        for c, x in enumerate(starts):
            if x is not None:
                groups.setdefault(self._kind_of_start(c, x, outward), []).append(c)
        kept = RecordedPairs()
        for origins in groups.values():
            forks = None if at_fork is None else [at_fork(a, origins[0]) for a in range(len(starts))]
            walk, found = self._walk(run, {c: starts[c] for c in origins}, forks, outward)
            self.loops.setdefault(tuple(origins), PairLoop(tuple(origins))).walks.append(walk)
            for origin in origins:
                kept.walks[origin] = walk
                for c, x in enumerate(found):
                    kept[(origin, c) if outward else (c, origin)] = x
        return kept

    def _walk(
        self, run: Callable[[Any], list[Any]], starts: dict[int, Any], forks: list[Any] | None, outward: bool
    ) -> tuple[Walk, list[Any]]:
        """Widen the pattern of what is carried until every step keeps within it."""
        index = sum(len(loop.walks) for loop in self.loops.values())
        structure = flatten(next(iter(starts.values())))[1]
        first = {c: Pattern.of(self._carried(c, x, outward)) for c, x in starts.items()}
        at_forks = [Pattern.of(self._carried(c, x, outward)) for c, x in enumerate(forks or [])]
        pattern, *others = [*first.values(), *at_forks]
        pattern = pattern.joined(*others)
        if outward and self.branching:  # the trees beside are reached through the world, with nothing
            pattern = pattern.joined(Pattern.of([np.zeros(shape) for shape in pattern.shapes]))
        while True:
            arrays = pattern.arrays(lambda slot: self._pair(index, slot))
            results = run([rebuild(structure, arrays) for _ in range(self.ports)])
            handed = [Pattern.of(self._carried(c, passed, outward)) for c, (passed, _) in enumerate(results)]
            wider = pattern.joined(*handed)
            if wider.slots == pattern.slots:
                break
            pattern = wider
        walk = Walk(
            index,
            outward,
            {c: pattern.read(p) for c, p in first.items()},
            [pattern.read(p) for p in handed],
            [pattern.read(p) for p in at_forks],
        )
        if at_forks:
            walk.forked_from = self._source(walk)
        return walk, [x for _, x in results]

    def _pair(self, index: int, slot: int) -> Scalar:
        node = self.graph.node("input", f"pair:{index}", slot)
        self.phase_of[id(node)] = PAIRS
        return node

    def _source(self, walk: Walk) -> Walk:
        """The inward walk on whose slots the values at forks depend."""
        nodes = reachable([x for values in walk.at_forks for x in values])
        found = {x.args[0] for x in nodes if x.op == "input" and str(x.args[0]).startswith("pair:")}
        walks = {f"pair:{w.index}": w for loop in self.loops.values() for w in loop.walks}
        if len(found) != 1:
            raise UnrollableError("in rolled code the values at forks must come from one walk inward")
        return walks[found.pop()]
