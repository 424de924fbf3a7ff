"""Parts are checked on entry: what cannot be right raises an error that names the culprit."""

import dataclasses

import numpy as np
import pytest

from linkwise.errors import InputError, LinkwiseError, ModelError, UnknownNameError
from linkwise.model.inertia import Inertia, triangle_excess
from linkwise.model.joints.kinds import Fixed, Free, Prismatic, Revolute, Spherical, Universal
from linkwise.model.model import Model
from linkwise.model.parts import Body, Frame, Joint, Limits, Rotor, make_pose
from linkwise.spatial import rotation_from_rpy, skew

BALL = Inertia.sphere(1.0, 0.1)


def body(name, parent=None, kind=None, joint="", limits=None):
    return Body(name, Joint(kind or Revolute("y"), joint, limits=limits or Limits()), BALL, parent)


# --- inertias --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "hint"),
    [
        (lambda: Inertia(-1.0), "-1.0 kg"),
        (lambda: Inertia(np.nan), "mass must be finite"),
        (lambda: Inertia(1.0, (0, 0)), "centre of mass"),
        (lambda: Inertia(1.0, (0, 0, np.inf)), "centre of mass"),
        (lambda: Inertia(1.0, "here"), "centre of mass"),
        (lambda: Inertia(1.0, (0, 0, 0), np.eye(2)), r"\(2, 2\)"),
        (lambda: Inertia(1.0, (0, 0, 0), [[1, 2, 0], [0, 1, 0], [0, 0, 1]]), "symmetric"),
        (lambda: Inertia(1.0, (0, 0, 0), np.full((3, 3), np.nan)), "finite"),
        (lambda: Inertia(1.0, (0, 0, 0), (1, 1, 2.1)).check("the tensor of 'arm'"), "the tensor of 'arm'"),
        (lambda: Inertia(1.0, (0, 0, 0), (1, 1, -0.1)).check(), "non-negative"),
        (lambda: Inertia.cylinder(1.0, 0.1, (1, 2, 3), (1, 2, 3)), "start and an end"),
        (lambda: Inertia.box(1.0, (1, 2)), "size of a box"),
    ],
)
def test_impossible_inertias_are_refused(make, hint):
    with pytest.raises(ModelError, match=hint):
        make()


def test_real_inertias_pass_their_check():
    plate = Inertia(1.0, (0, 0, 0), (1, 1, 2))
    for inertia in (BALL, Inertia.point(2.0, (1, 2, 3)), Inertia.box(1, (1, 2, 3)), plate):
        inertia.check()
        assert inertia.excess() == 0.0
    assert Inertia(1.0, (0, 0, 0), (1, 1, 2.5)).excess() == pytest.approx(0.5)
    assert triangle_excess(np.diag([1.0, 2.0, 2.5])) < 0


def test_solids_have_their_textbook_moments():
    np.testing.assert_allclose(np.diag(Inertia.box(12.0, (1, 2, 3)).tensor), [13, 10, 5])
    np.testing.assert_allclose(Inertia.sphere(5.0, 2.0).tensor, 8 * np.eye(3))
    rod = Inertia.cylinder(3.0, 0.0, (0, 0, 0), (0, 0, 2))
    np.testing.assert_allclose(np.diag(rod.tensor), [1, 1, 0])
    np.testing.assert_allclose(np.diag(rod.spatial().J), [4, 4, 0])  # m l²/3 about its end
    disc = Inertia.cylinder(2.0, 1.0, (-1e-9, 0, 0), (1e-9, 0, 0))
    np.testing.assert_allclose(np.diag(disc.tensor), [1, 0.5, 0.5])


def test_a_tilted_cylinder_is_a_turned_one():
    R = rotation_from_rpy((0.3, -0.4, 0.5))
    straight = Inertia.cylinder(2.0, 0.1, (0, 0, 0), (0, 0, 1.5))
    tilted = Inertia.cylinder(2.0, 0.1, (0, 0, 0), R @ (0, 0, 1.5))
    np.testing.assert_allclose(tilted.tensor, R @ straight.tensor @ R.T, atol=1e-15)


