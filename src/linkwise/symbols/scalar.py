"""The scalar program: expressions over +, ×, ÷, √, sin, cos, comparisons and choices as a hash-consed graph.

Run any algorithm of linkwise on NumPy object arrays of :class:`Scalar` and the graph of what it computes
remains: equal sub-expressions are one node, constants are folded, zeros, ones and signs propagate, and
what no output needs is never counted. Constants are plain floats, so only what depends on inputs is here.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import LinkwiseError, UntraceableError
from .operations import OPERATIONS

Number = (int, float, np.floating, np.integer)
# Up to this, powers are taken by multiplications: x⁷ is off by 4 roundings so, x³² by 23, x⁶⁴ by 49, by pow 0.7; but in
# a compiled batch x³¹ takes 0.85 ns and pow 11 ns.
_MOST_FACTORS = 32


@dataclass(frozen=True, eq=False)
class Guard:
    """value > roundings · ε · size, with ε the rounding of the precision a program runs in (NaN passes)."""

    value: Any
    size: Any
    roundings: int
    on: tuple[Scalar, ...]  # results that depend on none of these do not need it

    @property
    def nodes(self) -> list[Scalar]:
        """What it looks at."""
        return [x for x in (self.value, self.size) if isinstance(x, Scalar)]

    @property
    def key(self) -> tuple[Any, ...]:
        """The same for guards that say the same."""
        return (*(id(x) if isinstance(x, Scalar) else x for x in (self.value, self.size)), self.roundings)

    def limit(self, epsilon: float) -> tuple[float, Any]:
        """(factor, size): the value must exceed their product; a size that is a number is in the factor."""
        factor = self.roundings * epsilon
        return (factor, self.size) if isinstance(self.size, Scalar) else (factor * float(self.size), None)


class TooLongError(LinkwiseError):
    """A program with more values than it was said to have at most."""


class OtherProgramError(UntraceableError):
    """A symbol of one program is used in another."""


_TEXT = threading.local()  # whether symbols have no text in this thread


@contextmanager
def text_refused() -> Iterator[None]:
    """While a function is traced that is to be called for its numbers alone: symbols in names and messages are none."""
    before = getattr(_TEXT, "refused", False)
    _TEXT.refused = True
    try:
        yield
    finally:
        _TEXT.refused = before


class Graph:
    """Where the nodes of one program live, each stored once; no more than ``most`` of them."""

    _free = 0  # no program yet has a node with this serial or a later one

    def __init__(self, most: int | None = None) -> None:
        self.most = self._stop = sys.maxsize if most is None else most
        self._waiting: list[Callable[[], Any]] = []
        self._of_values: dict[tuple[Any, ...], Scalar] = {}  # operation and serials → node of these values alone
        self._others: dict[tuple[Any, ...], Scalar] = {}  # of numbers too, which could be serials
        self.guards: list[Guard] = []  # what must hold for the results that depend on it to mean anything
        self.conditions: list[Guard] = []  # what must hold whatever is computed
        # Where inputs stand for what other values will be: adds their changes to those of variables, by id of the node.
        self.changes_of_carries: Callable[[dict[int, Any]], None] | None = None
        self._programs = 0  # that have its nodes
        self._begun = Graph._free  # the serial of its first node

    def __getstate__(self) -> dict[str, Any]:
        """A copy is held by copies of programs, which say so themselves."""
        return self.__dict__ | {"_programs": 0}

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside, it is not discarded by :meth:`let_go`."""
        self.hold()
        try:
            yield
        finally:
            self.let_go()

    @property
    def count(self) -> int:
        """How many nodes there are."""
        return len(self._of_values) + len(self._others)

    def hold(self) -> None:
        """One more program has its nodes, or is being made. What is discarded has lost its guards, and has none."""
        if self.most == _NO_MORE:
            raise self._refusal()
        self._end_serials()
        self._programs += 1

    def let_go(self) -> None:
        """One of them is gone. After the last it is discarded."""
        self._programs -= 1
        if self._programs == 0:
            self.discard()

    def discard(self) -> None:
        """Forget the nodes, when no more will be made: with them it is a cycle, and waits for a search for garbage."""
        self._end_serials()
        self._begun = Graph._free
        self._of_values, self._others = {}, {}
        self.guards, self.conditions, self.changes_of_carries = [], [], None
        self.most = self._stop = _NO_MORE

    def _end_serials(self) -> None:
        """Symbols that somebody keeps are not to be taken for those of graphs that come later."""
        Graph._free = max(Graph._free, self._begun + self.count)

    def refuse_length(self) -> None:
        """Refuse more values than there may be, which no sum came after."""
        if self.count > self.most:
            raise self._refusal()

    def _refusal(self) -> LinkwiseError:
        if self.most == _NO_MORE:
            return OtherProgramError(
                "this symbol is of a program that is not there any longer: a function that is traced cannot keep"
                " symbols from one call to another"
            )
        return TooLongError(f"more than {self.most} values")

    def wait(self, call: Callable[[], Any]) -> None:
        """Have this called by the next sum, or by whoever asks for it: it may raise what it likes."""
        self._waiting.append(call)
        self._stop = -1

    def call_waiting(self) -> None:
        """Call what waits, each once."""
        self._stop = self.most
        while self._waiting:
            self._waiting.pop(0)()

    def require_above(self, value: Any, size: Any, roundings: int, on: tuple[Any, ...]) -> None:
        """Have targets report states where value ≤ roundings · ε · size, if a result depends on one of ``on``."""
        self.guards.append(Guard(value, size, roundings, tuple(x._unsigned() for x in on if isinstance(x, Scalar))))

    def inputs(self, name: str, count: int) -> np.ndarray:
        """An object array (count,) of new inputs."""
        out = np.empty(count, dtype=object)
        for i in range(count):
            out[i] = self.node("input", name, i)
        return out

    def node(self, op: str, *args: Any) -> Scalar:
        """The node of this operation on these values and numbers, the same for the same."""
        known, key = self._of_values, (op, *[a.serial for a in args if isinstance(a, Scalar)])
        if len(key) <= len(args):
            known = self._others
            key = (op, *[("#", a.serial) if isinstance(a, Scalar) else a or _zero(a) for a in args])
        found = known.get(key)
        return self._new(known, key, op, args) if found is None else found

    # The same for what most nodes are, in less time.

    def of_value(self, op: str, a: Scalar) -> Scalar:
        """The node of an operation on one value."""
        found = self._of_values.get(key := (op, a.serial))
        return self._new(self._of_values, key, op, (a,)) if found is None else found

    def of_pair(self, op: str, a: Scalar, b: Scalar) -> Scalar:
        """The node of an operation on two values, in order of creation: a program comes out the same in every run."""
        if a.serial > b.serial:
            a, b = b, a
        found = self._of_values.get(key := (op, a.serial, b.serial))
        return self._new(self._of_values, key, op, (a, b)) if found is None else found

    def of_number(self, op: str, a: Scalar, x: float) -> Scalar:
        """The node of an operation on a value and a number that is not zero."""
        found = self._others.get(key := (op, ("#", a.serial), x))
        return self._new(self._others, key, op, (a, x)) if found is None else found

    def _new(
        self, known: dict[tuple[Any, ...], Scalar], key: tuple[Any, ...], op: str, args: tuple[Any, ...]
    ) -> Scalar:
        count = len(self._of_values) + len(self._others)
        if count >= self._stop and op in _SUMS:
            self.call_waiting()
            if count >= self.most:
                raise self._refusal()
        found = known[key] = (Truth if op in _TRUTHS else Scalar)(self, op, args, self._begun + count)
        return found


