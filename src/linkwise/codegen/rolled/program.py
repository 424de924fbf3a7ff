"""Rolled programs: the sweeps of an algorithm as loops over bodies, for long chains and big trees.

Bodies of one joint kind form a class. An algorithm runs once on a model with one body per class, whose constants
are symbols unless all bodies of the class agree on them; its tree is a :class:`.RecordedTree`, of which each
``outward`` or ``inward`` traces its step once per class and becomes a loop. Nothing else of the algorithm changes.

Sweeps in the same direction that do not wait for each other share a *phase*, one loop over the bodies: even phases
go outward, odd ones inward. What a later phase needs of an earlier one is saved per body, and of all ways to split the
graph the one with the fewest saved values is taken (:mod:`.vertex_cut`); the rest is computed again.

Matrices come from walks that each body does by itself (:mod:`.walk_recorder`), loops within a loop over the bodies
after all phases. Whatever in them depends on one body alone is computed in a phase and saved.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ... import inputs
from ...arrays import as_numpy
from ...errors import UnrollableError
from ...model.joints.kinds import Cylindrical, Helical, JointKind, Planar, Prismatic, Revolute, Universal
from ...model.joints.springs import Spring
from ...model.model import BodyConstants, Model, with_numbers
from ...model.normal_form import Hinge, normal_form
from ...properties import cached_property
from ...spatial import RigidInertia, Transform, Turn
from ...sweeps import BodyTree
from ...symbols.operations import Operations
from ...symbols.outputs import count, reachable
from ...symbols.products import signals_wait
from ...symbols.results import LEAF, flatten
from ...symbols.scalar import Graph
from ..facts import Shape
from ..program.signature import Signature
from .blocks import BlockMatrix, works_of
from .factors import Factors
from .plan import PlannedLoop, plan
from .recorder import Sweep
from .separation import refuse_mixing
from .walk_recorder import RecordedMatrix, RecordedTree
from .work import Work


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
    tree: BodyTree
    classes: list[Class]
    sweeps: list[Sweep]
    one_sided: bool = False  # whether a matrix has blocks, of bodies inboard of each other, that nothing writes
    phases: list[list[Work]] = field(default_factory=list)
    loops: list[PlannedLoop] = field(default_factory=list)
    factors: Factors = field(
        default_factory=lambda: Factors(0)
    )  # what matrices are made from that are no outputs of these

    def held(self, output: int) -> int:
        """How many vectors an output takes where it is made; none where it is made from factors."""
        return 0 if output in self.factors.matrices else math.prod(self.signature.shapes[output])

    @property
    def all_held(self) -> int:
        """How many vectors all outputs take, after which factors begin."""
        return sum(map(self.held, range(len(self.signature.shapes))))

    @property
    def name(self) -> str:
        return self.signature.name

    @property
    def inputs(self) -> dict[str, int]:
        return self.signature.inputs

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return self.signature.shapes

    @property
    def single(self) -> bool:
        return self.signature.single

    @property
    def parents(self) -> tuple[int, ...]:
        return self.tree.parents

    @cached_property
    def has_forks(self) -> bool:
        """Whether a body has two children, so that sums over children have several terms."""
        held = [p for p in self.parents if p >= 0]
        return len(held) > len(set(held))

    @cached_property
    def is_chain(self) -> bool:
        """Whether every body hangs on the one before it."""
        return self.tree.is_chain

    @cached_property
    def length(self) -> int:
        """How many values its code computes, each once, however often it runs: how long compiling it will take."""
        works = [w for phase in self.phases for w in phase]
        for loop in self.loops:
            works += [*loop.begin.values(), *(w for steps in loop.steps for w in steps)]
        works += works_of(self.factors.walks)
        return sum(len(reachable(w.sinks, stop=w.loads)) for w in works)

    @cached_property
    def operations(self) -> Operations:
        """Operations for one state: those of each class, as often as it has bodies; what is done again included."""
        total = np.zeros(len(Operations.__dataclass_fields__), dtype=int)
        for works in self.phases:
            for kind, work in zip(self.classes, works):
                total += len(kind.members) * _counted(work)
        for loop in self.loops:
            for walk, works in zip(loop.walks, loop.steps):
                for times, work in zip(self._reached(loop.origins, walk.outward), works):
                    total += times * _counted(work)
        total += self._of_blocks()
        found = Operations(*(int(n) for n in total))
        products, sums = self._of_entries()
        return replace(found, additions=found.additions + sums, multiplications=found.multiplications + products)

    def _of_blocks(self) -> np.ndarray:
        """Operations of walks within blocks and of unit vectors."""
        total = np.zeros(len(Operations.__dataclass_fields__), dtype=int)
        block, n = self.factors.block, len(self.parents)
        for walk in self.factors.walks:
            for kind, step, unit in zip(self.classes, walk.steps, walk.units):
                in_block = np.array(kind.members) % block
                before = (
                    in_block
                    if walk.walk.outward
                    else np.minimum(block, n - np.array(kind.members) + in_block) - 1 - in_block
                )
                total += int(before.sum()) * _counted(step)
                total += len(kind.members) * len(walk.changing) * _counted(unit)
        return total

    def _of_entries(self) -> tuple[int, int]:
        """(products, sums) that make matrices from factors, and what walks have at the edges of blocks."""
        products = sums = 0
        factors = self.factors
        for output, matrix in factors.matrices.items():
            n = self.signature.shapes[output][0]
            if isinstance(matrix, BlockMatrix):
                sides = [x for x in (matrix.above, matrix.below) if x is not None]
                counts = [len(factors.walks[x.walk].slots) for x in sides]
                entries = _pairs_apart(n, factors.block)
            else:
                counts, entries = [len(matrix.above.row), len(matrix.below.row)], n * (n - 1) // 2
            products += entries * sum(counts)
            sums += entries * sum(count - 1 for count in counts)
        for walk in factors.walks:
            between = range(1, factors.blocks - 1)
            begun = [b if walk.walk.outward else factors.blocks - 1 - b for b in between]  # blocks whose walks pass b
            passed = sum(min(b * factors.block, factors.bodies) for b in begun)
            changing = len(walk.changing)
            products += passed * changing * changing
            sums += passed * changing * (changing - 1)
        return products, sums

    def _reached(self, origins: tuple[int, ...], outward: bool) -> np.ndarray:
        """How often a walk comes to bodies of each class."""
        n = len(self.classes)
        kinds = np.zeros(len(self.parents), dtype=int)
        for c, kind in enumerate(self.classes):
            kinds[kind.members] = c
        inboard = np.zeros((len(self.parents), n), dtype=int)  # bodies inboard of each body, by class
        for k, p in enumerate(self.parents):
            if p >= 0:
                inboard[k] = inboard[p]
                inboard[k, kinds[p]] += 1
        starting = np.isin(kinds, origins)
        passed: np.ndarray = inboard[starting].sum(axis=0)
        if not outward:
            return passed
        own = np.array([starting[kind.members].sum() for kind in self.classes])
        others: np.ndarray = starting.sum() * np.array([len(kind.members) for kind in self.classes]) - passed - own
        return others


def _pairs_apart(n: int, block: int) -> int:
    """Pairs of bodies that do not share a block."""
    whole, rest = divmod(n, block)
    return (n * (n - 1) - whole * block * (block - 1) - rest * (rest - 1)) // 2


def _counted(work: Work) -> np.ndarray:
    counts = count(work.sinks, stop=work.loads)
    return np.array([getattr(counts, f) for f in Operations.__dataclass_fields__])


# --- classes of bodies -------------------------------------------------------------------------------


def classes_of(model: Model, graph: Graph) -> list[Class]:
    """Bodies by joint kind. Numbers on which all members agree are constants, the others symbols ``table:c``."""
    forms, members = _members(model)
    out = []
    for c, bodies in enumerate(members):
        numbers = np.array([forms[k][1] for k in bodies])
        varies = np.flatnonzero((numbers != numbers[0]).any(axis=0))
        values: list[Any] = [float(x) for x in numbers[0]]
        for column, symbol in zip(varies, graph.inputs(f"table:{c}", len(varies))):
            values[column] = symbol
        out.append(Class(bodies, forms[bodies[0]][2](values), numbers[:, varies]))
    return out


def _members(model: Model) -> tuple[list[Any], list[list[int]]]:
    """(the form of each body, the bodies of each class)."""
    forms = [_form(c) for c in model.constants()]
    members: dict[Any, list[int]] = {}
    for k, (key, _, _) in enumerate(forms):
        alone = model.parents[k] < 0 and model.joints[k].kind.nv > 1  # a free base is treated by itself
        members.setdefault((key, alone), []).append(k)
    return forms, list(members.values())


def _form(c: BodyConstants) -> tuple[Any, list[float], Callable[[list[Any]], BodyConstants]]:
    """(class key, the body's numbers, how to make constants from such numbers)."""
    l, h, J = as_numpy(c.placement.l), as_numpy(c.M.h), as_numpy(c.M.J)
    inertia = [float(c.M.m), *h, *J[np.tril_indices(3)]]
    rotor = [] if c.reflected is None else [float(c.reflected[0, 0])]
    spin = [] if c.spin is None else [float(x) for x in as_numpy(c.spin)]
    soft = _numbers_of_spring(c)
    own = [float(x) for numbers in _numbers_of_kind(c.kind).values() for x in numbers.flat]
    kind_key = type(c.kind) if own else _kind_key(c.kind)
    if c.placement.turns is None:
        place = [*as_numpy(c.placement.R).ravel(), *l]
        key: Any = (kind_key, len(rotor), len(spin), tuple(soft), "matrix")
    else:
        place = [x for cs in _three_turns(c) for x in cs] + [*l]
        if isinstance(c.kind, Revolute):  # the last turn is part of the angle
            (a, b), (x, y) = place[4:6], (getattr(c.kind, "cosine", 1.0), getattr(c.kind, "sine", 0.0))
            place = [*place[:4], a * x - b * y, a * y + b * x, *place[6:]]
        key = ("revolute" if isinstance(c.kind, Revolute) else kind_key, len(rotor), len(spin), tuple(soft), "turns")

    def make(x: list[Any]) -> BodyConstants:
        kind = c.kind
        if c.placement.turns is None:
            R, rest = np.array(x[:9], dtype=object).reshape(3, 3), x[9:]
            turns: Any = None
        else:
            turns, rest = (Turn(2, x[0], x[1]), Turn(0, x[2], x[3])), x[4:]
            if isinstance(c.kind, Revolute):
                kind, rest = Hinge("z", rest[0], rest[1]), rest[2:]
            else:
                turns, rest = (*turns, Turn(2, rest[0], rest[1])), rest[2:]
            R = np.eye(3)
            for turn in reversed(turns):
                R = turn @ R
        l, (m, hx, hy, hz, xx, xy, yy, xz, yz, zz, *load) = np.array(rest[:3], dtype=object), rest[3:]
        J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=object)
        M = RigidInertia(np.asarray(m, dtype=object), np.array([hx, hy, hz], dtype=object), J)
        reflected = load[2] * np.eye(c.kind.nv) if rotor else None
        turning = np.array(load[2 + len(rotor) :][: len(spin)], dtype=object) if spin else None
        spring, start = {}, 2 + len(rotor) + len(spin)
        for name, numbers in soft.items():
            spring[name] = np.array(load[start : start + len(numbers)], dtype=object)
            start += len(numbers)
        held = Spring(**spring) if soft else None
        kind = _with_numbers_of_kind(kind, load[start:]) if own else kind
        return BodyConstants(Transform(R, l, turns), kind, M, reflected, turning, held, (load[0], load[1]))

    rest = [*rotor, *spin, *(x for numbers in soft.values() for x in numbers), *own]
    return key, [*place, *inertia, *c.load, *rest], make


