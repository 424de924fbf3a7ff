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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ... import inputs
from ...errors import UnrollableError
from ...model.model import with_numbers
from ...model.normal_form import normal_form
from ...properties import cached_property
from ...sweeps import BodyTree
from ...symbols.operations import Operations
from ...symbols.outputs import count, reachable
from ...symbols.products import signals_wait
from ...symbols.results import LEAF, flatten
from ...symbols.scalar import Graph
from ..facts import Shape
from ..program.signature import Signature
from .blocks import BlockMatrix, works_of
from .classes import Class, NodeTree, classes_of, node_tree
from .factors import Factors
from .plan import PlannedLoop, plan
from .recorded_nodes import RecordedMembers, RecordedNodes
from .recorder import Sweep
from .separation import refuse_mixing
from .tables import first_of
from .walk_recorder import RecordedMatrix, RecordedTree
from .work import Work


@dataclass(eq=False)
class RolledProgram:
    """A function as loops over bodies. ``phases[p][c]`` is what class c does in phase p."""

    signature: Signature
    nodes: NodeTree
    classes: list[Class]
    sweeps: list[Sweep]
    one_sided: bool = False  # whether a matrix has blocks, of bodies inboard of each other, that nothing writes
    places: list[int] | None = None  # where the results of every node begin, where that is not as in v
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
    def tree(self) -> BodyTree:
        """Who hangs on whom; of coupled bodies, nodes."""
        return self.nodes.tree

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
    frames: Sequence[Any] = (),
    driven: Sequence[bool] | None = None,
) -> RolledProgram:
    """Record ``function(model, *arrays)``, whose arguments are configurations ("nq") and joint-space vectors ("nv"),
    and whose results are such vectors, or stacks of some, or matrices. The bodies that ``frames`` are on, which the
    function knows of, are classes of their own; ``driven`` joints, where some are, have the columns of results, and the
    others the rows of matrices. More than ``most`` values are a :class:`TooLongError`. Bodies keep
    their frames where ``in_own_frames`` says that results show them, and have those of the normal form otherwise.
    With a ``block`` of so many bodies matrices of long chains are made from blocks (:mod:`.blocks`), where they can be.
    """
    graph = Graph(most)
    with graph.held():
        return _rolled(model, function, name, arrays, graph, in_own_frames, block, frames, driven)


def _rolled(
    model: Any,
    function: Callable[..., Any],
    name: str,
    arrays: Mapping[str, Shape],
    graph: Graph,
    in_own_frames: bool,
    block: int,
    frames: Sequence[Any],
    driven: Sequence[bool] | None,
) -> RolledProgram:
    form = model if in_own_frames else normal_form(model)[0]
    nodes = node_tree(form)
    classes = classes_of(form, nodes, graph, {form.frame(frame)[0] for frame in frames}, driven)
    recorder = _recorder(graph, form, nodes, classes)
    stand_in = _stand_in(form, nodes, classes, recorder)
    symbols = [graph.inputs(a, *inputs.sizes(stand_in, shape)) for a, shape in arrays.items()]
    slices = [_together(x, classes) for x in (stand_in.q_slices, stand_in.v_slices)]
    for kind, q, v in zip(classes, *slices):
        kind.starts = {a: q.start if shape == ("nq",) else v.start for a, shape in arrays.items()}
    leaves, structure = flatten(function(stand_in, *symbols))
    graph.refuse_length()
    outputs = [x if isinstance(x, RecordedMatrix) else np.asarray(x) for x in leaves]
    columns, places, sizes = slices[1], None, (model.nv, model.nv)
    if driven is not None:
        columns = _columns_of(columns, [_is_driven(nodes, driven, kind.members[0]) for kind in classes])
        places, sizes = _counted_apart(model, nodes, driven)
    if not all(isinstance(x, RecordedMatrix) or x.shape[-1:] == (columns[-1].stop,) for x in outputs):
        raise UnrollableError(f"{name} gives something else than joint-space vectors and matrices: it cannot be rolled")
    shapes = tuple(_shape(x, model, sizes) for x in outputs)
    lengths = {a: inputs.sizes(model, shape)[0] for a, shape in arrays.items()}
    signature = Signature(name, lengths, shapes, structure is LEAF, structure)
    one_sided = any(isinstance(x, RecordedMatrix) and x.is_one_sided for x in outputs)
    program = RolledProgram(signature, nodes, classes, recorder.sweeps, one_sided, places)
    program.phases, program.loops, program.factors = plan(recorder, columns, outputs, shapes, block)
    refuse_mixing(name, program, _own_inputs(classes, {a: len(x) for a, x in zip(arrays, symbols)}))
    return program


