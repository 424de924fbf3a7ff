"""Run the cases: compare first, then time all libraries in turn, several times, and take medians."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..make import load
from .cases import Case, states
from .libraries import LIBRARIES


@dataclass(frozen=True)
class Row:
    """A library's figures in a case: nanoseconds per state, and how far its results are from linkwise's."""

    case: Case
    library: str
    nanoseconds: float
    difference: float


def run(cases: Iterable[Case], libraries: Iterable[str] | None = None, repeats: int = 7) -> list[Row]:
    """Measure. All libraries of a case take turns, so that the machine's moods fall on all alike."""
    rows: list[Row] = []
    for case in cases:
        robot = load(case.robot)
        arguments = states(robot, case)
        calls = _calls(robot, case, arguments, libraries)
        reference = calls["linkwise"]().copy() if "linkwise" in calls else next(iter(calls.values()))().copy()
        scale = np.abs(reference).max()
        differences = {name: float(np.abs(call() - reference).max() / scale) for name, call in calls.items()}
        times: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(repeats):
            for name, call in calls.items():
                times[name].append(_seconds(getattr(call, "timed", call)))
        for name in calls:
            rows.append(Row(case, name, float(np.median(times[name])) / case.batch * 1e9, differences[name]))
    return rows


def _calls(robot: Any, case: Case, arguments: list[np.ndarray], libraries: Iterable[str] | None) -> dict[str, Any]:
    wanted = LIBRARIES if libraries is None else {k: LIBRARIES[k] for k in libraries}
    made = {name: make(robot, case, arguments) for name, make in wanted.items()}
    return {name: call for name, call in made.items() if call is not None}


def _seconds(call: Any) -> float:
    """Per call, over a turn of at least 10 ms: a short call would otherwise pay for the caches its neighbour filled."""
    call()
    calls, start = 0, time.perf_counter()
    while True:
        call()
        calls += 1
        elapsed = time.perf_counter() - start
        if elapsed > 0.01:
            return elapsed / calls


def table(rows: list[Row]) -> str:
    """The figures as a Markdown table, with the ratio to linkwise."""
    own = {r.case: r.nanoseconds for r in rows if r.library == "linkwise"}
    lines = ["| robot | function | batch | library | ns per state | linkwise is quicker by | results differ by |"]
    lines.append("|---|---|---|---|---|---|---|")
    for r in rows:
        ratio = f"{r.nanoseconds / own[r.case]:.1f}×" if r.library != "linkwise" and r.case in own else ""
        name = f"{r.case.function} ({r.case.dtype})"
        cells = [r.case.robot, name, str(r.case.batch), r.library, f"{r.nanoseconds:.1f}", ratio, f"{r.difference:.0e}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
