"""Where robots rest: against closed forms, the slope of the energy, and the equations of loops."""

import numpy as np
import pytest
import trees
from coupled import coupled_robot
from linkages import four_bar, open_four_bar
from sprung import sprung, tree

import linkwise as lw
from linkwise.robot.stiffness import asked, basis, held

NUMPY = {"target": "numpy"}


def pendulum(**joint):
    rod = lw.Body("rod", lw.Joint(lw.Revolute("y"), "hinge", **joint), lw.Inertia.point(1.0, (0, 0, -1)))
    return lw.assemble("pendulum", [rod])


@pytest.mark.parametrize("start", [0.3, 1.0, np.pi / 2, 2.0, 3.0, -2.5])
def test_a_pendulum_hangs_or_stands(start):
    found = pendulum().equilibrium([start])
    assert found.reached and abs(np.sin(found.q[0])) < 1e-12 and found.residual < 1e-11
    hangs = np.cos(found.q[0]) > 0
    assert bool(found.stable) == hangs and found.lowest == pytest.approx(9.81 if hangs else -9.81)


def test_joint_forces_hold_it_aside_if_they_can():
    robot = pendulum()
    found = robot.equilibrium([[0.3], [3.0]], tau=[5.0])
    np.testing.assert_allclose(found.q[:, 0], [np.arcsin(5 / 9.81), np.pi - np.arcsin(5 / 9.81)], atol=1e-12)
    assert found.stable.tolist() == [True, False]
    many = robot.equilibrium([0.1], tau=np.linspace(-9, 9, 6).reshape(2, 3, 1))
    assert many.q.shape == (2, 3, 1) and many.reached.all() and many.steps.shape == (2, 3)
    np.testing.assert_allclose(9.81 * np.sin(many.q), np.linspace(-9, 9, 6).reshape(2, 3, 1), atol=1e-10)
    torn = robot.equilibrium([0.3], tau=[15.0])
    assert not torn.reached and not torn.stable and torn.residual >= 15 - 9.81
    assert repr(torn) == f"<Equilibrium: 0 of 1 reached, up to {torn.residual:.3g} left; 0 stable>"
    assert torn.unbalanced.shape == (1,) and abs(torn.unbalanced[0]) == torn.residual


def test_what_nothing_holds_is_told():
    """A free body under its weight, and a hinge with a constant torque."""
    found = lw.load("quadruped").equilibrium(steps=30)
    weight = 9.81 * lw.load("quadruped").total_mass
    assert not found.reached and found.residual == pytest.approx(weight, rel=0.2)


@pytest.mark.parametrize("name", ["tree", "spherical", "planar", "universal", "custom_screw", "chain6"])
def test_sprung_trees_rest_where_the_energy_has_no_slope(name):
    robot = tree(name)
    found = robot.equilibrium(robot.random_configuration(0))
    assert found.reached
    h = 1e-30
    moved = [robot.integrate(found.q + 0j, 1j * h * e, **NUMPY) for e in np.eye(robot.nv)]
    slope = [robot.potential_energy(x, **NUMPY).imag / h for x in moved]
    np.testing.assert_allclose(slope, 0, atol=1e-8)
    K = np.stack([robot.bias_force(x, np.zeros(robot.nv), **NUMPY).imag / h for x in moved], -1)
    squares = np.linalg.eigvals(np.linalg.solve(robot.mass_matrix(found.q), K))
    assert found.lowest == pytest.approx(squares.real.min(), rel=1e-6)


