"""Springs of joints on every way a robot is used: machine code, loops, batches, JAX, copies, edits, simulation."""

import copy
import pickle
import re

import numpy as np
import pytest
from sprung import sprung, tree

import linkwise as lw

CALLS = {
    "inverse_dynamics": 3,
    "forward_dynamics": 3,
    "bias_force": 2,
    "spring_force": 2,
    "momentum_force": 2,
    "linearize_inverse": 3,
    "linearize_forward": 3,
    "potential_energy": 1,
}


SPRUNG_KINDS = ["helical", "spherical", "cylindrical", "universal"]


def state(robot, batch=(), seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    q, (v, a) = robot.random_configuration(rng, batch), rng.normal(size=(2, *batch, robot.nv))
    return [x.astype(dtype) for x in (q, v, a)]


def flat(x):
    return [np.asarray(y) for y in x] if isinstance(x, tuple) else [np.asarray(x)]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(("robot", "dtype"), [("kinds", np.float64), ("chain4", np.float32)])
def test_machine_code(name, robot, dtype):
    robot = tree(robot) if robot != "kinds" else sprung(lw.random_tree(4, seed=3, joints=SPRUNG_KINDS))  # one of each
    given = state(robot, (3,), dtype=dtype)[: CALLS[name]]
    found = flat(getattr(robot, name)(*given, target="cpu"))
    expected = flat(getattr(robot, name)(*given, target="numpy"))
    digits = 1e-10 if dtype == np.float64 else 2e-3
    for x, y in zip(found, expected):
        assert x.dtype == y.dtype == dtype
        np.testing.assert_allclose(x, y, atol=digits * np.abs(y).max())


@pytest.mark.parametrize("name", [n for n in CALLS if n not in ("linearize_forward", "potential_energy")])
@pytest.mark.parametrize("kind", ["revolute", "spherical"])
def test_code_that_loops_over_bodies(name, kind):
    robot = sprung(lw.chain(6, joint=kind, seed=2))
    given = state(robot, (2,))[: CALLS[name]]
    found = flat(robot.compile(name, rolled=True)(*given))
    for x, y in zip(found, flat(getattr(robot, name)(*given, target="numpy"))):
        np.testing.assert_allclose(x, y, atol=1e-10 * np.abs(y).max())


def test_code_that_loops_knows_which_joints_have_springs():
    springs = {"joint2": {"stiffness": 3.0}, "joint4": {"stiffness": 5.0, "rest": 0.2}, "joint5": {"damping": 0.7}}
    robot = lw.chain(6, seed=2).with_springs(springs)
    given = state(robot, (2,))
    for name in ("inverse_dynamics", "forward_dynamics", "spring_force"):
        found = robot.compile(name, rolled=True)(*given[: CALLS[name]])
        expected = getattr(robot, name)(*given[: CALLS[name]], target="numpy")
        np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())


def test_what_cannot_loop_says_so():
    with pytest.raises(lw.InputError, match="has springs or dampers in its joints"):
        tree("chain6").compile("linearize_forward", rolled=True)


def test_robots_that_differ_in_a_spring_have_code_of_their_own():
    robots = [lw.chain(2).with_springs({"joint1": {"stiffness": k, "rest": r, "damping": d}})
              for k, r, d in [(1, 0.1, 0.2), (2, 0.1, 0.2), (1, 0.3, 0.2), (1, 0.1, 0.4)]]  # fmt: skip
    q, v = np.array([0.7, 0.1]), np.array([1.0, 0.5])
    found = [r.bias_force(q, v, target="cpu")[0] - lw.chain(2).bias_force(q, v)[0] for r in robots]
    np.testing.assert_allclose(found, [0.6 + 0.2, 1.2 + 0.2, 0.4 + 0.2, 0.6 + 0.4], atol=1e-12)
    assert len({r.fingerprint for r in robots}) == len(set(robots)) == 4


def test_copies_and_files():
    robot = tree("tree")
    q, v, a = state(robot)
    for other in (copy.deepcopy(robot), pickle.loads(pickle.dumps(robot))):
        assert other == robot and other.fingerprint == robot.fingerprint
        assert np.allclose(other.inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a))
    arm = sprung(lw.load("panda"))
    with pytest.warns(lw.ModelWarning, match="other programs will not see the springs of .*panda_joint1"):
        text = arm.to_urdf()
    again = lw.load(text)
    q, v, a = state(arm)
    np.testing.assert_allclose(again.inverse_dynamics(q, v, a), arm.inverse_dynamics(q, v, a), rtol=1e-13)
    assert np.allclose(again.spring_force(q, v), arm.spring_force(q, v))


def test_damping_of_urdf_files_is_data():
    arm = lw.load("double_pendulum").with_springs({"shoulder": {"damping": 0.5}})
    text = arm.to_urdf()
    acting = lw.load(text)
    assert acting.has_springs and acting.damping.tolist() == [0.5, 0.0]
    plain = lw.load(re.sub("<linkwise>.*</linkwise>", "", text, flags=re.DOTALL))
    assert not plain.has_springs and plain.damping.tolist() == [0.5, 0.0]
    assert plain.with_springs(damping_acts=True).spring_force([0.0, 0.0], [2.0, 0.0]).tolist() == [1.0, 0.0]


