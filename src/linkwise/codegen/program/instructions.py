"""A program as instructions that processors have: products fused into the sums that alone use them, signs for nothing.

A negative is no instruction: whoever uses it subtracts. So every value is a number that is computed, or read, and a
sign.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...symbols.scalar import Scalar
from .fusion import fused_operands, is_simple
from .trace import Program

KNOWN = {"input", "add", "sub", "mul", "neg", "inv", "sqrt", "fabs", "select", "sin", "cos"}
COMPARISONS = ("less", "less_equal", "equal")
TRUTHS = (*COMPARISONS, "and", "or", "not")  # by their numbers in a condition
_SINES = ("sin", "cos")
_NO_CODE = TRUTHS  # who chooses by a condition makes it
MASKS = 6  # truths that can wait at a time
_MOST_COMPARISONS = 10  # of one condition, whose operands are in registers all at once


class Instruction(NamedTuple):
    """``value`` is what the operation gives for these operands, each a key and a sign.

    Operations are "fma" (a b + c, one rounding), "add", "mul", "div" (1 / a), "sqrt", "fabs", "neg"; "out", which
    stores an operand as result number ``value``; "select", the last operand but one or the last, by a condition on
    those before (``signs`` has it as numbers of :data:`TRUTHS`, each after what it is of); "guard", number ``value``,
    of one operand or two; and "sines", the sine and cosine of an angle that is computed, which have ``value`` and
    ``value`` + 1 as keys.
    """

    op: str
    value: int
    operands: tuple[int, ...]
    signs: tuple[int, ...] = ()


class Instructions(NamedTuple):
    """A program's instructions in order, and what their operands are that no instruction gives."""

    code: list[Instruction]
    inputs: dict[int, tuple[str, int]]  # by key: which input, and which number of it
    sines: dict[int, tuple[Scalar, bool]]  # by key: of which angle, and whether it is the cosine
    constants: dict[int, float]  # by key


def is_known(program: Program) -> bool:
    """Whether the program's values are all of kinds that have instructions: asked for at each step of making code."""
    return program.once(_is_known)


def _is_known(program: Program) -> bool:
    if not {x.op for x in program.nodes} <= KNOWN | set(TRUTHS):
        return False
    return all(_is_short(x.args[0]) for x in program.nodes if x.op == "select")


def _is_short(truth: Scalar) -> bool:
    """Whether a condition can be made where it is needed."""
    found = _condition(truth, _MOST_COMPARISONS)
    if found is None:
        return False
    waiting = most = 0
    for x in found:
        waiting += {"not": 0, "and": -1, "or": -1}.get(x.op, 1)
        most = max(most, waiting)
    return most <= MASKS


def _condition(truth: Scalar, most: int) -> list[Scalar] | None:
    """The truths that a condition is made of, each after those it is of; None where it has too many comparisons."""
    if truth.op in COMPARISONS:
        return [truth] if most else None
    found: list[Scalar] = []
    for x in truth.args:
        parts = _condition(x, most - sum(y.op in COMPARISONS for y in found))
        if parts is None:
            return None
        found += parts
    return [*found, truth]


def instructions(program: Program, places: dict[int, int]) -> Instructions:
    """The program's instructions, in its order; ``places`` says as which results nodes, by id, are stored."""
    return _Reader(program, places).read()


