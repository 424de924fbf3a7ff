"""All steps of motions as one kernel, its text built for the host and run there, beside the CPU's own driver."""

import ctypes

import numpy as np
import pytest
from device_text import built, needs_compiler
from kernel_motions import effort, push, swaying

import linkwise as lw
from linkwise.codegen.cuda.turns_text import TurnsText
from linkwise.simulation import simulate as driver
from linkwise.simulation.asked import Asked, task_of
from linkwise.simulation.trajectory import Settings
from linkwise.simulation.turns import TurningStepper

pytestmark = needs_compiler
BATCH = 37  # a whole warp, and a part of one
STEPS, EVERY, STEP = 12, 4, 2e-3


CASES = {
    "free fall": {},
    "semi-implicit": {"method": "semi_implicit_euler"},
    "midpoint": {"method": "midpoint"},
    "a table": {"table": True},
    "a table and noise": {"table": True, "noise": lw.Noise(0.3, seed=5)},
    "a controller": {"controller": swaying, "implicit": False},
    "a controller, taken at the end": {"controller": swaying},
    "a controller that holds, and noise": {"controller": swaying, "hold": True, "noise": lw.Noise(0.2, seed=2**40)},
    "pushes": {"external": push},
    "a constant push": {"external": [0.0, 0.1, 0.0, 1.0, 0.0, 2.0]},
    "a cost": {"table": True, "cost": effort},
    "a cost, taken at the end": {"controller": swaying, "cost": effort, "damping": 0.4},
    "friction": {"friction": 0.3, "damping": 0.1},
    "parameters": {"parameters": ("inertial",), "table": True},
    "total rates": {"coordinates": "total"},
    "variational": {"method": "variational"},
    "two sweeps": {"method": "two_sweep", "coordinates": "unnormalized"},
}


@pytest.fixture(scope="module")
def robots():
    return {floating: lw.random_tree(2, seed=4, floating=floating) for floating in (False, True)}


def given(robot, options, rng):
    """(options of simulate, those of the kernel) from a case."""
    options = dict(options)
    if options.pop("table", False):
        options["tau"] = rng.normal(size=(BATCH, STEPS, robot.nv))
    if isinstance(options.get("external"), list):
        options["external"] = {robot.tips[-1]: options["external"]}
    if "parameters" in options:
        spread = 1.0 + 0.1 * rng.uniform(size=(BATCH, 1, 1))
        options["parameters"] = {"inertial": robot.inertial_parameters * spread}
    return options


def run_text(robot, q, v, options, dtype, folder, monkeypatch):
    """Samples q and w by the kernel on the host."""
    seen = []
    with monkeypatch.context() as patched:
        patched.setattr(driver, "_moved", lambda *a: seen.append(a))
        lw.simulate(robot, q, v, steps=STEPS, step=STEP, every=EVERY, **options)
    _, q, v, batch, settings, _, asked = seen[0][:7]
    task = task_of(robot, batch, settings, np.dtype(dtype), asked)
    text = TurnsText(TurningStepper(task).programs(), dtype, asked.tau is not None, asked.noise is not None)
    kernel = built(text, folder, "-O0")
    q, w = (np.ascontiguousarray(x, dtype) for x in (q, task.start(q, v)))
    rows = STEPS // EVERY + 1
    out = [np.full((rows, x.shape[-1], BATCH + 1), np.nan, dtype) for x in (q, w)]
    held = [q, w]
    words = [ctypes.c_size_t(BATCH), *map(ctypes.c_longlong, (STEPS, EVERY, 0)), ctypes.c_double(STEP)]
    constants = dict(task.parameters)
    if task.external is not None and task.external.numbers is not None:
        constants["external"] = task.external.numbers

    def lies(x, rows=False):
        strides = [s // x.itemsize for s in x.strides]
        held.append(x)
        between = 0 if x.ndim == 1 + rows else strides[0]
        found = [x.ctypes.data, between, strides[-1], *([strides[-2]] if rows else [])]
        return [ctypes.c_longlong(n) for n in found]

    for x in (q, w, *(np.ascontiguousarray(constants[k], dtype) for k in text.turns.constants)):
        words += lies(x)
    if asked.tau is not None:
        words += lies(np.ascontiguousarray(asked.tau, dtype), rows=True)
    if asked.noise is not None:
        words += [ctypes.c_ulonglong(asked.noise.seed), lies(asked.noise.deviations(robot).astype(dtype))[0]]
    for x in out:
        words += lies(x.transpose(2, 0, 1), rows=True)
    kernel(*words)
    assert all(np.isnan(x[..., BATCH]).all() for x in out)  # nothing is written behind the last state
    Q, W = (x.transpose(2, 0, 1)[:BATCH] for x in out)
    return task, Q, W


@pytest.mark.filterwarnings("ignore::linkwise.SlowPathWarning")
@pytest.mark.parametrize("case", CASES)
def test_the_kernel_makes_the_steps_of_the_driver(case, robots, tmp_path, monkeypatch):
    """In float64, to roundings; on trees of all kinds of joints, on a free base in every second case."""
    robot = robots[list(CASES).index(case) % 2 == 1]
    rng = np.random.default_rng(3)
    q, v = robot.random_configuration(rng, batch=BATCH), rng.normal(size=(BATCH, robot.nv))
    options = given(robot, CASES[case], rng)
    expected = lw.simulate(robot, q, v, steps=STEPS, step=STEP, every=EVERY, target="cpu", **options)
    task, Q, W = run_text(robot, q, v, options, "float64", tmp_path, monkeypatch)
    near = {"rtol": 0, "atol": 1e-11 * max(1.0, np.abs(expected.v).max())}
    assert np.allclose(Q, expected.q, **near)
    assert np.allclose(task.velocity(Q, W), expected.v, **near)
    if expected.exchanged is not None:
        assert np.allclose(task.exchanged(W), expected.exchanged, rtol=1e-10, atol=1e-10)
    if expected.cost is not None:
        assert np.allclose(task.spent(W), expected.cost, rtol=1e-12, atol=1e-13)
        assert np.abs(expected.cost[:, -1]).min() > 0


def test_float32_is_near_and_rows_that_are_too_long_are_in_local_memory(robots, tmp_path, monkeypatch):
    robot = robots[True]
    rng = np.random.default_rng(3)
    q, v = robot.random_configuration(rng, batch=BATCH), rng.normal(size=(BATCH, robot.nv))
    options = {"noise": lw.Noise(0.3, seed=9), "controller": swaying, "cost": effort}
    expected = lw.simulate(robot, q, v, steps=STEPS, step=STEP, every=EVERY, target="cpu", **options)
    monkeypatch.setattr("linkwise.codegen.cuda.turns_text.CUDA_ROOM", 0)
    task, Q, W = run_text(robot, q, v, options, "float32", tmp_path, monkeypatch)
    single = [x.astype(np.float32) for x in (q, v)]
    driven = lw.simulate(robot, *single, steps=STEPS, step=STEP, every=EVERY, target="cpu", **options)
    for found, others, exact in (
        (Q, driven.q, expected.q),
        (task.velocity(Q, W), driven.v, expected.v),
        (task.spent(W), driven.cost, expected.cost),
    ):
        assert 0 < np.abs(found - exact).max() <= 3.0 * np.abs(others - exact).max()  # the driver's own roundings
    settings = Settings("runge_kutta_4", STEP)
    turns = TurningStepper(task_of(robot, (), settings, np.dtype("float32"), Asked())).programs()
    text = TurnsText(turns, "float32")
    assert text.warp_bytes == 0 and "lw_row[" in text.source and "*const room" not in text.source
