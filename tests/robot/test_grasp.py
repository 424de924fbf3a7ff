"""Grasps as people make them: names, places, copies, edits, what is refused how, and that they move as they should."""

import copy
import pickle

import numpy as np
import pytest
from held_objects import BOX, KINDS, contact, near, state, two_arms

import linkwise as lw

ARM = lw.chain(6, seed=3)


def hold(*contacts, arms=1, held=BOX, **options):
    return lw.grasp([ARM] * arms, held, list(contacts), **options)


# --- how it is put together ------------------------------------------------------------------------------------------


def test_names_and_coordinates():
    team = hold(contact("rigid", 0), contact("hard_finger", 1), arms=2, bases=[None, ((1.0, 0, 0), (0, 0, np.pi))])
    assert team.arms == ("arm_1", "arm_2") and team.object_bodies == ("object",)
    assert [j.name for j in team.joints][::6] == ["arm_1/joint1", "arm_2/joint1", "object_free"]
    assert (team.nq, team.nv) == (19, 18)
    assert (team.arm_v("arm_2"), team.object_v, team.object_q) == (slice(6, 12), slice(12, 18), slice(12, 19))
    assert [x.name for x in team.contacts] == [x.name for x in team.loops] == ["arm_1/tip–handle0", "arm_2/tip–handle1"]
    R, p = team.pose(team.neutral(), "arm_2/base")
    np.testing.assert_allclose(p, [1, 0, 0])
    np.testing.assert_allclose(R, np.diag([-1, -1, 1]), atol=1e-12)
    assert isinstance(team, lw.Grasp) and isinstance(team, lw.Robot)


def test_objects_that_are_robots():
    box = lw.assemble("box", [], [lw.Frame("handle", at=(0.1, 0, 0))], base=BOX)
    team = hold(lw.Contact("tip", "handle"), held=box)
    assert team.object_bodies == ("object/base",) and team.contacts[0].object_frame == "object/handle"
    assert team.object_size == 6
    same = hold(lw.Contact("tip", "handle"), held=box.floating())
    assert same.object_size == 6
    door = lw.chain(1)
    assert hold(lw.Contact("tip", "tip", "hard_finger"), held=door, floating=False).object_size == 1
    assert hold(lw.Contact("tip", "tip", "hard_finger"), held=lw.chain(2).floating()).object_size == 8


def test_whose_hand_a_contact_is():
    frames = [lw.Frame(f"f{i}") for i in range(3)]
    one = hold(*(lw.Contact("tip", f, "hard_finger") for f in frames))
    assert {x.arm for x in one.contacts} == {"arm_1"}
    said = [lw.Contact("tip", f, "hard_finger", arm=arm) for f, arm in zip(frames, (1, "arm_1", "arm_2"))]
    assert [x.arm for x in hold(*said, arms=2).contacts] == ["arm_2", "arm_1", "arm_2"]
    with pytest.raises(lw.InputError, match=r"contact 'tip–f0': whose hand is it\? arm_1, arm_2 have a frame 'tip'"):
        hold(*(lw.Contact("tip", f, "hard_finger") for f in frames), arms=2)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_hold_on(copied):
    team = two_arms("line", "hard_finger")
    other = copied(team)
    assert other == team and hash(other) == hash(team) and other.fingerprint == team.fingerprint is not None
    q, v, tau = state(team)
    near(other.contact_forces(q, v, tau), team.contact_forces(q, v, tau), 1e-14)
    assert team != two_arms("rough line", "hard_finger")


def test_edits_keep_the_grasp():
    team = two_arms("rigid", "hard_finger")
    q, _, _ = state(team)
    for other in (team.with_gravity((0, 0, 0)), team.weld("object", lw.Inertia(0.5)), team.merge_fixed()):
        assert isinstance(other, lw.Grasp) and other.contacts == team.contacts
    heavy = team.weld("object", lw.Inertia.sphere(0.5, 0.1))
    near(heavy.effective_inertia(q) - team.effective_inertia(q), lw.Inertia.sphere(0.5, 0.1).spatial().matrix, 1e-9)
    locked = team.lock(["arm_1/joint3"], q=q)
    assert locked.arm_v("arm_1") == slice(0, 6) and len(locked.contacts) == 2
    assert team.opened.loops == () and type(team.opened) is lw.Robot
    with pytest.raises(lw.ModelError, match="its object cannot move"):
        team.lock(["object_free"], q=q)
    more = team.close(lw.Loop("arm_1/link2", lw.Frame("peg", None, at=(0, 0, 1)), "point_on_plane"))
    assert isinstance(more, lw.Grasp) and len(more.loops) == 3 and more.contact_rows == team.contact_rows


