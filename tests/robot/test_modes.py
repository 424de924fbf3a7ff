"""Vibrations: closed forms, small motions in time, beams made of links, loops, free-flyers, dampers."""

import numpy as np
import pytest
from linkages import four_bar, open_four_bar
from scipy.linalg import eigh
from sprung import sprung, tree

import linkwise as lw


def block(k, m, d=0.0):
    joint = lw.Joint(lw.Prismatic("x"), "rail", stiffness=k, damping=d)
    return lw.assemble("block", [lw.Body("block", joint, lw.Inertia.point(m))])


def test_a_mass_on_a_spring():
    found = block(40.0, 2.5).modes([0.0])
    assert found.frequencies == pytest.approx([4.0]) and found.shapes == pytest.approx(np.array([[1 / np.sqrt(2.5)]]))
    assert not found.unstable.any() and not found.rigid.any() and not found.held.any()
    damped = block(40.0, 2.5, 3.0).modes([0.0], damped=True)
    decay = 3.0 / 5.0
    assert damped.decay == pytest.approx([decay, decay])
    assert damped.frequencies == pytest.approx(np.sqrt([16 - decay**2] * 2))
    slow = np.sort(block(1.0, 1.0, 4.0).modes([0.0], damped=True).exponents.real)
    assert slow == pytest.approx([-2 - np.sqrt(3), -2 + np.sqrt(3)])


def test_a_double_pendulum():
    """Point masses m on rods l: ω² = (2 ± √2) g/l; upright both grow."""
    bodies = [
        lw.Body("a", lw.Joint(lw.Revolute("y"), "first"), lw.Inertia.point(1.0, (0, 0, -0.5))),
        lw.Body("b", lw.Joint(lw.Revolute("y"), "second", at=(0, 0, -0.5)), lw.Inertia.point(1.0, (0, 0, -0.5)), "a"),
    ]
    robot = lw.assemble("two", bodies)
    expected = np.sqrt((2 + np.array([-1, 1]) * np.sqrt(2)) * 9.81 / 0.5)
    assert robot.modes([0.0, 0.0]).frequencies == pytest.approx(expected)
    upright = robot.modes([np.pi, 0.0])
    assert upright.unstable.all() and np.sort(upright.growth) == pytest.approx(expected)
    assert "unstable, grows by" in str(upright) and "mostly second" in str(upright)
    bent = robot.modes([np.pi, np.pi])  # one up, one down
    assert bent.unstable.sum() == 1 and (bent.frequencies > 0).sum() == 1


@pytest.mark.parametrize("n", [10, 20])
def test_a_cantilever_of_links(n):
    """N rods with springs EI/(L/N), twice that at the clamp: the first frequency is 4.6e-3, 1.1e-3 low."""
    piece = 1.0 / n
    bodies = []
    for i in range(n):
        joint = lw.Joint(lw.Revolute("y"), f"j{i}", at=(piece if i else 0, 0, 0), stiffness=(1 if i else 2) / piece)
        rod = lw.Inertia.cylinder(piece, 0.0, (0, 0, 0), (piece, 0, 0))
        bodies.append(lw.Body(f"b{i}", joint, rod, f"b{i - 1}" if i else None))
    robot = lw.assemble("beam", bodies, gravity=(0, 0, 0))
    found = robot.modes(np.zeros(n)).frequencies[0] / 1.875104068711961**2 - 1
    assert found == pytest.approx({10: -4.6e-3, 20: -1.1e-3}[n], rel=0.05)


@pytest.mark.parametrize("name", ["tree", "spherical", "planar", "chain6"])
def test_eigenvectors_of_mass_and_stiffness(name):
    robot = tree(name)
    rest = robot.equilibrium(robot.random_configuration(0))
    found = robot.modes(rest.q)
    M, K = robot.mass_matrix(rest.q), robot.linearize_inverse(rest.q, np.zeros(robot.nv), np.zeros(robot.nv)).dq
    squares = eigh(0.5 * (K + K.T), M, eigvals_only=True)
    signed = np.where(found.unstable, -(found.growth**2), found.frequencies**2)
    np.testing.assert_allclose(signed, squares, rtol=1e-7, atol=1e-7 * np.abs(squares).max())
    np.testing.assert_allclose(found.shapes.T @ M @ found.shapes, np.eye(robot.nv), atol=1e-8)


def test_small_motions_are_the_modes():
    robot = lw.chain(3, seed=1).with_springs({f"joint{i}": {"stiffness": 20.0} for i in (1, 2, 3)})
    rest = robot.equilibrium()
    found = robot.modes(rest.q)
    for i in range(3):
        shape = found.shapes[:, i]
        t = lw.simulate(robot, rest.q + 1e-5 * shape, duration=0.5, step=1e-3)
        expected = rest.q + 1e-5 * np.cos(found.frequencies[i] * t.time)[:, None] * shape
        assert np.abs(t.q - expected).max() < 1e-9


def test_free_flyers_have_modes_that_nothing_pulls_back():
    robot = sprung(lw.chain(2, seed=2)).floating().with_gravity((0, 0, 0))
    robot = robot.with_springs({j: {"rest": 0.0, "damping": 0.0} for j in ("joint1", "joint2")})
    found = robot.modes(robot.neutral())
    assert found.rigid.sum() == 6 and (found.frequencies > 0).sum() == 2
    assert str(found).count("rigid, mostly") == 6


