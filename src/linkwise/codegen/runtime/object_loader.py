"""Object code of LLVM's put into memory without LLVM, on Linux and x86-64.

To load LLVM takes longer than all else of a first call whose code is on disk. Its code for this purpose (the large code
model) asks for little: sections, two kinds of relocations, and a few functions of libc and libm by name.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
from functools import cache, lru_cache
from typing import Any, NamedTuple

_PAGE = 4096
_READ, _WRITE, _EXECUTE = 1, 2, 4
_PRIVATE_ANONYMOUS = 0x22
_ALLOCATED, _EXECUTABLE, _WRITABLE = 2, 4, 1  # flags of a section
_SYMBOLS, _RELOCATIONS, _ZEROS, _UNWINDING = 2, 4, 8, 0x70000001  # kinds of sections
_ABSOLUTE, _RELATIVE = 1, 24  # R_X86_64_64, R_X86_64_PC64
_MACHINE = 62


class NotLoadableError(Exception):
    """Object code that asks for something else: LLVM loads it."""


class _Section(NamedTuple):
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int


def can_load() -> bool:
    """Whether this system is one of those."""
    return sys.platform == "linux" and platform.machine() == "x86_64" and sys.maxsize > 2**32


class LoadedObject:
    """Functions and variables of object code, in memory as long as this is there."""

    def __init__(self, code: bytes) -> None:
        self._addresses: dict[str, int] = {}
        self._start, self._size, self._unmap = 0, 0, _libc().munmap
        if code[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", code, 18)[0] != _MACHINE:
            raise NotLoadableError("no object code of x86-64")
        where, count = struct.unpack_from("<Q", code, 40)[0], struct.unpack_from("<H", code, 60)[0]
        sections = [
            _Section(*struct.unpack_from("<IQ8xQQIIQ", code, where + 64 * i + 4)) for i in range(count)
        ]  # a header begins with its name, and has its address before its offset
        self._place(code, sections)

    def address(self, name: str) -> int:
        """Where a function or a variable is; 0 where there is none of this name."""
        return self._addresses.get(name, 0)

    def _place(self, code: bytes, sections: list[_Section]) -> None:
        groups: dict[int, list[int]] = {_READ | _EXECUTE: [], _READ: [], _READ | _WRITE: []}
        for i, s in enumerate(sections):
            if s.flags & _ALLOCATED and s.size and s.kind != _UNWINDING:
                access = _EXECUTE if s.flags & _EXECUTABLE else _WRITE if s.flags & _WRITABLE else 0
                groups[_READ | access].append(i)
        places: dict[int, int] = {}
        parts, end = [], 0
        for access, members in groups.items():
            begin = end
            for i in members:
                places[i] = end = -(-end // sections[i].alignment) * sections[i].alignment
                end += sections[i].size
            end = -(-end // _PAGE) * _PAGE
            parts.append((access, begin, end - begin))
        memory = bytearray(end)
        for i, at in places.items():
            if sections[i].kind != _ZEROS:
                memory[at : at + sections[i].size] = code[sections[i].offset : sections[i].offset + sections[i].size]
        start = _libc().mmap(None, end, _READ | _WRITE, _PRIVATE_ANONYMOUS, -1, 0)
        if start in (None, ctypes.c_void_p(-1).value):
            raise MemoryError(f"no memory for {end} bytes of machine code")
        self._start, self._size = start, end
        symbols = self._symbols(code, sections, places)
        for s in sections:
            if s.kind == _RELOCATIONS and s.info in places:
                _relocate(memory, code[s.offset : s.offset + s.size], places[s.info], start, symbols)
        ctypes.memmove(start, bytes(memory), end)
        for access, begin, size in parts:
            if size and _libc().mprotect(start + begin, size, access):
                raise NotLoadableError("the system lets no memory become code")

    def _symbols(self, code: bytes, sections: list[_Section], places: dict[int, int]) -> list[int | None]:
        """The address of each symbol; names of those that others may use are kept."""
        table = next(s for s in sections if s.kind == _SYMBOLS)
        names = sections[table.link].offset
        found: list[int | None] = []
        for name, info, _, section, value, _ in struct.iter_unpack(
            "<IBBHQQ", code[table.offset : table.offset + table.size]
        ):
            text = code[names + name : code.index(b"\0", names + name)].decode()
            if section in places:
                address = self._start + places[section] + value
                if info >> 4:
                    self._addresses[text] = address
                found.append(address)
            else:
                found.append(_outside(text) if section == 0 and text else None)
        return found

    def __del__(self) -> None:
        if self._start:
            self._unmap(self._start, self._size)


def _relocate(memory: bytearray, entries: bytes, section: int, start: int, symbols: list[int | None]) -> None:
    for offset, info, addend in struct.iter_unpack("<QQq", entries):
        kind, target = info & 0xFFFFFFFF, symbols[info >> 32]
        if kind not in (_ABSOLUTE, _RELATIVE) or target is None:
            raise NotLoadableError(f"relocation {kind} of symbol {info >> 32}")
        at = section + offset
        value = target + addend - (start + at if kind == _RELATIVE else 0)
        struct.pack_into("<Q", memory, at, value & 0xFFFFFFFFFFFFFFFF)


@lru_cache(maxsize=1)
def _libc() -> Any:
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_int64]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return libc


@cache
def _outside(name: str) -> int | None:
    """The address of a function of libc or libm."""
    for library in (None, "libm.so.6"):
        try:
            return ctypes.cast(getattr(ctypes.CDLL(library), name), ctypes.c_void_p).value
        except (AttributeError, OSError):
            continue
    return None