def test_every_call_of_a_closed_robot_works():
    team = two_arms("rigid", "hard_finger")
    q, v, tau = state(team)
    a = team.forward_dynamics(q, v, tau)
    near(team.forward_dynamics(q, v, team.inverse_dynamics(q, v, a)), a, 1e-8)
    model = team.linearize_forward(q, v, tau)
    step = 1e-6 * np.random.default_rng(0).normal(size=team.nv)
    near(team.forward_dynamics(q, v, tau + step) - a, model.Minv @ step, 1e-10)
    assert team.mobility(q) == team.nv - team.contact_rows


# --- motions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["soft_finger", "rolling"])
def test_a_motion_keeps_contacts_and_energy(kind, monkeypatch):
    """Also where what stops is a rate and no position: a soft finger, a ball that rolls."""
    monkeypatch.setenv("LINKWISE_TARGET", "cpu")
    team = lw.grasp([lw.chain(2)], BOX, [contact(kind, 0)])
    q, v, _ = state(team)
    motion = lw.simulate(team, q, v, duration=0.3, step=1e-3, progress=False)
    total = sum(team.energy(motion.q, motion.v))
    assert np.ptp(total) < 1e-6 * (1 + np.abs(total).max())
    assert (
        np.abs(team.loop_error(motion.q)).max() < 1e-8 and np.abs(team.loop_velocity(motion.q, motion.v)).max() < 1e-8
    )


def test_a_ball_rolls_on_a_box_as_it_should():
    """The hand's ball turns by its way over its radius."""
    hand = lw.assemble(
        "hand",
        [
            lw.Body("slide", lw.Prismatic("x"), lw.Inertia(1.0)),
            lw.Body("ball", lw.Revolute("y"), lw.Inertia.sphere(1.0, 0.1), "slide"),
        ],
        gravity=(0, 0, 0),
    )
    team = lw.grasp(
        [hand], BOX, [lw.Contact("ball", lw.Frame("face", at=(0, 0, 0)), "rolling", radius=0.1)], bases=[(0, 0, -0.1)]
    )
    q = team.neutral()
    assert np.abs(team.loop_error(q)).max() < 1e-12
    v = team.closed_velocity(q, np.r_[0.5, 0.0, np.zeros(6)])
    object_speed = team.velocity(q, v, "object")[3]
    np.testing.assert_allclose(v[0] + 0.1 * v[1], object_speed, atol=1e-9)


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arms", "held", "contacts", "options", "why"),
    [
        ([], BOX, [contact("rigid", 0)], {}, "at least one arm"),
        (ARM, BOX, [contact("rigid", 0)], {}, "must be a list of robots"),
        (["panda"], BOX, [contact("rigid", 0)], {}, "arm 0 must be a robot"),
        ([ARM], "box", [contact("rigid", 0)], {}, "the object must be a robot or an lw.Inertia"),
        ([ARM], BOX, [], {}, "at least one contact"),
        ([ARM], BOX, contact("rigid", 0), {}, r"list of lw\.Contact"),
        ([ARM], BOX, ["tip"], {}, r"must be lw\.Contact objects"),
        ([ARM], BOX, [lw.Contact("hnd", lw.Frame("a"))], {}, r"contact 'hnd–a', on arm_1 .*: no frame is named 'hnd'"),
        ([ARM], BOX, [lw.Contact("tip", "handle")], {}, r"contact 'tip–handle', on the object .* no frame is named"),
        ([ARM], BOX, [lw.Contact(lw.Frame("post"), lw.Frame("a"))], {}, "of the arm is fixed to the world"),
        ([ARM], BOX, [lw.Contact("tip", lw.Frame("a"), arm=3)], {}, "there is no arm 3"),
        ([ARM], BOX, [lw.Contact("tip", lw.Frame("a"), arm="left")], {}, "no arm is named 'left'"),
        ([ARM], lw.Inertia(), [contact("rigid", 0)], {}, "has no mass"),
        ([ARM], BOX, [contact("rigid", 0)], {"bases": [None, None]}, "one place for each of the 1 arms"),
        ([ARM], BOX, [contact("rigid", 0)], {"bases": ["here"]}, "the base of arm 0"),
        ([ARM], BOX, [contact("rigid", 0)], {"bases": [(np.nan, 0, 0)]}, "must be finite"),
        ([ARM], BOX, [contact("rigid", 0)], {"floating": False}, "leave floating out"),
        ([ARM], BOX, [contact("rigid", 0)], {"floating": "yes"}, "True, False or None"),
        ([ARM], BOX, [contact("rigid", 0), contact("rigid", 0)], {}, "two loops are named"),
        ([ARM, ARM.with_gravity((0, 0, 0))], BOX, [contact("rigid", 0), contact("rigid", 1)], {}, "different gravity"),
        ([lw.assemble("post", [])], BOX, [contact("rigid", 0)], {}, "has no joint that moves"),
    ],
)
def test_grasps_that_cannot_be(arms, held, contacts, options, why):
    with pytest.raises(lw.LinkwiseError, match=why):
        lw.grasp(arms, held, contacts, **options)


