"""lw.simulate_vjp: gradients of motions on NumPy's arrays, beside differences of the motion and those of JAX."""

import numpy as np
import pytest
from numpy_as_cupy import use_numpy_as_cupy
from trees import assert_close, derivative

import linkwise as lw

STEPS = 4
FRAME = {"step": 0.02, "every": 2}


def servo(robot, t, q, v, *, stiffness, damping):
    return robot.gravity_force(q) - stiffness * np.sin(q[..., -robot.nv :]) - damping * v


def law(robot, t, q, v):
    return -3.0 * v + t


CASES = {
    "runge_kutta_4": {"tau": (2, STEPS)},
    "midpoint": {"tau": (STEPS,), "method": "midpoint"},
    "semi_implicit_euler": {"tau": (2, STEPS), "method": "semi_implicit_euler"},
    "parameters": {"inertial": True, "method": "midpoint"},
    "a controller": {"controller": law, "method": "midpoint"},
    "a controller, held": {"controller": law, "method": "midpoint", "hold": True},
    "pushes on frames": {"external": "frames", "method": "semi_implicit_euler"},
    "pushes on all bodies": {"external": "bodies", "method": "semi_implicit_euler"},
    "friction and stops": {"friction": 0.3, "damping": 0.2, "limits": (-0.3, 0.3), "method": "midpoint"},
}


def given(robot, case, rng):
    """Arguments by name."""
    options = {"steps": STEPS, **FRAME, **CASES[case]}
    found = {"q0": robot.random_configuration(rng, batch=2), "v0": rng.normal(size=(1, robot.nv))}
    if "tau" in options:
        found["tau"] = rng.normal(size=(*options.pop("tau"), robot.nv))
    if options.pop("inertial", False):
        found["parameters"] = {"inertial": robot.inertial_parameters}
    if "external" in options:
        frames = {robot.tips[-1]: rng.normal(size=(2, 6)), robot.bodies[0].name: rng.normal(size=6)}
        bodies = rng.normal(size=(len(robot.bodies), 6))
        found["external"] = frames if options.pop("external") == "frames" else bodies
    return found, options


def apart(x):
    """The arrays of nested mappings, in order."""
    return [y for part in x.values() for y in apart(part)] if isinstance(x, dict) else [x]


def moved(x, d, t):
    return {k: moved(y, d[k], t) for k, y in x.items()} if isinstance(x, dict) else x + t * d


def directions(robot, x, rng, name=""):
    if isinstance(x, dict):
        return {k: directions(robot, y, rng, k) for k, y in x.items()}
    if name == "inertial":  # bodies that grow stay bodies
        return x * rng.normal(size=(len(robot.bodies), 1))
    return rng.normal(size=x.shape)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_slopes_are_those_of_the_motion(case, floating):
    """By differences of sixth order along random directions of all arguments at once."""
    if floating and case == "friction and stops":
        pytest.skip("limits of joints with quaternions are none")
    robot = lw.random_tree(2, seed=3, floating=floating, joints=["revolute"])
    rng = np.random.default_rng(1)
    arguments, options = given(robot, case, rng)
    run, back = lw.simulate_vjp(robot, **arguments, **options)
    plain = lw.simulate(robot, **arguments, **options)
    assert np.array_equal(run.time, plain.time)
    for x, y in ((run.q, plain.q), (run.v, plain.v), (run.tau, plain.tau)):
        assert_close(x, y, 1e-12)
    weights = [rng.normal(size=x.shape) for x in (run.q, run.v)]
    slopes = back(*weights)
    assert list(slopes) == list(arguments)
    assert [x.shape for x in apart(slopes)] == [x.shape for x in apart(arguments)]
    along = directions(robot, arguments, rng)

    def value(t):
        found = lw.simulate(robot, **moved(arguments, along, t), **options)
        return sum((w * x).sum() for w, x in zip(weights, (found.q, found.v)))

    inner = sum((x * y).sum() for x, y in zip(apart(slopes), apart(along)))
    assert_close(inner, derivative(value, 1e-3), 1e-7)
    halves = [back(weights[0]), back(dv=weights[1])]
    for x, *parts in zip(apart(slopes), *map(apart, halves)):
        assert_close(sum(parts), x, 1e-11)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_they_are_what_jax_gives():
    """Gains of a controller among them, and a start whose quaternions are of no unit length."""
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    robot = lw.random_tree(2, seed=2, joints=["spherical"])
    rng = np.random.default_rng(0)
    q = 1.3 * robot.random_configuration(rng, batch=3)
    parameters = {"inertial": robot.inertial_parameters, "stiffness": rng.normal(size=(3, robot.nv)), "damping": 0.3}
    options = {"method": "midpoint", "steps": STEPS, **FRAME}

    def cost(q, parameters):
        run = lw.simulate(robot, q, controller=servo, parameters=parameters, **options)
        return (run.q**2).sum() + (run.v**3).sum()

    try:
        there = [jax.numpy.asarray(q), jax.tree.map(jax.numpy.asarray, parameters)]
        expected = jax.grad(cost, (0, 1))(*there)
    finally:
        jax.config.update("jax_enable_x64", before)
    run, back = lw.simulate_vjp(robot, q, controller=servo, parameters=parameters, **options)
    slopes = back(2 * run.q, 3 * run.v**2)
    assert_close(slopes["q0"], np.asarray(expected[0]), 1e-12)
    assert slopes["v0"].shape == (robot.nv,)
    for name, x in slopes["parameters"].items():
        assert_close(x, np.asarray(expected[1][name]), 1e-12)


