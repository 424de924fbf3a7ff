"""How long the first call takes: python benchmarks/first_call.py [ROBOT]

Import, first call with an empty cache, first call of a new process that finds its code on disk [ms].
"""

import subprocess
import sys
import tempfile

TIMED = """
import sys, time
start = time.perf_counter()
import linkwise as lw
imported = time.perf_counter()
robot = lw.load(sys.argv[1])
import numpy as np
q, x = robot.neutral(), np.zeros(robot.nv)
loaded = time.perf_counter()
robot.forward_dynamics(q, x, x)
print(1e3 * (imported - start), 1e3 * (time.perf_counter() - loaded))
"""


def measured(robot: str, cache: str) -> tuple[float, float]:
    """(import, first forward dynamics) of a new process [ms]."""
    run = subprocess.run(
        [sys.executable, "-c", TIMED, robot], env={"LINKWISE_CACHE": cache}, capture_output=True, text=True, check=True
    )
    imported, first = map(float, run.stdout.split())
    return imported, first


if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else "panda"
    with tempfile.TemporaryDirectory() as cache:
        _, cold = measured(name, cache)
        warm = [measured(name, cache) for _ in range(5)]
    print(f"{name}: import {min(w[0] for w in warm):.0f} ms, first call {cold:.0f} ms,", end=" ")
    print(f"from disk {min(w[1] for w in warm):.0f} ms")
