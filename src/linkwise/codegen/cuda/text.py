"""CUDA text of a function for arrays as users have them: states row by row, or in any other strides.

An array that has a state's numbers side by side, one state after the other, is carried through shared memory: a warp's
32 states are one piece of memory, which its threads read and write side by side, and each thread finds its state in a
row of its own, of odd length, so that no two meet in one bank. All other arrays (one number of all states side by side,
a row that serves every state, views) are read where they lie. Sines and cosines of inputs are computed first, in a
loop, and kept in shared memory too: their code is there once, and so is that for huge angles. Where there is room, the
inputs of a warp's next states are fetched, in any strides, while it works on some. Values that find no register wait in
shared memory, by plan (:mod:`...program.registers`). No warp waits for another.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...properties import cached_property
from ...symbols.scalar import Scalar
from ..program.registers import Kept, kept
from ..sources.cuda import OWN_NAMES, CudaSource
from ..sources.cuda_functions import LARGEST_QUICK
from ..sources.source import Expressions, argument
from ..thresholds import CUDA_AHEAD, CUDA_KEPT_WITH_ROWS, CUDA_ROOM
from ..thresholds import CUDA_THREADS as THREADS

KERNEL = "lw_kernel"
ROWS, STRIDED, CARRIED = "r", "s", "c"  # how an array lies; in strides, and carried through shared memory all the same

# What kernels call something, with lw_ before it or without: inputs are called lw_‹name› there.
TAKEN = OWN_NAMES | frozenset(
    """j here from into some out count largest angles turns turn kept worker threads handed flags bad value
    row now next left every begins other all to rows within between fetch rows_in rows_out numbers_in
    sincos sincosf sincos_near far turned inverse two_over_pi kernel piece
    block_in block_out block_numbers block_numbers_out""".split()  # noqa: SIM905
)

_HELPERS = """#ifndef LW_EACH_LANE
#define LW_EACH_LANE(lane) for (unsigned lane = threadIdx.x & 31u, once = 1; once; once = 0)
#define LW_SHARED(kind, name) extern __shared__ __align__(16) kind name[]
#define LW_PIECE float4
#endif
/* One number, or 16 bytes, from global into shared memory while the thread goes on. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <unsigned bytes> __device__ __forceinline__ void lw_fetch(void *to, const void *from)
{
    const unsigned there = (unsigned)__cvta_generic_to_shared(to);
    const size_t here = __cvta_generic_to_global(from);
    if (bytes == 16) /* past the first cache, which has no use for whole lines */
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(there), "l"(here));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(there), "l"(here), "n"(bytes));
}
#define LW_FETCH(to, from) lw_fetch<sizeof *(to)>(to, from)
#define LW_FETCHED() asm volatile("cp.async.wait_all;" ::: "memory")
#else
#define LW_FETCH(to, from) (*(to) = *(from))
#define LW_FETCHED()
#endif
/* count <= 32 rows of n numbers, into rows of pad numbers and back; 16 bytes at a time where all lie so. */
template <unsigned n, unsigned pad>
__device__ __forceinline__ void lw_rows_in(NUMBER *room, const NUMBER *__restrict__ rows, unsigned lane, unsigned count)
{
    if (count == 32 && pad == n && ((size_t)rows & 15) == 0) {
#pragma unroll UNROLLED
        for (unsigned j = 0; j < (n + 3) / 4 * (sizeof(NUMBER) / 4); j++)
            if (32 * j + lane < n * 2 * sizeof(NUMBER))
                LW_FETCH((LW_PIECE *)room + 32 * j + lane, (const LW_PIECE *)rows + 32 * j + lane);
    } else if (count == 32) {
#pragma unroll UNROLLED
        for (unsigned j = 0; j < n; j++) {
            const unsigned k = 32 * j + lane;
            LW_FETCH(room + (pad == n ? k : k / n * pad + k % n), rows + k);
        }
    } else {
#pragma unroll 1
        for (unsigned k = lane; k < count * n; k += 32)
            LW_FETCH(room + k / n * pad + k % n, rows + k);
    }
}
/* The same from arrays in other strides. */
template <unsigned n, unsigned pad>
__device__ __forceinline__ void lw_numbers_in(NUMBER *room, const NUMBER *__restrict__ from, long long between,
                                              long long within, unsigned lane, unsigned count)
{
    if (lane < count) {
#pragma unroll UNROLLED
        for (unsigned j = 0; j < n; j++)
            LW_FETCH(room + lane * pad + j, from + lane * between + j * within);
    }
}
template <unsigned n, unsigned pad>
__device__ __forceinline__ void lw_rows_out(const NUMBER *room, NUMBER *__restrict__ rows, unsigned lane,
                                            unsigned count)
{
    if (count == 32 && pad == n && ((size_t)rows & 15) == 0) {
#pragma unroll UNROLLED
        for (unsigned j = 0; j < (n + 3) / 4 * (sizeof(NUMBER) / 4); j++)
            if (32 * j + lane < n * 2 * sizeof(NUMBER))
                ((LW_PIECE *)rows)[32 * j + lane] = ((const LW_PIECE *)room)[32 * j + lane];
    } else if (count == 32) {
#pragma unroll UNROLLED
        for (unsigned j = 0; j < n; j++) {
            const unsigned k = 32 * j + lane;
            rows[k] = room[pad == n ? k : k / n * pad + k % n];
        }
    } else {
#pragma unroll 1
        for (unsigned k = lane; k < count * n; k += 32)
            rows[k] = room[k / n * pad + k % n];
    }
}
"""


def padded(n: int) -> int:
    """The length of a thread's row in shared memory: odd."""
    return n | 1


