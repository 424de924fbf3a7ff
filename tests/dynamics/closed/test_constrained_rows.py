"""Matrices that say which motions a loop stops: the error of each row changes at the rate that the row stops."""

import numpy as np
import pytest
from linkages import null_space

import linkwise as lw

H = 1e-30j
AXIS = np.array([0.6, 0.0, 0.8])
ACROSS = np.array([[0.0, 1.0, 0.0], [0.8, 0.0, -0.6]])  # ⟂ AXIS
ALL = (True,) * 6
MATRICES = {
    "turns across an axis": (np.hstack([ACROSS, np.zeros((2, 3))]), (True, True)),
    "a hinge about no axis of the frame": (np.block([[ACROSS, np.zeros((2, 3))], [np.zeros((3, 3)), np.eye(3)]]), ALL),
    "all turns, mixed with slides": (np.vstack([np.eye(6)[:3], [[0.3, 0.2, -1.0, 0.5, 1.0, 0.0]]]), (True,) * 4),
    "slides": (np.eye(6)[3:5], (True, True)),
    "a spin, other turns free": (np.eye(6)[[2, 3]], (False, True)),
    "a screw": (np.array([[0, 0, 0.1, 0, 0, -1.0]]), (False,)),
    "a screw on an axis": (np.vstack([np.eye(6)[:2], [[0, 0, 0.1, 0, 0, -1.0]]]), (True, True, False)),
}


@pytest.mark.parametrize("name", MATRICES)
def test_errors_change_as_rows_say(name, rng):
    rows, positions = MATRICES[name]
    tree = lw.random_tree(8, seed=4, floating=True, joints=["revolute"])
    here = lw.Frame("here", None, at=(0.1, 0.2, 0.3), rpy=(0.3, -0.5, 0.7))
    robot = tree.close(lw.Loop(here, "body8", constrains=rows))
    assert robot.loops[0].holonomic_rows == positions[: len(rows)]
    q = robot.closed_configuration(robot.random_configuration(rng))
    held = np.array(robot.loops[0].holonomic_rows)
    error = robot.loop_error(q)
    assert np.abs(error).max() < 1e-10 and (error[~held] == 0).all()
    G = robot.loop_jacobian(q, target="numpy")
    v = rng.normal(size=robot.nv)
    moved = robot.loop_error(q + H * robot.configuration_rate(q, v, target="numpy"), target="numpy").imag / abs(H)
    np.testing.assert_allclose(moved[held], (G @ v)[held], atol=1e-9)
    # far along a motion that keeps the loop: what is stopped stays stopped, however far the rest has turned
    for _ in range(40):
        v = null_space(G) @ rng.normal(size=robot.nv - len(rows))
        q = robot.closed_configuration(robot.integrate(q, 0.1 * v / np.linalg.norm(v)))
        G = robot.loop_jacobian(q, target="numpy")
    rates = robot.configuration_rate(q, v, target="numpy")
    moved = robot.loop_error(q + H * rates, target="numpy").imag / abs(H)
    np.testing.assert_allclose(moved[held], (G @ v)[held], atol=1e-9)
