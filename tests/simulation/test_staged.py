"""The compiled loop over the stages of steps makes the motion that straight-line steps make."""

import pickle

import numpy as np
import pytest

import linkwise as lw
from linkwise.simulation import staged
from linkwise.simulation.joint_forces import PassiveForces
from linkwise.simulation.simulate import chosen_stepper
from linkwise.simulation.staged import StageStepper
from linkwise.simulation.steppers import CompiledStepper, Task


def swing(robot, t, q, v):
    return robot.gravity_force(q) + np.sin(3.0 * t) - 0.3 * v


def moved(name, first, monkeypatch, **options):
    """The motion of a robot of its own, whose steps are loops over stages from ``first`` degrees of freedom on."""
    monkeypatch.setattr(staged, "STAGED_FROM", first)
    r = pickle.loads(pickle.dumps(lw.load(name)))
    task = Task(r, "runge_kutta_4", 1e-3, PassiveForces(), None)
    assert type(chosen_stepper(task, "cpu")) is (StageStepper if first <= r.nv else CompiledStepper)
    rng = np.random.default_rng(0)
    q = r.random_configuration(rng, options.pop("batch", ()))
    v = rng.normal(size=(*q.shape[:-1], r.nv))
    how = {"method": "runge_kutta_4", "implicit": False, "step": 2e-3, "duration": 0.04, "every": 4} | options
    return lw.simulate(r, q, v, **how)


@pytest.mark.parametrize("name", ["double_pendulum", "satellite"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch": (5,), "damping": 0.2},
        {"controller": swing},
        {"controller": swing, "hold": True, "batch": (2, 3)},
    ],
    ids=["free", "damped", "driven", "held"],
)
def test_stages_and_whole_steps_make_the_same_motion(name, options, monkeypatch):
    looped, straight = (moved(name, first, monkeypatch, **options) for first in (1, 1000))
    for x in ("q", "v", "tau"):
        a, b = getattr(looped, x), getattr(straight, x)
        assert a.shape == b.shape and np.abs(a - b).max() <= 1e-11 * max(1.0, np.abs(b).max())
    assert np.abs(looped.q[..., -1, :] - looped.q[..., 0, :]).max() > 1e-3
