"""Exported C, compiled with the system's compiler and called."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(CC is None, reason="no C compiler on this machine")


def built(source: Any, folder: Path, level: str = "-O1") -> Any:
    """The function of a CSource, compiled strictly as C99."""
    code, _ = source.write(folder)
    library = folder / f"{source.name}.so"
    flags = ["-std=c99", level, "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
    subprocess.run([CC, *flags, str(code), "-o", str(library), "-lm"], check=True)
    return getattr(ctypes.CDLL(str(library)), source.name)


def pointer(x: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(x.ctypes.data)
