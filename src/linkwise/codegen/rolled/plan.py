"""Who does what in which loop of a rolled program, and what is saved per body in between."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...symbols.operations import TRUTHS
from ...symbols.outputs import reachable
from ...symbols.scalar import Guard, Scalar
from .. import thresholds
from .products import Products, Terms, held, products, row_length
from .recorder import Sweep
from .vertex_cut import fewest
from .walk_recorder import PAIRS, RecordedMatrix, RecordedTree, Walk


@dataclass(frozen=True)
class Place:
    """Where results are written: "vector" is the body's own part of a vector; of a matrix, "diagonal" is its own block,
    "here" that in its rows and "there" that in its columns, beside the walk's origin."""

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


@dataclass(eq=False)
class PlannedLoop:
    """A loop over the bodies of some classes: what each does to begin, and each class where a walk comes to it."""

    origins: tuple[int, ...]
    walks: list[Walk]
    begin: dict[int, Work]
    steps: list[list[Work]]  # per walk, per class


def plan(
    recorder: RecordedTree, v_slices: Sequence[slice], outputs: list[Any], shapes: Sequence[tuple[int, ...]]
) -> tuple[list[list[Work]], list[PlannedLoop], dict[int, Terms]]:
    """(phases, loops of walks, terms of outputs that are products) of a recorded function; ``shapes`` are those of its
    outputs for the robot itself."""
    classes = len(recorder.roots)
    count = 1 + max((s.phase for s in recorder.sweeps), default=0)
    phases = [
        [Work([(s, s.handed[c]) for s in recorder.sweeps if s.phase == p]) for c in range(classes)]
        for p in range(count)
    ]
    loops = [_loop(loop.origins, loop.walks, classes) for loop in recorder.loops.values()]
    start = 0
    terms: dict[int, Terms] = {}
    for i, (out, shape) in enumerate(zip(outputs, shapes)):
        large = isinstance(out, RecordedMatrix) and shape[0] >= thresholds.PRODUCTS_FROM
        sums = products(recorder, out) if large else None
        if sums is not None:
            _place_numbers(recorder, phases, sums, start, shape[0])
            terms[i] = sums.terms
            start += held(shape[0], sums.terms)
            continue
        if isinstance(out, RecordedMatrix):
            _place_matrix(recorder, phases, loops, out, start, shape[1])
        else:
            for c, where in enumerate(v_slices):
                for j, x in enumerate(out[where]):
                    phases[max(recorder.phase(x), 0)][c].outputs.append((Place("vector"), start + j, x))
        start += math.prod(shape)
    loops = [loop for loop in map(_without_idle_walks, loops) if loop.walks]
    for c in range(classes):
        walked = [w for loop in loops for works in loop.steps for w in works[c : c + 1]]
        walked += [loop.begin[c] for loop in loops if c in loop.begin]
        _save_between([works[c] for works in phases], walked, recorder)
    for works in phases:
        for work in works:
            reached = {id(x) for x in reachable(work.sinks, stop=work.loads)} - set(work.loads)
            found = [g for g in recorder.graph.guards if any(id(x) in reached for x in g.on)]
            work.guards = list({g.key: g for g in found}.values())
    return phases, loops, terms


# --- walks -------------------------------------------------------------------------------------------


def _loop(origins: tuple[int, ...], walks: list[Walk], classes: int) -> PlannedLoop:
    begin = {c: Work(carries={w.index: w.start[c] for w in walks}) for c in origins}
    steps = [[Work(carries={w.index: w.handed[c]}) for c in range(classes)] for w in walks]
    for walk in walks:
        if walk.forked_from is not None:
            for c, slots in enumerate(walk.at_forks):
                steps[walks.index(walk.forked_from)][c].forks[walk.index] = slots
    return PlannedLoop(origins, list(walks), begin, steps)


def _place_numbers(recorder: RecordedTree, phases: list[list[Work]], found: Products, start: int, nv: int) -> None:
    """What entries of a matrix are products of, one vector after the other."""
    for c in range(len(recorder.roots)):
        for i, x in enumerate(found.numbers[c]):
            phases[max(recorder.phase(x), 0)][c].outputs.append((Place("vector"), start + i * row_length(nv), x))


