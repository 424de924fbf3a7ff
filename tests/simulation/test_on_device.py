"""Motions on a graphics card beside those of the CPU's driver.

Runs where there is a card and CuPy: python -m pytest tests/simulation/test_on_device.py. The kernel's text runs on the
host in tests/codegen/cuda/test_turns_text.py.
"""

from functools import partial

import numpy as np
import pytest
from kernel_motions import effort, push, swaying

import linkwise as lw
from linkwise.simulation import on_arrays
from linkwise.simulation.motion_derivatives import Motions

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
try:
    cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError:
    pytest.skip("no CUDA device here", allow_module_level=True)

STEPS, EVERY, STEP, BATCH = 12, 4, 2e-3, 77


@pytest.fixture(autouse=True)
def as_users_have_it(monkeypatch):
    monkeypatch.delenv("LINKWISE_TARGET", raising=False)


CASES = {
    "free fall": {},
    "semi-implicit": {"method": "semi_implicit_euler"},
    "midpoint": {"method": "midpoint"},
    "a table": {"table": (BATCH,)},
    "a table for all, and noise": {"table": (), "noise": lw.Noise(0.3, seed=5)},
    "a controller": {"controller": swaying, "implicit": False},
    "a controller, taken at the end": {"controller": swaying},
    "a controller that holds, and noise": {"controller": swaying, "hold": True, "noise": lw.Noise(0.2, seed=2**40)},
    "pushes": {"external": push},
    "a constant push": {"external": "tip"},
    "a cost": {"table": (), "cost": effort},
    "friction and a cost": {"friction": 0.3, "damping": 0.1, "cost": effort},
    "parameters": {"parameters": True, "table": (BATCH,)},
    "total rates": {"coordinates": "total"},
    "two sweeps": {"method": "two_sweep", "coordinates": "unnormalized"},
    "variational": {"method": "variational"},
}


def made(robot, case, to_card):
    """Options of a case, for NumPy and for the card."""
    rng = np.random.default_rng(1)
    options = dict(CASES[case])
    arrays = {}
    if "table" in options:
        arrays["tau"] = rng.normal(size=(*options.pop("table"), STEPS, robot.nv))
    if "parameters" in options:
        arrays["parameters"] = {"inertial": robot.inertial_parameters * rng.uniform(1.0, 1.1, (BATCH, 1, 1))}
    if options.get("external") == "tip":
        arrays["external"] = {robot.tips[-1]: rng.normal(size=(BATCH, 6))}
    there = {k: {n: to_card(y) for n, y in x.items()} if isinstance(x, dict) else to_card(x) for k, x in arrays.items()}
    return options | arrays, options | there


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_motions_are_those_of_the_cpu(case, floating):
    robot = lw.random_tree(3, seed=4, floating=floating)
    rng = np.random.default_rng(0)
    q, v = robot.random_configuration(rng, batch=BATCH), rng.normal(size=(BATCH, robot.nv))
    here, there = made(robot, case, cupy.asarray)
    same = {"steps": STEPS, "step": STEP, "every": EVERY}
    if "parameters" in here:
        pytest.importorskip("llvmlite", reason="parameters per state run on the CPU as machine code alone")
    if case == "variational":  # custom joints have no such step
        robot = lw.random_tree(3, seed=4, floating=floating, joints=["revolute", "spherical", "prismatic"])
        q, v = robot.random_configuration(rng, batch=BATCH), rng.normal(size=(BATCH, robot.nv))
    expected = lw.simulate(robot, q, v, target="cpu" if "parameters" in here else "numpy", **same, **here)
    found = lw.simulate(robot, cupy.asarray(q), cupy.asarray(v), **same, **there)
    assert all(isinstance(x, cupy.ndarray) for x in (found.q, found.v)) and found.q.shape == expected.q.shape
    scale = max(1.0, np.abs(expected.v).max())
    for name in ("q", "v", "cost", "exchanged"):
        a, b = getattr(found, name), getattr(expected, name)
        assert (a is None) == (b is None)
        if b is not None:
            assert np.abs(cupy.asnumpy(a) - b).max() <= 1e-10 * scale * scale, name
    assert np.abs(cupy.asnumpy(found.tau) - expected.tau).max() <= 1e-10 * scale * 10
    if not found.settings.passive.active:
        assert np.abs(cupy.asnumpy(found.a) - expected.a).max() <= 1e-9 * np.abs(expected.a).max()
    back = found.to_numpy()
    assert np.abs(back.energy.total - expected.energy.total).max() <= 1e-9 * max(
        1.0, np.abs(expected.energy.total).max()
    )
    assert np.abs(cupy.asnumpy(found[1:].tau) - expected[1:].tau).max() <= 1e-10 * scale * 10
    assert np.allclose(cupy.asnumpy(found.state(5).q), expected.state(5).q)


def test_the_arm_in_float32_and_odd_batches():
    robot = lw.load("panda")
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, batch=1009).astype("float32")
    expected = lw.simulate(robot, q.astype(float), steps=50, step=1e-3, every=50, target="numpy")
    driven = lw.simulate(robot, q, steps=50, step=1e-3, every=50, target="numpy")
    for batch in (0, 1, 31, 33, 1009, 100_003):
        places = np.arange(batch) % 1009
        found = lw.rollout(robot, cupy.asarray(q[places]), steps=50, step=1e-3, every=50)
        assert found.q.dtype == np.float32 and found.q.shape == (batch, 2, 7)
        for a, b, exact in ((found.q, driven.q, expected.q), (found.v, driven.v, expected.v)):
            own = np.abs(b - exact).max()
            assert not batch or np.abs(cupy.asnumpy(a) - exact[places]).max() <= 3 * own
    one = lw.simulate(robot, cupy.asarray(q[0]), steps=50, every=50)
    assert one.q.shape == (2, 7) and np.abs(cupy.asnumpy(one.q) - expected.q[0]).max() < 1e-4


