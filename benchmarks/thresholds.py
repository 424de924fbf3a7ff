"""The measurements behind the compiler's thresholds (``src/linkwise/codegen/thresholds.py``), each by its name.

    python benchmarks/thresholds.py --list
    python benchmarks/thresholds.py ROWS_FROM [MOST_BODIES …]

Times are processor time on one core, the best of several; kernels on disk are left out.
"""

from __future__ import annotations

import argparse
import functools
import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

os.environ["LINKWISE_CACHE"] = "off"

import numpy as np
from forms import branching

import linkwise as lw
from linkwise.codegen import thresholds
from linkwise.codegen.facts import catalogue
from linkwise.codegen.llvm import one_state
from linkwise.codegen.llvm.sine_cosine import VectorType
from linkwise.codegen.program.frames import normal_forms
from linkwise.codegen.program.instructions import instructions
from linkwise.codegen.program.paired_blocks import busy_cycles, waiting_cycles
from linkwise.codegen.program.pieces import pieces
from linkwise.codegen.program.places import computed_places
from linkwise.codegen.program.schedule import cycles, lifetimes, traffic
from linkwise.codegen.program.tighten import tightened
from linkwise.codegen.runtime import engine, result_memory
from linkwise.codegen.runtime.kernel import Kernel
from linkwise.dynamics.linearized.models import elimination_products, meeting_pairs
from linkwise.symbols.outputs import reachable
from linkwise.symbols.scalar import Graph

Row = tuple[Any, ...]


def best(run: Callable[[], Any], seconds: float = 0.3) -> float:
    """The least processor time of one run [s]."""
    run()
    found, until = [], time.perf_counter() + seconds
    while time.perf_counter() < until or len(found) < 3:
        begun = time.process_time()
        run()
        found.append(time.process_time() - begun)
    return min(found)


def made(robot: Any, name: str, **options: Any) -> tuple[Any, float]:
    """(a kernel with its machine code, seconds until it was there)."""
    begun = time.process_time()
    found = robot.compile(name, **options)
    found.code(float)
    return found, time.process_time() - begun


def states(found: Any, batch: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(batch, n)) for n in found.signature.inputs.values()]


def nanoseconds(found: Any, batch: int = 256, **options: Any) -> float:
    arrays = states(found, batch)
    return 1e9 * best(lambda: found(*arrays, threads=1, **options)) / batch


def side_by_side(found: Sequence[Any], batch: int = 4096, seconds: float = 1.0) -> list[float]:
    """Nanoseconds a state of kernels that are run in turn, so that other work on the machine meets all of them."""
    least = [math.inf] * len(found)
    arrays = states(found[0], batch)
    outs = [x(*arrays) for x in found]
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        for k, (kernel, out) in enumerate(zip(found, outs)):
            begun = time.process_time()
            kernel(*arrays, out=out, threads=1)
            least[k] = min(least[k], time.process_time() - begun)
    return [1e9 * x / batch for x in least]


def straight_or_loops() -> Iterable[Row]:
    yield "robot", "function", "values", "straight: first call [s]", "ns a state", "loops: first call [s]", "ns a state"
    for n in (8, 16, 25, 40):
        for name in (
            "forward_dynamics",
            "inverse_dynamics",
            *(k for k, facts in catalogue(lw.Robot).items() if facts.per_pair),
        ):
            yield n, name, *_both(lw.chain(n, seed=0), name)
    for name in ("forward_dynamics", "mass_matrix", "linearize_inverse", "linearize_forward"):
        yield "humanoid", name, *_both(lw.load("humanoid"), name)


def aligned_straight_or_loops() -> Iterable[Row]:
    yield "links", "function", "values", "straight: first call [s]", "ns a state", "loops: first call [s]", "ns a state"
    for n in (20, 30, 45):
        for name in ("forward_dynamics", "inverse_dynamics", "forward_dynamics_jvp", "mass_matrix", "coriolis_matrix"):
            yield n, name, *_both(lw.chain(n), name)


def loops_recorded() -> Iterable[Row]:
    yield "function of 50 bodies of all kinds", "values recorded", "values in loops"
    tree, graphs = lw.random_tree(50, seed=0), []

    def graph(most: int | None) -> Graph:
        graphs.append(Graph(most))
        return graphs[-1]

    with mock.patch("linkwise.codegen.rolled.program.Graph", graph):
        for name, facts in catalogue(lw.Robot).items():
            if facts.per_pair:
                loops = tree.compile(name, rolled=True).length
                yield name, graphs[-1].count, loops