def test_one_precision_and_one_state():
    robot = lw.chain(2, seed=1)
    q, tau = np.array([0.1, 0.2], np.float32), np.ones((3, 2), np.float32)
    run, back = lw.simulate_vjp(robot, q, tau=tau, method="midpoint")
    slopes = back(np.ones((4, 2)))
    assert {x.dtype for x in (run.q, *apart(slopes))} == {np.dtype("float32")}
    exact = lw.simulate_vjp(robot, q.astype(float), tau=tau.astype(float), method="midpoint")[1](np.ones((4, 2)))
    assert_close(slopes["tau"], exact["tau"], 1e-5)
    assert slopes["q0"].shape == (2,) and run.q.shape == (4, 2)
    none = lw.simulate_vjp(robot, np.zeros((0, 2)), tau=tau, method="midpoint")[1](np.zeros((0, 4, 2)))
    assert none["q0"].shape == (0, 2) and not none["tau"].any()


HELD = ["runge_kutta_4", "parameters", "pushes on frames", "pushes on all bodies"]


def mapped(make, x):
    return {k: mapped(make, y) for k, y in x.items()} if isinstance(x, dict) else make(x)


@pytest.mark.parametrize("case", HELD)
@pytest.mark.parametrize("library", ["numpy", "cupy"])
def test_the_way_back_is_that_of_the_motion_whatever_becomes_of_arrays(library, case, monkeypatch):
    """A step of descent, x -= rate * slope, must not change what a second look gives; nor a change of the record."""
    asarray = np.array if library == "numpy" else use_numpy_as_cupy(monkeypatch).array
    robot = lw.random_tree(2, seed=3, floating=True, joints=["revolute"])
    arguments, options = given(robot, case, np.random.default_rng(1))
    mine = mapped(asarray, arguments)
    run, back = lw.simulate_vjp(robot, **mine, **options)
    weights = [np.ones(x.shape) for x in (run.q, run.v)]
    found = apart(back(*weights))
    first = [x.copy() for x in found]
    for x in (*apart(mine), *found, run.q, run.v, *run.parameters.values()):
        x += 0.5
    for x, y in zip(first, apart(back(*weights))):
        assert_close(x, y, 1e-12)


def test_torch_itself_refuses_tensors_that_were_changed():
    torch = pytest.importorskip("torch")
    q = torch.zeros(3, 2, dtype=torch.float64, requires_grad=True)
    tau = torch.ones(3, STEPS, 2, dtype=torch.float64)
    run = lw.simulate(lw.chain(2, seed=1), q, tau=tau, method="midpoint")
    tau += 1.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        run.q.sum().backward()