def _place_matrix(
    recorder: RecordedTree,
    phases: list[list[Work]],
    loops: list[PlannedLoop],
    matrix: RecordedMatrix,
    start: int,
    columns: int,
) -> None:
    """Each block of a matrix to the work that computes it."""
    diagonal, here, there = (Place(where, columns, matrix.width) for where in ("diagonal", "here", "there"))
    for c, block in enumerate(matrix.diagonal):
        for (i, j), x in _entries(block):
            phases[max(recorder.phase(x), 0)][c].outputs.append((diagonal, start + i * columns + j, x))
    placed = [(pairs, False) for pairs in matrix.kept]
    if matrix.flipped is not None:
        placed.append((matrix.flipped, True))
    for pairs, flipped in placed:
        for walk, works in _works(loops, list(pairs.walks.values())):
            origin = next(c for c, w in pairs.walks.items() if w is walk)
            # X(j,k) of an inward walk from k, and X(i,j) of an outward walk from i, stand in the rows of the first
            in_own_rows = walk.outward == flipped
            for c, work in enumerate(works):
                block = pairs[(origin, c) if walk.outward else (c, origin)]
                for (i, j), x in _entries(block):
                    work.outputs.append((here if in_own_rows else there, start + i * columns + j, x))
                    if matrix.flipped is None:
                        work.outputs.append((there if in_own_rows else here, start + j * columns + i, x))


def _entries(block: Any) -> list[tuple[tuple[int, int], Any]]:
    return [] if block is None else [((i, j), x) for (i, j), x in np.ndenumerate(np.asarray(block, dtype=object))]


def _works(loops: list[PlannedLoop], walks: list[Walk]) -> list[tuple[Walk, list[Work]]]:
    return [(w, steps) for loop in loops for w, steps in zip(loop.walks, loop.steps) if w in walks]


def _without_idle_walks(loop: PlannedLoop) -> PlannedLoop:
    """Without walks of which nothing comes (those that look for forks on a chain)."""
    busy = [i for i, works in enumerate(loop.steps) if any(w.outputs for w in works) or any(w.forks for w in works)]
    for work in loop.begin.values():
        work.carries = {loop.walks[i].index: work.carries[loop.walks[i].index] for i in busy}
    return PlannedLoop(loop.origins, [loop.walks[i] for i in busy], loop.begin, [loop.steps[i] for i in busy])


# --- saved values ------------------------------------------------------------------------------------


def _save_between(works: list[Work], walked: list[Work], recorder: RecordedTree) -> None:
    """From the walks and the last phase back: what each needs of earlier ones, saved where it is first known."""
    first_sine: dict[int, int] = {}
    for p, work in enumerate(works):
        for x in reachable(work.sinks):
            if x.op in ("sin", "cos", "inv", "sqrt"):
                first_sine.setdefault(id(x), p)
    known: dict[int, int] = {}

    def phase(x: Scalar) -> int:
        """The first phase in which x can be had: its carries', or that in which its sines are computed anyway."""
        if id(x) in known:
            return known[id(x)]
        for node in reachable([x], stop=known):
            if id(node) not in known:
                own = recorder.phase(node) if node.op == "input" else first_sine.get(id(node), -1)
                known[id(node)] = max([own, *(known[id(a)] for a in node.args if isinstance(a, Scalar))])
        return known[id(x)]

    places: dict[int, int] = {}
    for work in walked:
        for x in _of_one_body(work.sinks, phase):
            place = work.loads[id(x)] = places.setdefault(id(x), len(places))
            works[max(phase(x), 0)].saves[place] = x
    for p in range(len(works) - 1, 0, -1):
        sinks = [x for x in works[p].sinks if isinstance(x, Scalar)]
        for x in fewest(sinks, _within(phase, p, _costly), _within(phase, p, _is_number)):
            place = places.setdefault(id(x), len(places))
            works[p].loads[id(x)] = place
            works[phase(x)].saves[place] = x


def _of_one_body(sinks: Sequence[Any], phase: Callable[[Scalar], int]) -> list[Scalar]:
    """The largest parts of what a walk computes that do not depend on what it carries, and are no numbers in tables."""
    found: list[Scalar] = []
    seen: set[int] = set()
    stack = [x for x in sinks if isinstance(x, Scalar)]
    while stack:
        x = stack.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        if phase(x) >= PAIRS or x.op in TRUTHS:
            stack.extend(a for a in x.args if isinstance(a, Scalar))
        elif not (x.op == "input" and not str(x.args[0]).startswith("carry:")):
            found.append(x)
    return found


def _within(phase: Callable[[Scalar], int], p: int, that: Callable[[Scalar], bool]) -> Callable[[Scalar], bool]:
    """What is so, and known before phase p; of what is costly, no constant."""
    least = 0 if that is _costly else -1
    return lambda x: that(x) and least <= phase(x) < p


def _is_number(x: Scalar) -> bool:
    """Whether it can be saved as one."""
    return x.op not in TRUTHS


def _costly(x: Scalar) -> bool:
    """What cannot be had again (a carry), or is better not computed twice."""
    return x.op in ("sin", "cos", "inv", "sqrt") or (x.op == "input" and str(x.args[0]).startswith("carry:"))
