"""Looks of MJCF files, against where MuJoCo itself puts its geoms; and looks written as URDF and read again."""

import warnings

import numpy as np
import pytest

import linkwise as lw
from linkwise.view.scene import Scene

mujoco = pytest.importorskip("mujoco")
trimesh = pytest.importorskip("trimesh")

FILE = """<mujoco model="zoo">
<compiler meshdir="meshes"/>
<asset><mesh name="block" file="block.stl" scale="0.1 0.2 0.1"/><material name="red" rgba="1 0 0 1"/>
  <mesh name="turned" file="block.stl" scale="0.1 0.1 0.1" refpos="1 0 0" refquat="0.7071 0.7071 0 0"/>
  <mesh name="own" vertex="0 0 0  0.1 0 0  0 0.2 0  0 0 0.3"/></asset>
<worldbody>
  <geom name="floor" type="plane" size="1 1 1"/><geom type="box" size="0.2 0.2 0.05" pos="0 0 -0.1" euler="0 0 30"/>
  <body name="a" pos="0 0 0.5" euler="20 30 10"><joint name="j1" axis="0 1 0" pos="0.05 0 0"/>
    <geom type="mesh" mesh="block" pos="0 0 0.1" euler="10 20 30" material="red" mass="1"/>
    <geom type="capsule" fromto="0 0 0 0.2 0.1 0.3" size="0.03" rgba="0 1 0 0.5"/>
    <geom type="sphere" size="0.5" group="3"/>
    <body name="held" pos="0.1 0 0.3" euler="0 45 0"><geom type="ellipsoid" size="0.1 0.2 0.05"/></body>
    <body name="b" pos="0 0 0.4"><joint name="j2" type="ball"/>
      <geom type="mesh" mesh="own" mass="1"/><geom type="mesh" mesh="turned" mass="1"/>
      <geom type="cylinder" size="0.05 0.2" euler="90 0 0"/><geom type="sphere" size="0.07" pos="0 0.1 0"/></body>
  </body>
</worldbody></mujoco>"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "meshes").mkdir()
    block = trimesh.creation.box((1.0, 2.0, 3.0))
    block.apply_translation((0.4, 0.3, 0.0))
    block.export(tmp_path / "meshes" / "block.stl")
    (tmp_path / "zoo.xml").write_text(FILE, encoding="utf-8")
    return tmp_path / "zoo.xml"


@pytest.fixture
def robot(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)
        return lw.load(path)


def boxes(robot, q):
    """(lowest, highest) of each of the robot's looks, world axes."""
    scene = Scene(robot)
    assert not scene.missing
    pieces = [p for p in scene.pieces if p.layer == "visuals"]
    at = scene.poses(q)
    for piece in pieces:
        x = piece.triangles.vertices
        x = x if piece.body < 0 else x @ at.R[piece.body].T + at.p[piece.body]
        yield x.min(axis=0), x.max(axis=0)


def expected(path, q_hinge, quaternion):
    """The boxes around what MuJoCo has of the shown geoms: its own mesh vertices, its own poses."""
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    d.qpos[:] = [q_hinge, *quaternion]
    mujoco.mj_forward(m, d)
    for g in range(m.ngeom):
        kind = m.geom_type[g]
        if kind == mujoco.mjtGeom.mjGEOM_PLANE or m.geom_group[g] > 2:
            continue
        R, p, size = d.geom_xmat[g].reshape(3, 3), d.geom_xpos[g], m.geom_size[g]
        if kind == mujoco.mjtGeom.mjGEOM_MESH:
            k = m.geom_dataid[g]
            x = m.mesh_vert[m.mesh_vertadr[k] : m.mesh_vertadr[k] + m.mesh_vertnum[k]] @ R.T + p
            yield x.min(axis=0), x.max(axis=0)
            continue
        if kind == mujoco.mjtGeom.mjGEOM_BOX:
            half = np.abs(R) @ size
        elif kind == mujoco.mjtGeom.mjGEOM_SPHERE:
            half = np.full(3, size[0])
        elif kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
            half = np.linalg.norm(R * size, axis=1)
        elif kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
            half = np.abs(R[:, 2]) * size[1] + size[0]
        else:
            half = np.abs(R[:, 2]) * size[1] + size[0] * np.sqrt(1 - R[:, 2] ** 2)
        yield p - half, p + half


def test_visuals_are_where_mujoco_has_them(robot, path):
    w, x, y, z = quaternion = np.array([0.5, 0.1, -0.7, 0.3]) / np.linalg.norm([0.5, 0.1, -0.7, 0.3])
    q = np.array([0.7, x, y, z, w])
    here, there = list(boxes(robot, q)), list(expected(path, 0.7, quaternion))
    assert len(here) == len(there) == len(robot.visuals) == 8
    for (low, high), (low_there, high_there) in zip(here, there):
        assert np.abs(low - low_there).max() < 0.004  # round things have corners here
        assert np.abs(high - high_there).max() < 0.004
    meshes = [i for i, v in enumerate(robot.visuals) if isinstance(v.shape, lw.Mesh)]
    surfaces = [i for i, v in enumerate(robot.visuals) if isinstance(v.shape, lw.Surface)]
    assert len(meshes) == 1 and len(surfaces) == 3  # the others: an ellipsoid, a mesh of no file, a mesh turned there
    for i in (*meshes, *surfaces[1:]):
        assert np.abs(np.subtract(here[i], there[i])).max() < 1e-6