def in_parts() -> Iterable[Row]:
    yield "links", "values of the sensitivities of the mass matrix", "values of the Coriolis matrix"
    for n in (16, 24, 32):
        chain = lw.chain(n, seed=0)
        yield n, *(chain.compile(name).length for name in ("mass_matrix_sensitivity", "coriolis_matrix"))


def streamed_rows() -> Iterable[Row]:
    yield "function of 96 links", "states", "us a state past the caches", "through them"
    for name, batches in (("linearize_inverse", (8, 16, 64)), ("mass_matrix", (16, 64))):
        for batch in batches:
            yield name, batch, *(f"{x / 1e3:.1f}" for x in _rows_streamed(lw.chain(96, seed=0), name, batch))


def _rows_streamed(robot: Any, name: str, batch: int) -> Iterable[float]:
    for least in (0, 1 << 40):
        with mock.patch("linkwise.codegen.llvm.driver.STREAMED_ROWS", least):
            found = made(robot, name, rolled=True)[0]
        yield nanoseconds(found, batch, out=found(*states(found, batch)))


def walks_or_products() -> Iterable[Row]:
    yield "links", "function", "by walks: us a state", "row by row: us a state"
    usual = thresholds.PRODUCTS_FROM
    functions = ("mass_matrix", "mass_matrix_inverse", "linearize_inverse", "linearize_forward", "coriolis_matrix")
    for name in functions:
        for n, batch in ((28, 1024), (30, 1024), (32, 1024), (40, 1024), (64, 512), (100, 512), (300, 64)):
            found: list[float] = []
            for first in (n + 1, n):
                thresholds.PRODUCTS_FROM = first
                chain = lw.chain(n, seed=first)
                found.append(nanoseconds(chain.compile(name, rolled=True), batch) / 1e3)
            yield n, name, *(f"{x:.2f}" for x in found)
    thresholds.PRODUCTS_FROM = usual


def blocks() -> Iterable[Row]:
    sizes = (8, 16, 32)
    yield "links", "function", *(f"blocks of {size}: us a state" for size in sizes)
    usual = thresholds.BLOCK
    for n, batch in ((48, 1024), (100, 512), (300, 64), (1000, 16)):
        for name in ("mass_matrix_inverse", "linearize_forward"):
            found: list[float] = []
            for size in sizes:
                thresholds.BLOCK = size
                found.append(nanoseconds(lw.chain(n, seed=size).compile(name, rolled=True), batch) / 1e3)
            yield n, name, *(f"{x:.2f}" for x in found)
    thresholds.BLOCK = usual


def lines_at_edges() -> Iterable[Row]:
    counts = (6, 12, 24, 1 << 20)
    yield "links", "function", *(f"a line after {x} products: us a state" for x in counts)
    for name in ("mass_matrix_inverse", "linearize_forward"):
        found = []
        for count in counts:
            with mock.patch("linkwise.codegen.llvm.block_edges.LINE_PRODUCTS", count):
                found.append(made(lw.chain(100), name, rolled=True)[0])
        yield 100, name, *(f"{x / 1e3:.2f}" for x in side_by_side(found, batch=512, seconds=5.0))


def _both(robot: Any, name: str) -> Iterable[Any]:
    for rolled in (False, True):
        found, first = made(robot, name, rolled=rolled)
        if not rolled:
            yield found.program.length
        yield round(first, 2)
        yield round(nanoseconds(found))


def steps() -> Iterable[Row]:
    yield "links", "first call [s]", "ns a step of one state in machine code", "by calls"
    for n in (16, 32, 64):
        robot = lw.chain(n, seed=0)
        begun = time.process_time()
        run = lambda r=robot, n=n, target="cpu": lw.simulate(
            r, np.zeros(n), np.zeros(n), duration=0.1, step=1e-3, every=100, method="semi_implicit_euler"
        )
        run()
        first = time.process_time() - begun
        with mock.patch("linkwise.simulation.steppers.MOST_BODIES", 0):
            called = best(run)
        yield n, round(first, 2), round(1e7 * best(run)), round(1e7 * called)