def test_edits_keep_springs():
    robot = tree("chain6")
    q, v, _ = state(robot)
    held = robot.spring_force(q, v)
    for other in (robot.with_gravity((0, 0, 1)), robot.weld("tip", lw.Inertia.sphere(1.0, 0.1)), robot.merge_fixed()):
        assert np.allclose(other.spring_force(q, v), held)
    assert np.allclose(robot.lock(["joint2"]).spring_force(np.delete(q, 1), np.delete(v, 1)), np.delete(held, 1))
    both = lw.chain(1).attach(robot, "tip", prefix="on_")
    assert np.allclose(both.spring_force(np.append(0, q), np.append(0, v)), np.append(0, held))
    part = robot.subtree("link3")
    assert np.allclose(part.spring_force(q[2:], v[2:]), held[2:])
    assert robot.with_springs({"joint1": {"stiffness": 0.0, "damping": 0.0}}).spring_force(q, v)[0] == 0
    with pytest.raises(lw.InputError, match="stiffness, rest and damping, not stifness"):
        robot.with_springs({"joint1": {"stifness": 1.0}})
    with pytest.raises(lw.UnknownNameError, match="elbow"):
        robot.with_springs({"elbow": {"stiffness": 1.0}})


def test_jax():
    jax = pytest.importorskip("jax")
    robot = sprung(lw.random_tree(2, seed=2, joints=["spherical"]))
    inverse, forward = jax.jit(robot.inverse_dynamics), jax.jit(robot.forward_dynamics)  # or each operation is compiled
    q, v, a = state(robot)
    with jax.enable_x64() if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        x = [jax.numpy.asarray(y) for y in (q, v, a)]
        tau = inverse(*x)
        np.testing.assert_allclose(np.asarray(tau), robot.inverse_dynamics(q, v, a), atol=1e-10)
        np.testing.assert_allclose(np.asarray(forward(x[0], x[1], tau)), a, atol=1e-9)
        slope = jax.jacfwd(lambda v: inverse(x[0], v, x[2]))(x[1])
    np.testing.assert_allclose(np.asarray(slope), robot.linearize_inverse(q, v, a).dv, atol=1e-9)


def test_source_text_has_the_numbers():
    arm = lw.chain(2).with_springs({"joint1": {"stiffness": 1234.5}})
    for target in ("c", "cuda"):
        assert "1234.5" in arm.compile("bias_force", target=target).source


# --- motions -----------------------------------------------------------------------------------------------

METHODS = ("runge_kutta_4", "midpoint", "semi_implicit_euler", "variational")


@pytest.mark.parametrize("method", METHODS)
def test_energy_is_kept_and_what_dampers_take_is_counted(method):
    robot = sprung(lw.random_tree(2, seed=2, joints=["spherical"]))
    q, v, _ = state(robot)
    drift = []
    first = 1e-3 if method == "semi_implicit_euler" else 2e-3  # which damps what springs swing, by its order
    for step in (first, 0.5 * first):
        motion = lw.simulate(robot, q, 0.3 * v, duration=0.1, step=step, method=method, target="cpu")
        assert motion.energy.dissipated[-1] > 0.01
        drift.append(np.abs(motion.energy.drift).max())
    order = {"runge_kutta_4": 4, "semi_implicit_euler": 1}.get(method, 2)
    assert drift[1] < 0.1 and np.log2(drift[0] / drift[1]) == pytest.approx(order, abs=0.35)


@pytest.mark.parametrize("coordinates", ["total", "unnormalized"])
def test_other_coordinates(coordinates):
    robot = tree("chain3")
    q, v, _ = state(robot)
    one = lw.simulate(robot, q, v, duration=0.05, target="cpu")
    other = lw.simulate(robot, q, v, duration=0.05, coordinates=coordinates, target="cpu")
    np.testing.assert_allclose(other.q, one.q, atol=1e-8)
    assert np.abs(other.energy.drift).max() < 1e-6


def test_a_spring_and_a_mass():
    """½kx²: q = x₀ e^{−ζωt}(cos ω_d t + …), against the closed form."""
    k, d, m, rest = 40.0, 0.8, 2.0, 0.1
    joint = lw.Joint(lw.Prismatic("x"), stiffness=k, rest=rest, damping=d)
    robot = lw.assemble("mass", [lw.Body("block", joint, lw.Inertia.point(m))])
    t = lw.simulate(robot, [0.3], duration=2.0)
    decay, w = d / (2 * m), np.sqrt(k / m - (d / (2 * m)) ** 2)
    exact = rest + 0.2 * np.exp(-decay * t.time) * (np.cos(w * t.time) + decay / w * np.sin(w * t.time))
    assert np.abs(t.q[:, 0] - exact).max() < 1e-9
    lost = 0.5 * k * 0.2**2 - t.energy.total[-1]
    assert t.energy.potential[0] == pytest.approx(0.5 * k * 0.2**2) and t.energy.dissipated[-1] == pytest.approx(lost)


def test_sensitivity_of_a_motion():
    robot = tree("chain3")
    q, v, _ = state(robot)
    tau = np.zeros((10, robot.nv))
    change = np.random.default_rng(2).normal(size=robot.inertial_parameters.shape) * 1e-5
    found = lw.trajectory_sensitivity(robot, q, v, tau).dq[-1] @ change.ravel()
    ends = [
        lw.trajectory_sensitivity(robot.with_inertial_parameters(robot.inertial_parameters + s * change), q, v, tau)
        for s in (0.5, -0.5)
    ]
    moved = ends[0].motion.q[-1] - ends[1].motion.q[-1]
    np.testing.assert_allclose(found, moved, atol=1e-5 * np.abs(moved).max())
