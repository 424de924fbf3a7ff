"""Closed robots beside Pinocchio's constraintDynamics and lcaba, in a C++ loop: python benchmarks/closed_chains.py

Two arms welded at their hands, a quadruped on four pinned feet, a humanoid on two welded feet; batch 4096, float64, one
core, in one run, in processor time; accelerations and derivatives are compared first. CXX chooses the compiler of
Pinocchio's side (the newest clang, which is the quickest, where it is there). Then chains of four-bars, cut and
embedded: operations and time for each. Some four minutes the first time, half of it compilers'. --write puts the tables
into README.md.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from pages import print_or_write

import linkwise as lw
from linkwise.bench import native
from linkwise.bench.machine import one_core
from linkwise.bench.peers import pinocchio_native as peer
from linkwise.interop.layout import depth_first
from linkwise.interop.pinocchio import layout

HERE = Path(__file__).parent
BATCH = 4096
Matrices = Sequence[np.ndarray]  # by τ, by v, by q
MARKS = ("<!-- closed chains -->", "<!-- end closed chains -->")
TITLES = {"forward_dynamics": "forward", "linearize_forward": "linearised forward"}
SIZES = {"weld": 6, "spherical": 3}
LCABA = (1e-9, 1e-5, 2)  # accuracy, mu (its hint is 1e-6), steps: the quickest that agree to 1e-8


def two_arms() -> tuple[lw.Robot, np.ndarray]:
    """Two pandas face to face, hand welded to hand."""
    arm = lw.load("panda")
    bent = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 2.0, 0.8])
    both = arm.attach(arm, "world", prefix="second_", at=(1.1, 0, 0), rpy=(0, 0, np.pi))
    q = np.concatenate([bent, bent])
    hands = [both.pose(q, f"{prefix}{arm.tips[0]}") for prefix in ("", "second_")]
    (R, p), (S, s) = hands
    at = S.T @ (p - s)
    body = both.bodies[both.frame(f"second_{arm.tips[0]}")[0]]
    _, tip = both.frame(f"second_{arm.tips[0]}")
    grip = lw.Frame("grip", body.name, at=tip.l + tip.R @ at, rotation=tip.R @ S.T @ R)
    return both.close(lw.Loop(arm.tips[0], grip, "weld")), q


def on_its_feet(name: str, kind: str) -> tuple[lw.Robot, np.ndarray]:
    """A floating robot whose feet are held where they are, joints half bent."""
    robot = lw.load(name)
    feet = [tip for tip in robot.tips if "foot" in tip or "sole" in tip]
    q = robot.neutral()
    for joint, where in zip(robot.joints, robot.q_slices):
        if joint.kind.nv == 1 and ("knee" in joint.name or "calf" in joint.name or "thigh" in joint.name):
            q[where] = -1.2 if "calf" in joint.name else 0.6
    loops = []
    for foot in feet:
        R, p = robot.pose(q, foot)
        loops.append(lw.Loop(foot, lw.Frame(f"ground_{foot}", None, at=p, rotation=R), kind))
    return robot.close(*loops), q


CASES: dict[str, Callable[[], tuple[lw.Robot, np.ndarray]]] = {
    "two arms welded at the hands": two_arms,
    "quadruped on four pinned feet": lambda: on_its_feet("quadruped", "spherical"),
    "humanoid on two welded feet": lambda: on_its_feet("humanoid", "weld"),
}


def states(robot: lw.Robot, q: np.ndarray, count: int) -> list[np.ndarray]:
    """Closed states next to q."""
    rng = np.random.default_rng(0)
    few = min(count, 64)
    at = np.broadcast_to(q, (few, robot.nq))
    at = robot.closed_configuration(
        robot.integrate(at, robot.closed_velocity(at, 0.05 * rng.normal(size=(few, robot.nv))))
    )
    at = np.tile(at, (count // few, 1))
    v = robot.closed_velocity(at, rng.normal(size=(count, robot.nv)))
    return [at, v, rng.normal(size=(count, robot.nv))]


def loops_text(robot: lw.Robot) -> str:
    place = {k: i + 1 for i, k in enumerate(depth_first(robot))}
    lines = [str(len(robot.loops))]
    for loop in robot.loops:
        ends = [robot.frame(f) for f in (loop.frame_a, loop.frame_b)]
        ends.sort(key=lambda end: end[0] < 0)  # its derivatives take the world second
        parts = [f"{place.get(body, 0)} {peer.as_text(pose.R)} {peer.as_text(pose.l)}" for body, pose in ends]
        lines.append(f"{SIZES[loop.kind]} {' '.join(parts)}")
    return "\n".join(lines) + "\n"


def pinocchio(robot: lw.Robot, function: str, inputs: list[np.ndarray]) -> tuple[Callable[[], None], np.ndarray]:
    """(a call over all states, where it leaves its results)."""
    include, casadi = peer.headers()
    compiler = os.environ.get("CXX") or next(c for c in (*native.compilers("C++"), "g++") if shutil.which(c))
    source = peer.with_reader(HERE / "pinocchio_loops.cpp")
    flags = [*native.FAST, "-std=c++17", "-DNDEBUG", "-fvisibility=hidden", *peer.DEFINES]
    flags += [f"-I{include}", f"-I{casadi / 'include' / 'eigen3'}", "-Wno-deprecated-declarations"]
    library = ctypes.CDLL(str(native.build(compiler, source, flags)))
    library.make_robot.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(library.make_robot((peer.model_text(robot) + loops_text(robot)).encode()))
    library.set_lcaba(handle, *(f(x) for f, x in zip((ctypes.c_double, ctypes.c_double, ctypes.c_int), LCABA)))
    inputs = [np.ascontiguousarray(x) for x in inputs]
    shape = (robot.nv,) if function.startswith("forward_dynamics") else (3, robot.nv, robot.nv)
    out = np.zeros((len(inputs[0]), *shape))
    where = [x.ctypes.data_as(ctypes.c_void_p) for x in (*inputs, out)]
    call = getattr(library, function)
    return lambda: call(handle, ctypes.c_long(len(inputs[0])), *where), out


def best(call: Callable[[], object], seconds: float = 1.0) -> float:
    """The quickest of several calls, in processor time [s], so that other programs on the machine do not count."""
    call()
    taken, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(taken) < 3:
        begun = time.process_time()
        call()
        taken.append(time.process_time() - begun)
    return min(taken)


def beside(name: str, function: str) -> str:
    """One line of the table; results are compared first. All but the default call write into arrays that are there."""
    robot, q = CASES[name]()
    x = [np.ascontiguousarray(y) for y in states(robot, q, BATCH)]
    own = layout(robot)
    call, out = pinocchio(robot, function, own.arguments("forward_dynamics", x))
    kernel = robot.compile(function)
    found = kernel(*x)
    call()
    if function == "forward_dynamics":
        off = difference(found, own.result(function, x, out))
    else:
        expected = own.linearized(*np.moveaxis(np.swapaxes(out, -1, -2), 1, 0))
        off = differ_along_closed_motions(robot, x, found, np.split(np.asarray(expected), 3, axis=-2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.SlowPathWarning)  # the figure says it
        default = best(lambda: getattr(robot, function)(*x))
    seconds = [best(lambda: kernel(*x, out=found, threads=1)), default, best(call)]
    ours, default, theirs = (1e9 * t / BATCH for t in seconds)
    line = f"| {name}, {TITLES[function]} | {ours:,.0f} | {default:,.0f} | {theirs:,.0f} ({off:.0e}) |"
    if function != "forward_dynamics":
        return f"{line} – | {theirs / ours:.1f} |"
    other, away = lcaba(robot, x, np.array(found))
    better = min(theirs, other) if away < 1e-6 else theirs  # answers that differ are worth no comparison
    return f"{line} {other:,.0f} ({away:.0e}) | {better / ours:.1f} |"


def lcaba(robot: lw.Robot, x: list[np.ndarray], found: np.ndarray) -> tuple[float, float]:
    """(ns a state, how far off) of Pinocchio's other forward dynamics of closed robots."""
    own = layout(robot)
    call, out = pinocchio(robot, "forward_dynamics_lcaba", own.arguments("forward_dynamics", x))
    call()
    return 1e9 * best(call) / len(x[0]), difference(found, own.result("forward_dynamics", x, out))


