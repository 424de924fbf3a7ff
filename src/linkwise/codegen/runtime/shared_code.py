"""The functions of machine code that every kernel uses: the way in from Python, the memory of results, the threads.

They are one module, so that a new process has one more to load and not three.
"""

from __future__ import annotations

import platform
from functools import lru_cache

from ..llvm.python_entry import entry_ir
from ..llvm.result_memory import memory_ir
from ..llvm.team import team_ir
from ..llvm.team_calls import team_calls_ir
from .engine import process_code

_PAUSE = {"x86_64": "pause", "AMD64": "pause", "aarch64": "yield", "arm64": "yield"}  # what tells that a loop waits


@lru_cache(maxsize=1)
def shared_code() -> dict[str, int]:
    """The address of each."""
    instruction = _PAUSE.get(platform.machine())
    pause = f'  call void asm sideeffect "{instruction}", ""()' if instruction else ""
    lines: dict[str, None] = {}  # what is declared, each once
    texts = []
    for text in (entry_ir(), memory_ir(), team_ir(pause), team_calls_ir()):
        lines |= dict.fromkeys(line for line in text.splitlines() if line.startswith("declare "))
        texts += [line for line in text.splitlines() if not line.startswith("declare ")]
    return process_code("shared", "\n".join([*lines, *texts]))
