"""Run the cases: compare first, then time all libraries in turn, several times, and take medians."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from ..interop.availability import NotHere
from ..robot.robot import Robot
from ..symbols.operations import Operations
from .cases import Case, frame_of, robot_of, stacked, states
from .peer import Peer, Work
from .peers import PEERS

# The largest difference from the reference, relative to its largest number, with which a library is timed at all.
TOLERANCE = {"float64": 1e-8, "float32": 1e-3}
_TURN = 0.01  # seconds a library's turn lasts at least
_COMPARED = 128  # states at either end of a batch


@dataclass(frozen=True)
class Row:
    """A library's figures in a case: nanoseconds per state, and how far its results are from the reference."""

    case: Case
    library: str
    nanoseconds: float
    difference: float
    operations: Operations | None = None
    how: str = ""  # the compiler, where several were tried


@dataclass(frozen=True)
class LeftOut:
    """A library that did not run a case, and why."""

    case: Case
    library: str
    reason: str


def run(
    cases: Iterable[Case],
    libraries: Iterable[str] = tuple(PEERS),
    repeats: int = 7,
    say: Callable[[str], None] = lambda text: None,
) -> tuple[list[Row], list[LeftOut]]:
    """Measure. All libraries of a case take turns, so that the machine's moods fall on all alike."""
    rows: list[Row] = []
    left_out: list[LeftOut] = []
    peers = [PEERS[name] for name in libraries]
    for case in cases:
        say(str(case))
        try:
            robot = robot_of(case)
        except NotHere as e:  # a robot of a package that is not installed
            left_out.append(LeftOut(case, "every library", str(e)))
            continue
        arguments = states(robot, case)
        reference = _reference(robot, case, arguments)
        ready: dict[str, tuple[Work, float]] = {}
        for peer in peers:
            try:
                ready[peer.name] = _compared(peer, robot, case, arguments, reference)
            except NotHere as e:
                left_out.append(LeftOut(case, peer.name, str(e)))
        times = _interleaved({name: work.run for name, (work, _) in ready.items()}, repeats)
        for name, (work, difference) in ready.items():
            rows.append(Row(case, name, times[name] / case.batch * 1e9, difference, work.operations, work.how))
    return rows, left_out


def _reference(robot: Robot, case: Case, arguments: list[np.ndarray]) -> np.ndarray:
    """The NumPy sweeps in double precision: what every library, linkwise's kernels included, is compared with."""
    evaluate = robot.compile(case.function, target="numpy", **frame_of(robot, case.function))
    return stacked(evaluate(*(_compared_states(x).astype(np.float64) for x in arguments)))


def _compared_states(x: np.ndarray) -> np.ndarray:
    """The first and the last states of a batch: enough to see what a library computes, and how it ends a batch."""
    return x if len(x) <= 2 * _COMPARED else np.concatenate([x[:_COMPARED], x[-_COMPARED:]])


def _compared(
    peer: Peer, robot: Robot, case: Case, arguments: list[np.ndarray], reference: np.ndarray
) -> tuple[Work, float]:
    """A case made ready in a library and its difference from the reference, or NotHere."""
    try:
        work = peer.prepare(robot, case, arguments)
        found = _compared_states(work.result(work.run()))
    except NotHere:
        raise
    except Exception as e:  # a peer that breaks, as some do with others' newer versions, must not stop the rest
        raise NotHere(f"failed: {type(e).__name__}: {' '.join(str(e).split())[:200]}") from e
    if found.shape != reference.shape:
        raise NotHere(f"refused: its results have shape {found.shape}, not {reference.shape}")
    difference = float(np.abs(found - reference).max() / np.abs(reference).max())
    if not difference < TOLERANCE[case.dtype]:  # also where it is not a number
        raise NotHere(f"refused: its results differ by {difference:.0e}")
    return work, difference


def seconds_of(call: Callable[[], Any]) -> float:
    """Seconds of one call, over a turn."""
    return _seconds(call, _calls_in_a_turn(call))


def _interleaved(calls: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Median seconds of a call of each, taken in turns."""
    counts = {name: _calls_in_a_turn(call) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            call()  # the caches its neighbour filled
            times[name].append(_seconds(call, counts[name]))
    return {name: float(np.median(t)) for name, t in times.items()}


def _calls_in_a_turn(call: Callable[[], Any]) -> int:
    count = 1
    while (elapsed := _seconds(call, count) * count) < _TURN:
        count = max(2 * count, int(count * _TURN / max(elapsed, 1e-9)))
    return count


def _seconds(call: Callable[[], Any], count: int) -> float:
    """Of this process's own time, all its threads together: what others do on the machine does not count."""
    start = time.process_time()
    for _ in repeat(None, count):
        call()
    return (time.process_time() - start) / count
