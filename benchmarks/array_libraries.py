"""Forward dynamics on the CPU by every way to call it: the bare kernel, NumPy, PyTorch and JAX, on one thread.

    python benchmarks/array_libraries.py               the arm and the humanoid, one state, 4,096 and 100,000
    python benchmarks/array_libraries.py --gradients   gradients in configuration, velocity and forces too
    python benchmarks/array_libraries.py --nothing     what the libraries take for next to nothing

Microseconds of processor time, in brackets how many times as long as NumPy takes. The ways take turns of a millisecond,
or of a call where that is longer, and of all rounds the least counts.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import jax
import jax.numpy as jnp
import numpy as np
import torch

import linkwise as lw

STATES = (1, 4096, 100_000)
TURN, ALL = 0.001, 4.0  # seconds of processor time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gradients", action="store_true")
    parser.add_argument("--nothing", action="store_true")
    asked = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    torch.set_num_threads(1)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if asked.nothing:
        for name, best in _least(_next_to_nothing()).items():
            print(f"{name}: {1e6 * best:.2f} µs")
        return
    for robot in ("panda", "humanoid"):
        for states in STATES:
            ways = _gradients(robot, states) if asked.gradients else _ways(robot, states)
            best = _least(ways)
            cells = [f"{name} {1e6 * t:,.2f} ({t / best['NumPy']:.2f})" for name, t in best.items()]
            print(f"{robot}, {states} states: " + ", ".join(cells), flush=True)


def _states(robot: Any, states: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [
        np.ascontiguousarray(robot.random_configuration(rng, batch=states)),
        *rng.normal(size=(2, states, robot.nv)),
    ]


def _ways(name: str, states: int) -> dict[str, Callable[[], Any]]:
    robot = lw.load(name)
    x = _states(robot, states)
    kernel, out = robot.compile("forward_dynamics"), np.empty((states, robot.nv))
    tensors, arrays = [torch.from_numpy(a) for a in x], [jnp.array(a) for a in x]
    jitted = jax.jit(lambda *x: robot.forward_dynamics(*x))
    return {
        "the kernel alone": kernel.bind(*x, out=out),
        "NumPy": lambda: robot.forward_dynamics(*x),
        "PyTorch": lambda: robot.forward_dynamics(*tensors),
        "PyTorch, a kernel": lambda: kernel(*tensors),
        "jax.jit": lambda: jitted(*arrays).block_until_ready(),
        "JAX": lambda: robot.forward_dynamics(*arrays).block_until_ready(),
        "JAX, a kernel": lambda: kernel(*arrays).block_until_ready(),
    }


def _gradients(name: str, states: int) -> dict[str, Callable[[], Any]]:
    robot = lw.load(name)
    x = _states(robot, states)
    ones = np.ones((states, robot.nv))
    tensors, arrays = [torch.from_numpy(a).requires_grad_() for a in x], [jnp.array(a) for a in x]
    slopes = jax.jit(jax.grad(lambda *x: robot.forward_dynamics(*x).sum(), (0, 1, 2)))

    def by_torch() -> Any:
        return torch.autograd.grad(robot.forward_dynamics(*tensors).sum(), tensors)

    return {
        "NumPy": lambda: robot.forward_dynamics_vjp(*x, ones),
        "PyTorch": by_torch,
        "jax.jit": lambda: jax.block_until_ready(slopes(*arrays)),
    }


def _next_to_nothing() -> dict[str, Callable[[], Any]]:
    @torch.library.custom_op("linkwise_bench::same", mutates_args=())
    def same(x: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(x)

    tensor, array = torch.zeros(1, 7, dtype=torch.float64), jnp.zeros((1, 7))
    added = jax.jit(lambda q: q + 1)
    return {
        "torch.add": lambda: torch.add(tensor, tensor),
        "a custom operator of PyTorch's": lambda: same(tensor),
        "to NumPy's arrays, three of them, and back": lambda: [
            torch.from_numpy(a) for a in [t.numpy() for t in (tensor,) * 3][:1]
        ],
        "an addition within jax.jit": lambda: added(array).block_until_ready(),
    }


def _least(ways: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The least time of each way for one call."""
    counts = {}
    for name, run in ways.items():
        run()
        run()
        begun = time.process_time()
        run()
        counts[name] = max(1, int(TURN / max(time.process_time() - begun, 1e-7)))
    best, end = dict.fromkeys(ways, float("inf")), time.process_time() + ALL
    while time.process_time() < end:
        for name, run in ways.items():
            begun = time.process_time()
            for _ in range(counts[name]):
                run()
            best[name] = min(best[name], (time.process_time() - begun) / counts[name])
    return best


if __name__ == "__main__":
    main()
