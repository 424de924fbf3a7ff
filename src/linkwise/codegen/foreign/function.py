"""A compiled function of one robot as other libraries see it: flat arrays in, flat arrays out, derivatives likewise.

The derivatives are functions of the same sort, made when they are first asked for: of a derivative there are
derivatives again, to any order. Those of forward and inverse dynamics are the linearised algorithms and their adjoints
(LD Algorithms 1 and 5); all others are exact derivatives of the scalar program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ...properties import cached_property
from ...symbols.scalar import Scalar
from ..cuda.launch import DeviceFunction
from ..cuda.loops import DeviceLoops
from ..program.signature import Signature
from ..runtime.engine import MachineCode
from ..runtime.kernel import Kernel
from ..runtime.rolled_kernel import RolledKernel
from .calls import at_once_for_torch
from .named import Named

OnNumpy = Callable[..., Any]  # on arrays of NumPy, (..., n) each, as the caller has the result
Makers = Callable[[], Kernel | None]
# What graphs of PyTorch name. Nobody says when a graph is gone: those that were named last are held.
IN_GRAPHS: Named[ArrayFunction] = Named(
    256, "the 256 functions that graphs of PyTorch last used are held, and it is none of these"
)


class ArrayFunction:
    """A function of flat arrays (..., n) with derivatives, as the libraries see it.

    ``signature`` says what it takes and gives, and ``token`` is a name that no other function has, in this process or
    in another. :meth:`run` is for NumPy arrays; ``vjp`` and ``jvp`` are functions of the same sort, of (inputs, weights
    of the outputs) and of (inputs, a direction for each).
    """

    signature: Signature

    @property
    def is_constant(self) -> bool:
        """Whether no result depends on any input."""
        return False

    @property
    def token(self) -> str:
        raise NotImplementedError

    @at_once_for_torch
    def register(self) -> None:
        """From now on the function is found by its token, which is there too."""
        IN_GRAPHS.named(self)

    @property
    def vjp(self) -> ArrayFunction:
        """(inputs, weights of the outputs) → the gradient in each input, in its numbers as they stand."""
        raise NotImplementedError

    @property
    def jvp(self) -> ArrayFunction:
        """(inputs, a direction for each) → the outputs' derivatives along it."""
        raise NotImplementedError

    def run(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        """The outputs, (..., *shape) each."""
        raise NotImplementedError

    def run_into(self, arrays: list[np.ndarray], outputs: list[np.ndarray]) -> None:
        """The outputs written into these arrays; where a matrix that is inverted is singular, NaN."""
        for y, x in zip(outputs, self.run(arrays)):
            y[...] = x

    def machine_code(self, dtype: Any) -> MachineCode | None:
        """The code that :meth:`run_into` runs on such numbers, where it does nothing else."""
        return None

    def run_on_card(self, tensors: Sequence[Any]) -> list[Any]:
        """The outputs of PyTorch's tensors on a card, without gradients."""
        from .cuda_calls import run_torch

        return run_torch(self, tensors)

    made_of_loops: Callable[[Sequence[Any]], list[Any]] | None = None
    """The outputs of arrays on a card, where the function is several kernels, each a loop over steps; or None."""

    @property
    def on_numpy(self) -> OnNumpy:
        """The same on arrays of NumPy, with its result as whoever calls it has it."""
        return lambda *arrays: self.signature.result(self.run(list(arrays)))

    @property
    def on_device(self) -> DeviceFunction | DeviceLoops:
        """Its code for graphics cards."""
        raise InputError(f"{self.signature.name} has no code for graphics cards; arrays on the CPU have")

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many numbers each input has."""
        return tuple(self.signature.inputs.values())

    def batch(self, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """The batch of arrays of these shapes (..., n); those that do not fit are an error that names them."""
        names = list(self.signature.inputs)
        if len(shapes) != len(names):
            raise InputError(f"{self.signature.name} takes {len(names)} arrays ({', '.join(names)}), got {len(shapes)}")
        for name, shape, n in zip(names, shapes, self.sizes):
            if not shape or shape[-1] != n:
                raise InputError(f"{name} must have shape (..., {n}), got {tuple(shape)}")
        first = tuple(shapes[0][:-1]) if shapes else ()
        if all(tuple(s[:-1]) == first for s in shapes):
            return first
        try:
            return np.broadcast_shapes(*(tuple(s[:-1]) for s in shapes))
        except ValueError:
            named = ", ".join(f"{k} {tuple(s)}" for k, s in zip(names, shapes))
            raise InputError(f"the batch dimensions do not fit together: {named}") from None


class Function(ArrayFunction):
    """A kernel and its derivatives. ``make_on_numpy`` gives what runs it on NumPy arrays where that is not the kernel.

    ``make_vjp`` and ``make_jvp`` give kernels of the derivatives that are better than those of the program, or None.
    """

    def __init__(
        self,
        kernel: Kernel,
        make_on_numpy: Callable[[], OnNumpy] | None = None,
        make_vjp: Makers | None = None,
        make_jvp: Makers | None = None,
        token: str | None = None,
    ) -> None:
        self.kernel = kernel
        self.signature = kernel.signature
        self._make_on_numpy = make_on_numpy
        self._make_vjp, self._make_jvp, self._token = make_vjp, make_jvp, token

    def run(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        return [np.asarray(x) for x in leaves(self.signature, self.on_numpy(*arrays))]

    @cached_property
    def on_numpy(self) -> OnNumpy:
        return self.kernel._on_rows if self._make_on_numpy is None else self._make_on_numpy()

    def run_into(self, arrays: list[np.ndarray], outputs: list[np.ndarray]) -> None:
        self.kernel.run(arrays, out=outputs[0] if self.signature.single else outputs)

    def machine_code(self, dtype: Any) -> MachineCode:
        return self.kernel.code(dtype)

    @cached_property
    def is_constant(self) -> bool:
        if isinstance(self.kernel, RolledKernel):  # whose program is long, and made where it must be
            return False
        return not any(isinstance(x, Scalar) for x in self.kernel.program.roots)

    @cached_property
    def vjp(self) -> Function:
        made = None if self._make_vjp is None else self._make_vjp()
        return Function(self._derivative("vjp") if made is None else made, token=f"{self.token}-vjp")

    @cached_property
    def jvp(self) -> Function:
        made = None if self._make_jvp is None else self._make_jvp()
        return Function(self._derivative("jvp") if made is None else made, token=f"{self.token}-jvp")

    def _derivative(self, which: str) -> Kernel:
        try:
            made: Kernel = getattr(self.kernel, which)()
        except InputError as e:
            raise InputError(f"{self.signature.name} has no gradient here: {e}") from None
        return made

    @cached_property
    def token(self) -> str:
        """A method and a kernel of the same code are not the same: methods have derivatives and checks of their own."""
        makers = (self._make_on_numpy, self._make_vjp, self._make_jvp)
        own = "-".join(str(int(make is not None)) for make in makers)
        return self._token or f"{self.signature.name}-{self.kernel.fingerprint}-{own}"

    @cached_property
    def on_device(self) -> DeviceFunction | DeviceLoops:
        return DeviceLoops(self.kernel) if isinstance(self.kernel, RolledKernel) else DeviceFunction(self.kernel)


def leaves(signature: Signature, result: Any) -> list[Any]:
    """The arrays of a kernel's result."""
    from ...symbols.results import flatten

    return [result] if signature.single else flatten(result)[0]


def rows(x: Any, tail: int) -> Any:
    """An array of several axes for one state with its numbers in a row, (..., n); ``tail`` is how many axes."""
    if tail == 1:
        return x
    shape = tuple(x.shape)
    return x.reshape((*shape[:-tail], math.prod(shape[-tail:])))


def summed_to(x: Any, shape: tuple[int, ...]) -> Any:
    """The sum over the batch that an array of this shape was spread to."""
    x = x.sum(axis=tuple(range(x.ndim - len(shape))))
    wide = tuple(i for i, n in enumerate(shape) if n == 1 and x.shape[i] != 1)
    return x.sum(axis=wide, keepdims=True)
