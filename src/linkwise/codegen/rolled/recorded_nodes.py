"""Trees of nodes recorded: bodies that move as one are one turn of a loop, whose own steps run one after another.

Loops go over nodes; a class is nodes that are alike: as many bodies, joints of the same kinds, coupled in the same way.
An algorithm sees all bodies of one node of each class (:class:`RecordedMembers`) and, where it asks for the tree of
nodes, the nodes (:class:`RecordedNodes`). Both record into the same loops.

Nodes meet at ports, the members that others hang on, with six numbers each. A class hands on what it has at each of
its ports; a node takes what is at the one it hangs on, and passes to that one. Where classes have several ports, which
of them is it is written in the node's table, as ones and zeros that select.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from ...aggregates import AtPorts, rows
from ...errors import SingularError, UnrollableError
from ...sweeps import BodyTree, Nodes, Step, added
from ...symbols.results import flatten, rebuild
from ...symbols.scalar import Graph
from .recorder import Pattern, Sweep, SweepRecorder, Versions
from .walk_recorder import RecordedTree


@dataclass(frozen=True, eq=False)
class NodeShape:
    """What loops know of a class of nodes beside its numbers."""

    inside: BodyTree  # of its bodies; −1 is the body outside
    ports: tuple[int, ...]  # the members that others hang on, in some node of the class
    at: tuple[Any, ...]  # for each port that a parent may have, whether the node hangs on it: 1, 0, or a symbol

    @property
    def count(self) -> int:
        return len(self.inside)

    @property
    def is_grouped(self) -> bool:
        return self.count > 1


class RecordedNodes(RecordedTree):
    """The tree of nodes, one of each class; ``sizes`` are degrees of freedom of nodes."""

    def __init__(
        self, graph: Graph, roots: Sequence[bool], sizes: Sequence[int], branching: bool, shapes: Sequence[NodeShape]
    ) -> None:
        super().__init__(graph, roots, sizes, branching)
        self.shapes = shapes

    @property
    def ports(self) -> int:
        return len(self.shapes[0].at)

    @property
    def each_has_carries(self) -> bool:
        """So that what must hold of one class is asked of no other: the frame of a flexible body has no mass of its
        own, and all that it has is carried to it."""
        return True

    def _carry_name(self, index: int, c: int) -> str:
        return f"carry:{index}:{c}"

    # --- what comes to a class and leaves it -----------------------------------------------------------

    def found(self, c: int, versions: list[Any]) -> Any:
        """Of what is at every port of the parent, that where a node hangs."""
        if self.ports == 1:
            return versions[0]
        leaves = [flatten(x)[0] for x in versions]
        picked = [_picked(self.shapes[c].at, found) for found in zip(*leaves)]
        return rebuild(flatten(versions[0])[1], iter(picked))

    def gathered(self, c: int, versions: list[Any]) -> Any:
        """What children have passed to the ports of a node, as it takes it."""
        shape = self.shapes[c]
        if not shape.is_grouped:
            return versions[0]
        if isinstance(versions[0], tuple):
            return tuple(self.gathered(c, list(part)) for part in zip(*versions))
        return AtPorts(shape.count, dict(zip(shape.ports, versions)))

    def passed(self, c: int, leaves: list[Any]) -> list[Any]:
        """What a node passes, by the ports of its parent."""
        return [x if isinstance(one, float) and one == 1.0 else one * x for one in self.shapes[c].at for x in leaves]

    def at_ports(self, c: int, leaves: list[Any], world: list[Any] | None = None) -> list[Any]:
        """What a node has at each of its ports; at those that its class has not, what it has at the first."""
        shape = self.shapes[c]
        ports = [*shape.ports, *[shape.ports[0]] * (self.ports - len(shape.ports))]
        return [_at_port(x, t, None if world is None else world[i]) for t in ports for i, x in enumerate(leaves)]

    # --- sweeps ----------------------------------------------------------------------------------------

    def _swept_outward(self, step: Step, versions: Versions, data: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        inboard = [self.found(c, versions(c)) for c in range(len(self))]
        return inboard, [step(parent, *items) for parent, items in zip(inboard, zip(*data))]

    def _handed_out(self, values: list[Any], kept: list[int], world: list[Any]) -> list[list[Any]]:
        found = [flatten(v)[0] for v in values]
        return [self.at_ports(c, [x[i] for i in kept], world) for c, x in enumerate(found)]

    def _passed_by_tips(self, step: Step, zero: Any, data: Sequence[Any]) -> list[Any]:
        """Of those that can be tips: the frame of a flexible body, which has no mass, is none."""
        found: list[Any] = []
        refused: SingularError | None = None
        for items in zip(*data):
            try:
                found.append(step(zero, *items)[0])
            except SingularError as e:
                refused = e
                found.append(0)
        if refused and all(isinstance(x, int) for x in found):
            raise refused
        return found

    def _tried(self, guards: int) -> None:
        """What must hold of a tip need not of a frame without mass."""
        del self.graph.guards[guards:]

    def _at_tips(self, empty: Pattern, first: list[Any]) -> Pattern:
        """So that bodies that cannot be tips are not asked to be one."""
        passed = [self._handed_in(c, x) for c, x in enumerate(first)]
        return empty.joined(*(Pattern.of(x) for x in passed if x is not None))

    def _swept_inward(
        self, step: Step, versions: Versions, zero: Any, data: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        results = [step(self.gathered(c, versions(c)), *items) for c, items in enumerate(zip(*data))]
        return [kept for _, kept in results], [passed for passed, _ in results]

    def _handed_in(self, c: int, passed: Any) -> list[Any] | None:
        leaves = super()._handed_in(c, passed)
        return None if leaves is None else self.passed(c, leaves)

    # --- walks -----------------------------------------------------------------------------------------

    def _run(self, step: Step, data: Sequence[Any], outward: bool) -> Callable[[Any], list[Any]]:
        arrived = self.found if outward else self.gathered
        return lambda versions: [step(arrived(c, versions), *items) for c, items in enumerate(zip(*data))]

    def _carried(self, c: int, x: Any, outward: bool) -> list[Any]:
        leaves = flatten(x)[0]
        return self.at_ports(c, leaves) if outward else self.passed(c, leaves)

    def _kind_of_start(self, c: int, x: Any, outward: bool) -> Any:
        """As it is carried, at ports: so inward and outward walks of the same classes share a loop."""
        return self.sizes[c], tuple(np.shape(leaf) for leaf in self._carried(c, x, outward))

    def _columns_of_a_body(self, widths: Sequence[int]) -> int:
        [each] = {width // shape.count for width, shape in zip(widths, self.shapes)}
        return each


def _picked(at: Sequence[Any], found: Sequence[Any]) -> Any:
    """Of what several ports have, that where ``at`` is one."""
    if any(x is None for x in found):
        return None
    for one, x in zip(at, found):
        if isinstance(one, float) and one == 1.0:
            return x
    return sum(one * x for one, x in zip(at, found) if not (isinstance(one, float) and one == 0.0))


def _at_port(x: Any, port: int, world: Any) -> Any:
    """What a node has at a port: columns or a compliance of all its members, or at ports, as the world has them."""
    if isinstance(x, AtPorts):
        return x.held[port]
    if world is None or np.shape(x) == np.shape(world):
        return x
    own = x[..., rows(port), :] if x.shape[-2] != world.shape[-2] else x
    return own[..., :, rows(port)] if own.shape[-1] != world.shape[-1] else own


class RecordedMembers(SweepRecorder):
    """The tree of all bodies of one node of each class: sweeps go on from body to body inside of a node."""

    def __init__(self, nodes: RecordedNodes) -> None:
        super().__init__(nodes.graph, nodes.roots)
        nodes.graph.changes_of_carries = nodes._change  # of the sweeps of both, which are the same
        self.nodes = nodes
        self.sweeps: list[Sweep] = nodes.sweeps
        self.phase_of = nodes.phase_of
        self._held = nodes._held
        ends = np.cumsum([shape.count for shape in nodes.shapes])
        self.places = [range(int(e) - shape.count, int(e)) for e, shape in zip(ends, nodes.shapes)]
        self._count = int(ends[-1])

    def __len__(self) -> int:
        return self._count

    def on_world(self, k: int) -> bool:
        c = next(c for c, place in enumerate(self.places) if k in place)
        return self.roots[c] and self.nodes.shapes[c].inside.parent(k - self.places[c].start) < 0

    def within(self, held: Sequence[int]) -> BodyTree:
        [c] = [c for c, place in enumerate(self.places) if list(place) == list(held)]
        return self.nodes.shapes[c].inside

    def of_nodes(self, members: Sequence[tuple[int, ...]], grouped: Sequence[bool]) -> Nodes:
        shapes = self.nodes.shapes
        if [list(held) for held in members] != [list(place) for place in self.places]:
            raise UnrollableError("loops over nodes have no other nodes than those of coupled bodies")
        return Nodes(self.nodes, [None] * len(shapes), [shape.ports for shape in shapes])

    @property
    def ports(self) -> int:
        return self.nodes.ports

    def _carry_name(self, index: int, c: int) -> str:
        return self.nodes._carry_name(index, c)

    def _swept_outward(self, step: Step, versions: Versions, data: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        items = list(zip(*data))
        inboard: list[Any] = []
        values: list[Any] = []
        for c, (shape, place) in enumerate(zip(self.nodes.shapes, self.places)):
            outside = self.nodes.found(c, versions(c))
            for i, k in enumerate(place):
                p = shape.inside.parent(i)
                inboard.append(outside if p < 0 else values[place.start + p])
                values.append(step(inboard[-1], *items[k]))
        return inboard, values

    def _handed_out(self, values: list[Any], kept: list[int], world: list[Any]) -> list[list[Any]]:
        handed = []
        for shape, place in zip(self.nodes.shapes, self.places):
            ports = [*shape.ports, *[shape.ports[0]] * (self.ports - len(shape.ports))]
            found = [flatten(values[place.start + t])[0] for t in ports]
            handed.append([leaves[i] for leaves in found for i in kept])
        return handed

    def _swept_inward(
        self, step: Step, versions: Versions, zero: Any, data: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        items = list(zip(*data))
        kept: list[Any] = [None] * len(self)
        passed: list[Any] = []
        for c, (shape, place) in enumerate(zip(self.nodes.shapes, self.places)):
            gathered = [zero] * shape.count
            for t, carried in zip(shape.ports, versions(c)):
                gathered[t] = carried
            outside = zero
            for i in range(shape.count - 1, -1, -1):
                found, kept[place.start + i] = step(gathered[i], *items[place.start + i])
                p = shape.inside.parent(i)
                if p < 0:
                    outside = added(outside, found)
                else:
                    gathered[p] = added(gathered[p], found)
            passed.append(outside)
        return kept, passed

    def _handed_in(self, c: int, passed: Any) -> list[Any] | None:
        return self.nodes._handed_in(c, passed)

    def _tried(self, guards: int) -> None:
        self.nodes._tried(guards)

    # --- what is asked of nodes alone ------------------------------------------------------------------

    def inward_from_each(self, *_: Any) -> NoReturn:
        _refuse_walks()

    def outward_from_each(self, *_: Any) -> NoReturn:
        _refuse_walks()

    def matrix(self, *_: Any) -> NoReturn:
        _refuse_walks()


def _refuse_walks() -> NoReturn:
    raise UnrollableError("an algorithm that walks from body to body of robots with coupled bodies cannot be rolled")
