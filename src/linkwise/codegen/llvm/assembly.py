"""Straight-line code in the processor's own language: which register holds what is decided here, not by LLVM.

LLVM's allocator of registers looks at one value after another; for thousands of values in one block it takes seconds,
moves more between registers and memory than is needed, and spreads what it moves over twice the memory. Here the whole
order is known, so that what is used again latest makes room (Belady), its place in memory is the one that became free
last, and what is in memory is read as an operand of the instruction that needs it. This is for x86-64 with AVX-512;
everything else, and programs of other operations, go through :mod:`.straight_line`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...symbols.scalar import Guard
from ...tolerances import roundings
from ..program.instructions import TRUTHS, Instruction, Instructions
from ..thresholds import HELD_FOR
from .sine_cosine import VectorType

REGISTERS = 32
NEVER = 1 << 60
_COMPARED = {"less": "lt", "less_equal": "le", "equal": "eq"}
AHEAD = 128  # vectors by which the address of the frame is ahead: offsets of 256 of them then fit into one byte


# Where addresses of arrays are, in order, of which states are brought in, and masks of tiles that are not full.
ARRAYS = ("r9", "r10", "r11", "rbx")
_MASKED = ("k4", "k5", "k6", "k7")


class Segment(NamedTuple):
    """Instructions as text, and, where a sine is to be computed after them, the slots of angle, sine and cosine."""

    lines: list[str]
    sines: tuple[int, int, int] | None


class Assembly(NamedTuple):
    """The code, how many vectors its frame has, the constants that it reads, and its masks."""

    segments: list[Segment]
    frame: int
    constants: list[float]
    masks: dict[str, int]  # how many numbers each lets through


def assembled(
    code: Instructions,
    t: VectorType,
    inputs: Mapping[str, int],
    sines: Mapping[int, int],
    guards: Sequence[Guard],
    widths: Sequence[int] = (),
) -> Assembly:
    """Text of the instructions; ``inputs`` says at which vector each begins, ``sines`` where in the frame they stand.

    Registers rdi, rsi, rdx and rcx hold the addresses of inputs, results, the frame (and :data:`AHEAD` vectors), and
    constants; k1 has a bit for each state in which a guard fails. Where states are brought in, r8 holds the address of
    the next inputs and :data:`ARRAYS` those of arrays; ``widths`` says how many numbers tiles have that are not full.
    """
    return _Assembler(code, t, inputs, sines, guards, widths).run()


class _Assembler:
    def __init__(
        self,
        code: Instructions,
        t: VectorType,
        inputs: Mapping[str, int],
        sines: Mapping[int, int],
        guards: Sequence[Guard],
        widths: Sequence[int],
    ) -> None:
        self.code, self.t, self.guards = code.code, t, guards
        wide = {512: "zmm", 256: "ymm"}.get(t.lanes * t.bits, "xmm")
        self.names = [f"%{wide}{i}" for i in range(REGISTERS)]
        self.kind = ("p" if t.lanes > 1 else "s") + ("d" if t.bits == 64 else "s")
        self.spread = f"{{1to{t.lanes}}}" if t.lanes > 1 else ""
        self.step = t.lanes * t.size
        move = "a" if t.lanes > 1 else ""
        self.load, self.store = (f"vmov{move}{self.kind}",) * 2
        self.read_constant = f"vbroadcast{self.kind.replace('p', 's')}" if t.lanes > 1 else self.load
        self.copy = f"vmovap{self.kind[1]}"
        self.home: dict[int, str] = {}  # by key: where in memory it is
        for key, (name, index) in code.inputs.items():
            self.home[key] = self._at("%rdi", inputs[name] + index)
        for key, slot in sines.items():
            self.home[key] = self._frame(slot)
        self.masks = dict(zip(widths, _MASKED, strict=False))
        self.places: dict[str, int] = {}  # of constants
        self.spread_keys = set(code.constants)
        for key, number in code.constants.items():
            self.home[key] = self._constant(number)
        self.uses: dict[int, list[int]] = {}
        for i, x in enumerate(self.code):
            for key in x.operands:
                self.uses.setdefault(key, []).append(i)
        for places in self.uses.values():
            places.append(NEVER)
            places.reverse()
        self.register: dict[int, int] = {}
        self.due: dict[int, int] = {}  # by key of what is in a register: the instruction that uses it next
        self.free = list(range(REGISTERS))[::-1]
        self.slot_of: dict[int, int] = {}
        self.free_slots: list[int] = []
        self.leaving: list[int] = []  # slots that are free once the instruction, which may read them, is written
        self.slots = 2 * (1 + max(sines.values(), default=-1) // 2)  # both of an angle are written, if one is used
        self.lines: list[str] = []
        for width, mask in self.masks.items():
            self.lines += [f"movl ${(1 << width) - 1}, %eax", f"kmovw %eax, %{mask}"]
        self.segments: list[Segment] = []

    def _at(self, base: str, vector: int) -> str:
        return f"{vector * self.step}({base})"

    def _frame(self, slot: int) -> str:
        return self._at("%rdx", slot - AHEAD)

    def _constant(self, x: float) -> str:
        where = self.places.setdefault(x.hex(), len(self.places))  # by its digits: 0 and −0 are equal
        return f"{where * self.t.size}(%rcx)"

    def run(self) -> Assembly:
        for i, x in enumerate(self.code):
            getattr(self, f"_{x.op}")(i, x)
            self.free_slots += self.leaving
            self.leaving.clear()
        self.segments.append(Segment(self.lines, None))
        return Assembly(
            self.segments,
            self.slots,
            [float.fromhex(x) for x in self.places],
            {mask: n for n, mask in self.masks.items()},
        )

    # --- registers -------------------------------------------------------------------------------------

    def _room(self) -> int:
        """A register that holds nothing; what is used again latest makes room, so no operand of this instruction."""
        if not self.free:
            latest = max(self.due, key=self.due.__getitem__)
            self._keep_in_memory(latest)
            del self.due[latest]
            self.free.append(self.register.pop(latest))
        return self.free.pop()

    def _keep_in_memory(self, key: int) -> None:
        if key not in self.home:
            slot = self.slot_of[key] = self._slot()
            self.home[key] = self._frame(slot)
            self.lines.append(f"{self.store} {self.names[self.register[key]]}, {self.home[key]}")

    def _slot(self) -> int:
        """A place in the frame, that which became free last: the cache has it."""
        if self.free_slots:
            return self.free_slots.pop()
        self.slots += 1
        return self.slots - 1

    def _bring(self, key: int) -> int:
        """The register of a value, which is read where it is in none."""
        if key not in self.register:
            r = self._room()
            self._read(key, r)
            self.register[key], self.due[key] = r, self.uses[key][-1]
        return self.register[key]

    def _read(self, key: int, r: int) -> None:
        how = self.read_constant if key in self.spread_keys else self.load
        self.lines.append(f"{how} {self.home[key]}, {self.names[r]}")

    def _used(self, i: int, keys: tuple[int, ...]) -> None:
        """These have been used by instruction i: what is not used again leaves its register and its slot."""
        for key in keys:
            left = self.uses[key]
            while left[-1] <= i:
                left.pop()
            if left[-1] != NEVER:
                if key in self.register:
                    self.due[key] = left[-1]
                continue
            if key in self.register:
                self.free.append(self.register.pop(key))
                del self.due[key]
            if key in self.slot_of:
                self.leaving.append(self.slot_of.pop(key))

    def _next(self, key: int, i: int) -> int:
        """The instruction after i that uses a value."""
        left, k = self.uses[key], -1
        while left[k] <= i:
            k -= 1
        return left[k]

    def _folded(self, i: int, keys: tuple[int, ...], all_keys: tuple[int, ...]) -> int | None:
        """Which of the keys, if any, is read from memory by instruction i itself: that used again latest."""
        found, latest = None, -1
        for key in keys:
            if key not in self.register and all_keys.count(key) == 1:
                n = self._next(key, i)
                if n > latest:
                    found, latest = key, n
        return found if found is not None and latest - i > HELD_FOR else None

    def _text(self, key: int) -> str:
        """A value as operand: its register, or where it is in memory."""
        if key in self.register:
            return self.names[self.register[key]]
        return self.home[key] + (self.spread if key in self.spread_keys else "")

    def _give(self, value: int, r: int) -> None:
        if value in self.uses:
            self.register[value], self.due[value] = r, self.uses[value][-1]
        else:
            self.free.append(r)

    # --- instructions ----------------------------------------------------------------------------------

    def _two(self, i: int, op: str, value: int, first: int, second: int, commutes: bool) -> None:
        """op(first, second) of two operands, of which the second may be in memory."""
        keys = (first, second)
        swap = second in self.register or self._next(first, i) > self._next(second, i)
        if commutes and first not in self.register and swap:
            first, second = second, first
        folded = self._folded(i, (second,), keys)
        self._bring(first)
        if folded is None:
            self._bring(second)
        a, b = self._text(first), self._text(second)
        self._used(i, keys)
        r = self._room()
        self.lines.append(f"{op} {b}, {a}, {self.names[r]}")
        self._give(value, r)

    def _mul(self, i: int, x: Instruction) -> None:
        a, b = x.operands
        self._two(i, f"vmul{self.kind}", x.value, a, b, commutes=True)

    def _add(self, i: int, x: Instruction) -> None:
        a, b = x.operands
        if x.signs == (1, 1):
            self._two(i, f"vadd{self.kind}", x.value, a, b, commutes=True)
        else:
            first, second = (a, b) if x.signs[0] > 0 else (b, a)
            self._two(i, f"vsub{self.kind}", x.value, first, second, commutes=False)

    def _fma(self, i: int, x: Instruction) -> None:
        keys = a, b, c = x.operands
        negative, minus = ("n" if x.signs[0] < 0 else ""), ("sub" if x.signs[1] < 0 else "add")
        folded = self._folded(i, keys, keys)
        for key in keys:
            if key != folded:
                self._bring(key)
        if folded in (a, b):  # the factor in memory last
            a, b = (b, a) if folded == a else (a, b)
        gone = [k for k in keys if k != folded and self._next(k, i) == NEVER]
        if not gone:
            r = self._room()
            if folded is not None:
                self._read(folded, r)
                target = folded
            else:
                target = c
                self.lines.append(f"{self.copy} {self._text(c)}, {self.names[r]}")
            to = self.names[r]
        else:
            target = c if c in gone else gone[0]
            r, to = self.register[target], self.names[self.register[target]]
        op = f"vf{negative}m{minus}"
        if target == c:
            text = f"{op}231{self.kind} {self._text(b)}, {self._text(a)}, {to}"
        elif folded == b and target == a:
            text = f"{op}132{self.kind} {self._text(b)}, {self._text(c)}, {to}"
        else:
            other = b if target == a else a
            text = f"{op}213{self.kind} {self._text(c)}, {self._text(other)}, {to}"
        self.lines.append(text)
        if gone:
            del self.register[target], self.due[target]
        self._used(i, keys)
        self._give(x.value, r)

    def _div(self, i: int, x: Instruction) -> None:
        (a,) = x.operands
        folded = self._folded(i, (a,), (a,))
        if folded is None:
            self._bring(a)
        r = self._room()
        self.lines.append(f"{self.read_constant} {self._constant(1.0)}, {self.names[r]}")
        self.lines.append(f"vdiv{self.kind} {self._text(a)}, {self.names[r]}, {self.names[r]}")
        self._used(i, (a,))
        self._give(x.value, r)

    def _sqrt(self, i: int, x: Instruction) -> None:
        (a,) = x.operands
        self._bring(a)
        text = self._text(a)
        self._used(i, (a,))
        r = self._room()
        again = f"{text}, " if self.t.lanes == 1 else ""
        self.lines.append(f"vsqrt{self.kind} {text}, {again}{self.names[r]}")
        self._give(x.value, r)

    def _fabs(self, i: int, x: Instruction) -> None:
        (a,) = x.operands
        self._bring(a)
        r = self._room()
        to = self.names[r]
        self.lines.append(f"{self.read_constant} {self._constant(-0.0)}, {to}")
        self.lines.append(f"vandnp{self.kind[1]} {self._text(a)}, {to}, {to}")
        self._used(i, (a,))
        self._give(x.value, r)

    def _negative(self, key: int) -> int:
        """A register that holds the negative of a value that is in another."""
        r = self._room()
        sign = f"{self._constant(-0.0)}{self.spread}"
        if self.t.lanes == 1:  # there is no such instruction for one number: the others are not looked at
            self.lines.append(f"{self.load} {self._constant(-0.0)}, {self.names[r]}")
            sign = self.names[r]
        self.lines.append(f"vxorp{self.kind[1]} {sign}, {self._text(key)}, {self.names[r]}")
        return r

    def _neg(self, i: int, x: Instruction) -> None:
        (a,) = x.operands
        self._bring(a)
        r = self._negative(a)
        self._used(i, (a,))
        self._give(x.value, r)

    def _out(self, i: int, x: Instruction) -> None:
        (a,) = x.operands
        to = self._at("%rsi", x.value)
        self._bring(a)
        if x.signs[0] > 0:
            self.lines.append(f"{self.store} {self._text(a)}, {to}")
            self.home.setdefault(a, to)
        else:
            r = self._negative(a)
            self.lines.append(f"{self.store} {self.names[r]}, {to}")
            self.free.append(r)
        self._used(i, (a,))

    def _guard(self, i: int, x: Instruction) -> None:
        """Bits of k1 where the value is not above its limit; what is no number passes."""
        guard = self.guards[x.value]
        factor, _ = guard.limit(roundings(1, np.float64 if self.t.bits == 64 else np.float32))
        limit = self._constant(factor)
        for key in x.operands:
            self._bring(key)
        least = limit + self.spread
        if len(x.operands) == 2:
            r = self._room()
            self.lines.append(f"vmul{self.kind} {least}, {self._text(x.operands[1])}, {self.names[r]}")
            least = self.names[r]
            self.free.append(r)
        self.lines.append(f"vcmple_oq{self.kind} {least}, {self._text(x.operands[0])}, %k2")
        self.lines.append("korw %k2, %k1, %k1")
        self._used(i, x.operands)

    def _row(self, i: int, x: Instruction) -> None:
        """Numbers of one state, as they lie in an array."""
        array, place, width = x.signs
        r = self._room()
        mask = f" {{%{self.masks[width]}}} {{z}}" if width < self.t.lanes else ""
        self.lines.append(f"vmovu{self.kind} {place * self.t.size}(%{ARRAYS[array]}), {self.names[r]}{mask}")
        self._give(x.value, r)

    def _keep(self, i: int, x: Instruction) -> None:
        (a,) = x.operands
        self._bring(a)
        self.lines.append(f"{self.store} {self._text(a)}, {self._at('%r8', x.value)}")
        self._used(i, (a,))

    def _unpack_low(self, i: int, x: Instruction) -> None:
        self._unpack(i, x, "vunpcklp")

    def _unpack_high(self, i: int, x: Instruction) -> None:
        self._unpack(i, x, "vunpckhp")

    def _unpack(self, i: int, x: Instruction, op: str) -> None:
        """Numbers of two vectors in turns, one at a time or two that are as long as one."""
        a, b = x.operands
        self._two(i, op + ("d" if x.signs == (2,) else self.kind[1]), x.value, a, b, commutes=False)

    def _quarters(self, i: int, x: Instruction) -> None:
        """Quarters of two vectors, by numbers of two bits each."""
        a, b = x.operands
        self._two(i, f"vshuff64x2 ${x.signs[0]},", x.value, a, b, commutes=False)

    def _select(self, i: int, x: Instruction) -> None:
        """A comparison is false where an operand is not a number. Truths wait in k2, k3, …"""
        *compared, yes, no = (self._bring(key) for key in x.operands)
        pairs, waiting = iter(zip(compared[::2], compared[1::2])), 1
        for truth in x.signs:
            op = TRUTHS[truth]
            if op in _COMPARED:
                a, b = next(pairs)
                waiting += 1
                self.lines.append(f"vcmp{_COMPARED[op]}_oq{self.kind} {self.names[b]}, {self.names[a]}, %k{waiting}")
            elif op == "not":
                self.lines.append(f"knotw %k{waiting}, %k{waiting}")
            else:
                waiting -= 1
                self.lines.append(f"k{op}w %k{waiting + 1}, %k{waiting}, %k{waiting}")
        self._used(i, x.operands)
        r = self._room()
        op = f"vblendmp{self.kind[1]}"
        self.lines.append(f"{op} {self.names[yes]}, {self.names[no]}, {self.names[r]} {{%k2}}")
        self._give(x.value, r)

    def _sines(self, i: int, x: Instruction) -> None:
        """A call: registers hold nothing over it."""
        (angle,) = x.operands
        self._bring(angle)
        slots = [self._slot() for _ in range(3)]
        self.lines.append(f"{self.store} {self._text(angle)}, {self._frame(slots[0])}")
        self._used(i, (angle,))
        for key in self.register:
            self._keep_in_memory(key)
        self.free += self.register.values()
        self.register.clear()
        self.due.clear()
        self.free_slots.append(slots[0])
        for key, slot in ((x.value, slots[1]), (x.value + 1, slots[2])):
            if key in self.uses:
                self.home[key] = self._frame(slot)
                self.slot_of[key] = slot
            else:
                self.free_slots.append(slot)
        self.segments.append(Segment(self.lines, (slots[0], slots[1], slots[2])))
        self.lines = []
