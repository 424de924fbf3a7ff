"""The text for graphics cards, built for the host and run there, warp by warp."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from linkwise.codegen.cuda.text import KERNEL

CXX = shutil.which("g++") or shutil.which("clang++")
HERE = Path(__file__).parent
needs_compiler = pytest.mark.skipif(CXX is None, reason="no C++ compiler on this machine")

# A warp's lanes one after the other, each phase of the kernel for all of them before the next.
PRELUDE = f"""#include "{HERE.parent / "codegen" / "sources" / "cuda_on_host.h"}"
#define LW_EACH_LANE(lane) for (unsigned lane = 0; lane < 32; lane++)
#define LW_SHARED(kind, name) alignas(16) static kind name[1 << 16]
#define LW_PIECE lw_piece
struct lw_piece {{ double x, y; }};
#define __syncwarp()
extern "C" void use_warps(unsigned warps) {{ blockDim = dim3(32 * warps); }}
"""


def built(text, folder, level="-O1"):
    """The kernel as a function of the host: one block, whose first warp does all the work."""
    code = folder / "kernel.cpp"
    code.write_text(PRELUDE + text.source)
    library = folder / "kernel.so"
    flags = ["-std=c++17", level, "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-shared", "-fPIC"]
    subprocess.run([CXX, *flags, str(code), "-o", str(library)], check=True)
    found = ctypes.CDLL(str(library))
    found.use_warps(ctypes.c_uint(1))
    return getattr(found, KERNEL)
