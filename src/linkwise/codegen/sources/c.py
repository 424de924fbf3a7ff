"""C target: one self-contained C99 file and a header for each function.

ABI: ``void NAME(const T *in1, …, T *out1, …)`` with T double (or float). Inputs come in the order of the
function, each a plain array of the length given in the header; outputs are row-major. No memory is
allocated, nothing is static, only ``sin``, ``cos``, ``sqrt`` (rarely ``log`` and ``atan2``) of libm are called; the
function is re-entrant and its running time does not depend on the data. Inputs and outputs must not overlap.
Where a matrix that is inverted is singular (:mod:`...singularity`), all results are NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...properties import cached_property
from ...symbols.outputs import reachable
from .source import Expressions, Source, argument


@dataclass(frozen=True, eq=False, repr=False)
class CSource(Source):
    """A function as C source: ``source`` and ``header`` are texts, :meth:`write` puts them into a folder."""

    target = "c"
    ending = ".c"

    @property
    def prototype(self) -> str:
        inputs = [f"const {self.number} *{argument(name)}" for name in self.program.inputs]
        outputs = [f"{self.number} *{name}" for name in self._outputs()]
        return f"void {self.name}({', '.join([*inputs, *outputs])})"

    @cached_property
    def header(self) -> str:
        lines = [f"{self.program.name} of {self.robot}; {self.operations} per call."]
        lines += [f"   {argument(name)}: {n} numbers" for name, n in self.program.inputs.items()]
        for name, shape in self._outputs().items():
            lines.append(f"   {name}: {' x '.join(map(str, shape)) or '1'} numbers, row by row, written")
        return self._header("\n".join(lines))

    @cached_property
    def source(self) -> str:
        body = "\n".join(self._statements())
        return f'#include <math.h>\n#include "{self.name}.h"\n\n{self.prototype}\n{{\n{body}\n}}\n'

    def _statements(self) -> list[str]:
        values = Expressions(self.dtype)
        used: set[str] = set()
        lines: list[str] = []
        guards = self.program.guards
        for node in reachable([*self.program.roots, *(x for g in guards for x in g.nodes)]):
            if node.op == "input":
                name, i = node.args
                values.call(node, f"{argument(name)}[{i}]")
                used.add(name)
            else:
                right = values.right_side(node)
                lines.append(f"    const {self.number} {values.variable(node)} = {right};")
        if guards:
            lines.append(f"    const int singular = {values.singular(guards)};")
        kept = "singular ? NAN : " if guards else ""
        lines += [f"    {name}[{i}] = {kept}{values[x]};" for name, i, x in self._entries()]
        return [f"    (void){argument(name)};" for name in self.program.inputs if name not in used] + lines
