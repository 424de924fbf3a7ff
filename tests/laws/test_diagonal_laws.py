"""m and ℓ as operators, and what the Diagonalized dynamics paper says of them, against sweeps and differentiation."""

import numpy as np
import pytest
from operator_zoo import ROBOTS, operators, positive
from trees import assert_close, robot, state, times

from linkwise.algebra.identities_motion import diagonal_coriolis, half_mass_sensitivity, m_dot, m_dot_nu

STEP = 1e-30
HINGES = ["revolute", "helical", "prismatic", "chain4", "panda"]


@pytest.mark.parametrize("name", ROBOTS)
def test_operators_are_the_tables(name):
    o = operators(name)
    r = o.model
    s = state(r, (3,), seed=4)
    assert_close(o.m.T @ s.v, r.total_rates(o.q, s.v), 1e-12)
    assert_close(o.ell.T @ s.v, r.joint_rates(o.q, s.v), 1e-11)
    assert_close(o.ell @ s.tau, r.working_forces(o.q, s.tau), 1e-11)
    assert_close(o.m @ s.tau, r.joint_forces(o.q, s.tau), 1e-12)
    assert_close(o.m.dense(), r.mass_factor(o.q), 1e-12)
    assert o.m.structure == "causal" and o.ell.structure == "causal"


def test_inverses_and_simplification():
    o = operators("panda")
    assert o.m.inv() == o.ell and o.ell.inv() == o.m and o.m.T.inv() == o.ell.T
    assert (o.m @ o.m.T).simplify() == o.mass
    assert (o.ell.T @ o.ell).simplify() == o.mass.inv()
    assert (o.ell @ o.m).simplify() == o.I_joints == (o.m @ o.ell).simplify()
    assert str(o.m) == "(I + H φ K) D^½" and o.ell.latex() == r"D^{-1/2} (I - H \psi K)"


def test_other_inertias_have_roots_of_their_own():
    o = operators("tree").with_inertia(positive(operators("tree")))
    mass = (o.H @ o.phi @ o.M @ o.phi.T @ o.H.T).dense()
    assert_close((o.m @ o.m.T).dense(), mass, 1e-12)


def moving(name):
    r = robot(name)
    s = state(r, ())
    return r, s, r.operators(s.q, v=s.v)


def along(r, s, function):
    """d/dt of function(q) while the robot moves with v."""
    return function(r.integrate(s.q, 1j * STEP * s.v)).imag / STEP


@pytest.mark.parametrize("name", HINGES)
def test_identity_6_1(name):
    r, s, o = moving(name)
    assert_close(m_dot(o).dense(), along(r, s, lambda q: r.operators(q).m.dense()), 1e-12)


@pytest.mark.parametrize("name", HINGES)
def test_identity_6_2(name):
    """ṁν, with ν held."""
    r, s, o = moving(name)
    nu, V = r.total_rates(s.q, s.v), o.phi.T @ (o.H.T @ s.v)
    assert_close(m_dot_nu(o) @ V, along(r, s, lambda q: r.mass_factor(q)) @ nu, 1e-12)


@pytest.mark.parametrize("name", HINGES)
def test_lemma_6_2(name):
    """½ θ̇*M_θθ̇."""
    r, s, o = moving(name)
    V = o.phi.T @ (o.H.T @ s.v)
    expected = 0.5 * np.einsum("ijk,j,k->i", r.mass_matrix_sensitivity(s.q), s.v, s.v)
    assert_close(half_mass_sensitivity(o) @ V, expected, 1e-12)


@pytest.mark.parametrize("name", HINGES)
def test_identity_7_1(name):
    r, s, o = moving(name)
    V = o.phi.T @ (o.H.T @ s.v)
    assert_close(diagonal_coriolis(o) @ V, r.diagonal_coriolis(s.q, r.total_rates(s.q, s.v)), 1e-12)


@pytest.mark.parametrize("name", HINGES)
def test_inertial_sensitivities(name):
    """LD (A.6)–(A.9): gradients of H*x, HX, MX and MV, all referred to the world's origin, in world axes."""
    r, s, _ = moving(name)
    frame = _world(r, s.q)
    x, X = s.a, np.random.default_rng(0).normal(size=(len(r.bodies), 6))
    H, M, Phi_H = frame["H"], frame["M"], frame["Phi*H*"]  # rows H(k); Phi_H (k, 6, nv)
    V = Phi_H @ s.v

    def gradient(function):
        steps = s.q + 1j * STEP * np.eye(r.nv)
        return np.stack([function(_world(r, q)).imag / STEP for q in steps], axis=-1)

    cross = np.array([_motion_cross(y) for y in H])  # S*[H*] y = y × H* = −H* × y
    assert_close(gradient(lambda f: f["H"] * x[:, None]), -(cross * x[:, None, None]) @ Phi_H, 1e-12)  # (A.6)
    Q = np.array([_Q(y) for y in X])
    assert_close(gradient(lambda f: (f["H"] * X).sum(-1)), (H[:, None] @ Q @ Phi_H)[:, 0], 1e-12)  # (A.7)
    MX = times(M, X)
    first = np.array([_Q(y) for y in MX]) - M @ np.array([_motion_cross(y) for y in X])
    assert_close(gradient(lambda f: times(f["M"], X)), -first @ Phi_H, 1e-12)  # (A.8), S*[X] = −X̃
    H_dot = np.stack([_motion_cross(v) @ h for v, h in zip(V, H)])
    Phi_H_dot = np.where(np.abs(Phi_H) > 0, 1.0, 0.0).max(axis=1, keepdims=True) * H_dot.T[None]
    expected = -np.array([_Q(y) for y in times(M, V)]) @ Phi_H + M @ Phi_H_dot
    assert_close(gradient(lambda f: times(f["M"], f["Phi*H*"] @ s.v)), expected, 1e-12)  # (A.9)


def _world(r, q):
    """H(k), M(k) and Φ*H* about the world's origin in world axes, for one joint per body."""
    from linkwise.dynamics.kinematics import body_poses
    from linkwise.dynamics.links import evaluate
    from linkwise.spatial import congruence

    links = evaluate(r, q)
    poses = body_poses(links)
    H = np.stack([(X.inverse().T @ h.T)[:, 0] for X, h in zip(poses, links.H)])
    M = np.stack([congruence(X, m.matrix) for X, m in zip(poses, links.M)])
    Phi_H = np.zeros((len(poses), 6, r.nv), dtype=H.dtype)
    for k in range(len(poses)):
        for j in r.path(k):
            Phi_H[k, :, j] = H[j]
    return {"H": H, "M": M, "Phi*H*": Phi_H}


def _motion_cross(x):
    from linkwise.spatial import cross_motion_matrix

    return cross_motion_matrix(x[:, None])


def _Q(x):
    """Q[X] = [[ã, b̃], [b̃, 0]] of X = [a; b] (LD (1.6))."""
    from linkwise.spatial import skew

    a, b = skew(x[:3]), skew(x[3:])
    return np.block([[a, b], [b, np.zeros((3, 3))]])