class _Reader:
    def __init__(self, program: Program, places: dict[int, int]) -> None:
        self.program, self.places = program, places
        self.result = Instructions([], {}, {}, {})
        self.known: dict[int, tuple[int, int]] = {}  # key and sign, by id of a node
        self.constant_keys: dict[float, int] = {}
        self.keys = 0
        self.pairs: dict[int, int] = {}  # by id of a computed angle

    def read(self) -> Instructions:
        nodes = self.program.nodes
        fused = set(self.program.fused.values())
        waiting = self._guards(nodes)
        for number, guard in enumerate(self.program.guards):
            if not guard.nodes:
                self._guard(number)
        for node in nodes:
            if id(node) in fused:
                continue
            if node.op == "neg":
                self._negative(node, fused)
            elif node.op not in _NO_CODE:
                self._node(node)
            if id(node) in self.places:
                key, sign = self.known[id(node)]
                self._emit("out", self.places[id(node)], (key,), (sign,))
            for number in waiting.get(id(node), ()):
                self._guard(number)
        return self.result

    def _negative(self, node: Scalar, fused: set[int]) -> None:
        """It is what it is of with the other sign; where that has no instruction of its own nobody asks."""
        if id(node.args[0]) not in fused:
            key, sign = self.known[id(node.args[0])]
            self.known[id(node)] = key, -sign

    def _guard(self, number: int) -> None:
        guard = self.program.guards[number]
        looked = [guard.value, guard.size] if isinstance(guard.size, Scalar) else [guard.value]
        self._emit("guard", number, tuple(self._plain(x) for x in looked))

    def _guards(self, nodes: Sequence[Scalar]) -> dict[int, list[int]]:
        """The guards' numbers by the node, of those they look at, that is computed last."""
        guards = self.program.guards
        looked = {id(x) for g in guards for x in g.nodes}
        where = {id(x): i for i, x in enumerate(nodes) if id(x) in looked}
        found: dict[int, list[int]] = {}
        for number, g in enumerate(guards):
            if g.nodes:
                found.setdefault(id(max(g.nodes, key=lambda x: where[id(x)])), []).append(number)
        return found

    def _new(self) -> int:
        self.keys += 1
        return self.keys

    def _emit(self, op: str, value: int, operands: tuple[int, ...], signs: tuple[int, ...] = ()) -> None:
        self.result.code.append(Instruction(op, value, operands, signs))

    def operand(self, x: Any) -> tuple[int, int]:
        """Key and sign of a value."""
        found = self.known.get(id(x))
        if found is not None:
            return found
        size = abs(x)
        if size not in self.constant_keys:
            key = self.constant_keys[size] = self._new()
            self.result.constants[key] = size
        return self.constant_keys[size], -1 if math.copysign(1.0, x) < 0 else 1  # −0 is not below 0

    def _plain(self, x: Any) -> int:
        """The key of a value with its sign in it."""
        key, sign = self.operand(x)
        if sign > 0:
            return key
        value = self._new()
        self._emit("neg", value, (key,))
        return value

    def _node(self, x: Scalar) -> None:
        if x.op in ("add", "sub"):
            self.known[id(x)] = self._sum(x)
        elif x.op == "mul":
            (a, p), (b, q) = map(self.operand, x.args)
            key = self._new()
            self._emit("mul", key, (a, b))
            self.known[id(x)] = key, p * q
        elif x.op == "input":
            key = self._new()
            self.result.inputs[key] = (x.args[0], x.args[1])
            self.known[id(x)] = key, 1
        elif x.op in _SINES:
            self.known[id(x)] = self._sine(x), 1
        elif x.op == "inv":
            key, sign = self.operand(x.args[0])
            self._emit("div", self._new(), (key,))
            self.known[id(x)] = self.keys, sign
        elif x.op == "select":
            condition = _condition(x.args[0], _MOST_COMPARISONS) or []
            compared = [a for truth in condition if truth.op in COMPARISONS for a in truth.args]
            operands = tuple(self._plain(a) for a in (*compared, *x.args[1:]))
            self._emit("select", self._new(), operands, tuple(TRUTHS.index(truth.op) for truth in condition))
            self.known[id(x)] = self.keys, 1
        else:
            operand = self._plain(x.args[0]) if x.op == "sqrt" else self.operand(x.args[0])[0]
            self._emit(x.op, self._new(), (operand,))
            self.known[id(x)] = self.keys, 1

    def _sine(self, x: Scalar) -> int:
        angle = x.args[0]
        is_cosine = x.op == "cos"
        if is_simple(angle):
            self.result.sines[self._new()] = (angle, is_cosine)
            return self.keys
        if id(angle) not in self.pairs:
            operand = self._plain(angle)
            self.pairs[id(angle)] = self._new()
            self._new()
            self._emit("sines", self.pairs[id(angle)], (operand,))
        return self.pairs[id(angle)] + is_cosine

    def _sum(self, x: Scalar) -> tuple[int, int]:
        if id(x) in self.program.fused:
            sign, first, second, rest, other = fused_operands(x, self.program.fused)
            (a, p), (b, q), (c, r) = self.operand(first), self.operand(second), self.operand(rest)
            key = self._new()
            self._emit("fma", key, (a, b, c), (sign * p * q, other * r))
            return key, 1
        first, second = x.args
        (a, p), (b, q) = self.operand(first), self.operand(second)
        if x.op == "sub":
            q = -q
        if p < 0 and q < 0:
            a, p = self._plain(first), 1
        key = self._new()
        self._emit("add", key, (a, b), (p, q))
        return key, 1