def test_tensors_stay_tensors():
    torch = pytest.importorskip("torch")
    robot = lw.load("ur5")
    rng = np.random.default_rng(0)
    q, v = rng.normal(size=(2, 4, 5, 6))
    tau = rng.normal(size=(20, 6))
    expected = lw.rollout(robot, q, v, tau, every=5, cost=effort, noise=lw.Noise(0.1), target="numpy")
    x = [torch.tensor(y, device="cuda") for y in (q, v, tau)]
    found = lw.rollout(robot, *x, every=5, cost=effort, noise=lw.Noise(0.1))
    assert found.q.device.type == "cuda" and found.q.shape == (4, 5, 5, 6)
    for name in ("q", "v", "cost", "tau", "a"):
        a, b = getattr(found, name).cpu().numpy(), getattr(expected, name)
        assert np.abs(a - b).max() <= 1e-9 * max(1.0, np.abs(b).max()), name
    assert isinstance(found.to_numpy().q, np.ndarray)


@pytest.mark.parametrize("method", ["runge_kutta_4", "midpoint", "semi_implicit_euler"])
def test_gradients_of_motions(method):
    """By differences, of first and second order; the motion is that without gradients."""
    torch = pytest.importorskip("torch")
    robot = lw.random_tree(2, seed=4, floating=method == "midpoint", joints=["revolute"])
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, batch=2)
    given = [q, rng.normal(size=(2, robot.nv)), rng.normal(size=(2, 3, robot.nv)), robot.inertial_parameters.ravel()]
    x = [torch.tensor(y, device="cuda", requires_grad=True) for y in given]

    def run(q, v, tau, inertial):
        parameters = {"inertial": inertial}
        found = lw.simulate(robot, q, v, tau=tau, step=0.01, method=method, parameters=parameters)
        return found.q, found.v

    with torch.no_grad():
        plain = run(*x)
    found = run(*x)
    assert found[0].device.type == "cuda" and found[0].requires_grad
    assert all(torch.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in zip(found, plain))
    assert torch.autograd.gradcheck(run, x, check_forward_ad=method == "midpoint", nondet_tol=0.0)
    if method == "semi_implicit_euler":
        assert torch.autograd.gradgradcheck(run, x)


def test_gradients_of_the_arm_are_those_of_the_cpu():
    """In float32 to roundings of it, from checkpoints as well."""
    torch = pytest.importorskip("torch")
    robot = lw.load("panda")
    rng = np.random.default_rng(0)
    q, v, tau = robot.random_configuration(rng, batch=65), rng.normal(size=(65, 7)), rng.normal(size=(65, 40, 7))

    def slopes(dtype, kept):
        x = [torch.tensor(y, device="cuda", dtype=dtype, requires_grad=True) for y in (q, v, tau)]
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(on_arrays, "Motions", partial(Motions, kept=kept))
            run = lw.rollout(lw.load("panda"), *x, step=1e-3, every=10)
        return [y.cpu() for y in torch.autograd.grad((run.q**2).sum() + (run.v**2).sum(), x)]

    exact = slopes(torch.float64, 2**28)
    for a, b, c in zip(exact, slopes(torch.float64, 0), slopes(torch.float32, 2**28)):
        assert torch.allclose(a, b, rtol=1e-11, atol=1e-11 * float(a.abs().max()))
        assert torch.allclose(a, c.double(), rtol=0, atol=1e-4 * float(a.abs().max()))


def test_loops_and_couplings_move_there():
    from coupled import coupled_robot

    robot = coupled_robot()
    q = robot.random_configuration(np.random.default_rng(0), batch=9)
    expected = lw.simulate(robot, q, steps=8, target="numpy")
    assert np.abs(cupy.asnumpy(lw.simulate(robot, cupy.asarray(q), steps=8).q) - expected.q).max() < 1e-12


def test_what_is_refused_is_named():
    robot = lw.load("double_pendulum")
    q = cupy.asarray([[0.1, 0.2]])
    for options, said in (
        ({"method": "rk45"}, "rk45"),
        ({"events": [lambda t, q, v: q[..., 0]]}, "events"),
        ({"checkpoint": "x"}, "checkpoint"),
        ({"callback": True}, "callback"),
        ({"target": "numpy"}, "target"),
        ({"tau": np.zeros((3, 2))}, "several libraries"),
        ({"tau": cupy.zeros((3, 2)), "steps": 4}, "one row per step"),
    ):
        with pytest.raises(lw.InputError, match=said):
            lw.simulate(robot, q, **{"steps": None if "tau" in options else 3, **options})
    with pytest.warns(lw.SlowPathWarning), pytest.raises(lw.InputError, match="run on symbols"):
        lw.simulate(robot, q, controller=lambda t, q, v: float(q[0]) * v, steps=3)
    with pytest.raises(lw.SimulationError, match="state 1"):
        lw.simulate(robot, cupy.asarray([[0.1, 0.2], [np.nan, 0.0]]), steps=3)
    lost = lw.simulate(robot, cupy.asarray([[0.1, 0.2], [np.nan, 0.0]]), steps=3, check=False)
    assert bool(cupy.isfinite(lost.q[0]).all()) and not bool(cupy.isfinite(lost.q[1, 1:]).any())
    with pytest.raises(lw.InputError, match="to_numpy"):
        _ = lw.simulate(robot, q, steps=3).energy
