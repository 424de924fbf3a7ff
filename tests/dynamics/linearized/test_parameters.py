"""Sensitivities to inertial parameters: regressors, forward dynamics, base parameters."""

import numpy as np
import pytest
from trees import ALL, ROTORS, assert_close, robot, state

import linkwise as lw

ROBOTS = [*ALL, "arms", "panda", "humanoid"]


def without_rotors(r):
    bodies = [
        lw.Body(b.name, lw.Joint(b.joint.kind, b.joint.name, at=b.joint.placement.l, rotation=b.joint.placement.R),
                b.inertia, b.parent)
        for b in r.bodies
    ]  # fmt: skip
    return lw.assemble(r.name, bodies, gravity=r.gravity)


@pytest.mark.parametrize("name", ROBOTS)
def test_joint_forces_are_linear_in_the_parameters(name):
    r, s = robot(name), state(robot(name), (3,), seed=1)
    Y = r.inverse_dynamics_regressor(s.q, s.v, s.a)
    bare = without_rotors(r) if name in (*ROTORS, "arms") else r
    assert_close(Y @ r.inertial_parameters.ravel(), bare.inverse_dynamics(s.q, s.v, s.a), 1e-11)


@pytest.mark.parametrize("name", ["panda", "tree", "floating", "arms", "spherical"])
def test_forward_sensitivity_against_other_parameters(name):
    """Central differences over robots whose parameters differ a little (to all appearances: real bodies)."""
    r, s = robot(name), state(robot(name), (), seed=2)
    S = r.forward_dynamics_sensitivity(s.q, s.v, s.tau, external=s.external)
    p = r.inertial_parameters
    scale = np.random.default_rng(3).normal(size=len(r.bodies))[:, None]

    def accelerations(t):
        return r.with_inertial_parameters(p * (1 + t * scale)).forward_dynamics(s.q, s.v, s.tau, external=s.external)

    h = 1e-3
    moved = (8 * (accelerations(h) - accelerations(-h)) - (accelerations(2 * h) - accelerations(-2 * h))) / (12 * h)
    assert_close(S @ (p * scale).ravel(), moved, 1e-7)


def test_forward_sensitivity_of_every_parameter():
    """Against the exact derivative of the compiled program in the inertial parameters."""
    r, s = robot("ur5"), state(robot("ur5"), (), seed=2)
    program = r.compile("forward_dynamics", parameters=["inertial"]).jacobian("inertial").program
    exact = program.interpret(q=s.q, v=s.v, tau=s.tau, inertial=r.inertial_parameters.ravel())
    assert_close(r.forward_dynamics_sensitivity(s.q, s.v, s.tau), exact, 1e-9)


@pytest.mark.parametrize("name", ["panda", "ur5", "tree", "quadruped", "spherical", "planar", "chain6"])
def test_base_parameters(name):
    r = robot(name)
    base = r.base_parameters()
    s = state(r, (60,), seed=9)
    Y = r.inverse_dynamics_regressor(s.q, s.v, s.a)
    W = Y.reshape(-1, Y.shape[-1])
    size = np.linalg.svd(W, compute_uv=False)
    rank = int((size > 1e-9 * size[0]).sum())
    assert len(base.columns) == len(base.values) == rank < Y.shape[-1]
    assert_close(Y[..., base.columns] @ base.projection, Y, 1e-8)
    assert_close(Y[..., base.columns] @ base.values, Y @ r.inertial_parameters.ravel(), 1e-8)
    assert np.linalg.matrix_rank(W[:, base.columns]) == rank


def test_known_numbers_of_base_parameters():
    """One hinge about a level axis: Jyy, hx, hz. About the vertical: Jzz. A free body: all ten."""

    def one(joint):
        return lw.assemble("one", [lw.Body("body", joint, lw.Inertia.box(2.0, (0.1, 0.2, 0.3)))])

    assert one(lw.Revolute("y")).base_parameters().columns.tolist() == [1, 3, 6]
    assert one(lw.Revolute("z")).base_parameters().columns.tolist() == [9]
    assert one(lw.Free()).base_parameters().columns.tolist() == list(range(10))
    assert one(lw.Fixed()).base_parameters().projection.shape == (0, 10)
    # six hinges, some of them parallel, the first one vertical
    assert len(lw.load("ur5").base_parameters().columns) == 36
