"""Sweeps recorded instead of run: their steps traced once per class of bodies, what a body hands on found out.

:class:`SweepRecorder` answers the questions of a :class:`linkwise.sweeps.Tree` that are sweeps, and refuses those about
single bodies, which here stand for many; :mod:`.walk_recorder` has the walks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import numpy as np

from ...errors import UnrollableError
from ...sweeps import BodyTree, Nodes, Step, Tree
from ...symbols.derivative import moved
from ...symbols.outputs import reachable
from ...symbols.results import flatten, rebuild
from ...symbols.scalar import Graph, Scalar

Versions = Callable[[int], list[Any]]  # what is carried to a class, for each port
_RECORDED = 10_000  # carries of recorded sweeps are numbered from here; those of trials from 0


@dataclass(eq=False)
class Sweep:
    """One recorded sweep: what a body hands on, per class, and where it lies among the slots of the carry."""

    index: int
    outward: bool
    phase: int
    start: list[float]  # the slots' values at the world (outward) or of an empty sum (inward)
    handed: list[list[Any]]  # per class, what each slot becomes


class SweepRecorder(Tree):
    """The tree of the classes' representatives: sweeps are recorded, their steps traced once per class."""

    def __init__(self, graph: Graph, roots: Sequence[bool]) -> None:
        self.graph = graph
        self.graph.changes_of_carries = self._change
        self.roots = roots  # of each class, whether all its bodies hang on the world
        self.sweeps: list[Sweep] = []
        self.phase_of: dict[int, int] = {}  # id of a node → the first phase in which it is known
        self._held: dict[int, Any] = {}  # id of what an outward sweep gave → that, and the same at the parents

    def __len__(self) -> int:
        return len(self.roots)

    def on_world(self, k: int) -> bool:
        return self.roots[k]

    def phase(self, x: Any) -> int:
        """The first phase in which a value is known; −1 where it depends on inputs alone."""
        if not isinstance(x, Scalar):
            return -1
        if id(x) not in self.phase_of:
            for node in reachable([x], stop=self.phase_of):
                if id(node) not in self.phase_of:
                    known = [self.phase_of[id(a)] for a in node.args if isinstance(a, Scalar)]
                    self.phase_of[id(node)] = max(known, default=-1)
        return self.phase_of[id(x)]

    def _carry(self, index: int, slot: int, phase: int, c: int) -> Scalar:
        """What is carried in a slot, as class c knows it."""
        node = self.graph.node("input", self._carry_name(index, c), slot)
        self.phase_of[id(node)] = phase
        return node

    def _carry_of(self, index: int, phase: int, c: int, slot: int) -> Scalar:
        return self._carry(index, slot, phase, c)

    def _carry_name(self, index: int, c: int) -> str:
        return f"carry:{index}"

    def outward(self, step: Step, start: Any, *data: Sequence[Any]) -> list[Any]:
        """A parent's value is a carry wherever it is not one constant on the whole robot."""
        leaves, structure = flatten(start)
        kept = [i for i, x in enumerate(leaves) if x is not None]
        world = [leaves[i] for i in kept]

        def trial(pattern: Pattern, index: int, phase: int) -> tuple[Any, list[Pattern]]:
            def versions(c: int) -> list[Any]:
                arrays = pattern.arrays(lambda slot: self._carry(index, slot, phase, c))
                full = [[None if x is None else next(arrays) for x in leaves] for _ in range(self.ports)]
                return [rebuild(structure, iter(x)) for x in full]

            inboard, values = self._swept_outward(step, versions, data)
            return (inboard, values), [Pattern.of(x) for x in self._handed_out(values, kept, world)]

        (inboard, values), _ = self._settle(True, Pattern.of(world * self.ports), trial)
        out = list(values)
        self._held[id(out)] = (out, inboard)
        return out

    def inward(self, step: Step, zero: Any, *data: Sequence[Any]) -> list[Any]:
        """A sum over children is a carry wherever some child adds to it; one that passes the integer 0 adds nothing."""
        guards = len(self.graph.guards)
        first = self._passed_by_tips(step, zero, data)
        self._tried(guards)
        leaves, structure = flatten(next((x for x in first if not _is_nothing(x)), first[0]))
        nothing = [np.zeros(np.shape(x)) for x in leaves]

        def trial(pattern: Pattern, index: int, phase: int) -> tuple[Any, list[Pattern]]:
            def versions(c: int) -> list[Any]:
                arrays = pattern.arrays(lambda slot: self._carry(index, slot, phase, c))
                return [rebuild(structure, arrays) for _ in range(self.ports)]

            kept, passed = self._swept_inward(step, versions, zero, data)
            each = [nothing * self.ports if x is None else x for x in map(self._handed_in, range(len(passed)), passed)]
            return kept, [Pattern.of(x) for x in each]

        empty = Pattern.of(nothing * self.ports)
        kept: list[Any] = self._settle(False, empty, trial, self._at_tips(empty, first))[0]
        return kept

    # What nodes of several bodies do otherwise (:mod:`.recorded_nodes`): a body has one port, itself.

    @property
    def ports(self) -> int:
        """How many ports a class may have, each with values of its own in what is carried."""
        return 1

    @property
    def each_has_carries(self) -> bool:
        """Whether what is carried has a symbol for each class, so that no two have a value in common."""
        return False

    def _swept_outward(self, step: Step, versions: Versions, data: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """(what every entry finds at its parent, its value), from what is carried for each port."""
        [parent] = versions(0)
        return [parent] * len(self), [step(parent, *items) for items in zip(*data)]

    def _handed_out(self, values: list[Any], kept: list[int], world: list[Any]) -> list[list[Any]]:
        """The arrays that every class hands on, of what its entries have: those that are ``kept``, as the world's."""
        return [[found[i] for i in kept] for found in (flatten(v)[0] for v in values)]

    def _passed_by_tips(self, step: Step, zero: Any, data: Sequence[Any]) -> list[Any]:
        """What entries pass on where nothing has been passed to them."""
        return [step(zero, *items)[0] for items in zip(*data)]

    def _at_tips(self, empty: Pattern, first: list[Any]) -> Pattern:
        """What is carried at least, from the empty sum and what entries pass on without."""
        return empty

    def _tried(self, guards: int) -> None:
        """A step was tried with less than is carried in the end; there were so many guards before."""

    def _swept_inward(
        self, step: Step, versions: Versions, zero: Any, data: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """(what every entry keeps, what every class passes on), from the sums that are carried for each port."""
        [gathered] = versions(0)
        results = [step(gathered, *items) for items in zip(*data)]
        return [kept for _, kept in results], [passed for passed, _ in results]

    def _handed_in(self, c: int, passed: Any) -> list[Any] | None:
        """The arrays of what a class passes on, for every port of its parent; None for nothing."""
        return None if _is_nothing(passed) else flatten(passed)[0]

    def at_parents(self, values: Sequence[Any], start: Any) -> list[Any]:
        if id(values) not in self._held:  # handed on by a sweep of its own
            values = self.outward(lambda _, own: own, start, values)
        inboard: list[Any] = self._held[id(values)][1]
        return inboard

    def _settle(
        self, outward: bool, at_end: Pattern, trial: Callable[..., Any], least: Pattern | None = None
    ) -> tuple[Any, Any]:
        """Widen the pattern of the carry until the step keeps within it, then record the sweep."""
        pattern, index = least or at_end, len(self.sweeps)
        guards = len(self.graph.guards)
        while True:
            result, handed = trial(pattern, index, -1)
            wider = pattern.joined(*handed)
            if wider.slots == pattern.slots:
                break
            pattern = wider
        # The carry's phase is known only now: trace once more under a name of its own.
        self._tried(guards)
        phase = max(0, *(self.phase(x) for p in handed for x in p.entries))
        phase += phase % 2 if outward else 1 - phase % 2
        index = self._name()
        result, handed = trial(pattern, index, phase)
        values = [pattern.read(other) for other in handed]
        self.sweeps.append(Sweep(index, outward, phase, pattern.read(at_end), values))
        return result, handed

    def _change(self, moving: dict[int, Any]) -> None:
        """Beside every sweep one of how it changes, as a derivative along a direction wants it: ``moving`` has the
        changes of inputs, by id, and gets those of what all sweeps carry."""
        for sweep in list(self.sweeps):
            moving |= self._changed(sweep, moving)

    def _changed(self, sweep: Sweep, moving: Mapping[int, Any]) -> dict[int, Any]:
        """A sweep of the changes of what another carries: those changes by the ids of what it carries."""
        classes = range(len(self.roots)) if self.each_has_carries else range(1)

        def trial(pattern: Pattern, index: int, phase: int) -> tuple[Any, list[Pattern]]:
            of_carries: dict[int, Any] = {}
            for c in classes:
                carries = [self._carry(sweep.index, i, sweep.phase, c) for i in range(len(sweep.start))]
                [changes] = pattern.arrays(partial(self._carry_of, index, phase, c))
                of_carries |= {id(x): d for x, d in zip(carries, changes)}
            handed = [moved(slots, {**moving, **of_carries}) for slots in sweep.handed]
            return of_carries, [Pattern.of([np.array(x, dtype=object)]) for x in handed]

        found: dict[int, Any] = self._settle(sweep.outward, Pattern.of([np.zeros(len(sweep.start))]), trial)[0]
        return found

    def _name(self) -> int:
        """A number that no trial uses."""
        return _RECORDED + len(self.sweeps)

    # --- single bodies -----------------------------------------------------------------------------

    def within(self, held: Sequence[int]) -> BodyTree:
        _refuse("bodies that move as one node")

    def of_nodes(self, members: Sequence[tuple[int, ...]], grouped: Sequence[bool]) -> Nodes:
        _refuse("bodies that move as one node")

    @property
    def has_single_bodies(self) -> bool:
        return False

    @property
    def parents(self) -> tuple[int, ...]:
        _refuse("the parents of all bodies")

    def parent(self, k: int) -> int:
        _refuse("the parent of one body")

    def children(self, k: int) -> tuple[int, ...]:
        _refuse("the children of one body")

    def inboard(self, k: int) -> list[int]:
        _refuse("the path of one body")

    def outboard(self, k: int) -> list[int]:
        _refuse("what one body carries")

    @property
    def is_chain(self) -> bool:
        _refuse("whether the tree is a chain")


def _is_nothing(x: Any) -> bool:
    """Whether it is the integer 0, the sum of nothing."""
    return isinstance(x, int) and x == 0


def _refuse(what: str) -> NoReturn:
    raise UnrollableError(
        f"the algorithm asks for {what}, which loops over bodies cannot tell: only sweeps and walks can be rolled"
    )


@dataclass(frozen=True, eq=False)
class Pattern:
    """Which entries of some arrays are constants, which are the same value, and which slot each has."""

    shapes: list[tuple[int, ...]]
    entries: list[Any]  # all arrays' entries, one after another
    slots: tuple[tuple[str, Any], ...]  # of each entry: ("constant", its value) or ("slot", its number)

    @staticmethod
    def of(arrays: Sequence[Any]) -> Pattern:
        shapes = [np.shape(x) for x in arrays]
        entries = [v for x in arrays for v in np.asarray(x, dtype=object).ravel()]
        places: dict[int, int] = {}
        slots = tuple(
            ("slot", places.setdefault(id(v), len(places))) if isinstance(v, Scalar) else ("constant", float(v))
            for v in entries
        )
        return Pattern(shapes, entries, slots)

    def joined(self, *others: Pattern) -> Pattern:
        """The pattern that admits all: constants where all have the same, one slot where all have one."""
        slots = self.slots
        for other in others:
            places: dict[Any, int] = {}
            slots = tuple(
                a if a[0] == "constant" and a == b else ("slot", places.setdefault((a, b), len(places)))
                for a, b in zip(slots, other.slots)
            )
        return Pattern(self.shapes, self.entries, slots)

    def arrays(self, symbol: Callable[[int], Scalar]) -> Iterator[np.ndarray]:
        """Arrays with symbols for slots."""
        values = [x if kind == "constant" else symbol(x) for kind, x in self.slots]
        start = 0
        for shape in self.shapes:
            size = int(np.prod(shape))
            out = np.empty(size, dtype=object)
            out[:] = values[start : start + size]
            start += size
            yield out.reshape(shape)

    def read(self, other: Pattern) -> list[Any]:
        """The value of each of this pattern's slots, from another's entries."""
        out: dict[int, Any] = {}
        for (kind, slot), value in zip(self.slots, other.entries):
            if kind == "slot":
                out.setdefault(slot, value)
        return [out[i] for i in range(len(out))]
