"""Springs and dampers of joints in every algorithm that has forces, on all joint kinds and on random trees."""

import numpy as np
import pytest
import trees
from linkages import four_bar, four_bar_state, open_four_bar
from sprung import sprung, tree

import linkwise as lw
from linkwise.model.joints.kinds import JointKind

SOFT = [name for name in trees.KINDS if name not in ("custom_ball", "custom_skate", "custom_four")]
ROBOTS = [*SOFT, *trees.TREES]
STEP = 1e-30


def state(robot, seed=0):
    rng = np.random.default_rng(seed)
    return robot.random_configuration(rng), *rng.normal(size=(3, robot.nv))


def by_complex_step(robot, function, q):
    """Derivatives along every direction of the tangent, last axis."""
    moved = robot.integrate(np.tile(q + 0j, (robot.nv, 1)), 1j * STEP * np.eye(robot.nv), target="numpy")
    return np.moveaxis(np.asarray(function(moved)).imag / STEP, 0, -1)


def close(found, expected, scale=None):
    size = max(1.0, float(np.abs(expected).max())) if scale is None else scale
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * size)


# --- one joint at a time ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ROBOTS)
def test_forces_are_the_slope_of_the_energy(name):
    robot = tree(name)
    q, v, _, _ = state(robot)
    slope = by_complex_step(robot, lambda x: robot.potential_energy(x, target="numpy"), q)
    close(robot.bias_force(q, 0 * v), slope)
    held = robot.spring_force(q, v) - robot.spring_force(q, 0 * v)
    close(held, robot.damping * v)


def test_a_hinge_and_a_slider_by_hand():
    hinge = lw.Joint(lw.Revolute("y"), "hinge", stiffness=3.0, rest=0.2, damping=0.5)
    slide = lw.Joint(lw.Prismatic("x"), "slide", stiffness=7.0)
    bodies = [lw.Body("a", hinge, lw.Inertia.sphere(1.0, 0.1)), lw.Body("b", slide, lw.Inertia.sphere(1.0, 0.1), "a")]
    robot = lw.assemble("two", bodies, gravity=(0, 0, 0))
    q, v = np.array([0.7, -0.4]), np.array([1.5, 2.0])
    assert robot.spring_force(q, v).tolist() == pytest.approx([3 * 0.5 + 0.5 * 1.5, -7 * 0.4])
    assert robot.energy(q, 0 * v)[1] == pytest.approx(0.5 * 3 * 0.25 + 0.5 * 7 * 0.16)
    assert (robot.stiffness.tolist(), robot.damping.tolist()) == ([3.0, 7.0], [0.5, 0.0])


def test_a_ball_turns_back_about_the_axis_it_was_turned_about():
    ball = lw.Joint(lw.Spherical(), stiffness=2.0, rest=(0.0, 0.0, np.sin(0.3), np.cos(0.3)))
    robot = lw.assemble("ball", [lw.Body("b", ball, lw.Inertia.sphere(1.0, 0.1))])
    turned = robot.integrate(ball.rest, [0.3, -0.4, 1.2])
    for sign in (1.0, -1.0):  # both quaternions are the same turn
        np.testing.assert_allclose(robot.spring_force(sign * turned, np.zeros(3)), [0.6, -0.8, 2.4], atol=1e-13)
    near = robot.integrate(ball.rest, [1e-9, 0, 0])
    np.testing.assert_allclose(robot.spring_force(near, np.zeros(3)), [2e-9, 0, 0], atol=1e-16)


# --- dynamics --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tree_rotors", "floating", "spherical", "planar", "free", "universal"])
@pytest.mark.parametrize("method", lw.FORWARD_METHODS)
def test_forward_dynamics_undo_inverse_dynamics(name, method):
    robot = tree(name)
    q, v, a, _ = state(robot)
    tau = robot.inverse_dynamics(q, v, a)
    close(tau, trees.robot(name).inverse_dynamics(q, v, a) + robot.spring_force(q, v))
    close(robot.inverse_dynamics(q, v, a, method="composite_body"), tau)
    try:
        found = robot.forward_dynamics(q, v, tau, method=method)
    except lw.NotAdmittedError as e:
        assert method in ("armstrong", "fd4") or "rotor" in str(e) or "Armstrong" in str(e)
        return
    np.testing.assert_allclose(found, a, atol=1e-8)