def staged() -> Iterable[Row]:
    yield "robot", "straight: first call [s]", "ns a step of a state", "stages in turn: first call [s]", "ns a step"
    for name in ("panda", "humanoid"):
        cells: list[Any] = []
        for least in (10**9, 0):
            with mock.patch("linkwise.simulation.staged.STAGED_FROM", least):
                robot = lw.load(name)
                q, v = np.tile(robot.neutral(), (64, 1)), np.zeros((64, robot.nv))
                options = {"duration": 0.05, "step": 1e-3, "every": 50, "method": "runge_kutta_4"}
                run = functools.partial(lw.simulate, robot, q, v, **options)
                begun = time.process_time()
                run()
                cells += [round(time.process_time() - begun, 2), round(1e9 * best(run) / (50 * 64))]
        yield name, *cells


def in_pieces() -> Iterable[Row]:
    yield "values", "whole: LLVM [s]", "ns a state", *(x for n in PIECES for x in (f"pieces of {n} [s]", "ns a state"))
    robot = lw.load("humanoid")
    for name in ("forward_dynamics", "coriolis_matrix", "linearize_inverse", "forward_dynamics_hvp"):
        program, cells = robot.compile(name, rolled=False).program, []
        for length in (10**9, *PIECES):
            with (
                mock.patch.object(thresholds, "PIECES_FROM", 0 if length < 10**9 else length),
                mock.patch.object(thresholds, "PIECE", length),
                mock.patch("linkwise.codegen.llvm.one_state.ENTRY_NODES", 0),
            ):
                pieces.cache_clear()
                found, begun = Kernel(program), time.process_time()
                found.code(float)
                cells += [round(time.process_time() - begun, 2), round(nanoseconds(found))]
        yield len(program.nodes), *cells


PIECES = (150, 250, 400)


def entry_nodes() -> Iterable[Row]:
    yield "values", "with the quick entry [s]", "without [s]", "one call with [µs]", "without [µs]"
    for n in (7, 20, 40):
        robot, cells = lw.chain(n, seed=0), []
        for most in (10**9, 0):
            with mock.patch("linkwise.codegen.llvm.one_state.ENTRY_NODES", most):
                found, first = made(robot, "forward_dynamics", rolled=False)
            one = [x[0] for x in states(found, 1)]
            cells.append((round(first, 2), round(1e6 * best(lambda: found.quick(*one)), 2)))  # noqa: B023
        yield len(found.program.nodes), *(c[0] for c in cells), *(c[1] for c in cells)


def stack_numbers() -> Iterable[Row]:
    yield "robot", "function", "numbers of one state on the stack"
    for robot in ("panda", "humanoid"):
        for name in ("forward_dynamics", "mass_matrix_inverse", "linearize_forward"):
            found = lw.load(robot).compile(name).program
            yield robot, name, one_state.room(found, VectorType("double", 1, True))


