"""Rolled programs: the sweeps of an algorithm as loops over bodies, for long chains and big trees.

Bodies of one joint kind form a class. An algorithm runs once on a model with one body per class, whose constants
are symbols unless all bodies of the class agree on them; :class:`Recorder` stands in for the parents, so that each
``outward`` or ``inward`` traces its step once per class and becomes a loop. Nothing else of the algorithm changes.

Sweeps in the same direction that do not wait for each other share a *phase*, one loop over the bodies: even phases
go outward, odd ones inward. What a later phase needs of an earlier one is saved per body, and of all ways to split the
graph the one with the fewest saved values is taken (:mod:`.cut`); the rest is computed again.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import InputError
from ..inputs import length
from ..model.joints import Revolute
from ..model.model import BodyConstants, Model
from ..model.normal_form import Hinge, normal_form
from ..spatial import RigidInertia, Transform, Turn
from ..sweeps import Loop
from .cut import fewest
from .program import Signature
from .scalar import Graph, Operations, Scalar, count, reachable
from .structure import LEAF, flatten, rebuild

# Functions that are sweeps from joint-space vectors to joint-space vectors and nothing besides, and by which methods.
# (Others look at all bodies at once, which here are only one per class.)
ROLLABLE: dict[str, tuple[str | None, ...]] = {
    "inverse_dynamics": (None, "newton_euler"),
    "bias_force": (None,),
    "gravity_force": (None,),
    "forward_dynamics": (None, "articulated_body", "fd1", "fd4"),
    "mass_times": (None,),
    "mass_solve": (None,),
    "momentum_force": (None,),
}


def is_rollable(name: str, fixed: Mapping[str, Any]) -> bool:
    """Whether a function with these fixed arguments can be rolled."""
    return name in ROLLABLE and fixed.get("method") in ROLLABLE[name] and not set(fixed) - {"method"}


_RECORDED = 10_000  # carries of recorded sweeps are numbered from here; those of trials from 0


@dataclass(eq=False)
class Sweep:
    """One recorded sweep: what a body hands on, per class, and where it lies among the slots of the carry."""

    index: int
    outward: bool
    phase: int
    start: list[float]  # the slots' values at the world (outward) or of an empty sum (inward)
    handed: list[list[Any]]  # per class, what each slot becomes


@dataclass(eq=False)
class Class:
    """Bodies that share their code: a representative's constants, and the numbers of every member."""

    members: list[int]
    constants: BodyConstants
    table: np.ndarray  # (members, numbers)
    starts: dict[str, int] = field(default_factory=dict)  # where the inputs of the representative begin


@dataclass(eq=False)
class RolledProgram:
    """A function as loops over bodies. ``phases[p][c]`` is what class c does in phase p."""

    signature: Signature
    parents: tuple[int, ...]
    classes: list[Class]
    sweeps: list[Sweep]
    phases: list[list[Work]] = field(default_factory=list)

    @cached_property
    def is_chain(self) -> bool:
        """Whether no body has two children, so that sums over children have one term."""
        held = [p for p in self.parents if p >= 0]
        return len(held) == len(set(held))

    @cached_property
    def operations(self) -> Operations:
        """Operations for one state: those of each class, as often as it has bodies; what is done again included."""
        total = np.zeros(len(Operations.__dataclass_fields__), dtype=int)
        for works in self.phases:
            for kind, work in zip(self.classes, works):
                counts = count(work.sinks, stop=work.loads)
                total += len(kind.members) * np.array([getattr(counts, f) for f in Operations.__dataclass_fields__])
        return Operations(*(int(n) for n in total))


@dataclass(eq=False)
class Work:
    """What a class does in one phase."""

    hands: list[tuple[Sweep, list[Any]]]  # into the carries of the sweeps of this phase
    outputs: list[tuple[int, int, Any]]  # (output, number within the body, value)
    saves: dict[int, Scalar] = field(default_factory=dict)  # place in the body's memory → value
    loads: dict[int, int] = field(default_factory=dict)  # id of a node → its place in the body's memory
    guards: list[Scalar] = field(default_factory=list)

    @property
    def sinks(self) -> list[Any]:
        """Everything that is computed."""
        handed = [x for _, slots in self.hands for x in slots]
        return [*handed, *(x for _, _, x in self.outputs), *self.saves.values(), *self.guards]


# --- recording ---------------------------------------------------------------------------------------


