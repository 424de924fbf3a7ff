"""Pinocchio's derivatives of inverse and forward dynamics beside the linearised models, on the built-in robots."""

import numpy as np
import pytest

import linkwise as lw
from linkwise.interop.availability import NotHere
from linkwise.interop.pinocchio import layout, to_pinocchio

pin = pytest.importorskip("pinocchio")


def _has_counterpart(name):
    try:
        to_pinocchio(pin, lw.load(name))
    except NotHere:
        return False
    return True


ROBOTS = [name for name in lw.robots() if not lw.load(name).loops and _has_counterpart(name)]


def conversion(robot):
    """Arrays q, v, … to the order of Pinocchio."""
    own = layout(robot)
    return lambda arrays: [arrays[0][own.of_q], *(x[own.of_v] for x in arrays[1:])]


def test_most_built_in_robots_are_compared():
    assert len(ROBOTS) >= 7 and {"panda", "humanoid", "quadruped"} <= set(ROBOTS)


def close(x, y):
    return np.abs(x - y).max() <= 1e-8 * max(1.0, np.abs(y).max())


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("seed", range(3))
def test_derivatives(name, seed):
    robot = lw.load(name)
    model = to_pinocchio(pin, robot)
    data = model.createData()
    convert = conversion(robot)
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(rng)
    v, x = rng.normal(size=(2, robot.nv))
    order = convert([q, np.arange(robot.nv)])[1]
    back = np.argsort(order)

    def matrix(m):
        return m[back][:, back]

    mine = robot.linearize_inverse(q, v, x)
    dq, dv, M = pin.computeRNEADerivatives(model, data, *convert([q, v, x]))
    assert close(mine.dq, matrix(dq)) and close(mine.dv, matrix(dv))
    upper = np.triu(M)
    assert close(mine.M, matrix(upper + np.triu(M, 1).T))

    dq, dv, Minv = pin.computeABADerivatives(model, data, *convert([q, v, x]))
    upper = np.triu(Minv)
    Minv = upper + np.triu(Minv, 1).T
    for method in ("algorithm_4", "algorithm_6"):
        mine = robot.linearize_forward(q, v, x, method=method)
        assert close(mine.dq, matrix(dq)) and close(mine.dv, matrix(dv)) and close(mine.Minv, matrix(Minv))


@pytest.mark.parametrize("name", ["panda", "humanoid"])
def test_regressor(name):
    """Pinocchio's parameters have the same order: m, mc, then Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the origin."""
    robot = lw.load(name)
    model = to_pinocchio(pin, robot)
    data = model.createData()
    convert = conversion(robot)
    rng = np.random.default_rng(4)
    q = robot.random_configuration(rng)
    v, a = rng.normal(size=(2, robot.nv))
    theirs = pin.computeJointTorqueRegressor(model, data, *convert([q, v, a]))
    back = np.argsort(convert([q, np.arange(robot.nv)])[1])
    from linkwise.interop.layout import depth_first

    columns = np.argsort(depth_first(robot))
    theirs = theirs[back].reshape(robot.nv, len(robot.bodies), 10)[:, columns].reshape(robot.nv, -1)
    assert close(robot.inverse_dynamics_regressor(q, v, a), theirs)