def test_two_halves_make_a_whole():
    whole = Inertia.box(4.0, (2, 1, 1))
    halves = Inertia.box(2.0, (1, 1, 1), (0.5, 0, 0)) + Inertia.box(2.0, (1, 1, 1), (-0.5, 0, 0))
    assert halves.mass == whole.mass
    np.testing.assert_allclose(halves.com, whole.com, atol=1e-16)
    np.testing.assert_allclose(halves.tensor, whole.tensor, atol=1e-15)


def test_moved_agrees_with_the_spatial_inertia():
    inertia = Inertia(2.0, (0.1, 0.2, -0.3), [[2, 0.1, 0], [0.1, 3, 0.2], [0, 0.2, 2.5]])
    pose = make_pose((1, 2, 3), rpy=(0.1, 0.2, 0.3))
    expected = pose.matrix @ inertia.spatial().matrix @ pose.matrix.T
    np.testing.assert_allclose(inertia.moved(pose).spatial().matrix, expected, atol=1e-13)
    tilde = skew(inertia.com)
    np.testing.assert_allclose(inertia.spatial().J, inertia.tensor - 2.0 * tilde @ tilde)


def test_massless_parts_add_up():
    assert (Inertia() + Inertia()).mass == 0.0
    np.testing.assert_allclose((Inertia() + BALL).tensor, BALL.tensor)


# --- joints ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "hint"),
    [
        (lambda: Joint("revolute", "knee"), "joint 'knee'.*'revolute'"),
        (lambda: Joint(Revolute("z"), "knee", at=(1, 2)), "position of joint 'knee'"),
        (lambda: Joint(Revolute("z"), "knee", rpy=(0, 0, np.nan)), "rpy angles of joint 'knee'"),
        (lambda: Joint(Revolute("z"), "knee", rpy=(0, 0, 0), rotation=np.eye(3)), "joint 'knee'.*not both"),
        (lambda: Joint(Revolute("z"), "knee", rotation=2 * np.eye(3)), "rotation of joint 'knee'"),
        (lambda: Joint(Revolute("z"), "knee", rotation=np.diag([1, 1, -1.0])), "rotation of joint 'knee'"),
        (lambda: Joint(Revolute("z"), "knee", rotation=np.eye(2)), "rotation of joint 'knee'"),
        (lambda: Joint(Revolute("z"), "knee", limits=Limits(1, -1)), "joint 'knee'.*lower limit"),
        (lambda: Joint(Revolute("z"), "knee", limits=Limits((0, 0), 1)), "joint 'knee'.*limits"),
        (lambda: Joint(Revolute("z"), "knee", limits=Limits("low")), "joint 'knee'.*limits"),
        (lambda: Joint(Revolute("z"), "knee", limits=Limits(np.nan, 1)), "joint 'knee'"),
        (lambda: Joint(Revolute("z"), "knee", damping=-1), "joint 'knee': damping"),
        (lambda: Joint(Revolute("z"), "knee", friction=(1, 2)), "joint 'knee': friction"),
        (lambda: Joint(Universal(), "knee", damping=[[1, 2]]), "joint 'knee': damping"),
        (lambda: Joint(Universal(), "knee", friction=np.inf), "joint 'knee': friction"),
        (lambda: Joint(Spherical(), "hip", rotor=Rotor(1e-3, 10, axis="x")), "joint 'hip'.*one degree of freedom"),
        (lambda: Rotor(-1e-3), "rotor's inertia"),
        (lambda: Rotor(1e-3, np.nan), "gear ratio"),
        (lambda: Rotor(1e-3, 1.0, axis=(0, 0, 0)), "rotor's axis"),
    ],
)
def test_impossible_joints_are_refused(make, hint):
    with pytest.raises(ModelError, match=hint):
        make()


@pytest.mark.parametrize("limits", [Limits(velocity=np.nan), Limits(velocity=-1), Limits(effort=-1)])
def test_impossible_speeds_and_efforts_are_refused(limits):
    with pytest.raises(ModelError, match="joint 'knee'"):
        Joint(Revolute("z"), "knee", limits=limits)


