"""Kernels of gradients, whose weights have the shape of the results that they weigh."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ... import array_kinds
from ..program import derivative
from .kernel import Kernel, array_of
from .remade import made

if TYPE_CHECKING:
    from ..program.trace import Program

Shape = tuple[int, ...]


class AdjointKernel(Kernel):
    """Its weights, and directions of weights, come in the shapes of the results, (..., *shape), or in a row, (..., n).

    Where an array may be either (n numbers of a shape (1, n), of one number), it is the one that has as many batch axes
    as the other inputs; if both or none have, that of the result's shape. ``bind`` and ``run`` take rows alone.
    """

    def __init__(self, program: Program, shaped: Mapping[str, Shape]) -> None:
        """``shaped`` are the inputs that are weights, by name, and the shapes of what they weigh."""
        super().__init__(program)
        self._shaped = dict(shaped)

    def vjp(self) -> Kernel:
        return adjoint(self, self._shaped)

    def jvp(self) -> Kernel:
        program = derivative.jvp(self.program)
        directions = dict(zip(self.signature.inputs, _added(program, self)))
        along = {directions[name]: shape for name, shape in self._shaped.items()}
        return made(AdjointKernel(program, {**self._shaped, **along}), self.jvp)

    def jacobian(self, wrt: str) -> Kernel:
        return made(AdjointKernel(derivative.jacobian(self.program, wrt), self._shaped), self.jacobian, wrt)

    def __call__(self, *arrays: Any, out: Any = None, threads: int | None = None) -> Any:
        return self._on_rows(*self._in_rows(arrays), out=out, threads=threads)

    def _in_rows(self, arrays: Sequence[Any]) -> list[Any]:
        """The arrays with weights in rows; what fits nothing stays, for the kernel to refuse."""
        if len(arrays) != len(self.signature.inputs):
            return list(arrays)
        kind = next(filter(None, map(array_kinds.library, arrays)), None)
        named = dict(zip(self.signature.inputs, arrays))
        axes = max([0, *[_axes(x) - 1 for name, x in named.items() if name not in self._shaped]])
        for name, shape in self._shaped.items():
            if len(shape) != 1:
                named[name] = _in_a_row(_as_array(kind, named[name], name), shape, axes)
        return list(named.values())


def adjoint(kernel: Kernel, known: Mapping[str, Shape]) -> Kernel:
    """The kernel of gradients of this one, of whose inputs those that are ``known`` are weights of these shapes."""
    program = derivative.vjp(kernel.program)
    weights = dict(zip(_added(program, kernel), kernel.signature.shapes))
    return made(AdjointKernel(program, {**known, **weights}), kernel.vjp)


def _added(program: Program, kernel: Kernel) -> list[str]:
    """The inputs that a derivative has beside those of the kernel that it is of."""
    return list(program.inputs)[len(kernel.signature.inputs) :]


def _axes(x: Any) -> int:
    """How many axes an array, or lists of lists, has."""
    found = 0
    while not hasattr(x, "shape") and isinstance(x, (list, tuple)) and x:
        found, x = found + 1, x[0]
    return found + len(getattr(x, "shape", ()))


def _as_array(kind: str | None, x: Any, name: str) -> Any:
    """What has a shape; whether it holds numbers is for the kernel to see."""
    if kind is None:
        return array_of(x, name)
    return x if hasattr(x, "shape") else array_kinds.as_one(kind, x, name)


def _in_a_row(x: Any, shape: Shape, axes: int) -> Any:
    """Weights of this shape with their numbers in a row, where the inputs have so many axes of a batch."""
    found, n = tuple(x.shape), math.prod(shape)
    batch = found[: len(found) - len(shape)]
    if len(found) < len(shape) or found[len(batch) :] != shape:
        return x
    is_row = found[-1:] == (n,)
    if is_row and len(found) - 1 == axes and len(batch) != axes:
        return x
    return x.reshape((*batch, n))