def differ_along_closed_motions(robot: lw.Robot, x: list[np.ndarray], found: Matrices, expected: Matrices) -> float:
    """How far two linearised models are apart for changes of the state that keep the loops closed.

    Off these, accelerations of a robot whose loops are open or opening are a matter of definition, and differ.
    """
    q, v, _ = x
    Z, step = robot.loop_projector(q), 1e-5
    across = (Z @ np.random.default_rng(1).normal(size=(robot.nv, 1)))[..., 0]

    def closed(t: float) -> np.ndarray:
        return robot.closed_velocity(robot.integrate(q, t * across), v)

    turning = (8 * (closed(step) - closed(-step)) - (closed(2 * step) - closed(-2 * step))) / (12 * step)
    along = [(by_q @ across[..., None] + by_v @ turning[..., None]) for _, by_v, by_q in (found, expected)]
    return max(
        difference(found[0], expected[0]), difference(found[1] @ Z, expected[1] @ Z), difference(along[0], along[1])
    )


def difference(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference, relative to the largest number expected."""
    return float(np.abs(np.asarray(a) - b).max() / np.abs(b).max())


def four_bars(k: int) -> lw.Robot:
    """k planar four-bars, each on the coupler of the one before."""

    def bar(name: str, length: float, mass: float, at: float, on: str | None) -> lw.Body:
        inertia = lw.Inertia.cylinder(mass, 0.01, (0, 0, 0), (length, 0, 0))
        return lw.Body(name, lw.Joint(lw.Revolute("z"), f"{name}_hinge", at=(at, 0, 0)), inertia, on)

    bodies, frames, loops = [], [], []
    for i in range(k):
        carrier, shift = (None, 0.0) if i == 0 else (f"coupler{i - 1}", 0.1)
        bodies += [
            bar(f"crank{i}", 0.3, 0.5, shift, carrier),
            bar(f"coupler{i}", 0.8, 0.9, 0.3, f"crank{i}"),
            bar(f"rocker{i}", 0.6, 0.7, shift + 1.0, carrier),
        ]
        ends = lw.Frame(f"top{i}", f"rocker{i}", at=(0.6, 0, 0)), lw.Frame(f"end{i}", f"coupler{i}", at=(0.8, 0, 0))
        frames += ends
        loops.append(lw.Loop(ends[0].name, ends[1].name, "point_on_line"))
    return lw.assemble(f"four_bars_{k}", bodies, frames, gravity=(0, -9.81, 0)).close(*loops)


def in_series(k: int) -> list[float]:
    """Operations and ns of a kernel for each of k four-bars, cut and embedded, which are compared first."""
    rng = np.random.default_rng(k)
    one, chain = four_bars(1), four_bars(k)
    at = one.closed_configuration([1.3, -0.9, 1.8] + 0.2 * rng.normal(size=(64 * k, 3)))
    x = [y.reshape(64, -1) for y in (at, one.closed_velocity(at, rng.normal(size=at.shape)))]
    x.append(rng.normal(size=x[1].shape))
    kernels = [chain.compile("forward_dynamics", method=name) for name in ("articulated_body", "embedded")]
    found = [kernel(*x) for kernel in kernels]
    off = difference(found[1], found[0])
    assert off < 1e-9, f"cut and embedded differ by {off:.1e}"
    row = []
    for kernel, out in zip(kernels, found):
        seconds = best(lambda kernel=kernel, out=out: kernel(*x, out=out, threads=1), 2.0)
        row += [kernel.operations.total / k, 1e9 * seconds / (len(at))]
    return row


def series_table() -> list[str]:
    rows = {k: in_series(k) for k in (1, 30, 300)}
    lines = [
        "| four-bars in series, for each | operations, cut | ns | operations, embedded | ns |",
        "|---|---:|---:|---:|---:|",
    ]
    lines += [f"| {k} | " + " | ".join(f"{x:,.1f}" for x in row) + " |" for k, row in rows.items()]
    grown = " | ".join(f"{x / y:.2f}" for x, y in zip(rows[300], rows[30]))
    return [*lines, f"| 300 over 30 | {grown} |"]


def main() -> None:
    with one_core():
        lines = [beside(name, function) for name in CASES for function in TITLES]
        series = series_table()
    head = (
        "| ns a state | kernel | default call | `constraintDynamics` | `lcaba` | the quicker of these over the kernel |"
    )
    tables = [head, "|---|---:|---:|---:|---:|---:|", *lines, "", *series]
    print_or_write("\n".join(tables), HERE / "README.md", MARKS, sys.argv)


if __name__ == "__main__":
    main()
