"""Loops eliminated where they close: what that costs, and redundant and singular loops."""

import warnings

import numpy as np
import pytest
from linkages import four_bar, four_bar_state, four_bars, null_space, open_four_bar

import linkwise as lw
from linkwise.dynamics.closed import constraints
from linkwise.dynamics.closed.scales import force_scales


def operations(robot, name="forward_dynamics"):
    return robot.compile(name, rolled=False).operations.total


@pytest.mark.parametrize("kind", ["point_on_line", "revolute"])
def test_a_four_bar_more_in_the_chain_costs_as_many_operations_as_the_one_before(kind):
    small, middle, large = (operations(four_bars(k, kind)) for k in (4, 8, 12))
    assert large - middle == middle - small


def test_loops_to_the_world_cost_what_they_couple():
    """Legs on one body couple all; loops on branches of their own do not couple at all."""

    def star(k):
        robot = lw.chain(3)
        for i in range(1, k):
            robot = robot.attach(lw.chain(3), "world", prefix=f"arm{i}_", at=(0, i, 0))
        ends = ["tip", *(f"arm{i}_tip" for i in range(1, k))]
        return robot.close(*(lw.Loop("world", end, "spherical") for end in ends))

    two, four, eight = (operations(star(k)) for k in (2, 4, 8))
    assert eight - four == 2 * (four - two)


# --- redundant loops -------------------------------------------------------------------------------------------------


def dense(robot, q, v, tau):
    """(v̇, the λ of least norm in the units of the robot) from singular values of G𝓜⁻¹G*."""
    M, G = robot.mass_matrix(q, target="numpy"), robot.loop_jacobian(q, target="numpy")
    links = robot.opened
    free = links.forward_dynamics(q, v, tau, target="numpy")
    rate = robot.configuration_rate(q, v, target="numpy")
    drift = constraints.velocity(robot, q + 1e-30j * rate, v + 0j, robot.loops).imag / 1e-30
    s = force_scales(robot, robot.loops)
    X = s[:, None] * (G @ np.linalg.solve(M, G.T)) * s
    lam = s * (np.linalg.pinv(X, rcond=1e-11, hermitian=True) @ (s * -(G @ free + drift)))
    return free + np.linalg.solve(M, G.T @ lam), lam


def bricard():
    """Six rods and hinges, one of the rods the ground: one freedom, where counting says none (math notes 2.7)."""
    P = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)
    along = [P[(i + 1) % 6] - P[i] for i in range(6)]
    bodies, carrier, at = [], None, P[0]
    for i in range(5):
        axis = np.cross(along[i - 1], along[i])
        rod = lw.Inertia.cylinder(1.0, 0.0, (0, 0, 0), along[i])
        bodies.append(lw.Body(f"rod{i}", lw.Joint(lw.Revolute(axis), f"hinge{i}", at=at), rod, carrier))
        carrier, at = f"rod{i}", along[i]
    z = np.cross(along[4], along[5])
    x = along[4]
    turned = np.column_stack([x, np.cross(z, x), z])
    frames = [lw.Frame("end", "rod4", at=along[4], rotation=turned), lw.Frame("ground", None, at=P[5], rotation=turned)]
    return lw.assemble("bricard", bodies, frames, gravity=(0, -9.81, 0)).close(lw.Loop("ground", "end", "revolute"))


def test_bricards_linkage():
    robot = bricard()
    q = np.zeros(5)
    assert np.abs(robot.loop_error(q)).max() < 1e-12
    assert robot.mobility(q) == 1
    a = robot.forward_dynamics(q, np.zeros(5), np.zeros(5))
    np.testing.assert_allclose(np.abs(a), 9.81 / 5, rtol=1e-9)
    _, lam = dense(robot, q, np.zeros(5), np.zeros(5))
    np.testing.assert_allclose(np.linalg.norm(robot.loop_forces(q, np.zeros(5), np.zeros(5))), np.linalg.norm(lam))


def test_mobility_where_single_precision_closes_the_loop():
    """The redundant row of G is off by what the loop is open, some roundings of the configuration's own precision."""
    robot = bricard()
    for crank in np.linspace(0.05, 0.5, 12):
        q = robot.closed_configuration([crank, 0, 0, 0, 0], keep=["hinge0"])
        assert robot.mobility(q) == robot.mobility(q.astype(np.float32)) == 1