def _is_driven(nodes: NodeTree, driven: Sequence[bool], node: int) -> bool:
    return any(driven[k] for k in nodes.members[node])


def _columns_of(slices: Sequence[slice], driven: Sequence[bool]) -> list[slice]:
    """Where the columns of driven classes are, side by side; others have none."""
    out, start = [], 0
    for where, is_driven in zip(slices, driven):
        size = where.stop - where.start if is_driven else 0
        out.append(slice(start, start + size))
        start += size
    return out


def _counted_apart(model: Any, nodes: NodeTree, driven: Sequence[bool]) -> tuple[list[int], tuple[int, int]]:
    """(where the numbers of every node begin, among those of driven ones or of the others; how many the others and the
    driven ones have)."""
    places, counts = [0] * len(nodes.members), [0, 0]
    for i in sorted(range(len(places)), key=lambda i: first_of(model.v_slices, nodes.members[i])):
        kind = int(_is_driven(nodes, driven, i))
        places[i] = counts[kind]
        counts[kind] += _degrees(model, nodes.members[i])
    return places, (counts[0], counts[1])


def _shape(output: Any, model: Any, sizes: tuple[int, int]) -> tuple[int, ...]:
    """The shape of an output for the robot itself; ``sizes`` are those of rows and columns of joint space."""
    if isinstance(output, RecordedMatrix) and output.width:
        return model.nv, output.width * len(model.bodies)
    return sizes if isinstance(output, RecordedMatrix) else (*output.shape[:-1], sizes[1])


def _own_inputs(classes: list[Class], lengths: Mapping[str, int]) -> list[dict[str, range]]:
    """Which entries of each array, one after another, belong to each class."""
    ends = [*(kind.starts for kind in classes[1:]), lengths]
    return [{a: range(kind.starts[a], end[a]) for a in lengths} for kind, end in zip(classes, ends)]


def _recorder(graph: Graph, model: Any, nodes: NodeTree, classes: list[Class]) -> RecordedTree:
    """What records sweeps and walks of one body, or node, of each class."""
    roots = [all(nodes.tree.on_world(k) for k in kind.members) for kind in classes]
    branching = not nodes.tree.is_chain
    if not nodes.is_grouped:
        return RecordedTree(graph, roots, [c.constants[0].kind.nv for c in classes], branching)
    sizes = [_degrees(model, nodes.members[c.members[0]]) for c in classes]
    return RecordedNodes(graph, roots, sizes, branching, [c.shape for c in classes])


def _degrees(model: Any, held: tuple[int, ...]) -> int:
    return sum(model.v_slices[k].stop - model.v_slices[k].start for k in held)


def _together(slices: Sequence[slice], classes: list[Class]) -> list[slice]:
    """Where the numbers of each class are, from those of the bodies of one after another."""
    ends = np.cumsum([len(kind.constants) for kind in classes])
    return [
        slice(slices[int(end) - len(kind.constants)].start, slices[int(end) - 1].stop)
        for end, kind in zip(ends, classes)
    ]


def _frames_of(model: Any, place: dict[int, int]) -> Callable[[Any], tuple[int, Any]]:
    """Where a frame of the robot is, by the bodies that stand in for its own."""

    def frame(asked: Any) -> tuple[int, Any]:
        body, pose = model.frame(asked)
        if body >= 0 and body not in place:
            raise UnrollableError(f"frame {getattr(asked, 'name', asked)!r} is on one of many bodies that share code")
        return place.get(body, -1), pose

    return frame


def _stand_in(model: Any, nodes: NodeTree, classes: list[Class], tree: RecordedTree) -> Any:
    """The model with one body, or node, per class."""
    held = [k for kind in classes for k in nodes.members[kind.members[0]]]
    clone = with_numbers(model, [c for kind in classes for c in kind.constants], bodies=[model.bodies[k] for k in held])
    place = {k: i for i, k in enumerate(held)}
    clone.__dict__["frame"] = _frames_of(model, place)
    stands_for = {
        k: place[j]
        for kind in classes
        for i in kind.members
        for k, j in zip(nodes.members[i], nodes.members[kind.members[0]])
    }
    clone.__dict__["joint"] = lambda name: stands_for[model.joint(name)]
    if not isinstance(tree, RecordedNodes):
        clone.__dict__["tree"] = tree
        return clone
    names = {model.joints[k].name for k in held}
    clone.__dict__["couplings"] = tuple(c for c in model.couplings if c.dependent in names)
    members = clone.__dict__["tree"] = RecordedMembers(tree)
    clone.__dict__["aggregates"] = tuple(tuple(place) for place in members.places if len(place) > 1)
    return clone
