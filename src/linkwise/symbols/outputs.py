"""What outputs of a scalar program need: their nodes in order, how many operations they take, and their values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .operations import OPERATIONS, Operations
from .scalar import Scalar


def reachable(
    outputs: Iterable[Any], stop: Container[int] = (), instead: Mapping[int, Sequence[Any]] | None = None
) -> list[Scalar]:
    """Every node that the outputs need, arguments before their users.

    ``stop`` holds ids of nodes that are known, and ``instead`` what nodes, by id, are taken to depend on.
    """
    others = instead or {}
    order: list[Scalar] = []
    seen: set[int] = set()
    stack: list[Any] = [x for x in outputs if isinstance(x, Scalar)][::-1]
    while stack:
        node = stack.pop()
        if node is None:  # what stands below it has its arguments now
            order.append(stack.pop())
        elif id(node) not in seen:
            seen.add(id(node))
            known = id(node) in stop
            needed = others.get(id(node), node.args) if others else node.args
            missing = [] if known else [a for a in needed if isinstance(a, Scalar) and id(a) not in seen]
            if missing:
                stack += (node, None, *missing)
            else:
                order.append(node)
    return order


def count(outputs: Iterable[Any], stop: Container[int] = ()) -> Operations:
    """The operations that computing these outputs takes, given the nodes of ``stop``."""
    return counted(node for node in reachable(outputs, stop) if id(node) not in stop)


def counted(nodes: Iterable[Scalar]) -> Operations:
    """The operations of these nodes themselves."""
    totals: dict[str, int] = {}
    for op, times in Counter(node.op for node in nodes).items():
        kind = OPERATIONS[op].counts if op in OPERATIONS else ""
        if kind:
            totals[kind] = totals.get(kind, 0) + times
    return Operations(**totals)


def evaluate(outputs: Iterable[Any], values: dict[str, Any]) -> list[float]:
    """Run the program on numbers: ``values`` maps input names to sequences. The oracle of all targets."""
    outputs = list(outputs)
    known: dict[int, float] = {}
    with np.errstate(all="ignore"):  # what is computed and not chosen may be infinite or no number
        for node in reachable(outputs):
            if node.op == "input":
                known[id(node)] = float(values[node.args[0]][node.args[1]])
            else:
                arguments = [known[id(a)] if isinstance(a, Scalar) else a for a in node.args]
                known[id(node)] = float(OPERATIONS[node.op].meaning(*arguments))
    return [known[id(x)] if isinstance(x, Scalar) else float(x) for x in outputs]
