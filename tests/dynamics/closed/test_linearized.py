"""Linearised closed robots against complex steps, for every kind of loop."""

import numpy as np
import pytest
from complex_steps import accelerations_by_state
from linkages import bennett, four_bar, four_bar_state, loop_between, null_space

import linkwise as lw
from linkwise.codegen import thresholds
from linkwise.dynamics.closed import equations
from linkwise.dynamics.closed.branches import branches_on, core_bodies
from linkwise.dynamics.links import evaluate
from linkwise.dynamics.tangent import commutes
from linkwise.model.loops import TRANSMITTED

KINDS = [*TRANSMITTED, "constrains"]


def state(kind, to_world, rng):
    robot = lw.random_tree(7, seed=2, branching=0.3, floating=True, joints=["revolute", "universal", "spherical"])
    robot = robot.close(loop_between(rng, None if to_world else "body2", "body7", kind))
    q = robot.random_configuration(rng)
    v = null_space(robot.loop_jacobian(q, target="numpy")) @ rng.normal(size=robot.mobility(q))
    return robot, q, v, rng.normal(size=robot.nv), rng.normal(size=(len(robot.bodies), 6))


@pytest.mark.parametrize("to_world", [False, True], ids=["bodies", "world"])
@pytest.mark.parametrize("kind", KINDS)
def test_against_complex_steps(kind, to_world, rng):
    robot, q, v, tau, external = state(kind, to_world, rng)
    if np.linalg.matrix_rank(robot.loop_jacobian(q, target="numpy")) < robot.loops[0].size:
        pytest.skip("the loop is redundant at a configuration that does not close")
    found = robot.linearize_forward(q, v, tau, external=external, target="numpy")

    def a(q, v, tau):
        return equations.forward_dynamics(robot, q, v, tau, external, robot.loops)[0]

    scale = 1 + np.abs(found.dq).max()
    _, by_v, by_q = accelerations_by_state(robot, a, q, v, tau)
    np.testing.assert_allclose(found.dq, by_q, atol=2e-9 * scale)
    np.testing.assert_allclose(found.dv, by_v, atol=2e-9 * scale)
    np.testing.assert_allclose(found.Minv, robot.mass_matrix_inverse(q, target="numpy"), atol=1e-12 * scale)


def test_what_projection_leaves_of_a_change(rng):
    robot = four_bar()
    q, v = four_bar_state(robot)
    P = robot.linearize_projection(q, v, target="numpy")
    np.testing.assert_allclose(P @ P, P, atol=1e-9)
    assert np.linalg.matrix_rank(P, tol=1e-8) == 2
    h, change = 1e-6, rng.normal(size=6)

    def closed(x):
        at = robot.closed_configuration(q + x[:3])
        return np.concatenate([at, robot.closed_velocity(at, v + x[3:], target="numpy")])

    np.testing.assert_allclose(P @ change, (closed(h * change) - closed(-h * change)) / (2 * h), atol=1e-7)


def test_products_sensitivities_and_machine_code(rng):
    robot = four_bar()
    for body in ("crank", "coupler", "rocker"):
        robot = robot.weld(body, lw.Inertia.box(0.3, (0.2, 0.3, 0.1)))
    q, v = four_bar_state(robot)
    tau, (dq, dv, dtau, w) = rng.normal(size=3), rng.normal(size=(4, 3))
    x = robot.linearize_forward(q, v, tau, target="numpy")
    compiled = robot.linearize_forward(np.stack([q, q]), v, tau)
    for found, expected in zip(compiled, x):
        np.testing.assert_allclose(found[1], expected, atol=1e-8)
    along = x.Minv @ dtau + x.dv @ dv + x.dq @ dq
    np.testing.assert_allclose(robot.forward_dynamics_jvp(q, v, tau, dq, dv, dtau), along, atol=1e-8)
    back = robot.forward_dynamics_vjp(q, v, tau, w)
    np.testing.assert_allclose(back.dq @ dq + back.dv @ dv + back.dtau @ dtau, w @ along, atol=1e-8)
    found = robot.forward_dynamics_sensitivity(q, v, tau)
    pi, h = robot.inertial_parameters.ravel(), 1e-6
    for i in (0, 1, 10, 19, 29):
        step = h * np.eye(30)[i]
        moved = [
            robot.with_inertial_parameters((pi + s * step).reshape(3, 10)).forward_dynamics(q, v, tau, target="numpy")
            for s in (1, -1)
        ]
        np.testing.assert_allclose(found[:, i], (moved[0] - moved[1]) / (2 * h), atol=1e-5 * (1 + np.abs(found).max()))


