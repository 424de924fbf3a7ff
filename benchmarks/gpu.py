"""Compiled functions on a graphics card: states a second, bandwidth beside that of a copy, registers, latency.

    python benchmarks/gpu.py                 the table; needs CuPy and a card, PyTorch for the last lines
    python benchmarks/gpu.py --states 20     2**20 states instead of 2**22
    python benchmarks/gpu.py --latency       calls from PyTorch alone, which the table has from a process of their own
    python benchmarks/gpu.py --peers         other libraries alone
    python benchmarks/gpu.py --loops         straight-line code and loops over bodies of chains and trees
    python benchmarks/gpu.py --gradients     motions and their gradients, by CuPy, PyTorch and JAX

Arrays are float32 and float64, row by row and number by number. Times are medians by CUDA events, of calls one behind
the other; results are compared with NumPy's sweeps on the way. The part of the copy's bandwidth is that of the bytes
which must be moved, each once; that of operations compares the sums and products of a state, two where they are fused,
with the fused ones that a kernel can do which has nothing else to do: the larger says what bounds it. Rollouts are
lw.rollout on states that stay on the card. Peers (frax, MuJoCo's MJX) make the arm's forward dynamics in float32,
jitted, on fewer states, and are named where they are not installed. Gradients are those of the end of a motion in its
start, and compared with differences of the motion.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import linkwise as lw

CHAIN = "chain 100"  # with loops over its links
CASES = (
    ("panda", "forward_dynamics"),
    ("panda", "inverse_dynamics"),
    ("panda", "linearize_forward"),
    ("panda", "forward_dynamics_vjp"),
    ("humanoid", "forward_dynamics"),
    ("humanoid", "inverse_dynamics"),
    ("humanoid", "forward_dynamics_vjp"),
    (CHAIN, "forward_dynamics"),
    (CHAIN, "inverse_dynamics"),
    (CHAIN, "forward_dynamics_vjp"),
)
TOLERANCE = {"float64": 1e-11, "float32": 2e-3}
SLOPES = {"float64": 1e-7, "float32": 1e-4}
ROUNDS, CALLS = 9, 8


def seconds(cupy: Any, run: Callable[[], Any]) -> float:
    """The median of some rounds by CUDA events, after two to warm up; a round is a few calls, one behind the other."""
    spent = []
    for _ in range(ROUNDS + 2):
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        for _ in range(CALLS):
            run()
        stop.record()
        stop.synchronize()
        spent.append(1e-3 * cupy.cuda.get_elapsed_time(start, stop) / CALLS)
    return statistics.median(spent[2:])


def copy_bandwidth(cupy: Any) -> float:
    """Bytes a second, read and written, of a copy of 1 GB."""
    x = cupy.random.rand(1 << 28, dtype=cupy.float32)
    y = cupy.empty_like(x)
    return float(2 * x.nbytes / seconds(cupy, lambda: cupy.copyto(y, x)))


def operation_rate(cupy: Any, dtype: str) -> float:
    """Additions and multiplications a second of a kernel that does nothing else, each a sum or product of its own."""
    number = "float" if dtype == "float32" else "double"
    turns, chains, threads = 4096, 8, 132 * 8 * 256
    names = [f"x{i}" for i in range(chains)]
    start = " ".join(f"{number} {x} = a + {i};" for i, x in enumerate(names))
    step = " ".join(f"{x} = fma({x}, a, a);" for x in names)
    text = f"""extern "C" __global__ void chains({number} a, {number} *out) {{ {start}
    #pragma unroll 16
    for (int i = 0; i < {turns}; i++) {{ {step} }}
    out[blockIdx.x * blockDim.x + threadIdx.x] = {" + ".join(names)}; }}"""
    kernel, out = cupy.RawKernel(text, "chains"), cupy.empty(threads, dtype)
    spent = seconds(cupy, lambda: kernel((threads // 256,), (256,), (cupy.dtype(dtype).type(0.5), out)))
    return float(threads * chains * turns / spent)


def line(cupy: Any, name: str, method: str, dtype: str, order: str, states: int, copy: float, rate: float) -> str:
    """One case of the table; AssertionError where it differs from NumPy."""
    robot = lw.chain(100, seed=1) if name == CHAIN else lw.load(name)
    rng = np.random.default_rng(0)
    names = getattr(type(robot), method).facts.needed
    few = [robot.random_configuration(rng, batch=251) if k == "q" else rng.normal(size=(251, robot.nv)) for k in names]
    few = [x.astype(dtype) for x in few]
    expected = _leaves(getattr(robot, method)(*(x.astype(float) for x in few), target="numpy"))
    places = cupy.arange(states) % 251
    given = [cupy.asarray(cupy.asarray(x)[places], order=order) for x in few]
    found = _leaves(getattr(robot, method)(*given))
    for a, b in zip(found, expected, strict=True):
        assert np.abs(cupy.asnumpy(a[:251]) - b).max() <= TOLERANCE[dtype] * np.abs(b).max(), (name, method, dtype)
    spent = seconds(cupy, lambda: getattr(robot, method)(*given))
    moved = sum(x.nbytes for x in (*given, *found)) / spent
    where = f"{name:<9} {method:<21} {dtype:<8} {'rows' if order == 'C' else 'by number':<9}"
    done = robot.compile(method).operations.total * states / spent
    return f"{where} {states / spent:>9.2e} {moved / 1e12:>6.2f} {moved / copy:>6.0%} {done / rate:>6.0%}"


def rollouts(cupy: Any, exponent: int) -> list[str]:
    """Steps a second of whole motions of the arm, beside those of the CPU's driver on a few of the states."""
    robot, steps = lw.load("panda"), 100
    lines = []
    for dtype in TOLERANCE:
        q = robot.random_configuration(np.random.default_rng(0), batch=251).astype(dtype)
        many = cupy.asarray(q)[cupy.arange(1 << exponent) % 251]
        for method in ("runge_kutta_4", "midpoint", "semi_implicit_euler"):
            options = {"steps": steps, "step": 1e-3, "every": steps, "method": method}
            expected = lw.simulate(robot, q[:20].astype(float), target="numpy", **options)
            found = lw.rollout(robot, many, **options)
            error = np.abs(cupy.asnumpy(found.q[:20]) - expected.q).max()
            assert error <= 10 * TOLERANCE[dtype], (dtype, method, error)
            spent = seconds(cupy, partial(lw.rollout, robot, many, check=False, **options))
            lines.append(f"rollout, {method}, {dtype}: {steps * len(many) / spent:.2e} steps a second")
        noisy = {"steps": steps, "step": 1e-3, "every": steps, "noise": lw.Noise(0.1), "cost": _cost, "check": False}
        spent = seconds(cupy, partial(lw.rollout, robot, many, **noisy))
        lines.append(
            f"rollout, runge_kutta_4 with noise and cost, {dtype}: {steps * len(many) / spent:.2e} steps a second"
        )
    return lines