def test_couplings():
    """A joint that follows another by a curve: U(q) of both by hand, along the independent one."""
    robot = sprung(lw.chain(3, seed=1)).couple("joint3", "joint1", relation=np.sin)
    found = robot.equilibrium([0.4, -0.2])
    assert found.reached and found.stable
    free, h = sprung(lw.chain(3, seed=1)), 1e-5

    def energy(q):
        return float(free.potential_energy(np.array([q[0], q[1], np.sin(q[0])])))

    slope = [(energy(found.q + h * e) - energy(found.q - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(slope, 0, atol=1e-7)
    robot = coupled_robot()
    start = robot.random_configuration(0)
    near = robot.equilibrium(start, tau=robot.bias_force(start, np.zeros(robot.nv)))
    assert near.reached and near.steps == 0  # what holds it holds it


# --- loads -------------------------------------------------------------------------------------------------


def test_loads_in_the_world_and_on_bodies():
    robot = lw.chain(4, seed=1).with_springs({f"joint{i}": {"stiffness": 30.0} for i in range(1, 5)})
    push = np.array([0.3, -0.2, 0.1, 3.0, 2.0, -1.0])
    still = np.zeros(4)
    found = robot.equilibrium(external={"tip": push})
    left = robot.inverse_dynamics(found.q, still, still) - robot.jacobian_force(found.q, push, "tip")
    assert found.reached and np.abs(left).max() < 1e-9
    on_bodies = np.zeros((4, 6))
    on_bodies[3] = push
    turning = robot.equilibrium(external=on_bodies)
    assert turning.reached
    assert np.abs(robot.inverse_dynamics(turning.q, still, still, external=on_bodies)).max() < 1e-9
    assert np.abs(turning.q - found.q).max() > 1e-3
    both = robot.equilibrium(external={"tip": np.stack([0 * push, push])})
    np.testing.assert_allclose(both.q[1], found.q, atol=1e-9)


@pytest.mark.parametrize("kind", ["revolute", "spherical"])
def test_stiffness_with_loads_is_the_slope_of_what_is_left(kind):
    robot = sprung(lw.chain(3, joint=kind, seed=2))
    start, load = robot.random_configuration(1), {"tip": [0.3, -0.2, 0.1, 3.0, 2.0, -1.0]}
    q, loads, _ = asked(robot, start, None, load)
    h = 1e-6
    ends = [
        held(robot, robot.integrate(q, s * np.eye(robot.nv)), loads.some(np.zeros(robot.nv, int)), "numpy")
        for s in (h, -h)
    ]
    slope = (ends[0].left - ends[1].left).T / (2 * h)
    np.testing.assert_allclose(held(robot, q, loads, "numpy").stiffness[0], slope, atol=1e-6)


# --- loops -------------------------------------------------------------------------------------------------


def test_a_four_bar_rests_where_its_weight_has_no_slope():
    robot = sprung(open_four_bar()).close(*four_bar().loops)
    start = robot.closed_configuration([1.3, -0.9, 1.8], keep=["crank_hinge"])
    found = robot.equilibrium(start)
    assert found.reached and np.abs(robot.loop_error(found.q)).max() < 1e-9

    def energy(crank):
        guess = found.q + np.array([crank, 0, 0])
        return float(robot.potential_energy(robot.closed_configuration(guess, keep=["crank_hinge"])))

    h = 1e-4
    up, here, down = energy(h), energy(0.0), energy(-h)
    assert abs(up - down) / (2 * h) < 1e-5
    curve = (up - 2 * here + down) / h**2
    assert (curve > 0) == bool(found.stable)


def test_stiffness_of_a_closed_robot_has_what_its_loops_carry():
    robot = four_bar()
    q = robot.closed_configuration([1.3, -0.9, 1.8])
    _, loads, _ = asked(robot, q, [0.4, 0.1, -0.2], None)
    x = held(robot, q[None], loads, "numpy")
    (X,) = basis(x, 0).T

    def along(s):
        """The force along the closed curve, per coordinate q·X."""
        y = held(robot, robot.closed_configuration(q + s * X)[None], loads, "numpy")
        (Y,) = basis(y, 0).T
        return y.left[0] @ Y / (Y @ X)

    assert X @ x.stiffness[0] @ X == pytest.approx((along(1e-5) - along(-1e-5)) / 2e-5, rel=1e-7)


def test_soft_loops():
    robot = open_four_bar().close(lw.Loop("rocker_end", "coupler_end", "spherical", stiffness=200.0))
    found = robot.equilibrium([-1.5, 0.2, -1.4])
    assert found.reached
    still = np.zeros(3)
    assert np.abs(robot.inverse_dynamics(found.q, still, still)).max() < 1e-8


# --- ways of asking ------------------------------------------------------------------------------------------


def test_machine_code_gives_the_same():
    robot = trees.robot("chain6")
    robot = sprung(robot)
    start = robot.random_configuration(3, 8)
    one, other = (robot.equilibrium(start, target=t) for t in ("numpy", "cpu"))
    np.testing.assert_allclose(one.q, other.q, atol=1e-9)
    assert one.reached.all()


def test_what_is_wrong_is_said():
    robot = pendulum()
    with pytest.raises(lw.InputError, match="finite"):
        robot.equilibrium([np.nan])
    with pytest.raises(lw.InputError, match="different shapes"):
        robot.equilibrium(np.zeros((2, 1)), tau=np.zeros((3, 1)))
    with pytest.raises(lw.InputError, match="tolerance"):
        robot.equilibrium(tolerance=0.0)
    with pytest.raises(lw.UnknownNameError, match="hand"):
        robot.equilibrium(external={"hand": np.zeros(6)})


def test_a_soft_joint_beside_a_stiff_one_is_not_taken_for_balanced():
    """What is left counts against each joint's own forces, not against the stiffest one's."""
    beam = lw.Flexible.beam(length=1.0, mass=1.0, stiffness=2e3, modes=(0, 3), axial_stiffness=1.6e8, axial_modes=4)
    r = lw.assemble("pendulum", [lw.Body("link", lw.Joint(lw.Revolute("y"), "hinge"), beam)])
    found = r.equilibrium(np.r_[0.3, np.zeros(r.nv - 1)])
    assert found.reached and found.stable and abs(found.q[0] - np.pi / 2) < 1e-9
    box = lw.Inertia.box(1.0, (0.1, 0.1, 0.1))
    bodies = [
        lw.Body("a", lw.Joint(lw.Prismatic("x"), "loose"), box),
        lw.Body("b", lw.Joint(lw.Prismatic("x"), "stiff", stiffness=1e9), box),
    ]
    pushed = lw.assemble("slides", bodies, gravity=(0, 0, 0)).equilibrium(np.zeros(2), tau=np.array([0.05, 0.0]))
    assert not pushed.reached and abs(pushed.residual - 0.05) < 1e-12
