"""CUDA's driver, by ctypes: load machine code, launch it, ask a card what it is."""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import sys
import threading
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from ...errors import LinkwiseError
from ..thresholds import CUDA_LOOPS_BYTES

_MULTIPROCESSORS, _MAJOR, _MINOR, _SHARED = 16, 75, 76, 97  # attributes of a device
_LOCAL_BYTES, _REGISTERS, _DYNAMIC_SHARED = 3, 4, 8  # of a function
_WITHOUT_ASKING = 48 * 1024  # bytes of shared memory that a block may have


class DeviceError(LinkwiseError, RuntimeError):
    """CUDA's driver or compiler refused; its own words are in the message."""


@lru_cache(maxsize=1)
def library() -> Any:
    """The driver's library, initialised."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        found = ctypes.CDLL(name)
    except OSError as e:
        raise DeviceError(f"NVIDIA's driver is not here: {e}") from None
    found.cuLaunchKernel.argtypes = [
        ctypes.c_void_p,
        *[ctypes.c_uint] * 7,
        *[ctypes.c_void_p] * 3,
    ]
    _check(found, found.cuInit(0), "cuInit")
    return found


def _check(cuda: Any, code: int, what: str) -> None:
    if code:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(code, ctypes.byref(text))
        raise DeviceError(f"{what} failed: {(text.value or b'unknown error').decode()} (CUDA error {code})")


def _call(name: str, *arguments: Any) -> None:
    cuda = library()
    _check(cuda, getattr(cuda, name)(*arguments), name)


def _attribute(device: int, which: int) -> int:
    value = ctypes.c_int()
    _call("cuDeviceGetAttribute", ctypes.byref(value), which, device)
    return value.value


@lru_cache(maxsize=64)
def architecture(device: int) -> str:
    """What code for a device is called: "sm_90"."""
    library()
    return f"sm_{_attribute(device, _MAJOR)}{_attribute(device, _MINOR)}"


@lru_cache(maxsize=64)
def multiprocessors(device: int) -> int:
    """How many multiprocessors a device has."""
    library()
    return _attribute(device, _MULTIPROCESSORS)


@lru_cache(maxsize=64)
def shared_bytes(device: int) -> int:
    """The most shared memory that a block may ask for."""
    library()
    return _attribute(device, _SHARED)


@lru_cache(maxsize=64)
def _primary(device: int) -> int:
    """The context that CuPy, PyTorch and JAX share on a device."""
    context = ctypes.c_void_p()
    _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    return context.value or 0


def enter(device: int) -> None:
    """Make the context of a device this thread's, where it is not."""
    current = ctypes.c_void_p()
    library().cuCtxGetCurrent(ctypes.byref(current))
    if current.value != _primary(device):
        _call("cuCtxSetCurrent", ctypes.c_void_p(_primary(device)))


def current_device() -> int:
    """The device of this thread's context."""
    device = ctypes.c_int()
    _call("cuCtxGetDevice", ctypes.byref(device))
    return device.value


