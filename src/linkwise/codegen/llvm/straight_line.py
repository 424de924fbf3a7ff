"""The straight-line part of a kernel: each node of the scalar program as one line of LLVM IR.

Products that a program says are fused into sums (one rounding instead of two) are, where the processor can. In loops,
which say nothing of it, products and sums carry the flag ``contract``: LLVM may fuse them, and may do nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...symbols.scalar import Guard, Scalar
from ...tolerances import roundings
from ..program.fusion import fused_operands, without_sign
from .sine_cosine import INTRINSICS, LIBM, VectorType, sincos_name

_COMPARISONS = {"less": "olt", "less_equal": "ole", "equal": "oeq"}  # false where an argument is not a number


class ProgramWriter:
    """Writes nodes in order; ``load(input, index, name)`` gives the lines that bring an input in."""

    def __init__(
        self,
        t: VectorType,
        load: Callable[[str, int, str], list[str]],
        prefix: str = "",
        fused: Mapping[int, int] | None = None,
    ) -> None:
        self.t, self.load, self.prefix = t, load, prefix
        self.fused = fused or {}
        self.within = {*self.fused.values()}  # products that are no lines of their own
        self.flag = " contract" if fused is None else ""
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self.pairs: dict[int, str] = {}  # angle → its {sin, cos}

    def value(self, x: Any) -> str:
        return self.names[id(x)] if isinstance(x, Scalar) else self.t.splat(x)

    def operands(self, node: Scalar) -> tuple[Any, ...]:
        """What the line of a node needs; a product without a line needs nothing."""
        if id(node) in self.fused:
            return fused_operands(node, self.fused)[1:4]
        return () if self._is_within(node) else node.args

    def _is_within(self, node: Scalar) -> bool:
        return bool(self.within) and id(without_sign(node)) in self.within

    def _fused(self, node: Scalar, name: str) -> None:
        v = self.t.name
        sign, a, b, c, other = fused_operands(node, self.fused)
        values = [self.value(x) for x in (a, b, c)]
        for k, s in ((0, sign), (2, other)):
            if s < 0:
                self.lines.append(f"  {name}n{k} = fneg {v} {values[k]}")
                values[k] = f"{name}n{k}"
        arguments = ", ".join(f"{v} {x}" for x in values)
        self.lines.append(f"  {name} = call {v} @llvm.fmuladd.{self.t.mangled}({arguments})")

    def node(self, node: Scalar) -> None:
        if self._is_within(node):
            return
        name = self.names[id(node)] = f"%{self.prefix}v{len(self.names)}"
        v, a = self.t.name, node.args
        if node.op == "input":
            self.lines += self.load(a[0], a[1], name)
        elif id(node) in self.fused:
            self._fused(node, name)
        elif node.op in ("add", "sub", "mul"):
            self.lines.append(f"  {name} = f{node.op}{self.flag} {v} {self.value(a[0])}, {self.value(a[1])}")
        elif node.op == "neg":
            self.lines.append(f"  {name} = fneg {v} {self.value(a[0])}")
        elif node.op == "inv":
            self.lines.append(f"  {name} = fdiv {v} {self.t.splat(1.0)}, {self.value(a[0])}")
        elif node.op in INTRINSICS:
            arguments = ", ".join(f"{v} {self.value(x)}" for x in a)
            self.lines.append(f"  {name} = call {v} @llvm.{node.op}.{self.t.mangled}({arguments})")
        elif node.op in _COMPARISONS:
            self.lines.append(f"  {name} = fcmp {_COMPARISONS[node.op]} {v} {self.value(a[0])}, {self.value(a[1])}")
        elif node.op in ("and", "or"):
            self.lines.append(f"  {name} = {node.op} {self.t.mask} {self.value(a[0])}, {self.value(a[1])}")
        elif node.op == "not":
            self.lines.append(f"  {name} = xor {self.t.mask} {self.value(a[0])}, {self.t.all_true}")
        elif node.op == "select":
            chosen = f"{self.t.mask} {self.value(a[0])}, {v} {self.value(a[1])}, {v} {self.value(a[2])}"
            self.lines.append(f"  {name} = select {chosen}")
        elif node.op in LIBM:
            self._by_lane(name, node.op, [self.value(x) for x in a])
        else:
            index = 0 if node.op == "sin" else 1
            self.lines.append(f"  {name} = extractvalue {{{v}, {v}}} {self.sincos(a[0])}, {index}")

    def _by_lane(self, name: str, function: str, values: list[str]) -> None:
        """A function of libm, lane by lane."""
        t = self.t
        symbol = f"@{function}" + ("" if t.bits == 64 else "f")
        if t.lanes == 1:
            self.lines.append(f"  {name} = call {t.name} {symbol}({', '.join(f'{t.name} {x}' for x in values)})")
            return
        so_far = "poison"
        for lane in range(t.lanes):
            for i, x in enumerate(values):
                self.lines.append(f"  {name}e{lane}a{i} = extractelement {t.name} {x}, i32 {lane}")
            arguments = ", ".join(f"{t.scalar} {name}e{lane}a{i}" for i in range(len(values)))
            self.lines.append(f"  {name}e{lane} = call {t.scalar} {symbol}({arguments})")
            whole = name if lane == t.lanes - 1 else f"{name}i{lane}"
            self.lines.append(f"  {whole} = insertelement {t.name} {so_far}, {t.scalar} {name}e{lane}, i32 {lane}")
            so_far = whole

    def require(self, guards: Sequence[Guard]) -> str:
        """An i1 that is true where any of these does not hold in any lane (NaN passes)."""
        t = self.t
        epsilon = roundings(1, np.float64 if t.bits == 64 else np.float32)
        bad = ""
        for i, guard in enumerate(guards):
            factor, size = guard.limit(epsilon)
            least = t.splat(factor)
            if size is not None:
                self.lines.append(f"  %{self.prefix}least{i} = fmul {t.name} {self.value(size)}, {least}")
                least = f"%{self.prefix}least{i}"
            self.lines.append(f"  %{self.prefix}guard{i} = fcmp ole {t.name} {self.value(guard.value)}, {least}")
            if bad:
                self.lines.append(f"  %{self.prefix}bad{i} = or {t.mask} {bad}, %{self.prefix}guard{i}")
            bad = f"%{self.prefix}bad{i}" if bad else f"%{self.prefix}guard{i}"
        if not bad:
            return "false"
        if t.lanes > 1:
            self.lines.append(f"  %{self.prefix}bad = call i1 @llvm.vector.reduce.or.v{t.lanes}i1({t.mask} {bad})")
            return f"%{self.prefix}bad"
        return bad

    def sincos(self, angle: Scalar) -> str:
        """One call gives both."""
        if id(angle) not in self.pairs:
            name = self.pairs[id(angle)] = f"%{self.prefix}p{len(self.pairs)}"
            v = self.t.name
            self.lines.append(f"  {name} = call {{{v}, {v}}} {sincos_name(self.t)}({v} {self.value(angle)})")
        return self.pairs[id(angle)]