@pytest.mark.parametrize(
    ("make", "hint"),
    [
        (lambda: Inertia("heavy"), "mass.*'heavy'"),
        (lambda: Inertia(1.0, (0, 0, 0), "round"), "inertia tensor.*'round'"),
        (lambda: Rotor("light"), "rotor's inertia.*'light'"),
        (lambda: Joint(Revolute("z"), "knee", damping="some"), "joint 'knee': damping"),
        (lambda: Joint(Revolute("z"), "knee", rotation="none"), "rotation of joint 'knee'"),
    ],
)
def test_words_for_numbers_are_refused(make, hint):
    with pytest.raises(ModelError, match=hint):
        make()


def test_limits_expand_to_degrees_of_freedom():
    lower, upper, velocity, effort = Limits(-1.0, (2, 3), effort=5).arrays(2)
    assert lower.tolist() == [-1, -1] and upper.tolist() == [2, 3]
    assert velocity.tolist() == [np.inf, np.inf] and effort.tolist() == [5, 5]


def test_rotors_reflect_by_the_square_of_the_gear():
    assert Rotor(1e-3, 100.0).reflected == pytest.approx(10.0)
    model = Model("m", (Body("a", Joint(Revolute("z"), rotor=Rotor(1e-3, 100.0, axis="x")), BALL),))
    constants = model.constants()[0]
    np.testing.assert_allclose(constants.reflected, [[10.0]])
    np.testing.assert_allclose(constants.spin, [0.1, 0, 0])


# --- bodies and frames -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "hint"),
    [
        (lambda: Body("", Revolute("z")), "a body needs a name"),
        (lambda: Body(None, Revolute("z")), "a body needs a name"),
        (lambda: Body("arm", "z"), "body 'arm' needs a joint"),
        (lambda: Body("arm", Revolute("z"), 3.0), "inertia of body 'arm'"),
        (lambda: Frame(""), "a frame needs a name"),
        (lambda: Frame("tip", "arm", at=(0, 0)), "frame 'tip'"),
        (lambda: Frame("tip", "arm", rotation=np.ones((3, 3))), "frame 'tip'"),
    ],
)
def test_impossible_bodies_and_frames_are_refused(make, hint):
    with pytest.raises(ModelError, match=hint):
        make()


def test_joints_take_their_bodys_name():
    assert Body("arm", Revolute("z")).joint.name == "arm_joint"
    assert Body("arm", Joint(Revolute("z"), "elbow")).joint.name == "elbow"


def test_an_unnamed_joint_may_be_shared():
    """Two bodies on the same joint object: each names its own, and the object stays as it was."""
    joint = Joint(Revolute("z"), at=(1, 0, 0))
    a, b = Body("a", joint), Body("b", joint, parent="a")
    assert (a.joint.name, b.joint.name, joint.name) == ("a_joint", "b_joint", "")


def test_world_is_the_world_unless_a_body_bears_the_name():
    model = Model("bot", (body("arm", "world"),), (Frame("here", "world", at=(1, 0, 0)),))
    assert model.parents == (-1,) and model.frame("here")[0] == -1
    named = Model("bot", (body("world", kind=Free()), body("arm", "world")), (Frame("here", "world"),))
    assert named.parents == (-1, 0) and named.frame("here")[0] == 0 and named.frame("world")[0] == 0


def test_parts_are_frozen():
    arm = body("arm")
    fields = ((arm, "name"), (arm.joint, "kind"), (arm.inertia, "mass"), (arm.joint.limits, "lower"))
    for part, field in fields:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(part, field, None)
    for array in (arm.inertia.com, arm.inertia.tensor, arm.joint.placement.R, arm.joint.placement.l):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