def gradients(cupy: Any, exponent: int, steps: int = 100) -> Iterator[str]:
    """Steps a second of whole motions of the arm, and of their gradients, for which the motion is made again."""
    robot, states = lw.load("panda"), 1 << exponent
    rng = np.random.default_rng(0)
    few = [robot.random_configuration(rng, batch=64), *rng.normal(size=(2, 64, 7))]
    for dtype, method in product(TOLERANCE, ("runge_kutta_4", "midpoint", "semi_implicit_euler")):
        many, speeds, weights = (cupy.asarray(x.astype(dtype))[cupy.arange(states) % 64] for x in few)
        options = {"steps": steps, "step": 1e-3, "every": steps, "method": method}
        seeds = cupy.stack([0.0 * weights, weights], axis=1)
        _, back = lw.simulate_vjp(robot, many, speeds, **options)
        slopes = back(seeds)["v0"]
        _refuse_wrong_slopes(cupy, robot, few, slopes[:64], options, SLOPES[dtype])
        made = seconds(cupy, partial(lw.simulate_vjp, robot, many, speeds, **options))
        taken = {"CuPy": seconds(cupy, partial(back, seeds))}
        for library, make in {"PyTorch": _by_torch, "JAX, the motion with it": _by_jax}.items():
            try:
                call = make(robot, many, speeds, weights, options)
            except ImportError as e:
                yield f"({library} is not installed here: {e})"
                continue
            found = cupy.from_dlpack(call())
            assert abs(found - slopes).max() <= SLOPES[dtype] * abs(slopes).max(), library
            taken[library] = _best(call)
        told = ", ".join(f"by {name} {steps * states / t:.2e}" for name, t in taken.items())
        yield f"{method:<19} {dtype:<8} motion {steps * states / made:.2e} steps a second, gradient {told}"


def _refuse_wrong_slopes(
    cupy: Any, robot: Any, few: list[Any], slopes: Any, options: dict[str, Any], near: float
) -> None:
    """Refuse gradients of the end in the first velocities that are not the slope along a direction, in float64."""
    q, v, weights = map(cupy.asarray, few)
    along, h = cupy.asarray(np.random.default_rng(1).normal(size=v.shape)), 1e-5

    def end(t: float) -> Any:
        return (lw.rollout(robot, q, v + t * along, **options).q[:, -1] * weights).sum()

    parts = slopes * along
    off = float(abs((end(h) - end(-h)) / (2.0 * h) - parts.sum()))
    assert off <= near * float(abs(parts).sum()), (off, options)


