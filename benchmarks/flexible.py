"""Flexible chains beside a dense modal solve in compiled C++: python benchmarks/flexible.py [--links 10] [--modes 4]

Ten links with four modes each (two bending planes), forward dynamics, batch 4096, float64, one core, in one run. The
other side (flexible_dense.cpp) is the usual way: mass matrix by composite modal bodies, bias by Newton–Euler sweeps,
Cholesky's factors of (50, 50), written out for this chain with its constants known to the compiler; -O3 -march=native,
and with -ffast-math too. Results are compared first. Then operations per link by the number of modes, and times of long
chains on NumPy.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import linkwise as lw
from linkwise.bench import native

HERE = Path(__file__).parent
BATCH, ROUNDS = 4096, 15
FLAGS = ["-O3", "-march=native", "-fPIC", "-shared"]
FREELY = [*FLAGS, "-ffast-math"]  # sums in any order, so that dot products are vectors


def chain(links: int, modes: int) -> lw.Robot:
    """Alike beams on hinges about y and z in turn, each on the tip of the one before."""
    beam = lw.Flexible.beam(length=1.0, mass=1.2, stiffness=90.0, modes=modes)
    bodies = []
    for i in range(links):
        joint = lw.Joint(lw.Revolute("zy"[(i + 1) % 2]), at=(1.0 if i else 0.0, 0, 0))
        bodies.append(lw.Body(f"link{i}", joint, beam, f"link{i - 1}" if i else None))
    return lw.assemble(f"chain of {links}", bodies)


def dense_solver(
    links: int, modes: int, flags: list[str]
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """The dense solve of the same chain, compiled."""
    beam = lw.Flexible.beam(length=1.0, mass=1.2, stiffness=90.0, modes=modes)
    found, tip = beam.integrals(), beam.node("tip")
    constants = {
        "H0": found["h0"],
        "J0": found["J0"].ravel(),
        "H": found["h"],
        "C": found["c"],
        "D": found["d"],
        "N": found["N"].reshape(modes, 9),
        "NN": found["NN"].reshape(modes, modes, 9),
        "MFF": found["M"],
        "K": beam.stiffness,
        "AT": tip.at,
        "PHI": tip.shape,
        "TURN": tip.turn,
        "GRAVITY": np.array([0, 0, -9.81]),
    }
    text = f"constexpr int LINKS = {links}, MODES = {modes};\nconstexpr double MASS = {beam.mass!r};\n"
    for name, x in constants.items():
        sizes = "".join(f"[{k}]" for k in x.shape)
        text += f"constexpr double {name}{sizes} = {_braces(np.where(np.abs(x) < 1e-13, 0.0, x))};\n"
    source = text + (HERE / "flexible_dense.cpp").read_text(encoding="utf-8")
    library = ctypes.CDLL(str(native.build(os.environ.get("CXX", "g++"), source, flags)))
    pointer = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
    library.forward_dynamics.argtypes = [pointer] * 4 + [ctypes.c_long]

    def run(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        out = np.empty_like(tau)
        library.forward_dynamics(q, v, tau, out, len(q))
        return out

    return run


def _braces(x: np.ndarray) -> str:
    return repr(float(x)) if x.ndim == 0 else "{" + ", ".join(_braces(y) for y in x) + "}"


def beside_dense(links: int, modes: int) -> None:
    """Both ways on the same states, compared and timed in turns, in processor time."""
    robot = chain(links, modes)
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, (BATCH,))
    v, tau = rng.normal(size=(2, BATCH, robot.nv))
    kernel = robot.compile("forward_dynamics")
    dense, freely = (dense_solver(links, modes, flags) for flags in (FLAGS, FREELY))
    expected = robot.forward_dynamics(q[:8], v[:8], tau[:8], target="numpy")
    runs: dict[str, Callable[[], np.ndarray]] = {
        "kernel": lambda: kernel(q, v, tau, threads=1),
        "dense C++": lambda: dense(q, v, tau),
        "the same with -ffast-math": lambda: freely(q, v, tau),
    }
    found = {name: run() for name, run in runs.items()}
    for name, a in found.items():
        worst = np.abs(a[:8] - expected).max() / np.abs(expected).max()
        print(f"{name}: differs from NumPy's sweeps by {worst:.0e}")
        assert worst < 1e-8
        assert np.abs(a - found["kernel"]).max() < 1e-7 * np.abs(a).max()
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = time.process_time()
            run()
            times[name].append(time.process_time() - start)
    took = {name: 1e9 * float(np.median(x)) / BATCH for name, x in times.items()}
    print(f"{robot.name} links, {modes} modes each, nv = {robot.nv}; {kernel.operations.total} operations")
    for name, x in took.items():
        print(f"{name}: {x:.0f} ns a state, {x / took['kernel']:.1f}×")


def operations_by_modes() -> None:
    """Operations of two more links, about y and about z, halved: the same wherever they are put on."""
    print("modes | operations per link")
    for modes in (1, 2, 4, 8):
        counts = [chain(n, modes).compile("forward_dynamics").operations.total for n in (4, 6, 8)]
        assert counts[2] - counts[1] == counts[1] - counts[0]
        print(f"{modes:5d} | {(counts[2] - counts[1]) / 2:.0f}")


def long_chains() -> None:
    print("links | ms on NumPy, per link")
    for links in (10, 100, 1000):
        robot = chain(links, 4)
        q, v = robot.neutral(), np.zeros(robot.nv)
        start = time.process_time()
        a = robot.forward_dynamics(q, v, v, target="numpy")
        took = time.process_time() - start
        left = robot.inverse_dynamics(q, v, a, target="numpy")
        print(f"{links:5d} | {1e3 * took / links:.2f}; inverse of forward leaves {np.abs(left).max():.0e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--links", type=int, default=10)
    parser.add_argument("--modes", type=int, default=4)
    given = parser.parse_args()
    beside_dense(given.links, given.modes)
    operations_by_modes()
    long_chains()
