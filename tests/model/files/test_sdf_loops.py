"""Joints of SDF files that close a chain become loops of their kind."""

import numpy as np
import pytest
from sdf_files import joint, link, model

import linkwise as lw
from linkwise.spatial import rotation_from_rpy

LINKS = link("a") + link("b", "<pose>0.3 0 0 0 0 0.2</pose>") + link("c", "<pose>0.7 0.1 0 0.1 0.2 0.3</pose>")
CHAIN = joint("j1", "world", "a", "ball") + joint("j2", "a", "b", "ball") + joint("j3", "b", "c", "ball")
AXIS, SECOND = np.array([0.0, 0.6, 0.8]), np.array([1.0, 0.0, 0.0])
PLACE = np.array([0.05, 0.1, 0.2, 0.3, 0.1, 0.2])
TURNED = np.eye(3) - np.outer(AXIS, AXIS)
# kind → the kind of loop, and which turns and shifts of c it stops, in the joint's axes
KINDS = {
    "revolute": ("revolute", TURNED, np.eye(3)),
    "continuous": ("revolute", TURNED, np.eye(3)),
    "prismatic": ("prismatic", np.eye(3), TURNED),
    "universal": ("universal", np.cross(AXIS, SECOND)[None], np.eye(3)),
    "ball": ("spherical", np.zeros((0, 3)), np.eye(3)),
    "fixed": ("weld", np.eye(3), np.eye(3)),
}


def closing(kind, parent, more=""):
    pose = f'<pose relative_to="c">{" ".join(map(str, PLACE))}</pose>'
    text = joint("pin", parent, "c", kind, "0 0.6 0.8", pose, more)
    return text.replace("</joint>", "<axis2><xyz>1 0 0</xyz></axis2></joint>") if kind == "universal" else text


def rows(G):
    """The projector onto what a matrix of constraints stops."""
    _, values, right = np.linalg.svd(G)
    kept = right[: int((values > 1e-9 * max(values[0], 1e-30)).sum())]
    return kept.T @ kept


