"""Motions of robots with loops: kept closed, with energy, events and checkpoints as of any robot."""

from dataclasses import replace

import numpy as np
import pytest
from linkages import four_bar, four_bar_state, four_bars, open_four_bar, slider_crank

import linkwise as lw


@pytest.fixture(scope="module")
def start():
    robot = four_bar()
    return robot, *four_bar_state(robot)


def moved(robot, q, v, **options):
    return lw.simulate(robot, q, v, progress=False, **{"duration": 1.0, **options})


@pytest.mark.parametrize(
    ("options", "open_by", "drift"),
    [
        ({}, 1e-13, 1e-8),
        ({"method": "midpoint"}, 1e-13, 1e-3),
        ({"method": "semi_implicit_euler"}, 1e-13, 1.0),
        ({"closing": "baumgarte"}, 1e-6, 1e-4),
        ({"closing": "baumgarte", "closing_rate": 20.0}, 1e-8, 1e-5),
        ({"closing": "none"}, 1e-7, 1e-6),
        ({"method": "rk45", "step": 0.01}, 1e-8, 1e-6),
    ],
)
def test_loops_stay_closed(start, options, open_by, drift):
    account = moved(*start, **options).energy
    assert account.loops.max() < open_by and np.abs(account.drift).max() < drift
    assert "loops        open by at most" in str(account)


def test_ten_seconds(start):
    account = moved(*start, duration=10.0, every=20).energy
    assert account.loops.max() < 1e-10 and np.abs(account.drift).max() < 1e-6


def test_the_same_on_arrays_and_in_batches(start):
    robot, q, v = start
    both = np.stack([q, q]), np.stack([v, -v])
    compiled, arrays = (moved(robot, *both, duration=0.01, target=target) for target in ("cpu", "numpy"))
    np.testing.assert_allclose(compiled.q, arrays.q, atol=1e-12)
    np.testing.assert_allclose(compiled.v, arrays.v, atol=1e-11)
    single = moved(robot, *(x.astype(np.float32) for x in both), duration=0.01)
    assert single.q.dtype == np.float32
    np.testing.assert_allclose(single.q, compiled.q, atol=1e-4)


def test_joint_forces_do_their_work(start):
    robot, q, v = start
    table = np.tile([0.4, 0.0, 0.1], (300, 1))
    account = moved(robot, q, v, duration=None, tau=table).energy
    assert abs(account.work[-1]) > 0.1 and np.abs(account.drift).max() < 1e-8

    def law(robot, t, q, v):
        return -0.3 * v

    account = moved(robot, q, v, controller=law, damping=np.full(3, 0.1), duration=0.3).energy
    assert account.dissipated[-1] > 0 and np.abs(account.drift).max() < 1e-8


def test_other_numbers_of_the_robot(start):
    robot, q, v = start
    heavy = robot.inertial_parameters * 2.0
    both = np.stack([robot.inertial_parameters, heavy])
    found = moved(robot, np.stack([q, q]), v, duration=0.05, parameters={"inertial": both})
    alone = moved(robot.with_inertial_parameters(heavy), q, v, duration=0.05)
    np.testing.assert_allclose(found.q[1], alone.q, atol=1e-10)


def test_a_frame_that_the_loop_holds_is_not_moved_by_other_frames_of_the_bodies():
    """Code in frames that need fewer operations would have loops join other points: the robot's own are taken."""
    robot = slider_crank()
    q = robot.closed_configuration([0.7, -0.9, 0.6], keep=["crank_hinge"])
    turned = moved(robot, q, robot.closed_velocity(q, [2.0, 0, 0]), duration=0.01)
    steps = moved(robot, q, turned.v[0], duration=0.01, target="numpy")
    np.testing.assert_allclose(turned.q[-1], steps.q[-1], atol=1e-11)


def test_events(start):
    robot, q, v = start
    event = lw.Event(lambda t, q, v: q[..., 0] - 2.0, name="arrived", stop=True)
    found = moved(robot, q, v, events=[event], duration=3.0)
    assert found.events[0].event == "arrived" and abs(found.q[-1, 0] - 2.0) < 1e-9
    assert found.energy.loops.max() < 1e-12


