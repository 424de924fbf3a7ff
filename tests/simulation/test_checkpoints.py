"""Long runs that are killed and started again, in processes of their own and in this one."""

import os
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest
from patience import PATIENCE, eventually

import linkwise as lw

SCRIPT = """
import sys
import numpy as np
import linkwise as lw

robot = lw.load("ur5")
q = robot.random_configuration(0, batch=(3,))
law = lambda robot, t, q, v: -robot.mass_times(q, 0.3 * v) + 0.1 * t
slow = lambda robot, t, q, v: -0.1 * v if float(t) < 1e3 else v
turns = lw.Event(lambda r, t, q, v: v[..., 0], name="turns")
motion = lw.simulate(
    robot, q, controller={controller}, hold={hold}, duration={duration}, every=10, damping=0.01, events=turns,
    external={{robot.tips[0]: [0, 0, 0, 1, 0, 0]}}, checkpoint={checkpoint},
)
np.savez(sys.argv[1], q=motion.q, v=motion.v, tau=motion.tau, exchanged=motion.exchanged,
         events=[e.time for e in motion.events])
"""


def run(script, result, **options):
    environment = {**os.environ, "LINKWISE_TARGET": "cpu"}
    return subprocess.Popen([sys.executable, "-c", script, str(result)], env=environment, **options)


def finished(process):
    try:
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()


def killed_on_its_way(script, path, result):
    """Start a run and kill it as soon as it has written its checkpoint anew; whether it had not ended before."""
    before = path.stat().st_mtime_ns if path.exists() else None
    process = run(script, result)
    written = lambda: path.exists() and path.stat().st_mtime_ns != before
    assert eventually(lambda: process.poll() is not None or written(), lambda: time.sleep(0.002))
    process.send_signal(signal.SIGKILL)
    return process.wait(PATIENCE) == -signal.SIGKILL


@pytest.mark.skipif(os.name == "nt", reason="signals differ")
@pytest.mark.parametrize(("controller", "hold", "duration"), [("law", False, 40.0), ("slow", True, 8.0)])
def test_a_killed_run_goes_on_bit_for_bit(controller, hold, duration, tmp_path, monkeypatch):
    path = tmp_path / "run.checkpoint"
    kept = f"lw.Checkpoint({str(path)!r}, seconds=0.05)"
    script = SCRIPT.format(controller=controller, hold=hold, duration=duration, checkpoint=kept)
    kills = attempts = 0
    while kills < 2 and attempts < 3:  # killed on the way, not after its end
        attempts += 1
        kills += killed_on_its_way(script, path, tmp_path / "killed.npz")
    assert kills == 2
    finished(run(script, tmp_path / "killed.npz"))
    monkeypatch.setattr(sys, "argv", ["", str(tmp_path / "whole.npz")])
    exec(SCRIPT.format(controller=controller, hold=hold, duration=duration, checkpoint=None), {})
    with np.load(tmp_path / "killed.npz") as a, np.load(tmp_path / "whole.npz") as b:
        assert len(a["events"])
        for name in a.files:
            assert np.array_equal(a[name], b[name]), name


def pendulum(path, duration=0.5, robot=None, **options):
    robot = lw.load("double_pendulum") if robot is None else robot
    return lw.simulate(robot, [1.0, 0.5], duration=duration, checkpoint=path, **options)


@pytest.mark.parametrize("method", ["semi_implicit_euler", "runge_kutta_4", "variational"])
def test_a_longer_run_goes_on_from_a_shorter_one(method, tmp_path):
    path = tmp_path / "run"
    pendulum(path, method=method)
    longer = pendulum(path, 1.0, method=method)
    assert np.array_equal(longer.q, pendulum(None, 1.0, method=method).q)
    assert [p.name for p in tmp_path.iterdir()] == ["run"]
    assert np.array_equal(pendulum(path, 1.0, method=method).q, longer.q)  # nothing was left to do
    with pytest.raises(lw.InputError, match="longer than asked for"):
        pendulum(path, 0.5, method=method)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"step": 2e-3}, "method, coordinates, step or every"),
        ({"damping": 0.1}, "damping, friction or limits"),
        ({"controller": lambda r, t, q, v: -v}, "the controller"),
        ({"controller": lambda r, t, q, v: -v if float(t) < 1 else v}, "the controller"),
        ({"external": np.ones((2, 6))}, "external forces"),
        ({"robot": lw.load("double_pendulum").with_gravity((0, 0, -1.6))}, "the robot"),
        ({"events": lw.Event(lambda r, t, q, v: q[..., 0], name="zero")}, "events"),
        ({"target": "numpy"}, "the target"),
    ],
)
def test_another_run_is_refused(other, words, tmp_path):
    pendulum(tmp_path / "run")
    with pytest.raises(lw.InputError, match=f"of another run: {words}.*delete it"):
        pendulum(tmp_path / "run", **other)


def closing(gain):
    return lambda robot, t, q, v: -gain * v


