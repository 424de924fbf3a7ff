"""Looks: read from URDF files, kept through edits, mesh files found and read, broken ones left out."""

import struct
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import linkwise as lw
from linkwise.errors import FileError, LinkwiseError, ModelError, ModelWarning
from linkwise.model.files.mesh_files import find
from linkwise.view import meshes
from linkwise.view.scene import VISUALS, Scene

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
URDF = f"""<robot name="r">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base">{INERTIAL}<visual><geometry><box size="1 2 3"/></geometry><material name="red"/></visual></link>
  <link name="arm">{INERTIAL}
    <visual><origin xyz="0 0 0.5" rpy="0 1.5707963267948966 0"/>
      <geometry><cylinder radius="0.1" length="0.8"/></geometry>
      <material name="blue"><color rgba="0 0 1 0.5"/></material></visual>
    <visual><geometry><mesh filename="package://bot/meshes/arm.stl" scale="0.5 1 2"/></geometry></visual></link>
  <link name="plate">{INERTIAL}
    <visual><geometry><sphere radius="0.2"/></geometry><material name="blue"/></visual></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <origin xyz="0 0 3"/></joint>
  <joint name="weld" type="fixed"><parent link="arm"/><child link="plate"/><origin xyz="0 1 0"/></joint>
</robot>"""


def stl(path, vertices):
    """A binary STL file of one triangle."""
    path.parent.mkdir(parents=True, exist_ok=True)
    triangle = struct.pack("<12fH", 0, 0, 1, *np.asarray(vertices, float).ravel(), 0)
    path.write_bytes(bytes(80) + struct.pack("<I", 1) + triangle)


TRIANGLE = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]


def load(text, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return lw.load(text, **named) if not str(text).startswith("<") else _from_text(text, **named)


def _from_text(text, **named):
    from linkwise.model.files.urdf import read_urdf

    return read_urdf(text, cls=lw.Robot, **named)


def test_urdf_visuals_are_read():
    robot = load(URDF)
    box, rod, mesh, ball = robot.visuals
    assert isinstance(box.shape, lw.Box) and box.body is None
    assert_allclose(box.shape.size, [1, 2, 3])
    assert_allclose(box.colour, [1, 0, 0, 1])
    assert (rod.shape.radius, rod.shape.length, rod.body) == (0.1, 0.8, "arm")
    assert_allclose(rod.pose.l, [0, 0, 0.5])
    assert_allclose(rod.pose.R[:, 2], [1, 0, 0], atol=1e-15)
    assert_allclose(rod.colour, [0, 0, 1, 0.5])
    assert mesh.shape.file == "package://bot/meshes/arm.stl"
    assert_allclose(mesh.shape.scale, [0.5, 1, 2])
    assert mesh.colour is None
    # The plate is welded to the arm, and its material is defined elsewhere in the file.
    assert ball.body == "arm" and ball.shape.radius == 0.2
    assert_allclose(ball.pose.l, [0, 1, 0])
    assert_allclose(ball.colour, [0, 0, 1, 0.5])


@pytest.mark.parametrize(
    "broken, said",
    [
        ("<visual/>", "no <geometry>"),
        ("<visual><geometry/></visual>", "holds none of"),
        ('<visual><geometry><box size="1 1"/></geometry></visual>', "2 values, not 3"),
        ('<visual><geometry><box size="1 -1 1"/></geometry></visual>', "must be positive"),
        ("<visual><geometry><mesh/></geometry></visual>", "no filename"),
        ('<visual><origin xyz="a b c"/><geometry><sphere radius="1"/></geometry></visual>', "not a number"),
    ],
)
def test_a_look_that_cannot_be_read_is_noted_and_left_out(broken, said):
    text = f'<robot name="r"><link name="base">{INERTIAL}{broken}</link></robot>'
    with pytest.warns(ModelWarning, match="will not be drawn"):
        robot = _from_text(text)
    assert not robot.visuals
    assert any(said in n for n in robot.notes)


def world_pose(robot, q, visual):
    if visual.body is None:
        return visual.pose.R, visual.pose.l
    R, p = robot.pose(q, visual.body)
    return R @ visual.pose.R, p + R @ visual.pose.l


def poses_of_visuals(robot, q):
    return {type(x.shape).__name__: world_pose(robot, q, x) for x in robot.visuals}


def assert_same_places(found, expected):
    assert found.keys() == expected.keys()
    for name, (R, p) in expected.items():
        assert_allclose(found[name][0], R, atol=1e-14)
        assert_allclose(found[name][1], p, atol=1e-14)


def test_visuals_stay_where_they_are_through_edits():
    robot = load(URDF)
    expected = poses_of_visuals(robot, [0.7])
    assert_same_places(poses_of_visuals(robot.lock({"turn": 0.7}), []), expected)
    floating = robot.floating()
    assert_same_places(poses_of_visuals(floating, [0, 0, 0, 0, 0, 0, 1, 0.7]), expected)
    stand = lw.assemble("stand", [lw.Body("post", lw.Prismatic("z"), lw.Inertia.point(1.0))])
    both = stand.attach(robot, "post", prefix="r_", at=(1, 0, 0))
    moved = {k: (R, p + np.array([1, 0, 0.5])) for k, (R, p) in expected.items()}
    assert_same_places(poses_of_visuals(both, [0.5, 0.7]), moved)
    cut = robot.subtree("arm")
    assert_same_places(poses_of_visuals(cut, [0.7]), {k: v for k, v in expected.items() if k != "Box"})


def test_visuals_can_be_given_by_hand_and_are_checked():
    body = lw.Body("rod", lw.Revolute("y"), lw.Inertia.point(1.0, (0, 0, 1)))
    robot = lw.assemble("r", [body], visuals=[lw.Visual(lw.Ball(0.1), "rod", at=(0, 0, 1), colour=(0, 1, 0, 1))])
    (piece,) = [p for p in Scene(robot).pieces if p.layer == VISUALS]
    assert piece.body == 0 and piece.colour == (0, 1, 0, 1)
    assert_allclose(piece.triangles.vertices.mean(axis=0)[2], 1.0)
    with pytest.raises(ModelError, match="body 'arm', which does not exist"):
        lw.assemble("r", [body], visuals=[lw.Visual(lw.Ball(0.1), "arm")])
    with pytest.raises(ModelError, match="needs a shape"):
        lw.Visual("ball")
    with pytest.raises(ModelError, match="radius of a ball must be positive"):
        lw.Ball(0)


# --- mesh files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["bot", "share/bot"])
def test_packages_are_found_above_the_robots_file(tmp_path, where):
    stl(tmp_path / where / "meshes" / "arm.stl", TRIANGLE)
    folder = tmp_path / "bot" / "urdf" / "deep"
    folder.mkdir(parents=True)
    found = find(lw.Mesh("package://bot/meshes/arm.stl", folder=str(folder)))
    assert found == tmp_path / where / "meshes" / "arm.stl"


def test_packages_are_found_in_folders_given_and_in_those_of_ros(tmp_path, monkeypatch):
    stl(tmp_path / "a" / "bot" / "arm.stl", TRIANGLE)
    mesh = lw.Mesh("package://bot/arm.stl")
    assert find(mesh) is None
    assert find(mesh, [tmp_path / "a"]) == tmp_path / "a" / "bot" / "arm.stl"
    assert find(mesh, [str(tmp_path / "a" / "bot")]) == tmp_path / "a" / "bot" / "arm.stl"
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "a"))
    assert find(mesh) == tmp_path / "a" / "bot" / "arm.stl"


