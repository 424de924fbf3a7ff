"""Functions of (robot, parameters): their motions are made together, and are those that lw.simulate makes alone."""

import functools

import numpy as np
import pytest
from study_scenarios import contents, pendulum

import linkwise as lw
from linkwise.control import LQR
from linkwise.study.ways import BATCHES

STEPS = {"duration": 0.06, "step": 0.003, "method": "midpoint"}  # of which programs are short
START = {"q0": lw.Normal([0.3, -0.4], 0.2), "g": lw.Uniform(2.0, 9.0)}
OUTSIDE = {"gain": 0.0}


class Spring:
    """A law that is an object."""

    def __init__(self, gain):
        self.gain = gain

    def __call__(self, t, q, v):
        return -self.gain * q - 0.1 * v


def motion(robot, p, **options):
    return lw.simulate(robot, p["q0"], **{**STEPS, **options})


def held(robot, p):
    heavy = robot.weld("lower", lw.Inertia(p["g"]))
    law = lambda robot, t, q, v: robot.gravity_force(q) - q  # of the robot that moves
    return motion(heavy, p, controller=law)


def known(robot, p):
    heavy = robot.weld("lower", lw.Inertia(p["g"]))
    law = lambda t, q, v: robot.gravity_force(q) - heavy.gravity_force(0.5 * q)
    return motion(heavy, p, controller=law)


def pulled(t, q, v, gains):
    return -gains[0] * q - gains[1] @ v


def optimal(robot, p):
    other = robot.with_inertial_parameters(robot.inertial_parameters * p["g"])
    return motion(other, p, controller=LQR.about(robot, np.zeros(2), state=p["g"]))


MOTIONS = {
    "free": lambda robot, p: motion(robot, p),
    "a closure": lambda robot, p: motion(robot, p, controller=lambda t, q, v: -p["g"] * q - 0.5 * v),
    "a law of time": lambda robot, p: motion(robot, p, controller=lambda t, q, v: p["g"] * np.sin(p["g"] * t) - v),
    "a law on the robot": lambda robot, p: motion(robot, p, controller=lambda t, q, v: robot.gravity_force(q) / p["g"]),
    "gains as arrays": lambda robot, p: motion(
        robot, p, controller=functools.partial(pulled, gains=[p["g"], p["g"] * np.eye(2)])
    ),
    "limits of a law": lambda robot, p: motion(robot, p, controller=lambda t, q, v: np.clip(-p["g"] * q, -1.0, 1.0)),
    "a law of the library": optimal,
    "a held law": lambda robot, p: motion(robot, p, controller=lambda t, q, v: -p["g"] * q, hold=True),
    "explicit steps": lambda robot, p: motion(robot, p, controller=lambda t, q, v: -p["g"] * v, implicit=False),
    "another method": lambda robot, p: motion(robot, p, method="runge_kutta_4", controller=Spring(p["g"])),
    "damping": lambda robot, p: motion(robot, p, damping=p["g"]),
    "some stiff laws": lambda robot, p: motion(robot, p, controller=lambda t, q, v: -(p["g"] ** 4) * v),
    "forces that push on": lambda robot, p: motion(robot, p, controller=lambda t, q, v: (p["g"] - 5.0) * q),
    "implicit steps": lambda robot, p: motion(robot, p, controller=lambda t, q, v: (4.0 - p["g"]) * v, implicit=True),
    "friction": lambda robot, p: motion(robot, p, friction=[p["g"], 0.5]),
    "limits": lambda robot, p: motion(robot, p, limits=([-0.1 * p["g"], -np.inf], [0.1, 0.02 * p["g"]])),
    "a payload and damping": lambda robot, p: motion(robot.weld("lower", lw.Inertia(p["g"])), p, damping=0.1),
    "a payload that is known": held,
    "a payload that is not": known,
    "parameters": lambda robot, p: motion(robot, p, parameters={"inertial": p["g"] * robot.inertial_parameters}),
    "a table": lambda robot, p: motion(robot, p, tau=p["g"] * np.ones((20, 2))),
    "a push": lambda robot, p: motion(robot, p, external={"lower": [0, 0, 0, p["g"], 0, 0]}),
    "every other sample": lambda robot, p: motion(robot, p, every=2, controller=Spring(p["g"])),
}


