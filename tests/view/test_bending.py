"""Flexible bodies in pictures: rods that lie on the bent body."""

import numpy as np
from flexible_bodies import beam

import linkwise as lw
from linkwise.view import bending
from linkwise.view.scene import Scene


def arm(**options) -> lw.Robot:
    return lw.assemble("arm", [lw.Body("arm", lw.Revolute("y"), beam((1, 1), **options))])


def test_rods_lie_on_the_bent_beam():
    """Compared with nodes all along it, which know the shape itself; a cubic comes near the first mode."""
    stations = {f"at{i}": (i + 0.5) / bending.RODS for i in range(bending.RODS)}
    scene, known = Scene(arm()), arm(nodes=stations)
    q = np.array([[0.3, 0.03, -0.04], [0.0, 0.0, 0.02]])
    at = scene.poses(q)
    rods = at.p[:, len(scene.robot.bodies) :]
    assert rods.shape == (2, bending.RODS, 3)
    there = np.stack([known.pose(q, f"arm.at{i}")[1] for i in range(bending.RODS)], axis=1)
    assert np.abs(rods - there).max() < 4e-3
    straight = scene.poses(np.zeros(3)).p[len(scene.robot.bodies) :]
    np.testing.assert_allclose(straight[:, 0], (np.arange(bending.RODS) + 0.5) / bending.RODS, atol=1e-12)


def test_nodes_in_a_row_make_spans_in_a_row():
    robot = arm(nodes={"middle": 0.5, "quarter": 0.25})
    found = bending.spans(robot)
    names = [(robot.bodies[a].name, robot.bodies[b].name) for a, b, _ in found]
    assert names == [("arm", "arm.quarter"), ("arm.quarter", "arm.middle"), ("arm.middle", "arm.tip")]


def test_what_is_drawn():
    """One rod per part and a mark for the hinge, nothing for mass points; rods move with the robot."""
    scene = Scene(arm())
    bodies = len(scene.robot.bodies)
    drawn = [piece.body for piece in scene.pieces if piece.layer == "visuals"]
    assert sorted(k for k in drawn if k >= bodies) == list(range(bodies, bodies + bending.RODS))
    assert {k for k in drawn if k < bodies} == {-1, 0}
    assert not [piece for piece in scene.pieces if piece.layer == "inertias"]
    assert len(scene.axes[0]) == len(scene._axis_dofs) == 1
    masses = scene.center_of_mass(scene.poses(np.array([0.2, 0.01, 0.02])))
    np.testing.assert_allclose(masses, scene.robot.center_of_mass(np.array([0.2, 0.01, 0.02])), atol=1e-12)


def test_a_still_of_a_bent_arm(tmp_path):
    robot = arm()
    motion = lw.simulate(robot, [0.2, 0.0, 0.1], steps=2, target="numpy")
    lw.view.save(tmp_path / "bent.png", motion, show=("visuals", "axes", "center_of_mass", "trace", "inertias"))
    assert (tmp_path / "bent.png").stat().st_size > 1000
