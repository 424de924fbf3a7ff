"""Trees of bodies and the few questions that algorithms ask of them: sweeps, walks, and who hangs on whom.

A step is a pure function of what its neighbour passes on and of the body's own data, so that it can be run on numbers,
traced on symbols, or traced once and looped over. :class:`BodyTree` runs steps body by body. Rolled code has a tree of
its own, which records each sweep as a loop: an algorithm that asks for sweeps and walks alone is the same in both, and
one that asks for single bodies is refused there by a named error.

**Bodies of another size.** No sweep knows what its steps hand on. Each needs ``+`` where children meet, and nothing
else, so that nodes of any inner dimension d (aggregates of coupled bodies, flexible bodies; d = 6 for a rigid one) fit
in with six numbers at each interface: 𝛂 = Fα_in + Nβ̇ + a, f_in = F*𝐟. What changes is what stands for φ, H and M:

* φ(p, k) = F* of node k, (6, d): ``phi @ f`` and ``phi.T @ alpha`` take forces inward and motions outward, and
  ``congruence(phi, P)`` is F*PF, (6, 6). For an aggregate it is a row of transforms, one per member.
* H = N*, (r, d), and M, (d, d) or whatever adds up to it.
* A child that hangs on one member of an aggregate, or on one point of a flexible body, has in its φ the port Π as well.
  What it passes on still is (6, 6) and (6, 1), but with the place where it belongs: an object whose ``+`` puts like to
  like, and which its node unpacks when it adds its own M.

So the articulated sweep hands on 𝒫 (6, 6) and 𝓏 (6, 1), whatever is eliminated inside a node.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal, overload

from . import arrays
from .arrays import Array
from .properties import cached_property

Step = Callable[..., Any]


class Pairs(dict[tuple[int, int], Any]):
    """What walks have kept for pairs of bodies."""

    def mapped(self, function: Callable[[Any], Any]) -> Pairs:
        """The same pairs with a function of what was kept for each."""
        return Pairs({key: function(x) for key, x in self.items()})

    def unzip(self, count: int) -> list[Pairs]:
        """Pairs of ``count``-tuples as ``count`` pairs."""
        return [self.mapped(itemgetter(i)) for i in range(count)]


class Tree(ABC):
    """What algorithms ask of a tree of bodies, numbered base first: a parent comes before its children."""

    @abstractmethod
    def __len__(self) -> int:
        """How many entries the lists have that go with it: one per body, or one per class of bodies."""

    # --- sweeps ------------------------------------------------------------------------------------

    @abstractmethod
    def outward(self, step: Step, start: Any, *data: Sequence[Any]) -> list[Any]:
        """Base → tips. Body k's value is ``step(value of its parent, *data of k)``; ``start`` is the world's."""

    @abstractmethod
    def inward(self, step: Step, zero: Any, *data: Sequence[Any]) -> list[Any]:
        """Tips → base. ``step(sum of what the children passed, *data of k)`` gives (what k passes on, what is kept).

        ``zero`` is the empty sum (0, or a tuple of zeros where a step passes several things on).
        """

    @abstractmethod
    def at_parents(self, values: Sequence[Any], start: Any) -> list[Any]:
        """The values of an outward sweep at every body's parent; ``start`` is the world's."""

    def from_children(self, values: Sequence[Any]) -> list[Any]:
        """The sum of the children's values at every body; None is nothing, and the integer 0 is left where all are."""
        if all(x is None for x in values):
            return [0] * len(values)
        return self.inward(lambda gathered, x: (0 if x is None else x, gathered), 0, values)

    @abstractmethod
    def on_world(self, k: int) -> bool:
        """Whether body k hangs on the world."""

    # --- walks -------------------------------------------------------------------------------------

    @abstractmethod
    def inward_from_each(self, step: Step, starts: Sequence[Any], *data: Sequence[Any]) -> Pairs:
        """Along the path of every body k to the base, each by itself.

        What k sends, ``starts[k]``, arrives at its parent j, where ``step(what arrives, *data of j)`` gives (what j
        sends on, what is kept for (j, k)); and so on from j. Bodies that send None are left out.
        """

    @abstractmethod
    def outward_from_each(
        self, step: Step, starts: Sequence[Any], at_fork: Callable[[int, int], Any], *data: Sequence[Any]
    ) -> Pairs:
        """From every body i to all bodies j that are not inboard of it, each by itself.

        The value is ``starts[i]`` at i, and ``at_fork(a, i)`` at a body a inboard of i from which other branches leave;
        at j, ``step(value of its parent, *data of j)`` gives (its value, what is kept for (i, j)). Bodies that start
        with None are left out.
        """

    @abstractmethod
    def matrix(
        self,
        sizes: Sequence[int],
        diagonal: Sequence[Any],
        kept: Sequence[Pairs],
        flipped: Pairs | None,
        like: Array,
        widths: Sequence[int] | None = None,
    ) -> Array:
        """The matrix (..., Σ sizes, Σ sizes) with the blocks X(k,k) = diagonal[k] and X(j,k) = kept[j,k] of every walk.

        ``flipped`` holds blocks at their transposed places, X(k,j) = flipped[j,k]; where it is None the matrix is
        symmetric, and the block kept for j < k is taken for both. With ``widths`` bodies have so many columns.
        """

    # --- nodes -------------------------------------------------------------------------------------

    @abstractmethod
    def within(self, held: Sequence[int]) -> BodyTree:
        """The tree of some bodies that move as one node, by their places there; −1 is the body they hang on."""

    @abstractmethod
    def of_nodes(self, members: Sequence[tuple[int, ...]], grouped: Sequence[bool]) -> Nodes:
        """The tree of nodes that hold these bodies, and of each whether it is an aggregate."""

    # --- single bodies -----------------------------------------------------------------------------

    @property
    @abstractmethod
    def has_single_bodies(self) -> bool:
        """Whether single bodies can be asked for, with the questions below; sweeps and walks always can be."""

    @property
    @abstractmethod
    def parents(self) -> tuple[int, ...]:
        """The parent of every body, −1 for the world: for tables of a tree. (Algorithms ask for sweeps.)"""

    @abstractmethod
    def parent(self, k: int) -> int:
        """The body that k hangs on; −1 for the world."""

    @abstractmethod
    def children(self, k: int) -> tuple[int, ...]:
        """The bodies that hang on k."""

    @abstractmethod
    def inboard(self, k: int) -> list[int]:
        """The bodies between k and the world, nearest first, without k; none for the world (−1)."""

    def path(self, k: int) -> list[int]:
        """The bodies from the base out to k, both included; none for the world (−1)."""
        return [*reversed(self.inboard(k)), k] if k >= 0 else []

    @abstractmethod
    def outboard(self, k: int) -> list[int]:
        """Everything that k carries, without k, parents before children."""

    @property
    @abstractmethod
    def is_chain(self) -> bool:
        """Whether every body hangs on the one before it."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """A tree of nodes, and where they hang on each other."""

    tree: Tree
    hangs_on: list[
        tuple[int, int] | None
    ]  # (which member of an aggregate, of how many); None where the tree sees to it
    ports: list[tuple[int, ...]]  # of every node, the members that carry others; of a single body that itself


@dataclass(frozen=True)
class BodyTree(Tree):
    """A tree whose bodies are all there: its steps run one after another."""

    held_by: tuple[int, ...]  # the parent of every body, −1 for the world

    def __len__(self) -> int:
        return len(self.held_by)

    def outward(self, step: Step, start: Any, *data: Sequence[Any]) -> list[Any]:
        values: list[Any] = []
        for k, p in enumerate(self.held_by):
            values.append(step(start if p < 0 else values[p], *[x[k] for x in data]))
        return values

    def inward(self, step: Step, zero: Any, *data: Sequence[Any]) -> list[Any]:
        gathered: list[Any] = [zero] * len(self)
        kept: list[Any] = [None] * len(self)
        for k in range(len(self) - 1, -1, -1):
            passed, kept[k] = step(gathered[k], *[x[k] for x in data])
            gathered[k] = None
            p = self.held_by[k]
            if p >= 0:
                gathered[p] = added(gathered[p], passed)
        return kept

    def at_parents(self, values: Sequence[Any], start: Any) -> list[Any]:
        return [start if p < 0 else values[p] for p in self.held_by]

    def on_world(self, k: int) -> bool:
        return self.held_by[k] < 0

    def inward_from_each(self, step: Step, starts: Sequence[Any], *data: Sequence[Any]) -> Pairs:
        kept = Pairs()
        for k, x in enumerate(starts):
            if x is not None:
                for j in self.inboard(k):
                    x, kept[j, k] = step(x, *[d[j] for d in data])
        return kept

    def outward_from_each(
        self, step: Step, starts: Sequence[Any], at_fork: Callable[[int, int], Any], *data: Sequence[Any]
    ) -> Pairs:
        kept = Pairs()
        for i, x in enumerate(starts):
            if x is None:
                continue
            path = self.inboard(i)
            inboard = set(path)
            values = {i: x} | {a: at_fork(a, i) for a in path if len(self.children(a)) > 1}
            for j, p in enumerate(self.held_by):
                if p in values and j != i and j not in inboard:
                    values[j], kept[i, j] = step(values[p], *[d[j] for d in data])
        return kept

    def matrix(
        self,
        sizes: Sequence[int],
        diagonal: Sequence[Any],
        kept: Sequence[Pairs],
        flipped: Pairs | None,
        like: Array,
        widths: Sequence[int] | None = None,
    ) -> Array:
        blocks = {(k, k): x for k, (x, r) in enumerate(zip(diagonal, sizes)) if r}
        for pairs in kept:
            for (j, k), x in pairs.items():
                if flipped is not None:
                    blocks[j, k] = x
                elif (k, j) not in blocks:
                    blocks[j, k], blocks[k, j] = x, arrays.transpose(x)
        for (j, k), x in (flipped or {}).items():
            blocks[k, j] = x
        return arrays.from_blocks(blocks, sizes, sizes if widths is None else widths, like=like)

    def within(self, held: Sequence[int]) -> BodyTree:
        place = {k: i for i, k in enumerate(held)}
        return BodyTree(tuple(place.get(self.held_by[k], -1) for k in held))

    def of_nodes(self, members: Sequence[tuple[int, ...]], grouped: Sequence[bool]) -> Nodes:
        where = {k: (i, place) for i, held in enumerate(members) for place, k in enumerate(held)}
        hangs_on: list[tuple[int, int] | None] = []
        ports: list[set[int]] = [set() if together else {0} for together in grouped]
        held_by = []
        for held in members:
            p = self.held_by[held[0]]
            node, place = (-1, 0) if p < 0 else where[p]
            held_by.append(node)
            hangs_on.append((place, len(members[node])) if p >= 0 and grouped[node] else None)
            if p >= 0:
                ports[node].add(place)
        return Nodes(BodyTree(tuple(held_by)), hangs_on, [tuple(sorted(x)) for x in ports])

    @property
    def has_single_bodies(self) -> bool:
        return True

    @property
    def parents(self) -> tuple[int, ...]:
        return self.held_by

    def parent(self, k: int) -> int:
        return self.held_by[k]

    @cached_property
    def _children(self) -> list[tuple[int, ...]]:
        out: list[list[int]] = [[] for _ in self.held_by]
        for k, p in enumerate(self.held_by):
            if p >= 0:
                out[p].append(k)
        return [tuple(c) for c in out]

    def children(self, k: int) -> tuple[int, ...]:
        return self._children[k]

    def inboard(self, k: int) -> list[int]:
        out: list[int] = []
        while k >= 0 and self.held_by[k] >= 0:
            k = self.held_by[k]
            out.append(k)
        return out

    def outboard(self, k: int) -> list[int]:
        out = list(self.children(k))
        for j in out:  # grows while it is walked
            out += self.children(j)
        return out

    @property
    def is_chain(self) -> bool:
        return all(p == k - 1 for k, p in enumerate(self.held_by))


def added(a: Any, b: Any) -> Any:
    """The sum of what two children pass, each a value or a tuple of them, or the integer 0, which is nothing."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple(added(x, y) for x, y in zip(a, b))
    if isinstance(a, tuple) or isinstance(b, tuple):
        return a if isinstance(a, tuple) else b
    return a + b


@overload
def unzip(items: Sequence[tuple[Any, ...]], count: Literal[2]) -> tuple[list[Any], list[Any]]: ...
@overload
def unzip(items: Sequence[tuple[Any, ...]], count: Literal[3]) -> tuple[list[Any], list[Any], list[Any]]: ...
@overload
def unzip(items: Sequence[tuple[Any, ...]], count: int) -> tuple[list[Any], ...]: ...
def unzip(items: Sequence[tuple[Any, ...]], count: int) -> tuple[list[Any], ...]:
    """A list of ``count``-tuples as ``count`` lists (also where the list is empty)."""
    return tuple([item[i] for item in items] for i in range(count))