# What the kinds of joints are made of, beside their maps: bodies that differ in these alone share their code.
_MADE_OF: dict[type[JointKind], tuple[str, ...]] = {
    Revolute: ("axis",),
    Prismatic: ("axis",),
    Cylindrical: ("axis",),
    Helical: ("axis", "pitch"),
    Universal: ("first", "second"),
    Planar: ("normal", "basis"),
}


def _numbers_of_kind(kind: JointKind) -> dict[str, np.ndarray]:
    """What is different in joints of one kind, by its name. Joints of one degree of freedom along a coordinate axis,
    which have zeros of their own, are a kind by themselves."""
    names = _MADE_OF.get(type(kind), ())
    if names == ("axis",) and np.count_nonzero(getattr(kind, "axis")) == 1:  # noqa: B009  (not of every kind)
        return {}
    return {name: np.asarray(getattr(kind, name), dtype=float) for name in (*names, "H_star")} if names else {}


def _with_numbers_of_kind(kind: JointKind, values: Sequence[Any]) -> JointKind:
    """A kind with these numbers and symbols in place of its own."""
    out, start = copy(kind), 0
    object.__setattr__(out, "stands_for", kind)
    for name, own in _numbers_of_kind(kind).items():
        x = np.array(values[start : start + own.size], dtype=object).reshape(own.shape)
        start += own.size
        if not all(isinstance(y, float) for y in x.flat):
            object.__setattr__(out, name, x if own.ndim else x.item())
    return out


