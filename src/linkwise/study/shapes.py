"""Arrays of many runs in one. Runs may give arrays of several shapes, and numbers in place of arrays: nothing is lost.

In files a chunk's arrays of one shape, but for their lengths, stand side by side; others are laid flat, and their
shapes said beside them. Whoever reads gets one array along all runs, as large in each direction as the largest one of
them, filled up with NaN; it is the same however runs were cut into chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import FileError

Shape = tuple[int, ...]
_MOST_AXES = 31  # with that of the runs NumPy's 32


def gathered(parts: Sequence[np.ndarray | None]) -> tuple[np.ndarray, list[int], list[Shape] | None]:
    """(arrays of runs in one, how long each is there, their shapes where they are laid flat); None: a run has none."""
    there = [x for x in parts if x is not None]
    shapes = [(0,) if x is None else x.shape for x in parts]
    if len({x.shape[1:] for x in there}) == 1:
        tail, flat = there[0].shape[1:], None
    else:
        parts, tail, flat = [None if x is None else x.ravel() for x in parts], (), shapes
    lengths = [0 if x is None else len(x) for x in parts]
    dtype = np.result_type(*there) if len(set(shapes)) == 1 else np.result_type(*there, np.float32)  # which has NaN
    out = np.full((len(parts), max(lengths), *tail), np.nan if dtype.kind == "f" else 0, dtype)
    for row, x in zip(out, parts):
        if x is not None:
            row[: len(x)] = x
    return out, lengths, flat


def refuse_shapes(shapes: Any, lengths: Sequence[int], longest: int) -> list[Shape]:
    """What a file says of the shapes of arrays that are laid flat; ValueError where they cannot be."""
    if not isinstance(shapes, list) or len(shapes) != len(lengths):
        raise ValueError("shapes are not those of its runs")
    found = [tuple(s) if isinstance(s, list) and 0 < len(s) <= _MOST_AXES else () for s in shapes]
    for shape, length in zip(found, lengths):
        if not shape or not all(type(n) is int and 0 <= n < 2**40 for n in shape):
            raise ValueError(f"an array has shape {shape!s:.80}")
        if float(np.prod([float(n) for n in shape])) != length or not 0 <= length <= longest:
            raise ValueError(f"an array of shape {shape!s:.80} has {length} numbers")
    return found


def spread(flat: np.ndarray, shapes: Sequence[Shape], limit: float) -> np.ndarray:
    """Arrays that were laid flat (runs, n) as one (runs, …)."""
    rows = [x[: int(np.prod(s))].reshape(1, *s) for x, s in zip(flat, shapes)]
    return stacked([(1, x) for x in rows], limit)


def stacked(parts: Sequence[tuple[int, np.ndarray | None]], limit: float) -> np.ndarray:
    """Arrays (runs, …) one after another, each of so many runs, or None where these have none."""
    there = [x for _, x in parts if x is not None]
    if len(there) == len(parts) and len({x.shape[1:] for x in there}) == 1:
        return np.concatenate(there)
    axes = max(x.ndim for x in there)
    whole = [(n, None if x is None else x.reshape(*x.shape, *(1,) * (axes - x.ndim))) for n, x in parts]
    extent = np.max([x.shape[1:] for _, x in whole if x is not None], axis=0).astype(float)
    count, dtype = sum(n for n, _ in parts), np.result_type(*there, np.float32)
    if (size := count * float(np.prod(extent)) * dtype.itemsize) > limit:
        kinds = sorted({str(x.shape[1:]) for x in there})
        raise FileError(
            f"runs gave arrays of several shapes, {', '.join(kinds[:4])}{' …' if len(kinds) > 4 else ''}, which fill"
            f" {size / 2**30:.3g} GiB in one array; ask for other names (results([…])), or for a larger limit="
        )
    out = np.full((count, *extent.astype(int)), np.nan, dtype)
    start = 0
    for n, x in whole:
        if x is not None:
            out[(slice(start, start + n), *map(slice, x.shape[1:]))] = x
        start += n
    return out


def with_numbers(arrays: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Arrays (runs, …) with the numbers (runs,) that other runs gave in their place, each as the first entry."""
    own = np.isfinite(numbers.astype(float))
    room = np.zeros((1, *(1,) * (arrays.ndim - 1)), arrays.dtype)[:0]  # of at least one entry
    out = stacked([(len(arrays), arrays), (0, room)], np.inf).astype(np.result_type(arrays, numbers, np.float32))
    out[(own, *(0,) * (arrays.ndim - 1))] = numbers[own]
    return out
