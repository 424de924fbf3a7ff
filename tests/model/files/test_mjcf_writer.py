"""Robots as MJCF files: MuJoCo reads them, and finds the same motion; linkwise reads them back as the same robot."""

import dataclasses
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest

import linkwise as lw

mujoco = pytest.importorskip("mujoco")

from mujoco_oracle import Oracle  # noqa: E402

CLOSE = {"rtol": 1e-9, "atol": 1e-9}
PLAIN = ["revolute", "prismatic", "spherical"]


def written(robot, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)
        return robot.to_mjcf(**options)


def read(text, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)
        return lw.load(text, **options)


def resisting(robot, seed=0):
    """The robot with springs, dampers, friction, limits and rotors of its own."""
    rng = np.random.default_rng(seed)
    own = {}
    for j in robot.joints:
        own[j.name] = {"stiffness": rng.uniform(1, 9), "damping": rng.uniform(0.1, 2)}
        if j.kind.nv == 1:
            own[j.name]["rest"] = rng.normal()
    return robot.with_springs(own)


ROBOTS = {
    **{name: lambda name=name: lw.load(name) for name in ("panda", "ur5", "cartpole", "double_pendulum", "quadruped")},
    "satellite": lambda: lw.load("satellite"),
    "tree": lambda: lw.random_tree(9, seed=3, joints=PLAIN),
    "floating": lambda: lw.random_tree(6, seed=4, joints=PLAIN, floating=True),
    "resisting": lambda: resisting(lw.random_tree(6, seed=5, joints=PLAIN)),
    "two joints": lambda: lw.random_tree(5, seed=6, joints=["universal", "cylindrical", "revolute"]),
}


def paired(robot, again):
    """q and v of a robot at random, and the same of what was read back, by the names of joints."""
    rng = np.random.default_rng(2)
    parts = {}
    q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)
    for j, a, b in robot.coordinates:
        if j.kind.kind in ("universal", "cylindrical"):
            for i, name in enumerate((f"{j.name}:first", j.name)):
                parts[name] = q[a][i : i + 1], v[b][i : i + 1], np.arange(b.start, b.stop)[i : i + 1]
        else:
            parts[j.name] = q[a], v[b], np.arange(b.start, b.stop)
    q2, v2, where = (np.concatenate([parts[j.name][i] for j in again.joints]) for i in range(3))
    return (q, v), (q2, v2), where


@pytest.mark.parametrize("name", ROBOTS)
def test_the_motion_is_the_same(name):
    """𝓜, inverse dynamics and poses of the robot, of what is read back, and of MuJoCo with the same file."""
    robot = ROBOTS[name]()
    text = written(robot)
    again, oracle = read(text), Oracle(read(text), mujoco.MjModel.from_xml_string(text))
    (q, v), (q2, v2), where = paired(robot, again)
    M = robot.mass_matrix(q)[np.ix_(where, where)]
    np.testing.assert_allclose(again.mass_matrix(q2), M, **CLOSE)
    np.testing.assert_allclose(oracle.mass_matrix(q2), M, **CLOSE)
    tau = robot.inverse_dynamics(q, v, 0.5 * v)[where]
    np.testing.assert_allclose(again.inverse_dynamics(q2, v2, 0.5 * v2), tau, **CLOSE)
    np.testing.assert_allclose(oracle.inverse_dynamics(q2, v2, 0.5 * v2), tau, **CLOSE)
    for frame in [b.name for b in robot.bodies] + [f.name for f in robot.extra_frames]:
        for x, y in zip(robot.pose(q, frame), again.pose(q2, frame)):
            np.testing.assert_allclose(x, y, **CLOSE)


@pytest.mark.parametrize("name", ["panda", "resisting", "quadruped"])
def test_what_is_read_back_is_written_the_same(name):
    """Nothing is added or lost by writing and reading; numbers turn with MuJoCo's principal axes, to roundings."""

    def parts(text):
        return [(x.tag, sorted(x.keys()), x.get("name")) for x in ElementTree.fromstring(text).iter()]

    once = written(read(written(ROBOTS[name]())))
    assert parts(written(read(once))) == parts(once)


def test_numbers_of_joints():
    limits = lw.Limits(-1.0, effort=30.0)
    joint = lw.Joint(lw.Revolute("y"), "j", limits=limits, friction=0.2, damping=0.3, rotor=lw.Rotor(1e-4, 50.0))
    robot = lw.assemble("one", [lw.Body("b", joint, lw.Inertia(1.0, [0.1, 0, 0], [0.1, 0.1, 0.1]))], gravity=[0, 1, -2])
    text = written(robot)
    model = mujoco.MjModel.from_xml_string(text)
    assert model.dof_armature[0] == 0.25 and model.dof_frictionloss[0] == 0.2 and model.dof_damping[0] == 0.3
    assert model.actuator_ctrlrange.tolist() == [[-30.0, 30.0]] and model.opt.gravity.tolist() == [0, 1, -2]
    assert read(text).notes == ()  # its motor is what joint forces are
    geared = text.replace('gear="1"', "").replace("<motor ", '<motor gear="2" ')
    assert "not modelled: 1 actuator (j)" in read(geared).notes[0]
    again = read(text).joints[0]
    assert again.limits.arrays(1)[0][0] == -1.0 and again.limits.arrays(1)[1][0] == np.inf
    assert again.limits.arrays(1)[3][0] == 30.0