def _numbers_of_spring(c: BodyConstants) -> dict[str, list[float]]:
    """The numbers of a joint's spring and damper, by what they are; only those there are."""
    if c.spring is None:
        return {}
    found = {name: getattr(c.spring, name) for name in ("stiffness", "rest", "damping")}
    return {name: [float(y) for y in as_numpy(x)] for name, x in found.items() if x is not None}


def _kind_key(kind: JointKind) -> Any:
    """The same for kinds that do the same. A kind of a user's own that cannot be pickled is like no other."""
    try:
        return pickle.dumps(kind)
    except (pickle.PicklingError, AttributeError, TypeError):
        return id(kind)


def class_sizes(model: Any, in_own_frames: bool = False) -> list[int]:
    """The degrees of freedom of each class of bodies, in the frames in which :func:`roll` has them."""
    classes = _members(model if in_own_frames else normal_form(model)[0])[1]
    return [model.joints[members[0]].kind.nv for members in classes]


def is_aligned(model: Any) -> bool:
    """Whether bodies are placed by right angles, most of them: straight-line code has half the operations then."""
    placed = [c for k, c in enumerate(normal_form(model)[0].constants()) if not model.tree.on_world(k)]
    bent = [c for c in placed if any(t.axis == 0 and abs(t.c * t.s) > 1e-9 for t in c.placement.turns or ())]
    return 2 * len(bent) < len(placed)


