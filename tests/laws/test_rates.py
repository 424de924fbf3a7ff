"""What the papers say about derivatives, against differentiation: DD Table 4, Algorithm 6.1, LD Lemma 3.1."""

import numpy as np
import pytest

import linkwise as lw
from linkwise.algebra.identities import inverse_mass
from linkwise.algebra.identities_motion import A_D, B_D

ONE_DOF = ("revolute", "prismatic", "helical")


def moving_robot(seed):
    robot = lw.random_tree(6, seed=seed, joints=ONE_DOF)
    rng = np.random.default_rng(seed)
    q, v, a = robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    return robot, q, v, a


def rate(robot, q, v, leaf):
    """d/dt of a leaf's matrix along v, by a fourth-order central difference."""
    h = 1e-3

    def at(s):
        return getattr(robot.operators(robot.integrate(q, s * v)), leaf).dense()

    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


TABLE_4 = {
    "E_phi": lambda o: o.E_phi @ o.F,
    "phi": lambda o: o.phi @ o.E_phi @ o.F @ o.phi,
    "P": lambda o: o.P_ring,
    "D": lambda o: o.H @ o.P_ring @ o.H.T,
    "G": lambda o: o.tau_bar @ o.P_ring @ o.H.T @ o.D_inverse,
    "tau_bar": lambda o: -o.tau_bar @ o.P_ring @ o.H.T @ o.D_inverse @ o.H,
    "E_psi": lambda o: o.E_psi @ (o.F @ o.tau_bar - o.P_ring @ o.H.T @ o.D_inverse @ o.H),
    "H": lambda o: o.H @ o.F,  # both are zero
    "M": lambda o: 0.0 * o.M,
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("leaf", TABLE_4)
def test_local_derivatives_of_table_4(leaf, seed):
    robot, q, v, _ = moving_robot(seed)
    claimed = TABLE_4[leaf](robot.operators(q, v=v)).dense()
    measured = rate(robot, q, v, leaf)
    assert np.abs(claimed - measured).max() < 1e-8 * (1 + np.abs(measured).max())


def derivative(f, x):
    """Columns ∂f/∂x by complex steps."""
    columns = []
    for i in range(x.size):
        step = x.astype(complex)
        step[i] += 1e-30j
        columns.append(f(step).imag / 1e-30)
    return np.array(columns).T


@pytest.mark.parametrize("seed", range(4))
def test_linearised_inverse_dynamics_is_lemma_3_1(seed):
    robot, q, v, a = moving_robot(seed)
    op = robot.operators(q, v=v, a=a)
    by_velocity = derivative(lambda x: robot.inverse_dynamics(q.astype(complex), x, a.astype(complex)), v)
    by_position = derivative(lambda x: robot.inverse_dynamics(x, v.astype(complex), a.astype(complex)), q)
    assert np.abs(A_D(op).dense() - by_velocity).max() < 1e-11 * (1 + np.abs(by_velocity).max())
    assert np.abs(B_D(op).dense() - by_position).max() < 1e-11 * (1 + np.abs(by_position).max())


@pytest.mark.parametrize("seed", range(4))
def test_linearised_forward_dynamics_is_lemma_4_1(seed):
    robot, q, v, _ = moving_robot(seed)
    tau = np.random.default_rng(seed + 50).normal(size=robot.nv)
    op = robot.operators(q, v=v, a=robot.forward_dynamics(q, v, tau))
    c = lambda x: x.astype(complex)
    by_velocity = derivative(lambda x: robot.forward_dynamics(c(q), x, c(tau)), v)
    by_position = derivative(lambda x: robot.forward_dynamics(x, c(v), c(tau)), q)
    assert np.abs((inverse_mass(op) @ A_D(op)).dense() + by_velocity).max() < 1e-9 * (1 + np.abs(by_velocity).max())
    assert np.abs((inverse_mass(op) @ B_D(op)).dense() + by_position).max() < 1e-9 * (1 + np.abs(by_position).max())


def test_motion_leaves_ask_for_a_velocity():
    robot, q, v, _ = moving_robot(0)
    with pytest.raises(lw.InputError, match=r"robot.operators\(q, v=v\)"):
        robot.operators(q).V_tilde.dense()
    with pytest.raises(lw.InputError, match="acceleration"):
        robot.operators(q, v=v).H_ddot.dense()