class Loaded:
    """A kernel on one device. ``registers`` and ``local_bytes`` are those of a thread."""

    def __init__(self, code: bytes, name: str, device: int, shared_bytes: int) -> None:
        enter(device)
        self.device = device
        self._module, function = ctypes.c_void_p(), ctypes.c_void_p()
        _call("cuModuleLoadData", ctypes.byref(self._module), code)
        _call("cuModuleGetFunction", ctypes.byref(function), self._module, name.encode())
        self._function = function
        if shared_bytes > _WITHOUT_ASKING:
            _call("cuFuncSetAttribute", function, _DYNAMIC_SHARED, shared_bytes)
        self._launch = library().cuLaunchKernel
        self._resident: dict[tuple[int, int], int] = {}

    def _attribute(self, which: int) -> int:
        value = ctypes.c_int()
        _call("cuFuncGetAttribute", ctypes.byref(value), which, self._function)
        return value.value

    @property
    def registers(self) -> int:
        return self._attribute(_REGISTERS)

    @property
    def local_bytes(self) -> int:
        return self._attribute(_LOCAL_BYTES)

    def resident(self, threads: int, shared_bytes: int) -> int:
        """How many blocks a multiprocessor has room for."""
        key = threads, shared_bytes
        if key not in self._resident:
            found = ctypes.c_int()
            name = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
            _call(name, ctypes.byref(found), self._function, threads, ctypes.c_size_t(shared_bytes))
            self._resident[key] = max(found.value, 1)
        return self._resident[key]

    def launch(self, blocks: int, threads: int, shared_bytes: int, stream: int, arguments: Sequence[int]) -> None:
        """Put the kernel on a stream; every argument is a word of 64 bits. Nothing is waited for."""
        n = len(arguments)
        try:
            words, extra = _PACKED.held[n]
        except (AttributeError, KeyError):
            words, extra = _packed(n)
        words[:] = arguments
        code = self._launch(self._function, blocks, 1, 1, threads, 1, 1, shared_bytes, stream, None, extra)
        if code:
            _check(library(), code, "cuLaunchKernel")


_OUT_OF_MEMORY = 2


@contextlib.contextmanager
def memory_in_order(each: int, most: int, device: int, stream: int) -> Iterator[tuple[int, int]]:
    """(address, how many) of as many pieces of ``each`` bytes as there is room for, ``most`` at the most, for work on a
    stream: they are there when the stream comes to it, and given back when it is done."""
    cuda, pool, address = library(), _pool(device), ctypes.c_uint64()
    count = most
    while code := cuda.cuMemAllocFromPoolAsync(
        ctypes.byref(address), ctypes.c_size_t(each * count), pool, ctypes.c_void_p(stream)
    ):
        if code != _OUT_OF_MEMORY or count == 1:
            _check(cuda, code, f"cuMemAllocFromPoolAsync of {each * count} bytes")
        count //= 2
    try:
        yield address.value, count
    finally:
        _call("cuMemFreeAsync", address, ctypes.c_void_p(stream))


class _PoolProperties(ctypes.Structure):
    """CUmemPoolProps: memory of one device that is not shared with other processes."""

    _fields_ = (
        ("allocation", ctypes.c_int),
        ("handles", ctypes.c_int),
        ("where", ctypes.c_int),
        ("device", ctypes.c_int),
        ("security", ctypes.c_void_p),
        ("most", ctypes.c_size_t),
        ("usage", ctypes.c_ushort),
        ("reserved", ctypes.c_ubyte * 54),
    )


_PINNED, _ON_DEVICE, _KEPT = 1, 1, 4  # a sort of allocation and of place, and the attribute of what a pool keeps


@lru_cache(maxsize=64)
def _pool(device: int) -> ctypes.c_void_p:
    """Memory that work in order is given, and which the process keeps for the next."""
    pool, properties = ctypes.c_void_p(), _PoolProperties(allocation=_PINNED, where=_ON_DEVICE, device=device)
    _call("cuMemPoolCreate", ctypes.byref(pool), ctypes.byref(properties))
    _call("cuMemPoolSetAttribute", pool, _KEPT, ctypes.byref(ctypes.c_uint64(CUDA_LOOPS_BYTES)))
    return pool


_PACKED = threading.local()  # by how many words: memory for arguments, which the driver copies at a launch
_BUFFER, _SIZE = 1, 2  # what the entries of a launch's list are; 0 ends it


def _packed(n: int) -> tuple[Any, int]:
    """Memory of this thread's for so many words, and the address of the list by which a launch finds it."""
    words, size = (ctypes.c_uint64 * n)(), ctypes.c_size_t(8 * n)
    entries = (_BUFFER, ctypes.addressof(words), _SIZE, ctypes.addressof(size), 0)
    listed = (ctypes.c_void_p * len(entries))(*entries)
    held = _PACKED.__dict__.setdefault("held", {})
    held[n] = words, ctypes.addressof(listed)
    _PACKED.__dict__.setdefault("alive", []).append((size, listed))
    return words, ctypes.addressof(listed)
