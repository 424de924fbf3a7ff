"""One state's work for several threads: each has limbs of the robot, and one of them the trunk as well.

A limb is a chain of bodies out to a tip; what has two tips or more outboard is the trunk. A value that depends on the
inputs of one limb (and of the trunk) is that limb's; so is one that depends on several, where nothing that comes of it
meets another limb again: sweeps outward. All else is the trunk's. What depends on the trunk's inputs alone is computed
by each thread that needs it. Threads meet between phases, where values go from one to another. Which limb an input is
said to be of decides how well that works, and never what comes out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...symbols.outputs import reachable
from ...symbols.scalar import Scalar
from .schedule import traffic

if TYPE_CHECKING:
    from ...model.model import Model

Limbs = Mapping[int, tuple[int, ...]]  # how many numbers an array has → the limb of each; 0 is the trunk
_EVERYBODY = -1


@dataclass(frozen=True, eq=False)
class Shares:
    """What each thread computes, phase by phase, arguments first, and the values that others read of it."""

    orders: list[list[list[Scalar]]]  # by thread and phase
    handed: list[Scalar]  # in the order in which they have places
    owner: dict[int, int]  # id of a value that one thread has → that thread
    trunk: int  # which thread has the trunk

    @property
    def phases(self) -> int:
        return len(self.orders[0])


def limbs_of(model: Model) -> dict[int, tuple[int, ...]]:
    """The limbs of a robot's numbers; none where it has no two of them."""
    parents = model.parents
    tips, n = [0] * len(parents), len(parents)
    for k in reversed(range(n)):
        tips[k] += tips[k] == 0
        if parents[k] >= 0:
            tips[parents[k]] += tips[k]
    limb, found = [0] * n, 0
    for k in range(n):
        if tips[k] == 1:
            begins = parents[k] < 0 or tips[parents[k]] > 1
            found += begins
            limb[k] = found if begins else limb[parents[k]]
    if found < 2:
        return {}
    by_size: dict[int, tuple[int, ...]] = {}
    for slices, size in ((model.v_slices, model.nv), (model.q_slices, model.nq)):
        of_numbers = [0] * size
        for k, s in enumerate(slices):
            of_numbers[s] = [limb[k]] * len(range(size)[s])
        by_size[size] = tuple(of_numbers)
    for each in (3, 6, 10):  # offsets, external forces and inertial parameters of all bodies
        by_size.setdefault(each * n, tuple(x for x in limb for _ in range(each)))
    return by_size


def shares(
    roots: Sequence[Any],
    guarded: Sequence[Scalar],
    sizes: Mapping[str, int],
    limbs: Limbs,
    threads: int,
    registers: int,
) -> Shares | None:
    """The work of so many threads; None where there are not as many limbs."""
    orders = [
        reachable([*roots, *guarded]),
        reachable([*reversed(guarded), *reversed(roots)]),
        sorted(reachable([*roots, *guarded]), key=lambda x: x.serial),
    ]
    nodes = orders[-1]
    limb_of = {
        id(x): limbs[sizes[x.args[0]]][x.args[1]] for x in nodes if x.op == "input" and sizes[x.args[0]] in limbs
    }
    weights: dict[int, int] = {}
    for limb in _owners(nodes, limb_of).values():
        weights[limb] = weights.get(limb, 0) + 1
    for none in (0, _EVERYBODY):
        weights.pop(none, None)
    if len(weights) < threads:
        return None
    loads = [0] * threads
    thread_of = {}
    for limb in sorted(weights, key=lambda k: -weights[k]):
        least = loads.index(min(loads))
        thread_of[limb] = least + 1
        loads[least] += weights[limb]
    owners = _owners(nodes, {k: thread_of[x] if x else 0 for k, x in limb_of.items()})
    trunk_at = loads.index(min(loads))
    ready = {id(x) for x in nodes if x.op == "input" or (x.op in ("sin", "cos") and x.args[0].op == "input")}
    owner = {k: trunk_at if w == 0 else w - 1 for k, w in owners.items() if w != _EVERYBODY and k not in ready}
    phase, handed = _phases(nodes, owner)
    count = 1 + max(phase.values(), default=0)
    wanted: list[list[list[Scalar]]] = [[[] for _ in range(count)] for _ in range(threads)]
    for x in nodes:
        if id(x) in owner:
            wanted[owner[id(x)]][phase[id(x)]].append(x)
    for x in dict.fromkeys([*guarded, *(x for x in roots if isinstance(x, Scalar))]):  # what all have, one writes
        if id(x) not in owner:
            wanted[trunk_at][count - 1].append(x)
    found = [
        min(
            (_ordered(wanted[w], order, owner) for order in orders),
            key=lambda parts: traffic([x for part in parts for x in part], registers),
        )
        for w in range(threads)
    ]
    return Shares(found, handed, owner, trunk_at)


def _owners(nodes: Sequence[Scalar], limb_of: Mapping[int, int]) -> dict[int, int]:
    """By id of a value the limb that computes it; 0 is the trunk, −1 whoever needs it."""
    within: dict[int, int] = {}  # the limbs that a value depends on, a bit each
    for x in nodes:
        mask = 1 << limb_of[id(x)] if limb_of.get(id(x)) else 0
        for a in x.args:
            if isinstance(a, Scalar):
                mask |= within[id(a)]
        within[id(x)] = mask
    met: dict[int, int] = {}  # the limbs that a value, and what comes of it, meet
    owner: dict[int, int] = {}
    for x in reversed(nodes):
        mask = within[id(x)]
        if mask & (mask - 1) == 0:  # of no limb, or of one
            owner[id(x)] = mask.bit_length() - 1 if mask else _EVERYBODY
            continue
        own = met.get(id(x), 0)
        for a in x.args:
            if isinstance(a, Scalar) and within[id(a)] & (within[id(a)] - 1) == 0:
                own |= within[id(a)]
        owner[id(x)] = own.bit_length() - 1 if own and own & (own - 1) == 0 else 0
        for a in x.args:
            if isinstance(a, Scalar):
                met[id(a)] = met.get(id(a), 0) | own
    return owner


def _phases(nodes: Sequence[Scalar], owner: Mapping[int, int]) -> tuple[dict[int, int], list[Scalar]]:
    """By id the phase in which a value is computed, and the values that a thread has of another."""
    phase: dict[int, int] = {}
    handed: dict[int, Scalar] = {}
    for x in nodes:
        if id(x) not in owner:
            continue
        when = 0
        for a in x.args:
            if isinstance(a, Scalar) and id(a) in owner:
                other = owner[id(a)] != owner[id(x)]
                when = max(when, phase[id(a)] + other)
                if other:
                    handed[id(a)] = a
        phase[id(x)] = when
    return phase, list(handed.values())


def _ordered(
    wanted: Sequence[Sequence[Scalar]], order: Iterable[Scalar], owner: Mapping[int, int]
) -> list[list[Scalar]]:
    """A thread's values by phase in the order of another list, what everybody has before its first use."""
    place = {id(x): i for i, x in enumerate(order)}
    known: set[int] = set()
    parts = []
    for asked in wanted:
        values = [x for x in asked if id(x) not in known]
        stop = known | {id(a) for x in values for a in x.args if isinstance(a, Scalar) and id(a) in owner}
        stop -= {id(x) for x in values}
        found = [x for x in reachable(values, stop) if id(x) not in stop]
        found.sort(key=lambda x: place[id(x)])
        known |= {id(x) for x in found}
        parts.append(found)
    return parts
