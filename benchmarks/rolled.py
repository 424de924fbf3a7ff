"""Matrices as loops over bodies beside straight-line code: time, operations and how long the first call takes.

    python benchmarks/rolled.py [--links 7 10 14 20] [--batch 1024] [--rounds 15]

Chains of general geometry (``lw.chain(n, seed=0)``). Results are compared first; the two take turns on one core, and
the median of the processor time counts. Kernels on disk make first calls shorter: LINKWISE_CACHE=off leaves them out.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np

import linkwise as lw
from linkwise.bench.machine import one_core
from linkwise.codegen.facts import catalogue


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--links", type=int, nargs="+", default=[7, 10, 14, 20])
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=15)
    asked = parser.parse_args()
    one_core()
    print(f"{'links':>5}  {'function':<20}{'straight line':>26}{'loops':>26}   ns per state, operations, first call")
    for n in asked.links:
        for name in (name for name, facts in catalogue(lw.Robot).items() if facts.per_pair):
            compare(lw.chain(n, seed=0), name, asked)


def compare(robot: Any, name: str, asked: argparse.Namespace) -> None:
    made = [made_kernel(robot, name, rolled, asked.batch) for rolled in (False, True)]
    for x, y in zip(*(outputs for *_, outputs in made)):
        assert np.abs(x - y).max() <= 1e-9 * np.abs(x).max()
    times: list[list[float]] = [[], []]
    for _ in range(asked.rounds):
        for i, (kernel, _, states, outputs) in enumerate(made):
            begun = time.process_time()
            kernel(*states, out=outputs[0] if kernel.signature.single else outputs, threads=1)
            times[i].append(time.process_time() - begun)
    cells = [
        f"{1e9 * statistics.median(t) / asked.batch:10.0f}{kernel.operations.total:9d}{first:6.1f}s"
        for t, (kernel, first, *_) in zip(times, made)
    ]
    print(f"{robot.nv:5d}  {name:<20}{cells[0]}{cells[1]}")


def made_kernel(robot: Any, name: str, rolled: bool, batch: int) -> tuple[Any, ...]:
    """(kernel, seconds until it first answered, its states, its outputs)."""
    begun = time.perf_counter()
    kernel = robot.compile(name, rolled=rolled)
    states = [np.random.default_rng(i).normal(size=(batch, n)) for i, n in enumerate(kernel.signature.inputs.values())]
    found = kernel(*states)
    first = time.perf_counter() - begun
    return kernel, first, states, (found,) if isinstance(found, np.ndarray) else tuple(found)


if __name__ == "__main__":
    main()