def test_bodies_without_mass_become_joints_of_the_next():
    inertia = lw.Inertia(1.0, [0.1, 0.2, 0.3], [0.1, 0.2, 0.25])
    hip = [
        lw.Body("a", lw.Joint(lw.Revolute("z"), "yaw", at=[0.1, 0, 0.5], rpy=[0.3, 0, 0]), lw.Inertia()),
        lw.Body("b", lw.Joint(lw.Prismatic("x"), "slide", at=[0.2, 0.1, 0], rpy=[0, 0.4, 0]), lw.Inertia(), "a"),
        lw.Body("c", lw.Joint(lw.Revolute("y"), "pitch", at=[0, 0.3, 0.1], rpy=[0, 0, 0.7]), inertia, "b"),
    ]
    robot = lw.assemble("hip", hip, [lw.Frame("seat", "a", at=[0.1, 0.1, 0.1])])
    again = read(written(robot))
    q, v = np.array([0.4, 0.2, -0.6]), np.array([1.0, -0.5, 0.7])
    np.testing.assert_allclose(again.mass_matrix(q), robot.mass_matrix(q), **CLOSE)
    np.testing.assert_allclose(again.bias_force(q, v), robot.bias_force(q, v), **CLOSE)
    ends = [*hip[:2], lw.Body("c", lw.Joint(lw.Revolute("y"), "pitch"), lw.Inertia(), "b")]
    with pytest.raises(lw.ModelError, match="body 'c' moves, has no mass and carries 0 bodies"):
        lw.assemble("hip", ends).to_mjcf()


BALL_LIKE = [lw.Spherical(), lw.Free()]


def massless_first(first, second, rpy):
    arm = lw.Inertia(1.0, (0.1, 0.2, 0.3), np.diag([0.1, 0.2, 0.25]))
    return lw.assemble("two", [lw.Body("a", first), lw.Body("b", lw.Joint(second, at=(0.1, 0, 0), rpy=rpy), arm, "a")])


@pytest.mark.parametrize("first", BALL_LIKE)
@pytest.mark.parametrize("second, rpy", [(lw.Fixed(), (0.1, 0.2, 0.3)), (lw.Fixed(), None), (lw.Prismatic("x"), None)])
def test_balls_and_free_bodies_without_mass_keep_the_axes_that_their_turns_count_in(first, second, rpy):
    if isinstance(first, lw.Free) and isinstance(second, lw.Prismatic):
        pytest.skip("a free joint is alone on its body")
    robot = massless_first(first, second, rpy)
    again = read(written(robot))
    q, v = robot.random_configuration(1), np.linspace(1.0, 2.0, robot.nv)
    np.testing.assert_allclose(again.pose(q, "b")[0], robot.pose(q, "b")[0], **CLOSE)
    np.testing.assert_allclose(again.bias_force(q, v), robot.bias_force(q, v), **CLOSE)


@pytest.mark.parametrize("first", BALL_LIKE)
@pytest.mark.parametrize("second, rpy", [(lw.Revolute("x"), None), (lw.Prismatic("x"), (0.1, 0.2, 0.3))])
def test_balls_and_free_bodies_without_mass_that_the_next_one_cannot_stand_for_are_refused(first, second, rpy):
    with pytest.raises(lw.ModelError, match="body 'a' moves, has no mass"):
        massless_first(first, second, rpy).to_mjcf()


def test_a_part_of_a_robot_set_free_is_refused_where_its_base_has_no_mass():
    with pytest.raises(lw.ModelError, match="give it a small inertia"):
        lw.chain(3).subtree("link2", floating=False).floating().to_mjcf()


def test_limits_of_balls_that_are_not_written_are_named():
    ball = lw.Joint(lw.Spherical(), "ball", limits=lw.Limits(effort=5.0))
    robot = lw.assemble("one", [lw.Body("a", ball, lw.Inertia.box(1.0, (0.1, 0.2, 0.3)))])
    with pytest.warns(lw.ModelWarning, match=r"limits of ball and free joints are not written \(ball\)"):
        robot.to_mjcf()


def test_joints_that_nothing_drives_have_no_motor_which_is_mentioned():
    with pytest.warns(lw.ModelWarning, match="that nothing drives hinge is said by no motor alone"):
        text = lw.load("cartpole").to_mjcf()
    assert mujoco.MjModel.from_xml_string(text).nu == 1


def test_a_base_that_is_called_world():
    robot = dataclasses.replace(lw.load("ur5"), base_name="world", extra_frames=())
    again = read(written(robot))
    assert again.nv == 6 and again.base.mass == pytest.approx(robot.base.mass)


