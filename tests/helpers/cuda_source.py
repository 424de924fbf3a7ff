"""CUDA sources built for the host."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

CXX = shutil.which("g++") or shutil.which("clang++")
HOST = Path(__file__).parents[1] / "codegen" / "sources" / "cuda_on_host.h"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
needs_compiler = pytest.mark.skipif(CXX is None, reason="no C++ compiler on this machine")


def built(source, folder):
    """The library of a CudaSource, with the host in the place of the device."""
    code, _ = source.write(folder)
    (folder / "cuda_runtime_api.h").write_text(f'#include "{HOST}"\n')
    library = folder / f"{source.name}.so"
    flags = ["-std=c++17", "-O1", *WARNINGS, "-shared", "-fPIC", f"-I{folder}", "-x", "c++"]
    subprocess.run([CXX, *flags, str(code), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))
