"""Linearised forward dynamics in the rates of independent joints, against complex steps along the loops."""

import numpy as np
import pytest
from linkages import four_bar, open_four_bar

import linkwise as lw

H = 1e-30j
FOLLOW = ["coupler_hinge", "rocker_hinge"]


def planar(*more):
    robot = open_four_bar().close(lw.Loop("rocker_end", "coupler_end", "revolute", dependent=FOLLOW), *more)
    return robot, robot.closed_configuration([1.3, -0.9, 1.8], keep=["crank_hinge"])


def spatial():
    """A chain of eight hinges on a floating base, its end held by a ball: three of them follow."""
    tree = lw.chain(8, seed=4).subtree("link1", floating=True)
    hook = lw.Frame("hook", tree.bodies[1].name, at=(0.2, 0.1, 0.4))
    middle = [joint.name for joint in tree.joints[3:6]]
    robot = tree.close(lw.Loop(hook, tree.bodies[-1].name, "spherical", dependent=middle))
    rng = np.random.default_rng(2)
    return robot, robot.closed_configuration(robot.random_configuration(rng))


def expected(robot, q, beta, tau):
    """∂β̇/∂τ, ∂β̇/∂β, ∂β̇/∂q: embedded forward dynamics at q moved along the loops, at rates Xβ there."""
    free = [i for name in robot.independent_joints for i in range(*robot.v_slices[robot.joint(name)].indices(robot.nv))]

    def a(q, beta, tau):
        v = robot.embedded_basis(q, target="numpy") @ beta
        return robot.forward_dynamics(q, v, tau, method="embedded", target="numpy")[free].imag / abs(H)

    r, X = len(free), robot.embedded_basis(q, target="numpy")
    unit = np.eye(r)
    force = np.eye(robot.nv)[free]
    moved = [robot.configuration_rate(q, x, target="numpy") for x in X.T]
    return (
        np.stack([a(q + 0j, beta + 0j, tau + H * e) for e in force], axis=-1),
        np.stack([a(q + 0j, beta + H * e, tau + 0j) for e in unit], axis=-1),
        np.stack([a(q + H * rate, beta + 0j, tau + 0j) for rate in moved], axis=-1),
    )


SPRING = {"stiffness": 40.0, "damping": 3.0, "length": 0.4}


@pytest.mark.parametrize(
    "make", [planar, lambda: planar(lw.Loop("world", "coupler_end", "distance", **SPRING)), spatial]
)
def test_against_complex_steps(make, rng):
    robot, q = make()
    X = robot.embedded_basis(q, target="numpy")
    beta, tau = rng.normal(size=X.shape[-1]), rng.normal(size=robot.nv)
    found = robot.embedded_linearize_forward(q, X @ beta, tau, target="numpy")
    for x, y in zip(found, expected(robot, q, beta, tau)):
        np.testing.assert_allclose(x, y, atol=1e-8 * np.abs(y).max())


def test_machine_code_and_refusals(rng):
    robot, q = planar()
    v, tau = robot.embedded_basis(q)[:, 0], rng.normal(size=3)
    plain = robot.embedded_linearize_forward(q, v, tau, target="numpy")
    for x, y in zip(robot.embedded_linearize_forward(np.stack([q, q]), v, tau), plain):
        assert x.shape == (2, 1, 1)
        np.testing.assert_allclose(x[1], y, atol=1e-9 * np.abs(y).max())
    with pytest.raises(lw.NotAdmittedError, match="does not say which joints follow"):
        four_bar().embedded_linearize_forward(q, v, tau)
    with pytest.raises(lw.NotAdmittedError, match="one way to do it"):
        robot.linearize_forward(q, v, tau, method="embedded")
