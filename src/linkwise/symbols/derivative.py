"""Exact derivatives of symbols, as symbols: forward mode and reverse mode.

The derivatives' nodes live in the same graph as the values', so what both need is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import InputError
from .scalar import Scalar, reachable


def _partials(node: Scalar) -> list[Any]:
    """The derivatives of a node with respect to its arguments."""
    a = node.args
    if node.op == "add":
        return [1.0, 1.0]
    if node.op == "sub":
        return [1.0, -1.0]
    if node.op == "mul":
        return [a[1], a[0]]
    if node.op == "neg":
        return [-1.0]
    if node.op == "inv":
        return [-(node * node)]
    if node.op == "sqrt":
        return [0.5 / node]
    if node.op == "sin":
        return [a[0].cos()]
    if node.op == "cos":
        return [-a[0].sin()]
    if node.op == "log":
        return [1.0 / a[0]]
    if node.op == "exp":
        return [node]
    if node.op == "atan2":
        inverse = 1.0 / (a[0] * a[0] + a[1] * a[1])
        return [a[1] * inverse, -(a[0] * inverse)]
    if node.op == "less":
        return [0.0, 0.0]
    raise InputError(f"operation {node.op} has no derivative")


def along(outputs: Sequence[Any], variables: Sequence[Any], seeds: Sequence[Any]) -> list[Any]:
    """Forward mode over any values of a graph: the derivatives of ``outputs`` where ``variables`` move by ``seeds``.

    The variables are taken as independent of each other, whatever they were computed from.
    """
    moving: dict[int, Any] = {id(x): d for x, d in zip(variables, seeds) if isinstance(x, Scalar)}
    for node in reachable(outputs):
        if id(node) not in moving:
            moving[id(node)] = _moved(node, [moving[id(x)] if isinstance(x, Scalar) else 0.0 for x in node.args])
    return [moving[id(x)] if isinstance(x, Scalar) else 0.0 for x in outputs]


def _moved(node: Scalar, changes: list[Any]) -> Any:
    """How a node changes with its arguments."""
    if node.op == "input":
        return 0.0
    if node.op == "select":  # the branch not taken may have no derivative at all
        return node.args[0].select(*changes[1:])
    total: Any = 0.0
    for partial, change in zip(_partials(node), changes):
        if not (isinstance(change, float) and change == 0.0):
            total = total + partial * change
    return total


def against(outputs: Sequence[Any], weights: Sequence[Any], nodes: Sequence[Scalar]) -> dict[tuple[str, int], Any]:
    """Reverse mode: the derivatives of Σ weight · output by every input among ``nodes``, which have arguments first."""
    back: dict[int, Any] = {}
    for root, weight in zip(outputs, weights):
        if isinstance(root, Scalar):
            back[id(root)] = back.get(id(root), 0.0) + weight
    out: dict[tuple[str, int], Any] = {}
    for node in reversed(nodes):
        weight = back.get(id(node), 0.0)
        if node.op == "input":
            out[node.args[0], node.args[1]] = weight
            continue
        if isinstance(weight, float) and weight == 0.0:
            continue
        for x, share in zip(node.args, _shares(node, weight)):
            if isinstance(x, Scalar):
                back[id(x)] = _sum(back.get(id(x), 0.0), share)
    return out


def _shares(node: Scalar, weight: Any) -> list[Any]:
    """A node's weight handed to its arguments."""
    if node.op == "select":
        return [0.0, node.args[0].select(weight, 0.0), node.args[0].select(0.0, weight)]
    return [_product(weight, partial) for partial in _partials(node)]


# A weight that a choice has made zero stays zero whatever it is multiplied with: the branch that is not taken may have
# an infinite derivative. Products and sums of such weights are therefore taken inside the choice.


def _branches(x: Any) -> tuple[Any, Any, Any] | None:
    """(condition, yes, no) of a choice between a value and zero."""
    if isinstance(x, Scalar) and x.op == "select" and any(isinstance(b, float) and b == 0.0 for b in x.args[1:]):
        return x.args
    return None


def _product(weight: Any, partial: Any) -> Any:
    if isinstance(weight, float) and weight == 0.0:
        return 0.0
    chosen = _branches(weight)
    if chosen is None:
        return weight * partial
    condition, yes, no = chosen
    return condition.select(_product(yes, partial), _product(no, partial))


def _sum(a: Any, b: Any) -> Any:
    first, second = _branches(a), _branches(b)
    if first is None or second is None or first[0] is not second[0]:
        return a + b
    return first[0].select(_sum(first[1], second[1]), _sum(first[2], second[2]))