def _by_torch(robot: Any, many: Any, speeds: Any, weights: Any, options: dict[str, Any]) -> Callable[[], Any]:
    """The gradient in the first velocities, of a motion that was made before."""
    import torch

    q, v, w = (torch.as_tensor(x, device="cuda") for x in (many, speeds, weights))
    v.requires_grad_()
    end = lw.simulate(robot, q, v, **options).q[:, -1]

    def run() -> Any:
        (found,) = torch.autograd.grad(end, v, w, retain_graph=True)
        torch.cuda.synchronize()
        return found

    return run


def _by_jax(robot: Any, many: Any, speeds: Any, weights: Any, options: dict[str, Any]) -> Callable[[], Any]:
    """The same with the motion, jitted."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # CuPy and PyTorch have memory there too
    import jax

    jax.config.update("jax_enable_x64", True)
    q, v, w = (jax.numpy.asarray(x.get()) for x in (many, speeds, weights))
    slopes = jax.jit(jax.grad(lambda v, q, w: (lw.simulate(robot, q, v, **options).q[:, -1] * w).sum()))
    return lambda: slopes(v, q, w).block_until_ready()


def _best(call: Callable[[], Any]) -> float:
    """The least time of a few calls that wait for the end."""
    spent = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        spent.append(time.perf_counter() - start)
    return min(spent)


def _cost(q: Any, v: Any, tau: Any) -> Any:
    return (q * q).sum(axis=-1) + (v * v).sum(axis=-1) + (tau * tau).sum(axis=-1)


def peers(exponent: int) -> list[str]:
    """The arm's forward dynamics by other libraries, compared before it is timed; the missing are named."""
    lines = []
    for name, make in {"frax": _frax, "mujoco.mjx": _mjx}.items():
        try:
            run = make(lw.load("panda"))
        except ImportError as e:
            lines.append(f"({name} is not installed here, and so not measured: {e})")
            continue
        lines.append(f"{name}, panda, forward_dynamics, float32: {_peer_rate(run, 1 << exponent)}")
    return lines


def _frax(robot: Any) -> Callable[..., Any]:
    from frax.core.robot import Robot

    from linkwise.interop.robot_files import moving, urdf

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "robot.urdf")
        path.write_text(urdf(robot), encoding="utf-8")
        peer = Robot(str(path), joint_ordering=[b.joint.name for b in moving(robot)], floating_base=None)
    return lambda q, v, tau: peer.forward_dynamics(q, v, tau, None)


def _mjx(robot: Any) -> Callable[..., Any]:
    import mujoco
    from mujoco import mjx

    model = mujoco.MjModel.from_xml_string(robot.to_mjcf())
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    there = mjx.put_model(model)
    start = mjx.make_data(there)

    def run(q: Any, v: Any, tau: Any) -> Any:
        return mjx.forward(there, start.replace(qpos=q, qvel=v, qfrc_applied=tau)).qacc

    return run