def test_state_space_of_a_closed_robot():
    robot = four_bar()
    q, v = four_bar_state(robot)
    A, B = robot.linearize_forward(q, v, np.zeros(3)).state_space()[:2]
    assert A.shape == (6, 6) and B.shape == (6, 3) and commutes(robot)


@pytest.mark.parametrize("seed", [0, 1, 3, 4, 5])
def test_branches_on_what_loops_hold(seed, rng):
    """Branches on one body of the core and on several, one inboard of another, and trees that no loop touches."""
    robot = lw.random_tree(
        10, seed=seed, branching=0.6, floating=seed == 0, joints=["revolute", "universal", "spherical"]
    )
    names = [body.name for body in robot.bodies]
    robot = robot.close(
        loop_between(rng, names[2], names[5], "spherical"), loop_between(rng, None, names[4], "point_on_line")
    )
    q = robot.random_configuration(rng)
    v, tau = rng.normal(size=(2, robot.nv))
    links = evaluate(robot, q)
    core = core_bodies(links, [2, 4, 5])
    assert len(branches_on(links, core)) > (seed > 0)
    assert np.linalg.matrix_rank(robot.loop_jacobian(q, target="numpy")) == 5
    found = robot.linearize_forward(q, v, tau, target="numpy")

    for x, y in zip(found, by_complex_steps(robot, q, v, tau)):
        np.testing.assert_allclose(x, y, atol=1e-10 * np.abs(y).max())


def by_complex_steps(robot, q, v, tau):
    """∂β̇/∂T, ∂β̇/∂β, ∂β̇/∂q of the closed robot."""

    def a(q, v, tau):
        return equations.forward_dynamics(robot, q, v, tau, None, robot.loops)[0]

    return accelerations_by_state(robot, a, q, v, tau)


@pytest.mark.parametrize("turned", [(0, 0, 0), (0.4, -0.7, 0.2)])
def test_redundant_loops(turned, rng):
    """A hinge closes a plane four-bar by five rows where two would do, also in a plane across all axes."""
    bar = lw.assemble("mount", [lw.Body("plate", lw.Joint(lw.Fixed(), "bolts", rpy=turned), lw.Inertia(1.0))])
    robot = bar.attach(four_bar("revolute"), "plate")
    q, v = four_bar_state(four_bar("revolute"))
    tau = rng.normal(size=3)
    found = robot.linearize_forward(q, v, tau, target="numpy")
    assert robot.mobility(q) == 1 and all(np.isfinite(x).all() for x in found)

    for x, y in zip(found, by_complex_steps(robot, q, v, tau)):
        np.testing.assert_allclose(x, y, atol=1e-9 * np.abs(y).max())


def test_how_many_operations_it_takes():
    """Of a quadruped on four pinned feet: by products over the core; column by column it would be twice as many."""
    robot = lw.load("quadruped")
    q = robot.neutral()
    feet = [lw.Frame(f"at_{tip}", None, at=robot.pose(q, tip)[1]) for tip in robot.tips]
    program = robot.close(*(lw.Loop(at, tip, "spherical") for at, tip in zip(feet, robot.tips))).compile(
        "linearize_forward"
    )
    assert program.operations.total < 50_000 < thresholds.LONGEST_CODE


@pytest.mark.parametrize("seed", range(12))
def test_redundant_loops_have_one_derivative_along_closed_changes_and_nearly_one_along_others(seed, monkeypatch):
    monkeypatch.setenv("LINKWISE_TARGET", "numpy")
    rng, robot = np.random.default_rng(seed), bennett()
    n = robot.nv
    q = robot.closed_configuration(rng.normal(size=n))
    v = robot.linearize_projection(q, np.zeros(n))[n:, n:] @ rng.normal(size=n)
    tau, w, dtau = rng.normal(size=(3, n))
    whole = robot.linearize_forward(q, v, tau)
    gradient = robot.forward_dynamics_vjp(q, v, tau, w)
    closed = robot.linearize_projection(q, v)
    any_change = rng.normal(size=2 * n)

    def apart(expected, found):
        return np.abs(expected - found).max() / np.abs(expected).max()

    for change, allowed in ((closed @ any_change, 1e-10), (any_change, 1e-3)):
        dq, dv = change[:n], change[n:]
        along = robot.forward_dynamics_jvp(q, v, tau, dq, dv, dtau)
        assert apart(whole.Minv @ dtau + whole.dv @ dv + whole.dq @ dq, along) <= allowed
    expected, found = np.concatenate([whole.dq, whole.dv], axis=-1).T @ w, np.concatenate([gradient.dq, gradient.dv])
    assert apart(expected @ closed, found @ closed) <= 1e-10
    assert apart(expected, found) <= 1e-3
