"""Motions to look at, shared by the tests of this folder."""

import numpy as np

import linkwise as lw
from linkwise.view import Motion


def swing(robot, duration=1.0, steps=50, forces=True):
    """A smooth motion with exact velocities and accelerations, and the joint forces it takes."""
    time = np.linspace(0.0, duration, steps)
    rate = np.linspace(1.0, 2.0, robot.nv)
    x = 0.4 * np.sin(time[:, None] * rate)
    q = robot.integrate(robot.neutral(), x)
    v, a = 0.4 * rate * np.cos(time[:, None] * rate), -0.4 * rate**2 * np.sin(time[:, None] * rate)
    tau = robot.inverse_dynamics(q, v, a) if forces else None
    return Motion(robot, time, q, v, a, tau)


def fall(robot, q, v, duration, step, damping=0.0):
    """A fall against viscous damping, by the classical Runge–Kutta method on the manifold; one-dof joints."""
    assert robot.nq == robot.nv
    states = [np.concatenate([q, v])]
    n = robot.nv

    def rate(x):
        return np.concatenate([x[n:], robot.forward_dynamics(x[:n], x[n:], -damping * x[n:])])

    for _ in range(round(duration / step)):
        x = states[-1]
        k1 = rate(x)
        k2 = rate(x + 0.5 * step * k1)
        k3 = rate(x + 0.5 * step * k2)
        k4 = rate(x + step * k3)
        states.append(x + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    x = np.array(states)
    time = step * np.arange(len(x))
    return Motion(robot, time, x[:, :n], x[:, n:], tau=-damping * x[:, n:])


def long_chain():
    return lw.chain(50)
