"""What JAX traces itself (target="jax"): body after body, and loops over bodies (rolled=True).

    python benchmarks/traced_by_jax.py               until JAX has compiled it, then a state alone and in a batch of 100
    python benchmarks/traced_by_jax.py --long        long chains too, as loops alone
    python benchmarks/traced_by_jax.py --matrices    a humanoid's linearised models alone, in both forms

All is processor time on one core, the least of several runs; forward dynamics comes with its gradient in the forces.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from itertools import product
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import jax
import numpy as np

import linkwise as lw

BOTH = ("panda", "quadruped", "humanoid", "chain 30")
LONG = (("chain 100", "forward_dynamics"), ("chain 300", "forward_dynamics"), ("chain 30", "linearize_forward"),
        ("chain 100", "linearize_forward"), ("chain 300", "linearize_forward"))  # fmt: skip

MATRICES = ("linearize_inverse", "linearize_forward")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--matrices", action="store_true")
    asked = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    print("| traced by JAX | compiled | a state | of 100 | its gradient | of 100 |\n|---|---|---|---|---|---|")
    for function, rolled in product(MATRICES if asked.matrices else (), (False, True)):
        kernel = _robot("humanoid").compile(function, target="jax", rolled=rolled)
        cells = " | ".join(_timed("humanoid", kernel))
        print(f"| humanoid, {function}, {'loops' if rolled else 'body after body'} | {cells} | | |", flush=True)
    for name in () if asked.matrices else BOTH:
        for rolled in (False, True):
            kernel = _robot(name).compile("forward_dynamics", target="jax", rolled=rolled)
            gradient = jax.grad(lambda q, v, tau, f=kernel: f(q, v, tau).sum(), argnums=2)
            cells = [*_timed(name, kernel), *_timed(name, gradient)[1:]]
            print(f"| {name}, {'loops' if rolled else 'body after body'} | {' | '.join(cells)} |", flush=True)
    for name, function in LONG if asked.long else ():
        kernel = _robot(name).compile(function, target="jax", rolled=True)
        print(f"| {name}, {function}, loops | {' | '.join(_timed(name, kernel))} | | |", flush=True)


def _robot(name: str) -> Any:
    return lw.chain(int(name.split()[1]), seed=1) if name.startswith("chain") else lw.load(name)


def _timed(name: str, function: Callable[..., Any]) -> list[str]:
    """Seconds until it is compiled, for 100 states; µs a state alone, and in 100."""
    robot, rng = _robot(name), np.random.default_rng(1)
    call = jax.jit(lambda *x: function(*x))

    def states(n: int) -> list[Any]:
        return [jax.numpy.asarray(x) for x in (robot.random_configuration(rng, n), *rng.normal(size=(2, n, robot.nv)))]

    begun = time.process_time()
    jax.block_until_ready(call(*states(100)))
    cells = [f"{time.process_time() - begun:.1f} s"]
    for n, calls in ((1, 100), (100, 5)):
        x = states(n)
        jax.block_until_ready(call(*x))
        best = min(_run(call, x, calls) for _ in range(7))
        cells.append(f"{1e6 * best / calls / n:.3g} µs")
    return cells


def _run(call: Callable[..., Any], x: list[Any], calls: int) -> float:
    begun = time.process_time()
    for _ in range(calls):
        jax.block_until_ready(call(*x))
    return time.process_time() - begun


if __name__ == "__main__":
    main()