@pytest.mark.parametrize("parent", ["world", "a"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_second_joint_of_a_link_closes_a_loop(kind, parent):
    robot = lw.load(model(LINKS + CHAIN + closing(kind, parent)))
    (loop,) = robot.loops
    name, turns, shifts = KINDS[kind]
    assert (loop.name, loop.kind) == ("pin", name) and robot.nv == 9  # more than any loop stops
    q, v = robot.neutral(), np.linspace(-0.5, 0.5, 9)
    assert np.abs(robot.loop_error(q)).max() < 1e-14
    # How c moves at the joint, against what the joint ties it to, in the joint's axes.
    R, p = robot.pose(q, "c")
    R, r = R @ rotation_from_rpy(PLACE[3:]), R @ PLACE[:3]
    J = robot.jacobian(q, "c")
    at = np.concatenate([J[:3], J[3:] + np.cross(J[:3].T, r).T])
    if parent == "a":
        K = robot.jacobian(q, "a")
        at -= np.concatenate([K[:3], K[3:] + np.cross(K[:3].T, p + r - robot.pose(q, "a")[1]).T])
    G = np.concatenate([turns @ R.T @ at[:3], shifts @ R.T @ at[3:]])
    np.testing.assert_allclose(rows(robot.loop_jacobian(q)), rows(G), atol=1e-12)
    assert np.isfinite(robot.forward_dynamics(q, robot.closed_velocity(q, v), v)).all()
    assert lw.load(model(LINKS + CHAIN + closing(kind, parent)), loops=False).loops == ()


def test_of_a_cardan_joint_the_first_axis_is_the_parents():
    robot = lw.load(model(LINKS + CHAIN + closing("universal", "a")))
    q = robot.neutral()
    moved = robot.integrate(q, robot.closed_velocity(q, np.linspace(-0.6, 0.9, 9)))
    moved = robot.closed_configuration(moved)
    at_zero = robot.pose(q, "c")[0] @ rotation_from_rpy(PLACE[3:])
    first, second = (
        robot.pose(moved, link)[0] @ robot.pose(q, link)[0].T @ at_zero @ axis
        for link, axis in (("a", AXIS), ("c", SECOND))
    )
    turn = robot.pose(moved, "a")[0].T @ robot.pose(moved, "c")[0]
    assert np.abs(turn - robot.pose(q, "a")[0].T @ robot.pose(q, "c")[0]).max() > 0.1
    assert abs(first @ second) < 1e-10


def test_a_four_bar_is_the_built_in_one():
    """Written from the built-in tree, with its hinges and the pin that closes it."""
    built = lw.load("four_bar")
    links, joints = [], []
    for b in built.bodies:
        c, I = b.inertia.com, b.inertia.tensor
        moments = "".join(f"<i{x}>{float(I[i, j])!r}</i{x}>" for x, i, j in (("xx", 0, 0), ("yy", 1, 1), ("zz", 2, 2)))
        com = " ".join(repr(float(x)) for x in c)
        links.append(
            f'<link name="{b.name}"><pose relative_to="{b.joint.name}"/><inertial><pose>{com} 0 0 0</pose>'
            f"<mass>{b.inertia.mass!r}</mass><inertia>{moments}</inertia></inertial></link>"
        )
        R, l = b.joint.placement.R, b.joint.placement.l
        pitch = float(np.arctan2(-R[2, 0], R[0, 0]))
        parent = b.parent or "world"
        relative = parent if b.parent else "__model__"
        pose = f'<pose relative_to="{relative}">{" ".join(repr(float(x)) for x in l)} 0 {pitch!r} 0</pose>'
        joints.append(joint(b.joint.name, parent, b.name, axis="0 -1 0", pose=pose))
    joints.append(joint("pin", "rocker", "coupler", axis="0 1 0", pose="<pose>0.8 0 0 0 0 0</pose>"))
    robot = lw.load(model("".join(links + joints)))
    q = built.closed_configuration([0.4, 0.0, 0.0], keep=["crank_hinge"])
    v, tau = built.closed_velocity(q, [1.0, 0, 0]), np.array([0.3, -0.1, 0.2])
    assert np.abs(robot.loop_error(q)).max() < 1e-12 and robot.mobility(q) == 1
    for method in ("cut", "embedded"):
        expected = built.forward_dynamics(q, v, tau, method=method)
        np.testing.assert_allclose(robot.forward_dynamics(q, v, tau, method=method), expected, rtol=1e-9)


def test_a_ring_without_a_root_is_cut_where_it_closes():
    ring = joint("j1", "a", "b") + joint("j2", "b", "c", "ball") + joint("j3", "c", "a", "ball")
    robot = lw.load(model(LINKS + ring))
    assert [j.name for j in robot.joints] == ["root_joint", "j1", "j2"] and [x.name for x in robot.loops] == ["j3"]
    assert np.abs(robot.loop_error(robot.neutral())).max() < 1e-14


def test_a_joint_may_ask_to_be_cut():
    cut = "<physics><simbody><must_be_loop_joint>1</must_be_loop_joint></simbody></physics></joint>"
    text = LINKS + CHAIN.replace("</joint>", cut, 1) + joint("other", "world", "a", "ball")
    robot = lw.load(model(text))
    assert [x.name for x in robot.loops] == ["j1"] and [j.name for j in robot.joints] == ["other", "j2", "j3"]


def test_nothing_is_held_where_nothing_moves():
    welded = joint("j2", "a", "b", "fixed") + joint("again", "a", "b", "ball")
    assert lw.load(model(link("a") + link("b") + joint("j1", "world", "a") + welded)).loops == ()


def test_what_cannot_close_a_loop_says_so():
    for kind, reason in (("screw", "a screw joint cannot here"), ("revolute2", "a revolute2 joint cannot here")):
        pin = closing(kind, "world").replace("</joint>", "<axis2><xyz>1 0 0</xyz></axis2></joint>")
        with pytest.raises(lw.FileError, match=reason):
            lw.load(model(LINKS + CHAIN + pin))
    slanted = closing("universal", "world").replace("<axis2><xyz>1 0 0", "<axis2><xyz>1 1 0")
    with pytest.raises(lw.FileError, match="must be perpendicular"):
        lw.load(model(LINKS + CHAIN + slanted))


def test_damping_where_it_closes_is_warned_about():
    damped = closing("revolute", "world", "<dynamics><damping>1</damping></dynamics>")
    with pytest.warns(lw.ModelWarning, match="closes a loop; its spring, damping and friction are not modelled"):
        lw.load(model(LINKS + CHAIN + damped))
