"""Derivatives of functions of a robot's state by complex steps, all directions as one batch of states."""

import numpy as np

H = 1e-30j


def accelerations_by_state(robot, a, q, v, tau):
    """(∂a/∂τ, ∂a/∂v, ∂a/∂q along tangents), (nv, nv) each, of accelerations a(q, v, τ) that take batches."""
    unit = np.eye(robot.nv)
    many = [np.tile(x + 0j, (robot.nv, 1)) for x in (q, v, tau)]
    rates = robot.configuration_rate(many[0].real, unit, target="numpy")
    moved = [(many[0], many[1], many[2] + H * unit), (many[0], many[1] + H * unit, many[2])]
    moved.append((many[0] + H * rates, many[1], many[2]))
    return [np.transpose(a(*x).imag / abs(H)) for x in moved]
