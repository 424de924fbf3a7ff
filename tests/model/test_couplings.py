"""Couplings as data: what they refuse, how they compose, and what edits of a robot make of them."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import linkwise as lw
from linkwise import control
from linkwise.model.couplings import aggregates
from linkwise.model.relations import Relation
from linkwise.sweeps import BodyTree


def _arm() -> lw.Robot:
    return lw.chain(5, seed=2)


# --- relations -------------------------------------------------------------------------------------------


def _curve(a, b):
    return np.sin(a) * b**3 + np.arctan2(a, 2.0 + b * b) + np.hypot(a, 1.0) + np.where(b > 0.0, b * b, -b)


def test_derivatives_of_relations_are_exact():
    """Each order by complex steps through the one before it."""
    relation = Relation.traced(_curve, 2, "it")
    at, h = [np.array([0.3, -1.2]), np.array([0.7, 0.4])], 1e-30
    assert np.allclose(relation(at)[0], _curve(*at), rtol=1e-15)
    below = {(): relation}
    for order in relation.derivatives:
        for where, found in order.items():
            for last in set(where):
                rest = list(where)
                rest.remove(last)
                moved = [x + 1j * h * (i == last) for i, x in enumerate(at)]
                expected = np.imag(below[tuple(rest)](moved)[0]) / h
                assert np.allclose(found(at)[0], expected, rtol=1e-12, atol=1e-14)
        below = order


def test_linear_relations_are_known_by_their_graph():
    assert Relation.traced(lambda a, b: 2.0 * (a - b) + 0.5 - a, 2, "it").ratios == (1.0, -2.0)
    assert Relation.traced(np.sin, 1, "it").ratios is None
    assert Relation.linear([3.0], -1.0).offset == -1.0


def test_robots_with_couplings_are_values():
    robot = _arm().couple("joint3", ("joint1", "joint2"), relation=_curve)
    again = _arm().couple("joint3", ("joint1", "joint2"), relation=_curve)
    assert robot == again and hash(robot) == hash(again) and robot.fingerprint == again.fingerprint is not None
    assert pickle.loads(pickle.dumps(robot)) == copy.copy(robot) == robot
    other = _arm().couple("joint3", ("joint1", "joint2"), relation=lambda a, b: a - b)
    assert robot != other and robot.fingerprint != other.fingerprint
    assert robot.uncouple() == _arm() != robot


# --- what is refused ---------------------------------------------------------------------------------------

REFUSED = {
    "an unknown joint": (lambda r: r.couple("joint9", "joint1"), lw.UnknownNameError, "'joint9'"),
    "an unknown joint to follow": (lambda r: r.couple("joint2", "joint9"), lw.UnknownNameError, "'joint9'"),
    "itself": (lambda r: r.couple("joint2", "joint2"), lw.ModelError, "'joint2' would follow itself"),
    "a cycle": (
        lambda r: r.couple("joint2", "joint1").couple("joint1", "joint2"),
        lw.ModelError,
        "'joint1' would follow itself, by way of 'joint2': .*cycle",
    ),
    "a longer cycle": (
        lambda r: r.couple("joint2", "joint1").couple("joint3", "joint2").couple("joint1", "joint3", relation=np.sin),
        lw.ModelError,
        "'joint1' would follow itself.*cycle",
    ),
    "two relations": (
        lambda r: r.couple("joint2", "joint1").couple("joint2", "joint3"),
        lw.ModelError,
        "'joint2' already follows 'joint1'",
    ),
    "a joint twice": (lambda r: r.couple("joint2", ("joint1", "joint1")), lw.InputError, "names a joint twice"),
    "no joints": (lambda r: r.couple("joint2", ()), lw.InputError, "'joint2' follows a joint or a list"),
    "no number": (lambda r: r.couple("joint2", "joint1", ratio="1"), lw.InputError, "a ratio must be a number"),
    "NaN": (lambda r: r.couple("joint2", "joint1", ratio=np.nan), lw.InputError, "a ratio must be finite"),
    "an infinite offset": (lambda r: r.couple("joint2", "joint1", offset=np.inf), lw.InputError, "offset must be fin"),
    "too many ratios": (lambda r: r.couple("joint2", "joint1", ratio=(1, 2)), lw.InputError, "one number for each"),
    "both": (lambda r: r.couple("joint2", "joint1", ratio=2, relation=np.sin), lw.InputError, "either ratio="),
    "no function": (lambda r: r.couple("joint2", "joint1", relation=3.0), lw.InputError, "must be a function of 1"),
    "two results": (lambda r: r.couple("joint2", "joint1", relation=lambda a: (a, a)), lw.ModelError, "one number"),
    "a truth": (lambda r: r.couple("joint2", "joint1", relation=lambda a: a > 0), lw.ModelError, "one number"),
    "other arguments": (lambda r: r.couple("joint2", "joint1", relation=_curve), lw.ModelError, "of 1 positions"),
    "a decision": (
        lambda r: r.couple("joint2", "joint1", relation=lambda a: a if a > 0 else -a),
        lw.ModelError,
        "one smooth function",
    ),
    "a jump": (lambda r: r.couple("joint2", "joint1", relation=np.floor), lw.ModelError, "floor jumps"),
    "a constant": (lambda r: r.couple("joint2", "joint1", relation=lambda a: 1.0), lw.ModelError, "robot.lock"),
    "a NaN within": (lambda r: r.couple("joint2", "joint1", relation=lambda a: a + np.nan), lw.ModelError, "finite"),
    "locking a follower": (
        lambda r: r.couple("joint2", "joint1").lock(["joint2"]),
        lw.InputError,
        "'joint2' follows 'joint1' and cannot be locked",
    ),
    "uncoupling what is free": (lambda r: r.uncouple(["joint1"]), lw.InputError, "'joint1' follows no other"),
    "driving a follower": (
        lambda r: control.LQR.about(r.couple("joint2", "joint1"), np.zeros(4), actuated=["joint2"]),
        lw.InputError,
        "'joint2' follows 'joint1' and cannot be driven",
    ),
    "a subtree without what is followed": (
        lambda r: r.couple("joint4", "joint1").subtree("link3"),
        lw.ModelError,
        "'joint4' follows 'joint1', and 'joint1' is not a joint",
    ),
    "no common limits": (lambda r: _limited().couple("b", "a", offset=9.0).lower_limits, lw.ModelError, "nowhere"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_name_the_joint_and_the_remedy(what):
    call, kind, said = REFUSED[what]
    with pytest.raises(kind, match=said):
        call(_arm())


def test_joints_of_several_degrees_of_freedom_are_refused():
    robot = lw.random_tree(3, seed=1, joints=["revolute", "spherical"])
    kinds = {j.kind.kind: j.name for j in robot.joints}
    with pytest.raises(lw.ModelError, match=f"{kinds['spherical']!r} is spherical with 3 degrees of freedom"):
        robot.couple(kinds["spherical"], kinds["revolute"])


def test_rotors_that_spin_on_a_member_are_refused():
    arm = _arm()
    bodies = arm.bodies
    spun = lw.Body(
        "link3", lw.Joint(lw.Revolute("z"), "joint3", rotor=lw.Rotor(0.001, axis="x")), bodies[2].inertia, "link2"
    )
    robot = lw.assemble("spun", [*bodies[:2], spun, *bodies[3:]])
    with pytest.raises(lw.ModelError, match="'joint3' has a rotor with an axis"):
        robot.couple("joint4", "joint2")


def test_loops_and_couplings_in_either_order_are_one_robot():
    loop = lw.Loop("tip", "world", "spherical")
    assert _arm().couple("joint2", "joint1").close(loop) == _arm().close(loop).couple("joint2", "joint1")


# --- how they compose --------------------------------------------------------------------------------------


def test_joints_that_follow_followers_follow_what_those_follow():
    first = _arm().couple("joint2", "joint1", ratio=2.0, offset=0.5).couple("joint3", "joint2", relation=np.sin)
    later = _arm().couple("joint3", "joint2", relation=np.sin).couple("joint2", "joint1", ratio=2.0, offset=0.5)
    q = np.array([0.3, 0.1, -0.2])
    expected = [0.3, 1.1, np.sin(1.1), 0.1, -0.2]
    for robot in (first, later):
        assert all(c.independents == ("joint1",) for c in robot.couplings)
        assert np.allclose(robot.joint_positions(q), expected, rtol=0, atol=1e-15)
    assert np.array_equal(first.neutral(), np.zeros(3))


TREE = BodyTree((-1, 0, 1, 2, 0, 4, 5, 1))
GROUPS = {
    "parent and child": ([(1, 2)], [(1, 2)]),
    "siblings": ([(1, 4)], [(1, 4)]),
    "cousins bring the way": ([(3, 6)], [(1, 2, 3, 4, 5, 6)]),
    "an ancestor's own joint": ([(1, 3)], [(1, 2, 3)]),
    "two groups": ([(2, 3), (5, 6)], [(2, 3), (5, 6)]),
    "overlapping ones are one": ([(2, 3), (1, 7), (7, 2)], [(1, 2, 3, 7)]),
    "siblings, and a child of one": ([(2, 7), (2, 3)], [(2, 3, 7)]),
}


@pytest.mark.parametrize("name", GROUPS)
def test_aggregates_are_the_smallest_that_hang_on_one_body(name):
    sets, expected = GROUPS[name]
    assert list(aggregates(TREE, sets)) == expected


# --- edits -------------------------------------------------------------------------------------------------


def _pose(robot, q):
    return np.concatenate([np.ravel(x) for x in robot.pose(q, "tip", target="numpy")])


def test_locking_what_is_followed_locks_the_followers():
    robot = _arm().couple("joint4", ("joint1", "joint2"), relation=_curve).couple("joint5", "joint1", ratio=-2.0)
    q = np.array([0.4, 0.7, -0.3])
    one = robot.lock({"joint1": 0.4})
    assert one.nv == 2 and [c.dependent for c in one.couplings] == ["joint4"]
    assert np.allclose(_pose(one, q[1:]), _pose(robot, q), rtol=0, atol=1e-14)
    both = robot.lock({"joint1": 0.4, "joint2": 0.7})
    assert both.nv == 1 and not both.couplings
    assert np.allclose(_pose(both, q[2:]), _pose(robot, q), rtol=0, atol=1e-14)


def test_attached_and_cut_out_robots_keep_their_couplings():
    gripper = _arm().couple("joint5", "joint4", ratio=-1.0)
    both = lw.chain(2).attach(gripper, "tip", prefix="b_")
    assert both.nv == 6 and both.couplings[0].independents == ("b_joint4",)
    assert both.subtree("b_link4").nv == 1 and both.floating().nv == 12
    assert gripper.subtree("link2").nv == 3
    lighter = gripper.with_inertias({"link5": lw.Inertia(0.1, tensor=0.01 * np.eye(3))}).with_gravity((0, 0, 0))
    assert lighter.couplings == gripper.couplings


def _limited() -> lw.Robot:
    def body(name, lower, upper, **joint):
        limits = lw.Limits(lower, upper, velocity=2.0)
        return lw.Body(
            name + "_body",
            lw.Joint(lw.Revolute("z"), name, limits=limits, **joint),
            lw.Inertia(1.0, tensor=0.1 * np.eye(3)),
        )

    return lw.assemble(
        "limited", [body("a", -1.0, 2.0, damping=0.1, friction=0.2), body("b", -1.0, 3.0, damping=0.3, friction=0.4)]
    )


def test_limits_damping_and_friction_count_those_of_followers():
    robot = _limited().couple("b", "a", ratio=-2.0, offset=1.0)
    assert (robot.lower_limits, robot.upper_limits, robot.velocity_limits) == ([-1.0], [1.0], [1.0])
    assert robot.damping == pytest.approx([0.1 + 4 * 0.3]) and robot.friction == pytest.approx([0.2 + 2 * 0.4])
    drawn = robot.random_configuration(0, 50)
    assert (np.abs(drawn) <= 1.0).all()
    bent = _limited().couple("b", "a", relation=np.sin)
    assert (bent.lower_limits, bent.damping) == ([-1.0], [0.1])
    with pytest.raises(lw.NotAdmittedError, match="'b' has damping and follows 'a' by no constant ratio"):
        lw.simulate(bent.with_springs(damping_acts=False), [0.0], [1.0], duration=0.1, step=0.01, damping=True)
    q, v = np.array([0.4]), np.array([1.5])  # where it acts, it acts as it is
    assert bent.spring_force(q, v) == pytest.approx((0.1 + 0.3 * np.cos(q) ** 2) * v)


def test_urdf_says_mimics_and_refuses_other_couplings():
    robot = _limited().couple("b", "a", ratio=-2.0, offset=1.0)
    again = lw.load(robot.to_urdf())
    assert again.couplings == robot.couplings and lw.load(again.to_urdf()) == again
    free = lw.load(robot.to_urdf(), coupled=False)
    assert free.nv == 2 and lw.load(free.to_urdf()) == free
    with pytest.raises(lw.ModelError, match="'b' follows 'a' in a way that URDF cannot say"):
        _limited().couple("b", "a", relation=np.sin).to_urdf()
