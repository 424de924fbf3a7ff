"""In which order a program's values are computed: so that few of them are alive at a time.

Any order with arguments first is right. Depth first from the outputs finishes one limb before it starts the next;
the order of tracing follows the sweeps. In either, what ends the wait of others is then computed as soon as it can be
(:mod:`.tighten`). Which order is best depends on the function, so that both are tried, and the one taken that costs
least; of long code the one in which values wait the shortest time. Where code is very long, or to be made soon
(:mod:`..levels`), the order of tracing is taken as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from ...symbols.outputs import reachable
from ...symbols.scalar import Scalar
from .. import thresholds
from ..thresholds import REGISTERS
from .fusion import absorbed, is_simple
from .tighten import tightened

_SUMS = ("add", "sub")


def schedule(
    roots: Sequence[Any], guards: Sequence[Scalar], needed: Sequence[Scalar], uses: Mapping[int, int]
) -> list[Scalar]:
    """Everything the roots and guards need, arguments first; it is given in any order, and how often each is used.

    Sines and cosines of inputs come before all else: they are calls, during which registers hold nothing, or loops.
    (Where they stand where they are needed a humanoid's forward dynamics takes 238 ns instead of 220 ns, its inverse
    dynamics 111 ns instead of 107 ns.)
    """
    angles = _angles(needed)
    by_tracing = _by_tracing(needed, angles)
    if len(needed) > thresholds.ORDERS_TIGHTENED:
        return by_tracing
    if len(needed) > thresholds.ORDERS_COMPARED:
        return tightened(by_tracing, uses)
    from_last = reachable([*angles, *reversed(guards), *reversed(roots)])
    if len(needed) > thresholds.ORDERS_TRIED:
        return tightened(min((from_last, by_tracing), key=waiting), uses)
    orders = [reachable([*angles, *roots, *guards]), from_last, by_tracing]
    fused = absorbed(needed, uses)
    return min((tightened(x, uses) for x in orders), key=lambda x: cost(x, fused))


def order_of_tracing(needed: Sequence[Scalar]) -> list[Scalar]:
    """The same values, sines and cosines of inputs first, then one after another as they were traced."""
    return _by_tracing(needed, _angles(needed))


def _angles(nodes: Sequence[Scalar]) -> list[Scalar]:
    """The sines and cosines of inputs."""
    return [x for x in nodes if x.op in ("sin", "cos") and is_simple(x.args[0])]


def _by_tracing(nodes: Sequence[Scalar], angles: Sequence[Scalar]) -> list[Scalar]:
    first = reachable(angles)
    known = {id(x) for x in first}
    return first + sorted((x for x in nodes if id(x) not in known), key=attrgetter("serial"))


def schedule_for_threads(roots: Sequence[Any], registers: int) -> list[Scalar]:
    """Everything the roots need, arguments first, for one state in a thread that has this many registers.

    Sines and cosines stand where they are needed: there they are no calls that empty the registers.
    """
    needed = reachable(roots)
    orders = [needed, reachable(list(reversed(roots))), sorted(needed, key=lambda x: x.serial)]
    return min(orders, key=lambda order: traffic(order, registers))


def traffic(order: Sequence[Scalar], registers: int = REGISTERS) -> int:
    """How often a value is written to memory for want of a register, or read from there.

    Registers are managed as well as can be: what is used again latest makes room. Outputs are stored in any case.
    """
    uses: dict[int, list[int]] = {}
    for i, x in enumerate(order):
        for a in x.args:
            if isinstance(a, Scalar):
                uses.setdefault(id(a), []).append(i)
    for places in uses.values():
        places.reverse()
    held: set[int] = set()
    stored = {id(x) for x in order if x.op == "input"}
    moves = 0
    for x in order:
        for a in x.args:
            if isinstance(a, Scalar):
                if id(a) not in held:
                    moves += 1
                    held.add(id(a))
                uses[id(a)].pop()
                if not uses[id(a)]:
                    held.discard(id(a))
        if uses.get(id(x)) and x.op != "input":
            held.add(id(x))
        while len(held) > registers:
            latest = max(held, key=lambda key: uses[key][-1])
            held.discard(latest)
            if latest not in stored:
                stored.add(latest)
                moves += 1
    return moves


def lifetimes(order: Sequence[Scalar]) -> np.ndarray:
    """How many computed values, at each place of an order, are needed later. Inputs can be read at any time."""
    last: dict[int, int] = {}
    for i, x in enumerate(order):
        for a in x.args:
            if type(a) is not float:
                last[id(a)] = i
    change = np.zeros(len(order) + 1, dtype=np.int64)
    begun = [i for i, x in enumerate(order) if x.op != "input" and id(x) in last]
    change[begun] += 1
    np.subtract.at(change, [last[id(order[i])] for i in begun], 1)
    return np.cumsum(change)


def waiting(order: Sequence[Scalar]) -> int:
    """All together, for how long values wait."""
    return int(lifetimes(order).sum())


def cost(order: Sequence[Scalar], fused: Mapping[int, int]) -> float:
    """About how many cycles code in this order takes.

    What is in the way is looked at one after another: values that wait for others, moves between registers and memory,
    and memory that the first cache has no room for.
    """
    peak = int(lifetimes(order).max(initial=0))
    moves, far = thresholds.MOVE_CYCLES * traffic(order), thresholds.FAR_CYCLES * max(0, peak - thresholds.NEAR_VECTORS)
    return cycles(order, fused) + moves + far


def cycles(order: Sequence[Scalar], fused: Mapping[int, int]) -> int:
    """How long a processor takes that begins one product and one sum in a cycle, and looks ahead only so far."""
    product, total, quotient = thresholds.LATENCIES
    alone = set(fused.values())
    known: dict[int, int] = {}  # when each value is there
    products: set[int] = set()  # cycles in which one begins
    sums: set[int] = set()
    behind: list[int] = []  # when each instruction and those before it are finished
    for x in order:
        ready = max((known.get(id(a), 0) for a in x.args), default=0)
        if x.op in ("input", "neg", "sin", "cos") or id(x) in alone:
            known[id(x)] = ready
            continue
        n = len(behind)
        begin = max(ready, behind[n - thresholds.LOOK_AHEAD]) if n >= thresholds.LOOK_AHEAD else ready
        is_sum = x.op in _SUMS and id(x) not in fused
        busy = sums if is_sum else products
        while begin in busy:
            begin += 1
        busy.add(begin)
        end = known[id(x)] = begin + (total if is_sum else quotient if x.op == "inv" else product)
        behind.append(max(end, behind[-1]) if n else end)
    return behind[-1] if behind else 0
