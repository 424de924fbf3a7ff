"""Forces of hands in pictures and in the viewer: what moves the object apart from what squeezes it, and a key."""

import numpy as np
import pytest
from held_objects import contact, state

import linkwise as lw
from linkwise.view.motion import as_motion
from linkwise.view.pictures import ARROWS, contact_arrows
from linkwise.view.scene import Scene


@pytest.fixture(scope="module")
def pressed():
    """A box between the tips of two arms, still, squeezed with more than it weighs."""
    fingers = {"kind": "soft_finger", "friction": 0.8, "torsion": 0.02}
    left = lw.Contact("tcp", lw.Frame("left", at=(-0.15, 0, 0), rpy=(0, np.pi / 2, 0)), **fingers)
    right = lw.Contact("tcp", lw.Frame("right", at=(0.15, 0, 0), rpy=(0, -np.pi / 2, 0)), **fingers)
    bases = [(-0.7, 0, 0), ((0.7, 0, 0), (0, 0, np.pi))]
    team = lw.grasp([lw.load("panda")] * 2, lw.Inertia.box(1.5, (0.3, 0.2, 0.2)), [left, right], bases=bases)
    q = team.neutral()
    q[team.arm_q("arm_1")] = q[team.arm_q("arm_2")] = [0.0, -0.3, 0.0, -2.2, 0.0, 2.0, 0.8]
    q[team.object_q][:3] = [0, 0, 0.4]
    q = team.closed_configuration(q, keep=["object_free"])
    still = np.zeros(team.nv)
    lam = team.share_load(q, [0, 0, 0, 0, 0, 1.5 * 9.81], target="numpy")
    hold = team.gravity_force(q, target="numpy")
    hold[team.object_v] = 0
    hold = hold + team.contact_joint_forces(q, lam, target="numpy")
    tau = team.squeeze(q, still, hold, margin=2.0).tau
    return lw.view.Motion(team, [0.0], [q], [still], tau=[tau])


def test_parts_are_weight_and_squeeze(pressed):
    """Up against the weight at both hands; and towards each other."""
    parts = pressed.contact_forces
    assert np.allclose(parts["motion"][0], [[0, 0, 7.3575]] * 2, atol=1e-6)
    assert np.allclose(parts["internal"][0], [[11.196875, 0, 0], [-11.196875, 0, 0]], atol=1e-5)
    assert np.allclose(pressed.contact_places[0], [[-0.15, 0, 0.4], [0.15, 0, 0.4]], atol=1e-9)


def test_they_are_the_forces_of_the_loops():
    team = lw.grasp([lw.chain(5, seed=3)] * 2, lw.Inertia.box(2.0, (1, 1, 1)), [contact(k, i) for i, k in KINDS])
    q, v, tau = state(team)
    motion = lw.view.Motion(team, [0.0], [q], [v], tau=[tau])
    whole = sum(motion.contact_forces.values())
    assert np.allclose(whole, -motion.loop_forces[..., 3:], atol=1e-9)  # of loops: what the object does to the hands
    (rolls,) = (i for i, x in enumerate(team.contacts) if x.kind == "rolling")
    _, centre = team.pose(q, team.contacts[rolls].hand_frame)
    assert np.linalg.norm(motion.contact_places[0, rolls] - centre) == pytest.approx(0.05)
    R, p = team.pose(q, team.contacts[rolls].object_frame)
    assert abs((R.T @ (motion.contact_places[0, rolls] - p))[2]) < 1e-9  # the ball's foot is on the object


KINDS = ((0, "rolling"), (1, "hard_finger"))


def test_arrows_have_one_scale_and_press_from_outside(pressed):
    scene = Scene(pressed.robot)
    moves, squeezes = (contact_arrows(scene, pressed, layer, 0) for layer in ("motion_forces", "squeeze"))
    long = lambda arrows: np.linalg.norm(arrows.end - arrows.start, axis=-1)
    assert np.allclose(long(moves) / long(squeezes), 7.3575 / 11.196875, rtol=1e-5)
    assert np.allclose(long(squeezes), 0.25 * scene.size)
    assert np.array_equal(moves.start, pressed.contact_places[0])
    assert (np.abs(squeezes.end[:, 0]) > 0.15).all() and (np.abs(squeezes.start[:, 0]) > 0.3).all()
    unknown = contact_arrows(scene, pressed, "squeeze", None)
    assert np.array_equal(unknown.start, unknown.end)


def test_pictures_draw_them_in_colours_of_their_own_with_a_key(pressed, tmp_path):
    Image = pytest.importorskip("PIL.Image")

    def drawn(*show):
        path = lw.view.save(tmp_path / "x.png", pressed, show=("visuals", *show), size=(240, 180))
        return np.asarray(Image.open(path).convert("RGB")).astype(int)

    def coloured(image, layer):
        return np.abs(image - 255 * np.array(ARROWS[layer][:3])).max(axis=-1) < 12

    both, one = drawn("motion_forces", "squeeze"), drawn("squeeze")
    corner = (slice(0, 30), slice(0, 20))
    for layer in ("motion_forces", "squeeze"):
        assert coloured(both, layer)[corner].sum() > 20
    assert not coloured(both, "loop_forces").any()
    assert not coloured(one, "motion_forces").any() and not coloured(one, "squeeze")[corner].any()
    assert np.array_equal(drawn("loop_forces")[corner], drawn()[corner])  # one sort needs no key


def test_only_grasps_have_them():
    robot = lw.load("four_bar")
    assert as_motion(robot.neutral(), robot).contact_forces is None


def test_the_viewer_shows_them(pressed):
    pytest.importorskip("viser")
    with lw.view.open(pressed, browser=False, port=0, show=("visuals", "squeeze")) as viewer:
        assert {"motion_forces", "squeeze", "loop_forces"} <= set(viewer._nodes.available)
        points = viewer._nodes._signs["squeeze"].points
        assert np.allclose(points[:, 0], contact_arrows(viewer.scene, pressed, "squeeze", 0).start, atol=1e-6)
        viewer.show("motion_forces")
    plain = as_motion(lw.load("four_bar").neutral(), lw.load("four_bar"))
    with lw.view.open(plain, browser=False, port=0) as viewer:
        assert not {"motion_forces", "squeeze"} & set(viewer._nodes.available)
