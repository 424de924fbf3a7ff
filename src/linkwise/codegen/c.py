"""C target: one self-contained C99 file and a header for each function.

ABI: ``void NAME(const T *in1, …, T *out1, …)`` with T double (or float). Inputs come in the order of the
function, each a plain array of the length given in the header; outputs are row-major. No memory is
allocated, nothing is static, only ``sin``, ``cos``, ``sqrt`` (rarely ``log`` and ``atan2``) of libm are called; the
function is re-entrant and its running time does not depend on the data. Inputs and outputs must not overlap.
A singular mass matrix shows as infinite or NaN results; nothing else reports it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError, InputError
from ..files import cannot_write, write_text
from .program import Program
from .scalar import Operations, Scalar, reachable

_TAKEN = re.compile(r"out\d*|t\d+")  # what the code itself calls its outputs and values
_KEYWORDS = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while""".split()  # noqa: SIM905
)


def _argument(name: str) -> str:
    """An input's name in C: its own, or with an underscore where C or the code has that name for something else."""
    return f"{name}_" if name in _KEYWORDS or _TAKEN.fullmatch(name) else name


@dataclass(frozen=True, eq=False)
class CSource:
    """A function as C source: ``source`` and ``header`` are texts, :meth:`write` puts them into a folder."""

    program: Program
    robot: str
    dtype: str = "float64"
    target = "c"

    def __post_init__(self) -> None:
        if self.dtype not in ("float64", "float32"):
            raise InputError(f'dtype must be "float64" or "float32", got {self.dtype!r}')

    @property
    def name(self) -> str:
        """The function's name: robot and function, made a C identifier."""
        name = re.sub(r"\W", "_", f"{self.robot}_{self.program.name}", flags=re.ASCII)
        return f"_{name}" if name[0].isdigit() else name

    @property
    def operations(self) -> Operations:
        return self.program.operations

    @property
    def _type(self) -> str:
        return "double" if self.dtype == "float64" else "float"

    @property
    def prototype(self) -> str:
        inputs = [f"const {self._type} *{_argument(name)}" for name in self.program.inputs]
        outputs = [f"{self._type} *{name}" for name in self._output_names()]
        return f"void {self.name}({', '.join([*inputs, *outputs])})"

    def _output_names(self) -> list[str]:
        return ["out"] if self.program.single else [f"out{i}" for i in range(len(self.program.shapes))]

    @cached_property
    def header(self) -> str:
        guard = f"{self.name.upper()}_H"
        lengths = [f"   {_argument(name)}: {n} numbers" for name, n in self.program.inputs.items()]
        for name, shape in zip(self._output_names(), self.program.shapes):
            lengths.append(f"   {name}: {' x '.join(map(str, shape)) or '1'} numbers, row by row, written")
        note = "\n".join(lengths)
        return (
            f"/* {self.program.name} of {self.robot}; {self.operations} per call.\n{note} */\n"
            f'#ifndef {guard}\n#define {guard}\n#ifdef __cplusplus\nextern "C" {{\n#endif\n'
            f"{self.prototype};\n#ifdef __cplusplus\n}}\n#endif\n#endif\n"
        )

    @cached_property
    def source(self) -> str:
        body = "\n".join(self._statements())
        return f'#include <math.h>\n#include "{self.name}.h"\n\n{self.prototype}\n{{\n{body}\n}}\n'

    def _statements(self) -> list[str]:
        names: dict[int, str] = {}
        suffix = "" if self._type == "double" else "f"

        def value(x: Any) -> str:
            if isinstance(x, Scalar):
                return names[id(x)]
            if not np.isfinite(x):
                return "NAN" if np.isnan(x) else "INFINITY" if x > 0 else "-INFINITY"
            return f"{float(np.float32(x)) if suffix else float(x)!r}{suffix}"

        lines: list[str] = []
        nodes = reachable(self.program.roots)
        for node in nodes:
            if node.op == "input":
                names[id(node)] = f"{_argument(node.args[0])}[{node.args[1]}]"
                continue
            a = [value(x) for x in node.args]
            right = {
                "add": "{} + {}",
                "sub": "{} - {}",
                "mul": "{} * {}",
                "neg": "-{}",
                "inv": f"1.0{suffix} / {{}}",
                "less": "{} < {}",
                "select": "{} != 0 ? {} : {}",
                "atan2": f"atan2{suffix}({{}}, {{}})",
            }.get(node.op, node.op + suffix + "({})")
            names[id(node)] = f"t{len(lines)}"
            lines.append(f"    const {self._type} t{len(lines)} = {right.format(*a)};")
        start = 0
        for label, shape in zip(self._output_names(), self.program.shapes):
            size = int(np.prod(shape))
            roots = self.program.roots[start : start + size]
            lines += [f"    {label}[{i}] = {value(x)};" for i, x in enumerate(roots)]
            start += size
        used = {n.args[0] for n in nodes if n.op == "input"}
        return [f"    (void){_argument(k)};" for k in self.program.inputs if k not in used] + lines

    def write(self, folder: str | Path = ".") -> tuple[Path, Path]:
        """Write NAME.c and NAME.h; gives their paths."""
        where = Path(folder)
        try:
            where.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise FileError(cannot_write(where, e)) from e
        paths = where / f"{self.name}.c", where / f"{self.name}.h"
        write_text(paths[0], self.source)
        write_text(paths[1], self.header)
        return paths
