"""CUDA text of what loops share: a row of each thread's own, in shared memory where rows have room there."""

from __future__ import annotations

LANES_AND_ROOM = """#ifndef LW_EACH_LANE
#define LW_EACH_LANE(lane) for (unsigned lane = threadIdx.x & 31u, once = 1; once; once = 0)
#define LW_SHARED(kind, name) extern __shared__ __align__(16) kind name[]
#endif
"""


def thread_row(number: str, size: int, in_shared: bool) -> tuple[list[str], list[str]]:
    """(lines before the loop over states, and in it) that make lw_row, so many numbers."""
    if not in_shared:
        return [], [f"{number} lw_row[{size}];"]
    room = f"{number} *const room = shared + (threadIdx.x >> 5) * {32 * size};"
    return [f"LW_SHARED({number}, shared);", room], [f"{number} *const lw_row = room + lane * {size};"]


def strides_of(name: str) -> list[str]:
    """Parameters that say how an array lies."""
    return [f"long long lw_between_{name}", f"long long lw_within_{name}"]


def copied(to: str, what: str, n: int) -> str:
    """The loop that copies n numbers, by j."""
    return f"for (int j = 0; j < {n}; j++) {to} = {what};"