def test_half_of_the_joints_driven():
    robot = tree("tree")
    q, v, a, _ = state(robot)
    tau = robot.inverse_dynamics(q, v, a)
    for some in ([], [j.name for j in robot.joints][::2], [j.name for j in robot.joints]):
        found_a, found_tau = robot.hybrid_dynamics(q, v, a, tau, some)
        np.testing.assert_allclose(found_a, a, atol=1e-9)
        close(found_tau, tau)


@pytest.mark.parametrize("name", ["tree", "floating_rotors", "chain6"])
def test_diagonal_and_canonical_coordinates(name):
    robot = tree(name)
    q, v, a, _ = state(robot)
    tau = robot.inverse_dynamics(q, v, a)
    nu = robot.total_rates(q, v)
    along = by_complex_step(robot, lambda x: robot.total_rates(x, v, target="numpy"), q) @ v
    methods = ["general"] + ["algorithm_8_1"] * (name == "chain6")
    for method in methods:
        rates, nu_dot = robot.diagonal_dynamics(q, nu, tau, method=method)
        close(rates, v)
        close(nu_dot, along + robot.total_rates(q, a))
    momentum = by_complex_step(robot, lambda x: robot.mass_times(x, v, target="numpy"), q) @ v + robot.mass_times(q, a)
    close(robot.momentum_force(q, v) + tau, momentum)
    close(robot.inverse_dynamics_with_reference(q, v, v, a), tau)


# --- linearised ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ROBOTS)
def test_linearised_inverse_dynamics(name):
    robot = tree(name)
    q, v, a, w = state(robot)
    dq = by_complex_step(robot, lambda x: robot.inverse_dynamics(x, v, a, target="numpy"), q)
    dv = np.stack(
        [robot.inverse_dynamics(q, v + 1j * STEP * e, a, target="numpy").imag / STEP for e in np.eye(robot.nv)], -1
    )
    for method in lw.INVERSE_LINEARIZATIONS:
        try:
            model = robot.linearize_inverse(q, v, a, method=method)
        except lw.NotAdmittedError:
            assert method.startswith("lemma")
            continue
        close(model.dq, dq)
        close(model.dv, dv)
    change = np.random.default_rng(5).normal(size=(3, robot.nv))
    close(
        robot.inverse_dynamics_jvp(q, v, a, *change), dq @ change[0] + dv @ change[1] + model_mass(robot, q) @ change[2]
    )
    gradient = robot.inverse_dynamics_vjp(q, v, a, w)
    close(gradient.dq, dq.T @ w)
    close(gradient.dv, dv.T @ w)


def model_mass(robot, q):
    return robot.mass_matrix(q)


@pytest.mark.parametrize("name", ["chain6", "tree", "floating", "spherical", "planar"])
def test_linearised_forward_dynamics(name):
    robot = tree(name)
    q, v, a, w = state(robot)
    tau = robot.inverse_dynamics(q, v, a)
    inverse = robot.linearize_inverse(q, v, a)
    dq, dv = (-np.linalg.solve(inverse.M, x) for x in (inverse.dq, inverse.dv))
    scale = np.abs(dq).max() * 1e3
    for method in lw.FORWARD_LINEARIZATIONS:
        try:
            model = robot.linearize_forward(q, v, tau, method=method)
        except lw.NotAdmittedError:
            assert method.startswith("lemma") or method in ("algorithm_5", "algorithm_6")
            continue
        close(model.dq, dq, scale)
        close(model.dv, dv, scale)
    change = np.random.default_rng(5).normal(size=(3, robot.nv))
    for method in ("algorithm_3", "algorithm_5", "algorithm_5_ii"):
        found = robot.forward_dynamics_jvp(q, v, tau, *change, method=method)
        close(found, dq @ change[0] + dv @ change[1] + np.linalg.solve(inverse.M, change[2]), scale)
    gradient = robot.forward_dynamics_vjp(q, v, tau, w)
    close(gradient.dq, dq.T @ w, scale)
    close(gradient.dv, dv.T @ w, scale)


