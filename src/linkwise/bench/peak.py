"""How fast one core can multiply and add at best, and how near to that the kernels come.

The peak is measured: a loop of independent fused multiply-adds on the widest vectors, nothing loaded or stored;
then with its operations unfused, and with every third result stored, about as often as kernels do.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..codegen.llvm.sine_cosine import VectorType
from ..codegen.runtime.engine import host, target_machine
from .runner import Row, seconds_of

_CHAINS = 12  # independent accumulators: more than latency × units, fewer than registers
_ROUNDS = 20_000


@dataclass(frozen=True)
class Peak:
    """Additions and multiplications per second of one core: fused in pairs, unfused, fused with stores."""

    fused: float
    unfused: float
    storing: float


def measure_peak(dtype: Any = np.float64, repeats: int = 7) -> Peak:
    """The best of several measurements: nothing but a disturbance makes them slower."""
    return Peak(*(_rate(step, dtype, repeats) for step in (_FUSED, _UNFUSED, _STORING)))


def kernel_rate(row: Row) -> float:
    """Additions and multiplications per second that a kernel of linkwise does."""
    assert row.operations is not None
    return (row.operations.additions + row.operations.multiplications) / (row.nanoseconds * 1e-9)


# --- the loops ---------------------------------------------------------------------------------------

# What one chain does in a round; unfused, a multiplication and an addition on chains of their own.
_FUSED = ("  %a{i}_ = call {v} @llvm.fma.{s}({v} %a{i}, {v} %x, {v} %y)\n",)
_UNFUSED = ("  %a{i}_ = fmul {v} %a{i}, %x\n", "  %b{i}_ = fadd {v} %b{i}, %y\n")
_STORING = (_FUSED[0] + "{store}  store volatile {v} %a{i}_, ptr %pz, align 16\n",)


def _rate(step: tuple[str, ...], dtype: Any, repeats: int) -> float:
    vector = host().vector(dtype)
    chains = _CHAINS // len(step)
    call = _compiled(_loop(step, vector, chains))
    numbers = _aligned([0.999, 1e-3, 0.0], vector.lanes, dtype)

    def run() -> None:
        call(_ROUNDS, numbers.ctypes.data)

    best = min(seconds_of(run) for _ in range(repeats))
    return 2 * chains * vector.lanes * _ROUNDS / best


def _aligned(values: list[float], lanes: int, dtype: Any) -> np.ndarray:
    """Each value in every lane of a vector, at an address that vectors like."""
    filled = np.repeat(values, lanes).astype(dtype)
    room = np.zeros(filled.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    out: np.ndarray = room[start : start + filled.nbytes].view(dtype)
    out[:] = filled
    return out


def _loop(step: tuple[str, ...], vector: VectorType, chains: int) -> str:
    """The loop as LLVM's text. It reads %x and %y before, and writes the sum of all chains in the end."""
    v, s = vector.name, vector.mangled
    body = ""
    for i in range(chains):
        for text in step:
            fused, store, rest = text.partition("{store}")
            body += (fused + (rest if store and i % 3 == 0 else "")).format(i=i, v=v, s=s)
    names = [f"{c}{i}" for i in range(chains) for c in "ab"[: len(step)]]
    phis = "".join(f"  %{c} = phi {v} [ %x, %entry ], [ %{c}_, %loop ]\n" for c in names)
    sums = "".join(f"  %s{k} = fadd {v} %{c}_, {f'%s{k - 1}' if k else '%y'}\n" for k, c in enumerate(names))
    return f"""declare {v} @llvm.fma.{s}({v}, {v}, {v})
define void @peak(i64 %rounds, ptr %numbers) {{
entry:
  %x = load {v}, ptr %numbers, align {vector.alignment}
  %py = getelementptr {v}, ptr %numbers, i64 1
  %y = load {v}, ptr %py, align {vector.alignment}
  %pz = getelementptr {v}, ptr %numbers, i64 2
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k1, %loop ]
{phis}{body}  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, %rounds
  br i1 %more, label %loop, label %done
done:
{sums}  store {v} %s{len(names) - 1}, ptr %pz, align {vector.alignment}
  ret void
}}
"""


def _compiled(ir: str) -> Any:
    machine = target_machine(2)  # first: it loads LLVM, which a process that finds its kernels on disk has not
    import llvmlite.binding as llvm

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(ir), machine)
    engine.finalize_object()
    function: Any = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(engine.get_function_address("peak"))
    function.keep = engine  # owns the code
    return function