class Recorder(Loop):
    """The parents of the classes' representatives: sweeps are recorded, their steps traced once per class."""

    graph: Graph
    sweeps: list[Sweep]
    phase_of: dict[int, int]

    @classmethod
    def of(cls, graph: Graph, classes: int) -> Recorder:
        out = cls([-2] * classes)
        out.graph, out.sweeps, out.phase_of, out._held = graph, [], {}, {}
        return out

    _held: dict[int, Any]

    def phase(self, x: Any) -> int:
        """The first phase in which a value is known; −1 where it depends on inputs alone."""
        for node in reachable([x]):
            if id(node) not in self.phase_of:
                known = [self.phase_of[id(a)] for a in node.args if isinstance(a, Scalar)]
                self.phase_of[id(node)] = max(known, default=-1)
        return self.phase_of[id(x)] if isinstance(x, Scalar) else -1

    def _carry(self, index: int, slot: int, phase: int) -> Scalar:
        node = self.graph.node("input", f"carry:{index}", slot)
        self.phase_of[id(node)] = phase
        return node

    def outward(self, step: Callable[..., Any], start: Any, *data: Sequence[Any]) -> list[Any]:
        """A parent's value is a carry wherever it is not one constant on the whole robot."""
        leaves, structure = flatten(start)
        kept = [i for i, x in enumerate(leaves) if x is not None]
        world = _Pattern.of([leaves[i] for i in kept])

        def trial(pattern: _Pattern, index: int, phase: int) -> tuple[Any, list[_Pattern]]:
            arrays = pattern.arrays(lambda slot: self._carry(index, slot, phase))
            full: list[Any] = [None] * len(leaves)
            for i, x in zip(kept, arrays):
                full[i] = x
            parent = rebuild(structure, iter(full))
            values = [step(parent, *items) for items in zip(*data)]
            found = [flatten(v)[0] for v in values]
            return (parent, values), [_Pattern.of([f[i] for i in kept]) for f in found]

        (parent, values), _ = self._settle(True, world, trial)
        out = list(values)
        self._held[id(out)] = (out, [parent] * len(out))
        return out

    def inward(self, step: Callable[..., Any], zero: Any, *data: Sequence[Any]) -> list[Any]:
        """A sum over children is a carry wherever some child adds to it."""
        first = [step(zero, *items)[0] for items in zip(*data)]
        structure = flatten(first[0])[1]
        shapes = [np.shape(x) for x in flatten(first[0])[0]]
        empty = _Pattern.of([np.zeros(s) for s in shapes])

        def trial(pattern: _Pattern, index: int, phase: int) -> tuple[Any, list[_Pattern]]:
            gathered = rebuild(structure, iter(pattern.arrays(lambda slot: self._carry(index, slot, phase))))
            results = [step(gathered, *items) for items in zip(*data)]
            return [kept for _, kept in results], [_Pattern.of(flatten(passed)[0]) for passed, _ in results]

        kept, _ = self._settle(False, empty, trial)
        return kept

    def carried(self, values: Sequence[Any]) -> list[Any]:
        if id(values) not in self._held:
            raise InputError("only what an outward sweep gave can be read at the parents in rolled code")
        return self._held[id(values)][1]

    def _settle(self, outward: bool, at_end: _Pattern, trial: Callable[..., Any]) -> tuple[Any, Any]:
        """Widen the pattern of the carry until the step keeps within it, then record the sweep."""
        pattern, index = at_end, len(self.sweeps)
        while True:
            result, handed = trial(pattern, index, -1)
            wider = pattern
            for other in handed:
                wider = wider.joined(other)
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

    def _name(self) -> int:
        """A number that no trial uses."""
        return _RECORDED + len(self.sweeps)