def _peer_rate(run: Callable[..., Any], states: int) -> str:
    """States a second of a function of one state in JAX, jitted over many, or by how much it differs."""
    import jax

    jax.config.update("jax_default_matmul_precision", "highest")  # by default its products are rounded to 10 bits
    robot, rng = lw.load("panda"), np.random.default_rng(0)
    few = [robot.random_configuration(rng, batch=64), *rng.normal(size=(2, 64, 7))]
    jitted = jax.jit(jax.vmap(run))
    given = [jax.numpy.asarray(np.tile(x, (states // 64, 1)), dtype="float32") for x in few]
    found, expected = np.asarray(jitted(*given))[:64], robot.forward_dynamics(*few, target="numpy")
    off = np.abs(found - expected).max() / np.abs(expected).max()
    if not off <= 0.01:
        return f"off by {off:.0%} of the largest acceleration, and so not timed"
    spent = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS):
            found = jitted(*given)
        found.block_until_ready()
        spent.append((time.perf_counter() - start) / CALLS)
    return f"{states / statistics.median(spent):.2e} states a second, off by {off:.0e} of the largest acceleration"


def loops(cupy: Any, exponent: int) -> Iterator[str]:
    """Straight-line code and loops of chains and trees: the first call in seconds, states a second."""
    from linkwise.codegen.foreign.calls import run_on
    from linkwise.codegen.pipeline import compile_job, method_job

    robots = {f"chain {n}": lw.chain(n, seed=1) for n in (12, 20, 30, 40)}
    robots |= {f"tree {n}": lw.random_tree(n, seed=2, joints=["revolute"]) for n in (36, 50)}
    rng = np.random.default_rng(0)
    for (name, robot), method, dtype in product(robots.items(), ("forward_dynamics", "mass_matrix"), TOLERANCE):
        told = []
        for rolled in (False, True):
            start = time.perf_counter()
            kernel = compile_job(method_job(robot, getattr(type(robot), method), None, {}, rolled=rolled))
            vectors = rng.normal(size=(len(kernel.signature.inputs) - 1, 64, robot.nv))
            few = [robot.random_configuration(rng, batch=64), *vectors]
            states = 1 << exponent - (2 if method == "mass_matrix" else 0)
            given = [cupy.asarray(x.astype(dtype))[cupy.arange(states) % 64] for x in few]
            found = run_on("cupy", kernel.as_function, given)[0]
            cupy.cuda.Device().synchronize()
            first = time.perf_counter() - start
            expected = getattr(robot, method)(*few, target="numpy")
            assert np.abs(cupy.asnumpy(found[:64]) - expected).max() <= TOLERANCE[dtype] * np.abs(expected).max()
            spent = seconds(cupy, partial(run_on, "cupy", kernel.as_function, given))
            told.append(f"{states / spent:9.2e} ({first:.1f} s)")
        yield f"{name:<9} {method:<16} {dtype:<8} straight {told[0]}, loops {told[1]}"


def _leaves(x: Any) -> list[Any]:
    return [y for part in x for y in _leaves(part)] if isinstance(x, tuple) else [x]


def latency(states: int = 4096) -> list[str]:
    """How long a call from Python takes, and a backward pass beside its forward pass, with PyTorch."""
    try:
        import torch
    except ImportError:
        return ["(no PyTorch here)"]
    robot = lw.load("panda")
    x = [torch.randn((states, 7), device="cuda") for _ in range(3)]

    def best(run: Callable[[], Any], repeats: int) -> float:
        run()
        torch.cuda.synchronize()
        times = []
        for _ in range(25):
            start = time.perf_counter()
            for _ in range(repeats):
                run()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - start) / repeats)
        return min(times)

    many = [torch.randn((1 << 21, 7), device="cuda", requires_grad=True) for _ in range(3)]
    weights = torch.randn((1 << 21, 7), device="cuda")

    def both() -> None:
        torch.autograd.grad(robot.forward_dynamics(*many), many, weights)

    def forward() -> None:
        with torch.no_grad():
            robot.forward_dynamics(*many)

    alone = best(forward, 20)
    return [
        f"PyTorch, one call on {states} states: {1e6 * best(lambda: robot.forward_dynamics(*x), 100):.0f} µs"
        f" (torch.add of two of them: {1e6 * best(lambda: torch.add(x[0], x[1]), 100):.0f} µs)",
        f"PyTorch, float32, backward beside forward: {(best(both, 20) - alone) / alone:.1f}×",
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, default=22, help="the exponent of two of the number of states")
    parser.add_argument("--latency", action="store_true", help="only how long a call from PyTorch takes")
    parser.add_argument("--peers", action="store_true", help="only other libraries")
    parser.add_argument("--loops", action="store_true", help="only straight-line code and loops of long robots")
    parser.add_argument("--gradients", action="store_true", help="only motions and their gradients")
    asked = parser.parse_args()
    if asked.latency or asked.peers:
        print("\n".join(latency() if asked.latency else peers(asked.states - 4)))
        return 0
    exponent = asked.states
    import cupy

    if asked.loops or asked.gradients:
        for told in loops(cupy, exponent - 4) if asked.loops else gradients(cupy, exponent - 6):
            print(told, flush=True)
        return 0
    copy = copy_bandwidth(cupy)
    rates = {dtype: operation_rate(cupy, dtype) for dtype in TOLERANCE}
    print(f"{cupy.cuda.runtime.getDeviceProperties(0)['name'].decode()}, a copy moves {copy / 1e12:.2f} TB/s")
    print(", ".join(f"{dtype}: {rate:.2e} operations a second" for dtype, rate in rates.items()))
    heads = f"{'states/s':>9} {'TB/s':>6} {'copy':>6} {'operations':>6}"
    print(f"{'robot':<9} {'function':<21} {'dtype':<8} {'layout':<9} {heads}")
    for dtype in TOLERANCE:
        for name, method in CASES:
            small = name != "panda" or "linearize" in method
            for order in "CF":
                print(
                    line(cupy, name, method, dtype, order, 1 << (exponent - 2 * small), copy, rates[dtype]), flush=True
                )
    print("\n".join(rollouts(cupy, exponent - 2)), flush=True)
    subprocess.run([sys.executable, __file__, "--latency"], check=True)
    print("\n".join(peers(exponent - 4)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
