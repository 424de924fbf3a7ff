"""Smooth functions of a few numbers, kept as what they compute: how one joint follows others.

A user's function is traced once, on symbols. What is kept is the list of its operations, which is data: two relations
are equal where these are, and copies, pickles and the keys of compiled code hold it. It runs on any array-likes
(numbers, complex steps, symbols, JAX), and its derivatives are those of the graph, exact and of any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from .. import arrays
from ..arguments import shown
from ..arrays import Array
from ..errors import ModelError, UntraceableError
from ..properties import cached_property
from ..symbols.array import Symbols
from ..symbols.creation import arrays_take_symbols
from ..symbols.derivative import along
from ..symbols.elementwise import ENTRIES, choose
from ..symbols.function_memory import refusing_memory
from ..symbols.operations import OPERATIONS
from ..symbols.outputs import reachable
from ..symbols.scalar import Graph, Scalar, Truth
from ..values import ByValue

INPUT = "x"
JUMPS = frozenset({"floor", "ceil", "trunc", "rint", "fmod"})
Step = tuple[Any, ...]  # (operation, *arguments); an argument is a number, or (place of a step,)


@dataclass(frozen=True, eq=False)
class Relation(ByValue):
    """Functions of ``inputs`` numbers, as steps that compute them; ``results`` are numbers or (place of a step,)."""

    inputs: int
    steps: tuple[Step, ...]
    results: tuple[Any, ...]

    @staticmethod
    def traced(function: Callable[..., Any], inputs: int, what: str) -> Relation:
        """A function of this many numbers that gives one; ``what`` names it in errors."""
        x = Graph().inputs(INPUT, inputs).view(Symbols)
        try:
            with refusing_memory(function), arrays_take_symbols():
                found = function(*(x[..., i] for i in range(inputs)))
        except UntraceableError as e:
            raise ModelError(
                f"{what}: the relation must be one smooth function, written with NumPy's functions; {e}"
            ) from e
        except (TypeError, AttributeError, ValueError) as e:
            raise ModelError(f"{what}: the relation of {inputs} positions cannot be evaluated: {e}") from e
        entries = np.asarray(found, dtype=object)
        value = entries.item() if entries.size == 1 else None
        if value is None or isinstance(value, (Truth, bool)) or not isinstance(value, (Scalar, int, float, np.generic)):
            raise ModelError(f"{what}: the relation must give one number, got {shown(found)}")
        return recorded(inputs, [value])

    @staticmethod
    def linear(ratios: Sequence[float], offset: float) -> Relation:
        """offset + Σ ratio · x."""
        x = Graph().inputs(INPUT, len(ratios))
        return recorded(len(ratios), [sum(r * y for r, y in zip(ratios, x)) + offset])

    def __call__(self, values: Sequence[Array]) -> list[Any]:
        """The results for positions (...) each; those that are constant are plain numbers."""
        known: list[Any] = []
        symbolic = any(arrays.is_symbolic(x) for x in values)
        for op, *args in self.steps:
            if op == INPUT:
                known.append(values[args[0]])
                continue
            given = [known[a[0]] if isinstance(a, tuple) else a for a in args]
            known.append(_on_symbols(op, given) if symbolic else _on_numbers(op, given))
        return [known[r[0]] if isinstance(r, tuple) else r for r in self.results]

    def of(self, inner: Sequence[Relation], places: Sequence[Sequence[int]], inputs: int) -> Relation:
        """This relation with others in place of its inputs; the i-th of them reads the inputs ``places[i]``."""
        x = Graph().inputs(INPUT, inputs)
        values = [r([np.asarray(x[j]) for j in where])[0] for r, where in zip(inner, places)]
        return recorded(inputs, [_entry(y) for y in self([np.asarray(v, dtype=object) for v in values])])

    @cached_property
    def derivatives(self) -> tuple[dict[tuple[int, ...], Relation], ...]:
        """(first, second, third) derivatives of the first result, by the sorted inputs that they are taken along."""
        x = Graph().inputs(INPUT, self.inputs)
        known: dict[tuple[int, ...], Any] = {(): _entry(self([np.asarray(y) for y in x])[0])}
        out = []
        for order in (1, 2, 3):
            indices = list(combinations_with_replacement(range(self.inputs), order))
            for where in indices:
                known[where] = along([known[where[:-1]]], list(x), [float(i == where[-1]) for i in range(self.inputs)])[
                    0
                ]
            out.append({where: recorded(self.inputs, [known[where]]) for where in indices})
        return tuple(out)

    @cached_property
    def ratios(self) -> tuple[float, ...] | None:
        """The constant first derivatives, where the graph shows that all are: offset + Σ ratio · x."""
        first = [r.results[0] for r in self.derivatives[0].values()]
        return None if any(isinstance(x, tuple) for x in first) else tuple(float(x) for x in first)

    @property
    def offset(self) -> float:
        """Its value where all inputs are zero."""
        return float(self([np.zeros(())] * self.inputs)[0])


def recorded(inputs: int, outputs: list[Any]) -> Relation:
    nodes = reachable(outputs)
    place = {id(node): i for i, node in enumerate(nodes)}

    def told(x: Any) -> Any:
        return (place[id(x)],) if isinstance(x, Scalar) else float(x)

    steps = tuple((INPUT, n.args[1]) if n.op == "input" else (n.op, *map(told, n.args)) for n in nodes)
    return Relation(inputs, steps, tuple(map(told, outputs)))


def _entry(x: Any) -> Any:
    return x.item() if isinstance(x, np.ndarray) else x


def _on_symbols(op: str, given: list[Any]) -> Any:
    entry = choose if op == "select" else ENTRIES[OPERATIONS[op].meaning.__name__]
    return arrays.by_entry(entry, *given)


def _on_numbers(op: str, given: list[Any]) -> Any:
    xp = arrays.namespace(*given)
    if op == "select":
        return xp.where(*given)
    if any(np.iscomplexobj(x) for x in given) and op in _COMPLEX:
        return _COMPLEX[op](*(np.asarray(x) for x in given))
    return getattr(xp, OPERATIONS[op].meaning.__name__)(*given)


def _complex_sign(x: np.ndarray) -> np.ndarray:
    return np.where(x.real < 0, -x, x)


# What NumPy does not do to complex numbers, so that complex steps are derivatives.
_COMPLEX: dict[str, Callable[..., Any]] = {
    "atan2": arrays.arctan2,
    "hypot": lambda a, b: np.sqrt(a * a + b * b),
    "cbrt": lambda a: np.cbrt(a.real) * (1.0 + 1j * a.imag / (3.0 * a.real)),
    "fabs": _complex_sign,
    "copysign": lambda a, b: _complex_sign(a) * np.where(np.signbit(b.real), -1.0, 1.0),
    "less": lambda a, b: a.real < b.real,
    "less_equal": lambda a, b: a.real <= b.real,
    "equal": lambda a, b: a.real == b.real,
}