# --- models ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "hint"),
    [
        (lambda: Model("bot", (body("a"), body("b", "c"))), "'bot'.*'b' hangs on 'c'"),
        (lambda: Model("bot", (body("a"), body("a", joint="other"))), "body name 'a'"),
        (lambda: Model("bot", (body("a", joint="j"), body("b", "a", joint="j"))), "joint name 'j'"),
        (lambda: Model("bot", (body("a"),), (Frame("a", "a"),)), "frame name 'a'"),
        (lambda: Model("bot", (body("a"),), (Frame("tip", "b"),)), "frame 'tip'.*'b'"),
        (lambda: Model("bot", (body("a", "b"), body("b", "a"))), "'a', 'b'.*cycle"),
        (lambda: Model("bot", (body("a", "a"),)), "'a'.*cycle"),
        (lambda: Model("bot", (body("a"),), gravity=(0, 0)), "gravity"),
        (lambda: Model("bot", (body("a"),), gravity=(0, 0, np.nan)), "gravity"),
    ],
)
def test_impossible_models_are_refused(make, hint):
    with pytest.raises(ModelError, match=hint):
        make()


def test_bodies_must_be_bodies():
    with pytest.raises(InputError, match=r"lw\.Body"):
        Model("bot", ("arm",))


def test_errors_are_also_what_python_users_expect():
    assert issubclass(ModelError, (LinkwiseError, ValueError)) and issubclass(InputError, ValueError)
    assert issubclass(UnknownNameError, KeyError)


def test_bodies_are_sorted_base_first():
    model = Model("bot", (body("c", "b"), body("b", "a"), body("d", "a"), body("a"), body("e", "c")))
    assert model.bodies[0].name == "a"
    assert all(p < i for i, p in enumerate(model.parents))
    assert {b.name: b.parent for b in model.bodies} == {"a": None, "b": "a", "c": "b", "d": "a", "e": "c"}
    assert model.children[0] == tuple(i for i, p in enumerate(model.parents) if p == 0)


def test_sizes_and_slices():
    legs = (body("c", "b", Fixed()), body("d", "b", Spherical()))
    model = Model("bot", (body("a", kind=Free()), body("b", "a"), *legs))
    assert (model.nq, model.nv) == (12, 10)
    assert [s.start for s in model.q_slices] == [0, 7, 8, 8]
    assert [s.stop for s in model.v_slices] == [6, 7, 7, 10]
    assert model.path(3) == [0, 1, 3] and model.path(-1) == []
    assert not model.is_chain and Model("bot", (body("a"), body("b", "a"))).is_chain


def test_lookups_name_what_exists():
    model = Model("bot", (body("a"), body("b", "a")), (Frame("tip", "b", at=(0, 0, 1)),))
    assert model.body("b") == 1 and model.joint("b_joint") == 1 and model.body(0) == 0
    index, pose = model.frame("tip")
    assert index == 1 and pose.l.tolist() == [0, 0, 1]
    assert model.frame("world")[0] == -1
    assert model.tips == ("tip",)
    for call in (lambda: model.body("x"), lambda: model.frame("x"), lambda: model.joint("x")):
        with pytest.raises(UnknownNameError, match=r"'x'.*'bot'.*'b"):
            call()
    with pytest.raises(UnknownNameError, match="number 2"):
        model.body(2)
    with pytest.raises(UnknownNameError, match="'elsewhere'"):
        model.frame(Frame("f", "elsewhere"))


def test_random_configurations_keep_to_limits_and_seeds():
    held = body("a", kind=Prismatic("x"), limits=Limits(0.2, 0.3))
    model = Model("bot", (held, body("b", "a", Spherical())))
    q = model.random_configuration(3, batch=(4, 5))
    assert q.shape == (4, 5, 5)
    assert (q[..., 0] >= 0.2).all() and (q[..., 0] <= 0.3).all()
    np.testing.assert_allclose(np.linalg.norm(q[..., 1:], axis=-1), 1.0)
    np.testing.assert_array_equal(q, model.random_configuration(3, batch=(4, 5)))
    assert model.random_configuration(3).shape == (5,)
    assert model.random_configuration(3, batch=0).shape == (0, 5)


def test_an_empty_robot_is_a_robot():
    model = Model("stone", ())
    assert (model.nq, model.nv, model.total_mass, model.neutral().shape) == (0, 0, 0.0, (0,))
