"""A robot written as a URDF file and loaded again is the same robot; what the format cannot say is refused."""

import os
import warnings
from dataclasses import replace

import numpy as np
import pytest

import linkwise as lw
from linkwise.model.files.urdf import UNLIMITED

EXACT = {"rtol": 1e-12, "atol": 1e-12}
SAYABLE = ["revolute", "prismatic", "cylindrical", "universal", "planar", "free", "fixed"]


def again(robot, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)
        return lw.load(robot.to_urdf(**options), floating=options.get("floating_root", False))


def order(robot, other):
    """Where the numbers of ``other`` lie in the q and in the v of ``robot``: files are read depth first."""
    of_q, of_v = [], []
    first = {f"{j.name}:first": i for i, j in enumerate(robot.joints)}
    for joint in other.joints:
        i = first[joint.name] if joint.name in first else robot.joint(joint.name)
        a, b = robot.q_slices[i], robot.v_slices[i]
        split = robot.joints[i].kind.kind in ("cylindrical", "universal")
        skip = 1 if split and joint.name not in first else 0
        of_q += range(a.start + skip, a.start + skip + joint.kind.nq)
        of_v += range(b.start + skip, b.start + skip + joint.kind.nv)
    assert sorted(of_q) == list(range(robot.nq))
    assert sorted(of_v) == list(range(robot.nv))
    return np.array(of_q, int), np.array(of_v, int)


def same_numbers(robot, other):
    """The same joint-space dynamics, and the same poses of all frames of ``robot``."""
    assert (other.nq, other.nv) == (robot.nq, robot.nv)
    of_q, of_v = order(robot, other)
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, 3)
    v, a, tau = rng.normal(size=(3, 3, robot.nv))
    p, u, b, f = q[:, of_q], v[:, of_v], a[:, of_v], tau[:, of_v]

    np.testing.assert_allclose(other.mass_matrix(p), robot.mass_matrix(q)[:, of_v][:, :, of_v], **EXACT)
    found, expected = other.inverse_dynamics(p, u, b), robot.inverse_dynamics(q, v, a)[:, of_v]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    found, expected = other.forward_dynamics(p, u, f), robot.forward_dynamics(q, v, tau)[:, of_v]
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())
    poses = other.poses(p)
    for name, (R, l) in robot.poses(q).items():
        np.testing.assert_allclose(poses[name][0], R, **EXACT)
        np.testing.assert_allclose(poses[name][1], l, **EXACT)


def same_data(robot, other):
    _, of_v = order(robot, other)
    for name in ("lower_limits", "upper_limits", "velocity_limits", "effort_limits", "damping", "friction"):
        np.testing.assert_allclose(getattr(other, name), getattr(robot, name)[of_v], err_msg=name)
    np.testing.assert_array_equal(other.gravity, robot.gravity)


# With loops, or joints that follow others.
MECHANISMS = ("delta", "four_bar", "governor", "gripper", "satellite_pair", "slider_crank", "stewart")


@pytest.mark.parametrize("name", [n for n in lw.robots() if n not in MECHANISMS])
def test_built_in_robots(name):
    robot = lw.load(name)
    other = again(robot)
    same_numbers(robot, other)
    same_data(robot, other)
    assert {b.name for b in other.bodies} == {b.name for b in robot.bodies}
    assert (other.name, sorted(other.tips)) == (robot.name, sorted(robot.tips))
    assert {j.name: j.mimic for j in other.joints} == {j.name: j.mimic for j in robot.joints}
    assert other.base.mass == pytest.approx(robot.base.mass)


@pytest.mark.parametrize("seed", range(8))
def test_random_trees(seed):
    robot = lw.random_tree(9, seed=seed, joints=SAYABLE, rotors=True, floating=seed % 2 == 1)
    same_numbers(robot, again(robot))


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "cylindrical", "universal", "planar"])
def test_chains_of_one_kind(kind):
    robot = lw.chain(4, joint=kind, seed=2)
    other = again(robot)
    same_numbers(robot, other)
    if kind != "planar":
        same_data(robot, other)


def test_twice_is_once():
    robot = lw.random_tree(6, seed=1, joints=SAYABLE, rotors=True)
    once = again(robot)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert again(once).to_urdf() == again(again(once)).to_urdf()


@pytest.mark.parametrize("kind", ["spherical", "helical", "custom"])
def test_joints_that_urdf_cannot_say_are_named(kind):
    robot = lw.random_tree(3, seed=0, joints=[kind])
    with pytest.raises(lw.ModelError, match=rf"joint 'joint1' is {kind}, which URDF cannot say"):
        robot.to_urdf()


def test_limits_on_one_side_and_none():
    bodies = [
        lw.Body("a", lw.Joint(lw.Revolute("z"), limits=lw.Limits(lower=-1.0)), lw.Inertia.sphere(1, 0.1)),
        lw.Body("b", lw.Joint(lw.Prismatic("x")), lw.Inertia.sphere(1, 0.1), "a"),
        lw.Body("c", lw.Joint(lw.Revolute("x"), limits=lw.Limits(velocity=3.0)), lw.Inertia.sphere(1, 0.1), "b"),
    ]
    robot = lw.assemble("limits", bodies)
    text = robot.to_urdf()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing odd about it
        other = lw.load(text)
    same_data(robot, other)
    assert text.count('type="continuous"') == 1
    assert repr(UNLIMITED) in text


