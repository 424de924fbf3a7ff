"""What motions in one kernel are given in tests: a law, a push and a running cost, all of which can be traced."""

import numpy as np


def swaying(robot, t, q, v):
    return -3.0 * v[..., : robot.nv] + np.sin(40.0 * t)


def push(robot, t, q, v):
    return {robot.tips[-1]: np.array([0.0, 0.0, 0.0, 2.0 * np.cos(30.0 * t), 1.0, 0.0])}


def effort(t, q, v, tau):
    return t + 0.5 * (v * v).sum(axis=-1) + 0.1 * (tau * tau).sum(axis=-1) + q[..., 0]
