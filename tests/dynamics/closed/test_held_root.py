"""Floating robots that loops hold to the world: the tree that grows from there against dense equations."""

import numpy as np
import pytest
from linkages import null_space

import linkwise as lw
from linkwise.dynamics.closed import constraints
from linkwise.dynamics.closed.closures import closures, in_body_axes
from linkwise.dynamics.closed.held_root import best_to_hold
from linkwise.dynamics.links import evaluate

KINDS = ["weld", "revolute", "spherical", "universal", "prismatic"]  # of the last two the rows move on the body


def dense(robot, q, v, tau, external=None):
    """v̇ from 𝓜v̇ + bias = τ + G*λ and Gv̇ + Ġv = 0, by least squares; Ġv by a complex step along the motion."""
    rate = robot.configuration_rate(q, v, target="numpy")
    drift = constraints.velocity(robot, q + 1e-30j * rate, v + 0j, robot.loops).imag / 1e-30
    M, G = robot.mass_matrix(q, target="numpy"), robot.loop_jacobian(q, target="numpy")
    whole = np.block([[M, -G.T], [G, np.zeros((len(G), len(G)))]])
    right = np.concatenate([tau - robot.bias_force(q, v, external=external, target="numpy"), -drift])
    return np.linalg.lstsq(whole, right, rcond=1e-13)[0][: robot.nv]


def near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * (1 + np.abs(expected).max()))


def pinned(robot, q, frames, kind):
    """The frames held where they are at q, each named before the world."""
    loops = []
    for frame in frames:
        R, p = robot.pose(q, frame)
        loops.append(lw.Loop(frame, lw.Frame(f"under_{frame}", None, at=p, rotation=R), kind))
    return robot.close(*loops)


def grows_from_a_foot(robot, q):
    links = evaluate(robot, q)
    found = [in_body_axes(x) for x in closures(robot, links, robot.rigid_loops)]
    return best_to_hold(robot, links, found) is not None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rotors", [False, True])
def test_random_trees_of_all_joints(kind, rotors, rng):
    tree = lw.random_tree(9, seed=5, floating=True, rotors=rotors)
    tips = list(tree.tips)[:2]
    q = tree.random_configuration(rng)
    robot = pinned(tree, q, tips, kind)
    v = null_space(robot.loop_jacobian(q, target="numpy")) @ rng.normal(size=robot.mobility(q))
    tau, external = rng.normal(size=robot.nv), rng.normal(size=(len(robot.bodies), 6))
    expected = dense(robot, q, v, tau, external)
    near(robot.forward_dynamics(q, v, tau, external=external, target="numpy"), expected)
    near(robot.forward_dynamics(q, v, tau, external=external), expected)
    near(robot.forward_dynamics(q, v, tau, external=external, method="composite_cholesky", target="numpy"), expected)


@pytest.mark.parametrize("body_first", [True, False])
def test_states_that_are_open(body_first, rng):
    """Off closed states too it is the same function of q and v, whatever solves it and whichever frame comes first."""
    tree = lw.chain(4, seed=4).floating()
    ends = [tree.tips[0], lw.Frame("ground", None, at=(0.3, -0.2, 0.5), rpy=(0.3, -0.5, 0.8))]
    robot = tree.close(lw.Loop(*(ends if body_first else ends[::-1]), "spherical"))
    q, v, tau = robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    near(
        robot.forward_dynamics(q, v, tau),
        robot.forward_dynamics(q, v, tau, method="composite_cholesky", target="numpy"),
    )


@pytest.mark.parametrize(("name", "kind"), [("quadruped", "spherical"), ("humanoid", "weld"), ("humanoid", "revolute")])
@pytest.mark.parametrize("bend", [0.0, 1e-6, 0.4])
def test_straight_knees_lose_no_digits(name, kind, bend, rng):
    robot = lw.load(name)
    q = robot.neutral()
    for joint, where in zip(robot.joints, robot.q_slices):
        if "knee" in joint.name or "calf" in joint.name:
            q[where] = -bend
    robot = pinned(robot, q, [tip for tip in robot.tips if "foot" in tip or "sole" in tip], kind)
    assert grows_from_a_foot(robot, q)
    v = null_space(robot.loop_jacobian(q, target="numpy")) @ rng.normal(size=robot.mobility(q))
    tau = rng.normal(size=robot.nv)
    near(robot.forward_dynamics(q, v, tau, target="numpy"), dense(robot, q, v, tau))


def test_one_welded_foot_is_a_robot_that_stands_on_it(rng):
    """No row is posed at all; springs and rotors of the leg count, though its joints are crossed the other way."""
    tree = lw.chain(5, seed=2).floating()
    name = tree.joints[3].name
    tree = tree.with_springs({name: {"stiffness": 30.0, "rest": 0.2, "damping": 2.0}})
    q = tree.random_configuration(rng)
    robot = pinned(tree, q, tree.tips, "weld")
    v = null_space(robot.loop_jacobian(q, target="numpy")) @ rng.normal(size=robot.mobility(q))
    tau = rng.normal(size=robot.nv)
    near(robot.forward_dynamics(q, v, tau, target="numpy"), dense(robot, q, v, tau))


