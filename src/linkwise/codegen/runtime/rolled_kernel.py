"""Kernels whose code loops over the bodies."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ...errors import InputError
from ...symbols.operations import Operations
from .. import thresholds
from ..llvm.sine_cosine import VectorType
from ..passes import Journal
from . import disk_cache
from .engine import MachineCode, host
from .kernel import Kernel
from .requests import LOOPS, Answer, recall_tables, remember, remember_tables

if TYPE_CHECKING:
    from ..rolled.program import RolledProgram


def _tables(program: RolledProgram, model: Any) -> tuple[np.ndarray, np.ndarray]:
    from ..rolled.tables import tables

    return tables(program, model)


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


class RolledKernel(Kernel):
    """A kernel whose code loops over the bodies, for long chains and big trees."""

    def __init__(
        self, program: RolledProgram, model: Any, journal: Journal | None = None, request: str | None = None
    ) -> None:
        self._roll: Callable[[], RolledProgram] = lambda: program
        self._fill(*_tables(program, model))
        self._start(program.signature, request, journal)

    @classmethod
    def recalled(
        cls,
        answer: Answer,
        request: str | None,
        roll: Callable[[], RolledProgram],
        model: Any,
        journal: Journal | None = None,
    ) -> Self:
        """A kernel for a request that was answered before; its program is recorded only when needed."""
        kernel = cls.__new__(cls)
        kernel._roll = roll
        kernel._fill(*(recall_tables(request) or _tables(kernel._rolled, model)))
        kernel._start(answer.signature, request, journal, answer.objects)
        return kernel

    def _fill(self, integers: np.ndarray, numbers: np.ndarray) -> None:
        self._integers, self._numbers = integers, numbers
        self._kept: list[np.ndarray] = []

    @cached_property
    def _rolled(self) -> RolledProgram:
        return self._roll()

    @property
    def operations(self) -> Operations:
        return self._rolled.operations

    @property
    def length(self) -> int:
        """How many values its code computes, each once."""
        return self._rolled.length

    def is_made_quickly(self, vector: VectorType) -> bool:
        return self.length > thresholds.LOOPS_QUICKLY_FROM

    @property
    def scratch_bytes(self) -> int:
        """How much memory each thread works in."""
        from ..rolled.tables import scratch_vectors

        return scratch_vectors(self._rolled) * host().vector_bytes

    @cached_property
    def source(self) -> str:
        """What each class of bodies does in each phase."""
        from ..program.listing import rolled_listing

        return rolled_listing(self._rolled)

    @cached_property
    def fingerprint(self) -> str:
        numbers, integers = (x.tobytes().hex() for x in (self._numbers, self._integers))
        return disk_cache.key(str(self.signature), self.source, numbers, integers)

    def explain(self) -> str:
        """What the kernel takes, gives and costs."""
        inputs = ", ".join(f"{k} (..., {n})" for k, n in self.signature.inputs.items())
        outputs = ", ".join(f"(..., {', '.join(map(str, shape))})" for shape in self.signature.shapes)
        bodies, walks = len(self._rolled.parents), [w for loop in self._rolled.loops for w in loop.walks]
        classes = _count(len(self._rolled.classes), "class", "classes")
        walked = f", then {_count(len(walks), 'walk', 'walks')} from body to body" if walks else ""
        if self._rolled.terms:
            walked += f", then every entry as a sum of {max(max(x) for x in self._rolled.terms.values())} products"
        return (
            f"{self.signature.name}: {inputs} -> {outputs}\n"
            f"  rolled: {len(self._rolled.phases)} loops over {bodies} bodies of {classes}"
            f"{walked}\n"
            f"  {self.operations} per state, {self.operations.total / bodies:.0f} per body"
        )

    @property
    def program(self) -> Any:
        raise InputError(
            "rolled code has no scalar program, and so no derivatives of its own; compile with rolled=False, or use"
            " robot.linearize_forward and the like"
        )

    def code(self, dtype: Any) -> MachineCode:
        name = np.dtype(dtype).name
        if name not in self._codes:
            code = super().code(dtype)
            numbers = np.ascontiguousarray(self._numbers, dtype=dtype)
            self._kept += [numbers]
            code.set_pointer("lw_integers", self._integers.ctypes.data)
            code.set_pointer("lw_numbers", numbers.ctypes.data)
        return self._codes[name]

    def _remember(self) -> None:
        remember(self._request, self.signature, self._objects, LOOPS)
        remember_tables(self._request, self._integers, self._numbers)

    def ordered(self, vector: VectorType) -> str:
        return f"{self.length} values, each class of bodies by itself"

    def ir(self, vector: VectorType) -> str:
        from ..llvm.rolled import rolled_ir

        return rolled_ir(self._rolled, vector)
