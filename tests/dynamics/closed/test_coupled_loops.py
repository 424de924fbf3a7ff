"""Couplings and loops in one robot: loops cut over the nodes that coupled bodies make."""

from functools import partial

import numpy as np
import pytest
from complex_steps import accelerations_by_state
from linkages import four_bars, loop_between

import linkwise as lw

RELATION = {"relation": lambda a, b: np.sin(a) * b}


def robots(rng):
    """Gears across and within branches, relations that are not linear, loops on nodes, through them and beside them."""
    for seed, kind in enumerate(("point_on_line", "distance", "spherical", "universal")):
        tree = lw.chain(7, seed=seed) if seed % 2 else lw.random_tree(9, seed=seed)
        ones = [x.name for x in tree.joints if x.kind.nv == 1]
        names = [x.name for x in tree.bodies]
        geared = tree.couple(ones[-1], ones[0], ratio=-1.3, offset=0.2)
        yield geared.close(loop_between(rng, None if seed % 2 else names[1], names[-1], kind))
        related = tree.couple(ones[2], ones[:2], **RELATION)
        yield related.close(loop_between(rng, names[2], names[-1], "point_on_plane"))
    two = four_bars(2).opened.couple("crank_hinge1", "crank_hinge0", ratio=0.5)
    yield two.close(*four_bars(2).loops)


def oracle(robot, q, v, tau):
    """(v̇, closed mass inverse) from dense matrices over all joints: 𝓜, 𝓒 of the free tree, X and its rate."""
    free = robot.uncouple().opened
    θ, X = robot.joint_positions(q, target="numpy"), robot.coupling_jacobian(q, target="numpy")
    h = 1e-30
    rate = robot.configuration_rate(q, v, target="numpy")
    at = lambda name, *args: getattr(robot, name)(q + 1j * h * rate, *args, target="numpy").imag / h
    drift = at("joint_velocities", v + 0j)
    M, bias = free.mass_matrix(θ, target="numpy"), free.bias_force(θ, X @ v, target="numpy")
    M, force = X.T @ M @ X, tau - X.T @ (bias + M @ drift)
    G, gamma = robot.loop_jacobian(q, target="numpy"), at("loop_velocity", v + 0j)
    inverse = np.linalg.inv(M)
    P = inverse - inverse @ G.T @ np.linalg.pinv(G @ inverse @ G.T, rcond=1e-10) @ G @ inverse
    return P @ force - inverse @ G.T @ np.linalg.pinv(G @ inverse @ G.T, rcond=1e-10) @ gamma, P


def test_against_dense_matrices_of_all_joints(rng):
    for robot in robots(rng):
        q = robot.random_configuration(rng)
        v, tau = rng.normal(size=(2, robot.nv))
        expected, P = oracle(robot, q, v, tau)
        size = np.abs(expected).max()
        for method in (None, "fd1"):
            found = robot.forward_dynamics(q, v, tau, method=method, target="numpy")
            np.testing.assert_allclose(found, expected, atol=1e-8 * size)
        np.testing.assert_allclose(robot.mass_matrix_inverse(q, target="numpy"), P, atol=1e-8 * np.abs(P).max())
        np.testing.assert_allclose(robot.mass_solve(q, tau, target="numpy"), P @ tau, atol=1e-8 * np.abs(P @ tau).max())
        frame = robot.tips[0]
        J = robot.jacobian(q, frame, target="numpy")
        compliance = robot.operational_compliance(q, frame, target="numpy")
        np.testing.assert_allclose(compliance, J @ P @ J.T, atol=1e-7 * np.abs(J @ P @ J.T).max())
        G = robot.loop_jacobian(q, target="numpy")
        np.testing.assert_allclose(G @ v, robot.loop_velocity(q, v, target="numpy"), atol=1e-12)


@pytest.fixture(scope="module")
def geared():
    """A chain of six: one hinge follows two others by no constant ratio, one follows another, its end on a plane."""
    tree = lw.chain(6, seed=3).couple("joint4", ["joint2", "joint3"], **RELATION).couple("joint6", "joint1", ratio=0.7)
    rng = np.random.default_rng(1)
    robot = tree.close(loop_between(rng, None, tree.bodies[-1].name, "point_on_plane"))
    q = robot.closed_configuration(0.3 * rng.normal(size=robot.nq))
    return robot, q, robot.closed_velocity(q, rng.normal(size=robot.nv))