@dataclass(frozen=True, eq=False)
class _Pattern:
    """Which entries of some arrays are constants, which are the same value, and which slot each has."""

    shapes: list[tuple[int, ...]]
    entries: list[Any]  # all arrays' entries, one after another
    slots: tuple[tuple[str, Any], ...]  # of each entry: ("constant", its value) or ("slot", its number)

    @staticmethod
    def of(arrays: Sequence[Any]) -> _Pattern:
        shapes = [np.shape(x) for x in arrays]
        entries = [v for x in arrays for v in np.asarray(x, dtype=object).ravel()]
        places: dict[int, int] = {}
        slots = tuple(
            ("slot", places.setdefault(id(v), len(places))) if isinstance(v, Scalar) else ("constant", float(v))
            for v in entries
        )
        return _Pattern(shapes, entries, slots)

    def joined(self, other: _Pattern) -> _Pattern:
        """The pattern that admits both: constants where both have the same, one slot where both have one."""
        places: dict[Any, int] = {}
        slots = tuple(
            a if a[0] == "constant" and a == b else ("slot", places.setdefault((a, b), len(places)))
            for a, b in zip(self.slots, other.slots)
        )
        return _Pattern(self.shapes, self.entries, slots)

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

    def read(self, other: _Pattern) -> list[Any]:
        """The value of each of this pattern's slots, from another's entries."""
        out: dict[int, Any] = {}
        for (kind, slot), value in zip(self.slots, other.entries):
            if kind == "slot":
                out.setdefault(slot, value)
        return [out[i] for i in range(len(out))]


# --- classes of bodies -------------------------------------------------------------------------------


def classes_of(model: Model, graph: Graph) -> list[Class]:
    """Bodies by joint kind. Numbers on which all members agree are constants, the others symbols ``table:c``."""
    forms = [_form(c) for c in model.constants()]
    members: dict[Any, list[int]] = {}
    for k, (key, _, _) in enumerate(forms):
        members.setdefault(key, []).append(k)
    out = []
    for c, bodies in enumerate(members.values()):
        numbers = np.array([forms[k][1] for k in bodies])
        varies = np.flatnonzero((numbers != numbers[0]).any(axis=0))
        values: list[Any] = [float(x) for x in numbers[0]]
        for column, symbol in zip(varies, graph.inputs(f"table:{c}", len(varies))):
            values[column] = symbol
        out.append(Class(bodies, forms[bodies[0]][2](values), numbers[:, varies]))
    return out


def _form(c: BodyConstants) -> tuple[Any, list[float], Callable[[list[Any]], BodyConstants]]:
    """(class key, the body's numbers, how to make constants from such numbers)."""
    if c.spin is not None:
        raise InputError("rolled code does not know gyroscopic rotors; leave rolled out")
    inertia = [float(c.M.m), *c.M.h, *c.M.J[np.tril_indices(3)]]
    rotor = [] if c.reflected is None else [float(c.reflected[0, 0])]
    if c.placement.turns is None:
        place = [*c.placement.R.ravel(), *c.placement.l]
        key: Any = (pickle.dumps(c.kind), len(rotor), "matrix")
    else:
        place = [x for cs in _three_turns(c) for x in cs] + [*c.placement.l]
        if isinstance(c.kind, Revolute):  # the last turn is part of the angle
            angle = np.arctan2(place[5], place[4]) + getattr(c.kind, "offset", 0.0)
            place = [*place[:4], float(angle), *place[6:]]
        key = ("revolute" if isinstance(c.kind, Revolute) else pickle.dumps(c.kind), len(rotor), "turns")

    def make(x: list[Any]) -> BodyConstants:
        kind = c.kind
        if c.placement.turns is None:
            R, rest = np.array(x[:9], dtype=object).reshape(3, 3), x[9:]
            turns: Any = None
        else:
            turns, rest = (Turn(2, x[0], x[1]), Turn(0, x[2], x[3])), x[4:]
            if isinstance(c.kind, Revolute):
                kind, rest = Hinge("z", rest[0]), rest[1:]
            else:
                turns, rest = (*turns, Turn(2, rest[0], rest[1])), rest[2:]
            R = np.eye(3)
            for turn in reversed(turns):
                R = turn @ R
        l, (m, hx, hy, hz, xx, xy, yy, xz, yz, zz, *rotor) = np.array(rest[:3], dtype=object), rest[3:]
        J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=object)
        M = RigidInertia(np.asarray(m, dtype=object), np.array([hx, hy, hz], dtype=object), J)
        reflected = rotor[0] * np.eye(c.kind.nv) if rotor else None
        return BodyConstants(Transform(R, l, turns), kind, M, reflected)

    return key, [*place, *inertia, *rotor], make


def _three_turns(c: BodyConstants) -> list[tuple[float, float]]:
    """(cos, sin) of a placement's turns about z, x, z, those that are not there included."""
    out = [(1.0, 0.0)] * 3
    turns = c.placement.turns or ()
    bend = next((i for i, t in enumerate(turns) if t.axis == 0), None)
    for i, t in enumerate(turns):
        out[1 if i == bend else 0 if bend is not None and i < bend else 2] = (float(t.c), float(t.s))
    return out