def most_kinds() -> Iterable[Row]:
    yield "kinds of joints", "values in loops", "first call [s]"
    kinds = [lw.Revolute("z"), lw.Prismatic("x"), lw.Spherical(), lw.Universal("x", "y"), lw.Planar("z"), lw.Free()]
    for count in (1, 2, 4, 6):
        found, first = made(_of(kinds[:count] * (12 // count)), "linearize_forward", rolled=True)
        yield count, found.length, round(first, 2)


def _of(kinds: list[Any]) -> Any:
    bodies = []
    for i, kind in enumerate(kinds):
        joint = lw.Joint(kind, at=(0.1, 0.2, 0.3), rpy=(0.3, 0.2 * i, 0.1))
        inertia = lw.Inertia(1.0 + 0.1 * i, com=(0.1, 0.02, 0.2), tensor=np.diag([0.1, 0.2, 0.25]))
        bodies.append(lw.Body(f"b{i}", joint, inertia, f"b{i - 1}" if i else None))
    return lw.assemble("several", bodies)


def pairs_in_nodes() -> Iterable[Row]:
    yield "flexible links", "modes of each", "bodies", "degrees of freedom", "values of straight-line code"
    for n, modes in ((3, 4), (5, 2), (10, 2)):
        robot = _flexible(n, modes)
        found, _ = made(robot, "linearize_forward", rolled=False)
        yield n, modes, len(robot.bodies), robot.nv, found.program.length


def body_in_nodes() -> Iterable[Row]:
    yield "function", "bodies", "values of straight-line code", "ns a state", "first call [s]", "loops", "ns", "[s]"
    robot = _flexible(20, 4)
    for name in ("inverse_dynamics_jvp", "forward_dynamics_jvp", "inverse_dynamics_hvp"):
        row: list[Any] = [name, len(robot.bodies)]
        for rolled in (False, True):
            found, seconds = made(robot, name, rolled=rolled)
            row += [found.length if rolled else found.program.length, nanoseconds(found), seconds]
        yield tuple(row)


def _flexible(links: int, modes: int) -> Any:
    beam = lw.Flexible.beam(length=1.0, mass=1.2, stiffness=9.0, modes=modes)
    bodies = []
    for i in range(links):
        joint = lw.Joint(lw.Revolute("yz"[i % 2]), at=beam.node("tip").at if i else (0, 0, 0))
        bodies.append(lw.Body(f"b{i}", joint, beam, f"b{i - 1}" if i else None))
    return lw.assemble("flexible", bodies)


def most_scratch() -> Iterable[Row]:
    yield "links", "function", "bytes a thread works in"
    for name in ("mass_matrix", "linearize_forward"):
        for n in (100, 200, 400):
            yield n, name, lw.chain(n).compile(name, rolled=True).scratch_bytes


def states_per_thread() -> Iterable[Row]:
    yield "states", "one thread [µs]", "two threads [µs], elapsed"
    for robot, name in (("panda", "forward_dynamics"), ("humanoid", "mass_matrix")):
        found = made(lw.load(robot), name)[0]
        for batch in (256, 1024, 4096, 16384):
            arrays = states(found, batch)
            calls = [functools.partial(found, *arrays, threads=n) for n in (1, 2)]
            yield batch, *(round(1e6 * _elapsed(call), 1) for call in calls)


def pooled_bytes() -> Iterable[Row]:
    yield "robot", "bytes", "memory used again [µs]", "NumPy's own [µs], elapsed"
    for robot, batches in (("panda", (128, 4096, 16384)), ("humanoid", (1024, 4096))):
        found = made(lw.load(robot), "mass_matrix")[0]
        n = found.signature.shapes[0][0]
        for batch in batches:
            arrays, shape = states(found, batch), (batch, n, n)
            own = lambda a=arrays, s=shape: found(*a, out=np.empty(s), threads=1)  # noqa: B023
            with mock.patch("linkwise.codegen.runtime.result_memory.POOLED_BYTES", 0):
                kept = lambda a=arrays, s=shape: found(*a, out=result_memory.empty(s, float), threads=1)  # noqa: B023
                yield robot, 8 * batch * n * n, *(round(1e6 * _elapsed(run), 1) for run in (kept, own))


def _elapsed(run: Callable[[], Any]) -> float:
    run()
    found = []
    for _ in range(200):
        begun = time.perf_counter()
        run()
        found.append(time.perf_counter() - begun)
    return min(found)


def steps_per_state() -> Iterable[Row]:
    yield "steps", "16 states, one thread [µs]", "two threads [µs], elapsed"
    robot = lw.load("panda")
    for steps in (16, 64, 256, 1024):
        run = lambda n, s=steps: lw.simulate(
            robot, np.zeros((16, 7)), np.zeros((16, 7)), duration=1e-3 * s, step=1e-3, every=s, threads=n
        )
        yield steps, *(round(1e6 * _elapsed(functools.partial(run, n))) for n in (1, 2))


def streamed_bytes() -> Iterable[Row]:
    yield "bytes written", "past the caches [ns]", "through them [ns]"
    for power in (20, 22, 24, 26):
        yield 1 << power, *_streamed(lw.load("humanoid"), (1 << power) // (8 * 35 * 35))


def crowded_rows() -> Iterable[Row]:
    yield "numbers a state", "states", "type", "past the caches [ns]", "through them [ns]"
    for dtype in (np.float32, np.float64):
        for n, outer in ((1024, _outer_32), (1056, _outer_33)):
            for batch in (256, 1024):
                yield n, batch, np.dtype(dtype).name, *_crowded(outer, n, batch, dtype)


def _outer_32(robot: Any, x: Any) -> Any:
    return np.outer(x[:32], x[:32])


def _outer_33(robot: Any, x: Any) -> Any:
    return np.outer(x[:33], x[:32])


def _crowded(outer: Any, n: int, batch: int, dtype: Any) -> Iterable[float]:
    x = np.random.default_rng(0).normal(size=(batch, 64)).astype(dtype)
    for least, most in ((0, 0), (1 << 40, 64)):
        with (
            mock.patch("linkwise.codegen.llvm.driver.STREAMED_BYTES", least),
            mock.patch("linkwise.codegen.llvm.streaming_stores.ROWS_AT_A_PLACE", most),
        ):
            found = lw.compile(outer, lw.load("panda"), sizes={"x": 64})
            found.code(dtype)
        out = np.empty((batch, n // 32, 32), dtype)
        yield round(1e9 * best(lambda k=found, o=out: k(x, out=o, threads=1)) / batch, 1)


def streamed_vectors() -> Iterable[Row]:
    yield "numbers a state", "past the caches [ns]", "through them [ns]"
    for n in (6, 8, 10):  # fewer than four vectors cannot be written so
        yield n * n, *_streamed(lw.chain(n), (1 << 26) // (8 * n * n))


def _streamed(robot: Any, batch: int) -> Iterable[float]:
    for least in (0, 1 << 40):
        with mock.patch("linkwise.codegen.llvm.driver.STREAMED_BYTES", least):
            found = made(robot, "mass_matrix")[0]
        out = np.empty((batch, robot.nv, robot.nv))
        yield round(nanoseconds(found, batch, out=out), 1)


def registers() -> Iterable[Row]:
    yield "registers assumed", "moves in its order", "ns a state (humanoid)"
    robot = lw.load("humanoid")
    for count in (8, 16, 24, 32, 48):
        with mock.patch("linkwise.codegen.program.schedule.traffic", lambda order, _=0, n=count: traffic(order, n)):
            found = made(robot, "forward_dynamics")[0]
        yield count, traffic(found.program.nodes), round(nanoseconds(found))


def orders() -> Iterable[Row]:
    yield "function", "order", "reckoned cycles", "moves", "most at a time", "order [s]", "ns a state"
    arm, humanoid = lw.load("panda"), lw.load("humanoid")
    for robot, name in ((arm, "mass_matrix_inverse"), (humanoid, "forward_dynamics"), (humanoid, "inverse_dynamics")):
        program = robot.compile(name, rolled=False).program
        wanted = [*program.roots, *(x for g in program.guards for x in g.nodes)]
        for kind, order in {
            "depth first": reachable(wanted),
            "last first": reachable(wanted[::-1]),
            "traced": sorted(reachable(wanted), key=lambda x: x.serial),
        }.items():
            begun = time.process_time()
            tight = tightened(order, program.uses)
            took = time.process_time() - begun
            again = replace(program)
            again.__dict__["nodes"] = tight
            reckoned, most = cycles(tight, program.fused), int(lifetimes(tight).max())
            yield name, kind, reckoned, traffic(tight), most, round(took, 2), round(nanoseconds(Kernel(again)))


def orders_tightened() -> Iterable[Row]:
    yield (
        "robot",
        "function",
        "values",
        "tightened: first call [s]",
        "ns a state",
        "as traced: first call [s]",
        "ns a state",
    )
    trees = [
        (branching(80, mixed=False), "linearize_forward"),
        (branching(36, mixed=True), "forward_dynamics_sensitivity"),
    ]
    for robot, name in trees:
        found = []
        for most in (1 << 30, 0):
            with mock.patch.object(thresholds, "ORDERS_TIGHTENED", most):
                found.append(made(robot, name, rolled=False))
        times = side_by_side([kernel for kernel, _ in found], batch=64)
        cells = [x for (_, first), ns in zip(found, times) for x in (round(first, 1), round(ns))]
        yield robot.name, name, len(found[0][0].program.nodes), *cells


def fetched_ahead() -> Iterable[Row]:
    yield "states", "fetched ahead [ns]", "not [ns]"
    robot, found = lw.load("humanoid"), []
    for most in (128, 0):
        with mock.patch("linkwise.codegen.llvm.driver.FETCHED_AHEAD", most):
            found.append(made(robot, "inverse_dynamics")[0])
    for batch in (256, 4096, 16384, 65536):
        yield batch, *(round(nanoseconds(x, batch)) for x in found)


def pairs_of_blocks() -> Iterable[Row]:
    yield "robot", "function", "instructions", "waits [cycles]", "busy [cycles]", "one block [ns]", "two in turn [ns]"
    arms = {"panda": lw.load("panda"), "ur5": lw.load("ur5"), "chain of 5": lw.chain(5), "chain of 10": lw.chain(10)}
    others = {"quadruped": lw.load("quadruped"), "humanoid": lw.load("humanoid")}
    names = ("forward_dynamics", "inverse_dynamics", "mass_matrix", "mass_matrix_inverse", "linearize_forward")
    for robot, name in [*((r, n) for r in arms for n in names), *((r, n) for r in others for n in names[:2])]:
        found = []
        for least in (math.inf, 0.0):
            with mock.patch.multiple(thresholds, PAIRED_FROM=least, PAIRED_UP_TO=1 << 30):
                found.append(made((arms | others)[robot], name, rolled=False)[0])
        code = instructions(found[0].program, computed_places(found[0].program)[0])
        cycles = len(code.code), waiting_cycles(code), round(busy_cycles(code))
        yield robot, name, *cycles, *(round(x, 1) for x in side_by_side(found))


def blocks_in_turn() -> Iterable[Row]:
    yield "instructions in turn", "ns a state (the arm, forward dynamics)", "(inverse mass matrix)"
    columns = []
    for name in ("forward_dynamics", "mass_matrix_inverse"):
        found = []
        for count in (counts := (1, 8, 24, 96, 384)):
            with mock.patch.object(thresholds, "IN_TURN", count):
                found.append(made(lw.load("panda"), name)[0])
        columns.append(side_by_side(found))
    for count, *each in zip(counts, *columns):
        yield count, *(round(x, 1) for x in each)


def overlapped() -> Iterable[Row]:
    yield (
        "robot",
        "function",
        "instructions",
        "brought in before [ns]",
        "between [ns]",
        "compiling, before [s]",
        "between [s]",
    )
    names = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "mass_matrix_inverse", "coriolis_matrix")
    for robot, name in [(r, n) for r in ("panda", "quadruped", "humanoid") for n in names]:
        found = []
        for most in (0, 1 << 30):
            with mock.patch.object(thresholds, "OVERLAPPED_UP_TO", most):
                found.append(made(lw.load(robot), name, rolled=False))
        kernels = [kernel for kernel, _ in found]
        code = instructions(kernels[0].program, computed_places(kernels[0].program)[0])
        times = [round(x, 1) for x in side_by_side(kernels)]
        yield robot, name, len(code.code), *times, *(round(seconds, 2) for _, seconds in found)


def held_for() -> Iterable[Row]:
    yield "held for", "ns a state (humanoid, inverse dynamics)", "(forward dynamics)"
    robot = lw.load("humanoid")
    for count in (5, 15, 40, 100, 1000):
        cells = []
        with mock.patch("linkwise.codegen.llvm.assembly.HELD_FOR", count):
            for name in ("inverse_dynamics", "forward_dynamics"):
                cells.append(round(nanoseconds(made(robot, name)[0]), 1))
        yield count, *cells


def llvm_levels() -> Iterable[Row]:
    yield "passes", "code generator", "first call [s]", "ns a state"
    for passes, generator in ((0, 0), (0, 1), (0, 2), (0, 3), (2, 2), (3, 3)):
        with (
            mock.patch.object(engine, "LLVM_PASSES", passes),
            mock.patch.object(engine, "LLVM_CODE_GENERATOR", generator),
        ):
            found, first = made(lw.load("panda"), "forward_dynamics")
        yield passes, generator, round(first, 2), round(nanoseconds(found, 1024), 1)
    program = lw.load("humanoid").compile("linearize_forward", rolled=False).program
    for level in (2, 0):
        with mock.patch.dict(os.environ, {"LINKWISE_LLVM_LEVEL": str(level), "LINKWISE_CACHE": "off"}):
            found, begun = Kernel(program), time.process_time()
            found.code(float)
            yield (
                f"{program.length} values",
                level,
                round(time.process_time() - begun, 2),
                round(nanoseconds(found, 512)),
            )


def kinds_of_frames() -> Iterable[Row]:
    yield "robot", "function", "operations in its own frames", "and in normal forms"
    for robot in (lw.load("humanoid"), lw.random_tree(20, seed=1, joints="revolute")):
        for name in ("forward_dynamics", "linearize_inverse", "linearize_forward"):
            forms = [robot, *(form for _, form in normal_forms(robot))]
            with mock.patch("linkwise.codegen.pipeline.normal_forms", lambda _: []):
                yield robot.name, name, *(form.compile(name, rolled=False).operations.total for form in forms)


def rows_from() -> Iterable[Row]:
    yield "links", "axes", "operations by paths", "by rows", "paths [ns]", "rows [ns]"
    for n in (8, 13, 14, 16, 18, 22, 26):
        for axes, robot in (("general", lw.chain(n, seed=0)), ("aligned", lw.chain(n))):
            compile_ = lambda m, r=robot: r.compile("mass_matrix_inverse", rolled=False, method=m)
            found = [compile_(m) for m in ("paths", "rows")]
            yield n, axes, *(x.operations.total for x in found), *(round(x) for x in side_by_side(found))


def elimination() -> Iterable[Row]:
    yield (
        "robot", "degrees of freedom", "products", "pairs that meet", "operations, Algorithm 4", "Algorithm 6",
        "Algorithm 4 [ns]", "Algorithm 6 [ns]",
    )  # fmt: skip
    chains = [lw.chain(8), lw.chain(14), *(lw.chain(n, seed=0) for n in (8, 12, 14, 19))]
    for robot in (lw.load("panda"), *chains, lw.load("quadruped"), lw.load("humanoid")):
        found = [robot.compile("linearize_forward", rolled=False, method=m) for m in ("algorithm_4", "algorithm_6")]
        counts = robot.nv, elimination_products(robot), meeting_pairs(robot), *(x.operations.total for x in found)
        yield robot.name, *counts, *(round(x) for x in side_by_side(found, batch=1024))


def most_kernels() -> Iterable[Row]:
    yield "a call for a frame", "resident MB", "first call s"
    for name, count in (("jacobian", 40), ("operational_inertia", 16)):
        robot = lw.load("panda")
        q = robot.random_configuration(0)
        call = getattr(robot, name)
        call(q, lw.Frame("first", "panda_link7", at=(0, 0, 0.01)))
        before, begun = _resident(), time.process_time()
        for i in range(count):
            call(q, lw.Frame(f"frame{i}", "panda_link7", at=(0, 0, 0.01 * (i + 2))))
        yield name, f"{(_resident() - before) / count:.2f}", f"{(time.process_time() - begun) / count:.2f}"


def most_explained() -> Iterable[Row]:
    yield "links", "s to count the inverse mass matrix"
    for n in (10, 20, 50, 100, 150):
        robot = lw.chain(n, seed=1)
        inverse = robot.operators(robot.random_configuration(0)).mass.inv()
        yield n, round(best(lambda op=inverse: op.explain().operations), 2)


def _resident() -> float:
    """[MB]; on Linux."""
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def cuda() -> Iterable[Row]:
    yield (
        "on a GPU: python benchmarks/cuda_check.py --export FOLDER --only forward_dynamics --registers 60 --threads 64",
    )
    yield ("here, python benchmarks/cuda_check.py --run FOLDER there",)


def on_a_card() -> Iterable[Row]:
    yield ("on a GPU, with another number in src/linkwise/codegen/thresholds.py: python benchmarks/gpu.py",)


def gradients_on_a_card() -> Iterable[Row]:
    yield ("on a GPU, with another number in src/linkwise/codegen/thresholds.py: python benchmarks/gpu.py --gradients",)


def loops_on_a_card() -> Iterable[Row]:
    yield ("on a GPU: python benchmarks/gpu.py --loops",)


def loops_in_jax() -> Iterable[Row]:
    yield ("what JAX traces: python benchmarks/traced_by_jax.py --matrices",)


MEASUREMENTS: dict[str, Callable[[], Iterable[Row]]] = {
    "CHAIN_LINKS": straight_or_loops,
    "ALIGNED_LINKS": aligned_straight_or_loops,
    "LONG_CHAIN": straight_or_loops,
    "CHAIN_CLASSES": most_kinds,
    "LOOPS_FROM": straight_or_loops,
    "JAX_LOOPS_FROM": loops_in_jax,
    "VALUES_PER_BODY": straight_or_loops,
    "LOOPS_PER_PAIR": most_kinds,
    "PAIRS_IN_NODES": pairs_in_nodes,
    "BODY_IN_NODES": body_in_nodes,
    "MOST_OPERATIONS": straight_or_loops,
    "LOOPS_ALWAYS": straight_or_loops,
    "LOOPS_IN_DOUBT": straight_or_loops,
    "LOOPS_RECORDED": loops_recorded,
    "BLOCK": blocks,
    "LINE_PRODUCTS": lines_at_edges,
    "PRODUCTS_FROM": walks_or_products,
    "FRAMES_TRIED": kinds_of_frames,
    "MOST_BODIES": steps,
    "MOST_NODES": steps,
    "STAGED_FROM": staged,
    "PIECES_FROM": in_pieces,
    "PIECE": in_pieces,
    "LONGEST_CODE": in_pieces,
    "LONGEST_TRACE": in_pieces,
    "LONGEST_WITH_PARTS": in_parts,
    "ENTRY_NODES": entry_nodes,
    "STACK_NUMBERS": stack_numbers,
    "MOST_SCRATCH": most_scratch,
    "STATES_PER_THREAD": states_per_thread,
    "THREAD_NANOSECONDS": states_per_thread,
    "FIRST_STATES": states_per_thread,
    **dict.fromkeys(("SHARED_NANOSECONDS", "WAKING_NANOSECONDS", "SPINS", "CALLER_SPINS"), states_per_thread),
    **dict.fromkeys(("CLOSE_NANOSECONDS", "CLOSE_CALLS", "LEAST_STATES", "TEAM_SCRATCH"), states_per_thread),
    "POOLED_BYTES": pooled_bytes,
    "STEPS_PER_STATE": steps_per_state,
    "STREAMED_BYTES": streamed_bytes,
    "STREAMED_ROWS": streamed_rows,
    "ROWS_AT_A_PLACE": crowded_rows,
    "STREAMED_VECTORS": streamed_vectors,
    "REGISTERS": registers,
    "ORDERS_TRIED": orders,
    "ORDERS_COMPARED": orders,
    "ORDERS_TIGHTENED": orders_tightened,
    "LATENCIES": orders,
    "LOOK_AHEAD": orders,
    "MOVE_CYCLES": orders,
    "FAR_CYCLES": orders,
    "NEAR_VECTORS": orders,
    **dict.fromkeys(("PAIRED_FROM", "PAIRED_UP_TO", "PRODUCTS_AT_ONCE", "BEGUN_AT_ONCE"), pairs_of_blocks),
    "IN_TURN": blocks_in_turn,
    "OVERLAPPED_UP_TO": overlapped,
    "HELD_FOR": held_for,
    "FETCHED_AHEAD": fetched_ahead,
    "LLVM_PASSES": llvm_levels,
    "LLVM_CODE_GENERATOR": llvm_levels,
    "QUICKLY_FROM": llvm_levels,
    "LOOPS_QUICKLY_FROM": llvm_levels,
    "ROWS_FROM": rows_from,
    "ALGORITHM_6_PRODUCTS": elimination,
    "MOST_KERNELS": most_kernels,
    "MOST_EXPLAINED": most_explained,
    "MOST_COMPARED": most_explained,
    "CUDA_THREADS": cuda,
    "CUDA_REGISTERS": cuda,
    "CUDA_ROOM": on_a_card,
    **dict.fromkeys(("CUDA_TURNS_ROOM", "CUDA_TURNS_KEPT", "CUDA_TURNS_SPILL"), gradients_on_a_card),
    "CUDA_AHEAD": on_a_card,
    "CUDA_KEPT": on_a_card,
    "CUDA_KEPT_WITH_ROWS": on_a_card,
    "CUDA_LIMBS": on_a_card,
    "CUDA_LIMBS_KEPT": on_a_card,
    "CUDA_LIMBS_SPILL": on_a_card,
    "CUDA_ENOUGH": on_a_card,
    "CUDA_WAVES": on_a_card,
    "CUDA_SQUEEZE": on_a_card,
    "CUDA_SPILL": on_a_card,
    **dict.fromkeys(("CUDA_LOOPS_FROM", "CUDA_LOOPS_BYTES", "CUDA_LONG"), loops_on_a_card),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*MEASUREMENTS, []], metavar="NAME", help="thresholds to measure")
    parser.add_argument("--list", action="store_true", help="the names there are, and what each is set to")
    asked = parser.parse_args()
    if asked.list or not asked.names:
        for name in MEASUREMENTS:
            print(f"{name:<22}{getattr(thresholds, name)}")
    for name in asked.names:
        print(f"{name} = {getattr(thresholds, name)}")
        for row in MEASUREMENTS[name]():
            print("  " + "  ".join(f"{cell!s:>24}" for cell in row))


if __name__ == "__main__":
    main()