def test_compiled_batches_forces_and_driven_joints(geared, rng):
    robot, q, v = geared
    tau = rng.normal(size=robot.nv)
    a = robot.forward_dynamics(q, v, tau, target="numpy")
    both = robot.forward_dynamics(np.stack([q, q]), v, tau)
    np.testing.assert_allclose(both, [a, a], atol=1e-10)
    assert robot.mobility(q) == 3 and np.abs(robot.loop_error(q)).max() < 1e-10
    driven = robot.inverse_dynamics(q, v, a, actuated=["joint1", "joint2", "joint3"])
    np.testing.assert_allclose(robot.forward_dynamics(q, v, driven), a, atol=1e-9)
    power = robot.loop_forces(q, v, tau)
    assert power.shape == (1, 6) and np.abs(power).max() > 0


def test_motions_keep_energy_and_stay_closed(geared):
    robot, q, v = geared
    account = lw.simulate(robot, q, v, duration=0.2, progress=False).energy
    assert account.loops.max() < 1e-10 and np.abs(account.drift).max() < 1e-8


def test_what_is_refused(geared):
    robot, q, v = geared
    with pytest.raises(
        lw.NotAdmittedError, match=r"coupled joints, such as 'joint4', and loops are embedded on trees of"
    ):
        robot.forward_dynamics(q, v, v, method="embedded")
    with pytest.raises(lw.InputError, match=r"joint 'joint4' follows 'joint2', 'joint3' and cannot be kept by.* keep="):
        robot.closed_configuration(q, keep=["joint1", "joint4"])
    with pytest.raises(lw.InputError, match=r"'joint4' follows 'joint2', 'joint3' and cannot be driven.* actuated="):
        robot.inverse_dynamics(q, v, v, actuated=["joint1", "joint2", "joint3", "joint4"])


def test_linearised_models_by_complex_steps(rng):
    tested = 0
    for robot in robots(rng):
        q = robot.random_configuration(rng)
        v, tau = rng.normal(size=(2, robot.nv))
        external = rng.normal(size=(len(robot.bodies), 6))
        if np.linalg.matrix_rank(robot.loop_jacobian(q, target="numpy")) < robot.rigid_rows.size:
            continue  # off their loops, accelerations of redundant ones do not exist
        found = robot.linearize_forward(q, v, tau, external=external, target="numpy")

        a = partial(robot.forward_dynamics, external=external, target="numpy")
        for x, expected in zip(found, accelerations_by_state(robot, a, q, v, tau)):
            np.testing.assert_allclose(x, expected, atol=1e-9 * np.abs(expected).max())
        tested += 1
    assert tested >= 7


def test_products_projection_and_machine_code(geared, rng):
    robot, q, v = geared
    tau, dq, dv, dtau, w = rng.normal(size=(5, robot.nv))
    x = robot.linearize_forward(q, v, tau, target="numpy")
    for found, expected in zip(robot.linearize_forward(np.stack([q, q]), v, tau), x):
        np.testing.assert_allclose(found[1], expected, atol=1e-9 * np.abs(expected).max())
    along = x.Minv @ dtau + x.dv @ dv + x.dq @ dq
    found = robot.forward_dynamics_jvp(q, v, tau, dq, dv, dtau, target="numpy")
    np.testing.assert_allclose(found, along, rtol=1e-8)
    back = robot.forward_dynamics_vjp(q, v, tau, w, target="numpy")
    np.testing.assert_allclose(back.dq @ dq + back.dv @ dv + back.dtau @ dtau, w @ along, rtol=1e-8)

    P, h, change = robot.linearize_projection(q, v, target="numpy"), 1e-6, np.concatenate([dq, dv])

    def closed(x):
        at = robot.closed_configuration(robot.integrate(q, x[: robot.nv]))
        return np.concatenate([robot.difference(q, at), robot.closed_velocity(at, v + x[robot.nv :], target="numpy")])

    np.testing.assert_allclose(P @ change, (closed(h * change) - closed(-h * change)) / (2 * h), atol=1e-6)
