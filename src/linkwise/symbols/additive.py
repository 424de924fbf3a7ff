"""How a variable enters a value as a plain term: the number c in value = c·variable + what else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .operations import OPERATIONS
from .outputs import reachable
from .scalar import Scalar


def additive_factor(value: Any, variable: Scalar, numbers: Mapping[int, Any] | None = None) -> Any:
    """The number by which a variable is multiplied among the terms of a sum, 0 where it is none of them.

    Through sums, differences, signs, numbers that multiply, and choices (limits, as of clip), of which the branch with
    the larger factor counts. What the variable does within products and functions is not looked for. ``numbers`` are
    the values, by serial, of nodes that count as numbers (:func:`numbers_among`), arrays for many states.
    """
    given = {} if numbers is None else numbers
    known: dict[int, Any] = {variable.serial: 1.0}
    waiting: list[Any] = [value]
    while waiting:
        x = waiting[-1]
        if not isinstance(x, Scalar) or x.serial in known:
            waiting.pop()
            continue
        terms = _terms(x, given)
        missing = [y for y, _ in terms if isinstance(y, Scalar) and y.serial not in known]
        if missing:
            waiting += missing
            continue
        found = [c * known[y.serial] for y, c in terms if isinstance(y, Scalar)]
        known[x.serial] = _largest(found) if x.op == "select" else sum(found, 0.0)
        waiting.pop()
    return known[value.serial] if isinstance(value, Scalar) else 0.0


def _terms(x: Scalar, numbers: Mapping[int, Any]) -> list[tuple[Any, Any]]:
    """The values that a node is a sum of, each with its factor; those it chooses from; nothing of any other node."""
    if x.op == "add":
        return [(y, 1.0) for y in x.args]
    if x.op == "sub":
        return [(x.args[0], 1.0), (x.args[1], -1.0)]
    if x.op == "neg":
        return [(x.args[0], -1.0)]
    if x.op == "mul":
        for a, b in (x.args, x.args[::-1]):
            if isinstance(b, float) or b.serial in numbers:
                return [(a, b if isinstance(b, float) else numbers[b.serial])]
    return [(y, 1.0) for y in x.args[1:]] if x.op == "select" else []


def _largest(found: list[Any]) -> Any:
    """The factor of the largest size, in each state; the first of several, and NaN where one is not known."""
    out = found[0] if found else 0.0
    for x in found[1:]:
        out = np.where((np.abs(x) > np.abs(out)) | np.isnan(x), x, out)
    return out


def numbers_among(values: Any, name: str, given: np.ndarray) -> dict[int, Any]:
    """The nodes that depend on nothing but the input ``name``, by serial, where it has the values (..., n)."""
    known: dict[int, Any] = {}
    with np.errstate(all="ignore"):  # what is computed and not chosen may be infinite or no number
        for x in reachable(values):
            if x.op == "input":
                if x.args[0] == name:
                    known[x.serial] = given[..., x.args[1]]
            elif all(not isinstance(a, Scalar) or a.serial in known for a in x.args):
                arguments = [known[a.serial] if isinstance(a, Scalar) else a for a in x.args]
                known[x.serial] = _meaning(x.op, arguments)
    return known


def _meaning(op: str, arguments: list[Any]) -> Any:
    """What a node is, state by state: NumPy's functions may round an entry by how many there are beside it."""
    flat = np.broadcast_arrays(*arguments)
    found = [float(OPERATIONS[op].meaning(*(float(x) for x in row))) for row in zip(*(x.ravel() for x in flat))]
    return np.array(found).reshape(flat[0].shape)
