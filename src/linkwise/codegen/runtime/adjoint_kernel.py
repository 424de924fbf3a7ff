"""Kernels of gradients, whose weights have the shape of the results that they weigh."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import array_kinds
from .kernel import Kernel

if TYPE_CHECKING:
    from ..program.trace import Program

Shape = tuple[int, ...]


class AdjointKernel(Kernel):
    """Its weights, the last of its inputs, come in the shapes of the results, (..., *shape), or in a row, (..., n).

    Where an array may be either (n numbers of a shape (1, n), of one number), it is the one that has as many batch axes
    as the inputs before it; if both or none have, that of the result's shape.
    """

    def __init__(self, program: Program, shapes: Sequence[Shape], known: dict[str, Shape]) -> None:
        """``program`` has these shapes' weights last; ``known`` are those of the kernel that it was made from."""
        super().__init__(program)
        names = list(program.inputs)
        self._shaped = {**known, **dict(zip(names[len(names) - len(shapes) :], shapes))}

    def vjp(self) -> Kernel:
        return self._adjoint(self._shaped)

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


def _axes(x: Any) -> int:
    """How many axes an array, or lists of lists, has."""
    found = 0
    while not hasattr(x, "shape") and isinstance(x, (list, tuple)) and x:
        found, x = found + 1, x[0]
    return found + len(getattr(x, "shape", ()))


def _as_array(kind: str | None, x: Any, name: str) -> Any:
    if hasattr(x, "shape"):
        return x
    return np.asarray(x, dtype=float) if kind is None else array_kinds.as_one(kind, x, name)


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
