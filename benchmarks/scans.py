"""Forward dynamics by scan beside sweeps: from which length on does it win, and where?

    python benchmarks/scans.py --lengths 8 16 32 64 --sweep-to 32      on the device that JAX finds
    python benchmarks/scans.py --lengths 100 1000 --code               beside machine code on one core

Chains of revolute links in ``--batch`` states, in double precision. Times are of whole calls on arrays that are on the
device, the median of ``--rounds``; the sweep in JAX is one long program, which takes a minute and more to compile from
some fifty links on. Before anything is timed the scan is compared with the NumPy sweep.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import linkwise as lw
from linkwise.dynamics.scan.solve import levels_of


def seconds(call: Callable[[], Any], rounds: int) -> float:
    """The median time of a call."""
    call()
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def state(robot: Any, batch: int) -> list[np.ndarray]:
    """States in which no chain is faster than its links."""
    rng = np.random.default_rng(0)
    shape = (batch, robot.nv) if batch > 1 else (robot.nv,)
    return [rng.normal(size=shape), rng.normal(size=shape) / robot.nv, rng.normal(size=shape)]


def measured(n: int, options: argparse.Namespace) -> dict[str, float]:
    """Times of one length [s], and how far the scan is from the sweep."""
    import jax

    robot = lw.chain(n, seed=1)
    given = state(robot, options.batch)
    found = {"links": n, "levels": len(levels_of(robot))}
    arrays = [jax.device_put(x) for x in given]
    methods = ["scan", "articulated_body"] if n <= options.sweep_to else ["scan"]
    for method in methods:
        run = jax.jit(lambda *x, m=method: robot.forward_dynamics(*x, method=m))
        start = time.perf_counter()
        result = run(*arrays).block_until_ready()
        found[f"compile {method}"] = time.perf_counter() - start
        found[method] = seconds(lambda f=run: f(*arrays).block_until_ready(), options.rounds)
        if method == "scan" and n <= options.compare_to:
            sweep = robot.forward_dynamics(*given, target="numpy")
            found["error"] = float(np.abs(np.asarray(result) - sweep).max() / np.abs(sweep).max())
    if options.code:
        kernel = robot.compile("forward_dynamics")
        found["code"] = seconds(lambda: kernel(*given, threads=1), options.rounds)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=[8, 16, 32, 64, 256])
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--sweep-to", type=int, default=16, help="the longest chain that is also swept in JAX")
    parser.add_argument("--compare-to", type=int, default=1000, help="the longest chain that is compared first")
    parser.add_argument("--code", action="store_true", help="beside machine code on one core of this machine")
    options = parser.parse_args()
    import jax

    jax.config.update("jax_enable_x64", True)
    print(jax.devices()[0], "batch", options.batch, flush=True)
    for n in options.lengths:
        print({k: float(f"{x:.3g}") for k, x in measured(n, options).items()}, flush=True)


if __name__ == "__main__":
    main()
