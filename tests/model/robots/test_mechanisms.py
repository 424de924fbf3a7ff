"""The built-in mechanisms: closed at zero, as free as they should be, moving as closed forms and KKT say."""

import numpy as np
import pytest

import linkwise as lw

FREEDOM = {"four_bar": 1, "slider_crank": 1, "governor": 2, "delta": 3, "stewart": 6, "satellite_pair": 14}


def moved(robot, seed=0, far=0.2):
    """A closed state next to neutral."""
    rng = np.random.default_rng(seed)
    q = robot.neutral()
    q = robot.closed_configuration(robot.integrate(q, robot.closed_velocity(q, far * rng.normal(size=robot.nv))))
    return q, robot.closed_velocity(q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)


@pytest.mark.parametrize("name", FREEDOM)
def test_closed_at_zero(name):
    robot = lw.load(name)
    assert np.abs(robot.loop_error(robot.neutral())).max() < 1e-15
    assert robot.mobility(robot.neutral()) == FREEDOM[name] == robot.mobility(moved(robot)[0])
    assert lw.load(name, loops=False) == robot.opened and lw.load(name, loops=False).loops == ()


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("name", FREEDOM)
def test_accelerations_solve_the_dense_equations(name, target):
    """[𝓜 G*; G 0] [a; −λ] = [τ − bias; −Ġv], with Ġv by differences."""
    robot = lw.load(name)
    q, v, tau = moved(robot, seed=1)
    tree, h = robot.opened, 1e-5
    G = robot.loop_jacobian(q)
    rate = lambda t: robot.loop_velocity(robot.integrate(q, t * v), v)
    turning = (8 * (rate(h) - rate(-h)) - (rate(2 * h) - rate(-2 * h))) / (12 * h)
    m = len(G)
    K = np.block([[tree.mass_matrix(q), G.T], [G, np.zeros((m, m))]])
    right = np.concatenate([tau - tree.bias_force(q, v), -turning])
    expected = np.linalg.lstsq(K, right, rcond=1e-12)[0][: robot.nv]
    found = robot.forward_dynamics(q, v, tau, target=target)
    assert np.abs(found - expected).max() <= 1e-7 * np.abs(expected).max()


def test_the_slider_is_where_the_crank_puts_it():
    robot = lw.load("slider_crank")
    angles = np.linspace(-0.6, 0.9, 7)
    q = robot.closed_configuration(angles[:, None] * [1.0, -1.0, -0.1], keep=["crank_hinge"])
    theta = 0.7 + q[:, 0]
    x = 0.15 * np.cos(theta) + np.sqrt(0.5**2 - (0.15 * np.sin(theta)) ** 2)
    assert np.allclose(robot.pose(q, "pin")[1][:, 0], x, rtol=0, atol=1e-11)


def test_the_four_bar_keeps_its_lengths_all_the_way_round():
    """The crank turns round (Grashof): Freudenstein's equation between crank and rocker at every angle."""
    robot = lw.load("four_bar")
    q = robot.neutral()
    for crank in np.linspace(0.0, 2 * np.pi, 40)[1:]:
        q = robot.closed_configuration([crank, *q[1:]], keep=["crank_hinge"])
        _, end = robot.pose(q, "coupler")
        _, meet = robot.pose(q, "rocker_end")
        crank_angle, rocker_angle = np.arctan2(end[2], end[0]), np.arctan2(meet[2], meet[0] - 1.0)
        a, b, c, d = 0.3, 0.8, 0.6, 1.0
        freudenstein = d / a * np.cos(rocker_angle) - d / c * np.cos(crank_angle) - np.cos(rocker_angle - crank_angle)
        assert freudenstein == pytest.approx(-(a**2 - b**2 + c**2 + d**2) / (2 * a * c), abs=1e-9)


def test_the_platform_of_a_delta_arm_does_not_turn():
    robot = lw.load("delta")
    for seed in range(5):
        q, v, _ = moved(robot, seed)
        R, _ = robot.pose(q, "tool")
        assert np.abs(R - np.eye(3)).max() < 1e-11
        assert np.abs(robot.velocity(q, v, "tool")[:3]).max() < 1e-11


def test_the_legs_of_a_stewart_platform_are_as_long_as_its_pose_says():
    robot = lw.load("stewart")
    q, _, _ = moved(robot, seed=3)
    R, p = robot.pose(q, "platform")
    for i in range(1, 7):
        foot, seat = robot.pose(q, f"leg{i}_lower")[1], robot.opened.frame(f"leg{i}_seat")[1].l
        slide = q[robot.q_slices[robot.joint(f"leg{i}_slide")]][0]
        start = lw.load("stewart").pose(robot.neutral(), f"leg{i}_seat")[1]
        assert np.linalg.norm(p + R @ seat - foot) == pytest.approx(np.linalg.norm(start - foot) + slide, abs=1e-10)


def test_the_pads_of_the_gripper_stay_parallel():
    robot = lw.load("gripper")
    assert (robot.nq, robot.nv, lw.load("gripper", coupled=False).nv) == (1, 1, 4)
    gaps = []
    for angle in (0.0, 0.3, 0.8):
        (R, p), (S, s) = (robot.pose([angle], f"{side}_pad") for side in ("left", "right"))
        assert np.abs(R - np.eye(3)).max() < 1e-15 and np.abs(S - np.eye(3)).max() < 1e-15
        assert p[1] == pytest.approx(-s[1], abs=1e-15)
        gaps.append(p[1] - s[1])
    assert np.allclose(gaps, 0.08 + 0.12 * np.sin([0.0, 0.3, 0.8]), atol=1e-15)


@pytest.mark.parametrize("name", FREEDOM)
def test_they_can_be_checked(name):
    from linkwise.check import check_robot

    found = list(check_robot(lw.load(name), count=2))
    assert not [f for f in found if f.status in ("failed", "warned")]
    assert {f.name for f in found} >= {"loops, equations of motion", "loops, power", "loops, accelerations"}


def test_a_check_sees_wrong_loop_forces(monkeypatch):
    from linkwise.check import check_robot
    from linkwise.robot.closed import ClosedRobot

    right = ClosedRobot.forward_dynamics
    monkeypatch.setattr(
        ClosedRobot, "forward_dynamics", lambda self, *a, **k: 1.001 * np.asarray(right(self, *a, **k)), raising=True
    )
    failed = {f.name for f in check_robot(lw.load("four_bar"), count=2) if f.status == "failed"}
    assert {"loops, equations of motion", "loops, accelerations"} <= failed


def test_files_that_have_no_loops_are_not_written_without_them():
    robot = lw.load("four_bar")
    with pytest.raises(lw.ModelError, match="1 loops, which URDF files cannot say"):
        robot.to_urdf()
    assert lw.load(robot.opened.to_urdf()).nv == 3
    again = lw.load(lw.load("gripper").to_urdf())
    assert again.nv == 1 and np.allclose(again.mass_matrix([0.3]), lw.load("gripper").mass_matrix([0.3]), rtol=1e-12)