def test_what_compiled_code_cannot_vouch_for_is_said_once():
    """Redundant loops of space in single precision: the guard trips, NumPy answers, and says by name that it did."""
    robot = bricard()
    q = robot.closed_configuration([0.3, 0, 0, 0, 0], keep=["hinge0"]).astype(np.float32)
    z = np.zeros(5, np.float32)
    expected = robot.loop_forces(q, z, z, target="numpy")
    said = r"loop_forces\(q, v, tau\) of 'bricard' .*float32.*nearly singular"
    with pytest.warns(lw.SlowPathWarning, match=said):
        found = robot.loop_forces(q, z, z, target="cpu")
    assert np.array_equal(found, expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot.loop_forces(q, z, z, target="cpu")  # said already
        robot.loop_forces(q.astype(float), z, z, target="cpu")  # nothing to say


@pytest.mark.parametrize("crank", [0.02, 0.2, 0.4])
def test_compiled_accelerations_of_redundant_loops_hold_in_single_precision(crank, rng):
    robot = bricard()
    q = robot.closed_configuration([crank, 0, 0, 0, 0], keep=["hinge0"])
    given = [q, robot.closed_velocity(q, rng.normal(size=5)), rng.normal(size=5)]
    expected = robot.forward_dynamics(*given, target="numpy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = robot.forward_dynamics(*(x.astype(np.float32) for x in given), target="cpu")
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_loops_closed_twice_share_their_forces(target, rng):
    """The same weld three times: accelerations as of one, and a third of its force each."""
    arm = lw.chain(7, seed=4)
    once = arm.close(lw.Loop("world", "tip", "spherical"))
    thrice = arm.close(*(lw.Loop("world", "tip", "spherical", name=f"pin {i}") for i in range(3)))
    q = once.closed_configuration(arm.random_configuration(rng)[: arm.nq])
    v, tau = once.closed_velocity(q, rng.normal(size=7)), rng.normal(size=7)
    assert thrice.mobility(q) == once.mobility(q) == 4
    np.testing.assert_allclose(
        thrice.forward_dynamics(q, v, tau, target=target), once.forward_dynamics(q, v, tau), rtol=1e-9
    )
    force = once.loop_forces(q, v, tau)[0]
    shared = thrice.loop_forces(q, v, tau, target=target)
    np.testing.assert_allclose(shared, np.tile(force / 3, (3, 1)), atol=1e-6 * np.abs(force).max())


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_a_parallelogram_laid_flat(target):
    """All links on one line: the loop loses a rank there, and nothing becomes infinite."""
    bars = [(0.5, 1.0), (1.0, 1.0), (0.5, 1.0)]
    from linkages import hinge, rod

    bodies = [
        lw.Body("crank", hinge("crank_hinge"), rod(*bars[0])),
        lw.Body("coupler", hinge("coupler_hinge", (0.5, 0, 0)), rod(*bars[1]), "crank"),
        lw.Body("rocker", hinge("rocker_hinge", (1.0, 0, 0)), rod(*bars[2])),
    ]
    frames = [lw.Frame("coupler_end", "coupler", at=(1, 0, 0)), lw.Frame("rocker_end", "rocker", at=(0.5, 0, 0))]
    robot = lw.assemble("flat", bodies, frames, gravity=(0, -9.81, 0))
    robot = robot.close(lw.Loop("rocker_end", "coupler_end", "revolute"))
    q = np.zeros(3)
    assert np.abs(robot.loop_error(q)).max() < 1e-15
    assert (robot.mobility(q), robot.mobility([0.3, -0.3, 0.3])) == (2, 1)
    v = np.array([1.0, -1.0, 1.0])
    a = robot.forward_dynamics(q, v, np.zeros(3), target=target)
    expected, _ = dense(robot, q, v, np.zeros(3))
    np.testing.assert_allclose(a, expected, atol=1e-7)
    assert np.isfinite(robot.loop_forces(q, v, np.zeros(3), target=target)).all()


def test_forces_are_of_least_norm_where_they_are_not_unique(rng):
    robot = four_bar("revolute").close(lw.Loop("world", "coupler", "planar", name="table"))
    q, v = four_bar_state(robot)
    tau = rng.normal(size=3)
    a, lam = dense(robot, q, v, tau)
    np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), a, rtol=1e-9)
    force = robot.loop_forces(q, v, tau)
    np.testing.assert_allclose(force[0], [lam[0], lam[1], 0, *lam[2:5]], atol=1e-7)


def test_a_loop_that_no_joint_moves():
    """Both ends on bodies that the loop cannot move against each other."""
    robot = open_four_bar().close(lw.Loop("crank", "coupler", "spherical", name="hinge again", constrains=None))
    q = np.zeros(3)
    assert robot.mobility(q) == 3 - 1
    assert np.isfinite(robot.forward_dynamics(q, np.zeros(3), np.ones(3))).all()
    assert null_space(robot.loop_jacobian(q)).shape == (3, 2)