def with_default(gain):
    def law(t, q, v, gain=gain):
        return -gain * v

    return law


class Damper:
    def __init__(self, gain):
        self.gain = gain

    def __call__(self, robot, t, q, v):
        return -self.gain * v


def gained(gain, robot, t, q, v):
    return -gain * v


def with_attribute(gain):
    return type("Deep", (), {"gain": gain, "__call__": lambda self, robot, t, q, v: -self.gain * v})()


MAKERS = (closing, with_default, Damper, with_attribute, lambda gain: partial(gained, gain))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("callback", [False, True])
@pytest.mark.parametrize("make", MAKERS)
def test_other_numbers_in_a_function_are_another_run(make, callback, tmp_path):
    """In closures, defaults, fields, classes and partial functions; compiled or called back; named if other."""
    path, options = tmp_path / "run", {"callback": callback}
    pendulum(path, controller=make(1.0), **options)
    pendulum(path, controller=make(1.0), duration=0.6, **options)
    name = {MAKERS[-1]: "argument 1", with_attribute: r"Deep\.gain"}.get(make, "gain")
    with pytest.raises(lw.InputError, match=rf"the controller: {name} \(1\.0 then, 2\.0 now\) differ"):
        pendulum(path, controller=make(2.0), duration=0.6, **options)


LIMIT = 0.3


def crossing(robot, t, q, v):
    return q[..., 0] - LIMIT


@pytest.mark.parametrize("callback", [False, True])
def test_events_external_forces_and_globals_are_compared(callback, tmp_path, monkeypatch):
    options = {"callback": callback, "external": {"tip": [0, 0, 0, 1.0, 0, 0]}, "events": crossing}
    pendulum(tmp_path / "run", **options)
    pendulum(tmp_path / "run", 0.6, **options)
    monkeypatch.setitem(globals(), "LIMIT", 0.4)
    with pytest.raises(lw.InputError, match=r"the event 'crossing': LIMIT \(0\.3 then, 0\.4 now\) differ"):
        pendulum(tmp_path / "run", 0.6, **options)
    monkeypatch.undo()
    for other in ({"external": {"tip": [0, 0, 0, 2.0, 0, 0]}}, {"external": lambda r, t, q, v: np.zeros((2, 6))}):
        with pytest.raises(lw.InputError, match="of another run: .*external force.* differ"):
            pendulum(tmp_path / "run", 0.6, **options | other)
    with pytest.raises(lw.InputError, match="'crossing'"):
        pendulum(tmp_path / "run", 0.6, **options | {"events": ()})


def test_parameters_of_the_robot_are_compared(tmp_path):
    robot = lw.load("double_pendulum")
    own = robot.inertial_parameters
    pendulum(tmp_path / "run", parameters={"inertial": own})
    pendulum(tmp_path / "run", 0.6, parameters={"inertial": own})
    with pytest.raises(lw.InputError, match="parameters differ"):
        pendulum(tmp_path / "run", 0.6, parameters={"inertial": 1.1 * own})


def test_what_cannot_be_compared_is_said(tmp_path):
    stream = (x for x in ())  # a generator cannot be taken apart

    def law(robot, t, q, v):
        return -v if stream else v

    pendulum(tmp_path / "run", controller=law)  # the program says all there is
    pendulum(tmp_path / "called", controller=law, callback=True)
    with pytest.warns(lw.SimulationWarning, match=r"of the controller, stream \(generator\) cannot be compared"):
        pendulum(tmp_path / "called", 0.6, controller=law, callback=True)


def test_what_a_class_leaves_out_of_its_state_cannot_be_compared(tmp_path):
    class Law:
        def __init__(self, gain):
            self.gain = gain

        def __getstate__(self):
            return {}

        def __call__(self, t, q, v):
            return -self.gain * v

    pendulum(tmp_path / "run", controller=Law(1.0), callback=True)
    with pytest.warns(lw.SimulationWarning, match=r"gain \(which Law leaves out of its state\) cannot be compared"):
        pendulum(tmp_path / "run", 0.6, controller=Law(2.0), callback=True)


def test_what_is_no_checkpoint_is_refused(tmp_path):
    path = tmp_path / "run"
    path.write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(lw.FileError, match="no checkpoint of linkwise"):
        pendulum(path)
    pendulum(None).save(tmp_path / "motion.npz")
    with pytest.raises(lw.FileError, match="no checkpoint of linkwise"):
        pendulum(tmp_path / "motion.npz")
    with pytest.raises(lw.FileError, match="make it first"):
        pendulum(tmp_path / "no" / "run")
    with pytest.raises(lw.InputError, match="fixed steps"):
        pendulum(path, method="dop853")
    with pytest.raises(lw.InputError, match="the seconds of a checkpoint"):
        pendulum(lw.Checkpoint(tmp_path / "new", seconds=-1))


def test_a_full_disk_stops_the_run_and_leaves_the_last_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "run"
    pendulum(path)
    before = path.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(lw.FileError, match="the disk is full"):
        pendulum(path, 1.0)
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1
