"""Exact derivatives of symbols, as symbols: forward mode and reverse mode.

The derivatives' nodes live in the same graph as the values', so what both need is computed once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .operations import TRUTHS
from .outputs import reachable
from .scalar import Scalar


def _fabs(x: Any) -> Any:
    """The sign of x, and 0 at the kink."""
    return (x > 0.0).select(1.0, (x < 0.0).select(-1.0, 0.0))


def _of_power(y: Any, a: Any, b: Any) -> list[Any]:
    by_base = b * a ** (b - 1.0)
    if not isinstance(b, Scalar):
        return [by_base, 0.0]
    # 0ᵇ stays 0 where b moves (and is positive), though the logarithm is infinite.
    with np.errstate(all="ignore"):
        logarithm = a.log() if isinstance(a, Scalar) else float(np.log(a))
    return [by_base, (y == 0.0).select(0.0, y * logarithm)]


def _of_arctangent(node: Any, y: Any, x: Any) -> list[Any]:
    inverse = 1.0 / (y * y + x * x)
    return [x * inverse, -(y * inverse)]


# The derivatives of each operation with respect to its arguments, given its value and those. Roundings, comparisons and
# what combines them are constant but for their jumps; a choice is handled apart.
_PARTIALS: dict[str, Callable[..., list[Any]]] = {
    "add": lambda y, a, b: [1.0, 1.0],
    "sub": lambda y, a, b: [1.0, -1.0],
    "mul": lambda y, a, b: [b, a],
    "neg": lambda y, a: [-1.0],
    "inv": lambda y, a: [-(y * y)],
    "sqrt": lambda y, a: [0.5 / y],
    "sin": lambda y, a: [a.cos()],
    "cos": lambda y, a: [-a.sin()],
    "asin": lambda y, a: [1.0 / (1.0 - a * a).sqrt()],
    "acos": lambda y, a: [-(1.0 / (1.0 - a * a).sqrt())],
    "atan2": _of_arctangent,
    "sinh": lambda y, a: [a.cosh()],
    "cosh": lambda y, a: [a.sinh()],
    "tanh": lambda y, a: [1.0 - y * y],
    "asinh": lambda y, a: [1.0 / (1.0 + a * a).sqrt()],
    "acosh": lambda y, a: [1.0 / (a * a - 1.0).sqrt()],
    "atanh": lambda y, a: [1.0 / (1.0 - a * a)],
    "exp": lambda y, a: [y],
    "exp2": lambda y, a: [y * math.log(2.0)],
    "expm1": lambda y, a: [y + 1.0],
    "log": lambda y, a: [1.0 / a],
    "log2": lambda y, a: [1.0 / (a * math.log(2.0))],
    "log10": lambda y, a: [1.0 / (a * math.log(10.0))],
    "log1p": lambda y, a: [1.0 / (1.0 + a)],
    "cbrt": lambda y, a: [1.0 / (3.0 * y * y)],
    "pow": _of_power,
    "hypot": lambda y, a, b: [a / y, b / y],
    "fmod": lambda y, a, b: [1.0, -_quotient(a, b)],
    "fabs": lambda y, a: [_fabs(a)],
    "copysign": lambda y, a, b: [_sign(a) * _sign(b), 0.0],
}
_CONSTANT = frozenset({"floor", "ceil", "trunc", "rint"}) | TRUTHS


def _quotient(a: Any, b: Any) -> Any:
    """a/b without its fraction."""
    ratio = a / b
    return ratio.graph.node("trunc", ratio) if isinstance(ratio, Scalar) else float(np.trunc(ratio))


def _sign(x: Any) -> Any:
    """The sign of a number as ±1, that of a zero too."""
    return x.graph.node("copysign", 1.0, x) if isinstance(x, Scalar) else math.copysign(1.0, x)


def _partials(node: Scalar) -> list[Any]:
    """The derivatives of a node with respect to its arguments."""
    if node.op in _CONSTANT:
        return [0.0 for _ in node.args]
    return _PARTIALS[node.op](node, *node.args)


@dataclass(frozen=True, eq=False)
class Call:
    """A part of a graph whose derivatives are known: ``results`` as a function of ``arguments``, and of nothing else.

    ``adjoint`` takes weights of the results to those of the arguments, ``direction`` changes of the arguments to those
    of the results. Where a result is also needed for an argument, by the same node, the call has no meaning of its own,
    and its nodes are differentiated one by one: :func:`apart` says which have.
    """

    arguments: tuple[Any, ...]
    results: tuple[Any, ...]
    adjoint: Callable[[list[Any]], Sequence[Any]]
    direction: Callable[[list[Any]], Sequence[Any]]


def apart(calls: Sequence[Call]) -> dict[int, Call]:
    """The calls by the nodes that are their results alone, of those that can be told from what is around them."""
    found: dict[int, Call] = {}
    before: set[int] = set()
    for call in calls:
        before |= {id(x) for x in reachable(call.arguments)}
        own = {id(x) for x in call.results if isinstance(x, Scalar)}
        if not (own & before or own & found.keys()):
            found |= dict.fromkeys(own, call)
    return found


def _order(outputs: Sequence[Any], of: dict[int, Call]) -> list[Scalar]:
    """Every node that the outputs need, what it depends on first; results of calls depend on the arguments."""
    return reachable(outputs, instead={node: call.arguments for node, call in of.items()})


def along(
    outputs: Sequence[Any], variables: Sequence[Any], seeds: Sequence[Any], calls: Sequence[Call] = ()
) -> list[Any]:
    """Forward mode over any values of a graph: the derivatives of ``outputs`` where ``variables`` move by ``seeds``.

    The variables are taken as independent of each other, whatever they were computed from.
    """
    moving: dict[int, Any] = {id(x): d for x, d in zip(variables, seeds) if isinstance(x, Scalar)}
    graph = next((x.graph for x in outputs if isinstance(x, Scalar)), None)
    if graph is not None and graph.changes_of_carries is not None:
        graph.changes_of_carries(moving)
    return moved(outputs, moving, calls)


def moved(outputs: Sequence[Any], moving: dict[int, Any], calls: Sequence[Call] = ()) -> list[Any]:
    """The changes of ``outputs``, given and added to those of other nodes, by id."""
    of = apart(calls)
    for node in _order(outputs, of):
        if id(node) in moving:
            continue
        if id(node) in of:
            call = of[id(node)]
            changes = [moving[id(x)] if isinstance(x, Scalar) else 0.0 for x in call.arguments]
            found = call.direction(changes) if any(_moves(x) for x in changes) else [0.0] * len(call.results)
            moving |= {id(x): d for x, d in zip(call.results, found) if isinstance(x, Scalar)}
        else:
            moving[id(node)] = _moved(node, [moving[id(x)] if isinstance(x, Scalar) else 0.0 for x in node.args])
    return [moving[id(x)] if isinstance(x, Scalar) else 0.0 for x in outputs]


def _moves(x: Any) -> bool:
    return not (isinstance(x, float) and x == 0.0)


def _moved(node: Scalar, changes: list[Any]) -> Any:
    """How a node changes with its arguments."""
    if node.op == "input":
        return 0.0
    if node.op == "select":  # the branch not taken may have no derivative at all
        return node.args[0].select(*changes[1:])
    total: Any = 0.0
    for partial, change in zip(_partials(node), changes):
        if _moves(change):
            total = total + partial * change
    return total


def against(
    outputs: Sequence[Any], weights: Sequence[Any], nodes: Sequence[Scalar], calls: Sequence[Call] = ()
) -> dict[tuple[str, int], Any]:
    """Reverse mode: the derivatives of Σ weight · output by every input among ``nodes``, which have arguments first."""
    back: dict[int, Any] = {}
    for root, weight in zip(outputs, weights):
        if isinstance(root, Scalar):
            back[id(root)] = back.get(id(root), 0.0) + weight
    of = apart(calls)
    out: dict[tuple[str, int], Any] = {}
    order = _order(outputs, of) if of else nodes
    first = {id(of[id(x)]): id(x) for x in reversed(order) if id(x) in of}  # the result of a call that comes first
    for node in reversed(order):
        weight = back.get(id(node), 0.0)
        if id(node) in of:
            call = of[id(node)]
            if first[id(call)] == id(node):  # all that depends on its results has had its turn
                _hand_back(call, back)
        elif node.op == "input":
            out[node.args[0], node.args[1]] = weight
        elif _moves(weight):
            for x, share in zip(node.args, _shares(node, weight)):
                if isinstance(x, Scalar):
                    back[id(x)] = _sum(back.get(id(x), 0.0), share)
    return out


def _hand_back(call: Call, back: dict[int, Any]) -> None:
    """The weights of a call's results handed to its arguments."""
    weights = [back.pop(id(x), 0.0) if isinstance(x, Scalar) else 0.0 for x in call.results]
    if any(_moves(w) for w in weights):
        for x, share in zip(call.arguments, call.adjoint(weights)):
            if isinstance(x, Scalar):
                back[id(x)] = _sum(back.get(id(x), 0.0), share)


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
