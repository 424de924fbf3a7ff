"""The renderer against geometry, and the files it writes."""

import os
from itertools import pairwise

import numpy as np
import pytest
from motions import swing
from numpy.testing import assert_allclose

import linkwise as lw
from linkwise.errors import FileError, InputError
from linkwise.spatial import Transform
from linkwise.view import raster, solids
from linkwise.view.pictures import LAYERS, Studio
from linkwise.view.scene import Scene

Image = pytest.importorskip("PIL.Image")

RED, GREEN = (1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 1.0)
NOTHING = raster.Soup(np.zeros((0, 3, 3)), np.zeros((0, 3, 3)), np.zeros((0, 4)))
CAMERA = raster.Camera(np.array([0.0, -10.0, 0.0]), np.zeros(3), 0.5)


def soup(*things):
    parts = [(t.vertices[t.faces], t.normals()[t.faces], np.tile(c, (len(t.faces), 1))) for t, c in things]
    return raster.Soup(*(np.concatenate(x) for x in zip(*parts)))


def ball(radius, at):
    return solids.ball(radius).placed(Transform(np.eye(3), np.array(at, float)))


def stage(width=200, height=150):
    return raster.Stage(CAMERA, width, height, floor=-50.0)


def is_red(image):
    r, g, b = np.moveaxis(image.astype(int), -1, 0)
    return (r > g + 40) & (r > b + 40)


def is_green(image):
    r, g, b = np.moveaxis(image.astype(int), -1, 0)
    return (g > r + 40) & (g > b + 40)


def test_a_ball_is_where_and_as_large_as_it_should_be():
    image = stage().render(soup((ball(1.0, (0.5, 0, -0.3)), RED)), NOTHING)
    rows, columns = np.nonzero(is_red(image))
    focal = 75 / np.tan(0.25)
    assert_allclose([columns.mean(), rows.mean()], [100 + 0.05 * focal, 75 + 0.03 * focal], atol=1.5)
    assert_allclose(len(rows), np.pi * (0.1 * focal) ** 2, rtol=0.05)


def test_the_nearer_hides_the_farther_in_any_order():
    near, far = (ball(0.5, (0, -2, 0)), RED), (ball(0.9, (0, 1, 0)), GREEN)
    pictures = [stage().render(soup(*order), NOTHING) for order in ((near, far), (far, near))]
    assert_allclose(pictures[0], pictures[1], atol=1)
    assert is_red(pictures[0])[75, 100] and is_green(pictures[0])[75, 100 + 21]


def test_things_behind_the_camera_are_not_seen():
    image = stage().render(soup((ball(1.0, (0, -20, 0)), RED)), NOTHING)
    assert_allclose(image, stage().render(NOTHING, NOTHING))


def test_signs_shine_through_bodies():
    body, sign = (ball(1.0, (0, 0, 0)), RED), (ball(0.3, (0, 0, 0)), GREEN)
    hidden = stage().render(soup(body, sign), NOTHING)[75, 100].astype(int)
    shown = stage().render(soup(body), soup(sign))[75, 100].astype(int)
    assert shown[1] > hidden[1] + 50 and shown[0] < hidden[0]


def test_half_transparent_things_mix():
    pale = (0.0, 1.0, 0.0, 0.5)
    image = stage().render(soup((ball(1.0, (0, 0, 0)), RED), (ball(0.4, (0, -3, 0)), pale)), NOTHING)
    r, g, _ = image[75, 100].astype(int)
    assert r > 60 and g > 60


def test_there_is_a_shadow_under_what_stands_on_the_floor():
    camera = raster.around(np.array([[-1.0, -1, 0], [1.0, 1, 1]]))
    above = raster.Stage(camera, 160, 120, floor=0.0)
    empty = above.render(NOTHING, NOTHING).astype(int)
    image = above.render(soup((ball(0.2, (0, 0, 0.6)), RED)), NOTHING).astype(int)
    darker = (image.sum(axis=2) < empty.sum(axis=2) - 20) & ~is_red(image)
    assert darker.sum() > 50


def test_large_triangles_come_in_portions(monkeypatch):
    whole = stage().render(soup((ball(2.0, (0, 0, 0)), RED)), NOTHING)
    monkeypatch.setattr(raster, "MOST_FRAGMENTS", 500)
    assert (stage().render(soup((ball(2.0, (0, 0, 0)), RED)), NOTHING) == whole).all()


@pytest.mark.parametrize("name", ["panda", "quadruped", "chain10", "cartpole"])
def test_the_whole_motion_is_in_view(name):
    robot = lw.load(name)
    studio = Studio(Scene(robot), swing(robot))
    for step in (0, 25, 49):
        bodies = studio._bodies(step)
        pixels, depth = studio.camera.project(bodies.corners, 320, 240)
        assert (depth > 0).all()
        assert (pixels > 0).all() and (pixels < [320, 240]).all()