def test_checkpoints_and_files(start, tmp_path):
    robot, q, v = start
    path = tmp_path / "kept.npz"
    whole = moved(robot, q, v, duration=0.2)
    moved(robot, q, v, duration=0.1, checkpoint=path)
    on = moved(robot, q, v, duration=0.2, checkpoint=path)
    np.testing.assert_array_equal(on.q, whole.q)
    with pytest.raises(lw.InputError, match="of another run: closing differ"):
        moved(robot, q, v, duration=0.2, checkpoint=path, closing="baumgarte")
    with pytest.raises(lw.InputError, match="of another run: the robot, closing differ"):
        moved(robot.opened, q, v, duration=0.2, checkpoint=path)
    whole.save(tmp_path / "motion.npz")
    again = lw.Trajectory.load(tmp_path / "motion.npz", robot=robot)
    assert again.settings.closing == whole.settings.closing
    np.testing.assert_array_equal(again.resume(0.1).q, moved(robot, q, v, duration=0.3).q)


def test_several_loops():
    robot = four_bars(2)
    q = robot.closed_configuration(np.tile([1.3, -0.9, 1.8], 2), keep=["crank_hinge0", "crank_hinge1"])
    account = moved(robot, q, np.zeros(6), duration=0.2).energy
    assert account.loops.max() < 1e-12 and np.abs(account.drift).max() < 1e-5


# --- refused ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "why"),
    [
        ({"method": "variational"}, lw.NotAdmittedError, "the variational step needs coordinates that are independent"),
        ({"coordinates": "total"}, lw.NotAdmittedError, "coordinates='total' needs coordinates that are independent"),
        ({"closing": "glue"}, lw.UnknownNameError, "choose from projection, embedded, baumgarte, none"),
        ({"closing": "projection", "method": "rk45"}, lw.InputError, "chooses its own steps"),
        ({"closing": "projection", "closing_rate": 1.0}, lw.InputError, "closing_rate is that of"),
        ({"closing": "baumgarte", "closing_rate": -1.0}, lw.InputError, "closing_rate .* must be greater than 0"),
    ],
)
def test_what_has_no_meaning_is_refused(start, options, error, why):
    with pytest.raises(error, match=why):
        moved(*start, **options)


def test_trees_have_no_loops_to_close():
    with pytest.raises(lw.InputError, match="has no loops"):
        moved(open_four_bar(), np.zeros(3), np.zeros(3), closing="projection")


def test_a_start_that_is_open_names_the_loop_and_the_remedy(start):
    robot, q, v = start
    with pytest.raises(lw.ClosureError, match=r"loop 'rocker_end–coupler_end' .* is open, by 0\.\d+ .*closed_config"):
        moved(robot, q + np.array([0.1, 0, 0]), v)
    with pytest.raises(lw.ClosureError, match=r"comes apart in state 1 of the batch, by .*closed_velocity"):
        moved(robot, np.stack([q, q]), np.stack([v, v + np.array([1.0, 0, 0])]))


def offsets_of(robot):
    return np.array([c.placement.l for c in robot.constants()])


def with_offsets(robot, offsets):
    held = [replace(c, placement=replace(c.placement, l=l)) for c, l in zip(robot.constants(), offsets)]
    return robot.with_constants(held)


@pytest.mark.parametrize("embedded", [False, True])
def test_other_offsets_of_the_robot_are_those_that_must_close(start, embedded):
    robot, q, v = start
    if embedded:
        robot = robot.opened.close(replace(robot.loops[0], dependent=("coupler_hinge", "rocker_hinge")))
    own = offsets_of(robot)
    longer = own + np.array([[0, 0, 0], [0.05, 0, 0], [0, 0, 0]])
    other = with_offsets(robot, longer)
    at = other.closed_configuration(q)
    moving = other.closed_velocity(at, v)
    each = {"offsets": np.stack([own, longer])}
    found = moved(robot, np.stack([q, at]), np.stack([v, moving]), duration=0.02, parameters=each)
    np.testing.assert_allclose(found.q[1], moved(other, at, moving, duration=0.02).q, atol=1e-10)
    assert found.energy.loops.max() < 1e-10
    with pytest.raises(lw.ClosureError, match=r"is open, by 0\.0\d+ .*of a robot with the offsets that were given"):
        moved(robot, q, v, duration=0.002, parameters={"offsets": longer})
    with pytest.raises(lw.ClosureError, match="is open in state 1 of the batch"):
        moved(robot, np.stack([q, q]), v, duration=0.002, parameters=each)
    with pytest.raises(lw.ClosureError, match="comes apart in state 1 of the batch"):
        moved(robot, np.stack([q, at]), v, duration=0.002, parameters=each)
