"""The live viewer from the program's side: playing, scrubbing, posing, layers, speed. The browser has its own tests."""

import time

import numpy as np
import pytest
from motions import long_chain, swing
from numpy.testing import assert_allclose
from patience import eventually

import linkwise as lw
from linkwise.errors import InputError, LinkwiseError
from linkwise.view.viewer import Viewer

pytest.importorskip("viser", reason='the viewer needs viser: pip install "linkwise[view]"')


@pytest.fixture
def viewer():
    motion = swing(lw.load("panda"), duration=1.0, steps=101)
    with lw.view.open(motion, browser=False, port=0) as made:
        yield made


def rotations(wxyz):
    """(n, 3, 3) of quaternions (n, 4)."""
    w, x, y, z = np.asarray(wxyz, float).T
    R = np.stack(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    return np.moveaxis(R, -1, 0)


def assert_shows(viewer, q):
    """Every solid that the viewer draws is where its body is."""
    shown = 0
    for crowd in viewer._nodes._crowds:
        if not viewer._nodes.is_shown(crowd.layer):
            continue
        R, p = rotations(crowd.node.batched_wxyzs), np.asarray(crowd.node.batched_positions)
        for i, (body, solid) in enumerate(zip(crowd._bodies, crowd._solids)):
            turned, at = (np.eye(3), np.zeros(3)) if body < 0 else viewer.robot.pose(q, viewer.robot.bodies[body].name)
            assert_allclose(p[i], at + turned @ solid.pose.l, atol=2e-6)
            assert_allclose(R[i], turned @ solid.pose.R, atol=2e-6)
            shown += 1
    assert shown > len(viewer.robot.bodies)


def test_seek_shows_the_motion_at_a_time(viewer):
    for t in (0.0, 0.37, 1.0, 7.0, -1.0):
        viewer.seek(t)
        shown = float(np.clip(t, 0, 1))
        assert_allclose(viewer.time, shown)
        assert_shows(viewer, viewer.motion.q[round(100 * shown)])


def test_play_goes_with_real_time_and_pause_holds(viewer):
    assert not viewer.is_playing
    begun = time.perf_counter()
    viewer.play(speed=0.25)
    assert eventually(lambda: viewer.time > 0.1 and viewer.frames_shown > 3)
    assert viewer.time <= 0.25 * (time.perf_counter() - begun)  # read first, so never ahead of the clock
    viewer.pause()
    time.sleep(0.1)
    held = viewer.time
    time.sleep(0.1)
    assert viewer.time == held


def test_it_starts_again_or_stops_at_the_end(viewer):
    viewer.play(speed=8.0)
    shown = viewer.frames_shown
    assert eventually(lambda: viewer.frames_shown > shown + 10) and viewer.is_playing
    viewer._loops = False
    assert eventually(lambda: not viewer.is_playing)
    assert viewer.time == viewer.motion.duration
    viewer.play(speed=1e-3)
    assert viewer.time < viewer.motion.duration


def test_pose_shows_any_configuration_and_holds_the_motion(viewer, rng):
    viewer.play()
    q = viewer.robot.random_configuration(rng)
    viewer.pose(q)
    assert not viewer.is_playing
    assert_allclose(viewer.q, q)
    assert_shows(viewer, q)
    assert_allclose([s.value for s in viewer._sliders], q, atol=1e-9)
    with pytest.raises(InputError, match="q must have shape"):
        viewer.pose(q[:3])


def test_sliders_follow_the_motion(viewer):
    viewer.seek(0.5)
    within = np.clip(viewer.motion.q[50], viewer.robot.lower_limits, viewer.robot.upper_limits)
    assert_allclose([s.value for s in viewer._sliders], within)


def test_layers_come_and_go(viewer):
    assert viewer._nodes.available == [
        *("visuals", "inertias", "frames", "center_of_mass", "axes", "joint_forces", "reactions", "trace")
    ]
    viewer.seek(0.5)
    for layer in viewer._nodes.available:
        viewer.show(layer)
        assert eventually(lambda layer=layer: all(n.visible for n in viewer._nodes._layers[layer]))
    com = viewer.robot.center_of_mass(viewer.q)
    assert eventually(lambda: np.allclose(viewer._nodes._signs["center_of_mass"].position, com, atol=1e-6))
    viewer.show("visuals", False)
    assert eventually(lambda: not any(n.visible for n in viewer._nodes._layers["visuals"]))
    with pytest.raises(InputError, match="'external' is not known along this motion"):
        viewer.show("external")
    with pytest.raises(InputError, match="'ghosts' does not exist"):
        viewer.show("ghosts")


def test_forces_are_known_at_steps_of_the_motion_alone(viewer):
    viewer.show("joint_forces")
    viewer.seek(0.5)
    arrows = viewer._nodes._signs["joint_forces"]
    assert eventually(lambda: np.linalg.norm(np.diff(arrows.points, axis=1)) > 0.05)
    viewer.pose(viewer.robot.neutral())
    assert eventually(lambda: np.linalg.norm(np.diff(arrows.points, axis=1)) < 1e-2)


def test_charts_hold_the_channels(viewer):
    chart = viewer._chart
    x, *curves, mark = chart._plot.data
    assert_allclose(curves, viewer.motion.q.T)
    viewer.seek(0.5)
    x, *_, mark = chart._plot.data
    assert 0.45 < x[np.isfinite(mark)].mean() < 0.55
    chart._group.value = "energy [J]"
    assert eventually(lambda: len(chart._plot.data) == 5)
    chart._channel.value = "total"
    assert eventually(lambda: len(chart._plot.data) == 3)
    kinetic, potential = viewer.motion.energies
    assert_allclose(chart._plot.data[1], kinetic + potential)


def test_a_robot_alone_can_be_posed():
    robot = lw.load("quadruped")
    with lw.view.open(robot, browser=False, port=0) as viewer:
        viewer.play()
        assert not viewer.is_playing
        assert_shows(viewer, robot.neutral())
        q = robot.random_configuration(1)
        viewer.pose(q)
        assert_shows(viewer, q)


def test_fifty_joints_take_few_messages_a_picture(monkeypatch):
    """What a picture costs the server and the page; ``benchmarks/viewer.py`` says how long that takes."""
    motion = swing(long_chain(), duration=4.0, steps=400)
    with lw.view.open(motion, browser=False, port=0) as viewer:
        interface, sent = viewer.server.scene._websock_interface, []
        queue = interface.queue_message
        monkeypatch.setattr(interface, "queue_message", lambda message: (sent.append(message), queue(message)))
        for t in np.linspace(0.1, 4, 20):
            viewer.seek(t)
        drawn = [m for m in sent if not type(m).__name__.startswith("Gui")]  # sliders follow while nothing plays
        assert 0 < len(drawn) <= 20 * 25  # fifty links: a message for every kind of solid, not for every link


def test_it_says_nothing_and_ends_cleanly(capfd):
    motion = swing(lw.load("ur5"))
    viewer = lw.view.open(motion, browser=False, port=0)
    viewer.play()
    viewer.stop()
    viewer.stop()
    assert not viewer._thread.is_alive()
    assert capfd.readouterr().out == ""


def test_a_taken_port_gives_another():
    with (
        lw.view.open(lw.load("ur5"), browser=False, port=0) as first,
        lw.view.open(lw.load("ur5"), browser=False, port=first.server.get_port()) as second,
    ):
        assert first.url != second.url


@pytest.mark.parametrize(
    "wrong, said", [({"port": 99999}, "a port is a number"), ({"host": "no.such.host.invalid"}, "cannot listen")]
)
def test_bad_addresses_are_refused(wrong, said):
    with pytest.raises(LinkwiseError, match=said):
        lw.view.open(lw.load("ur5"), browser=False, **wrong)


def test_bad_speeds_are_refused(viewer):
    for speed in (0.0, -1.0, float("nan")):
        with pytest.raises(InputError, match="speed must be positive"):
            viewer.speed = speed


def test_open_shows_the_browser_where_asked(monkeypatch):
    seen = []
    monkeypatch.setattr("webbrowser.open", seen.append)
    with lw.view.open(lw.load("ur5"), port=0) as viewer:
        assert isinstance(viewer, Viewer) and seen == [viewer.url]


def test_a_missing_package_says_what_brings_it(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(LinkwiseError, match=r'needs viser.*pip install "linkwise\[view\]"'):
        lw.view.open(lw.load("ur5"), browser=False)


def test_nothing_is_left_listening_where_it_cannot_start(monkeypatch):
    stopped = []
    monkeypatch.setattr("linkwise.view.viewer.stop_quietly", stopped.append)
    with pytest.raises(InputError, match="no layer of a picture is named 'ghosts'"):
        lw.view.open(lw.load("ur5"), browser=False, port=0, show=("ghosts",))
    assert not stopped  # it had not begun to listen

    def broken(*_):
        raise LinkwiseError("no panel")

    monkeypatch.setattr(Viewer, "_build_panel", broken)
    with pytest.raises(LinkwiseError, match="no panel"):
        lw.view.open(lw.load("ur5"), browser=False, port=0)
    (server,) = stopped
    server.stop()
