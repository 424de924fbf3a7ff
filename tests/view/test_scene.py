"""What is drawn for a robot: solids, sketches, inertia boxes, arrows, all against the robot's own numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import linkwise as lw
from linkwise.spatial import Transform
from linkwise.view import solids
from linkwise.view.scene import INERTIAS, VISUALS, Scene, box_of_inertia

ROBOTS = [*lw.robots(), "tree"]


def build(name):
    return lw.random_tree(9, seed=4) if name == "tree" else lw.load(name)


def volume(t):
    a, b, c = (t.vertices[t.faces[:, i]] for i in range(3))
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6


def area(sides):
    """Of a regular polygon in the unit circle."""
    return 0.5 * sides * np.sin(2 * np.pi / sides)


@pytest.mark.parametrize(
    "made, expected",
    [
        (solids.box(np.array([1.0, 2.0, 3.0])), 6.0),
        (solids.rod(0.5, 2.0), 0.25 * area(solids.SIDES) * 2.0),
        (solids.segment(np.array([1.0, 2, 3]), np.array([1.0, 2, 5]), 1e-3), 2e-6 * area(solids.SIDES)),
    ],
    ids=["box", "rod", "segment"],
)
def test_volumes(made, expected):
    assert_allclose(volume(made), expected, rtol=1e-2)


def test_round_solids_are_a_little_smaller_than_the_true_ones():
    ball, pill = volume(solids.ball(0.5)), volume(solids.rod(0.5, 2.0, rounded=True))
    true_ball = 4 / 3 * np.pi * 0.125
    assert 0.93 * true_ball < ball < true_ball
    assert 0.93 * (true_ball + 0.5 * np.pi) < pill < true_ball + 0.5 * np.pi


def test_normals_point_outward_and_have_unit_length():
    for t in (solids.box(np.ones(3)), solids.ball(1.0), solids.rod(1.0, 1.0)):
        n = t.normals()
        used = np.unique(t.faces)
        assert_allclose(np.linalg.norm(n[used], axis=1), 1.0)
        assert (np.einsum("ij,ij->i", n[used], t.vertices[used]) > 0).all()


def test_an_arrow_reaches_from_start_to_end():
    start, end = np.array([0.2, -0.1, 0.4]), np.array([1.0, 0.5, 0.1])
    t = solids.arrow(start, end, 0.01)
    along = (t.vertices - start) @ (end - start) / np.linalg.norm(end - start)
    assert_allclose([along.min(), along.max()], [0, np.linalg.norm(end - start)], atol=1e-12)


@pytest.mark.parametrize("direction", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0.1, -2, 0.3), (0, 0, 0)])
def test_rotation_onto(direction):
    R = solids.rotation_onto(np.array(direction, float))
    assert_allclose(R @ R.T, np.eye(3), atol=1e-14)
    assert_allclose(np.linalg.det(R), 1.0)
    if any(direction):
        assert_allclose(R[:, 2], np.array(direction) / np.linalg.norm(direction), atol=1e-14)


@pytest.mark.parametrize("name", ROBOTS)
def test_poses_frames_tips_and_center_of_mass_are_the_robots(name, rng):
    robot = build(name)
    scene = Scene(robot)
    q = robot.random_configuration(rng, (3,))
    at = scene.poses(q)
    for i, body in enumerate(robot.bodies):
        R, p = robot.pose(q, body.name)
        assert_allclose(at.R[:, i], R, atol=1e-13)
        assert_allclose(at.p[:, i], p, atol=1e-13)
    named = [f.name for f in robot.frames if f.name != "world"]
    turned, points = scene.frames(at)
    for i, frame in enumerate(named):
        R, p = robot.pose(q, frame)
        assert_allclose(turned[:, i], R, atol=1e-13)
        assert_allclose(points[:, i], p, atol=1e-13)
    for i, tip in enumerate(robot.tips):
        assert_allclose(scene.tips(at)[:, i], robot.pose(q, tip)[1], atol=1e-13)
    assert_allclose(scene.center_of_mass(at), robot.center_of_mass(q), atol=1e-13)


@pytest.mark.parametrize("name", ROBOTS)
def test_every_robot_has_something_to_see(name):
    robot = build(name)
    scene = Scene(robot)
    assert {p.layer for p in scene.pieces} == {VISUALS, INERTIAS}
    assert all(-1 <= p.body < len(robot.bodies) for p in scene.pieces)
    assert all(np.isfinite(p.triangles.vertices).all() for p in scene.pieces)
    marked = {p.body for p in scene.pieces if p.layer == VISUALS}
    assert {i for i, j in enumerate(robot.joints) if j.kind.nv} <= marked


def test_a_sketch_joins_each_joint_to_the_next():
    robot = lw.load("panda")
    rods = [p for p in Scene(robot).pieces if p.layer == VISUALS]
    for child, parent in enumerate(robot.parents):
        end = robot.joints[child].placement.l
        if np.linalg.norm(end) > 1e-6:
            reach = [p.triangles.vertices for p in rods if p.body == parent]
            assert min(np.linalg.norm(v - end, axis=1).min() for v in reach) < 0.05


def test_the_box_of_an_inertia_has_it():
    size, R = np.array([0.3, 0.1, 0.7]), lw.Frame("f", rpy=(0.3, -0.5, 1.1)).pose.R
    inertia = lw.Inertia.box(2.5, size).moved(Transform(R, np.zeros(3)))
    sides, axes = box_of_inertia(inertia)
    assert_allclose(sorted(sides), sorted(size))
    again = lw.Inertia.box(2.5, sides).moved(Transform(axes, np.zeros(3)))
    assert_allclose(again.tensor, inertia.tensor, atol=1e-15)
    assert_allclose(np.linalg.det(axes), 1.0)


def test_axes_are_columns_of_jacobians(rng):
    robot = lw.load("panda")
    scene, q = Scene(robot), robot.random_configuration(rng)
    arrows = scene.axis_arrows(scene.poses(q))
    along = (arrows.end - arrows.start) / np.linalg.norm(arrows.end - arrows.start, axis=1, keepdims=True)
    assert_allclose(along.T, robot.jacobian(q, robot.bodies[-1].name)[:3], atol=1e-13)
    assert_allclose(0.5 * (arrows.start + arrows.end), scene.poses(q).p, atol=1e-13)


def test_force_arrows_are_in_proportion(rng):
    robot = lw.load("ur5")
    scene, q = Scene(robot), robot.random_configuration(rng)
    at, tau = scene.poses(q), np.array([1.0, -2.0, 0.0, 4.0, 0.5, 3.0])
    arrows = scene.force_arrows(at, tau, 4.0)
    lengths = np.linalg.norm(arrows.end - arrows.start, axis=1)
    assert_allclose(lengths, 0.25 * scene.size * np.abs(tau) / 4.0, atol=1e-14)
    forward = scene.axis_arrows(at)
    signs = np.einsum("ij,ij->i", arrows.end - arrows.start, forward.end - forward.start)
    assert (np.sign(signs) == np.sign(tau)).all()


def test_wrench_arrows_are_in_world_axes(rng):
    robot = lw.load("ur5")
    scene, q = Scene(robot), robot.random_configuration(rng)
    at = scene.poses(q)
    wrenches = robot.wrenches(q, {robot.bodies[-1].name: [0, 0, 0, 0, 0, 7.0]})
    arrows = scene.wrench_arrows(at, wrenches, 7.0)
    assert_allclose((arrows.end - arrows.start)[-1], [0, 0, 0.25 * scene.size], atol=1e-13)
    assert_allclose((arrows.end - arrows.start)[:-1], 0, atol=1e-13)


def test_external_forces_lie_on_their_lines_of_action():
    robot = lw.load("panda")
    scene, q = Scene(robot), robot.neutral()
    at, force = scene.poses(q), np.array([3.0, 1.0, 0.0])
    wrenches = robot.wrenches(q, {"tcp": [0, 0, 0, *force]})
    arrows = scene.wrench_arrows(at, wrenches, 1.0, on_line=True)
    tool = robot.pose(q, "tcp")[1]
    assert np.linalg.norm(arrows.start[-1] - at.p[-1]) > 0.05
    assert_allclose(np.cross(tool - arrows.start[-1], force), 0, atol=1e-12)
    assert_allclose(np.cross(arrows.end[-1] - arrows.start[-1], force), 0, atol=1e-12)
    couple = scene.wrench_arrows(at, robot.wrenches(q, {"tcp": [9, 9, 9, 1e-3, 0, 0]}), 1.0, on_line=True)
    assert_allclose(couple.start, at.p)  # its line is far away


def test_a_robot_without_mass_or_bodies_can_still_be_drawn():
    empty = lw.assemble("empty", [])
    scene = Scene(empty)
    assert_allclose(scene.center_of_mass(scene.poses(empty.neutral())), np.zeros(3))
    assert scene.size > 0
    assert not scene.pieces
