"""NVRTC, CUDA's compiler at run time, by ctypes: CUDA text to machine code for one sort of card, kept on disk."""

from __future__ import annotations

import contextlib
import ctypes
import glob
import importlib.util
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..runtime import disk_cache
from .driver import DeviceError

OPTIONS = ("--std=c++17", "--fmad=true")


@lru_cache(maxsize=1)
def _library() -> Any:
    for name in _candidates():
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise DeviceError(
        "NVRTC, CUDA's compiler at run time, is not here; CuPy, PyTorch and JAX for CUDA bring it, and so does this:"
        " pip install nvidia-cuda-nvrtc"
    )


def _candidates() -> Iterator[str]:
    """Where it may be: as this process has it already, in the wheels of NVIDIA, in the toolkit."""
    if importlib.util.find_spec("cuda") and importlib.util.find_spec("cuda.pathfinder"):
        pathfinder = importlib.import_module("cuda.pathfinder")
        with contextlib.suppress(RuntimeError, OSError):  # it says so where it finds none
            yield pathfinder.load_nvidia_dynamic_lib("nvrtc").abs_path
    patterns = ["nvidia/*/lib/libnvrtc.so.*", "nvidia/*/bin/nvrtc64_*.dll", "nvidia/*/bin/*/nvrtc64_*.dll"]
    for folder in sys.path:
        for pattern in patterns:
            yield from sorted(glob.glob(str(Path(folder) / pattern)), reverse=True)
    for root in (os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        if root:
            yield from (f"{root}/lib64/libnvrtc.so", *glob.glob(f"{root}/bin/nvrtc64_*.dll"))
    yield from ("libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12")


@lru_cache(maxsize=1)
def version() -> str:
    """NVRTC's version, as "13.0"."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}.{minor.value}"


def machine_code(text: str, architecture: str) -> bytes:
    """The machine code of a CUDA text for "sm_90" or another; from the disk where it was made before."""
    name = disk_cache.key("cuda", text, architecture, version(), *OPTIONS)
    found = disk_cache.read(name)
    if found is None:
        found = _compiled(text, architecture)
        disk_cache.write(name, found)
    return found


def _compiled(text: str, architecture: str) -> bytes:
    nvrtc = _library()
    program = ctypes.c_void_p()
    _check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"linkwise.cu", 0, None, None), "")
    try:
        options = [f"--gpu-architecture={architecture}".encode(), *(o.encode() for o in OPTIONS)]
        code = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        if code:
            _check(code, _text(nvrtc, program, "ProgramLog").decode().strip())
        return _text(nvrtc, program, "CUBIN")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _text(nvrtc: Any, program: Any, what: str) -> bytes:
    size = ctypes.c_size_t()
    _check(getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)), what)
    data = ctypes.create_string_buffer(size.value)
    _check(getattr(nvrtc, f"nvrtcGet{what}")(program, data), what)
    return data.raw


def _check(code: int, what: str) -> None:
    if code:
        nvrtc = _library()
        nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise DeviceError(f"NVRTC {version()} failed: {nvrtc.nvrtcGetErrorString(code).decode()} {what}".strip())