def test_a_gain_of_numpy_among_tensors_is_that_of_the_motion():
    """One without axes, which torch would share, and could not see change."""
    torch = pytest.importorskip("torch")
    q, damping = torch.zeros(2, dtype=torch.float64, requires_grad=True), np.array(2.0)
    parameters = {"stiffness": np.array(3.0), "damping": damping}
    options = {"controller": servo, "parameters": parameters, "steps": STEPS, "method": "midpoint"}
    run = lw.simulate(lw.chain(2, seed=1), q, [1.0, 2.0], step=0.02, **options)
    (first,) = torch.autograd.grad(run.q.sum(), q, retain_graph=True)
    damping += 50.0
    (again,) = torch.autograd.grad(run.q.sum(), q)
    assert np.array_equal(first, again)


@pytest.mark.parametrize("lost", [np.nan, 1e200])
def test_motions_that_are_lost_are_nan_and_leave_the_others(lost):
    robot = lw.chain(2, seed=1)
    q, v = np.full((3, 2), 0.1), np.zeros((3, 2))
    options = {"steps": STEPS, "method": "midpoint"}
    run, back = lw.simulate_vjp(robot, q, v, **options)
    slopes = back(np.ones(run.q.shape))
    v[1] = lost
    after, back = lw.simulate_vjp(robot, q, v, **options)
    found = back(np.ones(run.q.shape))
    assert np.isnan(after.q[1, -1]).all() and np.isnan(found["q0"][1]).all() and np.isnan(found["v0"][1]).all()
    for x, y in ((after.q, run.q), (found["q0"], slopes["q0"]), (found["v0"], slopes["v0"])):
        assert_close(x[[0, 2]], y[[0, 2]], 1e-12)


def test_a_joint_that_nothing_resists_is_named():
    """On NumPy, as by lw.simulate; on cards, where nobody looks, such a state is NaN."""
    robot = lw.chain(2, seed=1)
    inertial = np.repeat(robot.inertial_parameters[None], 3, axis=0)
    inertial[1] = 0.0
    with pytest.raises(lw.SimulationError, match="nothing resists the joint of body 'link2'"):
        lw.simulate_vjp(robot, np.zeros((3, 2)), parameters={"inertial": inertial}, steps=2, method="midpoint")


def test_what_is_refused_is_named():
    robot = lw.chain(2, seed=1)
    q = np.zeros(2)
    for options, said in (
        ({"method": "rk45"}, "are those of semi_implicit_euler, midpoint, runge_kutta_4, got 'rk45'; by that method"),
        ({"method": "variational"}, "got 'variational'"),
        ({"method": "two_sweep"}, "got 'two_sweep'; by that method lw.simulate gives the motion alone"),
        ({"controller": lambda t, q, v: np.linalg.svd(np.outer(q, v))[1]}, "compiled in"),
        ({"tau": np.zeros((3, 3))}, "tau"),
        ({"parameters": {"mass": q}}, "mass"),
        ({"parameters": q}, "named arrays"),
        ({"parameters": {"inertial": np.array([None])}}, "must be real numbers"),
        ({"external": {}}, "empty mapping"),
    ):
        with pytest.raises(lw.InputError, match=said):
            lw.simulate_vjp(robot, q, **{"steps": None if "tau" in options else 2, **options})
    run, back = lw.simulate_vjp(robot, q, steps=2, method="midpoint")
    for weights, said in (((np.zeros((2, 2)),), r"dq must have shape \(3, 2\)"), ((None, "x"), "dv must be real")):
        with pytest.raises(lw.InputError, match=said):
            back(*weights)
    with pytest.raises(lw.InputError, match="by lw.simulate_vjp"):
        _ = run.energy
    torch = pytest.importorskip("torch")
    with pytest.raises(lw.InputError, match="carry gradients"):
        lw.simulate_vjp(robot, torch.zeros(2), steps=2)