_NO_MORE = -1
_SUMS = frozenset({"add", "sub"})  # which may fail within NumPy's "@"; products must not (:mod:`.products`)
_TRUTHS = frozenset(name for name, operation in OPERATIONS.items() if operation.is_truth)


def _is_small_half(x: float) -> bool:
    """Whether a power is better taken by multiplications and a root."""
    return abs(x) <= _MOST_FACTORS and (2.0 * x).is_integer()


def _zero(x: Any) -> Any:
    """A key for a zero that is not that of the other zero: 0.0 and -0.0 are equal."""
    return ("-", x) if isinstance(x, float) and math.copysign(1.0, x) < 0 else x


def _function(op: str) -> Callable[[Scalar], Any]:
    """A method that makes a node of this operation."""
    return lambda self: self.graph.node(op, number(self))


class Scalar:
    """One value of the program. Arithmetic with numbers and other scalars makes new values."""

    __slots__ = ("args", "graph", "op", "serial")

    def __init__(self, graph: Graph, op: str, args: tuple[Any, ...], serial: int) -> None:
        self.graph, self.op, self.args, self.serial = graph, op, args, serial

    def __neg__(self) -> Any:
        return self.args[0] if self.op == "neg" else self.graph.of_value("neg", self)

    def __pos__(self) -> Scalar:
        return self

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Scalar):
            if not isinstance(other, Number):
                return NotImplemented
            return self if other == 0 else self.graph.of_number("add", self, float(other))
        if other.op == "neg":
            return self._minus(other.args[0])
        if self.op == "neg":
            return other._minus(self.args[0])
        return self.graph.of_pair("add", self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if type(other) is Scalar and self.op != "neg" != other.op:
            return self._minus(other)  # with no node for the negative
        return self + (-other) if isinstance(other, (Scalar, *Number)) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def _minus(self, other: Scalar) -> Any:
        if other is self:
            return 0.0
        if self.op == "neg" or other.op == "neg":
            return self + (-other) if other.op == "neg" else -(self.args[0] + other)
        # x − y and y − x are one subtraction.
        difference = self.graph.of_pair("sub", self, other)
        return difference if difference.args[0] is self else -difference

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, Scalar):
            return self._scaled(float(other)) if isinstance(other, Number) else NotImplemented
        a, b, negative = self, other, False
        if a.op == "neg":
            a, negative = a.args[0], not negative
        if b.op == "neg":
            b, negative = b.args[0], not negative
        product = self.graph.of_pair("mul", a, b)
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
        return self.graph.of_number("mul", self, factor)

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
        """Small whole and half powers by multiplications, a root and a division; others by pow."""
        if isinstance(exponent, Number) and _is_small_half(float(exponent)):
            return self._power(float(exponent))
        if isinstance(exponent, (Scalar, *Number)):
            return self.graph.node("pow", self, exponent if isinstance(exponent, Scalar) else float(exponent))
        return NotImplemented

    def __rpow__(self, base: Any) -> Any:
        return self.graph.node("pow", float(base), self) if isinstance(base, Number) else NotImplemented

    def _power(self, exponent: float) -> Any:
        if exponent < 0:
            return 1.0 / self._power(-exponent)
        if exponent % 1:
            return self.sqrt() * self._power(exponent // 1)
        if exponent <= 1:
            return self if exponent else 1.0
        half = self._power(exponent // 2)
        return half * half if exponent % 2 == 0 else half * half * self

    # What takes several operations is written among NumPy's functions (:mod:`.elementwise`).

    def __mod__(self, other: Any) -> Any:
        return self._by_numpy(np.remainder, self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._by_numpy(np.remainder, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self._by_numpy(np.floor_divide, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._by_numpy(np.floor_divide, other, self)

    def __divmod__(self, other: Any) -> Any:
        return self._by_numpy(np.divmod, self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return self._by_numpy(np.divmod, other, self)

    @staticmethod
    def _by_numpy(ufunc: Any, *values: Any) -> Any:
        return ufunc(*values)

    def _unsigned(self) -> Scalar:
        """Itself or what it is the negative of: where a negative is used its sign goes on to its users."""
        found: Scalar = self.args[0] if self.op == "neg" else self
        return found

    def __abs__(self) -> Any:
        return abs(self.args[0]) if self.op in ("neg", "fabs") else self.graph.node("fabs", self)

    def conjugate(self) -> Scalar:
        return self

    def tan(self) -> Any:
        return self.sin() / self.cos()

    def require_positive(self, always: bool = False) -> None:
        """Have targets that can do so report states where this is not positive (a singular mass matrix)."""
        (self.graph.conditions if always else self.graph.guards).append(Guard(self, 0.0, 0, (self._unsigned(),)))

    def less(self, other: Any) -> Any:
        """Whether self < other, for :meth:`select`."""
        return self.graph.node("less", self, number(other))

    def select(self, yes: Any, no: Any) -> Any:
        """``yes`` where self is true (or not zero), otherwise ``no``."""
        return self.is_not_zero().select(yes, no)

    def is_not_zero(self) -> Any:
        """Its truth as Python and NumPy see it: NaN is true."""
        return self.graph.node("not", self.graph.node("equal", self, 0.0))

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

    def __lt__(self, other: Any) -> Any:
        return self.less(other) if isinstance(other, (Scalar, *Number)) else NotImplemented

    def __gt__(self, other: Any) -> Any:
        return self.graph.node("less", number(other), self) if isinstance(other, (Scalar, *Number)) else NotImplemented

    def __le__(self, other: Any) -> Any:
        known = isinstance(other, (Scalar, *Number))
        return self.graph.node("less_equal", self, number(other)) if known else NotImplemented

    def __ge__(self, other: Any) -> Any:
        known = isinstance(other, (Scalar, *Number))
        return self.graph.node("less_equal", number(other), self) if known else NotImplemented

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, (Scalar, *Number)):
            return NotImplemented
        second = number(other)
        make = self.graph.of_pair if isinstance(second, Scalar) else self.graph.node
        return make("equal", self, second)

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return NotImplemented if equal is NotImplemented else ~equal

    __hash__ = object.__hash__

    # Named as NumPy names them, which calls them for arrays of symbols.
    sqrt, cbrt = _function("sqrt"), _function("cbrt")
    exp, exp2, expm1 = _function("exp"), _function("exp2"), _function("expm1")
    log, log2, log10, log1p = _function("log"), _function("log2"), _function("log10"), _function("log1p")
    sinh, cosh, tanh = _function("sinh"), _function("cosh"), _function("tanh")
    arcsin, arccos = _function("asin"), _function("acos")
    arcsinh, arccosh, arctanh = _function("asinh"), _function("acosh"), _function("atanh")
    rint = _function("rint")

    def arctan2(self, other: Any) -> Any:
        return self.graph.node("atan2", self, number(other))

    def arctan(self) -> Any:
        return self.arctan2(1.0)

    def hypot(self, other: Any) -> Any:
        return self.graph.node("hypot", self, number(other))

    def sin(self) -> Any:
        return -self.args[0].sin() if self.op == "neg" else self.graph.node("sin", self)

    def cos(self) -> Any:
        return self.args[0].cos() if self.op == "neg" else self.graph.node("cos", self)

    # NumPy's protocols: its functions on single symbols, and on arrays of numbers with a symbol.

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        from .array import apply

        return apply(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        from .array import call

        return call(function, args, options)

    def __getattr__(self, name: str) -> Any:
        """What a single number of NumPy has as an array without axes: ``item``, ``reshape``, ``clip``, …"""
        if name.startswith("_") or not hasattr(np.float64, name):
            raise AttributeError(f"a symbol has no attribute {name!r}")
        from .array import Symbols, as_objects

        return getattr(as_objects(self).view(Symbols), name)

    def __repr__(self) -> str:
        if getattr(_TEXT, "refused", False):
            raise UntraceableError("a symbol has no value that could be written as text")
        return f"<{self.op}>" if self.op != "input" else f"{self.args[0]}[{self.args[1]}]"


class Truth(Scalar):
    """A value that is true or false. In arithmetic with numbers it is 1 or 0, as NumPy's truth values are.

    Among themselves sums are "or" and products "and", again as NumPy's.
    """

    __slots__ = ()

    @property
    def number(self) -> Any:
        """1.0 where it is true, otherwise 0.0."""
        return self.select(1.0, 0.0)

    def is_not_zero(self) -> Any:
        return self

    def select(self, yes: Any, no: Any) -> Any:
        """``yes`` where self is true, otherwise ``no``. A choice between truth values is one."""
        if all(isinstance(x, (Truth, bool, np.bool_)) for x in (yes, no)):
            return (self & yes) | (~self & no)
        yes, no = number(yes), number(no)
        if self.op == "not":
            return self.args[0].select(no, yes)
        same = yes is no or (isinstance(yes, float) and isinstance(no, float) and _zero(yes) == _zero(no))
        return yes if same else self.graph.node("select", self, yes, no)

    def __invert__(self) -> Any:
        return self.args[0] if self.op == "not" else self.graph.node("not", self)

    def __and__(self, other: Any) -> Any:
        if isinstance(other, (bool, np.bool_)):
            return self if other else False
        if not isinstance(other, Truth):
            return NotImplemented
        return self if other is self else self.graph.of_pair("and", self, other)

    def __or__(self, other: Any) -> Any:
        if isinstance(other, (bool, np.bool_)):
            return True if other else self
        if not isinstance(other, Truth):
            return NotImplemented
        return self if other is self else self.graph.of_pair("or", self, other)

    def __xor__(self, other: Any) -> Any:
        if isinstance(other, (bool, np.bool_)):
            return ~self if other else self
        return (self & ~other) | (~self & other) if isinstance(other, Truth) else NotImplemented

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __add__(self, other: Any) -> Any:
        return self | other if isinstance(other, (Truth, bool, np.bool_)) else self.number + other

    def __mul__(self, other: Any) -> Any:
        return self & other if isinstance(other, (Truth, bool, np.bool_)) else self.number * other

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, (Truth, bool, np.bool_)):
            raise TypeError("truth values have no difference; use ^ or !=")
        return self.number - other

    def __rsub__(self, other: Any) -> Any:
        return other - self.number

    def __neg__(self) -> Any:
        raise TypeError("a truth value has no negative; use ~")

    def __abs__(self) -> Any:
        return self

    def sin(self) -> Any:
        return self.number.sin()

    def cos(self) -> Any:
        return self.number.cos()

    def arctan2(self, other: Any) -> Any:
        return self.number.arctan2(other)

    def hypot(self, other: Any) -> Any:
        return self.number.hypot(other)

    def less(self, other: Any) -> Any:
        return self.number.less(other)

    def __truediv__(self, other: Any) -> Any:
        return self.number / number(other)

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.number

    def __pow__(self, exponent: Any) -> Any:
        return self.number ** number(exponent)

    def __rpow__(self, base: Any) -> Any:
        return base**self.number

    def __lt__(self, other: Any) -> Any:
        return self.number < number(other)

    def __gt__(self, other: Any) -> Any:
        return self.number > number(other)

    def __le__(self, other: Any) -> Any:
        return self.number <= number(other)

    def __ge__(self, other: Any) -> Any:
        return self.number >= number(other)

    def __eq__(self, other: object) -> Any:
        if isinstance(other, (Truth, bool, np.bool_)):
            return ~(self ^ other)
        return self.number == number(other) if isinstance(other, (Scalar, *Number)) else NotImplemented

    __hash__ = object.__hash__


def number(x: Any) -> Any:
    """A symbol that is a number, or a float."""
    if isinstance(x, Scalar):
        return x.number if isinstance(x, Truth) else x
    return float(x)
