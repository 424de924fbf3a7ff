"""Studies whose batches run on a processor and on a graphics card."""

import numpy as np
from study_scenarios import pendulum

import linkwise as lw

STEPS = {"duration": 0.03, "step": 0.003}
START = {"q0": lw.Normal([0.3, -0.4], 0.2), "v0": lw.Normal([0.0, 1.0], 0.2)}


def spring(robot, t, q, v, p):
    return robot.gravity_force(q) - p["gain"] * q - p["rate"] * v + np.array([0.1, 0.0]) * np.sin(9.0 * t)


def told(true_robot, t, q, v, p):
    return true_robot.gravity_force(q)


CASES = {
    "a payload": (lw.scenarios.simulate(**STEPS), {"payload.lower": lw.Uniform(0, 2)}),
    "dampers, slow and stiff": (lw.scenarios.simulate(**STEPS), {"damping": lw.Grid([0.0, 1e-6, 1e5])}),
    "friction and stops": (
        lw.scenarios.simulate(**STEPS, limits=True),
        {"friction.elbow": lw.Uniform(0, 1), "upper": lw.Uniform([0.1, 0.1], [0.2, 0.2])},
    ),
    "pushes": (lw.scenarios.simulate(**STEPS), {"force.lower": lw.Normal(np.zeros(3), 3.0), "tau.elbow": 0.3}),
    "a law": (
        lw.scenarios.closed_loop(controller=spring, **STEPS),
        {"gain": lw.Uniform(1, 9), "rate": lw.Choice([0.0, 1.0, 1e4]), "mass.lower": lw.Uniform(0.5, 2)},
    ),
    "a held law of the robot that moves": (
        lw.scenarios.closed_loop(controller=told, hold=True, **STEPS),
        {"payload.lower": lw.Uniform(0, 2)},
    ),
    "an impossible body": (lw.scenarios.simulate(**STEPS), {"mass.lower": lw.Grid([1.0, -0.5, 2.0])}),
}


def study_of(case, samples=6):
    scenario, drawn = CASES[case]
    keep = ["q_end", "v_end", "tau_max", "energy_error"]
    return lw.Study(pendulum(), scenario, START | drawn, samples, seed=3, keep=keep)
