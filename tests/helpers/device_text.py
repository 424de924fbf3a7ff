"""The text for graphics cards, built for the host and run there, warp by warp."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from linkwise.codegen.cuda.text import KERNEL
from linkwise.codegen.thresholds import CUDA_ROOM

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


# A block's threads as threads of the host, which wait for each other as those of a card do.
THREADS_PRELUDE = f"""#include <pthread.h>
#include <thread>
#include <vector>
#define EACH_THREADS thread_local
#include "{HERE.parent / "codegen" / "sources" / "cuda_on_host.h"}"
static pthread_barrier_t barrier;
#define LW_BARRIER() pthread_barrier_wait(&barrier)
#define LW_SHARED(kind, name) alignas(16) static kind name[1 << 16]
#define LW_PIECE lw_piece
struct lw_piece {{ double x, y; }};
"""
THREADS_END = """
template <class... A, size_t... I>
void spread(void (*kernel)(A...), unsigned threads, const unsigned long long *words, std::index_sequence<I...>)
{
    std::vector<std::thread> all;
    pthread_barrier_init(&barrier, nullptr, threads);
    for (unsigned t = 0; t < threads; t++)
        all.emplace_back([=] { threadIdx.x = t; kernel((A)words[I]...); });
    for (auto &x : all)
        x.join();
    pthread_barrier_destroy(&barrier);
}
template <class... A> void spread(void (*kernel)(A...), unsigned threads, const unsigned long long *words)
{
    spread(kernel, threads, words, std::index_sequence_for<A...>{});
}
extern "C" void run_block(unsigned threads, const unsigned long long *words) { spread(%s, threads, words); }
"""


# A block's threads one after the other, which do not meet.
APART_END = """
template <class... A, size_t... I>
void apart(void (*kernel)(A...), unsigned threads, const unsigned long long *words, std::index_sequence<I...>)
{
    blockDim = dim3(threads);
    for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++)
        kernel((A)words[I]...);
}
template <class... A> void apart(void (*kernel)(A...), unsigned threads, const unsigned long long *words)
{
    apart(kernel, threads, words, std::index_sequence_for<A...>{});
}
extern "C" void run_block(unsigned threads, const unsigned long long *words) { apart(%s, threads, words); }
"""


def words(x, layout):
    """The arguments of an array (states, n)."""
    strides = [s // x.itemsize for s in x.strides]
    return [x.ctypes.data] + ([strides[0], strides[1]] if layout != "r" else [])


def laid(x, layout):
    """The array row by row, or number by number."""
    return np.ascontiguousarray(x) if layout == "r" else np.ascontiguousarray(x.T).T


def built(text, folder, level="-O1"):
    """The kernel as a function of the host: one block, whose first warp does all the work."""
    code = folder / "kernel.cpp"
    code.write_text(PRELUDE + text.source)
    found = compiled(code, folder, level)
    found.use_warps(ctypes.c_uint(1))
    return getattr(found, KERNEL)


def built_for_threads(text, folder):
    """The kernel as a function of its arguments' words: one block, each of its threads a thread of the host."""
    code = folder / "kernel.cpp"
    code.write_text(THREADS_PRELUDE + text.source + THREADS_END % KERNEL)
    run = compiled(code, folder, "-O0", "-pthread").run_block
    return lambda given: run(ctypes.c_uint(text.threads), (ctypes.c_longlong * len(given))(*given))


def built_apart(text, folder, level="-O1"):
    """The kernel as a function of (threads, its arguments' words): one block, whose threads do not meet."""
    code = folder / "kernel.cpp"
    code.write_text(PRELUDE + text.source + APART_END % KERNEL)
    run = compiled(code, folder, level).run_block
    return lambda threads, given: run(ctypes.c_uint(threads), (ctypes.c_longlong * len(given))(*given))


def compiled(code, folder, level, *more):
    """The library of a file of C++."""
    library = folder / "kernel.so"
    flags = ["-std=c++17", level, "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-shared", "-fPIC", *more]
    subprocess.run([CXX, *flags, str(code), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


class RepeatsOnHost:
    """Loops' kernels on the host, in the place of a card's: ``launch`` is :meth:`CardArrays.launch`."""

    def __init__(self, folder):
        self.folder, self.kernels = folder, {}

    def run(self, device, states, how, inputs, outputs, dtype, card=0, stream=0):
        """What :meth:`DeviceRepeat.run` does."""
        if states == 0:
            return
        key = device._kernel.fingerprint, *device._carried, dtype
        if key not in self.kernels:
            folder = self.folder / f"loop{len(self.kernels)}"
            folder.mkdir()
            self.kernels[key] = built(next(device.texts(dtype, CUDA_ROOM)), folder, "-O0")
        words = device.words(states, how, inputs, outputs, dtype)
        self.kernels[key](*map(ctypes.c_longlong, words))

    def launch(self, card, loop, states, how, inputs, outputs):
        self.run(loop.on_device, states, how, inputs, outputs, card.card.dtype)