def test_plain_names_and_file_addresses(tmp_path):
    stl(tmp_path / "my meshes" / "arm.stl", TRIANGLE)
    assert find(lw.Mesh("my meshes/arm.stl", folder=str(tmp_path))) is not None
    assert find(lw.Mesh(f"file://{tmp_path}/my%20meshes/arm.stl")) is not None
    assert find(lw.Mesh("other.stl", folder=str(tmp_path))) is None


def robot_file(tmp_path):
    path = tmp_path / "bot" / "urdf" / "r.urdf"
    path.parent.mkdir(parents=True)
    path.write_text(URDF)
    return path


def test_meshes_are_drawn_scaled(tmp_path):
    pytest.importorskip("trimesh")
    stl(tmp_path / "bot" / "meshes" / "arm.stl", TRIANGLE)
    scene = Scene(lw.load(robot_file(tmp_path)))
    looks = [p for p in scene.pieces if p.layer == VISUALS]
    assert len(looks) == 4 and not scene.missing
    (triangle,) = [p for p in looks if len(p.triangles.faces) == 1]
    assert_allclose(sorted(triangle.triangles.vertices.tolist()), [[0, 0, 0], [0, 1, 0], [0.5, 0, 0]])


def test_a_missing_mesh_is_reported_and_the_rest_drawn(tmp_path):
    scene = Scene(lw.load(robot_file(tmp_path)))
    assert len([p for p in scene.pieces if p.layer == VISUALS]) == 3
    (missing,) = scene.missing
    assert "package://bot/meshes/arm.stl" in missing and "mesh_folders" in missing


def test_a_robot_whose_meshes_are_mostly_missing_is_sketched(tmp_path):
    text = URDF.replace('<box size="1 2 3"/>', '<mesh filename="a.stl"/>').replace(
        '<sphere radius="0.2"/>', '<mesh filename="b.stl"/>'
    )
    path = tmp_path / "r.urdf"
    path.write_text(text)
    robot = lw.load(path)
    sketched = Scene(robot, meshes=False)
    assert len(Scene(robot).pieces) == len(sketched.pieces)
    assert len(Scene(robot).missing) == 3 and not sketched.missing


def test_a_broken_mesh_is_an_error_that_names_it(tmp_path):
    pytest.importorskip("trimesh")
    path = tmp_path / "arm.stl"
    path.write_bytes(b"solid nothing")
    with pytest.raises(FileError, match="arm.stl: the mesh"):
        meshes.load(path)


def test_a_missing_package_says_what_brings_it(monkeypatch, tmp_path):
    import sys

    monkeypatch.setitem(sys.modules, "trimesh", None)
    path = tmp_path / "other.stl"
    stl(path, TRIANGLE)
    with pytest.raises(LinkwiseError, match=r'pip install "linkwise\[view\]"'):
        meshes.load(path)
