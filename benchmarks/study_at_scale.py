"""A study on a thousand machines, simulated: how busy driver and workers are, by how long a chunk takes.

    python benchmarks/study_at_scale.py [--nodes 1000] [--cores 32] [--picture docs/pictures/studies_at_scale.png]

One driver hands out chunks and hears of their ends, one after another; each worker has up to four waiting, as the
engines for clusters keep it. Chunks take a time that scatters by a fifth. What the driver takes for one chunk is a
parameter: that of the scheduler, beside what linkwise does itself, which is measured here, as are the bytes of a run in
a table and what the list of chunks and the names of their files take in memory.
"""

from __future__ import annotations

import argparse
import heapq
import sys
import tempfile
import time
import tracemalloc
from collections import deque
from pathlib import Path

import numpy as np

import linkwise as lw
from linkwise.study.chunks import Summary
from linkwise.study.clusters import _AHEAD
from linkwise.study.places import Place
from linkwise.study.progress import StudyProgress

HANDLED = (0.0002, 0.001, 0.005)  # [s] of the driver for one chunk
LENGTHS = (2.0, 5.0, 10.0, 30.0, 60.0, 180.0)  # [s] of a chunk
ROUNDS = 6  # chunks of each worker


def simulated(workers: int, length: float, handled: float, seed: int = 0) -> tuple[float, float]:
    """(share of the time that workers work, that the driver does) of a study of some rounds of chunks."""
    rng = np.random.default_rng(seed)
    todo = workers * ROUNDS
    takes = iter(length * rng.lognormal(-0.02, 0.2, size=todo))
    waiting, idle = [0] * workers, [True] * workers
    asks = deque((0.0, i) for _ in range(_AHEAD) for i in range(workers))  # (since when, which worker) wants a chunk
    ends: list[tuple[float, int]] = []  # of chunks that are being made
    driver, busy, worked, handed = 0.0, 0.0, 0.0, 0

    def begin(worker: int, now: float) -> None:
        nonlocal worked
        spent = next(takes)
        worked += spent
        idle[worker] = False
        heapq.heappush(ends, (now + spent, worker))

    last = 0.0
    while ends or handed < todo:
        turn = max(driver, asks[0][0]) if asks and handed < todo else np.inf
        if ends and ends[0][0] <= turn:
            last, worker = heapq.heappop(ends)
            asks.append((last, worker))
            if waiting[worker]:
                waiting[worker] -= 1
                begin(worker, last)
            else:
                idle[worker] = True
            continue
        _, worker = asks.popleft()
        driver, busy, handed = turn + handled, busy + handled, handed + 1
        if idle[worker]:
            begin(worker, driver)
        else:
            waiting[worker] += 1
    return worked / (workers * last), busy / last


def measured() -> dict[str, float]:
    """What linkwise takes itself: [s] for the end of a chunk, bytes of a run on disk, bytes in memory for a chunk."""
    robot = lw.load("double_pendulum")
    scenario = lw.scenarios.simulate(duration=0.05, step=0.005)
    drawn = {"mass.lower": lw.Uniform(1, 2), "q0": lw.Normal([0.1, 0.2], 0.1)}
    study = lw.Study(robot, scenario, drawn, 8192, keep=["speed_max", "energy_error"], chunk=4096)
    with tempfile.TemporaryDirectory() as folder:
        study.run(folder, engine="serial", progress=False)
        tables = [p.stat().st_size for p in Path(folder, "runs").rglob("*.parquet")]
        shown = StudyProgress(study, Place(folder), [0, 1], False)
    done = Summary(0, 4096, {"done": 4096}, {"speed_max": (4096, 1.0, 1.0), "energy_error": (4096, 1.0, 1.0)})
    begun = time.perf_counter()
    for _ in range(10_000):
        shown(done)
    heard = (time.perf_counter() - begun) / 10_000
    tracemalloc.start()
    names = {c: f"runs/{c // 1000:06d}/{c:09d}-0123456789abcdef.parquet" for c in range(100_000)}
    _ = [c for c in range(200_000) if c not in names]
    held = tracemalloc.get_traced_memory()[0] / 1e5
    tracemalloc.stop()
    return {"seconds to hear of a chunk": heard, "bytes of a run": sum(tables) / 8192, "bytes of a chunk": held}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--cores", type=int, default=32)
    parser.add_argument("--picture")
    given = parser.parse_args()
    workers = given.nodes * given.cores
    for name, x in measured().items():
        print(f"{name}: {x:.3g}")
    found = {h: [simulated(workers, x, h) for x in LENGTHS] for h in HANDLED}
    print("| a chunk takes | " + " | ".join(f"driver {1e3 * h:g} ms a chunk" for h in HANDLED) + " |")
    print("|---|" + "---|" * len(HANDLED))
    for i, length in enumerate(LENGTHS):
        cells = [f"{100 * found[h][i][0]:.0f} % ({100 * found[h][i][1]:.0f} %)" for h in HANDLED]
        print(f"| {length:g} s | {' | '.join(cells)} |")
        sys.stdout.flush()
    if given.picture:
        drawn(found, workers).savefig(given.picture, dpi=120)


def drawn(found: dict[float, list[tuple[float, float]]], workers: int) -> object:
    from linkwise.view.style import LIGHT, new_figure, plain

    said = "one driver, four chunks waiting at each worker; chunks' times scatter by a fifth"
    figure = new_figure(9.0, 3.6, f"{workers:,} workers: who has time to spare", said)
    axes = figure.subplots(1, 2, sharex=True)
    for i, (handled, points) in enumerate(found.items()):
        for ax, which in zip(axes, (0, 1)):
            values = [100 * p[which] for p in points]
            ax.plot(LENGTHS, values, "o-", color=LIGHT.colours[i], label=f"{1e3 * handled:g} ms a chunk")
    for ax, title in zip(axes, ("workers work [% of the time]", "the driver works [% of the time]")):
        plain(ax, title, "", "a chunk takes [s]")
        ax.set_xscale("log")
        ax.set_xticks(LENGTHS, [f"{x:g}" for x in LENGTHS])
        ax.minorticks_off()
        ax.set_ylim(0, 105)
    lw.plots.legend(axes[0], fontsize=8.5)
    return figure


if __name__ == "__main__":
    main()
