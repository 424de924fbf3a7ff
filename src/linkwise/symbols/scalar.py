"""The scalar program: expressions over +, ×, ÷, √, sin, cos as a hash-consed graph.

Run any algorithm of linkwise on NumPy object arrays of :class:`Scalar` and the graph of what it computes
remains: equal sub-expressions are one node, constants are folded, zeros, ones and signs propagate, and
what no output needs is never counted. Constants are plain floats, so only what depends on inputs is here.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from ..errors import UntraceableError

Number = (int, float, np.floating, np.integer)


@dataclass(frozen=True)
class Operations:
    """How many operations of each kind a program takes. Subtractions are additions; signs are free."""

    additions: int = 0
    multiplications: int = 0
    divisions: int = 0
    roots: int = 0
    sines: int = 0  # sines, cosines, logarithms, exponentials, arctangents
    comparisons: int = 0  # comparisons and choices

    @property
    def total(self) -> int:
        return sum(astuple(self))

    def __str__(self) -> str:
        parts = [(self.multiplications, "×"), (self.additions, "+"), (self.divisions, "÷"), (self.roots, "√")]
        parts += [(self.sines, "sin/cos"), (self.comparisons, "<")]
        return ", ".join(f"{n} {symbol}" for n, symbol in parts if n) or "none"


class Graph:
    """Where the nodes of one program live, each stored once."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[Any, ...], Scalar] = {}
        self.guards: list[Scalar] = []  # what must be positive for the results that depend on it to mean anything
        self.conditions: list[Scalar] = []  # what must be positive whatever is computed

    def inputs(self, name: str, count: int) -> np.ndarray:
        """An object array (count,) of new inputs."""
        out = np.empty(count, dtype=object)
        for i in range(count):
            out[i] = self.node("input", name, i)
        return out

    def node(self, op: str, *args: Any) -> Scalar:
        key = (op, *(("#", a.serial) if isinstance(a, Scalar) else a for a in args))
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = Scalar(self, op, args, len(self._nodes))
        return found


