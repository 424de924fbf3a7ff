"""CUDA text of a function of a large robot: several threads work on one state, each on some of the robot's limbs.

A block has 32 states, and a warp of it is one of their threads (:mod:`...program.limbs`), so that all lanes of a warp
do the same. Arrays go through shared memory, carried by the whole block; so do sines and cosines, of which each warp
computes some, and the values that threads hand each other. Between phases the warps of a block wait for each other.
What finds no register waits in shared memory, by plan. Lanes without a state do as the others, and write nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...properties import cached_property
from ...symbols.scalar import Guard, Scalar
from ..program.limbs import Shares, shares
from ..program.registers import Kept, kept
from ..program.trace import Program
from ..sources.cuda import Places
from ..sources.source import Expressions
from ..thresholds import CUDA_REGISTERS
from .text import ROWS, DeviceText, padded

_HELPERS = """#ifndef LW_BARRIER
#define LW_BARRIER() __syncthreads()
#define LW_SHARED(kind, name) extern __shared__ __align__(16) kind name[]
#define LW_PIECE float4
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <unsigned bytes> __device__ __forceinline__ void lw_fetch(void *to, const void *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
                 "l"(__cvta_generic_to_global(from)), "n"(bytes));
}
#define LW_FETCH(to, from) lw_fetch<sizeof *(to)>(to, from)
#define LW_FETCHED() asm volatile("cp.async.wait_all;" ::: "memory")
#else
#define LW_FETCH(to, from) (*(to) = *(from))
#define LW_FETCHED()
#endif
/* count <= 32 rows of n numbers, by all threads of a block, into rows of pad numbers and back. */
template <unsigned n, unsigned pad>
__device__ __forceinline__ void lw_block_in(NUMBER *room, const NUMBER *__restrict__ rows, unsigned count)
{
    if (count == 32 && pad == n && ((size_t)rows & 15) == 0) {
        for (unsigned k = threadIdx.x % THREADS; k < n * 2 * sizeof(NUMBER); k += THREADS)
            LW_FETCH((LW_PIECE *)room + k, (const LW_PIECE *)rows + k);
    } else {
        for (unsigned k = threadIdx.x % THREADS; k < count * n; k += THREADS)
            LW_FETCH(room + k / n * pad + k % n, rows + k);
    }
}
template <unsigned n, unsigned pad>
__device__ __forceinline__ void lw_block_out(const NUMBER *room, NUMBER *__restrict__ rows, unsigned count)
{
    if (count == 32 && pad == n && ((size_t)rows & 15) == 0) {
        for (unsigned k = threadIdx.x % THREADS; k < n * 2 * sizeof(NUMBER); k += THREADS)
            ((LW_PIECE *)rows)[k] = ((const LW_PIECE *)room)[k];
    } else {
        for (unsigned k = threadIdx.x % THREADS; k < count * n; k += THREADS)
            rows[k] = room[k / n * pad + k % n];
    }
}
/* The same from arrays in other strides: a lane has a state. */
template <unsigned n, unsigned pad>
__device__ __forceinline__ void lw_block_numbers(NUMBER *room, const NUMBER *__restrict__ from, long long between,
                                                 long long within, unsigned count)
{
    const unsigned lane = threadIdx.x & 31u;
    if (lane < count)
        for (unsigned j = (threadIdx.x % THREADS) >> 5; j < n; j += THREADS / 32)
            LW_FETCH(room + lane * pad + j, from + lane * between + j * within);
}
template <unsigned n, unsigned pad>
__device__ __forceinline__ void lw_block_numbers_out(const NUMBER *room, NUMBER *__restrict__ to, long long between,
                                                     long long within, unsigned count)
{
    const unsigned lane = threadIdx.x & 31u;
    if (lane < count)
        for (unsigned j = (threadIdx.x % THREADS) >> 5; j < n; j += THREADS / 32)
            to[lane * between + j * within] = room[lane * pad + j];
}
"""


def divided(program: Program, dtype: str, workers: int) -> Shares | None:
    """The work of so many threads a state; None where the robot has not as many limbs, or guards look at several."""
    guarded = [x for g in program.guards for x in g.nodes]
    found = shares(program.roots, guarded, program.inputs, program.limbs, workers, CUDA_REGISTERS[dtype])
    return found if found is not None and guards_of(found, program.guards) is not None else None


def guards_of(found: Shares, guards: Sequence[Guard]) -> list[list[Guard]] | None:
    """For each thread the guards of its own values; None where one looks at values of several threads."""
    computed = [{id(x) for part in parts for x in part} for parts in found.orders]
    held: list[list[Guard]] = [[] for _ in computed]
    first = sorted(range(len(computed)), key=lambda w: w != found.trunk)  # who has what all have
    for g in guards:
        who = next((w for w in first if all(id(x) in computed[w] for x in g.nodes)), None)
        if who is None:
            return None
        held[who].append(g)
    return held


@dataclass(frozen=True, eq=False)
class LimbText(DeviceText):
    """The text for so many threads a state; arrays in any layout are carried through shared memory."""

    workers: int = 4
    shares: Shares | None = None  # who does what, as :func:`divided` has it

    @property
    def threads(self) -> int:
        return 32 * self.workers

    @property
    def _shares(self) -> Shares:
        assert self.shares is not None, "the work was not divided"
        return self.shares

    @cached_property
    def _order(self) -> list[Scalar]:
        found = {id(x): x for order in self._shares.orders for part in order for x in part}
        return list(found.values())

    # --- a block's shared memory -----------------------------------------------------------------------

    @cached_property
    def _rooms(self) -> dict[str, int]:
        found: dict[str, int] = {}
        at = 0
        for name, n in self.sizes.items():
            if name in self._in_place:
                found[name] = found[self._in_place[name]]
                continue
            found[name] = at
            at += 32 * padded(n)
        return found

    @property
    def _arrays_room(self) -> int:
        return sum(32 * padded(n) for name, n in self.sizes.items() if name not in self._in_place)

    @cached_property
    def _in_place(self) -> dict[str, str]:
        """Outputs that take the place of an input: each of whose numbers is read for the last time before that of the
        output is written, as those of joint forces are where accelerations come out."""
        shares, names = self._shares, self._arguments()
        read: dict[tuple[str, int], list[tuple[int, int, int]]] = {}  # (thread, phase, place) of every use
        when: dict[int, tuple[int, int, int]] = {}
        for w, parts in enumerate(shares.orders):
            places = iter(range(sum(map(len, parts))))
            for phase, part in enumerate(parts):
                for x, place in zip(part, places):
                    if shares.owner.get(id(x), shares.trunk) == w:
                        when[id(x)] = w, phase, place
                    for a in (x, *x.args):
                        if isinstance(a, Scalar) and a.op == "input":
                            read.setdefault((names[a.args[0]], a.args[1]), []).append((w, phase, place))
        guarded = {names[x.args[0]] for g in self.program.guards for x in g.nodes if x.op == "input"}
        roots: dict[str, list[Any]] = {}
        for name, _, x in self._entries():
            roots.setdefault(name, []).append(x)
        found: dict[str, str] = {}
        for out, values in roots.items():
            if not all(isinstance(x, Scalar) and x.op != "input" for x in values):
                continue
            for name in names.values():
                fits = self.sizes[name] == len(values) and name not in guarded and name not in found.values()
                if fits and all(
                    all((v == w and at <= place) or p < phase for v, p, at in read.get((name, i), ()))
                    for i, x in enumerate(values)
                    for w, phase, place in (when[id(x)],)
                ):
                    found[out] = name
                    break
        return found

    @cached_property
    def _handed(self) -> dict[int, int]:
        """By id the slot of a value that threads hand each other."""
        return {id(x): k for k, x in enumerate(self._shares.handed)}

    @cached_property
    def _plans(self) -> list[tuple[Kept, frozenset[int]]]:
        """For each thread, what leaves the registers, and what is read where it is needed."""
        guarded = {id(x): x for g in self.program.guards for x in g.nodes}
        written = {id(x) for x in self.program.roots if isinstance(x, Scalar)}
        plans = []
        for w, parts in enumerate(self._shares.orders):
            order = [x for part in parts for x in part]
            own = {id(x) for x in order}
            needed = {id(a): a for x in order for a in x.args if isinstance(a, Scalar)}
            needed |= {id(x): x for g in self._guards[w] for x in g.nodes}
            elsewhere = [x for k, x in needed.items() if k not in own]  # of other threads
            among = [x for x in order if x.op in ("input", "sin", "cos") and self._read_again(x) is not None]
            readable = {id(x) for x in among if id(x) not in written and id(x) not in guarded}
            readable |= {id(x) for x in elsewhere}
            at_end = {id(x): x for g in self._guards[w] for x in g.nodes}
            plan = kept(order, self.registers, readable, list(at_end.values()), self._handed)
            plans.append((plan, frozenset(readable)))
        return plans

    @cached_property
    def _guards(self) -> list[list[Guard]]:
        """The guards that each thread looks after."""
        return guards_of(self._shares, self.program.guards) or []

    @cached_property
    def _after_arrays(self) -> dict[str, int]:
        """Where in a block's shared memory sines, handed and waiting values and flags begin, and where it ends."""
        at = self._arrays_room
        found = {"turns": at}
        at += 32 * self._turns
        found["handed"] = at
        at += 32 * len(self._handed)
        for w, (plan, _) in enumerate(self._plans):
            found[f"kept{w}"] = at
            at += 32 * plan.slots
        found["flags"] = at
        at += 32 * self.workers if self.program.guards else 0
        return {**found, "": at}

    @cached_property
    def warp_bytes(self) -> int:
        """Shared memory of a block's states."""
        return int(self._after_arrays[""] * np.dtype(self.dtype).itemsize)

    # --- the text --------------------------------------------------------------------------------------

    def _read_again(self, x: Any) -> str | None:
        if id(x) in self._handed:
            return f"((const volatile {self.number} *)lw_handed)[{32 * self._handed[id(x)]}]"
        return super()._read_again(x)

    def _read(self, x: Scalar, plan: Kept) -> str:
        found = self._read_again(x)
        return f"((const volatile {self.number} *)lw_kept)[{32 * plan.slot_of[id(x)]}]" if found is None else found

    def _keep(self, slot: int, value: str) -> str:
        return f"lw_kept[{32 * slot}] = {value};"

    @cached_property
    def source(self) -> str:
        workers = [self._work(w) for w in range(self.workers)]
        sines = self._sines()
        called = "\n".join(line for lines in (*workers, sines) for line in lines) + "NAN" * bool(self.program.guards)
        helpers = _HELPERS.replace("NUMBER", self.number).replace("THREADS", str(self.threads))
        return f"{self._functions(called)}{helpers}{self._head()}{self._block(workers, sines)}"

    def _work(self, w: int) -> list[str]:
        """What one of a state's threads does."""
        values = Expressions(self.dtype)
        plan, readable = self._plans[w]
        places = Places(self._at)
        for name, i, x in self._entries():
            if isinstance(x, Scalar) and self._shares.owner.get(id(x), self._shares.trunk) == w:
                places.add(x, name, i)
        lines = [f"    {self.number} *const lw_kept = room + {self._after_arrays[f'kept{w}']} + lane;"]
        lines = lines if plan.slots else []
        now = 0
        parts = self._shares.orders[w]
        nodes = [x for part in parts for x in part]
        for k, part in enumerate(parts):
            if k:
                lines.append("    LW_BARRIER();")
            for node in part:
                lines += self._computed(values, node, now, nodes, plan, readable, places)
                if id(node) in self._handed and self._shares.owner.get(id(node)) == w:
                    lines.append(f"    lw_handed[{32 * self._handed[id(node)]}] = {values[node]};")
                now += 1
        lines += [
            f"    const {self.number} {values.variable(x)} = {self._read(x, plan)};"
            for x in plan.reads.get(len(nodes), ())
        ]
        if w == 0:
            lines += [
                f"    {self._at(name, i)} = {values[x]};" for name, i, x in self._entries() if not isinstance(x, Scalar)
            ]
        if self.program.guards:
            bad = values.singular(self._guards[w]) if self._guards[w] else "0"
            lines.append(f"    lw_flags[{32 * w}] = {bad};")
        return lines

    def _sines(self) -> list[str]:
        """Sines and cosines of inputs, of which each warp has every so manieth."""
        each = f"for (int j = lw_worker; j < {{n}}; j += {self.workers})"
        lines = self._sine_lines(each, unrolled=4, margin="    ", search_unrolled=False)
        return lines and [*lines, "    LW_BARRIER();"]

    def _at(self, name: str, i: int, more: str = "") -> str:
        return f"lw_{name}[{f'{i} + {more}' if more else i}]"

    def _block(self, workers: list[list[str]], sines: list[str]) -> str:
        """The kernel: a block's states into shared memory, phase by phase through its warps, and out again."""
        outputs, number = set(self._outputs()), self.number
        after = self._after_arrays
        own = [
            f"{'' if name in outputs else 'const '}{number} *const lw_{name} = room + {at} + lane * {padded(n)};"
            for (name, n), at in ((x, self._rooms[x[0]]) for x in self.sizes.items())
        ]
        if self._angles:
            own.append(f"{number} *const lw_turns = room + {after['turns']} + lane * {self._turns};")
        if self._handed:
            own.append(f"{number} *const lw_handed = room + {after['handed']} + lane;")
        if self.program.guards:
            own.append(f"{number} *const lw_flags = room + {after['flags']} + lane;")
        carry_in: list[str] = []
        carry_out: list[str] = []
        blank: list[str] = []
        for name, n in self.sizes.items():
            if not n:
                continue
            shape, at = f"<{n}, {padded(n)}>", f"room + {self._rooms[name]}"
            out = name in outputs
            if self._layout(name) == ROWS:
                call = f"lw_block_{'out' if out else 'in'}{shape}({at}, {name} + first * {n}, count);"
            else:
                start = f"{name} + (long long)first * lw_between_{name}"
                strides = f"lw_between_{name}, lw_within_{name}"
                call = f"lw_block_numbers{'_out' if out else ''}{shape}({at}, {start}, {strides}, count);"
            (carry_out if out else carry_in).append(call)
            if out:
                blank += [f"    for (int j = lw_worker; j < {n}; j += {self.workers})", f"        lw_{name}[j] = NAN;"]
        # (The block has one group. Written so, with an address that the compiler does not know, a humanoid's forward
        # dynamics in float64 takes 1.21 ns a state on an H200, and 1.52 ns with one that it knows.)
        lines = [
            f"LW_SHARED({number}, shared);",
            f"const unsigned lane = threadIdx.x & 31u, group = threadIdx.x / {32 * self.workers};",
            f"const int lw_worker = (int)(threadIdx.x >> 5) % {self.workers};",
            f"{number} *const room = shared + group * {after['']};",
            *own,
            *(f"(void)lw_{name};" for name in self._arguments().values()),
            "const size_t step = (size_t)gridDim.x * 32;",
            "for (size_t begin = (size_t)blockIdx.x * 32; begin < batch; begin += step) {",
            "    const size_t first = begin + group * 32;",
            "    const unsigned count = first >= batch ? 0u : batch - first < 32 ? (unsigned)(batch - first) : 32u;",
            *(f"    {x}" for x in carry_in),
            "    LW_FETCHED();",
            "    LW_BARRIER();",
            *sines,
        ]
        for w, work in enumerate(workers):
            lines += [f"    {'} else ' if w else ''}{f'if (lw_worker == {w}) ' if w + 1 < self.workers else ''}{{"]
            lines += [f"    {x}" for x in work]
        lines += ["    }", "    LW_BARRIER();"]
        if self.program.guards:
            flags = " || ".join(f"lw_flags[{32 * w}] != 0" for w in range(self.workers))
            lines += [f"    if ({flags}) {{", *(f"    {x}" for x in blank), "    }", "    LW_BARRIER();"]
        lines += [*(f"    {x}" for x in carry_out), "    LW_BARRIER();", "}"]
        return "{\n" + "\n".join(x if x.startswith("#") else f"    {x}" for x in lines) + "\n}\n"
