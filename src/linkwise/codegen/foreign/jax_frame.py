"""The call frame of XLA's foreign-function interface, read with ctypes: no compiler is needed to be called by XLA.

The structures are those of xla/ffi/api/c_api.h, API version 0.x, which only ever grow at their ends.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

_METADATA, _EXECUTE, _INTERNAL = 1, 3, 13  # an extension's type, a stage, an error's code
_ERROR_CREATE, _STREAM_GET = 0, 4  # places in the table of XLA's functions
_DTYPES: dict[int, np.dtype[Any]] = {11: np.dtype(np.float32), 12: np.dtype(np.float64)}
_pointer, _size, _int = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


class _Head(ctypes.Structure):
    _fields_ = (("size", _size), ("extension", _pointer))


class _Version(ctypes.Structure):
    _fields_ = (*_Head._fields_, ("major", _int), ("minor", _int))


class _Metadata(ctypes.Structure):
    _fields_ = (("size", _size), ("version", _Version), ("traits", ctypes.c_uint32))


class _Extension(ctypes.Structure):
    _fields_ = (("size", _size), ("type", _int), ("next", _pointer), ("metadata", ctypes.POINTER(_Metadata)))


class _Buffers(ctypes.Structure):
    _fields_ = (
        *_Head._fields_,
        ("count", ctypes.c_int64),
        ("types", _pointer),
        ("items", _pointer),
    )


class _Attributes(ctypes.Structure):
    _fields_ = (
        *_Head._fields_,
        ("count", ctypes.c_int64),
        ("types", _pointer),
        ("names", _pointer),
        ("items", _pointer),
    )


class _Api(ctypes.Structure):
    _fields_ = (*_Head._fields_, ("version", _Version), ("internal", _pointer), ("functions", _pointer * 5))


class _Frame(ctypes.Structure):
    _fields_ = (
        *_Head._fields_,
        ("api", ctypes.POINTER(_Api)),
        ("context", _pointer),
        ("stage", _int),
        ("inputs", _Buffers),
        ("outputs", _Buffers),
        ("attributes", _Attributes),
    )


class _ErrorArguments(ctypes.Structure):
    _fields_ = (*_Head._fields_, ("message", ctypes.c_char_p), ("code", _int))


class _StreamArguments(ctypes.Structure):
    _fields_ = (*_Head._fields_, ("context", _pointer), ("stream", _pointer))


_HANDLER = ctypes.CFUNCTYPE(_pointer, ctypes.POINTER(_Frame))


@dataclass(frozen=True)
class Memory:
    """An array of a call: where it lies, its shape and its kind of number."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def on_cpu(self) -> np.ndarray:
        """The array itself, no copy."""
        n = int(np.prod(self.shape)) * self.dtype.itemsize
        raw: Any = (ctypes.c_char * n).from_address(self.address) if n else b""
        return np.frombuffer(raw, dtype=self.dtype).reshape(self.shape)


Run = Callable[[str, list[Memory], list[Memory], int], None]


def handler(run: Run, on_device: bool) -> Any:
    """A function that XLA can call; ``run(name, inputs, outputs, stream)`` is called for it."""

    def called(frame_pointer: Any) -> int | None:
        frame = frame_pointer.contents
        if frame.extension:
            extension = _Extension.from_address(frame.extension)
            if extension.type == _METADATA:
                theirs = frame.api.contents.version if frame.api else None
                version = extension.metadata.contents.version
                # Frames of another major version cannot be read: XLA refuses a handler that says so.
                version.major, version.minor = 0, theirs.minor if theirs is not None and not theirs.major else 1
                extension.metadata.contents.traits = 0
                return None
        if frame.stage != _EXECUTE:
            return None
        try:
            stream = _stream(frame) if on_device else 0
            run(_text(frame.attributes), _memories(frame.inputs), _memories(frame.outputs), stream)
        except BaseException as e:  # XLA must hear of it, whatever it is: there is no Python above this frame
            return _error(frame, f"{type(e).__name__}: {e}")
        return None

    return _HANDLER(called)


def _memories(buffers: Any) -> list[Memory]:
    """(Structures are read as bytes: a field of ctypes takes as long as a whole structure so.)"""
    found = []
    for (place,) in struct.iter_unpack("q", ctypes.string_at(buffers.items, 8 * buffers.count)):
        _, _, dtype, data, rank, dims = struct.unpack("QQi4xQqQ", ctypes.string_at(place, 48))
        found.append(Memory(data, struct.unpack(f"{rank}q", ctypes.string_at(dims, 8 * rank)), _DTYPES[dtype]))
    return found


def _text(attributes: Any) -> str:
    """The one attribute, a text."""
    (place,) = struct.unpack("Q", ctypes.string_at(attributes.items, 8))
    text, length = struct.unpack("QQ", ctypes.string_at(place, 16))
    return ctypes.string_at(text, length).decode()


def _stream(frame: Any) -> int:
    arguments = _StreamArguments(ctypes.sizeof(_StreamArguments), None, frame.context, None)
    get = ctypes.CFUNCTYPE(_pointer, ctypes.POINTER(_StreamArguments))(frame.api.contents.functions[_STREAM_GET])
    if get(ctypes.byref(arguments)):
        raise RuntimeError("XLA names no stream for this call")
    return arguments.stream or 0


def _error(frame: Any, message: str) -> int | None:
    arguments = _ErrorArguments(ctypes.sizeof(_ErrorArguments), None, message.encode(), _INTERNAL)
    make = ctypes.CFUNCTYPE(_pointer, ctypes.POINTER(_ErrorArguments))(frame.api.contents.functions[_ERROR_CREATE])
    found: int | None = make(ctypes.byref(arguments))
    return found