def test_calls_that_cannot_be():
    team = hold(contact("hard_finger", 0), contact("hard_finger", 1), arms=2)
    q, v, tau = state(team)
    for call, why in [
        (lambda: team.arm_inertia(q, "arm_9"), "no arm is named 'arm_9'; grasp 'grasp' has arm_1, arm_2"),
        (lambda: team.object_motion(q, v, tau, kept=["arm_9"]), "no arm is named"),
        (lambda: team.object_motion(q, v, tau, kept="arm_1"), "list of arms"),
        (lambda: team.contact_forces(q, v, tau, part="squeeze"), "no part of contact forces is named"),
        (lambda: team.contact_joint_forces(q, np.zeros(5)), r"shape \(\.\.\., 6\)"),
        (lambda: team.share_load(q, np.zeros(6), weights=[1.0]), "2 positive numbers, one for each of arm_1, arm_2"),
        (lambda: team.share_load(q, np.zeros(6), weights=[1.0, -1.0]), "2 positive numbers"),
        (lambda: team.friction_margins(np.zeros(6)), r"shape \(\.\.\., 2, 6\)"),
        (lambda: team.squeeze(q, v, tau, margin=-1.0), "margin"),
        (lambda: team.squeeze(np.stack([q, q]), v, tau), "one state at a time"),
        (lambda: team.without_arm("arm_3"), "no arm is named"),
        (lambda: team.without_arm("arm_1").without_arm("arm_2"), "the only arm .* that holds"),
        (lambda: team.with_arm(ARM, contact("rigid", 2), name="arm_1"), "a name that is free"),
        (lambda: team.with_arm(ARM, "tip"), r"list of lw\.Contact"),
        (lambda: team.with_arm("panda", contact("rigid", 2)), "must be a robot"),
        (lambda: team.close(), "name loops to close"),
        (lambda: team.floating(), r"lw\.grasp\(\[arm\.floating\(\)"),
    ]:
        with pytest.raises(lw.LinkwiseError, match=why):
            call()


def test_hands_that_cannot_meet_the_object():
    team = hold(contact("rigid", 0), contact("rigid", 1), arms=2, bases=[None, (500.0, 0, 0)])
    with pytest.raises(lw.ClosureError, match=r"loop 'arm_\d/tip–handle\d' of robot 'grasp' cannot be closed"):
        team.closed_configuration(team.neutral())


def test_well_posedness_is_told_and_refused():
    team = hold(contact("hard_finger", 0), contact("hard_finger", 1), arms=2)
    q, _, _ = state(team)
    report = team.grasp_report(q)
    assert report.well_posed and report.uncontrolled == 1 and report.open_by < 1e-9
    with pytest.raises(lw.SingularError, match="no contact force drives the object in 1 of its directions"):
        report.check()
    finger = lw.chain(1)
    pair = lw.grasp([finger, finger], BOX, [lw.Contact("tip", lw.Frame("a")), lw.Contact("tip", lw.Frame("b"))])
    report = pair.grasp_report(pair.neutral())
    assert not report.well_posed and report.singular_arms == ("arm_1", "arm_2")
    with pytest.raises(lw.SingularError, match=r"determined by nothing \(arm_1, arm_2 cannot give way\)"):
        report.check()
    assert "undetermined" in str(report)
    hold(contact("rigid", 0)).grasp_report(hold(contact("rigid", 0)).neutral()).check()


@pytest.mark.parametrize("kind", KINDS)
def test_one_kind_is_not_another(kind):
    assert len({two_arms(k) for k in (kind, "hard_finger", "rigid")}) == (
        3 if kind not in ("hard_finger", "rigid") else 2
    )