class Scalar:
    """One value of the program. Arithmetic with numbers and other scalars makes new values."""

    __slots__ = ("args", "graph", "op", "serial")

    def __init__(self, graph: Graph, op: str, args: tuple[Any, ...], serial: int) -> None:
        self.graph, self.op, self.args, self.serial = graph, op, args, serial

    def __neg__(self) -> Any:
        return self.args[0] if self.op == "neg" else self.graph.node("neg", self)

    def __pos__(self) -> Scalar:
        return self

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Number):
            return self if other == 0 else self.graph.node("add", self, float(other))
        if not isinstance(other, Scalar):
            return NotImplemented
        if other.op == "neg":
            return self._minus(other.args[0])
        if self.op == "neg":
            return other._minus(self.args[0])
        return self.graph.node("add", *_ordered(self, other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other) if isinstance(other, (Scalar, *Number)) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def _minus(self, other: Scalar) -> Any:
        if other is self:
            return 0.0
        if self.op == "neg" or other.op == "neg":
            return self + (-other) if other.op == "neg" else -(self.args[0] + other)
        # x − y and y − x are one subtraction.
        first, second = _ordered(self, other)
        difference = self.graph.node("sub", first, second)
        return difference if first is self else -difference

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Number):
            return self._scaled(float(other))
        if not isinstance(other, Scalar):
            return NotImplemented
        a, b, negative = self, other, False
        if a.op == "neg":
            a, negative = a.args[0], not negative
        if b.op == "neg":
            b, negative = b.args[0], not negative
        product = self.graph.node("mul", *_ordered(a, b))
        return -product if negative else product

    __rmul__ = __mul__

    def _scaled(self, factor: float) -> Any:
        if factor == 0:
            return 0.0
        if factor == 1:
            return self
        if self.op == "neg":
            return self.args[0]._scaled(-factor)
        if factor < 0:
            return -self._scaled(-factor)
        if self.op == "mul" and isinstance(self.args[1], float):
            return self.args[0]._scaled(self.args[1] * factor)
        return self.graph.node("mul", self, factor)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Number):
            if other == 0:
                raise UntraceableError("a symbolic value is divided by the number zero")
            return self._scaled(1.0 / float(other))
        return self * other._reciprocal() if isinstance(other, Scalar) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return self._reciprocal() * other

    def _reciprocal(self) -> Any:
        return -self.args[0]._reciprocal() if self.op == "neg" else self.graph.node("inv", self)

    def __pow__(self, exponent: Any) -> Any:
        """Whole and half powers, by multiplications, a root and a division."""
        doubled = 2 * exponent
        if not isinstance(exponent, Number) or doubled != int(doubled):
            raise UntraceableError(f"only whole and half powers can be traced, got {exponent!r}")
        if exponent < 0:
            return 1.0 / self**-exponent
        if int(doubled) % 2:
            return self.sqrt() * self ** int(exponent)
        return self._power(int(exponent))

    def _power(self, exponent: int) -> Any:
        if exponent <= 1:
            return self if exponent else 1.0
        half = self._power(exponent // 2)
        return half * half if exponent % 2 == 0 else half * half * self

    def __abs__(self) -> Any:
        return self.less(0.0).select(-self, self)

    def tan(self) -> Any:
        return self.sin() / self.cos()

    def hypot(self, other: Any) -> Any:
        return (self * self + other * other).sqrt()

    def exp(self) -> Any:
        return self.graph.node("exp", self)

    def require_positive(self, always: bool = False) -> None:
        """Have targets that can do so report states where this is not positive (a singular mass matrix)."""
        (self.graph.conditions if always else self.graph.guards).append(self)

    def less(self, other: Any) -> Scalar:
        """1 where self < other, otherwise 0; for :meth:`select`."""
        return self.graph.node("less", self, other if isinstance(other, Scalar) else float(other))

    def select(self, yes: Any, no: Any) -> Any:
        """``yes`` where self is true, otherwise ``no``."""
        yes, no = (x if isinstance(x, Scalar) else float(x) for x in (yes, no))
        same = yes is no or (isinstance(yes, float) and isinstance(no, float) and yes == no)
        return yes if same else self.graph.node("select", self, yes, no)

    def __bool__(self) -> bool:
        raise UntraceableError(
            "a symbol is neither true nor false: if, while, and, or, not, min, max and sorted cannot decide by it;"
            " use np.where(condition, yes, no), np.minimum, np.maximum, & and |"
        )

    def __float__(self) -> float:
        raise UntraceableError(
            "a symbol has no value that float(), the functions of math or an array of floats could take;"
            " use NumPy's function (np.sin for math.sin), and np.zeros_like(q) for an array that takes symbols"
        )

    def __complex__(self) -> complex:
        raise UntraceableError("a symbol is a real number without a value; complex numbers cannot be traced")

    def __int__(self) -> int:
        raise UntraceableError(
            "a symbol has no value that int() or round() could take; use np.floor, np.rint or np.trunc"
        )

    def __index__(self) -> int:
        raise UntraceableError("a symbol has no value that could be an index or a count; use np.where to choose")

    def __round__(self, digits: int | None = None) -> int:
        return int(self)

    __trunc__ = __floor__ = __ceil__ = __int__

    __lt__ = __le__ = __gt__ = __ge__ = lambda self, other: self.__bool__()

    def __eq__(self, other: object) -> bool:
        return self is other or self.__bool__()

    def __ne__(self, other: object) -> bool:
        return self is not other and self.__bool__()

    __hash__ = object.__hash__

    def log(self) -> Any:
        return self.graph.node("log", self)

    def arctan2(self, other: Any) -> Any:
        return self.graph.node("atan2", self, other if isinstance(other, Scalar) else float(other))

    def sqrt(self) -> Any:
        return self.graph.node("sqrt", self)

    def sin(self) -> Any:
        return -self.args[0].sin() if self.op == "neg" else self.graph.node("sin", self)

    def cos(self) -> Any:
        return self.args[0].cos() if self.op == "neg" else self.graph.node("cos", self)

    def __repr__(self) -> str:
        return f"<{self.op}>" if self.op != "input" else f"{self.args[0]}[{self.args[1]}]"


def _ordered(a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    """In order of creation, so that a program comes out the same in every run."""
    return (a, b) if a.serial <= b.serial else (b, a)


_KINDS = {
    "add": "additions",
    "sub": "additions",
    "mul": "multiplications",
    "inv": "divisions",
    "sqrt": "roots",
    "sin": "sines",
    "cos": "sines",
    "log": "sines",
    "exp": "sines",
    "atan2": "sines",
    "less": "comparisons",
    "select": "comparisons",
}


def reachable(outputs: Iterable[Any], stop: Container[int] = ()) -> list[Scalar]:
    """Every node that the outputs need, arguments before their users; ``stop`` holds ids of nodes that are known."""
    order: list[Scalar] = []
    seen: set[int] = set()
    stack = [(x, False) for x in outputs if isinstance(x, Scalar)][::-1]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            if id(node) not in stop:
                stack.extend((a, False) for a in node.args if isinstance(a, Scalar))
    return order


def count(outputs: Iterable[Any], stop: Container[int] = ()) -> Operations:
    """The operations that computing these outputs takes, given the nodes of ``stop``."""
    totals: dict[str, int] = {}
    for node in reachable(outputs, stop):
        if id(node) in stop:
            continue
        kind = _KINDS.get(node.op)
        if kind:
            totals[kind] = totals.get(kind, 0) + 1
    return Operations(**totals)


_FUNCTIONS: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "inv": lambda a: 1.0 / a,
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "log": math.log,
    "exp": math.exp,
    "atan2": math.atan2,
    "less": lambda a, b: float(a < b),
    "select": lambda c, a, b: a if c else b,
}


def evaluate(outputs: Iterable[Any], values: dict[str, Any]) -> list[float]:
    """Run the program on numbers: ``values`` maps input names to sequences. The oracle of all targets."""
    outputs = list(outputs)
    known: dict[int, float] = {}
    for node in reachable(outputs):
        if node.op == "input":
            known[id(node)] = float(values[node.args[0]][node.args[1]])
        else:
            arguments = [known[id(a)] if isinstance(a, Scalar) else a for a in node.args]
            known[id(node)] = _FUNCTIONS[node.op](*arguments)
    return [known[id(x)] if isinstance(x, Scalar) else float(x) for x in outputs]
