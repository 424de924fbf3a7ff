"""Kernels: compiled functions of arrays, batched over any leading dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Self
from weakref import ref

import numpy as np

from ... import arguments, array_kinds, shown
from ...arguments import unmasked
from ...errors import InputError
from ...properties import cached_property
from ...symbols.operations import Operations
from ...symbols.results import rebuilder
from .. import thresholds
from ..foreign.calls import at_once_for_torch, prepare, quick, run_on
from ..llvm.sine_cosine import VectorType
from ..llvm.team import MOST_WORKERS
from ..passes import Journal, run_passes
from ..program.signature import Signature
from . import disk_cache
from .engine import CODE_PASSES, MachineCode, code_job
from .python_functions import bound_function, entry_function
from .remade import Remade, made
from .requests import recall, remember
from .result_memory import empty
from .team import Team, team
from .threads import crew, refuse_other_threads, usable_cores

if TYPE_CHECKING:
    from ..program.trace import Program

# What makes code is imported by what needs it: a process that finds its code on disk spends most of its first call on
# imports.


class Kernel(Remade):
    """A program compiled for the CPU. Call it with arrays (..., n); batches broadcast, dtypes are kept.

    float32 inputs run in float32, everything else in float64. Code is compiled when a precision is first
    used, or taken from the disk cache. A kernel is pickled as what it was made from, and made again from it.
    """

    target = "cpu"

    def __init__(self, program: Program, request: str | None = None, journal: Journal | None = None) -> None:
        self._make: Callable[[], Program] = lambda: program
        self._start(program.signature, request, journal)

    @classmethod
    def remembered(cls, request: str | None, make: Callable[[], Program], journal: Journal | None = None) -> Self:
        """A kernel for a request that may have been answered before; its program is made only when needed."""
        answer = recall(request)
        if answer is None:
            return cls(make(), request, journal)
        kernel = cls.__new__(cls)
        kernel._make = make
        kernel._start(answer.signature, request, journal, answer.objects)
        return kernel

    def _start(
        self,
        signature: Signature,
        request: str | None,
        journal: Journal | None,
        objects: dict[str, str] | None = None,
    ) -> None:
        self.signature = signature
        self.passes = Journal() if journal is None else journal  # what made it, and how long each pass took
        self.__name__ = signature.name
        self._request, self._objects = request, dict(objects or {})
        self._codes: dict[str, MachineCode] = {}
        self._sizes = tuple(signature.inputs.values())
        self._quick: dict[str, Callable[[Sequence[Any]], Any] | None] = {}  # by library
        self._quick_of: dict[type, Callable[[Sequence[Any]], Any]] = {}  # by type of the first array

    @property
    def is_remembered(self) -> bool:
        """Whether its machine code was there before."""
        return bool(self._objects)

    @cached_property
    def program(self) -> Program:
        """The scalar program."""
        return self._make()

    @property
    def length(self) -> int:
        """How many values its code has: how long compiling it will take."""
        return len(self.program.nodes)

    def is_made_quickly(self, vector: VectorType) -> bool:
        """Whether it is so long that LLVM makes its code in less time, and it runs a little longer for it."""
        from ..llvm.assembled_block import is_assembled

        return self.length > thresholds.QUICKLY_FROM and not is_assembled(self.program, vector)

    @property
    def operations(self) -> Operations:
        """Exact operation counts for one state."""
        return self.program.operations

    @cached_property
    def source(self) -> str:
        """The scalar program, one readable line per value."""
        from ..program.listing import listing

        return listing(self.program)

    @cached_property
    def fingerprint(self) -> str:
        """Differs between kernels that compute different things."""
        return self._request or disk_cache.key(str(self.signature), self.source)

    def explain(self) -> str:
        """What the kernel takes, gives and costs."""
        inputs = ", ".join(f"{k} (..., {n})" for k, n in self.program.inputs.items())
        outputs = ", ".join(str(("...", *s)).replace("'", "") for s in self.program.shapes)
        code = self.code(np.float64)
        lines = [
            f"{self.program.name}: {inputs} -> {outputs}",
            f"  {self.operations} per state",
            f"  {code.vector.lanes} float64 or {2 * code.vector.lanes} float32 states at once",
        ]
        unused = self.program.unused_inputs
        if unused:
            lines.append("  does not depend on " + ", ".join(f"{k}[{i}]" for k, i in unused))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._takes_and_gives()}>"

    def _takes_and_gives(self) -> str:
        takes = ", ".join(f"{name} ({n})" for name, n in self.signature.inputs.items())
        gives = ", ".join("×".join(map(str, shape)) or "number" for shape in self.signature.shapes)
        return f"{self.signature.name}: {takes} → {gives}"

    def _repr_html_(self) -> str:
        """What it takes, gives and costs, its program and how it was made, for notebooks."""
        passes = [(shown.text(x.name), f"{1e3 * x.seconds:.2f}", shown.text(x.note)) for x in self.passes]
        return shown.titled(
            "Kernel",
            self._takes_and_gives(),
            f"<div>{shown.text(self.operations)} per state</div>",
            shown.folded("The program", shown.listing(self.source)),
            shown.folded("The passes", shown.table(passes, ("pass", "ms", "did"), right=(1,))),
        )

    def jacobian(self, wrt: str) -> Kernel:
        """A kernel for the exact derivatives with respect to one input, each (..., *output, length of wrt)."""
        from ..program import derivative

        return made(Kernel(derivative.jacobian(self.program, wrt)), self.jacobian, wrt)

    def jvp(self) -> Kernel:
        """A kernel for directional derivatives: takes the inputs, then one direction per input."""
        from ..program import derivative

        return made(Kernel(derivative.jvp(self.program)), self.jvp)

    def vjp(self) -> Kernel:
        """A kernel for gradients of weighted outputs: takes the inputs, then weights in the shape of each output or in
        a row; gives one array per input, (..., length of it).

        Its own derivatives take weights, and directions of weights, so too; ``bind`` and ``run`` take them in a row.
        """
        from .adjoint_kernel import adjoint

        return adjoint(self, {})

    def code(self, dtype: Any) -> MachineCode:
        """The machine code for a precision."""
        name = precision(dtype)
        if name not in self._codes:
            job = code_job(self, dtype, self._objects.get(name))
            run_passes(CODE_PASSES, job, self.passes, self.__name__)
            assert job.code is not None
            if self._objects.get(name) != job.code.name:
                self._objects[name] = job.code.name
                self._remember()
            self._codes[name] = job.code
        return self._codes[name]

    def _remember(self) -> None:
        """Keep on disk what answers the request."""
        remember(self._request, self.signature, self._objects)

    def ordered(self, vector: VectorType) -> str:
        """Bring the program's values into the order in which they are computed; says how many there are."""
        from ..llvm.assembled_block import instruction_count, is_assembled
        from ..program.pieces import is_long, pieces

        values = f"{len(self.program.nodes)} values"
        if is_assembled(self.program, vector):
            return f"{values}, {instruction_count(self.program, vector)} instructions"
        return f"{values}, {len(pieces(self.program).parts)} pieces" if is_long(self.program) else values

    def ir(self, vector: VectorType) -> str:
        """The text of the LLVM module."""
        from ..llvm.module import kernel_ir

        text = kernel_ir(self.program, vector)
        self.program.forget_steps()
        return text

    @cached_property
    def quick(self) -> Any:
        """The same function with the least overhead for float64 arrays; other calls go the checked way."""
        return self.quick_before(self, "quick")

    def quick_before(
        self,
        fallback: Callable[..., Any],
        name: str | None = None,
        *,
        shapes: Mapping[str, tuple[int, ...]] | None = None,
        dtype: Any = np.float64,
    ) -> Any:
        """The quick function that hands every call it cannot do itself to ``fallback``, of which it is ``name``.

        ``shapes`` are those of inputs that have two axes for one state, where it is not (n,) that is given; ``dtype``
        the precision that it takes.
        """
        code, called = self.code(dtype), name or self.signature.name
        return entry_function(code, self.signature, fallback, called, shapes or {}, self._finish) or fallback

    @cached_property
    def _finish(self) -> Callable[[tuple[np.ndarray, ...]], Any] | None:
        """What makes the result of a tuple of arrays, where it is neither one of them nor the tuple."""
        return None if self.signature.kind in (np.ndarray, tuple) else rebuilder(self.signature.structure)

    def bind(self, *arrays: np.ndarray, out: Any) -> Callable[[], bool]:
        """A function without arguments that runs on these very arrays and writes into ``out``.

        All are float64 or all float32, either single states (n,) or batches (states, n) with ``out``
        contiguous; where there are several results ``out`` is a list of arrays. A result may take the place of an
        input, but must not overlap one otherwise. Change their entries between calls; the quickest way for a control
        loop. It returns whether the result is sound.
        """
        first = out[0] if isinstance(out, (list, tuple)) and out else out
        dtype = np.float32 if getattr(first, "dtype", None) == np.float32 else np.float64
        inputs = [self._bindable(x, name, dtype) for x, name in zip(arrays, self.signature.inputs)]
        if len(arrays) != len(self._sizes):
            raise InputError(f"bind {len(self._sizes)} arrays ({', '.join(self.signature.inputs)})")
        batch = inputs[0].shape[:-1] if inputs else ()
        if any(x.shape[:-1] != batch for x in inputs) or len(batch) > 1:
            raise InputError(f"bound arrays are all (n,) or all (states, n), got {[x.shape for x in inputs]}")
        outputs = self._outputs(out, batch, dtype)
        _refuse_overlap(inputs, outputs)
        code = self.code(dtype)
        work = code.workspace(3 * (len(inputs) + len(outputs)))
        table = []
        for x in inputs:
            table += [x.ctypes.data, x.strides[0] if batch else 0, x.strides[-1]]
        for x in outputs:
            table += [x.ctypes.data, x.strides[0] if batch else 0, x.itemsize]
        states = batch[0] if batch else -1 if code.one else 1
        keep = (self, *inputs, *outputs)  # the tables of loops are the kernel's
        run: Callable[[], bool] | None = bound_function(code, self.signature.name, states, work, table, keep)
        return run or (lambda: self.run(inputs, out, threads=1)[1])

    def _bindable(self, x: Any, name: str, dtype: Any) -> np.ndarray:
        n = self.signature.inputs[name]
        unmasked(x, name)
        if not isinstance(x, np.ndarray) or x.dtype != dtype or not x.flags.aligned or x.shape[-1:] != (n,):
            kind = f"{np.dtype(dtype).name} array, as out is," if dtype == np.float32 else "float64 array"
            raise InputError(f"{name} must be an aligned {kind} of shape ({n},) or (states, {n}) to be bound")
        return x

    def __call__(self, *arrays: Any, out: Any = None, threads: int | None = None) -> Any:
        """Run on arrays in the order of :attr:`Program.inputs`; ``out`` receives the result in place.

        ``out`` may be one of the inputs, but must not overlap one otherwise.

        ``threads`` splits large batches; the default is one thread per core for batches that deserve it.

        Arrays of PyTorch, JAX and CuPy give arrays of the same library, on the same device, with gradients where the
        library has them; those take no ``out`` and no ``threads``.
        """
        run = self._quick_of.get(type(arrays[0])) if arrays and out is None and threads is None else None
        found = None if run is None else run(arrays)
        if found is not None:
            return found
        if array_kinds.among(arrays):
            return self._on_foreign(arrays, out, threads)
        return self._on_arrays(*arrays) if out is None and threads is None else self.run(arrays, out, threads)[0]

    _on_rows = __call__  # for who has all inputs as arrays (..., n), whatever a kernel takes besides

    @cached_property
    def _on_arrays(self) -> Callable[..., Any]:
        """The call with arrays alone: the way in from Python, by the code for blocks of states for single ones too."""
        code, name = self.code(np.float64), self.signature.name
        kernel = ref(self)  # which has it, and so is there when it is called

        def checked(*arrays: Any) -> Any:
            this = kernel()
            assert this is not None
            return this.run(arrays)[0]

        return entry_function(code, self.signature, checked, name, {}, self._finish, scalar=False) or checked

    def takes(self, arrays: Sequence[Any]) -> bool:
        """Whether these are aligned float64 arrays (states, n), which need no further look."""
        return _plain(arrays, self._sizes)

    def _on_foreign(self, arrays: Sequence[Any], out: Any, threads: int | None) -> Any:
        """The result for arrays of another library."""
        if out is not None or threads is not None:
            raise InputError(
                "out= and threads= are for arrays of NumPy; other libraries have streams and memory of their own"
            )
        first = array_kinds.library(arrays[0])
        if first is not None:
            prepare(first)
            self._make_function(first)
            run = self._quick[first]
            found = None if run is None else run(arrays)
            if run is not None and found is not None:
                self._quick_of[type(arrays[0])] = run
                return found
        names = list(self.signature.inputs)
        names += [f"({i})" for i in range(len(names), len(arrays))]  # too many: run_on says so
        named = dict(zip(names, arrays))
        library = array_kinds.common(named)
        prepare(library)
        self._make_function(library)
        return self.signature.result(run_on(library, self.as_function, list(arrays)))

    @at_once_for_torch
    def _make_function(self, library: str) -> None:
        """From now on :attr:`as_function` is there, and what runs it on a library's plain arrays."""
        function = self.as_function
        if library not in self._quick:
            self._quick[library] = quick(library, function)

    @cached_property
    def as_function(self) -> Any:
        """The function of other libraries' arrays, which knows its derivatives."""
        from ..foreign.function import Function

        return Function(self)

    def run(self, arrays: Sequence[Any], out: Any = None, threads: int | None = None) -> tuple[Any, bool]:
        """(the result, whether it is sound: False where a matrix that is inverted was singular in some state).

        The results of such states are NaN.
        """
        inputs = arrays if _plain(arrays, self._sizes) else None
        dtype: Any = np.float64
        if inputs is None:
            inputs, dtype = self._checked(arrays)
        batch = self._batch(inputs)
        outputs = self._outputs(out, batch, dtype)
        flat_in = [x if x.ndim == 2 and x.shape[:-1] == batch else _flattened(x, batch, x.shape[-1]) for x in inputs]
        count = math.prod(batch)
        flat_out = outputs
        if len(batch) != 1:
            flat_out = [y.reshape(count, math.prod(s)) for y, s in zip(outputs, self.signature.shapes)]
        if out is not None:  # which may be an input, or a part of its memory
            flat_in = [x.copy() if any(np.may_share_memory(x, y) for y in outputs) else x for x in flat_in]
        failed = count > 0 and self._run(self.code(dtype), count, [*flat_in, *flat_out], threads)
        if failed:
            _blank_unsound(self.code(dtype), flat_in, flat_out)
        return self.signature.result(list(outputs)), not failed

    def _checked(self, arrays: Sequence[Any]) -> tuple[list[np.ndarray], Any]:
        names = list(self.signature.inputs)
        if len(arrays) != len(names):
            raise InputError(f"{self.signature.name} takes {len(names)} arrays ({', '.join(names)}), got {len(arrays)}")
        found = [array_of(x, name) for name, x in zip(names, arrays)]
        for name, x in zip(names, found):
            self.signature.refuse_symbols(x, name)
            refuse_other_numbers(x, name)
            n = self.signature.inputs[name]
            if x.ndim == 0 or x.shape[-1] != n:
                raise InputError(f"{name} must have shape (..., {n}), got {x.shape}")
        single = all(x.dtype == np.float32 for x in found)
        dtype = np.float32 if single else np.float64
        return [x if x.dtype == dtype and x.flags.aligned else x.astype(dtype) for x in found], dtype

    def _batch(self, inputs: Sequence[np.ndarray]) -> tuple[int, ...]:
        first = inputs[0].shape[:-1] if inputs else ()
        if all(x.shape[:-1] == first for x in inputs):
            return first
        try:
            return np.broadcast_shapes(*(x.shape[:-1] for x in inputs))
        except ValueError:
            named = ", ".join(f"{k} {x.shape}" for k, x in zip(self.signature.inputs, inputs))
            raise InputError(f"the batch dimensions do not fit together: {named}") from None

    def _outputs(self, out: Any, batch: tuple[int, ...], dtype: Any) -> list[np.ndarray]:
        if out is None:
            return [empty(batch + s, dtype) for s in self.signature.shapes]
        if not self.signature.single and not isinstance(out, (list, tuple)):
            raise InputError(f"out must be a list of {len(self.signature.shapes)} arrays, got {arguments.shown(out)}")
        given = [out] if self.signature.single else list(out)
        if len(given) != len(self.signature.shapes):
            raise InputError(f"out must hold {len(self.signature.shapes)} arrays, got {len(given)}")
        for y, s in zip(given, self.signature.shapes, strict=True):
            shape = batch + s
            fits = isinstance(y, np.ndarray) and y.shape == shape and y.dtype == dtype
            if not fits or not (y.flags.c_contiguous and y.flags.writeable and y.flags.aligned):
                raise InputError(f"out must be a writeable, C-contiguous {np.dtype(dtype).name} array of shape {shape}")
        return given

    def _run(self, code: MachineCode, count: int, arrays: list[np.ndarray], threads: int | None) -> bool:
        """Whether a guard failed."""
        if threads is not None:
            refuse_other_threads(threads)
        helping = team()
        if helping is not None and code.on_objects is not None and threads != 1:
            return self._run_by(helping, code, count, arrays, min(int(threads or 0), count, MOST_WORKERS + 1))
        workers = _workers(code, count, threads)
        if workers == 1:
            begun = perf_counter_ns()
            failed = _call(code, count, arrays)
            code.pace.measured(count, perf_counter_ns() - begun)
            return failed
        lanes = code.vector.lanes
        share = -(-count // (workers * lanes)) * lanes
        parts = [[x[s : s + share] for x in arrays] for s in range(0, count, share)]
        return any(crew().map(lambda part: _call(code, len(part[-1]), part), parts))

    def _run_by(self, helping: Team, code: MachineCode, count: int, arrays: list[np.ndarray], asked: int) -> bool:
        """The same by as many threads as are asked for, or (0) as the work deserves."""
        work = code.workspace(3 * len(arrays), asked)
        work.table[: len(arrays)] = [id(x) for x in arrays]
        failed = helping.on_objects(
            *(helping.address, code.address, count, work.table_address, len(self._sizes), len(arrays)),
            *(code.vector.size, work.scratch_address, code.scratch_step, code.vector.lanes, work.threads - 1),
            *(code.entry_memory.pace_address, asked),
        )
        if work.threads == code.most_threads:
            code.spare.append(work)
        return bool(failed)


_FLOAT64 = np.dtype(np.float64)


def _refuse_overlap(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
    """Code reads some states when it has written others: a result may be in an input's place, not beside it."""
    for i, y in enumerate(outputs):
        own = (y.ctypes.data, y.shape, y.strides)
        beside = [x for x in inputs if (x.ctypes.data, x.shape, x.strides) != own]
        if any(np.shares_memory(x, y) for x in (*beside, *outputs[:i])):
            raise InputError("out overlaps an input, or another result: give an array of its own, or the very input")


def _plain(arrays: Sequence[Any], sizes: tuple[int, ...]) -> bool:
    """Whether these are aligned float64 arrays (states, n), which need no further look."""
    if len(arrays) != len(sizes):
        return False
    for x, n in zip(arrays, sizes):
        if type(x) is not np.ndarray or x.dtype is not _FLOAT64 or x.ndim != 2 or x.shape[1] != n:
            return False
        if not x.flags.aligned:
            return False
    return True


def array_of(x: Any, name: str) -> np.ndarray:
    """What is given for an input as an array of some kind."""
    unmasked(x, name)
    try:
        return np.asarray(x)
    except (TypeError, ValueError):  # rows of several lengths
        raise InputError(f"{name} must be an array of numbers, got {arguments.shown(x)}") from None


def precision(dtype: Any) -> str:
    """The name of a precision that there is code for."""
    try:
        name: str = np.dtype(dtype).name
    except (TypeError, ValueError):
        name = ""
    if name not in ("float64", "float32"):
        raise InputError(
            f"there is code for float64 and float32, not for {arguments.shown(dtype)}; use one of these, or"
            ' target="numpy"'
        )
    return name


def refuse_other_numbers(x: np.ndarray, name: str) -> None:
    """Refuse what compiled code would have to round or to cut: long doubles, complex numbers, and what is no number."""
    if x.dtype.kind not in "fiub":
        raise InputError(f'{name} must hold real numbers, got dtype {x.dtype}; target="numpy" takes complex ones')
    if x.dtype.kind == "f" and x.dtype.itemsize > 8:
        raise InputError(
            f"{name} holds numbers of dtype {x.dtype}, and machine code is for float64 and float32; round them"
            ' yourself, or use target="numpy"'
        )


def _workers(code: MachineCode, count: int, threads: int | None) -> int:
    """How many threads share a call."""
    if threads is not None:
        return min(int(threads), count)
    return 1 if count <= code.pace.most else code.pace.workers(count, usable_cores())


def _flattened(x: np.ndarray, batch: tuple[int, ...], n: int) -> np.ndarray:
    """(states, n) without copying where strides allow; an input without a batch is read again for each state."""
    if x.shape[:-1] == batch:
        return x.reshape(math.prod(batch), n)
    if x.ndim == 1:
        return np.broadcast_to(x, (math.prod(batch), n))
    return np.broadcast_to(x, (*batch, n)).reshape(math.prod(batch), n)


def _call(code: MachineCode, count: int, arrays: list[np.ndarray]) -> bool:
    """Run the machine code; whether a guard failed."""
    work = code.workspace(3 * len(arrays))
    if code.on_objects is not None:
        work.table[: len(arrays)] = [id(x) for x in arrays]
        failed = code.on_objects(count, work.table_address, work.scratch_address)
    else:
        words = [w for x in arrays for w in (x.__array_interface__["data"][0], x.strides[0], x.strides[-1])]
        work.table[:] = words
        failed = code.function(count, work.table_address, work.scratch_address)
    code.spare.append(work)
    return bool(failed)


def _blank_unsound(code: MachineCode, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
    """NaN for the states in which a guard fails: looked for by halves, since few do."""
    count = len(outputs[0]) if outputs else 0
    if not count or not _call(code, count, [*inputs, *outputs]):
        return
    if count == 1:
        for y in outputs:
            y[...] = np.nan
        return
    for half in (slice(0, count // 2), slice(count // 2, count)):
        _blank_unsound(code, [x[half] for x in inputs], [y[half] for y in outputs])
