"""From LLVM IR to machine code for this computer, through llvmlite (no compiler needed)."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from .. import errors
from . import cache
from .entry import context
from .llvm import kernel_ir, scratch_size
from .llvm_entry import has_entry
from .llvm_math import VectorType
from .program import Program

_OPTIMISATION = 2


@dataclass(frozen=True)
class Host:
    """What the kernels are compiled for."""

    cpu: str
    features: str
    vector_bytes: int

    def vector(self, dtype: Any) -> VectorType:
        """The host's SIMD type for float64 or float32."""
        size = np.dtype(dtype).itemsize
        return VectorType("double" if size == 8 else "float", self.vector_bytes // size)


@lru_cache(maxsize=1)
def _llvm() -> Any:
    try:
        import llvmlite.binding as llvm
    except ImportError:
        raise errors.LinkwiseError("compiling for the CPU needs llvmlite: pip install llvmlite") from None
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@lru_cache(maxsize=1)
def host() -> Host:
    """This computer: AVX-512 has 64-byte vectors, AVX 32, SSE2 and NEON 16."""
    llvm = _llvm()
    features = llvm.get_host_cpu_features()
    width = 64 if features.get("avx512f") else 32 if features.get("avx") else 16
    return Host(llvm.get_host_cpu_name(), features.flatten(), width)


def _target_machine() -> Any:
    """A new one each time: an execution engine takes over the one it is given."""
    llvm = _llvm()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=host().cpu, features=host().features, opt=_OPTIMISATION)


@dataclass(frozen=True, eq=False)
class MachineCode:
    """A kernel in memory: call it with the number of states, the array table and scratch memory."""

    function: Any
    vector: VectorType
    scratch_bytes: int
    from_cache: bool
    entry: int | None  # address of the quick entry for one state
    _engine: Any = None  # owns the code; the function dies with it


def compile_program(program: Program, dtype: Any) -> MachineCode:
    """Machine code for a program at float64 or float32, from the disk cache where it is there."""
    llvm = _llvm()
    vector = host().vector(dtype)
    ir = kernel_ir(program, vector)
    name = cache.key(ir, host().cpu, host().features, str(llvm.llvm_version_info), str(_OPTIMISATION))
    stored = cache.read(name)
    code = stored if stored is not None else _object_code(ir)
    if stored is None:
        cache.write(name, code)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    function = prototype(engine.get_function_address("lw_kernel"))
    entry = _entry_address(engine) if vector.bits == 64 and has_entry(program) else None
    return MachineCode(function, vector, scratch_size(program, vector), stored is not None, entry, engine)


def _entry_address(engine: Any) -> int | None:
    """Where the quick entry is, once it has been told where NumPy and Python are."""
    known = context()
    if known is None:
        return None
    slot = engine.get_global_value_address("lw_context")
    ctypes.c_void_p.from_address(slot).value = ctypes.addressof(known)
    return engine.get_function_address("lw_call")


def _object_code(ir: str) -> bytes:
    llvm = _llvm()
    module = llvm.parse_assembly(ir)
    module.verify()
    machine = _target_machine()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=_OPTIMISATION))
    builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)
