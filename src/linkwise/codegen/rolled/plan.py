"""Who does what in which loop of a rolled program, and what is saved per body in between."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...symbols.operations import TRUTHS
from ...symbols.outputs import reachable
from ...symbols.scalar import Scalar
from .. import thresholds
from .blocks import BlockMatrix, find_blocks
from .factors import Factors, entry_of, find_products
from .vertex_cut import fewest
from .walk_recorder import PAIRS, RecordedMatrix, RecordedTree, Walk
from .work import Place, Work


@dataclass(eq=False)
class PlannedLoop:
    """A loop over the bodies of some classes: what each does to begin, and each class where a walk comes to it."""

    origins: tuple[int, ...]
    walks: list[Walk]
    begin: dict[int, Work]
    steps: list[list[Work]]  # per walk, per class


def plan(
    recorder: RecordedTree,
    v_slices: Sequence[slice],
    outputs: list[Any],
    shapes: Sequence[tuple[int, ...]],
    block: int = 0,
) -> tuple[list[list[Work]], list[PlannedLoop], Factors]:
    """(phases, loops of walks, what bodies have for matrices that are products) of a recorded function; ``shapes`` are
    those of its outputs for the robot itself. Linear walks along chains are cut into blocks of so many bodies, or, with
    0, left whole."""
    classes = len(recorder.roots)
    count = 1 + max((s.phase for s in recorder.sweeps), default=0)
    phases = [
        [Work([(s, s.handed[c]) for s in recorder.sweeps if s.phase == p]) for c in range(classes)]
        for p in range(count)
    ]
    loops = [_loop(loop.origins, loop.walks, classes) for loop in recorder.loops.values()]
    start = 0
    factors = Factors(max((shape[0] for shape in shapes), default=0))
    for i, (out, shape) in enumerate(zip(outputs, shapes)):
        if isinstance(out, RecordedMatrix):
            large = shape[0] >= thresholds.PRODUCTS_FROM and not out.is_part
            if large and (products := find_products(recorder, out, factors)) is not None:
                factors.matrices[i] = products
                continue
            if large and block and (blocks := find_blocks(recorder, out, factors, block)) is not None:
                factors.matrices[i] = blocks
                _place_own_blocks(recorder, phases, factors, blocks, out)
                continue
            _place_matrix(recorder, phases, loops, out, start, shape[1])
        else:
            for row, own in enumerate(out.reshape(math.prod(out.shape[:-1]), out.shape[-1])):
                for c, where in enumerate(v_slices):
                    for j, x in enumerate(own[where], start + row * shape[-1]):
                        phases[max(recorder.phase(x), 0)][c].outputs.append((Place("vector"), j, x))
        start += math.prod(shape)
    _place_factors(recorder, phases, factors)
    loops = [loop for loop in map(_without_idle_walks, loops) if loop.walks]
    for c in range(classes):
        walked = [w for loop in loops for works in loop.steps for w in works[c : c + 1]]
        walked += [loop.begin[c] for loop in loops if c in loop.begin]
        walked += [work for x in factors.walks for work in (x.steps[c], x.units[c])]
        _save_between([works[c] for works in phases], walked, recorder)
    for works in phases:
        for work in works:
            reached = {id(x) for x in reachable(work.sinks, stop=work.loads)} - set(work.loads)
            found = [g for g in recorder.graph.guards if any(id(x) in reached for x in g.on)]
            work.guards = list({g.key: g for g in found}.values())
    return phases, loops, factors


# --- walks -------------------------------------------------------------------------------------------


def _loop(origins: tuple[int, ...], walks: list[Walk], classes: int) -> PlannedLoop:
    begin = {c: Work(carries={w.index: w.start[c] for w in walks}) for c in origins}
    steps = [[Work(carries={w.index: w.handed[c]}) for c in range(classes)] for w in walks]
    for walk in walks:
        if walk.forked_from is not None:
            for c, slots in enumerate(walk.at_forks):
                steps[walks.index(walk.forked_from)][c].forks[walk.index] = slots
    return PlannedLoop(origins, list(walks), begin, steps)


def _place_factors(recorder: RecordedTree, phases: list[list[Work]], factors: Factors) -> None:
    """What entries of matrices are products of."""
    for i, values in enumerate(factors.values):
        for c, x in enumerate(values or []):
            phases[max(recorder.phase(x), 0)][c].outputs.append((Place("factor"), i, x))
    for walk in factors.walks:
        for first, kept in zip(walk.factors, walk.kept):
            for c, work in enumerate(walk.units):
                work.outputs.append((Place("unit"), first, kept[c]))


def _place_own_blocks(
    recorder: RecordedTree, phases: list[list[Work]], factors: Factors, found: BlockMatrix, matrix: RecordedMatrix
) -> None:
    """Entries of bodies that share a block, and the diagonal."""
    at = found.own * factors.block
    for side in (found.above, found.below):
        if side is not None:
            walk = factors.walks[side.walk]
            kept = walk.kept[walk.factors.index(side.factors)]
            place = Place("own_there" if side.in_rows_of_origins else "own_here")
            for c, work in enumerate(walk.steps):
                work.outputs.append((place, at, kept[c]))
    for c, block in enumerate(matrix.diagonal):
        x = entry_of(block)
        phases[max(recorder.phase(x), 0)][c].outputs.append((Place("own_diagonal"), at, x))


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
    seen: set[int] = set()
    for p, work in enumerate(works):
        nodes = reachable(work.sinks, stop=seen)
        seen.update(map(id, nodes))
        for x in nodes:
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
    _share_places(works, walked)


def _share_places(works: list[Work], walked: list[Work]) -> None:
    """A value is saved where one was that no later phase needs. (Bodies read what they need before they save.)"""
    until = {place: p for p, work in enumerate(works) for place in work.loads.values()}
    until |= {place: len(works) for work in walked for place in work.loads.values()}
    moved: dict[int, int] = {}
    for p, work in enumerate(works):
        taken = {place for saved, place in moved.items() if until[saved] > p}
        free = iter([i for i in range(len(taken) + len(work.saves)) if i not in taken])
        moved |= {saved: next(free) for saved in work.saves}
    for work in (*works, *walked):
        work.saves = {moved[place]: x for place, x in work.saves.items()}
        work.loads = {x: moved[place] for x, place in work.loads.items()}


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
