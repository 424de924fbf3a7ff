"""What belongs together in code: sums and the products that they alone use, which processors compute with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from ...symbols.scalar import Scalar

_SUMS = ("add", "sub")


def is_simple(x: Scalar) -> bool:
    """Whether a value is an input, or one operation on inputs and constants, that is no sine: those are calls."""
    if x.op in ("input", "sin", "cos"):
        return x.op == "input"
    return all(not isinstance(a, Scalar) or a.op == "input" for a in x.args)


def without_sign(x: Any) -> Any:
    """A value, or what it is the negative of."""
    return x.args[0] if isinstance(x, Scalar) and x.op == "neg" else x


def fused_operands(x: Scalar, fused: Mapping[int, int]) -> tuple[int, Any, Any, Any, int]:
    """(sign, a, b, c, sign) of a sum ±a b ± c that a product is fused into."""
    first, second = x.args
    other = 1 if x.op == "add" else -1
    is_first = fused[id(x)] == id(without_sign(first))
    product, rest = (first, second) if is_first else (second, first)
    a, b = without_sign(product).args
    sign = -1 if product.op == "neg" else 1
    return (sign, a, b, rest, other) if is_first else (sign * other, a, b, rest, 1)


def use_counts(nodes: Sequence[Scalar], wanted: Sequence[Any]) -> Counter[int]:
    """How often each value, by id, is an argument or wanted."""
    uses = Counter(map(id, chain.from_iterable([x.args for x in nodes])))
    uses.update(map(id, wanted))
    return uses  # in any order of the nodes the same


def absorbed(nodes: Sequence[Scalar], uses: Mapping[int, int]) -> dict[int, int]:
    """By the id of a sum, that of the product that is fused into it: nothing else uses it, nor its negative.

    It is the first of the two if both are such products. All targets of straight-line code on processors fuse these and
    no others, so that results are the same to the last digit whichever writes the code.
    """
    found: dict[int, int] = {}
    for x in nodes:
        if x.op in _SUMS:
            for a in x.args:
                if uses[id(a)] == 1 and isinstance(a, Scalar):
                    product = a if a.op != "neg" else a.args[0]
                    if product.op == "mul" and (product is a or uses[id(product)] == 1):
                        found[id(x)] = id(product)
                        break
    return found


def together(nodes: Sequence[Scalar], uses: Mapping[int, int]) -> list[list[Scalar]]:
    """The same values in groups that nothing divides: a sum and the products, or negatives, that it alone uses."""
    groups: dict[int, list[Scalar]] = {}
    within: set[int] = set()
    for x in nodes:
        if x.op in _SUMS:
            group = []
            for a in x.args:
                if uses[id(a)] == 1 and isinstance(a, Scalar) and a.op in ("mul", "neg"):
                    product = a.args[0] if a.op == "neg" else None
                    if product is not None and product.op == "mul" and uses[id(product)] == 1:
                        group.append(product)
                    group.append(a)
            if group:
                within.update(map(id, group))
                groups[id(x)] = [*group, x]
    return [groups.get(id(x)) or [x] for x in nodes if id(x) not in within]