def test_a_four_bar_swings_as_its_reduced_inertia_says():
    robot = sprung(open_four_bar()).close(*four_bar().loops)
    rest = robot.equilibrium([-1.3, 0.9, -1.8])
    found = robot.modes(rest.q)
    assert found.shapes.shape == (3, 1)
    (shape,) = found.shapes.T
    assert np.abs(robot.loop_velocity(rest.q, shape)).max() < 1e-9
    undamped = robot.with_springs(damping_acts=False)
    start = robot.closed_configuration(rest.q + 1e-5 * shape)
    t = lw.simulate(undamped, start, duration=0.4, step=1e-3)
    swung = (t.q - rest.q) @ robot.mass_matrix(rest.q) @ shape
    expected = swung[0] * (
        np.cos(found.frequencies[0] * t.time) if not found.unstable[0] else np.cosh(found.growth[0] * t.time)
    )
    np.testing.assert_allclose(swung, expected, atol=2e-3 * np.abs(expected).max())


def test_couplings_vibrate_in_independent_coordinates():
    robot = sprung(lw.chain(3, seed=1)).couple("joint3", "joint1", relation=np.sin)
    rest = robot.equilibrium([0.4, -0.2])
    found = robot.modes(rest.q)
    assert found.shapes.shape == (2, 2)
    M, K = robot.mass_matrix(rest.q), robot.linearize_inverse(rest.q, np.zeros(robot.nv), np.zeros(robot.nv)).dq
    signed = found.frequencies**2 - found.growth**2
    np.testing.assert_allclose(signed, eigh(0.5 * (K + K.T), M, eigvals_only=True), rtol=1e-5, atol=1e-4)


def test_batches_and_what_holds():
    robot = lw.chain(2).with_springs({"joint1": {"stiffness": 500.0}})
    q = np.array([[0.1, 0.2], [0.3, -0.1]])
    found = robot.modes(q)
    assert found.frequencies.shape == (2, 2) and found.shapes.shape == (2, 2, 2)
    for i in range(2):
        assert found.frequencies[i] == pytest.approx(robot.modes(q[i]).frequencies)
    np.testing.assert_allclose(found.held, robot.inverse_dynamics(q, 0 * q, 0 * q))
    assert "constant joint forces hold it" in str(robot.modes(q[0])) and "2 each of (2,)" in str(found)
    with pytest.raises(lw.InputError, match="one configuration's modes"):
        found.swing(0)


def test_follower_forces_may_flutter():
    """Beck's column of two links: a force that turns with the tip makes it flutter, one that does not buckles it."""

    def column(load, turning):
        bodies = []
        for i in range(2):
            joint = lw.Joint(lw.Revolute("y"), f"j{i}", at=(1.0 if i else 0, 0, 0), stiffness=1.0)
            bodies.append(lw.Body(f"b{i}", joint, lw.Inertia.point(2.0 - i, (1, 0, 0)), "b0" if i else None))
        robot = lw.assemble("column", bodies, [lw.Frame("tip", "b1", at=(1, 0, 0))], gravity=(0, 0, 0))
        on_bodies = np.zeros((2, 6))
        on_bodies[1, 3] = -load
        return robot.modes([0.0, 0.0], external=on_bodies if turning else {"tip": on_bodies[1]})

    assert not column(2.0, True).unstable.any() and column(3.0, True).unstable.any()  # Ziegler: 2.086 k/l
    flutter = column(3.0, True)
    assert (flutter.frequencies[flutter.unstable] > 0).all()
    assert not column(0.3, False).unstable.any() and column(0.5, False).unstable.any()  # Euler: 0.382 k/l


def test_swing_is_one_period():
    robot = block(40.0, 2.5)
    time, q = robot.modes([0.2]).swing(0, amplitude=0.1, samples=20)
    assert time[-1] == pytest.approx(2 * np.pi / 4 * 19 / 20) and len(q) == 20
    np.testing.assert_allclose(q[:, 0], 0.2 + 0.1 * np.sin(4 * time), atol=1e-12)
    closed = four_bar()
    time, q = closed.modes([-1.3, 0.9, -1.8]).swing(0, amplitude=0.2)
    assert np.abs(closed.loop_error(q)).max() < 1e-8


def test_slow_modes_beside_very_fast_ones_are_found():
    """Axial modes of 3e5 rad/s beside a hinge of 1.73 rad/s, with all digits; damped ones too."""
    few, many = (
        lw.assemble(
            "arm",
            [
                lw.Body(
                    "link",
                    lw.Joint(lw.Revolute("z"), "hinge", stiffness=1.0),
                    lw.Flexible.beam(
                        length=1.0, mass=1.0, stiffness=2e3, modes=(4, 0), axial_stiffness=k, axial_modes=n
                    ),
                )
            ],
            gravity=(0, 0, 0),
        )
        for k, n in ((1e3, 1), (1.6e8, 8))
    )
    slow = [r.modes(r.neutral()).frequencies[0] for r in (few, many)]
    assert abs(slow[1] - slow[0]) < 1e-9 * slow[0] and abs(slow[0] - 1.7319) < 1e-4
    assert abs(np.abs(many.modes(many.neutral(), damped=True).exponents[0]) - slow[0]) < 1e-4
    assert many.equilibrium(many.neutral()).stable


def test_motions_that_weigh_nothing_have_no_frequency():
    box = lw.Inertia.box(1.0, (0.1, 0.1, 0.1))
    bodies = [
        lw.Body("a", lw.Joint(lw.Prismatic("x"), "loose"), box),
        lw.Body("b", lw.Joint(lw.Prismatic("x"), "stiff", stiffness=1e3), box),
    ]
    r = lw.assemble("slides", bodies, gravity=(0, 0, 0)).floating()
    for damped in (False, True):
        with pytest.raises(lw.SingularError, match="weighs nothing"):
            r.modes(r.neutral(), damped=damped)