@pytest.mark.parametrize("name", ["spherical", "planar", "free"])
def test_second_derivatives(name):
    robot = tree(name)
    q, v, a, w = state(robot)
    dq, dv, da = np.random.default_rng(3).normal(size=(3, robot.nv))
    found = robot.inverse_dynamics_hvp(q, v, a, w, dq, dv, da)
    h = 1e-6
    ends = [robot.inverse_dynamics_vjp(robot.integrate(q, s * dq), v + s * dv, a + s * da, w).dv for s in (h, -h)]
    np.testing.assert_allclose(found.dv, (ends[0] - ends[1]) / (2 * h), atol=1e-6 * np.abs(found.dv).max())
    # symmetric in two directions, of which only the spring's third derivative is new
    other = np.random.default_rng(4).normal(size=robot.nv)
    none = 0 * dq
    there = robot.inverse_dynamics_hvp(q, v, a, w, other, none, none).dq @ dq
    back = robot.inverse_dynamics_hvp(q, v, a, w, dq, none, none).dq @ other
    assert there == pytest.approx(back, rel=1e-8, abs=1e-8)


def test_sensitivity_to_inertias():
    robot = tree("tree")
    q, v, _, tau = state(robot)
    change = np.random.default_rng(1).normal(size=robot.inertial_parameters.shape) * 1e-5
    found = robot.forward_dynamics_sensitivity(q, v, tau) @ change.ravel()
    ends = [
        robot.with_inertial_parameters(robot.inertial_parameters + s * change).forward_dynamics(q, v, tau)
        for s in (0.5, -0.5)
    ]
    np.testing.assert_allclose(found, ends[0] - ends[1], atol=1e-6 * np.abs(found).max())


# --- loops and couplings ---------------------------------------------------------------------------------


def dense_closed(robot, q, v, tau):
    """β̇ by the KKT equations of the tree's dense quantities."""
    G, n = robot.loop_jacobian(q, target="numpy"), robot.nv
    Gdot = (
        robot.loop_jacobian(q + 1e-7 * v, target="numpy") - robot.loop_jacobian(q - 1e-7 * v, target="numpy")
    ) / 2e-7
    M, bias = robot.mass_matrix(q, target="numpy"), robot.opened.bias_force(q, v, target="numpy")
    kkt = np.block([[M, -G.T], [G, np.zeros((len(G), len(G)))]])
    return np.linalg.lstsq(kkt, np.concatenate([tau - bias, -Gdot @ v]), rcond=None)[0][:n]


def sprung_four_bar():
    return sprung(open_four_bar()).close(*four_bar().loops)


@pytest.mark.parametrize("method", ["cut", "embedded", "fd1", "triangular"])
def test_a_sprung_four_bar(method):
    robot = sprung_four_bar()
    q, v = four_bar_state(robot)
    tau = np.array([0.3, -0.2, 0.5])
    found = robot.forward_dynamics(q, v, tau, method=method, target="numpy")
    np.testing.assert_allclose(found, dense_closed(robot, q, v, tau), atol=1e-6 * np.abs(found).max())


def test_linearised_loops_with_branches():
    """A pendulum with a spring hangs on the rocker: a branch on the core that the loop holds."""
    arm = lw.assemble("arm", [lw.Body("rod", lw.Joint(lw.Revolute("z"), "elbow"), lw.Inertia.point(0.3, (0.2, 0, 0)))])
    robot = sprung(open_four_bar().attach(arm, "rocker_end", prefix="p_")).close(*four_bar().loops)
    start = robot.closed_configuration([1.3, -0.9, 1.8, 0.4], keep=["crank_hinge", "p_elbow"])
    v = robot.closed_velocity(start, np.array([1.0, 0.2, 0.1, 0.7]))
    tau = np.array([0.3, -0.2, 0.5, 0.1])
    found = robot.linearize_forward(start, v, tau, target="numpy")

    def at(q, v):
        return robot.forward_dynamics(q, v, tau, target="numpy")

    h = 1e-6
    dq = np.stack([(at(start + h * e, v) - at(start - h * e, v)) / (2 * h) for e in np.eye(4)], -1)
    dv = np.stack([(at(start, v + h * e) - at(start, v - h * e)) / (2 * h) for e in np.eye(4)], -1)
    np.testing.assert_allclose(found.dq, dq, atol=1e-6 * np.abs(dq).max())
    np.testing.assert_allclose(found.dv, dv, atol=1e-6 * np.abs(dv).max())


