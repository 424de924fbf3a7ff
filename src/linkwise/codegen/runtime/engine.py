"""From LLVM IR to machine code for this computer, through llvmlite (no compiler needed)."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import re
import weakref
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from ... import errors
from ...properties import cached_property
from ..levels import code_level
from ..llvm.sine_cosine import VectorType
from ..passes import Pass
from ..thresholds import FIRST_STATES, LLVM_PASSES, TEAM_SCRATCH, THREAD_NANOSECONDS
from . import computer
from . import disk_cache as cache
from .array_layout import arrays_are_as_known
from .object_loader import LoadedObject, NotLoadableError, can_load

# What assembly needs: of F vectors and masks, of DQ signs (vandnpd, vxorpd), of VL single numbers in 32 registers.
ASSEMBLY_FEATURES = ("avx512f", "avx512dq", "avx512vl")

_NUMBERS = {"float64": "double", "float32": "float"}


@dataclass(frozen=True)
class Host:
    """What the kernels are compiled for."""

    cpu: str
    features: str
    vector_bytes: int
    assembles: bool = False  # whether straight-line code is written in its own language, which is that of x86-64

    def vector(self, dtype: Any) -> VectorType:
        """The host's SIMD type for float64 or float32."""
        kind = _NUMBERS.get(np.dtype(dtype).name)
        if kind is None:
            name = np.dtype(dtype).name
            raise errors.InputError(f'machine code is for float64 and float32, not {name}; target="numpy" takes any')
        assembled = self.assembles and self.vector_bytes == 64 and assembly_is_wanted()
        return VectorType(kind, self.vector_bytes // np.dtype(dtype).itemsize, assembled)


@lru_cache(maxsize=1)
def _llvm() -> Any:
    try:
        import llvmlite.binding as llvm
    except ImportError:
        raise errors.MissingExtraError("compiling for the CPU needs llvmlite: pip install llvmlite") from None
    _held_while_forking(llvm)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    return llvm


def _held_while_forking(llvm: Any) -> None:
    """A fork waits until LLVM works for no other thread: in a child, which has none, it would do so for ever."""
    lock = getattr(getattr(llvm.ffi.lib, "_lock", None), "_lock", None)
    if lock is not None and hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


@lru_cache(maxsize=1)
def is_here() -> bool:
    """Whether llvmlite is: without it there is code for graphics cards alone."""
    return importlib.util.find_spec("llvmlite") is not None


@lru_cache(maxsize=1)
def host() -> Host:
    """This computer."""
    known = _from_disk()
    if known:
        return Host(known["cpu"], known["features"], known["vector_bytes"], known["assembles"])
    found = host_as_llvm_says()
    computer.keep(**asdict(found), version=str(_llvm().llvm_version_info))
    return found


def host_as_llvm_says() -> Host:
    """AVX-512 has 64-byte vectors, AVX 32, SSE2 and NEON 16.

    (Processes of 32 bits have none of the registers that assembly names, whatever the processor can do.)
    """
    llvm = _llvm()
    features = llvm.get_host_cpu_features()
    width = 64 if features.get("avx512f") else 32 if features.get("avx") else 16
    assembles = all(features.get(x) for x in ASSEMBLY_FEATURES) and llvm.get_default_triple().startswith("x86_64")
    return Host(llvm.get_host_cpu_name(), features.flatten(), width, assembles)


@lru_cache(maxsize=1)
def llvm_version() -> str:
    """The version of LLVM that makes the code."""
    known = _from_disk()
    return known["version"] if known else str(_llvm().llvm_version_info)


@lru_cache(maxsize=1)
def _from_disk() -> dict[str, Any]:
    """What LLVM said of this computer in an earlier process."""
    return computer.remembered()


def assembly_is_wanted() -> bool:
    """Whether straight-line code is assembly where it can be; LINKWISE_ASSEMBLY=0 leaves it all to LLVM."""
    text = os.environ.get("LINKWISE_ASSEMBLY", "")
    if text not in ("", "0", "1"):
        raise errors.InputError(f"LINKWISE_ASSEMBLY must be 0 or 1, got {text!r}")
    return text != "0"


def target_machine(level: int | None = None) -> Any:
    """A new one each time: an execution engine takes over the one it is given."""
    llvm = _llvm()
    target = llvm.Target.from_default_triple()
    level = code_level() if level is None else level
    return target.create_target_machine(cpu=host().cpu, features=host().features, opt=level)


class Pace:
    """How long a state takes at best, as measured so far; and the most states for which no thread is asked to help."""

    def __init__(self) -> None:
        self.nanoseconds = 0.0
        self.followers: list[Callable[[int], None]] = []  # told the most states when they change
        self.most = FIRST_STATES

    def measured(self, states: int, nanoseconds: int) -> None:
        """A run by one thread took so long. (Others only make it longer: the shortest is believed.)"""
        pace = max(nanoseconds, 1) / states
        if states >= FIRST_STATES and not 0.0 < self.nanoseconds <= pace:
            self.nanoseconds = pace
            self.most = max(FIRST_STATES, int(2 * THREAD_NANOSECONDS / pace))
            for tell in self.followers:
                tell(self.most)

    def workers(self, states: int, cores: int) -> int:
        """How many threads this many states deserve."""
        return max(1, min(cores, int(states * self.nanoseconds / THREAD_NANOSECONDS)))


@dataclass(frozen=True, eq=False)
class MachineCode:
    """A kernel in memory: call it with the number of states, the array table and scratch memory."""

    name: str  # of its object code in the cache
    function: Any  # (states, table of {address, strides}, scratch) → whether a guard failed
    on_objects: Any  # (states, table of array objects, scratch) → the same; None where objects cannot be read
    vector: VectorType
    scratch_bytes: int
    from_cache: bool
    address: int  # of the function
    one: int  # address of the code for one state; 0 where there is none
    spare: list[Workspace] = field(default_factory=list)  # workspaces not in use
    pace: Pace = field(default_factory=Pace)
    _linked: Any = None  # owns the code; the function dies with it
    _tables: dict[str, np.ndarray] = field(default_factory=dict)  # which it reads

    def set_table(self, name: str, table: np.ndarray) -> None:
        """Tell the code where a table is, which stays as long as it."""
        self._tables[name] = table
        ctypes.c_void_p.from_address(self._linked.address(name)).value = table.ctypes.data

    @property
    def scratch_step(self) -> int:
        """Bytes from the scratch of one thread to that of the next."""
        return -(-self.scratch_bytes // 128) * 128

    @cached_property
    def most_threads(self) -> int:
        """How many may share a call: as many as there are processors, and scratch for."""
        return max(1, min(os.cpu_count() or 1, TEAM_SCRATCH // max(1, self.scratch_step)))

    @cached_property
    def entry_memory(self) -> EntryMemory:
        """What the ways in from Python work in, one call at a time."""
        return EntryMemory(1, self.scratch_step, self.vector.alignment, self.most_threads)

    def workspace(self, words: int, threads: int = 0) -> Workspace:
        """Memory for one call, of so many threads at least; give it back to ``spare``."""
        if threads > self.most_threads:
            return Workspace(words, self.scratch_step, self.vector.alignment, threads)
        try:
            return self.spare.pop()
        except IndexError:
            return Workspace(words, self.scratch_step, self.vector.alignment, self.most_threads)


class Workspace:
    """What one running call needs: the table of its arguments, and scratch for so many threads."""

    def __init__(self, words: int, scratch_step: int, alignment: int, threads: int) -> None:
        self.threads = threads
        self.table = (ctypes.c_int64 * words)()
        self.table_address = ctypes.addressof(self.table)
        self._memory = np.empty(threads * scratch_step + alignment, np.uint8)  # touched only where it is used
        start = self._memory.ctypes.data
        self.scratch_address = start + -start % alignment


class EntryMemory(Workspace):
    """The same for :mod:`..llvm.python_entry`, with a word that says whether a thread is at work in it."""

    def __init__(self, words: int, scratch_step: int, alignment: int, threads: int) -> None:
        super().__init__(words + 1, scratch_step, alignment, threads)
        self.pace_address = self.table_address + 8
        _entry_memories.add(self)

    def set_idle(self) -> None:
        self.table[0] = 0


_entry_memories: weakref.WeakSet[EntryMemory] = weakref.WeakSet()


def _nobody_works() -> None:
    """In a forked child, which has none of the other threads."""
    for memory in _entry_memories:
        memory.set_idle()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_nobody_works)


# --- passes: from a kernel's program to machine code ------------------------------------------------------


@dataclass(eq=False)
class CodeJob:
    """Machine code that is to be made for a kernel in one precision."""

    kernel: Any  # gives the text of its module: ``kernel.ir(vector)``
    vector: VectorType
    name: str | None = None  # of the object code on disk
    ir: str = ""
    object_code: bytes | None = None
    from_disk: bool = False
    code: MachineCode | None = None
    done: bool = False


def code_job(kernel: Any, dtype: Any, name: str | None) -> CodeJob:
    """The job for a kernel in this precision; ``name`` is that of object code which may be on disk."""
    return CodeJob(kernel, host().vector(dtype), name)


def recall_object(job: CodeJob) -> str | None:
    """Object code under the name that an earlier process left for the request."""
    job.object_code = None if job.name is None else cache.read(job.name)
    job.from_disk = job.object_code is not None
    return f"{len(job.object_code)} bytes" if job.object_code is not None else None


def order_values(job: CodeJob) -> str | None:
    """The order of the program's values in which few of them wait at a time."""
    return None if job.object_code is not None else job.kernel.ordered(job.vector)


def write_module(job: CodeJob) -> str | None:
    """The program as text of an LLVM module: one state per SIMD lane, blocks of states transposed in and out."""
    if job.object_code is not None:
        return None
    job.ir = job.kernel.ir(job.vector)
    lanes, scalar = job.vector.lanes, job.vector.scalar
    return f"{job.ir.count(chr(10))} lines, {lanes} states of {scalar} at once"


def assemble(job: CodeJob) -> str | None:
    """Object code for this computer from LLVM's code generator, or from the disk where the same text was before."""
    if job.object_code is not None:
        return None
    level = code_level(job.kernel.is_made_quickly(job.vector))
    job.name = cache.key(job.ir, host().cpu, host().features, llvm_version(), str(level))
    job.object_code = cache.read(job.name)
    job.from_disk = job.object_code is not None
    if job.object_code is None:
        job.object_code = _object_code(job.ir, level=level)
        cache.write(job.name, job.object_code)
    return f"{len(job.object_code)} bytes" + (", found on disk" if job.from_disk else "")


def load(job: CodeJob) -> str:
    """The object code linked into this process."""
    assert job.name is not None and job.object_code is not None
    job.code, job.done = _loaded(job.name, job.object_code, job.vector, job.from_disk), True
    return f"{job.code.scratch_bytes} bytes of scratch"


CODE_PASSES = (
    Pass("object code", recall_object),
    Pass("order", order_values),
    Pass("module", write_module),
    Pass("assemble", assemble),
    Pass("load", load),
)


def _loaded(name: str, code: bytes, vector: VectorType, from_cache: bool) -> MachineCode:
    linked = _linked(code)
    prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    address = linked.address("lw_kernel")
    objects = linked.address("lw_objects")
    on_objects = prototype(objects) if objects and arrays_are_as_known() else None
    scratch = ctypes.c_int64.from_address(linked.address("lw_scratch_bytes")).value
    one = linked.address("lw_one")
    return MachineCode(name, prototype(address), on_objects, vector, scratch, from_cache, address, one, _linked=linked)


def _linked(code: bytes) -> LoadedObject | LoadedByLlvm:
    """Object code in memory."""
    if can_load():
        with contextlib.suppress(NotLoadableError):
            return LoadedObject(code)
    return LoadedByLlvm(code)


class LoadedByLlvm:
    """The same by LLVM, on systems that we do not know."""

    def __init__(self, code: bytes) -> None:
        llvm = _llvm()
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where a function or a variable is; 0 where there is none of this name."""
        found: int = self._engine.get_function_address(name) or self._engine.get_global_value_address(name)
        return found


def process_code(name: str, ir: str) -> dict[str, int]:
    """The addresses of the functions of a module that every kernel uses; it is loaded once and stays."""
    if name not in _of_the_process:
        key = cache.key(ir, host().cpu, host().features, llvm_version(), "process")
        code = cache.read(key)
        if code is None:
            code = _object_code(ir, passes=2)
            cache.write(key, code)
        linked = _linked(code)
        functions = re.findall(r"^define (?!internal)\w+ @(\w+)", ir, re.MULTILINE)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(linked))  # Python may call it to its very end
        _of_the_process[name] = {f: linked.address(f) for f in functions}
    return _of_the_process[name]


_of_the_process: dict[str, dict[str, int]] = {}


def _object_code(ir: str, passes: int = LLVM_PASSES, level: int | None = None) -> bytes:
    llvm = _llvm()
    module = llvm.parse_assembly(ir)
    module.verify()
    machine = target_machine(level)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=passes))
    builder.getModulePassManager().run(module, builder)
    code: bytes = machine.emit_object(module)
    return code
