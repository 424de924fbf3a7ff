"""How fast one core can multiply and add at best, and how near to that the kernels come.

The peak is measured: a loop of independent fused multiply-adds on the widest vectors, nothing loaded or stored.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..codegen.engine import host
from .runner import Row, seconds_of

_CHAINS = 12  # independent accumulators: more than latency × units, fewer than registers
_ROUNDS = 20_000


@dataclass(frozen=True)
class Peak:
    """Additions and multiplications per second of one core: fused in pairs, and one of each unfused."""

    fused: float
    unfused: float


def measure_peak(dtype: Any = np.float64, repeats: int = 7) -> Peak:
    """The best of several measurements: nothing but a disturbance makes them slower."""
    return Peak(_rate(_FUSED, dtype, repeats), _rate(_UNFUSED, dtype, repeats))


def kernel_rate(row: Row) -> float:
    """Additions and multiplications per second that a kernel of linkwise does."""
    assert row.operations is not None
    return (row.operations.additions + row.operations.multiplications) / (row.nanoseconds * 1e-9)


# --- the loops ---------------------------------------------------------------------------------------

# Both do one multiplication and one addition per lane, on two different chains where they are not fused.
_FUSED = """  %n{i} = call {v} @llvm.fma.{s}({v} %a{i}, {v} %x, {v} %y)
"""
_UNFUSED = """  %n{i} = fmul {v} %a{i}, %x
  %m{i} = fadd {v} %b{i}, %y
"""


def _rate(step: str, dtype: Any, repeats: int) -> float:
    lanes = host().vector(dtype).lanes
    chains = _CHAINS if step is _FUSED else _CHAINS // 2
    call = _compiled(_loop(step, dtype, lanes, chains))
    numbers = np.concatenate([np.full(lanes, 0.999), np.full(lanes, 1e-3), np.zeros(lanes)]).astype(dtype)

    def run() -> None:
        call(_ROUNDS, numbers.ctypes.data)

    best = min(seconds_of(run) for _ in range(repeats))
    return 2 * chains * lanes * _ROUNDS / best


def _loop(step: str, dtype: Any, lanes: int, chains: int) -> str:
    double = np.dtype(dtype).itemsize == 8
    v, s = f"<{lanes} x {'double' if double else 'float'}>", f"v{lanes}f{64 if double else 32}"
    names = ["a"] if step is _FUSED else ["a", "b"]
    new = {"a": "n", "b": "m"}
    phis = "".join(
        f"  %{c}{i} = phi {v} [ %x, %entry ], [ %{new[c]}{i}, %loop ]\n" for i in range(chains) for c in names
    )
    body = "".join(step.format(i=i, v=v, s=s) for i in range(chains))
    last = [f"%{new[c]}{i}" for i in range(chains) for c in names]
    sums = f"  %s0 = fadd {v} {last[0]}, {last[1]}\n"
    sums += "".join(f"  %s{k} = fadd {v} %s{k - 1}, {x}\n" for k, x in enumerate(last[2:], 1))
    return f"""declare {v} @llvm.fma.{s}({v}, {v}, {v})
define void @peak(i64 %rounds, ptr %numbers) {{
entry:
  %x = load {v}, ptr %numbers, align 4
  %py = getelementptr {v}, ptr %numbers, i64 1
  %y = load {v}, ptr %py, align 4
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k1, %loop ]
{phis}{body}  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, %rounds
  br i1 %more, label %loop, label %done
done:
{sums}  %pz = getelementptr {v}, ptr %numbers, i64 2
  store {v} %s{len(last) - 2}, ptr %pz, align 4
  ret void
}}
"""


def _compiled(ir: str) -> Any:
    import llvmlite.binding as llvm

    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=host().cpu, features=host().features, opt=2)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(ir), machine)
    engine.finalize_object()
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(engine.get_function_address("peak"))
    function.keep = engine  # type: ignore[attr-defined]  # owns the code
    return function
