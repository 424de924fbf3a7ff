"""What a study's engines make of a machine: runs a second of each, beside those of the bare kernel.

    python benchmarks/study_throughput.py [--runs 80000] [--rounds 2] [--workers N] [--engines local ray dask]
    python benchmarks/study_throughput.py --runs 1000000 --rounds 1 --engines local    # some four minutes on two cores
    python benchmarks/study_throughput.py --runs 1000000 --rounds 1 --device cuda --workers 1    # ten seconds on a card

A run is one second of the 7-joint arm, 1000 steps of RK4, from a drawn start and with a drawn payload. The bare kernel
is one call of the machine code that the study runs, threads and all, with inputs that are there already and results
that are forgotten. Kernel and engines take turns, and an engine's rate is compared with that of the calls of the kernel
before and after it. Chunks are those that a study of a million runs would have. "start" is the time until the first
worker begins, "rate" what is made from then on; processor time counts the processes that this one has started (not
Ray's), and the largest resident memory is that of one of them. With ``--device`` batches are made on a graphics card by
the local engine; what stands for the bare kernel is then one chunk's batch with what is kept of it, draws made before.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import linkwise as lw
from linkwise.bench.machine import machine
from linkwise.simulation import cards
from linkwise.study import engines
from linkwise.study.places import Place
from linkwise.study.study import Study

STEP, STEPS = 1e-3, 1000
ALL = 1_000_000  # runs, whose chunks are taken


def arm_study(runs: int, chunk: int | None = None, device: str | None = None) -> Study:
    robot = lw.load("panda")
    return Study(
        robot,
        lw.scenarios.simulate(duration=STEP * STEPS, step=STEP, payload_at="tcp"),
        parameters={"payload": lw.Uniform(0, 2), "q0": lw.Normal(robot.random_configuration(0), 0.1)},
        samples=runs,
        seed=1,
        keep=["q_end", "v_end", "speed_end.tcp"],
        chunk=chunk,
    ).on(device)


def bare_kernel(study: Study, threads: int) -> Any:
    """A call of the machine code for all runs of one study."""
    batches: Any = study.prepared.batches  # type: ignore[attr-defined]
    values = study.sampling.values(0, study.samples)
    q, v = batches.scenario.start(batches.targets, values, batches.robot, study.samples)
    task, stepper = batches.alike.of(batches.numbers(values, study.samples), True)
    w = task.start(q, v)
    inputs = {"q": q, "w": w, "h": np.array([STEP]), **task.parameters}
    loop = stepper.loop
    out = [np.empty((len(q), 1, x.shape[-1])) for x in (q, w)]
    assert stepper.turns == 1

    def call() -> tuple[float, float]:
        begun, used = time.monotonic(), processor_seconds()
        loop.run(inputs, STEPS, STEPS, threads, out)
        spent = time.monotonic() - begun
        return study.samples / spent, (processor_seconds() - used) / study.samples

    return call


def bare_batch(study: Study) -> Any:
    """A call that makes one batch of all runs of one study on its card."""
    values = study.sampling.values(0, study.samples)

    def call() -> tuple[float, float]:
        begun, used = time.monotonic(), processor_seconds()
        study.prepared.batch(values, study.device)
        return study.samples / (time.monotonic() - begun), (processor_seconds() - used) / study.samples

    return call


def processor_seconds() -> float:
    """Of this process and of those it has started and waited for."""
    mine, theirs = (resource.getrusage(x) for x in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime


def with_engine(engine: str, study: Study, workers: int) -> dict[str, float]:
    """One whole study in a folder that goes away."""
    with tempfile.TemporaryDirectory() as folder:
        place = Place.of(folder + "/study")
        told: list[tuple[float, Any]] = []
        begun, used = time.monotonic(), processor_seconds()
        place = study.begin(place)
        engines.run(
            engine, study, place, range(study.chunks), lambda x: told.append((time.monotonic(), x)), workers, None
        )
        end = told[-1][0]
        first = min(at - done.seconds for at, done in told)
        assert sum(done.statuses.get("done", 0) for _, done in told) == study.samples
        return {
            "start": first - begun,
            "rate": study.samples / (end - first),
            "whole": study.samples / (end - begun),
            "cpu": (processor_seconds() - used) / study.samples,
        }


def table(rows: dict[str, list[dict[str, float]]], kernel: list[tuple[float, float]]) -> str:
    rate, cpu = statistics.median(r for r, _ in kernel), min(c for _, c in kernel)
    lines = [
        "| | start [s] | runs a second | of the kernel's | with start | processor time a run [µs] | of the kernel's |",
        "|---|---|---|---|---|---|---|",
        f"| bare kernel | – | {rate:.0f} | 100 % | 100 % | {cpu * 1e6:.0f} | 100 % |",
    ]
    for name, found in rows.items():
        middle = {k: statistics.median(x[k] for x in found) for k in found[0]}
        counted = name != "ray"  # whose workers are no children of this process
        used = f"{middle['cpu'] * 1e6:.0f} | {cpu / middle['cpu']:.0%}" if counted else "– | –"
        lines.append(f"| {name} | {middle['start']:.1f} | {middle['rate']:.0f} | {middle['of_kernel']:.0%} |"
                     f" {middle['whole_of_kernel']:.0%} | {used} |")  # fmt: skip
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=80_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--workers", type=int, help="processes (default: those that a study chooses)")
    parser.add_argument("--engines", nargs="*", help="default: local ray dask; of a card local")
    parser.add_argument("--device", metavar="CARD", help="cuda, cuda:1, …: batches on a graphics card")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    device = arguments.device
    try:
        card = "" if device is None else f", {cards.card_at(device, 'float64').name}"
    except lw.InputError as e:
        parser.error(str(e))
    whole = arm_study(ALL, device=device)
    workers = arguments.workers or engines.processes(whole)
    chunk = min(whole.chunk, -(-arguments.runs // workers))
    study = arm_study(arguments.runs, chunk, device)
    call = (
        bare_kernel(arm_study(min(arguments.runs, 2 * whole.chunk)), workers)
        if device is None
        else bare_batch(arm_study(chunk, chunk, device))
    )
    call()  # compiled
    packages = {"ray": "ray", "dask": "distributed"}
    engines_asked = arguments.engines or (["local", "ray", "dask"] if device is None else ["local"])
    asked = [e for e in engines_asked if importlib.util.find_spec(packages.get(e, "linkwise"))]
    kernel, rows = [call()], {engine: [] for engine in asked}
    for _ in range(arguments.rounds):
        for engine in asked:
            found = with_engine(engine, study, workers)
            kernel.append(call())
            beside = (kernel[-1][0] + kernel[-2][0]) / 2
            found |= {"of_kernel": found["rate"] / beside, "whole_of_kernel": found["whole"] / beside}
            rows[engine].append(found)
            print(engine, {k: round(x, 6) for k, x in found.items()}, "kernel", *map("{:.0f}".format, kernel[-1][:1]))
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    print(f"{machine()}{card}; {workers} workers, {arguments.runs} runs in chunks of {chunk}\n")
    print(table(rows, kernel))
    print(f"\nlargest resident memory of a worker: {memory:.0f} MiB")
    if arguments.json:
        arguments.json.write_text(json.dumps({"kernel": kernel, **rows}, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