def layouts_within(sizes: Mapping[str, int], wanted: str, itemsize: int, taken: int = 0, inputs: int = 0) -> str:
    """The layouts that are used where these are what arrays have: what is too long stays where it is.

    The first ``inputs`` arrays are inputs, which are carried through shared memory whatever their strides; ``taken``
    bytes of a warp's are for other things.
    """
    left, chosen = CUDA_ROOM - taken, dict.fromkeys(sizes, STRIDED)
    read = set(list(sizes)[:inputs])
    for name, layout in sorted(zip(sizes, wanted), key=lambda pair: sizes[pair[0]]):
        needed = 32 * padded(sizes[name]) * itemsize
        if sizes[name] and needed <= left and (layout == ROWS or name in read):
            left -= needed
            chosen[name] = ROWS if layout == ROWS else CARRIED
    return "".join(chosen.values())


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def is_input(x: Any) -> bool:
    return isinstance(x, Scalar) and x.op == "input"


@dataclass(frozen=True, eq=False)
class DeviceText(CudaSource):
    """The text for arrays in these layouts, a letter each, inputs before outputs."""

    layouts: str = ""
    blocks: int = 1  # that a multiprocessor shall have room for, by which threads have fewer registers

    registers: float = math.inf  # for values; more of them wait in shared memory
    ahead: bool = False  # whether the inputs of a warp's next states are fetched while it works on some
    workers: int = 1  # threads of a state

    @property
    def threads(self) -> int:
        """The most threads of a block."""
        return THREADS

    def _arguments(self) -> dict[str, str]:
        return {name: argument(name, TAKEN) for name in self.program.inputs}

    @cached_property
    def _planned(self) -> tuple[Kept, frozenset[int]]:
        guarded = {id(x): x for g in self.program.guards for x in g.nodes}
        written = {id(x) for x in self.program.roots if isinstance(x, Scalar)}
        among = [x for x in self._order if x.op in ("input", "sin", "cos") and self._read_again(x) is not None]
        readable = frozenset(id(x) for x in among if id(x) not in written and id(x) not in guarded)
        return kept(self._order, self.registers, readable, list(guarded.values())), readable

    def _plan(self, written: Container[int]) -> tuple[Kept, frozenset[int]]:
        return self._planned

    @property
    def _kept(self) -> int:
        """The length of a thread's row of values that wait."""
        return padded(self._planned[0].slots) if self._planned[0].slots else 0

    @cached_property
    def sizes(self) -> dict[str, int]:
        """How many numbers of a state each array has, by its name in the text."""
        outputs = {name: math.prod(shape) for name, shape in self._outputs().items()}
        return dict(zip(self._arguments().values(), self.program.inputs.values())) | outputs

    @cached_property
    def _rooms(self) -> dict[str, int]:
        """Where in a warp's shared memory the rows of each array begin."""
        found, at = {}, 0
        for (name, n), layout in zip(self.sizes.items(), self.layouts):
            if layout != STRIDED:
                found[name] = at
                at += 32 * padded(n)
        return found

    @cached_property
    def _angles(self) -> list[tuple[str, int]]:
        """The inputs (name in the text, place) whose sines or cosines are needed, in order."""
        names = self._arguments()
        found = {x.args[0].args for x in self._order if x.op in ("sin", "cos") and is_input(x.args[0])}
        order = {name: k for k, name in enumerate(self.program.inputs)}
        if 32 * padded(2 * len(found)) * np.dtype(self.dtype).itemsize > CUDA_ROOM // 2:
            return []  # too many to keep: each is computed where it is needed
        return [(names[name], i) for name, i in sorted(found, key=lambda at: (order[at[0]], at[1]))]

    @cached_property
    def _others(self) -> frozenset[int]:
        """What anything but a sine or cosine needs (ids)."""
        others = {id(a) for x in self._order if x.op not in ("sin", "cos") or not self._angles for a in x.args}
        return frozenset(
            others | {id(x) for x in (*self.program.roots, *(y for g in self.program.guards for y in g.nodes))}
        )

    @property
    def _only_angles(self) -> frozenset[int]:
        return self._lone_angles

    @cached_property
    def _lone_angles(self) -> frozenset[int]:
        return frozenset(id(x) for x in self._order if x.op == "input" and id(x) not in self._others)

    def _read_again(self, x: Any) -> str | None:
        """Inputs in shared memory, sines and cosines."""
        if x.op == "input" and id(x) not in self._only_angles:
            name = self._arguments()[x.args[0]]
            return f"((const volatile {self.number} *)lw_{name})[{x.args[1]}]" if name in self._rooms else None
        if x.op in ("sin", "cos") and is_input(x.args[0]) and self._angles:
            name, i = x.args[0].args
            k = 2 * self._angles.index((self._arguments()[name], i)) + (x.op == "cos")
            return f"((const volatile {self.number} *)lw_turns)[{k}]"
        return None

    @property
    def _turns(self) -> int:
        """The length of a thread's row of sines and cosines."""
        return padded(2 * len(self._angles)) if self._angles else 0

    def fitted(self, room: int = CUDA_ROOM) -> DeviceText:
        """The text for the layouts among these that fit into shared memory, of which a block has ``room``."""
        size = np.dtype(self.dtype).itemsize
        taken = 32 * (self._turns + self._kept) * size
        carried = layouts_within(self.sizes, self.layouts, size, taken, len(self.program.inputs))
        ahead = replace(self, layouts=carried, ahead=True)
        if ahead.warp_bytes <= CUDA_AHEAD:
            return ahead
        found = replace(self, layouts=layouts_within(self.sizes, self.layouts, size, taken))
        if not self._kept:
            return found
        if self._mostly_writes and found._rooms.keys().isdisjoint(self._outputs()):  # rows of results need room
            for registers in CUDA_KEPT_WITH_ROWS:
                roomy = replace(self, registers=registers)
                if roomy.warp_bytes <= room // 2 - 1024:
                    return roomy
            return replace(self, registers=math.inf).fitted(room)
        return found if found.warp_bytes <= room else replace(self, registers=math.inf).fitted(room)

    @property
    def _mostly_writes(self) -> bool:
        """Whether results in rows have more numbers than inputs have."""
        rows = sum(self.sizes[name] for name in self._outputs() if self._layout(name) == ROWS)
        return rows > sum(self.program.inputs.values())

    @property
    def _arrays_room(self) -> int:
        return sum(32 * padded(self.sizes[name]) for name in self._rooms)

    @cached_property
    def warp_bytes(self) -> int:
        """Shared memory of a warp."""
        return int((self._first_room + self._fetched_room) * np.dtype(self.dtype).itemsize)

    @property
    def _first_room(self) -> int:
        """Numbers of a warp's shared memory, but the second place for what is fetched ahead."""
        return self._arrays_room + 32 * (self._turns + self._kept)

    @property
    def _fetched_room(self) -> int:
        """Numbers of inputs that are fetched for a warp's next states while it works on some."""
        return self._inputs_room if self.ahead else 0

    @property
    def _inputs_room(self) -> int:
        return sum(32 * padded(self.sizes[name]) for name in self._rooms if name in self._arguments().values())

    def _sine_and_cosine(
        self, values: Expressions, angle: Any, sine: Scalar | None, cosine: Scalar | None
    ) -> list[str]:
        if not (is_input(angle) and self._angles):
            return super()._sine_and_cosine(values, angle, sine, cosine)
        name, i = angle.args
        k = 2 * self._angles.index((self._arguments()[name], i))
        parts = [(x, k + j) for j, x in enumerate((sine, cosine)) if x is not None]
        return [f"    const {self.number} {values.variable(x)} = lw_turns[{at}];" for x, at in parts]

    @cached_property
    def source(self) -> str:
        body = [f"        {line}" for line in self._statements(self._at)]
        turns = [*self._sines(), *self._waiting()]
        called = "\n".join((*body, *turns))
        return f"{self._functions(called)}{self._helpers()}{self._head()}{self._around(turns + body)}"

    def _sines(self) -> list[str]:
        lines = self._sine_lines("for (int j = 0; j < {n}; j++)", unrolled=8)
        return lines and [f"        {self.number} *const lw_turns = {self._turns_at};", *lines]

    def _sine_lines(
        self, each: str, unrolled: int, margin: str = "        ", *, search_unrolled: bool = True
    ) -> list[str]:
        """The sines and cosines of inputs, ``each`` in a loop that knows no huge angles, or in one that does.

        The first is ``unrolled`` so many times, and so is that which looks for huge ones, where it is said. Where that
        is all of them, the first has the angles that the search has read: a place in shared memory that may have been
        written meanwhile is read again. (An H200, the arm, rows, states a second, read again and held: inverse dynamics
        in float64 1.595e10 and 1.659e10, in float32 3.09e10 and 3.11e10; forward dynamics 9.08e9 and 9.69e9, 1.89e10
        and 1.92e10.)
        """
        f, number, runs = "" if self.dtype == "float64" else "f", self.number, self._runs()
        if not self._angles:
            return []
        held = search_unrolled and all(n <= unrolled for _, _, n, _ in runs)
        lines = [f"{number} lw_largest = 0;", *([f"{number} lw_angles[{len(self._angles)}];"] if held else [])]
        for name, i, n, k in runs:
            x = self._at(name, i, "j")
            lines += [f"#pragma unroll {unrolled}"] if search_unrolled else []
            x = f"fabs{f}({f'lw_angles[{k} + j] = {x}' if held else x})"
            lines += [each.format(n=n), f"    lw_largest = fmax{f}(lw_largest, {x});"]
        for head, call in (
            (f"if (lw_largest <= {LARGEST_QUICK!r}{f}) {{", "lw_sincos_near"),
            ("} else {", f"lw_sincos{f}"),
        ):
            lines.append(head)
            is_near = call == "lw_sincos_near"
            for name, i, n, k in runs:
                x = f"lw_angles[{k} + j]" if held and is_near else self._at(name, i, "j")
                at = f"lw_turns + {2 * k} + 2 * j"
                lines.append(f"#pragma unroll {unrolled if is_near else 1}")
                lines += [each.format(n=n), f"    {call}({x}, {at}, {at} + 1);"]
        return [f"{margin}{line}" if not line.startswith("#") else line for line in (*lines, "}")]

    def _waiting(self) -> list[str]:
        """Where a thread has values that wait, declared."""
        return [f"        {self.number} *const lw_kept = {self._kept_at};"] if self._kept else []

    @property
    def _kept_at(self) -> str:
        return f"room + {self._arrays_room + 32 * self._turns} + lane * {self._kept}"

    @property
    def _turns_at(self) -> str:
        """Where a thread has its sines and cosines."""
        return f"room + {self._arrays_room} + lane * {self._turns}"

    def _runs(self) -> list[tuple[str, int, int, int]]:
        """The angles by runs of neighbours: (array, first place, how many, the first one's number)."""
        runs: list[tuple[str, int, int, int]] = []
        for k, (name, i) in enumerate(self._angles):
            if runs and runs[-1][0] == name and runs[-1][1] + runs[-1][2] == i:
                runs[-1] = (*runs[-1][:2], runs[-1][2] + 1, runs[-1][3])
            else:
                runs.append((name, i, 1, k))
        return runs

    def _helpers(self) -> str:
        most = max((self.sizes[name] for name in self._rooms), default=1)
        return _HELPERS.replace("NUMBER", self.number).replace("UNROLLED", str(min(max(most, 1), 16)))

    def _at(self, name: str, i: int, more: str = "") -> str:
        place = f"{i} + {more}" if more else f"{i}"
        if name in self._rooms:
            return f"lw_{name}[{place}]"
        return f"lw_{name}[({place}) * lw_within_{name}]" if more or i else f"lw_{name}[0]"

    def _layout(self, name: str) -> str:
        return dict(zip(self.sizes, self.layouts))[name]

    def _head(self) -> str:
        parameters = ["size_t batch"]
        inputs = set(self._arguments().values())
        for name in self.sizes:
            constant = "const " if name in inputs else ""
            parameters.append(f"{constant}{self.number} *__restrict__ {name}")
            if self._layout(name) != ROWS:
                parameters += [f"long long lw_between_{name}", f"long long lw_within_{name}"]
        bounds = f"__launch_bounds__({self.threads}, {self.blocks})"
        return f'extern "C" __global__ void {bounds}\n{KERNEL}({", ".join(parameters)})\n'

    def _around(self, body: list[str]) -> str:
        """The kernel: a warp's states into shared memory, each thread's state, and out again."""
        outputs = set(self._outputs())
        rows, carry_out = [], []
        for name, n in self.sizes.items():
            constant = "" if name in outputs else "const "
            if name in self._rooms:
                at = f"{'room' if name in outputs else 'here'} + {self._rooms[name]}"
                rows.append(f"{constant}{self.number} *const lw_{name} = {at} + lane * {padded(n)};")
                if name in outputs:
                    carry_out.append(f"lw_rows_out<{n}, {padded(n)}>({at}, {name} + first * {n}, lane, count);")
            else:
                at = f"{name} + (long long)(first + lane) * lw_between_{name}"
                rows.append(f"{constant}{self.number} *__restrict__ const lw_{name} = {at};")
        unused = [f"(void)lw_within_{name};" for name in self.sizes if name not in self._rooms]
        size = np.dtype(self.dtype).itemsize
        shared = [
            f"LW_SHARED({self.number}, shared);",
            f"{self.number} *const room = shared + (threadIdx.x >> 5) * {self.warp_bytes // size};",
        ]
        count = "const unsigned count = batch - first < 32 ? (unsigned)(batch - first) : 32u;"
        waited = ["    LW_FETCHED();", "    __syncwarp();"]
        begin, fetch = [], []
        if self._fetched_room:
            begin = ["unsigned lw_turn = 0;", "if (first < batch) {", *_indented(self._fetch("first", "room")), "}"]
            fetch = [
                *waited,
                f"    {self.number} *const here = room + lw_turn * {self._first_room};",
                "    lw_turn ^= 1u;",
                "    if (first + step < batch) {",
                *_indented(_indented(self._fetch("first + step", f"room + lw_turn * {self._first_room}"))),
                "    }",
            ]
        elif self._inputs_room:
            fetch = ["    {", *_indented(_indented(self._fetch("first", "room"))), "    }", *waited]
            fetch.append(f"    {self.number} *const here = room;")
        lines = [
            *(shared if self.warp_bytes else ()),
            "const size_t step = (size_t)gridDim.x * blockDim.x, begin = (size_t)blockIdx.x * blockDim.x;",
            "size_t first = begin + (threadIdx.x & ~31u);",
            *begin,
            "for (; first < batch; first += step) {",
            f"    {count}",
            *fetch,
            "    LW_EACH_LANE(lane) if (lane < count) {",
            *(f"        {line}" for line in (*rows, *unused)),
            *body,
            "    }",
            *(["    __syncwarp();"] if self._rooms else []),
            *self._phase(carry_out),
            "}",
        ]
        return "{\n" + "\n".join(f"    {line}" for line in lines) + "\n}\n"

    def _fetch(self, first: str, room: str) -> list[str]:
        """Bring the inputs of a warp's states into shared memory; nobody waits for them here."""
        outputs = set(self._outputs())
        lines = [
            f"const size_t from = {first};",
            "const unsigned some = batch - from < 32 ? (unsigned)(batch - from) : 32u;",
            f"{self.number} *const into = {room};",
            "LW_EACH_LANE(lane) {",
        ]
        for name, at in self._rooms.items():
            if name in outputs:
                continue
            n = self.sizes[name]
            shape, to = f"<{n}, {padded(n)}>", f"into + {at}"
            if self._layout(name) == ROWS:
                lines.append(f"    lw_rows_in{shape}({to}, {name} + from * {n}, lane, some);")
            else:
                start = f"{name} + (long long)from * lw_between_{name}"
                strides = f"lw_between_{name}, lw_within_{name}"
                lines.append(f"    lw_numbers_in{shape}({to}, {start}, {strides}, lane, some);")
        return [*lines, "}"]

    @staticmethod
    def _phase(lines: list[str]) -> list[str]:
        if not lines:
            return []
        return ["    LW_EACH_LANE(lane) {", *(f"        {line}" for line in lines), "    }", "    __syncwarp();"]