def numbers(function, robot, p):
    """What is compared of a motion: all that follows from it."""
    x = function(robot, p)
    return {
        "q": x.q,
        "v": x.v,
        "tau": x.tau,
        "a": x.a,
        "drift": x.energy.total,
        "masses": x.robot.inertial_parameters[:, 0],
    }


@pytest.mark.parametrize("name", MOTIONS)
def test_motions_together_are_those_alone(tmp_path, name):
    function = functools.partial(numbers, MOTIONS[name])
    study = lw.Study(pendulum(), function, START, 5, seed=2, chunk=5)
    found = study.run(tmp_path / "s", engine="serial")
    assert found.counts() == {"done": 5}, found.failures().traceback.tolist()
    assert found.ways() == {BATCHES: 5}
    table = found.results()
    for k in (0, 4):
        alone = function(pendulum(), study.draw(k))
        again = study.result(k)
        for part, wanted in alone.items():
            scale = 1.0 + np.abs(wanted).max()
            assert np.allclose(table[part].values[k], wanted, rtol=0, atol=1e-10 * scale), part
            assert np.array_equal(table[part].values[k], again[part]), part  # bit for bit


@pytest.mark.parametrize("robot", ["satellite", "four_bar", "cartpole"])
def test_robots_of_other_kinds(tmp_path, robot):
    model = lw.load(robot)
    q = model.neutral()
    if model.loops:
        q = model.closed_configuration(q)

    def swing(robot, p):
        law = lambda t, q, v: -p["g"] * v + np.sin(t)
        x = lw.simulate(robot, q, controller=law, duration=0.02, step=0.002, method="midpoint")
        return {"q": x.q, "work": x.energy.work}

    study = lw.Study(model, swing, {"g": lw.Uniform(1, 2)}, 3, chunk=3)
    found = study.run(tmp_path / "s", engine="serial")
    assert found.ways() == {BATCHES: 3}
    alone = swing(model, study.draw(2))
    assert np.allclose(found.results().q.values[2], alone["q"], atol=1e-11)
    assert np.allclose(found.results().work.values[2], alone["work"], atol=1e-11)


def decides(robot, p):
    law = lambda t, q, v: -p["g"] * q if p["g"] > 5 else -v  # by a number of the run's
    return {"q": motion(robot, p, controller=law).q[-1]}


ALONE = {
    "a choice by a number": (decides, "cannot be compiled with its numbers as inputs"),
    "events": (lambda robot, p: {"q": motion(robot, p, events=lambda t, q, v: q[0]).q[-1]}, "events"),
    "a solver": (lambda robot, p: {"q": motion(robot, p, method="rk45").q[-1]}, "chooses its own steps"),
    "a batch": (lambda robot, p: {"q": motion(robot, {"q0": [p["q0"]] * 2}).q[0, -1]}, "a batch of its own"),
}  # fmt: skip


@pytest.mark.parametrize("name", ALONE)
def test_what_is_made_alone_is_right_and_said(tmp_path, name):
    function, why = ALONE[name]
    study = lw.Study(pendulum(), function, START, 3, chunk=3)
    with pytest.warns(lw.SlowPathWarning, match=f"one at a time, 3 as .*{why}"):
        found = study.run(tmp_path / "s", engine="serial")
    assert list(found.ways().values()) == [3] and why in next(iter(found.ways()))
    assert np.allclose(found.results().q.values[1], function(pendulum(), study.draw(1))["q"], atol=1e-12)


