"""The straight-line part of a kernel: each node of the scalar program as one line of LLVM IR.

Products and sums carry the flag ``contract``: LLVM may fuse a product into a following sum (one rounding
instead of two), and may do nothing else to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .llvm_math import VectorType, sincos_name
from .scalar import Scalar


class ProgramWriter:
    """Writes nodes in order; ``load(input, index, name)`` gives the lines that bring an input in."""

    def __init__(self, t: VectorType, load: Callable[[str, int, str], list[str]]) -> None:
        self.t, self.load = t, load
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self.pairs: dict[int, str] = {}  # angle → its {sin, cos}

    def value(self, x: Any) -> str:
        return self.names[id(x)] if isinstance(x, Scalar) else self.t.splat(x)

    def node(self, node: Scalar) -> None:
        name = self.names[id(node)] = f"%v{len(self.names)}"
        v, a = self.t.name, node.args
        if node.op == "input":
            self.lines += self.load(a[0], a[1], name)
        elif node.op in ("add", "sub", "mul"):
            self.lines.append(f"  {name} = f{node.op} contract {v} {self.value(a[0])}, {self.value(a[1])}")
        elif node.op == "neg":
            self.lines.append(f"  {name} = fneg {v} {self.value(a[0])}")
        elif node.op == "inv":
            self.lines.append(f"  {name} = fdiv {v} {self.t.splat(1.0)}, {self.value(a[0])}")
        elif node.op == "sqrt":
            self.lines.append(f"  {name} = call {v} @llvm.sqrt.{self.t.mangled}({v} {self.value(a[0])})")
        else:
            index = 0 if node.op == "sin" else 1
            self.lines.append(f"  {name} = extractvalue {{{v}, {v}}} {self.sincos(a[0])}, {index}")

    def sincos(self, angle: Scalar) -> str:
        """One call gives both."""
        if id(angle) not in self.pairs:
            name = self.pairs[id(angle)] = f"%p{len(self.pairs)}"
            v = self.t.name
            self.lines.append(f"  {name} = call {{{v}, {v}}} {sincos_name(self.t)}({v} {self.value(angle)})")
        return self.pairs[id(angle)]