def test_gravity_and_rotors_are_for_linkwise_alone():
    robot = lw.random_tree(4, seed=5, joints=["revolute"], rotors=True).with_gravity((0, 1, -2))
    assert any(j.rotor is not None for j in robot.joints)
    with pytest.warns(
        lw.ModelWarning, match=r"other programs will not see the rotors of .*gravity is \[0.0, 1.0, -2.0\]"
    ):
        text = robot.to_urdf()
    other = lw.load(text)
    for a, b in zip(robot.joints, other.joints):
        assert (a.rotor is None) == (b.rotor is None)
        if a.rotor is not None:
            assert (b.rotor.inertia, b.rotor.gear_ratio) == (a.rotor.inertia, a.rotor.gear_ratio)
            assert (a.rotor.axis is None) == (b.rotor.axis is None)
    same_numbers(robot, other)


def test_a_free_root_that_is_placed_and_left_out_is_mentioned():
    changes = np.zeros((13, 6))
    changes[0, 5] = 0.3
    robot = lw.load("quadruped").with_placements(changes)
    with pytest.warns(lw.ModelWarning, match="the poses of root_joint count from the world there"):
        robot.to_urdf(floating_root=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.load("quadruped").to_urdf(floating_root=True)
        robot.to_urdf()


def test_data_without_a_place_is_mentioned():
    kinds = lw.Joint(lw.Planar("z"), limits=lw.Limits(effort=3.0), damping=[0.1, 0.2, 0.3])
    robot = lw.assemble("cart", [lw.Body("cart", kinds, lw.Inertia.box(1, (1, 1, 1)))])
    with pytest.warns(lw.ModelWarning, match="limits of joint 'cart_joint'.*damping or friction"):
        robot.to_urdf()


@pytest.mark.parametrize(
    ("element", "words"),
    [
        ('<rotor joint="nope" inertia="1"/>', "does not exist"),
        ('<rotor joint="hinge" inertia="-1"/>', "must not be negative"),
        ('<rotor joint="hinge"/>', "has no inertia"),
        ('<gravity xyz="0 0"/>', "holds 2 values"),
    ],
)
def test_bad_extensions_are_refused(element, words):
    text = f"""<robot name="r"><link name="base"/><link name="arm"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/></joint>
    <linkwise>{element}</linkwise></robot>"""
    with pytest.raises(lw.FileError, match=words):
        lw.load(text)


def test_a_free_root_as_the_root_link():
    robot = lw.load("quadruped")
    text = robot.to_urdf(floating_root=True)
    assert 'type="floating"' not in text
    same_numbers(robot, again(robot, floating_root=True))
    with pytest.raises(lw.ModelError, match="no single body that moves freely"):
        lw.load("panda").to_urdf(floating_root=True)


def test_names_that_clash_with_the_base():
    inertia = lw.Inertia.sphere(1, 0.1)
    robot = lw.assemble("r", [lw.Body("base", lw.Revolute("x"), inertia), lw.Body("world_", lw.Revolute("y"), inertia)])
    robot = replace(robot, extra_frames=(lw.Frame("tip", "base", at=(0, 0, 1)), lw.Frame("stand", at=(1, 0, 0))))
    same_numbers(robot, again(robot))


def test_names_with_letters_that_xml_escapes():
    robot = lw.assemble('a "robot" & <co>', [lw.Body("ärm & <leg>", lw.Revolute("x"), lw.Inertia.sphere(1, 0.1))])
    other = again(robot)
    assert (other.name, other.bodies[0].name) == (robot.name, robot.bodies[0].name)


def test_pinocchio_reads_what_was_written(tmp_path):
    pin = pytest.importorskip("pinocchio")
    robot = lw.load("ur5")
    lw.save_urdf(robot, tmp_path / "ur5.urdf")
    model = pin.buildModelFromUrdf(str(tmp_path / "ur5.urdf"))
    assert list(model.names)[1:] == [j.name for j in robot.joints]
    q = robot.random_configuration(0)
    upper = np.triu(pin.crba(model, model.createData(), q))
    np.testing.assert_allclose(upper + np.triu(upper, 1).T, robot.mass_matrix(q), **EXACT)


# --- the file ----------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_save_replaces_and_keeps_links(tmp_path):
    robot = lw.load("double_pendulum")
    path, link = tmp_path / "r.urdf", tmp_path / "link.urdf"
    path.write_text("old", encoding="utf-8")
    link.symlink_to(path)
    lw.save_urdf(robot, link)
    assert link.is_symlink()
    assert lw.load(path).nv == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.urdf", "r.urdf"]


def test_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "r.urdf"
    path.write_text("old", encoding="utf-8")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        lw.save_urdf(lw.load("double_pendulum"), path)
    assert path.read_text(encoding="utf-8") == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["r.urdf"]


@pytest.mark.parametrize(("where", "words"), [(".", "name a file in it"), ("no/where.urdf", "make it first")])
def test_save_says_why_not(tmp_path, where, words):
    with pytest.raises(lw.FileError, match=words):
        lw.save_urdf(lw.load("double_pendulum"), tmp_path / where)


def test_save_on_a_full_disk():
    from pathlib import Path

    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with pytest.raises(lw.FileError, match="the disk is full"):
        lw.save_urdf(lw.load("double_pendulum"), "/dev/full")
