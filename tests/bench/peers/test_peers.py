"""Each library that benchmarks run beside linkwise computes the same, by every way to run it."""

import importlib.util
import os
import shutil

import numpy as np
import pytest

import linkwise as lw
from linkwise.bench import runner
from linkwise.bench.cases import ARGUMENTS, PLAIN, Case
from linkwise.bench.peers import PEERS, pinocchio_native
from linkwise.interop.layout import depth_first

# What each library needs beside linkwise; those not in the dev extra are tested where they are installed.
NEEDS = {
    "linkwise": [],
    "linkwise, default call": [],
    "linkwise through JAX": ["jax"],
    "Pinocchio, Python loop": ["pinocchio"],
    "Pinocchio, batch call": ["pinocchio"],
    "MuJoCo, C loop": ["mujoco"],
    "Drake, Python loop": ["pydrake"],
    "frax": ["frax"],
    "JaxSim": ["jaxsim"],
    "adam, CasADi, C": ["adam", "casadi"],
}
# Compiling these takes minutes.
COMPILED = {
    "Pinocchio, C++ loop",
    "Pinocchio, C++ loop, not copied out",
    "Pinocchio, CasADi, C",
    "Pinocchio, CasADi, SIMD",
}
LINEARIZED = ("linearize_inverse", "linearize_forward")
FOR_ONE_STATE = {"linkwise, kernel.quick"}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path / "cache"))


# Arms with sliders and a branching floating robot; adam has no sliders, and in JAX the programs of these are long.
BESIDE = {"adam, CasADi, C": ("ur5", "quadruped"), "linkwise through JAX": ("cartpole",)}
PAIRS = [(library, r) for library in NEEDS for r in BESIDE.get(library, ("panda_gripper", "quadruped"))]


@pytest.mark.parametrize(("library", "robot"), PAIRS)
def test_libraries_compute_the_same(library, robot):
    """In every function that the library has."""
    missing = [m for m in NEEDS[library] if importlib.util.find_spec(m) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")
    if library in ("MuJoCo, C loop", "adam, CasADi, C") and shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    cases = [Case(robot, f, batch=3) for f in PLAIN]
    rows, left_out = runner.run(cases, [library], repeats=1)
    assert not [x for x in left_out if x.reason.startswith(("refused", "failed"))]
    assert rows and all(r.difference < 1e-12 and r.nanoseconds > 0 for r in rows)
    assert {r.case for r in rows} | {x.case for x in left_out} == set(cases)


@pytest.mark.parametrize("batch", [1, 3])
def test_derivatives_of_pinocchio_are_the_same(batch):
    pytest.importorskip("pinocchio")
    cases = [Case(r, f, batch) for r in ("panda_gripper", "quadruped") for f in LINEARIZED]
    rows, left_out = runner.run(cases, ["Pinocchio, Python loop"], repeats=1)
    assert not left_out and len(rows) == 4 and all(r.difference < 1e-11 for r in rows)


def test_frames_and_matrices_of_pinocchio_are_the_same():
    """Jacobians, J̇v, Λ, poses, Coriolis and momentum matrices: the layouts of results that compiled peers share."""
    pytest.importorskip("pinocchio")
    cases = [Case(r, f, 3) for r in ("panda_gripper", "quadruped") for f in ARGUMENTS if f not in PLAIN]
    rows, left_out = runner.run(cases, ["linkwise", "Pinocchio, Python loop"], repeats=1)
    assert not left_out and len(rows) == 2 * len(cases)
    assert all(r.difference < 1e-11 for r in rows)


@pytest.mark.parametrize("library", sorted(COMPILED))
def test_compiled_libraries_compute_the_same(library, monkeypatch):
    folder = os.environ.get("LINKWISE_TEST_BENCH_CACHE")
    if folder is None:
        pytest.skip("compiles for minutes; LINKWISE_TEST_BENCH_CACHE=FOLDER runs it and keeps what was compiled there")
    monkeypatch.setenv("LINKWISE_CACHE", folder)
    cases = [Case(r, f, 3) for r in ("panda_gripper", "quadruped") for f in ARGUMENTS]
    rows, left_out = runner.run(cases, [library], 1)
    assert all(x.reason.startswith(("has no", "for large")) for x in left_out) and len(rows) + len(left_out) == len(
        cases
    )
    assert len(rows) >= 14 and all(r.difference < (1e-11 if r.case.function in LINEARIZED else 1e-12) for r in rows)


def test_the_robot_handed_to_compiled_code():
    """Depth first, each with its parent, kind, axis, placement and inertia; then frames, and which is the tip."""
    robot = lw.load("quadruped")
    head, *lines = pinocchio_native.model_text(robot).splitlines()
    assert [float(x) for x in head.split()] == [13, 0, 0, -9.81]
    order = depth_first(robot)
    for i, (k, line) in enumerate(zip(order, lines[: len(order)], strict=True)):
        parent, kind, *numbers = line.split()
        body = robot.bodies[k]
        assert int(parent) == (0 if k == 0 else 1 + order.index(robot.parents[k])) and int(parent) <= i
        assert kind == "free" if k == 0 else kind in ("RX", "RY", "RZ", "R")
        placement, inertia = body.joint.placement, body.inertia
        expected = [*np.ravel(placement.R), *placement.l, inertia.mass, *inertia.com, *np.ravel(inertia.tensor)]
        assert [float(x) for x in numbers[3:]] == expected
    count, *frames = lines[len(order) :]
    assert count == f"{len(robot.frames)} {[f.name for f in robot.frames].index(robot.tips[-1])}"
    for frame, line in zip(robot.frames, frames, strict=True):
        k, pose = robot.frame(frame.name)
        place, *numbers = (float(x) for x in line.split())
        assert place == (1 + order.index(k) if k >= 0 else 0) and numbers == [*np.ravel(pose.R), *pose.l]


def test_no_library_is_forgotten():
    assert set(PEERS) == set(NEEDS) | COMPILED | FOR_ONE_STATE


@pytest.mark.parametrize("library", sorted(FOR_ONE_STATE))
def test_ways_to_run_one_state(library):
    rows, _ = runner.run([Case("ur5", f, batch=1) for f in PLAIN], ["linkwise", library], repeats=1)
    assert len(rows) == 8 and all(r.difference < 1e-12 for r in rows)
    _, left_out = runner.run([Case("ur5", "mass_matrix", batch=2)], [library], repeats=1)
    assert left_out[0].reason == "for one state only"


def test_float32():
    rows, left_out = runner.run([Case("ur5", "mass_matrix", 4, "float32")], ["linkwise", "MuJoCo, C loop"], repeats=1)
    assert [r.library for r in rows] == ["linkwise"] and 1e-12 < rows[0].difference < 1e-4
    assert left_out[0].reason == "no float32"