def test_every_layer_draws_something():
    robot = lw.load("ur5")
    motion = swing(robot)
    forces = np.zeros((len(motion), 6, 6))
    forces[:, -1, 5] = 10.0
    motion = lw.view.Motion(robot, motion.time, motion.q, motion.v, motion.a, motion.tau, forces)
    scene = Scene(robot)
    bare = next(Studio(scene, motion, ()).pictures([20], 160, 120)).astype(int)
    closed = ("loop_forces", "motion_forces", "squeeze")  # tests/view/test_loop_forces.py, test_contact_forces.py
    for layer in [x for x in LAYERS if x not in closed]:
        image = next(Studio(scene, motion, (layer,)).pictures([20], 160, 120)).astype(int)
        assert (np.abs(image - bare).sum(axis=2) > 30).sum() > 8, layer


def test_nothing_by_that_name_can_be_shown():
    robot = lw.load("ur5")
    with pytest.raises(InputError, match="no layer of a picture is named 'shadows'; choose from visuals"):
        lw.view.save("a.png", robot, show=("visuals", "shadows"))


# --- files ---------------------------------------------------------------------------------------------


def test_a_still(tmp_path):
    path = lw.view.save(tmp_path / "arm.png", swing(lw.load("ur5")), size=(120, 90), time=0.5)
    image = Image.open(path)
    assert image.size == (120, 90) and image.format == "PNG"
    other = Image.open(lw.view.save(tmp_path / "b.png", swing(lw.load("ur5")), size=(120, 90), time=0.0))
    assert (np.asarray(image) != np.asarray(other)).any()
    assert sorted(os.listdir(tmp_path)) == ["arm.png", "b.png"]


@pytest.mark.parametrize("kind", ["gif", "webp"])
def test_an_animation_has_the_right_pictures_and_lasts_as_long_as_the_motion(tmp_path, kind):
    path = lw.view.save(tmp_path / f"arm.{kind}", swing(lw.load("ur5")), size=(80, 60), rate=10.0)
    image = Image.open(path)
    assert image.n_frames == 11
    lasted, pictures = 0, []
    for i in range(image.n_frames):
        image.seek(i)
        pictures.append(np.asarray(image.convert("RGB")).astype(int))
        lasted += image.info["duration"]
    assert_allclose(lasted, 1100, atol=60)
    assert all(np.abs(a - b).max() > 30 for a, b in pairwise(pictures))


@pytest.mark.parametrize(
    "name, said",
    [
        ("arm.avi", "ending must be one of"),
        ("no/arm.png", "does not exist"),
        ("folder.png", "is a folder"),
    ],
)
def test_bad_places_are_refused_before_any_work(tmp_path, name, said):
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(FileError, match=said):
        lw.view.save(tmp_path / name, lw.load("ur5"))


def test_no_ffmpeg_is_said_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FileError, match="need the program ffmpeg"):
        lw.view.save(tmp_path / "arm.mp4", lw.load("ur5"))


def test_a_failed_write_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(FileError, match="No space left"):
        lw.view.save(tmp_path / "arm.png", lw.load("ur5"), size=(40, 30))
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("wrong", [{"rate": 0.0}, {"size": (4, 4)}])
def test_sizes_and_rates_are_checked(tmp_path, wrong):
    with pytest.raises(InputError, match="rate must be positive"):
        lw.view.save(tmp_path / "a.gif", lw.load("ur5"), **wrong)


def floor_of(name, **moved):
    robot = lw.load(name)
    return Studio(Scene(robot), swing(robot, **moved)).floor


def test_the_floor_is_where_the_base_stands():
    robot = lw.load("panda")
    q = np.tile(robot.neutral(), (3, 1))
    q[:, 1] = [0.0, 1.5, 2.6]  # the arm reaches below its own base
    studio = Studio(Scene(robot), lw.view.Motion(robot, [0, 1, 2], q))
    base = min(p.triangles.vertices[:, 2].min() for p in studio.scene.pieces if p.body < 0)
    assert studio.extent[:, 2].min() < base - 0.1
    assert studio.floor == base


def test_what_hangs_is_above_the_floor_and_what_floats_in_space_has_none():
    robot = lw.load("double_pendulum")
    studio = Studio(Scene(robot), swing(robot))
    assert studio.floor == studio.extent[:, 2].min() < -1.5
    assert floor_of("satellite") is None
    assert floor_of("quadruped") == pytest.approx(-0.46, abs=0.15)
    pixels = next(Studio(Scene(lw.load("satellite")), swing(lw.load("satellite"))).pictures([0], 64, 48))
    assert (pixels[0] == pixels[0, 0]).all() and (pixels[-1] == pixels[0, 0]).all()  # sky all around, no lines


def test_a_wide_picture_is_filled():
    robot = lw.load("cartpole")
    motion = swing(robot)
    widths = []
    for aspect in (1.0, 2.0):
        studio = Studio(Scene(robot), motion, aspect=aspect)
        at, _ = studio.camera.project(studio.extent, round(200 * aspect), 200)
        assert at.min() >= 0 and (at[:, 0] <= 200 * aspect).all() and (at[:, 1] <= 200).all()
        widths.append(np.ptp(at[:, 0]) / (200 * aspect))
    assert min(widths) > 0.65  # were it as for a square, the wide one would be filled by half of that
