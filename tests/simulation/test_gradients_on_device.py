"""Gradients of motions on a graphics card for arrays of CuPy and JAX; those of PyTorch are in test_on_device.py.

Runs where there is a card and CuPy: python -m pytest tests/simulation/test_gradients_on_device.py. The kernels' text
runs on the host in test_card_gradients.py and test_card_motions_of_jax.py.
"""

from functools import partial

import numpy as np
import pytest

import linkwise as lw
from linkwise.simulation import on_arrays
from linkwise.simulation.motion_derivatives import Motions

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
try:
    cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError:
    pytest.skip("no CUDA device here", allow_module_level=True)

STEPS, BATCH, FRAME = 6, 33, {"step": 5e-3, "every": 2}


@pytest.fixture(autouse=True)
def as_users_have_it(monkeypatch):
    monkeypatch.delenv("LINKWISE_TARGET", raising=False)


@pytest.fixture
def jax():
    found = pytest.importorskip("jax")
    if not any(d.platform == "gpu" for d in found.devices()):
        pytest.skip("JAX sees no card")
    before = found.config.jax_enable_x64
    found.config.update("jax_enable_x64", True)
    yield found
    found.config.update("jax_enable_x64", before)


def servo(robot, t, q, v, *, stiffness):
    return -stiffness * v + np.sin(3.0 * t)


def push(robot, t, q, v):
    return {robot.tips[-1]: np.array([0.0, 0.0, 0.0, 2.0 * np.cos(30.0 * t), 1.0, 0.0])}


CASES = {
    "runge_kutta_4": {"tau": (BATCH, STEPS)},
    "midpoint": {"tau": (STEPS,), "method": "midpoint"},
    "semi_implicit_euler": {"tau": (BATCH, STEPS), "method": "semi_implicit_euler"},
    "taken at the end": {"damping": 0.5, "friction": lw.Friction(0.2, speed=0.3)},  # slow enough for differences
    "gains": {"controller": servo, "gains": True, "method": "midpoint"},
    "held gains": {"controller": servo, "gains": True, "hold": True},
    "parameters": {"inertial": True, "method": "midpoint"},
    "a constant push": {"push": True},
    "pushes": {"external": push, "method": "midpoint"},
}


def arguments(robot, case):
    options, rng = {"steps": STEPS, **FRAME, **CASES[case]}, np.random.default_rng(1)
    found = {"q0": robot.random_configuration(rng, batch=BATCH), "v0": rng.normal(size=(BATCH, robot.nv))}
    if "tau" in options:
        found["tau"] = rng.normal(size=(*options.pop("tau"), robot.nv))
    if options.pop("inertial", False):
        found["parameters"] = {"inertial": robot.inertial_parameters * rng.uniform(1.0, 1.1, (BATCH, 1, 1))}
    if options.pop("gains", False):
        found["parameters"] = {"stiffness": rng.uniform(1.0, 2.0, robot.nv)}
    if options.pop("push", False):
        found["external"] = {robot.tips[-1]: rng.normal(size=(BATCH, 6))}
    return found, options


def mapped(make, x):
    return {k: mapped(make, y) for k, y in x.items()} if isinstance(x, dict) else make(x)


def apart(x):
    """The arrays of nested mappings, by their names' order, in which JAX gives gradients."""
    return [y for _, part in sorted(x.items()) for y in apart(part)] if isinstance(x, dict) else [x]


