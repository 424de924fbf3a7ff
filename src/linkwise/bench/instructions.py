"""What the machine code of a kernel consists of: vector instructions by kind, counted in its disassembly."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..codegen.runtime import engine

_FUSED = re.compile(r"vfn?m(add|sub)(add|sub)?\d+p[sd]$")
_PLAIN = re.compile(r"v(mul|add|sub)p[sd]$")


@dataclass(frozen=True)
class Instructions:
    """Counts of the instructions on the widest vectors: fused, × or + alone, and those that write to memory."""

    fused: int
    alone: int
    stores: int

    @property
    def arithmetic(self) -> int:
        return self.fused + self.alone


def count_instructions(kernel: Any, dtype: Any) -> Instructions | None:
    """Of a kernel in a precision; None where there is no disassembler, or none of these instructions."""
    program = shutil.which("objdump")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.o")
        path.write_bytes(_object_code(kernel, dtype))
        command = [program, "-d", "--no-show-raw-insn", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = counted(done.stdout)
    return found if found.arithmetic else None


def _object_code(kernel: Any, dtype: Any) -> bytes:
    job = engine.code_job(kernel, dtype, None)
    for step in (engine.order_values, engine.write_module, engine.assemble):
        step(job)
    assert job.object_code is not None
    return job.object_code


def counted(disassembly: str) -> Instructions:
    """The counts in what objdump writes: ``address: instruction operands``, the target last."""
    wide = max(
        (r for r in ("zmm", "ymm", "xmm") if f"%{r}" in disassembly), key=lambda r: "xyz".index(r[0]), default=""
    )
    fused = alone = stores = 0
    for line in disassembly.splitlines():
        words = line.partition(":\t")[2].split(None, 1)
        if len(words) < 2 or f"%{wide}" not in words[1]:
            continue
        name, operands = words
        fused += bool(_FUSED.match(name))
        alone += bool(_PLAIN.match(name))
        stores += name.startswith("vmov") and re.sub(r"\{.*?\}", "", operands).rstrip().endswith(")")
    return Instructions(fused, alone, stores)
