"""Grasps from grasps: arms that come and go, loops that are added, and what couplings, names and numbers make of it."""

from dataclasses import replace

import numpy as np
import pytest
from held_objects import BOX

import linkwise as lw

ARM = lw.chain(6, seed=3)
GEARED = ARM.couple("joint6", "joint5", ratio=0.5)
FINGERS = lw.load("gripper")
ARMS = [GEARED, ARM, GEARED]
GRIPS = [lw.Contact("tip", lw.Frame(f"grip{i}", at=(0.1 * i, 0, 0))) for i in range(3)]


def followers(robot):
    return [c.dependent for c in robot.couplings]


@pytest.mark.parametrize("held", [BOX, FINGERS], ids=["a box", "fingers"])
def test_arms_that_come_and_go_leave_couplings_as_they_are(held):
    whole = lw.grasp(ARMS, held, GRIPS)
    of_object = [] if held is BOX else [f"object/{name}" for name in followers(FINGERS)]
    assert followers(whole) == ["arm_1/joint6", "arm_3/joint6", *of_object]
    assert lw.grasp(ARMS[:2], held, GRIPS[:2]).with_arm(ARMS[2], GRIPS[2]) == whole
    fewer = whole.without_arm("arm_1")
    assert followers(fewer) == ["arm_3/joint6", *of_object] and fewer.nv == whole.nv - 5
    assert followers(whole.object_alone) == of_object and whole.object_alone.nv == whole.object_size


def test_an_object_alone_keeps_its_loops():
    """A four-bar as a door: those between its bodies, and what holds it to the world, but no hand."""
    linkage = lw.load("four_bar")
    door = linkage.close(lw.Loop(lw.Frame("stop", None, at=(0.9, 0, 0.5)), "rocker_end", "distance", length=2.0))
    x = lw.Contact("tip", lw.Frame("handle", "coupler", at=(0.4, 0, 0)), "hard_finger")
    for held in (linkage, door):
        team = lw.grasp([ARM], held, [x], floating=False).close(lw.Loop("arm_1/tip", "object/crank", "spherical"))
        alone = team.object_alone
        assert [(l.name, l.kind) for l in alone.loops] == [(f"object/{l.name}", l.kind) for l in held.loops]
        q, v, tau = 0.01 * np.ones(3), np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -0.2])
        np.testing.assert_array_equal(alone.loop_error(q), held.loop_error(q))
        np.testing.assert_allclose(alone.forward_dynamics(q, v, tau), held.forward_dynamics(q, v, tau), rtol=1e-12)
    flying = lw.grasp([ARM], linkage, [x]).object_alone
    assert len(flying.loops) == 1 and flying.nv == 9
    assert not lw.grasp([ARM], BOX, GRIPS[:1]).object_alone.loops


def test_an_object_may_follow_an_arm_as_long_as_that_is_there():
    turns = ("object/left_knuckle", "arm_2/joint1")
    crossed = lw.grasp(ARMS[:2], FINGERS.uncouple(), GRIPS[:2]).couple(*turns)
    assert crossed.with_arm(ARMS[2], GRIPS[2]) == lw.grasp(ARMS, FINGERS.uncouple(), GRIPS).couple(*turns)
    with pytest.raises(lw.ModelError, match="'object/left_knuckle' follows 'arm_2/joint1'.*uncouple it first"):
        crossed.without_arm("arm_2")


def test_a_new_arm_may_bring_a_frame_of_an_object_that_is_a_robot():
    door, x = lw.chain(2), lw.Contact("tip", "tip", "hard_finger")
    alone = lw.grasp([ARM], door, [x], floating=False)
    for frame in (lw.Frame("knob", at=(0, 0.1, 0)), lw.Frame("knob", "link2", at=(0, 0.1, 0))):
        y = lw.Contact("tip", frame, "hard_finger")
        grown = alone.with_arm(ARM, y)
        assert grown.contacts[1].object_frame == "object/knob"
        assert grown == lw.grasp([ARM, ARM], door, [x, y], floating=False)
    with pytest.raises(lw.ModelError, match="sits on body 'object/link3', which does not exist"):
        alone.with_arm(ARM, lw.Contact("tip", lw.Frame("knob", "link3")))
    pegged = alone.close(lw.Loop("world", lw.Frame("peg", "object/link2"), "point_on_plane"))
    with pytest.raises(lw.UnknownNameError, match="contact 'tip–peg', on the object"):
        pegged.with_arm(ARM, lw.Contact("tip", "peg"))


def test_a_loop_does_not_take_the_name_of_a_contact():
    team = lw.grasp([ARM], BOX, GRIPS[:1])
    for loop in (lw.Loop("object", "world", "point_on_plane", name="arm_1/tip–grip0"), team.contacts[0].loop):
        with pytest.raises(lw.ModelError, match="two loops are named 'arm_1/tip–grip0'; give one another name="):
            team.close(loop)


def test_grasps_with_other_numbers_are_closed_as_robots_are():
    team, loop = lw.grasp([ARM], BOX, GRIPS[:1]), lw.Loop("object", "world", "point_on_plane")
    heavy = team.with_constants([replace(c, M=c.M + c.M) for c in team.constants()])
    closed = heavy.close(loop)
    assert type(closed) is lw.Grasp and closed.contacts == team.contacts and len(closed.loops) == 2
    q = team.neutral() + 0.0
    q[:6] = 0.3
    np.testing.assert_allclose(closed.gravity_force(q), 2.0 * team.gravity_force(q), rtol=1e-12, atol=1e-12)
    assert closed.close(replace(loop, name="again")).numbers == heavy.numbers