def _three_turns(c: BodyConstants) -> list[tuple[float, float]]:
    """(cos, sin) of a placement's turns about z, x, z, those that are not there included."""
    out = [(1.0, 0.0)] * 3
    turns = c.placement.turns or ()
    bend = next((i for i, t in enumerate(turns) if t.axis == 0), None)
    for i, t in enumerate(turns):
        out[1 if i == bend else 0 if bend is not None and i < bend else 2] = (float(t.c), float(t.s))
    return out


# --- the program -------------------------------------------------------------------------------------


@signals_wait()
def roll(
    model: Any,
    function: Callable[..., Any],
    name: str,
    arrays: Mapping[str, Shape],
    most: int | None = None,
    *,
    in_own_frames: bool = False,
    block: int = 0,
) -> RolledProgram:
    """Record ``function(model, *arrays)``, whose arguments are configurations ("nq") and joint-space vectors ("nv"),
    and whose results are such vectors or matrices. More than ``most`` values are a :class:`TooLongError`. Bodies keep
    their frames where ``in_own_frames`` says that results show them, and have those of the normal form otherwise.
    With a ``block`` of so many bodies matrices of long chains are made from blocks (:mod:`.blocks`), where they can be.
    """
    graph = Graph(most)
    form = model if in_own_frames else normal_form(model)[0]
    classes = classes_of(form, graph)
    roots = [all(model.tree.on_world(k) for k in kind.members) for kind in classes]
    sizes = [c.constants.kind.nv for c in classes]
    recorder = RecordedTree(graph, roots, sizes, branching=not model.tree.is_chain)
    stand_in = _stand_in(form, classes, recorder)
    symbols = [graph.inputs(a, *inputs.sizes(stand_in, shape)) for a, shape in arrays.items()]
    for kind, q, v in zip(classes, stand_in.q_slices, stand_in.v_slices):
        kind.starts = {a: q.start if shape == ("nq",) else v.start for a, shape in arrays.items()}
    leaves, structure = flatten(function(stand_in, *symbols))
    graph.refuse_length()
    outputs = [x if isinstance(x, RecordedMatrix) else np.asarray(x) for x in leaves]
    if not all(isinstance(x, RecordedMatrix) or x.shape == (stand_in.nv,) for x in outputs):
        raise UnrollableError(f"{name} gives something else than joint-space vectors and matrices: it cannot be rolled")
    shapes = tuple(_shape(x, model) for x in outputs)
    lengths = {a: inputs.sizes(model, shape)[0] for a, shape in arrays.items()}
    signature = Signature(name, lengths, shapes, structure is LEAF, structure)
    one_sided = any(isinstance(x, RecordedMatrix) and x.is_one_sided for x in outputs)
    program = RolledProgram(signature, model.tree, classes, recorder.sweeps, one_sided)
    program.phases, program.loops, program.factors = plan(recorder, stand_in.v_slices, outputs, shapes, block)
    refuse_mixing(name, program, _own_inputs(classes, {a: len(x) for a, x in zip(arrays, symbols)}))
    return program


def _shape(output: Any, model: Any) -> tuple[int, ...]:
    """The shape of an output for the robot itself."""
    if isinstance(output, RecordedMatrix) and output.width:
        return model.nv, output.width * len(model.bodies)
    return (model.nv,) * len(output.shape)


def _own_inputs(classes: list[Class], lengths: Mapping[str, int]) -> list[dict[str, range]]:
    """Which entries of each array, one after another, belong to each class."""
    ends = [*(kind.starts for kind in classes[1:]), lengths]
    return [{a: range(kind.starts[a], end[a]) for a in lengths} for kind, end in zip(classes, ends)]


def _stand_in(model: Any, classes: list[Class], tree: RecordedTree) -> Any:
    """The model with one body per class."""
    clone = with_numbers(model, [c.constants for c in classes], bodies=[model.bodies[c.members[0]] for c in classes])
    clone.__dict__["tree"] = tree
    return clone
