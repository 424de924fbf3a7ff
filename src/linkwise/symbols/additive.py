"""How a variable enters a value as a plain term: the number c in value = c·variable + what else."""

from __future__ import annotations

from typing import Any

from .scalar import Scalar


def additive_factor(value: Any, variable: Scalar) -> float:
    """The number by which a variable is multiplied among the terms of a sum, 0 where it is none of them.

    Through sums, differences, signs, numbers that multiply, and choices (limits, as of clip), of which the branch with
    the larger factor counts. What the variable does within products and functions is not looked for.
    """
    known: dict[int, float] = {variable.serial: 1.0}
    waiting: list[Any] = [value]
    while waiting:
        x = waiting[-1]
        if not isinstance(x, Scalar) or x.serial in known:
            waiting.pop()
            continue
        terms = _terms(x)
        missing = [y for y, _ in terms if isinstance(y, Scalar) and y.serial not in known]
        if missing:
            waiting += missing
            continue
        found = [c * known[y.serial] for y, c in terms if isinstance(y, Scalar)]
        known[x.serial] = max(found, key=abs, default=0.0) if x.op == "select" else float(sum(found))
        waiting.pop()
    return known[value.serial] if isinstance(value, Scalar) else 0.0


def _terms(x: Scalar) -> list[tuple[Any, float]]:
    """The values that a node is a sum of, each with its factor; those it chooses from; nothing of any other node."""
    if x.op == "add":
        return [(y, 1.0) for y in x.args]
    if x.op == "sub":
        return [(x.args[0], 1.0), (x.args[1], -1.0)]
    if x.op == "neg":
        return [(x.args[0], -1.0)]
    if x.op == "mul" and isinstance(x.args[1], float):
        return [(x.args[0], x.args[1])]
    return [(y, 1.0) for y in x.args[1:]] if x.op == "select" else []
