"""Kernels whose code loops over the bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ...errors import InputError
from ...properties import cached_property
from ...symbols.operations import Operations
from .. import thresholds
from ..llvm.sine_cosine import VectorType
from ..passes import Journal
from . import disk_cache
from .engine import MachineCode, host
from .kernel import Kernel, precision
from .requests import LOOPS, Answer, recall_tables, remember, remember_tables

if TYPE_CHECKING:
    from ..program.trace import Program
    from ..rolled.program import RolledProgram


def _tables(program: RolledProgram, model: Any) -> tuple[np.ndarray, np.ndarray]:
    from ..rolled.tables import tables

    return tables(program, model)


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


class RolledKernel(Kernel):
    """A kernel whose code loops over the bodies, for long chains and big trees."""

    def __init__(
        self,
        roll: Callable[[int], RolledProgram],
        model: Any,
        journal: Journal | None = None,
        request: str | None = None,
        straight: Callable[[], Program] | None = None,
    ) -> None:
        """``roll`` records the function, with walks in blocks of so many bodies or, with 0, whole."""
        self._roll, self._straight = roll, straight
        program = self.loops
        self._fill(*_tables(program, model))
        self._start(program.signature, request, journal)

    @classmethod
    def recalled(
        cls,
        answer: Answer,
        request: str | None,
        roll: Callable[[int], RolledProgram],
        model: Any,
        journal: Journal | None = None,
        straight: Callable[[], Program] | None = None,
    ) -> Self:
        """A kernel for a request that was answered before; its program is recorded only when needed."""
        kernel = cls.__new__(cls)
        kernel._roll, kernel._straight = roll, straight
        kernel._fill(*(recall_tables(request) or _tables(kernel.loops, model)))
        kernel._start(answer.signature, request, journal, answer.objects)
        return kernel

    def _fill(self, integers: np.ndarray, numbers: np.ndarray) -> None:
        self._integers, self._numbers = integers, numbers

    @cached_property
    def loops(self) -> RolledProgram:
        """The function as loops over bodies."""
        return self._roll(thresholds.BLOCK)

    @cached_property
    def whole_walks(self) -> RolledProgram:
        """The same with no walk cut into blocks, which other targets know nothing of."""
        return self._roll(0) if self.loops.factors.walks else self.loops

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray]:
        """What differs from body to body: integers and numbers (:mod:`..rolled.tables`)."""
        return self._integers, self._numbers

    @property
    def operations(self) -> Operations:
        return self.loops.operations

    @property
    def length(self) -> int:
        """How many values its code computes, each once."""
        return self.loops.length

    def is_made_quickly(self, vector: VectorType) -> bool:
        return self.length > thresholds.LOOPS_QUICKLY_FROM

    @property
    def scratch_bytes(self) -> int:
        """How much memory each thread works in."""
        from ..rolled.tables import scratch_vectors

        vector = host().vector_bytes
        return scratch_vectors(self.loops, vector // 8) * vector

    @cached_property
    def source(self) -> str:
        """What each class of bodies does in each phase."""
        from ..program.listing import rolled_listing

        return rolled_listing(self.loops)

    @cached_property
    def fingerprint(self) -> str:
        if self._request:
            return self._request
        numbers, integers = (x.tobytes().hex() for x in (self._numbers, self._integers))
        return disk_cache.key(str(self.signature), self.source, numbers, integers)

    def explain(self) -> str:
        """What the kernel takes, gives and costs."""
        inputs = ", ".join(f"{k} (..., {n})" for k, n in self.signature.inputs.items())
        outputs = ", ".join(f"(..., {', '.join(map(str, shape))})" for shape in self.signature.shapes)
        bodies, walks = len(self.loops.parents), [w for loop in self.loops.loops for w in loop.walks]
        classes = _count(len(self.loops.classes), "class", "classes")
        walked = f", then {_count(len(walks), 'walk', 'walks')} from body to body" if walks else ""
        factors = self.loops.factors
        if factors.walks:
            walked += f", then {_count(len(factors.walks), 'walk', 'walks')} in blocks of {factors.block} bodies"
        if factors.matrices:
            walked += f", then every entry as a sum of {factors.most_terms} products"
        return (
            f"{self.signature.name}: {inputs} -> {outputs}\n"
            f"  rolled: {len(self.loops.phases)} loops over {bodies} bodies of {classes}"
            f"{walked}\n"
            f"  {self.operations} per state, {self.operations.total / bodies:.0f} per body"
        )

    @cached_property
    def program(self) -> Program:
        """The same function as a scalar program, of which derivatives are made."""
        if self._straight is None:
            raise InputError(f"{self.signature.name} has loops alone, and so no derivatives; compile it anew")
        return self._straight()

    def code(self, dtype: Any) -> MachineCode:
        name = precision(dtype)
        if name not in self._codes:
            code = super().code(dtype)
            code.set_table("lw_integers", self._integers)
            code.set_table("lw_numbers", np.ascontiguousarray(self._numbers, dtype=dtype))
        return self._codes[name]

    def _remember(self) -> None:
        remember(self._request, self.signature, self._objects, LOOPS)
        remember_tables(self._request, self._integers, self._numbers)

    def ordered(self, vector: VectorType) -> str:
        return f"{self.length} values, each class of bodies by itself"

    def ir(self, vector: VectorType) -> str:
        from ..llvm.rolled import rolled_ir

        return rolled_ir(self.loops, vector)