def test_what_laws_read_outside_is_what_it_was_when_they_asked(tmp_path):
    def outside(robot, p):
        OUTSIDE["gain"] = p["g"]
        return {"q": motion(robot, p, controller=lambda t, q, v: -OUTSIDE["gain"] * q).q[-1]}

    study = lw.Study(pendulum(), outside, START, 4, chunk=4)
    found = study.run(tmp_path / "s", engine="serial").results()
    for k in range(4):
        assert np.allclose(found.q.values[k], outside(pendulum(), study.draw(k))["q"], atol=1e-12)


def test_functions_may_ask_again_and_differently(tmp_path):
    """Bisection for the gain that reaches a speed, and some runs that ask for more."""

    def sought(robot, p):
        low, high, asked = 0.0, 40.0, 0
        while high - low > 10.0 / p["g"]:
            gain, asked = 0.5 * (low + high), asked + 1
            fast = np.abs(motion(robot, p, controller=lambda t, q, v, gain=gain: -gain * q - 0.1 * v).v).max() > 1.0
            low, high = (low, gain) if fast else (gain, high)
        return {"gain": low, "asked": asked}

    study = lw.Study(pendulum(), sought, START, 6, chunk=6)
    found = study.run(tmp_path / "s", engine="serial").to_pandas()
    assert len(set(found["asked"])) > 1
    for k in range(6):
        assert found["gain"][k] == sought(pendulum(), study.draw(k))["gain"]


def test_a_run_that_is_lost_says_what_it_says_alone(tmp_path):
    def stiff(robot, p):
        law = lambda t, q, v: -p["g"] * 1e6 * q
        return {"q": motion(robot, p, controller=law, implicit=False).q[-1]}

    parameters = {"q0": [0.3, -0.4], "g": lw.Grid([1e-7, 2.0, 2e-7])}
    study = lw.Study(pendulum(), stiff, parameters, chunk=3)
    with pytest.warns(lw.SimulationWarning, match="1 of 3 runs failed"):
        found = study.run(tmp_path / "s", engine="serial")
    with pytest.raises(lw.SimulationError) as alone:
        stiff(pendulum(), study.draw(1))
    assert found.failures().loc[1, "message"] == str(alone.value)
    assert found.results().status.values.tolist() == ["done", "failed", "done"]


def moved(robot, p):
    x = motion(robot.weld("lower", lw.Inertia(p["g"])), p, controller=Spring(p["g"]))
    return {"end": x.q[-1], "most": x.energy.total.max()}


def test_a_motion_whose_errors_are_caught_is_made(tmp_path):
    """While the function is looked at there are no motions, and what it makes of that is no answer."""

    def at_any_rate(robot, p):
        try:
            return {"end": motion(robot, p, controller=lambda t, q, v: -p["g"] * v).q[-1, 0]}
        except Exception:
            return {"end": p["q0"][0] + 100.0}

    study = lw.Study(pendulum(), at_any_rate, START, 6, chunk=6)
    found = study.run(tmp_path / "s", engine="serial")
    assert found.ways() == {BATCHES: 6}
    wanted = [at_any_rate(pendulum(), study.draw(k))["end"] for k in range(6)]
    assert np.allclose(found.to_pandas()["end"], wanted, rtol=1e-12) and max(wanted) < 50.0


def test_workers_and_chunks_do_not_change_a_bit(tmp_path):
    whole = lw.Study(pendulum(), moved, START, 24, seed=5, chunk=8)
    whole.run(tmp_path / "a", engine="serial")
    whole.run(tmp_path / "b", workers=1)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    other = lw.Study(pendulum(), moved, START, 24, seed=5, chunk=5).run(tmp_path / "c", engine="serial")
    assert other.results().equals(lw.open_study(tmp_path / "a").results())


def test_functions_without_motions_are_called_once(tmp_path):
    called = []

    def counted(robot, p):
        called.append(p["k"])
        return {"y": p["k"]}

    study = lw.Study(pendulum(), counted, {"k": lw.Grid([1, 2, 3])})
    with pytest.warns(lw.SlowPathWarning, match="3 as parameter 'k' is no real number"):
        assert study.run(tmp_path / "s", engine="serial").ways() == {"alone: parameter 'k' is no real number": 3}
    assert called == [1, 2, 3]