def moved(x, d, t):
    return {k: moved(y, d[k], t) for k, y in x.items()} if isinstance(x, dict) else x + t * d


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_of_cupy(case, floating):
    """Beside differences of sixth order of the motion, on the card, and from checkpoints."""
    robot = lw.random_tree(2, seed=3, floating=floating, joints=["revolute", "spherical"])
    given, options = arguments(robot, case)
    rng = np.random.default_rng(2)
    there = mapped(cupy.asarray, given)
    run, back = lw.simulate_vjp(robot, **there, **options)
    assert isinstance(run.q, cupy.ndarray) and run.q.shape == (BATCH, STEPS // 2 + 1, robot.nq)
    weights = [cupy.asarray(rng.normal(size=x.shape)) for x in (run.q, run.v)]
    slopes = back(*weights)
    held = mapped(lambda x: x.copy(), there)
    for x in apart(there):
        x += 0.5
    for x, y in zip(apart(back(*weights)), apart(slopes)):  # of the motion that was made, whatever became of its inputs
        assert float(abs(x - y).max()) <= 1e-12 * max(1.0, float(abs(y).max()))
    there = held
    assert [x.shape for x in apart(slopes)] == [x.shape for x in apart(there)]
    assert all(isinstance(x, cupy.ndarray) for x in apart(slopes))
    along = mapped(lambda x: cupy.asarray(rng.normal(size=x.shape)), given)
    if "inertial" in along.get("parameters", {}):  # bodies that grow stay bodies
        along["parameters"]["inertial"] = there["parameters"]["inertial"] * rng.normal()

    def value(t):
        found, _ = lw.simulate_vjp(robot, **moved(there, along, t), **options)
        return float(sum((w * x).sum() for w, x in zip(weights, (found.q, found.v))))

    h, parts = 1e-3, ((1, 45.0), (2, -9.0), (3, 1.0))
    slope = sum(c * (value(k * h) - value(-k * h)) for k, c in parts) / (60.0 * h)
    inner = float(sum((x * y).sum() for x, y in zip(apart(slopes), apart(along))))
    assert abs(inner - slope) <= 1e-7 * max(1.0, abs(slope))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(on_arrays, "Motions", partial(Motions, kept=0))
        other = lw.random_tree(2, seed=3, floating=floating, joints=["revolute", "spherical"])
        again = lw.simulate_vjp(other, **there, **options)[1](*weights)
    for x, y in zip(apart(again), apart(slopes)):
        assert float(abs(x - y).max()) <= 1e-11 * max(1.0, float(abs(y).max()))


@pytest.mark.parametrize("case", CASES)
def test_of_jax(case, jax):
    """The motion of CuPy, and its gradients, under jit and vmap."""
    robot = lw.random_tree(2, seed=3, joints=["revolute", "spherical"])
    given, options = arguments(robot, case)
    run, back = lw.simulate_vjp(robot, **mapped(cupy.asarray, given), **options)
    expected = back(2.0 * run.q, 3.0 * run.v**2)

    def cost(x):
        found = lw.simulate(robot, **x, **options)
        return (found.q**2).sum() + (found.v**3).sum()

    there = mapped(jax.numpy.asarray, given)
    found = lw.simulate(robot, **there, **options)
    assert found.q.devices().pop().platform == "gpu"
    for x, y in ((found.q, run.q), (found.v, run.v), (found.tau, run.tau)):
        assert np.abs(np.asarray(x) - y.get()).max() <= 1e-11 * max(1.0, float(abs(y).max()))
    whole = jax.jit(jax.grad(cost))(there)
    batched = dict.fromkeys(("q0", "v0"), 0)
    axes = {k: batched.get(k, mapped(lambda x: 0 if x.shape[0] == BATCH else None, x)) for k, x in there.items()}
    single = jax.vmap(jax.grad(cost), in_axes=(axes,))(there)
    for x, y, z in zip(apart(whole), apart(expected), apart(single)):
        near = 1e-10 * max(1.0, float(abs(y).max()))
        assert np.abs(np.asarray(x) - y.get()).max() <= near
        if x.shape[:1] == (BATCH,):
            assert np.abs(np.asarray(z) - y.get()).max() <= near


def test_of_jax_of_second_order_and_in_float32(jax):
    from jax.test_util import check_grads

    robot = lw.chain(2, seed=1)
    rng = np.random.default_rng(0)
    q, tau = (jax.numpy.asarray(rng.normal(size=s)) for s in ((3, 2), (4, 2)))
    end = lambda q, tau: lw.simulate(robot, q, tau=tau, method="midpoint", step=0.02).q
    check_grads(end, (q, tau), order=2)
    exact = jax.grad(lambda *x: (end(*x) ** 2).sum())(q, tau)
    found = jax.grad(lambda *x: (end(*x) ** 2).sum())(q.astype("float32"), tau.astype("float32"))
    assert found.dtype == np.float32 and np.abs(np.asarray(found - exact)).max() <= 1e-5


def test_the_arm_by_all_libraries(jax):
    """In float32 to roundings of it; odd batches, and a state that is lost leaves the others as they are."""
    torch = pytest.importorskip("torch")
    robot = lw.load("panda")
    rng = np.random.default_rng(0)
    for batch in (0, 1, 130):
        q, tau = robot.random_configuration(rng, batch=batch), rng.normal(size=(20, 7))
        exact = lw.simulate_vjp(robot, cupy.asarray(q), tau=cupy.asarray(tau), every=5)
        slopes = exact[1](exact[0].q)
        single = lw.simulate_vjp(robot, cupy.asarray(q, "float32"), tau=cupy.asarray(tau, "float32"), every=5)
        near = single[1](single[0].q)
        t = [torch.tensor(x, device="cuda", requires_grad=True) for x in (q, tau)]
        (0.5 * (lw.simulate(robot, t[0], tau=t[1], every=5).q ** 2)).sum().backward()
        for k, x in zip(("q0", "tau"), t):
            scale = float(abs(slopes[k]).max()) if slopes[k].size else 1.0
            if slopes[k].size:
                assert float(abs(near[k] - slopes[k]).max()) <= 1e-4 * max(scale, 1e-3)
                assert np.abs(x.grad.cpu().numpy() - slopes[k].get()).max() <= 1e-11 * max(scale, 1.0)
    q[4] = np.nan
    lost = lw.simulate_vjp(robot, cupy.asarray(q), tau=cupy.asarray(tau), every=5)
    found = lost[1](lost[0].q)["q0"].get()
    rest = np.arange(len(q)) != 4
    assert np.isnan(found[4]).all() and np.array_equal(found[rest], slopes["q0"].get()[rest])


def test_a_state_in_which_nothing_resists_a_joint_is_nan():
    """On arrays of NumPy the call is refused; a card looks at no values."""
    robot = lw.chain(2, seed=1)
    inertial = cupy.repeat(cupy.asarray(robot.inertial_parameters)[None], 3, axis=0)
    inertial[1] = 0.0
    options = {"parameters": {"inertial": inertial}, "steps": 4, "method": "midpoint"}
    run, back = lw.simulate_vjp(robot, cupy.zeros((3, 2)), **options)
    slopes = back(cupy.ones(run.q.shape))
    assert cupy.isnan(run.q[:, -1]).all(-1).get().tolist() == [False, True, False]
    assert cupy.isnan(slopes["q0"]).all(-1).get().tolist() == [False, True, False]
