"""Sensitivities to inertial parameters: regressors, forward dynamics, base parameters, trajectories."""

import numpy as np
import pytest
from trees import ALL, ROTORS, assert_close, derivative, robot, state

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


@pytest.mark.parametrize("method", ["semi_implicit", "rk4"])
@pytest.mark.parametrize("name", ["panda", "spherical", "planar", "floating_rotors", "quadruped"])
def test_trajectory_sensitivities(name, method):
    """Those of the simulator, by differences of sixth order over its parameters; quaternions among the joints."""
    r = robot(name)
    s = state(r, (), seed=3)
    rng = np.random.default_rng(4)
    tau = rng.normal(size=(6, r.nv))
    step, p = 0.01, r.inertial_parameters
    found = r.trajectory_sensitivity(s.q, s.v, tau, step, method=method)
    assert found.q.shape == (7, r.nq) and found.dq.shape == found.dv.shape == (7, r.nv, p.size)
    directions = p * rng.normal(size=(2, len(r.bodies), 1))  # bodies that grow or shrink stay bodies

    def motion(t):
        """How far the simulator's motion with other parameters is from the first one, (2, 7, 2 nv)."""
        other = {"inertial": p + t * directions}
        x = lw.rollout(r, np.stack([s.q, s.q]), s.v, tau=tau, step=step, method=method, parameters=other)
        return np.concatenate([r.difference(found.q, x.q), x.v], axis=-1)

    assert_close(motion(0.0)[0], np.concatenate([0.0 * found.v, found.v], axis=-1), 1e-11)  # the same motion
    mine = np.concatenate([found.dq, found.dv], axis=-2) @ directions.reshape(2, 1, -1, 1)
    assert_close(mine[..., 0], derivative(motion), 1e-8)


def test_runge_kutta_sensitivities_are_of_fourth_order():
    """Steps half as long: a sixteenth of the error."""
    r = robot("spherical")
    s = state(r, (), seed=3)

    def at_the_end(steps):
        tau = np.broadcast_to(s.tau, (steps, r.nv))
        return r.trajectory_sensitivity(s.q, s.v, tau, 0.2 / steps, columns=[0, 5], method="rk4").dv[-1]

    best = at_the_end(40)
    coarse, fine = (np.abs(at_the_end(n) - best).max() for n in (4, 8))
    assert 10 < coarse / fine < 25


def test_trajectories_in_batches_and_of_some_parameters():
    r = robot("ur5")
    s = state(r, (2,), seed=3)
    tau = np.zeros((4, 2, 6))
    for method in ("semi_implicit", "rk4"):
        found = r.trajectory_sensitivity(s.q, s.v, tau, 0.01, columns=[50, 51], method=method)
        one = r.trajectory_sensitivity(s.q[1], s.v[1], tau[:, 1], 0.01, method=method)
        assert found.dv.shape == (5, 2, 6, 2)
        assert_close(found.dv[:, 1], one.dv[..., [50, 51]], 1e-12)
        shared = r.trajectory_sensitivity(s.q, s.v, tau[:, 0], 0.01, columns=[50, 51], method=method)
        assert_close(shared.dv, found.dv, 0.0)  # one table for all states


def test_trajectories_in_single_precision():
    r = robot("spherical")
    s = state(r, (), seed=3)
    tau = np.zeros((3, r.nv))
    exact = r.trajectory_sensitivity(s.q, s.v, tau, 0.01, method="rk4")
    found = r.trajectory_sensitivity(*(x.astype(np.float32) for x in (s.q, s.v, tau)), 0.01, method="rk4")
    assert all(x.dtype == np.float32 for x in found)
    for mine, reference in zip(found, exact):
        assert_close(mine, reference, 1e-3)


def test_bad_trajectories_are_refused():
    r = robot("ur5")
    s = state(r, (2,), seed=3)
    tau = np.zeros((4, 2, 6))
    with pytest.raises(lw.InputError, match="steps"):
        r.trajectory_sensitivity(s.q, s.v, np.zeros(6), 0.01)
    for step in (-0.01, 0.0, np.nan, np.inf):
        with pytest.raises(lw.InputError, match="positive"):
            r.trajectory_sensitivity(s.q, s.v, tau, step)
    for columns in ([60], [-61], [0.5], [[1, 2]]):
        with pytest.raises(lw.InputError, match="60 inertial parameters"):
            r.trajectory_sensitivity(s.q, s.v, tau, 0.01, columns=columns)
    with pytest.raises(lw.UnknownNameError, match="variational.*semi_implicit, rk4"):
        r.trajectory_sensitivity(s.q, s.v, tau, 0.01, method="variational")
    skate = robot("custom_skate")
    x = state(skate, ())
    with pytest.raises(lw.NotAdmittedError, match="non-holonomic"):
        skate.trajectory_sensitivity(x.q, x.v, np.zeros((2, skate.nv)), 0.01)
