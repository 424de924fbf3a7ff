"""Rollouts of the 7-joint arm beside ``mujoco.rollout``: RK4, the same steps and states, one core, contacts off.

    python benchmarks/rollout.py [--batch 4096] [--steps 50] [--rounds 7] [--json FILE]

Every state of every step is written out by both. Results are compared before anything is timed; the two take turns in
one process on one core, and the median of the rounds counts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import mujoco
import numpy as np
from mujoco import rollout

import linkwise as lw
from linkwise.bench.machine import machine, one_core
from linkwise.interop.mujoco import to_mujoco

STEP = 1e-3


def linkwise_runs(robot: lw.Robot, q: np.ndarray, v: np.ndarray, steps: int, method: str) -> Any:
    def run() -> lw.Trajectory:
        return lw.simulate(robot, q, v, steps=steps, step=STEP, method=method, threads=1, target="cpu")

    return run


def mujoco_runs(robot: lw.Robot, q: np.ndarray, v: np.ndarray, steps: int) -> Any:
    model = to_mujoco(mujoco, robot)
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, STEP
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data = mujoco.MjData(model)  # one: one thread
    states = np.concatenate([np.zeros((len(q), 1)), q, v], axis=1)
    states = np.ascontiguousarray(states)

    def run() -> np.ndarray:
        return rollout.rollout(model, data, states, nstep=steps)[0]

    return run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with one_core():
        return measure(arguments)


def measure(arguments: argparse.Namespace) -> int:
    """Compare, then time, then print."""
    robot = lw.load("panda")
    rng = np.random.default_rng(0)
    q, v = robot.random_configuration(rng, arguments.batch), rng.normal(size=(arguments.batch, 7))
    work = {
        "mujoco.rollout, RK4": mujoco_runs(robot, q, v, arguments.steps),
        "linkwise, rk4": linkwise_runs(robot, q, v, arguments.steps, "runge_kutta_4"),
        "linkwise, variational": linkwise_runs(robot, q, v, arguments.steps, "variational"),
        "linkwise, semi_implicit": linkwise_runs(robot, q, v, arguments.steps, "semi_implicit_euler"),
    }
    here, there = work["linkwise, rk4"](), work["mujoco.rollout, RK4"]()
    error = max(np.abs(here.q[:, 1:] - there[:, :, 1:8]).max(), np.abs(here.v[:, 1:] - there[:, :, 8:]).max())
    print(f"{arguments.batch} states, {arguments.steps} steps: largest difference of any state at any step {error:.1e}")
    if not error < 1e-10:
        print("the two differ: nothing is timed")
        return 1

    spent: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(arguments.rounds):
        for name, run in work.items():
            start = time.process_time()
            run()
            spent[name].append((time.process_time() - start) / arguments.batch / arguments.steps)
    medians = {name: statistics.median(x) for name, x in spent.items()}
    slowest = medians["mujoco.rollout, RK4"]
    for name, seconds in medians.items():
        print(f"{name:<24} {1e9 * seconds:8.0f} ns per state and step   {slowest / seconds:6.1f} ×")
    if arguments.json:
        found = {
            "machine": machine(["linkwise", "mujoco", "numpy"]),
            "difference": float(error),
            "seconds": medians,
            "rounds": spent,
        }
        arguments.json.write_text(json.dumps(found | {"batch": arguments.batch, "steps": arguments.steps}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