def test_couplings_and_loops_are_equality_constraints():
    gripper = lw.load("gripper")
    again = read(written(gripper))
    assert again.nv == gripper.nv == 1
    np.testing.assert_allclose(again.mass_matrix([0.3]), gripper.mass_matrix([0.3]), **CLOSE)
    for name in ("four_bar", "delta", "slider_crank"):
        robot = lw.load(name)
        again = read(written(robot))
        assert {x.kind for x in again.loops} <= {"spherical", "weld"}
        q = robot.closed_configuration(robot.neutral() if name == "delta" else robot.neutral() + 0.2)
        if name != "delta":  # (its platform counts from the world there)
            assert again.mobility(q) == robot.mobility(q)
            assert np.abs(again.loop_error(q)).max() < 1e-9
            model = mujoco.MjModel.from_xml_string(written(robot))
            data = mujoco.MjData(model)
            data.qpos[:] = q
            mujoco.mj_forward(model, data)
            assert np.abs(data.efc_pos).max(initial=0.0) < 1e-9


def test_looks(tmp_path):
    shapes = [lw.Box((0.1, 0.2, 0.3)), lw.Ball(0.1), lw.Rod(0.05, 0.4), lw.Rod(0.05, 0.4, rounded=True)]
    joint = lw.Joint(lw.Revolute("y"), "j")
    body = lw.Body("b", joint, lw.Inertia(1.0, [0.1, 0, 0], [0.1, 0.1, 0.1]))
    looks = [lw.Visual(x, "b", at=[0.1 * i, 0, 0], colour=(0.2, 0.4, 0.6, 1.0)) for i, x in enumerate(shapes)]
    robot = lw.assemble("looks", [body], visuals=[*looks, lw.Visual(lw.Ball(0.2))])
    again = read(written(robot))
    assert [type(x.shape) for x in again.visuals] == [lw.Ball, *(type(x) for x in shapes)]  # (the world's first)
    assert again.mass_matrix([0.0]) == robot.mass_matrix([0.0])  # looks weigh nothing


def test_what_is_refused_by_name():
    body = lw.Inertia(1.0, [0.1, 0, 0], [0.1, 0.1, 0.1])
    one = lambda kind, **more: lw.assemble("one", [lw.Body("b", lw.Joint(kind, "j", **more), body)])
    for robot, said in (
        (one(lw.Helical("z")), "joint 'j' is helical, which is not written to MJCF"),
        (one(lw.Planar()), "joint 'j' is planar"),
        (one(lw.Spherical(), damping=[1.0, 2.0, 3.0]), "damping of joint 'j' .* differs by direction"),
        (lw.chain(3).couple("joint3", "joint1", relation=np.sin), "joint 'joint3' follows 'joint1' in a way"),
        (lw.chain(3).close(lw.Loop("tip", "world", "point_on_plane")), "loop .* of kind 'point_on_plane'"),
        (lw.chain(3).close(lw.Loop("tip", "world", stiffness=10.0)), "loop .* is soft"),
    ):
        with pytest.raises(lw.ModelError, match=said):
            robot.to_mjcf()
    with pytest.warns(lw.ModelWarning, match="limits of speed are not written"):
        lw.load("panda").to_mjcf()
    with pytest.raises(lw.InputError, match="save_mjcf writes a robot"):
        lw.save_mjcf("panda", "x.xml")


def test_saved_and_by_the_command(tmp_path, capsys):
    from linkwise.cli.main import main

    path = tmp_path / "ur5.xml"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)
        lw.save_mjcf(lw.load("ur5"), path)
        assert main(["export", "ur5", "--target", "mjcf", "--output", str(tmp_path / "again.xml")]) == 0
    assert path.read_text() == (tmp_path / "again.xml").read_text()
    assert mujoco.MjModel.from_xml_path(str(path)).nv == 6


def test_meshes_of_packages_are_found_and_those_of_other_formats_are_named(tmp_path):
    folder = tmp_path / "bot" / "urdf"
    folder.mkdir(parents=True)
    (tmp_path / "bot" / "arm.stl").write_bytes(b"")
    (tmp_path / "bot" / "arm.dae").write_bytes(b"")
    body = lw.Body("b", lw.Joint(lw.Revolute("y"), "j"), lw.Inertia(1.0, [0.1, 0, 0], [0.1, 0.1, 0.1]))
    files = [f"package://bot/{name}" for name in ("arm.stl", "arm.dae", "no.stl")]
    looks = [lw.Visual(lw.Mesh(file, folder=str(folder)), "b") for file in files]
    robot = lw.assemble("one", [body], visuals=looks)
    with pytest.warns(lw.ModelWarning) as said:
        text = robot.to_mjcf()
    assert str(tmp_path / "bot" / "arm.stl") in text and "dae" not in text
    words = " ".join(str(x.message) for x in said)
    assert "package://bot/arm.dae is not written: MuJoCo reads .stl and .obj" in words
    assert "package://bot/no.stl is not written: there is no such file" in words