def test_files_are_found_from_anywhere(path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.warns(lw.ModelWarning):
        robot = lw.load("zoo.xml")
    monkeypatch.chdir(tmp_path.parent)
    assert not Scene(robot).missing


def test_missing_meshes_are_mentioned(tmp_path):
    body = lw.Body("rod", lw.Revolute("y"), lw.Inertia.cylinder(1.0, 0.02, (0, 0, 0), (0, 0, -1)))
    robot = lw.assemble("r", [body], visuals=[lw.Visual(lw.Mesh("gone.stl"), "rod")])
    with pytest.warns(lw.ModelWarning, match="1 meshes of 'r' are not drawn, the first: gone.stl"):
        lw.view.save(tmp_path / "x.png", robot, size=(64, 48))


def test_edges_stay_edges_and_round_things_round():
    from linkwise.view import solids

    box = trimesh.creation.box((1, 1, 1))
    sharp = solids.creased(solids.Triangles(np.array(box.vertices), np.array(box.faces)))
    assert np.abs(np.abs(sharp.normals()[np.unique(sharp.faces)]).max(axis=1) - 1).max() < 1e-12
    ball = trimesh.creation.icosphere(3)
    smooth = solids.creased(solids.Triangles(np.array(ball.vertices), np.array(ball.faces)))
    assert len(smooth.vertices) == len(ball.vertices)


def test_colours_and_notes(robot):
    colours = [None if v.colour is None else v.colour.tolist() for v in robot.visuals]
    assert colours[1] == [1.0, 0.0, 0.0, 1.0]  # of its material
    assert colours[2] == [0.0, 1.0, 0.0, 0.5]
    assert any("the looks of 2 geoms (planes" in note for note in robot.notes)


def test_a_mesh_that_is_gone_is_left_out(path):
    (path.parent / "meshes" / "block.stl").unlink()
    text = path.read_text(encoding="utf-8").replace('mass="1"', 'contype="0"')
    text = text.replace('<body name="a"', '<body name="a"').replace(
        "<joint", '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><joint'
    )
    path.write_text(text, encoding="utf-8")
    with pytest.warns(lw.ModelWarning, match="left out"):
        robot = lw.load(path)
    assert 0 < len(robot.visuals) < 8 and all(not isinstance(v.shape, lw.Mesh) for v in robot.visuals)


def test_written_as_urdf_and_read_again(robot, tmp_path):
    arm = robot.lock(["j2"])  # a ball joint is none of URDF's
    there = tmp_path / "elsewhere"
    there.mkdir()
    with pytest.warns(lw.ModelWarning, match="3 of the looks of 'a:j1' are not written: triangles of no file"):
        lw.save_urdf(arm, there / "zoo.urdf")
    text = (there / "zoo.urdf").read_text(encoding="utf-8")
    assert 'filename="../meshes/block.stl"' in text
    again = lw.load(there / "zoo.urdf")
    q = np.array([0.4])
    kept = [b for b, v in zip(boxes(arm, q), arm.visuals) if not isinstance(v.shape, lw.Surface)]
    found = list(boxes(again, q))
    assert len(found) == len(kept) + 2  # a capsule is three shapes
    for corner in (0, 1):
        here, there_ = np.array([b[corner] for b in kept]), np.array([b[corner] for b in found])
        whole = np.min if corner == 0 else np.max
        assert np.allclose(whole(here, axis=0), whole(there_, axis=0), atol=1e-3)
    for low, high in kept[:2]:  # the box and the mesh are the same numbers
        assert min(np.abs(low - x[0]).max() + np.abs(high - x[1]).max() for x in found) < 1e-9
    red = [v for v in again.visuals if v.colour is not None and v.colour.tolist() == [1.0, 0.0, 0.0, 1.0]]
    assert len(red) == 1 and isinstance(red[0].shape, lw.Mesh)


def test_package_names_stay(tmp_path):
    body = lw.Body("rod", lw.Revolute("y"), lw.Inertia.cylinder(1.0, 0.02, (0, 0, 0), (0, 0, -1)))
    looks = [
        lw.Visual(lw.Mesh("package://bot/arm.stl", scale=(1, 2, 3)), "rod"),
        lw.Visual(lw.Box((1, 2, 3)), at=(0, 0, 1), rpy=(0.1, 0.2, 0.3)),
    ]
    robot = lw.assemble("r", [body], visuals=looks)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = lw.load(robot.to_urdf())
    box, mesh = sorted(again.visuals, key=lambda v: v.body or "")
    assert mesh.shape.file == "package://bot/arm.stl" and mesh.shape.scale.tolist() == [1, 2, 3]
    assert np.allclose(box.pose.R, looks[1].pose.R, atol=1e-15) and box.body is None


def test_visuals_on_the_world_have_no_link_beside_a_floating_root():
    body = lw.Body("stone", lw.Free(), lw.Inertia.box(1.0, (1, 1, 1)))
    robot = lw.assemble("r", [body], visuals=[lw.Visual(lw.Ball(0.1)), lw.Visual(lw.Ball(0.2), "stone")])
    with pytest.warns(lw.ModelWarning, match="1 looks on the world are not written"):
        text = robot.to_urdf(floating_root=True)
    assert text.count("<visual>") == 1


@pytest.mark.parametrize(
    ("vertices", "faces", "words"),
    [
        (np.zeros((3, 2)), [[0, 1, 2]], "vertices"),
        (np.full((3, 3), np.nan), [[0, 1, 2]], "finite"),
        (np.zeros((3, 3)), [[0, 1, 3]], "3 vertices"),
        (np.zeros((3, 3)), [[0, 1]], "faces"),
    ],
)
def test_bad_surfaces_are_refused(vertices, faces, words):
    with pytest.raises(lw.ModelError, match=words):
        lw.Surface(vertices, faces)