def test_rotors_of_the_free_joint_count(rng):
    """MJCF has them where a default armature reaches a free joint."""
    box = lw.Inertia.box(1.0, (0.3, 0.2, 0.1))
    trunk = lw.Body("trunk", lw.Joint(lw.Free(), "float", rotor=lw.Rotor(0.7)), box)
    leg = lw.Body("leg", lw.Joint(lw.Revolute("y"), "hip", at=(0, 0, -0.1)), box, "trunk")
    tree = lw.assemble("armature", [trunk, leg])
    q = tree.random_configuration(rng)
    robot = pinned(tree, q, ["leg"], "spherical")
    v = null_space(robot.loop_jacobian(q, target="numpy")) @ rng.normal(size=robot.mobility(q))
    tau = rng.normal(size=robot.nv)
    near(robot.forward_dynamics(q, v, tau, target="numpy"), dense(robot, q, v, tau))


@pytest.mark.parametrize(("name", "kind", "most"), [("quadruped", "spherical", 5500), ("humanoid", "weld", 7600)])
def test_operations(name, kind, most):
    robot = lw.load(name)
    feet = [tip for tip in robot.tips if "foot" in tip or "sole" in tip]
    closed = pinned(robot, robot.neutral(), feet, kind)
    assert closed.compile("forward_dynamics", target="c").operations.total <= most


def test_operations_of_a_linearised_model():
    robot = lw.load("humanoid")
    feet = [tip for tip in robot.tips if "foot" in tip or "sole" in tip]
    closed = pinned(robot, robot.neutral(), feet, "weld")
    assert closed.compile("linearize_forward", target="c").operations.total <= 75_000


def test_what_a_leg_of_other_joints_does(rng):
    """A leg with a ball joint, a slide and a pin, on a robot that has a second root on the world."""
    links = [
        lw.Body("trunk", lw.Joint(lw.Free(), "float"), lw.Inertia.box(3.0, (0.4, 0.3, 0.2))),
        lw.Body(
            "hip", lw.Joint(lw.Spherical(), "ball", at=(0.1, 0, -0.1)), lw.Inertia.box(0.5, (0.1, 0.1, 0.3)), "trunk"
        ),
        lw.Body(
            "shin", lw.Joint(lw.Prismatic("z"), "slide", at=(0, 0, -0.3)), lw.Inertia.box(0.4, (0.1, 0.1, 0.3)), "hip"
        ),
        lw.Body(
            "arm", lw.Joint(lw.Revolute("y"), "arm", at=(0.2, 0, 0)), lw.Inertia.box(0.3, (0.3, 0.1, 0.1)), "trunk"
        ),
        lw.Body("crane", lw.Joint(lw.Revolute("x"), "crane", at=(0, 2, 0)), lw.Inertia.box(1.0, (0.1, 1.0, 0.1))),
    ]
    frames = [lw.Frame("foot", "shin", at=(0, 0, -0.3)), lw.Frame("hook", "crane", at=(0, 0.4, 0))]
    tree = lw.assemble("odd", links, [*frames, lw.Frame("hand", "arm", at=(0.3, 0, 0))])
    q = tree.random_configuration(rng)
    robot = pinned(tree, q, ["foot"], "spherical")
    p = tree.pose(q, "hand")[1]
    S, s = tree.pose(q, "hook")
    robot = robot.close(lw.Loop("hand", lw.Frame("at_hook", "crane", at=(0, 0.4, 0) + S.T @ (p - s)), "spherical"))
    assert grows_from_a_foot(robot, q)
    v = null_space(robot.loop_jacobian(q, target="numpy")) @ rng.normal(size=robot.mobility(q))
    tau = rng.normal(size=robot.nv)
    expected = dense(robot, q, v, tau)
    near(robot.forward_dynamics(q, v, tau, target="numpy"), expected)
    near(robot.forward_dynamics(q, v, tau), expected)


@pytest.mark.parametrize("kinds", [("weld",), ("weld", "weld"), ("spherical", "weld"), ("weld", "prismatic")])
@pytest.mark.parametrize("closed", [True, False])
def test_linearised_where_welds_hold_the_base(kinds, closed, rng):
    """The base's rows come from a weld: the same derivatives as by differences, in open states too."""
    tree = lw.random_tree(8, seed=5, floating=True)
    q = tree.random_configuration(rng)
    robot = tree
    for tip, kind in zip(tree.tips, kinds):
        robot = pinned(robot, q, [tip], kind)
    v, tau = rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    if closed:
        G = robot.loop_jacobian(q, target="numpy")
        v = v - np.linalg.pinv(G) @ (G @ v)
    else:
        q = robot.integrate(q, 0.1 * rng.normal(size=robot.nv))
    by_tau, by_v, by_q = robot.linearize_forward(q, v, tau, target="numpy")
    d, h = rng.normal(size=robot.nv), 1e-4

    def slope(f):
        return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)

    def moved(q, v, tau):
        return robot.forward_dynamics(q, v, tau, target="numpy")

    for matrix, f in (
        (by_tau, lambda t: moved(q, v, tau + t * d)),
        (by_v, lambda t: moved(q, v + t * d, tau)),
        (by_q, lambda t: moved(robot.integrate(q, t * d), v, tau)),
    ):
        expected = slope(f)
        np.testing.assert_allclose(matrix @ d, expected, rtol=0, atol=1e-7 * (1 + np.abs(expected).max()))
    np.testing.assert_allclose(robot.mass_matrix_inverse(q), by_tau, rtol=0, atol=1e-9 * (1 + np.abs(by_tau).max()))