def test_followers_with_springs_by_any_relation():
    def body(name, **joint):
        return lw.Body(
            name + "_body", lw.Joint(lw.Revolute("z"), name, **joint), lw.Inertia(1.0, tensor=0.1 * np.eye(3))
        )

    free = lw.assemble("pair", [body("a", stiffness=2.0), body("b", stiffness=3.0, rest=0.5, damping=0.4)])
    robot = free.couple("b", "a", relation=np.sin)
    q, v, a = np.array([0.8]), np.array([1.5]), np.array([-0.4])
    s, c = np.sin(q), np.cos(q)
    assert robot.spring_force(q, v) == pytest.approx(2 * q + c * (3 * (s - 0.5) + 0.4 * c * v))
    assert robot.potential_energy(q) == pytest.approx(0.5 * 2 * q[0] ** 2 + 0.5 * 3 * (s[0] - 0.5) ** 2)
    h = 1e-6
    model = robot.linearize_inverse(q, v, a)
    dq = (robot.inverse_dynamics(q + h, v, a) - robot.inverse_dynamics(q - h, v, a)) / (2 * h)
    dv = (robot.inverse_dynamics(q, v + h, a) - robot.inverse_dynamics(q, v - h, a)) / (2 * h)
    assert model.dq[0] == pytest.approx(dq, rel=1e-8) and model.dv[0] == pytest.approx(dv, rel=1e-8)
    forward = robot.linearize_forward(q, v, robot.inverse_dynamics(q, v, a))
    assert forward.dq == pytest.approx(-model.dq / model.M, rel=1e-10)
    with pytest.raises(
        lw.NotAdmittedError, match="admits springs and dampers where couplings are linear; that of .*'b'"
    ):
        robot.linearize_inverse(q, v, a, method="lemma_3_1")


# --- refusals --------------------------------------------------------------------------------------------


class Odd(JointKind):
    """A joint of the user's own whose configuration is not a vector."""

    def __init__(self):
        self._set(2, np.eye(6)[:, :1])


@pytest.mark.parametrize(
    ("joint", "said"),
    [
        (lambda: lw.Joint(lw.Revolute("z"), "j", stiffness=-1.0), "'j': stiffness must be finite and not negative"),
        (lambda: lw.Joint(lw.Revolute("z"), "j", stiffness="much"), "'j': stiffness must be a number"),
        (
            lambda: lw.Joint(lw.Revolute("z"), "j", stiffness=1.0, rest=[1, 2]),
            "'j': rest is a configuration .* 1 numbers",
        ),
        (lambda: lw.Joint(lw.Revolute("z"), "j", stiffness=1.0, rest=np.nan), "'j': rest must be finite"),
        (
            lambda: lw.Joint(lw.Spherical(), "j", stiffness=[1, 2, 3]),
            "'j': the spring of a spherical joint is as stiff",
        ),
        (lambda: lw.Joint(lw.Spherical(), "j", stiffness=1.0, rest=np.zeros(4)), "'j': rest has a quaternion of zero"),
        (lambda: lw.Joint(lw.Spherical(), "j", stiffness=1.0, rest=0.0), "'j': rest is a configuration .* 4 numbers"),
        (lambda: lw.Joint(lw.Free(), "j", stiffness=[1, 1, 1, 1, 1, 2]), "'j': the spring of a free joint is as stiff"),
        (lambda: lw.Joint(trees.KINDS["custom_skate"], "j", stiffness=1.0), "'j': a custom joint has no spring"),
        (lambda: lw.Joint(Odd(), "j", stiffness=1.0), "'j': a odd joint has no spring"),
        (lambda: lw.Joint(lw.Revolute("z"), "j", damping_acts="yes"), "'j': damping_acts must be True or False"),
    ],
)
def test_springs_that_cannot_be_are_refused(joint, said):
    with pytest.raises(lw.ModelError, match=said):
        joint()