# --- the program -------------------------------------------------------------------------------------


def roll(model: Any, function: Callable[..., Any], name: str, arrays: Sequence[str]) -> RolledProgram:
    """Record ``function(model, *arrays)``, whose arguments and results are joint-space vectors."""
    graph = Graph()
    form = normal_form(model)[0]
    classes = classes_of(form, graph)
    recorder = Recorder.of(graph, len(classes))
    stand_in = _stand_in(form, classes, recorder)
    symbols = [graph.inputs(a, length(stand_in, a)) for a in arrays]
    for kind, q, v in zip(classes, stand_in.q_slices, stand_in.v_slices):
        kind.starts = {a: q.start if a == "q" else v.start for a in arrays}
    leaves, structure = flatten(function(stand_in, *symbols))
    outputs = [np.asarray(x) for x in leaves]
    if any(x.shape != (stand_in.nv,) for x in outputs):
        raise InputError(
            f"{name} is not a function from joint-space vectors to joint-space vectors: it cannot be rolled"
        )
    shapes = tuple((model.nv,) for _ in outputs)
    signature = Signature(name, {a: length(model, a) for a in arrays}, shapes, structure is LEAF, structure)
    program = RolledProgram(signature, tuple(model.parents), classes, recorder.sweeps)
    _plan(program, recorder, stand_in, outputs)
    return program


def _stand_in(model: Any, classes: list[Class], recorder: Recorder) -> Any:
    """The model with one body per class."""
    clone = model.with_constants([c.constants for c in classes])
    object.__setattr__(clone, "bodies", tuple(model.bodies[c.members[0]] for c in classes))
    clone.__dict__["parents"] = recorder
    return clone


def _plan(program: RolledProgram, recorder: Recorder, stand_in: Any, outputs: list[np.ndarray]) -> None:
    """Who does what in which phase, and what is saved in between."""
    count = 1 + max((s.phase for s in program.sweeps), default=0)
    program.phases = [
        [Work([(s, s.handed[c]) for s in program.sweeps if s.phase == p], []) for c in range(len(program.classes))]
        for p in range(count)
    ]
    for i, out in enumerate(outputs):
        for c, where in enumerate(stand_in.v_slices):
            for j, x in enumerate(out[where]):
                program.phases[max(recorder.phase(x), 0)][c].outputs.append((i, j, x))
    for c in range(len(program.classes)):
        _save_between([works[c] for works in program.phases], recorder)
    for works in program.phases:
        for work in works:
            reached = {id(x) for x in reachable(work.sinks, stop=work.loads)}
            work.guards = [x for x in dict.fromkeys(recorder.graph.guards) if id(x) in reached]


def _save_between(works: list[Work], recorder: Recorder) -> None:
    """From the last phase back: what each needs of earlier ones, saved where it is first known."""
    first_sine: dict[int, int] = {}
    for p, work in enumerate(works):
        for x in reachable(work.sinks):
            if x.op in ("sin", "cos", "inv", "sqrt"):
                first_sine.setdefault(id(x), p)
    known: dict[int, int] = {}

    def phase(x: Scalar) -> int:
        """The first phase in which x can be had: its carries', or that in which its sines are computed anyway."""
        for node in reachable([x]):
            if id(node) not in known:
                own = recorder.phase(node) if node.op == "input" else first_sine.get(id(node), -1)
                known[id(node)] = max([own, *(known[id(a)] for a in node.args if isinstance(a, Scalar))])
        return known[id(x)]

    places: dict[int, int] = {}
    for p in range(len(works) - 1, 0, -1):
        sinks = [x for x in works[p].sinks if isinstance(x, Scalar)]
        for x in fewest(sinks, lambda x: _costly(x) and 0 <= phase(x) < p, lambda x: phase(x) < p):  # noqa: B023
            place = places.setdefault(id(x), len(places))
            works[p].loads[id(x)] = place
            works[phase(x)].saves[place] = x


def _costly(x: Scalar) -> bool:
    """What cannot be had again (a carry), or is better not computed twice."""
    return x.op in ("sin", "cos", "inv", "sqrt") or (x.op == "input" and str(x.args[0]).startswith("carry:"))
