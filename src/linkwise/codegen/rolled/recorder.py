"""Sweeps recorded instead of run: their steps traced once per class of bodies, what a body hands on found out.

:class:`SweepRecorder` answers the questions of a :class:`linkwise.sweeps.Tree` that are sweeps, and refuses those about
single bodies, which here stand for many; :mod:`.walk_recorder` has the walks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from ...errors import UnrollableError
from ...sweeps import Step, Tree
from ...symbols.derivative import moved
from ...symbols.outputs import reachable
from ...symbols.results import flatten, rebuild
from ...symbols.scalar import Graph, Scalar

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

    def _carry(self, index: int, slot: int, phase: int) -> Scalar:
        node = self.graph.node("input", f"carry:{index}", slot)
        self.phase_of[id(node)] = phase
        return node

    def outward(self, step: Step, start: Any, *data: Sequence[Any]) -> list[Any]:
        """A parent's value is a carry wherever it is not one constant on the whole robot."""
        leaves, structure = flatten(start)
        kept = [i for i, x in enumerate(leaves) if x is not None]
        world = Pattern.of([leaves[i] for i in kept])

        def trial(pattern: Pattern, index: int, phase: int) -> tuple[Any, list[Pattern]]:
            arrays = pattern.arrays(lambda slot: self._carry(index, slot, phase))
            full: list[Any] = [None] * len(leaves)
            for i, x in zip(kept, arrays):
                full[i] = x
            parent = rebuild(structure, iter(full))
            values = [step(parent, *items) for items in zip(*data)]
            found = [flatten(v)[0] for v in values]
            return (parent, values), [Pattern.of([f[i] for i in kept]) for f in found]

        (parent, values), _ = self._settle(True, world, trial)
        out = list(values)
        self._held[id(out)] = (out, [parent] * len(out))
        return out

    def inward(self, step: Step, zero: Any, *data: Sequence[Any]) -> list[Any]:
        """A sum over children is a carry wherever some child adds to it; one that passes the integer 0 adds nothing."""
        first = [step(zero, *items)[0] for items in zip(*data)]
        leaves, structure = flatten(next((x for x in first if not _is_nothing(x)), first[0]))
        nothing = [np.zeros(np.shape(x)) for x in leaves]
        empty = Pattern.of(nothing)

        def trial(pattern: Pattern, index: int, phase: int) -> tuple[Any, list[Pattern]]:
            gathered = rebuild(structure, iter(pattern.arrays(lambda slot: self._carry(index, slot, phase))))
            results = [step(gathered, *items) for items in zip(*data)]
            passed = [nothing if _is_nothing(x) else flatten(x)[0] for x, _ in results]
            return [kept for _, kept in results], [Pattern.of(x) for x in passed]

        kept: list[Any] = self._settle(False, empty, trial)[0]
        return kept

    def at_parents(self, values: Sequence[Any], start: Any) -> list[Any]:
        if id(values) not in self._held:  # handed on by a sweep of its own
            values = self.outward(lambda _, own: own, start, values)
        inboard: list[Any] = self._held[id(values)][1]
        return inboard

    def _settle(self, outward: bool, at_end: Pattern, trial: Callable[..., Any]) -> tuple[Any, Any]:
        """Widen the pattern of the carry until the step keeps within it, then record the sweep."""
        pattern, index = at_end, len(self.sweeps)
        while True:
            result, handed = trial(pattern, index, -1)
            wider = pattern.joined(*handed)
            if wider.slots == pattern.slots:
                break
            pattern = wider
        # The carry's phase is known only now: trace once more under a name of its own.
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
        carries = [self._carry(sweep.index, i, sweep.phase) for i in range(len(sweep.start))]

        def trial(pattern: Pattern, index: int, phase: int) -> tuple[Any, list[Pattern]]:
            [changes] = pattern.arrays(lambda slot: self._carry(index, slot, phase))
            of_carries = {id(x): d for x, d in zip(carries, changes)}
            handed = [moved(slots, {**moving, **of_carries}) for slots in sweep.handed]
            return of_carries, [Pattern.of([np.array(x, dtype=object)]) for x in handed]

        found: dict[int, Any] = self._settle(sweep.outward, Pattern.of([np.zeros(len(carries))]), trial)[0]
        return found

    def _name(self) -> int:
        """A number that no trial uses."""
        return _RECORDED + len(self.sweeps)

    # --- single bodies -----------------------------------------------------------------------------

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
