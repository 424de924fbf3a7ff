"""The runs of a chunk as columns: made at once from a batch, or gathered from the records of runs made one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .shapes import Shape, gathered


@dataclass
class Record:
    """What came of one run."""

    run: int
    status: str
    values: dict[str, Any] = field(default_factory=dict)  # name → number, word or array
    error: str | None = None
    message: str | None = None
    traceback: str | None = None
    ways: tuple[str, ...] = ()  # how it was made


@dataclass
class Columns:
    """What came of runs, one entry a run in each column."""

    run: np.ndarray
    status: list[str]
    error: list[str | None]
    message: list[str | None]
    traceback: list[str | None]
    numbers: dict[str, Any]  # name → array (runs,), or a list in which None is missing
    arrays: dict[str, np.ndarray]  # name → (runs, longest, …), short ones filled up with NaN
    lengths: dict[str, list[int]]  # of each run's array
    shapes: dict[str, list[Shape]] = field(default_factory=dict)  # of those arrays that are laid flat

    def __len__(self) -> int:
        return len(self.status)


def not_finite(names: Sequence[str]) -> str:
    """What is said of a run with numbers that are not finite."""
    return f"{', '.join(names)} not finite"


# --- of a batch -----------------------------------------------------------------------------------------


def of_batch(first: int, found: Mapping[str, np.ndarray], sound: np.ndarray, finite: bool, lost: str) -> Columns:
    """Runs from ``first`` on, made at once: ``found`` by name (runs, …); ``lost`` is said of those not ``sound``."""
    count = len(sound)
    out = Columns(
        np.arange(first, first + count), ["done"] * count, [None] * count, [None] * count, [None] * count, {}, {}, {}
    )
    for name, x in found.items():
        if x.ndim == 1:
            out.numbers[name] = x
        else:
            out.arrays[name], out.lengths[name] = x, [x.shape[1]] * count
    bad = {name: ~_finite(x) for name, x in found.items() if x.dtype.kind == "f"} if finite else {}
    failed = ~np.asarray(sound) if not bad else ~np.asarray(sound) | np.logical_or.reduce(list(bad.values()))
    for i in map(int, np.nonzero(failed)[0]):
        out.status[i] = "failed"
        if not sound[i]:
            out.error[i], out.message[i] = "SimulationError", lost
        else:
            out.error[i], out.message[i] = "NotFinite", not_finite([name for name, x in bad.items() if x[i]])
    return out


def _finite(x: np.ndarray) -> np.ndarray:
    """Which runs have finite numbers only, (runs,)."""
    return np.asarray(np.isfinite(x).reshape(len(x), -1).all(axis=1))


# --- of records -----------------------------------------------------------------------------------------


def of_records(records: Sequence[Record]) -> Columns:
    """Runs that were made one by one; what some of them lack is missing."""
    names = list(dict.fromkeys(n for r in records for n, x in r.values.items() if np.ndim(x) == 0))
    out = Columns(
        np.array([r.run for r in records], dtype=np.int64),
        [r.status for r in records],
        [r.error for r in records],
        [r.message for r in records],
        [r.traceback for r in records],
        {name: [_single(r.values.get(name)) for r in records] for name in names},
        {},
        {},
    )
    for name in dict.fromkeys(n for r in records for n, x in r.values.items() if np.ndim(x)):
        parts = [r.values.get(name) for r in records]
        out.arrays[name], out.lengths[name], shapes = gathered(
            [np.asarray(x) if x is not None and np.ndim(x) else None for x in parts]
        )
        if shapes is not None:
            out.shapes[name] = shapes
    return out


def _single(x: Any) -> Any:
    return None if x is None or np.ndim(x) else x
