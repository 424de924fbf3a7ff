"""Closed robots in pictures: the forces of their loops, and those through joints beside them."""

import numpy as np
import pytest

import linkwise as lw
from linkwise.view.motion import as_motion


@pytest.fixture(scope="module")
def run():
    robot = lw.load("four_bar")
    return lw.simulate(robot, robot.neutral(), robot.closed_velocity(robot.neutral(), [2.0, 0, 0]), duration=0.05)


def test_forces_are_those_of_the_loops_in_the_world(run):
    motion, robot = as_motion(run), run.robot
    f = robot.loop_forces(run.q, run.v, run.tau)[:, 0]
    R, p = robot.pose(run.q, "rocker_end")
    assert np.allclose(motion.loop_forces[:, 0, 3:], (R @ f[:, 3:, None])[..., 0], atol=1e-12)
    assert np.allclose(motion.loop_places[:, 0], p)


def test_reactions_hold_the_bodies_with_their_loops(run):
    """The hinges carry what the motors do not: along their axes reactions are the joint forces, here none."""
    motion, robot = as_motion(run), run.robot
    axis = np.array([0.0, -1.0, 0.0])
    assert np.abs(motion.reactions[..., :3] @ axis).max() < 1e-10 * np.abs(motion.reactions).max()
    # what both ground hinges carry is weight and momentum of the whole
    grounded = [k for k, parent in enumerate(robot.parents) if parent < 0]
    R = np.stack([robot.pose(run.q, robot.bodies[k].name)[0] for k in grounded], axis=1)
    total = (R @ motion.reactions[:, grounded, 3:, None])[..., 0].sum(axis=1)
    J = robot.center_of_mass_jacobian(run.q)
    h = 1e-5
    ahead, behind = (
        (robot.center_of_mass_jacobian(robot.integrate(run.q, t * run.v)) @ (run.v + t * run.a)[..., None])[..., 0]
        for t in (h, -h)
    )
    assert J.shape[-2:] == (3, 3)
    expected = robot.total_mass * ((ahead - behind) / (2 * h) - robot.gravity)
    assert np.abs(total - expected).max() < 1e-6 * np.abs(expected).max()


def test_pictures_have_them(run, tmp_path):
    from PIL import Image

    plain, shown = tmp_path / "plain.png", tmp_path / "shown.png"
    lw.view.save(plain, run, time=0.02, size=(160, 120))
    lw.view.save(shown, run, time=0.02, size=(160, 120), show=("visuals", "loop_forces", "reactions"))
    assert (np.asarray(Image.open(plain)) != np.asarray(Image.open(shown))).any()


def test_mobility_of_no_numbers_is_refused():
    with pytest.raises(lw.InputError, match="finite"):
        lw.load("four_bar").mobility([np.nan, 0, 0])
